/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - flow control: credits, the order of messages, Receives, and limits of hosts
 *
 * Reading order: credit.h and credit1.h (the arithmetic), credit.c, pump.c (which message
 * is sent next), receives.c (Receives, and what is reserved for a connection), account.c
 * (limits of hosts and connections), reads.c (RDMA Reads under way).
 *
 * Context: the caller is the runner, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_FLOW_H
#define RPCRDMA_TRANSPORT_FLOW_H

#include "transport/core/core.h"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"

/* ms: a connection that has used up max_wrong may send one bad message in each. They are
 * handled together, every RT_TICK_MS. */
#define RT_WRONG_MS 10
/* When memory is short, each host may have this fraction of its share of Replies. */
#define RT_MANY_HOSTS 16
/* ms: how long a server leaves the extra Receive to the client's GRANTs. */
#define RT_RESERVE_MS 200

enum rt_out_kind {
	RT_OUT_CALL,
	RT_OUT_REPLY,
	RT_OUT_CONTROL,
};

/* What differs between the versions, above the codec. */
struct rt_version {
	unsigned int number;
	bool continuation; /* has continued messages, GRANT and CONNPROP */
	bool answers_replies; /* answers a malformed Reply with an ERROR */
	bool inv_field; /* a Call has a field for the handle to invalidate */

	/* Flow control. receives returns how many Receives are to be posted; credit_word
	 * the rdma_credit of a message that is about to be posted; may_send whether it
	 * may be; posted counts it; grant_due returns whether a GRANT is due and may be
	 * sent. */
	uint32_t (*receives)(const struct rt_conn *c);
	uint32_t (*credit_word)(const struct rt_conn *c, enum rt_out_kind kind);
	bool (*may_send)(const struct rt_conn *c, enum rt_out_kind kind);
	void (*posted)(struct rt_conn *c);
	bool (*grant_due)(struct rt_conn *c);
	void (*fill_info)(const struct rt_conn *c, struct rt_conn_info *info);

	/* The codec, as in wire.h. */
	size_t (*call_len)(bool external, const struct wire_call_desc *d);
	size_t (*reply_len)(bool external, const struct wire_reply_desc *d);
	size_t (*encode_call)(void *buf, size_t size, uint32_t xid,
			      uint32_t credit, bool external,
			      const struct wire_call_desc *d);
	size_t (*encode_reply)(void *buf, size_t size, uint32_t xid,
			       uint32_t credit, bool external,
			       const struct wire_reply_desc *d);
	size_t (*encode_error)(void *buf, size_t size, uint32_t xid,
			       uint32_t vers, uint32_t credit,
			       const struct wire_error *err);

	/* A message of this version was received. */
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Answer a Call for which there is no memory now. */
	void (*refuse_call)(struct rt_conn *c, uint32_t xid);
};

/* A Call or Reply to be sent, in rt_conn.call_queue or .reply_queue until its first
 * message has been posted. @send posts its next message, and returns false if that must
 * wait. */
struct rt_outgoing {
	struct cds_list_head queue;
	enum rt_out_kind kind;
	bool (*send)(struct rt_conn *c, struct rt_outgoing *o);
};

/* What flow control calls in the room `message`. */
struct rt_traffic {
	/* A message was received, in w->buf. The callee may take the buffer and set
	 * w->buf to NULL. */
	void (*received)(struct rt_conn *c, struct rt_work *w,
			 const struct fab_wc *wc);
	/* error posts the next ERROR; props posts our properties or a part of a token.
	 * They return false if that must wait. */
	bool (*error)(struct rt_conn *c);
	bool (*props)(struct rt_conn *c);
};

/* How an extension that is in use sends its own messages. */
struct rt_sender {
	bool (*due)(const struct rt_conn *c);
	bool (*send)(struct rt_conn *c);
};

/*
 * Returns how many Replies, and how many Sends, may be posted and not completed. A peer
 * that keeps to its credits stays far below: a Send completes before, or soon after, the
 * peer reacts to it.
 */
static inline unsigned int rt_max_uncompleted(const struct rt_conn *c)
{
	return 4 * c->inst->cfg.credits + 64;
}

/* credit.c: members of struct rt_version */
uint32_t rt_credit1_wanted(const struct rt_conn *c);
uint32_t rt_credit1_word(const struct rt_conn *c, enum rt_out_kind kind);
bool rt_credit1_may_post(const struct rt_conn *c, enum rt_out_kind kind);
void rt_credit1_count(struct rt_conn *c);
void rt_credit1_info(const struct rt_conn *c, struct rt_conn_info *i);
uint32_t rt_credit2_wanted(const struct rt_conn *c);
uint32_t rt_credit2_word(const struct rt_conn *c, enum rt_out_kind kind);
bool rt_credit2_may_post(const struct rt_conn *c, enum rt_out_kind kind);
void rt_credit2_count(struct rt_conn *c);
void rt_credit2_info(const struct rt_conn *c, struct rt_conn_info *i);

/* pump.c */
extern const struct rt_part rt_part_flow;
/* Post the ERRORs that wait and nothing else, unless fragments of a message of ours are
 * still to be sent. */
void rt_pump_errors(struct rt_conn *c);
/* Add @w to the chain as a Send, whose header of @hlen octets is in its buffer. */
void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen);

/* receives.c: Receives */
/* Share the Receives of all connections if the settings say so. Called before the first
 * connection. Returns 0 or -errno. */
