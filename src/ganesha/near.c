/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * near - what an administrator may have meant in ganesha.conf
 *
 * Threads: Ganesha's main thread only.
 *
 * Ganesha passes over a block whose name nobody asks for. So one that is called
 * nearly RDMA has no effect, and without a word. And it takes a number with a
 * unit for a syntax error, unless there are quotes. This looks at the text of
 * the file itself, as far as its lines tell; what %include brings it does not
 * see.
 */
#include "ganesha/near.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The least number of letters to change, leave out or add. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[16], n = (unsigned int)strlen(b);

	for (unsigned int j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned int i = 0; a[i]; i++) {
		unsigned int diagonal = row[0];

		row[0] = i + 1;
		for (unsigned int j = 0; j < n; j++) {
			unsigned int up = row[j + 1];
			bool same = toupper((unsigned char)a[i]) ==
				    toupper((unsigned char)b[j]);
			unsigned int least = diagonal + !same;

			if (least > up + 1)
				least = up + 1;
			if (least > row[j] + 1)
				least = row[j] + 1;
			row[j + 1] = least;
			diagonal = up;
		}
	}
	return row[n];
}

bool near_name(const char *name)
{
	static const char *const ours[] = { "RDMA", "RDMA_Debug" };
	char upper[64];
	size_t len = strlen(name);

	if (len >= sizeof(upper))
		return false;
	for (size_t i = 0; i <= len; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	for (size_t i = 0; i < 2; i++)
		if (!strcasecmp(name, ours[i]))
			return false;
	return strstr(upper, "RDMA") || distance(name, "RDMA") <= 1 ||
	       (len == 4 && distance(name, "RDMA") <= 2 && upper[0] == 'R');
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "= 64M": a number with a unit, and nothing else of a word behind it. */
static bool has_bare_unit(const char *at)
{
	at += strspn(at, " \t");
	if (!isdigit((unsigned char)*at))
		return false;
	at += strspn(at, "0123456789");
	return strchr("kKmMgG", *at) && *at && !is_name(at[1]) &&
	       at[1] != ':' && at[1] != '.';
}

/* One line of the file; @depth: in so many blocks. */
static unsigned int look(const char *path, unsigned int number, char *line,
			 unsigned int *depth, near_fn *tell, void *ctx)
{
	unsigned int told = 0;
	char text[512];

	for (char *at = line; *at && *at != '#';) {
		char *name = at;
		char quote = *at;

		if (quote == '"' || quote == '\'') {
			at = strchr(at + 1, quote);
			if (!at)
				break;
			at++;
		} else if (is_name(*at)) {
			size_t len = 0;
			char *next;

			while (is_name(at[len]))
				len++;
			next = at + len + strspn(at + len, " \t\r\n");
			at += len;
			if (*depth || (*next && *next != '{'))
				continue;
			name = strndup(name, len);
			if (name && near_name(name)) {
				snprintf(text, sizeof(text),
					 "Config File (%s:%u): block %.64s is "
					 "not read: the blocks are RDMA and "
					 "RDMA_Debug",
					 path, number, name);
				tell(ctx, text);
				told++;
			}
			free(name);
		} else {
			*depth += *at == '{';
			*depth -= *at == '}' && *depth;
			if (*at == '=' && has_bare_unit(at + 1)) {
				snprintf(text, sizeof(text),
					 "Config File (%s:%u): a number with a "
					 "unit must be in quotes, as \"64M\"",
					 path, number);
				tell(ctx, text);
				told++;
			}
			at++;
		}
	}
	return told;
}

unsigned int near_look(const char *path, near_fn *tell, void *ctx)
{
	unsigned int told = 0, number = 0, depth = 0;
	FILE *f = path ? fopen(path, "re") : NULL;
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0)
		told += look(path, ++number, line, &depth, tell, ctx);
	free(line);
	if (f)
		fclose(f);
	return told;
}
