/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * shutdown - the end of all connections of an instance
 *
 * Context: any thread, one at a time.
 */
#include <string.h>
#include <time.h>

#include "transport/core/core.h"

#define BATCH 64

static unsigned int with_conns(struct rt_instance *inst,
			       bool (*want)(struct rt_conn *),
			       void (*fn)(struct rt_conn *))
{
	struct rt_conn *batch[BATCH], *c;
	unsigned int n = 0;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
	{
		if (n == BATCH)
			break;
		if (want(c) && rt_conn_try_get(c))
			batch[n++] = c;
	}
	pthread_mutex_unlock(&inst->lock);
	for (unsigned int i = 0; i < n; i++) {
		fn(batch[i]);
		rt_conn_put(batch[i]);
	}
	return n;
}

static bool not_closing(struct rt_conn *c)
{
	const char *state;

	pthread_mutex_lock(&c->info_lock);
	state = c->info.state;
	pthread_mutex_unlock(&c->info_lock);
	/* close_wanted goes back to 0 once an abort has been seen. */
	return !atomic_load(&c->strand.close_wanted) &&
	       strcmp(state, rt_state_names[RT_CLOSED]) &&
	       strcmp(state, rt_state_names[RT_CLOSING]);
}

static void close_one(struct rt_conn *c)
{
	rt_conn_close(c, false);
}

/* Also true of a connection that waits for the peer to end an orderly close. */
static bool not_aborted(struct rt_conn *c)
{
	return !atomic_load(&c->strand.shutdown_aborted);
}

static void abort_one(struct rt_conn *c)
{
	atomic_store(&c->strand.shutdown_aborted, true);
	rt_conn_close(c, true);
}

/* Wait until @end for the connections to be gone. Returns how many are left. */
static unsigned int wait_ended(struct rt_instance *inst, uint64_t end, bool run)
{
	for (;;) {
		unsigned int left;

		pthread_mutex_lock(&inst->lock);
		left = inst->nconns;
		pthread_mutex_unlock(&inst->lock);
		if (!left || rt_now_ms() >= end)
			return left;
		if (run) {
			for (unsigned int i = 0; i < inst->npollers; i++)
				rt_run(inst, i, 10);
		} else {
			struct timespec ts = { 0, 5000000 };

			nanosleep(&ts, NULL);
		}
	}
}

unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run)
{
	unsigned int left, before;

	for (;;) {
		struct rt_listener *l = NULL;

		pthread_mutex_lock(&inst->lock);
		if (!cds_list_empty(&inst->listeners))
			l = cds_list_first_entry(&inst->listeners,
						 struct rt_listener, link);
		pthread_mutex_unlock(&inst->lock);
		if (!l)
			break;
		rt_listener_close(l);
	}
	while (with_conns(inst, not_closing, close_one))
		;
	left = wait_ended(inst, rt_now_ms() + ms, run);
	if (!left || !ms)
		return left;
	/*
	 * However late this thread is, abort them all: nobody would wait for
	 * them to drain.
	 */
	while (with_conns(inst, not_aborted, abort_one))
		;
	do {
		before = left;
		left = wait_ended(inst, rt_now_ms() + RT_ABORT_MS, run);
	} while (left && left < before);
	return left;
}
