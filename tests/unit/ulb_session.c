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

	CU_ASSERT_EQUAL_FATAL(x_classify(&c, 1, &head), 0);
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

static void put_created(uint32_t flags, const char *ird)
{
	x_values(&call, "43 h 1");
	x_values(&res, "43 0");
	put_id(&res, created);
	x_values(&res, "1");
	x_u32(&res, flags);
	x_values(&res, "0 11 12 13 14 15");
	x_values(&res, ird);
	x_values(&res, "0 21 22 23 24 25 0");
}

static void test_create(void)
{
	struct ulb_session s;

	for (int after = 0; after < 2; after++) {
		begin(0, 1 + (uint32_t)after);
		if (after)
			put_sequence(0);
		/* Without ca_rdma_ird, and with it. */
		put_created(3, after ? "1 8" : "0");
		s = read_it(true);
		CU_ASSERT_EQUAL(s.event, ULB_SESSION_BACK);
		CU_ASSERT_EQUAL(s.call_max, 21);
		CU_ASSERT_EQUAL(memcmp(s.id, created, ULB_SESSION_ID), 0);
		CU_ASSERT_EQUAL(s.sequence, after);
	}
	/* Without a back channel. */
	begin(0, 1);
	put_created(1, "0");
	s = read_it(false);
	CU_ASSERT_EQUAL(s.event, ULB_SESSION_NONE);
	CU_ASSERT_TRUE(s.bound);
	/* Not the first two. */
	begin(0, 3);
	put_sequence(0);
	x_values(&call, "24");
	x_values(&res, "24 0");
	put_created(3, "0");
	CU_ASSERT_EQUAL(read_it(false).event, ULB_SESSION_NONE);
}

/* The number of a client, in both minor versions' operation. */
static void test_named(void)
{
	static const char *const ops[] = { "42", "35" };
	struct ulb_session s;

	for (unsigned int i = 0; i < 2; i++) {
		begin(0, 1);
		x_values(&call, ops[i]);
		x_values(&res, ops[i]);
		x_values(&res, "0 1 2 3");
		s = read_it(i);
		CU_ASSERT_TRUE(s.named);
		CU_ASSERT_EQUAL(s.client, 0x100000002);
		CU_ASSERT_FALSE(s.bound);
		/* It was refused. */
		begin(10017, 1);
		x_values(&call, ops[i]);
		x_values(&res, ops[i]);
		x_values(&res, "10017");
		CU_ASSERT_FALSE(read_it(i).named);
	}
}

/* Whole, in pieces of every size, and cut off anywhere. */
static void owner(const char *want, size_t room)
{
	struct iovec v = { call.b, call.len };
	char name[64] = "";
	struct pieces p;

	CU_ASSERT_EQUAL(ulb_client_owner(&v, 1, 8, name, room), want != NULL);
	if (want)
		CU_ASSERT_STRING_EQUAL(name, want);
	for (size_t size = 1; want && size < 9; size++) {
		p = x_shred(call.b, call.len, size);
		memset(name, 'x', sizeof(name));
		CU_ASSERT_TRUE(ulb_client_owner(p.iov, p.n, 8, name, room));
		CU_ASSERT_STRING_EQUAL(name, want);
		x_free(&p);
	}
	for (size_t len = 0; len < call.len; len++) {
		v.iov_len = len;
		(void)ulb_client_owner(&v, 1, 8, name, room);
		CU_ASSERT_TRUE(strnlen(name, sizeof(name)) < room);
	}
}

static void put_owner(const char *op, uint32_t len, const char *octets)
{
	x_init(&call);
	x_values(&call,
		 "9 9 s 1 1"); /* eight octets before, tag, minor, count */
	x_values(&call, op);
	x_values(&call, "h");
	x_u32(&call, len);
	x_raw(&call, octets, strlen(octets));
	while (call.len % 4)
		x_raw(&call, "", 1);
}

