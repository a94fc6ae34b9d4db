/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - telling systemd that the server serves, and how it is with RDMA
 *
 * Threads: one of its own, which waits for the end of Ganesha's start.
 */
#include "ganesha/ready.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "ganesha/check.h"
#include "base/notify.h"

/* Exported by libganesha_nfsd. */
void nfs_init_wait(void);

static void *ready_main(void *arg)
{
	char state[RPCRDMA_STATE], text[RPCRDMA_STATE + 32];

	nfs_init_wait();
	rpcrdma_ganesha_state(state);
	/* In the journal, also where Ganesha's log is a file. */
	fprintf(stderr, "rpcrdma: %s\n", state);
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s", state);
	notify_manager(text);
	return NULL;
}

void ready_start(void)
{
	sigset_t all, old;
	pthread_t thread;

	if (!getenv("NOTIFY_SOCKET"))
		return;
	/* Signals are for Ganesha's own threads. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	if (pthread_create(&thread, NULL, ready_main, NULL))
		notify_manager("READY=1");
	else
		pthread_detach(thread);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}
