/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop_priv - what the files of the loop provider share
 *
 * Threads: each of the two ends of a connection has a runner of its own, and
 * an operation of one changes the other. So, unlike a provider with a wire
 * between the two, this one has a lock per pair, taken by every operation.
 *
 * Lock order: domain->lock, pair->lock, poller->lock; domain->mem_lock and
 * domain->observer_lock come last, each alone. Of the caller's callbacks only
 * the observer and the one that tampers run under a lock.
 *
 * domain->lock    listeners, ports, default faults
 * domain->mem_lock  mrs and handles; held while a whole mr is accessed, so
 *                   that nothing is touched after fab_dereg()
 * pair->lock      both ends: queues, states, exposures, faults, counters
 * poller->lock    queues of the poller, ready and user of its connections,
 *                 requests waiting at its listeners
 *
 * Freeing: a connection is freed by its poller's thread at the start of a
 * fab_poller_run(), so one that the poller has picked up stays. The pair goes
 * with its second end.
 */
#ifndef RPCRDMA_TEST_LOOP_PRIV_H
#define RPCRDMA_TEST_LOOP_PRIV_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "loop/loop.h"

#define LOOP_MAX_PRIV 512
#define LOOP_BUCKETS 64

/* A caller's mistake that no return value covers. */
#define LOOP_CHECK(cond, what)                       \
	do {                                         \
		if (!(cond))                         \
			loop_misuse(__func__, what); \
	} while (0)
void loop_misuse(const char *where, const char *what) __attribute__((noreturn));

/* What only one of the domain's threads may call. */
#define LOOP_FAMILY(fd)                                    \
	LOOP_CHECK(!((fd)->limits.caps & FAB_CAP_BOUND) || \
			   !loop_make_foreignd(),          \
		   "by a thread that is none of the domain's")
bool loop_make_foreignd(void);

struct loop_mr {
	struct fab_mr base;
	struct loop_mr *next; /* domain's list */
	uint32_t handle; /* 0 until exposed; without FAB_CAP_EXPOSE only */
	uint64_t offset; /* of base.addr */
	atomic_uint exposed; /* handles that lead here */
};

struct loop_exposure {
	struct loop_exposure *next;
	struct loop_mr *mr;
	uint8_t *addr;
	size_t len;
	uint64_t offset;
	uint32_t handle;
	unsigned int access;
};

struct loop_domain {
	struct fab_domain base;
	pthread_mutex_t lock;
	struct loop_listener *listeners;
	unsigned int max_exposed;
	struct loop_faults faults[2]; /* active, passive */
	uint16_t next_port, next_ephemeral;
	uint32_t npairs;
	atomic_uint users; /* pollers, connections, listeners, mrs */
	struct loop_shortage shortage;

	pthread_mutex_t mem_lock;
	struct loop_mr *mrs;
	uint32_t next_handle;

	pthread_mutex_t observer_lock;
	loop_observer_fn observer;
	void *observer_ctx;
};

struct loop_poller {
	struct fab_poller base;
	pthread_mutex_t lock;
	pthread_cond_t cond; /* something to run, or a callback has ended */
	bool wake;
	struct loop_conn *ready, **ready_tail;
	struct loop_conn *dead;
	struct loop_listener *listeners;
	atomic_uint users;
};

struct loop_listener {
	struct fab_listener base;
	struct loop_listener *next; /* domain's list */
	struct loop_listener *poller_next;
	struct sockaddr_storage addr;
	uint16_t port;
	fab_request_fn fn;
	void *user;
	struct loop_conn *pending, **pending_tail;
	bool in_callback;
};

enum loop_state {
	LOOP_IDLE,
	LOOP_CONNECTING, /* active, waiting for the answer */
	LOOP_REQUESTED, /* passive, not yet accepted */
	LOOP_ESTABLISHED,
	LOOP_CLOSING, /* fab_disconnect() waits for what is posted */
	LOOP_DEAD,
};

struct loop_queue {
	struct fab_wr *head, **tail;
	size_t n;
};

struct loop_conn {
	struct fab_conn base;
	struct loop_pair *pair;
	int side; /* index in the pair: 0 active, 1 passive */
	enum loop_state state;
	struct sockaddr_storage local, remote;

	/* Posted, not performed; performed with a completion to give. */
	struct loop_queue sq, reads, rq, cq;
	struct loop_queue kept; /* loop_faults.keep_sends */
	size_t reads_issued; /* of reads, the first so many are on the wire */
	unsigned int read_depth;
	struct loop_exposure *exposed[LOOP_BUCKETS];
	size_t nexposed;

	bool established_due, established; /* event pending; given */
	bool end_due, ended;
	int error;
	const char *reason;
	bool gone; /* the peer ended before this end was accepted */
	uint8_t priv[LOOP_MAX_PRIV];
	size_t priv_len;

	bool in_call; /* the runner is inside: it polls for itself */
	bool armed; /* the last poll returned 0 and ready was not called since */
	uint64_t polls;
	struct base_timer timer; /* of the poller: its start-up */

	struct loop_faults faults;
	unsigned long posts, requests, messages;
	uint64_t octets;
	struct fab_counters counters;

	/* Under the poller's lock. */
	fab_ready_fn ready;
	void *user;
	bool queued, dying;
	struct loop_conn *queue_next; /* ready, dead or pending */
	void (*done)(void *user);
	void *done_user;
	/* No poller knows it any more. Set when it is made. */
	void (*free)(struct loop_conn *);
};

struct loop_pair {
	pthread_mutex_t lock;
	struct loop_domain *dom;
	struct loop_conn *end[2];
	unsigned int refs;
	bool over; /* LOOP_EV_END was given */
	bool random;
	uint64_t rng;
};

