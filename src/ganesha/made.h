/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * made - which exports Ganesha would make, as their blocks are read one after another
 *
 * What Ganesha finds out only as it makes them. For --check-config; any thread, one at
 * a time for each struct gr_made.
 */
#ifndef RPCRDMA_GANESHA_MADE_H
#define RPCRDMA_GANESHA_MADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GR_MADE_FAULT 512

struct gsh_config_node;

/* Of an EXPORT block; texts may be NULL. */
struct gr_made_export {
	const struct gsh_config_node *node;
	unsigned int id;
	bool nfs4; /* it is served by that */
	bool useless; /* gr_made_path(): it has no place in NFSv4 */
	char *path, *pseudo, *tag;
	char *fsal;
};

/* Zero before the first use. */
struct gr_made {
	uint8_t ids[65536 / 8];
	void *pseudos, *tags, *paths; /* search trees of texts */
	struct gr_made_export *exports; /* those that are made */
	size_t n, room;
};

/* Can FSAL @fsal export @path? If not, @fault says why; so below. Of FSALs of which
 * nothing is known the answer is yes. *@made: Ganesha makes such an export all the same,
 * and nobody can use it. */
bool gr_made_path(const char *fsal, const char *path, bool *made,
		  char fault[GR_MADE_FAULT]);
/* Can @x be made beside the others? Then it is, and its texts are copied. */
bool gr_made_add(struct gr_made *m, const struct gr_made_export *x,
		 char fault[GR_MADE_FAULT]);
/* Are all places there where an export of NFSv4 is in another? If not, Ganesha ends
 * after it has made them; *@node is of the one that has none. */
bool gr_made_nested(const struct gr_made *m,
		    const struct gsh_config_node **node,
		    char fault[GR_MADE_FAULT]);
/* What is left of @pseudo below @of; NULL: it is not below. Neither ends with a "/", but
 * for "/". */
const char *gr_made_below(const char *pseudo, const char *of);
void gr_made_free(struct gr_made *m);

#endif /* RPCRDMA_GANESHA_MADE_H */
