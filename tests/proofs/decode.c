/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode - the decoders of src/wire take any octets
 *
 * For each message of any length up to a bound, whatever is in it: no access is out of
 * bounds, nothing overflows, every loop ends, and what a decoder accepts can be walked
 * by the iterators, which count what it has counted.
 */
#include "wire/decode.c"
#include "wire/list.c"

#include "proof.h"

/* Is the view, if there is one, within @len octets at @msg? */
static void prove_inside(const uint8_t *msg, size_t len, const uint8_t *p,
			 size_t n)
{
	PROVE(n <= len);
	PROVE(!n || (p >= msg && (size_t)(p - msg) <= len - n));
}

static void walk_reads(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_read_segment s;

	while (wire_read_next(l, &it, &s))
		;
	PROVE(it.index == l->count && it.pos == l->len);
}

static void walk_chunk(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	struct wire_segment s;

	while (wire_segment_next(l, &it, &s))
		;
	PROVE(it.index == l->count && it.pos == l->len);
}

/* Both lists; or one of them, as version 2 scans. */
void scan_reads(void)
{
	uint8_t array[52];
	size_t len = any_below(sizeof(array) + 1);
	const uint8_t *msg = LAST(array, len);
	struct wire_cursor c = { msg, len, 0 };
	struct wire_list call = { 0 }, reads = { 0 };
	bool two = nondet_bool(), first = nondet_bool();

	if (!wire_scan_both(&c, two || first ? &call : NULL,
			    two || !first ? &reads : NULL))
		return;
	PROVE(c.pos <= len);
	walk_reads(&call);
	walk_reads(&reads);
}

void scan_reply(void)
{
	uint8_t array[56];
	size_t len = any_below(sizeof(array) + 1);
	const uint8_t *msg = LAST(array, len);
	struct wire_cursor c = { msg, len, 0 };
	struct wire_list l;
	bool present;

	if (!wire_scan_reply(&c, &l, &present))
		return;
	PROVE(c.pos <= len);
	PROVE(present || !l.count);
	walk_chunk(&l);
}

void scan_props(void)
{
	uint8_t array[40];
	size_t len = any_below(sizeof(array) + 1);
	const uint8_t *msg = LAST(array, len);
	struct wire_cursor c = { msg, len, 0 };
	struct wire_iter it = { 0 };
	const uint8_t *inner;
	struct wire_list l;
	struct wire_prop p;
	uint32_t n;

	if (wire_scan_props(&c, &l) != WIRE_OK)
		return;
	PROVE(c.pos <= len);
	while (wire_prop_next(&l, &it, &p)) {
		prove_inside(l.data, l.len, p.data, p.len);
		PROVE(prop_conforms(&p));
		wire_prop_u32(&p, 0);
		if (wire_prop_opaque(&p, &inner, &n))
			prove_inside(p.data, p.len, inner, n);
	}
	PROVE(it.index == l.count && it.pos == l.len);
}

/* The body of an ERROR of any version. */
void error_any(void)
{
	uint8_t array[32];
	size_t len = any_below(sizeof(array) + 1);
	struct wire_error e;

	if (!wire_error_decode(LAST(array, len), len, &e))
		return;
	PROVE(e.code >= RDMA2_ERR_VERS && e.code <= RDMA2_ERR_SYSTEM);
}

/* A bit of a property subset that ends with the message. */
void subset(void)
{
	uint8_t array[16];
	uint32_t nwords = (uint32_t)any_below(5), bit = nondet_u32();
	bool set =
		wire_subset_test(LAST(array, (size_t)nwords * 4), nwords, bit);

	PROVE(!set || bit / 32 < nwords);
}
