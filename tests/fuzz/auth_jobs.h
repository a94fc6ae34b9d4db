/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth_jobs - how many steps the transport has given to its pool of threads and
 * has not had back
 *
 * The linker puts it between the two (--wrap). Threads: the target's.
 */
#ifndef RPCRDMA_FUZZ_AUTH_JOBS_H
#define RPCRDMA_FUZZ_AUTH_JOBS_H

unsigned int auth_jobs(void);

#endif /* RPCRDMA_FUZZ_AUTH_JOBS_H */