static void test_owner(void)
{
	put_owner("42", 5, "Linux");
	owner("Linux", 64);
	owner("Lin", 4);
	owner("Linu", 5);
	put_owner("35", 8, "Linux 42");
	owner("Linux 42", 64);
	owner("Linux 4", 8);
	/* Whatever a client puts there. */
	put_owner("42", 7, "a\x1b[1m\xc3\x01");
	owner("a?[1m??", 64);
	put_owner("42", 0, "");
	owner(NULL, 64);
	put_owner("42", 0xffffffff, "Linux");
	owner(NULL, 64);
	put_owner("42", 0xffffffff, "Linux NFSv4.1 here");
	owner("Linux NFSv4.1", 14);
	put_owner("43", 5, "Linux");
	owner(NULL, 64);
	x_init(&call);
	x_values(&call, "9 9 s 1 0 42");
	owner(NULL, 64);
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
			/* In either direction. */
			CU_ASSERT_TRUE(s.bound);
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
		CU_ASSERT_FALSE(s.bound);
		CU_ASSERT_EQUAL(memcmp(s.id, created, ULB_SESSION_ID), 0);
		CU_ASSERT_EQUAL(read_it(true).event, ULB_SESSION_NONE);
	}
	begin(10052, 1);
	x_values(&call, "44");
	put_id(&call, created);
	x_values(&res, "44 10052");
	CU_ASSERT_EQUAL(read_it(false).event, ULB_SESSION_NONE);
}

/* ---- Sessions that are ended ------------------------------------------- */

static unsigned int asked;

/* Only that of the second name. */
static bool is_bound(void *ctx, const uint8_t id[ULB_SESSION_ID])
{
	asked++;
	return !memcmp(id, ctx, ULB_SESSION_ID);
}

/* The number of the operation, or -1, in pieces of every size. */
static int stray(size_t before)
{
	struct ulb_stray s, t;
	struct pieces p;
	bool yes;

	p = x_shred(call.b, call.len, 1000);
	yes = ulb_stray_end(p.iov, p.n, before, is_bound,
			    (void *)(uintptr_t)created, &s);
	x_free(&p);
	for (size_t size = 1; size < 9; size++) {
		p = x_shred(call.b, call.len, size);
		CU_ASSERT_EQUAL(ulb_stray_end(p.iov, p.n, before, is_bound,
					      (void *)(uintptr_t)created, &t),
				yes);
		x_free(&p);
		CU_ASSERT(!yes || (s.index == t.index && s.at == t.at));
	}
	/* Cut off: nothing else is found, nor read beyond. */
	for (size_t len = 0; len < call.len; len++) {
		p = x_split(call.b, len, len / 2);
		if (ulb_stray_end(p.iov, p.n, before, is_bound,
				  (void *)(uintptr_t)created, &t))
			CU_ASSERT(yes && s.at == t.at);
		x_free(&p);
	}
	if (yes)
		CU_ASSERT_NOT_EQUAL(
			memcmp(call.b + s.at, created, ULB_SESSION_ID), 0);
	return yes ? (int)s.index : -1;
}

static size_t args(uint32_t count)
{
	x_init(&call);
	x_values(&call, "9 9 s 1");
	x_u32(&call, count);
	return 8;
}

static void put_end(const char *id)
{
	x_values(&call, "44");
	put_id(&call, id);
}

static void test_stray(void)
{
	static const char third[] = "the third's name";
	size_t at;

	at = args(1);
	put_end(third);
	CU_ASSERT_EQUAL(stray(at), 0);
	at = args(1);
	put_end(created);
	CU_ASSERT_EQUAL(stray(at), -1);
	/* That of its own SEQUENCE, which must come first. */
	at = args(3);
	put_sequence(0);
	put_end(sequence);
	put_end(created);
	CU_ASSERT_EQUAL(stray(at), -1);
	at = args(2);
	put_end(sequence);
	put_sequence(0);
	CU_ASSERT_EQUAL(stray(at), 0);
	/* Behind others; the first that it is not bound to. */
	at = args(6);
	put_sequence(0);
	x_values(&call, "24 3 1");
	put_end(created);
	put_end(third);
	put_end(third);
	CU_ASSERT_EQUAL(stray(at), 4);
	/* What cannot be read ends it, as it does for the server. */
	at = args(2);
	x_values(&call, "9999");
	put_end(third);
	CU_ASSERT_EQUAL(stray(at), -1);
	/* No operation of this minor version. */
	x_init(&call);
	x_values(&call, "9 9 s 0 1");
	put_end(third);
	asked = 0;
	CU_ASSERT_EQUAL(stray(8), -1);
	CU_ASSERT_EQUAL(asked, 0);
}

