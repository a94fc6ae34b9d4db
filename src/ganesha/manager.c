/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager - what the service manager is told while the server runs
 *
 * The start is told by ready.c. Who has started the server by other means gets
 * nothing of all this.
 *
 * Threads: any.
 */
#include "ganesha/manager.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/notify.h"
#include "ganesha/check.h"

void gr_manager_tell(const char *state, const char *more, const char *said)
{
	char text[RPCRDMA_STATE + 512];

	if (!getenv("NOTIFY_SOCKET"))
		return;
	/* In the journal, also where Ganesha's log is a file. */
	if (said)
		fprintf(stderr, "rpcrdma: %s\n", said);
	else if (*more)
		fprintf(stderr, "rpcrdma: %s%s\n", state, more);
	snprintf(text, sizeof(text), "STATUS=%s%s", state, more);
	(void)notify_manager(text);
}

void gr_manager_stopping(void)
{
	(void)notify_manager("STATUS=stopping");
}
