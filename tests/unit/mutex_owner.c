/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In the place of what unlocks a mutex, for whatever is linked with it (by
 * --wrap): somebody must hold it. An ordinary mutex does not mind, and a test in
 * which nobody else wants it would not, either. Who holds it is asked of those
 * that wait alone: ntirpc locks a mutex in each request that another thread
 * unlocks.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int __real_pthread_mutex_unlock(pthread_mutex_t *m);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *m);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *t);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *t);

static void want(int held)
{
	if (held)
		return;
	fputs("a mutex is unlocked that is not held\n", stderr);
	abort();
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *m)
{
#ifdef __GLIBC__
	want(m->__data.__owner);
#endif
	return __real_pthread_mutex_unlock(m);
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
#ifdef __GLIBC__
	want(m->__data.__owner == gettid());
#endif
	return __real_pthread_cond_wait(c, m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				  const struct timespec *t)
{
#ifdef __GLIBC__
	want(m->__data.__owner == gettid());
#endif
	return __real_pthread_cond_timedwait(c, m, t);
}
