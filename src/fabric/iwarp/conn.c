/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - life of a connection: creation, posting, polling, the end
 *
 * iw_conn_end() closes the socket at once. A broken rule goes through
 * iw_tx_terminate(): the Terminate is sent, then our FIN, and the socket stays
 * open until the peer's FIN or for a second, because closing it with unread
 * octets would make TCP discard the Terminate. Either way all posted work is
 * flushed, and DISCONNECTED is the last event.
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/param.h>
#include <sys/socket.h>
#include <unistd.h>

#include "iw.h"

static void iw_conn_free(struct iw_conn *c)
{
	if (c->fd >= 0)
		close(c->fd);
	iw_stag_fini(&c->stags);
	free(c->rx.buf);
	free(c->irq);
	free(c->orq);
	free(c);
}

static void iw_conn_retired(struct fab_retired *g)
{
	iw_conn_free(container_of(g, struct iw_conn, ev.retired));
}

int iw_conn_alloc(struct fab_ev_loop *ev, struct iw_conn **out)
{
	struct iw_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	fab_ev_conn_init(&c->ev, ev, iw_conn_expired);
	c->ev.retired.free = iw_conn_retired;
	c->src.event = iw_conn_event;
	c->fd = -1;
	c->depth = iw_conn_domain(c)->depth;
	c->orq = calloc(c->depth, sizeof(*c->orq));
	c->irq = calloc(c->depth, sizeof(*c->irq));
	/* Whole pages, for madvise() in iw_rx_trim(). */
	c->rx.buf = aligned_alloc(RX_PAGE, RX_BUF);
	if (!c->orq || !c->irq || !c->rx.buf) {
		iw_conn_free(c);
		return -ENOMEM;
	}
	iw_stag_init(&c->stags);
	c->rx.ask = RX_ASK_MIN;
	for (unsigned int i = 0; i < DDP_QN_COUNT; i++)
		c->rx.msn[i] = 1;
	c->tx.msn_send = 1;
	c->tx.msn_read = 1;
	*out = c;
	return 0;
}

int iw_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **out)
{
	struct iw_conn *c;
	int rc = iw_conn_alloc(fab_ev_loop(p), &c);

	if (rc)
		return rc;
	c->ev.active = true;
	c->state = IW_ST_IDLE;
	fab_ev_conn_set_ready(&c->ev.fab, ready, user);
	*out = &c->ev.fab;
	return 0;
}

void iw_conn_destroy_deferred(struct fab_conn *fc, void (*done)(void *),
			      void *user)
{
	struct iw_conn *c = iw_conn(fc);

	/* Before closing the descriptor, which half_open_event() may be about
	 * to use. */
	atomic_store(&c->ev.dead, true);
	if (c->fd >= 0) {
		/* This removes it from the epoll set. What epoll has already
		 * returned is stopped by "dead". */
		close(c->fd);
		c->fd = -1;
	}
	fab_ev_conn_retire(fc, done, user);
}

void iw_conn_info(const struct fab_conn *fc, struct fab_conn_info *info)
{
	fab_ev_conn_info(fc, info);
	info->crc = ((const struct iw_conn *)(const void *)fc)->crc;
}

void iw_trim(struct fab_conn *fc)
{
	iw_rx_trim(iw_conn(fc));
}

/*
 * While nothing is in flight, keepalives ask the peer's TCP once a second. They do not
 * end the connection earlier: TCP_USER_TIMEOUT overrides their number, tcp(7). What TCP
 * has heard before this began may be old, since an idle peer says nothing.
 */
unsigned int iw_silent_ms(struct fab_conn *fc)
{
	static const int second = 1;
	struct iw_conn *c = iw_conn(fc);
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);
	uint64_t now = base_now_ms();

	if (c->fd < 0 || getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		return 0;
	if (!c->watched_since) {
		c->watched_since = now;
		setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPINTVL, &second,
			   sizeof(second));
		setsockopt(c->fd, IPPROTO_TCP, TCP_KEEPIDLE, &second,
			   sizeof(second));
	}
	if (!info.tcpi_unacked && !info.tcpi_probes)
		return 0;
	return (unsigned int)MIN(now - c->watched_since,
				 (uint64_t)info.tcpi_last_ack_recv);
}

/* ---- Events: poller thread ------------------------------------------- */

int iw_conn_event(struct fab_ev_loop *ev, struct fab_source *src,
		  uint32_t events)
{
	struct iw_conn *c = container_of(src, struct iw_conn, src);
	unsigned int bits = 0;

	if (events & EPOLLIN)
		bits |= IW_EV_IN;
	if (events & EPOLLOUT)
		bits |= IW_EV_OUT;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		bits |= IW_EV_HUP;
	return fab_ev_conn_notify(&c->ev, bits);
}

