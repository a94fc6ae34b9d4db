/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rados - the libraries by which Ganesha uses Ceph's RADOS for its own
 *
 * They are in packages of their own, of which Ganesha's messages do not say the name.
 */
#ifndef RPCRDMA_GANESHA_RADOS_H
#define RPCRDMA_GANESHA_RADOS_H

#include "ganesha/bind/gsh.h"

/*
 * Ganesha has parsed a file, as @tree, or NULL, with the messages @e. Log what the file
 * needs of RADOS and is not installed, and print it to @also, which may be NULL. Returns
 * true if it needs nothing more: else Ganesha does not start. Context: main thread.
 */
bool gr_rados_check(const struct gsh *g, struct gsh_config *tree,
		    const struct gsh_config_errors *e, FILE *also);

#endif /* RPCRDMA_GANESHA_RADOS_H */
