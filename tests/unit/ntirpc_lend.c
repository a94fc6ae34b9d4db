/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of a WRITE that are lent where they have come, decoded by ntirpc's own
 * functions with an allocator that counts.
 */
#include <pthread.h>

#include <rpc/xdr_inline.h>

#include "compat/ntirpc.h"
#include "ntirpc/quirks/lend.h"
#include "ntirpc_fake.h"
#include "unit.h"

#define DATA 5001u
#define NFS 100003
#define WRITE 7
#define READ 6

static struct xp_ops ops = {
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
};
static SVCXPRT xprt = { .xp_ops = &ops };
static struct util_pool pool;

/* ---- An allocator -------------------------------------------------------- */

static unsigned int allocated, freed;

static void *count_malloc(size_t len, const char *file, int line,
			  const char *function)
{
	__atomic_fetch_add(&allocated, 1, __ATOMIC_RELAXED);
	return malloc(len);
}

static void count_free(void *p, size_t len COMPAT_FREE_PARAMETERS)
{
	__atomic_fetch_add(&freed, 1, __ATOMIC_RELAXED);
	free(p);
}

/* ---- Arguments ----------------------------------------------------------- */

struct args {
	char *data;
	u_int len;
	/* What the decoder does. */
	bool takes_more; /* of the same length, after the data */
	bool fails; /* after the data */
	void *more;
};

static bool decode_write(XDR *xdrs, void *where)
{
	struct args *a = where;
	uint32_t skipped;

	if (xdrs->x_op == XDR_DECODE)
		for (int i = 0; i < 6; i++)
			if (!XDR_GETUINT32(xdrs, &skipped))
				return false;
	if (!xdr_bytes(xdrs, &a->data, &a->len, 1 << 20))
		return false;
	if (xdrs->x_op == XDR_DECODE && a->takes_more)
		a->more = mem_alloc(a->len);
	return xdrs->x_op != XDR_DECODE || !a->fails;
}

struct write {
	struct fake_call *f;
	struct svc_req req;
	struct args args;
	bool decoded;
};

static void put(uint8_t *mem, size_t *at, uint32_t word)
{
	uint32_t be = htonl(word);

	memcpy(mem + *at, &be, sizeof(be));
	*at += sizeof(be);
}

/* Begin and decode one, cut before its data and behind them, or not at all. */
static void begin(struct write *w, uint32_t proc, uint32_t len, bool cut)
{
	static uint8_t mem[64 << 10];
	size_t at = 0, cuts[2], round = (len + 3) & ~3u;

	put(mem, &at, 7); /* XID */
	put(mem, &at, CALL);
	put(mem, &at, RPC_MSG_VERSION);
	put(mem, &at, NFS);
	put(mem, &at, 3);
	put(mem, &at, proc);
	for (int i = 0; i < 4; i++) /* credential and verifier: none */
		put(mem, &at, 0);
	/* A file handle of four octets, offset, count and how stable. */
	put(mem, &at, 4);
	put(mem, &at, 0x46464646);
	put(mem, &at, 0);
	put(mem, &at, 0);
	put(mem, &at, len);
	put(mem, &at, 0);
	put(mem, &at, len);
	cuts[0] = at;
	cuts[1] = at + round;
	for (size_t i = 0; i < round; i++)
		mem[at + i] = i < len ? (uint8_t)(i * 7) : 0;
	w->f = fake_new(mem, at + round, cuts, cut ? 2 : 0);
	w->req = (struct svc_req){ .rq_xprt = &xprt };
	w->req.rq_xdrs = nrt_call_open(&w->f->pub, pool.pool, 1 << 16);
	rpc_msg_init(&w->req.rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(w->req.rq_xdrs, &w->req.rq_msg));
}

static void decode(struct write *w)
{
	bool no_dispatch;

	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&w->req, &no_dispatch),
			      AUTH_OK);
	w->req.rq_msg.rm_xdr.proc = decode_write;
	w->req.rq_msg.rm_xdr.where = &w->args;
	w->decoded = SVCAUTH_CHECKSUM(&w->req);
	/* As it was set. */
	CU_ASSERT_PTR_EQUAL(w->req.rq_msg.rm_xdr.proc, decode_write);
}

static void end(struct write *w)
{
	xdr_free(decode_write, &w->args);
	XDR_DESTROY(w->req.rq_xdrs);
	fake_free(w->f);
}

static bool right(const struct write *w, uint32_t len)
{
	if (!w->decoded || w->args.len != len)
		return false;
	for (uint32_t i = 0; i < len; i++)
		if ((uint8_t)w->args.data[i] != (uint8_t)(i * 7))
			return false;
	return true;
}

/* ---- Tests --------------------------------------------------------------- */

static void test_open(void)
{
	__ntirpc_pkg_params.malloc_ = count_malloc;
	__ntirpc_pkg_params.free_size_ = count_free;
	nrt_lend_start();
	nrt_lend_start(); /* does nothing */
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 0));
}

static void test_close(void)
{
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
	CU_ASSERT_EQUAL(allocated, freed);
	util_pool_close(&pool);
}

static void test_lent(void)
{
	struct write w = { .args = { 0 } };
	unsigned int before = allocated;

	begin(&w, WRITE, DATA, true);
	decode(&w);
	CU_ASSERT_TRUE(right(&w, DATA));
	if (COMPAT_LENDS) {
		CU_ASSERT_PTR_EQUAL(w.args.data, w.f->pub.pieces[1].addr);
		CU_ASSERT_EQUAL(nrt_lend_count(), 1);
		CU_ASSERT_EQUAL(allocated, before);
	}
	end(&w);
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
}

