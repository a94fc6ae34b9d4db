/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - RPC record marking on a byte stream (RFC 5531, section 11)
 *
 * A pure reader: it is shown the octets as they come, in pieces of any size,
 * and tells which of them are payload and where a record ends. It keeps no
 * payload. One thread at a time per struct rec.
 */
#ifndef RPCRDMA_TOOLS_RECORD_H
#define RPCRDMA_TOOLS_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REC_LAST_FRAGMENT 0x80000000u
#define REC_MARK_LEN 4

enum rec_event {
	REC_MORE, /* all octets are used up; more are needed */
	REC_MARK, /* the first *used octets were a fragment's mark */
	REC_DATA, /* the first *used octets are payload */
	REC_END, /* the record is complete, no octets used */
	REC_LONG, /* a fragment would make the record longer than max */
};

struct rec {
	size_t max; /* longest record accepted */
	size_t len; /* payload of the present record so far */
	uint32_t left; /* octets of the present fragment still to come */
	uint8_t mark[REC_MARK_LEN];
	unsigned int nmark; /* octets of the next fragment's mark seen */
	bool last; /* the present fragment ends the record */
};

void rec_init(struct rec *r, size_t max);
/*
 * Look at the @n octets at @p; call again with what is left until REC_MORE.
 * After REC_LONG the stream cannot be followed any more.
 */
enum rec_event rec_next(struct rec *r, const uint8_t *p, size_t n,
			size_t *used);
/* Returns true inside a record. */
bool rec_inside(const struct rec *r);
/* The mark of a record sent as one fragment of @len octets. */
void rec_mark(uint8_t mark[REC_MARK_LEN], size_t len);

#endif /* RPCRDMA_TOOLS_RECORD_H */
