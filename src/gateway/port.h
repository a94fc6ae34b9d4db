/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port - is the server's port that of NFS over TCP?
 *
 * Whoever gives --server the port of NFS over TCP sees no more than that nothing
 * answers by RDMA. So, when a connection has failed before RDMA was there, the
 * main thread asks once by TCP. A server of RDMA would tell its log of that as of
 * something that is no client: it is never asked unless it has failed.
 */
#ifndef RPCRDMA_GATEWAY_PORT_H
#define RPCRDMA_GATEWAY_PORT_H

#include <stdatomic.h>

struct gateway;

/* Zeroed at first. */
struct gw_port {
	atomic_int state;
};

/* A connection to the server's address @index has failed with @error, and RDMA was
 * not there yet. Any thread. */
void gw_port_failed(struct gw_port *p, unsigned int index, int error);
/* RDMA is there: another failure is to be looked at anew. Any thread. */
void gw_port_good(struct gw_port *p);
/* Look, if there is a reason, and tell what was found. Waits for an answer for a
 * moment. Main thread, now and then. */
void gw_port_look(struct gw_port *p, struct gateway *gw);

#endif /* RPCRDMA_GATEWAY_PORT_H */
