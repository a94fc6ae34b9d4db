/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - ganesha.conf when it is read again while the server runs
 *
 * The RDMA block is read only at the start, so its changes are told and not
 * taken over. A file that cannot be read as a whole is not taken over at all.
 *
 * Threads: whichever of Ganesha's reads it, on SIGHUP or by D-Bus.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha/file.h"

/* Is that the file that Ganesha was started with? Exports that are added by D-Bus
 * may come from another, which has no RDMA block. */
static bool is_same_file(const char *path)
{
	const char *started = gr_file_path();

	return !started || (path && !strcmp(path, started));
}

static void refuse(struct gr_file *f, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Why the file is not taken over: in the log, and for the service manager. */
static void refuse(struct gr_file *f, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->refused, sizeof(f->refused), format, args);
	va_end(args);
	gsh_log(f->gsh, GSH_WARN, "reload: %s", f->refused);
}

/*
 * Of most syntax errors Ganesha sets no flag, and takes what it could read for all
 * there is: exports that it could not read it would drop.
 */
static bool is_unreadable(struct gr_file *f, const char *path,
			  const struct gsh_config *tree,
			  const struct gsh_config_errors *e)
{
	char at[GR_SYNTAX_ROOM];
	bool any = e->scan || e->parse || e->resource;

	(void)gr_file_look(e, at, gr_file_warn, f->gsh);
	if (!tree)
		refuse(f,
		       "%s cannot be read: nothing was changed. Correct it and "
		       "reload",
		       path);
	else if (*at || any)
		refuse(f,
		       "syntax error at %s: nothing was changed. Correct it and "
		       "reload",
		       *at ? at : path);
	return *f->refused;
}

/* Ganesha leaves an export that clients see by NFSv4 in the tree of names when it
 * takes its place there away, and dies of a null pointer. */
static bool is_deadly(struct gr_file *f, struct gsh_config *tree)
{
	struct gr_pseudo now;
	int lost;

	gr_pseudo_read(f->gsh, tree, &now);
	lost = gr_pseudo_lost(&f->pseudo, &now);
	if (lost < 0)
		f->pseudo = now;
	else
		refuse(f,
		       "the EXPORT with Export_Id = %d no longer has a Pseudo, "
		       "which can crash Ganesha " GSH_VERSION
		       ": nothing was changed. Give it one and reload, or "
		       "restart the server",
		       lost);
	return lost >= 0;
}

static void tell_changes(struct gr_file *f, const struct gr_config *cfg,
			 struct gsh_config *tree)
{
	struct gsh quiet = *f->gsh;
	enum gr_config_result now;
	struct gr_config changed;
	char *names = NULL;
	unsigned int n = 0;
	size_t len;
	FILE *text;

	quiet.config_errs_to_log = gr_config_silent;
	now = gr_config_load(&quiet, tree, &changed);
	if (now == GR_CONFIG_BAD) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block of ganesha.conf has errors now, and "
			"RDMA would not start with it: --check-config says "
			"why. Nothing changes before a restart");
		return;
	}
	if ((now == GR_CONFIG_ABSENT) != (f->config == GR_CONFIG_ABSENT)) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block has been %s; restart the server to "
			"apply that",
			now == GR_CONFIG_ABSENT ? "removed" : "added");
		return;
	}
	text = f->config == GR_CONFIG_GOOD ? open_memstream(&names, &len) :
					     NULL;
	if (text) {
		n = gr_config_differences(text, cfg, &changed);
		fclose(text);
	}
	if (n && names)
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block is read only at the start: restart "
			"the server to apply %s",
			names);
	free(names);
}

bool gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
		    const char *path, struct gsh_config *tree,
		    const struct gsh_config_errors *e)
{
	if (!f->was_read || !is_same_file(path))
		return true;
	*f->refused = '\0';
	if (is_unreadable(f, path ? path : "ganesha.conf", tree, e) ||
	    is_deadly(f, tree))
		return false;
	*f->syntax = '\0';
	tell_changes(f, cfg, tree);
	return true;
}
