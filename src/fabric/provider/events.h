/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events - the event loop of a provider's poller
 *
 * One epoll set, and what belongs to it: a wake-up by other threads, kicks of
 * connections, the poller's timers (timers.h), and the freeing of what nothing
 * can name any more. It knows no provider: what happens is called through
 * functions that the provider has put into its objects.
 *
 * Objects and owners
 *
 *   struct fab_events    a poller. The provider's begins with it.
 *   struct fab_source    what a watched descriptor is of; part of an object of
 *                        the provider's. That closes the descriptor, or takes
 *                        it out of the set, and is then retired: epoll
 *                        may have handed the source out already.
 *   struct fab_ev_conn   a connection; the provider's begins with it.
 *   struct fab_retired   what waits for the end of fab_events_run() to be freed;
 *                        part of the object that it frees.
 *
 * Threads
 *
 *   fab_events_run() is the poller thread; all functions of sources, timers and
 *   what is retired, and ready callbacks, are called by it. fab_events_init() and _fini():
 *   nobody else uses it. fab_ev_conn_ready() and _tell(): the poller thread.
 *   fab_ev_conn_events(): the runner. The rest any thread.
 *
 * Lock order: the lock in here is a leaf, and held over no call of others.
 */
#ifndef RPCRDMA_FABRIC_EVENTS_H
#define RPCRDMA_FABRIC_EVENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/stack.h"
#include "fabric/provider/completions.h"
#include "fabric/provider/util.h"

struct fab_events;
struct fab_ev_conn;

struct fab_source {
	/* @events: EPOLLIN and others. Returns how many callbacks of the layer
	 * above it has made. */
	int (*event)(struct fab_events *ev, struct fab_source *src,
		     uint32_t events);
};

struct fab_retired {
	/* From the return on no other thread can kick it. NULL: none can. May be
	 * called again. */
	void (*leave)(struct fab_retired *g);
	void (*free)(struct fab_retired *g);
	/* The loop's: who may be among its kicks, or NULL; what to call when it
	 * has been freed. */
	const struct fab_ev_conn *conn;
	void (*done)(void *user);
	void *user;
	struct fab_retired *next;
};

struct fab_events {
	struct fab_poller fab;
	int epfd, evfd;
	struct fab_source wake;
	struct base_stack kicks; /* of connections */
	atomic_bool woken, sleeping;
	/* So that a turn takes no lock if nothing is retired. Changed under it. */
	atomic_uint nretired;

	pthread_mutex_t lock; /* what follows */
	struct fab_retired *retired;
};

struct fab_ev_conn {
	struct fab_conn fab;
	/* Bits of the provider's: what the poller saw, and the runner has not yet
	 * taken. */
	atomic_uint events;
	atomic_bool dead; /* ready is not called any more */
	/* Set before anyone else can see it. */
	fab_ready_fn ready;
	void *user;
	struct base_timer timer; /* the provider's, of its poller */
	struct fab_retired retired;
	/* The loop's. */
	atomic_bool kicked;
	struct base_stack_node kick;

	/* The runner's; endpoint.h has what is done with it. */
	bool active; /* begun by this side */
	unsigned int ird, ord; /* RDMA Reads at once, inbound and outbound */
	struct sockaddr_storage local, peer;
	struct fab_completions done;
	struct fab_counters count;
};

static inline struct fab_events *fab_events(struct fab_poller *p)
{
	return container_of(p, struct fab_events, fab);
}

static inline struct fab_ev_conn *fab_ev_conn(struct fab_conn *c)
{
	return container_of(c, struct fab_ev_conn, fab);
}

/* ---- The loop ---------------------------------------------------------- */

/* Of @dom; 0 or -errno. And its end, when it has no connections. */
int fab_events_init(struct fab_events *ev, struct fab_domain *dom);
void fab_events_fini(struct fab_events *ev);
/*
 * Wait up to @timeout_ms, or until the next timer, and call what there is to
 * call. Returns the number of callbacks made.
 */
int fab_events_run(struct fab_events *ev, int timeout_ms);
/* No more than what has been kicked. */
int fab_events_kicks(struct fab_events *ev);
/* Kicks that nobody will run any more are dropped, and what is retired is freed. */
void fab_events_clear(struct fab_events *ev);
/* fab_ops.poller_wake */
void fab_events_wake(struct fab_poller *p);

/* EPOLLIN and others; 0 or -errno. */
int fab_events_watch(struct fab_events *ev, int fd, struct fab_source *src,
		     uint32_t events);
int fab_events_change(struct fab_events *ev, int fd, struct fab_source *src,
		      uint32_t events);
void fab_events_unwatch(struct fab_events *ev, int fd);
void fab_events_retire(struct fab_events *ev, struct fab_retired *g);

/* ---- Connections ------------------------------------------------------- */

/* Zeroed at first. @expired: what its timer does. */
void fab_ev_conn_init(struct fab_ev_conn *c, struct fab_events *ev,
		      base_timer_fn expired);
/* fab_ops.conn_set_ready and .kick */
void fab_ev_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
void fab_ev_conn_kick(struct fab_conn *c);
/* Call ready, unless it is dead; how many calls that were. */
int fab_ev_conn_ready(struct fab_ev_conn *c);
/* The same with these bits. */
int fab_ev_conn_tell(struct fab_ev_conn *c, unsigned int bits);
/* Take the bits. */
unsigned int fab_ev_conn_events(struct fab_ev_conn *c);
void fab_ev_conn_timer(struct fab_ev_conn *c, unsigned int ms,
		       unsigned int what);
void fab_ev_conn_timer_stop(struct fab_ev_conn *c);
/* fab_ops.conn_destroy_deferred: it is dead, and is freed by its retired.free. */
void fab_ev_conn_retire(struct fab_conn *c, void (*done)(void *user),
			void *user);

#endif /* RPCRDMA_FABRIC_EVENTS_H */
