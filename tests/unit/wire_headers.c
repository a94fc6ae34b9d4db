/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_headers - the ten header types word by word, errors, and every length
 * to which a message can be cut
 */
#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"
#include "wire_util.h"

static void test_prefix(void)
{
	const uint32_t w[] = { 1, 0xfffffffe, 3, 0x80000004 };
	uint8_t *p = from_words(w, 4);
	struct wire_prefix x;

	/* [C1]: 16 octets, not the 20 of section 7 */
	for (size_t len = 0; len < 16; len++) {
		uint8_t *q = exact(p, len);
		struct wire_msg m;

		CU_ASSERT_FALSE(wire_prefix_decode(q, len, &x));
		CU_ASSERT_EQUAL(wire_decode(q, len, true, &m), WIRE_SHORT);
		free(q);
	}
	CU_ASSERT_TRUE(wire_prefix_decode(p, 16, &x));
	CU_ASSERT_EQUAL(x.xid, 1);
	CU_ASSERT_EQUAL(x.vers, 0xfffffffe);
	CU_ASSERT_EQUAL(x.credit, 3);
	CU_ASSERT_EQUAL(x.htype, 0x80000004);
	free(p);
}

static void test_version(void)
{
	const uint32_t vers[] = { 0, 1, 3, 0x02000000, UINT32_MAX };
	struct wire_msg m;

	for (size_t i = 0; i < 5; i++) {
		CU_ASSERT_EQUAL(DECODE(&m, XID, vers[i], CREDIT, RDMA2_GRANT),
				WIRE_VERSION);
		CU_ASSERT_EQUAL(m.p.xid, XID);
		CU_ASSERT_EQUAL(m.p.vers, vers[i]);
		CU_ASSERT_EQUAL(m.p.htype, RDMA2_GRANT);
		CU_ASSERT_TRUE(only_prefix(&m));
	}
}

/* [C12] and section 6.1 */
static void test_htype(void)
{
	struct wire_msg m;

	for (uint32_t t = 0; t < 300; t++) {
		enum wire_status st = DECODE(&m, PFX(t));

		if (t < RDMA2_ERROR || t > RDMA2_REPLY_INLINE) {
			CU_ASSERT_EQUAL(st, WIRE_BAD_HTYPE);
			CU_ASSERT_EQUAL(m.p.htype, t);
			CU_ASSERT_TRUE(only_prefix(&m));
		} else {
			CU_ASSERT_NOT_EQUAL(st, WIRE_BAD_HTYPE);
		}
	}
	CU_ASSERT_EQUAL(DECODE(&m, PFX(0xffffff01)), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(UINT32_MAX)), WIRE_BAD_HTYPE);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(0x0a000000)), WIRE_BAD_HTYPE);
}

static void test_grant(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, 0, 2, 9, 5), WIRE_OK);
	CU_ASSERT_EQUAL(m.p.credit, 9);
	CU_ASSERT_EQUAL(m.header_len, 16);
	CU_ASSERT_EQUAL(m.surplus, 0);
	CU_ASSERT_PTR_NULL(m.payload);
	/* 6.3.2: a receiver ignores the XID */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(5)), WIRE_OK);
	CU_ASSERT_EQUAL(m.p.xid, XID);
}

static void test_error_codes(void)
{
	const uint32_t plain[] = { 2, 3, 4, 5, 11, 100 };
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 1, 2, 5), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_VERS);
	CU_ASSERT_EQUAL(m.error.vers_low, 2);
	CU_ASSERT_EQUAL(m.error.vers_high, 5);
	CU_ASSERT_EQUAL(m.header_len, 28);

	for (size_t i = 0; i < 6; i++) {
		CU_ASSERT_EQUAL(DECODE(&m, PFX(4), plain[i]), WIRE_OK);
		CU_ASSERT_EQUAL(m.error.code, plain[i]);
		CU_ASSERT_EQUAL(m.header_len, 20);
	}
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 6, 17), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_READ_CHUNKS);
	CU_ASSERT_EQUAL(m.error.max_chunks, 17);
	CU_ASSERT_EQUAL(m.header_len, 24);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 7, 18), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_WRITE_CHUNKS);
	CU_ASSERT_EQUAL(m.error.max_chunks, 18);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 8, 19), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_SEGMENTS);
	CU_ASSERT_EQUAL(m.error.max_segments, 19);
	CU_ASSERT_EQUAL(m.error.max_chunks, 0);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 9, 20, 21), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_WRITE_RESOURCE);
	CU_ASSERT_EQUAL(m.error.chunk_index, 20);
	CU_ASSERT_EQUAL(m.error.length_needed, 21);
	CU_ASSERT_EQUAL(m.header_len, 28);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 10, 22), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.code, RDMA2_ERR_REPLY_RESOURCE);
	CU_ASSERT_EQUAL(m.error.length_needed, 22);
	CU_ASSERT_EQUAL(m.error.chunk_index, 0);
}

