/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * missing - which sign seems to be missing in the text of ganesha.conf
 *
 * Threads: any.
 *
 * The file is a row of "NAME = VALUE, VALUE;" and "NAME { ... }". Where a sign of
 * these is missing, Ganesha's parser stumbles over what comes next, or much later,
 * or at the end of the file. This reads the same text, but takes what it misses for
 * there, as the administrator meant it. And it tells of what the parser does not
 * take at all: characters of other alphabets, and comments of other languages.
 */
#include "ganesha/missing.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ganesha/odd.h"

#define WORD 64

/* What the next sign may be. */
enum expected {
	A_NAME, /* or a brace that ends a block */
	AFTER_NAME, /* an equals sign, or a brace */
	AFTER_TWO, /* after a word behind a name: what it is will be seen */
	A_VALUE, /* or more of it, or what ends it */
};

struct word {
	char text[WORD];
	unsigned int line;
};

struct scan {
	unsigned int first, last; /* lines that are asked for */
	unsigned int line;
	unsigned int depth; /* in so many blocks */
	enum expected expected;
	struct word name; /* of the statement or block */
	struct word latest, before; /* words, or quotes */
	struct word begin; /* the first of this value, since the last comma */
	unsigned int words; /* of it */
	struct missing *m;
	bool found;
};

/* In a statement that begins in line @from and was read as far as @line. */
static void fault(struct scan *s, unsigned int from, unsigned int line,
		  const char *text)
{
	if (s->found || line < s->first || from > s->last)
		return;
	s->found = true;
	s->m->line = line;
	snprintf(s->m->text, sizeof(s->m->text), "%s", text);
}

/* Behind @after and before @before, which is in line @line. */
static void no_semicolon(struct scan *s, const struct word *after,
			 const char *before, unsigned int line)
{
	char text[128];

	if (after->line == line)
		snprintf(text, sizeof(text),
			 "is a \";\" missing before %s in line %u?", before,
			 line);
	else
		snprintf(text, sizeof(text),
			 "is a \";\" missing at the end of line %u?",
			 after->line);
	fault(s, s->name.line, after->line, text);
}

/* Numbers, or names: a unit or a sign behind a number is none. */
static bool are_alike(const char *a, const char *b)
{
	return (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) ||
	       (isalpha((unsigned char)*a) && isalpha((unsigned char)*b));
}

/* Words where one value may be. */
static void two_words(struct scan *s)
{
	char text[128];

	if (s->begin.line != s->latest.line)
		return;
	if (*s->begin.text == '/')
		snprintf(text, sizeof(text),
			 "%s: a value with a blank must be in quotes",
			 s->name.text);
	else if (are_alike(s->before.text, s->latest.text))
		snprintf(text, sizeof(text),
			 "is a \",\" missing before %s in line %u?",
			 s->latest.text, s->line);
	else
		return;
	fault(s, s->name.line, s->line, text);
}

static void no_sign(struct scan *s, const char *sign)
{
	char text[128];

	snprintf(text, sizeof(text), "is a \"%s\" missing after %s in line %u?",
		 sign, s->name.text, s->name.line);
	fault(s, s->name.line, s->name.line, text);
}

/* A block is written as if it were a value. */
static void no_equals(struct scan *s)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "a block has no \"=\": write %s { in line %u", s->name.text,
		 s->name.line);
	fault(s, s->name.line, s->line, text);
}

static void no_quote(struct scan *s)
{
	char text[128];

	snprintf(text, sizeof(text), "is a closing quote missing in line %u?",
		 s->line);
	fault(s, s->line, s->line, text);
}

/* The block's name was there, without its brace. */
static void enter_unopened(struct scan *s)
{
	no_sign(s, "{");
	s->depth++;
}

static void close_block(struct scan *s)
{
	if (s->depth)
		s->depth--;
	else
		fault(s, s->line, s->line,
		      "is this \"}\" one too many, or a \"{\" missing above?");
	s->expected = A_NAME;
}

