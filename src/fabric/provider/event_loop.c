/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_loop - epoll, wake-ups, scheduled connections, deferred freeing
 *
 * Scheduling pushes the connection on a lock-free stack, and writes to the
 * eventfd only if the poller may be asleep. The eventfd is edge-triggered and
 * never read: each write is an edge.
 *
 * The poller sets "sleeping", then looks at the stack; others push, then look
 * at "sleeping". All four are sequentially consistent, so that one of the two
 * sees the other.
 */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/addr.h"
#include "fabric/provider/event_loop.h"

#define EVENTS 64

static int woken(struct fab_ev_loop *ev, struct fab_source *src,
		 uint32_t events)
{
	return 0;
}

static void earlier_timer(void *poller)
{
	fab_ev_loop_wake(poller);
}

int fab_ev_loop_init(struct fab_ev_loop *ev, struct fab_domain *dom)
{
	int rc;

	ev->fab.ops = dom->ops;
	ev->fab.dom = dom;
	ev->wake.event = woken;
	base_stack_init(&ev->scheduled);
	atomic_init(&ev->woken, false);
	atomic_init(&ev->sleeping, false);
	atomic_init(&ev->nretired, 0);
	ev->retired = NULL;
	ev->evfd = -1;
	ev->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (ev->epfd < 0)
		return -errno;
	ev->evfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	rc = ev->evfd < 0 ? -errno :
			    fab_ev_loop_watch(ev, ev->evfd, &ev->wake,
					      EPOLLIN | EPOLLET);
	if (rc) {
		if (ev->evfd >= 0)
			close(ev->evfd);
		close(ev->epfd);
		return rc;
	}
	pthread_mutex_init(&ev->lock, NULL);
	base_timers_init(&ev->fab.timers, earlier_timer, &ev->fab);
	return 0;
}

/* ---- Descriptors ------------------------------------------------------- */

static int control(struct fab_ev_loop *ev, int op, int fd,
		   struct fab_source *src, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = src };

	return epoll_ctl(ev->epfd, op, fd, &e) ? -errno : 0;
}

int fab_ev_loop_watch(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		      uint32_t events)
{
	return control(ev, EPOLL_CTL_ADD, fd, src, events);
}

int fab_ev_loop_modify(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		       uint32_t events)
{
	return control(ev, EPOLL_CTL_MOD, fd, src, events);
}

void fab_ev_loop_unwatch(struct fab_ev_loop *ev, int fd)
{
	epoll_ctl(ev->epfd, EPOLL_CTL_DEL, fd, NULL);
}

/* ---- Waking, scheduling ------------------------------------------------- */

static void wake_loop(struct fab_ev_loop *ev)
{
	static const uint64_t one = 1;
	ssize_t n;

	/* One of many wakes it. */
	if (!atomic_load(&ev->sleeping) ||
	    !atomic_exchange(&ev->sleeping, false))
		return;
	do {
		n = write(ev->evfd, &one, sizeof(one));
	} while (n < 0 && errno == EINTR);
}

void fab_ev_loop_wake(struct fab_poller *p)
{
	struct fab_ev_loop *ev = fab_ev_loop(p);

	atomic_store(&ev->woken, true);
	wake_loop(ev);
}

void fab_ev_conn_schedule(struct fab_conn *fc)
{
	struct fab_ev_conn *c = fab_ev_conn(fc);
	struct fab_ev_loop *ev = fab_ev_loop(fc->poller);

	if (atomic_exchange(&c->is_scheduled, true))
		return;
	base_stack_push(&ev->scheduled, &c->sched_node);
	wake_loop(ev);
}

/* Pop one. From here on it may be scheduled again. */
static struct fab_ev_conn *next_scheduled(struct base_stack_node **list)
{
	struct fab_ev_conn *c;

	if (!*list)
		return NULL;
	c = container_of(*list, struct fab_ev_conn, sched_node);
	*list = c->sched_node.next;
	atomic_store(&c->is_scheduled, false);
	return c;
}

int fab_ev_loop_run_scheduled(struct fab_ev_loop *ev)
{
	struct base_stack_node *list = base_stack_take(&ev->scheduled);
	struct fab_ev_conn *c;
	int calls = 0;

	while ((c = next_scheduled(&list)))
		calls += fab_ev_conn_ready(c);
	return calls;
}

/* ---- Connections ------------------------------------------------------- */

void fab_ev_conn_init(struct fab_ev_conn *c, struct fab_ev_loop *ev,
		      base_timer_fn expired)
{
	c->fab.poller = &ev->fab;
	c->fab.ops = ev->fab.ops;
	c->retired.conn = c;
	base_timer_init(&c->timer, expired);
}

void fab_ev_conn_set_ready(struct fab_conn *fc, fab_ready_fn ready, void *user)
{
	struct fab_ev_conn *c = fab_ev_conn(fc);

	c->ready = ready;
	c->user = user;
}

int fab_ev_conn_ready(struct fab_ev_conn *c)
{
	if (atomic_load(&c->dead) || !c->ready)
		return 0;
	c->ready(&c->fab, c->user);
	return 1;
}

int fab_ev_conn_notify(struct fab_ev_conn *c, unsigned int bits)
{
	atomic_fetch_or(&c->events, bits);
	return fab_ev_conn_ready(c);
}

