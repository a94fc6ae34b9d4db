/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * share - which client may hold how much, and which one is ended when
 *
 * One sum is shared out: half of --max-memory. What a client has of it are the
 * receive buffers and sinks that are its own, the heap of its Calls, and the
 * Replies that the transport holds for it.
 *
 * Shares    A client that holds nothing may take what is free. One that holds
 *           something may hold an even part of two thirds, by the number of
 *           clients that there are; or of the other third as much as it leaves
 *           free for others: half if it is alone, and an (n+1)th if n clients
 *           want what they can get. So those that came first, and take nothing
 *           of what is theirs, have not got it all. One that is alone in holding
 *           anything may have that third, however many are there and idle.
 * Records   Buffers of records that are not yet whole are half of it at most,
 *           of which one may hold as much as it leaves free, but for the first
 *           of each client, which is enough for most Calls. So who sends
 *           records without an end keeps nobody from reading.
 * First     Of those that wait and have no Call outstanding the first in line
 *           may take what is free without regard to its share, and a reserve
 *           that nobody else may touch (for records: beside that half), until
 *           its record is a Call. So one Call of each client is possible at any
 *           time, one after the other, though all of it is held. It loses its
 *           place when its socket is empty for a second, and stands behind the
 *           others when it was refused three times: another may need less.
 * Progress  Clocks run only while a client is waited for: inside a record with
 *           its socket empty (in), or with Replies that its socket does not
 *           take (out). GW_PROGRESS_LEAST octets received, or acknowledged by
 *           its TCP, are progress and set the clock back; the end of a record,
 *           or of all Replies due, stops it. What the server owes, and what
 *           waits for memory here, has no clock.
 * Deadline  A clock that runs for GW_PROGRESS_SECONDS ends the client. A TCP
 *           tells of octets that were taken only when it has a segment's room,
 *           and a sixteenth of its buffer's (6 MiB at most by default, on
 *           Linux): who takes 8 KiB a second is sure to be seen.
 * Pressure  While somebody waits for memory and holds less, or not more than
 *           all would have if it was dealt out evenly, the client whose clock
 *           has run longest is ended, from GW_PRESSURE_SECONDS on. It is never
 *           the one that asks, unless its own clock is the one. Should there be
 *           none, and most of what records have be held by those in line that
 *           want more of just that, the last of them is ended when the first
 *           has waited as long: else all would wait for each other. So it is
 *           if records that are not whole have nearly all there is. While Calls
 *           have some and the server answers none, it is the server that all
 *           wait for, and nobody is ended.
 *
 * Threads: any; a client's shares are taken by its worker, and given back by
 * whoever is through with them. The sums are atomic, so that no Call takes a
 * lock; the lock guards the lists, and is for those that wait, come or go.
 * in_octets and urgent are the worker's.
 */
#ifndef RPCRDMA_GATEWAY_SHARE_H
#define RPCRDMA_GATEWAY_SHARE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <urcu/list.h>

#define GW_PROGRESS_LEAST 1024u
#define GW_PROGRESS_SECONDS 60
#define GW_PRESSURE_SECONDS 10
#define GW_FIRST_BUFFER 65536u
#define GW_FIRST_TRIES 3

struct gw_share;

struct gw_shares {
	size_t limit, reserve;
	atomic_size_t used;
	atomic_size_t in_used; /* of that, in records that are not whole */
	atomic_uint joined; /* clients */
	atomic_uint holders; /* shares in which there is something */
	atomic_uint_least64_t looked_at; /* ns; last search for a victim */
	_Atomic(struct gw_share *) first; /* in line */
	atomic_ulong answered; /* Calls, by the server */
	pthread_mutex_t lock; /* for all below, and the shares' links */
	unsigned long answered_seen;
	uint64_t answered_at; /* ns; when that was seen to change */
	uint64_t still_at; /* ns; when it was last seen to stand still */
	struct cds_list_head all;
	struct gw_share *last; /* in line */
};

