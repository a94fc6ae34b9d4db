/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - the RDMA side of one NFS server
 */
#ifndef RPCRDMA_GANESHA_SERVER_H
#define RPCRDMA_GANESHA_SERVER_H

#include <stdatomic.h>

#include "ganesha/config/config.h"
#include "ganesha/serve/gate.h"
#include "ganesha/bind/gsh.h"
#include "ganesha/serve/control.h"
#include "ganesha/serve/needs.h"
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
	/* Where that listens, or was told to where it listens everywhere. All that
	 * Ganesha knows of clients is of this family. Family 0: not known. */
	struct sockaddr_storage tcp;
	struct sockaddr_storage bind; /* where it was told to: gr_check_bind() */
	struct rt_instance *inst;
	struct auth_gss *auth; /* while there is an instance that may use it */
	const char *provider;
	struct gr_workers workers;
	struct gr_gates gates;
	uint64_t secret; /* of what tells hosts from each other: gr_xprt.peer */
	struct bc_server *back;
	struct stats_socket *stats;
	struct stats_source source;
	struct rt_listener
		*listener[STATS_MAX_LISTENERS]; /* of those in source */
	/* Provider = auto found no device; one has come since. */
	bool lacks_device;
	atomic_bool device_came;
	/* Of source.down and device_came. By the control thread, once the server runs. */
	void (*reach_changed)(void);
	struct gr_rpcbind rpcbind;
	atomic_uint clients; /* CLIENTs ever made */
	/* Sessions without a back channel, as their hosts have too many, that
	 * have not been logged; when one last was, CLOCK_MONOTONIC ns. */
	atomic_uint full;
	_Atomic uint64_t full_logged;
	atomic_bool workers_gone; /* ntirpc has been shut down */
	char fault[GR_FAULT_ROOM]; /* why RDMA is not served; or "" */
	bool abandoned; /* by drain: a worker may still use any of it */
};

/*
 * Start listening, with @parent as the model of our SVCXPRTs. False: has been
 * reported, and nothing is left behind. With cfg.required it does not return
 * then.
 */
bool gr_server_start(struct gr_server *s, SVCXPRT *parent);
/*
 * In two steps around ntirpc's own shutdown: end the connections while there
 * are workers to answer what is in progress; free when they are gone. If one is not
 * by then, all is left as it is: it may still use any of it.
 */
void gr_server_drain(struct gr_server *s);
void gr_server_free(struct gr_server *s);

/* Report why RDMA is not served; ends the program with cfg.required. */
void gr_server_fault(struct gr_server *s, const char *what);
/* Likewise, if NFS is not served over TCP either. */
void gr_server_fault_tcp(struct gr_server *s, const char *what);

#endif /* RPCRDMA_GANESHA_SERVER_H */