/* A word that ends at what made it a name: a sign for that is missing before. */
static void was_a_name(struct scan *s)
{
	if (s->expected == AFTER_TWO)
		enter_unopened(s);
	else if (s->expected == A_VALUE)
		no_semicolon(s, &s->before, s->latest.text, s->latest.line);
	s->name = s->latest;
}

static void sign(struct scan *s, char c)
{
	switch (c) {
	case '=':
		was_a_name(s);
		s->expected = A_VALUE;
		s->words = 0;
		break;
	case '{':
		if (s->expected == A_VALUE && !s->words)
			no_equals(s);
		else
			was_a_name(s);
		s->depth++;
		s->expected = A_NAME;
		break;
	case ';':
		if (s->expected == AFTER_NAME || s->expected == AFTER_TWO)
			no_sign(s, "=");
		else if (s->expected == A_NAME)
			fault(s, s->line, s->line,
			      "is this \";\" one too many?");
		else if (s->expected == A_VALUE && s->words > 1)
			two_words(s);
		s->expected = A_NAME;
		break;
	case '}':
		if (s->expected == A_VALUE)
			no_semicolon(s, &s->latest, "\"}\"", s->line);
		else if (s->expected == AFTER_NAME)
			enter_unopened(s);
		else if (s->expected == AFTER_TWO)
			no_sign(s, "=");
		close_block(s);
		break;
	default: /* a comma */
		s->words = 0;
		break;
	}
}

static void word(struct scan *s, const char *text, size_t n)
{
	s->before = s->latest;
	snprintf(s->latest.text, sizeof(s->latest.text), "%.*s",
		 n < WORD ? (int)n : WORD - 1, text);
	s->latest.line = s->line;
	switch (s->expected) {
	case A_NAME:
		s->name = s->latest;
		s->expected = AFTER_NAME;
		break;
	case AFTER_NAME:
		s->expected = AFTER_TWO;
		break;
	case A_VALUE:
		if (!s->words++)
			s->begin = s->latest;
		break;
	case AFTER_TWO:
		break;
	}
}

/* A word, unless it is none: what cannot be read is mostly a blank. */
static void bare(struct scan *s, const char *text, size_t n)
{
	char odd[128];

	if (odd_look(text, n, odd, sizeof(odd)))
		fault(s, s->line, s->line, odd);
	if (!odd_only(text, n))
		word(s, text, n);
}

static bool is_foreign_comment(const struct scan *s, const char *at)
{
	return s->expected == A_NAME && *at == '/' &&
	       (at[1] == '/' || at[1] == '*');
}

static void look(struct scan *s, const char *at)
{
	static const char signs[] = "={};,";

	while (*at && *at != '#') {
		size_t n = 1;

		if (*at == '%' && s->expected == A_NAME)
			return; /* %include */
		if (isspace((unsigned char)*at)) {
			at++;
			continue;
		}
		if (is_foreign_comment(s, at)) {
			fault(s, s->line, s->line, "comments begin with #");
			return;
		}
		if (strchr(signs, *at)) {
			sign(s, *at);
		} else if (*at == '"' || *at == '\'') {
			n += strcspn(at + 1, *at == '"' ? "\"\n" : "'\n");
			if (at[n] && at[n] != '\n')
				n++;
			else
				no_quote(s);
			word(s, at, n);
		} else {
			n = strcspn(at, "={};,#\"' \t\r\n\f\v");
			n += !n;
			bare(s, at, n);
		}
		at += n;
	}
}

bool missing_look(const char *path, unsigned int first, unsigned int last,
		  struct missing *m)
{
	struct scan s = { .first = first, .last = last, .m = m };
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (f && !s.found && getline(&line, &room, f) >= 0) {
		s.line++;
		look(&s, line);
	}
	s.line++;
	if (f && s.expected == A_VALUE)
		no_semicolon(&s, &s.latest, "the end", s.line);
	else if (f && s.expected != A_NAME)
		enter_unopened(&s);
	free(line);
	if (f)
		fclose(f);
	return s.found;
}
