/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_classes - every procedure and operation is of one class, and a COMPOUND
 * of the most significant of its operations
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

static struct xdr x;

/* Of the stream so far, by both functions that say; they must agree. */
static const char *class_of(int want)
{
	struct iovec v = { x.b, x.len };
	struct ulb_call c, d;
	struct ulb_scan s;
	struct pieces p;

	CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
	CU_ASSERT_EQUAL(x_scan_call(&v, 1, &d, &s), want);
	CU_ASSERT(!memcmp(&c, &d, sizeof(c)));
	for (size_t size = 1; size < 8; size++) {
		p = x_shred(x.b, x.len, size);
		CU_ASSERT_EQUAL(x_classify(p.iov, p.n, &d), 0);
		CU_ASSERT(!memcmp(&c, &d, sizeof(c)));
		x_free(&p);
	}
	return ulb_class_name(c.op_class);
}

static void is(const char *what, const char *got, const char *want)
{
	if (strcmp(got, want))
		fprintf(stderr, "%s: %s, not %s\n", what, got, want);
	CU_ASSERT_STRING_EQUAL(got, want);
}

static void names(void)
{
	CU_ASSERT(ULB_NCLASSES == 13);
	for (unsigned int i = 0; i < ULB_NCLASSES; i++)
		for (unsigned int j = 0; j < i; j++)
			CU_ASSERT(strcmp(ulb_class_name(i), ulb_class_name(j)));
	CU_ASSERT_STRING_EQUAL(ulb_class_name(0), "other");
	CU_ASSERT_STRING_EQUAL(ulb_class_name(ULB_NCLASSES), "other");
	CU_ASSERT_STRING_EQUAL(ulb_class_name(UINT32_MAX), "other");
}

/* NFSv3, by procedure; 22 and what follows is nothing. */
static void procedures(void)
{
	static const char *const want[] = {
		"null",	  "lookup", "change", "lookup", "lookup",  "lookup",
		"read",	  "write",  "change", "change", "change",  "change",
		"change", "change", "change", "change", "readdir", "readdir",
		"lookup", "lookup", "lookup", "commit", "other",   "other"
	};
	struct ulb_call c;
	struct iovec v;

	for (uint32_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, i);
		/* The arguments do not matter. */
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		is("procedure", ulb_class_name(c.op_class), want[i]);
	}
}

static const struct {
	const char *name;
	uint32_t ops[24]; /* 0: no more */
} members[] = {
	{ "session", { 30, 35, 36, 40, 41, 42, 43, 44, 53, 54, 57, 58 } },
	{ "lookup",
	  { 3, 9, 10, 15, 16, 17, 22, 23, 24, 27, 31, 32, 33, 37, 52, 63, 69,
	    72, 74 } },
	{ "open", { 4,	7,  8,	18, 19, 20, 21, 45, 46, 47, 48,
		    49, 50, 51, 55, 56, 61, 64, 65, 66, 67 } },
	{ "lock", { 12, 13, 14, 39 } },
	{ "commit", { 5 } },
	{ "change", { 6, 11, 28, 29, 34, 73, 75 } },
	{ "readdir", { 26 } },
	{ "read", { 25, 68 } },
	{ "write", { 38, 59, 60, 62, 70, 71 } },
};
#define NMEMBERS (sizeof(members) / sizeof(members[0]))

static unsigned int rank(uint32_t op)
{
	for (unsigned int i = 0; i < NMEMBERS; i++)
		for (const uint32_t *o = members[i].ops; *o; o++)
			if (*o == op)
				return i;
	return NMEMBERS;
}

/* An operation where it usually stands. */
static void usual(const struct row *r)
{
	x_init(&x);
	x_compound_call(&x, 2, 4);
	x_values(&x, "53 n u u u u 22 s");
	x_u32(&x, r->op);
	x_values(&x, r->values);
	x_values(&x, "9 b");
}

/* Each alone, and where it usually stands. */
static void operations(void)
{
	for (const struct row *r = args_rows; r->name; r++) {
		unsigned int k = rank(r->op);

		CU_ASSERT_FATAL(k < NMEMBERS);
		x_init(&x);
		x_compound_call(&x, 2, 1);
		x_u32(&x, r->op);
		x_values(&x, r->values);
		is(r->name, class_of(0), members[k].name);
		usual(r);
		is(r->name, class_of(0), members[k < 1 ? 1 : k].name);
	}
}

