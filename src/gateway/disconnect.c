/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disconnect - clients that stall, or make way for others
 *
 * Locks: gateway.lock > client.lock.
 */
#include <linux/sockios.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <syslog.h>
#include <urcu/compiler.h>

#include "base/clock.h"
#include "gateway/client.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
#define RETRY_MS 10
/* So that clients that connect without end do not end each other before their
 * first Call. */
#define IDLE_SECONDS 1
/* How long a client may be at one record, or wait for the server's first answer,
 * before it makes way. */
#define STUCK_SECONDS 10

/* ---- Stalls ------------------------------------------------------------- */

/*
 * Does the client take its Replies? What its TCP acknowledges is progress.
 * TCP_USER_TIMEOUT would not do: it also ends whoever reads slowly all the time
 * [docs/notes/security-measurements.md].
 */
static void look_at_output(struct gw_client *c, uint64_t now)
{
	struct gw_disconnect *d = &c->disconnect;
	uint64_t written, acked;
	bool waits;
	int left = 0;

	pthread_mutex_lock(&c->lock);
	written = c->stats.tcp_bytes_out;
	waits = gw_send_queue_waits(&c->sendq);
	pthread_mutex_unlock(&c->lock);
	if (!waits && written == d->acked) {
		gw_stall_stop(&c->account.out);
		return;
	}
	if (ioctl(c->fd, SIOCOUTQ, &left) || left < 0)
		left = 0;
	/* More may have been written meanwhile. */
	acked = written > (uint64_t)left ? written - (uint64_t)left : 0;
	if (!waits && !left)
		gw_stall_stop(&c->account.out);
	else
		gw_stall_start(&c->account.out, now);
	if (acked <= d->acked)
		return;
	gw_stall_progress(&c->account.out, acked - d->acked, now);
	d->acked = acked;
}

static void tick(struct gw_client *c)
{
	uint64_t now = base_now_ns();
	char text[96];

	gw_rx_release(c);
	look_at_output(c, now);
	if (gw_account_stalled(&c->account, now) < GW_STALL_SECONDS * SEC)
		return;
	gw_client_count(c, overdue);
	snprintf(text, sizeof(text), "%s for %d s: closed",
		 gw_stall_runs(&c->account.out) ? "Replies not taken" :
						  "a record not ended",
		 GW_STALL_SECONDS);
	gw_client_kill(c, LOG_NOTICE, text);
}

/* ---- Memory ------------------------------------------------------------- */

void gw_disconnect_wait_memory(struct gw_client *c)
{
	uint64_t now = base_now_ns();
	bool none, asked;

	pthread_mutex_lock(&c->lock);
	if (!gw_account_waits(&c->account))
		c->stats.memory_waits++;
	none = !gw_calls_outstanding(&c->calls);
	asked = gw_reverse_count(&c->reverse);
	pthread_mutex_unlock(&c->lock);
	if (none && gw_account_never(&c->account)) {
		gw_client_count(c, records_refused);
		gw_client_kill(
			c, LOG_WARNING,
			"a Call that needs more than half of --max-memory: closed");
		return;
	}
	gw_stall_stop(&c->account.in);
	/* Calls outstanding may all wait for the answer to a callback, which
	 * stands behind this record. */
	gw_account_wait(&c->account, none || asked, now);
	gw_worker_timer(c, GW_TIMER_READ, now + RETRY_MS * MSEC);
}

void gw_disconnect_evict(struct gw_account *victim)
{
	gw_wakeup(caa_container_of(victim, struct gw_client, account),
		  GW_EV_EVICT);
}

static void evict(struct gw_client *c)
{
	uint64_t now = base_now_ns(), stalled;
	char text[96];

	look_at_output(c, now);
	stalled = gw_account_stalled(&c->account, now);
	if (stalled >= GW_EVICT_SECONDS * SEC) {
		snprintf(
			text, sizeof(text),
			"no progress for %u s, and others wait for memory: closed",
			(unsigned int)(stalled / SEC));
	} else if (gw_account_waits(&c->account)) {
		snprintf(text, sizeof(text),
			 "one of many that wait for memory: closed");
	} else {
		gw_account_spare(&c->account);
		return;
	}
	gw_client_count(c, evictions);
	gw_client_kill(c, LOG_NOTICE, text);
}

/* ---- Making way --------------------------------------------------------- */

