/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - the RDMA { } block of ganesha.conf
 *
 * Read by Ganesha's own parser, so that a wrong value is reported like any
 * other of the file, with its name and line.
 */
#ifndef RPCRDMA_GANESHA_CONFIG_H
#define RPCRDMA_GANESHA_CONFIG_H

#include <netinet/in.h>
#include <stdio.h>

#include "ganesha/gsh.h"

#define GR_MAX_ADDRS 16
#define GR_STATS_SOCKET "/run/ganesha/rdma.sock"

enum gr_provider { GR_AUTO, GR_IWARP, GR_VERBS };

struct gr_addrs {
	unsigned int n;
	struct sockaddr_storage addr[GR_MAX_ADDRS]; /* without port */
};

struct gr_config {
	bool enable;
	bool required;
	bool required_said; /* as read from the file, see gr_config_load() */
	uint16_t port;
	struct gr_addrs bind; /* none: where NFS over TCP listens */
	uint32_t provider; /* enum gr_provider */
	uint32_t versions; /* bit n: version n */
	uint32_t extensions; /* RT_EXT_* */
	uint32_t pollers;
	bool worker_polling;
	uint32_t credits;
	uint32_t recv_size, send_size;
	uint32_t placement_size, max_transmissions;
	uint32_t max_segment_size, max_segments;
	uint32_t max_read_chunks, max_write_chunks;
	uint32_t max_message;
	uint64_t max_conn_memory, max_memory, max_host_memory;
	uint32_t max_connections, max_host_connections;
	bool remote_invalidation;
	bool continued_replies;
	bool reverse_direction;
	uint32_t reverse_credits;
	uint32_t busy_poll; /* microseconds */
	uint32_t busy_recv_size, idle_recv_size; /* xcharext */
	uint32_t idle_after; /* seconds */
	uint32_t idle_timeout, startup_timeout, drain_timeout; /* seconds */
	uint32_t crc; /* enum fab_crc */
	bool huge_pages;
	bool share_receives;
	uint32_t max_shared_receives;
	char *stats_socket; /* empty: none */
	bool stats_dbus;
	bool rpcbind;
	uint32_t auth; /* enum rt_auth_policy */
	char *auth_keytab, *auth_principal, *auth_allow; /* or empty */
	uint32_t auth_timeout; /* seconds */
};

/* Ended by one without a name. */
extern const struct gsh_config_item gr_config_items[];

enum gr_config_result {
	GR_CONFIG_ABSENT, /* no RDMA block: nothing to do */
	GR_CONFIG_GOOD,
	GR_CONFIG_BAD, /* has been reported; cfg->required is as far known */
};

enum gr_config_result gr_config_load(const struct gsh *g,
				     struct gsh_config *tree,
				     struct gr_config *cfg);
/* Report a block that was refused, and end @e: a line for each fault. */
void gr_config_faults(const struct gsh *g, struct gsh_config *tree,
		      const struct gsh_config_block *block,
		      struct gsh_config_errors *e);
/* What the transport is given. Sizes of user areas are the caller's. */
struct rt_config;
void gr_config_transport(const struct gr_config *cfg, struct rt_config *rt);

/*
 * The block as it is taken: all items with their values, in the syntax of
 * ganesha.conf, and what follows from them as comments.
 */
void gr_config_print(FILE *f, const struct gr_config *cfg);

#endif /* RPCRDMA_GANESHA_CONFIG_H */
