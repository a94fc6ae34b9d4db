/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - --check-config: check the RDMA block and this machine
 *
 * The launcher starts the packaged program with GR_ENV_CHECK in the environment; this
 * library then checks the file as soon as Ganesha has parsed it, and ends the
 * process: nothing else of Ganesha has started by then.
 */
#ifndef RPCRDMA_GANESHA_CHECK_H
#define RPCRDMA_GANESHA_CHECK_H

#include <stdbool.h>
#include <stdio.h>

#include "ganesha/hook/preload.h"

struct gr_config;
struct gr_file;
struct gsh;
struct gsh_config;
struct gsh_config_errors;
struct sockaddr_storage;

/*
 * Check what Ganesha has parsed of the file @path: @tree, or NULL, with the messages @e, which
 * this ends. Print the RDMA block in use to standard output, with notes as comments, and
 * faults to standard error. Context: main thread.
 */
enum gr_checked gr_check(struct gr_file *f, const char *path,
			 struct gsh_config *tree, struct gsh_config_errors *e,
			 bool strict);

/*
 * Returns true if this machine has what the server needs for @cfg: a key for host
 * authentication, the provider, the addresses and ports. Print what is missing to @said, a
 * line each, in the server's words, and notes to @out; warnings go to the log of @g. A port
 * that belongs to the running server, according to its statistics, is no fault. This listens
 * meanwhile, but accepts no connection. @tcp is where NFS over TCP would listen. The process
 * must have the server's rights. Context: any thread.
 */
bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const struct sockaddr_storage *tcp, FILE *out,
		      FILE *said);

#endif /* RPCRDMA_GANESHA_CHECK_H */