/* What a COMPOUND says of it before. */
static void test_heads(void)
{
	struct ulb_call head;
	struct iovec v;

	begin(0, 3);
	put_sequence(0);
	x_values(&call, "24");
	put_end(created);
	v = (struct iovec){ call.b, call.len };
	CU_ASSERT_EQUAL_FATAL(x_classify(&v, 1, &head), 0);
	CU_ASSERT_TRUE(head.ends_session);
	CU_ASSERT_TRUE(head.sequence);
	CU_ASSERT_EQUAL(memcmp(head.session, sequence, ULB_SESSION_ID), 0);
	begin(0, 2);
	x_values(&call, "24");
	put_end(created);
	v = (struct iovec){ call.b, call.len };
	CU_ASSERT_EQUAL_FATAL(x_classify(&v, 1, &head), 0);
	CU_ASSERT_TRUE(head.ends_session);
	CU_ASSERT_FALSE(head.sequence);
	begin(0, 1);
	put_sequence(0);
	v = (struct iovec){ call.b, call.len };
	CU_ASSERT_EQUAL_FATAL(x_classify(&v, 1, &head), 0);
	CU_ASSERT_FALSE(head.ends_session);
	CU_ASSERT_TRUE(head.sequence);
}

struct positions {
	size_t at[8];
	unsigned int n;
};

static void note(void *ctx, size_t at)
{
	struct positions *p = ctx;

	p->at[p->n++ % 8] = at;
}

/* The index of the first operation that is not shown, or -1; -2: they cannot be
 * read to the end. In pieces of every size. */
static int find_of(size_t before, uint32_t op, uint32_t status)
{
	struct ulb_withheld o = { 0 }, t = { 0 };
	struct positions any = { .n = 0 };
	struct pieces p;
	uint32_t word;
	bool yes;

	p = x_shred(call.b, call.len, 1000);
	yes = ulb_find_withheld(p.iov, p.n, before, note, &any, &o);
	x_free(&p);
	for (size_t size = 1; size < 9; size++) {
		p = x_shred(call.b, call.len, size);
		CU_ASSERT_EQUAL(ulb_find_withheld(p.iov, p.n, before, note,
						  &any, &t),
				yes);
		x_free(&p);
		CU_ASSERT_EQUAL(memcmp(&o, &t, sizeof(o)), 0);
	}
	/* Cut off: it is found where its number is. */
	for (size_t len = 0; len < call.len; len++) {
		p = x_split(call.b, len, len / 2);
		if (ulb_find_withheld(p.iov, p.n, before, note, &any, &t) &&
		    !t.unread)
			CU_ASSERT(yes && o.at == t.at);
		x_free(&p);
	}
	if (!yes)
		return -1;
	if (o.unread)
		return -2;
	CU_ASSERT_EQUAL(o.status, status);
	CU_ASSERT_EQUAL(o.op, op);
	memcpy(&word, call.b + o.at, 4);
	CU_ASSERT_EQUAL(be32toh(word), op);
	memcpy(&word, call.b + o.count_at, 4);
	CU_ASSERT_TRUE(be32toh(word) > o.index && be32toh(word) < 10);
	return (int)o.index;
}

static int find(size_t before, uint32_t op)
{
	return find_of(before, op, 10004);
}

/* A stateid of the session's client. */
static void put_own(uint32_t counter)
{
	uint32_t word[2];

	memcpy(word, sequence, sizeof(word));
	x_u32(&call, 1);
	x_u32(&call, be32toh(word[0]));
	x_u32(&call, be32toh(word[1]));
	x_u32(&call, counter);
}

/* TEST_STATEID says of each stateid whether there is one; of another client's there is
 * none. Which ones, in pieces of every size. */
static void put_tests(void)
{
	put_sequence(0);
	x_values(&call, "55 5");
	put_own(1);
	x_values(&call, "1 7 8 2");
	put_own(3);
	/* Nobody's, which is masked once more, and the current one. */
	x_values(&call, "0 4294967295 4294967295 4294967295 0 0 0 0");
	x_values(&call, "55 1 1 7 9 4");
}

static struct ulb_call head_of_call(void)
{
	struct iovec v = { call.b, call.len };
	struct ulb_call head;

	CU_ASSERT_EQUAL_FATAL(x_classify(&v, 1, &head), 0);
	return head;
}

