/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * event_loop - the event loop of a provider's poller
 *
 * One epoll set with what belongs to it: wake-ups by other threads, scheduled
 * connections, the poller's timers, and the freeing of objects that epoll or
 * the stack may still name. Providers embed these structures at the start of
 * theirs:
 *
 *   struct fab_ev_loop      a poller
 *   struct fab_ev_conn      a connection
 *   struct fab_ev_listener  a listener
 *   struct fab_source       a watched descriptor. Its owner closes the descriptor or
 *                           unwatches it, and is then retired, since epoll may have
 *                           returned the source already.
 *   struct fab_retired      an object to be freed at the end of fab_ev_loop_run()
 *
 * Context: fab_ev_loop_run() is the poller thread, which makes all callbacks.
 * fab_ev_conn_ready() and _notify(): the poller thread.
 * fab_ev_conn_take_events() and what concerns the runner's fields: the runner.
 * The rest: any thread.
 *
 * The lock in here is a leaf, held over no callback.
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
	/* @events: EPOLLIN etc. Returns how many ready or request callbacks it
	 * has made. */
	int (*event)(struct fab_ev_loop *ev, struct fab_source *src,
		     uint32_t events);
};

struct fab_retired {
	/* Make sure that no other thread schedules it any more. May be NULL;
	 * may be called again. */
	void (*leave)(struct fab_retired *g);
	void (*free)(struct fab_retired *g);
	/* The loop's: the connection that may still be scheduled, or NULL. */
	const struct fab_ev_conn *conn;
	void (*done)(void *user);
	void *user;
	struct fab_retired *next;
};

struct fab_ev_loop {
	struct fab_poller fab;
	int epfd, evfd;
	struct fab_source wake;
	struct base_stack scheduled; /* connections */
	atomic_bool woken, sleeping;
	/* Lets a run without retired objects take no lock. Changed under the
	 * lock. */
	atomic_uint nretired;

	pthread_mutex_t lock; /* what follows */
	struct fab_retired *retired;
};

struct fab_ev_conn {
	struct fab_conn fab;
	/* The provider's bits for what the poller saw and the runner has not
	 * yet taken. */
	atomic_uint events;
	atomic_bool dead; /* no more ready callbacks */
	/* Set before other threads can see the connection. */
	fab_ready_fn ready;
	void *user;
	struct base_timer timer; /* the provider's */
	struct fab_retired retired;
	/* The loop's. */
	atomic_bool is_scheduled;
	struct base_stack_node sched_node;

	/* The runner's. */
	bool active; /* connected by this side */
	unsigned int ird, ord; /* read depths, inbound and outbound */
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

/* Returns 0 or -errno. Destroyed when it has no connections. */
int fab_ev_loop_init(struct fab_ev_loop *ev, struct fab_domain *dom);
void fab_ev_loop_destroy(struct fab_ev_loop *ev);
/*
 * Wait up to @timeout_ms, or until the next timer, and make the callbacks.
 * Returns how many.
 */
int fab_ev_loop_run(struct fab_ev_loop *ev, int timeout_ms);
/* Only call ready for scheduled connections. Returns how many. */
int fab_ev_loop_run_scheduled(struct fab_ev_loop *ev);
/* No poller thread any more: forget scheduled connections, free retired
 * objects. */
void fab_ev_loop_drain(struct fab_ev_loop *ev);
/* fab_ops.poller_wake */
void fab_ev_loop_wake(struct fab_poller *p);

/* @events: EPOLLIN etc. Returns 0 or -errno. */
int fab_ev_loop_watch(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		      uint32_t events);
int fab_ev_loop_modify(struct fab_ev_loop *ev, int fd, struct fab_source *src,
		       uint32_t events);
void fab_ev_loop_unwatch(struct fab_ev_loop *ev, int fd);
void fab_ev_loop_retire(struct fab_ev_loop *ev, struct fab_retired *g);

/* ---- Connections ------------------------------------------------------- */

/* @c is zeroed. @expired: the timer's function. */
void fab_ev_conn_init(struct fab_ev_conn *c, struct fab_ev_loop *ev,
		      base_timer_fn expired);
/* fab_ops.conn_set_ready and .schedule */
void fab_ev_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
void fab_ev_conn_schedule(struct fab_conn *c);
/* Call ready, unless the connection is dead. Returns the number of calls, 0 or
 * 1. */
int fab_ev_conn_ready(struct fab_ev_conn *c);
/* Set bits of @c->events and call ready. */
int fab_ev_conn_notify(struct fab_ev_conn *c, unsigned int bits);
/* Return and clear the bits of @c->events. */
unsigned int fab_ev_conn_take_events(struct fab_ev_conn *c);
void fab_ev_conn_timer_set(struct fab_ev_conn *c, unsigned int ms,
			   unsigned int what);
void fab_ev_conn_timer_stop(struct fab_ev_conn *c);
/* fab_ops.conn_destroy_deferred: no more callbacks; retired.free frees it
 * later. */
void fab_ev_conn_retire(struct fab_conn *c, void (*done)(void *user),
			void *user);
/* Set the result of DISCONNECTED, which is returned once done.ended is set. */
void fab_ev_conn_set_end(struct fab_ev_conn *c, int error, const char *reason);
/* fab_ops.conn_info and .conn_counters */
void fab_ev_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void fab_ev_conn_counters(const struct fab_conn *c, struct fab_counters *out);

/* ---- Listeners --------------------------------------------------------- */

struct fab_ev_listener {
	struct fab_listener fab;
	struct sockaddr_storage addr;
	fab_request_fn fn;
	void *user;
	struct fab_retired retired;
	struct base_timer timer; /* the provider's */

	pthread_mutex_t lock; /* what follows; held over the request callback */
	bool closed;
	struct base_pace pace;
};

/* @l is zeroed. @expired: the timer's function. @release: for retired.free. */
void fab_ev_listener_init(struct fab_ev_listener *l, struct fab_poller *p,
			  fab_request_fn fn, void *user, base_timer_fn expired,
			  void (*release)(struct fab_retired *g));
/* fab_ops.listener_addr */
void fab_ev_listener_addr(const struct fab_listener *l,
			  struct sockaddr_storage *addr);

#endif /* RPCRDMA_FABRIC_EVENT_LOOP_H */
