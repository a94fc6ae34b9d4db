/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * near - what an administrator may have meant in ganesha.conf
 *
 * Threads: any.
 *
 * Ganesha passes over a block whose name nobody asks for. So one that is called
 * nearly RDMA or EXPORT has no effect, and without a word. And it takes a number
 * with a unit for a syntax error, unless there are quotes. This looks at the text
 * of the file itself, as far as its lines tell; what %include brings it does not
 * see.
 */
#include "ganesha/near.h"

#include <assert.h>
#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/param.h>

#include "ganesha/config/config.h"

/* The least number of letters to change, leave out or add; @b is a name known here. */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[32], n = (unsigned int)strlen(b);

	assert(n < sizeof(row) / sizeof(row[0]));
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

			least = MIN(least, up + 1);
			least = MIN(least, row[j] + 1);
			row[j + 1] = least;
			diagonal = up;
		}
	}
	return row[n];
}

/* Two letters beside each other have changed places. */
static bool is_swapped(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] &&
	       toupper((unsigned char)a[i]) == toupper((unsigned char)b[i]))
		i++;
	return a[i] && a[i + 1] && b[i] &&
	       toupper((unsigned char)a[i]) ==
		       toupper((unsigned char)b[i + 1]) &&
	       toupper((unsigned char)a[i + 1]) ==
		       toupper((unsigned char)b[i]) &&
	       !strcasecmp(a + i + 2, b + i + 2);
}

/* Of the blocks that are read here. */
static bool is_near_rdma(const char *name)
{
	size_t len = strlen(name);

	return strcasestr(name, "RDMA") || distance(name, "RDMA") <= 1 ||
	       (len == 4 && distance(name, "RDMA") <= 2 &&
		toupper((unsigned char)*name) == 'R');
}

const char *near_name(const char *name)
{
	/* Of Ganesha's own those that a configuration may need; its FSALs have
	 * others, which are like none of these. */
	static const char *const known[] = {
		"RDMA",	   "RDMA_Debug",      "EXPORT",
		"LOG",	   "EXPORT_DEFAULTS", "NFS_Core_Param",
		"NFSv4",   "NFS_KRB5",	      "NFS_IP_Name",
		"MDCACHE", "CacheInode",
	};
	const size_t n = sizeof(known) / sizeof(known[0]);

	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(name, known[i]))
			return NULL;
	if (is_near_rdma(name))
		return known[strncasecmp(name, "RDMA_", 5) ? 0 : 1];
	for (size_t i = 2; i < n; i++) {
		bool long_one = strlen(known[i]) > 5 &&
				toupper((unsigned char)*name) == *known[i];

		if (distance(name, known[i]) <= (long_one ? 2 : 1) ||
		    is_swapped(name, known[i]))
			return known[i];
	}
	return NULL;
}

static bool is_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* "= 64M", "= 64MB", "= 64MiB": the length of a number with a unit, without what is
 * said of bytes, and nothing else of a word behind it; *@at is moved to it. 0: it is
 * none. */
static int bare_unit(const char **at)
{
	const char *unit, *end;

	*at += strspn(*at, " \t");
	unit = *at + strspn(*at, "0123456789");
	if (unit == *at || !*unit || !strchr("kKmMgG", *unit))
		return 0;
	end = unit + 1;
	if (*end == 'i' && end[1] == 'B')
		end++;
	end += *end == 'B';
	return is_name(*end) || *end == ':' || *end == '.' ?
		       0 :
		       (int)(unit + 1 - *at);
}

/* "= 25%": the length of the number; *@at is moved to it. 0: it is none. */
static int bare_percent(const char **at)
{
	size_t digits;

	*at += strspn(*at, " \t");
	digits = strspn(*at, "0123456789");
	if (digits > 9 || (*at)[digits + strspn(*at + digits, " \t")] != '%')
		return 0;
	return (int)digits;
}

struct reader {
	const char *path;
	near_fn *tell;
	void *ctx;
	unsigned int line, told;
	unsigned int depth; /* in so many blocks */
	bool ours; /* the outermost is read here */
	bool inside; /* a part of the line is in such a one */
	unsigned int first; /* the line of the first RDMA block */
	unsigned int entered; /* the line where a block of ours last began */
	unsigned int rdma; /* the depth inside of an RDMA block; or 0 */
	bool begins; /* the last name begins its line */
	char name[64]; /* the last one */
	struct near_text *text;
};

__attribute__((format(printf, 2, 3))) static void say(struct reader *r,
						      const char *format, ...)
{
	char text[512];
	va_list args;
	int n = snprintf(text, sizeof(text),
			 "Config File (%.200s:%u): ", r->path, r->line);

	r->told++;
	if (!r->tell)
		return;
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	r->tell(r->ctx, text);
}

/* What is true to Ganesha's parser. */
static bool is_true(const char *at)
{
	static const char *const words[] = { "true", "yes", "on" };

	at += strspn(at, " \t");
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t len = strlen(words[i]);

		if (!strncasecmp(at, words[i], len) && !is_name(at[len]))
			return true;
	}
	return false;
}

