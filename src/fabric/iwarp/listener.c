/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * listener - TCP connections, until their MPA requests are complete
 *
 * A connection is half-open from accept(2) until its MPA request is complete.
 * The domain limits how many there are. At the limit the oldest one of the
 * listener is dropped: an honest peer sends its request at once.
 *
 * Connections are also paced, for each host and for all unknown hosts together
 * (pace.h). Beyond that rate they wait before their request is read, as many as
 * may be half-open; the rest is closed.
 *
 * A connection that ends before the request callback is counted as a failed
 * start, once.
 *
 * Context: the poller thread; iw_listen(), iw_listener_spread() and
 * iw_listener_close(): any thread. A half-open connection belongs to the
 * listener's poller. Before the request callback it may move to another poller,
 * which watches it from fab_accept() on.
 *
 * The listener's lock protects the half-open connections and is held over the
 * request callback, so that closing waits for it.
 */
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/turn.h"
#include "iw.h"

/* As many as Linux allows by default: after a restart all clients come at once. A SYN that
 * finds no place is sent again after a second. */
#define BACKLOG 4096
#define PAUSE_MS 100
#define WARN_MS 10000
/* The shortest time between two lines about shortages. */
#define SHORT_MS 60000

static struct iw_listener *iw_listener(struct fab_listener *l)
{
	return container_of(l, struct iw_listener, ev.fab);
}

static int iw_listener_event(struct fab_ev_loop *ev, struct fab_source *src,
			     uint32_t events);
static void iw_listener_resume(struct base_timer *t, unsigned int unused);
static int half_open_event(struct fab_ev_loop *ev, struct fab_source *src,
			   uint32_t events);
static void half_open_expired(struct base_timer *t, unsigned int kind);

static void iw_listener_free(struct fab_retired *g)
{
	struct iw_listener *l = container_of(g, struct iw_listener, ev.retired);

	pthread_mutex_destroy(&l->ev.lock);
	free(l->spread);
	free(l);
}

int iw_listen(struct fab_poller *fp, const struct sockaddr *addr,
	      socklen_t addrlen, fab_request_fn fn, void *user,
	      struct fab_listener **out)
{
	static const int on = 1;
	struct iw_listener *l = calloc(1, sizeof(*l));
	socklen_t len = sizeof(l->ev.addr);
	int rc;

	if (!l)
		return -ENOMEM;
	fab_ev_listener_init(&l->ev, fp, fn, user, iw_listener_resume,
			     iw_listener_free);
	l->src.event = iw_listener_event;
	TAILQ_INIT(&l->half);
	l->fd = socket(addr->sa_family,
		       SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (l->fd < 0) {
		rc = -errno;
		goto fail;
	}
	/* The answers to connections that begin are the listener's. */
	rc = iw_socket_service_type(fp->dom, l->fd, addr->sa_family);
	if (rc)
		goto fail;
	if (setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    (addr->sa_family == AF_INET6 &&
	     setsockopt(l->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on))) ||
	    bind(l->fd, addr, addrlen) || listen(l->fd, BACKLOG) ||
	    getsockname(l->fd, (struct sockaddr *)&l->ev.addr, &len)) {
		rc = -errno;
		goto fail;
	}
	*out = &l->ev.fab;
	rc = fab_ev_loop_watch(fab_ev_loop(fp), l->fd, &l->src, EPOLLIN);
	if (!rc)
		return 0;
fail:
	if (l->fd >= 0)
		close(l->fd);
	iw_listener_free(&l->ev.retired);
	return rc;
}

int iw_listener_spread(struct fab_listener *fl, struct fab_poller *const *p,
		       unsigned int n)
{
	struct iw_listener *l = iw_listener(fl);
	struct fab_poller **copy = calloc(n, sizeof(*copy));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, p, n * sizeof(*copy));
	pthread_mutex_lock(&l->ev.lock);
	free(l->spread);
	l->spread = copy;
	l->nspread = n;
	l->turn = 0;
	pthread_mutex_unlock(&l->ev.lock);
	return 0;
}

