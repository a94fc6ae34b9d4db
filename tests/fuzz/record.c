/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - the gateway's record marking, and the heads of what is in a record
 *
 * However the octets of a stream are cut, the same records come out.
 *
 * Input: the longest record allowed and the lengths of the first pieces (an
 * octet each), then the stream.
 */
#include "fuzz.h"
#include "tools/record.h"
#include "tools/rpcmsg.h"

#define STEPS 4

struct seen {
	size_t octets, records;
	uint64_t sum;
	bool stopped, inside;
};

static void feed(struct rec *r, const uint8_t *p, size_t n, struct seen *s)
{
	size_t used, turns = 0, most = 2 * n + 4;

	while (!s->stopped) {
		enum rec_event ev = rec_next(r, p, n, &used);

		FUZZ_CHECK(used <= n && turns++ <= most);
		switch (ev) {
		case REC_DATA:
			FUZZ_CHECK(used > 0);
			s->octets += used;
			for (size_t i = 0; i < used; i++)
				s->sum = s->sum * 31 + p[i] + 1;
			FUZZ_CHECK(r->len <= r->max);
			break;
		case REC_MARK:
			break;
		case REC_END:
			FUZZ_CHECK(!used);
			s->records++;
			s->sum = s->sum * 33 + 7;
			FUZZ_CHECK(!r->len);
			break;
		case REC_LONG:
			s->stopped = true;
			break;
		case REC_MORE:
			FUZZ_CHECK(used == n);
			return;
		}
		p += used;
		n -= used;
	}
}

static void heads(const uint8_t *p, size_t n)
{
	struct rpc_reply r;

	if (!rpc_reply_decode(p, n, &r)) {
		FUZZ_CHECK(r.body <= n);
		FUZZ_CHECK(rpc_reply_text(&r));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct seen whole = { 0 }, cut = { 0 };
	size_t max = 4u * fuzz_u8(&in), step[STEPS];
	uint8_t *stream;
	struct rec r;

	for (unsigned int i = 0; i < STEPS; i++)
		step[i] = 1u + fuzz_u8(&in);
	stream = fuzz_exact(in.p, in.left);
	rec_init(&r, max);
	feed(&r, stream, in.left, &whole);
	whole.inside = !whole.stopped && rec_inside(&r);
	rec_init(&r, max);
	for (size_t at = 0, i = 0; at < in.left; i++) {
		size_t n = step[i % STEPS];
		uint8_t *piece;

		n = n < in.left - at ? n : in.left - at;
		piece = fuzz_exact(stream + at, n);
		feed(&r, piece, n, &cut);
		fuzz_exact_free(piece, n);
		at += n;
	}
	cut.inside = !cut.stopped && rec_inside(&r);
	FUZZ_CHECK(!memcmp(&whole, &cut, sizeof(cut)));
	heads(stream, in.left);
	fuzz_exact_free(stream, in.left);
	return 0;
}
