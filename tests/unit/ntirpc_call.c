/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A Call served through ntirpc's own functions: its head decoded, its caller
 * authenticated, its Reply sent with svc_sendreply() or svcerr_..., whose
 * octets must be those that ntirpc writes into a memory stream.
 */
#include <rpc/xdr_inline.h>

#include "compat/ntirpc.h"
#include "ntirpc/read_buffer.h"
#include "ntirpc/replay.h"
#include "ntirpc_fake.h"
#include "unit.h"

#define XID 0x01020304
#define DATA_LEN 10001

static struct util_pool pool;
static size_t reply_max = 64 << 10;
static bool torn; /* what begins now */

static struct xp_ops ops = {
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
};
static SVCXPRT xprt = { .xp_ops = &ops };

/* The head and the arguments of a Call, as a memory stream. */
static size_t make_call(uint8_t *mem, size_t size, uint32_t prog, uint32_t vers,
			uint32_t proc)
{
	struct rpc_msg msg = {
		.rm_xid = XID,
		.rm_direction = CALL,
		.rm_call.cb_rpcvers = RPC_MSG_VERSION,
		.cb_prog = prog,
		.cb_vers = vers,
		.cb_proc = proc,
	};
	XDR x;

	xdrmem_ncreate(&x, (char *)mem, (u_int)size, XDR_ENCODE);
	CU_ASSERT_TRUE_FATAL(xdr_call_encode(&x, &msg));
	for (uint32_t i = 0; i < 100; i++)
		CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&x, i * 0x01010101));
	return XDR_GETPOS(&x);
}

/* A Call cut at every octet of the first 64, as far as a worker gets it. */
static struct fake_call *start(struct svc_req *req, uint32_t prog,
			       uint32_t vers, uint32_t proc,
			       unsigned int nwrites)
{
	const size_t cuts[] = { 1, 17, 18, 42, 63 };
	uint8_t mem[1000];
	size_t len = make_call(mem, sizeof(mem), prog, vers, proc);
	struct fake_call *f = fake_new(mem, len, cuts, 5);
	bool no_dispatch;

	f->pub.torn = torn;
	f->pub.nwrites = nwrites;
	for (unsigned int i = 0; i < nwrites; i++)
		f->pub.writes[i] = 1 << 20;
	memset(req, 0, sizeof(*req));
	req->rq_xprt = &xprt;
	req->rq_xdrs = nrt_call_open(&f->pub, pool.pool, reply_max);
	CU_ASSERT_PTR_EQUAL(nrt_call_of(req->rq_xdrs), &f->user);
	rpc_msg_init(&req->rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(req->rq_xdrs, &req->rq_msg));
	CU_ASSERT_EQUAL(req->rq_msg.rm_xid, XID);
	CU_ASSERT_EQUAL(req->rq_msg.cb_proc, proc);
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(req, &no_dispatch),
			      AUTH_OK);
	return f;
}

/* What ntirpc's request task does at the end. */
static void tail(struct svc_req *req)
{
	if (req->rq_auth)
		SVCAUTH_RELEASE(req);
	XDR_DESTROY(req->rq_xdrs);
}

static bool same(const struct fake_call *f, const uint8_t *want, size_t len)
{
	return f->len == len && !memcmp(f->bytes, want, len);
}

/* ---- Results ---------------------------------------------------------- */

static int released;

static void release_uio(xdr_uio *uio, u_int flags)
{
	if (--uio->uio_references)
		return;
	free(uio->uio_vio[0].vio_base);
	free(uio);
	released++;
}

/* READ3resok of NFSv3 (RFC 1813, 3.3.6): the data by reference, rounded up. */
static bool encode_read3(XDR *xdrs, void *where)
{
	uint32_t len = *(uint32_t *)where, round = (len + 3) & ~3u;
	xdr_uio *uio;

	if (!XDR_PUTUINT32(xdrs, 0) || /* NFS3_OK */
	    !XDR_PUTUINT32(xdrs, 0) || /* no attributes */
	    !XDR_PUTUINT32(xdrs, len) || /* count */
	    !XDR_PUTUINT32(xdrs, 1) || /* eof */
	    !XDR_PUTUINT32(xdrs, len))
		return false;
	uio = calloc(1, sizeof(*uio) + sizeof(xdr_vio));
	uio->uio_release = release_uio;
	uio->uio_count = 1;
	uio->uio_vio[0].vio_base = calloc(1, round);
	uio->uio_vio[0].vio_head = uio->uio_vio[0].vio_base;
	uio->uio_vio[0].vio_tail = uio->uio_vio[0].vio_base + round;
	uio->uio_vio[0].vio_wrap = uio->uio_vio[0].vio_tail;
	/* NFSv4 gives the length of the data here, NFSv3 that with roundup:
	 * it must not matter. */
	uio->uio_vio[0].vio_length = len;
	memset(uio->uio_vio[0].vio_base, 'R', len);
	if (!XDR_PUTBUFS(xdrs, uio, UIO_FLAG_NONE)) {
		uio->uio_release(uio, UIO_FLAG_NONE);
		return false;
	}
	return true;
}