enum rank { NONE, BUSY, STUCK, IDLE };

/* How long nothing has been done for the client, ns; 0 while the server, or the
 * gateway, is at work for it. Caller holds client.lock. */
static uint64_t rested(struct gw_client *c, uint64_t now, bool *idle)
{
	uint64_t then = atomic_load(&c->disconnect.active_at);
	uint64_t since = now > then ? now - then : 0;

	*idle = false;
	if (gw_calls_ending(&c->calls))
		return since;
	if (gw_calls_outstanding(&c->calls) || gw_reverse_count(&c->reverse) ||
	    gw_send_queue_waits(&c->sendq))
		return gw_account_stalled(&c->account, now);
	/* It has sent something, and the server has not accepted it so far. */
	if (gw_link_is_early(&c->link))
		return since;
	if (gw_account_waits(&c->account))
		return 0;
	*idle = !gw_stall_runs(&c->account.in);
	return since;
}

static enum rank rank_of(struct gw_client *c, uint64_t now, uint64_t *ns)
{
	bool idle, dead, ending;

	pthread_mutex_lock(&c->lock);
	dead = c->dead;
	ending = gw_calls_ending(&c->calls);
	*ns = rested(c, now, &idle);
	pthread_mutex_unlock(&c->lock);
	if (dead)
		return NONE;
	if (idle && *ns >= IDLE_SECONDS * SEC)
		return IDLE;
	/* Who sends no more has perhaps gone. */
	return *ns >= (ending ? IDLE_SECONDS : STUCK_SECONDS) * SEC ? STUCK :
								      BUSY;
}

/* The client to make way, but for @c. Caller holds gateway.lock. */
static struct gw_client *choose(struct gateway *gw,
				const struct gw_claim *claim,
				const struct gw_client *c)
{
	uint64_t now = base_now_ns(), longest = 0, ns;
	enum rank best = NONE, rank;
	struct gw_client *chosen = NULL;

	for (struct gw_client *i = gw->clients; i; i = i->all_next) {
		if (i == c || i->leaving || !gw_claim_covers(claim, i->host))
			continue;
		rank = rank_of(i, now, &ns);
		if (rank <= (claim->busy ? NONE : BUSY) || rank < best ||
		    (rank == best && ns <= longest))
			continue;
		best = rank;
		longest = ns;
		chosen = i;
	}
	return chosen;
}

/* Clients that make way are there for a while longer. A host that has others of its
 * own make way again and again must not take all that this needs. */
static bool still_room(struct gateway *gw, bool busy)
{
	unsigned int most = gw->opt.max_clients;

	return atomic_load(&gw->nclients) <
	       (busy ? 2 * most : most + (most + 1) / 2);
}

bool gw_disconnect_make_way(struct gateway *gw, const struct in6_addr *addr,
			    const struct gw_client *c)
{
	struct gw_client *one = NULL;
	struct gw_claim claim;

	pthread_mutex_lock(&gw->lock);
	gw_claim_init(&claim, &gw->hosts, addr, c);
	if (c || !addr || still_room(gw, claim.busy))
		one = choose(gw, &claim, c);
	if (one) {
		one->leaving = true;
		atomic_fetch_add(&gw->leaving, 1);
		gw_client_uncount(one);
		gw_wakeup(one, GW_EV_LEAVE);
	}
	pthread_mutex_unlock(&gw->lock);
	return one;
}

static void leave(struct gw_client *c)
{
	enum rank rank;
	char text[96];
	uint64_t ns;

	rank = rank_of(c, base_now_ns(), &ns);
	gw_client_count(c, gave_way);
	if (rank == BUSY)
		snprintf(text, sizeof(text),
			 "another host or user with fewer clients "
			 "needs the place: closed");
	else
		snprintf(text, sizeof(text),
			 "%s for %u s, and new clients are waiting: closed",
			 rank == IDLE ? "idle" : "no progress",
			 (unsigned int)(ns / SEC));
	gw_client_kill(c, LOG_INFO, text);
}

void gw_disconnect_events(struct gw_client *c, unsigned int events)
{
	if (events & GW_EV_TICK)
		tick(c);
	if (!c->gone && (events & GW_EV_EVICT))
		evict(c);
	if (!c->gone && (events & GW_EV_LEAVE))
		leave(c);
}
