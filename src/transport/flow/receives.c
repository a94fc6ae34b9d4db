/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receives - the Receives of a connection, and what is reserved for it
 *
 * A connection posts as many Receives as flow control has announced messages to its peer.
 * Each has a buffer, unless the domain shares Receives (fab_srq_enable()): then each message
 * arrives with a buffer, which is returned to the pool and not used for the next Receive.
 * If there is no memory for all Receives, fewer credits are announced.
 *
 * A connection that was admitted must make progress within its credits, however short
 * memory is. So it is admitted only with
 *
 *   - a buffer for each Receive that flow control wants at first (N);
 *   - the headers of RT_RESERVED_SENDS Sends;
 *   - a server: the promise of RT_PROMISED buffers of the pool, of which
 *     RT_CALL_PROMISED are for a Reply, one is for a copy of what the device cannot send,
 *     and one is for the Receive of the Reply to a reverse Call.
 *
 * Everything else is allocated by fab_pool_get_spare(), which never touches what has been
 * promised. Until the connection ends:
 *
 *   1. N or more buffers are posted, free, or kept by Calls. While Receives are lacking,
 *      a buffer that is put back stays with its connection (rt_receive_return()), and
 *      another size is used only when there are N buffers of it (rt_reserve_resize()).
 *   2. No credit is announced without its Receive (credit.h, credit1.h). A Call that
 *      keeps its Receive holds its credit, so further Calls wait at the peer.
 *   3. RT_RESERVED_SENDS or more Sends are free or posted, so whoever finds none waits
 *      for a completion that will come.
 *   4. While the pool is short of memory, a connection executes one Call at a time
 *      (call_stages.c). Its Reply uses the promised buffers: a long one is copied and
 *      sent part by part (reply.c).
 *
 * The reserved Receives of all connections of a host are limited (account.c). With shared
 * Receives only 3 and 4 hold. A client has no promise, and no host.
 *
 * Context: the runner, or before it runs; rt_share_receives() before the first
 * connection.
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/flow/flow.h"

/* ---- Shared ---------------------------------------------------------- */

/* Returns the size of the longest Receive of any connection. */
static size_t longest_receive(const struct rt_config *cfg)
{
	size_t n = rt_config_receive(cfg);

	if ((cfg->extensions & RT_EXT_XCHAR) && n < cfg->busy_recv_size)
		n = cfg->busy_recv_size;
	return (n + 3) & ~(size_t)3;
}

int rt_share_receives(struct rt_instance *inst)
{
	const struct rt_config *cfg = &inst->cfg;
	struct fab_srq_params share = {
		.size = longest_receive(cfg),
		.each = rt_most_receives(cfg),
		.most = cfg->max_shared_receives,
	};
	int rc;

	if (!cfg->share_receives)
		return 0;
	fab_pool_srq_memory(inst->pool, &share);
	rc = fab_srq_enable(inst->dom, &share);
	inst->shared_receives = !rc || rc == -EBUSY;
	return rc == -EOPNOTSUPP || rc == -EBUSY ? 0 : rc;
}

/* ---- Buffers -------------------------------------------------------------- */

/* Returns true if @b holds @size octets, and is no longer than @times a buffer for
 * them. */
static bool fits(const struct fab_buf *b, size_t size, unsigned int times)
{
	return b->size >= size &&
	       b->size <= times * fab_pool_size(b->pool, size);
}

void rt_receive_put(struct rt_conn *c, struct fab_buf *b)
{
	size_t size = c->recv_size;

	rt_assert_strand(c);
	if (c->inst->shared_receives || b->size < size) {
		fab_pool_put(b);
		return;
	}
	if (!fits(b, size, 1)) {
		struct fab_buf *shorter =
			fab_pool_get_spare(c->inst->pool, size);

		if (shorter) {
			fab_pool_put(b);
			b = shorter;
		}
	}
	rt_bufs_add(&c->flow.free_recv, b);
}

void rt_receive_return(struct rt_conn *c, struct fab_buf **list)
{
	size_t size = c->recv_size;

	rt_assert_strand(c);
	while (*list) {
		struct fab_buf *b = *list;

		*list = b->next;
		/* Receives may have been longer when it was posted. */
		if (c->recvs_lacking && c->state < RT_CLOSING &&
		    fits(b, size, 4)) {
			c->recvs_lacking--;
			rt_bufs_add(&c->flow.free_recv, b);
		} else {
			fab_pool_put(b);
		}
	}
}

