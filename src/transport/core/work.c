/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - work requests, gather lists, and cutting payload streams
 *
 * Runner only, except rt_out_*, rt_reduce() and rt_bufs_*, which touch no
 * connection. Work requests live on free lists of their connection; they are
 * allocated while it warms up and kept until it is at rest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/internal.h"

void rt_bufs_add(struct fab_buf **list, struct fab_buf *b)
{
	b->next = *list;
	*list = b;
}

void rt_bufs_put(struct fab_buf **list)
{
	while (*list) {
		struct fab_buf *b = *list;

		*list = b->next;
		fab_pool_put(b);
	}
}

static struct rt_work *take(struct rt_work **list)
{
	struct rt_work *w = *list;

	if (w) {
		*list = w->next;
	} else {
		w = calloc(1, sizeof(*w));
		if (!w)
			return NULL;
		w->wr.user = w;
		w->wr.sge = w->sge;
	}
	w->next = NULL;
	w->writes = NULL;
	w->call = NULL;
	w->req = NULL;
	w->wr.next = NULL;
	w->wr.flags = 0;
	w->wr.nsge = 0;
	return w;
}

struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done)
{
	struct rt_work *w = take(&c->free_works);

	if (!w)
		return NULL;
	w->is_send = false;
	w->done = done;
	return w;
}

struct rt_work *rt_send_get(struct rt_conn *c)
{
	struct rt_work *w = take(&c->free_sends);

	if (!w)
		return NULL;
	w->is_send = true;
	w->done = rt_work_done;
	/* It keeps its header buffer for the next one. */
	if (!w->buf)
		w->buf = fab_pool_get_spare(c->inst->pool, RT_HEADER_ROOM);
	if (!w->buf) {
		rt_work_put(c, w);
		return NULL;
	}
	return w;
}

void rt_work_put(struct rt_conn *c, struct rt_work *w)
{
	struct rt_work **list = &c->free_works;

	while (w->writes) {
		struct rt_work *write = w->writes;

		w->writes = write->next;
		rt_work_put(c, write);
	}
	fab_pool_put(w->bounce);
	w->bounce = NULL;
	if (w->is_send) {
		list = &c->free_sends;
	} else if (w->buf) {
		/* A Receive's buffer that nobody kept serves the next one. */
		rt_receive_put(c, w->buf);
		w->buf = NULL;
	}
	w->next = *list;
	*list = w;
}

void rt_work_done(struct rt_conn *c, struct rt_work *w, const struct fab_wc *wc)
{
	rt_work_put(c, w);
}

void rt_work_complete(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	c->works_inflight--;
	if (w->is_send)
		c->sends_inflight--;
	/* A Write completes only when flushed, and is freed with its Send. */
	if (w->done)
		w->done(c, w, wc);
}

static void free_list(struct rt_work **list)
{
	while (*list) {
		struct rt_work *w = *list;

		*list = w->next;
		fab_pool_put(w->buf);
		free(w);
	}
}

/* All but the first @n. */
static void shorten(struct rt_work **list, unsigned int n)
{
	while (*list && n--)
		list = &(*list)->next;
	free_list(list);
}

void rt_works_rest(struct rt_conn *c)
{
	shorten(&c->free_sends, RT_OWN_SENDS);
	shorten(&c->free_works, RT_OWN_SENDS);
}

void rt_works_free(struct rt_conn *c)
{
	free_list(&c->free_sends);
	free_list(&c->free_works);
	rt_bufs_put(&c->free_recv);
	rt_reserve_end(c);
}

void rt_chain_add(struct rt_conn *c, struct rt_work *w)
{
	w->wr.next = NULL;
	*c->chain_tail = &w->wr;
	c->chain_tail = &w->wr.next;
	c->works_inflight++;
	if (w->is_send)
		c->sends_inflight++;
}

struct rt_mark rt_chain_mark(const struct rt_conn *c)
{
	return (struct rt_mark){ .tail = c->chain_tail,
				 .writes = c->stats.write_bytes,
				 .copied = c->stats.copied_bytes,
				 .chunks = c->stats.write_chunks };
}

void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m)
{
	for (struct fab_wr *wr = *m->tail; wr; wr = wr->next)
		c->works_inflight--;
	*m->tail = NULL;
	c->chain_tail = m->tail;
	RT_COUNT(c, write_bytes, m->writes - c->stats.write_bytes);
	RT_COUNT(c, copied_bytes, m->copied - c->stats.copied_bytes);
	RT_COUNT(c, write_chunks, m->chunks - c->stats.write_chunks);
}

/*
 * The fabric has taken nothing of the chain, so nothing of it completes: do
 * here what the completions would have done.
 */
static void chain_refused(struct rt_conn *c, struct fab_wr *chain)
{
	while (chain) {
		struct rt_work *w = chain->user;

		chain = chain->next;
		rt_work_complete(c, w, NULL);
	}
}