static void count_failed(struct iw_listener *l)
{
	atomic_fetch_add(&l->ev.fab.poller->dom->failed_starts, 1);
}

/* Listener lock held. A port monitor connects and sends nothing: a lower level. */
static void half_open_failed(struct iw_listener *l,
			     const struct sockaddr_storage *from, int err)
{
	struct fab_domain *d = l->ev.fab.poller->dom;
	char peer[64];

	count_failed(l);
	base_addr_name((const struct sockaddr *)from, peer, sizeof(peer));
	if (err == -ETIMEDOUT)
		fab_domain_log_peer(d, from, LOG_NOTICE,
				    "iwarp: no MPA request in time from %s",
				    peer);
	else if (err == -EPROTO)
		fab_domain_log_peer(
			d, from, LOG_NOTICE,
			"iwarp: not an MPA request from %s: it is no "
			"RDMA client",
			peer);
	else if (err == -ENOMEM)
		fab_domain_log_peer(d, from, LOG_WARNING,
				    "iwarp: no memory for a connection from %s",
				    peer);
	else
		fab_domain_log_peer(d, from, LOG_INFO,
				    "iwarp: no MPA request from %s: %s", peer,
				    strerror(-err));
}

/* Listener lock held. */
static void half_open_drop(struct iw_listener *l, struct iw_conn *c)
{
	struct iw_domain *d = iw_conn_domain(c);

	TAILQ_REMOVE(&l->half, c, half_link);
	atomic_fetch_sub(&d->startups, 1);
	iw_conn_destroy_deferred(&c->ev.fab, NULL, NULL);
}

void iw_listener_close(struct fab_listener *fl)
{
	struct iw_listener *l = iw_listener(fl);
	struct iw_conn *c;

	pthread_mutex_lock(&l->ev.lock);
	l->ev.closed = true;
	close(l->fd);
	l->fd = -1;
	while ((c = TAILQ_FIRST(&l->half))) {
		count_failed(l);
		half_open_drop(l, c);
	}
	base_timer_stop(&fl->poller->timers, &l->ev.timer);
	pthread_mutex_unlock(&l->ev.lock);
	fab_ev_loop_retire(fab_ev_loop(fl->poller), &l->ev.retired);
}

/* No descriptors or memory: the level-triggered listener would spin. */
static void listener_pause(struct iw_listener *l, int err)
{
	struct fab_ev_loop *ev = fab_ev_loop(l->ev.fab.poller);
	uint64_t now = base_now_ms();

	if (!l->short_of)
		l->short_since = now;
	/* Rarely, or it would use up the budget of the line about the end. */
	if (!l->short_told || now - l->short_told >= SHORT_MS) {
		fab_domain_log(ev->fab.dom, LOG_WARNING,
			       "iwarp: accept: %s; pausing", strerror(err));
		l->short_told = now;
		l->short_owes = true;
	}
	l->short_of = err;
	fab_ev_loop_modify(ev, l->fd, &l->src, 0);
	base_timer_set(&ev->fab.timers, &l->ev.timer, now + PAUSE_MS, 0);
}

/* Listener lock held. The backlog is empty. A log that is opened for each line,
 * as Ganesha's, has lost the lines since. */
static void listener_recovered(struct iw_listener *l)
{
	if (l->short_owes)
		fab_domain_log(l->ev.fab.poller->dom, LOG_WARNING,
			       "iwarp: accept: %s for %" PRIu64
			       " ms; new connections are taken again",
			       strerror(l->short_of),
			       base_now_ms() - l->short_since);
	l->short_of = 0;
	l->short_owes = false;
}

static void iw_listener_resume(struct base_timer *t, unsigned int unused)
{
	struct iw_listener *l = container_of(t, struct iw_listener, ev.timer);

	pthread_mutex_lock(&l->ev.lock);
	if (!l->ev.closed)
		fab_ev_loop_modify(fab_ev_loop(l->ev.fab.poller), l->fd,
				   &l->src, EPOLLIN);
	pthread_mutex_unlock(&l->ev.lock);
}

