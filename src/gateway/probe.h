/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe - is the server's port that of NFS over TCP?
 *
 * Whoever gives --server the port of NFS over TCP sees no more than that nothing
 * answers by RDMA. So, when a connection has failed before RDMA was there, the
 * main thread asks once by TCP. A server of RDMA would tell its log of that as of
 * something that is no client: it is never asked unless it has failed.
 */
#ifndef RPCRDMA_GATEWAY_PROBE_H
#define RPCRDMA_GATEWAY_PROBE_H

#include <stdatomic.h>

struct gateway;

/* Zeroed at first. */
struct gw_probe {
	atomic_int state;
};

/* A connection to the server's address @index failed with @error before RDMA was
 * established. Any thread. */
void gw_probe_failed(struct gw_probe *p, unsigned int index, int error);
/* A connection was established: look again at the next failure. Any thread. */
void gw_probe_good(struct gw_probe *p);
/* Ask by TCP if a connection has failed, and log what was found. Waits up to 2 s for
 * an answer. Main thread, now and then. */
void gw_probe_run(struct gw_probe *p, struct gateway *gw);

#endif /* RPCRDMA_GATEWAY_PROBE_H */
