/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - the RDMA side of one NFS server
 *
 * Names of this folder begin with gr_, as in all of src/ganesha.
 */
#ifndef RPCRDMA_GANESHA_SERVER_H
#define RPCRDMA_GANESHA_SERVER_H

#include <stdatomic.h>

#include "ganesha/config/config.h"
#include "ganesha/serve/gate.h"
#include "ganesha/bind/gsh.h"
#include "ganesha/serve/control.h"
#include "ganesha/serve/resource.h"
#include "ganesha/serve/rpcbind.h"
#include "stats/socket.h"
#include "ganesha/serve/workers.h"
#include "ntirpc/back/back.h"
#include "rpcrdma/transport.h"

struct gr_server {
	const struct gsh *gsh;
	struct gr_config cfg;
	/* Ganesha's, from svc_init(). */
	svc_xprt_alloc_fun_t alloc_cb;
	svc_xprt_free_fun_t free_cb;

	struct gr_control control;
	SVCXPRT *parent; /* Ganesha's NFS/TCP listener; a reference is held */
	/* The address that the parent listens on, or Bind_Addr if it listens on all. Ganesha
	 * keeps the addresses of clients in this family. Family 0: not known. */
	struct sockaddr_storage tcp;
	struct sockaddr_storage
		bind; /* Bind_Addr of NFS_Core_Param, gr_tcp_address() */
	struct rt_instance *inst;
	struct auth_gss *auth; /* while there is an instance that may use it */
	const char *provider;
	struct gr_workers workers;
	struct gr_gates gates;
	uint64_t secret; /* in gr_xprt.peer, which tells clients apart */
	struct bc_server *back;
	struct stats_socket *stats;
	struct stats_source source;
	struct rt_listener
		*listener[STATS_MAX_LISTENERS]; /* of those in source */
	/* Provider = auto found no device; one has come since. */
	bool lacks_device;
	atomic_bool device_came;
	/* Called by the control thread when source.down or device_came has changed. */
	void (*state_changed)(void);
	struct gr_rpcbind rpcbind;
	atomic_uint clients; /* CLIENTs ever made */
	atomic_bool workers_gone; /* ntirpc has been shut down */
	char fault[GR_FAULT_ROOM]; /* why RDMA is not served; or "" */
	bool abandoned; /* a worker did not return: nothing may be freed */
};

/*
 * Start listening, with @parent as the model of our SVCXPRTs. Returns false after reporting the
 * reason, with nothing left behind; with cfg.required it ends the process instead.
 */
bool gr_server_start(struct gr_server *s, SVCXPRT *parent);
/*
 * Stop in two steps around ntirpc's own shutdown: drain the connections while there are workers to
 * answer Calls in progress, and free everything when the workers have ended. If a worker does not
 * return, nothing is freed, because it may use any of it.
 */
void gr_server_drain(struct gr_server *s);
void gr_server_free(struct gr_server *s);

/* Report why RDMA is not served. With cfg.required it ends the process. */
void gr_server_fault(struct gr_server *s, const char *what);
/* Likewise, if NFS is not served over TCP either. */
void gr_server_fault_tcp(struct gr_server *s, const char *what);

#endif /* RPCRDMA_GANESHA_SERVER_H */
