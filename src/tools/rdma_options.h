/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rdma_options - options of the programs that connect to a server
 *
 * The gateway and the ping have them alike, beside others of their own.
 *
 * Called by main, before there are threads.
 */
#ifndef RPCRDMA_TOOLS_RDMA_OPTIONS_H
#define RPCRDMA_TOOLS_RDMA_OPTIONS_H

#include <getopt.h>

#include "tools/args.h"
#include "tools/hostauth.h"
#include "rpcrdma/config.h"

#define RDMA_SERVER_PORT 20049
#define RDMA_BUSY_POLL_MAX 1000 /* us */

/* Their values. Strings are those of the command line. */
struct rdma_options {
	struct arg_addrs server;
	const char *provider;
	struct rt_config config;
	struct fab_domain_params domain; /* without a log */
	struct hostauth hostauth;
};

/* In struct option.val, beside the program's own. */
enum rdma_option {
	RDMA_OPT_SERVER = 1024,
	RDMA_OPT_PROVIDER,
	RDMA_OPT_VERSIONS,
	RDMA_OPT_EXTENSIONS,
	RDMA_OPT_CREDITS,
	RDMA_OPT_RECV,
	RDMA_OPT_CRC,
	RDMA_OPT_SERVICE_TYPE,
	RDMA_OPT_BUSY_POLL,
	RDMA_OPT_HOST_AUTH,
	RDMA_OPT_KEYTAB,
	RDMA_OPT_PRINCIPAL,
	RDMA_OPT_SERVER_PRINCIPAL,
	RDMA_OPT_HOST_AUTH_TIMEOUT,
};

/* Rows for getopt_long(). */
#define RDMA_OPTION(name, val)                         \
	{                                              \
		(name), required_argument, NULL, (val) \
	}
#define RDMA_OPTIONS                                                        \
	RDMA_OPTION("server", RDMA_OPT_SERVER),                             \
		RDMA_OPTION("provider", RDMA_OPT_PROVIDER),                 \
		RDMA_OPTION("version-rdma", RDMA_OPT_VERSIONS),             \
		RDMA_OPTION("extensions", RDMA_OPT_EXTENSIONS),             \
		RDMA_OPTION("credits", RDMA_OPT_CREDITS),                   \
		RDMA_OPTION("recv-size", RDMA_OPT_RECV),                    \
		RDMA_OPTION("crc", RDMA_OPT_CRC),                           \
		RDMA_OPTION("service-type", RDMA_OPT_SERVICE_TYPE),         \
		RDMA_OPTION("busy-poll", RDMA_OPT_BUSY_POLL),               \
		RDMA_OPTION("host-auth", RDMA_OPT_HOST_AUTH),               \
		RDMA_OPTION("keytab", RDMA_OPT_KEYTAB),                     \
		RDMA_OPTION("principal", RDMA_OPT_PRINCIPAL),               \
		RDMA_OPTION("server-principal", RDMA_OPT_SERVER_PRINCIPAL), \
		RDMA_OPTION("host-auth-timeout", RDMA_OPT_HOST_AUTH_TIMEOUT)

/* Set the defaults in a zeroed structure. */
void rdma_options_init(struct rdma_options *o);
/* Returns true if @opt is one of these. Sets *@bad to NULL, or to what is wrong
 * with @value. */
bool rdma_options_set(struct rdma_options *o, int opt, const char *value,
		      const char **bad, struct arg_err *err);

#endif /* RPCRDMA_TOOLS_RDMA_OPTIONS_H */
