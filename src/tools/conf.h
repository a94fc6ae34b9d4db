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

/* A longer file is no file of options. */
#define CONF_MAX 65536

struct conf {
	char *text; /* holds names and values */
	char *at;
	unsigned int line; /* number of the line that conf_next() has returned */
	char *name;
	char *value; /* NULL without "=" */
};

/* Returns 0 or an error number. EFBIG: too long; EINVAL: it contains NULs. */
int conf_read(struct conf *c, const char *path);
/* Get the next option. Returns false at the end. */
bool conf_next(struct conf *c);
void conf_free(struct conf *c);

#endif /* RPCRDMA_TOOLS_CONF_H */
