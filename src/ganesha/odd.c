/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * odd - characters that Ganesha's parser does not take outside of quotes
 *
 * Threads: any.
 *
 * They come with text that is copied from a web page or a word processor, look like
 * others or like nothing, and the parser shows one byte of each, which a terminal
 * and the journal do not print.
 */
#include "ganesha/odd.h"

#include <stdio.h>
#include <string.h>

#define LONGEST 4

static bool is_odd(char c)
{
	return (unsigned char)c >= 0x80;
}

/* How many bytes it has in UTF-8; 1 if it is none. */
static size_t length(const char *at, size_t n)
{
	unsigned char c = (unsigned char)*at;
	size_t len = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc2 ? 2 : 1;

	for (size_t i = 1; i < len; i++)
		if (i >= n || ((unsigned char)at[i] & 0xc0) != 0x80)
			return 1;
	return len;
}

/* Which one, and what to do about it. */
static const char *describe(const char *at, size_t len)
{
	static const struct {
		const char *from, *to, *what;
	} known[] = {
		{ "\xa0", "\xa0", ", a no-break space: type a space" },
		{ "\xc2\xa0", "\xc2\xa0", ", a no-break space: type a space" },
		{ "\xe2\x80\x80", "\xe2\x80\x8a",
		  ", a special space: type a space" },
		{ "\xe2\x80\x8b", "\xe2\x80\x8f",
		  ", which cannot be seen: delete it" },
		{ "\xe2\x80\x90", "\xe2\x80\x95", ", a dash: type -" },
		{ "\xe2\x80\x98", "\xe2\x80\x9f",
		  ", a typographic quotation mark: type \"" },
		{ "\xe2\x80\xaf", "\xe2\x80\xaf",
		  ", a no-break space: type a space" },
		{ "\xef\xbb\xbf", "\xef\xbb\xbf",
		  ", a byte order mark: save the file without it" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strlen(known[i].from) == len &&
		    memcmp(at, known[i].from, len) >= 0 &&
		    memcmp(at, known[i].to, len) <= 0)
			return known[i].what;
	return ": put it in quotes or delete it";
}

bool odd_look(const char *at, size_t n, char *text, size_t room)
{
	char bytes[LONGEST * sizeof(" 0xFF")] = "";
	size_t first = 0, len, end = 0;

	while (first < n && !is_odd(at[first]))
		first++;
	if (first == n)
		return false;
	len = length(at + first, n - first);
	for (size_t i = 0; i < len; i++)
		end += (size_t)snprintf(
			bytes + end, sizeof(bytes) - end, " 0x%02X",
			(unsigned int)(unsigned char)at[first + i]);
	snprintf(text, room, "a character that is not ASCII,%s%s", bytes,
		 describe(at + first, len));
	return true;
}

bool odd_only(const char *at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!is_odd(at[i]))
			return false;
	return n > 0;
}
