/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notify - report to the service manager (sd_notify(3))
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_NOTIFY_H
#define RPCRDMA_BASE_NOTIFY_H

/* Send @state, such as "READY=1" or "STATUS=...", to the datagram socket that the variable
 * NOTIFY_SOCKET names. Returns 0, also without that variable, or a negative errno. */
int base_notify(const char *state);

#endif /* RPCRDMA_BASE_NOTIFY_H */
