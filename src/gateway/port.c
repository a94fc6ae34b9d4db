/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port - see port.h
 */
#include <errno.h>
#include <syslog.h>

#include "base/addr.h"
#include "gateway/gateway.h"
#include "gateway/port.h"
#include "tools/rpc_tcp.h"
#include "rpcrdma/nfs.h"

#define ANSWER_MS 2000
#define NFS_VERSION 3

enum state { NOTHING, FAILED, LOOKED };

void gw_port_failed(struct gw_port *p, int error)
{
	int nothing = NOTHING;

	switch (error) {
	case -ECONNREFUSED: /* nobody listens there, for TCP either */
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return;
	default:
		atomic_compare_exchange_strong(&p->state, &nothing, FAILED);
	}
}

void gw_port_good(struct gw_port *p)
{
	atomic_store(&p->state, NOTHING);
}

void gw_port_look(struct gw_port *p, struct gateway *gw)
{
	const struct arg_addr *server = &gw->opt.rdma.server;
	const struct sockaddr *addr = (const struct sockaddr *)&server->addr;
	int failed = FAILED;
	char name[64];

	if (!atomic_compare_exchange_strong(&p->state, &failed, LOOKED) ||
	    !rpc_tcp_answers(addr, server->len, ULB_PROG_NFS, NFS_VERSION,
			     ANSWER_MS))
		return;
	fab_addr_name(addr, name, sizeof(name));
	gw_log(gw, LOG_ERR,
	       "server %s: this is a port of RPC over TCP, such as NFS; that of RPC-over-RDMA is 20049 by default",
	       name);
}