int rt_share_receives(struct rt_instance *inst);
/* Post as many Receives as flow control asks for. Returns 0 or -errno; if there is no
 * memory, c->recvs_lacking says how many are lacking. */
int rt_post_receives(struct rt_conn *c);
/* Take back the Receives of a connection that was never started. The fabric must have
 * ended. */
void rt_reclaim_receives(struct rt_conn *c);
/* Set the size of the Receives that are posted from now on: the @announced one, or the
 * one that they are being raised to. */
void rt_receives_size(struct rt_conn *c, uint32_t announced);
/* Begin to raise Receives to @size octets. */
void rt_receives_raise(struct rt_conn *c, uint32_t size, uint32_t announced);
/* Recycle the buffer of a Receive. */
void rt_receive_put(struct rt_conn *c, struct fab_buf *b);
/* Put back a list of buffers, such as those of a Call. Those that can serve as Receives
 * stay with the connection while some are lacking. */
void rt_receive_return(struct rt_conn *c, struct fab_buf **list);

/* receives.c: what is reserved for a connection */
/* Reserve it before the first Receive is posted. Returns 0, -ENOMEM, or -EDQUOT if the
 * host has used up its share; a server has logged the error. */
int rt_reserve(struct rt_conn *c);
void rt_reserve_release(struct rt_conn *c);
/* Post the Receive for the Reply to a reverse Call that has been counted and is about to
 * be posted. Returns 0, -EAGAIN if the Call must wait, or another -errno if the
 * connection fails. */
int rt_reserve_reverse(struct rt_conn *c);
/* Replace the reserved buffers by ones for Receives of @size octets. Returns false, and
 * changes nothing, if there is no memory. */
bool rt_reserve_resize(struct rt_conn *c, size_t size);
/* The size of Receives has been lowered: exchange the free buffers. */
void rt_reserve_shorten(struct rt_conn *c);

/* account.c: hosts */
void rt_hosts_init(struct rt_instance *inst);
/* Count a connection among those of its host. Returns 0, or -EUSERS (too many) or
 * -ENOMEM after logging it. */
int rt_host_join(struct rt_conn *c, const struct sockaddr_storage *peer);
/* Note in the account of the host that the connection was accepted; that it is no longer one
 * of the instance's, whose lock is held; that one of @peer was refused, likewise. */
void rt_host_opened(struct rt_conn *c);
void rt_host_removed(struct rt_conn *c);
void rt_host_refused(struct rt_instance *inst,
		     const struct sockaddr_storage *peer);
/* Free the accounts of hosts without connections. */
void rt_hosts_destroy(struct rt_instance *inst);
/* Count one of the two reasons less why the connection counts as one of its host's: it
 * has ended, or the upper layer has returned its last Call. inst->lock is held. */
void rt_host_ended(struct rt_conn *c);
/* The same for the last Call; takes the lock. */
void rt_host_calls_returned(struct rt_conn *c);
void rt_host_leave(struct rt_conn *c);
/* Charge @n octets of buffers for chunks or reassembly to connection, host and instance.
 * The message that they are for has been charged @held octets before. Returns false if a
 * limit would be exceeded. */
bool rt_memory_charge(struct rt_conn *c, size_t held, size_t n);
void rt_memory_uncharge(struct rt_conn *c, size_t n);
/* Returns a buffer that is charged, or NULL. */
struct fab_buf *rt_memory_get(struct rt_conn *c, size_t held, size_t size);
/* Returns true if memory is charged to other connections; to this one. */
bool rt_memory_elsewhere(const struct rt_conn *c);
bool rt_memory_held(const struct rt_conn *c);
/* Charge @n octets of reserved Receives to the host, in place of what was charged before.
 * Returns false if that exceeds its share. */
bool rt_host_receives(struct rt_conn *c, size_t n);
/* Count octets of Replies: add those that the upper layer has given, subtract those that
 * have been sent. Any thread. */
void rt_replies_add(struct rt_conn *c, size_t n);
void rt_replies_sub(struct rt_conn *c, size_t n);
/* Returns true if the Replies queued for the host exceed its share, and some are of this
 * connection, or it has @others in progress. Any thread. */
bool rt_replies_over_limit(struct rt_conn *c, unsigned int others);
/* Returns the reason for the log. Any thread. */
const char *rt_replies_limit_text(struct rt_conn *c);

/* reads.c */
void rt_reads_init(struct rt_instance *inst);
void rt_reads_destroy(struct rt_instance *inst);
/* Count @n octets of RDMA Reads that a Call is about to post. Returns false if it must wait:
 * then the turn hooks are called when this may be tried again. With @must it need not. */
bool rt_reads_begin(struct rt_conn *c, size_t n, bool must);
/* Count @n octets no more. Any thread. */
void rt_reads_end(struct rt_conn *c, size_t n);
/* A Call has been answered that had @n octets of them. */
void rt_reads_answered(struct rt_conn *c, size_t n);
/* No Call waits any more. */
void rt_reads_cancel(struct rt_conn *c);

/* account.c: connections that are not authenticated */
/* Server: count a connection whose peer may authenticate itself. */
void rt_unauthenticated_join(struct rt_conn *c);
/* The exchange has an outcome, or the connection has ended. */
void rt_unauthenticated_leave(struct rt_conn *c);
/* The same. inst->lock is held. */
void rt_unauthenticated_leave_locked(struct rt_conn *c);

/* account.c: bad messages */
void rt_bad_message(struct rt_conn *c);
/* A GRANT was received, and rt_credit has counted it. */
void rt_grant_received(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_FLOW_H */