static struct fab_wr *chain_take(struct rt_conn *c)
{
	struct fab_wr *chain = c->chain;

	c->chain = NULL;
	c->chain_tail = &c->chain;
	return chain;
}

void rt_chain_post(struct rt_conn *c)
{
	struct fab_wr *chain = chain_take(c);
	int rc;

	if (!chain)
		return;
	rc = fab_post(c->fab, chain);
	c->posted = true;
	rt_replies_posted(c);
	if (!rc)
		return;
	if (rc != -ENOTCONN) {
		rt_conn_fail(c, rc, "posting: %s", strerror(-rc));
		rt_event(c, EV_ABORT);
	}
	chain_refused(c, chain);
}

void rt_chain_drop(struct rt_conn *c)
{
	c->posting = NULL;
	chain_refused(c, chain_take(c));
}

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

/* Step from one piece of a stream to the next. */
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
	if (got->len > want)
		got->len = want;
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

		/* What stays: up to the item, or to the end. */
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
		/* The item, and its roundup, which goes nowhere (4.5.3.1). */
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

/* Can the fabric send from @p as it is? */
static bool usable(const struct rt_conn *c, const struct rt_piece *p)
{
	return p->mr || (c->inst->limits->caps & FAB_CAP_ANY_LOCAL);
}

static unsigned int max_sge(const struct rt_conn *c)
{
	unsigned int n = c->inst->limits->max_sge;

	return n < RT_SGE ? n : RT_SGE;
}

/* Memory to copy @n octets into, or fewer, if not @all must be in one buffer:
 * what is to spare, or a part of what is reserved. */
static struct fab_buf *bounce(struct rt_conn *c, size_t n, bool all)
{
	struct fab_buf *b = fab_pool_get_spare(c->inst->pool, n);

	while (!b) {
		b = fab_pool_get(c->inst->pool, n);
		if (all || n <= RT_BOUNCE_MIN)
			break;
		n /= 2;
	}
	return b;
}

int rt_gather(struct rt_conn *c, struct rt_work *w, struct rt_out *out,
	      size_t n)
{
	struct cursor k = { .piece = out->piece,
			    .npieces = out->npieces,
			    .at = out->at,
			    .off = out->at_off };
	struct rt_piece got;
	unsigned int nsge = w->wr.nsge;
	size_t left;
	uint8_t *to;

	for (left = n; left; left -= got.len) {
		if (!cursor_take(&k, left, &got))
			return -EINVAL;
		if (nsge == max_sge(c) || !usable(c, &got))
			break;
		w->sge[nsge++] = (struct fab_sge){ got.addr, got.len, got.mr };
	}
	if (left) {
		/* Too scattered, or not registered: copy this message. */
		w->bounce = bounce(c, n, true);
		if (!w->bounce)
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

/*
 * RDMA Writes of the pieces into the segments, in order and without gaps
 * (4.5.2.1). Sets in @result how much went into each. The Writes hang on
 * @send and are in the chain when this returns 0.
 */
int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result)
{
	struct cursor k = { .piece = pieces, .npieces = npieces };
	size_t total = 0;

	for (unsigned int i = 0; i < npieces; i++)
		total += pieces[i].len;
	for (unsigned int s = 0; s < nsegs; s++) {
		size_t n = total < seg[s].length ? total : seg[s].length;
		size_t done = 0;

		result[s] = seg[s];
		result[s].length = (uint32_t)n;
		total -= n;
		while (done < n) {
			struct rt_work *w = rt_work_get(c, NULL);
			struct rt_piece got;

			if (!w)
				return -ENOMEM;
			w->next = send->writes;
			send->writes = w;
			w->wr.op = FAB_WRITE;
			w->wr.handle = seg[s].handle;
			w->wr.offset = seg[s].offset + done;
			while (done < n && w->wr.nsge < max_sge(c)) {
				cursor_take(&k, n - done, &got);
				if (!usable(c, &got)) {
					struct fab_buf *b;

					if (w->bounce) {
						/* One copy a request. */
						k.off -= got.len;
						break;
					}
					if (got.len > FAB_POOL_MAX_BUF) {
						k.off -= got.len -
							 FAB_POOL_MAX_BUF;
						got.len = FAB_POOL_MAX_BUF;
					}
					b = bounce(c, got.len, false);
					if (!b)
						return -ENOMEM;
					if (got.len > b->size) {
						k.off -= got.len - b->size;
						got.len = b->size;
					}
					memcpy(b->addr, got.addr, got.len);
					got.addr = b->addr;
					got.mr = b->mr;
					w->bounce = b;
					RT_COUNT(c, copied_bytes, got.len);
				}
				w->sge[w->wr.nsge++] =
					(struct fab_sge){ got.addr, got.len,
							  got.mr };
				done += got.len;
			}
			rt_chain_add(c, w);
		}
		RT_COUNT(c, write_bytes, n);
	}
	return total ? -ENOSPC : 0;
}