static size_t want_read3(uint8_t *want, uint32_t len)
{
	const uint32_t words[] = { XID, REPLY, 0, 0, 0, 0, 0, 0, len, 1, len };

	for (size_t i = 0; i < sizeof(words) / 4; i++) {
		uint32_t be = htonl(words[i]);

		memcpy(want + 4 * i, &be, 4);
	}
	memset(want + sizeof(words), 'R', len);
	memset(want + sizeof(words) + len, 0, 4);
	return sizeof(words) + ((len + 3) & ~3u);
}

static void test_read(void)
{
	uint8_t *want = malloc(2 * DATA_LEN);
	uint32_t len = DATA_LEN;
	struct fake_call *f;
	struct svc_req req;
	size_t want_len = want_read3(want, len);

	for (unsigned int nwrites = 0; nwrites < 3; nwrites++) {
		f = start(&req, ULB_PROG_NFS, 3, 6, nwrites);
		req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)encode_read3;
		req.rq_msg.RPCM_ack.ar_results.where = &len;
		released = 0;
		CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
		CU_ASSERT_EQUAL(f->replies, 1);
		CU_ASSERT_TRUE(same(f, want, want_len));
		CU_ASSERT_EQUAL(released, 1);
		/* Without a Write chunk nobody looks for the item. */
		CU_ASSERT_EQUAL(f->nitems, nwrites ? 1 : 0);
		if (f->nitems) {
			CU_ASSERT_TRUE(f->items[0].present);
			CU_ASSERT_EQUAL(f->items[0].position, 44);
			CU_ASSERT_EQUAL(f->items[0].length, len);
		}
		/* A second answer does not count. */
		CU_ASSERT_EQUAL(svcerr_systemerr(&req), XPRT_IDLE);
		CU_ASSERT_EQUAL(f->replies, 1);
		tail(&req);
		CU_ASSERT_EQUAL(f->drops, 0);
		fake_free(f);
	}
	free(want);
}

static void test_too_long(void)
{
	const uint32_t want[] = { htonl(XID), htonl(REPLY),	0, 0,
				  0,	      htonl(SYSTEM_ERR) };
	uint32_t len = 100000; /* more than reply_max */
	struct fake_call *f;
	struct svc_req req;

	f = start(&req, ULB_PROG_NFS, 3, 6, 1);
	req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)encode_read3;
	req.rq_msg.RPCM_ack.ar_results.where = &len;
	released = 0;
	CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
	CU_ASSERT_EQUAL(released, 1);
	CU_ASSERT_EQUAL(f->replies, 1);
	CU_ASSERT_TRUE(same(f, (const uint8_t *)want, sizeof(want)));
	CU_ASSERT_EQUAL(f->nitems, 0);
	tail(&req);
	fake_free(f);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/* 7.4: what cannot be encoded, not even as an error, ends the connection. */
static void lost(struct fake_call *f, struct svc_req *req)
{
	/* ntirpc would wait for the context's lock, which it holds itself. */
	bool control = f->user.head.flavor == RPCSEC_GSS;

	memset(&fake_closed, 0, sizeof(fake_closed));
	CU_ASSERT_EQUAL(svc_sendreply(req), control ? XPRT_IDLE : XPRT_DIED);
	CU_ASSERT_EQUAL(f->replies, 0);
	CU_ASSERT_EQUAL(f->drops, 1);
	CU_ASSERT_EQUAL(fake_closed.closes, 1);
	CU_ASSERT_EQUAL(fake_closed.aborts, 1);
	CU_ASSERT_PTR_EQUAL(fake_closed.conn, f);
	/* The Call kept it until then, and its credit. */
	CU_ASSERT_EQUAL(fake_closed.drops, 0);
	tail(req);
	CU_ASSERT_EQUAL(f->drops, 1);
	CU_ASSERT_EQUAL(fake_closed.closes, 1);
	fake_free(f);
}