/* ---- Posting --------------------------------------------------------- */

/* Give @w a buffer of @size octets, if it needs one. */
static bool set_receive_memory(struct rt_conn *c, struct rt_work *w,
			       size_t size)
{
	struct fab_buf *b = c->flow.free_recv;

	if (c->inst->shared_receives) {
		w->sge[0] = (struct fab_sge){ NULL, size, NULL };
		return true;
	}
	if (b)
		c->flow.free_recv = b->next;
	else
		b = fab_pool_get_spare(c->inst->pool, size);
	if (!b)
		return false;
	w->buf = b;
	w->sge[0] = (struct fab_sge){ b->addr, size, b->mr };
	return true;
}

static void set_lacking(struct rt_conn *c, uint32_t n)
{
	if (n && !c->flow.shortage_logged)
		rt_log(c, LOG_NOTICE, "Calls wait: no memory for Receives");
	c->flow.shortage_logged |= n;
	c->recvs_lacking = n;
	c->credit.lacking = n;
	c->credit1.lacking = n;
}

static void recycle_receive(struct rt_conn *c, struct rt_work *w)
{
	if (w->buf)
		rt_receive_put(c, w->buf);
	w->buf = NULL;
	rt_work_put(c, w);
}

static void receive_done(struct rt_conn *c, struct rt_work *w,
			 const struct fab_wc *wc)
{
	bool ok = rt_work_ok(wc);

	assert(c->flow.recvs_posted);
	c->flow.recvs_posted--;
	cds_list_del(&w->posted_link);
	if (c->inst->shared_receives && ok)
		w->buf = wc->memory;
	if (c->recv_target && c->recvs_shorter &&
	    w->sge[0].len < c->recv_target)
		c->recvs_shorter--;
	/* The fabric must not deliver more. */
	if (ok && wc->len > w->sge[0].len) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "a message of %zu bytes in a Receive of %zu",
			     wc->len, w->sge[0].len);
	} else if (ok) {
		c->traffic->received(c, w, wc);
	}
	recycle_receive(c, w);
}

int rt_post_receives(struct rt_conn *c)
{
	uint32_t want = c->v->receives(c), lacked = c->recvs_lacking;
	struct fab_wr *chain = NULL, **tail = &chain;
	struct rt_work *posted = NULL;
	unsigned int n = 0;
	size_t size = c->recv_size;
	int rc;

	rt_assert_strand(c);
	set_lacking(c, 0);
	c->flow.device_full = false;
	if (c->flow.recvs_posted >= want)
		return 0;
	while (c->flow.recvs_posted + n < want) {
		struct rt_work *w = rt_work_get(c, receive_done);

		if (!w || !set_receive_memory(c, w, size)) {
			if (w)
				recycle_receive(c, w);
			set_lacking(c, want - c->flow.recvs_posted - n);
			break;
		}
		w->wr.op = FAB_RECV;
		w->wr.nsge = 1;
		*tail = &w->wr;
		tail = &w->wr.next;
		w->next = posted;
		posted = w;
		n++;
	}
	rc = chain ? fab_post_recv(c->fab, chain) : 0;
	if (rc >= 0) {
		/* The device has not taken the last ones. */
		for (int i = 0; i < rc; i++, n--) {
			struct rt_work *w = posted;

			posted = w->next;
			recycle_receive(c, w);
		}
		set_lacking(c, c->recvs_lacking + (uint32_t)rc);
		c->flow.device_full = rc;
		if (c->recvs_lacking > lacked)
			RT_COUNT(c, shortages, 1);
		for (; posted; posted = posted->next)
			cds_list_add(&posted->posted_link, &c->flow.posted);
		c->flow.recvs_posted += n;
		c->works_inflight += n;
		return 0;
	}
	/* The fabric reports the end of the connection separately. */
	if (rc == -ENOTCONN)
		rc = 0;
	else
		rt_conn_fail(c, rc, "posting Receives: %s", strerror(-rc));
	while (chain) {
		struct fab_wr *next = chain->next;

		recycle_receive(c, chain->user);
		chain = next;
	}
	return rc;
}

void rt_reclaim_receives(struct rt_conn *c)
{
	struct rt_work *w, *tmp;

	rt_assert_strand(c);
	cds_list_for_each_entry_safe(w, tmp, &c->flow.posted, posted_link)
	{
		cds_list_del(&w->posted_link);
		c->flow.recvs_posted--;
		c->works_inflight--;
		recycle_receive(c, w);
	}
}

