/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - life of a connection: creation, polling, the end
 *
 * Every end goes through vb_conn_end(). The queue pair enters its error state,
 * completions are drained, and the pair is destroyed: after that the device
 * touches no memory of this connection, and what has no completion is flushed
 * here. So it does not matter how a device flushes; some complete nothing that
 * is posted after the error. The shared Receives that it has consumed are
 * replaced at once, since no event would tell the other connections that they
 * lack some.
 *
 * If a pair cannot be destroyed, all that was posted to it stays in quarantine,
 * and the completion queue and the connection, which its events name, are not
 * freed.
 *
 * The device may need long for all that, so the setup thread does it
 * (vb_conn_finish()).
 *
 * An orderly close comes first: posted work is sent and confirmed, then the
 * peer is told, and its answer awaited for a second.
 *
 * A peer that vanishes is found by a probe after some silence (20 s): an empty
 * RDMA operation, which its adapter answers. A probe that fails, or is not
 * answered within that time again, ends the connection. If the peer's device
 * refuses it (cq.c), its host is not probed any more; each request asks for a
 * completion then, since the orderly close needs one of the last. siw needs a
 * probe for a first message that it has overlooked (first_message_tick()).
 *
 * Context: the runner of the connection; vb_conn_setup() and what it calls: the
 * setup thread; vb_conn_leave() and vb_conn_retired(): the poller thread.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "device.h"
#include "srq.h"
#include "vb.h"
#include "window.h"

/* ---- Timers ---------------------------------------------------------- */

static void vb_conn_expired(struct base_timer *t, unsigned int kind)
{
	static const unsigned int bit[] = {
		[VB_TIMER_STARTUP] = VB_EV_STARTUP,
		[VB_TIMER_LINGER] = VB_EV_LINGER,
		[VB_TIMER_KEEPALIVE] = VB_EV_TICK,
		[VB_TIMER_FIRST] = VB_EV_FIRST,
		[VB_TIMER_SHORT] = VB_EV_SHORT,
	};
	struct vb_conn *c = container_of(t, struct vb_conn, ev.timer);

	fab_ev_conn_notify(&c->ev, bit[kind]);
}

/* ---- Making and freeing ---------------------------------------------- */

/* Returns the pair that its id had. */
static struct ibv_qp *swap_qp(struct vb_conn *c, struct ibv_qp *qp)
{
	struct vb_poller *p = vb_conn_poller(c);
	struct ibv_qp *had;

	pthread_mutex_lock(&p->cm_lock);
	had = c->id->qp;
	c->id->qp = qp;
	pthread_mutex_unlock(&p->cm_lock);
	return had;
}

/* Returns 0 or an errno, which rdma_destroy_qp() would not. */
static int destroy_qp(struct vb_conn *c)
{
	struct ibv_qp *qp = c->id ? swap_qp(c, NULL) : NULL;
	int rc = qp ? ibv_destroy_qp(qp) : 0;

	if (qp && !rc)
		atomic_fetch_sub(&c->dev->used[VB_QP], 1);
	if (!rc || !vb_device_keeps(c->dev, rc))
		return 0;
	swap_qp(c, qp);
	return rc;
}

/* After the pair. Returns 0 or an errno. */
static int destroy_cq(struct vb_conn *c)
{
	int rc = c->cq ? ibv_destroy_cq(c->cq) : 0;

	if (rc && vb_device_keeps(c->dev, rc))
		return rc;
	if (c->cq)
		atomic_fetch_sub(&c->dev->used[VB_CQ], 1);
	c->cq = NULL;
	return 0;
}

/*
 * Release what devices have of it, so that no event names it any more. May be
 * called again. Returns false if the device cannot destroy the queue pair or
 * the completion queue.
 */
static bool vb_conn_release(struct vb_conn *c)
{
	vb_cq_detach(c);
	if (c->dev)
		vb_windows_close(c);
	if (destroy_qp(c))
		return false;
	vb_srq_leave(c);
	vb_cq_disarm(c);
	if (destroy_cq(c))
		return false;
	/* An event may have come since it left, if it was stuck. */
	vb_cq_poll_remove(vb_conn_poller(c), c);
	if (c->id)
		rdma_destroy_id(c->id);
	c->id = NULL;
	if (c->dev)
		vb_device_put(c->dev);
	vb_conn_set_device(c, NULL);
	return true;
}

