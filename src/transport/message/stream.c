/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stream - sending payload streams: reduction, gather lists, RDMA Writes, fragments
 *
 * A stream that does not fit one message is sent in several: MIDDLEs, and an INLINE as
 * the last (6.6.2).
 *
 * Context: the runner. rt_out_*() and rt_reduce() touch no connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/message/message.h"

void rt_out_init(struct rt_out *out)
{
	out->npieces = 0;
	out->len = 0;
	out->off = 0;
	out->at = 0;
	out->at_off = 0;
}

int rt_out_add(struct rt_out *out, void *addr, size_t len, struct fab_mr *mr)
{
	if (!len)
		return 0;
	if (out->npieces == RT_OUT_PIECES)
		return -E2BIG;
	out->piece[out->npieces++] = (struct rt_piece){ addr, len, mr };
	out->len += len;
	return 0;
}

/* A position in a stream. */
struct cursor {
	const struct rt_piece *piece;
	unsigned int npieces, at;
	size_t off;
};

static bool cursor_take(struct cursor *k, size_t want, struct rt_piece *got)
{
	while (k->at < k->npieces && k->off == k->piece[k->at].len) {
		k->at++;
		k->off = 0;
	}
	if (k->at == k->npieces)
		return false;
	got->addr = (uint8_t *)k->piece[k->at].addr + k->off;
	got->mr = k->piece[k->at].mr;
	got->len = k->piece[k->at].len - k->off;
	got->len = MIN(got->len, want);
	k->off += got->len;
	return true;
}

int rt_reduce(const struct rt_piece *pieces, unsigned int npieces,
	      const struct rt_item *items, unsigned int nitems,
	      struct rt_out *out, struct rt_cuts *cuts)
{
	struct cursor k = { .piece = pieces, .npieces = npieces };
	struct rt_piece got;
	size_t pos = 0, want;

	rt_out_init(out);
	cuts->count = 0;
	cuts->npieces = 0;
	for (unsigned int i = 0; i <= nitems; i++) {
		struct rt_cut *cut;

		/* What remains: up to the item, or to the end. */
		if (i < nitems && !items[i].present)
			continue;
		want = SIZE_MAX;
		if (i < nitems) {
			if (items[i].position < pos)
				return -EINVAL;
			want = items[i].position - pos;
		}
		while (want && cursor_take(&k, want, &got)) {
			if (rt_out_add(out, got.addr, got.len, got.mr))
				return -E2BIG;
			pos += got.len;
			if (i < nitems)
				want -= got.len;
		}
		if (i == nitems)
			break;
		if (want)
			return -EINVAL;
		/* The item, and its roundup, which is not sent (4.5.3.1). */
		if (cuts->count == RT_MAX_CHUNKS)
			return -E2BIG;
		cut = &cuts->cut[cuts->count++];
		cut->position = items[i].position;
		cut->length = items[i].length;
		cut->first = cuts->npieces;
		for (want = items[i].length; want; want -= got.len) {
			if (!cursor_take(&k, want, &got))
				return -EINVAL;
			if (cuts->npieces == RT_OUT_PIECES)
				return -E2BIG;
			cuts->piece[cuts->npieces++] = got;
			pos += got.len;
		}
		cut->npieces = cuts->npieces - cut->first;
		want = rt_round4(items[i].length) - items[i].length;
		for (; want; want -= got.len) {
			if (!cursor_take(&k, want, &got))
				return -EINVAL;
			pos += got.len;
		}
	}
	return 0;
}

/* Returns true if the fabric can send from @p without a copy. */
static bool is_sendable(const struct rt_conn *c, const struct rt_piece *p)
{
	return p->mr || (c->inst->limits->caps & FAB_CAP_ANY_LOCAL);
}

static unsigned int max_sge(const struct rt_conn *c)
{
	return MIN(fab_conn_limits(c->fab)->max_sge, RT_SGE);
}

/*
 * Get a buffer for @w to copy @n octets into, or a shorter one unless @all of them must
 * fit: from what the pool has to spare, from its reserve, or the connection's reserved
 * one. Returns false if there is none.
 */
static bool get_bounce(struct rt_conn *c, struct rt_work *w, size_t n, bool all)
{
	w->bounce = fab_pool_get_spare(c->inst->pool, n);
	while (!w->bounce) {
		w->bounce = fab_pool_get(c->inst->pool, n);
		if (all || n <= RT_BOUNCE_MIN)
			break;
		n /= 2;
	}
	if (w->bounce)
		return true;
	if (!all && n > fab_pool_promised(c->inst->pool))
		n = fab_pool_promised(c->inst->pool);
	return rt_work_get_bounce(c, w, n);
}

int rt_gather(struct rt_conn *c, struct rt_work *w, struct rt_out *out,
	      size_t n)
{
	struct cursor k = { .piece = out->piece,
			    .npieces = out->npieces,
			    .at = out->at,
			    .off = out->at_off };
	struct rt_piece got;
	unsigned int nsge = w->wr.nsge, most = max_sge(c);
	size_t left;
	uint8_t *to;

	rt_assert_strand(c);
	for (left = n; left; left -= got.len) {
		if (!cursor_take(&k, left, &got))
			return -EINVAL;
		if (nsge == most || !is_sendable(c, &got))
			break;
		w->sge[nsge++] = (struct fab_sge){ got.addr, got.len, got.mr };
	}
	if (left) {
		/* The payload is in too many pieces or not registered: copy it. */
		if (!get_bounce(c, w, n, true))
			return -ENOMEM;
		k.at = out->at;
		k.off = out->at_off;
		to = w->bounce->addr;
		for (left = n; left; left -= got.len) {
			if (!cursor_take(&k, left, &got))
				return -EINVAL;
			memcpy(to, got.addr, got.len);
			to += got.len;
		}
		nsge = w->wr.nsge;
		w->sge[nsge++] =
			(struct fab_sge){ w->bounce->addr, n, w->bounce->mr };
		RT_COUNT(c, copied_bytes, n);
	}
	w->wr.nsge = nsge;
	out->at = k.at;
	out->at_off = k.off;
	out->off += n;
	return 0;
}