/* [E10] */
static void test_error_broken(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(4)), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(m.error.code, 0);
	for (uint32_t code = 0; code < 300; code++) {
		bool known = (code >= 1 && code <= 11) || code == 100;

		CU_ASSERT_EQUAL(DECODE(&m, PFX(4), code, 1, 2),
				known ? WIRE_OK : WIRE_BAD_ERROR);
		CU_ASSERT_EQUAL(m.error.code, code);
		CU_ASSERT_TRUE(known || only_prefix(&m));
	}
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), UINT32_MAX), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 1), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 1, 2), WIRE_BAD_ERROR);
	CU_ASSERT_EQUAL(m.error.code, 1);
	CU_ASSERT_TRUE(only_prefix(&m));
	/* hints may be missing */
	for (uint32_t code = 6; code <= 10; code++) {
		CU_ASSERT_EQUAL(DECODE(&m, PFX(4), code), WIRE_OK);
		CU_ASSERT_EQUAL(m.error.code, code);
		CU_ASSERT_EQUAL(m.error.max_chunks, 0);
		CU_ASSERT_EQUAL(m.error.max_segments, 0);
		CU_ASSERT_EQUAL(m.error.length_needed, 0);
		CU_ASSERT_EQUAL(m.header_len, 20);
	}
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 9, 3), WIRE_OK);
	CU_ASSERT_EQUAL(m.error.chunk_index, 3);
	CU_ASSERT_EQUAL(m.error.length_needed, 0);
}

/* [B1], [B3]: an error carries the version of the message it refuses */
static void test_error_any_version(void)
{
	const uint32_t w[] = { XID, 1, CREDIT, 4, 1, 1, 2 };
	uint8_t *p = from_words(w, 7);
	struct wire_error e;
	struct wire_msg m;

	CU_ASSERT_EQUAL(wire_decode(p, 28, true, &m), WIRE_VERSION);
	for (uint32_t vers = 0; vers < 5; vers++) {
		put_be32(p + 4, vers);
		CU_ASSERT_TRUE(wire_error_decode(p, 28, &e));
		CU_ASSERT_EQUAL(e.code, RDMA2_ERR_VERS);
		CU_ASSERT_EQUAL(e.vers_low, 1);
		CU_ASSERT_EQUAL(e.vers_high, 2);
	}
	for (size_t len = 0; len < 28; len++) {
		uint8_t *q = exact(p, len);

		CU_ASSERT_FALSE(wire_error_decode(q, len, &e));
		CU_ASSERT_EQUAL(e.code, len < 20 ? 0 : 1);
		free(q);
	}
	put_be32(p + 16, RDMA2_ERR_VERS_MISMATCH);
	CU_ASSERT_TRUE(wire_error_decode(p, 20, &e));
	CU_ASSERT_EQUAL(e.code, RDMA2_ERR_VERS_MISMATCH);
	put_be32(p + 16, 12);
	CU_ASSERT_FALSE(wire_error_decode(p, 28, &e));
	put_be32(p + 16, 2);
	put_be32(p + 12, 5);
	CU_ASSERT_FALSE(wire_error_decode(p, 28, &e));
	free(p);
}

