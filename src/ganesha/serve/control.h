/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - a thread whose credentials never change
 *
 * FSAL_VFS changes the credentials of Ganesha's workers to those of a user, and then Linux
 * denies them an RDMA device. So this thread opens the device, does everything with it that
 * pollers do not do, and creates the pollers' threads. Together they are the domain's threads
 * (fabric.h, FAB_CAP_BOUND).
 *
 * Context: one caller of start, do and stop at a time. Nothing is called under the lock.
 */
#ifndef RPCRDMA_GANESHA_CONTROL_H
#define RPCRDMA_GANESHA_CONTROL_H

#include <pthread.h>
#include <stdbool.h>

struct gr_control {
	bool running;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the job, due and stop */
	pthread_cond_t cond;
	void (*job)(void *arg); /* NULL: none */
	void *arg;
	/* Used by the control thread alone: what it calls every @every_ms (0: never by itself),
	 * and when @due; or NULL. */
	void (*tick)(void *arg);
	void *tick_arg;
	unsigned int every_ms;
	bool due;
	bool stop;
};

/* Returns 0 or a negative errno. */
int gr_control_start(struct gr_control *k);
/* Have the control thread call @job, and wait until it returns. */
void gr_control_do(struct gr_control *k, void (*job)(void *arg), void *arg);
/* Have it call @tick every @ms while it has no job; with 0 only when asked to. NULL stops that.
 * Context: control thread. */
void gr_control_every(struct gr_control *k, unsigned int ms,
		      void (*tick)(void *arg), void *arg);
/* Have it call @tick as soon as it has no job, and do not wait for that. Context: any thread, while
 * the control thread runs. */
void gr_control_ask(struct gr_control *k);
/* Stop the thread. No effect if it does not run. */
void gr_control_stop(struct gr_control *k);

#endif /* RPCRDMA_GANESHA_CONTROL_H */
