/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers - the threads that run the transport's pollers and Ganesha's requests
 *
 * Requests always run on the worker threads of Ganesha's ntirpc. By default the pollers
 * run there too, each with one worker as its leader; otherwise on threads of their own.
 *
 * A leader that has found a single Call runs it and then leads on: nobody is
 * woken, and its data stay in this processor's caches. If the Call takes long,
 * a watchdog has another worker lead meanwhile (lead.c). With more than one Call
 * it leads on at once. The Calls go into a queue in which hosts take turns (fair.h),
 * and which workers empty: a worker that has finished a Call takes the next one without having slept, and no more
 * than one further worker is being woken at a time. Calls that only compute are
 * run by as many workers as there are processors and no more (limit.h); if none of
 * them takes another Call for ten ticks of the watchdog, others do.
 * Of Calls that block each wakes the worker for the next, so that none waits
 * behind another. With pollers on threads of their own, the last of them stays
 * with the queue for a while, because it is woken there with less ado.
 */
#ifndef RPCRDMA_GANESHA_WORKERS_H
#define RPCRDMA_GANESHA_WORKERS_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "compat/ganesha.h"
#include "ganesha/serve/fair.h"
#include "ganesha/serve/limit.h"
#include "rpcrdma/transport.h"

struct gr_workers;
struct gr_standby;

struct gr_poller {
	struct svc_req token; /* first; stands for leading, in ntirpc's queue */
	struct gr_workers *w;
	unsigned int n;
	pthread_t thread; /* if not run by workers */

	/* The number of the Call that its leader runs itself, a new one for each; 0: none;
	 * GR_RELIEVED: another worker leads. */
	_Atomic uint64_t running;
	atomic_uint kind; /* of that Call */
	_Atomic(struct svc_req *) kept; /* the next Call, found meanwhile */
	_Atomic uint64_t calls; /* that its leader has run itself */
	/* Used by the watchdog alone: `running` and `calls` at its last tick, for how many
	 * ticks `running` was that, and the processor time of the thread then, ns. */
	uint64_t seen, calls_seen;
	unsigned int ticks;
	uint64_t cpu;
	/* The leader's thread, for the watchdog. */
	_Atomic clockid_t clock;
	_Atomic pid_t tid;
};

#define GR_RELIEVED UINT64_MAX
/* The watchdog sleeps after so many ticks without a Call. */
#define GR_QUIET_TICKS 200

/* Takes the lead from a leader that runs a Call for long (lead.c). */
struct gr_watchdog {
	pthread_t thread;
	bool running;
	atomic_bool awake, stop;
	sem_t wake;
	/* For each kind: when a Call last took long, ns, and until when a leader passes the
	 * lead on before it runs one. */
	_Atomic uint64_t long_at[GR_KINDS], slow_until[GR_KINDS];
};

/* Returns the flow of the request's host, which outlives the request, or NULL if it belongs to
 * no host. Sets @cost to the cost of the request in octets. Context: any thread. */
typedef struct gr_flow *(*gr_flow_of_fn)(struct svc_req *req, size_t *cost);

struct gr_workers {
	struct svc_req
		token; /* first; wakes a worker for the queue, through ntirpc's */
	struct rt_instance *inst;
	svc_xprt_free_fun_t free_cb;
	unsigned int (*kind_of)(struct svc_req *req); /* below GR_KINDS */
	gr_flow_of_fn flow_of;
	bool by_workers;
	struct gr_watchdog watchdog;
	unsigned int processors;
	/* Calls that are queued, or run by a worker that does not lead. */
	atomic_uint away;
	unsigned int npollers;
	struct gr_poller *poller;
	atomic_bool stop;
	struct gr_limit limit;
	/* For the watchdog: a Call was left in the queue since it was last empty, and how many
	 * Calls have been dequeued. */
	atomic_bool backlog;
	atomic_uint dequeued;
	/* Used by the watchdog alone: `dequeued` at its last tick, and for how many ticks it
	 * was that while there was a backlog. */
	unsigned int dequeued_seen, stalled;

	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t ended;
	unsigned int running; /* pollers */
	struct gr_fair queue; /* by rq_wpe.pqe */
	struct gr_flow no_host; /* requests that belong to no host */
	bool waking; /* a worker has been woken and has not looked yet */
	/* Calls that only compute: how many are run, in all and of each kind, and how many
	 * may be. Those of an earlier era were found to hang and do not count. */
	unsigned int computing, of_kind[GR_KINDS], max_computing, era;
	struct gr_standby *standby; /* a worker that waits for a Call here */
	unsigned int standing; /* with those that have been woken */
};

/* Start the pollers of @inst. Any thread calls @kind_of, with a request that has been submitted.
 * Returns 0 or a negative errno. */
int gr_workers_start(struct gr_workers *w, struct rt_instance *inst,
		     svc_xprt_free_fun_t free_cb,
		     unsigned int (*kind_of)(struct svc_req *req),
		     gr_flow_of_fn flow_of, bool by_workers);
/*
 * Stop them. Wait up to @ms for the last workers and for the queue to become empty; ntirpc's
 * other workers still run. Returns false if some did not stop: then nothing that they use may
 * be freed.
 */
bool gr_workers_stop(struct gr_workers *w, unsigned int ms);
/* Free everything, after ntirpc's workers have ended, which may look at a token until then. */
void gr_workers_free(struct gr_workers *w);

/* Run @req in this thread, when there are no workers any more. */
void gr_workers_run(struct gr_workers *w, struct svc_req *req);
/* Have a worker run rq_resume_cb of @req and what follows it. Context: any thread. */
void gr_workers_submit(struct gr_workers *w, struct svc_req *req);

/* ---- Between workers.c and lead.c --------------------------------------- */

/* rq_resume_cb of a poller's token. */
enum xprt_stat gr_lead(struct svc_req *token);
/* Returns true if this thread leads, or runs a Call as a leader, and has taken @req. */
bool gr_lead_takes(struct svc_req *req);
/* Call init before the first poller starts, start (returns 0 or an errno) when all exist, and stop
 * when none runs any more. */
void gr_watchdog_init(struct gr_workers *w);
int gr_watchdog_start(struct gr_workers *w);
void gr_watchdog_stop(struct gr_workers *w);
/* Wake it if it sleeps. Context: any thread. */
void gr_watchdog_wake(struct gr_watchdog *watchdog);

void gr_workers_enqueue(struct gr_workers *w, struct svc_req *req);
/* Run a Call that has been counted in `away`. */
void gr_workers_run_away(struct gr_workers *w, struct svc_req *req);
/* Run queued Calls until the queue is empty. */
void gr_workers_drain(struct gr_workers *w);
/* Let Calls go on that wait for others which only seem to compute. Returns true if anything was done
 * since the last tick. Context: watchdog, at each tick. */
bool gr_workers_tick(struct gr_workers *w);
void gr_workers_poller_ended(struct gr_workers *w);
static inline bool gr_workers_stopping(struct gr_workers *w)
{
	return atomic_load_explicit(&w->stop, memory_order_acquire);
}

#endif /* RPCRDMA_GANESHA_WORKERS_H */
