/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - an instance's statistics as one JSON document. Prefix: stats_.
 */
#ifndef RPCRDMA_STATS_JSON_H
#define RPCRDMA_STATS_JSON_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "rpcrdma/stats.h"
#include "rpcrdma/transport.h"

#define STATS_MAX_LISTENERS 16

/* What a server says of itself. */
struct stats_server {
	/* The settings in use that are not those of its file, or "". */
	char not_of_file[1024];
	/* Exports that its file describes, and how many of all are served. */
	unsigned int exports_expected, exports;
	time_t reloaded; /* when its file was last read again; 0: never */
	bool reload_failed; /* it, or its RDMA block, had errors and was not applied */
};

struct stats_source {
	struct rt_instance *inst;
	const char *program; /* "ganesha", "rpcrdma-gateway", ... */
	/* NULL for a program of this project */
	const char *program_version;
	const char *provider;
	/* The one that was chosen at the last start, if it was another; else NULL. */
	const char *last_provider;
	uint64_t started; /* base_now_ns() */
	/* Protects the listeners, if they may change while others read; or NULL. A leaf. */
	pthread_mutex_t *lock;
	unsigned int nlisteners;
	char listener[STATS_MAX_LISTENERS][64]; /* "192.0.2.1:20049" */
	bool down[STATS_MAX_LISTENERS]; /* unreachable now */
	/* Set @out. NULL: the program is no server. Context: any thread. */
	void (*server)(void *ctx, struct stats_server *out);
	void *server_ctx;
};

/* Print one document and a newline. Context: any thread. */
void stats_json(FILE *f, const struct stats_source *src);

#endif /* RPCRDMA_STATS_JSON_H */
