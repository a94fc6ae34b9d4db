/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * platform - the system, as the world has it: time, chance, memory, threads
 *
 * The linker puts these in the place of the system's (--wrap), so that the code under
 * test is what is shipped. A thread is a context of its own (makecontext()), which
 * runs from when it is resumed until it waits for a condition, yields, or ends: where
 * threads are switched is a step's choice.
 *
 * Threads: one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <time.h>
#include <ucontext.h>

#include "simulate.h"

#define START_NS 1000000000000ull
#define THREADS 16
#define KEYS 2
#define STACK (256u << 10)
/* A thread that is waited for ends within so many turns. */
#define TURNS 100000

static struct {
	uint64_t now; /* ns */
	bool uneven; /* time passes while code runs, too */
	struct draw clock, chance, cpu, turns;
	/* Threads are told apart, and lose the processor once in so many times when
	 * they could (0: never). */
	bool apart;
	unsigned int preempt;
	long allocated;
	unsigned int fail_alloc, fail_pool;
} platform;

/* ---- Time ------------------------------------------------------------------ */

int __wrap_clock_gettime(clockid_t id, struct timespec *ts);
int __wrap_nanosleep(const struct timespec *ts, struct timespec *left);
int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until);

int __wrap_clock_gettime(clockid_t id, struct timespec *ts)
{
	if (platform.uneven) {
		platform.now += draw_below(&platform.clock, 2000);
		/* Somebody else had the processor. */
		if (draw_one_in(&platform.clock, 5000))
			platform.now += draw_below(&platform.clock, 20000000);
	}
	ts->tv_sec = (time_t)(platform.now / 1000000000);
	ts->tv_nsec = (long)(platform.now % 1000000000);
	return 0;
}

/* A thread lets others run until then; while there is none, nobody else can. */
static void sleep_until(uint64_t at)
{
	while (platform_in_thread() && platform.now < at)
		platform_yield();
	platform.now = MAX(platform.now, at);
}

static uint64_t to_ns(const struct timespec *ts)
{
	return (uint64_t)ts->tv_sec * 1000000000 + (uint64_t)ts->tv_nsec;
}

int __wrap_nanosleep(const struct timespec *ts, struct timespec *left)
{
	sleep_until(platform.now + to_ns(ts));
	return 0;
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *lock,
				  const struct timespec *until)
{
	uint64_t at = to_ns(until);

	if (!platform_in_thread()) {
		sleep_until(at);
		return ETIMEDOUT;
	}
	pthread_mutex_unlock(lock);
	platform_yield();
	pthread_mutex_lock(lock);
	return at <= platform.now ? ETIMEDOUT : 0;
}

uint64_t platform_ns(void)
{
	return platform.now;
}

uint64_t platform_ms(void)
{
	return platform.now / 1000000;
}

void platform_pass(uint64_t ms)
{
	platform.now += ms * 1000000;
}

/* ---- Chance ---------------------------------------------------------------- */

uint32_t __wrap_arc4random(void);
void __wrap_arc4random_buf(void *p, size_t n);
int __wrap_sched_getcpu(void);

uint32_t __wrap_arc4random(void)
{
	return (uint32_t)draw(&platform.chance);
}

void __wrap_arc4random_buf(void *p, size_t n)
{
	uint8_t *to = p;

	while (n--)
		*to++ = (uint8_t)draw(&platform.chance);
}

int __wrap_sched_getcpu(void)
{
	return platform.uneven ? (int)draw_below(&platform.cpu, 4) : 0;
}

/* ---- Memory ---------------------------------------------------------------- */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t align, size_t n);
void __real_free(void *p);
struct fab_buf *__real_fab_pool_get(struct fab_pool *pool, size_t n);
struct fab_buf *__real_fab_pool_get_spare(struct fab_pool *pool, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t align, size_t n);
void __wrap_free(void *p);
struct fab_buf *__wrap_fab_pool_get(struct fab_pool *pool, size_t n);
struct fab_buf *__wrap_fab_pool_get_spare(struct fab_pool *pool, size_t n);

static bool fails(unsigned int *countdown)
{
	if (!*countdown || --*countdown)
		return false;
	sim->short_of = true;
	return true;
}

static void *counted(void *p)
{
	platform.allocated += !!p;
	return p;
}

/* Of the loop provider alone, which has to have it. */
void *__wrap_malloc(size_t n)
{
	return counted(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
	if (fails(&platform.fail_alloc))
		return NULL;
	return counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
	void *q;

	if (fails(&platform.fail_alloc))
		return NULL;
	q = __real_realloc(p, n);
	platform.allocated += q && !p;
	return q;
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	if (fails(&platform.fail_alloc))
		return NULL;
	return counted(__real_aligned_alloc(align, n));
}

void __wrap_free(void *p)
{
	platform.allocated -= !!p;
	__real_free(p);
}

struct fab_buf *__wrap_fab_pool_get(struct fab_pool *pool, size_t n)
{
	return fails(&platform.fail_pool) ? NULL : __real_fab_pool_get(pool, n);
}

struct fab_buf *__wrap_fab_pool_get_spare(struct fab_pool *pool, size_t n)
{
	return fails(&platform.fail_pool) ? NULL :
					    __real_fab_pool_get_spare(pool, n);
}

long platform_allocated(void)
{
	return platform.allocated;
}

void platform_fail_alloc(unsigned int n)
{
	platform.fail_alloc = n;
}

void platform_fail_pool(unsigned int n)
{
	platform.fail_pool = n;
}

void *sim_alloc(size_t n)
{
	void *p = __real_calloc(1, n ? n : 1);

	if (!p)
		abort();
	return p;
}

void sim_free(void *p)
{
	__real_free(p);
}

struct fab_buf *sim_buf(struct fab_pool *pool, size_t n)
{
	return __real_fab_pool_get(pool, n ? n : 1);
}

/* ---- Threads --------------------------------------------------------------- */

struct thread {
	bool used, ended;
	bool amid; /* it has lost the processor, and waits for nothing */
	bool detached;
	const void *own[KEYS];
	ucontext_t context;
	void *stack;
	void *(*run)(void *arg);
	void *arg;
};

static struct thread threads[THREADS];
static struct thread *running; /* NULL: the world's own */
static ucontext_t world;

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_pthread_setname_np(pthread_t thread, const char *name);
int __wrap_pthread_detach(pthread_t thread);
pthread_t __real_pthread_self(void);
pthread_t __wrap_pthread_self(void);
int __wrap_pthread_key_create(pthread_key_t *key, void (*gone)(void *));
int __wrap_pthread_key_delete(pthread_key_t key);
int __wrap_pthread_setspecific(pthread_key_t key, const void *p);
void *__wrap_pthread_getspecific(pthread_key_t key);
int __real_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock);
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock);

