/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket_owner - which user of this machine is behind a TCP client
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_SOCKET_OWNER_H
#define RPCRDMA_GATEWAY_POLICY_SOCKET_OWNER_H

#include <stdint.h>
#include <sys/socket.h>

/* Another machine's, or the kernel does not say. */
#define GW_OWNER_UNKNOWN UINT32_MAX

/*
 * Returns the user who made the socket that @fd is connected to, by asking the kernel
 * (NETLINK_SOCK_DIAG). Fit for sharing out places, not for rights: a socket that its
 * owner has closed counts as root's.
 */
uint32_t gw_socket_owner(int fd);

#endif /* RPCRDMA_GATEWAY_POLICY_SOCKET_OWNER_H */
