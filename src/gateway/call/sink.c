/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sink - memory for the results of a Call that come through Write chunks
 *
 * Context: the thread that has the Call.
 */
#include "gateway/client.h"

#include <sys/param.h>

/* Give back the buffers for @len octets. */
static void put_chain(struct gw_client *c, struct fab_buf *b, size_t len)
{
	struct fab_buf *next;
	size_t here;

	for (; b; b = next) {
		next = b->next;
		here = MIN(gw_round4(len), FAB_POOL_MAX_BUF);
		gw_mem_put(c, b, here);
		len -= MIN(len, here);
	}
}

static void sink_release(struct gw_call *call, unsigned int i)
{
	put_chain(call->c, call->sink_buf[i], call->sinks[i].len);
	call->sink_buf[i] = NULL;
}

void gw_sinks_release(struct gw_call *call)
{
	for (unsigned int i = 0; i < ULB_MAX_ITEMS; i++)
		sink_release(call, i);
	call->nsink_pieces = 0;
}

/* Half of what can be lent, since the pool's buffers may be larger. */
size_t gw_sinks_most(const struct gateway *gw)
{
	return MIN(gw->memory.surplus / 2, GW_SINKS_MAX);
}

bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len, bool must)
{
	struct rt_piece *p = &call->sink_piece[call->nsink_pieces];
	struct fab_buf *first = NULL, **tail = &first, *b;
	size_t left = gw_round4(len);
	unsigned int n = 0;

	while (left) {
		size_t here = MIN(left, FAB_POOL_MAX_BUF);

		if (call->nsink_pieces + n == GW_SINK_PIECES)
			goto fail;
		b = must ? gw_mem_force(call->c, here) :
			   gw_mem_get(call->c, here, here);
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
	put_chain(call->c, first, len);
	return false;
}
