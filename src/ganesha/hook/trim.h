/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trim - return freed memory to the kernel when the server is idle
 */
#ifndef RPCRDMA_GANESHA_TRIM_H
#define RPCRDMA_GANESHA_TRIM_H

/* Start the thread that does so until the program ends. A failure is ignored. */
void gr_trim_start(void);

#endif /* RPCRDMA_GANESHA_TRIM_H */
