/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * options - the command line of rpcrdma-gateway
 */
#ifndef RPCRDMA_GATEWAY_OPTIONS_H
#define RPCRDMA_GATEWAY_OPTIONS_H

#include "tools/conf.h"
#include "tools/rdma_options.h"

#define GW_MAX_LISTEN 8
#define GW_MAX_SERVERS 8

struct gw_options {
	struct arg_addr listen[GW_MAX_LISTEN];
	unsigned int nlisten;
	struct rdma_options rdma; /* its server: the addresses of all servers */
	const char *server[GW_MAX_SERVERS]; /* as --server has them */
	unsigned int nservers;
	bool servers_of_file, in_file; /* while options are read */
	unsigned int threads;
	unsigned int max_clients;
	unsigned int max_calls; /* outstanding for each client */
	size_t max_record;
	uint32_t reduce_min; /* octets; shorter data items stay inline */
	unsigned int retry_seconds;
	const char *stats_socket, *stats_file;
	bool stats;
	bool reserved_ports; /* from others only Kerberos is accepted */
	int log_level;
	const char *conf_path;
	struct conf conf; /* --config's text, which others point into */
};

/* Returns 0, or -1 after --help, --version, or one line on stderr about a bad command
 * line; @status is the exit status then. */
int gw_options_parse(struct gw_options *o, int argc, char **argv, int *status);
void gw_options_free(struct gw_options *o);

#endif /* RPCRDMA_GATEWAY_OPTIONS_H */
