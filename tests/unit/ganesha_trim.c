/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the launcher has malloc give back what is free (rest.c): of what it would
 * ask the system, the test says what it hears, and a second passes when the test
 * wants it to.
 *
 * Threads: the test's, and the one that looks; only one of them runs at a time.
 */
#include <malloc.h>
#include <semaphore.h>
#include <time.h>
#include <unistd.h>

#include "ganesha/hook/trim.h"
#include "unit.h"

#define MUCH ((size_t)256 << 20)
#define MORE ((size_t)8 << 20)
/* What it takes to give back counts for nothing. */
#define TRIM_MS 500

static struct {
	sem_t asleep, wake;
	bool begun;
	unsigned int ms; /* of the processor, in all */
	size_t spare; /* what malloc has free */
	unsigned int trims;
} t;

unsigned int __wrap_sleep(unsigned int s);
int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __real_clock_gettime(clockid_t id, struct timespec *ts);
struct mallinfo2 __wrap_mallinfo2(void);
int __wrap_malloc_trim(size_t pad);

unsigned int __wrap_sleep(unsigned int s)
{
	CU_ASSERT_EQUAL(s, 1);
	sem_post(&t.asleep);
	sem_wait(&t.wake);
	return 0;
}

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_PROCESS_CPUTIME_ID)
		return __real_clock_gettime(id, ts);
	ts->tv_sec = t.ms / 1000;
	ts->tv_nsec = (long)(t.ms % 1000) * 1000000;
	return 0;
}

struct mallinfo2 __wrap_mallinfo2(void)
{
	return (struct mallinfo2){ .fordblks = t.spare };
}

int __wrap_malloc_trim(size_t pad)
{
	CU_ASSERT_EQUAL(pad, 0);
	t.ms += TRIM_MS;
	t.trims++;
	return 1;
}

/* A second in which the process has had the processor for so long: is anything
 * given back at its end? */
static bool second(unsigned int ms)
{
	unsigned int before = t.trims;

	t.ms += ms;
	sem_post(&t.wake);
	sem_wait(&t.asleep);
	return t.trims > before;
}

/* It has worked, has been at rest, and all has been given back. */
static void begin(void)
{
	t.spare = 0;
	if (!t.begun) {
		sem_init(&t.asleep, 0, 0);
		sem_init(&t.wake, 0, 0);
		gr_trim_start();
		sem_wait(&t.asleep);
		t.begun = true;
	}
	second(1000);
	second(0);
	CU_ASSERT_TRUE(second(0));
}

/* After two seconds in which it has had little to do; and once. */
static void at_rest(void)
{
	begin();
	for (unsigned int i = 0; i < 100; i++)
		CU_ASSERT_FALSE(second(19));
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_FALSE(second(20));
		CU_ASSERT_FALSE(second(19));
		CU_ASSERT_FALSE(second(20));
		CU_ASSERT_FALSE(second(19));
		CU_ASSERT_TRUE(second(19));
		CU_ASSERT_FALSE(second(19));
		CU_ASSERT_FALSE(second(19));
	}
}

/* Where it always has much to do, once a minute, if there is much. */
static void at_work(void)
{
	begin();
	for (unsigned int round = 0; round < 3; round++) {
		t.spare = MUCH - (round == 1);
		for (unsigned int i = 0; i < 59; i++)
			CU_ASSERT_FALSE(second(900));
		CU_ASSERT_EQUAL(second(900), round != 1);
	}
}

/* The seconds until all is given back; 0: it is not. */
static unsigned int given_back_after(unsigned int most)
{
	for (unsigned int i = 1; i <= most; i++)
		if (second(1))
			return i;
	return 0;
}

/* What is freed by little work is given back too, if it is much in all. */
static void ended_at_rest(void)
{
	t.spare = 0;
	begin();
	t.spare = MORE - 1;
	CU_ASSERT_EQUAL(given_back_after(100), 0);
	t.spare = MORE;
	CU_ASSERT_NOT_EQUAL(given_back_after(10), 0);
	CU_ASSERT_EQUAL(given_back_after(100), 0);
	t.spare = 2 * MORE;
	CU_ASSERT_NOT_EQUAL(given_back_after(10), 0);
	/* It has been used meanwhile. */
	t.spare = 0;
	CU_ASSERT_EQUAL(given_back_after(100), 0);
	t.spare = 2 * MORE;
	CU_ASSERT_NOT_EQUAL(given_back_after(10), 0);
}

static const struct unit_test tests[] = {
	{ "at rest", at_rest },
	{ "at work", at_work },
	{ "ended at rest", ended_at_rest },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-trim", tests)
