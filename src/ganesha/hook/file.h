/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - ganesha.conf, whenever it is read: what of it is for RDMA
 *
 * Context: Ganesha's main thread; gr_file_reload() whichever of its threads reads the
 * file again, on SIGHUP or by D-Bus.
 */
#ifndef RPCRDMA_GANESHA_FILE_H
#define RPCRDMA_GANESHA_FILE_H

#include <pthread.h>

#include "ganesha/config/text.h"
#include "ganesha/serve/server.h"

#define GR_SYNTAX_ROOM 256

struct gr_file {
	struct gsh *gsh;
	char syntax[GR_SYNTAX_ROOM]; /* where it could not be read; or "" */
	bool syntax_ours; /* that is in a block that is read here */
	bool was_read; /* at the start */
	enum gr_config_result config; /* and how that was */
	/* Protects all above once the server runs: the file may be read by SIGHUP and by
	 * D-Bus at once. */
	pthread_mutex_t lock;
};

/* What has been read again, and what is to become of it. */
enum gr_reload {
	GR_RELOAD_OTHER, /* no business of ours */
	GR_RELOAD_GOOD,
	GR_RELOAD_REFUSED, /* not to be taken over */
};

#define GR_REFUSED_ROOM (GR_SYNTAX_ROOM + 128)

/* Returns the path that Ganesha was started with, or NULL if it is not known. */
const char *gr_file_path(void);
/* Ganesha has parsed the file @path with the messages @e: keep in @f where it has a syntax
 * error, rather one in a block that is read here. */
void gr_file_parsed(struct gr_file *f, const char *path,
		    const struct gsh_config_errors *e);
/* Returns true, with a @fault, if a syntax error hides the RDMA block or a part of it, or,
 * in the @dialect, anything. */
bool gr_file_is_lost(const struct gr_file *f, const struct gr_text *text,
		     bool dialect, char fault[GR_FAULT_ROOM]);
/* Read the text of the file @path, and warn in the log of @g of a block that is almost
 * called RDMA. */
void gr_file_text(const struct gsh *g, const char *path, struct gr_text *text);

/* Returns true if the server that starts shall serve RDMA. If not, the reason has been
 * reported; and it does not return where RDMA is required. */
bool gr_file_start(struct gr_file *f, struct gr_server *s,
		   struct gsh_config *tree);
/*
 * reload.c: @path has been read again, as @tree, or, where that is NULL, not. May Ganesha
 * take it over? If not, @why says why. Log which settings of the RDMA block wait for a
 * restart, and say so in @why in short, or "". @cfg: what is in use.
 */
enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      const char *path, struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM]);

#endif /* RPCRDMA_GANESHA_FILE_H */
