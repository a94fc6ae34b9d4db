/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disconnect - clients that make no progress, or make way for others: disconnect.h
 *
 * Locks: gateway.lock > client.lock.
 */
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
#define RETRY_MS 10
/* What a client that was disconnected holds comes back within this time. */
#define EVICT_PAUSE (SEC / 10)

/* ---- Progress ----------------------------------------------------------- */

/* What the client does. */
enum state { SERVED, EARLY, STALLED, IDLE };

/* When it makes way for others. */
static const uint64_t patience[] = {
	[SERVED] = UINT64_MAX,
	[EARLY] = GW_STUCK_SECONDS * SEC,
	[STALLED] = GW_STUCK_SECONDS * SEC,
	[IDLE] = GW_IDLE_SECONDS * SEC,
};

/* Caller holds client.lock. */
static enum state state_of(const struct gw_client *c)
{
	if (gw_link_is_early(&c->link))
		return EARLY;
	if (gw_send_queue_waits(&c->sendq) || atomic_load(&c->progress.unacked))
		return STALLED;
	if (gw_account_waits(&c->account))
		return SERVED;
	if (atomic_load(&c->progress.in_record))
		return STALLED;
	return gw_calls_outstanding(&c->calls) ||
			       gw_reverse_count(&c->reverse) ?
		       SERVED :
		       IDLE;
}

/* Returns how long the client has been waited for, ns, and in which state. */
static uint64_t waited_for(struct gw_client *c, uint64_t now, enum state *state)
{
	uint64_t at = atomic_load(&c->progress.at);

	pthread_mutex_lock(&c->lock);
	*state = state_of(c);
	pthread_mutex_unlock(&c->lock);
	return *state == SERVED || now < at ? 0 : now - at;
}

/*
 * What the client's TCP acknowledges is progress. TCP_USER_TIMEOUT would not do: it
 * also ends whoever reads slowly all the time [docs/notes/security-measurements.md].
 */
static void look_at_output(struct gw_client *c, uint64_t now)
{
	struct gw_progress *p = &c->progress;
	uint64_t written, acked;
	int left = 0;

	pthread_mutex_lock(&c->lock);
	written = c->stats.tcp_bytes_out;
	pthread_mutex_unlock(&c->lock);
	if (written != p->acked) {
		if (ioctl(c->fd, SIOCOUTQ, &left) || left < 0)
			left = 0;
		/* More may have been written meanwhile. */
		acked = written > (uint64_t)left ? written - (uint64_t)left : 0;
		if (acked > p->acked) {
			gw_progress_add(p, acked - p->acked, now);
			p->acked = acked;
		}
	}
	atomic_store(&p->unacked, left);
}

static void tick(struct gw_client *c)
{
	uint64_t now = base_now_ns(), ns;
	enum state state;

	gw_rx_release(c);
	look_at_output(c, now);
	ns = waited_for(c, now, &state);
	if (state == SERVED)
		gw_progress(&c->progress, now);
	if (state != STALLED || ns < GW_STALL_SECONDS * SEC)
		return;
	gw_client_count(c, overdue);
	gw_client_kill(c, LOG_NOTICE,
		       atomic_load(&c->progress.in_record) ?
			       "a record not ended for a minute: closed" :
			       "Replies not taken for a minute: closed");
}

/* ---- Making way --------------------------------------------------------- */

/* For whom or what a client is to leave. */
struct need {
	const struct gw_client *c; /* not this one; or NULL */
	const struct gw_places *places; /* of these; NULL: of all */
	const struct gw_claim *claim; /* to a place, or NULL */
	bool memory; /* that it has borrowed */
	bool buffers; /* whatever it waits with */
};

static bool may_leave(const struct need *need, const struct gw_client *c,
		      enum state state, uint64_t ns)
{
	if (c == need->c || !c->host ||
	    (need->places && c->places != need->places))
		return false;
	if (need->buffers)
		return gw_account_waits(&c->account);
	if (need->memory)
		return state == STALLED && ns >= GW_EVICT_SECONDS * SEC &&
		       gw_account_loan(&c->account);
	if (need->claim && !gw_claim_covers(need->claim, c->host))
		return false;
	return (need->claim && need->claim->busy) || ns >= patience[state];
}

