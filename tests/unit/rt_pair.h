/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt_pair - two transport instances joined by the loop provider
 *
 * A client and a server instance share one loop domain and are run by the
 * test's own thread, in turn (rt_pair_run), so that everything is repeatable.
 * The server's upper layer is a small program: it answers with a Reply whose
 * payload, items and delay the Call's first words ask for.
 *
 * Call payload: xid, CALL (0), 12 words to the length of an RPC head, then
 *   word 14 reply_len: octets of the Reply without its items
 *   word 15 nitems, then for each: position, length
 *   word  n data_len, data (the part a test reduces)
 * The Reply holds at each octet a pattern of its XID and position; the data of
 * the Call is summed into its second word. In version 1, where the second word
 * must be REPLY (1), into its third; Replies have at least 12 octets there.
 */
#ifndef RPCRDMA_RT_PAIR_H
#define RPCRDMA_RT_PAIR_H

#include <netinet/in.h>
#include <stdatomic.h>

#include "loop/loop.h"
#include "rpcrdma/pool.h"
#include "rt_watch.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"
#include "unit.h"

/* What it puts into Replies, but for the first two words; and, by xid ^ 0x55, into the
 * data of Calls. */
UNIT_UNWATCHED
static inline uint8_t rt_pair_pattern(uint32_t xid, size_t pos)
{
	return (uint8_t)(xid * 31 + pos * 7 + (pos >> 8));
}

/* Octets that a Call carries for the upper layer: no multiple of eight. */
#define PAIR_CALL_USER 509
#define PAIR_MAX_CALLS 256

/* Allocations of this harness itself. */
extern atomic_uint rt_pair_allocs;

struct rt_pair {
	struct fab_domain *dom;
	struct rt_instance *client_inst, *server_inst;
	struct rt_listener *listener;
	struct rt_conn *client, *server;
	bool client_up, server_up, client_closed, server_closed;
	/* The server's: how often it was told, and what it knew then. */
	unsigned int server_ups, calls_at_up;
	struct rt_conn_info info_at_up;
	bool v1; /* the client has settled on version 1 */
	int client_error, server_error;
	char client_reason[500], server_reason[500];
	/* Set by a test: hold the server's Calls instead of answering. */
	bool hold;
	unsigned int op_class; /* of the Calls that it answers */
	bool fills; /* Calls carry octets of ours */
	struct rt_call *held[PAIR_MAX_CALLS];
	unsigned int nheld;
	unsigned int calls, reverse_calls, answers, dones;
	/* Calls that came back from rt_call_wait(), and those after the end. */
	unsigned int resumes, resumes_late;
	uint32_t vet_code, vet_max;
	bool vet_torn; /* take torn Calls */
	bool vet_misfit; /* all are torn */
	/* What was vetted last, and the octets of its stream. */
	struct rt_vet vet;
	size_t vetted;
	unsigned int vets; /* Calls of which it has left something */
	unsigned int pollings;
	/* Of the results: where their operations begin in the Call, or 0. */
	uint32_t origin[RT_MAX_CHUNKS];
	/* A Call's answer is rt_call_drop(). */
	bool drop;
	struct rt_watch watch;
	/* Run in rt_pair_run() with the instances, if set: a raw peer's. */
	struct fab_poller *raw_poller;
	struct fab_pool *pool; /* for shared Receives; else NULL */
};

/* The authenticator of instances made from now on with a policy for it; the
 * context is that of the client's and the server's instance. */
extern const struct rt_auth_ops *rt_pair_auth;
extern void *rt_pair_auth_ctx[2];

/* Pairs opened from now on have this provider, at that address, instead of loop; rt_watch
 * sees nothing of it, and what moves may take its time. NULL: loop. */
extern const struct fab_ops *rt_pair_provider;
extern struct in_addr rt_pair_host;

/* The latest line for the log that this thread has made. */
extern _Thread_local char rt_pair_line[256];

/* Zero configs mean the defaults. False: it did not come up. */
bool rt_pair_open(struct rt_pair *p, const struct rt_config *client,
		  const struct rt_config *server,
		  void (*prepare)(struct fab_domain *));
/* As rt_pair_open, but does not connect. */
bool rt_pair_listen(struct rt_pair *p, const struct rt_config *client,
		    const struct rt_config *server,
		    void (*prepare)(struct fab_domain *));
bool rt_pair_connect(struct rt_pair *p);
/* Connect the client to @port; true if that has begun. */
bool rt_pair_connect_to(struct rt_pair *p, uint16_t port);
/* Run both sides until nothing moves any more. */
void rt_pair_run(struct rt_pair *p);
/* End everything; checks that nothing is left. The clock goes on, if it was
 * held (test_clock.h). */
void rt_pair_close(struct rt_pair *p);
/* Answer one held Call (as its words ask). Any thread. */
void rt_pair_answer(struct rt_pair *p, struct rt_call *call);

/* One RPC as a test sees it. */
struct rt_rpc {
	struct rt_request *rq;
	struct fab_buf *call_buf;
	struct fab_buf *sink_buf[4];
	struct rt_piece piece[2];
	struct rt_item item;
	struct rt_item want[4]; /* results asked for */
	struct rt_sink sink[4];
	bool done;
	unsigned int nsubmit, ndone;
	uint32_t xid;
	size_t reply_len, data_len;
	unsigned int nitems;
	struct rt_pair *pair;
};

/*
 * Prepare a Call of @data_len octets of data (offered as an eligible item if
 * @reduce) that asks for a Reply of @reply_len octets without items, and for
 * @nitems items of @item_len octets each, of which the first @nsinks get a
 * Write chunk of @sink_len octets.
 */
void rt_rpc_init(struct rt_pair *p, struct rt_conn *c, struct rt_rpc *r,
		 uint32_t xid, size_t data_len, bool reduce, size_t reply_len,
		 unsigned int nitems, uint32_t item_len, unsigned int nsinks,
		 uint32_t sink_len);
void rt_rpc_submit(struct rt_conn *c, struct rt_rpc *r);
/* Is the Reply right, octet by octet? */
bool rt_rpc_check(struct rt_rpc *r);
void rt_rpc_free(struct rt_rpc *r);
/* Check and free the @n of @r. */
void rt_rpc_finish(struct rt_rpc *r, size_t n);
/* Returns how many messages @c has sent. */
uint64_t rt_pair_sent(struct rt_conn *c);

/* A whole round trip; true if all of it was right. */
bool rt_rpc_trip(struct rt_pair *p, struct rt_conn *from, uint32_t xid,
		 size_t data_len, bool reduce, size_t reply_len,
		 unsigned int nitems, uint32_t item_len, unsigned int nsinks,
		 uint32_t sink_len);

struct rt_stats rt_pair_stats(struct rt_instance *inst);
/* After Calls that all had Replies: what one end has sent by classes the other
 * has received, and it is by RDMA what the counters say. */
bool rt_pair_classes_match(struct rt_pair *p);

#endif /* RPCRDMA_RT_PAIR_H */
