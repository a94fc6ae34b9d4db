/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - an instance's statistics as one JSON document
 */
#ifndef RPCRDMA_STATS_JSON_H
#define RPCRDMA_STATS_JSON_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#include "rpcrdma/stats.h"
#include "rpcrdma/transport.h"

#define STATS_MAX_LISTENERS 16

struct stats_source {
	struct rt_instance *inst;
	const char *program; /* "ganesha", "rpcrdma-gateway", ... */
	/* Of a program that is not of this project. NULL: it is. */
	const char *program_version;
	const char *provider;
	uint64_t started; /* base_now_ns() */
	unsigned int nlisteners;
	char listener[STATS_MAX_LISTENERS][64]; /* "192.0.2.1:20049" */
	/* Of these: nobody can reach it now. Changes while others read it. */
	atomic_bool down[STATS_MAX_LISTENERS];
};

/* One document and a newline. Any thread. */
void stats_json(FILE *f, const struct stats_source *src);

#endif /* RPCRDMA_STATS_JSON_H */
