/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * syntax - where ganesha.conf cannot be read, and what may be missing there
 *
 * Threads: whichever of Ganesha's reads the file.
 *
 * Ganesha's parser names the line where a statement begins that it cannot read,
 * or no line at all. Mostly a semicolon or a brace is missing, and the text of
 * the file shows where.
 */
#include "ganesha/syntax.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha/missing.h"
#include "ganesha/config/place.h"

#define STATEMENT "Syntax error in statement"
#define BLOCK "Syntax error in block"
#define FILE_WHOLE "Configuration syntax errors found"
#define CHARACTER "Unexpected character"

struct hints {
	near_fn *tell;
	void *ctx;
	/* Several messages may be about one fault. */
	char last[PATH_MAX + 160];
};

static void give(struct hints *h, const char *path, unsigned int line,
		 const char *what)
{
	char text[sizeof(h->last)];

	snprintf(text, sizeof(text), "Config File (%s:%u): %s", path, line,
		 what);
	if (strcmp(text, h->last))
		h->tell(h->ctx, text);
	strcpy(h->last, text);
}

/* Where it is, @at gets the line of, if the parser has none or only that of the block. */
static void hint(struct hints *h, const char *message, struct gr_place *at)
{
	bool whole = strstr(message, FILE_WHOLE);
	bool block = strstr(message, BLOCK);
	char unended[128];
	struct near_text file;
	struct missing m;

	if (!whole && !block && !strstr(message, STATEMENT) &&
	    !strstr(message, CHARACTER))
		return;
	/* In a statement where it begins; otherwise behind what is good. */
	if (missing_look(at->path, at->line,
			 whole || block ? UINT_MAX : at->line, &m)) {
		give(h, at->path, m.line, m.text);
	} else if (whole) {
		(void)near_look(at->path, NULL, NULL, &file);
		m.line = file.open_line;
		if (!m.line)
			return;
		snprintf(unended, sizeof(unended),
			 "is a \"}\" missing? Block %s has no end", file.open);
		give(h, at->path, m.line, unended);
	} else {
		return;
	}
	if (whole || block)
		at->line = m.line;
}

bool syntax_look(const char *messages, char *first, size_t room, near_fn *tell,
		 void *ctx)
{
	struct hints h = { .tell = tell, .ctx = ctx };
	char *all = strdup(messages), *rest = NULL;
	bool ours = false;

	*first = '\0';
	for (char *m = all ? strtok_r(all, "\f", &rest) : NULL; m;
	     m = strtok_r(NULL, "\f", &rest)) {
		struct gr_place at;
		bool is_ours;

		if (!gr_place_read(m, &at))
			continue;
		is_ours = at.line && near_inside(at.path, at.line);
		hint(&h, m, &at);
		is_ours = is_ours || (at.line && near_inside(at.path, at.line));
		if ((!*first || (is_ours && !ours)) && at.line)
			snprintf(first, room, "%s:%u", at.path, at.line);
		else if (!*first)
			snprintf(first, room, "%s", at.path);
		ours = ours || is_ours;
	}
	free(all);
	return ours;
}
