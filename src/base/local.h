/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * local - connect to a UNIX socket
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_LOCAL_H
#define RPCRDMA_BASE_LOCAL_H

/*
 * Returns a stream socket that is connected to the one at @path, which the caller closes,
 * or a negative errno. With @timeout_ms, connect fails with -ETIMEDOUT after so long, and
 * send() and recv() on the socket with EAGAIN. With 0 the socket does not block, and a
 * connection that would have to wait fails with -EAGAIN.
 */
int base_local_connect(const char *path, unsigned int timeout_ms);

#endif /* RPCRDMA_BASE_LOCAL_H */
