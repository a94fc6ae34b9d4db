/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager - what the service manager is told
 *
 * That is the line of state, and what stands behind it. Who has started the server by
 * other means gets nothing of all this.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GANESHA_MANAGER_H
#define RPCRDMA_GANESHA_MANAGER_H

#include <pthread.h>
#include <stdbool.h>

#define GR_STATE_ROOM 640
/* Of the exports, and of what waits for a restart. */
#define GR_MORE_ROOM 512

struct gr_manager {
	/* How it is now, as a line. */
	void (*describe)(char state[GR_STATE_ROOM]);
	/* Over the call of that, too: what is told last is what was last true. */
	pthread_mutex_t lock;
	bool ready;
	char more[GR_MORE_ROOM]; /* behind the line of state; or "" */
};

/* The start is over. @more: behind the line of state, or "". @silent: the journal has a
 * line already; otherwise it gets this one. */
void gr_manager_ready(struct gr_manager *m, const char *more, bool silent);
/* From now on @more, or "", stands behind the line of state. If that is not "" or @said is
 * there, so is a line in the journal: @said, or the line of state. */
void gr_manager_tell(struct gr_manager *m, const char *more, const char *said);
/* The line of state has changed. Before the start is over nobody minds. */
void gr_manager_again(struct gr_manager *m);
/* The server ends. */
void gr_manager_stopping(void);

#endif /* RPCRDMA_GANESHA_MANAGER_H */
