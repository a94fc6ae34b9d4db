/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events - the event loop of a provider's poller
 *
 * One epoll set, and what belongs to it: a wake-up by other threads, scheduled of
 * connections, the poller's timers (timers.h), and the freeing of what nothing
 * can name any more. It knows no provider: what happens is called through
 * functions that the provider has put into its objects.
 *
 * Objects and owners
 *
 *   struct fab_ev_loop    a poller. The provider's begins with it.
 *   struct fab_source    what a watched descriptor is of; part of an object of
 *                        the provider's. That closes the descriptor, or takes
 *                        it out of the set, and is then retired: epoll
 *                        may have handed the source out already.
 *   struct fab_ev_conn   a connection; the provider's begins with it.
 *   struct fab_retired   what waits for the end of fab_ev_loop_run() to be freed;
 *                        part of the object that it frees.
 *
 * Threads
 *
 *   fab_ev_loop_run() is the poller thread; all functions of sources, timers and
 *   what is retired, and ready callbacks, are called by it. fab_ev_loop_init() and _fini():
 *   nobody else uses it. fab_ev_conn_ready() and _tell(): the poller thread.
 *   fab_ev_conn_take_events(): the runner. The rest any thread.
 *
 * Lock order: the lock in here is a leaf, and held over no call of others.
 */
#ifndef RPCRDMA_FABRIC_EVENT_LOOP_H
#define RPCRDMA_FABRIC_EVENT_LOOP_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/stack.h"
#include "fabric/provider/completion.h"

struct fab_ev_loop;
struct fab_ev_conn;

struct fab_source {
	/* @events: EPOLLIN and others. Returns how many callbacks of the layer
	 * above it has made. */
	int (*event)(struct fab_ev_loop *ev, struct fab_source *src,
		     uint32_t events);
};

struct fab_retired {
	/* From the return on no other thread can kick it. NULL: none can. May be
	 * called again. */
	void (*leave)(struct fab_retired *g);
	void (*free)(struct fab_retired *g);
	/* The loop's: who may be among its scheduled, or NULL; what to call when it
	 * has been freed. */
	const struct fab_ev_conn *conn;
	void (*done)(void *user);
	void *user;
	struct fab_retired *next;
};

struct fab_ev_loop {
	struct fab_poller fab;
	int epfd, evfd;
	struct fab_source wake;
	struct base_stack scheduled; /* of connections */
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
	atomic_bool is_scheduled;
	struct base_stack_node sched_node;

	/* The runner's; endpoint.h has what is done with it. */
	bool active; /* begun by this side */
	unsigned int ird, ord; /* RDMA Reads at once, inbound and outbound */
	struct sockaddr_storage local, peer;
	struct fab_completions done;
	struct fab_counters count;
};

static inline struct fab_ev_loop *fab_ev_loop(struct fab_poller *p)
{
	return container_of(p, struct fab_ev_loop, fab);
}

static inline struct fab_ev_conn *fab_ev_conn(struct fab_conn *c)
{
	return container_of(c, struct fab_ev_conn, fab);
}

/* ---- The loop ---------------------------------------------------------- */

/* Of @dom; 0 or -errno. And its end, when it has no connections. */
int fab_ev_loop_init(struct fab_ev_loop *ev, struct fab_domain *dom);
void fab_ev_loop_destroy(struct fab_ev_loop *ev);
/*
 * Wait up to @timeout_ms, or until the next timer, and call what there is to
 * call. Returns the number of callbacks made.
 */
int fab_ev_loop_run(struct fab_ev_loop *ev, int timeout_ms);
/* No more than what has been is_scheduled. */
int fab_ev_loop_run_scheduled(struct fab_ev_loop *ev);
/* Kicks that nobody will run any more are dropped, and what is retired is freed. */
void fab_ev_loop_drain(struct fab_ev_loop *ev);
/* fab_ops.poller_wake */
void fab_ev_loop_wake(struct fab_poller *p);

/* EPOLLIN and others; 0 or -errno. */
int fab_ev_loop_watch(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		      uint32_t events);
int fab_ev_loop_modify(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		       uint32_t events);
void fab_ev_loop_unwatch(struct fab_ev_loop *ev, int fd);
void fab_ev_loop_retire(struct fab_ev_loop *ev, struct fab_retired *g);

/* ---- Connections ------------------------------------------------------- */

/* Zeroed at first. @expired: what its timer does. */
void fab_ev_conn_init(struct fab_ev_conn *c, struct fab_ev_loop *ev,
		      base_timer_fn expired);
/* fab_ops.conn_set_ready and .schedule */
void fab_ev_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
void fab_ev_conn_schedule(struct fab_conn *c);
/* Call ready, unless it is dead; how many calls that were. */
int fab_ev_conn_ready(struct fab_ev_conn *c);
/* The same with these bits. */
int fab_ev_conn_notify(struct fab_ev_conn *c, unsigned int bits);
/* Take the bits. */
unsigned int fab_ev_conn_take_events(struct fab_ev_conn *c);
void fab_ev_conn_timer_set(struct fab_ev_conn *c, unsigned int ms,
			   unsigned int what);
void fab_ev_conn_timer_stop(struct fab_ev_conn *c);
/* fab_ops.conn_destroy_deferred: it is dead, and is freed by its retired.free. */
void fab_ev_conn_retire(struct fab_conn *c, void (*done)(void *user),
			void *user);
/* It has to end, for this reason: that is told when done.ended is set. */
void fab_ev_conn_set_end(struct fab_ev_conn *c, int error, const char *reason);
/* fab_ops.conn_info, all that is not one provider's alone, and .conn_counters */
void fab_ev_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void fab_ev_conn_counters(const struct fab_conn *c, struct fab_counters *out);

/* ---- Listeners --------------------------------------------------------- */

/* The provider's begins with it. */
struct fab_ev_listener {
	struct fab_listener fab;
	struct sockaddr_storage addr;
	fab_request_fn fn;
	void *user;
	struct fab_retired retired;
	struct base_timer timer; /* the provider's, of its poller */

	pthread_mutex_t lock; /* what follows, and the request callback */
	bool closed;
	struct base_pace pace;
};

/* Zeroed at first. @expired: what its timer does; @release: its retired.free. */
void fab_ev_listener_init(struct fab_ev_listener *l, struct fab_poller *p,
			  fab_request_fn fn, void *user, base_timer_fn expired,
			  void (*release)(struct fab_retired *g));
/* fab_ops.listener_addr */
void fab_ev_listener_addr(const struct fab_listener *l,
			  struct sockaddr_storage *addr);

#endif /* RPCRDMA_FABRIC_EVENT_LOOP_H */
