/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - a thread whose credentials never change
 *
 * FSAL_VFS changes the credentials of Ganesha's workers to those of a user, and Linux then
 * denies them an RDMA device. So this thread opens the device, does everything with it that
 * pollers do not do, and creates the pollers' threads. Together they are the domain's threads
 * (fabric.h, FAB_CAP_BOUND).
 */
#ifndef RPCRDMA_GANESHA_CONTROL_H
#define RPCRDMA_GANESHA_CONTROL_H

#include <pthread.h>
#include <stdbool.h>

struct gr_control {
	bool running;
	pthread_t thread;
	pthread_mutex_t lock; /* protects the job and stop */
	pthread_cond_t cond;
	void (*job)(void *arg); /* NULL: none */
	void *arg;
	/* Used by the control thread alone: what it calls every @every_ms; or NULL. */
	void (*look)(void *arg);
	void *look_arg;
	unsigned int every_ms;
	bool stop;
};

/* Returns 0 or a negative errno. */
int gr_control_start(struct gr_control *k);
/* Have the control thread call @job, and wait for its end. One caller at a time. */
void gr_control_do(struct gr_control *k, void (*job)(void *arg), void *arg);
/* Have it call @look every @ms while it has no job; NULL stops that. Context: control thread. */
void gr_control_every(struct gr_control *k, unsigned int ms,
		      void (*look)(void *arg), void *arg);
/* Stop the thread. Harmless if it does not run. */
void gr_control_stop(struct gr_control *k);

#endif /* RPCRDMA_GANESHA_CONTROL_H */
