/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - ganesha.conf, when it is read at the start and again later
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

/* What to do with a file that was read again. */
enum gr_reload {
	GR_RELOAD_OTHER, /* another file */
	GR_RELOAD_GOOD,
	GR_RELOAD_REFUSED, /* Ganesha must not take it over */
};

#define GR_REFUSED_ROOM (GR_SYNTAX_ROOM + 128)

/* Returns the path that Ganesha was started with, or NULL if it is not known. */
const char *gr_file_path(void);
/* Keep in @f where the file @path, which Ganesha has parsed with the messages @e, has a syntax
 * error; if it has several, one in a block of ours. */
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
 * reload.c: decide whether Ganesha may take over the file @path, which was read again as
 * @tree, or could not be (NULL). If not, @why has the reason. Otherwise log which settings of
 * the RDMA block, compared with @cfg in use, need a restart, and set @why to a short form, or
 * to "".
 */
enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      const char *path, struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM]);

#endif /* RPCRDMA_GANESHA_FILE_H */
