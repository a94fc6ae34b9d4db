/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * missing - which sign seems to be missing in the text of ganesha.conf
 */
#ifndef RPCRDMA_GANESHA_MISSING_H
#define RPCRDMA_GANESHA_MISSING_H

#include <stdbool.h>
#include <stddef.h>

struct missing {
	unsigned int line; /* of the sign that is missing */
	char text[128]; /* as a question, without a full stop */
};

/*
 * The first place in the file @path where a sign seems to be missing: of a
 * statement or name that has a part in line @first or behind it, and none behind
 * @last. False: none is.
 */
bool missing_look(const char *path, unsigned int first, unsigned int last,
		  struct missing *m);

#endif /* RPCRDMA_GANESHA_MISSING_H */
