/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ready - telling systemd that the server serves, and how it is with RDMA
 *
 * Threads: one of its own, which waits for the end of Ganesha's start.
 */
#include "ganesha/hook/ready.h"

#include <pthread.h>
#include <stdint.h>

#include "base/notify.h"
#include "base/thread.h"
#include "ganesha/hook/check.h"

static void *ready_main(void *arg)
{
	rpcrdma_ganesha_ready(arg);
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