/* One that lies within a piece, is short, or of another procedure, is copied; and
 * so is what is only as long as the data. */
static void test_copied(void)
{
	static const struct {
		uint32_t proc, len;
		bool cut;
	} rows[] = { { WRITE, DATA, false },
		     { WRITE, 2000, true },
		     { READ, DATA, true } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct write w = { .args = { 0 } };

		begin(&w, rows[i].proc, rows[i].len, rows[i].cut);
		decode(&w);
		CU_ASSERT_TRUE(right(&w, rows[i].len));
		CU_ASSERT_EQUAL(nrt_lend_count(), 0);
		CU_ASSERT_EQUAL(allocated, freed + 1);
		end(&w);
	}
}

static void test_more(void)
{
	struct write w = { .args = { .takes_more = true } };
	void *other;

	begin(&w, WRITE, DATA, true);
	decode(&w);
	CU_ASSERT_TRUE(right(&w, DATA));
	CU_ASSERT_PTR_NOT_EQUAL(w.args.more, w.args.data);
	mem_free(w.args.more, DATA);
	/* And none of the thread's later ones. */
	other = mem_alloc(DATA);
	CU_ASSERT_PTR_NOT_EQUAL(other, w.args.data);
	mem_free(other, DATA);
	end(&w);
}

/* Octets that are not there, and a decoder that fails behind them. */
static void test_errors(void)
{
	struct write w = { .args = { .fails = true } };

	begin(&w, WRITE, DATA, true);
	decode(&w);
	CU_ASSERT_FALSE(w.decoded);
	end(&w);
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);

	w = (struct write){ .args = { 0 } };
	begin(&w, WRITE, DATA, true);
	/* Without roundup, and then not all the data. */
	w.f->user.in.npieces = 2;
	w.f->user.in.len -= w.f->pub.pieces[2].len + 3;
	w.f->pub.pieces[1].len -= 3;
	decode(&w);
	CU_ASSERT_FALSE(w.decoded);
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
	end(&w);

	w = (struct write){ .args = { 0 } };
	begin(&w, WRITE, DATA, true);
	w.f->user.in.npieces = 2;
	w.f->user.in.len -= w.f->pub.pieces[2].len + 1000;
	w.f->pub.pieces[1].len -= 1000;
	decode(&w);
	CU_ASSERT_FALSE(w.decoded);
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
	end(&w);
}

static bool encode_nothing(XDR *xdrs, void *where)
{
	return true;
}

/* Answered, and its memory gone, before the arguments are freed, by another
 * thread: Ganesha does so with a request that it had suspended. */
static void *free_args(void *arg)
{
	struct write *w = arg;

	w->req.rq_msg.RPCM_ack.ar_results.proc = encode_nothing;
	w->req.rq_msg.RPCM_ack.ar_results.where = NULL;
	svc_sendreply(&w->req);
	xdr_free(decode_write, &w->args);
	return NULL;
}

static void test_answered(void)
{
	struct write w = { .args = { 0 } };
	pthread_t thread;

	begin(&w, WRITE, DATA, true);
	decode(&w);
	CU_ASSERT_TRUE(right(&w, DATA));
	CU_ASSERT_FATAL(!pthread_create(&thread, NULL, free_args, &w));
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(w.f->replies, 1);
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
	end(&w);
}

/* Lent for a second Call before it has been freed for the first one; and more
 * than there is room for at one place of the table. */
static void test_again(void)
{
	enum { MANY = 12 };
	struct write w[MANY] = { 0 };
	void *data = NULL;
	unsigned int lent = 0;

	for (int i = 0; i < MANY; i++) {
		begin(&w[i], WRITE, DATA, true);
		if (i) {
			free(w[i].f->pub.pieces[1].addr);
			w[i].f->pub.pieces[1].addr = data;
		}
		data = w[i].f->pub.pieces[1].addr;
		decode(&w[i]);
		CU_ASSERT_TRUE(right(&w[i], DATA));
		lent += w[i].args.data == data;
	}
	CU_ASSERT_EQUAL(nrt_lend_count(), lent);
	CU_ASSERT_EQUAL(lent, COMPAT_LENDS ? 8 : 0);
	for (int i = 0; i < MANY; i++) {
		if (i)
			w[i].f->pub.pieces[1].addr = NULL;
		end(&w[i]);
	}
	CU_ASSERT_EQUAL(nrt_lend_count(), 0);
}

/* Many threads at once. */
static void *work(void *arg)
{
	unsigned int *wrong = arg;

	for (int i = 0; i < 300; i++) {
		void *p = mem_alloc(DATA);

		memset(p, i, DATA);
		mem_free(p, DATA);
		*wrong += p == NULL;
	}
	return NULL;
}

static void test_threads(void)
{
	unsigned int wrong[4] = { 0 };
	pthread_t thread[4];

	for (int i = 0; i < 4; i++)
		CU_ASSERT_FATAL(
			!pthread_create(&thread[i], NULL, work, &wrong[i]));
	for (int i = 0; i < 100; i++)
		test_answered();
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		CU_ASSERT_EQUAL(wrong[i], 0);
	}
}

static const struct unit_test tests[] = {
	{ "open", test_open },	      { "lent", test_lent },
	{ "copied", test_copied },    { "other allocations", test_more },
	{ "errors", test_errors },    { "answered first", test_answered },
	{ "lent again", test_again }, { "threads", test_threads },
	{ "close", test_close },      { NULL, NULL }
};
UNIT_MAIN("ntirpc lend", tests)
