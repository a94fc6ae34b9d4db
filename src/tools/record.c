/* SPDX-License-Identifier: BSD-3-Clause */
/* record - RPC record marking on a byte stream */
#include "tools/record.h"

#include <string.h>
#include <sys/param.h>

#include "base/be.h"

void rec_init(struct rec *r, size_t max)
{
	memset(r, 0, sizeof(*r));
	r->max = max;
}

enum rec_event rec_next(struct rec *r, const uint8_t *p, size_t n, size_t *used)
{
	size_t at = 0;
	uint32_t word;

	*used = 0;
	if (r->left) {
		if (!n)
			return REC_MORE;
		*used = MIN(n, r->left);
		r->left -= (uint32_t)*used;
		r->len += *used;
		return REC_DATA;
	}
	if (r->last) {
		r->last = false;
		r->len = 0;
		return REC_END;
	}
	while (r->nmark < REC_MARK_LEN && at < n)
		r->mark[r->nmark++] = p[at++];
	*used = at;
	if (r->nmark < REC_MARK_LEN)
		return REC_MORE;
	word = be32_get(r->mark);
	r->nmark = 0;
	r->last = word & REC_LAST_FRAGMENT;
	r->left = word & ~REC_LAST_FRAGMENT;
	return r->left > r->max - r->len ? REC_LONG : REC_MARK;
}

bool rec_inside(const struct rec *r)
{
	return r->left || r->last || r->nmark || r->len;
}

void rec_mark(uint8_t mark[REC_MARK_LEN], size_t len)
{
	be32_put(mark, REC_LAST_FRAGMENT | (uint32_t)len);
}
