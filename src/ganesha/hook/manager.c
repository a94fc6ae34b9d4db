/* SPDX-License-Identifier: BSD-3-Clause */
/* manager.h says what this is. */
#include "ganesha/hook/manager.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/notify.h"

/* Lock held. @said: in the journal, also where Ganesha's log is a file; "" says the line of
 * state, and NULL nothing. */
static void tell(struct gr_manager *m, const char *begin, const char *said)
{
	char state[GR_STATE_ROOM], text[GR_STATE_ROOM + GR_MORE_ROOM + 64];

	m->describe(state);
	if (said && *said)
		fprintf(stderr, "rpcrdma: %s\n", said);
	else if (said)
		fprintf(stderr, "rpcrdma: %s%s\n", state, m->more);
	snprintf(text, sizeof(text), "%sSTATUS=%s%s", begin, state, m->more);
	(void)base_notify(text);
}

/* Lock held. */
static void set_more(struct gr_manager *m, const char *more)
{
	snprintf(m->more, sizeof(m->more), "%s", more);
}

void gr_manager_ready(struct gr_manager *m, const char *more, bool silent)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	set_more(m, more);
	m->ready = true;
	tell(m, "READY=1\n", silent && !*more ? NULL : "");
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_tell(struct gr_manager *m, const char *more, const char *said)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	set_more(m, more);
	tell(m, "", said ? said : *more ? "" : NULL);
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_again(struct gr_manager *m)
{
	if (!getenv("NOTIFY_SOCKET"))
		return;
	pthread_mutex_lock(&m->lock);
	if (m->ready)
		tell(m, "", "");
	pthread_mutex_unlock(&m->lock);
}

void gr_manager_stopping(void)
{
	(void)base_notify("STATUS=stopping");
}