unsigned int fab_ev_conn_take_events(struct fab_ev_conn *c)
{
	if (!atomic_load_explicit(&c->events, memory_order_relaxed))
		return 0;
	return atomic_exchange(&c->events, 0);
}

void fab_ev_conn_timer_set(struct fab_ev_conn *c, unsigned int ms,
			   unsigned int what)
{
	base_timer_set(&c->fab.poller->timers, &c->timer, base_now_ms() + ms,
		       what);
}

void fab_ev_conn_timer_stop(struct fab_ev_conn *c)
{
	base_timer_stop(&c->fab.poller->timers, &c->timer);
}

void fab_ev_conn_retire(struct fab_conn *fc, void (*done)(void *), void *user)
{
	struct fab_ev_conn *c = fab_ev_conn(fc);

	atomic_store(&c->dead, true);
	fab_ev_conn_timer_stop(c);
	c->retired.done = done;
	c->retired.user = user;
	fab_ev_loop_retire(fab_ev_loop(c->fab.poller), &c->retired);
}

static const struct fab_ev_conn *conn_of(const struct fab_conn *c)
{
	return (const struct fab_ev_conn *)(const void *)c;
}

void fab_ev_conn_set_end(struct fab_ev_conn *c, int error, const char *reason)
{
	c->done.error = error;
	c->done.reason = reason;
	fab_ev_conn_timer_stop(c);
}

void fab_ev_conn_info(const struct fab_conn *fc, struct fab_conn_info *info)
{
	const struct fab_ev_conn *c = conn_of(fc);

	info->local = c->local;
	info->peer = c->peer;
	info->read_depth = c->ord;
	info->provider = fc->ops->name;
}

void fab_ev_conn_counters(const struct fab_conn *c, struct fab_counters *out)
{
	*out = conn_of(c)->count;
}

/* ---- Listeners --------------------------------------------------------- */

void fab_ev_listener_init(struct fab_ev_listener *l, struct fab_poller *p,
			  fab_request_fn fn, void *user, base_timer_fn expired,
			  void (*release)(struct fab_retired *g))
{
	l->fab.ops = p->ops;
	l->fab.poller = p;
	l->fn = fn;
	l->user = user;
	l->retired.free = release;
	l->pace.key = base_addr_key();
	l->pace.burst = p->dom->params.max_new;
	base_timer_init(&l->timer, expired);
	pthread_mutex_init(&l->lock, NULL);
}

void fab_ev_listener_addr(const struct fab_listener *fl,
			  struct sockaddr_storage *addr)
{
	*addr = ((const struct fab_ev_listener *)(const void *)fl)->addr;
}

/* ---- Deferred freeing -------------------------------------------------- */

void fab_ev_loop_retire(struct fab_ev_loop *ev, struct fab_retired *g)
{
	pthread_mutex_lock(&ev->lock);
	g->next = ev->retired;
	ev->retired = g;
	atomic_fetch_add(&ev->nretired, 1);
	pthread_mutex_unlock(&ev->lock);
	fab_ev_loop_wake(&ev->fab);
}

static int reap(struct fab_ev_loop *ev)
{
	struct fab_retired *g, *next;
	int calls = 0;

	if (!atomic_load(&ev->nretired))
		return 0;
	pthread_mutex_lock(&ev->lock);
	g = ev->retired;
	ev->retired = NULL;
	atomic_store(&ev->nretired, 0);
	pthread_mutex_unlock(&ev->lock);
	for (; g; g = next) {
		void (*done)(void *) = g->done;
		void *user = g->user;

		next = g->next;
		if (g->leave)
			g->leave(g);
		if (g->conn && atomic_load(&g->conn->is_scheduled)) {
			/* It is on the stack of scheduled connections again. */
			fab_ev_loop_retire(ev, g);
			continue;
		}
		/* ->free() may retire it again. */
		g->done = NULL;
		g->free(g);
		if (done) {
			done(user);
			calls++;
		}
	}
	return calls;
}

/* ---- Running ----------------------------------------------------------- */

int fab_ev_loop_run(struct fab_ev_loop *ev, int timeout_ms)
{
	struct epoll_event e[EVENTS];
	int n, calls = 0;

	timeout_ms = base_timers_wait(&ev->fab.timers, timeout_ms);
	atomic_store(&ev->sleeping, true);
	if (atomic_exchange(&ev->woken, false) ||
	    !base_stack_empty(&ev->scheduled))
		timeout_ms = 0;
	n = epoll_wait(ev->epfd, e, EVENTS, timeout_ms);
	atomic_store(&ev->sleeping, false);
	for (int i = 0; i < n; i++) {
		struct fab_source *src = e[i].data.ptr;

		calls += src->event(ev, src, e[i].events);
	}
	calls += fab_ev_loop_run_scheduled(ev);
	calls += base_timers_run(&ev->fab.timers);
	calls += reap(ev);
	return calls;
}

void fab_ev_loop_drain(struct fab_ev_loop *ev)
{
	struct base_stack_node *list = base_stack_take(&ev->scheduled);

	while (next_scheduled(&list))
		;
	reap(ev);
}

void fab_ev_loop_destroy(struct fab_ev_loop *ev)
{
	fab_ev_loop_drain(ev);
	base_timers_fini(&ev->fab.timers);
	pthread_mutex_destroy(&ev->lock);
	close(ev->evfd);
	close(ev->epfd);
}
