/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * control - a thread that is nobody else's
 *
 * Ganesha's threads lend themselves to users: a file system changes the
 * credentials of the thread that it is called by (FSAL_VFS does for most
 * calls), and then Linux lets that thread no longer use an RDMA device. So
 * the device is opened, and all that is done to it outside of a poller is
 * done, by this thread, which makes the pollers' threads as well: together
 * they are the domain's threads (fabric.h, FAB_CAP_BOUND).
 */
#ifndef RPCRDMA_GANESHA_CONTROL_H
#define RPCRDMA_GANESHA_CONTROL_H

#include <pthread.h>
#include <stdbool.h>

struct gr_control {
	bool running;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t cond;
	void (*job)(void *arg); /* NULL: none */
	void *arg;
	/* Of the control thread: what it does every @every_ms meanwhile; NULL: nothing. */
	void (*look)(void *arg);
	void *look_arg;
	unsigned int every_ms;
	bool stop;
};

/* 0 or a negative errno. */
int gr_control_start(struct gr_control *k);
/* Have the control thread call @job and wait for it. One caller at a time. */
void gr_control_do(struct gr_control *k, void (*job)(void *arg), void *arg);
/* Have it call @look every @ms while there is no job; NULL: not any more. From within
 * a job or @look. */
void gr_control_every(struct gr_control *k, unsigned int ms,
		      void (*look)(void *arg), void *arg);
/* Harmless if it does not run. */
void gr_control_stop(struct gr_control *k);

#endif /* RPCRDMA_GANESHA_CONTROL_H */
