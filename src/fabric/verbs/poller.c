/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * poller - one epoll set: connection manager, completions, devices
 *
 * Level-triggered, except the wake-up. Connections have no descriptor of their
 * own: a completion channel serves all of a device.
 *
 * Threads: fab_poller_run() by one at a time; the rest any.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "vb.h"

#define EVENTS 64
#define CQ_EVENTS_PER_TURN 64
/* So many runs may look at completion queues alone, and not at files. */
#define RUNS_WITHOUT_FILES 16

uint64_t vb_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

int vb_poller_watch(struct vb_poller *p, int fd, struct vb_source *src,
		    uint32_t events)
{
	struct epoll_event ev = { .events = events, .data.ptr = src };

	return epoll_ctl(p->epfd, EPOLL_CTL_ADD, fd, &ev) ? -errno : 0;
}

void vb_poller_unwatch(struct vb_poller *p, int fd)
{
	epoll_ctl(p->epfd, EPOLL_CTL_DEL, fd, NULL);
}

static int set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/* With the devices in use already; later ones add themselves. */
static void join_domain(struct vb_poller *p)
{
	struct vb_domain *d = vb_domain(p->fab.dom);

	pthread_mutex_lock(&d->lock);
	for (unsigned int i = 0; i < d->ndevs; i++) {
		struct vb_device *dev = atomic_load(&d->dev[i]);
		struct ibv_context *ctx = dev->ctx;

		if (atomic_load(&dev->gone) || !ctx)
			p->left |= (uint32_t)1 << i;
		else
			vb_poller_watch(p, ctx->async_fd, &dev->async_src,
					EPOLLIN);
	}
	TAILQ_INSERT_TAIL(&d->pollers, p, link);
	pthread_mutex_unlock(&d->lock);
}

int vb_poller_create(struct fab_domain *dom, struct fab_poller **out)
{
	struct vb_poller *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return -ENOMEM;
	p->fab.ops = dom->ops;
	p->fab.dom = dom;
	p->evfd = -1;
	p->wake_src.kind = SRC_WAKE;
	p->cm_src.kind = SRC_CM;
	TAILQ_INIT(&p->conns);
	TAILQ_INIT(&p->watched);
	p->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (p->epfd < 0)
		goto fail_errno;
	p->evfd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (p->evfd < 0)
		goto fail_errno;
	p->cm = rdma_create_event_channel();
	if (!p->cm)
		goto fail_errno;
	rc = set_nonblock(p->cm->fd);
	if (!rc)
		rc = vb_poller_watch(p, p->evfd, &p->wake_src,
				     EPOLLIN | EPOLLET);
	if (!rc)
		rc = vb_poller_watch(p, p->cm->fd, &p->cm_src, EPOLLIN);
	if (rc)
		goto fail;
	pthread_mutex_init(&p->lock, NULL);
	pthread_mutex_init(&p->cm_lock, NULL);
	fab_timers_init(&p->fab.timers, vb_poller_wake, &p->fab);
	join_domain(p);
	*out = &p->fab;
	return 0;
fail_errno:
	rc = errno ? -errno : -ENODEV;
fail:
	if (p->cm)
		rdma_destroy_event_channel(p->cm);
	if (p->evfd >= 0)
		close(p->evfd);
	if (p->epfd >= 0)
		close(p->epfd);
	free(p);
	return rc;
}

int vb_poller_channel(struct vb_poller *p, struct vb_device *dev,
		      struct ibv_comp_channel **channel)
{
	struct vb_channel *ch = &p->channels[dev->index];
	int rc = 0;

	pthread_mutex_lock(&p->lock);
	if (!ch->channel) {
		ch->src.kind = SRC_CHANNEL;
		ch->channel = ibv_create_comp_channel(dev->ctx);
		if (!ch->channel)
			rc = errno ? -errno : -ENOMEM;
		else
			rc = set_nonblock(ch->channel->fd);
		if (!rc)
			rc = vb_poller_watch(p, ch->channel->fd, &ch->src,
					     EPOLLIN);
		if (rc && ch->channel) {
			ibv_destroy_comp_channel(ch->channel);
			ch->channel = NULL;
		}
	}
	*channel = ch->channel;
	pthread_mutex_unlock(&p->lock);
	return rc;
}

/* ---- Waking ---------------------------------------------------------- */

static void rouse(struct vb_poller *p)
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

void vb_poller_wake_up(struct vb_poller *p)
{
	atomic_store(&p->woken, true);
	rouse(p);
}

