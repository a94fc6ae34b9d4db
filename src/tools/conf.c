/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf - see conf.h
 */
#include "tools/conf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLANKS " \t\r\f\v"

int conf_read(struct conf *c, const char *path)
{
	size_t len = 0;
	ssize_t n = 0;
	int fd, rc = 0;

	memset(c, 0, sizeof(*c));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	c->text = malloc(CONF_MAX + 1);
	if (!c->text)
		rc = ENOMEM;
	while (!rc) {
		n = read(fd, c->text + len, CONF_MAX + 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			rc = errno;
		if (n <= 0)
			break;
		len += (size_t)n;
		if (len > CONF_MAX)
			rc = EFBIG;
	}
	close(fd);
	if (!rc && memchr(c->text, 0, len))
		rc = EINVAL;
	if (rc) {
		conf_free(c);
		return rc;
	}
	c->text[len] = 0;
	c->at = c->text;
	return 0;
}

/* @s without the blanks around it. */
static char *strip(char *s)
{
	size_t len;

	s += strspn(s, BLANKS);
	len = strlen(s);
	while (len && strchr(BLANKS, s[len - 1]))
		len--;
	s[len] = 0;
	return s;
}

bool conf_next(struct conf *c)
{
	char *line, *equals;

	while (c->at) {
		line = strsep(&c->at, "\n");
		c->line++;
		line = strip(line);
		if (!*line || *line == '#')
			continue;
		equals = strchr(line, '=');
		if (equals)
			*equals++ = 0;
		c->name = strip(line);
		c->value = equals ? strip(equals) : NULL;
		return true;
	}
	return false;
}

void conf_free(struct conf *c)
{
	free(c->text);
	memset(c, 0, sizeof(*c));
}
