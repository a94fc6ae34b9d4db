/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - the record marking of the gateway's TCP side, tools/record.h
 */
#include "tools/record.c"

#include "proof.h"

/* A stream in pieces: each step uses octets that are there, says something new or that
 * it needs more, and keeps a record within its limit. */
void record_next(void)
{
	uint8_t array[8];
	struct rec r;

	rec_init(&r, nondet_size());
	for (unsigned int i = 0; i < 5; i++) {
		size_t n = any_below(sizeof(array) + 1), used;
		enum rec_event ev = rec_next(&r, LAST(array, n), n, &used);

		PROVE(used <= n);
		PROVE(ev != REC_MORE || used == n);
		PROVE(ev != REC_DATA || used);
		PROVE(ev != REC_END || (!used && !rec_inside(&r)));
		if (ev == REC_LONG)
			return;
		PROVE(r.len <= r.max && r.left <= r.max - r.len);
	}
}
