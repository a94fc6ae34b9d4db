/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * workers - who runs the transport's pollers and Ganesha's requests
 *
 * Requests always run on the worker threads of Ganesha's ntirpc. The pollers
 * run on them too (the default), one leader each, or on threads of their own.
 *
 * A leader that has found a single Call hands the poller on to another worker
 * and runs the Call itself: the Call costs one thread wake-up, as over TCP,
 * and its data stay in this processor's caches. With more than one Call it
 * leads on. The Calls go into a queue that workers empty: a worker that has
 * finished a Call takes the next one without having slept, and no more than
 * one further worker is being woken at a time. Each worker that wakes up to a
 * queue with more in it wakes the next, so that Calls do not wait behind one
 * that blocks. With pollers on threads of their own, the last of them stays
 * with the queue for a while, because it is woken there with less ado.
 */
#ifndef RPCRDMA_GANESHA_WORKERS_H
#define RPCRDMA_GANESHA_WORKERS_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat/ganesha.h"
#include "transport/transport.h"

struct gr_workers;
struct gr_stander;

struct gr_poller {
	struct svc_req token; /* first; stands for leading, in ntirpc's queue */
	struct gr_workers *w;
	unsigned int n;
	pthread_t thread; /* if not run by workers */
};

struct gr_workers {
	struct svc_req token; /* first; a worker to be woken for the queue */
	struct rt_instance *inst;
	svc_xprt_free_fun_t free_cb;
	bool by_workers;
	unsigned int npollers;
	struct gr_poller *poller;
	atomic_bool stop;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t ended;
	unsigned int running; /* pollers */
	TAILQ_HEAD(gr_queue, poolq_entry) queue; /* by rq_wpe.pqe */
	bool waking; /* the token is on its way, or who stood by */
	struct gr_stander *stander; /* a worker that waits for a Call here */
	unsigned int standing; /* with those that have been woken */
};

/* Start the pollers of @inst. 0 or a negative errno. */
int gr_workers_start(struct gr_workers *w, struct rt_instance *inst,
		     svc_xprt_free_fun_t free_cb, bool by_workers);
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

#endif /* RPCRDMA_GANESHA_WORKERS_H */