/* Listener lock held. One line for all within WARN_MS, since a flood must not
 * flood the log. */
static void log_refusal(struct iw_listener *l,
			const struct sockaddr_storage *from, const char *what)
{
	uint64_t now = base_now_ms();
	char peer[64];

	count_failed(l);
	if (l->warned_at && now - l->warned_at < WARN_MS)
		return;
	l->warned_at = now;
	base_addr_name((const struct sockaddr *)from, peer, sizeof(peer));
	fab_domain_log_peer(l->ev.fab.poller->dom, from, LOG_NOTICE, "%s %s",
			    what, peer);
}

/* Listener lock held. Returns the oldest of @peer's host if that has @max or
 * more. */
static struct iw_conn *oldest_over_share(struct iw_listener *l,
					 const struct sockaddr_storage *peer,
					 unsigned int max)
{
	struct in6_addr host = base_addr_host((const struct sockaddr *)peer);
	struct iw_conn *c, *oldest = NULL;
	unsigned int n = 0;

	TAILQ_FOREACH(c, &l->half, half_link)
	{
		struct in6_addr has =
			base_addr_host((const struct sockaddr *)&c->ev.peer);

		if (memcmp(&has, &host, sizeof(host)))
			continue;
		if (!oldest)
			oldest = c;
		n++;
	}
	return n >= max ? oldest : NULL;
}

/* Listener lock held. */
static void half_open_watch(struct iw_listener *l, struct iw_conn *c)
{
	int rc;

	iw_conn_timer_set(c, IW_TIMER_STARTUP);
	/* Edge-triggered: what has arrived by now is reported. */
	rc = fab_ev_loop_watch(iw_conn_poller(c), c->fd, &c->src,
			       IW_CONN_EVENTS);
	if (rc) {
		half_open_failed(l, &c->ev.peer, rc);
		half_open_drop(l, c);
	}
}

/* Listener lock held. */
static void half_open_begin(struct iw_listener *l, int fd,
			    const struct sockaddr_storage *peer)
{
	struct fab_ev_loop *ev = fab_ev_loop(l->ev.fab.poller);
	struct iw_domain *d = iw_domain(ev->fab.dom);
	socklen_t len = sizeof(struct sockaddr_storage);
	struct iw_conn *c, *oldest = TAILQ_FIRST(&l->half);
	/* A quarter of a low limit would tell nothing. */
	unsigned int max = d->fab.params.max_startup;
	unsigned int share = max < 32 ? max : max / 4;
	struct in6_addr host = base_addr_host((const struct sockaddr *)peer);
	bool known = base_known_has(&d->fab.known, &host);
	uint64_t now = base_now_ms();
	uint64_t turn = base_pace_turn(&l->ev.pace, &host, known, now);
	int rc;

	if (!fab_domain_admits(&d->fab, peer, true))
		goto refuse;
	c = oldest_over_share(l, peer, share);
	/* The oldest one is next. */
	if ((c && turn) || base_pace_full(&l->ev.pace, known, now)) {
		log_refusal(
			l, peer,
			"iwarp: too many connections at once, closing the newest:");
		goto refuse;
	}
	if (c) {
		log_refusal(
			l, &c->ev.peer,
			"iwarp: too many half-open connections of a host, dropping its oldest:");
		half_open_drop(l, c);
	} else if (atomic_load(&d->startups) >= max && !oldest) {
		log_refusal(
			l, peer,
			"iwarp: too many half-open connections, closing the newest:");
		goto refuse;
	} else if (atomic_load(&d->startups) >= max) {
		log_refusal(
			l, &oldest->ev.peer,
			"iwarp: too many half-open connections, dropping the oldest:");
		half_open_drop(l, oldest);
	}
	rc = iw_startup_socket_options(&d->fab, fd, peer->ss_family);
	if (!rc)
		rc = iw_conn_alloc(ev, &c);
	if (rc) {
		half_open_failed(l, peer, rc);
		goto refuse;
	}
	c->fd = fd;
	c->ev.peer = *peer;
	getsockname(fd, (struct sockaddr *)&c->ev.local, &len);
	c->state = IW_ST_REQUESTED;
	c->src.event = half_open_event;
	c->ev.timer.fire = half_open_expired;
	c->listener = l;
	TAILQ_INSERT_TAIL(&l->half, c, half_link);
	atomic_fetch_add(&d->startups, 1);
	base_pace_take(&l->ev.pace, &host, known, now);
	if (turn)
		base_timer_set(&ev->fab.timers, &c->ev.timer, turn,
			       IW_TIMER_PACE);
	else
		half_open_watch(l, c);
	return;
refuse:
	close(fd);
}

