/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch - TCP clients that do not go on, and those that give way
 *
 * How the policy of share.h is applied, and what happens when --max-clients
 * is reached or descriptors are short: then one client may end for a new one's
 * sake. Of the hosts whose places it may have (place.h) that is
 *
 *   of those that have no Call outstanding and are not inside a record, the
 *   one idle longest, if it has been for IDLE_LEAST_MS (so that those that
 *   connect without end do not end each other before the first Call);
 *
 *   else the one that has been at one record, or made no progress with its
 *   Replies, or has waited for the server to take it, for longest, from
 *   GW_PRESSURE_SECONDS on; or that has shut down its sending side;
 *
 *   else, if the new one's host has fewer, the one that was busy least lately.
 *
 * An NFS client that is ended so connects again when it has a Call to send.
 *
 * Threads: main (and a worker that wants a descriptor) looks for one to leave,
 * and leaves the rest to its worker by GW_EV_LEAVE, since it may have something
 * to do by then. Otherwise workers.
 * Locks: gateway.lock > client.lock.
 */
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
#define IDLE_LEAST_MS 1000
/* In line for memory and with its socket empty so long: others first. */
#define LINE_MS 1000
/* ---- Progress ----------------------------------------------------------- */

void gw_watch_in(struct gw_client *c, uint64_t now)
{
	if (!gw_rx_inside(&c->rx)) {
		gw_share_in_stop(&c->share);
		return;
	}
	gw_share_in_start(&c->share, now ? now : base_now_ns());
	gw_worker_watch(c);
}

/* Octets of Replies that its TCP has acknowledged, and whether any are left.
 * Not more than it has: what is being written meanwhile is in the socket
 * first. */
static uint64_t acked(struct gw_client *c, bool *more)
{
	uint64_t written;
	int left = 0;

	pthread_mutex_lock(&c->lock);
	written = c->stats.tcp_bytes_out;
	pthread_mutex_unlock(&c->lock);
	if (ioctl(c->fd, SIOCOUTQ, &left) || left < 0)
		left = 0;
	*more = left;
	return written > (uint64_t)left ? written - (uint64_t)left : 0;
}

/* False: no Reply waits for the socket any more. */
static bool sweep_out(struct gw_client *c, uint64_t now)
{
	bool waits;
	uint64_t n = acked(c, &waits);

	pthread_mutex_lock(&c->lock);
	waits |= gw_out_waits(&c->out);
	if (!waits) {
		gw_share_out_stop(&c->share);
	} else if (n >= c->watch.out_acked + GW_PROGRESS_LEAST) {
		c->watch.out_acked = n;
		gw_share_out_start(&c->share, now);
	}
	pthread_mutex_unlock(&c->lock);
	return waits;
}

/* Is there what its TCP has not taken, or that others may need? */
static void look(struct gw_client *c)
{
	bool more;
	uint64_t n = acked(c, &more);

	gw_rx_release(c);
	if (!more)
		return;
	c->watch.out_acked = n;
	pthread_mutex_lock(&c->lock);
	gw_share_out_start(&c->share, base_now_ns());
	pthread_mutex_unlock(&c->lock);
	gw_worker_watch(c);
}

static void sweep(struct gw_client *c)
{
	uint64_t now = base_now_ns();
	bool in = gw_share_in_runs(&c->share);
	bool out = gw_share_out_runs(&c->share) && sweep_out(c, now);
	char text[96];

	if (in && gw_share_lack(&c->share, now) >= LINE_MS * MSEC)
		gw_share_served(&c->share);
	if (!in && !out) {
		gw_worker_unwatch(c);
		/* A Reply may have come to wait at this moment. */
		if (gw_share_out_runs(&c->share))
			gw_worker_watch(c);
		return;
	}
	if (gw_share_lack(&c->share, now) < GW_PROGRESS_SECONDS * SEC)
		return;
	pthread_mutex_lock(&c->lock);
	c->stats.overdue++;
	pthread_mutex_unlock(&c->lock);
	snprintf(text, sizeof(text), "%s for %d s: closed",
		 out ? "Replies not taken" : "a record not ended",
		 GW_PROGRESS_SECONDS);
	gw_client_kill(c, LOG_NOTICE, text);
}

/* ---- Others want what it has -------------------------------------------- */

void gw_watch_evict(struct gw_share *victim)
{
	gw_kick((struct gw_client *)((char *)victim -
				     offsetof(struct gw_client, share)),
		GW_EV_EVICT);
}

static void evict(struct gw_client *c)
{
	uint64_t now = base_now_ns(), lack;
	char text[96];

	if (gw_share_out_runs(&c->share))
		sweep_out(c, now);
	lack = gw_share_lack(&c->share, now);
	/* Set before the event, and by nobody since. */
	if (gw_share_is_last(&c->share) ? !gw_rx_stalled(&c->rx) :
					  lack < GW_PRESSURE_SECONDS * SEC) {
		gw_share_spare(&c->share);
		return;
	}
	pthread_mutex_lock(&c->lock);
	c->stats.evictions++;
	pthread_mutex_unlock(&c->lock);
	if (gw_share_is_last(&c->share))
		snprintf(text, sizeof(text),
			 "one of many that wait for memory: closed");
	else
		snprintf(text, sizeof(text),
			 "no progress for %u s, and others wait for memory: "
			 "closed",
			 (unsigned int)(lack / SEC));
	gw_client_kill(c, LOG_NOTICE, text);
}

/*
 * How long nothing has been done for it, ns; 0: it is busy. @idle: it has
 * nothing to wait for, either. Lock held.
 */