/* At a name. Returns what is behind it. */
static const char *look_name(struct reader *r, const char *at)
{
	const char *next, *meant;
	size_t len = 0;

	while (is_name(at[len]))
		len++;
	snprintf(r->name, sizeof(r->name), "%.*s", (int)len, at);
	next = at + len + strspn(at + len, " \t\r\n");
	meant = !r->depth && (!*next || *next == '{') && len < sizeof(r->name) ?
			near_name(r->name) :
			NULL;
	if (meant)
		say(r, "unknown block %s is ignored: did you mean %s?", r->name,
		    meant);
	return at + len;
}

/* At a brace that opens a block. */
static void enter(struct reader *r)
{
	struct near_text *t = r->text;
	bool rdma = !strcasecmp(r->name, "RDMA");

	if (!r->depth) {
		r->ours = rdma || !strcasecmp(r->name, "RDMA_Debug");
		if (r->ours)
			r->entered = r->line;
		t->open_line = r->line;
		memcpy(t->open, r->name, sizeof(t->open));
	}
	/* Where the end of the block before is missing, it is inside of that. */
	if (rdma && (!r->depth || r->begins)) {
		if (t->block && !r->depth)
			say(r,
			    "this second RDMA block is ignored, the first is "
			    "at line %u",
			    r->first);
		else if (!t->block)
			r->first = r->line;
		t->block = true;
		r->rdma = r->depth + 1;
	}
	r->depth++;
}

static void leave(struct reader *r)
{
	r->depth -= r->depth > 0;
	if (r->depth < r->rdma)
		r->rdma = 0;
}

/* A setting whose numbers have no unit. */
static bool is_count(const char *name)
{
	const struct gsh_config_item *const tables[] = { gr_config_items,
							 gr_debug_items,
							 gr_old_items };

	for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
		for (const struct gsh_config_item *i = tables[t]; i->name; i++)
			if ((i->type == GSH_CONFIG_UINT16 ||
			     i->type == GSH_CONFIG_UINT32) &&
			    !strcasecmp(i->name, name))
				return true;
	return false;
}

/* The length of a value that the parser takes in quotes only, or 0: with an @
 * inside of a word, or with both a slash and a wildcard. @at is moved to it. */
static int bare_text(const char **at)
{
	const char *value = *at + strspn(*at, " \t");
	size_t n = strcspn(value, ";#{}\"'\r\n");
	bool slash = false, wild = false, bad = false;

	while (n && isspace((unsigned char)value[n - 1]))
		n--;
	for (size_t i = 0, word = 0; i < n; i++) {
		if (strchr(", \t", value[i])) {
			slash = wild = false;
			word = i + 1;
		}
		slash = slash || value[i] == '/';
		wild = wild || value[i] == '*' || value[i] == '?';
		bad = bad || (slash && wild) || (value[i] == '@' && i > word);
	}
	if (!bad)
		return 0;
	*at = value;
	return n > 128 ? 128 : (int)n;
}

static void look_value(struct reader *r, const char **at)
{
	int len;

	if (r->rdma && !strcasecmp(r->name, "Required") && is_true(*at))
		r->text->required = true;
	if (!r->depth || !r->ours)
		return;
	len = bare_unit(at);
	if (len && is_count(r->name))
		say(r,
		    "%s is a number without a unit; as it stands, this line "
		    "has no effect",
		    r->name);
	else if (len)
		say(r,
		    "a number with a unit must be in quotes: %s = \"%.*s\"; "
		    "as it stands, this line has no effect",
		    r->name, len, *at);
	if (len)
		return;
	len = bare_percent(at);
	if (len && is_count(r->name))
		say(r, "%s is a number without %%: write %s = %.*s", r->name,
		    r->name, len, *at);
	if (len)
		return;
	len = bare_text(at);
	if (len)
		say(r, "a value like this must be in quotes: %s = \"%.*s\"",
		    r->name, len, *at);
}

static void look(struct reader *r, const char *at)
{
	bool begins = true;

	while (*at && *at != '#') {
		char c = *at;

		if (is_name(c)) {
			r->begins = begins;
			begins = false;
			at = look_name(r, at);
			continue;
		}
		begins = begins && isspace((unsigned char)c);
		at++;
		if (c == '"' || c == '\'') {
			at = strchr(at, c);
			if (!at)
				break;
			at++;
		} else if (c == '{') {
			enter(r);
		} else if (c == '}') {
			leave(r);
		} else if (c == '=') {
			look_value(r, &at);
		}
	}
}

static bool is_inside(const struct reader *r)
{
	return r->depth && r->ours;
}

/* As far as line @last; all lines if there are fewer. */
static void read_lines(struct reader *r, unsigned int last)
{
	FILE *f = r->path ? fopen(r->path, "re") : NULL;
	char *line = NULL;
	size_t room = 0;

	while (f && r->line < last && getline(&line, &room, f) >= 0) {
		r->line++;
		r->inside = is_inside(r);
		look(r, line);
		r->inside = r->inside || is_inside(r) || r->entered == r->line;
	}
	free(line);
	if (f)
		fclose(f);
}

unsigned int near_look(const char *path, near_fn *tell, void *ctx,
		       struct near_text *text)
{
	struct reader r = {
		.path = path, .tell = tell, .ctx = ctx, .text = text
	};

	memset(text, 0, sizeof(*text));
	read_lines(&r, UINT_MAX);
	if (!r.depth)
		text->open_line = 0;
	return r.told;
}

bool near_inside(const char *path, unsigned int line)
{
	struct near_text text = { 0 };
	struct reader r = { .path = path, .text = &text };

	read_lines(&r, line);
	return r.inside && r.line == line;
}
