/* SPDX-License-Identifier: BSD-3-Clause */
/* include.h says what this is. */
#include "ganesha/include.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* So many files, and so many within each other; Ganesha has no bounds. */
#define MOST 256
#define DEEPEST 8

struct walk {
	struct gr_include *at;
	char base[PATH_MAX]; /* where names that begin without a "/" are */
	unsigned int depth;
	/* Each is read once. */
	unsigned int n;
	struct {
		dev_t dev;
		ino_t ino;
	} seen[MOST];
};

struct text {
	FILE *f;
	const char *path;
	unsigned int line;
};

static int next(struct text *t)
{
	int c = getc(t->f);

	t->line += c == '\n';
	return c;
}

static void back(struct text *t, int c)
{
	t->line -= c == '\n';
	ungetc(c, t->f);
}

static void skip_comment(struct text *t)
{
	int c;

	do
		c = next(t);
	while (c != '\n' && c != EOF);
}

static void skip_quoted(struct text *t, int quote)
{
	int c;

	do {
		c = next(t);
		/* Only within such is a quote that is none. */
		if (c == '\\' && quote == '"' && next(t) != EOF)
			continue;
	} while (c != quote && c != EOF);
}

/* Is the word behind "%" "include"? */
static bool is_include(struct text *t)
{
	static const char want[] = "include";
	int c;

	for (size_t i = 0; want[i]; i++) {
		c = next(t);
		if (c != want[i]) {
			back(t, c);
			return false;
		}
	}
	return true;
}

static bool is_part(int c)
{
	return isalnum(c) || (c && strchr("-._/", c));
}

/* A name as the scanner takes it, with quotes or without. */
static bool take_name(struct text *t, char name[PATH_MAX])
{
	bool quoted;
	size_t n = 0;
	int c, last = 0;

	do
		c = next(t);
	while (c != EOF && strchr(" \t\r\f\n", c));
	quoted = c == '"';
	if (quoted)
		c = next(t);
	for (; c != EOF && is_part(c); c = next(t)) {
		/* No part is empty. */
		if (c == '/' && last == '/')
			break;
		last = c;
		if (n + 1 < PATH_MAX)
			name[n++] = (char)c;
	}
	back(t, c);
	if (quoted && (c != '"' || last == '/'))
		return false;
	if (quoted)
		(void)next(t);
	if (last == '/' && n)
		n--;
	name[n] = '\0';
	return n;
}

static bool walk(struct walk *w, const char *path);

/* Of the name that has been taken, which may be that of a file. */
static bool is_folder(struct walk *w, const struct text *t, const char *name)
{
	struct gr_include *at = w->at;
	char path[2 * PATH_MAX];
	struct stat st;

	if (*name == '/')
		snprintf(path, sizeof(path), "%s", name);
	else
		snprintf(path, sizeof(path), "%s/%s", w->base, name);
	if (stat(path, &st))
		return false;
	if (!S_ISDIR(st.st_mode))
		return walk(w, path);
	snprintf(at->file, sizeof(at->file), "%s", t->path);
	snprintf(at->folder, sizeof(at->folder), "%.*s", PATH_MAX - 1, path);
	at->line = t->line;
	return true;
}

/* What stands outside of all blocks. */
static bool look(struct walk *w, struct text *t)
{
	char name[PATH_MAX];
	unsigned int depth = 0;
	int c;

	while ((c = next(t)) != EOF) {
		if (c == '#')
			skip_comment(t);
		else if (c == '"' || c == '\'')
			skip_quoted(t, c);
		else if (c == '{')
			depth++;
		else if (c == '}')
			depth -= depth > 0;
		else if (c == '%' && !depth && is_include(t) &&
			 take_name(t, name) && is_folder(w, t, name))
			return true;
	}
	return false;
}

static bool is_seen(struct walk *w, const struct stat *st)
{
	for (unsigned int i = 0; i < w->n; i++)
		if (w->seen[i].dev == st->st_dev &&
		    w->seen[i].ino == st->st_ino)
			return true;
	if (w->n == MOST)
		return true;
	w->seen[w->n].dev = st->st_dev;
	w->seen[w->n++].ino = st->st_ino;
	return false;
}

static bool walk(struct walk *w, const char *path)
{
	struct text t = { .path = path, .line = 1 };
	struct stat st;
	bool found;

	if (w->depth == DEEPEST || stat(path, &st) || !S_ISREG(st.st_mode) ||
	    is_seen(w, &st))
		return false;
	t.f = fopen(path, "re");
	if (!t.f)
		return false;
	w->depth++;
	found = look(w, &t);
	w->depth--;
	fclose(t.f);
	return found;
}

bool gr_include_folder(const char *path, struct gr_include *at)
{
	struct walk w = { .at = at };
	const char *slash = strrchr(path, '/');

	/* As Ganesha: in the folder of a file that was named by all of its path. */
	if (*path == '/')
		snprintf(w.base, sizeof(w.base), "%.*s", (int)(slash - path),
			 path);
	else
		snprintf(w.base, sizeof(w.base), ".");
	return walk(&w, path);
}