static void test_foreign(void)
{
	struct positions none = { .n = 0 };
	struct ulb_withheld withheld;
	struct ulb_call head;
	struct pieces p;
	struct iovec v;
	size_t at;

	at = args(3);
	put_tests();
	CU_ASSERT_EQUAL(find(at, 0), -1);
	for (size_t size = 1; size < 9; size++) {
		struct positions found = { .n = 0 };

		p = x_shred(call.b, call.len, size);
		CU_ASSERT_FALSE(ulb_find_withheld(p.iov, p.n, at, note, &found,
						  &withheld));
		x_free(&p);
		CU_ASSERT_EQUAL(found.n, 3);
		CU_ASSERT_EQUAL(found.at[2], call.len - 12);
		/* Behind it: itself, another stateid, an operation and its one. */
		CU_ASSERT_EQUAL(found.at[1], call.len - 12 - 16 - 24);
		CU_ASSERT_EQUAL(found.at[0], found.at[1] - 32);
	}
	begin(0, 3);
	put_tests();
	head = head_of_call();
	CU_ASSERT_TRUE(head.foreign && head.has_client);
	CU_ASSERT_EQUAL(memcmp(&head.client, sequence, 8), 0);
	/* Its own alone. */
	begin(0, 2);
	put_sequence(0);
	x_values(&call, "55 1");
	put_own(1);
	head = head_of_call();
	CU_ASSERT_TRUE(!head.foreign && head.has_client);
	/* Without a session none is known. */
	at = args(1);
	x_values(&call, "55 1 1 7 8 2");
	v = (struct iovec){ call.b, call.len };
	CU_ASSERT_FALSE(ulb_find_withheld(&v, 1, at, note, &none, &withheld));
	CU_ASSERT_EQUAL(none.n, 0);
}

static void put_lock(bool own)
{
	put_sequence(0);
	x_values(&call, "12 2 0 h h 1 0");
	if (own)
		put_own(1);
	else
		x_values(&call, "1 7 8 1");
	x_values(&call, "0 h s");
}

/* What is refused may end what it has made: LOCK, and OPEN. */
static void test_ends(void)
{
	struct ulb_call head;
	size_t at;

	begin(0, 2);
	put_sequence(0);
	x_values(&call, "18 0 1 2 h s 0 0 s");
	head = head_of_call();
	CU_ASSERT_TRUE(head.has_client);
	/* By an open stateid of another client, and by an own one. */
	at = args(2);
	put_lock(false);
	CU_ASSERT_EQUAL(find_of(at, 12, 10025), 1);
	at = args(2);
	put_lock(true);
	CU_ASSERT_EQUAL(find(at, 0), -1);
	begin(0, 2);
	put_lock(true);
	head = head_of_call();
	CU_ASSERT_TRUE(head.has_client);
	CU_ASSERT_EQUAL(memcmp(&head.client, sequence, 8), 0);
}