static void vb_conn_free(struct vb_conn *c)
{
	vb_windows_free(c);
	pthread_mutex_destroy(&c->cq_lock);
	free(c->slot);
	free(c->rslot);
	free(c->held);
	free(c);
}

static void vb_conn_leave(struct fab_retired *g)
{
	struct vb_conn *c = container_of(g, struct vb_conn, ev.retired);
	struct vb_poller *p = vb_conn_poller(c);

	/* From here on no device event and no other thread schedules it. */
	pthread_mutex_lock(&p->lock);
	/* For a caller that has not awaited the end. */
	vb_setup_await(c);
	if (c->listed)
		TAILQ_REMOVE(&p->conns, c, link);
	c->listed = false;
	pthread_mutex_unlock(&p->lock);
	/* A stuck connection is not polled either. */
	vb_cq_poll_remove(p, c);
	c->stuck = !vb_conn_release(c);
}

static void vb_conn_retired(struct fab_retired *g)
{
	struct vb_conn *c = container_of(g, struct vb_conn, ev.retired);
	struct vb_poller *p = vb_conn_poller(c);

	if (!c->stuck) {
		vb_conn_free(c);
		return;
	}
	g->next = p->stuck;
	p->stuck = g;
}

void vb_conn_retry_stuck(struct vb_poller *p)
{
	struct fab_retired **link = &p->stuck, *g;

	while ((g = *link)) {
		if (vb_conn_release(
			    container_of(g, struct vb_conn, ev.retired))) {
			*link = g->next;
			fab_ev_loop_retire(&p->ev, g);
		} else {
			link = &g->next;
		}
	}
}

int vb_conn_alloc(struct vb_poller *p, fab_ready_fn ready, void *user,
		  struct vb_conn **out)
{
	struct vb_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	fab_ev_conn_init(&c->ev, &p->ev, vb_conn_expired);
	c->ev.retired.leave = vb_conn_leave;
	c->ev.retired.free = vb_conn_retired;
	c->src.event = vb_cm_conn_event;
	/* Device events go to all listed connections. */
	fab_ev_conn_set_ready(&c->ev.fab, ready, user);
	pthread_mutex_init(&c->cq_lock, NULL);
	pthread_mutex_lock(&p->lock);
	TAILQ_INSERT_TAIL(&p->conns, c, link);
	c->listed = true;
	pthread_mutex_unlock(&p->lock);
	*out = c;
	return 0;
}

int vb_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **out)
{
	struct vb_conn *c;
	int rc = vb_conn_alloc(vb_poller(p), ready, user, &c);

	if (rc)
		return rc;
	c->ev.active = true;
	c->state = VB_ST_IDLE;
	*out = &c->ev.fab;
	return 0;
}

/* ---- Completions ----------------------------------------------------- */

/* In this order: established, work, closed handles, the end. */
static int vb_take_completions(struct vb_conn *c, struct fab_wc *wc, int n)
{
	void *user;
	int got = 0;

	/* The peer's first messages may come before its confirmation. */
	if (c->state != VB_ST_ACCEPTED)
		got = fab_completions_take(&c->ev.done, wc, n);
	while (got < n && vb_window_closed(c, &user))
		wc[got++] = (struct fab_wc){
			.kind = FAB_WC_CLOSED,
			.user = user,
		};
	return got + fab_completions_end(&c->ev.done, wc + got, n - got);
}

/* ---- The end --------------------------------------------------------- */

static void drain_cq(struct vb_conn *c)
{
	while (c->cq && vb_cq_progress(c, BASE_TURN))
		;
}

