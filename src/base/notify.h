/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notify - telling a service manager how far a program is
 */
#ifndef RPCRDMA_BASE_NOTIFY_H
#define RPCRDMA_BASE_NOTIFY_H

/*
 * Send @state, such as "READY=1" or "STATUS=...", to the datagram socket that
 * NOTIFY_SOCKET names; without that variable nobody wants to know. 0 or
 * -errno. Any thread.
 */
int base_notify(const char *state);

#endif /* RPCRDMA_BASE_NOTIFY_H */