static void test_no_pool(void)
{
	struct util_pool tiny;
	struct fab_buf *all[64];
	unsigned int n = 0;
	struct fake_call *f;
	struct svc_req req;

	CU_ASSERT_TRUE_FATAL(util_pool_open(&tiny, 256 << 10));
	while (n < 64 && (all[n] = fab_pool_get(tiny.pool, 4096)))
		n++;
	for (uint32_t gss_proc = 0; gss_proc < 4; gss_proc++) {
		f = start(&req, ULB_PROG_NFS, 3, 0, 0);
		nrt_call_of(req.rq_xdrs)->pool = tiny.pool;
		req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)xdr_void;
		if (gss_proc) {
			f->user.head.flavor = RPCSEC_GSS;
			f->user.head.gss_proc = gss_proc;
		}
		lost(f, &req);
	}
	while (n)
		fab_pool_put(all[--n]);
	util_pool_close(&tiny);
}

static void test_no_encoding(void)
{
	struct fake_call *f;
	struct svc_req req;

	f = start(&req, ULB_PROG_NFS, 3, 0, 0);
	req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)xdr_void;
	/* No verifier is so long, that of an error neither. */
	req.rq_msg.RPCM_ack.ar_verf.oa_length = MAX_AUTH_BYTES + 1;
	lost(f, &req);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/* A request that Ganesha drops: the credit must come back. */
static void test_dropped(void)
{
	struct fake_call *f;
	struct svc_req req;

	f = start(&req, ULB_PROG_NFS, 3, 6, 0);
	tail(&req);
	CU_ASSERT_EQUAL(f->drops, 1);
	CU_ASSERT_EQUAL(f->replies, 0);
	fake_free(f);
}

/* ---- Where a READ reads to ---------------------------------------------- */

/* The operations of a COMPOUND: READ of @count octets, READDIR, PUTROOTFH. */
#define OP_READ(count) 25, 0, 0, 0, 0, 0, 0, (count)
#define OP_READDIR 26, 0, 0, 0, 0, 0, 4096, 0
#define OP_ROOT 24

struct reading {
	uint32_t vers;
	unsigned int nwrites;
	size_t beside;
	uint32_t count;
	size_t size; /* of the buffer; 0: Ganesha's own is used */
	uint32_t args[24];
};

static const struct reading readings[] = {
	/* By NFSv3: handle, offset, count. */
	{ 3, 1, 1 << 20, 1 << 20, 1 << 20, { 4, 7, 0, 0, 1 << 20 } },
	{ 3, 1, 1 << 20, 2049, 4096, { 4, 7, 0, 0, 2049 } },
	{ 3, 1, 1 << 20, 4097, 16384, { 4, 7, 0, 0, 4097 } },
	/* Little is copied as fast. */
	{ 3, 1, 1 << 20, 1, 0, { 4, 7, 0, 0, 1 } },
	{ 3, 0, 0, 4096, 0, { 4, 7, 0, 0, 4096 } },
	/* More than fits, and as much as a number can be. */
	{ 3, 1, 4096, 4097, 0, { 4, 7, 0, 0, 4097 } },
	{ 3, 1, 5 << 20, (4 << 20) + 1, 0, { 4, 7, 0, 0, (4 << 20) + 1 } },
	{ 3, 1, UINT32_MAX, UINT32_MAX, 0, { 4, 7, 0, 0, UINT32_MAX } },
	/* Tag, minor version, operations. */
	{ 4, 1, 1 << 20, 65535, 65536, { 0, 0, 2, OP_ROOT, OP_READ(65535) } },
	{ 4, 1, 1 << 20, 4096, 0, { 0, 0, 2, OP_READ(4096), OP_READ(4096) } },
	{ 4, 1, 1 << 20, 4096, 0, { 0, 0, 2, OP_READ(4096), OP_READDIR } },
	{ 4, 1, 1 << 20, 4096, 0, { 0, 0, 2, OP_READDIR, OP_READ(4096) } },
	/* Behind what Ganesha does not know it executes nothing. */
	{ 4,
	  1,
	  1 << 20,
	  4096,
	  4096,
	  { 0, 0, 3, OP_READ(4096), 9999, OP_READ(1) } },
};

static struct fake_call *read_call(const struct reading *r, struct svc_req *req)
{
	uint32_t words[34] = { XID, CALL, 2, ULB_PROG_NFS, r->vers };
	const size_t cut = 50;
	struct fake_call *f;
	bool no_dispatch;

	words[5] = r->vers == 3 ? 6 : 1;
	memcpy(words + 10, r->args, sizeof(r->args));
	for (size_t i = 0; i < 34; i++)
		words[i] = htonl(words[i]);
	f = fake_new((uint8_t *)words, sizeof(words), &cut, 1);
	f->pub.nwrites = r->nwrites;
	f->pub.writes[0] = 1 << 20;
	*req = (struct svc_req){ .rq_xprt = &xprt };
	req->rq_xdrs = nrt_call_open(&f->pub, pool.pool, reply_max);
	f->user.write_room = r->beside;
	rpc_msg_init(&req->rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(req->rq_xdrs, &req->rq_msg));
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(req, &no_dispatch),
			      AUTH_OK);
	SVC_CHECKSUM(req, req->rq_xdrs->x_data, xdr_size_inline(req->rq_xdrs));
	return f;
}

