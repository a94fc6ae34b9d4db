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
	bool required_said; /* as read from the file, see gr_config_load() */
	uint16_t port;
	struct gr_addrs bind; /* none: where NFS over TCP listens */
	uint32_t provider; /* enum gr_provider */
	uint32_t pollers;
	uint64_t recv_size;
	bool reverse_direction;
	uint32_t host_share; /* percent */
	bool host_share_said;
	struct gr_shared shared;
	uint32_t idle_timeout; /* seconds */
	uint32_t auth; /* enum rt_auth_policy */
	char *auth_keytab, *auth_principal, *auth_allow; /* or empty */
	uint32_t crc; /* enum fab_crc */
	char *stats_socket; /* empty: none */
	bool rpcbind;

	/* Block RDMA_Debug. */
	bool worker_polling;
	uint64_t send_size;
	uint64_t busy_recv_size, idle_recv_size; /* xcharext */
	uint32_t idle_after; /* seconds */
	uint64_t placement_size; /* rtrext */
	uint64_t max_segment_size;
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

	/* While it is read: bit n: item n of gr_debug_items is there; and the
	 * block. */
	uint64_t there;
	const void *node;

	/* The first fault, "FILE:LINE: what", or "". */
	char fault[256];
	unsigned int fault_line;
};

/* The items of the RDMA block, of the RDMA_Debug block, and those of version 0.1 that
 * are in neither; each ended by one without a name. Version 0.1 had those of
 * RDMA_Debug in the RDMA block. */
extern const struct gsh_config_item gr_config_items[];
extern const struct gsh_config_item gr_debug_items[];
extern const struct gsh_config_item gr_old_items[];

/* An item that is a number of bytes; @name has no unit. */
struct gr_size {
	const char *name;
	uint64_t min, max, def;
	unsigned int step; /* it is a multiple of that */
};
/* NULL: that item is no size. */
const struct gr_size *gr_size_of(const char *name);
/* As it may be given: "4K", "1000"; @room: 24. */
void gr_size_text(uint64_t size, char *text, size_t room);
/* Set those among @items to their defaults, which the parser does not know. */
void gr_config_sizes(const struct gsh_config_item *items,
		     struct gr_config *cfg);

/* A line in the form that Ganesha gives its messages: file and line first. */
__attribute__((format(printf, 3, 4))) void
gr_complain(const void *node, struct gsh_config_errors *e, const char *format,
	    ...);
/* Keep a fault, if it is in the first line of the file that has one. */
void gr_config_first(struct gr_config *cfg, const char *path, unsigned int line,
		     const char *text);
/* The init of an item with a handler whose value needs no default. */
void *gr_keep(void *link_mem, void *self);

typedef int gr_commit_fn(void *node, void *link_mem, void *self,
			 struct gsh_config_errors *e);
/* The commit of a block for which nothing is to be done. */
gr_commit_fn gr_config_accept;
/* A block that is there once at most; what it is read into is the @param of
 * load_config_from_parse(). */
struct gsh_config_block gr_config_block(const char *interface, const char *name,
					const struct gsh_config_item *items,
					gr_commit_fn *commit);

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
/* A logger that takes nothing down. */
void gr_config_silent(char *msg, void *dest, struct gsh_config_errors *e);
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