static void test_withheld(void)
{
	static const char dir[] = "46 7 0 h u h u 0 0", plus[] = "68 i h 5";
	/* As RFC 7862 has it, and as Ganesha does. */
	static const char *const error[] = { "64 h h i 1 d 5 25",
					     "64 h h i d 5 25" };
	struct ulb_call head;
	struct iovec v;
	size_t at;

	at = args(1);
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(at, 46), 0);
	at = args(5);
	put_sequence(0);
	x_values(&call, "24");
	x_values(&call, dir);
	x_values(&call, dir);
	x_values(&call, "24");
	CU_ASSERT_EQUAL(find(at, 46), 2);
	/* 9 9 s, minor version 2 */
	x_init(&call);
	x_values(&call, "9 9 s 2 3");
	put_sequence(0);
	x_values(&call, plus);
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(8, 68), 1);
	for (int i = 0; i < 2; i++) {
		x_init(&call);
		x_values(&call, "9 9 s 2 2");
		x_values(&call, error[i]);
		put_end(created);
		CU_ASSERT_EQUAL(find(8, 64), 0);
		CU_ASSERT_EQUAL(stray(8), -1);
	}
	x_init(&call);
	x_values(&call, "9 9 s 2 1 65 h h i u h u h u s");
	CU_ASSERT_EQUAL(find(8, 65), 0);
	/* A CLOSE of another client's behind a FREE_STATEID, though nothing of what
	 * is said of sessions and files has to do with it. */
	at = args(4);
	put_sequence(0);
	x_values(&call, "22 s 45 1 7 8 1 4 u 1 7 9 1 24");
	CU_ASSERT_EQUAL(find_of(at, 45, 10025), 2);
	at = args(4);
	x_values(&call, "22 s 45 1 7 8 1 4 u 1 7 9 1 24");
	CU_ASSERT_EQUAL(find_of(at, 4, 10025), 2);
	at = args(4);
	x_values(&call, "22 s 45 1 7 8 1 4 u 1 7 8 1 24");
	CU_ASSERT_EQUAL(find(at, 0), -1);
	/* Neither a bool that is not one of two, nor what Ganesha reads otherwise,
	 * hides what is behind it. */
	x_init(&call);
	x_values(&call, "9 9 s 2 2 12 2 0 h h 2 u i u h s");
	x_values(&call, plus);
	CU_ASSERT_EQUAL(find(8, 68), 1);
	x_init(&call);
	x_values(&call, "9 9 s 1 2 49 h h 0 i 3 h 4 t 1 s");
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(8, 46), 1);
	x_init(&call);
	x_values(&call, "9 9 s 2 2 12 2 0 h h 2 u i u h s");
	put_end("a third session.");
	CU_ASSERT_EQUAL(stray(8), 1);
	/* All are refused if one cannot be read: a claim that there is not, a count
	 * of operations beyond the end, and arguments. */
	at = args(2);
	x_values(&call, "18 u u u h s 0 7 24");
	CU_ASSERT_EQUAL(find(at, 0), -2);
	at = args(2);
	x_values(&call, "24");
	CU_ASSERT_EQUAL(find(at, 0), -2);
	at = args(2);
	x_values(&call, "24 22 100 u");
	CU_ASSERT_EQUAL(find(at, 0), -2);
	/* No operation of this minor version: nothing is known behind it. */
	at = args(2);
	x_values(&call, plus);
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(at, 0), -1);
	/* What cannot be read hides it, and so does the number of operations. */
	at = args(2);
	x_values(&call, "9999");
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(at, 0), -1);
	at = args(1);
	x_values(&call, "24");
	x_values(&call, dir);
	CU_ASSERT_EQUAL(find(at, 0), -1);
	/* Nothing behind it is executed, so it need not be read. */
	at = args(2);
	x_values(&call, dir);
	x_values(&call, "22 100");
	CU_ASSERT_EQUAL(find(at, 46), 0);

	for (int there = 0; there < 2; there++) {
		begin(0, 3);
		put_sequence(0);
		x_values(&call, there ? dir : "24");
		x_values(&call, "24");
		v = (struct iovec){ call.b, call.len };
		CU_ASSERT_EQUAL_FATAL(x_classify(&v, 1, &head), 0);
		CU_ASSERT_EQUAL(head.withheld, there);
	}
}

/* Where sa_cachethis is to be made false, or 0. */
static size_t cleared(size_t before)
{
	struct positions none = { .n = 0 };
	struct iovec v = { call.b, call.len };
	struct ulb_withheld o;

	ulb_find_withheld(&v, 1, before, note, &none, &o);
	return o.cache_at;
}

/* The head of the Call that has these arguments, with 8 octets before them. */
static struct ulb_call head_of_args(void)
{
	struct xdr args = call;
	struct ulb_call head;
	struct iovec v[2];

	x_init(&call);
	x_values(&call, "1 0 2 100003 4 1 0 0 0 0");
	v[0] = (struct iovec){ call.b, call.len };
	v[1] = (struct iovec){ args.b + 8, args.len - 8 };
	CU_ASSERT_EQUAL_FATAL(x_classify(v, 2, &head), 0);
	call = args;
	return head;
}

