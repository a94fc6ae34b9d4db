/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * manager - what the service manager is told while the server runs
 */
#ifndef RPCRDMA_GANESHA_MANAGER_H
#define RPCRDMA_GANESHA_MANAGER_H

/* The line of state is @state, and @more behind it; or "". If that is not "" or @said
 * is there, so is a line in the journal: @said, or the line of state. */
void gr_manager_tell(const char *state, const char *more, const char *said);
/* The server ends. */
void gr_manager_stopping(void);

#endif /* RPCRDMA_GANESHA_MANAGER_H */