/* Segments do not wake the poller while masked. Unmasking makes an edge if
 * there is something to read. */
void iw_mask(struct fab_conn *fc, bool mask)
{
	struct iw_conn *c = iw_conn(fc);

	if (c->fd >= 0)
		fab_ev_loop_modify(fab_ev_loop(fc->poller), c->fd, &c->src,
				   mask ? IW_CONN_EVENTS & ~EPOLLIN :
					  IW_CONN_EVENTS);
}

void iw_conn_expired(struct base_timer *t, unsigned int kind)
{
	struct iw_conn *c = container_of(t, struct iw_conn, ev.timer);

	fab_ev_conn_notify(&c->ev, kind == IW_TIMER_LINGER ? IW_EV_LINGER :
							     IW_EV_STARTUP);
}

/* ---- Completions ----------------------------------------------------- */

static void flush_all(struct iw_conn *c)
{
	while (c->orq_count) {
		fab_complete(&c->ev.done, c->orq[c->orq_head].wr, FAB_FLUSHED);
		c->orq_head = (c->orq_head + 1) % c->depth;
		c->orq_count--;
	}
	fab_complete_list(&c->ev.done, &c->tx.framed, FAB_FLUSHED);
	fab_complete_list(&c->ev.done, &c->tx.reads, FAB_FLUSHED);
	fab_complete_list(&c->ev.done, &c->tx.sq, FAB_FLUSHED);
	fab_complete_list(&c->ev.done, &c->rq, FAB_FLUSHED);
}

static int iw_take_completions(struct iw_conn *c, struct fab_wc *wc, int n)
{
	int got;

	if (!fab_completions_any(&c->ev.done))
		return 0;
	got = fab_completions_take(&c->ev.done, wc, n);
	return got + fab_completions_end(&c->ev.done, wc + got, n - got);
}

/* ---- The end --------------------------------------------------------- */

static void iw_conn_finish(struct iw_conn *c)
{
	if (c->state != IW_ST_ENDING)
		return;
	c->state = IW_ST_DEAD;
	if (c->fd >= 0) {
		if (!c->ev.done.error)
			iw_reset_on_close(c, false);
		close(c->fd);
	}
	c->fd = -1;
	flush_all(c);
	c->ev.done.ended = true;
}

static void send_fin(struct iw_conn *c)
{
	if (c->fin_sent)
		return;
	c->fin_sent = true;
	shutdown(c->fd, SHUT_WR);
}

/* Send the Terminate, then our FIN. */
static void terminate_progress(struct iw_conn *c)
{
	size_t budget = IW_TURN_BYTES;

	if (c->state == IW_ST_TERMINATING) {
		iw_tx_push(c, &budget);
		if (c->state == IW_ST_TERMINATING && c->tx.cur == c->tx.niov) {
			send_fin(c);
			c->state = IW_ST_LINGER;
			/* Nothing refers to lent memory any more. */
			flush_all(c);
		}
	}
	iw_rx_discard(c);
}

/* Once all is sent and all responses are in, send our FIN. */
static void iw_closing_progress(struct iw_conn *c)
{
	if (c->state == IW_ST_CLOSING && iw_tx_idle(c) && !c->orq_count)
		send_fin(c);
}

void iw_disconnect(struct fab_conn *fc, bool abort)
{
	struct iw_conn *c = iw_conn(fc);
	size_t budget = IW_TURN_BYTES;

	switch (c->state) {
	case IW_ST_IDLE:
	case IW_ST_REQUESTED:
	case IW_ST_REJECTED:
	case IW_ST_ENDING:
	case IW_ST_DEAD:
		return;
	case IW_ST_CONNECTING:
	case IW_ST_AWAIT_REPLY:
	case IW_ST_REPLYING:
		iw_conn_end(c, -ECONNABORTED,
			    "ended before it was established");
		break;
	case IW_ST_OPEN:
	case IW_ST_CLOSING:
		if (abort) {
			iw_reset_on_close(c, true);
			iw_conn_end(c, -ECONNABORTED, "ended by this side");
			break;
		}
		if (c->state == IW_ST_CLOSING)
			return;
		c->state = IW_ST_CLOSING;
		iw_conn_timer_set(c, IW_TIMER_LINGER);
		iw_tx_push(c, &budget);
		iw_closing_progress(c);
		break;
	case IW_ST_TERMINATING:
	case IW_ST_LINGER:
		if (!abort)
			return;
		iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
		break;
	}
	iw_conn_finish(c);
	iw_conn_schedule(c);
}

