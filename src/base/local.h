/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local - connections to sockets of this machine's programs
 *
 * Threads: any.
 */
#ifndef RPCRDMA_BASE_LOCAL_H
#define RPCRDMA_BASE_LOCAL_H

/*
 * A stream socket, connected to that at @path, or a negative errno. It waits at
 * most @patience_ms to be connected, to send and to receive (then -ETIMEDOUT,
 * and EAGAIN of its own calls); 0: not at all, and -EAGAIN.
 */
int base_local_connect(const char *path, unsigned int patience_ms);

#endif /* RPCRDMA_BASE_LOCAL_H */
