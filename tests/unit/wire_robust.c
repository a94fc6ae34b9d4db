/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_robust - hundreds of thousands of hostile messages
 *
 * Whatever the octets are, decoding reads nothing outside of them (the
 * sanitizer sees to that), an accepted message describes itself without
 * contradiction, and encoding what was understood gives the same octets back.
 */
#include "wire_util.h"

#define MSG_MAX 1024
#define ROUNDS 300000

static struct wire_read_segment rd[2][MSG_MAX / 24];
static struct wire_segment sg[MSG_MAX / 16 + 1];
static struct wire_chunk_desc wr[MSG_MAX / 8];
static struct wire_prop pr[MSG_MAX / 8];

static bool inside(const uint8_t *buf, size_t len, const uint8_t *p, size_t n)
{
	return p >= buf && p <= buf + len && n <= (size_t)(buf + len - p);
}

/* Collect a list with its iterator and compare with its totals. */
static bool collect_reads(const struct wire_list *l,
			  struct wire_read_segment *out)
{
	struct wire_iter it = { 0 };
	uint64_t bytes = 0;
	uint32_t n = 0;

	for (; wire_read_next(l, &it, &out[n]); n++)
		bytes += out[n].target.length;
	return n == l->count && n == l->segments && bytes == l->bytes &&
	       it.pos == l->len;
}

static bool collect_chunk(const struct wire_list *l, struct wire_segment *out)
{
	struct wire_iter it = { 0 };
	uint64_t bytes = 0;
	uint32_t n = 0;

	for (; wire_segment_next(l, &it, &out[n]); n++)
		bytes += out[n].length;
	return n == l->count && n == l->segments && bytes == l->bytes &&
	       it.pos == l->len;
}

static bool collect_writes(const struct wire_list *l, uint32_t *used)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;
	uint32_t n = 0, segments = 0;
	uint64_t bytes = 0;

	for (; wire_chunk_next(l, &it, &chunk); n++) {
		wr[n].seg = sg + segments;
		wr[n].count = chunk.count;
		if (!collect_chunk(&chunk, sg + segments))
			return false;
		segments += chunk.count;
		bytes += chunk.bytes;
	}
	*used = segments;
	return n == l->count && segments == l->segments && bytes == l->bytes &&
	       it.pos == l->len;
}

static bool collect_props(const struct wire_list *l)
{
	struct wire_iter it = { 0 };
	const uint8_t *data;
	uint32_t n = 0, len;

	for (; wire_prop_next(l, &it, &pr[n]); n++) {
		if (!inside(l->data, l->len, pr[n].data, pr[n].len))
			return false;
		(void)wire_prop_u32(&pr[n], 0);
		if (wire_prop_opaque(&pr[n], &data, &len) &&
		    !inside(pr[n].data, pr[n].len, data, len))
			return false;
	}
	return n == l->count && it.pos == l->len;
}

/* Encode an accepted message again from what its views say. */
static size_t again(const struct wire_msg *m, uint8_t *out)
{
	struct wire_chunk_desc reply;
	struct wire_call_desc c = { 0 };
	struct wire_reply_desc r = { 0 };
	uint32_t used = 0;

	if (!collect_reads(&m->call, rd[0]) ||
	    !collect_reads(&m->reads, rd[1]) ||
	    !collect_writes(&m->writes, &used) ||
	    !collect_chunk(&m->reply, sg + used) || !collect_props(&m->props))
		return 0;
	reply = (struct wire_chunk_desc){ sg + used, m->reply.count };
	c.inv_handle = m->inv_handle;
	c.call = rd[0];
	c.ncall = m->call.count;
	c.reads = rd[1];
	c.nreads = m->reads.count;
	c.writes = r.writes = wr;
	c.nwrites = r.nwrites = m->writes.count;
	c.reply = r.reply = m->has_reply ? &reply : NULL;
	switch (m->p.htype) {
	case RDMA2_ERROR:
		return wire_encode_error(out, MSG_MAX + 8, m->p.xid, 2,
					 m->p.credit, &m->error);
	case RDMA2_GRANT:
		wire_encode_grant(out, MSG_MAX, m->p.credit);
		put_be32(out, m->p.xid);
		return 16;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		return wire_encode_connprop(out, MSG_MAX, m->p.xid, m->p.credit,
					    m->p.htype == RDMA2_CONNPROP_FINAL,
					    pr, m->props.count);
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE:
		return wire_encode_call(out, MSG_MAX, m->p.xid, m->p.credit,
					m->p.htype == RDMA2_CALL_EXTERNAL, &c);
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_INLINE:
		return wire_encode_reply(out, MSG_MAX, m->p.xid, m->p.credit,
					 m->p.htype == RDMA2_REPLY_EXTERNAL,
					 &r);
	default:
		return wire_encode_middle(out, MSG_MAX, m->p.xid, m->p.credit,
					  m->p.htype == RDMA2_REPLY_MIDDLE,
					  m->remaining);
	}
}