/* The order of the operations makes no difference. */
static void pairs(void)
{
	for (const struct row *a = args_rows; a->name; a++) {
		for (const struct row *b = args_rows; b->name; b++) {
			unsigned int i = rank(a->op), j = rank(b->op);
			struct ulb_call c;
			struct iovec v;

			x_init(&x);
			x_compound_call(&x, 2, 2);
			x_u32(&x, a->op);
			x_values(&x, a->values);
			x_u32(&x, b->op);
			x_values(&x, b->values);
			v = (struct iovec){ x.b, x.len };
			CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
			is(a->name, ulb_class_name(c.op_class),
			   members[i > j ? i : j].name);
		}
	}
}

/* What is said of state, which depends neither on what is beside it. */
static void state(void)
{
	struct ulb_call c;
	struct iovec v;

	for (const struct row *r = args_rows; r->name; r++) {
		/* GET_DIR_DELEGATION, LAYOUTERROR, LAYOUTSTATS, READ_PLUS */
		bool withheld = r->op == 46 || r->op == 64 || r->op == 65 ||
				r->op == 68;
		struct ulb_call d;
		struct ulb_scan s;

		usual(r);
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &d, &s), 0);
		CU_ASSERT_EQUAL(c.withheld, withheld);
		CU_ASSERT_EQUAL(d.withheld, withheld);
		CU_ASSERT_FALSE(c.unread || d.unread);
	}
	/* WRITE, the most significant operation, hides none behind it. */
	x_init(&x);
	x_compound_call(&x, 2, 3);
	x_values(&x, "38 i h 0 D 44 i 4 u i");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
	is("behind WRITE", ulb_class_name(c.op_class), "write");
	CU_ASSERT_TRUE(c.ends_session);
	/* Each of its own minor version. */
	for (uint32_t minor = 0; minor < 4; minor++) {
		x_init(&x);
		x_compound_call(&x, minor, 1);
		x_values(&x, "44 i");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		CU_ASSERT_EQUAL(c.ends_session, minor == 1 || minor == 2);
	}
}

/* The number that Ganesha has in memory as these words are on the wire. */
static uint64_t in_memory(uint32_t a, uint32_t b)
{
	uint32_t word[2] = { htobe32(a), htobe32(b) };
	uint64_t client;

	memcpy(&client, word, sizeof(client));
	return client;
}

