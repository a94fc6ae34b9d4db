/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/text.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WORD 32

struct scan {
	const char *at;
	unsigned int line;
	/* The latest word, which may be cut off, and the line where it begins. */
	char word[WORD];
	unsigned int word_line;
};

/* Returns 'w' for a word or a quoted text, 0 at the end, or one of "{}=;,". */
static char next_token(struct scan *s)
{
	const char *begin, *end;

	for (;; s->at++) {
		if (*s->at == '#')
			s->at += strcspn(s->at, "\n");
		if (*s->at == '\n')
			s->line++;
		else if (!isspace((unsigned char)*s->at))
			break;
	}
	begin = s->at;
	if (!*begin)
		return 0;
	s->at++;
	if (strchr("{}=;,", *begin))
		return *begin;
	s->word_line = s->line;
	if (*begin == '"' || *begin == '\'') {
		/* A backslash escapes in double quotes only. */
		for (end = s->at; *end && *end != *begin; end++)
			end += *begin == '"' && *end == '\\' && end[1];
		/* Without a closing quote, only the quote itself is skipped. */
		end = *end ? end : s->at;
		for (begin++; s->at < end; s->at++)
			s->line += *s->at == '\n';
		s->at += *end != '\0';
	} else {
		s->at += strcspn(s->at, " \t\r\f\v\n{}=;,#\"'");
		end = s->at;
	}
	snprintf(s->word, WORD, "%.*s", (int)(end - begin), begin);
	return 'w';
}

static bool is_rdma_block(const char *name)
{
	return !strcasecmp(name, "RDMA") || !strcasecmp(name, "RDMA_Debug");
}

static bool is_same_letter(char a, char b)
{
	return toupper((unsigned char)a) == toupper((unsigned char)b);
}

/* Returns true if @a and @b differ by one letter that is added, missing or other, or by two
 * that are swapped. */
static bool is_one_edit_apart(const char *a, const char *b)
{
	for (; *a && is_same_letter(*a, *b); b++)
		a++;
	return (*a && !strcasecmp(a + 1, b)) || (*b && !strcasecmp(a, b + 1)) ||
	       (*a && *b && !strcasecmp(a + 1, b + 1)) ||
	       (*a && *b && is_same_letter(a[1], *b) &&
		is_same_letter(*a, b[1]) && !strcasecmp(a + 2, b + 2));
}

static bool is_misspelled(const char *name)
{
	return !is_rdma_block(name) &&
	       (strcasestr(name, "RDMA") || is_one_edit_apart(name, "RDMA") ||
		is_one_edit_apart(name, "RDMA_Debug"));
}

static bool is_true(const char *word)
{
	return !strcasecmp(word, "true") || !strcasecmp(word, "yes") ||
	       !strcasecmp(word, "on");
}

/*
 * Scan @text. Returns true if line @asked is in an RDMA or RDMA_Debug block. A block is
 * recognized by its name at any depth, so that a missing brace does not hide it.
 */
static bool scan(const char *text, struct gr_text *t, unsigned int asked)
{
	struct scan s = { .at = text, .line = 1 };
	/* How many blocks are open, and where the outermost begins; the depth of the RDMA
	 * block, 0 outside of it, and where it begins. */
	unsigned int depth = 0, open = 0, ours = 0, begin = 0;
	char item[WORD] = "", token, before = 0;
	bool inside = false;

	for (; (token = next_token(&s)); before = token) {
		if (token == '=') {
			memcpy(item, s.word, WORD);
		} else if (token == 'w' && before == '=') {
			t->required |= ours && !strcasecmp(item, "Required") &&
				       is_true(s.word);
		} else if (token == '{') {
			if (!depth++)
				open = s.word_line;
			t->rdma |= !strcasecmp(s.word, "RDMA");
			if (is_rdma_block(s.word)) {
				ours = depth;
				begin = s.word_line;
			} else if (depth == 1 && !t->misspelled_line &&
				   is_misspelled(s.word)) {
				t->misspelled_line = s.word_line;
				memcpy(t->misspelled, s.word, WORD);
			}
		} else if (token == '}' && !depth) {
			t->brace_line = t->brace_line ? t->brace_line : s.line;
		} else if (token == '}' && depth-- == ours) {
			inside |= begin <= asked && asked <= s.line;
			ours = 0;
		}
	}
	if (depth && !t->brace_line)
		t->brace_line = open;
	return inside || (ours && begin <= asked && asked <= s.line);
}

/* Returns the text of the file, which the caller frees, or NULL, also if it is empty. */
static char *read_file(const char *path)
{
	FILE *f = path ? fopen(path, "re") : NULL;
	char *text = NULL;
	size_t room = 0;

	if (f && getdelim(&text, &room, '\0', f) < 0) {
		free(text);
		text = NULL;
	}
	if (f)
		fclose(f);
	return text;
}

bool gr_text_read(const char *path, struct gr_text *t)
{
	char *text = read_file(path);
	bool read = text;

	memset(t, 0, sizeof(*t));
	if (read)
		(void)scan(text, t, 0);
	free(text);
	return read;
}

bool gr_text_inside_rdma(const char *path, unsigned int line)
{
	char *text = read_file(path);
	struct gr_text t = { 0 };
	bool inside = text && scan(text, &t, line);

	free(text);
	return inside;
}