/* [C5]: payload offsets with empty lists */
static void test_payload_offsets(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(10), 0, 0, 0, 0, XID, 5), WIRE_OK);
	CU_ASSERT_EQUAL(m.header_len, 32);
	CU_ASSERT_EQUAL(m.payload_len, 8);
	CU_ASSERT_EQUAL(get_be32(m.payload), XID);
	CU_ASSERT_EQUAL(m.surplus, 0);
	CU_ASSERT_FALSE(m.has_reply);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(13), 0, XID), WIRE_OK);
	CU_ASSERT_EQUAL(m.header_len, 20);
	CU_ASSERT_EQUAL(m.payload_len, 4);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(9), 0xfffffff0, XID), WIRE_OK);
	CU_ASSERT_EQUAL(m.header_len, 20);
	CU_ASSERT_EQUAL(m.remaining, 0xfffffff0);
	CU_ASSERT_EQUAL(m.payload_len, 4);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(12), 77, XID, 1, 2), WIRE_OK);
	CU_ASSERT_EQUAL(m.header_len, 20);
	CU_ASSERT_EQUAL(m.remaining, 77);
	CU_ASSERT_EQUAL(m.payload_len, 12);
	/* D1 is the caller's: zero is no XDR error */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(12), 0, XID), WIRE_OK);
}

/* Section 7.2 and [C5]: first word against rdma_xid, only where asked */
static void test_check_xid(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(10), 0, 0, 0, 0, 9), WIRE_BAD_XDR);
	CU_ASSERT_TRUE(only_prefix(&m));
	CU_ASSERT_EQUAL(DECODE(&m, PFX(13), 0, 9), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(9), 4, 9), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(12), 4, 9), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE_ANY_XID(&m, PFX(10), 0, 0, 0, 0, 9), WIRE_OK);
	CU_ASSERT_EQUAL(DECODE_ANY_XID(&m, PFX(13), 0, 9), WIRE_OK);
	CU_ASSERT_EQUAL(DECODE_ANY_XID(&m, PFX(9), 4, 9), WIRE_OK);
	CU_ASSERT_EQUAL(DECODE_ANY_XID(&m, PFX(12), 4, 9), WIRE_OK);
	/* types without payload have nothing to compare */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, 0), WIRE_OK);
}

/* [C6] */
static void test_surplus(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(5), 1, 2), WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 8);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(4), 2, 7), WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 4);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(6), 0, 7), WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 4);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(7), 0, 7, 8, 9), WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 12);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 1, 0, 1, 4, 0, 0, 0, 0, 0, 0, 5),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 4);
	CU_ASSERT_PTR_NULL(m.payload);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, 0, 1, 2), WIRE_OK);
	CU_ASSERT_EQUAL(m.surplus, 8);
}

/* A message of every type with everything in it, to be cut. */
struct sample {
	const char *name;
	size_t header; /* octets of header */
	bool payload;
	size_t n;
	uint32_t w[40];
};

#define SAMPLE(name, header, payload, ...)                  \
	{                                                   \
		name, header, payload, NWORDS(__VA_ARGS__), \
		{                                           \
			__VA_ARGS__                         \
		}                                           \
	}
#define SEG(h, l) h, l, 0x01020304, 0x05060708

static const struct sample samples[] = {
	SAMPLE("grant", 16, false, PFX(5)),
	SAMPLE("error vers", 28, false, PFX(4), 1, 1, 2),
	SAMPLE("error plain", 20, false, PFX(4), 2),
	SAMPLE("error hint", 24, false, PFX(4), 6, 1),
	SAMPLE("error two hints", 28, false, PFX(4), 9, 1, 2),
	SAMPLE("connprop middle", 56, false, PFX(6), 3, 2, 4, 4096, 77, 6,
	       0x01020304, 0x05060000, 5, 0),
	SAMPLE("connprop final", 40, false, PFX(7), 1, 6, 12, 5, 0x61626364,
	       0x65000000),
	SAMPLE("call external", 128, false, PFX(8), 5, 1, 0, SEG(1, 64), 0, 1,
	       8, SEG(2, 8), 0, 1, 1, SEG(3, 9), 0, 1, 1, SEG(5, 4)),
	SAMPLE("call middle", 20, true, PFX(9), 12, XID, 1, 2),
	SAMPLE("call inline", 116, true, PFX(10), 5, 1, 8, SEG(2, 8), 0, 1, 2,
	       SEG(3, 9), SEG(4, 9), 0, 1, 1, SEG(5, 4), XID, 0),
	SAMPLE("reply external", 68, false, PFX(11), 1, 0, 0, 1, 2, SEG(5, 4),
	       SEG(6, 1)),
	SAMPLE("reply middle", 20, true, PFX(12), 12, XID),
	SAMPLE("reply inline", 52, true, PFX(13), 1, 0, 1, 1, SEG(3, 9), 0, XID,
	       4, 5),
};

