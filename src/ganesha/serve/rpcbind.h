/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcbind - the netids "rdma" and "rdma6" of NFS at the local rpcbind
 *
 * RFC 8166, 8 names the netids, RFC 5665, 5.2.3 the form of the addresses.
 * rpcbind keeps one address for a program, version and netid. It believes
 * whoever comes by its UNIX socket to be who he is, so that what a server has
 * registered only it, or root, takes away.
 */
#ifndef RPCRDMA_GANESHA_RPCBIND_H
#define RPCRDMA_GANESHA_RPCBIND_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "ganesha/bind/gsh.h"

#define GR_RPCBIND_SOCKET "/run/rpcbind.sock"

/* All zero: nothing is or will be registered. */
struct gr_rpcbind {
	const struct gsh *gsh;
	const char *path; /* of its socket; GR_RPCBIND_SOCKET if NULL */
	/* Where it is served: the first of each family; or none, family 0. */
	struct sockaddr_storage at, at6;
	uint32_t prog;
	atomic_uint versions; /* bit n: version n is registered */
	bool began, failed;
};

/*
 * Register a version of @prog, which is the same every time, instead of what a
 * server before this one may have left there. What does not work is logged,
 * once, and of no further consequence: a client that is told the port does not
 * ask. Waits a few seconds at most.
 */
void gr_rpcbind_set(struct gr_rpcbind *rb, uint32_t prog, uint32_t vers);
/* Withdraw all of that. Any thread; harmless when repeated. */
void gr_rpcbind_withdraw(struct gr_rpcbind *rb);

#endif /* RPCRDMA_GANESHA_RPCBIND_H */
