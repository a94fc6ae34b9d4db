/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_worker - the loop that owns TCP clients
 *
 * Threads: each worker's loop is one thread. gw_kick() is called by any
 * thread; kick_lock guards the list that it leaves clients on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <syslog.h>
#include <unistd.h>

#include "gateway/gw_client.h"
#include "tools/latency.h"

#define WORKER_EVENTS 64
#define WORKER_STOP_MS 5000
/* How often clients that are waited for are looked at. */
#define WORKER_SWEEP_MS 1000
/* ... and all others. */
#define WORKER_LOOK_MS 10000

static void worker_wake(struct gw_worker *w)
{
	uint64_t one = 1;

	/* Full means that it will wake anyway. */
	if (write(w->evfd, &one, sizeof(one)) < 0)
		return;
}

void gw_kick(struct gw_client *c, unsigned int events)
{
	struct gw_worker *w = c->w;
	bool first;

	if (atomic_fetch_or(&c->events, events))
		return; /* on the list already, or about to be handled */
	gw_client_get(c);
	c->kick_next = NULL;
	pthread_mutex_lock(&w->kick_lock);
	first = !w->kicked;
	*w->kicked_tail = c;
	w->kicked_tail = &c->kick_next;
	pthread_mutex_unlock(&w->kick_lock);
	if (first)
		worker_wake(w);
}

static void worker_kicked(struct gw_worker *w)
{
	struct gw_client *c, *next;

	pthread_mutex_lock(&w->kick_lock);
	c = w->kicked;
	w->kicked = NULL;
	w->kicked_tail = &w->kicked;
	pthread_mutex_unlock(&w->kick_lock);
	for (; c; c = next) {
		/* Once its events are taken it may be put on the list anew. */
		next = c->kick_next;
		gw_client_events(c, atomic_exchange(&c->events, 0));
		gw_client_put(c);
	}
}

/* ---- Clients ------------------------------------------------------------ */

void gw_worker_adopt(struct gw_worker *w, struct gw_client *c)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLOUT | EPOLLRDHUP |
					    EPOLLET,
				  .data.ptr = c };

	c->w_next = w->clients;
	c->w_prev = &w->clients;
	if (c->w_next)
		c->w_next->w_prev = &c->w_next;
	w->clients = c;
	if (atomic_load(&w->stop))
		gw_client_kill(c, LOG_DEBUG, NULL);
	else if (epoll_ctl(w->epfd, EPOLL_CTL_ADD, c->fd, &ev))
		gw_client_kill(c, LOG_ERR, strerror(errno));
}

static void timer_remove(struct gw_client *c)
{
	if (!c->t_prev)
		return;
	*c->t_prev = c->t_next;
	if (c->t_next)
		c->t_next->t_prev = c->t_prev;
	c->t_prev = NULL;
}

void gw_worker_timer(struct gw_worker *w, struct gw_client *c)
{
	if (c->t_prev)
		return;
	c->t_next = w->timers;
	c->t_prev = &w->timers;
	if (c->t_next)
		c->t_next->t_prev = &c->t_next;
	w->timers = c;
}

void gw_worker_forget(struct gw_worker *w, struct gw_client *c)
{
	timer_remove(c);
	if (c->watched)
		w->nwatched--;
	c->watched = false;
	epoll_ctl(w->epfd, EPOLL_CTL_DEL, c->fd, NULL);
	*c->w_prev = c->w_next;
	if (c->w_next)
		c->w_next->w_prev = c->w_prev;
}

void gw_worker_watch(struct gw_worker *w, struct gw_client *c)
{
	if (c->watched || c->gone)
		return;
	c->watched = true;
	if (!w->nwatched++)
		w->sweep_at = lat_now() + WORKER_SWEEP_MS * 1000000ull;
}