/* The end: destroy the queues, return all work. */
static void vb_conn_finish(struct vb_conn *c)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int stuck, rc;

	c->state = VB_ST_DEAD;
	if (c->id && c->id->qp)
		ibv_modify_qp(c->id->qp, &attr, IBV_QP_STATE);
	drain_cq(c);
	/* Failed work is the cause, the rest its consequence. */
	if (c->broke) {
		c->ev.done.error = c->broke;
		c->ev.done.reason = c->broke_reason;
	}
	if (c->connected)
		rdma_disconnect(c->id);
	/* Before the pair to which they are bound. */
	vb_windows_close(c);
	/* All before the pair is destroyed, none after. */
	drain_cq(c);
	vb_cq_detach(c);
	drain_cq(c);
	stuck = destroy_qp(c);
	vb_windows_close(c);
	vb_windows_quarantine(c);
	if (stuck)
		fab_domain_log_peer(
			c->ev.fab.poller->dom, &c->ev.peer, 3,
			"verbs: %s: a queue pair cannot be destroyed (%s); the "
			"memory of its connection is lost",
			c->dev->name, strerror(stuck));
	/* The pair may have taken a Receive along, for a message that did not
	 * arrive wholly; if completions were lost, more. */
	if (c->srq && c->connected)
		vb_srq_lost(c, c->incomplete ? VB_BATCH : 1);
	vb_cq_flush(c, stuck);
	rc = stuck ? 0 : destroy_cq(c);
	if (rc)
		fab_domain_log_peer(
			c->ev.fab.poller->dom, &c->ev.peer, 4,
			"verbs: %s: a completion queue cannot be destroyed: %s",
			c->dev->name, strerror(rc));
	c->ev.done.ended = true;
	/* Without memory the next connection tries again. */
	if (c->srq && !atomic_load(&c->dev->gone))
		(void)vb_srq_fill(c);
	if (!stuck)
		vb_srq_leave(c);
}

void vb_conn_setup(struct vb_conn *c)
{
	if (c->state == VB_ST_PAIRING)
		vb_startup_pair(c);
	if (c->state == VB_ST_ENDING)
		vb_conn_finish(c);
}

/* Before the runner leaves the provider. Returns true if it is lent from here on. */
static bool lend_if_due(struct vb_conn *c)
{
	if (c->state != VB_ST_PAIRING && c->state != VB_ST_ENDING)
		return false;
	vb_setup_lend(c);
	return true;
}

static void post_later(struct vb_conn *c)
{
	struct wr_list later = c->later;
	struct fab_wr *wr;

	c->later = (struct wr_list){ NULL, NULL };
	if (c->state >= VB_ST_ENDING) {
		fab_complete_list(&c->ev.done, &later, FAB_FLUSHED);
		return;
	}
	if (c->srq)
		vb_srq_promise(c, wr_count(&later));
	while ((wr = wr_take(&later)))
		wr_append(&c->rq, wr);
	if (!vb_post_receives(c))
		vb_conn_end(c, -ENOMEM, "the device has no room for Receives");
}

/* Returns false while it is lent. Afterwards does what was asked for meanwhile. */
static bool resume(struct vb_conn *c)
{
	if (vb_conn_is_lent(c))
		return false;
	if (c->unwanted)
		vb_conn_end(c, -ECONNABORTED,
			    "ended before it was established");
	c->unwanted = false;
	if (c->later.head)
		post_later(c);
	return true;
}

/* Orderly close: once all is sent and confirmed. */
static void vb_closing_progress(struct vb_conn *c)
{
	if (c->state != VB_ST_CLOSING || c->sq.head || c->reads.head)
		return;
	if (c->sq_head != c->sq_tail) {
		if (!vb_post_last_signaled(c))
			vb_post_probe(c);
		return;
	}
	c->state = VB_ST_LINGER;
	vb_conn_timer_set(c, VB_TIMER_LINGER);
	if (rdma_disconnect(c->id))
		vb_conn_end(c, 0, "closed by this side");
}