void rt_receives_size(struct rt_conn *c, uint32_t announced)
{
	uint32_t n = c->recv_target;

	rt_assert_strand(c);
	n = MAX(n, announced);
	n = MAX(n, WIRE_DEFAULT_INLINE);
	c->recv_size = (n + 3) & ~3u;
}

void rt_receives_raise(struct rt_conn *c, uint32_t size, uint32_t announced)
{
	struct rt_work *w;

	rt_assert_strand(c);
	c->recv_target = size;
	c->recvs_shorter = 0;
	cds_list_for_each_entry(w, &c->flow.posted,
				posted_link) if (w->sge[0].len < size)
		c->recvs_shorter++;
	rt_receives_size(c, announced);
}

/* ---- What is reserved for a connection ------------------------------------ */

/* Put @n buffers of @size octets in front of @list. Returns false if there is no memory
 * for all of them; those that were allocated are on the list. */
static bool take_buffers(struct rt_conn *c, uint32_t n, size_t size,
			 struct fab_buf **list)
{
	while (n--) {
		struct fab_buf *b = fab_pool_get_spare(c->inst->pool, size);

		if (!b)
			return false;
		rt_bufs_add(list, b);
	}
	return true;
}

static int reserve_resources(struct rt_conn *c)
{
	uint32_t n = c->inst->shared_receives ? 0 : c->v->receives(c);
	size_t size = c->recv_size;

	if (!rt_host_receives(c, n * size))
		return -EDQUOT;
	if (c->server) {
		if (!fab_pool_promise(c->inst->pool, RT_PROMISED))
			return -ENOMEM;
		c->flow.promised = RT_PROMISED;
	}
	if (!take_buffers(c, n, size, &c->flow.free_recv))
		return -ENOMEM;
	return rt_sends_preallocate(c, RT_RESERVED_SENDS);
}

int rt_reserve(struct rt_conn *c)
{
	int rc = reserve_resources(c);

	rt_assert_strand(c);
	if (rc && c->server)
		rt_log(c, LOG_WARNING, "connection refused: %s",
		       rc == -EDQUOT ?
			       "its host has used up its share of memory for Receives" :
			       "no memory for Receives");
	return rc;
}

void rt_reserve_release(struct rt_conn *c)
{
	rt_assert_strand(c);
	rt_bufs_put(&c->flow.free_recv);
	fab_pool_release(c->inst->pool, c->flow.promised);
	c->flow.promised = 0;
	(void)rt_host_receives(c, 0);
}

int rt_reserve_reverse(struct rt_conn *c)
{
	uint32_t was = c->credit.lacking;
	struct fab_buf *b;
	int rc = rt_post_receives(c);

	rt_assert_strand(c);
	if (rc || c->credit.lacking <= was)
		return rc;
	/* If no other is outstanding, the peer's Calls may be waiting for this one, so
	 * it gets the promised buffer. */
	if (c->requests_out > 1 ||
	    c->recv_size > fab_pool_promised(c->inst->pool))
		return -EAGAIN;
	b = fab_pool_get_promised(c->inst->pool);
	if (!b)
		return -EAGAIN;
	rt_bufs_add(&c->flow.free_recv, b);
	return rt_post_receives(c);
}

void rt_reserve_shorten(struct rt_conn *c)
{
	struct fab_buf *b, *list = c->flow.free_recv;
	size_t n = c->inst->shared_receives ? 0 : c->v->receives(c);

	rt_assert_strand(c);
	(void)rt_host_receives(c, n * c->recv_size);
	c->flow.free_recv = NULL;
	while ((b = list)) {
		list = b->next;
		rt_receive_put(c, b);
	}
}

bool rt_reserve_resize(struct rt_conn *c, size_t size)
{
	uint32_t n = c->inst->shared_receives ? 0 : c->v->receives(c);
	struct fab_buf *list = NULL;
	size_t was = c->flow.recv_octets;

	rt_assert_strand(c);
	if (!rt_host_receives(c, n * size))
		return false;
	if (!take_buffers(c, n, size, &list)) {
		rt_bufs_put(&list);
		(void)rt_host_receives(c, was);
		return false;
	}
	rt_bufs_put(&c->flow.free_recv);
	c->flow.free_recv = list;
	return true;
}
