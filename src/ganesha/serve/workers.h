/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers - the threads that run the transport's pollers and Ganesha's requests
 *
 * Requests always run on the worker threads of Ganesha's ntirpc. By default the pollers run
 * there, too, each with one worker as its leader (leader.c); otherwise they have threads of
 * their own.
 *
 * A leader that finds one Call runs it and continues to lead: no thread is woken, and the
 * data stay in the processor's caches. More than one go into a queue that is fair to hosts
 * (fair_queue.h). If they are short (blocking.h), and not too many, the leader takes them
 * from there, and sends their Replies together. Otherwise it wakes a worker, and continues
 * to lead. A worker that has finished a Call takes the next one from the queue. At most one
 * further worker is being woken at a time. Calls that only compute (blocking.h) are run by
 * as many workers as there are processors; if none of these dequeues a Call for ten ticks of
 * the watchdog, they do not count any more. Each worker that runs a Call that blocks has
 * woken one for the next Call, so that no Call waits for another. With pollers on threads of
 * their own, the last worker waits for a while at the queue, where it is woken faster.
 */
#ifndef RPCRDMA_GANESHA_WORKERS_H
#define RPCRDMA_GANESHA_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat/ganesha.h"
#include "ganesha/serve/fair_queue.h"
#include "ganesha/serve/blocking.h"
#include "rpcrdma/transport.h"

struct gr_workers;
struct gr_standby;

struct gr_poller {
	struct svc_req
		token; /* first; in ntirpc's queue, whoever runs it leads */
	struct gr_workers *w;
	unsigned int n;
	pthread_t thread; /* if not run by workers */

	/* The number of the Call that its leader runs; 0: none; GR_REPLACED: another worker
	 * leads. Each Call has a new number. */
	_Atomic uint64_t running;
	atomic_uint kind; /* of that Call */
	_Atomic(struct svc_req *) kept; /* the next Call, found meanwhile */
	uint64_t calls; /* that its leaders have run */
	/* Used by the watchdog alone: `running` at its last tick; for how many ticks it has
	 * been the same; and the processor time of the thread at the first of these, ns. */
	uint64_t seen;
	unsigned int ticks;
	uint64_t cpu;
	/* The leader's thread, for the watchdog. */
	_Atomic clockid_t clock;
	_Atomic pid_t tid;
};

#define GR_REPLACED UINT64_MAX

enum gr_watchdog_state {
	GR_ASLEEP, /* waits for the timer, which is not set */
	GR_ARMED, /* waits for the timer */
	GR_TICKING,
};

/* Replaces a leader that runs a Call for long (leader.c). */
struct gr_watchdog {
	pthread_t thread;
	bool running;
	atomic_bool stop;
	pthread_mutex_t lock; /* of the timer; to write `state` */
	_Atomic enum gr_watchdog_state state;
	int timer;
	uint64_t set_at; /* when the timer was last set, ns */
	/* Changes each time that it has looked, or need not look any more, for gr_liveness. */
	atomic_uint progress;
	/* For each kind of Call: when one last took long, and until when a leader passes the
	 * lead on before it runs one, ns. */
	_Atomic uint64_t long_at[GR_KINDS], slow_until[GR_KINDS];
};

/* Returns the flow of the request's host, which outlives the request, or NULL if there is no
 * host. Sets @cost to the cost of the request in octets. Context: any thread. */
typedef struct gr_flow *(*gr_flow_of_fn)(struct svc_req *req, size_t *cost);

struct gr_workers {
	struct svc_req
		token; /* first; wakes a worker for the queue, through ntirpc's */
	struct rt_instance *inst;
	svc_xprt_free_fun_t free_cb;
	unsigned int (*kind_of)(struct svc_req *req); /* below GR_KINDS */
	gr_flow_of_fn flow_of;
	bool by_workers; /* pollers have no threads of their own */
	struct gr_watchdog watchdog;
	unsigned int processors;
	/* Calls that are queued, or run by a worker that does not lead. */
	atomic_uint outstanding;
	atomic_uint queued; /* Calls */
	unsigned int npollers;
	struct gr_poller *poller;
	atomic_bool stop;
	struct gr_blocking blocking;
	/* For the watchdog: a Call has been left in the queue since it was last empty; how many
	 * Calls have been dequeued. */
	atomic_bool backlog;
	atomic_uint dequeued;
	/* Used by the watchdog alone: `dequeued` at its last tick; for how many ticks it has been
	 * the same while there was a backlog. */
	unsigned int dequeued_seen, stalled;

	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t ended;
	unsigned int running; /* pollers */
	struct gr_fair_queue queue; /* by rq_wpe.pqe */
	struct gr_flow no_host; /* of requests without a host */
	bool waking; /* a worker has been woken, and has not locked the queue yet */
	/* Running Calls that only compute: in all, of each kind, and the limit. Those of an
	 * earlier era hang, and do not count. */
	unsigned int computing, of_kind[GR_KINDS], max_computing, era;
	struct gr_standby *standby; /* a worker that waits for a Call here */
	unsigned int
		nstandby; /* with those that are woken and have not returned */
};

