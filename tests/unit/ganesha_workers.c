/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leader that is told to end while it looks for Calls does not go to sleep; and
 * Calls that are found, one or more at a time, are all run, whoever does it.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <time.h>

#include "ganesha/workers.h"
#include "unit.h"

#define CALLS 6
#define LATE_MS 5000

static struct gr_workers workers;

/* Stands for the transport, whose poller is a flag. */
static struct poller {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool awake; /* rt_wake() was called, and nobody has seen it yet */
	bool meet; /* the next look ends when that has happened */
	bool over; /* nobody sleeps any more */
	sem_t looking;
} poller = { .lock = PTHREAD_MUTEX_INITIALIZER,
	     .changed = PTHREAD_COND_INITIALIZER };

/* Calls that the next look finds. */
static struct svc_req calls[CALLS];
static unsigned int first, nfound;
static atomic_uint run;

unsigned int rt_instance_pollers(const struct rt_instance *inst)
{
	(void)inst;
	return 1;
}

void rt_wake(struct rt_instance *inst, unsigned int n)
{
	(void)inst;
	(void)n;
	pthread_mutex_lock(&poller.lock);
	poller.awake = true;
	pthread_cond_broadcast(&poller.changed);
	pthread_mutex_unlock(&poller.lock);
}

int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms)
{
	unsigned int from, to;

	(void)inst;
	(void)n;
	pthread_mutex_lock(&poller.lock);
	if (poller.meet && !timeout_ms)
		sem_post(&poller.looking);
	while (!poller.awake && !poller.over && (timeout_ms || poller.meet))
		pthread_cond_wait(&poller.changed, &poller.lock);
	poller.awake = false;
	poller.meet = false;
	from = first;
	to = first += nfound;
	nfound = 0;
	pthread_mutex_unlock(&poller.lock);
	for (unsigned int i = from; i < to; i++)
		gr_workers_submit(&workers, &calls[i]);
	return (int)(to - from);
}

/* ntirpc's queue, with as many threads as it takes. */
static void *worker(void *arg)
{
	struct svc_req *req = arg;

	req->rq_resume_cb(req);
	return NULL;
}

void svc_resume(struct svc_req *req)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, worker, req))
		abort();
	pthread_detach(thread);
}

static enum xprt_stat execute(struct svc_req *req)
{
	(void)req;
	atomic_fetch_add(&run, 1);
	return XPRT_SUSPEND;
}

static unsigned int kind_of(struct svc_req *req)
{
	(void)req;
	return 0;
}

static void freed(struct svc_req *req, enum xprt_stat stat)
{
	(void)req;
	(void)stat;
}

static void begin(void)
{
	CU_ASSERT_EQUAL_FATAL(
		gr_workers_start(&workers, NULL, freed, kind_of, true), 0);
}

static void end(void)
{
	bool ended = gr_workers_stop(&workers, LATE_MS);

	CU_ASSERT_TRUE(ended);
	pthread_mutex_lock(&poller.lock);
	poller.over = true;
	pthread_cond_broadcast(&poller.changed);
	pthread_mutex_unlock(&poller.lock);
	if (!ended)
		CU_ASSERT_TRUE_FATAL(gr_workers_stop(&workers, LATE_MS));
	gr_workers_free(&workers);
	poller.over = false;
}

/* Its look takes the wake-up that was to end it. */
static void ends_while_looking(void)
{
	sem_init(&poller.looking, 0, 0);
	poller.meet = true;
	begin();
	while (sem_wait(&poller.looking))
		;
	end();
	sem_destroy(&poller.looking);
}

static void all_are_run(void)
{
	const struct timespec tick = { .tv_nsec = 1000000 };
	static const unsigned int found[] = { 1, 2, 3 };

	for (unsigned int i = 0; i < CALLS; i++)
		calls[i].rq_resume_cb = execute;
	begin();
	for (unsigned int i = 0, want = 0; i < 3; i++) {
		pthread_mutex_lock(&poller.lock);
		nfound = found[i];
		pthread_mutex_unlock(&poller.lock);
		rt_wake(NULL, 0);
		want += found[i];
		while (atomic_load(&run) != want)
			nanosleep(&tick, NULL);
	}
	CU_ASSERT_EQUAL(atomic_load(&run), CALLS);
	end();
}

static const struct unit_test tests[] = {
	{ "ends while it looks", ends_while_looking },
	{ "all are run", all_are_run },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-workers", tests)
