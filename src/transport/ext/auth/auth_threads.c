/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth_threads - the threads that run the steps of host authentication
 *
 * A step may wait for a KDC or for a file, so the runner must not run it. A connection
 * has at most one job, which holds a reference to the connection. If the connection ends
 * before a thread has begun the job, it cancels it. So there are no more jobs than live
 * connections and threads. The result goes to the connection's inbox, and the poller
 * takes it, so these threads call no operations of the upper layer.
 *
 * When the instance is destroyed the threads end: steps that are running are waited for,
 * and jobs that have not begun fail. By then no poller runs, but all connections have
 * ended, so any thread may run them.
 *
 * Context: any thread. The pool's lock is a leaf, and is not held during a step.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "transport/ext/auth/auth.h"

static void run_step(struct rt_auth_job *job, bool stop)
{
	if (stop) {
		job->status = RT_AUTH_FAILED;
		snprintf(job->step.text, sizeof(job->step.text),
			 "this side is ending");
	} else {
		job->status = pool(job->conn->inst)
				      ->ops->step(job->exchange, &job->step);
	}
	/* rt_auth_result() drops the job's reference. */
	rt_inbox_put_deferred(job->conn, &job->mail, job->done);
}

static void *auth_thread(void *arg)
{
	struct rt_auth_pool *p = arg;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		struct rt_auth_job *job;
		bool stop = p->stop;

		if (cds_list_empty(&p->queue)) {
			if (stop)
				break;
			pthread_cond_wait(&p->wake, &p->lock);
			continue;
		}
		job = cds_list_first_entry(&p->queue, struct rt_auth_job, link);
		cds_list_del(&job->link);
		job->queued = false;
		pthread_mutex_unlock(&p->lock);
		run_step(job, stop);
		pthread_mutex_lock(&p->lock);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

int rt_auth_pool_prepare(struct rt_instance *inst, const struct rt_params *p)
{
	struct rt_auth_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return -ENOMEM;
	inst->ext[RT_SLOT_AUTH] = pool;
	pool->ops = p->auth;
	pool->ctx = p->auth_ctx;
	CDS_INIT_LIST_HEAD(&pool->queue);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->wake, NULL);
	if (inst->cfg.auth != RT_AUTH_NONE && !p->auth)
		return -EINVAL;
	if (inst->cfg.auth == RT_AUTH_REQUIRED) {
		/* Version 1 has no host authentication, so it is disabled. */
		if (inst->cfg.versions >> WIRE_VERS1 & 1)
			inst->no_version1 = "host authentication is required";
		inst->cfg.versions = 1u << WIRE_VERS2;
	}
	return 0;
}

void rt_auth_pool_destroy(struct rt_instance *inst)
{
	struct rt_auth_pool *p = pool(inst);

	if (!p)
		return;
	pthread_mutex_destroy(&p->lock);
	pthread_cond_destroy(&p->wake);
	free(p);
}

int rt_auth_pool_start(struct rt_instance *inst)
{
	struct rt_auth_pool *p = pool(inst);
	int rc;

	if (inst->cfg.auth == RT_AUTH_NONE)
		return 0;
	for (unsigned int i = 0; i < RT_AUTH_THREADS; i++) {
		rc = pthread_create(&p->thread[i], NULL, auth_thread, p);
		if (rc)
			return -rc;
		pthread_setname_np(p->thread[i], "rdma-auth");
		p->nthreads++;
	}
	return 0;
}

void rt_auth_pool_stop(struct rt_instance *inst)
{
	struct rt_auth_pool *p = pool(inst);

	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	pthread_cond_broadcast(&p->wake);
	pthread_mutex_unlock(&p->lock);
	for (unsigned int i = 0; i < p->nthreads; i++)
		pthread_join(p->thread[i], NULL);
	p->nthreads = 0;
}

void rt_auth_pool_submit(struct rt_auth_job *job)
{
	struct rt_auth_pool *p = pool(job->conn->inst);

	rt_conn_get(job->conn);
	pthread_mutex_lock(&p->lock);
	cds_list_add_tail(&job->link, &p->queue);
	job->queued = true;
	pthread_cond_signal(&p->wake);
	pthread_mutex_unlock(&p->lock);
}

bool rt_auth_pool_cancel(struct rt_auth_job *job)
{
	struct rt_conn *c = job->conn;
	struct rt_auth_pool *p = pool(c->inst);
	bool was;

	pthread_mutex_lock(&p->lock);
	was = job->queued;
	if (was)
		cds_list_del(&job->link);
	job->queued = false;
	pthread_mutex_unlock(&p->lock);
	if (was)
		rt_conn_put(c);
	return was;
}