/* The octets of @out that roundup may set differently are made equal. */
static void forgive_pads(const struct wire_msg *m, const uint8_t *buf,
			 uint8_t *out)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	while (wire_prop_next(&m->props, &it, &p)) {
		size_t end = (size_t)(p.data - buf) + p.len;

		memcpy(out + end, buf + end, -p.len & 3);
	}
}

/* Decode one message and check all that was promised; true if it was taken. */
static bool check(const uint8_t *data, size_t len, bool xid)
{
	uint8_t *buf = exact(data, len), out[MSG_MAX + 8];
	enum wire_status st;
	struct wire_error e;
	struct wire_msg m;
	bool sane = true;
	size_t n;

	st = wire_decode(buf, len, xid, &m);
	(void)wire_error_decode(buf, len, &e);
	if (st != WIRE_OK) {
		sane = only_prefix(&m) && (st == WIRE_SHORT) == (len < 16) &&
		       (st == WIRE_SHORT || m.p.xid == get_be32(buf));
		goto out;
	}
	sane = m.header_len + m.payload_len + m.surplus == len;
	if (m.payload)
		sane = sane && m.payload == buf + m.header_len &&
		       m.payload_len >= 4 && !m.surplus &&
		       (!xid || get_be32(m.payload) == m.p.xid);
	else
		sane = sane && !m.payload_len;
	n = again(&m, out);
	if (m.p.htype == RDMA2_ERROR)
		/* hints that were missing come back as zeros [E10] */
		sane = sane && n >= m.header_len;
	else
		sane = sane && n == m.header_len;
	if (sane) {
		forgive_pads(&m, buf, out);
		sane = !memcmp(out, buf, m.header_len);
	}
out:
	if (!sane) {
		printf("%s:", wire_status_name(st));
		for (size_t i = 0; i < len; i++)
			printf("%s%02x", i % 4 ? "" : " ", data[i]);
		printf("\n");
	}
	CU_ASSERT_TRUE(sane);
	free(buf);
	return st == WIRE_OK;
}

static void random_prefix(struct rng *r, uint8_t *b)
{
	put_be32(b, (uint32_t)rng_next(r));
	put_be32(b + 4, rng_below(r, 50) ? 2 : rng_below(r, 4));
	put_be32(b + 8, (uint32_t)rng_next(r));
	put_be32(b + 12, rng_below(r, 16));
}

static void test_noise(void)
{
	struct rng r = rng_start(1);
	uint8_t b[256];
	unsigned int taken = 0;

	for (int i = 0; i < ROUNDS; i++) {
		size_t len = rng_below(&r, sizeof(b));

		for (size_t j = 0; j < sizeof(b); j++)
			b[j] = (uint8_t)rng_next(&r);
		if (rng_below(&r, 8))
			random_prefix(&r, b);
		taken += check(b, len, i & 1);
	}
	CU_ASSERT(taken > 0);
}

/* Small words lead deep into the lists. */
static void test_small_words(void)
{
	struct rng r = rng_start(2);
	unsigned int taken[16] = { 0 };
	uint8_t b[256];

	for (int i = 0; i < ROUNDS; i++) {
		size_t len = rng_below(&r, 40) ? 16 + rng_below(&r, 60) * 4 :
						 rng_below(&r, sizeof(b));
		uint32_t range = 2 + rng_below(&r, 7);

		random_prefix(&r, b);
		for (size_t j = 16; j < sizeof(b); j += 4)
			put_be32(b + j, rng_below(&r, range) *
						(rng_below(&r, 3) ? 1 : 4));
		taken[get_be32(b + 12)] += check(b, len, false);
	}
	for (int t = 0; t < 16; t++)
		CU_ASSERT((taken[t] > 0) == (t >= 4 && t <= 13));
}

