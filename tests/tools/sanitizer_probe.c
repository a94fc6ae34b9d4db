/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcrdma-sanitizer-probe - does on purpose what sanitizers are there to find
 *
 *	rpcrdma-sanitizer-probe leak|overflow|shift|race|deadlock|unlock|nothing
 *
 * For sanitize.test, which must fail on each of them; so it has a name that
 * tests/steps/sanitized takes for ours. Threads: one more for race and
 * for unlock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int shared;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second = PTHREAD_MUTEX_INITIALIZER;

static void *count(void *arg)
{
	for (int i = 0; i < 100; i++)
		shared++;
	return NULL;
}

static void race(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, count, NULL))
		abort();
	/* What two do in the very same moment may escape the sanitizer. */
	nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	count(NULL);
	pthread_join(t, NULL);
}

static void *lock_first(void *arg)
{
	pthread_mutex_lock(&first);
	return NULL;
}

static void unlock(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, lock_first, NULL))
		abort();
	pthread_join(t, NULL);
	pthread_mutex_unlock(&first);
}

static void lock(pthread_mutex_t *a, pthread_mutex_t *b)
{
	pthread_mutex_lock(a);
	pthread_mutex_lock(b);
	pthread_mutex_unlock(b);
	pthread_mutex_unlock(a);
}

static void deadlock(void)
{
	lock(&first, &second);
	lock(&second, &first);
}

static void leak(size_t n)
{
	void *volatile p = malloc(n);

	memset(p, 1, n);
	p = NULL;
}

static void overflow(size_t n)
{
	char *volatile p = malloc(n);

	p[n] = 0;
	free(p);
}

static int shift(int n)
{
	return 1 << (30 + n);
}

int main(int argc, char **argv)
{
	const char *what = argc == 2 ? argv[1] : "";

	if (!strcmp(what, "leak"))
		leak((size_t)argc);
	else if (!strcmp(what, "overflow"))
		overflow((size_t)argc);
	else if (!strcmp(what, "shift"))
		printf("%d\n", shift(argc));
	else if (!strcmp(what, "race"))
		race();
	else if (!strcmp(what, "deadlock"))
		deadlock();
	else if (!strcmp(what, "unlock"))
		unlock();
	else if (strcmp(what, "nothing"))
		return 2;
	return 0;
}
