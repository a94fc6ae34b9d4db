/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_session - what a COMPOUND's results say of sessions, however they are cut
 */
#include "ulb_xdr.h"

static struct xdr call, res;

static const char sequence[] = "0123456789abcdef";
static const char created[] = "a session's name";

static void put_id(struct xdr *x, const char *id)
{
	x_raw(x, id, ULB_SESSION_ID);
}

/* The Call's part of SEQUENCE, and the results'. */
static void put_sequence(uint32_t flags)
{
	x_values(&call, "53");
	put_id(&call, sequence);
	x_values(&call, "1 2 3 0");
	x_values(&res, "53 0");
	put_id(&res, sequence);
	x_values(&res, "1 2 3 4");
	x_u32(&res, flags);
}

static void begin(uint32_t status, uint32_t count)
{
	x_init(&call);
	x_init(&res);
	x_compound_call(&call, 1, count);
	x_u32(&res, status);
	x_values(&res, "s");
	x_u32(&res, count);
}

/* Read it whole and in pieces of every size, which must be the same; and what
 * is shorter than it is an error, or says less. */
static struct ulb_session read_it(bool protected)
{
	struct iovec c = { call.b, call.len }, r = { res.b, res.len };
	struct ulb_session s, t;
	struct pieces pc, pr;
	struct ulb_call head;

	CU_ASSERT_EQUAL_FATAL(ulb_classify(&c, 1, &head), 0);
	head.ddp = !protected;
	CU_ASSERT_EQUAL(ulb_read_session(&head, &c, 1, &r, 1, &s), 0);
	for (size_t size = 1; size < 9; size++) {
		pc = x_shred(call.b, call.len, size);
		pr = x_shred(res.b, res.len, size);
		CU_ASSERT_EQUAL(ulb_read_session(&head, pc.iov, pc.n, pr.iov,
						 pr.n, &t),
				0);
		CU_ASSERT_EQUAL(memcmp(&s, &t, sizeof(s)), 0);
		x_free(&pc);
		x_free(&pr);
	}
	for (size_t len = 0; len < res.len; len++) {
		pr = x_split(res.b, len, len / 2);
		if (!ulb_read_session(&head, &c, 1, pr.iov, pr.n, &t))
			CU_ASSERT_TRUE(t.event == ULB_SESSION_NONE ||
				       !memcmp(&s, &t, sizeof(s)));
		x_free(&pr);
	}
	for (size_t len = 0; len < call.len; len++) {
		pc = x_split(call.b, len, len / 2);
		if (!ulb_read_session(&head, pc.iov, pc.n, &r, 1, &t))
			CU_ASSERT_TRUE(t.event == s.event ||
				       t.event == ULB_SESSION_NONE);
		x_free(&pc);
	}
	return s;
}

static void test_sequence(void)
{
	struct ulb_session s;
	uint32_t word;

	begin(0, 2);
	put_sequence(0x40);
	x_values(&call, "24"); /* PUTROOTFH */
	x_values(&res, "24 0");
	s = read_it(false);
	CU_ASSERT_TRUE(s.sequence);
	CU_ASSERT_EQUAL(memcmp(s.of, sequence, ULB_SESSION_ID), 0);
	CU_ASSERT_EQUAL(s.flags, 0x40);
	memcpy(&word, res.b + s.flags_at, 4);
	CU_ASSERT_EQUAL(be32toh(word), 0x40);
	CU_ASSERT_EQUAL(s.event, ULB_SESSION_NONE);
	/* It failed. */
	begin(10052, 1);
	x_values(&call, "53");
	x_values(&res, "53 10052");
	CU_ASSERT_FALSE(read_it(false).sequence);
	/* What is not NFSv4 has none. */
	begin(0, 1);
	put_sequence(0);
	call.b[19] = 3;
	CU_ASSERT_FALSE(read_it(false).sequence);
}

static void put_created(uint32_t flags)
{
	x_values(&call, "43 h 1");
	x_values(&res, "43 0");
	put_id(&res, created);
	x_values(&res, "1");
	x_u32(&res, flags);
	x_values(&res, "0 1 1 1 1 1 0 0 1 1 1 1 1 0");
}

static void test_create(void)
{
	struct ulb_session s;

	for (int after = 0; after < 2; after++) {
		begin(0, 1 + (uint32_t)after);
		if (after)
			put_sequence(0);
		put_created(3);
		s = read_it(true);
		CU_ASSERT_EQUAL(s.event, ULB_SESSION_BACK);
		CU_ASSERT_EQUAL(memcmp(s.id, created, ULB_SESSION_ID), 0);
		CU_ASSERT_EQUAL(s.sequence, after);
	}
	/* Without a back channel. */
	begin(0, 1);
	put_created(1);
	CU_ASSERT_EQUAL(read_it(false).event, ULB_SESSION_NONE);
	/* Not the first two. */
	begin(0, 3);
	put_sequence(0);
	x_values(&call, "24");
	x_values(&res, "24 0");
	put_created(3);
	CU_ASSERT_EQUAL(read_it(false).event, ULB_SESSION_NONE);
}