/* Start the pollers of @inst. @kind_of and @flow_of are called by any thread, with a request that
 * has been submitted. Returns 0 or a negative errno. */
int gr_workers_start(struct gr_workers *w, struct rt_instance *inst,
		     svc_xprt_free_fun_t free_cb,
		     unsigned int (*kind_of)(struct svc_req *req),
		     gr_flow_of_fn flow_of, bool by_workers);
/*
 * Stop the pollers. Wait up to @ms until they have stopped and the queue is empty; ntirpc's
 * workers still run. Returns false if that took longer: then nothing that they use may be
 * freed.
 */
bool gr_workers_stop(struct gr_workers *w, unsigned int ms);
/* Free everything. ntirpc's workers, which may look at a token, have ended. */
void gr_workers_free(struct gr_workers *w);

/* Run @req in this thread. */
void gr_workers_run(struct gr_workers *w, struct svc_req *req);
/* Have a worker run rq_resume_cb of @req and what follows it. Context: any thread. */
void gr_workers_submit(struct gr_workers *w, struct svc_req *req);

/* ---- Between workers.c and leader.c ------------------------------------- */

/* rq_resume_cb of a poller's token. */
enum xprt_stat gr_leader_run(struct svc_req *token);
/* Returns true if this thread is a leader, perhaps one that runs a Call, and has taken @req. */
bool gr_leader_takes(struct svc_req *req);
/* Call init before the first poller starts, start (returns 0 or an errno) when all exist, and stop
 * when all have stopped. */
void gr_watchdog_init(struct gr_workers *w);
int gr_watchdog_start(struct gr_workers *w);
void gr_watchdog_stop(struct gr_workers *w);
void gr_watchdog_free(struct gr_workers *w);
/* Arm the timer if the watchdog is asleep. Returns true if it was, and has not been armed for a
 * while. Context: any thread. */
bool gr_watchdog_wake(struct gr_watchdog *watchdog);
/* Returns true if Calls of @kind have held up leaders in the last second. */
bool gr_watchdog_is_slow(struct gr_watchdog *watchdog, unsigned int kind);

/* Without @wake, the caller will call gr_workers_begin_short(), or gr_workers_wake(). */
void gr_workers_enqueue(struct gr_workers *w, struct svc_req *req, bool wake);
/* Wake a worker, if there are Calls for one. */
void gr_workers_wake(struct gr_workers *w);
/* Returns true if @req is small, and small Calls of its kind have been short. */
bool gr_workers_is_short(struct gr_workers *w, struct svc_req *req);
/* Dequeue the next Call for a leader, which runs it, and ends @sample of @kind. Returns NULL, after
 * gr_workers_wake(), if there is none, or it is for workers. */
struct svc_req *gr_workers_begin_short(struct gr_workers *w, unsigned int *kind,
				       struct gr_sample *sample);
/* Run a Call that is counted in `outstanding`, and count it no more. */
void gr_workers_run_outstanding(struct gr_workers *w, struct svc_req *req);
/* Run queued Calls until the queue is empty. */
void gr_workers_drain(struct gr_workers *w);
/* If all counted Calls hang, let others run. Context: watchdog, at each tick. */
void gr_workers_tick(struct gr_workers *w);
void gr_workers_poller_ended(struct gr_workers *w);
static inline bool gr_workers_stopping(struct gr_workers *w)
{
	return atomic_load_explicit(&w->stop, memory_order_acquire);
}

#endif /* RPCRDMA_GANESHA_WORKERS_H */
