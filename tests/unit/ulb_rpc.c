/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_rpc - heads of Calls and Replies, credentials, limits, names
 */
#include "ulb_xdr.h"

static struct xdr x;

/* A Call with a credential and a verifier of the given lengths. */
static void head(uint32_t flavor, const char *cred, uint32_t credlen,
		 uint32_t verflen)
{
	x_init(&x);
	x_values(&x, "287454020 0 2 100003 4 1");
	x_u32(&x, flavor);
	x_u32(&x, credlen);
	x_values(&x, cred);
	x_u32(&x, 6);
	x_opaque(&x, verflen);
}

static int decode(struct pieces p, struct ulb_call *c)
{
	ulb_call_head(p.iov, p.n, c);
	x_free(&p);
	return c->readable ? 0 : -EBADMSG;
}

static void fields(void)
{
	struct ulb_call c;

	x_init(&x);
	x_call(&x, ULB_PROG_NFS, 3, 7);
	for (size_t at = 0; at <= x.len; at++) {
		CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, at), &c), 0);
		CU_ASSERT_EQUAL(c.xid, 0x11223344);
		CU_ASSERT_EQUAL(c.prog, 100003);
		CU_ASSERT_EQUAL(c.vers, 3);
		CU_ASSERT_EQUAL(c.proc, 7);
		CU_ASSERT_EQUAL(c.flavor, 1);
		CU_ASSERT(c.ddp);
		CU_ASSERT(c.nfs);
		CU_ASSERT_EQUAL(c.body, x.len);
	}
	CU_ASSERT_EQUAL(decode(x_shred(x.b, x.len, 1), &c), 0);
	CU_ASSERT_EQUAL(c.body, x.len);
	/* What follows the head does not matter and may be missing. */
	for (size_t len = 0; len < x.len; len++)
		CU_ASSERT_EQUAL(decode(x_split(x.b, len, len / 2), &c),
				-EBADMSG);
}

static void gss(void)
{
	static const struct {
		const char *cred; /* version, procedure, seq, service, handle */
		uint32_t proc, service;
		bool ddp;
	} t[] = {
		{ "1 0 9 1 4 u", 0, 1, true },	{ "1 0 9 2 4 u", 0, 2, false },
		{ "1 0 9 3 4 u", 0, 3, false }, { "1 0 9 0 4 u", 0, 0, false },
		{ "1 0 9 4 4 u", 0, 4, false }, { "1 1 0 1 4 u", 1, 1, false },
		{ "1 2 0 1 4 u", 2, 1, false }, { "1 3 9 1 4 u", 3, 1, false },
		{ "3 0 9 1 4 u", 0, 1, true },
	};
	struct ulb_call c;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		head(6, t[i].cred, 24, 37);
		for (size_t at = 0; at <= x.len; at++) {
			CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, at), &c), 0);
			CU_ASSERT_EQUAL(c.flavor, 6);
			CU_ASSERT_EQUAL(c.gss_proc, t[i].proc);
			CU_ASSERT_EQUAL(c.gss_service, t[i].service);
			CU_ASSERT_EQUAL(c.ddp, t[i].ddp);
			CU_ASSERT(c.nfs);
			CU_ASSERT_EQUAL(c.body, x.len);
		}
		CU_ASSERT_EQUAL(ulb_max_read_chunks(&c, 8), t[i].ddp ? 8 : 0);
	}
	/* A credential too short to say what it is. */
	head(6, "1 0 9", 12, 0);
	x_values(&x, "1 1 1 1 1 1 1 1");
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), -EBADMSG);
	/* Its length is in doubt no less at its very end. */
	head(6, "1 0 9 1", 16, 0);
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), 0);
	CU_ASSERT(c.ddp);
}