static void thread_main(void)
{
	running->run(running->arg);
	running->ended = true;
	swapcontext(&running->context, &world);
}

static struct thread *unused(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		if (!threads[i].used)
			return &threads[i];
	return NULL;
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attr,
			  void *(*run)(void *), void *arg)
{
	struct thread *const t = unused();

	if (!t)
		return EAGAIN;
	*t = (struct thread){ .used = true, .run = run, .arg = arg };
	t->stack = sim_alloc(STACK);
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK;
	makecontext(&t->context, thread_main, 0);
	*thread = (pthread_t)(uintptr_t)(t - threads + 1);
	return 0;
}

static void release(struct thread *t)
{
	sim_free(t->stack);
	t->used = false;
}

static void resume(struct thread *t)
{
	running = t;
	t->amid = false;
	swapcontext(&world, &t->context);
	running = NULL;
	if (t->ended && t->detached)
		release(t);
}

int __wrap_pthread_join(pthread_t thread, void **result)
{
	struct thread *t = &threads[(uintptr_t)thread - 1];

	for (unsigned int i = 0; !t->ended; i++) {
		if (running) {
			platform_yield();
			continue;
		}
		if (i == TURNS)
			sim_fail("waits: a thread does not end");
		resume(t);
	}
	release(t);
	return 0;
}

int __wrap_pthread_detach(pthread_t thread)
{
	threads[(uintptr_t)thread - 1].detached = true;
	return 0;
}

pthread_t __wrap_pthread_self(void)
{
	return running && platform.apart ?
		       (pthread_t)(uintptr_t)(running - threads + 1) :
		       __real_pthread_self();
}

/* Keys are made once, before all else, and the world has none of its own. */
int __wrap_pthread_key_create(pthread_key_t *key, void (*gone)(void *))
{
	static pthread_key_t next;

	*key = next++ % KEYS;
	return 0;
}

int __wrap_pthread_key_delete(pthread_key_t key)
{
	return 0;
}

int __wrap_pthread_setspecific(pthread_key_t key, const void *p)
{
	if (running)
		running->own[key] = p;
	return 0;
}

void *__wrap_pthread_getspecific(pthread_key_t key)
{
	return running ? (void *)(uintptr_t)running->own[key] : NULL;
}

int __wrap_pthread_setname_np(pthread_t thread, const char *name)
{
	return 0;
}

void platform_yield(void)
{
	int error = errno;

	if (running)
		swapcontext(&running->context, &world);
	errno = error;
}

bool platform_in_thread(void)
{
	return running;
}

static void lose_processor(void)
{
	running->amid = true;
	platform_yield();
}

void platform_may_switch(void)
{
	if (running && platform.preempt &&
	    draw_one_in(&platform.turns, platform.preempt))
		lose_processor();
}

/* Whoever has it has lost the processor. */
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	platform_may_switch();
	while (pthread_mutex_trylock(lock)) {
		if (running)
			lose_processor();
		else
			platform_resume_all();
	}
	return 0;
}

int __wrap_pthread_mutex_unlock(pthread_mutex_t *lock)
{
	int rc = __real_pthread_mutex_unlock(lock);

	platform_may_switch();
	return rc;
}

/* It may always return for no reason. */
int __wrap_pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock)
{
	if (!running)
		sim_fail("waits: for a condition that nobody can bring about");
	pthread_mutex_unlock(lock);
	platform_yield();
	pthread_mutex_lock(lock);
	return 0;
}

unsigned int platform_threads(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < THREADS; i++)
		n += threads[i].used && !threads[i].ended;
	return n;
}

void platform_resume(unsigned int n)
{
	for (unsigned int i = 0; i < THREADS; i++)
		if (threads[i].used && !threads[i].ended && !n--) {
			resume(&threads[i]);
			return;
		}
}

void platform_resume_all(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		if (threads[i].used && !threads[i].ended)
			resume(&threads[i]);
}

bool platform_amid(void)
{
	for (unsigned int i = 0; i < THREADS; i++)
		if (threads[i].used && threads[i].amid)
			return true;
	return false;
}

unsigned int platform_preempt(unsigned int one_in)
{
	unsigned int was = platform.preempt;

	platform.apart = true;
	platform.preempt = one_in;
	return was;
}

void platform_begin(uint64_t seed, bool uneven)
{
	memset(&platform, 0, sizeof(platform));
	platform.now = START_NS;
	platform.uneven = uneven;
	platform.clock = draw_from(seed, 1001);
	platform.chance = draw_from(seed, 1002);
	platform.cpu = draw_from(seed, 1003);
	platform.turns = draw_from(seed, 1004);
}