/* Whose state a COMPOUND ends and names: one client's, or it is not executed. */
static void clients(void)
{
#define SEQ(a, b) "53 " a " " b " 1 2 u u u u "
	static const struct {
		uint32_t minor, count;
		const char *ops;
		uint32_t a, b; /* the client; 0: none */
		bool hyper, withheld;
	} t[] = {
		{ 1, 2, "4 u 1 7 8 1 45 1 7 8 2", 7, 8, 0, 0 },
		{ 1, 2, "8 1 7 8 1 55 3 1 7 8 2 1 7 8 3 1 7 8 4", 7, 8, 0, 0 },
		{ 1, 2, "4 u 1 7 8 1 45 1 7 9 2", 7, 8, 0, 1 },
		{ 1, 2, "45 1 7 8 1 8 1 6 8 2", 7, 8, 0, 1 },
		{ 1, 1, "55 2 1 7 8 1 1 7 9 1", 0, 0, 0, 1 },
		/* What other operations name does not matter. */
		{ 1, 3, "25 1 7 9 3 h u 45 1 7 8 1 25 1 6 6 6 h u", 7, 8, 0,
		  0 },
		/* None but that of its session. */
		{ 1, 2, SEQ("7", "8") "55 1 1 7 8 1", 7, 8, 0, 0 },
		{ 1, 2, SEQ("7", "9") "12 2 0 h h 2 u 1 7 8 1 u h s", 0, 0, 0,
		  1 },
		/* But TEST_STATEID says so of each. */
		{ 1, 2, SEQ("7", "9") "55 1 1 7 8 1", 7, 9, 0, 0 },
		{ 1, 2, SEQ("7", "9") "45 1 7 8 1", 0, 0, 0, 1 },
		{ 1, 2, SEQ("7", "9") "4 u 1 7 8 1", 0, 0, 0, 1 },
		/* Nobody's. */
		{ 1, 1, "55 0", 0, 0, 0, 0 },
		{ 1, 1, "4 u 0 0 0 0", 0, 0, 0, 0 },
		{ 1, 1, "45 u 4294967295 4294967295 4294967295", 0, 0, 0, 0 },
		{ 1, 2, SEQ("7", "8") "22 s", 0, 0, 0, 0 },
		/* What may end state if it fails: its session's, whatever it
		 * names; without a session that which it names first. */
		{ 1, 2, SEQ("7", "8") "18 u u u 0 0 s 0 0 s", 7, 8, 0, 0 },
		{ 1, 2, SEQ("7", "8") "50 u u u h h h 1 7 9 1 u", 7, 8, 0, 0 },
		{ 1, 2, SEQ("7", "8") "51 u u u 1 h h 1 7 9 1 s", 7, 8, 0, 0 },
		{ 1, 2, "50 u u u h h h 1 7 8 1 u 51 u u u 1 h h 1 7 9 1 s", 7,
		  8, 0, 0 },
		/* The current one, which may be any that was named before. */
		{ 1, 2, SEQ("7", "8") "4 u 1 0 0 0", 7, 8, 0, 0 },
		{ 1, 3, SEQ("7", "8") "25 1 7 8 3 h u 45 1 0 0 0", 7, 8, 0, 0 },
		{ 1, 3, SEQ("7", "8") "25 1 7 9 3 h u 45 1 0 0 0", 0, 0, 0, 1 },
		{ 1, 2, "12 2 0 h h 2 u 1 7 8 1 u h s 4 u 1 0 0 0", 7, 8, 0,
		  0 },
		{ 1, 3, "45 1 7 8 1 25 1 7 9 3 h u 4 u 1 0 0 0", 7, 8, 0, 1 },
		/* Owners: in 4.0 alone. */
		{ 0, 1, "39 7 8 s", 7, 8, 1, 0 },
		{ 1, 1, "39 7 8 s", 0, 0, 0, 0 },
		{ 0, 2, "39 7 8 s 39 7 9 s", 7, 8, 1, 1 },
		{ 0, 2, "18 u u u 7 8 s 0 0 s 8 1 0 0 0", 7, 8, 1, 0 },
		{ 1, 3, SEQ("7", "8") "18 u u u 0 0 s 0 0 s 4 u 1 0 0 0", 7, 8,
		  0, 0 },
		/* Behind what is not executed. */
		{ 1, 2, "46 0 0 h u h u 0 0 45 1 7 8 1", 0, 0, 0, 1 },
	};
#undef SEQ
	struct ulb_call c, d;
	struct ulb_scan s;
	struct iovec v;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_compound_call(&x, t[i].minor, t[i].count);
		x_values(&x, t[i].ops);
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &d, &s), 0);
		if (c.has_client != !!t[i].a || c.withheld != t[i].withheld)
			fprintf(stderr, "%s: %d %d\n", t[i].ops, c.has_client,
				c.withheld);
		CU_ASSERT_EQUAL(c.has_client, !!t[i].a);
		CU_ASSERT_EQUAL(c.withheld, t[i].withheld);
		if (t[i].a)
			CU_ASSERT_EQUAL(c.client,
					t[i].hyper ? (uint64_t)t[i].a << 32 |
							     t[i].b :
						     in_memory(t[i].a, t[i].b));
		CU_ASSERT_EQUAL(d.has_client, c.has_client);
		CU_ASSERT_EQUAL(d.client, c.client);
		CU_ASSERT_EQUAL(d.withheld, c.withheld);
	}
	/* An owner's is a number, a stateid's is that number in memory. */
	x_init(&x);
	x_compound_call(&x, 0, 2);
	x_values(&x, "39 7 8 s 4 u 1");
	x_raw(&x, &(uint64_t){ (uint64_t)7 << 32 | 8 }, 8);
	x_values(&x, "u");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
	CU_ASSERT_EQUAL(c.client, (uint64_t)7 << 32 | 8);
	CU_ASSERT_FALSE(c.withheld);
}

/* A stateid: its counter, the number of its client in memory, a word. */
static void put_stateid(uint64_t client)
{
	x_u32(&x, 1);
	x_raw(&x, &client, sizeof(client));
	x_u32(&x, 5);
}

/* A LOCK by an open stateid of @open for a new owner of @owner, and behind it a CLOSE
 * of @close, if that is one. */
static bool withholds(uint32_t minor, uint64_t open, uint64_t owner,
		      uint64_t close)
{
	struct ulb_call c;
	struct iovec v;

	x_init(&x);
	x_compound_call(&x, minor, close ? 2 : 1);
	x_values(&x, "12 2 0 h h 1 0");
	put_stateid(open);
	x_u32(&x, 0);
	x_u32(&x, (uint32_t)(owner >> 32));
	x_u32(&x, (uint32_t)owner);
	x_values(&x, "s");
	if (close) {
		x_values(&x, "4 u");
		put_stateid(close);
	}
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
	return c.withheld;
}