/* Ganesha asks for memory, for the READ of @r after other memory. */
static uint8_t *read_memory(const struct reading *r)
{
	uint8_t *p;

	CU_ASSERT_PTR_NULL(nrt_read_get(r->count + 4u));
	CU_ASSERT_PTR_NULL(nrt_read_get(100));
	p = nrt_read_get(r->count);
	CU_ASSERT_EQUAL(p != NULL, r->size > 0);
	CU_ASSERT_EQUAL((uintptr_t)p % 4096, 0);
	CU_ASSERT_EQUAL(util_pool_used(&pool), r->size);
	/* And for more. */
	CU_ASSERT_PTR_NULL(nrt_read_get(r->count));
	return p;
}

static void release_read(xdr_uio *uio, u_int flags)
{
	if (--uio->uio_references)
		return;
	CU_ASSERT_TRUE(nrt_read_put(uio->uio_vio[0].vio_base));
	free(uio);
	released++;
}

/* READ3resok, with 5 octets that are in the buffer at @where. */
static bool encode_chunk(XDR *xdrs, void *where)
{
	const uint32_t words[] = { 0, 0, 5, 1, 5 };
	xdr_uio *uio = calloc(1, sizeof(*uio) + sizeof(xdr_vio));
	xdr_vio *v = uio->uio_vio;

	memset(where, 'R', 2049);
	for (size_t i = 0; i < 5; i++)
		CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(xdrs, words[i]));
	uio->uio_release = release_read;
	uio->uio_count = 1;
	v->vio_base = v->vio_head = where;
	v->vio_tail = v->vio_head + 8;
	return XDR_PUTBUFS(xdrs, uio, UIO_FLAG_NONE);
}

static void test_read_buffer(void)
{
	uint8_t want[100], *p;
	size_t want_len = want_read3(want, 5);
	struct svc_req req;
	struct fake_call *f;

	for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++) {
		const struct reading *r = &readings[i];

		/* It fails, before and after Ganesha has memory for it. */
		f = read_call(r, &req);
		(void)svcerr_systemerr(&req);
		CU_ASSERT_PTR_NULL(nrt_read_get(r->count));
		tail(&req);
		fake_free(f);
		f = read_call(r, &req);
		p = read_memory(r);
		CU_ASSERT_EQUAL(nrt_read_put(p), r->size > 0);
		CU_ASSERT_FALSE(nrt_read_put(p));
		CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
		(void)svcerr_systemerr(&req);
		tail(&req);
		fake_free(f);
		/* Dropped; the memory is Ganesha's for as long as it wants. */
		f = read_call(r, &req);
		p = read_memory(r);
		tail(&req);
		CU_ASSERT_EQUAL(f->drops, 1);
		fake_free(f);
		CU_ASSERT_EQUAL(nrt_read_count(), r->size > 0);
		CU_ASSERT_EQUAL(util_pool_used(&pool), r->size);
		CU_ASSERT_EQUAL(nrt_read_put(p), r->size > 0);
		f = read_call(r, &req);
		tail(&req);
		CU_ASSERT_PTR_NULL(nrt_read_get(r->count));
		fake_free(f);
		/* It goes on elsewhere. */
		f = read_call(r, &req);
		nrt_read_withdraw();
		CU_ASSERT_PTR_NULL(nrt_read_get(r->count));
		tail(&req);
		fake_free(f);
		if (!r->size || r->vers != 3)
			continue;
		f = read_call(r, &req);
		req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)encode_chunk;
		req.rq_msg.RPCM_ack.ar_results.where = p = read_memory(r);
		released = 0;
		CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
		CU_ASSERT_EQUAL(released, 1);
		CU_ASSERT_TRUE(same(f, want, want_len));
		CU_ASSERT_EQUAL(f->nitems, 1);
		CU_ASSERT_EQUAL(f->items[0].length, 5);
		CU_ASSERT_EQUAL(f->unregistered, 0);
		CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
		tail(&req);
		fake_free(f);
	}
	CU_ASSERT_EQUAL(nrt_read_count(), 0);
}