static int iw_listener_event(struct fab_ev_loop *ev, struct fab_source *src,
			     uint32_t events)
{
	struct iw_listener *l = container_of(src, struct iw_listener, src);
	struct sockaddr_storage peer;

	pthread_mutex_lock(&l->ev.lock);
	for (unsigned int i = 0; !l->ev.closed && i < BASE_TURN; i++) {
		socklen_t len = sizeof(peer);
		int fd = accept4(l->fd, (struct sockaddr *)&peer, &len,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0) {
			half_open_begin(l, fd, &peer);
			continue;
		}
		if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (l->short_of)
				listener_recovered(l);
			break;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
		    errno == ENOBUFS) {
			listener_pause(l, errno);
			break;
		}
		/* It has gone again; its address is not known. */
		if (errno == ECONNABORTED)
			count_failed(l);
	}
	pthread_mutex_unlock(&l->ev.lock);
	return 0;
}

/* Listener lock held. */
static void half_open_move(struct iw_listener *l, struct iw_conn *c)
{
	struct fab_poller *to;

	if (!l->nspread)
		return;
	to = l->spread[l->turn++ % l->nspread];
	if (to == c->ev.fab.poller)
		return;
	fab_ev_loop_unwatch(iw_conn_poller(c), c->fd);
	c->ev.fab.poller = to;
	c->moved = true;
}

static int half_open_event(struct fab_ev_loop *ev, struct fab_source *src,
			   uint32_t events)
{
	struct iw_conn *c = container_of(src, struct iw_conn, src);
	struct iw_listener *l = c->listener;
	struct mpa_frame f;
	int rc, calls = 0;

	pthread_mutex_lock(&l->ev.lock);
	if (l->ev.closed || atomic_load(&c->ev.dead))
		goto out;
	c->can_read = true;
	rc = iw_startup_request(c, &f);
	if (!rc)
		goto out;
	if (rc < 0) {
		half_open_failed(l, &c->ev.peer, rc);
		half_open_drop(l, c);
		goto out;
	}
	fab_ev_conn_timer_stop(&c->ev);
	TAILQ_REMOVE(&l->half, c, half_link);
	atomic_fetch_sub(&iw_conn_domain(c)->startups, 1);
	c->src.event = iw_conn_event;
	c->ev.timer.fire = iw_conn_expired;
	c->listener = NULL;
	half_open_move(l, c);
	/* From the callback on it is the runner's. What came behind the
	 * request, perhaps the end of the stream, can be read. */
	atomic_fetch_or(&c->ev.events, IW_EV_IN | IW_EV_OUT);
	l->ev.fn(&l->ev.fab, &c->ev.fab, f.priv, f.priv_len, l->ev.user);
	calls = 1;
out:
	pthread_mutex_unlock(&l->ev.lock);
	return calls;
}

static void half_open_expired(struct base_timer *t, unsigned int kind)
{
	struct iw_conn *c = container_of(t, struct iw_conn, ev.timer);
	struct iw_listener *l = c->listener;

	pthread_mutex_lock(&l->ev.lock);
	if (l->ev.closed || atomic_load(&c->ev.dead)) {
		;
	} else if (kind == IW_TIMER_PACE) {
		half_open_watch(l, c);
	} else {
		half_open_failed(l, &c->ev.peer, -ETIMEDOUT);
		half_open_drop(l, c);
	}
	pthread_mutex_unlock(&l->ev.lock);
}