/* Fill one RDMA Write from @k with up to @n octets. Returns how many, 0 if there is no
 * memory for a copy. */
static size_t fill_write(struct rt_conn *c, struct rt_work *w, struct cursor *k,
			 size_t n)
{
	unsigned int most = max_sge(c);
	size_t done = 0;

	while (done < n && w->wr.nsge < most) {
		struct rt_piece got;

		if (!cursor_take(k, n - done, &got))
			break;
		if (!is_sendable(c, &got)) {
			size_t len = got.len < FAB_POOL_MAX_BUF ?
					     got.len :
					     FAB_POOL_MAX_BUF;

			/* A work request has one buffer for copies. */
			if (w->bounce || !get_bounce(c, w, len, false)) {
				k->off -= got.len;
				break;
			}
			if (len > w->bounce->size)
				len = w->bounce->size;
			k->off -= got.len - len;
			got.len = len;
			memcpy(w->bounce->addr, got.addr, len);
			got.addr = w->bounce->addr;
			got.mr = w->bounce->mr;
			RT_COUNT(c, copied_bytes, len);
		}
		w->sge[w->wr.nsge++] =
			(struct fab_sge){ got.addr, got.len, got.mr };
		done += got.len;
	}
	return done;
}

int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result, struct rt_written *g)
{
	struct cursor k = { .piece = pieces, .npieces = npieces };
	struct rt_piece got;
	size_t total = 0;

	rt_assert_strand(c);
	for (unsigned int i = 0; i < npieces; i++)
		total += pieces[i].len;
	for (unsigned int s = 0; s < nsegs; s++) {
		size_t n = total < seg[s].length ? total : seg[s].length;
		size_t done = n < g->before ? n : g->before;

		result[s] = seg[s];
		result[s].length = (uint32_t)n;
		total -= n;
		g->before -= done;
		for (size_t left = done; left && cursor_take(&k, left, &got);)
			left -= got.len;
		while (done < n) {
			struct rt_work *w = rt_work_get(c, NULL);
			size_t some;

			if (!w)
				return -ENOMEM;
			w->wr.op = FAB_WRITE;
			w->wr.handle = seg[s].handle;
			w->wr.offset = seg[s].offset + done;
			some = fill_write(c, w, &k, n - done);
			if (!some) {
				rt_work_put(c, w);
				return -ENOMEM;
			}
			w->next = send->writes;
			send->writes = w;
			rt_chain_add(c, w);
			done += some;
			g->now += some;
			RT_COUNT(c, write_bytes, some);
		}
	}
	return total ? -ENOSPC : 0;
}

/* ---- The next message of a stream ------------------------------------------ */

static void count_sent(struct rt_conn *c, const struct rt_transmission *t,
		       size_t n, bool last)
{
	if (!last)
		RT_COUNT(c, fragments_sent, 1);
	else if (c->sending)
		RT_COUNT(c, continued_sent, 1);
	else if (t->external)
		RT_COUNT(c, special_sent, 1);
	else
		RT_COUNT(c, inline_sent, 1);
	if (!n)
		return;
	RT_COUNT(c, inline_bytes_sent, n);
	if (!last || c->sending)
		RT_COUNT(c, continued_bytes_sent, n);
}

/* Returns how many of @n octets fit the buffer that is reserved for copies; 0 if all do,
 * so that a shorter fragment would not help. */
static size_t reserved_part(const struct rt_conn *c, size_t n)
{
	size_t most = fab_pool_promised(c->inst->pool) & ~(size_t)3;

	most = MIN(most, rt_middle_room(c->send_threshold));
	return most < n ? most : 0;
}

int rt_transmit(struct rt_conn *c, struct rt_work *w,
		const struct rt_transmission *t, size_t *hlen, bool *last)
{
	struct rt_out *out = t->out;
	size_t left = out->len - out->off;
	size_t n = t->external ? 0 : left;
	int rc;

	rt_assert_strand(c);
	*last = t->external || t->hlen + left <= c->send_threshold;
	if (!*last) {
		/* The peer may have lowered its Receive Buffer Size meanwhile. */
		if (t->hlen + 4 > c->send_threshold)
			return -EMSGSIZE;
		/* The last message, an INLINE, must have payload. */
		n = MIN(rt_middle_room(c->send_threshold), left - 4);
	}
	rc = n ? rt_gather(c, w, out, n) : 0;
	if (rc == -ENOMEM && t->shorter && reserved_part(c, n)) {
		n = reserved_part(c, n);
		*last = false;
		rc = rt_gather(c, w, out, n);
	}
	if (rc)
		return rc;
	if (t->external)
		out->off = out->len;
	count_sent(c, t, n, *last);
	if (*last)
		return 0;
	/* The credit word must allow the GRANTs that draw the next fragments. */
	if (t->kind == RT_OUT_REPLY)
		c->credit.reply_in_fragments = true;
	*hlen = wire_encode_middle(w->buf->addr, RT_HEADER_ROOM, t->xid,
				   c->v->credit_word(c, t->kind),
				   t->kind == RT_OUT_REPLY,
				   (uint32_t)(left - n));
	return 0;
}
