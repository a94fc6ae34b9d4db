/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp - RDMA over a TCP socket, in software
 *
 * MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and RDMAP (RFC 5040), so that any
 * iWARP peer, software or adapter, can be at the other end. It needs neither
 * a device nor a kernel module.
 */
#ifndef RPCRDMA_FABRIC_IWARP_H
#define RPCRDMA_FABRIC_IWARP_H

#include "rpcrdma/fabric.h"

extern const struct fab_ops fab_iwarp_ops;

#endif /* RPCRDMA_FABRIC_IWARP_H */
