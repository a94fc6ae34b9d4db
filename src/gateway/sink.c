/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink - memory for the results of a Call that come through Write chunks
 *
 * Threads: that which has the Call; its memory is in the client's share.
 */
#include "gateway/client.h"

#include <sys/param.h>

/* Sinks of one Call: a quarter of the memory at most, and more than half of
 * GW_SINKS_MAX only if that is a sixteenth. */
#define SINKS_PART 4
#define SINKS_RICH 16

static void sink_release(struct gw_call *call, unsigned int i)
{
	struct fab_buf *b;

	while ((b = call->sink_buf[i])) {
		call->sink_buf[i] = b->next;
		gw_mem_put(call->c, b);
	}
}

void gw_sinks_release(struct gw_call *call)
{
	for (unsigned int i = 0; i < ULB_MAX_ITEMS; i++)
		sink_release(call, i);
	call->nsink_pieces = 0;
}

size_t gw_sinks_most(const struct gateway *gw)
{
	size_t limit = gw->shares.limit;

	/* More only where the reserve would do for it, too [share.h]. */
	if (limit / SINKS_RICH >= GW_SINKS_MAX)
		return GW_SINKS_MAX;
	limit /= SINKS_PART;
	return limit < GW_SINKS_MAX / 2 ? limit : GW_SINKS_MAX / 2;
}

bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len,
		 enum gw_mem what)
{
	struct rt_piece *p = &call->sink_piece[call->nsink_pieces];
	struct fab_buf *first = NULL, **tail = &first, *b;
	size_t left = gw_round4(len);
	unsigned int n = 0;

	while (left) {
		size_t here = MIN(left, FAB_POOL_MAX_BUF);

		b = call->nsink_pieces + n < GW_SINK_PIECES ?
			    gw_mem_get(call->c, here, what) :
			    NULL;
		if (!b)
			goto fail;
		b->next = NULL;
		*tail = b;
		tail = &b->next;
		left -= here;
		p[n++] = (struct rt_piece){ b->addr, here, b->mr };
	}
	if (!n)
		return false;
	/* Without the roundup. */
	p[n - 1].len -= gw_round4(len) - len;
	sink_release(call, i);
	call->sink_buf[i] = first;
	call->sinks[i] = (struct rt_sink){
		.addr = p[0].addr, .len = len, .pieces = p, .npieces = n
	};
	call->nsink_pieces += n;
	return true;
fail:
	while ((b = first)) {
		first = b->next;
		gw_mem_put(call->c, b);
	}
	return false;
}