static void other_heads(void)
{
	struct ulb_call c;

	head(0, "", 0, 0);
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), 0);
	CU_ASSERT(c.ddp);
	CU_ASSERT_EQUAL(c.body, 40);
	/* AUTH_SHORT and one that nobody knows: opaque, and of odd length */
	head(2, "u u", 7, 3);
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), 0);
	CU_ASSERT_EQUAL(c.body, x.len);
	head(390004, "u u u", 12, 0);
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), 0);
	CU_ASSERT(c.ddp);
	/* RFC 5531, 8.2 */
	for (uint32_t over = 0; over < 2; over++) {
		x_init(&x);
		x_values(&x, "1 0 2 100003 4 1 390004");
		x_opaque(&x, 400 + over);
		x_values(&x, "0 0");
		CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c),
				over ? -EBADMSG : 0);
		head(0, "", 0, 400 + over);
		CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c),
				over ? -EBADMSG : 0);
	}
	/* A Reply; another version of RPC */
	x_init(&x);
	x_values(&x, "1 1 2 100003 4 1 0 0 0 0");
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), -EBADMSG);
	x_init(&x);
	x_values(&x, "1 0 3 100003 4 1 0 0 0 0");
	CU_ASSERT_EQUAL(decode(x_split(x.b, x.len, 0), &c), -EBADMSG);
	ulb_call_head(NULL, 0, &c);
	CU_ASSERT_FALSE(c.readable);
}

/* The head in x, whole in one piece and cut everywhere: how it is denied. */
static uint32_t denied(uint32_t handle, bool *malformed)
{
	struct ulb_denial d, first = { .auth_stat = UINT32_MAX };
	bool is = false;

	for (size_t at = 0; at <= x.len; at++) {
		struct pieces p = x_split(x.b, x.len, at);

		d = (struct ulb_denial){ .auth_stat = UINT32_MAX };
		is = ulb_deny(p.iov, p.n, handle, &d);
		x_free(&p);
		if (!at)
			first = d;
		CU_ASSERT_EQUAL(d.auth_stat, first.auth_stat);
		CU_ASSERT_EQUAL(is, d.auth_stat != UINT32_MAX);
		CU_ASSERT_EQUAL(is, d.why != NULL);
	}
	*malformed = d.malformed;
	return d.auth_stat;
}

#define SERVED UINT32_MAX

