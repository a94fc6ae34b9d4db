/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * logs - the LOG block: what keeps Ganesha from starting
 *
 * Threads: Ganesha's main thread, for --check-config.
 */
#ifndef RPCRDMA_GANESHA_LOGS_H
#define RPCRDMA_GANESHA_LOGS_H

#include "ganesha/bind/gsh.h"

/* What gr_logs_check() has for gr_logs_take(). */
struct gr_logs {
	bool asking;
	const struct gsh_config_block
		*theirs; /* Ganesha's own; NULL: not known */
};

/* Of @tree, which stays as it is. False: it would not start, and it has been said
 * why. */
bool gr_logs_check(struct gr_logs *l, const struct gsh *g,
		   struct gsh_config *tree);
/* By load_config_from_parse(): is this asked for by gr_logs_check(), which is all it
 * wants of it? */
bool gr_logs_take(struct gr_logs *l, const struct gsh_config_block *block);

#endif /* RPCRDMA_GANESHA_LOGS_H */