/* What is not from the pool is left to others. */
static void test_not_read_buffer(void)
{
	struct svc_req req;
	struct fake_call *f = read_call(&readings[0], &req);
	uint8_t *p = read_memory(&readings[0]), *other;

	CU_ASSERT_FALSE(nrt_read_put(NULL));
	CU_ASSERT_FALSE(nrt_read_put(p + 1));
	CU_ASSERT_FALSE(nrt_read_put(p + 4096));
	other = aligned_alloc(4096, 4096);
	CU_ASSERT_FALSE(nrt_read_put(other));
	free(other);
	CU_ASSERT_TRUE(nrt_read_put(p));
	tail(&req);
	fake_free(f);
}

/* A provider that sends any memory needs none. */
static void test_any_local(void)
{
	struct svc_req req;
	struct fake_call *f;

	pool.dom->limits.caps |= FAB_CAP_ANY_LOCAL;
	CU_ASSERT_FALSE(nrt_read_copies(pool.pool));
	f = read_call(&readings[0], &req);
	CU_ASSERT_PTR_NULL(nrt_read_get(readings[0].count));
	tail(&req);
	fake_free(f);
	pool.dom->limits.caps &= ~(unsigned int)FAB_CAP_ANY_LOCAL;
	CU_ASSERT_TRUE(nrt_read_copies(pool.pool));
}

/* There is no buffer: as without. */
static void test_no_read_buffer(void)
{
	struct fab_buf *all[64];
	struct util_pool big = pool;
	struct svc_req req;
	struct fake_call *f;
	unsigned int n = 0;

	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 256 << 10));
	while (n < 64 && (all[n] = fab_pool_get(pool.pool, 4096)))
		n++;
	f = read_call(&readings[1], &req);
	CU_ASSERT_PTR_NULL(nrt_read_get(readings[1].count));
	CU_ASSERT_PTR_NULL(f->user.read_buffer.addr);
	CU_ASSERT_EQUAL(nrt_read_count(), 0);
	tail(&req);
	fake_free(f);
	while (n)
		fab_pool_put(all[--n]);
	util_pool_close(&pool);
	pool = big;
}

/* ---- Errors ----------------------------------------------------------- */

/* ntirpc's own words for the Reply that is in @req now. */
static size_t own_words(struct svc_req *req, uint8_t *mem, size_t size)
{
	XDR x;

	xdrmem_ncreate(&x, (char *)mem, (u_int)size, XDR_ENCODE);
	CU_ASSERT_TRUE_FATAL(xdr_nreplymsg(&x, &req->rq_msg));
	return XDR_GETPOS(&x);
}

static enum xprt_stat err_noproc(struct svc_req *req)
{
	return svcerr_noproc(req);
}

static enum xprt_stat err_decode(struct svc_req *req)
{
	return svcerr_decode(req);
}

static enum xprt_stat err_noprog(struct svc_req *req)
{
	return svcerr_noprog(req);
}

static enum xprt_stat err_vers(struct svc_req *req)
{
	return svcerr_progvers(req, 3, 4);
}

static enum xprt_stat err_auth(struct svc_req *req)
{
	return svcerr_auth(req, AUTH_TOOWEAK);
}

static enum xprt_stat err_system(struct svc_req *req)
{
	return svcerr_systemerr(req);
}

static void test_errors(void)
{
	enum xprt_stat (*const errs[])(struct svc_req *) = {
		err_noproc, err_decode, err_noprog,
		err_vers,   err_auth,	err_system,
	};

	for (size_t i = 0; i < sizeof(errs) / sizeof(errs[0]); i++) {
		uint8_t want[400];
		struct svc_req req;
		struct fake_call *f = start(&req, ULB_PROG_NFS, 4, 1, 2);

		CU_ASSERT_EQUAL(errs[i](&req), XPRT_IDLE);
		CU_ASSERT_EQUAL(f->replies, 1);
		CU_ASSERT_TRUE(
			same(f, want, own_words(&req, want, sizeof(want))));
		CU_ASSERT_EQUAL(f->nitems, 0);
		tail(&req);
		CU_ASSERT_EQUAL(f->drops, 0);
		fake_free(f);
	}
}

/* A torn Call has a caller, but no arguments: it is answered as any that cannot
 * be decoded (7.2). */
