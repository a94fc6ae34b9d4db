/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rest - freed memory goes back to the kernel when the server has nothing to do
 */
#ifndef RPCRDMA_GANESHA_REST_H
#define RPCRDMA_GANESHA_REST_H

/* Begin to look; for the life of the program. Nothing is lost if it fails. */
void rest_start(void);

#endif /* RPCRDMA_GANESHA_REST_H */
