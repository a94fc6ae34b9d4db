/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt_raw - a peer that is not the transport
 *
 * It drives the loop provider itself and sends whatever octets a test builds,
 * as a client against the transport's server, or as a server against the
 * transport's client. Its credits are what the test says; it answers nothing
 * by itself. Built on struct rt_pair, whose one instance is the other end.
 */
#ifndef RPCRDMA_RT_RAW_H
#define RPCRDMA_RT_RAW_H

#include "rt_pair.h"
#include "rpcrdma/wire.h"

/* A fuzz target, which makes one anew for each input, takes less. */
#ifndef RAW_RECVS
#define RAW_RECVS 96
#define RAW_MEM (4u << 20)
#endif
#define RAW_RECV_SIZE 8192
#define RAW_PORT 20050 /* of a raw server */

struct rt_raw {
	struct rt_pair p;
	struct fab_poller *poller;
	struct fab_listener *listener;
	struct fab_conn *fab;
	bool up, down;
	int error;
	const char *reason;

	uint32_t sent, received; /* messages */
	uint32_t limit; /* the last rdma_credit that came */
	uint32_t credits; /* rdma_credit is received + credits */

	struct raw_recv *recvs;
	struct raw_recv *first, **last; /* came, not yet looked at */
	unsigned int queued;
	uint8_t *send_buf;
	/* Private data: what goes, set before connecting; what came. */
	const void *priv;
	size_t priv_len;
	uint8_t peer_priv[512];
	size_t peer_priv_len;
	bool send_invalidate;
	uint32_t send_inv_handle;

	/* RAW_MEM octets that can be opened to the peer. */
	uint8_t *mem;
	struct fab_mr *mr;

	/* The message being looked at. */
	uint8_t msg[RAW_RECV_SIZE];
	size_t msg_len;
	bool invalidated;
	uint32_t inv_handle;
	enum wire_status status;
	struct wire_msg m;

	struct wire_enc enc;
};

/* Against a server of these settings; the connection is up, nothing sent. */
bool rt_raw_client(struct rt_raw *r, const struct rt_config *server);
bool rt_raw_client_with(struct rt_raw *r, const struct rt_config *server,
			const void *priv, size_t priv_len);
/* Against a client, which has connected and sent its first message. */
bool rt_raw_server(struct rt_raw *r, const struct rt_config *client);
bool rt_raw_server_with(struct rt_raw *r, const struct rt_config *client,
			const void *priv, size_t priv_len);
/* As a server without a connection: the test has p.client_inst connect to RAW_PORT. */
bool rt_raw_listen(struct rt_raw *r, const struct rt_config *client);
/* End the connection, if there is one, so that the next can be accepted. */
void rt_raw_drop(struct rt_raw *r);
/* A new connection of the same kind, after the old one has ended. */
bool rt_raw_again(struct rt_raw *r);
void rt_raw_close(struct rt_raw *r);

/* Both sides, until nothing moves. */
void rt_raw_run(struct rt_raw *r);
/* Let 10 ms pass and run; the clock is held otherwise (test_clock.h). */
void rt_raw_nap(struct rt_raw *r);
/* Let time pass until @cond holds, but not for ever. */
#define RT_RAW_WAIT(r, cond)                      \
	({                                        \
		unsigned int naps_ = 0;           \
		while (!(cond) && naps_++ < 1000) \
			rt_raw_nap(r);            \
		!!(cond);                         \
	})
/*
 * The next message that came: 0 if there is none, else its rdma_htype (of any
 * version); in r->m (if it decodes) and r->msg.
 */
uint32_t rt_raw_next(struct rt_raw *r);
/* The same; false if there is none. In version 1, RDMA_MSG is 0. */
bool rt_raw_more(struct rt_raw *r);
/* Drop all that came. */
void rt_raw_flush(struct rt_raw *r);

/* Send octets as they are. */
void rt_raw_send(struct rt_raw *r, const void *buf, size_t len);
/* Build one: prefix, then wire_put_*(&r->enc, ...), then send. */
struct wire_enc *rt_raw_begin(struct rt_raw *r, uint32_t htype, uint32_t xid);
void rt_raw_end(struct rt_raw *r);
uint32_t rt_raw_credit(const struct rt_raw *r);

void rt_raw_connprop(struct rt_raw *r, bool final,
		     const struct wire_prop *props, uint32_t count);
/* One uint32 property and FINAL (or not). */
void rt_raw_prop(struct rt_raw *r, bool final, uint32_t which, uint32_t value);
void rt_raw_grant(struct rt_raw *r);
void rt_raw_error(struct rt_raw *r, uint32_t xid, uint32_t code);
/*
 * A Call or Reply of these lists with a payload. A Call's @payload NULL: one of
 * rt_pair's that asks for a Reply of @len octets.
 */
void rt_raw_call(struct rt_raw *r, uint32_t xid, const struct wire_call_desc *d,
		 const void *payload, size_t len);
void rt_raw_reply(struct rt_raw *r, uint32_t xid,
		  const struct wire_reply_desc *d, const void *payload,
		  size_t len);
void rt_raw_middle(struct rt_raw *r, uint32_t xid, bool reply,
		   uint32_t remaining, const void *payload, size_t len);
/*
 * rt_pair's Call: asks for @reply_len octets and @nitems items of @item_len.
 * Returns its length. @data_len octets of data follow (of a pattern).
 */
size_t rt_raw_payload(uint8_t *buf, uint32_t xid, uint32_t reply_len,
		      uint32_t nitems, uint32_t item_len, uint32_t data_len);

/* Open @len octets of r->mem at @at. */
struct wire_segment rt_raw_expose(struct rt_raw *r, size_t at, uint32_t len,
				  bool write);

/* Is the next message this ERROR? */
bool rt_raw_is_error(struct rt_raw *r, uint32_t xid, uint32_t code);
/* Is the next message a REPLY_INLINE of this XID? */
bool rt_raw_is_reply(struct rt_raw *r, uint32_t xid);
/* Nothing came, and the connection is still there. */
bool rt_raw_silent(struct rt_raw *r);
/* The start that most tests need: CONNPROP_FINAL each way. */
bool rt_raw_greet(struct rt_raw *r);

#endif /* RPCRDMA_RT_RAW_H */
