/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - the thread and its one job at a time
 *
 * Threads: start, do and stop by one at a time. No job is called with the lock
 * held.
 */
#include "ganesha/control.h"

#include <stddef.h>

#include "base/thread.h"

static void *control_main(void *arg)
{
	struct gr_control *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		if (!k->job) {
			pthread_cond_wait(&k->cond, &k->lock);
			continue;
		}
		pthread_mutex_unlock(&k->lock);
		k->job(k->arg);
		pthread_mutex_lock(&k->lock);
		k->job = NULL;
		pthread_cond_broadcast(&k->cond);
	}
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

int gr_control_start(struct gr_control *k)
{
	int err;

	k->job = NULL;
	k->stop = false;
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->cond, NULL);
	err = fab_thread_start(&k->thread, "rdma-control", control_main, k);
	k->running = !err;
	if (err) {
		pthread_cond_destroy(&k->cond);
		pthread_mutex_destroy(&k->lock);
		return -err;
	}
	return 0;
}

void gr_control_do(struct gr_control *k, void (*job)(void *arg), void *arg)
{
	pthread_mutex_lock(&k->lock);
	k->arg = arg;
	k->job = job;
	pthread_cond_broadcast(&k->cond);
	while (k->job)
		pthread_cond_wait(&k->cond, &k->lock);
	pthread_mutex_unlock(&k->lock);
}

void gr_control_stop(struct gr_control *k)
{
	if (!k->running)
		return;
	pthread_mutex_lock(&k->lock);
	k->stop = true;
	pthread_cond_broadcast(&k->cond);
	pthread_mutex_unlock(&k->lock);
	pthread_join(k->thread, NULL);
	pthread_cond_destroy(&k->cond);
	pthread_mutex_destroy(&k->lock);
	k->running = false;
}
