/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept - memory that a device could not be made to let go of
 *
 * fab_mr_keep() and fab_mr_kept() are in fabric.h, since the layer above asks.
 *
 * Threads: any; fab_mr_forget() the last user of @mr.
 */
#ifndef RPCRDMA_FABRIC_PROVIDER_KEPT_H
#define RPCRDMA_FABRIC_PROVIDER_KEPT_H

#include "rpcrdma/fabric.h"

/* It is deregistered: nothing of it is kept any more. */
void fab_mr_forget(struct fab_mr *mr);

#endif /* RPCRDMA_FABRIC_PROVIDER_KEPT_H */
