/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcbind - register NFS on netids "rdma" and "rdma6" at the local rpcbind
 *
 * RFC 8166, 8 names the netids, RFC 5665, 5.2.3 the form of the addresses.
 * rpcbind keeps one address for a program, version and netid. It knows the user of
 * a client on its UNIX socket, so only the user that made a registration, or root,
 * can remove it.
 */
#ifndef RPCRDMA_GANESHA_RPCBIND_H
#define RPCRDMA_GANESHA_RPCBIND_H

#include <pthread.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "ganesha/bind/gsh.h"

#define GR_RPCBIND_SOCKET "/run/rpcbind.sock"

struct gr_rpcbind {
	/* NULL: nothing is registered, and nothing will be. */
	const struct gsh *gsh;
	const char *path; /* its socket; NULL: GR_RPCBIND_SOCKET */
	/* Protects what follows. Held while rpcbind is asked. */
	pthread_mutex_t lock;
	/* The first address of each family that is served; family 0: none. */
	struct sockaddr_storage at, at6;
	uint32_t prog;
	unsigned int versions; /* bit n: version n is registered */
	bool began, failed, ended;
};

/*
 * Register a version of @prog, which is the same every time, in place of what an earlier
 * server may have left. A failure is logged once and otherwise ignored, because a client that
 * knows the port does not ask rpcbind. Waits a few seconds at most. Context: Ganesha's main
 * thread, during its start.
 */
void gr_rpcbind_set(struct gr_rpcbind *rb, uint32_t prog, uint32_t vers);
/* Have @at and @at6 registered from now on, instead of the addresses before. A failure is logged.
 * Waits a few seconds at most. Context: any thread. */
void gr_rpcbind_move(struct gr_rpcbind *rb, const struct sockaddr_storage *at,
		     const struct sockaddr_storage *at6);
/* Withdraw all registrations; none follow. No effect when repeated. Waits a few seconds at most.
 * Context: any thread. */
void gr_rpcbind_withdraw(struct gr_rpcbind *rb);

#endif /* RPCRDMA_GANESHA_RPCBIND_H */