void vb_poller_wake(struct fab_poller *p)
{
	vb_poller_wake_up(vb_poller(p));
}

void vb_poller_kick(struct vb_conn *c)
{
	struct vb_poller *p = conn_poller(c);
	struct vb_conn *head;

	if (atomic_exchange(&c->kicked, true))
		return;
	head = atomic_load_explicit(&p->kicks, memory_order_relaxed);
	do {
		c->kick_next = head;
	} while (!atomic_compare_exchange_weak(&p->kicks, &head, c));
	rouse(p);
}

void vb_kick(struct fab_conn *c)
{
	vb_poller_kick(vb_conn(c));
}

/* ---- Timers ---------------------------------------------------------- */

static unsigned int duration(const struct vb_conn *c, enum vb_timer_kind kind)
{
	switch (kind) {
	case TIMER_STARTUP:
		return conn_domain(c)->startup_ms;
	case TIMER_KEEPALIVE:
		return conn_domain(c)->keepalive_ms;
	case TIMER_FIRST:
		return VB_FIRST_MS;
	case TIMER_LINGER:
		break;
	}
	return VB_LINGER_MS;
}

void vb_timer_start(struct vb_conn *c, enum vb_timer_kind kind)
{
	fab_timer_set(&c->fab.poller->timers, &c->timer,
		      fab_now_ms() + duration(c, kind), kind);
}

void vb_timer_stop(struct vb_conn *c)
{
	fab_timer_stop(&c->fab.poller->timers, &c->timer);
}

int vb_call_ready(struct vb_conn *c)
{
	if (atomic_load(&c->dead) || !c->ready)
		return 0;
	c->ready(&c->fab, c->user);
	return 1;
}

void vb_conn_expired(struct fab_timer *t, unsigned int kind)
{
	static const unsigned int bit[] = {
		[TIMER_STARTUP] = EV_STARTUP,
		[TIMER_LINGER] = EV_LINGER,
		[TIMER_KEEPALIVE] = EV_TICK,
		[TIMER_FIRST] = EV_FIRST,
	};
	struct vb_conn *c = container_of(t, struct vb_conn, timer);

	atomic_fetch_or(&c->events, bit[kind]);
	vb_call_ready(c);
}

/* ---- Graves ---------------------------------------------------------- */

void vb_poller_bury(struct vb_poller *p, struct vb_grave *g)
{
	pthread_mutex_lock(&p->lock);
	g->next = p->graves;
	p->graves = g;
	pthread_mutex_unlock(&p->lock);
	vb_poller_wake_up(p);
}

static int reap(struct vb_poller *p)
{
	struct vb_grave *g, *next;
	int calls = 0;

	pthread_mutex_lock(&p->lock);
	g = p->graves;
	p->graves = NULL;
	/* From here on no device can kick them. */
	for (struct vb_grave *i = g; i; i = i->next) {
		if (i->conn && i->conn->listed)
			TAILQ_REMOVE(&p->conns, i->conn, link);
		if (i->conn)
			i->conn->listed = false;
	}
	pthread_mutex_unlock(&p->lock);
	for (; g; g = next) {
		void (*done)(void *) = g->done;
		void *user = g->user;

		next = g->next;
		bool freed = true;

		if (g->conn) {
			vb_watch_remove(p, g->conn);
			freed = vb_conn_release(g->conn);
		}
		if (g->conn && atomic_load(&g->conn->kicked)) {
			/* Still on the stack of kicks. */
			vb_poller_bury(p, g);
			continue;
		}
		if (!freed) {
			g->next = p->stuck;
			g->done = NULL;
			p->stuck = g;
		} else if (g->conn) {
			vb_conn_free(g->conn);
		} else {
			vb_listener_free(g->listener);
		}
		if (done) {
			done(user);
			calls++;
		}
	}
	return calls;
}

/* The removal of their device may have freed them. */
static void retry_stuck(struct vb_poller *p)
{
	struct vb_grave **link = &p->stuck, *g;

	while ((g = *link)) {
		if (vb_conn_release(g->conn)) {
			*link = g->next;
			vb_poller_bury(p, g);
		} else {
			link = &g->next;
		}
	}
}

/* ---- Running --------------------------------------------------------- */

int vb_poller_arm(struct vb_conn *c)
{
	if (!atomic_exchange(&c->armed, true))
		atomic_fetch_add(&conn_poller(c)->channels[c->dev->index].armed,
				 1);
	return ibv_req_notify_cq(c->cq, 0);
}

