/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - decide what to do with ganesha.conf when it is read again
 *
 * The settings of the RDMA block that can change while the server runs are applied
 * (serve/admin.h). Of others that differ it is logged that they need a restart. If the block has
 * errors, nothing of it is applied. A file with a syntax error is refused as a whole: for most
 * syntax errors Ganesha sets no flag, applies what it could read, and drops the exports that it
 * could not read.
 */
#include <stdlib.h>
#include <string.h>

#include "ganesha/hook/file.h"

/* D-Bus may add exports from another file, which has no RDMA block. */
static bool is_same_file(const char *path)
{
	const char *started = gr_file_path();

	return !started || (path && !strcmp(path, started));
}

static bool is_unreadable(const struct gr_file *f, const char *path,
			  const struct gsh_config *tree,
			  char why[GR_REFUSED_ROOM])
{
	if (!tree && !strrchr(f->syntax, ':'))
		snprintf(why, GR_REFUSED_ROOM,
			 "%.200s cannot be read: nothing was changed. "
			 "Correct it and reload",
			 path);
	else if (*f->syntax)
		snprintf(why, GR_REFUSED_ROOM,
			 "syntax error at %.250s: nothing was changed. "
			 "Correct it and reload",
			 f->syntax);
	else
		return false;
	gsh_log(f->gsh, GSH_WARN, "reload: %s", why);
	return true;
}

static bool has_block(enum gr_config_result res, const struct gr_config *cfg)
{
	return res != GR_CONFIG_ABSENT && !cfg->dialect;
}

/* Apply what can be applied, log what needs a restart, and set @why to a short form of that, or
 * to "". Returns false if the block has errors, so that nothing of it was applied. */
static bool apply_changes(struct gr_file *f, const struct gr_config *cfg,
			  struct gr_admin *admin, struct gsh_config *tree,
			  char why[GR_REFUSED_ROOM])
{
	char applied[GR_ADMIN_ROOM];
	enum gr_config_result now;
	struct gr_config changed, used;
	char *names = NULL;
	unsigned int n = 0;
	size_t len;
	FILE *text = NULL;

	*why = '\0';
	now = gr_config_load(f->gsh, tree, &changed);
	if (now == GR_CONFIG_BAD) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block has errors now: %s: nothing of "
			"it was changed. Correct it (--check-config lists all "
			"faults) and reload",
			*changed.fault ? changed.fault : "see --check-config");
		snprintf(why, GR_REFUSED_ROOM,
			 "the RDMA block has errors now: %.256s",
			 *changed.fault ? changed.fault : "see --check-config");
		return false;
	}
	if (has_block(now, &changed) != has_block(f->config, cfg)) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block has been %s; restart the server to "
			"apply that",
			has_block(now, &changed) ? "added" : "removed");
		snprintf(why, GR_REFUSED_ROOM,
			 "restart: the RDMA block has been %s",
			 has_block(now, &changed) ? "added" : "removed");
		return true;
	}
	if ((now == GR_CONFIG_ABSENT) != (f->config == GR_CONFIG_ABSENT)) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: nfsrdma and rpcrdma have been %s Protocols; restart the server to apply that",
			now == GR_CONFIG_ABSENT ? "taken out of" : "put into");
		snprintf(why, GR_REFUSED_ROOM, "restart to apply Protocols");
		return true;
	}
	if (f->config == GR_CONFIG_GOOD) {
		gr_admin_reload(admin, &changed, applied);
		if (*applied)
			gsh_log(f->gsh, GSH_EVENT, "reload: applied %s",
				applied);
		gr_admin_config(admin, cfg, &used);
		text = open_memstream(&names, &len);
	}
	if (text) {
		n = gr_config_differences(text, &used, &changed);
		fclose(text);
	}
	if (n && names) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: restart the server to apply %s, which RDMA "
			"takes at the start only",
			names);
		snprintf(why, GR_REFUSED_ROOM, "restart to apply %s", names);
	}
	free(names);
	return true;
}

enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      struct gr_admin *admin, const char *path,
			      struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM])
{
	struct gr_file now = { .gsh = f->gsh };
	struct gr_text text;
	bool refused, failed;

	if (!f->was_read || !is_same_file(path))
		return GR_RELOAD_OTHER;
	gr_file_parsed(&now, path, e);
	pthread_mutex_lock(&f->lock);
	refused = is_unreadable(&now, path ? path : "ganesha.conf", tree, why);
	failed = refused;
	if (!refused) {
		*f->syntax = '\0';
		gr_file_text(f->gsh, path, &text);
		failed = !apply_changes(f, cfg, admin, tree, why);
	}
	gr_admin_reloaded(admin, failed);
	pthread_mutex_unlock(&f->lock);
	return refused ? GR_RELOAD_REFUSED : GR_RELOAD_GOOD;
}
