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

/* When a connection has had max_wrong, it may have one that is wrong in so many
 * ms. They are looked at together, each RT_TICK_MS. */
#define RT_WRONG_MS 10
/* A host's share of Replies is so much less where there are many hosts. */
#define RT_MANY_HOSTS 16
/* A server leaves the extra Receive to the client's GRANTs for this long. */
#define RT_RESERVE_MS 200

/* What goes out, as flow control sees it. */
enum rt_out_kind {
	RT_OUT_CALL,
	RT_OUT_REPLY,
	RT_OUT_CONTROL,
};

/* What differs between the versions, above the codec. */
struct rt_version {
	unsigned int number;
	/* Messages of several fragments; GRANT and CONNPROP. */
	bool continuation;
	/* A malformed Reply is answered with an error. */
	bool answers_replies;
	/* A Call's header has a field for the handle to be invalidated. */
	bool inv_field;

	/* Flow control: Receives to post, rdma_credit of a message about to be
	 * posted, whether it may be, that it has been. */
	uint32_t (*receives)(const struct rt_conn *c);
	uint32_t (*credit_word)(const struct rt_conn *c, enum rt_out_kind kind);
	bool (*may_send)(const struct rt_conn *c, enum rt_out_kind kind);
	void (*posted)(struct rt_conn *c);
	bool (*grant_due)(struct rt_conn *c); /* and may go */
	void (*fill_info)(const struct rt_conn *c, struct rt_conn_info *info);

	/* The codec; as the functions of wire.h. */
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

	/* A message of this version, the connection's. */
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Cannot take a Call now that another time could be taken. */
	void (*refuse_call)(struct rt_conn *c, uint32_t xid);
};

/* A Call or Reply that goes, in one of the queues until its first message has
 * been posted. @send: post its next message; false when it has to wait. */
struct rt_outgoing {
	struct cds_list_head queue;
	enum rt_out_kind kind;
	bool (*send)(struct rt_conn *c, struct rt_outgoing *o);
};

/* What messages do for it. */
struct rt_traffic {
	/* One has come, in w->buf. */
	void (*received)(struct rt_conn *c, struct rt_work *w,
			 const struct fab_wc *wc);
	/* Post the next ERROR; our properties, or a part of a token. False when
	 * that has to wait. */
	bool (*error)(struct rt_conn *c);
	bool (*props)(struct rt_conn *c);
};

/* An extension that has messages of its own, while it is in use. */
struct rt_sender {
	bool (*due)(const struct rt_conn *c);
	bool (*send)(struct rt_conn *c);
};

/*
 * So many Replies, and as many Sends, may be posted that the peer has yet to
 * take. One that keeps to its credits comes nowhere near: a Send is done before
 * what is sent because of it comes, or soon after.
 */
static inline unsigned int rt_conn_most(const struct rt_conn *c)
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
/* Only ERRORs go out, when nothing else may any more, unless they would come amid
 * a message of ours. */
void rt_pump_errors(struct rt_conn *c);
/* Post @w as a Send whose header of @hlen octets is in its buffer. */
void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen);

/* receives.c */
/* Before the first connection: do as the settings say. 0 or -errno. */
int rt_share_receives(struct rt_instance *inst);
/* Post Receives up to what flow control calls for; 0 or -errno. */
int rt_post_receives(struct rt_conn *c);
/* Of a connection that was never started; the fabric has let go of them. */
void rt_reclaim_receives(struct rt_conn *c);
/* How long those are that are posted from now on: as long as is @announced, or
 * as they are being raised to. */
void rt_receives_size(struct rt_conn *c, uint32_t announced);
/* Raise them to @size octets: what is posted and shorter is counted. */
void rt_receives_raise(struct rt_conn *c, uint32_t size, uint32_t announced);

/* account.c */
void rt_hosts_init(struct rt_instance *inst);
/* Count @c among those of its host: 0, -EUSERS: too many, -ENOMEM; it has been
 * logged. */
int rt_host_join(struct rt_conn *c, const struct sockaddr_storage *peer);
/* It has ended, or its last Call is back after that; inst->lock is held. */
void rt_host_ended(struct rt_conn *c);
/* Likewise; the lock is not held. */
void rt_host_calls_back(struct rt_conn *c);
void rt_host_leave(struct rt_conn *c);
/* Octets of the buffers of chunks and reassembly, whatever is in them, where
 * @mine are the asking message's already; runner. False: not now. */
bool rt_memory_take(struct rt_conn *c, size_t mine, size_t n);
/* Does more than its share wait to be taken by this one's host, and something
 * of that, or one of @others, keep this connection busy? Any thread. */
bool rt_replies_wait(struct rt_conn *c, unsigned int others);
/* And for what, for the log. Any thread. */
const char *rt_replies_why(struct rt_conn *c);
/* A buffer for them, counted so; NULL: not now. */
struct fab_buf *rt_memory_get(struct rt_conn *c, size_t mine, size_t size);
void rt_memory_give(struct rt_conn *c, size_t n);
/* Do other connections have some? */
bool rt_memory_elsewhere(const struct rt_conn *c);
/* Does this connection have any? */
bool rt_memory_held(const struct rt_conn *c);
/* So many octets are its own Receives; false: too many for its host. */
bool rt_host_receives(struct rt_conn *c, size_t n);
/* Octets of Replies; any thread. */
void rt_replies_add(struct rt_conn *c, size_t n);
void rt_replies_sub(struct rt_conn *c, size_t n);

/* Before the first Receive is posted: 0, -ENOMEM, -EDQUOT: its host has had
 * its share; of a server's it has been logged. */
int rt_reserve(struct rt_conn *c);
void rt_reserve_end(struct rt_conn *c);
/* The Receive for the Reply to a reverse Call that is about to be posted, and is
 * counted: 0, -EAGAIN: it waits, or why the connection fails. */
int rt_reserve_reverse(struct rt_conn *c);
/* Receives of another size; false: nothing has changed. */
bool rt_reserve_resize(struct rt_conn *c, size_t size);
/* They are shorter now: change the free ones, and those that come back. */
void rt_reserve_shorten(struct rt_conn *c);
/* A Receive's buffer that nobody kept. */
void rt_receive_put(struct rt_conn *c, struct fab_buf *b);
/* What was kept of Receives, and other buffers. */
void rt_receive_back(struct rt_conn *c, struct fab_buf **list);

void rt_unproved_init(struct rt_conn *c);
/* Server: a connection whose peer may have to show who it is. */
void rt_unproved_join(struct rt_conn *c);
/* That is settled, or it has ended. */
void rt_unproved_leave(struct rt_conn *c);
/* The same, with inst->lock held. */
void rt_unproved_leave_locked(struct rt_conn *c);

/* The peer has sent what is wrong. */
void rt_wrong(struct rt_conn *c);
/* The peer has sent a GRANT, which has been counted. */
void rt_granted(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_FLOW_H */