/* What a sample cut to @len octets must give. */
static enum wire_status cut_status(const struct sample *s, size_t len)
{
	size_t need = s->header + (s->payload ? 4 : 0);

	if (len < 16)
		return WIRE_SHORT;
	if (len >= need)
		return WIRE_OK;
	if (s->w[3] == RDMA2_ERROR) {
		if (len < 20 || s->w[4] == RDMA2_ERR_VERS)
			return WIRE_BAD_ERROR;
		return WIRE_OK; /* [E10] */
	}
	if (s->w[3] == RDMA2_CONNPROP_MIDDLE) {
		/* [E2]: words 7 and 10, 11 are rdma_data */
		if ((len >= 28 && len < 32) || (len >= 40 && len < 48))
			return WIRE_BAD_PROPVAL;
	}
	if (s->w[3] == RDMA2_CONNPROP_FINAL && len >= 28)
		return WIRE_BAD_PROPVAL;
	return WIRE_BAD_XDR;
}

static void test_cut(void)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
		const struct sample *s = &samples[i];
		uint8_t *p = from_words(s->w, s->n);

		for (size_t len = 0; len <= s->n * 4; len++) {
			enum wire_status st, want = cut_status(s, len);
			uint8_t *q = exact(p, len);
			struct wire_msg m;

			st = wire_decode(q, len, true, &m);
			if (st != want)
				printf("%s cut to %zu: %s, not %s\n", s->name,
				       len, wire_status_name(st),
				       wire_status_name(want));
			CU_ASSERT_EQUAL(st, want);
			if (st == WIRE_OK) {
				CU_ASSERT_EQUAL(m.header_len + m.payload_len +
							m.surplus,
						len);
				CU_ASSERT(len < s->header ||
					  m.header_len == s->header);
			} else {
				CU_ASSERT_TRUE(only_prefix(&m));
			}
			free(q);
		}
		free(p);
	}
}

static void test_call_external(void)
{
	struct wire_msg m;

	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 5, 1, 0, SEG(1, 64), 1, 0,
			       SEG(2, 0x10000000), 0, 0, 0, 0),
			WIRE_OK);
	CU_ASSERT_EQUAL(m.inv_handle, 5);
	CU_ASSERT_EQUAL(m.call.count, 2);
	CU_ASSERT_EQUAL(m.call.segments, 2);
	CU_ASSERT_EQUAL(m.call.bytes, 0x10000040);
	CU_ASSERT_EQUAL(m.reads.count, 0);
	CU_ASSERT_EQUAL(m.writes.count, 0);
	CU_ASSERT_FALSE(m.has_reply);
	/* [C7]: the Call chunk may not be absent */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 0, 0, 0, 0), WIRE_BAD_XDR);
	/* nor be elsewhere than at Position zero */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 1, 4, SEG(1, 64), 0, 0, 0, 0),
			WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 1, 0, SEG(1, 64), 1, 64,
			       SEG(1, 64), 0, 0, 0, 0),
			WIRE_BAD_XDR);
	/* [C8]: and not in rdma_reads of this type either */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(8), 0, 1, 0, SEG(1, 64), 0, 1, 0,
			       SEG(1, 64), 0, 0, 0),
			WIRE_BAD_XDR);
}

