/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_mutate - damaged streams: every scan ends, inside of its input, with
 * items that lie in it
 */
#include "ulb_rows.h"
#include "ulb_xdr.h"

#define ROUNDS 300000

static struct xdr x;
static uint64_t seed;

static uint32_t rnd(uint32_t below)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(seed >> 33) % below;
}

static const struct row *pick(const struct row *rows)
{
	unsigned int n = 0;

	while (rows[n].name)
		n++;
	return &rows[rnd(n)];
}

static void build(bool call, uint32_t *vers, uint32_t *proc)
{
	static const uint32_t procs[] = { 5, 6, 7, 10, 16, 17 };
	unsigned int ops = 1 + rnd(5);

	x_init(&x);
	*vers = 4;
	*proc = 1;
	if (!rnd(8)) {
		*vers = 3;
		*proc = procs[rnd(6)];
		if (call) {
			x_call(&x, ULB_PROG_NFS, 3, *proc);
			x_values(&x, "s h 9 1 0 0 1 u 0 9 u u");
		} else {
			x_reply(&x);
			x_values(&x, "0 0 9 1 D");
		}
		return;
	}
	if (call)
		x_compound_call(&x, rnd(3), ops);
	else
		x_compound_reply(&x, 0, ops);
	while (ops--) {
		const struct row *r = pick(call ? args_rows : res_rows);

		x_u32(&x, r->op);
		x_values(&x, r->values);
	}
}

static void damage(void)
{
	static const uint32_t words[] = { 0,	      1,	  2,
					  3,	      5,	  25,
					  27,	      38,	  10044,
					  0x7fffffff, 0x80000000, 0xfffffffc,
					  0xfffffffd, 0xffffffff };
	uint32_t n = rnd(4), w;

	while (n--) {
		switch (rnd(4)) {
		case 0:
			x.b[rnd((uint32_t)x.len)] = (uint8_t)rnd(256);
			break;
		case 1:
			x.b[rnd((uint32_t)x.len)] ^= (uint8_t)(1 << rnd(8));
			break;
		case 2:
			w = htobe32(words[rnd(14)]);
			memcpy(x.b + rnd((uint32_t)x.len / 4) * 4, &w, 4);
			break;
		default:
			if (x.len > 8)
				x.len -= rnd(8);
		}
	}
}

static bool inside(const struct ulb_item *items, unsigned int n, size_t len)
{
	size_t end = 0;

	for (unsigned int i = 0; i < n; i++) {
		if (!items[i].present)
			continue;
		if (items[i].position < end ||
		    (size_t)items[i].position + items[i].length > len)
			return false;
		end = (size_t)items[i].position + items[i].length;
	}
	return true;
}

static struct pieces cut(void)
{
	if (rnd(2))
		return x_split(x.b, x.len, rnd((uint32_t)x.len + 1));
	return x_shred(x.b, x.len, 1 + rnd(40));
}

static void calls(void)
{
	struct ulb_call c;
	struct ulb_scan s;
	struct pieces p;
	uint32_t vers, proc;
	unsigned int good = 0;
	int rc;

	seed = 11;
	for (int i = 0; i < ROUNDS; i++) {
		build(true, &vers, &proc);
		damage();
		p = cut();
		rc = x_scan_call(p.iov, p.n, &c, &s);
		x_free(&p);
		CU_ASSERT(rc == 0 || rc == -EBADMSG);
		CU_ASSERT(s.nargs <= ULB_MAX_ITEMS);
		CU_ASSERT(s.nresults <= ULB_MAX_ITEMS);
		CU_ASSERT(inside(s.args, s.nargs, x.len));
		if (rc)
			CU_ASSERT(!s.nargs && !s.nresults && !s.reply_max);
		good += !rc;
	}
	CU_ASSERT(good > ROUNDS / 8 && good < ROUNDS);
}

static void replies(void)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	struct ulb_call c;
	struct pieces p;
	uint32_t vers, proc, chunk[4];
	unsigned int n, nchunk, max, good = 0;
	uint64_t len;
	int rc;

	seed = 12;
	for (int i = 0; i < ROUNDS; i++) {
		build(false, &vers, &proc);
		damage();
		nchunk = rnd(3) ? 0 : rnd(5);
		len = x.len;
		for (unsigned int k = 0; k < nchunk; k++) {
			chunk[k] = rnd(2) ? UINT32_MAX : rnd(12);
			if (chunk[k] != UINT32_MAX)
				len += (chunk[k] + 3) & ~3u;
		}
		max = rnd(ULB_MAX_ITEMS + 1);
		c = x_compound();
		c.vers = vers;
		c.proc = proc;
		p = cut();
		rc = ulb_scan_reply(&c, p.iov, p.n, nchunk ? chunk : NULL,
				    nchunk, items, max, &n);
		x_free(&p);
		CU_ASSERT(rc == 0 || rc == -EBADMSG);
		CU_ASSERT(n <= max);
		CU_ASSERT(inside(items, n, len));
		good += !rc;
	}
	CU_ASSERT(good > ROUNDS / 8 && good < ROUNDS);
}

/* Noise after a good head. */
static void noise(void)
{
	struct ulb_item items[ULB_MAX_ITEMS];
	struct ulb_call c;
	struct ulb_scan s;
	struct pieces p;
	unsigned int n;
	uint32_t w;

	seed = 13;
	for (int i = 0; i < ROUNDS / 2; i++) {
		x_init(&x);
		if (i & 1)
			x_compound_call(&x, rnd(3), 1 + rnd(9));
		else
			x_compound_reply(&x, 0, 1 + rnd(9));
		for (n = rnd(60); n; n--) {
			w = htobe32(rnd(4) ? rnd(80) : rnd(UINT32_MAX));
			x_raw(&x, &w, 4);
		}
		p = cut();
		c = x_compound();
		if (i & 1) {
			x_scan_call(p.iov, p.n, &c, &s);
			CU_ASSERT(inside(s.args, s.nargs, x.len));
		} else {
			ulb_scan_reply(&c, p.iov, p.n, NULL, 0, items,
				       ULB_MAX_ITEMS, &n);
			CU_ASSERT(inside(items, n, x.len));
		}
		x_free(&p);
	}
}

static const struct unit_test tests[] = {
	{ "Calls", calls },
	{ "Replies", replies },
	{ "noise", noise },
	{ NULL, NULL },
};

UNIT_MAIN("ulb damage", tests)
