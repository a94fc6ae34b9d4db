/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs - RDMA devices, through librdmacm and libibverbs
 *
 * InfiniBand, RoCE and iWARP, in hardware or in the kernel. A domain uses
 * every RDMA device of the host; its limits and capabilities are those that
 * all of them have.
 *
 * Where this provider can say less than iwarp does:
 *
 * - On InfiniBand and RoCE the connection manager carries at most 56 octets of
 *   private data with the request, 196 with the answer and 148 with a refusal,
 *   and what arrives is padded with zeros to that size.
 * - RDMA Writes and Reads of the peer are not seen by this side's software, so
 *   the counters of them stay 0.
 * - The side whose Receive, handle or bound was missed may only see that the
 *   peer has closed the connection.
 * - More Receives than the receive queue has room for wait inside, unseen by
 *   the peer. The queue is made when the connection starts, with room for
 *   twice the Receives posted by then and never less than 256.
 */
#ifndef RPCRDMA_FABRIC_VERBS_H
#define RPCRDMA_FABRIC_VERBS_H

#include "rpcrdma/fabric.h"

extern const struct fab_ops fab_verbs_ops;

/*
 * Does an RDMA device of this host own @addr? The wildcard address is owned as
 * soon as the port of one is up. Opens devices: not before a daemon has forked.
 */
bool fab_verbs_owns(const struct sockaddr *addr);

#endif /* RPCRDMA_FABRIC_VERBS_H */