static void test_reply_external(void)
{
	struct wire_msg m;

	/* 6.3.8: exactly one Reply chunk; it may be empty */
	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 0), WIRE_BAD_XDR);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, 0), WIRE_OK);
	CU_ASSERT_TRUE(m.has_reply);
	CU_ASSERT_EQUAL(m.reply.count, 0);
	CU_ASSERT_EQUAL(DECODE(&m, PFX(11), 0, 1, 1, SEG(5, 100)), WIRE_OK);
	CU_ASSERT_EQUAL(m.reply.count, 1);
	CU_ASSERT_EQUAL(m.reply.bytes, 100);
	CU_ASSERT_EQUAL(m.header_len, 44);
}

static void test_names(void)
{
	CU_ASSERT_STRING_EQUAL(wire_htype_name(10), "RDMA2_CALL_INLINE");
	CU_ASSERT_STRING_EQUAL(wire_htype_name(3), "?");
	CU_ASSERT_STRING_EQUAL(wire_errcode_name(100), "RDMA2_ERR_SYSTEM");
	CU_ASSERT_STRING_EQUAL(wire_errcode_name(12), "?");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(6), "RDMA2_PROPID_HOSTAUTH");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(0), "?");
	CU_ASSERT_STRING_EQUAL(wire_status_name((enum wire_status)99), "?");
	for (uint32_t i = 4; i <= 13; i++)
		CU_ASSERT_STRING_NOT_EQUAL(wire_htype_name(i), "?");
	for (uint32_t i = RDMA2_X_XMTREQ; i <= RDMA2_X_REPTERR; i++)
		CU_ASSERT_STRING_NOT_EQUAL(wire_htype_name(i), "?");
	CU_ASSERT_STRING_EQUAL(wire_htype_name(RDMA2_X_INITXCH),
			       "RDMA2_X_INITXCH");
	CU_ASSERT_STRING_EQUAL(wire_htype_name(RDMA2_X_REQXCH),
			       "RDMA2_X_REQXCH");
	CU_ASSERT_STRING_EQUAL(wire_htype_name(RDMA2_X_RESPXCH),
			       "RDMA2_X_RESPXCH");
	CU_ASSERT_STRING_EQUAL(wire_htype_name(RDMA2_X_UPDXCH),
			       "RDMA2_X_UPDXCH");
	for (uint32_t i = 1; i <= 11; i++)
		CU_ASSERT_STRING_NOT_EQUAL(wire_errcode_name(i), "?");
	for (uint32_t i = 1; i <= 6; i++)
		CU_ASSERT_STRING_NOT_EQUAL(wire_propid_name(i), "?");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_XCHSUPP),
			       "RDMA2_PROPID_X_XCHSUPP");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_REQREMINV),
			       "RDMA2_PROPID_X_REQREMINV");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_RTRSUPP),
			       "RDMA2_PROPID_X_RTRSUPP");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_RBSTRUCT),
			       "RDMA2_PROPID_X_RBSTRUCT");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_REQRXLIM),
			       "RDMA2_PROPID_X_REQRXLIM");
	CU_ASSERT_STRING_EQUAL(wire_propid_name(RDMA2_PROPID_X_RESPSXLIM),
			       "RDMA2_PROPID_X_RESPSXLIM");
	for (uint32_t i = RDMA1_MSG; i <= RDMA1_ERROR; i++)
		CU_ASSERT_STRING_NOT_EQUAL(wire1_proc_name(i), "?");
	CU_ASSERT_STRING_EQUAL(wire1_proc_name(RDMA1_ERROR + 1), "?");
	for (int i = WIRE_OK; i <= WIRE_IGNORE; i++)
		CU_ASSERT_STRING_NOT_EQUAL(
			wire_status_name((enum wire_status)i), "?");
}

static const struct unit_test tests[] = {
	{ "prefix", test_prefix },
	{ "version", test_version },
	{ "htype", test_htype },
	{ "grant", test_grant },
	{ "error_codes", test_error_codes },
	{ "error_broken", test_error_broken },
	{ "error_any_version", test_error_any_version },
	{ "payload_offsets", test_payload_offsets },
	{ "check_xid", test_check_xid },
	{ "surplus", test_surplus },
	{ "cut", test_cut },
	{ "call_external", test_call_external },
	{ "reply_external", test_reply_external },
	{ "names", test_names },
	{ NULL, NULL },
};

UNIT_MAIN("wire headers", tests)