static const char *reason(const struct need *need, enum state state,
			  uint64_t ns)
{
	if (need->buffers)
		return "one of many that wait for memory: closed";
	if (need->memory)
		return "no progress, and others wait for memory: closed";
	if (ns < patience[state])
		return "another host or user with fewer clients needs the place: closed";
	return state == IDLE ?
		       "idle, and new clients are waiting: closed" :
		       "no progress, and new clients are waiting: closed";
}

/* Have the client leave that has been waited for longest. Returns false if there is
 * none. Caller holds gateway.lock. */
static bool disconnect(struct gateway *gw, const struct need *need)
{
	uint64_t now = base_now_ns(), longest = 0, ns;
	struct gw_client *chosen = NULL;
	enum state state, was = SERVED;

	for (struct gw_client *c = gw->clients; c; c = c->all_next) {
		ns = waited_for(c, now, &state);
		if (!may_leave(need, c, state, ns) || (chosen && ns <= longest))
			continue;
		longest = ns;
		was = state;
		chosen = c;
	}
	if (!chosen)
		return false;
	chosen->leaves = reason(need, was, longest);
	chosen->evicted = need->memory || need->buffers;
	gw_client_uncount(chosen);
	gw_wakeup(chosen, GW_EV_LEAVE);
	return true;
}

bool gw_disconnect_for_place(struct gateway *gw, const struct gw_places *p,
			     const struct in6_addr *addr)
{
	struct gw_claim claim;
	struct need need = { .places = p, .claim = &claim };
	bool room;

	pthread_mutex_lock(&gw->lock);
	gw_claim_init(&claim, p, addr);
	/* Clients that make way are there for a while longer. A host that has others
	 * make way again and again must not take all that this needs. */
	room = atomic_load(&gw->nclients) < 2 * gw->opt.max_clients &&
	       (p->taken < p->n || disconnect(gw, &need));
	pthread_mutex_unlock(&gw->lock);
	return room;
}

void gw_disconnect_for_descriptor(struct gateway *gw, const struct gw_client *c)
{
	/* Nobody loses a place to a client from a port that anybody can have. */
	struct need need = { .c = c,
			     .places = c && c->only_gss ? c->places : NULL };

	pthread_mutex_lock(&gw->lock);
	/* Unless one is on its way out. */
	if (gw->hosts.taken + gw->users.taken >= atomic_load(&gw->nclients))
		disconnect(gw, &need);
	pthread_mutex_unlock(&gw->lock);
}

void gw_disconnect_all(struct gateway *gw)
{
	pthread_mutex_lock(&gw->lock);
	/* The others leave already, and may have no reference any more. */
	for (struct gw_client *c = gw->clients; c; c = c->all_next)
		if (c->host)
			gw_wakeup(c, GW_EV_DRAIN);
	pthread_mutex_unlock(&gw->lock);
}

static void for_memory(struct gw_client *c, uint64_t now)
{
	struct gateway *gw = c->gw;
	struct need need = { .c = c, .memory = true };

	pthread_mutex_lock(&gw->lock);
	if (now >= gw->evict_at) {
		gw->evict_at = now + EVICT_PAUSE;
		/* Is it not the policy that refuses? */
		need.buffers = !disconnect(gw, &need) &&
			       !gw_account_is_refused(&c->account) &&
			       gw_memory_is_plenty(&gw->memory);
		if (need.buffers)
			disconnect(gw, &need);
	}
	pthread_mutex_unlock(&gw->lock);
}

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
	/* Calls outstanding may all wait for the answer to a callback, which
	 * stands behind this record. */
	if (gw_account_wait(&c->account, none || asked, now) &&
	    now - gw_account_waits(&c->account) >= GW_TURN_SECONDS * SEC)
		for_memory(c, now);
	gw_worker_timer(c, GW_TIMER_READ, now + RETRY_MS * MSEC);
}

static void leave(struct gw_client *c)
{
	if (c->evicted)
		gw_client_count(c, evictions);
	else
		gw_client_count(c, gave_way);
	gw_client_kill(c, c->evicted ? LOG_NOTICE : LOG_INFO, c->leaves);
}

void gw_disconnect_events(struct gw_client *c, unsigned int events)
{
	if (events & GW_EV_TICK)
		tick(c);
	if (!c->gone && (events & GW_EV_LEAVE))
		leave(c);
}
