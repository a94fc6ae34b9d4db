/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void base_cut(char *text, size_t room)
{
	memcpy(text + room - 4, "...", 4);
}

void base_append(char *text, size_t room, const char *format, ...)
{
	size_t n = strlen(text);
	va_list args;
	int more;

	va_start(args, format);
	more = vsnprintf(text + n, room - n, format, args);
	va_end(args);
	if (more >= 0 && (size_t)more >= room - n)
		base_cut(text, room);
}
