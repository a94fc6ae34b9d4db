/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - the blocks RDMA { } and RDMA_Debug { } of ganesha.conf
 *
 * Ganesha's own parser reads them, so a wrong value is reported like any other of the
 * file, with its name and line. setting.h has the table of the settings.
 *
 * The names of all folders in src/ganesha begin with gr_ (Ganesha, RDMA); those of bind,
 * which stand for Ganesha's own, with gsh_.
 *
 * Context: Ganesha's main thread, during its start, and whichever of its threads reads the
 * file again.
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

struct gr_devices {
	char names[256]; /* as in struct fab_domain_params; "": all */
};

struct gr_shared {
	bool on;
	uint32_t max; /* Receives of a device; 0: one for each credit */
};

struct gr_config {
	/* Settings of both blocks that the transport takes as they are.
	 * gr_config_transport() adds the others and the defaults. */
	struct rt_config rt;

	/* Block RDMA. */
	bool required;
	bool required_given; /* as read from the file, see gr_config_load() */
	uint16_t port;
	struct gr_addrs bind; /* none: where NFS over TCP listens */
	uint32_t provider; /* enum gr_provider */
	struct gr_devices devices;
	uint32_t pollers;
	bool reverse_direction;
	uint32_t host_share; /* percent */
	bool host_share_given;
	struct gr_shared shared;
	uint32_t idle_timeout; /* seconds */
	uint32_t auth; /* enum rt_auth_policy */
	char *auth_keytab, *auth_principal, *auth_allow; /* or empty */
	uint32_t crc; /* enum fab_crc */
	uint32_t service_type;
	bool service_type_given;
	char *stats_socket; /* empty: none */
	bool rpcbind;

	/* Block RDMA_Debug. */
	bool worker_polling;
	uint32_t idle_after; /* seconds */
	bool remote_invalidation;
	bool continued_replies;
	uint32_t startup_timeout, drain_timeout; /* seconds */
	uint32_t auth_timeout; /* seconds */
	uint32_t keepalive; /* seconds; 0: none */
	uint32_t ack_timeout; /* as in struct fab_domain_params */
	bool stats_dbus;

	/* Of version 0.1, in the RDMA block. */
	bool enable;
	uint32_t max_shared_old;

	/* There is no RDMA block, and the settings are those of NFS_Core_Param (dialect.h).
	 * Only then may nfs_versions lack bits of GR_NFS_ALL. */
	bool dialect;
	uint32_t nfs_versions;
	bool dialect_ignored; /* NFS_Core_Param asks for RDMA, beside an RDMA block */
	/* Ganesha serves RDMA itself, as NFS_Core_Param says, on this port; 0: it does not. */
	uint16_t native_port;

	/* Only while the file is read: bit n, the block has setting n of gr_settings; and
	 * the parser's node of the block. */
	uint64_t present;
	const void *node;

	/* The first fault, "FILE:LINE: what", or "". */
	char fault[256];
	unsigned int fault_line;
};

enum gr_config_result {
	GR_CONFIG_ABSENT, /* neither an RDMA block nor a dialect that asks for RDMA */
	GR_CONFIG_GOOD,
	GR_CONFIG_BAD, /* reported; cfg->required is valid */
};

/*
 * Read the blocks RDMA and RDMA_Debug of @tree, which may be NULL, or instead of them the
 * settings of the dialect (dialect.h). All faults are logged. The texts in @cfg belong to the
 * parser.
 */
enum gr_config_result gr_config_load(const struct gsh *g,
				     struct gsh_config *tree,
				     struct gr_config *cfg);
/* Set @rt to the settings of the transport, defaults included. The caller adds the sizes of
 * user areas. */
void gr_config_transport(const struct gr_config *cfg, struct rt_config *rt);
/* Returns the bytes of the Receives of one connection. */
size_t gr_config_receives(const struct gr_config *cfg);

/* Print all settings in the syntax of ganesha.conf, and what follows from them as comments. */
void gr_config_print(FILE *f, const struct gr_config *cfg);
/* Print the blocks of @cfg, with @value for the setting @s. */
void gr_config_print_with(FILE *f, const struct gr_config *cfg,
			  const struct gr_setting *s, const char *value);
/* Print the names of the settings that differ, with commas between them. Returns how many. */
unsigned int gr_config_differences(FILE *f, const struct gr_config *a,
				   const struct gr_config *b);

#endif /* RPCRDMA_GANESHA_CONFIG_H */
