/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - where in ganesha.conf a message of Ganesha's parser is about
 */
#ifndef RPCRDMA_GANESHA_PLACE_H
#define RPCRDMA_GANESHA_PLACE_H

#include <limits.h>
#include <stdbool.h>

struct gr_place {
	char path[PATH_MAX];
	unsigned int line; /* 0: of the file as a whole */
	const char *text; /* what is said of it, in the message */
};

/* "Config File (PATH:LINE): TEXT"; false: it has another form. Any thread. */
bool gr_place_read(const char *message, struct gr_place *at);

#endif /* RPCRDMA_GANESHA_PLACE_H */