static void denials(void)
{
	static const struct {
		uint32_t flavor, len;
		const char *cred;
		uint32_t proc, verf_flavor, verf_len;
		const char *args;
		uint32_t want;
		bool polite; /* no fault of the client's */
	} t[] = {
		{ 0, 0, "", 0, 0, 0, "", SERVED, false },
		{ 0, 8, "u u", 1, 0, 0, "", SERVED, false },
		{ 2, 4, "u", 0, 0, 0, "", 2, true },
		{ 3, 0, "", 0, 0, 0, "", 2, true },
		{ 7, 0, "", 0, 0, 0, "", 2, true },
		{ 390004, 4, "u", 0, 0, 0, "", 2, true },
		/* AUTH_SYS: stamp, name, uid, gid, gids */
		{ 1, 20, "7 0 0 0 0", 0, 0, 0, "", SERVED, false },
		{ 1, 20, "7 0 0 0 0", 0, 6, 37, "", SERVED, false },
		{ 1, 28, "7 0 0 0 0 u u", 0, 0, 0, "", SERVED, false },
		{ 1, 16, "7 0 0 0 0", 0, 0, 0, "", 1, false },
		{ 1, 17, "7 0 0 0 0", 0, 0, 0, "", 1, false },
		{ 1, 0, "", 0, 0, 0, "", 1, false },
		{ 1, 20, "7 256 0 0 0", 0, 0, 0, "", 1, false },
		{ 1, 20, "7 5 0 0 0", 0, 0, 0, "", 1, false },
		{ 1, 20, "7 4294967295 0 0 0", 0, 0, 0, "", 1, false },
		{ 1, 24, "7 0 0 0 1 u", 0, 0, 0, "", SERVED, false },
		{ 1, 24, "7 0 0 0 2 u", 0, 0, 0, "", 1, false },
		{ 1, 20, "7 0 0 0 17", 0, 0, 0, "", 1, false },
		{ 1, 20, "7 0 0 0 1073741824", 0, 0, 0, "", 1, false },
		/* RPCSEC_GSS: version, procedure, sequence, service, handle */
		{ 6, 36, "1 0 9 1 16 n", 1, 6, 28, "", SERVED, false },
		{ 6, 36, "1 0 9 3 16 n", 1, 6, 28, "", SERVED, false },
		{ 6, 36, "1 3 9 1 16 n", 0, 6, 28, "", SERVED, false },
		{ 6, 40, "1 0 9 1 16 n u", 1, 6, 28, "", SERVED, false },
		{ 6, 36, "1 3 9 1 16 n", 1, 6, 28, "", 1, false },
		{ 6, 36, "0 0 9 1 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "2 0 9 1 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 4 9 1 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 0 9 0 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 0 9 4 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 0 9 1 17 n", 0, 6, 28, "", 1, false },
		{ 6, 35, "1 0 9 1 16 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 0 9 1 4294967293 n", 0, 6, 28, "", 1, false },
		{ 6, 36, "1 0 9 1 16 n", 0, 0, 0, "", 3, false },
		{ 6, 36, "1 3 9 1 16 n", 0, 1, 28, "", 3, false },
		{ 6, 20, "1 0 9 1 0", 0, 6, 28, "", 13, true },
		{ 6, 20, "1 3 9 1 0", 0, 6, 28, "", 13, true },
		{ 6, 36, "1 0 9 1 15 n", 0, 6, 28, "", 13, true },
		{ 6, 40, "1 0 9 1 20 n u", 0, 6, 28, "", 13, true },
		{ 6, 16, "1 0 9 1", 0, 6, 28, "", 1, false },
		{ 6, 0, "", 0, 0, 0, "", 1, false },
		/* A new context: service and sequence number do not matter. */
		{ 6, 20, "1 1 0 1 0", 0, 0, 0, "4 u", SERVED, false },
		{ 6, 20, "1 1 u 9 0", 0, 0, 0, "0", SERVED, false },
		{ 6, 36, "1 2 0 1 16 n", 0, 0, 0, "3 u", SERVED, false },
		{ 6, 20, "1 1 0 1 0", 1, 0, 0, "4 u", 1, false },
		{ 6, 36, "1 1 0 1 16 n", 0, 0, 0, "4 u", 1, false },
		{ 6, 20, "1 1 0 1 0", 0, 6, 0, "4 u", 3, false },
		{ 6, 20, "1 1 0 1 0", 0, 0, 4, "4 u", 3, false },
		{ 6, 20, "1 1 0 1 0", 0, 0, 0, "5 u", 1, false },
		{ 6, 20, "1 1 0 1 0", 0, 0, 0, "", 1, false },
		{ 6, 20, "1 2 0 1 0", 0, 0, 0, "4294967292 u", 1, false },
	};
	bool malformed;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_values(&x, "1 0 2 100003 4");
		x_u32(&x, t[i].proc);
		x_u32(&x, t[i].flavor);
		x_u32(&x, t[i].len);
		x_values(&x, t[i].cred);
		/* What is too short here reads on in the verifier. */
		x.len = 32 + ((t[i].len + 3) & ~3u);
		x_u32(&x, t[i].verf_flavor);
		x_opaque(&x, t[i].verf_len);
		x_values(&x, t[i].args);
		CU_ASSERT_EQUAL(denied(16, &malformed), t[i].want);
		CU_ASSERT_EQUAL(malformed, t[i].want != SERVED && !t[i].polite);
		/* Of a server that is not known any handle may be. */
		CU_ASSERT_EQUAL(denied(0, &malformed),
				t[i].want == 13 ? SERVED : t[i].want);
	}
	/* However little follows the version, or a length. */
	x_init(&x);
	x_values(&x, "1 0 3");
	CU_ASSERT_EQUAL(denied(16, &malformed), 0);
	CU_ASSERT(malformed);
	x_init(&x);
	x_values(&x, "1 0 2 100003 4 1 1 401");
	CU_ASSERT_EQUAL(denied(16, &malformed), 1);
	x_init(&x);
	x_values(&x, "1 0 2 100003 4 1 1 4 u 0 401");
	CU_ASSERT_EQUAL(denied(16, &malformed), 3);
	/* No Call, or one that ends. */
	x_init(&x);
	x_values(&x, "1 1 3");
	CU_ASSERT_EQUAL(denied(16, &malformed), SERVED);
	head(6, "1 0 9 1 0", 20, 28);
	for (x.len -= 4; x.len; x.len -= 4)
		CU_ASSERT_EQUAL(denied(16, &malformed), SERVED);
}