/* What is of another instance of the server that server refuses itself, in 4.0. */
static void instances(void)
{
	const uint64_t mine = (uint64_t)9 << 32 | 1;
	const uint64_t other = (uint64_t)9 << 32 | 2;
	const uint64_t before = (uint64_t)8 << 32 | 1;
	struct ulb_call c;
	struct iovec v;

	CU_ASSERT_FALSE(withholds(0, mine, mine, 0));
	CU_ASSERT_TRUE(withholds(0, other, mine, 0));
	CU_ASSERT_FALSE(withholds(0, before, mine, 0));
	CU_ASSERT_FALSE(withholds(0, mine, before, 0));
	CU_ASSERT_FALSE(withholds(0, mine, mine, before));
	CU_ASSERT_TRUE(withholds(0, mine, mine, other));
	/* The current stateid may be any that was named. */
	x_init(&x);
	x_compound_call(&x, 0, 3);
	x_values(&x, "25");
	put_stateid(before);
	x_values(&x, "h u 25");
	put_stateid(mine);
	x_values(&x, "h u 4 u 1 0 0 0");
	v = (struct iovec){ x.b, x.len };
	CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
	CU_ASSERT_TRUE(c.withheld);
	/* With sessions a restart is told by SEQUENCE (RFC 8881, 15.1.16.5). */
	CU_ASSERT_TRUE(withholds(1, mine, 0, before));
}

/* Can all of it be read that might be executed? */
static void unread(void)
{
	static const struct {
		uint32_t minor, count;
		const char *ops;
		bool unread;
	} t[] = {
		{ 2, 1, "22 s", false },
		{ 2, 2, "22 s", true },
		{ 2, 1, "22 100 u", true },
		{ 2, 1, "38 i h 0 99 u", true },
		{ 2, 1, "18 u u u h s 0 7", true },
		{ 2, 2, "12 2 0 h h 7 u i u h s 24", false },
		/* It ends there for Ganesha too. */
		{ 2, 2, "9999", false },
		{ 1, 2, "68 1", false },
		{ 3, 2, "22", false },
		{ 1, 2, "46 1 2", false },
	};
	struct ulb_call c, d;
	struct ulb_scan s;
	struct iovec v;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_compound_call(&x, t[i].minor, t[i].count);
		x_values(&x, t[i].ops);
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		(void)x_scan_call(&v, 1, &d, &s);
		CU_ASSERT_EQUAL(c.unread, t[i].unread);
		CU_ASSERT_EQUAL(d.unread, t[i].unread);
	}
}

/* What is known before the place where nothing more is. */
static void broken(void)
{
	struct ulb_call c;
	struct iovec v;
	size_t whole;

	x_init(&x);
	x_compound_call(&x, 2, 3);
	x_values(&x, "22 s 5 h u");
	whole = x.len;
	x_values(&x, "10043 38 i h 0 D");
	is("unknown operation", class_of(0), "commit");
	x.len = whole;
	is("cut off", class_of(-EBADMSG), "commit");
	x_init(&x);
	x_compound_call(&x, 3, 1);
	x_values(&x, "38 i h 0 D");
	is("minor version 3", class_of(0), "other");
	x_init(&x);
	x_compound_call(&x, 1, 0);
	is("no operation", class_of(0), "other");
	x_init(&x);
	x_compound_call(&x, 1, UINT32_MAX);
	is("all too many", class_of(-EBADMSG), "other");
	/* Within the head there is no class at all. */
	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 4, 1);
	for (size_t len = 0; len < x.len; len++) {
		v = (struct iovec){ x.b, len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), -EBADMSG);
	}
	is("no body", class_of(-EBADMSG), "other");
}

