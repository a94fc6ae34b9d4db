/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - the blocks RDMA { } and RDMA_Debug { } of ganesha.conf
 *
 * Read by Ganesha's own parser, so that a wrong value is reported like any
 * other of the file, with its name and line.
 */
#ifndef RPCRDMA_GANESHA_CONFIG_H
#define RPCRDMA_GANESHA_CONFIG_H

#include <netinet/in.h>
#include <stdio.h>

#include "ganesha/bind/gsh.h"
#include "ganesha/config/setting.h"
#include "rpcrdma/config.h"

#define GR_MAX_ADDRS 16
#define GR_STATS_SOCKET "/run/ganesha/rdma.sock"

enum gr_provider { GR_AUTO, GR_IWARP, GR_VERBS };

struct gr_addrs {
	unsigned int n;
	struct sockaddr_storage addr[GR_MAX_ADDRS]; /* without port */
};

struct gr_shared {
	bool on;
	uint32_t max; /* 0: as many as are promised */
};

struct gr_config {
	/* Of both blocks: what the transport takes as it stands here. The rest,
	 * and what follows from it, see gr_config_transport(). */
	struct rt_config rt;

	/* Block RDMA. */
	bool required;
	bool required_given; /* as read from the file, see gr_config_load() */
	uint16_t port;
	struct gr_addrs bind; /* none: where NFS over TCP listens */
	uint32_t provider; /* enum gr_provider */
	uint32_t pollers;
	bool reverse_direction;
	uint32_t host_share; /* percent */
	bool host_share_given;
	struct gr_shared shared;
	uint32_t idle_timeout; /* seconds */
	uint32_t auth; /* enum rt_auth_policy */
	char *auth_keytab, *auth_principal, *auth_allow; /* or empty */
	uint32_t crc; /* enum fab_crc */
	char *stats_socket; /* empty: none */
	bool rpcbind;

	/* Block RDMA_Debug. */
	bool worker_polling;
	uint32_t idle_after; /* seconds */
	bool remote_invalidation;
	bool continued_replies;
	uint32_t startup_timeout, drain_timeout; /* seconds */
	uint32_t auth_timeout; /* seconds */
	bool stats_dbus;

	/* Of version 0.1, in the RDMA block. */
	bool enable;
	uint32_t max_shared_old;

	/* There is no RDMA block: it is made of the words of dialect.h. Only then the
	 * versions of NFS may be limited, to these bits of dialect.h. */
	bool dialect;
	uint32_t nfs_versions;
	bool words_ignored; /* there are such words beside the RDMA block */
	/* Ganesha serves RDMA by these words itself, on this port; 0: it does not. */
	uint16_t native_port;

	/* Only while the file is read: bit n: the block has setting n of
	 * gr_settings; and the block in the tree of the parser. */
	uint64_t present;
	const void *node;

	/* The first fault, "FILE:LINE: what", or "". */
	char fault[256];
	unsigned int fault_line;
};

/* Keep a fault, if it is in the first line of the file that has one. */
void gr_config_first(struct gr_config *cfg, const char *path, unsigned int line,
		     const char *text);

enum gr_config_result {
	GR_CONFIG_ABSENT, /* no RDMA block, nor words that stand for one */
	GR_CONFIG_GOOD,
	GR_CONFIG_BAD, /* has been reported; cfg->required is as far known */
};

enum gr_config_result gr_config_load(const struct gsh *g,
				     struct gsh_config *tree,
				     struct gr_config *cfg);
/*
 * Report a block that was refused, and end @e: a line for each fault, and the
 * first to @cfg. @good, with room for all items of @block, is set to those that
 * have none.
 */
void gr_config_faults(const struct gsh *g, struct gsh_config *tree,
		      const struct gsh_config_block *block,
		      struct gsh_config_errors *e, struct gsh_config_item *good,
		      struct gr_config *cfg);
/* What the transport is given. Sizes of user areas are the caller's. */
void gr_config_transport(const struct gr_config *cfg, struct rt_config *rt);
/* Bytes that a connection has registered to receive in. */
size_t gr_config_receives(const struct gr_config *cfg);

/*
 * The block as it is taken: all items with their values, in the syntax of
 * ganesha.conf, and what follows from them as comments.
 */
void gr_config_print(FILE *f, const struct gr_config *cfg);
/* The items that are not the same, with commas between them; how many. */
unsigned int gr_config_differences(FILE *f, const struct gr_config *a,
				   const struct gr_config *b);

#endif /* RPCRDMA_GANESHA_CONFIG_H */
