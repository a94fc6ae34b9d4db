/* SPDX-License-Identifier: BSD-3-Clause */
/* made.h says what this is. */
#include "ganesha/made.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <search.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "ganesha/fstype.h"

__attribute__((format(printf, 2, 3))) static bool no(char fault[GR_MADE_FAULT],
						     const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(fault, GR_MADE_FAULT, format, args);
	va_end(args);
	return false;
}

/* A copy without slashes at its end, which Ganesha leaves out. */
static char *trimmed(const char *path)
{
	char *own = path ? strdup(path) : NULL;
	size_t n = own ? strlen(own) : 0;

	while (own && *own == '/' && n > 1 && own[n - 1] == '/')
		own[--n] = '\0';
	return own;
}

/* ---- A Path ------------------------------------------------------------- */

static bool is_local(const char *fsal)
{
	return !strcasecmp(fsal, "VFS") || !strcasecmp(fsal, "XFS");
}

/* By which these FSALs find files. */
static bool has_handles(const char *path)
{
	struct {
		struct file_handle h;
		unsigned char room[MAX_HANDLE_SZ];
	} h = { .h.handle_bytes = MAX_HANDLE_SZ };
	int mount;

	return !name_to_handle_at(AT_FDCWD, path, &h.h, &mount, 0) ||
	       errno != EOPNOTSUPP;
}

/* Or "..", on the way; Ganesha goes that way by itself. */
static bool has_link(const char *path)
{
	char part[PATH_MAX];
	struct stat st;
	size_t n = 0, len;

	for (; path[n]; n += len) {
		n += strspn(path + n, "/");
		len = strcspn(path + n, "/");
		snprintf(part, sizeof(part), "%.*s", (int)(n + len), path);
		if ((len == 2 && !strncmp(path + n, "..", 2)) ||
		    (!lstat(part, &st) && S_ISLNK(st.st_mode)))
			return true;
	}
	return false;
}

/* Its type, if Ganesha passes over it. */
static bool is_skipped(const struct stat *st, char type[GR_FSTYPE])
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	bool skipped = mounts && gr_fstype_of(mounts, st->st_dev, type) &&
		       gr_fstype_is_skipped(type);

	if (mounts)
		fclose(mounts);
	return skipped;
}

static bool check_path(const char *fsal, const char *path, bool *made,
		       char fault[GR_MADE_FAULT])
{
	char real[PATH_MAX], type[GR_FSTYPE];
	struct stat st;

	if (*path != '/')
		return no(fault, "Path = %s does not begin with /: correct it",
			  path);
	if (lstat(path, &st))
		return no(fault, "Path = %s: %s: %scorrect it", path,
			  strerror(errno),
			  errno == ENOENT ? "create it or " : "");
	/* Ganesha finds the next ones out when it has made it. */
	*made = true;
	if (S_ISLNK(st.st_mode))
		return no(
			fault,
			"Path = %s is a symbolic link: write what it leads to",
			path);
	if (!S_ISDIR(st.st_mode))
		return no(fault, "Path = %s is not a directory: correct it",
			  path);
	if (has_link(path) && realpath(path, real))
		return no(fault, "Path = %s leads to %s: write that", path,
			  real);
	*made = false;
	if (is_skipped(&st, type))
		return no(fault,
			  "Path = %s is on a file system of type %s, which "
			  "FSAL %s does not export: export a directory of "
			  "another",
			  path, type, fsal);
	if (!has_handles(path))
		return no(fault,
			  "Path = %s: its file system has no file handles, "
			  "which FSAL %s needs: export a directory of another",
			  path, fsal);
	return true;
}

bool gr_made_path(const char *fsal, const char *path, bool *made,
		  char fault[GR_MADE_FAULT])
{
	char *own = is_local(fsal) ? trimmed(path) : NULL;
	bool good;

	*made = false;
	good = !own || check_path(fsal, own, made, fault);

	free(own);
	return good;
}

