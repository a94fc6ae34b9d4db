/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - telling systemd that the server serves, and how it is with RDMA
 *
 * Threads: one of its own, which waits for the end of Ganesha's start.
 */
#include "ganesha/ready.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/notify.h"
#include "base/thread.h"
#include "ganesha/check.h"

static void *ready_main(void *arg)
{
	char state[RPCRDMA_STATE], text[RPCRDMA_STATE + 64];
	const char *exports = arg;
	bool told = rpcrdma_ganesha_state(state);

	if (!getenv("NOTIFY_SOCKET"))
		return NULL;
	/* In the journal, also where Ganesha's log is a file. */
	if (!told || *exports)
		fprintf(stderr, "rpcrdma: %s%s\n", state, exports);
	snprintf(text, sizeof(text), "READY=1\nSTATUS=%s%s", state, exports);
	notify_manager(text);
	return NULL;
}

void ready_start(const char *exports)
{
	pthread_t thread;

	if (fab_thread_start(&thread, NULL, ready_main,
			     (void *)(uintptr_t)exports))
		notify_manager("READY=1");
	else
		pthread_detach(thread);
}
