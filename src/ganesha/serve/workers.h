/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers - who runs the transport's pollers and Ganesha's requests
 *
 * Requests always run on the worker threads of Ganesha's ntirpc. The pollers
 * run on them too (the default), one leader each, or on threads of their own.
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
struct gr_stander;

struct gr_poller {
	struct svc_req token; /* first; stands for leading, in ntirpc's queue */
	struct gr_workers *w;
	unsigned int n;
	pthread_t thread; /* if not run by workers */

	/* What its leader runs itself: a number, new for each Call; 0: nothing;
	 * or GR_TAKEN: somebody else leads. */
	_Atomic uint64_t running;
	atomic_uint kind; /* of that Call */
	_Atomic(struct svc_req *) kept; /* the next one, found meanwhile */
	_Atomic uint64_t calls; /* so many it has run itself */
	uint64_t seen, calls_seen; /* the watchdog's */
	unsigned int ticks; /* likewise: how often it was seen */
	uint64_t cpu; /* likewise: what its thread had used at first, ns */
	/* The leader's thread, for the watchdog. */
	_Atomic clockid_t clock;
	_Atomic pid_t tid;
};

#define GR_TAKEN UINT64_MAX
/* So many of its ticks without a Call, and the watchdog sleeps. */
#define GR_QUIET_TICKS 200

/* Sees to it that nobody waits behind a Call that a leader runs. */
struct gr_watchdog {
	pthread_t thread;
	bool running;
	atomic_bool awake, stop;
	sem_t wake;
	/* Of each kind: when one last took long, ns; and until when such Calls
	 * are not run by a leader that goes on leading. */
	_Atomic uint64_t long_at[GR_KINDS], slow_until[GR_KINDS];
};

/* The flow of a request's host, and what the request costs (octets); NULL: it is no
 * host's. The flow outlives the request. Any thread. */
typedef struct gr_flow *(*gr_flow_of_fn)(struct svc_req *req, size_t *cost);

struct gr_workers {
	struct svc_req token; /* first; a worker to be woken for the queue */
	struct rt_instance *inst;
	svc_xprt_free_fun_t free_cb;
	unsigned int (*kind_of)(struct svc_req *req); /* below GR_KINDS */
	gr_flow_of_fn flow_of;
	bool by_workers;
	struct gr_watchdog dog;
	unsigned int processors;
	/* Calls that have been queued, or are run by a worker that does not lead:
	 * not those that a leader runs. */
	atomic_uint away;
	unsigned int npollers;
	struct gr_poller *poller;
	atomic_bool stop;
	struct gr_limit limit;
	/* For the watchdog: a Call has been left in the queue since it was last empty;
	 * and how many have been taken out. */
	atomic_bool holds;
	atomic_uint taken;
	unsigned int taken_seen, still; /* the watchdog's: for how many ticks */

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended;
	unsigned int running; /* pollers */
	struct gr_fair queue; /* by rq_wpe.pqe */
	struct gr_flow nobody; /* of what is no host's */
	bool waking; /* the token is on its way, or who stood by */
	/* Calls that only compute: how many workers run one, and of each kind; how
	 * many may; and a number for all that began before the last time that they
	 * were found to hang, which do not count any more. */
	unsigned int computing, of_kind[GR_KINDS], most, era;
	struct gr_stander *stander; /* a worker that waits for a Call here */
	unsigned int standing; /* with those that have been woken */
};

/* Start the pollers of @inst. @kind_of: any thread, of a request that has been
 * submitted. 0 or a negative errno. */
int gr_workers_start(struct gr_workers *w, struct rt_instance *inst,
		     svc_xprt_free_fun_t free_cb,
		     unsigned int (*kind_of)(struct svc_req *req),
		     gr_flow_of_fn flow_of, bool by_workers);
/*
 * End them, waiting up to @ms for workers that are late and for the queue to
 * be empty. The rest of ntirpc's workers must still be alive. False: not all
 * came to an end, and then nothing they use may be freed.
 */
bool gr_workers_stop(struct gr_workers *w, unsigned int ms);
/* After ntirpc's workers have ended, which may still look at a token. */
void gr_workers_free(struct gr_workers *w);

/* Run it here, where there are no workers any more. */
void gr_workers_run(struct gr_workers *w, struct svc_req *req);
/* Have @req's rq_resume_cb and what follows it run by a worker. Any thread. */
void gr_workers_submit(struct gr_workers *w, struct svc_req *req);

/* ---- What workers.c and lead.c have of each other ----------------------- */

/* rq_resume_cb of a poller's token. */
enum xprt_stat gr_lead(struct svc_req *token);
/* This thread leads, or has led until it ran what it is running: then it sees to
 * @req. */
bool gr_lead_takes(struct svc_req *req);
/* Before the first poller; when all are there, 0 or an errno; when none runs any
 * more. */
void gr_watchdog_init(struct gr_workers *w);
int gr_watchdog_start(struct gr_workers *w);
void gr_watchdog_stop(struct gr_workers *w);
/* It may sleep, and there is something for it to look at. Any thread. */
void gr_watchdog_wake(struct gr_watchdog *dog);

void gr_workers_enqueue(struct gr_workers *w, struct svc_req *req);
/* Run one that has been counted as away. */
void gr_workers_run_away(struct gr_workers *w, struct svc_req *req);
/* Run what is queued, until nothing is. */
void gr_workers_empty(struct gr_workers *w);
/* By the watchdog, at each tick: none is held up by what only seems to compute. Has
 * anything been done since the last time? */
bool gr_workers_look(struct gr_workers *w);
void gr_workers_ended(struct gr_workers *w); /* a poller */
static inline bool gr_workers_stopping(struct gr_workers *w)
{
	return atomic_load_explicit(&w->stop, memory_order_acquire);
}

#endif /* RPCRDMA_GANESHA_WORKERS_H */