void vb_disconnect(struct fab_conn *fc, bool abort)
{
	struct vb_conn *c = vb_conn(fc);

	if (!resume(c)) {
		c->unwanted = true;
		return;
	}
	switch (c->state) {
	case VB_ST_IDLE:
	case VB_ST_REQUESTED:
	case VB_ST_REJECTED:
	case VB_ST_ENDING:
	case VB_ST_DEAD:
		return;
	case VB_ST_ADDR:
	case VB_ST_ROUTE:
	case VB_ST_PAIRING:
	case VB_ST_CONNECTING:
	case VB_ST_ACCEPTED:
		vb_conn_end(c, -ECONNABORTED,
			    "ended before it was established");
		break;
	case VB_ST_OPEN:
	case VB_ST_CLOSING:
	case VB_ST_LINGER:
		if (abort) {
			vb_conn_end(c, -ECONNABORTED, "ended by this side");
			break;
		}
		if (c->state != VB_ST_OPEN)
			return;
		c->state = VB_ST_CLOSING;
		vb_conn_timer_set(c, VB_TIMER_LINGER);
		vb_post_sends(c);
		vb_closing_progress(c);
		break;
	}
	if (!lend_if_due(c))
		vb_conn_schedule(c);
}

/* ---- Probes ---------------------------------------------------------- */

bool vb_conn_unprobed(struct vb_conn *c)
{
	struct in6_addr host = base_addr_host((struct sockaddr *)&c->ev.peer);

	return base_known_has(&vb_conn_domain(c)->unprobed, &host);
}

static void probe(struct vb_conn *c)
{
	if (!vb_conn_unprobed(c))
		vb_post_probe(c);
}

/* A Send may complete at this end of the network (iWARP): only the probe counts. */
unsigned int vb_silent_ms(struct fab_conn *fc)
{
	struct vb_conn *c = vb_conn(fc);

	if (!resume(c) || c->state != VB_ST_OPEN)
		return 0;
	probe(c);
	return c->probe_out ? (unsigned int)(base_now_ms() - c->probed_at) : 0;
}

/* ---- Progress -------------------------------------------------------- */

static void keepalive_tick(struct vb_conn *c)
{
	if (c->heard != c->heard_last) {
		c->heard_last = c->heard;
	} else if (c->probe_out) {
		vb_conn_end(c, -ETIMEDOUT, "the peer no longer answers");
		return;
	} else {
		probe(c);
	}
	if (c->state == VB_ST_OPEN)
		vb_conn_timer_set(c, VB_TIMER_KEEPALIVE);
}

/* siw sends the MPA reply before it hands the socket to the queue pair. What
 * the peer sends in between is not seen until more comes, such as the answer to
 * a probe. */
static void first_message_tick(struct vb_conn *c)
{
	if (!c->heard)
		probe(c);
	vb_conn_timer_set(c, VB_TIMER_KEEPALIVE);
}

static void open_events(struct vb_conn *c, unsigned int ev)
{
	/* Waiting work is posted after this, which may set it again. */
	if ((ev & VB_EV_SHORT) && c->state == VB_ST_OPEN)
		vb_conn_timer_set(c, c->heard ? VB_TIMER_KEEPALIVE :
						VB_TIMER_FIRST);
	/* The completion queue may have overflowed before. */
	if (ev & VB_EV_QP)
		c->incomplete = true;
	if (ev & VB_EV_RULE)
		vb_conn_end(c, -EPROTO, "the peer broke a rule");
	else if (c->state < VB_ST_OPEN)
		vb_conn_end(c, -ECONNRESET, "closed during start-up");
	else if (ev & VB_EV_QP)
		vb_conn_end(c, -EIO, "the device broke the connection");
	else if ((ev & VB_EV_SRQ) && vb_srq_broken(c))
		vb_conn_end(c, -EIO, "the shared receive queue broke");
	else if ((ev & VB_EV_DOWN) && c->state == VB_ST_LINGER)
		vb_conn_end(c, 0, "closed by this side");
	else if (ev & VB_EV_DOWN)
		vb_conn_end(c, 0, "closed by the peer");
	else if ((ev & VB_EV_LINGER) && c->state != VB_ST_OPEN)
		vb_conn_end(c, -ETIMEDOUT, "the peer did not close in time");
	else if ((ev & VB_EV_TICK) && c->state == VB_ST_OPEN)
		keepalive_tick(c);
	else if ((ev & VB_EV_FIRST) && c->state == VB_ST_OPEN)
		first_message_tick(c);
	else if ((ev & (VB_EV_PROBE | VB_EV_FAIL)) && c->state == VB_ST_OPEN)
		/* FAIL: the peer's hardware address has changed. */
		probe(c);
}

