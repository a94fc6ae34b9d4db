/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conf - a file of options, one a line
 *
 *	# a comment
 *	name = value
 *	name
 *
 * Blanks around a name and a value do not count. Any thread; a struct conf
 * belongs to its caller.
 */
#ifndef RPCRDMA_TOOLS_CONF_H
#define RPCRDMA_TOOLS_CONF_H

#include <stdbool.h>
#include <stddef.h>

/* A longer file is none of options. */
#define CONF_MAX 65536

struct conf {
	char *text; /* names and values are in it */
	char *at;
	unsigned int line; /* of what conf_next() has given */
	char *name;
	char *value; /* NULL: there is no "=" */
};

/* 0, or an error number. EFBIG: too long; EINVAL: it has NULs. */
int conf_read(struct conf *c, const char *path);
/* The next option. False: there are no more. */
bool conf_next(struct conf *c);
void conf_free(struct conf *c);

#endif /* RPCRDMA_TOOLS_CONF_H */