/* Ganesha is not to keep a Reply that has file data. */
static void test_kept(void)
{
	static const struct {
		const char *ops; /* after PUTROOTFH, in NFSv4.1 after SEQUENCE */
		unsigned int count;
		bool data;
		/* 4.0: the one that is refused, and its index; -1: none */
		int second;
		uint32_t op;
	} rows[] = {
		{ "9 1 0", 1, false, -1, 0 },
		{ "25 i h 5", 1, true, -1, 0 }, /* READ */
		{ "26 h h 5 5 0", 1, true, -1, 0 }, /* READDIR */
		{ "27", 1, false, -1, 0 }, /* READLINK */
		{ "6 2 s 0 s", 1, false, -1, 0 }, /* CREATE */
		{ "6 2 s 0 s 26 h h 5 5 0", 2, true, 2, 26 },
		{ "26 h h 5 5 0 6 2 s 0 s", 2, true, 2, 6 },
		{ "6 2 s 0 s 24 25 i h 5 24", 4, true, 3, 25 },
		/* OPEN without and with OPEN4_CREATE (UNCHECKED4). */
		{ "18 0 1 2 h s 0 0 s 25 i h 5", 2, true, -1, 0 },
		{ "18 0 1 2 h s 1 0 0 s 0 s 25 i h 5", 2, true, 2, 25 },
		{ "25 i h 5 18 0 1 2 h s 1 0 0 s 0 s", 2, true, 2, 18 },
		{ "18 0 1 2 h s 1 0 0 s 0 s 24", 2, false, -1, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		static const char *const keep[] = { "0", "1", "7" };
		size_t at;

		x_init(&call);
		x_values(&call, "9 9 s 0");
		x_u32(&call, rows[i].count + 1);
		x_values(&call, "24");
		x_values(&call, rows[i].ops);
		CU_ASSERT_EQUAL(find_of(8, rows[i].op, 10018), rows[i].second);
		CU_ASSERT_EQUAL(cleared(8), 0);
		CU_ASSERT_EQUAL(head_of_args().withheld, rows[i].second >= 0);
		CU_ASSERT_FALSE(head_of_args().keeps_data);
		for (unsigned int k = 0; k < 3; k++) {
			x_init(&call);
			x_values(&call, "9 9 s 1");
			x_u32(&call, rows[i].count + 2);
			x_values(&call, "53 i 1 0 0");
			at = call.len;
			x_values(&call, keep[k]);
			x_values(&call, "24");
			x_values(&call, rows[i].ops);
			CU_ASSERT_EQUAL(find(8, 0), -1);
			CU_ASSERT_EQUAL(cleared(8), k && rows[i].data ? at : 0);
		}
	}
	/* What is behind an operation that is not shown is not executed. */
	x_init(&call);
	x_values(&call, "9 9 s 2 3 53 i 1 0 0 1 68 i h 5 25 i h 5");
	CU_ASSERT_EQUAL(cleared(8), 0);
	x_init(&call);
	x_values(&call, "9 9 s 2 3 53 i 1 0 0 1 25 i h 5 68 i h 5");
	CU_ASSERT_NOT_EQUAL(cleared(8), 0);
	CU_ASSERT_EQUAL(find(8, 68), 2);
}

static int last(uint32_t index, uint32_t *op, uint32_t *status)
{
	struct iovec v = { res.b, res.len };
	int rc = ulb_last_result(&v, 1, res.len, index, op, status);
	uint32_t o, s;
	struct pieces p;

	for (size_t size = 1; size < 9; size++) {
		p = x_shred(res.b, res.len, size);
		CU_ASSERT_EQUAL(ulb_last_result(p.iov, p.n, res.len, index, &o,
						&s),
				rc);
		CU_ASSERT(rc || (o == *op && s == *status));
		CU_ASSERT_EQUAL(ulb_last_result(p.iov, p.n, res.len + 1000,
						index, &o, &s),
				-EBADMSG);
		x_free(&p);
	}
	return rc;
}

static void test_last(void)
{
	uint32_t op, status;

	begin(10052, 2);
	put_sequence(0);
	x_values(&res, "44 10052");
	CU_ASSERT_EQUAL(last(1, &op, &status), 0);
	CU_ASSERT_EQUAL(op, 44);
	CU_ASSERT_EQUAL(status, 10052);
	CU_ASSERT_EQUAL(last(0, &op, &status), -EBADMSG);
	CU_ASSERT_EQUAL(last(2, &op, &status), -EBADMSG);
	CU_ASSERT_EQUAL(last(UINT32_MAX, &op, &status), -EBADMSG);
	begin(0, 1);
	x_values(&res, "44 0");
	CU_ASSERT_EQUAL(last(0, &op, &status), -EBADMSG);
	begin(10052, 1);
	x_values(&res, "44 10001");
	CU_ASSERT_EQUAL(last(0, &op, &status), -EBADMSG);
	x_init(&res);
	CU_ASSERT_EQUAL(last(0, &op, &status), -EBADMSG);
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
	{ "EXCHANGE_ID and SETCLIENTID", test_named },
	{ "name of a client", test_owner },
	{ "DESTROY_SESSION", test_destroy },
	{ "ended by others", test_stray },
	{ "operations that are not shown", test_withheld },
	{ "Replies that are not to be kept", test_kept },
	{ "state of others", test_foreign },
	{ "what may end state", test_ends },
	{ "heads", test_heads },
	{ "last result", test_last },
	{ "callback", test_callback },
	{ "nonsense", test_nonsense },
	{ NULL, NULL },
};
UNIT_MAIN("ulb sessions", tests)
