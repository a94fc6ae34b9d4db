/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker - the loop that owns TCP clients: worker.h
 */
#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/client.h"

#define WORKER_EVENTS 64
#define WORKER_STOP_MS 5000
#define WORKER_TICK_NS 1000000000ull

/* ---- Clients ------------------------------------------------------------ */

int gw_worker_adopt(struct gw_client *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP |
					    EPOLLET,
				  .data.ptr = c };
	struct gw_worker *w = c->w;

	CDS_INIT_LIST_HEAD(&c->slot.timer);
	cds_list_add(&c->slot.client, &w->clients);
	if (atomic_load(&w->stop))
		return -ECANCELED;
	return epoll_ctl(w->epfd, EPOLL_CTL_ADD, c->fd, &ev) ? -errno : 0;
}

static void timer_add(struct gw_client *c)
{
	/* First come, first served: they may wait for memory. */
	if (cds_list_empty(&c->slot.timer))
		cds_list_add_tail(&c->slot.timer, &c->w->timers);
}

void gw_worker_timer(struct gw_client *c, enum gw_timer timer, uint64_t at)
{
	c->slot.at[timer] = at;
	timer_add(c);
}

void gw_worker_forget(struct gw_client *c)
{
	cds_list_del_init(&c->slot.timer);
	epoll_ctl(c->w->epfd, EPOLL_CTL_DEL, c->fd, NULL);
	cds_list_del(&c->slot.client);
}

void gw_worker_flush(struct gw_client *c)
{
	gw_batch_flush(&c->w->batch);
}

/* Hand over an event. The client may be gone on return. */
static void deliver(struct gw_worker *w, struct gw_client *c,
		    unsigned int events)
{
	gw_client_get(c);
	w->event(c, events);
	gw_client_put(c);
}

static void worker_tick(struct gw_worker *w)
{
	struct gw_client *c, *next;
	uint64_t now;

	if (cds_list_empty(&w->clients))
		return;
	now = base_now_ns();
	if (now < w->tick_at)
		return;
	w->tick_at = now + WORKER_TICK_NS;
	cds_list_for_each_entry_safe(c, next, &w->clients, slot.client)
		deliver(w, c, GW_EV_TICK);
}

/* ---- The loop ----------------------------------------------------------- */

/* Milliseconds to the next timer, -1: none. */
static int worker_timeout(struct gw_worker *w)
{
	uint64_t next = cds_list_empty(&w->clients) ? UINT64_MAX : w->tick_at;
	struct gw_client *c;
	uint64_t now;

	cds_list_for_each_entry(c, &w->timers, slot.timer)
	{
		for (unsigned int i = 0; i < GW_TIMERS; i++)
			if (c->slot.at[i] && c->slot.at[i] < next)
				next = c->slot.at[i];
	}
	if (next == UINT64_MAX)
		return -1;
	now = base_now_ns();
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

/* The events of the timers that have run out. */
static unsigned int timers_due(struct gw_client *c, uint64_t now)
{
	static const unsigned int events[GW_TIMERS] = {
		[GW_TIMER_READ] = GW_EV_READ,
		[GW_TIMER_CONNECT] = GW_EV_CONNECT,
	};
	unsigned int due = 0;

	for (unsigned int i = 0; i < GW_TIMERS; i++) {
		if (!c->slot.at[i] || c->slot.at[i] > now)
			continue;
		c->slot.at[i] = 0;
		due |= events[i];
	}
	return due;
}

static void worker_timers(struct gw_worker *w)
{
	struct cds_list_head set;
	struct gw_client *c;
	unsigned int due;
	uint64_t now;

	if (cds_list_empty(&w->timers))
		return;
	now = base_now_ns();
	/* Take the list apart; clients that have a timer set are added again. */
	cds_list_replace_init(&w->timers, &set);
	while (!cds_list_empty(&set)) {
		c = cds_list_first_entry(&set, struct gw_client, slot.timer);
		cds_list_del_init(&c->slot.timer);
		gw_client_get(c);
		due = timers_due(c, now);
		if (due)
			w->event(c, due);
		if (!c->gone &&
		    (c->slot.at[GW_TIMER_READ] || c->slot.at[GW_TIMER_CONNECT]))
			timer_add(c);
		gw_client_put(c);
	}
}

static unsigned int socket_events(uint32_t events)
{
	unsigned int ev = 0;

	if (events & (EPOLLERR | EPOLLHUP))
		ev |= GW_EV_ERROR;
	if (events & EPOLLRDHUP)
		ev |= GW_EV_HANGUP | GW_EV_IN;
	if (events & EPOLLOUT)
		ev |= GW_EV_OUT;
	if (events & EPOLLIN)
		ev |= GW_EV_IN;
	return ev;
}

static void *worker_main(void *arg)
{
	struct gw_worker *w = arg;
	struct epoll_event ev[WORKER_EVENTS];
	bool killed = false;

	gw_batch_open(w->gw, &w->batch);
	while (!killed || !cds_list_empty(&w->clients) ||
	       atomic_load(&w->gw->nclients)) {
		int ms = killed ? 10 : worker_timeout(w);
		int n = epoll_wait(w->epfd, ev, WORKER_EVENTS, ms);

		for (int i = 0; i < n; i++) {
			struct gw_client *c = ev[i].data.ptr;
			uint64_t count;

			if (c)
				deliver(w, c, socket_events(ev[i].events));
			else if (read(w->wakeups.fd, &count, sizeof(count)) < 0)
				continue;
		}
		gw_wakeups_deliver(&w->wakeups, w->event);
		worker_timers(w);
		worker_tick(w);
		gw_batch_flush(&w->batch);
		if (atomic_load(&w->stop)) {
			while (!cds_list_empty(&w->clients))
				deliver(w,
					cds_list_first_entry(&w->clients,
							     struct gw_client,
							     slot.client),
					GW_EV_STOP);
			if (!killed)
				w->stop_at = base_now_ns() +
					     WORKER_STOP_MS * 1000000ull;
			killed = true;
			if (base_now_ns() > w->stop_at)
				break;
		}
	}
	gw_batch_flush(&w->batch);
	return NULL;
}

int gw_worker_start(struct gw_worker *w, struct gateway *gw, unsigned int i,
		    gw_event_fn *event)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int rc;

	w->gw = gw;
	w->index = i;
	w->event = event;
	CDS_INIT_LIST_HEAD(&w->clients);
	CDS_INIT_LIST_HEAD(&w->timers);
	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	rc = gw_wakeups_init(&w->wakeups);
	if (rc)
		return rc;
	if (w->epfd < 0 ||
	    epoll_ctl(w->epfd, EPOLL_CTL_ADD, w->wakeups.fd, &ev))
		return -errno;
	rc = pthread_create(&w->thread, NULL, worker_main, w);
	w->started = !rc;
	return -rc;
}

void gw_worker_signal_stop(struct gw_worker *w)
{
	if (!w->started)
		return;
	atomic_store(&w->stop, true);
	gw_wakeups_ring(&w->wakeups);
}

void gw_worker_join(struct gw_worker *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	if (w->epfd >= 0)
		close(w->epfd);
	gw_wakeups_destroy(&w->wakeups);
}
