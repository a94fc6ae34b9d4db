/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what --check-config finds out about the RDMA block and this machine
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
 * Check what Ganesha has parsed of the file @path: @tree, or NULL, with the messages @e,
 * which this ends. Print to standard output the RDMA block as it is taken, with notes as
 * comments, and to standard error what is wrong. Context: main thread.
 */
enum gr_checked gr_check(struct gr_file *f, const char *path,
			 struct gsh_config *tree, struct gsh_config_errors *e,
			 bool strict);

/*
 * Returns true if this machine has what the server needs for @cfg: a key for host
 * authentication, the provider, the addresses and ports. What is missing is printed to
 * @said in the server's words, a line each; notes go to @out, warnings to the log of @g.
 * A port that the running server has, as its statistics tell, is no fault. It
 * listens meanwhile, and accepts nobody. @tcp: where NFS over TCP would listen. The process must have the
 * server's rights. Context: any thread.
 */
bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const struct sockaddr_storage *tcp, FILE *out,
		      FILE *said);

#endif /* RPCRDMA_GANESHA_CHECK_H */
