/* SPDX-License-Identifier: BSD-3-Clause */
/* conf - a file of options */
#include "tools/conf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS " \t\r\f\v"

int conf_read(struct conf *c, const char *path)
{
	FILE *f = fopen(path, "re");
	size_t len = 0;
	int rc = 0;

	memset(c, 0, sizeof(*c));
	if (!f)
		return errno;
	c->text = malloc(CONF_MAX + 1);
	if (c->text)
		len = fread(c->text, 1, CONF_MAX + 1, f);
	if (!c->text || ferror(f))
		rc = errno;
	else if (len > CONF_MAX)
		rc = EFBIG;
	else if (memchr(c->text, 0, len))
		rc = EINVAL;
	fclose(f);
	if (rc) {
		conf_free(c);
		return rc;
	}
	c->text[len] = 0;
	c->at = c->text;
	return 0;
}

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
