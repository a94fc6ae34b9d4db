/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shorten - Calls that bring, or ask for, more than can be carried
 *
 * Over TCP a server takes WRITEs and gives READs as long as its own limits allow,
 * Ganesha 64 MiB. Here a message has to fit --max-record and the server's limit, and
 * results in Write chunks the segments that the server takes. So a longer Call is
 * done in part, as any server may do it: a WRITE passes on the first octets of its
 * data, a READ or READDIR asks for less. The client sees how much that was and goes
 * on from there (RFC 1813, 3.3.6 and 3.3.7; RFC 7530, 16.23 and 16.36; RFC 8881,
 * 18.22 and 18.32).
 *
 * What is left out depends on the Call and the settings alone, never on what memory
 * there is: so a Call sent again is the same. What RPCSEC_GSS protects by integrity
 * or privacy cannot be changed.
 *
 * Context: the client's worker.
 */
#ifndef RPCRDMA_GATEWAY_CALL_SHORTEN_H
#define RPCRDMA_GATEWAY_CALL_SHORTEN_H

#include "gateway/call/tcp_record.h"
#include "rpcrdma/nfs.h"
#include "rpcrdma/stats.h"

struct gw_call;
struct gw_client;

/* The longest head of a Call (RFC 5531, 9) */
#define GW_CALL_HEAD_MAX 840

struct gw_shorten {
	struct ulb_call head; /* of the record that is received, once readable */
	/* Of the data of a WRITE that is cut, octets to keep, and then to drop. */
	size_t keep, drop;
	unsigned int segments; /* that the server takes in a header */
	uint32_t segment_size;
};

/* Returns true if what comes next is to be dropped. */
static inline bool gw_shorten_drops(const struct gw_shorten *s)
{
	return s->drop && !s->keep;
}

/* Returns true inside the data of a WRITE that is cut. */
static inline bool gw_shorten_is_active(const struct gw_shorten *s)
{
	return s->drop || s->keep;
}

/*
 * Look at the record @r, of whose fragment @left octets are still to come, and cut
 * its WRITEs if it gets too long. Returns true if it does, and nothing can be left
 * out.
 */
bool gw_shorten_fails(struct gw_client *c, struct gw_record *r, size_t left);
/* Returns how many of the next @n octets of payload are all kept, or all dropped. */
size_t gw_shorten_run(const struct gw_client *c, const struct gw_record *r,
		      size_t n);
/* @n of these have come. */
void gw_shorten_advance(struct gw_shorten *s, size_t n);
/* Returns the head of the record @r, which is being received. It must be whole, or
 * GW_CALL_HEAD_MAX octets of it be here. */
const struct ulb_call *gw_shorten_head(struct gw_shorten *s,
				       const struct gw_record *r);
/* The next record begins. */
static inline void gw_shorten_reset(struct gw_shorten *s)
{
	s->head.readable = false;
}

/* Lower the counts of READs and READDIRs to what can be carried. */
void gw_shorten_counts(struct gw_call *call);
/* Note how many segments the server takes, and of what size. */
void gw_shorten_set_segments(struct gw_shorten *s,
			     const struct rt_properties *theirs);

#endif /* RPCRDMA_GATEWAY_CALL_SHORTEN_H */
