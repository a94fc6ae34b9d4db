/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * server - the RDMA side of one NFS server
 *
 * Context: Ganesha's main thread starts the server, and its admin thread ends it, one at a
 * time. The control thread (control.h) does the work, because of the device. Ganesha's
 * other threads use the transport by Replies, reverse Calls and the end of connections
 * (conn_ops.c). The members of struct gr_server that these read do not change meanwhile.
 */
#ifndef RPCRDMA_GANESHA_SERVER_H
#define RPCRDMA_GANESHA_SERVER_H

#include <stdatomic.h>

#include "ganesha/bind/gsh.h"
#include "ganesha/config/config.h"
#include "ganesha/serve/accounting.h"
#include "ganesha/serve/admin.h"
#include "ganesha/serve/control.h"
#include "ganesha/serve/host.h"
#include "ganesha/serve/last_provider.h"
#include "ganesha/serve/listeners.h"
#include "ganesha/serve/liveness.h"
#include "ganesha/serve/port_watch.h"
#include "ganesha/serve/resource.h"
#include "ganesha/serve/rpcbind.h"
#include "ganesha/serve/workers.h"
#include "ntirpc/back/back.h"
#include "ntirpc/nfs_client.h"
#include "rpcrdma/transport.h"
#include "stats/socket.h"

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
	struct sockaddr_storage bind; /* gr_tcp_address() */
	char recovery_root[GR_ROOT_ROOM];
	struct rt_instance *inst;
	struct auth_gss *auth; /* while there is an instance that may use it */
	const char *provider;
	struct gr_workers workers;
	struct gr_liveness liveness; /* initialized by the owner */
	struct gr_hosts hosts;
	uint64_t secret; /* for gr_xprt.peer */
	struct bc_server *back;
	struct stats_socket *stats;
	struct stats_source source;
	struct gr_admin admin;
	struct gr_listeners listeners;
	atomic_bool reloaded; /* the settings may have other addresses */
	struct gr_port_watch ports; /* control thread */
	struct gr_accounting accounting; /* control thread */
	struct nrt_names names; /* of NFSv4 clients */
	bool lacks_device; /* Provider = auto found none */
	atomic_bool device_came; /* there is one now */
	/* Called when the listeners, device_came or admin.draining have changed. Context: any
	 * thread. */
	void (*state_changed)(void);
	struct gr_rpcbind rpcbind;
	atomic_uint clients; /* CLIENTs ever created */
	atomic_bool workers_gone; /* ntirpc has been shut down */
	char fault[GR_FAULT_ROOM]; /* why RDMA is not served; or "" */
	bool abandoned; /* a worker did not return: nothing may be freed */
};

/*
 * Start listening, with @parent as the model of our SVCXPRTs. Returns false after reporting the
 * reason, with nothing left behind; with cfg.required it ends the process instead.
 */
bool gr_server_start(struct gr_server *s, SVCXPRT *parent);
/* Have the control thread open and close listeners as the settings in use say. It does not wait for
 * that. No effect if RDMA is not served. Context: any thread. */
void gr_server_reload(struct gr_server *s);
/*
 * End in two steps around ntirpc's own shutdown: drain the connections while workers can still
 * answer Calls in progress, and free everything after the workers have ended. If a worker does not
 * return, nothing is freed.
 */
void gr_server_drain(struct gr_server *s);
void gr_server_free(struct gr_server *s);

/* Report why RDMA is not served. With cfg.required it ends the process. */
void gr_server_fault(struct gr_server *s, const char *what);
/* Likewise, if NFS is not served over TCP either. */
void gr_server_fault_tcp(struct gr_server *s, const char *what);

/* ---- Between the files of the server, and for --check-config ------------- */

/* conn_ops.c: the operations of connections. */
extern const struct rt_ops gr_server_ops;
/* Resume a Call that has waited for others of its host. Context: any thread. */
void gr_server_resume(struct gr_hosts *hosts, struct svc_req *req);

/*
 * server_listen.c: create s->inst with the provider that s->cfg chooses for the addresses that go with
 * s->tcp, and open a listener on one of these. @cfg has the settings in use. Both return 0, or a
 * negative errno with a @fault as below. Nothing is accepted before a poller runs. Context: control
 * thread.
 */
int gr_server_create(struct gr_server *s, char *fault);
int gr_server_listen(struct gr_server *s, const struct gr_config *cfg,
		     struct gr_listener *l, char *fault);

/*
 * server_start.c: start everything from the keys to the statistics. Returns 0 or a negative errno; then
 * @fault, of GR_FAULT_ROOM, says what to do or is unchanged, and gr_server_free() frees what was
 * created. Context: control thread.
 */
int gr_server_begin(struct gr_server *s, char *fault);

#endif /* RPCRDMA_GANESHA_SERVER_H */