static void test_torn(void)
{
	uint8_t want[400], mem[1000];
	struct fake_call *f;
	struct svc_req req;
	uint32_t word;

	torn = true;
	f = start(&req, ULB_PROG_NFS, 3, 7, 0);
	torn = false;
	/* Behind them come the 100 words of make_call(). */
	CU_ASSERT_EQUAL(f->user.head.body + 400,
			make_call(mem, sizeof(mem), ULB_PROG_NFS, 3, 7));
	CU_ASSERT_EQUAL(XDR_GETPOS(req.rq_xdrs), f->user.head.body);
	CU_ASSERT_EQUAL(f->pub.len, f->user.head.body);
	CU_ASSERT_FALSE(XDR_GETUINT32(req.rq_xdrs, &word));
	CU_ASSERT_PTR_NULL(xdr_inline_decode(req.rq_xdrs, 4));
	CU_ASSERT_EQUAL(err_decode(&req), XPRT_IDLE);
	CU_ASSERT_TRUE(same(f, want, own_words(&req, want, sizeof(want))));
	tail(&req);
	fake_free(f);
	/* The same, whole. */
	f = start(&req, ULB_PROG_NFS, 3, 7, 0);
	CU_ASSERT_TRUE(XDR_GETUINT32(req.rq_xdrs, &word));
	CU_ASSERT_EQUAL(err_decode(&req), XPRT_IDLE);
	tail(&req);
	fake_free(f);
}

/* ---- Calls that cannot be read ---------------------------------------- */

#define NONE 0xffff

/*
 * @words of a Call, cut everywhere, which ntirpc does not take: the Reply has
 * @want words after XID and REPLY, or the transport answers (want NONE).
 */
static bool is_wrong = true; /* the client's fault */

static void deny(const uint32_t *words, size_t n, size_t len,
		 const uint32_t *want, size_t nwant)
{
	for (size_t cut = 0; cut <= len; cut += 3) {
		const size_t cuts[] = { cut, (cut + len) / 2 };
		uint32_t mem[150] = { 0 }, reply[8] = { htonl(XID), htonl(1) };
		struct svc_req req = { .rq_xprt = &xprt };
		struct fake_call *f;
		bool malformed;

		for (size_t i = 0; i < n; i++)
			mem[i] = htonl(words[i]);
		f = fake_new((uint8_t *)mem, len, cuts, 2);
		req.rq_xdrs = nrt_call_open(&f->pub, pool.pool, reply_max);
		rpc_msg_init(&req.rq_msg);
		CU_ASSERT_PTR_NOT_NULL(nrt_denies(&req, &malformed));
		CU_ASSERT_EQUAL(malformed, is_wrong);
		nrt_deny(&req);
		if (nwant == NONE) {
			CU_ASSERT_EQUAL(f->refusals, 1);
			CU_ASSERT_EQUAL(f->refuse_code, RDMA2_ERR_BAD_XDR);
			CU_ASSERT_EQUAL(f->replies, 0);
		} else {
			for (size_t i = 0; i < nwant; i++)
				reply[2 + i] = htonl(want[i]);
			CU_ASSERT_EQUAL(f->replies, 1);
			CU_ASSERT_EQUAL(f->denial, is_wrong);
			CU_ASSERT_TRUE(
				same(f, (uint8_t *)reply, 8 + 4 * nwant));
		}
		/* It has been given back, once. */
		nrt_deny(&req);
		tail(&req);
		CU_ASSERT_EQUAL(f->replies + f->refusals, 1);
		CU_ASSERT_EQUAL(f->drops, 0);
		fake_free(f);
	}
}

