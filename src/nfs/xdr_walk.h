/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_walk - programs that step over XDR types and stop at data items
 *
 * A type is an array of steps that ends with END. A discriminant is followed by
 * an array of arms that ends with DEFAULT() or REFUSE. Programs refer only to
 * earlier ones, so the depth of ulb_walk() is that of the deepest type (four),
 * whatever the peer sends.
 *
 * No element of a counted array is shorter than a word, so a loop over it ends
 * with the input.
 */
#ifndef RPCRDMA_NFS_XDR_WALK_H
#define RPCRDMA_NFS_XDR_WALK_H

#include <stdbool.h>

#include "nfs/xdr_cursor.h"
#include "rpcrdma/nfs.h"

enum ulb_step_op {
	STEP_END,
	STEP_WORDS, /* n words */
	STEP_OPAQUE, /* a counted string of octets, and roundup */
	STEP_VEC, /* a counted array of n words each */
	STEP_EACH, /* a counted array of body */
	STEP_LIST, /* a list: body while TRUE precedes it */
	STEP_UNION, /* a discriminant and its arm */
	STEP_DATA, /* a DDP-eligible item */
	STEP_STATEID, /* a stateid4; its client is noted */
	STEP_CLIENT, /* a clientid4; noted if w->owners is set */
};

enum ulb_arm_kind { ARM_CASE, ARM_DEFAULT, ARM_REFUSE };

struct ulb_step;

struct ulb_arm {
	enum ulb_arm_kind kind;
	uint32_t value;
	const struct ulb_step *body; /* NULL: void */
};

struct ulb_step {
	uint8_t op;
	uint8_t n;
	const struct ulb_step *body;
	const struct ulb_arm *arms;
};

/* clang-format off */
#define END		{ STEP_END, 0, NULL, NULL }
#define WORDS(count)	{ STEP_WORDS, (count), NULL, NULL }
#define OPAQUE		{ STEP_OPAQUE, 0, NULL, NULL }
#define VEC(words)	{ STEP_VEC, (words), NULL, NULL }
#define EACH(steps)	{ STEP_EACH, 0, (steps), NULL }
#define LIST(steps)	{ STEP_LIST, 0, (steps), NULL }
#define UNION(cases)	{ STEP_UNION, 0, NULL, (cases) }
#define DATA		{ STEP_DATA, 0, NULL, NULL }
#define STATEID		{ STEP_STATEID, 0, NULL, NULL }
#define CLIENT		{ STEP_CLIENT, 0, NULL, NULL }

#define CASE(v, steps)	{ ARM_CASE, (v), (steps) }
#define DEFAULT(steps)	{ ARM_DEFAULT, 0, (steps) }
#define REFUSE		{ ARM_REFUSE, 0, NULL }
/* clang-format on */

/*
 * The clients that stateids name. Ganesha's number of the client, as in memory,
 * begins the 12 octets behind a stateid's counter, and a session's identifier.
 */
struct ulb_named {
	uint64_t client; /* the first */
	bool any;
	bool mixed; /* there is another one */
	bool stale; /* one is of another instance of the server */
	bool current; /* a special stateid of zeros: that of the operation before */
};

/*
 * A walk through one stream. Each item takes the next of @items, if there is
 * room, and the next of @chunk.
 */
struct ulb_walk {
	struct ulb_cur cur;
	struct ulb_item *items;
	unsigned int max;
	unsigned int n; /* items so far, noted or not */
	const uint32_t *chunk; /* as in ulb_scan_reply() */
	unsigned int nchunk;
	/* See ulb_take_reads(): an item at the Position of the next one is in
	 * that chunk. */
	const struct ulb_read *reads;
	unsigned int nreads;
	unsigned int nread; /* of them, used so far */
	bool misfit; /* ended at an item whose length is not its chunk's */
	bool unknown; /* ended where further items cannot be found */
	struct ulb_named named; /* by the current operation */
	struct ulb_named before; /* by those before it */
	bool owners; /* an owner names a client (4.0; later it may be 0) */
	/* Of the operations before: */
	uint64_t cache_at; /* position of a true sa_cachethis, or 0 */
	bool creates, returns_data; /* 4.0 */
	uint32_t status; /* of the withheld operation */
};

/* Ganesha numbers the clients of each instance under a prefix, the time of its
 * start (new_clientid()). Returns true if the prefixes differ. */
static inline bool ulb_other_instance(uint64_t a, uint64_t b)
{
	return a >> 32 != b >> 32;
}

static inline void ulb_name(struct ulb_named *n, uint64_t client)
{
	n->mixed |= n->any && n->client != client;
	n->stale |= n->any && ulb_other_instance(n->client, client);
	if (!n->any)
		n->client = client;
	n->any = true;
}

/* Read a stateid and note its client. Returns 0 or -EBADMSG. */
int ulb_get_stateid(struct ulb_cur *cur, struct ulb_named *named);
/* Both return 0 or -EBADMSG. */
int ulb_walk(struct ulb_walk *w, const struct ulb_step *s);
int ulb_walk_union(struct ulb_walk *w, const struct ulb_arm *arms);

/*
 * Note an eligible item that the Reply does not have. It keeps its place and
 * its chunk [H2], whose length does not matter.
 */
int ulb_walk_void(struct ulb_walk *w);

#endif /* RPCRDMA_NFS_XDR_WALK_H */
