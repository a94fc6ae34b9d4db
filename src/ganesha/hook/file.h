/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * file - ganesha.conf, whenever it is read: what of it is for RDMA
 *
 * Threads: Ganesha's main thread; gr_file_reload() whichever of its threads reads
 * the file, on SIGHUP or by D-Bus.
 */
#ifndef RPCRDMA_GANESHA_FILE_H
#define RPCRDMA_GANESHA_FILE_H

#include <pthread.h>

#include "ganesha/hook/check.h"
#include "ganesha/export_block.h"
#include "ganesha/exports.h"
#include "ganesha/logs.h"
#include "ganesha/near.h"
#include "ganesha/serve/server.h"

#define GR_SYNTAX_ROOM 256

typedef void gr_file_log_fn(char *msg, void *dest, struct gsh_config_errors *e);

struct gr_file {
	struct gsh *gsh;
	char syntax[GR_SYNTAX_ROOM]; /* where it could not be read; or "" */
	bool syntax_ours; /* that is in a block that is read here */
	bool was_read; /* at the start */
	enum gr_config_result config; /* and how that was */
	/* Protects all above and below once the server runs: the file may be read by
	 * SIGHUP and by D-Bus at once. */
	pthread_mutex_t lock;
	struct gr_exports exports; /* of the exports that were last taken over */
	struct gr_exports latest; /* of those that were last read */
	/* For --check-config. */
	struct gr_logs logs;
	struct gr_export_block export_block;
	gr_file_log_fn *log; /* Ganesha's config_errs_to_log() */
	unsigned int complained; /* so many lines */
};

/* What has been read again, and what is to become of it. */
enum gr_reload {
	GR_RELOAD_OTHER, /* no business of ours */
	GR_RELOAD_GOOD,
	GR_RELOAD_REFUSED, /* not to be taken over */
};

#define GR_REFUSED_ROOM (GR_SYNTAX_ROOM + 128)

/* Ganesha's: sets the parameters of its own blocks. 0, or it reports a fault. */
typedef int gr_file_set_fn(struct gsh_config *tree, struct gsh_start_info *info,
			   struct gsh_config_errors *e);

/* Of the messages of a parse: syntax_look(). */
bool gr_file_look(const struct gsh_config_errors *e, char first[GR_SYNTAX_ROOM],
		  near_fn *tell, void *ctx);
/* A near_fn: warn in the log. @ctx: the struct gsh. */
void gr_file_warn(void *ctx, const char *text);
/* The path that Ganesha was started with. NULL: not known. */
const char *gr_file_path(void);

/* Would Ganesha end when it reads @path? Then @e gets a message, in Ganesha's form, and
 * the mark of a file that could not be read. */
bool gr_file_unreadable(const char *path, struct gsh_config_errors *e);

/* When the server starts: shall it serve RDMA? If not, it has been said why; and it
 * does not return where RDMA is required. */
bool gr_file_start(struct gr_file *f, struct gr_server *s,
		   struct gsh_config *tree);
/* rpcrdma_ganesha_check(). @log: gr_file_complain() for @f: Ganesha gives it no
 * context. */
enum rpcrdma_verdict gr_file_check(struct gr_file *f, gr_file_set_fn *set,
				   gr_file_log_fn *log, struct gsh_config *tree,
				   const char *path, FILE *out,
				   unsigned int *complaints);
void gr_file_complain(struct gr_file *f, char *msg, void *dest,
		      struct gsh_config_errors *e);
/* rpcrdma_ganesha_items() */
unsigned int gr_file_items(struct gr_file *f, gr_file_set_fn *set,
			   gr_file_log_fn *log, struct gsh_config *tree);
/* reload.c: @path has been read again, as @tree or, where that is NULL, not. May
 * Ganesha take it over? If not, @why says why. Tell what else of it is not taken
 * over: in the log, and in @why in short, or "". @cfg: what is in use. */
enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      const char *path, struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM]);
/* The exports of what was last read have been taken over. */
void gr_file_taken(struct gr_file *f);

#endif /* RPCRDMA_GANESHA_FILE_H */
