/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/control.h"

#include <errno.h>
#include <stddef.h>

#include "base/clock.h"
#include "base/thread.h"

/* Caller holds the lock, which is released meanwhile. */
static void wait_for_job(struct gr_control *k)
{
	bool due = k->tick && k->due;
	struct timespec at;

	if (!due && (!k->tick || !k->every_ms)) {
		pthread_cond_wait(&k->cond, &k->lock);
		return;
	}
	if (!due) {
		base_deadline(&at, k->every_ms);
		due = pthread_cond_timedwait(&k->cond, &k->lock, &at) ==
			      ETIMEDOUT &&
		      !k->job && !k->stop;
	}
	if (!due)
		return;
	k->due = false;
	pthread_mutex_unlock(&k->lock);
	k->tick(k->tick_arg);
	pthread_mutex_lock(&k->lock);
}

static void *control_main(void *arg)
{
	struct gr_control *k = arg;

	pthread_mutex_lock(&k->lock);
	while (!k->stop) {
		if (!k->job) {
			wait_for_job(k);
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

void gr_control_every(struct gr_control *k, unsigned int ms,
		      void (*tick)(void *arg), void *arg)
{
	k->tick = tick;
	k->tick_arg = arg;
	k->every_ms = ms;
}

int gr_control_start(struct gr_control *k)
{
	pthread_condattr_t attr;
	int err;

	k->job = NULL;
	k->tick = NULL;
	k->due = k->stop = false;
	pthread_mutex_init(&k->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&k->cond, &attr);
	pthread_condattr_destroy(&attr);
	err = base_thread_start(&k->thread, "rdma-control", control_main, k);
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

void gr_control_ask(struct gr_control *k)
{
	pthread_mutex_lock(&k->lock);
	k->due = true;
	pthread_cond_broadcast(&k->cond);
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
