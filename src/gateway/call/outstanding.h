/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * outstanding - Calls on their way through the gateway
 *
 * A Call is in its client's table from gw_call_take() until its Reply is queued,
 * and counts as outstanding until the Reply is written. While it is submitted to
 * the transport, only the strand touches it.
 *
 * Files, the lower first: sink.c (memory for results), shorten.c (Calls that are too
 * long), plan.c (what goes by chunks), layout.c (the Reply as a record), answer.c (what
 * becomes of a Call), outstanding.c.
 */
#ifndef RPCRDMA_GATEWAY_CALL_OUTSTANDING_H
#define RPCRDMA_GATEWAY_CALL_OUTSTANDING_H

#include "gateway/loop/send_queue.h"
#include "gateway/call/tcp_record.h"
#include "rpcrdma/nfs.h"
#include "rpcrdma/request.h"
#include "tools/record.h"
#include "tools/rpcmsg.h"

#define GW_HASH 128
/* Sinks of one Call, in octets and in pool buffers. */
#define GW_SINKS_MAX ((size_t)16 << 20)
#define GW_SINK_PIECES (GW_SINKS_MAX / FAB_POOL_MAX_BUF + ULB_MAX_ITEMS)
/* The Reply's pieces, cut once for each item, with the items and pads. */
#define GW_REPLY_IOV (1 + RT_MAX_PIECES + 2 * ULB_MAX_ITEMS + GW_SINK_PIECES)

struct gateway;

struct gw_call {
	struct gw_send send; /* first: both have one address */
	struct gw_call *next, *prev; /* of gw_calls, in the order they came */
	struct gw_call *hnext; /* in gw_calls.hash */
	struct gw_call *snext; /* in the list that is being submitted */
	struct gw_client *c;
	struct rt_request *rq;
	uint64_t lost_since; /* ns; 0: never interrupted */
	unsigned int gen; /* of the RDMA connection last submitted to */
	bool submitted;
	bool plain; /* without chunks: the server takes none, or not so many */
	bool write_retry,
		reply_retry; /* tried again with more room, once each [E5] */
	size_t cost; /* octets counted in gw_calls.held */
	size_t charge; /* octets on the client's account, beside the buffers */
	struct gw_record rec;
	struct ulb_call head; /* as gw_shorten_head() decoded it */
	struct ulb_scan scan;
	struct rt_item items[ULB_MAX_ITEMS];
	struct rt_sink sinks[ULB_MAX_ITEMS];
	struct fab_buf *sink_buf[ULB_MAX_ITEMS]; /* each the first of a chain */
	struct rt_piece sink_piece[GW_SINK_PIECES];
	unsigned int nsink_pieces;
	uint8_t mark[REC_MARK_LEN + RPC_REPLY_HEAD];
	struct iovec iov[GW_REPLY_IOV];
};

/* A client's outstanding Calls. client.lock held, but for what says otherwise. */
struct gw_calls {
	struct gw_call *first, *last;
	struct gw_call *hash[GW_HASH];
	unsigned int outstanding;
	size_t held;
	bool paused;
	bool idle_wanted; /* send GW_EV_IDLE when nothing is outstanding */
	uint64_t lost_since; /* ns; 0: the server answers */
	/* Changed by the worker: the RDMA connection, or NULL, and its number. */
	struct rt_conn *to;
	unsigned int gen;
	bool no_chunks; /* the server takes no segments; worker only */
};

static inline unsigned int gw_calls_outstanding(const struct gw_calls *b)
{
	return b->outstanding;
}

/* Returns true if a Call has had no answer so far. Fewer than are outstanding: an
 * answered Call is until its Reply is written. */
static inline bool gw_calls_asked(const struct gw_calls *b)
{
	return b->first;
}

/* The client sends no more: send GW_EV_IDLE when nothing is outstanding. */
static inline void gw_calls_end(struct gw_calls *b)
{
	b->idle_wanted = true;
}

/* The connection has ended, and no Call waits for the next. */
static inline void gw_calls_none_lost(struct gw_calls *b)
{
	b->lost_since = 0;
}

/* ---- Worker, no lock held ----------------------------------------------- */

enum gw_take {
	GW_TAKEN,
	GW_PAUSE, /* at the limit; GW_EV_ROOM will follow */
	GW_NO_MEMORY, /* try again later */
};
/* Make a Call of @rec, which is empty if it was taken. It is denied with @denial if
 * that is not NULL, or if it comes from a port that anybody can have and RPCSEC_GSS
 * does not sign it. */
enum gw_take gw_call_take(struct gw_client *c, struct gw_record *rec,
			  uint32_t xid, const struct ulb_denial *denial);
/* From now on Calls go to @rc, whose server may take no chunks. */
void gw_calls_open(struct gw_client *c, struct rt_conn *rc, bool no_chunks);
/* The connection has ended. Returns since when the server has not answered, ns;
 * @any tells whether there are Calls. */
uint64_t gw_calls_close(struct gw_client *c, uint64_t now, bool *any);
/* Submit what is not submitted, in the order it came. */
void gw_calls_submit(struct gw_client *c);
/* Send together what is submitted until gw_calls_unhold(), which gets the result. */
struct rt_conn *gw_calls_hold(struct gw_client *c);
void gw_calls_unhold(struct rt_conn *rc);
/* The client is dead: free what is not with the transport. */
void gw_calls_abandon(struct gw_client *c);

/* ---- Between the files of Calls ----------------------------------------- */

/* outstanding.c. client.lock held. */
struct gw_call *gw_call_table_find(struct gw_calls *b, uint32_t xid);
void gw_call_table_insert(struct gw_calls *b, struct gw_call *call);
void gw_call_table_remove(struct gw_calls *b, struct gw_call *call);
bool gw_call_table_is_full(const struct gw_client *c);
/* Free a Call that is not in the table any more. No lock held. */
void gw_call_free(struct gw_client *c, struct gw_call *call, bool written);

/* plan.c. */
bool gw_call_is_gss(const struct gw_call *call);
/* Decide which arguments and results go by chunks, and get memory for the results.
 * Returns false without memory; a plain Call needs none. */
bool gw_call_plan(struct gw_call *call);
/* Charge the client's account for the Call and the longest Reply that it allows.
 * Returns false if refused. Worker. */
bool gw_call_charge(struct gw_call *call);
/* Change the charge to the Reply that has come. Any thread. */
void gw_call_recharge(struct gw_call *call);
/* Make room for Replies of @len octets under integrity or privacy from now on. */
void gw_plan_expect(struct gateway *gw, size_t len);

/* answer.c: rt_request.done. Strand. */
void gw_call_done(struct rt_request *rq);
/* Deny a Call that is in the table and not submitted. Worker. */
void gw_call_deny(struct gw_call *call, const struct ulb_denial *denial);

/*
 * layout.c: lay out call->iov as mark, Reply, and at their positions the @placed
 * items that came through Write chunks. Returns 0, -EBADMSG if the Reply does not
 * agree with them, or -EPROTO if it is no Reply.
 */
int gw_call_layout(struct gw_call *call, unsigned int *placed);

/* sink.c. Returns the most octets of sinks that one Call may have. */
size_t gw_sinks_most(const struct gateway *gw);
/*
 * Get memory for the result @i, of @len octets, in place of what it has. With @must
 * the account is not asked, and any thread may call; otherwise the worker. Returns
 * false, and changes nothing, without memory.
 */
bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len, bool must);
void gw_sinks_release(struct gw_call *call);

#endif /* RPCRDMA_GATEWAY_CALL_OUTSTANDING_H */
