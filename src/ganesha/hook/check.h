/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check - what the launcher asks the library
 */
#ifndef RPCRDMA_GANESHA_CHECK_H
#define RPCRDMA_GANESHA_CHECK_H

#include <stdbool.h>
#include <stdio.h>

struct gr_config;
struct gsh;
struct gsh_config;
struct gsh_config_errors;
struct sockaddr_storage;

/*
 * After the parse, of which @e has the messages: tell, as a line, what seems to be
 * missing where the file could not be read. The rest takes it into account.
 * Main thread.
 */
void rpcrdma_ganesha_syntax(const struct gsh_config_errors *e,
			    void (*tell)(void *ctx, const char *text),
			    void *ctx);
enum rpcrdma_verdict {
	RPCRDMA_SERVED,
	RPCRDMA_NOT_SERVED,
	RPCRDMA_NO_SERVER, /* Ganesha itself would not start */
};

/*
 * For --check-config: print to @out what the RDMA block of @tree means, which
 * was read from @path. Would RDMA be served with it? If not, Ganesha's log,
 * standard error or @out says why. *@complaints: how many lines there were to
 * say of it. Main thread.
 */
enum rpcrdma_verdict rpcrdma_ganesha_check(struct gsh_config *tree,
					   const char *path, FILE *out,
					   unsigned int *complaints);

/*
 * For --check-config, in a process that has no other purpose, and after which nothing
 * of it is left: load the FSALs that the EXPORT blocks of @tree name, as far as it is
 * known of them that they read their items before anything else. Before Ganesha's own
 * are started. False: there is none. Main thread.
 */
bool rpcrdma_ganesha_fsals(struct gsh_config *tree);
/* There, with Ganesha's own: have these FSALs read their items, and tell in the log what
 * they say of them. How many lines. Main thread. */
unsigned int rpcrdma_ganesha_items(struct gsh_config *tree);

/*
 * Has this machine what the server needs for @cfg: a key for host
 * authentication, the provider, the addresses? What is missing is printed to
 * @said, in the server's words, a line each. A port that the running server has, as
 * its statistics tell, is no fault, and @out is told; a server with another
 * configuration than @file and another socket is not that one. Nothing listens
 * meanwhile, and nothing is left behind. *@complaints: more by what was logged of
 * the settings.
 * @tcp: where NFS over TCP would listen. Logs as the server does. The process must
 * have the server's rights. Any thread.
 */
bool gr_check_machine(const struct gsh *g, const struct gr_config *cfg,
		      const char *file, const struct sockaddr_storage *tcp,
		      FILE *out, FILE *said, unsigned int *complaints);
/* What @tree has for Bind_Addr in NFS_Core_Param, 0.0.0.0 by default; without a port.
 * Main thread. */
void gr_check_bind(const struct gsh *g, struct gsh_config *tree,
		   struct sockaddr_storage *at);
/* Where NFS over TCP would listen with @tree. Would it? If not, @said is told why;
 * also, which is no fault, if it needs an rpcbind that is not there. Main thread. */
bool gr_check_tcp(const struct gsh *g, struct gsh_config *tree,
		  struct sockaddr_storage *tcp, FILE *said);
/* Has this machine that address? If not, Ganesha would end, and @said is told. Any
 * thread. */
bool gr_check_tcp_address(const struct sockaddr_storage *tcp, FILE *said);

#define RPCRDMA_EXPORTS 48
/* What there is to say of the exports of @tree, of which so many are @served: "; no
 * exports" or the like; or "". Any thread that has @tree. */
void rpcrdma_ganesha_exports(struct gsh_config *tree, unsigned int served,
			     char text[RPCRDMA_EXPORTS]);

#define RPCRDMA_STATE 640
/* Wait for the end of Ganesha's start: that there is no NFS over TCP is a fault then, and
 * ends the server where RDMA is required. Tell the service manager that it is over, how
 * it is with RDMA, as one line, and what there is to say of the @exports, or "". */
void rpcrdma_ganesha_ready(const char *exports);

#endif /* RPCRDMA_GANESHA_CHECK_H */
