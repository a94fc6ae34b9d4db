/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - ganesha.conf when it is read again while the server runs
 *
 * The RDMA block is read only at the start, so its changes are told and not
 * taken over.
 *
 * Threads: whichever of Ganesha's reads it, on SIGHUP or by D-Bus.
 */
#include <stdlib.h>
#include <string.h>

#include "ganesha/file.h"
#include "ganesha/syntax.h"

/* Is that the file that Ganesha was started with? Exports that are added by D-Bus
 * may come from another, which has no RDMA block. */
static bool is_same_file(const char *path)
{
	const char *started = gr_file_path();

	return !started || (path && !strcmp(path, started));
}

/* What the parser passes over may go beyond the block where it began: it is nothing
 * but ours if the tree has all exports that the text has. */
static bool has_exports(const struct gsh *g, struct gsh_config *tree,
			const struct gsh_config_errors *e)
{
	struct near_text text;

	if (!syntax_only_ours(e->diag_buf))
		return false;
	near_look(gr_file_path(), NULL, NULL, &text);
	return !text.more && !text.open_line &&
	       gr_config_blocks(g, tree, "EXPORT") == text.exports;
}

/* What cannot be read has neither been removed nor changed. Of most errors Ganesha
 * sets no flag, and takes what it could read for all there is. */
static bool tell_syntax(struct gsh *g, struct gsh_config *tree,
			struct gsh_config_errors *e)
{
	const char *then = "exports that could not be read are no longer "
			   "served. Correct it and reload";
	char at[GR_SYNTAX_ROOM] = "";

	if (e)
		(void)gr_file_look(e, at, gr_file_warn, g);
	if (!*at)
		return false;
	if (e->scan || e->parse)
		then = "nothing was changed. Correct it and reload";
	else if (has_exports(g, tree, e))
		then = "exports are not affected, and RDMA goes on as before, "
		       "but it would not be served after a restart. Correct it";
	gsh_log(g, GSH_WARN, "reload: syntax error at %s: %s", at, then);
	return true;
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

void gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
		    const char *path, struct gsh_config *tree,
		    struct gsh_config_errors *e)
{
	if (f->was_read && is_same_file(path) && !tell_syntax(f->gsh, tree, e))
		tell_changes(f, cfg, tree);
}