static void programs(void)
{
	static const struct {
		uint32_t prog, vers, proc;
		bool nfs;
		unsigned int chunks;
	} t[] = {
		{ 100003, 3, 7, true, 1 },	{ 100003, 3, 10, true, 1 },
		{ 100003, 3, 6, true, 0 },	{ 100003, 3, 0, true, 0 },
		{ 100003, 3, 22, true, 0 },	{ 100003, 4, 1, true, 5 },
		{ 100003, 4, 0, true, 0 },	{ 100003, 4, 2, true, 0 },
		{ 100003, 2, 8, false, 0 },	{ 100003, 5, 1, false, 0 },
		{ 100005, 3, 7, false, 0 },	{ 100227, 3, 2, false, 0 },
		{ 0x40000000, 1, 1, false, 0 }, { 100003, 0, 7, false, 0 },
	};
	struct ulb_call c;
	struct ulb_scan s;
	struct iovec v;

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		x_init(&x);
		x_call(&x, t[i].prog, t[i].vers, t[i].proc);
		v = (struct iovec){ x.b, x.len };
		ulb_call_head(&v, 1, &c);
		CU_ASSERT_TRUE(c.readable);
		CU_ASSERT_EQUAL(c.nfs, t[i].nfs);
		CU_ASSERT_EQUAL(ulb_max_read_chunks(&c, 5), t[i].chunks);
		if (t[i].nfs)
			continue;
		/* Whatever its arguments are, nothing is eligible. */
		x_fill(&x, 100);
		v.iov_len = x.len;
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
		CU_ASSERT(!s.nargs && !s.nresults && !s.reply_max);
	}
}

/* Under integrity and privacy a stream is opaque in both directions [H3]. */
static void protected_calls(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct ulb_item items[4];
	struct iovec v;
	unsigned int n;
	uint32_t none = 0, some = 8;

	for (uint32_t service = 1; service <= 3; service++) {
		head(6,
		     service == 1 ? "1 0 9 1 0" :
		     service == 2 ? "1 0 9 2 0" :
				    "1 0 9 3 0",
		     20, 28);
		x_values(&x, "0 1 2 38 i h 0 D 25 i h 100");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(x_scan_call(&v, 1, &c, &s), 0);
		if (service == 1) {
			CU_ASSERT(x_same(s.args, s.nargs, x.items, 1));
			CU_ASSERT_EQUAL(s.nresults, 1);
		} else {
			CU_ASSERT(!s.nargs && !s.nresults && !s.reply_max);
		}

		/* The verifier of the Reply is stepped over. */
		x_init(&x);
		x_values(&x, "287454020 1 0 6");
		x_opaque(&x, 37);
		x_values(&x, "0 0 0 1 25 0 1 D");
		v = (struct iovec){ x.b, x.len };
		CU_ASSERT_EQUAL(
			ulb_scan_reply(&c, &v, 1, NULL, 0, items, 4, &n), 0);
		CU_ASSERT(x_same(items, n, x.items, service == 1));
		if (service == 1)
			continue;
		CU_ASSERT_EQUAL(
			ulb_scan_reply(&c, &v, 1, &none, 1, items, 4, &n), 0);
		CU_ASSERT_EQUAL(ulb_scan_reply(&c, &v, 1, &some, 1, items, 4,
					       &n),
				-EBADMSG);
	}
}