void vb_poller_disarm(struct vb_conn *c)
{
	if (atomic_exchange(&c->armed, false))
		atomic_fetch_sub(&conn_poller(c)->channels[c->dev->index].armed,
				 1);
}

static int channel_events(struct vb_poller *p, struct vb_channel *ch,
			  uint32_t events)
{
	struct ibv_cq *cq;
	void *ctx;
	int calls = 0;

	for (int i = 0; i < CQ_EVENTS_PER_TURN; i++) {
		struct vb_conn *c;

		errno = 0;
		if (ibv_get_cq_event(ch->channel, &cq, &ctx)) {
			if ((errno != EAGAIN && errno != EWOULDBLOCK &&
			     errno != EINTR) ||
			    (events & (EPOLLERR | EPOLLHUP)))
				vb_poller_unwatch(p, ch->channel->fd);
			break;
		}
		c = ctx;
		ibv_ack_cq_events(cq, 1);
		vb_poller_disarm(c);
		vb_watch_add(p, c);
		calls += vb_call_ready(c);
		/* Then there is nothing to be read any more. */
		if (!atomic_load(&ch->armed))
			break;
	}
	return calls;
}

static int run_kicks(struct vb_poller *p)
{
	struct vb_conn *c = NULL, *next;
	int calls = 0;

	if (atomic_load_explicit(&p->kicks, memory_order_relaxed))
		c = atomic_exchange(&p->kicks, NULL);
	for (; c; c = next) {
		next = c->kick_next;
		/* From here on it may be kicked again. */
		atomic_store(&c->kicked, false);
		calls += vb_call_ready(c);
	}
	return calls;
}

int vb_poller_run(struct fab_poller *fp, int timeout_ms)
{
	struct vb_poller *p = vb_poller(fp);
	struct epoll_event ev[EVENTS];
	int n, calls;

	if (timeout_ms) {
		timeout_ms = fab_timers_wait(&fp->timers, timeout_ms);
		calls = vb_watch_stop(p);
	} else {
		calls = vb_watch_look(p);
		if (!TAILQ_EMPTY(&p->watched) &&
		    ++p->skipped < RUNS_WITHOUT_FILES)
			return calls + run_kicks(p);
	}
	p->skipped = 0;
	if (calls)
		timeout_ms = 0;
	atomic_store(&p->sleeping, true);
	if (atomic_exchange(&p->woken, false) || atomic_load(&p->kicks))
		timeout_ms = 0;
	n = epoll_wait(p->epfd, ev, EVENTS, timeout_ms);
	atomic_store(&p->sleeping, false);
	for (int i = 0; i < n; i++) {
		struct vb_source *src = ev[i].data.ptr;

		switch (src->kind) {
		case SRC_CM:
			calls += vb_cm_events(p);
			break;
		case SRC_CHANNEL:
			calls += channel_events(
				p, container_of(src, struct vb_channel, src),
				ev[i].events);
			break;
		case SRC_ASYNC:
			vb_device_event(p,
					container_of(src, struct vb_device,
						     async_src),
					ev[i].events);
			break;
		case SRC_WAKE:
		case SRC_LISTENER:
		case SRC_CONN:
			break;
		}
	}
	calls += run_kicks(p);
	calls += fab_timers_run(&fp->timers);
	calls += reap(p);
	if (atomic_load(&vb_domain(p->fab.dom)->changes) != p->changes_seen)
		retry_stuck(p);
	vb_device_reclaim(p);
	return calls;
}

void vb_poller_destroy(struct fab_poller *fp)
{
	struct vb_poller *p = vb_poller(fp);
	struct vb_domain *d = vb_domain(fp->dom);
	struct vb_conn *c;

	pthread_mutex_lock(&d->lock);
	TAILQ_REMOVE(&d->pollers, p, link);
	pthread_mutex_unlock(&d->lock);
	for (c = atomic_exchange(&p->kicks, NULL); c; c = c->kick_next)
		atomic_store(&c->kicked, false);
	reap(p);
	retry_stuck(p);
	reap(p);
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++)
		if (p->channels[i].channel)
			ibv_destroy_comp_channel(p->channels[i].channel);
	rdma_destroy_event_channel(p->cm);
	fab_timers_fini(&fp->timers);
	pthread_mutex_destroy(&p->cm_lock);
	pthread_mutex_destroy(&p->lock);
	close(p->evfd);
	close(p->epfd);
	free(p);
}
