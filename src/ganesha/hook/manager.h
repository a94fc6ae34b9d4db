/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager - report the state of the server to the service manager and the journal
 *
 * The state is one line, followed by details. Without a service manager (NOTIFY_SOCKET)
 * nothing is sent or printed.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_MANAGER_H
#define RPCRDMA_GANESHA_MANAGER_H

#include <pthread.h>
#include <stdbool.h>

#define GR_STATE_ROOM 640
/* Room for details: the exports, and what waits for a restart. */
#define GR_DETAILS_ROOM 512

struct gr_manager {
	/* Format the present state as one line. */
	void (*describe)(char state[GR_STATE_ROOM]);
	/* Returns false if the server has hung since the last call. */
	bool (*alive)(void);
	/* Held while describe() is called, so that the latest state is sent last. */
	pthread_mutex_t lock;
	bool ready;
	char details[GR_DETAILS_ROOM]; /* after the line of state; or "" */
};

/* Report that the server has started, with @details, or "". The journal gets the line too,
 * unless it is @silent and there are no details. */
void gr_manager_ready(struct gr_manager *m, const char *details, bool silent);
/* Report new @details, or "". Print @line to the journal, or, if that is NULL and there are
 * details, the line of state. */
void gr_manager_tell(struct gr_manager *m, const char *details,
		     const char *line);
/* Append @more to the details, and report them; also to the journal. Ignored before
 * gr_manager_ready(). */
void gr_manager_add(struct gr_manager *m, const char *more);
/* Report that the state has changed. Ignored before gr_manager_ready(). */
void gr_manager_refresh(struct gr_manager *m);
/* If the service manager has a watchdog (WATCHDOG_USEC), start a thread that reports every quarter of
 * its time while alive() holds, until the process ends. If there is no thread, turn the watchdog off. */
void gr_manager_watch(struct gr_manager *m);
/* Report that the server stops. */
void gr_manager_stopping(void);

#endif /* RPCRDMA_GANESHA_MANAGER_H */
