/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * last_provider - which provider the server used when it started before
 *
 * A client of a device may not be able to connect to software, nor the other way round. So a
 * server that chooses another provider than before says so. Its choice is kept in a file in
 * Ganesha's RecoveryRoot, which servers that take over from each other share, like their
 * clients.
 */
#ifndef RPCRDMA_GANESHA_LAST_PROVIDER_H
#define RPCRDMA_GANESHA_LAST_PROVIDER_H

#include <stdbool.h>

#include "ganesha/bind/gsh.h"

#define GR_ROOT_ROOM 1024

/* Set @root to RecoveryRoot of NFSv4 in @tree. Context: main thread. */
void gr_recovery_root(const struct gsh *g, struct gsh_config *tree,
		      char root[GR_ROOT_ROOM]);
/*
 * Note in @root that the server uses @provider. If auto has @chosen it, return the provider that
 * the server used before, if that is another one, after logging it, and log a failure. Otherwise
 * return NULL.
 */
const char *gr_last_provider(const struct gsh *g, const char *root,
			     const char *provider, bool chosen);

#endif /* RPCRDMA_GANESHA_LAST_PROVIDER_H */
