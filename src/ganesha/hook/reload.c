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

#include "ganesha/hook/file.h"

/* Is that the file that Ganesha was started with? Exports that are added by D-Bus
 * may come from another, which has no RDMA block. */
static bool is_same_file(const char *path)
{
	const char *started = gr_file_path();

	return !started || (path && !strcmp(path, started));
}

static bool refuse(const struct gr_file *f, char why[GR_REFUSED_ROOM],
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Why the file is not taken over: in the log, and for the service manager. */
static bool refuse(const struct gr_file *f, char why[GR_REFUSED_ROOM],
		   const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, GR_REFUSED_ROOM, format, args);
	va_end(args);
	gsh_log(f->gsh, GSH_WARN, "reload: %s", why);
	return true;
}

/* Does it end with the number of one? Otherwise it is the file as a whole. */
static bool has_line(const char *at)
{
	const char *colon = strrchr(at, ':');

	return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

/*
 * Of most syntax errors Ganesha sets no flag, and takes what it could read for all
 * there is: exports that it could not read it would drop.
 */
static bool is_unreadable(struct gr_file *f, const char *path,
			  const struct gsh_config *tree,
			  const struct gsh_config_errors *e,
			  char why[GR_REFUSED_ROOM])
{
	char at[GR_SYNTAX_ROOM];
	bool any = e->scan || e->parse || e->resource;

	(void)gr_file_look(e, at, gr_file_warn, f->gsh);
	if (!tree && !has_line(at))
		return refuse(f, why,
			      "%.200s cannot be read: nothing was changed. "
			      "Correct it and reload",
			      path);
	if (*at || any)
		return refuse(f, why,
			      "syntax error at %.250s: nothing was changed. "
			      "Correct it and reload",
			      *at ? at : path);
	return false;
}

/* Ganesha leaves an export that clients see by NFSv4 in the tree of names when it
 * takes its place there away, and dies of a null pointer; so it does of one without a
 * Path. Of two with one Export_Id it serves both, and never comes to the end of its
 * exports when it stops. */
static bool is_deadly(struct gr_file *f, struct gsh_config *tree,
		      char why[GR_REFUSED_ROOM])
{
	int lost, moved;

	gr_exports_read(f->gsh, tree, &f->latest);
	if (f->latest.twice >= 0)
		return refuse(
			f, why,
			"Export_Id = %d is used twice, which keeps Ganesha " GSH_VERSION
			" from stopping later: nothing was "
			"changed. Correct it and reload",
			f->latest.twice);
	if (f->latest.deadly)
		return refuse(
			f, why,
			"the EXPORT block at %.240s has no Path, which crashes "
			"Ganesha " GSH_VERSION
			": nothing was changed. Give it one and reload",
			f->latest.pathless);
	gr_exports_served(&f->exports, f->gsh);
	/* 4.3 removes such an export from where it was no more, and dies; or does not
	 * end when it stops. 6.5 does it right, but ends if the new place is within
	 * another export that has no directory there. */
	moved = gr_exports_moved(&f->exports, &f->latest,
				 COMPAT_RELEASE >= 600);
	if (moved >= 0)
		return refuse(
			f, why,
			"the EXPORT with Export_Id = %d has another Pseudo, "
			"which can crash Ganesha " GSH_VERSION
			": nothing was changed. Restart the server to apply it",
			moved);
	lost = gr_exports_lost(&f->exports, &f->latest);
	return lost >= 0 &&
	       refuse(f, why,
		      "the EXPORT with Export_Id = %d no longer has a Pseudo, "
		      "which can crash Ganesha " GSH_VERSION
		      ": nothing was changed. Give it one and reload, or "
		      "restart the server",
		      lost);
}

void gr_file_taken(struct gr_file *f)
{
	pthread_mutex_lock(&f->lock);
	gr_exports_move(&f->exports, &f->latest);
	pthread_mutex_unlock(&f->lock);
}

/* @why: in short, for the line of state; "" if nothing waits for a restart. */
static void tell_changes(struct gr_file *f, const struct gr_config *cfg,
			 struct gsh_config *tree, char why[GR_REFUSED_ROOM])
{
	struct gsh quiet = *f->gsh;
	enum gr_config_result now;
	struct gr_config changed;
	char *names = NULL;
	unsigned int n = 0;
	size_t len;
	FILE *text;

	*why = '\0';
	quiet.config_errs_to_log = gr_config_silent;
	now = gr_config_load(&quiet, tree, &changed);
	if (now == GR_CONFIG_BAD) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block of ganesha.conf has errors now, and "
			"RDMA would not start with it: --check-config says "
			"why. Nothing changes before a restart");
		snprintf(why, GR_REFUSED_ROOM, "the RDMA block has errors now");
		return;
	}
	if ((now == GR_CONFIG_ABSENT) != (f->config == GR_CONFIG_ABSENT)) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block has been %s; restart the server to "
			"apply that",
			now == GR_CONFIG_ABSENT ? "removed" : "added");
		snprintf(why, GR_REFUSED_ROOM,
			 "restart: the RDMA block has been %s",
			 now == GR_CONFIG_ABSENT ? "removed" : "added");
		return;
	}
	text = f->config == GR_CONFIG_GOOD ? open_memstream(&names, &len) :
					     NULL;
	if (text) {
		n = gr_config_differences(text, cfg, &changed);
		fclose(text);
	}
	if (n && names) {
		gsh_log(f->gsh, GSH_WARN,
			"reload: the RDMA block is read only at the start: restart "
			"the server to apply %s",
			names);
		snprintf(why, GR_REFUSED_ROOM, "restart to apply %s", names);
	}
	free(names);
}

/* Clients say of it that there is no such file, and Ganesha nothing. */
static void tell_hidden(struct gr_file *f, char why[GR_REFUSED_ROOM])
{
	int id = gr_exports_hidden(&f->exports, &f->latest,
				   COMPAT_RELEASE >= 600);
	size_t n = strlen(why);

	if (id < 0)
		return;
	gsh_log(f->gsh, GSH_WARN,
		"reload: NFSv4 does not find the EXPORT with Export_Id = %d, which "
		"had no 4 among its Protocols: restart the server",
		id);
	snprintf(why + n, GR_REFUSED_ROOM - n,
		 "%srestart: NFSv4 does not find Export_Id = %d yet",
		 n ? "; " : "", id);
}

enum gr_reload gr_file_reload(struct gr_file *f, const struct gr_config *cfg,
			      const char *path, struct gsh_config *tree,
			      const struct gsh_config_errors *e,
			      char why[GR_REFUSED_ROOM])
{
	struct near_text text;
	bool refused;

	if (!f->was_read || !is_same_file(path))
		return GR_RELOAD_OTHER;
	pthread_mutex_lock(&f->lock);
	refused =
		is_unreadable(f, path ? path : "ganesha.conf", tree, e, why) ||
		is_deadly(f, tree, why);
	if (!refused) {
		*f->syntax = '\0';
		(void)near_look(path, gr_file_warn, f->gsh, &text);
		tell_changes(f, cfg, tree, why);
		tell_hidden(f, why);
	}
	pthread_mutex_unlock(&f->lock);
	return refused ? GR_RELOAD_REFUSED : GR_RELOAD_GOOD;
}
