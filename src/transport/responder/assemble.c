/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assemble - the whole stream of a Call, with its chunks at their Positions
 * (4.5.1)
 *
 * Runner only.
 */
#include <string.h>
#include <sys/param.h>

#include "transport/responder/responder.h"

/* What has come in target segments stays where it is; so its roundup, of which
 * nothing is known, comes from elsewhere. */
static bool add_placed(struct rt_call_priv *call, const struct rt_read_chunk *r)
{
	const struct fab_buf *z = call->pub.conn->inst->zeros;
	struct rt_call *pub = &call->pub;
	size_t pad = rt_round4(r->length) - r->length;

	if (pub->npieces + r->nsegs + (pad ? 1 : 0) > RT_MAX_PIECES)
		return false;
	memcpy(&pub->pieces[pub->npieces], &call->placed[r->first],
	       r->nsegs * sizeof(*pub->pieces));
	pub->npieces += r->nsegs;
	if (pad)
		pub->pieces[pub->npieces++] =
			(struct rt_piece){ z->addr, pad, z->mr };
	pub->len += r->length + pad;
	return true;
}

bool rt_call_assemble(struct rt_call_priv *call)
{
	struct rt_call *pub = &call->pub;
	unsigned int at = 0;
	size_t off = 0;

	for (unsigned int i = 0; i <= call->nreads; i++) {
		const struct rt_read_chunk *r = &call->read[i];
		size_t want = SIZE_MAX;

		if (i < call->nreads) {
			if (r->position < pub->len)
				return false;
			want = r->position - pub->len;
		}
		while (want && at < call->nbase) {
			struct rt_piece *p;
			size_t n = call->base[at].len - off;

			n = MIN(n, want);
			if (n) {
				if (pub->npieces == RT_MAX_PIECES)
					return false;
				p = &pub->pieces[pub->npieces++];
				p->addr = (uint8_t *)call->base[at].addr + off;
				p->len = n;
				p->mr = call->base[at].mr;
				pub->len += n;
				off += n;
				if (want != SIZE_MAX)
					want -= n;
			}
			if (off == call->base[at].len) {
				at++;
				off = 0;
			}
		}
		if (i == call->nreads)
			break;
		if (want)
			return false; /* beyond the end of the stream */
		if (r->placed) {
			if (!add_placed(call, r))
				return false;
		} else if (r->length) {
			size_t n = rt_round4(r->length);

			if (pub->npieces == RT_MAX_PIECES)
				return false;
			/* Roundup is not in the chunk (4.5.3.1); and nothing
			 * of the buffer's earlier use may show. */
			memset((uint8_t *)r->to.addr + r->length, 0,
			       n - r->length);
			pub->pieces[pub->npieces++] =
				(struct rt_piece){ r->to.addr, n, r->to.mr };
			pub->len += n;
		}
	}
	return true;
}
