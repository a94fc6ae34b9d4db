/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - work requests, and the chain of those that are posted together
 *
 * A connection has free lists of work requests. They grow as it warms up, and shrink when
 * it is idle, or when it has not used some for a second.
 *
 * Context: the runner, except rt_bufs_*(), which touch no connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/core/core.h"

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

static struct rt_work *work_take(struct rt_work **list)
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
	w->idle = false;
	w->next = NULL;
	w->writes = NULL;
	w->wr.next = NULL;
	w->wr.flags = 0;
	w->wr.nsge = 0;
	return w;
}

struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done)
{
	struct rt_work *w = work_take(&c->work.free_works);

	rt_assert_strand(c);
	if (!w)
		return NULL;
	w->is_send = false;
	w->done = done;
	return w;
}

static void send_done(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc)
{
	rt_work_put(c, w);
}

/* Take a Send from @list, or a new one. */
static struct rt_work *take_send(struct rt_conn *c, struct rt_work **list)
{
	struct rt_work *w = work_take(list);

	if (!w)
		return NULL;
	w->is_send = true;
	w->done = send_done;
	w->wr.op = FAB_SEND;
	w->wr.flags = FAB_F_SIGNALED;
	/* The header is the first element. */
	w->wr.nsge = 1;
	/* A Send of the free list has a header buffer. */
	if (!w->buf)
		w->buf = fab_pool_get_spare(c->inst->pool, RT_HEADER_ROOM);
	if (!w->buf) {
		rt_work_put(c, w);
		return NULL;
	}
	return w;
}

struct rt_work *rt_send_get(struct rt_conn *c)
{
	rt_assert_strand(c);
	return take_send(c, &c->work.free_sends);
}

int rt_sends_preallocate(struct rt_conn *c, unsigned int n)
{
	rt_assert_strand(c);
	while (n--) {
		/* Make a new one, whatever is on the free list. */
		struct rt_work *none = NULL, *w = take_send(c, &none);

		if (!w)
			return -ENOMEM;
		rt_work_put(c, w);
	}
	return 0;
}

bool rt_work_get_bounce(struct rt_conn *c, struct rt_work *w, size_t n)
{
	struct fab_pool *pool = c->inst->pool;

	rt_assert_strand(c);
	if (!c->server || c->work.bounce_in_use || n > fab_pool_promised(pool))
		return false;
	w->bounce = fab_pool_get_promised(pool);
	w->reserved = w->bounce;
	c->work.bounce_in_use = w->reserved;
	return w->reserved;
}

void rt_work_put(struct rt_conn *c, struct rt_work *w)
{
	struct rt_work **list = &c->work.free_works;

	rt_assert_strand(c);
	while (w->writes) {
		struct rt_work *write = w->writes;

		w->writes = write->next;
		rt_work_put(c, write);
	}
	fab_pool_put(w->bounce);
	w->bounce = NULL;
	if (w->reserved)
		c->work.bounce_in_use = false;
	w->reserved = false;
	if (w->is_send)
		list = &c->work.free_sends;
	w->next = *list;
	*list = w;
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

static void free_after(struct rt_work **list, unsigned int n)
{
	while (*list && n--)
		list = &(*list)->next;
	free_list(list);
}

void rt_works_shrink(struct rt_conn *c)
{
	rt_assert_strand(c);
	free_after(&c->work.free_sends, RT_RESERVED_SENDS);
	free_after(&c->work.free_works, RT_RESERVED_SENDS);
}

/* Free those behind the first RT_RESERVED_SENDS that were not used since the last call.
 * They are at the end of the list, since the one that was put back last comes first. */
static bool trim_free_list(struct rt_work **list)
{
	unsigned int n = 0;

	for (; *list; list = &(*list)->next) {
		if (n++ >= RT_RESERVED_SENDS && (*list)->idle) {
			free_list(list);
			return true;
		}
		(*list)->idle = true;
	}
	return false;
}

bool rt_works_trim(struct rt_conn *c)
{
	bool some = trim_free_list(&c->work.free_sends);

	rt_assert_strand(c);
	return trim_free_list(&c->work.free_works) || some;
}

void rt_works_free(struct rt_conn *c)
{
	rt_assert_strand(c);
	free_list(&c->work.free_sends);
	free_list(&c->work.free_works);
}

void rt_chain_add(struct rt_conn *c, struct rt_work *w)
{
	rt_assert_strand(c);
	w->wr.next = NULL;
	*c->work.chain_tail = &w->wr;
	c->work.chain_tail = &w->wr.next;
	c->works_inflight++;
	if (w->is_send)
		c->sends_inflight++;
}

struct rt_mark rt_chain_mark(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return (struct rt_mark){ .tail = c->work.chain_tail,
				 .writes = c->stats.write_bytes,
				 .copied = c->stats.copied_bytes,
				 .chunks = c->stats.write_chunks };
}

void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m)
{
	rt_assert_strand(c);
	for (struct fab_wr *wr = *m->tail; wr; wr = wr->next)
		c->works_inflight--;
	*m->tail = NULL;
	c->work.chain_tail = m->tail;
	RT_COUNT(c, write_bytes, m->writes - c->stats.write_bytes);
	RT_COUNT(c, copied_bytes, m->copied - c->stats.copied_bytes);
	RT_COUNT(c, write_chunks, m->chunks - c->stats.write_chunks);
}

void rt_chain_refused(struct rt_conn *c, struct fab_wr *chain)
{
	rt_assert_strand(c);
	while (chain) {
		struct rt_work *w = chain->user;

		chain = chain->next;
		rt_work_complete(c, w, NULL);
	}
}

struct fab_wr *rt_chain_take(struct rt_conn *c)
{
	struct fab_wr *chain = c->work.chain;

	rt_assert_strand(c);
	c->work.chain = NULL;
	c->work.chain_tail = &c->work.chain;
	return chain;
}