/* ---- Progress -------------------------------------------------------- */

static void iw_take_events(struct iw_conn *c)
{
	unsigned int ev = fab_ev_conn_take_events(&c->ev);

	if (!ev)
		return;
	if (ev & (IW_EV_IN | IW_EV_HUP))
		c->can_read = true;
	if (ev & IW_EV_HUP)
		c->hup = true;
	if (ev & (IW_EV_OUT | IW_EV_HUP))
		c->can_write = true;
	if ((ev & IW_EV_STARTUP) &&
	    (c->state == IW_ST_CONNECTING || c->state == IW_ST_AWAIT_REPLY ||
	     c->state == IW_ST_REPLYING))
		iw_conn_end(c, -ETIMEDOUT, "start-up took too long");
	if (!(ev & IW_EV_LINGER))
		return;
	if (c->state == IW_ST_TERMINATING || c->state == IW_ST_LINGER)
		iw_conn_end(c, c->ev.done.error, c->ev.done.reason);
	else if (c->state == IW_ST_CLOSING)
		iw_conn_end(c, -ETIMEDOUT, "the peer did not close in time");
}

/* Returns true if there is certainly more to do at once. */
static bool iw_progress(struct iw_conn *c)
{
	size_t rx = IW_TURN_BYTES, tx = IW_TURN_BYTES;

	iw_take_events(c);
	if (c->state == IW_ST_CONNECTING || c->state == IW_ST_AWAIT_REPLY ||
	    c->state == IW_ST_REPLYING)
		iw_startup_progress(c);
	if (c->state == IW_ST_OPEN || c->state == IW_ST_CLOSING) {
		/* Most calls in a turn find nothing to do. */
		if (c->can_read)
			iw_rx_progress(c, &rx);
		if (!iw_tx_idle(c))
			iw_tx_push(c, &tx);
		iw_closing_progress(c);
	}
	if (c->state == IW_ST_TERMINATING || c->state == IW_ST_LINGER)
		terminate_progress(c);
	iw_conn_finish(c);
	return c->state != IW_ST_DEAD && (!rx || !tx);
}

int iw_poll(struct fab_conn *fc, struct fab_wc *wc, int n)
{
	struct iw_conn *c = iw_conn(fc);
	bool more = false;
	int got;

	got = iw_take_completions(c, wc, n);
	if (got < n) {
		more = iw_progress(c);
		got += iw_take_completions(c, wc + got, n - got);
	}
	/* With completions, the runner polls again anyway. */
	if (!got && more)
		iw_conn_schedule(c);
	return got;
}

/* ---- Posting --------------------------------------------------------- */

int iw_post(struct fab_conn *fc, struct fab_wr *chain)
{
	struct iw_conn *c = iw_conn(fc);
	size_t budget = IW_TURN_BYTES;
	struct fab_wr *next;

	if (c->state != IW_ST_OPEN && c->state != IW_ST_REPLYING)
		return -ENOTCONN;
	for (struct fab_wr *wr = chain; wr; wr = wr->next)
		if (wr->op == FAB_READ && !c->ev.ord)
			return -EINVAL;
	c->ev.count.posts++;
	for (struct fab_wr *wr = chain; wr; wr = next) {
		next = wr->next;
		fab_wr_measure(wr);
		wr_append(&c->tx.sq, wr);
	}
	if (c->state == IW_ST_OPEN) {
		iw_tx_push(c, &budget);
		if (!budget)
			iw_conn_schedule(c);
		iw_conn_finish(c);
	}
	return 0;
}

int iw_post_recv(struct fab_conn *fc, struct fab_wr *chain)
{
	struct iw_conn *c = iw_conn(fc);
	struct fab_wr *next;

	if (c->state > IW_ST_OPEN)
		return -ENOTCONN;
	for (struct fab_wr *wr = chain; wr; wr = next) {
		next = wr->next;
		wr->priv[WR_MEMORY] = 0;
		wr_append(&c->rq, wr);
	}
	return 0;
}

/* ---- Exposed memory -------------------------------------------------- */

int iw_expose(struct fab_conn *fc, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset)
{
	struct iw_conn *c = iw_conn(fc);

	if (c->state > IW_ST_OPEN)
		return -ENOTCONN;
	return iw_stag_add(&c->stags, addr, len, access, handle, offset);
}

bool iw_unexpose(struct fab_conn *fc, uint32_t handle, void *user)
{
	/* A transfer in progress is stopped before its next octet: by
	 * batch_valid(), iw_ddp_still_open(). */
	iw_stag_del(&iw_conn(fc)->stags, handle);
	return true;
}
