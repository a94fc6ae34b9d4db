/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - read ganesha.conf at the start, and again on reload
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
	char syntax[GR_SYNTAX_ROOM]; /* where it has a syntax error, or "" */
	bool syntax_ours; /* that is in an RDMA block */
	bool was_read; /* at the start, with this result: */
	enum gr_config_result config;
	/* Protects all above once the server runs, because SIGHUP and D-Bus may read the
	 * file at the same time. */
	pthread_mutex_t lock;
};

enum gr_reload {
	GR_RELOAD_OTHER, /* it is not the file of the start */
	GR_RELOAD_GOOD,
	GR_RELOAD_REFUSED, /* Ganesha must not apply it */
};

#define GR_REFUSED_ROOM (GR_SYNTAX_ROOM + 128)

/* Returns the path that Ganesha was started with, or NULL if it is not known. */
const char *gr_file_path(void);
/* Note in @f where the file @path has a syntax error, preferably in an RDMA block. Ganesha has
 * parsed it with the messages @e. */
void gr_file_parsed(struct gr_file *f, const char *path,
		    const struct gsh_config_errors *e);
/* Returns true, with a @fault, if a syntax error hides the RDMA block or a part of it; in the
 * @dialect, if it hides anything. */
bool gr_file_is_lost(const struct gr_file *f, const struct gr_text *text,
		     bool dialect, char fault[GR_FAULT_ROOM]);
/* Read the text of the file @path, and log a warning about a block whose name is almost RDMA. */
void gr_file_text(const struct gsh *g, const char *path, struct gr_text *text);

/* Read the settings when the server starts. Returns true if it shall serve RDMA, otherwise
 * false after reporting the reason. If RDMA is required, it ends the process then. */
bool gr_file_start(struct gr_file *f, struct gr_server *s,
		   struct gsh_config *tree);
/*
 * reload.c: decide whether Ganesha may apply the file @path, which was read again as @tree
 * (NULL: it could not be). If not, set @why to the reason. Otherwise have @admin apply the
 * changeable settings of the RDMA block; log which others differ from @cfg in use, and so need a
 * restart; and set @why to a short form of that, or to "".
 */
enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      struct gr_admin *admin, const char *path,
			      struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM]);

#endif /* RPCRDMA_GANESHA_FILE_H */