static void worker_sweep(struct gw_worker *w)
{
	struct gw_client *c, *next;
	uint64_t now;
	bool look;

	if (!w->clients)
		return;
	now = lat_now();
	look = now >= w->look_at;
	if (!look && (!w->nwatched || now < w->sweep_at))
		return;
	if (look)
		w->look_at = now + WORKER_LOOK_MS * 1000000ull;
	w->sweep_at = now + WORKER_SWEEP_MS * 1000000ull;
	for (c = w->clients; c; c = next) {
		next = c->w_next;
		if (c->watched)
			gw_watch_sweep(c, now);
		else if (look)
			gw_watch_look(c, now);
	}
}

/* ---- The loop ----------------------------------------------------------- */

/* Milliseconds to the next timer, -1: none. */
static int worker_timeout(struct gw_worker *w)
{
	uint64_t next = w->nwatched ? w->sweep_at : UINT64_MAX, now;

	if (w->clients && w->look_at < next)
		next = w->look_at;
	for (struct gw_client *c = w->timers; c; c = c->t_next) {
		if (c->read_at && c->read_at < next)
			next = c->read_at;
		if (c->connect_at && c->connect_at < next)
			next = c->connect_at;
	}
	if (next == UINT64_MAX)
		return -1;
	now = lat_now();
	return next <= now ? 0 : (int)((next - now) / 1000000 + 1);
}

static void worker_timers(struct gw_worker *w)
{
	struct gw_client *c = w->timers, *next;
	uint64_t now;

	if (!c)
		return;
	now = lat_now();
	/* The list is taken apart; who needs it again comes back. */
	w->timers = NULL;
	for (struct gw_client *i = c; i; i = i->t_next) {
		i->t_prev = NULL;
		gw_client_get(i);
	}
	for (; c; c = next) {
		next = c->t_next;
		gw_client_tick(c, now);
		if (!c->gone && (c->read_at || c->connect_at))
			gw_worker_timer(w, c);
		gw_client_put(c);
	}
}

static void *worker_main(void *arg)
{
	struct gw_worker *w = arg;
	struct epoll_event ev[WORKER_EVENTS];
	bool killed = false;

	gw_batch_open(w->gw, &w->batch);
	while (!killed || w->clients || atomic_load(&w->gw->nclients)) {
		int ms = killed ? 10 : worker_timeout(w);
		int n = epoll_wait(w->epfd, ev, WORKER_EVENTS, ms);

		for (int i = 0; i < n; i++) {
			struct gw_client *c = ev[i].data.ptr;
			uint64_t count;

			if (c)
				gw_client_epoll(c, ev[i].events);
			else if (read(w->evfd, &count, sizeof(count)) < 0)
				continue;
		}
		worker_kicked(w);
		worker_timers(w);
		worker_sweep(w);
		gw_batch_flush(&w->batch);
		if (atomic_load(&w->stop)) {
			while (w->clients)
				gw_client_kill(w->clients, LOG_DEBUG, NULL);
			if (!killed)
				w->stop_at =
					lat_now() + WORKER_STOP_MS * 1000000ull;
			killed = true;
			if (lat_now() > w->stop_at)
				break;
		}
	}
	gw_batch_flush(&w->batch);
	return NULL;
}

int gw_worker_start(struct gw_worker *w, struct gateway *gw, unsigned int i)
{
	struct epoll_event ev = { .events = EPOLLIN };
	int rc;

	w->gw = gw;
	w->index = i;
	w->kicked_tail = &w->kicked;
	pthread_mutex_init(&w->kick_lock, NULL);
	w->epfd = epoll_create1(EPOLL_CLOEXEC);
	w->evfd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->epfd < 0 || w->evfd < 0 ||
	    epoll_ctl(w->epfd, EPOLL_CTL_ADD, w->evfd, &ev))
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
	worker_wake(w);
}

void gw_worker_join(struct gw_worker *w)
{
	if (w->started)
		pthread_join(w->thread, NULL);
	if (w->epfd >= 0)
		close(w->epfd);
	if (w->evfd >= 0)
		close(w->evfd);
	pthread_mutex_destroy(&w->kick_lock);
}