struct gw_share {
	struct gw_shares *of;
	atomic_size_t used;
	atomic_size_t in_used; /* worker */
	atomic_bool waiting; /* for memory */
	atomic_bool in_blocked; /* by records of others that are not whole */
	bool urgent; /* has no Call outstanding, or is asked something itself */
	size_t in_octets; /* since the clock was set back */
	atomic_uint_least64_t in_since, out_since; /* ns; 0: clock stands */
	/* Lock held. */
	struct cds_list_head link; /* in of->all */
	bool joined;
	struct gw_share *wait_next;
	bool queued;
	unsigned int tries; /* since it is first */
	uint64_t queued_at; /* ns */
	bool leaving; /* somebody's victim */
	bool of_line; /* because it was last in line */
};

/* Does it wait for memory? */
static inline bool gw_share_waits(const struct gw_share *m)
{
	return atomic_load_explicit(&m->waiting, memory_order_relaxed);
}

/* Do its clocks run? */
static inline bool gw_share_in_runs(const struct gw_share *m)
{
	return atomic_load(&m->in_since);
}

static inline bool gw_share_out_runs(const struct gw_share *m)
{
	return atomic_load(&m->out_since);
}

/* Is it somebody's victim because it was last in line? */
static inline bool gw_share_is_last(const struct gw_share *m)
{
	return m->of_line;
}

/* What records that are not whole have of it. */
static inline size_t gw_share_in_records(const struct gw_share *m)
{
	return atomic_load_explicit(&m->in_used, memory_order_relaxed);
}

/* It has no Call outstanding, or is asked something itself. Worker. */
static inline void gw_share_set_urgent(struct gw_share *m, bool urgent)
{
	m->urgent = urgent;
}

/* @record: what the longest record takes; as much is reserved, if it can be. */
void gw_shares_init(struct gw_shares *s, size_t limit, size_t record);
void gw_shares_fini(struct gw_shares *s);
void gw_share_join(struct gw_shares *s, struct gw_share *m);
/* No victim and not in line any more. What it holds is still to come back. */
void gw_share_leave(struct gw_share *m);

/* @n octets more. False: not now, and nothing has changed. Worker. */
bool gw_share_take(struct gw_share *m, size_t n);
/* The same for a record that is being received, and when that is whole, or
 * gone, or has @left of it; and for what was forced on it. Worker. */
bool gw_share_take_in(struct gw_share *m, size_t n);
void gw_share_more_in(struct gw_share *m, size_t n);
void gw_share_done_in(struct gw_share *m, size_t left);
/* The same whoever may want it; @hard: but not beyond the limit. */
bool gw_share_force(struct gw_share *m, size_t n, bool hard);
void gw_share_give(struct gw_share *m, size_t n);
/* Is half of it free, so that a client can be given more than it needs? */
bool gw_shares_plenty(const struct gw_shares *s);
/* The server has answered a Call. */
void gw_shares_answered(struct gw_shares *s);
/* Does nobody else hold anything? */
bool gw_share_alone(const struct gw_share *m);
/* It was refused: into the line if it is urgent, else out of it. Worker. */
void gw_share_wait(struct gw_share *m, uint64_t now);
/* It waits no more, or has lost its place. Worker. */
void gw_share_served(struct gw_share *m);

/* The clocks. In: worker. Out: client.lock held. */
void gw_share_in(struct gw_share *m, uint64_t now, size_t octets);
void gw_share_in_start(struct gw_share *m, uint64_t now);
void gw_share_in_stop(struct gw_share *m);
void gw_share_out_start(struct gw_share *m, uint64_t now);
void gw_share_out_stop(struct gw_share *m);
/* How long the one that has run longer has run, ns. */
uint64_t gw_share_lack(const struct gw_share *m, uint64_t now);
/* It was called a victim, but has gone on meanwhile. */
void gw_share_spare(struct gw_share *m);
/*
 * @m waits: whose end would help it? @evict is called with that one (once for
 * each), the lock held. At most once in GW_LOOK_MS something is looked for.
 */
bool gw_share_press(struct gw_share *m, uint64_t now,
		    void (*evict)(struct gw_share *victim));
#define GW_LOOK_MS 10

#endif /* RPCRDMA_GATEWAY_SHARE_H */
