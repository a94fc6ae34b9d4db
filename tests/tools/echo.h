/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo - a Responder for tests: a program of its own and a fake of NFSv3
 *
 * Program ECHO_PROG, version 1:
 *   0 NULL
 *   1 ECHO(opaque<>) -> opaque<>
 *   2 DELAY(uint32 ms, opaque<>) -> opaque<>, after @ms
 *   3 MAKE(uint32 n) -> opaque<n> of the pattern
 *   4 CALLBACK(uint32 count, uint32 size, [uint32 call_max]) -> uint32 good,
 *     uint32 bad: sends @count reverse-direction Calls of CB_PROG, procedure 1
 *     (ECHO) with @size octets of the pattern, and answers when all are
 *     answered. @call_max is rt_request.call_max, by default UINT32_MAX
 *   5 SILENCE(opaque<>): no answer, ever
 *
 * NFSv3: NULL, READLINK, READ, WRITE, SYMLINK and COMMIT on files whose every
 * octet is known: the one at offset o is (7 * o + (o >> 8)) mod 256. READ ends
 * at ECHO_FILE_SIZE and fails with NFS3ERR_INVAL beyond; WRITE of any other
 * data, and SYMLINK of any other text, fails with NFS3ERR_IO. READLINK gives
 * as many octets as the first word of the handle says; READ gives so many more
 * than it was asked for.
 */
#ifndef RPCRDMA_TESTS_ECHO_H
#define RPCRDMA_TESTS_ECHO_H

#include <stdio.h>

#include "rpcargs.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"

#define ECHO_PROG 0x20049001u
#define ECHO_CB_PROG 0x20049002u
#define ECHO_FILE_SIZE (1ull << 30)
#define ECHO_PATTERN_LEN (4u << 20)
#define ECHO_PERIOD 65536u

/* An answer under way; freed by its done callback. */
struct echo_answer {
	struct rt_reply reply;
	struct rt_piece pieces[3];
	struct rt_item item;
	uint8_t head[256];
	uint8_t pad[4];
	struct fab_buf *buf;
};

struct echo {
	struct rt_instance *inst;
	struct fab_buf *pattern; /* ECHO_PATTERN_LEN octets */
	uint8_t *flat; /* the Call at hand */
	unsigned int answers; /* not yet done */
	struct echo_delayed *delayed;
	FILE *log;
	bool roundup; /* write it to Write chunks, as RFC 8166 forbids */
};

/* The NFSv3 fake; @r stands at the arguments. Fills @a after @w's head. */
void echo_nfs(struct echo *e, uint32_t proc, struct xr *r, struct xw *w,
	      struct echo_answer *a);
/* Append @n octets of the pattern from @offset, and roundup, as pieces. */
void echo_put_pattern(struct echo *e, struct xw *w, struct echo_answer *a,
		      uint64_t offset, uint32_t n);
bool echo_is_pattern(struct echo *e, const uint8_t *p, size_t n,
		     uint64_t offset);

#endif /* RPCRDMA_TESTS_ECHO_H */