static void programs(void)
{
	static const struct {
		uint32_t prog, vers, proc;
		const char *want;
	} t[] = {
		{ 100003, 4, 0, "null" },  { 100003, 4, 2, "other" },
		{ 100003, 2, 6, "other" }, { 100005, 3, 0, "null" },
		{ 100005, 3, 1, "other" }, { 0x40000000, 1, 1, "other" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_call(&x, t[i].prog, t[i].vers, t[i].proc);
		is("program", class_of(0), t[i].want);
	}
}

/* RFC 2203: version, procedure, sequence, service, handle. */
static void gss(void)
{
	static const struct {
		uint32_t vers, proc;
		const char *cred, *want;
	} t[] = {
		{ 4, 1, "1 0 9 1 4 u", "write" },
		{ 4, 1, "1 0 9 2 4 u", "protected" },
		{ 4, 1, "1 0 9 3 4 u", "protected" },
		{ 4, 0, "1 1 0 1 4 u", "null" },
		{ 4, 1, "1 3 9 1 4 u", "null" },
		/* The procedure is in the clear. */
		{ 3, 6, "1 0 9 3 4 u", "read" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		struct ulb_call c;
		struct iovec v;

		x_init(&x);
		x_values(&x, "287454020 0 2 100003");
		x_u32(&x, t[i].vers);
		x_u32(&x, t[i].proc);
		x_values(&x, "6 24");
		x_values(&x, t[i].cred);
		x_values(&x, "6 4 u");
		x_values(&x, "0 1 1 38 i h 0 D");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		is(t[i].cred, ulb_class_name(c.op_class), t[i].want);
	}
}

struct locks {
	size_t at;
	uint32_t type;
	unsigned int n;
};

static void note_lock(void *ctx, size_t at, uint32_t type)
{
	struct locks *l = ctx;

	*l = (struct locks){ at, type, l->n + 1 };
}

/* A LOCK of each type behind one that does not wait: which of them does? */
static void waiting_locks(void)
{
	for (uint32_t minor = 0; minor < 3; minor++) {
		for (uint32_t type = 1; type < 6; type++) {
			bool yes = !minor && (type == 3 || type == 4);
			struct locks found = { .n = 0 };
			size_t at, args;
			struct pieces p;
			struct ulb_call c;
			struct iovec v;

			x_init(&x);
			x_call(&x, ULB_PROG_NFS, 4, 1);
			args = x.len;
			x_values(&x, "s");
			x_u32(&x, minor);
			x_values(&x, "3 22 s 12 2 0 h h 0 i u 12");
			at = x.len;
			x_u32(&x, type);
			x_values(&x, "0 h h 0 i u");
			v = (struct iovec){ x.b, x.len };
			CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
			CU_ASSERT_EQUAL(c.waits, yes);
			p = x_shred(x.b, x.len, 5);
			ulb_waiting_locks(p.iov, p.n, args, note_lock, &found);
			x_free(&p);
			CU_ASSERT_EQUAL(found.n, yes);
			if (yes) {
				CU_ASSERT_EQUAL(found.at, at);
				CU_ASSERT_EQUAL(found.type, type);
			}
			/* Cut off before its type */
			v.iov_len = at;
			ulb_waiting_locks(&v, 1, args, note_lock, &found);
			CU_ASSERT_EQUAL(found.n, yes);
		}
	}
}

static void empty_reads(void)
{
	for (uint32_t count = 0; count < 2; count++) {
		uint64_t offset = 0;
		size_t at, args, offset_at = 0;
		struct ulb_call c;
		struct pieces p;
		struct iovec v;

		x_init(&x);
		x_call(&x, ULB_PROG_NFS, 3, 6);
		args = x.len;
		x_values(&x, "s");
		at = x.len;
		x_values(&x, "7 9");
		x_u32(&x, count);
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_classify(&v, 1, &c), 0);
		p = x_shred(x.b, x.len, 3);
		CU_ASSERT_EQUAL(ulb_empty_read(p.iov, p.n, args, &c, &offset_at,
					       &offset),
				!count);
		x_free(&p);
		CU_ASSERT_EQUAL(offset_at, at);
		CU_ASSERT_EQUAL(offset, (uint64_t)7 << 32 | 9);
		v.iov_len -= 4;
		CU_ASSERT_FALSE(
			ulb_empty_read(&v, 1, args, &c, &offset_at, &offset));
		/* READDIR, and another version */
		v.iov_len += 4;
		c.proc = 16;
		CU_ASSERT_FALSE(
			ulb_empty_read(&v, 1, args, &c, &offset_at, &offset));
		c.proc = 6;
		c.vers = 4;
		CU_ASSERT_FALSE(
			ulb_empty_read(&v, 1, args, &c, &offset_at, &offset));
	}
}

static const struct unit_test tests[] = {
	{ "names", names },
	{ "procedures", procedures },
	{ "operations", operations },
	{ "pairs", pairs },
	{ "state", state },
	{ "clients", clients },
	{ "other instances of the server", instances },
	{ "unread", unread },
	{ "broken", broken },
	{ "programs", programs },
	{ "RPCSEC_GSS", gss },
	{ "locks that wait", waiting_locks },
	{ "READs of nothing", empty_reads },
	{ NULL, NULL },
};

UNIT_MAIN("ulb classes", tests)
