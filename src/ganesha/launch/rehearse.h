/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rehearse - start the packaged Ganesha with a configuration, and see how far it gets
 */
#ifndef RPCRDMA_GANESHA_REHEARSE_H
#define RPCRDMA_GANESHA_REHEARSE_H

#include <stdbool.h>

struct rehearsal {
	const char *program; /* ganesha.nfsd */
	const char
		*preload; /* LD_PRELOAD: librpcrdma-rehearsal.so, by its path */
	const char *config; /* the file */
	bool strict; /* what Ganesha logs as CRIT or MAJ is a failure, too */
};

enum rehearsed {
	REHEARSED, /* the server would start */
	REHEARSAL_FAILED, /* it would not, or @strict refuses it */
	NOT_REHEARSED, /* this process may not */
};

/*
 * Start @r->program with @r->config in mount, network and PID namespaces of its own
 * until it is initialised or has failed, 20 s at most. Nothing remains of it, and a
 * running server does not notice. Ganesha's messages and the verdict go to standard
 * error; to standard output, as comments of ganesha.conf, how many exports would be
 * served and what was not rehearsed.
 */
enum rehearsed rehearse(const struct rehearsal *r);

#endif /* RPCRDMA_GANESHA_REHEARSE_H */
