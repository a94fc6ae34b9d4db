/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poller - the epoll set, kicks, timers, and the freeing of what is gone
 *
 * A kick puts the connection on a lock-free stack, and writes to the eventfd
 * only if the poller may be asleep. The eventfd is edge-triggered and never
 * read: each write is an edge.
 *
 * Sleeping: the poller announces it, then looks at the stack once more; a
 * kicker pushes, then looks at the announcement. All four are sequentially
 * consistent, so that one of the two sees the other.
 *
 * Threads: iw_poller_run() is the poller thread; the rest may be called by
 * any. The poller's lock guards the graves.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "iw.h"
#include "iwarp.h"

#define EVENTS 64

const uint32_t iw_conn_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

int poller_watch(struct iw_poller *p, int fd, struct iw_source *src,
		 uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(p->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

int iw_poller_create(struct fab_domain *dom, struct fab_poller **out)
{
	struct iw_poller *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->fab.ops = &fab_iwarp_ops;
	p->fab.dom = dom;
	p->evfd = -1;
	p->wake_src.kind = SRC_WAKE;
	p->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epfd < 0) {
		rc = -errno;
		goto fail;
	}
	p->evfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (p->evfd < 0) {
		rc = -errno;
		goto fail;
	}
	rc = poller_watch(p, p->evfd, &p->wake_src, EPOLLIN | EPOLLET);
	if (rc)
		goto fail;
	pthread_mutex_init(&p->lock, NULL);
	fab_timers_init(&p->fab.timers, iw_poller_wake, &p->fab);
	*out = &p->fab;
	return 0;
fail:
	if (p->evfd >= 0)
		close(p->evfd);
	if (p->epfd >= 0)
		close(p->epfd);
	free(p);
	return rc;
}

/* ---- Waking ---------------------------------------------------------- */

static void rouse(struct iw_poller *p)
{
	static const uint64_t one = 1;
	ssize_t n;

	/* Only one of many needs to. */
	if (!atomic_load(&p->sleeping) || !atomic_exchange(&p->sleeping, false))
		return;
	do {
		n = write(p->evfd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
}

static void wake_up(struct iw_poller *p)
{
	atomic_store(&p->woken, true);
	rouse(p);
}

void iw_poller_wake(struct fab_poller *p)
{
	wake_up(iw_poller(p));
}

void poller_kick(struct iw_conn *c)
{
	struct iw_poller *p = conn_poller(c);
	struct iw_conn *head;

	if (atomic_exchange(&c->kicked, true))
		return;
	head = atomic_load_explicit(&p->kicks, memory_order_relaxed);
	do {
		c->kick_next = head;
	} while (!atomic_compare_exchange_weak(&p->kicks, &head, c));
	rouse(p);
}

void iw_kick(struct fab_conn *c)
{
	poller_kick(iw_conn(c));
}

/* ---- Timers ---------------------------------------------------------- */

void timer_start(struct iw_conn *c, enum iw_timer_kind kind)
{
	unsigned int ms = kind == TIMER_LINGER ? IW_LINGER_MS :
						 conn_domain(c)->startup_ms;

	fab_timer_set(&c->fab.poller->timers, &c->timer, fab_now_ms() + ms,
		      kind);
}

void timer_stop(struct iw_conn *c)
{
	fab_timer_stop(&c->fab.poller->timers, &c->timer);
}

static int call_ready(struct iw_conn *c)
{
	if (atomic_load(&c->dead) || !c->ready)
		return 0;
	c->ready(&c->fab, c->user);
	return 1;
}

void conn_expired(struct fab_timer *t, unsigned int kind)
{
	struct iw_conn *c = container_of(t, struct iw_conn, timer);

	if (c->half_open) {
		half_open_expired(c, kind);
		return;
	}
	atomic_fetch_or(&c->events,
			kind == TIMER_LINGER ? EV_LINGER : EV_STARTUP);
	call_ready(c);
}

/* ---- Graves ---------------------------------------------------------- */

void poller_bury(struct iw_poller *p, struct iw_grave *g)
{
	pthread_mutex_lock(&p->lock);
	g->next = p->graves;
	p->graves = g;
	atomic_fetch_add(&p->buried, 1);
	pthread_mutex_unlock(&p->lock);
	wake_up(p);
}

static int reap(struct iw_poller *p)
{
	struct iw_grave *g, *next;
	int calls = 0;

	if (!atomic_load(&p->buried))
		return 0;
	pthread_mutex_lock(&p->lock);
	g = p->graves;
	p->graves = NULL;
	atomic_store(&p->buried, 0);
	pthread_mutex_unlock(&p->lock);
	for (; g; g = next) {
		void (*done)(void *) = g->done;
		void *user = g->user;

		next = g->next;
		if (g->conn && atomic_load(&g->conn->kicked)) {
			/* Still on the stack of kicks. */
			poller_bury(p, g);
			continue;
		}
		if (g->conn)
			conn_free(g->conn);
		else
			listener_free(g->listener);
		if (done) {
			done(user);
			calls++;
		}
	}
	return calls;
}

/* ---- Running --------------------------------------------------------- */

static int conn_event(struct iw_conn *c, uint32_t events)
{
	unsigned int ev = 0;

	if (c->half_open)
		return half_open_event(c);
	if (events & EPOLLIN)
		ev |= EV_IN;
	if (events & EPOLLOUT)
		ev |= EV_OUT;
	if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))
		ev |= EV_HUP;
	atomic_fetch_or(&c->events, ev);
	return call_ready(c);
}

static int run_kicks(struct iw_poller *p)
{
	struct iw_conn *c = NULL, *next;
	int calls = 0;

	if (atomic_load_explicit(&p->kicks, memory_order_relaxed))
		c = atomic_exchange(&p->kicks, NULL);
	for (; c; c = next) {
		next = c->kick_next;
		/* From here on it may be kicked again. */
		atomic_store(&c->kicked, false);
		calls += call_ready(c);
	}
	return calls;
}

int iw_poller_run(struct fab_poller *fp, int timeout_ms)
{
	struct iw_poller *p = iw_poller(fp);
	struct epoll_event ev[EVENTS];
	int n, calls = 0;

	timeout_ms = fab_timers_wait(&fp->timers, timeout_ms);
	atomic_store(&p->sleeping, true);
	if (atomic_exchange(&p->woken, false) || atomic_load(&p->kicks))
		timeout_ms = 0;
	n = epoll_wait(p->epfd, ev, EVENTS, timeout_ms);
	atomic_store(&p->sleeping, false);
	for (int i = 0; i < n; i++) {
		struct iw_source *src = ev[i].data.ptr;

		switch (src->kind) {
		case SRC_WAKE:
			break;
		case SRC_LISTENER:
			calls += listener_event(
				container_of(src, struct iw_listener, src));
			break;
		case SRC_CONN:
			calls += conn_event(container_of(src, struct iw_conn,
							 src),
					    ev[i].events);
			break;
		}
	}
	calls += run_kicks(p);
	calls += fab_timers_run(&fp->timers);
	calls += reap(p);
	return calls;
}

void iw_poller_destroy(struct fab_poller *fp)
{
	struct iw_poller *p = iw_poller(fp);
	struct iw_conn *c = atomic_exchange(&p->kicks, NULL);

	for (; c; c = c->kick_next)
		atomic_store(&c->kicked, false);
	reap(p);
	fab_timers_fini(&fp->timers);
	pthread_mutex_destroy(&p->lock);
	close(p->evfd);
	close(p->epfd);
	free(p);
}
