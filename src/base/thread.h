/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * thread - a thread that takes no signals
 *
 * They are for the threads of the program that this is loaded into, or for its
 * main thread.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_THREAD_H
#define RPCRDMA_BASE_THREAD_H

#include <pthread.h>
#include <signal.h>

/* As pthread_create(): 0 or an errno. @name: 15 octets at most; NULL: none of its
 * own. */
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
