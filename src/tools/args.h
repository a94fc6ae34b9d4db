/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * args - values of command line options
 *
 * Each reader returns NULL and sets *@out, or returns a line that says what is
 * allowed, in @err, and leaves *@out alone. Any thread.
 */
#ifndef RPCRDMA_TOOLS_ARGS_H
#define RPCRDMA_TOOLS_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpcrdma/fabric.h"

#define ARG_ERR_LEN 256

struct arg_err {
	char text[ARG_ERR_LEN];
	bool unknown_name; /* a host name that cannot be resolved now */
};

struct arg_addr {
	struct sockaddr_storage addr;
	socklen_t len;
};

/* The addresses of a name, each once, in the order in which to try them. */
#define ARG_ADDRS 16
struct arg_addrs {
	struct arg_addr at[ARG_ADDRS];
	unsigned int n;
	bool is_name; /* may resolve to others later */
};

/* A decimal (or 0x...) number of @min to @max, with K, M, G for 1024s. */
const char *arg_number(const char *s, uint64_t min, uint64_t max, uint64_t *out,
		       struct arg_err *err);
const char *arg_number32(const char *s, uint32_t min, uint32_t max,
			 uint32_t *out, struct arg_err *err);
/* A number of milliseconds, @min to @max. */
const char *arg_ms(const char *s, uint64_t min, uint64_t max, uint64_t *out,
		   struct arg_err *err);
/* One of @names (NULL at the end); *@out is its index. */
const char *arg_choice(const char *s, const char *const *names,
		       unsigned int *out, struct arg_err *err);
/* "1", "2" or "any": as rt_config.versions. */
const char *arg_rdma_versions(const char *s, unsigned int *out,
			      struct arg_err *err);
/* "none", or names with commas between them: as rt_config.extensions. */
const char *arg_extensions(const char *s, unsigned int *out,
			   struct arg_err *err);
/* "off", "on" or "auto": as enum fab_crc. */
const char *arg_crc(const char *s, enum fab_crc *out, struct arg_err *err);
/*
 * "192.0.2.1:20049", "[2001:db8::1]:20049", "name:20049"; with @port not 0
 * the port may be left out, also behind a bare IPv6 address. Blocks while a name
 * is looked up. Of a name with more than ARG_ADDRS addresses the first are taken.
 */
const char *arg_addrs(const char *s, unsigned int port, struct arg_addrs *out,
		      struct arg_err *err);
/* Compare addresses and ports. */
bool arg_addr_same(const struct arg_addr *a, const struct arg_addr *b);
/* Add the addresses of @more that @to does not have. Returns false if there is no room for
 * all: then some are added. */
bool arg_addrs_add(struct arg_addrs *to, const struct arg_addrs *more);
/* The first one only. */
const char *arg_addr(const char *s, unsigned int port, struct arg_addr *out,
		     struct arg_err *err);
/* A provider that is built in. */
const char *arg_provider(const char *s, const char **out, struct arg_err *err);
/* Returns why a provider could not be opened, and what to do. */
const char *arg_provider_fault(int err);

#endif /* RPCRDMA_TOOLS_ARGS_H */
