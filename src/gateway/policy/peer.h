/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peer - which user of this machine is behind a TCP client
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_PEER_H
#define RPCRDMA_GATEWAY_POLICY_PEER_H

#include <stdint.h>
#include <sys/socket.h>

/* The kernel does not know, or does not say: it is another machine's. */
#define GW_PEER_UNKNOWN UINT32_MAX

/*
 * The user who has made the socket that @fd is connected to. The kernel is asked by
 * NETLINK_SOCK_DIAG. Good for sharing out, and not for rights: a socket that its owner
 * has closed counts as root's.
 */
uint32_t gw_peer_uid(int fd);

#endif /* RPCRDMA_GATEWAY_POLICY_PEER_H */
