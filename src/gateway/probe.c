/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe - is the server's port that of NFS over TCP: probe.h
 */
#include <errno.h>
#include <syslog.h>

#include "base/addr.h"
#include "gateway/gateway.h"
#include "gateway/probe.h"
#include "tools/rpc_tcp.h"
#include "rpcrdma/nfs.h"

#define ANSWER_MS 2000
#define NFS_VERSION 3

/* FAILED and above: FAILED + index of the address. */
enum state { NOTHING, LOOKED, FAILED };

void gw_probe_failed(struct gw_probe *p, unsigned int index, int error)
{
	int nothing = NOTHING;

	switch (error) {
	case -ECONNREFUSED: /* nobody listens there, for TCP either */
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return;
	default:
		atomic_compare_exchange_strong(&p->state, &nothing,
					       FAILED + (int)index);
	}
}

void gw_probe_good(struct gw_probe *p)
{
	atomic_store(&p->state, NOTHING);
}

void gw_probe_run(struct gw_probe *p, struct gateway *gw)
{
	/* Nobody but this thread changes them. */
	const struct arg_addrs *server = &gw->server.addrs;
	int state = atomic_load(&p->state), i = state - FAILED;
	const struct sockaddr *addr;
	char name[64];

	if (i < 0 || i >= (int)server->n ||
	    !atomic_compare_exchange_strong(&p->state, &state, LOOKED))
		return;
	addr = (const struct sockaddr *)&server->at[i].addr;
	if (!rpc_tcp_answers(addr, server->at[i].len, ULB_PROG_NFS, NFS_VERSION,
			     ANSWER_MS))
		return;
	base_addr_name(addr, name, sizeof(name));
	gw_log(gw, LOG_ERR,
	       "server %s: this is a port of RPC over TCP, such as NFS; that of RPC-over-RDMA is 20049 by default",
	       name);
}
