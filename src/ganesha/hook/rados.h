/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rados - check for the libraries with which Ganesha itself uses Ceph's RADOS
 *
 * They are in packages of their own, which Ganesha's messages do not name.
 */
#ifndef RPCRDMA_GANESHA_RADOS_H
#define RPCRDMA_GANESHA_RADOS_H

#include "ganesha/bind/gsh.h"

/*
 * Check that the libraries are installed that a file needs. Ganesha has parsed it as @tree,
 * which may be NULL, with the messages @e. Log what is missing, and print it to @also, which
 * may be NULL. Returns false if something is missing, because Ganesha does not start then.
 * Context: main thread.
 */
bool gr_rados_check(const struct gsh *g, struct gsh_config *tree,
		    const struct gsh_config_errors *e, FILE *also);

#endif /* RPCRDMA_GANESHA_RADOS_H */