static void other_replies(void)
{
	static const char *const t[] = {
		"1 1 1 0 2 2", /* RPC_MISMATCH */
		"1 1 1 1 5", /* AUTH_ERROR */
		"1 1 0 0 0 1", /* PROG_UNAVAIL */
		"1 1 0 0 0 2 3 4", /* PROG_MISMATCH */
		"1 1 0 0 0 3", /* PROC_UNAVAIL */
		"1 1 0 0 0 4", /* GARBAGE_ARGS */
		"1 1 0 0 0 5", /* SYSTEM_ERR */
	};
	static const char *const bad[] = {
		"",
		"1",
		"1 1",
		"1 1 0",
		"1 1 0 0",
		"1 1 0 0 0",
		"1 0 0 0 0 0", /* a Call */
		"1 1 2 0 0 0", /* neither accepted nor denied */
		"1 1 0 6 401", /* a verifier too long */
	};
	struct ulb_call calls[] = { x_compound(), x_nfs3(6), x_nfs3(5) };
	struct ulb_item items[4];
	struct iovec v;
	unsigned int n;
	uint32_t chunk[2] = { UINT32_MAX, 0 };

	for (size_t k = 0; k < sizeof(calls) / sizeof(calls[0]); k++) {
		for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
			x_init(&x);
			x_values(&x, t[i]);
			v = (struct iovec){ x.b, x.len };
			n = 99;
			CU_ASSERT_EQUAL(ulb_scan_reply(&calls[k], &v, 1, NULL,
						       0, items, 4, &n),
					0);
			CU_ASSERT_EQUAL(n, 0);
			chunk[1] = 0;
			CU_ASSERT_EQUAL(ulb_scan_reply(&calls[k], &v, 1, chunk,
						       2, items, 4, &n),
					0);
			chunk[1] = 1;
			CU_ASSERT_EQUAL(ulb_scan_reply(&calls[k], &v, 1, chunk,
						       2, items, 4, &n),
					0);
			CU_ASSERT_EQUAL(n, 0);
		}
		for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			x_init(&x);
			x_values(&x, bad[i]);
			if (i == 8)
				x_fill(&x, 500);
			v = (struct iovec){ x.b, x.len };
			n = 99;
			CU_ASSERT_EQUAL(ulb_scan_reply(&calls[k], &v, 1, NULL,
						       0, items, 4, &n),
					-EBADMSG);
			CU_ASSERT_EQUAL(n, 0);
		}
	}
}

static void names(void)
{
	CU_ASSERT_STRING_EQUAL(ulb_proc_name(100003, 3, 6), "NFSv3 READ");
	CU_ASSERT_STRING_EQUAL(ulb_proc_name(100003, 3, 21), "NFSv3 COMMIT");
	CU_ASSERT_STRING_EQUAL(ulb_proc_name(100003, 4, 1), "NFSv4 COMPOUND");
	CU_ASSERT_STRING_EQUAL(ulb_proc_name(100005, 3, 1), "MOUNT MNT");
	for (uint32_t vers = 0; vers < 6; vers++)
		for (uint32_t proc = 0; proc < 40; proc++) {
			CU_ASSERT_PTR_NOT_NULL(
				ulb_proc_name(100003, vers, proc));
			CU_ASSERT_PTR_NOT_NULL(
				ulb_proc_name(100227, vers, proc));
			CU_ASSERT_PTR_NOT_NULL(
				ulb_proc_name(UINT32_MAX, vers, proc));
		}
	CU_ASSERT_PTR_NOT_NULL(ulb_proc_name(100003, 3, UINT32_MAX));
}

static const struct unit_test tests[] = {
	{ "fields", fields },
	{ "RPCSEC_GSS", gss },
	{ "other heads", other_heads },
	{ "denials", denials },
	{ "programs", programs },
	{ "protected calls", protected_calls },
	{ "other replies", other_replies },
	{ "names", names },
	{ NULL, NULL },
};

UNIT_MAIN("ulb RPC", tests)
