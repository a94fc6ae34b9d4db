/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - credits, Receives, accounts, and what goes out next
 *
 * Reading order: credit.h and credit1.h (the arithmetic), credit.c, pump.c (what goes
 * next), receives.c (Receives, and what a connection has of its own), account.c (what
 * hosts and connections may take).
 *
 * Context: the caller holds the connection's strand, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_FLOW_H
#define RPCRDMA_TRANSPORT_FLOW_H

#include "transport/core/core.h"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"

/* ms: until a connection that has used up max_wrong may send another bad message. They
 * are looked at together, each RT_TICK_MS. */
#define RT_WRONG_MS 10
/* With many hosts each has this fraction of its share of Replies. */
#define RT_MANY_HOSTS 16
/* ms: a server leaves the extra Receive to the client's GRANTs. */
#define RT_RESERVE_MS 200

enum rt_out_kind {
	RT_OUT_CALL,
	RT_OUT_REPLY,
	RT_OUT_CONTROL,
};

/* What differs between the versions, above the codec. */
struct rt_version {
	unsigned int number;
	bool continuation; /* of messages; also GRANT and CONNPROP */
	bool answers_replies; /* a malformed one, with an ERROR */
	bool inv_field; /* a Call names the handle to invalidate */

	/* Flow control: how many Receives to post; rdma_credit of a message that is
	 * about to be posted; whether it may be; that it has been; whether a GRANT is
	 * due, and may go. */
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

	/* A message of this version has come. */
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Answer a Call for which there is no memory now. */
	void (*refuse_call)(struct rt_conn *c, uint32_t xid);
};

/* A Call or Reply that goes, in rt_conn.replies or .calls_out until its first message has
 * been posted. @send posts its next message, and returns false if that must wait. */
struct rt_outgoing {
	struct cds_list_head queue;
	enum rt_out_kind kind;
	bool (*send)(struct rt_conn *c, struct rt_outgoing *o);
};

/* What flow control needs of the room above. */
struct rt_traffic {
	/* A message has come, in w->buf. The buffer is w's unless taken. */
	void (*received)(struct rt_conn *c, struct rt_work *w,
			 const struct fab_wc *wc);
	/* Post the next ERROR; our properties, or a part of a token. They return
	 * false if that must wait. */
	bool (*error)(struct rt_conn *c);
	bool (*props)(struct rt_conn *c);
};

/* The messages of an extension, while it is in use. */
struct rt_sender {
	bool (*due)(const struct rt_conn *c);
	bool (*send)(struct rt_conn *c);
};

/*
 * Returns how many Replies, and Sends, may be posted that the peer has not taken. A peer
 * that keeps to its credits comes nowhere near: a Send completes before, or soon after,
 * whatever is sent because of it.
 */
static inline unsigned int rt_max_untaken(const struct rt_conn *c)
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
/* Post ERRORs and nothing else, unless they would come amid a message of ours. */
void rt_pump_errors(struct rt_conn *c);
/* Add @w to the chain as a Send, whose header of @hlen octets is in its buffer. */
void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen);

/* receives.c, Receives */
/* Share Receives if the settings say so. Before the first connection. Returns 0 or
 * -errno. */
int rt_share_receives(struct rt_instance *inst);
/* Post as many Receives as flow control asks for. Returns 0 or -errno; if there is no
 * memory, c->recvs_lacking says how many are lacking. */
int rt_post_receives(struct rt_conn *c);
/* Take back the Receives of a connection that was never started. The fabric has let go
 * of them. */
void rt_reclaim_receives(struct rt_conn *c);
/* Set the size of the Receives that are posted from now on: as @announced, or as they
 * are being raised to. */
void rt_receives_size(struct rt_conn *c, uint32_t announced);
/* Begin to raise Receives to @size octets. */
void rt_receives_raise(struct rt_conn *c, uint32_t size, uint32_t announced);
/* Put back the buffer of a Receive; buffers that a Call kept, or others. */
void rt_receive_put(struct rt_conn *c, struct fab_buf *b);
void rt_receive_back(struct rt_conn *c, struct fab_buf **list);

/* receives.c, what a connection has of its own */
/* Before the first Receive is posted. Returns 0, -ENOMEM, or -EDQUOT if the host has had
 * its share; a server has logged it. */
int rt_reserve(struct rt_conn *c);
void rt_reserve_release(struct rt_conn *c);
/* Post the Receive for the Reply to a reverse Call, which has been counted and is about
 * to be posted. Returns 0, -EAGAIN if the Call must wait, or another -errno if the
 * connection fails. */
int rt_reserve_reverse(struct rt_conn *c);
/* Have buffers for Receives of @size octets. Returns false if nothing has changed. */
bool rt_reserve_resize(struct rt_conn *c, size_t size);
/* Receives are shorter now: exchange the free buffers. */
void rt_reserve_shorten(struct rt_conn *c);

/* account.c, hosts */
void rt_hosts_init(struct rt_instance *inst);
/* Count a connection among those of its host. Returns 0, or -EUSERS (too many) or
 * -ENOMEM after logging it. */
int rt_host_join(struct rt_conn *c, const struct sockaddr_storage *peer);
/* The connection has ended, or after that its last Call has come back. inst->lock is
 * held. */
void rt_host_ended(struct rt_conn *c);
/* The same without the lock. */
void rt_host_calls_back(struct rt_conn *c);
void rt_host_leave(struct rt_conn *c);
/* Charge @n octets of buffers for chunks or reassembly to connection, host and
 * instance. The message that asks has @mine octets already. Returns false if that is
 * over a limit. */
bool rt_memory_charge(struct rt_conn *c, size_t mine, size_t n);
void rt_memory_uncharge(struct rt_conn *c, size_t n);
/* Returns a buffer that is charged, or NULL. */
struct fab_buf *rt_memory_get(struct rt_conn *c, size_t mine, size_t size);
/* Returns true if other connections, or this one, have memory charged. */
bool rt_memory_elsewhere(const struct rt_conn *c);
bool rt_memory_held(const struct rt_conn *c);
/* Charge @n octets of Receives of its own, in place of those before, to the host.
 * Returns false if that is over its share. */
bool rt_host_receives(struct rt_conn *c, size_t n);
/* Count octets of Replies that have been given to the transport, or have gone. Any
 * thread. */
void rt_replies_add(struct rt_conn *c, size_t n);
void rt_replies_sub(struct rt_conn *c, size_t n);
/* Returns true if the host has more Replies to take than its share, and some are of
 * this connection, or it has @others in progress. Any thread. */
bool rt_replies_over_limit(struct rt_conn *c, unsigned int others);
/* Returns why, for the log. Any thread. */
const char *rt_replies_limit_text(struct rt_conn *c);

/* account.c, unproved connections */
void rt_unproved_init(struct rt_conn *c);
/* Server: the peer may have to show who it is. */
void rt_unproved_join(struct rt_conn *c);
/* That is settled, or the connection has ended. */
void rt_unproved_leave(struct rt_conn *c);
/* The same while inst->lock is held. */
void rt_unproved_leave_locked(struct rt_conn *c);

/* account.c, bad messages */
void rt_bad_message(struct rt_conn *c);
/* A GRANT has come, and has been counted. */
void rt_grant_received(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_FLOW_H */
