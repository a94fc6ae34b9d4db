/* SPDX-License-Identifier: BSD-3-Clause */
#include "sysfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool read_line(char *text, size_t room, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, room - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	for (char *c = text; *c; c++)
		if (iscntrl((unsigned char)*c))
			*c = ' ';
	return n > 0;
}

/* Format the path of a function's arguments. Returns false if it is too long. */
#define FORMAT_PATH(path, format)                                        \
	({                                                               \
		va_list args_;                                           \
		int len_;                                                \
                                                                         \
		va_start(args_, (format));                               \
		len_ = vsnprintf((path), sizeof(path), (format), args_); \
		va_end(args_);                                           \
		len_ >= 0 && (size_t)len_ < sizeof(path);                \
	})

bool vb_sysfs_line(char *text, size_t room, const char *format, ...)
{
	char path[VB_SYSFS_PATH];

	*text = '\0';
	return FORMAT_PATH(path, format) && read_line(text, room, path);
}

bool vb_sysfs_number(uint64_t *value, const char *format, ...)
{
	char path[VB_SYSFS_PATH], text[VB_SYSFS_LINE], *end;
	unsigned long long v;

	if (!FORMAT_PATH(path, format) ||
	    !read_line(text, sizeof(text), path) ||
	    !isdigit((unsigned char)*text))
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*value = v;
	return true;
}

bool vb_sysfs_link(char *text, size_t room, const char *format, ...)
{
	char path[VB_SYSFS_PATH], to[VB_SYSFS_PATH];
	const char *slash;
	ssize_t n;

	*text = '\0';
	if (!FORMAT_PATH(path, format))
		return false;
	n = readlink(path, to, sizeof(to) - 1);
	if (n <= 0)
		return false;
	to[n] = '\0';
	slash = strrchr(to, '/');
	snprintf(text, room, "%s", slash ? slash + 1 : to);
	return true;
}

bool vb_sysfs_exists(const char *format, ...)
{
	char path[VB_SYSFS_PATH];

	return FORMAT_PATH(path, format) && !access(path, F_OK);
}
