/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * found - what the scans of a Call's body note
 */
#include "nfs/rows.h"

bool ulb_expect(struct ulb_scan *scan, uint32_t max, uint64_t origin)
{
	if (scan->nresults == ULB_MAX_ITEMS)
		return false;
	scan->origins[scan->nresults] = origin > UINT32_MAX ? 0 :
							      (uint32_t)origin;
	scan->results[scan->nresults++] = max;
	return true;
}

size_t ulb_reply_max(uint64_t bound)
{
	/* No Payload stream is longer than its positions can say. */
	return bound > UINT32_MAX ? 0 : (size_t)bound;
}

void ulb_bulk_add(struct ulb_bulks *b, struct ulb_bulk bulk)
{
	if (b->n < b->max)
		b->bulk[b->n] = bulk;
	b->n++;
}