/* A valid message of any type into @b; its length. */
static size_t valid(struct rng *r, uint8_t *b)
{
	struct wire_chunk_desc reply = { sg, rng_below(r, 3) };
	uint32_t xid = (uint32_t)rng_next(r), pos = 0, w = 0, len = 0;
	struct wire_call_desc c = { 0 };
	struct wire_reply_desc y = { 0 };
	bool flag = rng_below(r, 2);
	struct wire_enc e;
	uint32_t words;

	for (int i = 0; i < 8; i++)
		sg[i] = (struct wire_segment){ (uint32_t)rng_next(r),
					       rng_below(r, 3000),
					       rng_next(r) };
	for (uint32_t i = 0; i < 4; i++) {
		rd[0][i] = (struct wire_read_segment){ 0, sg[i] };
		if (!i || rng_below(r, 2)) {
			pos += 4 + (len + 3) / 4 * 4;
			len = 0;
		}
		rd[1][i] = (struct wire_read_segment){ pos, sg[i + 3] };
		len += sg[i + 3].length;
		wr[i] = (struct wire_chunk_desc){ sg + i, rng_below(r, 4) };
		pr[i] = (struct wire_prop){ 1 + rng_below(r, 5),
					    (const uint8_t *)"\0\0\x10\0",
					    4 * rng_below(r, 2) };
		if (!rng_below(r, 4))
			pr[i] = (struct wire_prop){ 50,
						    (const uint8_t *)"123456",
						    rng_below(r, 7) };
	}
	c.inv_handle = sg[0].handle;
	c.call = rd[0];
	c.ncall = 1 + rng_below(r, 4);
	c.reads = rd[1];
	c.nreads = rng_below(r, 5);
	c.writes = y.writes = wr;
	c.nwrites = y.nwrites = rng_below(r, 5);
	c.reply = flag ? &reply : NULL;
	y.reply = &reply;
	wire_enc_init(&e, b, MSG_MAX);
	switch (rng_below(r, 6)) {
	case 0:
		return wire_encode_connprop(b, MSG_MAX, xid, 1, flag, pr,
					    rng_below(r, 5));
	case 1:
		return wire_encode_call(b, MSG_MAX, xid, 1, true, &c);
	case 2:
		return wire_encode_reply(b, MSG_MAX, xid, 1, true, &y);
	case 3:
		e.len = wire_encode_call(b, MSG_MAX, xid, 1, false, &c);
		break;
	case 4:
		e.len = wire_encode_reply(b, MSG_MAX, xid, 1, false, &y);
		break;
	default:
		e.len = wire_encode_middle(b, MSG_MAX, xid, 1, flag, 500);
		break;
	}
	wire_put_u32(&e, xid);
	words = rng_below(r, 4);
	while (w++ < words)
		wire_put_u32(&e, (uint32_t)rng_next(r));
	return e.len;
}

/* One to three changes of an octet, a word, the length or the order. */
static size_t mutate(struct rng *r, uint8_t *b, size_t len)
{
	static const uint32_t edge[] = { 0,	     1,		 2,
					 0x7fffffff, 0x80000000, UINT32_MAX,
					 0x10000000, 0x0fffffff };
	size_t at, n;

	for (uint32_t i = 1 + rng_below(r, 3); i && len >= 24; i--) {
		at = rng_below(r, (uint32_t)len / 4) * 4;
		n = rng_below(r, (uint32_t)(len - at) / 4 + 1) * 4;
		switch (rng_below(r, 7)) {
		case 0:
			b[rng_below(r, (uint32_t)len)] ^=
				(uint8_t)(1u << rng_below(r, 8));
			break;
		case 1:
			put_be32(b + at, edge[rng_below(r, 8)]);
			break;
		case 2:
			put_be32(b + at,
				 get_be32(b + at) + rng_below(r, 9) - 4);
			break;
		case 3:
			len = rng_below(r, (uint32_t)len + 1);
			break;
		case 4: /* leave words out */
			memmove(b + at, b + at + n, len - at - n);
			len -= n;
			break;
		case 5: /* repeat words */
			if (len + n > MSG_MAX)
				break;
			memmove(b + at + n, b + at, len - at);
			len += n;
			break;
		default:
			put_be32(b + 12, rng_below(r, 15));
			break;
		}
	}
	return len;
}

static void test_mutants(void)
{
	struct rng r = rng_start(3);
	unsigned int taken = 0;
	uint8_t b[MSG_MAX];
	size_t len;

	for (int i = 0; i < ROUNDS; i++) {
		len = valid(&r, b);
		if (i % 16 == 0)
			CU_ASSERT_TRUE(check(b, len, true));
		len = mutate(&r, b, len);
		taken += check(b, len, rng_below(&r, 2));
	}
	/* neither all nor none */
	CU_ASSERT(taken > ROUNDS / 100 && taken < ROUNDS);
}

static void test_cm_noise(void)
{
	static const uint8_t id[4] = { 0xf6, 0xab, 0x0e, 0x18 };
	struct rng r = rng_start(4);
	unsigned int found = 0;

	for (int i = 0; i < ROUNDS; i++) {
		size_t len = rng_below(&r, 64), at = rng_below(&r, 64);
		struct wire_cm_private p;
		uint8_t *b = malloc(len), out[8];

		for (size_t j = 0; j < len; j++)
			b[j] = (uint8_t)rng_next(&r);
		for (size_t j = 0; j < 4 && at + j < len; j++)
			b[at + j] = id[j];
		if (at + 4 < len && rng_below(&r, 2))
			b[at + 4] = 1;
		if (wire_cm_decode(b, len, &p)) {
			found++;
			wire_cm_encode(out, &p);
			CU_ASSERT(at + 8 <= len && b[at + 4] == 1);
			CU_ASSERT_EQUAL(out[5], b[at + 5] & 1);
			CU_ASSERT_EQUAL(out[6], b[at + 6]);
			CU_ASSERT_EQUAL(out[7], b[at + 7]);
		} else {
			CU_ASSERT(at + 8 > len || b[at + 4] != 1);
		}
		free(b);
	}
	CU_ASSERT(found > 0);
}

static const struct unit_test tests[] = {
	{ "noise", test_noise },
	{ "small_words", test_small_words },
	{ "mutants", test_mutants },
	{ "cm_noise", test_cm_noise },
	{ NULL, NULL },
};

UNIT_MAIN("wire robust", tests)
