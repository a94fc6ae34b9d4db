/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - Ganesha's own ports, without which it ends: are they free?
 *
 * For --check-config. Nothing here keeps state.
 */
#ifndef RPCRDMA_GANESHA_PORTS_H
#define RPCRDMA_GANESHA_PORTS_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>

#include "ganesha/bind/gsh.h"

struct gr_ports {
	struct sockaddr_storage at; /* the address of all of them */
	/* Of the server that may be running with this configuration: its file, and where
	 * it tells its statistics, as in gr_running_ask(). */
	const char *file, *socket;
	const char *proc; /* where that file system is */
	uint16_t rdma; /* the port of RDMA, over TCP; 0: none */
	FILE *out, *said;
};

/*
 * Would a server with @tree get the sockets that it binds when it starts: NFS_Port,
 * MNT_Port, NLM_Port and Rquota_Port, over TCP and UDP, as NFS_Core_Param has them? If
 * not, @said is told of each: who has it, and what to do. What the running server has is
 * no fault, and @out is told. Sockets are bound for a moment, and none listens. Any thread
 * that has @tree; may wait as gr_running_ask() does.
 */
bool gr_ports_check(const struct gsh *g, struct gsh_config *tree,
		    const struct gr_ports *p);
/* Is RDMA's port one of these, but NFS_Port? Then @said is told, as that program is not
 * served over TCP. */
bool gr_ports_clash(const struct gsh *g, struct gsh_config *tree,
		    const struct gr_ports *p);

/* Does NFS_Core_Param of @tree have NFSv4 among its Protocols, or none? */
bool gr_ports_nfs4(const struct gsh *g, struct gsh_config *tree);

#endif /* RPCRDMA_GANESHA_PORTS_H */
