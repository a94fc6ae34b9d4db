/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thread - start a thread that takes no signals
 *
 * Signals belong to the main thread, or to the threads of the program that has loaded
 * this library.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_THREAD_H
#define RPCRDMA_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* Returns 0 or an errno, as pthread_create() does. @name has at most 15 octets; with NULL
 * the thread keeps the name of the process. */
static inline int base_thread_start(pthread_t *thread, const char *name,
				    void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (!err && name)
		pthread_setname_np(*thread, name);
	return err;
}

#endif /* RPCRDMA_BASE_THREAD_H */
