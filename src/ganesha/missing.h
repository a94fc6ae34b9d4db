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
	char text[128]; /* what it may be, as a question; or what else is wrong */
};

/*
 * The first place in the file @path where a sign seems to be missing, or is one that
 * cannot be read: of a statement or name that has a part in line @first or behind
 * it, and none behind @last. False: there is none.
 */
bool missing_look(const char *path, unsigned int first, unsigned int last,
		  struct missing *m);

#endif /* RPCRDMA_GANESHA_MISSING_H */