static void test_denied(void)
{
	static const uint32_t mismatch[] = { MSG_DENIED, RPC_MISMATCH, 2, 2 };
	static const uint32_t badcred[] = { MSG_DENIED, AUTH_ERROR,
					    AUTH_BADCRED };
	static const uint32_t badverf[] = { MSG_DENIED, AUTH_ERROR,
					    AUTH_BADVERF };
	static const uint32_t unknown[] = { MSG_DENIED, AUTH_ERROR,
					    RPCSEC_GSS_CREDPROBLEM };
	static const uint32_t rejected[] = { MSG_DENIED, AUTH_ERROR,
					     AUTH_REJECTEDCRED };
	const uint32_t handle[] = { XID, CALL,	     2,	 100003,     3,
				    0,	 RPCSEC_GSS, 20, 1,	     0,
				    9,	 1,	     0,	 RPCSEC_GSS, 0 };
	const uint32_t tls[] = { XID, CALL, 2, 100003, 3, 0, 7, 0, 0, 0 };
	const uint32_t vers3[] = { XID, CALL, 3, 100003, 3, 0, 0, 0, 0, 0 };
	const uint32_t cred[] = { XID, CALL, 2, 100003, 3, 0, 1, 401 };
	const uint32_t huge[] = { XID, CALL, 2, 100003, 3, 0, 1, 0xffffffff };
	const uint32_t verf[] = { XID, CALL, 2, 100003, 3,   0, 1,
				  8,   7,    7, 1,	404, 0 };
	const uint32_t whole[] = { XID, CALL, 2, 100003, 3, 0, 1, 400 };
	const uint32_t reply[] = { XID, REPLY, 0, 0, 0, 0 };
	const uint32_t other[] = { XID, 7, 2, 100003, 3, 0, 0, 0, 0, 0 };

	deny(vers3, 10, 40, mismatch, 4);
	/* What follows the version may have any form. */
	deny(vers3, 3, 12, mismatch, 4);
	deny(cred, 8, 600, badcred, 3);
	deny(huge, 8, 600, badcred, 3);
	deny(verf, 13, 600, badverf, 3);
	/* Cut off, or no Call at all. */
	deny(whole, 8, 64, NULL, NONE);
	for (size_t len = 4; len < 40; len += 4)
		deny(whole, 8, len, NULL, NONE);
	deny(reply, 6, 24, NULL, NONE);
	deny(other, 10, 40, NULL, NONE);
	/* ntirpc would read a handle of two pointers, and there is none. */
	is_wrong = false;
	deny(handle, 15, 60, unknown, 3);
	deny(tls, 10, 40, rejected, 3);
	is_wrong = true;
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/* ---- Checksum --------------------------------------------------------- */

static uint64_t peer, conn;
static struct nrt_replay *replay;

static uint64_t sum_of(const uint8_t *mem, size_t len, size_t body,
		       const size_t *cuts, unsigned int ncuts)
{
	struct fake_call *f = fake_new(mem, len, cuts, ncuts);
	struct svc_req req = { .rq_xprt = &xprt };

	req.rq_xdrs = nrt_call_open(&f->pub, pool.pool, reply_max);
	f->user.peer = peer;
	f->user.replay = replay;
	f->user.conn = conn;
	CU_ASSERT_TRUE(XDR_SETPOS(req.rq_xdrs, (u_int)body));
	SVC_CHECKSUM(&req, req.rq_xdrs->x_data, xdr_size_inline(req.rq_xdrs));
	XDR_DESTROY(req.rq_xdrs);
	CU_ASSERT_EQUAL(f->drops, 1);
	fake_free(f);
	return req.rq_cksum;
}

/* However a Call comes, a repetition of it has the same checksum. */
static void test_checksum(void)
{
	uint8_t mem[1000];
	size_t len = make_call(mem, sizeof(mem), ULB_PROG_NFS, 3, 7);
	size_t body = 40;
	uint64_t sum = sum_of(mem, len, body, NULL, 0);

	CU_ASSERT_NOT_EQUAL(sum, 0);
	for (size_t cut = 0; cut <= len; cut++) {
		const size_t cuts[] = { cut, (cut + len) / 2 };

		CU_ASSERT_EQUAL(sum_of(mem, len, body, cuts, 2), sum);
	}
	/* Every octet of the arguments counts. */
	for (size_t i = body; i < len; i++) {
		mem[i] ^= 0x10;
		CU_ASSERT_NOT_EQUAL(sum_of(mem, len, body, NULL, 0), sum);
		mem[i] ^= 0x10;
	}
	CU_ASSERT_NOT_EQUAL(sum_of(mem, len - 4, body, NULL, 0), sum);
	CU_ASSERT_NOT_EQUAL(nrt_checksum(mem, 8), nrt_checksum(mem, 9));
}

/* On another connection it is the same Call if it must not be executed twice, and
 * the first one has not been closed in order. */
static void test_connections(void)
{
	const uint32_t procs[] = {
		7, 9, 12, 6, 1, 17
	}; /* WRITE to READDIRPLUS */
	struct nrt_replay calls;
	uint8_t mem[1000];
	uint64_t sum, other;
	size_t len;
	int closes;

	nrt_replay_init(&calls);
	replay = &calls;
	for (size_t i = 0; i < sizeof(procs) / sizeof(procs[0]); i++) {
		len = make_call(mem, sizeof(mem), ULB_PROG_NFS, 3, procs[i]);
		conn = 2 * i + 1;
		sum = sum_of(mem, len, 40, NULL, 0);
		CU_ASSERT_EQUAL(sum_of(mem, len, 40, NULL, 0), sum);
		conn++;
		closes = fake_closed.closes;
		other = sum_of(mem, len, 40, NULL, 0);
		CU_ASSERT_EQUAL(other == sum, i < 3);
		/* A repetition that is dropped ends its connection. */
		CU_ASSERT_EQUAL(fake_closed.closes - closes, i < 3);
	}
	nrt_replay_destroy(&calls);
	nrt_replay_init(&calls);
	len = make_call(mem, sizeof(mem), ULB_PROG_NFS, 3, 9);
	sum = sum_of(mem, len, 40, NULL, 0);
	nrt_replay_close(&calls, conn++);
	CU_ASSERT_NOT_EQUAL(sum_of(mem, len, 40, NULL, 0), sum);
	nrt_replay_destroy(&calls);
	replay = NULL;
	conn = 0;
}

/* A COMPOUND of one GETATTR: sessions have no such cache. */
static void test_minors(void)
{
	for (uint32_t minor = 0; minor < 3; minor++) {
		const uint32_t words[] = {
			XID,
			CALL,
			2,
			ULB_PROG_NFS,
			4,
			1,
			0,
			0,
			0,
			0,
			/* tag, minor version, operations */
			0,
			minor,
			1,
			9,
			0,
		};
		uint32_t be[sizeof(words) / 4];

		for (size_t i = 0; i < sizeof(words) / 4; i++)
			be[i] = htonl(words[i]);
		CU_ASSERT_EQUAL(!sum_of((uint8_t *)be, sizeof(be), 40, NULL, 0),
				minor > 0);
	}
}

/* The head of a Call with this credential of 40 octets, and 100 of arguments. */
static void put_cred(uint32_t *words, uint32_t flavor)
{
	const uint32_t head[] = {
		XID, CALL, 2, ULB_PROG_NFS, 3, 12, flavor, 40
	};

	for (unsigned int i = 0; i < 45; i++)
		words[i] = htonl(i < 8 ? head[i] : i == 19 ? 0 : 1000 + i);
	words[18] = 0;
	if (flavor == RPCSEC_GSS) {
		words[8] = htonl(1);
		words[9] = 0; /* data */
		words[11] = htonl(1); /* no protection of them */
	}
}

/* Whoever asks for the same with the same XID is another client all the same:
 * by its credential, its procedure, or its host. What is sent again is not. */
static void test_askers(void)
{
	static const struct {
		uint32_t flavor;
		unsigned int word; /* that differs ... */
		bool again; /* ... from one time to the next */
	} rows[] = {
		{ AUTH_SYS, 0, false },
		{ AUTH_SYS, 3, false },
		{ AUTH_SYS, 4, false },
		{ AUTH_SYS, 5, false },
		{ AUTH_SYS, 8, true }, /* stamp */
		{ AUTH_SYS, 9, false },
		{ AUTH_SYS, 12, false },
		{ AUTH_SYS, 17, false },
		{ RPCSEC_GSS, 10, true }, /* sequence */
		{ RPCSEC_GSS, 12, false },
		{ RPCSEC_GSS, 17, false },
	};
	uint32_t words[45];
	uint8_t *octet = (uint8_t *)words;
	const size_t cut = 37;
	uint64_t sum, other;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		put_cred(words, rows[i].flavor);
		sum = sum_of((uint8_t *)words, sizeof(words), 80, NULL, 0);
		CU_ASSERT_EQUAL(sum_of((uint8_t *)words, sizeof(words), 80,
				       &cut, 1),
				sum);
		words[rows[i].word] ^= htonl(2);
		other = sum_of((uint8_t *)words, sizeof(words), 80, NULL, 0);
		CU_ASSERT_EQUAL(other == sum, rows[i].again);
	}
	/* Each octet of program, version, procedure and flavor. */
	put_cred(words, 12345);
	sum = sum_of(octet, sizeof(words), 80, NULL, 0);
	for (size_t i = 12; i < 28; i++) {
		octet[i] ^= 0x20;
		CU_ASSERT_NOT_EQUAL(sum_of(octet, sizeof(words), 80, NULL, 0),
				    sum);
		octet[i] ^= 0x20;
	}
	put_cred(words, AUTH_SYS);
	sum = sum_of((uint8_t *)words, sizeof(words), 80, NULL, 0);
	peer = 1;
	CU_ASSERT_NOT_EQUAL(
		sum_of((uint8_t *)words, sizeof(words), 80, NULL, 0), sum);
	peer = 0;
}

static void test_open(void)
{
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 0));
	CU_ASSERT_TRUE_FATAL(util_svc_init(1, 2));
}

static void test_close(void)
{
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
	util_pool_close(&pool);
}

static const struct unit_test tests[] = {
	{ "open", test_open },
	{ "READ with data by reference", test_read },
	{ "too long a Reply", test_too_long },
	{ "no buffers", test_no_pool },
	{ "no encoding", test_no_encoding },
	{ "dropped Call", test_dropped },
	{ "buffer of a READ", test_read_buffer },
	{ "other memory", test_not_read_buffer },
	{ "any memory can be sent", test_any_local },
	{ "none for a READ", test_no_read_buffer },
	{ "error Replies", test_errors },
	{ "torn", test_torn },
	{ "denied", test_denied },
	{ "checksum", test_checksum },
	{ "connections", test_connections },
	{ "minor versions", test_minors },
	{ "askers", test_askers },
	{ "close", test_close },
	{ NULL, NULL }
};
UNIT_MAIN("ntirpc call", tests)
