/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc_tcp - is there RPC over TCP where RPC-over-RDMA was looked for?
 */
#ifndef RPCRDMA_TOOLS_RPC_TCP_H
#define RPCRDMA_TOOLS_RPC_TCP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Send a Call of procedure 0 with record marking. Returns true if any RPC Reply
 * came within @ms. Blocks.
 */
bool rpc_tcp_answers(const struct sockaddr *addr, socklen_t len,
		     uint32_t program, uint32_t version, int ms);

#endif /* RPCRDMA_TOOLS_RPC_TCP_H */
