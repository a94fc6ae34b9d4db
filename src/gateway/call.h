/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * call - Calls on their way through the gateway
 *
 * A Call is on its client's books from gw_call_take() until its answer is queued,
 * and counted as outstanding until the answer is written. While it is with the
 * transport (submitted), only the strand touches it.
 *
 * Files, the lower first: books.c, sink.c and fit.c, plan.c, answer.c, call.c.
 */
#ifndef RPCRDMA_GATEWAY_CALL_H
#define RPCRDMA_GATEWAY_CALL_H

#include "gateway/out.h"
#include "gateway/record.h"
#include "rpcrdma/nfs.h"
#include "rpcrdma/request.h"
#include "tools/record.h"
#include "tools/rpcmsg.h"

#define GW_HASH 128
/* Sinks of one Call, in octets, and the stretches that they are in. */
#define GW_SINKS_MAX ((size_t)16 << 20)
#define GW_SINK_PIECES (GW_SINKS_MAX / FAB_POOL_MAX_BUF + ULB_MAX_ITEMS)
/* The Reply's pieces, cut once for each item, with the items and pads. */
#define GW_REPLY_IOV (1 + RT_MAX_PIECES + 2 * ULB_MAX_ITEMS + GW_SINK_PIECES)

struct gateway;

struct gw_call {
	struct gw_out out; /* first: out and call have one address */
	struct gw_call *next, *prev; /* of gw_calls, in the order they came */
	struct gw_call *hnext; /* in gw_calls.hash */
	struct gw_call *snext; /* list being submitted */
	struct gw_client *c;
	struct rt_request *rq;
	uint64_t lost_since; /* ns; 0: never interrupted */
	unsigned int gen; /* of the RDMA connection last submitted to */
	bool submitted;
	bool plain; /* nothing is reduced: too many chunks otherwise */
	bool write_retry, reply_retry; /* done once each [E5] */
	size_t cost; /* octets counted in gw_calls.held */
	size_t charge; /* of the share, beside the buffers */
	struct gw_record rec;
	struct ulb_call head; /* decoded by gw_fit_head() */
	struct ulb_scan scan;
	struct rt_item items[ULB_MAX_ITEMS];
	struct rt_sink sinks[ULB_MAX_ITEMS];
	struct fab_buf *sink_buf[ULB_MAX_ITEMS]; /* each the first of a chain */
	struct rt_piece sink_piece[GW_SINK_PIECES];
	unsigned int nsink_pieces;
	uint8_t mark[REC_MARK_LEN + RPC_REPLY_HEAD];
	struct iovec iov[GW_REPLY_IOV];
};

/* A client's books. client.lock held, but for what says otherwise. */
struct gw_calls {
	struct gw_call *first, *last;
	struct gw_call *hash[GW_HASH];
	unsigned int outstanding;
	size_t held;
	bool paused;
	bool idle_wanted; /* tell when nothing is outstanding */
	uint64_t lost_since; /* ns; 0: the server answers */
	unsigned int gen; /* counts connections; changed by the worker */
	/* Where they go to; NULL: nowhere now. Likewise. */
	struct rt_conn *to;
	bool no_chunks; /* the server takes no segments; worker only */
};

static inline unsigned int gw_calls_outstanding(const struct gw_calls *b)
{
	return b->outstanding;
}

/* Is there one whose answer has not come? One that has may be outstanding still:
 * until the thread that wrote it has said so. */
static inline bool gw_calls_asked(const struct gw_calls *b)
{
	return b->first;
}

/* The client sends no more: GW_EV_IDLE when nothing is outstanding. */
static inline void gw_calls_end(struct gw_calls *b)
{
	b->idle_wanted = true;
}

static inline bool gw_calls_ending(const struct gw_calls *b)
{
	return b->idle_wanted;
}

/* ---- Worker, no lock held ----------------------------------------------- */

enum gw_take {
	GW_TAKEN,
	GW_PAUSE, /* at the limit; GW_EV_ROOM will follow */
	GW_NO_MEMORY, /* try again later */
};
/* @rec is the Call, and is empty if it was taken. @denial: how it is to be denied;
 * or NULL, and from a port that anybody can have only what RPCSEC_GSS signs is let
 * through. */
enum gw_take gw_call_take(struct gw_client *c, struct gw_record *rec,
			  uint32_t xid, const struct ulb_denial *denial);
/* From now on they go to @rc, whose server may take no chunks. */
void gw_calls_open(struct gw_client *c, struct rt_conn *rc, bool no_chunks);
/* ... and now nowhere. Since when has the server not answered, ns? @any: are
 * there Calls? */
uint64_t gw_calls_close(struct gw_client *c, uint64_t now, bool *any);
/* Submit what is not submitted, in the order it came. */
void gw_calls_submit(struct gw_client *c);
/* What is submitted until gw_calls_unhold() is sent together. The connection, to
 * be given back there, or NULL. */
struct rt_conn *gw_calls_hold(struct gw_client *c);
void gw_calls_unhold(struct rt_conn *rc);
/* The client is dead: give up what is not with the transport. */
void gw_calls_abandon(struct gw_client *c);

/* ---- Between the files of Calls ----------------------------------------- */

/* books.c. client.lock held. */
struct gw_call *gw_books_find(struct gw_calls *b, uint32_t xid);
void gw_books_insert(struct gw_calls *b, struct gw_call *call);
void gw_books_remove(struct gw_calls *b, struct gw_call *call);
bool gw_books_full(const struct gw_client *c);
/* Off the books and gone. Not linked any more; no lock held. */
void gw_call_free(struct gw_client *c, struct gw_call *call, bool written);

/* plan.c. */
bool gw_call_is_gss(const struct gw_call *call);
/* Which arguments and results go by chunks. False: no memory for sinks; one that
 * is plain has none, and cannot fail. */
bool gw_call_plan(struct gw_call *call);
/* Its heap, and the Reply that it announces. Worker. */
bool gw_call_charge(struct gw_call *call);
/* The same with the Reply that the transport really holds. */
void gw_call_recharge(struct gw_call *call);
/* A Reply of @len octets under integrity or privacy found no room. */
void gw_plan_expect(struct gateway *gw, size_t len);

/* answer.c: rt_request.done. Strand. */
void gw_call_done(struct rt_request *rq);
/* It is on the books and goes nowhere. Worker. */
void gw_call_deny(struct gw_call *call, const struct ulb_denial *denial);

/*
 * layout.c: lay out call->iov as mark, Reply, and at their positions the items
 * that have come through Write chunks, @placed of them. -EBADMSG if the Reply
 * does not agree with them, -EPROTO if it is none.
 */
int gw_call_layout(struct gw_call *call, unsigned int *placed);

/* sink.c. Octets of sinks that one Call may have. */
size_t gw_sinks_most(const struct gateway *gw);
/*
 * Memory for the result @i, of @len octets, in stretches as long as the pool has
 * them. False: there is none, and nothing has changed; else what the result had
 * before is given back.
 */
bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len, bool must);
void gw_sinks_release(struct gw_call *call);

#endif /* RPCRDMA_GATEWAY_CALL_H */