static void put_bound(uint32_t wanted, uint32_t given)
{
	x_values(&call, "41");
	put_id(&call, created);
	x_u32(&call, wanted);
	x_values(&call, "0");
	x_values(&res, "41 0");
	put_id(&res, created);
	x_u32(&res, given);
	x_values(&res, "0");
}

static void test_bind(void)
{
	struct ulb_session s;
	uint32_t word;

	for (uint32_t given = 1; given <= 3; given++) {
		for (int hidden = 0; hidden < 2; hidden++) {
			begin(0, 1);
			put_bound(ULB_DIR_FORE_OR_BOTH, given);
			s = read_it(hidden);
			CU_ASSERT_EQUAL(s.event, given == ULB_DIR_FORE ?
							 ULB_SESSION_NONE :
							 ULB_SESSION_BACK);
			CU_ASSERT_EQUAL(memcmp(s.id, created, ULB_SESSION_ID),
					0);
			CU_ASSERT_EQUAL(s.wanted,
					hidden ? 0 : ULB_DIR_FORE_OR_BOTH);
			CU_ASSERT_EQUAL(s.given, given);
			memcpy(&word, res.b + s.given_at, 4);
			CU_ASSERT_EQUAL(be32toh(word), given);
		}
	}
}

static void test_destroy(void)
{
	struct ulb_session s;

	for (int after = 0; after < 2; after++) {
		begin(0, 1 + (uint32_t)after);
		if (after)
			put_sequence(0);
		x_values(&call, "44");
		put_id(&call, created);
		x_values(&res, "44 0");
		s = read_it(false);
		CU_ASSERT_EQUAL(s.event, ULB_SESSION_ENDED);
		CU_ASSERT_EQUAL(memcmp(s.id, created, ULB_SESSION_ID), 0);
		CU_ASSERT_EQUAL(read_it(true).event, ULB_SESSION_NONE);
	}
	begin(10052, 1);
	x_values(&call, "44");
	put_id(&call, created);
	x_values(&res, "44 10052");
	CU_ASSERT_EQUAL(read_it(false).event, ULB_SESSION_NONE);
}

/* Whatever a server says in place of them. */
static void test_nonsense(void)
{
	struct ulb_call head = x_compound();
	struct ulb_session s;
	struct iovec v;

	begin(0, 2);
	put_sequence(0);
	put_sequence(0);
	v = (struct iovec){ res.b, res.len };
	CU_ASSERT_EQUAL(ulb_read_session(&head, NULL, 0, &v, 1, &s), -EBADMSG);
	begin(0, 0xffffffff);
	v = (struct iovec){ res.b, res.len };
	CU_ASSERT_EQUAL(ulb_read_session(&head, NULL, 0, &v, 1, &s), -EBADMSG);
	CU_ASSERT_EQUAL(ulb_read_session(&head, NULL, 0, NULL, 0, &s),
			-EBADMSG);
}

/* A callback's Reply, in pieces of every size and cut at every octet; and what
 * is none. */
static void test_callback(void)
{
	static const char *const none[] = {
		"17 0 0 0 0 0 5 0 1 11 5", /* a Call */
		"17 1 1 0 0 0 5 0 1 11 5", /* denied */
		"17 1 0 0 0 3 5 0 1 11 5", /* PROC_UNAVAIL */
		"17 1 0 0 0 0 5 0 0 11 5", /* no operation */
		"17 1 0 0 0 0 5 0 1 4 5", /* CB_RECALL */
	};
	struct pieces p;
	struct iovec v;
	uint32_t status = 0;

	x_init(&res);
	x_values(&res, "17 1 0 0 s 0 10008 s 1 11 10008");
	for (size_t size = 1; size < 9; size++) {
		p = x_shred(res.b, res.len, size);
		CU_ASSERT_EQUAL(ulb_read_callback(p.iov, p.n, &status), 0);
		CU_ASSERT_EQUAL(status, ULB_NFS4ERR_DELAY);
		x_free(&p);
	}
	for (size_t len = 0; len < res.len; len++) {
		p = x_split(res.b, len, len / 2);
		CU_ASSERT_EQUAL(ulb_read_callback(p.iov, p.n, &status),
				-EBADMSG);
		x_free(&p);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		x_init(&res);
		x_values(&res, none[i]);
		v = (struct iovec){ res.b, res.len };
		CU_ASSERT_EQUAL(ulb_read_callback(&v, 1, &status), -EBADMSG);
	}
}

static const struct unit_test tests[] = {
	{ "SEQUENCE", test_sequence },
	{ "CREATE_SESSION", test_create },
	{ "BIND_CONN_TO_SESSION", test_bind },
	{ "DESTROY_SESSION", test_destroy },
	{ "callback", test_callback },
	{ "nonsense", test_nonsense },
	{ NULL, NULL },
};
UNIT_MAIN("ulb sessions", tests)
