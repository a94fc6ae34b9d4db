/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_walk - programs that step over XDR types and stop at data items
 *
 * A type is a constant array of steps that ends with END. What follows a
 * discriminant is an array of arms that ends with DEFAULT() or REFUSE. Programs
 * refer to others only forward, in the text of this layer, so the depth of
 * ulb_walk() is that of the deepest type (four) and not in the peer's hands.
 *
 * No element of a counted array is shorter than a word, so a loop over it ends
 * with the input whatever the count says.
 */
#ifndef RPCRDMA_ULB_SKIP_H
#define RPCRDMA_ULB_SKIP_H

#include <stdbool.h>

#include "nfs/xdr_cursor.h"
#include "rpcrdma/nfs.h"

enum ulb_step_op {
	STEP_END,
	STEP_WORDS, /* n words */
	STEP_OPAQUE, /* a counted string of octets, and roundup */
	STEP_VEC, /* a counted array of n words each */
	STEP_EACH, /* a counted array of body */
	STEP_LIST, /* a list: body as long as TRUE precedes it */
	STEP_UNION, /* a discriminant and its arm */
	STEP_DATA, /* a DDP-eligible item */
	STEP_STATEID, /* a stateid4, whose client is noted */
	STEP_CLIENT, /* a clientid4, which is noted if w->owners is set */
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
 * The clients that stateids name. Ganesha has the client's number, as it keeps it
 * in memory, in the first 8 octets of what follows a stateid's counter and of a
 * session's identifier.
 */
struct ulb_named {
	uint64_t client; /* the first, if there is any */
	bool any;
	bool mixed; /* there is another */
	bool stale; /* one is of another instance of the server */
	bool current; /* a special stateid of zeros: that of the operation before */
};

/*
 * A walk through one stream. Each item takes the next place in @items, as far
 * as there are places, and the next of @chunk, if there is one.
 */
struct ulb_walk {
	struct ulb_cur cur;
	struct ulb_item *items;
	unsigned int max;
	unsigned int n; /* items so far, recorded or not */
	const uint32_t *chunk; /* as in ulb_scan_reply() */
	unsigned int nchunk;
	/* As in ulb_take_reads(): an item that begins where the next of these
	 * says is in that chunk. */
	const struct ulb_read *reads;
	unsigned int nreads;
	unsigned int nread; /* of them, items so far */
	bool misfit; /* it has ended at one whose length is not its chunk's */
	bool unknown; /* it has ended where further items cannot be told */
	struct ulb_named named; /* by the operation that is walked ... */
	struct ulb_named before; /* ... and by those before it */
	bool owners; /* an owner names a client (4.0; later it may be 0) */
	/* What the operations before have said: */
	uint64_t cache_at; /* where a true sa_cachethis stands; 0: nowhere */
	bool creates, returns_data; /* 4.0: one of them does */
	uint32_t status; /* of the one that is withheld */
};

/* Ganesha numbers the clients of each of its instances under a prefix of its own: the
 * time of its start (new_clientid()). Returns true if it did not give out both. */
static inline bool ulb_other_instance(uint64_t a, uint64_t b)
{
	return a >> 32 != b >> 32;
}

/* Add @client to those in @n. */
static inline void ulb_name(struct ulb_named *n, uint64_t client)
{
	n->mixed |= n->any && n->client != client;
	n->stale |= n->any && ulb_other_instance(n->client, client);
	if (!n->any)
		n->client = client;
	n->any = true;
}

/* Read a stateid, and add the client that it names; 0 or -EBADMSG. */
int ulb_get_stateid(struct ulb_cur *cur, struct ulb_named *named);
/* 0 or -EBADMSG */
int ulb_walk(struct ulb_walk *w, const struct ulb_step *s);
int ulb_walk_union(struct ulb_walk *w, const struct ulb_arm *arms);

/*
 * Record an eligible item that the Reply does not have. It takes its place and
 * its chunk all the same [H2]; what the chunk is said to hold does not matter.
 */
int ulb_walk_void(struct ulb_walk *w);

#endif /* RPCRDMA_ULB_SKIP_H */
