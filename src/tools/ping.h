/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ping - between the files of rpcrdma-ping
 */
#ifndef RPCRDMA_TOOLS_PING_H
#define RPCRDMA_TOOLS_PING_H

#include "tools/latency.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"
#include "tools/rdma_options.h"

enum {
	EXIT_ALL = 0, /* every Call was answered with success */
	EXIT_SOME = 1, /* some were not */
	EXIT_USAGE = 2,
	EXIT_NO_CONN = 3, /* no connection */
	EXIT_NO_DEVICE = 4, /* --report: no RDMA device can be used */
	EXIT_REFUSED = 5, /* the server is there, and refused the connection */
};

struct ping_options {
	struct rdma_options rdma;
	uint32_t program, version, proc;
	uint64_t count; /* 0: until a signal */
	uint64_t interval_ms, timeout_ms;
	unsigned int depth;
	bool version_given, flood, json, quiet, verbose, report;
};

/* ping_options.c. Returns a negative number, or the exit status. */
int ping_options(struct ping_options *o, int argc, char **argv);

struct ping {
	struct ping_options o;
	struct auth_gss *auth;
	struct rt_instance *inst;
	struct rt_conn *conn;
	struct fab_buf *calls; /* CALL_ROOM octets for each slot */
	struct rt_request **rq;
	unsigned int busy;
	uint32_t xid;
	unsigned int address; /* index of the server's current address */
	bool up, down, other_taken;
	int error;
	char reason[RT_AUTH_TEXT + 64];
	struct rt_conn_info info; /* as it was when established, then at end */
	uint64_t sent, answered, failed;
	char first_failure[128];
	struct latency lat;
	uint64_t started; /* base_now_ns() */
};

static inline const struct arg_addr *ping_address(const struct ping *p)
{
	return &p->o.rdma.server.at[p->address];
}

/* ping_report.c; @took: ns */
void ping_report_json(const struct ping *p, uint64_t took);
void ping_report_connection(const struct ping *p);
void ping_report_summary(const struct ping *p, uint64_t took);

#endif /* RPCRDMA_TOOLS_PING_H */