/* ---- One beside others -------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static bool is_there(void *const *tree, const char *text)
{
	return text && tfind(text, tree, compare);
}

static void put(void **tree, const char *text)
{
	char *own = text && !is_there(tree, text) ? strdup(text) : NULL;

	if (own && !tsearch(own, tree, compare))
		free(own);
}

static bool keep(struct gr_made *m, const struct gr_made_export *x,
		 const char *path, const char *pseudo)
{
	struct gr_made_export *to;

	if (m->n == m->room) {
		size_t room = m->room ? 2 * m->room : 16;

		to = reallocarray(m->exports, room, sizeof(*to));
		if (!to)
			return false;
		m->exports = to;
		m->room = room;
	}
	to = &m->exports[m->n];
	*to = *x;
	to->tag = NULL;
	to->path = path ? strdup(path) : NULL;
	to->pseudo = pseudo ? strdup(pseudo) : NULL;
	to->fsal = x->fsal ? strdup(x->fsal) : NULL;
	m->n++;
	return true;
}

static bool is_new(struct gr_made *m, const struct gr_made_export *x,
		   const char *path, const char *pseudo,
		   char fault[GR_MADE_FAULT])
{
	static const char twice[] = "%s = %s is used twice: give each its own";

	if (m->ids[x->id / 8 % sizeof(m->ids)] & 1u << x->id % 8)
		return no(fault,
			  "Export_Id = %u is used twice: give each its own",
			  x->id);
	if (is_there(&m->tags, x->tag))
		return no(fault, twice, "Tag", x->tag);
	if (is_there(&m->pseudos, pseudo))
		return no(fault, twice, "Pseudo", pseudo);
	if (!pseudo && !x->tag && is_there(&m->paths, path))
		return no(fault,
			  "Path = %s is used twice, without a Pseudo or Tag: "
			  "give one",
			  path);
	return true;
}

bool gr_made_add(struct gr_made *m, const struct gr_made_export *x,
		 char fault[GR_MADE_FAULT])
{
	char *path = trimmed(x->path), *pseudo = trimmed(x->pseudo);
	bool good = is_new(m, x, path, pseudo, fault) &&
		    keep(m, x, path, pseudo);

	if (good) {
		m->ids[x->id / 8 % sizeof(m->ids)] |=
			(uint8_t)(1u << x->id % 8);
		put(&m->tags, x->tag);
		put(&m->pseudos, pseudo);
		put(&m->paths, path);
	}
	free(path);
	free(pseudo);
	return good;
}

/* ---- One in another ----------------------------------------------------- */

const char *gr_made_below(const char *pseudo, const char *of)
{
	size_t n = strlen(of);

	if (n == 1)
		return pseudo[1] ? pseudo + 1 : NULL;
	return !strncmp(pseudo, of, n) && pseudo[n] == '/' ? pseudo + n + 1 :
							     NULL;
}

/* Is each part of @rest a directory, and none a link? */
static bool are_there(const char *root, const char *rest)
{
	char path[PATH_MAX];
	struct stat st;
	size_t n = 0;

	while (rest[n]) {
		n += strspn(rest + n, "/");
		n += strcspn(rest + n, "/");
		snprintf(path, sizeof(path), "%s/%.*s", root, (int)n, rest);
		if (lstat(path, &st) || !S_ISDIR(st.st_mode))
			return false;
	}
	return true;
}

static const struct gr_made_export *outer(const struct gr_made *m,
					  const struct gr_made_export *x,
					  const char **rest)
{
	const struct gr_made_export *best = NULL;

	for (size_t i = 0; i < m->n; i++) {
		const struct gr_made_export *o = &m->exports[i];
		const char *more = o != x && !o->useless && o->pseudo ?
					   gr_made_below(x->pseudo, o->pseudo) :
					   NULL;

		if (more && (!best || strlen(more) < strlen(*rest))) {
			best = o;
			*rest = more;
		}
	}
	return best;
}

bool gr_made_nested(const struct gr_made *m,
		    const struct gsh_config_node **node,
		    char fault[GR_MADE_FAULT])
{
	for (size_t i = 0; i < m->n; i++) {
		const struct gr_made_export *x = &m->exports[i], *o;
		const char *rest = "";

		if (!x->nfs4 || x->useless || !x->pseudo)
			continue;
		o = outer(m, x, &rest);
		if (!o || !o->fsal || !o->path ||
		    (strcasecmp(o->fsal, "MEM") && !is_local(o->fsal)) ||
		    (is_local(o->fsal) && are_there(o->path, rest)))
			continue;
		*node = x->node;
		return no(fault,
			  "Pseudo = %s is within that of another EXPORT, whose "
			  "Path %s has no directory %s for it, which ends "
			  "Ganesha: create it or give another Pseudo",
			  x->pseudo, o->path, rest);
	}
	return true;
}

void gr_made_free(struct gr_made *m)
{
	for (size_t i = 0; i < m->n; i++) {
		free(m->exports[i].path);
		free(m->exports[i].pseudo);
		free(m->exports[i].fsal);
	}
	free(m->exports);
	tdestroy(m->pseudos, free);
	tdestroy(m->tags, free);
	tdestroy(m->paths, free);
	*m = (struct gr_made){ .n = 0 };
}
