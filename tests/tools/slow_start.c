/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_start - the main thread takes half a second for each thread that it makes
 *
 * Ganesha's first thread waits for signals. With this library preloaded by a test, one
 * that comes during the start is taken while the main thread still makes others.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
pthread_create(pthread_t *thread, const pthread_attr_t *attr,
	       void *(*main)(void *), void *arg)
{
	int (*next)(pthread_t *, const pthread_attr_t *, void *(*)(void *),
		    void *);
	int err;

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	err = next(thread, attr, main, arg);
	if (gettid() == getpid())
		usleep(500000);
	return err;
}