/* domain.c */
/* Is this one to be refused? */
bool loop_refuses(atomic_uint *n);
int loop_reg(struct fab_domain *dom, void *addr, size_t len,
	     struct fab_mr **mr);
bool loop_dereg(struct fab_mr *mr);
uint32_t loop_new_handle(struct loop_domain *dom);
void loop_observe(struct loop_domain *dom, const struct loop_event *ev);
/* Without FAB_CAP_EXPOSE: the handle of a whole mr, and access by it. What is not @honest
 * may name memory that is not in use any more, and is denied then. */
uint32_t loop_mr_handle(struct loop_mr *mr);
bool loop_mr_copy(struct loop_domain *dom, uint32_t handle, uint64_t offset,
		  void *buf, size_t len, size_t cut, bool to_mr, bool honest);

/* poller.c */
int loop_poller_create(struct fab_domain *dom, struct fab_poller **p);
void loop_poller_destroy(struct fab_poller *p);
int loop_poller_run(struct fab_poller *p, int timeout_ms);
void loop_poller_wake(struct fab_poller *p);
void loop_queue_ready(struct loop_conn *c);
void loop_timer_start(struct loop_conn *c, unsigned int ms);
void loop_timer_stop(struct loop_conn *c);
void loop_kick(struct fab_conn *c);
void loop_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
/* Free it, and call @done. */
void loop_poller_retire(struct loop_conn *c, void (*done)(void *user),
			void *user);

/* conn.c */
int loop_listen(struct fab_poller *p, const struct sockaddr *addr,
		socklen_t addrlen, fab_request_fn fn, void *user,
		struct fab_listener **l);
void loop_listener_addr(const struct fab_listener *l,
			struct sockaddr_storage *addr);
void loop_listener_close(struct fab_listener *l);
int loop_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		     struct fab_conn **c);
int loop_connect(struct fab_conn *c, const struct sockaddr *addr,
		 socklen_t addrlen, const struct fab_conn_params *params);
int loop_accept(struct fab_conn *c, const struct fab_conn_params *params);
void loop_reject(struct fab_conn *c, const void *priv, size_t priv_len);
void loop_disconnect(struct fab_conn *c, bool abort);
void loop_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *),
				void *user);
void loop_conn_info(const struct fab_conn *c, struct fab_conn_info *info);
void loop_conn_counters(const struct fab_conn *c, struct fab_counters *out);
/* The start-up took too long. Poller thread. */
void loop_startup_expired(struct base_timer *t, unsigned int unused);

/* expose.c */
int loop_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
		unsigned int access, uint32_t *handle, uint64_t *offset);
bool loop_unexpose(struct fab_conn *c, uint32_t handle, void *user);
void loop_unexpose_all(struct loop_conn *c);
/* The peer invalidates; false: no such handle. */
bool loop_invalidate(struct loop_conn *c, uint32_t handle);
const char *loop_touch(struct loop_conn *c, uint32_t handle, uint64_t offset,
		       void *buf, size_t len, size_t cut, unsigned int access);

/* What a completed request carries in its priv[]. */
enum { WR_STATUS, WR_LEN, WR_INV, WR_DUE, WR_MEMORY };
#define WR_INVALIDATED (1ull << 32)
/* And before: which one it is. */
#define WR_NUMBER 0

/* work.c */
int loop_post(struct fab_conn *c, struct fab_wr *chain);
int loop_post_recv(struct fab_conn *c, struct fab_wr *chain);
int loop_poll(struct fab_conn *c, struct fab_wc *wc, int n);
/* Call ready if it is owed. Pair lock held, as for all that follow. */
void loop_notify(struct loop_conn *c);
/*
 * The connection is over: both ends get their work back and their last event.
 * @from: who caused it, or NULL; @own is its error, @other that of the peer
 * (of both, if @from is NULL).
 */
void loop_end(struct loop_pair *pair, struct loop_conn *from, int own,
	      int other, const char *reason);
/* Close it if all that was posted before fab_disconnect() is done. */
void loop_try_close(struct loop_pair *pair);
/* Give the completions that keep_sends has held back. */
void loop_unkeep(struct loop_conn *c);
void loop_push(struct loop_queue *q, struct fab_wr *wr);
struct fab_wr *loop_pop(struct loop_queue *q);
/* @wr back to its poster, through the queue of what is complete. */
void loop_complete(struct loop_conn *c, struct fab_wr *wr,
		   enum fab_status status, size_t len, uint64_t inv);

/* perform.c; pair lock held */
void loop_seed(struct loop_pair *pair, uint64_t seed, bool random);
bool loop_undone(const struct loop_pair *pair);
/*
 * Move the pair on: as it is drawn, or all that was posted, with @reads the
 * Reads too. The work of a dead connection has been flushed, so none is found
 * for it.
 */
void loop_progress(struct loop_pair *pair, bool reads);

static inline struct loop_conn *loop_conn_of(const struct fab_conn *c)
{
	return (struct loop_conn *)(uintptr_t)c;
}

static inline struct loop_domain *loop_domain_of(const struct loop_conn *c)
{
	return (struct loop_domain *)c->base.poller->dom;
}

static inline struct loop_poller *loop_poller_of(const struct loop_conn *c)
{
	return (struct loop_poller *)c->base.poller;
}

static inline struct loop_conn *loop_peer_of(const struct loop_conn *c)
{
	return c->pair->end[!c->side];
}

#endif /* RPCRDMA_TEST_LOOP_PRIV_H */
