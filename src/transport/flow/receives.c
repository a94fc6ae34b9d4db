/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receives - the Receives of a connection, and memory for them
 *
 * A connection posts as many Receives as flow control has promised its peer
 * messages, or fewer if there is no memory: then it promises less (reserve.c).
 * Each brings its buffer; or, where the domain shares them
 * (fab_share()), none, and the message comes with one, which goes back to the
 * pool and not to the next Receive.
 *
 * Runner only, except rt_share_receives().
 */
#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "transport/flow/flow.h"

/* ---- Shared ---------------------------------------------------------- */

/* The longest Receive of any connection. */
static size_t longest(const struct rt_config *cfg)
{
	size_t n = rt_config_receive(cfg);

	if ((cfg->extensions & RT_EXT_XCHAR) && n < cfg->busy_recv_size)
		n = cfg->busy_recv_size;
	return (n + 3) & ~(size_t)3;
}

int rt_share_receives(struct rt_instance *inst)
{
	const struct rt_config *cfg = &inst->cfg;
	struct fab_share share = {
		.size = longest(cfg),
		.each = rt_most_receives(cfg),
		.most = cfg->max_shared_receives,
	};
	int rc;

	if (!cfg->share_receives)
		return 0;
	fab_pool_lend(inst->pool, &share);
	rc = fab_share(inst->dom, &share);
	inst->shares = !rc || rc == -EBUSY;
	return rc == -EOPNOTSUPP || rc == -EBUSY ? 0 : rc;
}

/* ---- Posting --------------------------------------------------------- */

/* A buffer of @size octets for @w, if it needs one. */
static bool memory_for(struct rt_conn *c, struct rt_work *w, size_t size)
{
	struct fab_buf *b = c->flow.free_recv;

	if (c->inst->shares) {
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

/* As flow control has to know. */
static void lacking(struct rt_conn *c, uint32_t n)
{
	if (n && !c->flow.memory_told)
		rt_log(c, LOG_NOTICE, "Calls wait: no memory for Receives");
	c->flow.memory_told |= n;
	c->recvs_lacking = n;
	c->credit.lacking = n;
	c->credit1.lacking = n;
}

/* A buffer that nobody kept serves the next one. */
static void put(struct rt_conn *c, struct rt_work *w)
{
	if (w->buf)
		rt_receive_put(c, w->buf);
	w->buf = NULL;
	rt_work_put(c, w);
}

/* The message is in w->buf from now on. */
static void received(struct rt_conn *c, struct rt_work *w,
		     const struct fab_wc *wc)
{
	bool ok = rt_work_ok(wc);

	assert(c->flow.recvs_posted);
	c->flow.recvs_posted--;
	cds_list_del(&w->lent);
	if (c->inst->shares && ok)
		w->buf = wc->memory;
	if (c->recv_target && c->recvs_shorter &&
	    w->sge[0].len < c->recv_target)
		c->recvs_shorter--;
	/* It promises not to; the peer's hand is in it. */
	if (ok && wc->len > w->sge[0].len) {
		rt_conn_stop(c, EV_ABORT, -EPROTO,
			     "a message of %zu bytes in a Receive of %zu",
			     wc->len, w->sge[0].len);
	} else if (ok) {
		c->traffic->received(c, w, wc);
	}
	put(c, w);
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
	lacking(c, 0);
	c->flow.device_full = false;
	if (c->flow.recvs_posted >= want)
		return 0;
	while (c->flow.recvs_posted + n < want) {
		struct rt_work *w = rt_work_get(c, received);

		if (!w || !memory_for(c, w, size)) {
			if (w)
				put(c, w);
			lacking(c, want - c->flow.recvs_posted - n);
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
		/* The last ones were not taken. */
		for (int i = 0; i < rc; i++, n--) {
			struct rt_work *w = posted;

			posted = w->next;
			put(c, w);
		}
		lacking(c, c->recvs_lacking + (uint32_t)rc);
		c->flow.device_full = rc;
		if (c->recvs_lacking > lacked)
			RT_COUNT(c, shortages, 1);
		for (; posted; posted = posted->next)
			cds_list_add(&posted->lent, &c->flow.lent);
		c->flow.recvs_posted += n;
		c->works_inflight += n;
		return 0;
	}
	/* Not connected any more: its last event will come by itself. */
	if (rc == -ENOTCONN)
		rc = 0;
	else
		rt_conn_fail(c, rc, "posting Receives: %s", strerror(-rc));
	while (chain) {
		struct fab_wr *next = chain->next;

		put(c, chain->user);
		chain = next;
	}
	return rc;
}

void rt_reclaim_receives(struct rt_conn *c)
{
	struct rt_work *w, *tmp;

	rt_assert_strand(c);
	cds_list_for_each_entry_safe(w, tmp, &c->flow.lent, lent)
	{
		cds_list_del(&w->lent);
		c->flow.recvs_posted--;
		c->works_inflight--;
		put(c, w);
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
	cds_list_for_each_entry(w, &c->flow.lent,
				lent) if (w->sge[0].len < size)
		c->recvs_shorter++;
	rt_receives_size(c, announced);
}