static void vb_take_events(struct vb_conn *c)
{
	unsigned int ev = fab_ev_conn_take_events(&c->ev);

	if (!ev)
		return;
	if (c->state == VB_ST_REQUESTED || c->state == VB_ST_REJECTED ||
	    c->state == VB_ST_DEAD) {
		/* fab_accept() will fail. */
		return;
	}
	if ((ev & VB_EV_GONE) && c->dev && atomic_load(&c->dev->gone)) {
		vb_conn_end(c, -ENODEV, "the device is gone");
		return;
	}
	if (ev & VB_EV_MOVED) {
		vb_conn_end(c, -ENETRESET,
			    "the address moved to another device");
		return;
	}
	if (c->state < VB_ST_OPEN)
		vb_startup_progress(c, ev);
	if (c->state == VB_ST_ENDING)
		return;
	if (c->state >= VB_ST_OPEN ||
	    (ev & (VB_EV_DOWN | VB_EV_QP | VB_EV_RULE)) ||
	    ((ev & VB_EV_SRQ) && vb_srq_broken(c)))
		open_events(c, ev);
}

static bool vb_advance(struct vb_conn *c)
{
	unsigned int n = 0;

	vb_take_events(c);
	if (c->state < VB_ST_ACCEPTED || c->state > VB_ST_LINGER)
		return false;
	n = vb_cq_progress(c, BASE_TURN);
	if (c->broke) {
		vb_conn_end(c, c->broke, c->broke_reason);
		return false;
	}
	if (c->state != VB_ST_ACCEPTED)
		vb_post_sends(c);
	vb_windows_progress(c);
	(void)vb_post_receives(c);
	vb_closing_progress(c);
	return n > 0;
}

int vb_poll(struct fab_conn *fc, struct fab_wc *wc, int n)
{
	struct vb_conn *c = vb_conn(fc);
	bool more = true;
	int got;

	if (!resume(c))
		return 0;
	got = vb_take_completions(c, wc, n);
	while (got < n && more) {
		more = vb_advance(c);
		if (lend_if_due(c))
			return got;
		/* Not every completion of the device is one of ours. */
		more &= !c->ev.done.work.head && !c->closed_windows;
	}
	return got + vb_take_completions(c, wc + got, n - got);
}

/* ---- Operations that may find that the connection has to end ----------- */

int vb_connect(struct fab_conn *fc, const struct sockaddr *addr,
	       socklen_t addrlen, const struct fab_conn_params *params)
{
	struct vb_conn *c = vb_conn(fc);
	int rc;

	if (!resume(c))
		return -EISCONN;
	rc = vb_startup_connect(c, addr, addrlen, params);
	lend_if_due(c);
	return rc;
}

int vb_accept(struct fab_conn *fc, const struct fab_conn_params *params)
{
	struct vb_conn *c = vb_conn(fc);
	int rc;

	if (!resume(c))
		return -ENOTCONN;
	rc = vb_startup_accept(c, params);
	lend_if_due(c);
	return rc;
}

int vb_post(struct fab_conn *fc, struct fab_wr *chain)
{
	struct vb_conn *c = vb_conn(fc);
	int rc;

	if (!resume(c))
		return -ENOTCONN;
	rc = vb_post_chain(c, chain);
	lend_if_due(c);
	return rc;
}

int vb_post_recv(struct fab_conn *fc, struct fab_wr *chain)
{
	struct vb_conn *c = vb_conn(fc);
	struct fab_wr *next;
	int rc;

	if (!resume(c)) {
		for (struct fab_wr *wr = chain; wr; wr = next) {
			next = wr->next;
			wr->priv[WR_MEMORY] = 0;
			wr_append(&c->later, wr);
		}
		return 0;
	}
	rc = vb_post_recv_chain(c, chain);
	lend_if_due(c);
	return rc;
}

bool vb_unexpose(struct fab_conn *fc, uint32_t handle, void *user)
{
	struct vb_conn *c = vb_conn(fc);
	bool closed;

	/* It ends, which DISCONNECTED tells. */
	if (!resume(c))
		return false;
	closed = vb_window_close(c, handle, user);
	lend_if_due(c);
	return closed;
}
