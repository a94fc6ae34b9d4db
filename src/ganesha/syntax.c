/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * syntax - where ganesha.conf cannot be read, and what may be missing there
 *
 * Threads: Ganesha's main thread only.
 *
 * Ganesha's parser names the line where a statement begins that it cannot read,
 * or no line at all. Mostly a semicolon or a brace is missing, and the text of
 * the file shows where.
 */
#include "ganesha/syntax.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha/place.h"

#define STATEMENT "Syntax error in statement"
#define FILE_WHOLE "Configuration syntax errors found"

/* Cut off a comment, and blanks at the end; the length. */
static size_t trim(char *line)
{
	char quote = '\0';
	size_t n = 0;

	for (; line[n] && (quote || line[n] != '#'); n++) {
		if (line[n] == quote)
			quote = '\0';
		else if (!quote && (line[n] == '"' || line[n] == '\''))
			quote = line[n];
	}
	while (n && isspace((unsigned char)line[n - 1]))
		n--;
	line[n] = '\0';
	return n;
}

/* A line with a statement, trimmed: does it end without a semicolon? */
static bool is_unended(const char *line, size_t n)
{
	/* "A = 1 }" */
	while (n && (line[n - 1] == '}' || isspace((unsigned char)line[n - 1])))
		n--;
	return n && !strchr(";{", line[n - 1]);
}

/*
 * The line that ends without a semicolon, or 0: of the statement that begins at
 * @at; without a line there, the first one.
 */
static unsigned int unended(const struct gr_place *at)
{
	FILE *f = fopen(at->path, "re");
	unsigned int number = 0, found = 0;
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0) {
		size_t n = trim(line);
		const char *text = line + strspn(line, " \t\r\n");

		if (++number < at->line || !n)
			continue;
		/* The name of a block may have its brace in the next line. */
		if (found && (at->line || *text != '{'))
			break;
		found = 0;
		if (!strchr(",=", line[n - 1]) && *text != '%' &&
		    is_unended(line, n))
			found = number;
		else if (at->line && !strchr(",=", line[n - 1]))
			break;
	}
	free(line);
	if (f)
		fclose(f);
	return found;
}

/* Where it is, @at gets the line of, if the parser has none. */
static void hint(const char *message, struct gr_place *at, near_fn *tell,
		 void *ctx)
{
	bool whole = strstr(message, FILE_WHOLE);
	char text[PATH_MAX + 160];
	struct near_text file;
	unsigned int line;

	if (!whole && !strstr(message, STATEMENT))
		return;
	line = unended(at);
	if (line) {
		snprintf(
			text, sizeof(text),
			"Config File (%s:%u): is a \";\" missing at the end of "
			"line %u?",
			at->path, line, line);
		tell(ctx, text);
	} else if (whole) {
		(void)near_look(at->path, NULL, NULL, &file);
		line = file.open_line;
		if (!line)
			return;
		snprintf(
			text, sizeof(text),
			"Config File (%s:%u): is a \"}\" missing? Block %s has "
			"no end",
			at->path, line, file.open);
		tell(ctx, text);
	}
	if (whole)
		at->line = line;
}

bool syntax_look(const char *messages, char *first, size_t room, near_fn *tell,
		 void *ctx)
{
	char *all = strdup(messages), *rest = NULL;
	bool ours = false;

	*first = '\0';
	for (char *m = all ? strtok_r(all, "\f", &rest) : NULL; m;
	     m = strtok_r(NULL, "\f", &rest)) {
		struct gr_place at;
		bool is_ours;

		if (!gr_place_read(m, &at))
			continue;
		hint(m, &at, tell, ctx);
		is_ours = at.line && near_inside(at.path, at.line);
		if ((!*first || (is_ours && !ours)) && at.line)
			snprintf(first, room, "%s:%u", at.path, at.line);
		else if (!*first)
			snprintf(first, room, "%s", at.path);
		ours = ours || is_ours;
	}
	free(all);
	return ours;
}

bool syntax_only_ours(const char *messages)
{
	char *all = strdup(messages), *rest = NULL;
	bool ours = all;

	for (char *m = all ? strtok_r(all, "\f", &rest) : NULL; m && ours;
	     m = strtok_r(NULL, "\f", &rest)) {
		struct gr_place at;

		if (gr_place_read(m, &at))
			ours = at.line && near_inside(at.path, at.line);
	}
	free(all);
	return ours;
}
