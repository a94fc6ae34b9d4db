/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * layout - a Reply as the record that goes to TCP
 *
 * Nothing is copied: the record is a list of the Reply's pieces, cut where an
 * item that has come through a Write chunk belongs. Strand only.
 */
#include "gateway/client.h"

#include <errno.h>
#include <sys/param.h>

#include "base/be.h"

/* Cut pieces up to octet @to of the reduced Reply into call->iov. */
struct cut {
	const struct rt_request *rq;
	struct iovec *iov;
	unsigned int n; /* used of iov */
	unsigned int piece;
	size_t at; /* in the piece */
	size_t pos; /* in the Reply */
};

static void cut_to(struct cut *k, size_t to)
{
	while (k->pos < to) {
		const struct rt_piece *p = &k->rq->reply[k->piece];
		size_t n = p->len - k->at;

		n = MIN(n, to - k->pos);
		if (n)
			k->iov[k->n++] =
				(struct iovec){ (uint8_t *)p->addr + k->at, n };
		k->pos += n;
		k->at += n;
		if (k->at == p->len) {
			k->piece++;
			k->at = 0;
		}
	}
}

/* The first @n octets of what is in the sink. */
static void cut_put(struct cut *k, const struct rt_sink *s, size_t n)
{
	static uint8_t zeros[4];
	size_t left = n;

	for (unsigned int i = 0; i < s->npieces && left; i++) {
		const struct rt_piece *p = &s->pieces[i];
		size_t here = MIN(left, p->len);

		k->iov[k->n++] = (struct iovec){ p->addr, here };
		left -= here;
	}
	if (n & 3)
		k->iov[k->n++] = (struct iovec){ zeros, -n & 3 };
}

int gw_call_layout(struct gw_call *call, unsigned int *placed)
{
	struct rt_request *rq = call->rq;
	struct ulb_item items[ULB_MAX_ITEMS];
	uint32_t chunk[ULB_MAX_ITEMS];
	struct iovec in[RT_MAX_PIECES];
	struct cut k = { .rq = rq, .iov = call->iov, .n = 1 };
	unsigned int nitems = 0;
	size_t inserted = 0;
	int rc;

	*placed = 0;
	if (!rq->nsinks)
		goto rest;
	for (unsigned int i = 0; i < rq->nsinks; i++)
		chunk[i] = call->sinks[i].addr && !call->sinks[i].in_stream ?
				   (uint32_t)call->sinks[i].used :
				   UINT32_MAX;
	rt_to_iov(rq->reply, rq->nreply, in);
	rc = ulb_scan_reply(&call->head, in, rq->nreply, chunk, rq->nsinks,
			    items, ULB_MAX_ITEMS, &nitems);
	if (rc)
		return rc;
	for (unsigned int i = 0; i < rq->nsinks; i++) {
		struct rt_sink *s = &call->sinks[i];

		/* Some servers return a chunk at its full length although the
		 * operation failed and the Reply has no data for it [C10]. */
		if (!s->addr || !s->used || i >= nitems || !items[i].present)
			continue;
		if (items[i].position < inserted + k.pos ||
		    items[i].position - inserted > rq->reply_len ||
		    items[i].length > s->used || s->used > s->len)
			return -EBADMSG;
		cut_to(&k, items[i].position - inserted);
		/* Without the roundup that may have come with it. */
		cut_put(&k, s, items[i].length);
		inserted += gw_round4(items[i].length);
		++*placed;
	}
rest:
	cut_to(&k, rq->reply_len);
	rec_mark(call->mark, rq->reply_len + inserted);
	call->iov[0] = (struct iovec){ call->mark, REC_MARK_LEN };
	call->send.iov = call->iov;
	call->send.niov = k.n;
	return 0;
}
