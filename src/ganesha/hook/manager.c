/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/hook/manager.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/notify.h"
#include "base/text.h"
#include "base/thread.h"

/* Send @begin and the state. Also print @line to standard error, for the journal: "" stands
 * for the state, NULL for nothing. Caller holds m->lock. */
static void send_state(struct gr_manager *m, const char *begin,
		       const char *line)
{
	char state[GR_STATE_ROOM], text[GR_STATE_ROOM + GR_DETAILS_ROOM + 64];

	m->describe(state);
	if (line && *line)
		fprintf(stderr, "rpcrdma: %s\n", line);
	else if (line)
		fprintf(stderr, "rpcrdma: %s%s\n", state, m->details);
	snprintf(text, sizeof(text), "%sSTATUS=%s%s", begin, state, m->details);
	(void)base_notify(text);
}

/* Caller holds m->lock. */
static void set_details(struct gr_manager *m, const char *details)
{
	snprintf(m->details, sizeof(m->details), "%s", details);
}

void gr_manager_ready(struct gr_manager *m, const char *details, bool silent)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	set_details(m, details);
	m->ready = true;
	send_state(m, "READY=1\n", silent && !*details ? NULL : "");
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_tell(struct gr_manager *m, const char *details,
		     const char *line)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	set_details(m, details);
	send_state(m, "", line ? line : *details ? "" : NULL);
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_add(struct gr_manager *m, const char *more)
{
	pthread_mutex_lock(&m->lock);
	if (m->ready) {
		base_append(m->details, sizeof(m->details), "%s", more);
		send_state(m, "", "");
	}
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_refresh(struct gr_manager *m)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	if (m->ready)
		send_state(m, "", "");
	pthread_mutex_unlock(&m->lock);
}

/* Returns the time of the manager's watchdog in microseconds, or 0 if this process has none. */
static unsigned long long watchdog_us(void)
{
	const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

	if (!us || (pid && atol(pid) != getpid()))
		return 0;
	return strtoull(us, NULL, 10);
}

static void *watch_main(void *arg)
{
	struct gr_manager *m = arg;
	unsigned long long us = watchdog_us() / 4;
	const struct timespec pause = { .tv_sec = (time_t)(us / 1000000),
					.tv_nsec =
						(long)(us % 1000000) * 1000 };
	bool alive = true, was;

	for (;;) {
		was = alive;
		alive = m->alive();
		if (alive)
			(void)base_notify("WATCHDOG=1");
		else if (was)
			fputs("rpcrdma: a poller hangs: the service manager restarts the server unless it goes on\n",
			      stderr);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

void gr_manager_watch(struct gr_manager *m)
{
	pthread_t thread;

	if (!watchdog_us())
		return;
	if (base_thread_start(&thread, "rdma-alive", watch_main, m))
		(void)base_notify("WATCHDOG_USEC=0");
	else
		pthread_detach(thread);
}

void gr_manager_stopping(void)
{
	(void)base_notify("STATUS=stopping");
}