static uint64_t rested(struct gw_client *c, uint64_t now, bool *idle)
{
	uint64_t since = now > c->watch.active_at ? now - c->watch.active_at :
						    0;

	*idle = false;
	if (c->dead || c->watch.leaving)
		return 0;
	/* It has sent all that it will, and has perhaps gone: it stands with
	 * those that are stuck as soon as an idle one would go. */
	if (gw_calls_ending(&c->calls))
		return since + GW_PRESSURE_SECONDS * SEC - IDLE_LEAST_MS * MSEC;
	if (gw_calls_outstanding(&c->calls) || gw_reverse_count(&c->reverse) ||
	    gw_out_waits(&c->out))
		return gw_share_lack(&c->share, now);
	/* It waits for the server, and has nothing from it so far. */
	if (gw_link_is_early(&c->link))
		return since;
	/* Waiting for memory is not its fault. */
	if (gw_share_waits(&c->share))
		return 0;
	*idle = !gw_share_in_runs(&c->share);
	return since;
}

/* Those that can best do without their connections, and since when, ns. */
struct picked {
	struct gw_client *idle, *stuck, *busy;
	uint64_t idle_ns, stuck_ns, busy_ns;
};

static void consider(struct picked *p, struct gw_client *c, uint64_t now)
{
	uint64_t ns, lack;
	bool idle, goes;

	pthread_mutex_lock(&c->lock);
	goes = c->dead || c->watch.leaving;
	ns = rested(c, now, &idle);
	lack = gw_calls_outstanding(&c->calls) ? gw_share_lack(&c->share, now) :
	       now > c->watch.active_at	       ? now - c->watch.active_at :
						 0;
	pthread_mutex_unlock(&c->lock);
	if (goes)
		return;
	if (idle && ns > p->idle_ns) {
		p->idle_ns = ns;
		p->idle = c;
	} else if (!idle && ns > p->stuck_ns) {
		p->stuck_ns = ns;
		p->stuck = c;
	}
	if (!p->busy || lack > p->busy_ns) {
		p->busy_ns = lack;
		p->busy = c;
	}
}

/* gateway.lock held. Not @c. */
static struct gw_client *pick(struct gateway *gw, const struct gw_wish *w,
			      const struct gw_client *c)
{
	struct picked p = { .idle_ns = IDLE_LEAST_MS * MSEC - 1,
			    .stuck_ns = GW_PRESSURE_SECONDS * SEC - 1 };
	uint64_t now = base_now_ns();

	for (struct gw_client *i = gw->clients; i; i = i->all_next)
		if (i != c && gw_wish_takes(w, i->place))
			consider(&p, i, now);
	return p.idle ? p.idle : p.stuck ? p.stuck : w->due ? p.busy : NULL;
}

/* Those that leave are there for a while longer. A host that makes others of its
 * own leave again and again must not take the room that this needs. */
static bool still_room(struct gateway *gw, bool due)
{
	unsigned int most = gw->opt.max_clients;

	return atomic_load(&gw->nclients) <
	       (due ? 2 * most : most + (most + 1) / 2);
}

bool gw_watch_give_way(struct gateway *gw, const struct in6_addr *host,
		       const struct gw_client *c)
{
	struct gw_client *one;
	struct gw_wish w;

	pthread_mutex_lock(&gw->lock);
	gw_wish_init(&w, &gw->places, host, c);
	one = c || !host || still_room(gw, w.due) ? pick(gw, &w, c) : NULL;
	if (!one && !host) {
		w.least = 0;
		one = pick(gw, &w, c);
	}
	if (one) {
		pthread_mutex_lock(&one->lock);
		one->watch.leaving = true;
		one->watch.due = w.due;
		pthread_mutex_unlock(&one->lock);
		atomic_fetch_add(&gw->leaving, 1);
		if (one->placed)
			gw_place_leave(one->place);
		one->placed = false;
		gw_kick(one, GW_EV_LEAVE);
	}
	pthread_mutex_unlock(&gw->lock);
	return one;
}

/* It has gone on, and is one of its host's again. */
static void stays(struct gw_client *c)
{
	pthread_mutex_lock(&c->gw->lock);
	atomic_fetch_sub(&c->gw->leaving, 1);
	if (!c->placed)
		gw_place_return(c->place);
	c->placed = true;
	pthread_mutex_unlock(&c->gw->lock);
}

/* It was asked to; but it may have gone on since. */
static void leave(struct gw_client *c)
{
	uint64_t now = base_now_ns(), ns, least;
	char text[96];
	bool idle, stay, due;

	pthread_mutex_lock(&c->lock);
	c->watch.leaving = false;
	due = c->watch.due;
	ns = rested(c, now, &idle);
	least = idle ? IDLE_LEAST_MS * MSEC : GW_PRESSURE_SECONDS * SEC;
	stay = !due && (ns < least || gw_rx_has_record(&c->rx));
	c->watch.leaving = !stay;
	if (!stay)
		c->stats.gave_way++;
	pthread_mutex_unlock(&c->lock);
	if (stay) {
		stays(c);
		return;
	}
	if (ns < least)
		snprintf(text, sizeof(text),
			 "another host or user with fewer clients "
			 "needs the place: closed");
	else
		snprintf(text, sizeof(text),
			 "%s for %u s, and new clients are waiting: closed",
			 idle ? "idle" : "no progress",
			 (unsigned int)(ns / SEC));
	gw_client_kill(c, LOG_INFO, text);
}

void gw_watch_events(struct gw_client *c, unsigned int events)
{
	bool more;

	if (events & GW_EV_SWEEP)
		sweep(c);
	else if (events & GW_EV_LOOK)
		look(c);
	if (events & GW_EV_WATCH) {
		c->watch.out_acked = acked(c, &more);
		gw_worker_watch(c);
	}
	if (events & GW_EV_EVICT)
		evict(c);
	if (!c->gone && (events & GW_EV_LEAVE))
		leave(c);
}
