/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fit - Calls that bring, or ask for, more than can be carried
 *
 * fit.c has what is done with them. Threads: the client's worker.
 */
#ifndef RPCRDMA_GATEWAY_FIT_H
#define RPCRDMA_GATEWAY_FIT_H

#include "gateway/record.h"
#include "rpcrdma/nfs.h"
#include "rpcrdma/stats.h"

struct gw_call;
struct gw_client;

/* The longest head of a Call (RFC 5531, 9) */
#define GW_FIT_HEAD 840

struct gw_fit {
	struct ulb_call head; /* gw_fit_head(), once it is readable */
	/* Of the data that come, octets to be kept, and then not. */
	size_t until, drop;
	unsigned int segments; /* that the server takes in a header */
	uint32_t segment_size;
};

/* Is what comes next only to be forgotten? */
static inline bool gw_fit_drops(const struct gw_fit *f)
{
	return f->drop && !f->until;
}

/* Is it inside the data of a WRITE that is cut? */
static inline bool gw_fit_cutting(const struct gw_fit *f)
{
	return f->drop || f->until;
}

/*
 * Is the record @r, of whose fragment @left octets are to come, to be longer than
 * it may be, with nothing that could be left out? It may be cut for that.
 */
bool gw_fit_over(struct gw_client *c, struct gw_record *r, size_t left);
/* How many of the next @n octets of payload are of one kind: kept, or not. */
size_t gw_fit_same(const struct gw_client *c, const struct gw_record *r,
		   size_t n);
/* So many of that kind have come. */
void gw_fit_took(struct gw_fit *f, size_t n);
/* What the head of the record @r says, the one that is being received: all of that
 * must be here. */
const struct ulb_call *gw_fit_head(struct gw_fit *f, const struct gw_record *r);
/* The next record has another head. */
static inline void gw_fit_next(struct gw_fit *f)
{
	f->head.readable = false;
}

/* Have it ask for no more than can be brought. */
void gw_fit_counts(struct gw_call *call);
/* What the server takes. */
void gw_fit_segments(struct gw_fit *f, const struct rt_properties *theirs);

#endif /* RPCRDMA_GATEWAY_FIT_H */
