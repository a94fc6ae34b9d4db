/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * RPCSEC_GSS over our streams: ntirpc's own server code (context set-up,
 * integrity, privacy) with a mechanism defined here, which takes the place of
 * the GSS-API library: its "cipher" is an exclusive or, its "MIC" a sum.
 */
#include <rpc/xdr_inline.h>

#include "ntirpc/quirks/bound.h"
#include "ntirpc_fake.h"
#include "unit.h"

/* ---- The mechanism ---------------------------------------------------- */

/* The C bindings of RFC 2744, as far as they are needed. */
typedef uint32_t OM_uint32;
struct gss_buffer {
	size_t length;
	void *value;
};
struct gss_iov {
	OM_uint32 type;
	struct gss_buffer buffer;
};

#define IOV_DATA 1
#define IOV_HEADER 2
#define IOV_TRAILER 7
#define IOV_PADDING 9
#define IOV_STREAM 10
#define IOV_MIC 12
#define IOV_TYPE(t) ((t)&0xffff)

#define HEADER_LEN 32
#define TRAILER_LEN 13 /* so that the token needs roundup */
#define MIC_LEN 10
#define KEY 0x5c

#define API __attribute__((visibility("default")))

static int in_place; /* tokens decrypted where they were received */

static uint64_t context[2] = { 0x1122334455667788, 0x99aabbccddeeff00 };

static uint32_t sum(uint32_t s, const void *p, size_t len)
{
	const uint8_t *b = p;

	while (len--)
		s = s * 31 + *b++;
	return s;
}

static void make_mic(uint8_t *mic, uint32_t s)
{
	memset(mic, 'm', MIC_LEN);
	memcpy(mic + MIC_LEN - 4, &s, 4);
}

static void cipher(void *p, size_t len)
{
	uint8_t *b = p;

	while (len--)
		*b++ ^= KEY;
}

API OM_uint32 gss_acquire_cred(OM_uint32 *min, void *name, OM_uint32 time,
			       void *mechs, int usage, void **cred,
			       void **actual, OM_uint32 *rec);
API OM_uint32 gss_acquire_cred(OM_uint32 *min, void *name, OM_uint32 time,
			       void *mechs, int usage, void **cred,
			       void **actual, OM_uint32 *rec)
{
	*cred = context;
	*rec = 0xffffffff;
	return 0;
}

API OM_uint32 gss_accept_sec_context(OM_uint32 *min, void **ctx, void *cred,
				     struct gss_buffer *in, void *bindings,
				     void **name, void **mech,
				     struct gss_buffer *out, OM_uint32 *flags,
				     OM_uint32 *time, void **delegated);
API OM_uint32 gss_accept_sec_context(OM_uint32 *min, void **ctx, void *cred,
				     struct gss_buffer *in, void *bindings,
				     void **name, void **mech,
				     struct gss_buffer *out, OM_uint32 *flags,
				     OM_uint32 *time, void **delegated)
{
	if (in->length != 5 || memcmp(in->value, "hello", 5))
		return 9u << 16;
	*ctx = context;
	*name = context;
	out->length = 3;
	out->value = malloc(3);
	memcpy(out->value, "yes", 3);
	*time = 0xffffffff;
	return 0;
}

API OM_uint32 gss_display_name(OM_uint32 *min, void *name,
			       struct gss_buffer *out, void **type);
API OM_uint32 gss_display_name(OM_uint32 *min, void *name,
			       struct gss_buffer *out, void **type)
{
	out->value = strdup("somebody");
	out->length = 8;
	return 0;
}

API OM_uint32 gss_get_mic(OM_uint32 *min, void *ctx, OM_uint32 qop,
			  struct gss_buffer *in, struct gss_buffer *out);
API OM_uint32 gss_get_mic(OM_uint32 *min, void *ctx, OM_uint32 qop,
			  struct gss_buffer *in, struct gss_buffer *out)
{
	out->length = MIC_LEN;
	out->value = malloc(MIC_LEN);
	make_mic(out->value, sum(0, in->value, in->length));
	return 0;
}

API OM_uint32 gss_verify_mic(OM_uint32 *min, void *ctx, struct gss_buffer *in,
			     struct gss_buffer *mic, OM_uint32 *qop);
API OM_uint32 gss_verify_mic(OM_uint32 *min, void *ctx, struct gss_buffer *in,
			     struct gss_buffer *mic, OM_uint32 *qop)
{
	uint8_t want[MIC_LEN];

	make_mic(want, sum(0, in->value, in->length));
	return mic->length == MIC_LEN && !memcmp(want, mic->value, MIC_LEN) ?
		       0 :
		       6u << 16;
}

API OM_uint32 gss_get_mic_iov_length(OM_uint32 *min, void *ctx, OM_uint32 qop,
				     struct gss_iov *iov, int n);
API OM_uint32 gss_get_mic_iov_length(OM_uint32 *min, void *ctx, OM_uint32 qop,
				     struct gss_iov *iov, int n)
{
	for (int i = 0; i < n; i++)
		if (IOV_TYPE(iov[i].type) == IOV_MIC)
			iov[i].buffer.length = MIC_LEN;
	return 0;
}

static bool iov_mic(struct gss_iov *iov, int n, uint8_t *mic)
{
	uint32_t s = 0;
	bool found = false;

	for (int i = 0; i < n; i++) {
		if (IOV_TYPE(iov[i].type) == IOV_DATA)
			s = sum(s, iov[i].buffer.value, iov[i].buffer.length);
		else
			found = IOV_TYPE(iov[i].type) == IOV_MIC;
	}
	make_mic(mic, s);
	return found;
}

API OM_uint32 gss_get_mic_iov(OM_uint32 *min, void *ctx, OM_uint32 qop,
			      struct gss_iov *iov, int n);
API OM_uint32 gss_get_mic_iov(OM_uint32 *min, void *ctx, OM_uint32 qop,
			      struct gss_iov *iov, int n)
{
	uint8_t mic[MIC_LEN];

	if (!iov_mic(iov, n, mic) || iov[n - 1].buffer.length != MIC_LEN)
		return 13u << 16;
	memcpy(iov[n - 1].buffer.value, mic, MIC_LEN);
	return 0;
}

API OM_uint32 gss_verify_mic_iov(OM_uint32 *min, void *ctx, OM_uint32 *qop,
				 struct gss_iov *iov, int n);
API OM_uint32 gss_verify_mic_iov(OM_uint32 *min, void *ctx, OM_uint32 *qop,
				 struct gss_iov *iov, int n)
{
	uint8_t mic[MIC_LEN];

	*qop = 0;
	if (!iov_mic(iov, n, mic) || iov[n - 1].buffer.length != MIC_LEN ||
	    memcmp(iov[n - 1].buffer.value, mic, MIC_LEN))
		return 6u << 16;
	return 0;
}

API OM_uint32 gss_wrap_iov_length(OM_uint32 *min, void *ctx, int conf,
				  OM_uint32 qop, int *state,
				  struct gss_iov *iov, int n);
API OM_uint32 gss_wrap_iov_length(OM_uint32 *min, void *ctx, int conf,
				  OM_uint32 qop, int *state,
				  struct gss_iov *iov, int n)
{
	for (int i = 0; i < n; i++) {
		switch (IOV_TYPE(iov[i].type)) {
		case IOV_HEADER:
			iov[i].buffer.length = HEADER_LEN;
			break;
		case IOV_PADDING:
			iov[i].buffer.length = 0;
			break;
		case IOV_TRAILER:
			iov[i].buffer.length = TRAILER_LEN;
			break;
		}
	}
	return 0;
}

API OM_uint32 gss_wrap_iov(OM_uint32 *min, void *ctx, int conf, OM_uint32 qop,
			   int *state, struct gss_iov *iov, int n);
API OM_uint32 gss_wrap_iov(OM_uint32 *min, void *ctx, int conf, OM_uint32 qop,
			   int *state, struct gss_iov *iov, int n)
{
	for (int i = 0; i < n; i++) {
		switch (IOV_TYPE(iov[i].type)) {
		case IOV_HEADER:
			memset(iov[i].buffer.value, 'H', HEADER_LEN);
			break;
		case IOV_DATA:
			cipher(iov[i].buffer.value, iov[i].buffer.length);
			break;
		case IOV_TRAILER:
			memset(iov[i].buffer.value, 'T', TRAILER_LEN);
			break;
		}
	}
	return 0;
}

API OM_uint32 gss_unwrap_iov(OM_uint32 *min, void *ctx, int *conf,
			     OM_uint32 *qop, struct gss_iov *iov, int n);
API OM_uint32 gss_unwrap_iov(OM_uint32 *min, void *ctx, int *conf,
			     OM_uint32 *qop, struct gss_iov *iov, int n)
{
	uint8_t *p = iov[0].buffer.value;
	size_t len = iov[0].buffer.length;

	*qop = 0;
	if (n != 2 || IOV_TYPE(iov[0].type) != IOV_STREAM ||
	    len < HEADER_LEN + TRAILER_LEN || p[0] != 'H' || p[len - 1] != 'T')
		return 9u << 16;
	iov[1].buffer.value = p + HEADER_LEN;
	iov[1].buffer.length = len - HEADER_LEN - TRAILER_LEN;
	cipher(iov[1].buffer.value, iov[1].buffer.length);
	in_place++;
	return 0;
}

API OM_uint32 gss_release_buffer(OM_uint32 *min, struct gss_buffer *b);
API OM_uint32 gss_release_buffer(OM_uint32 *min, struct gss_buffer *b)
{
	free(b->value);
	b->value = NULL;
	b->length = 0;
	return 0;
}

API OM_uint32 gss_delete_sec_context(OM_uint32 *min, void **ctx,
				     struct gss_buffer *out);
API OM_uint32 gss_delete_sec_context(OM_uint32 *min, void **ctx,
				     struct gss_buffer *out)
{
	*ctx = NULL;
	return 0;
}

API OM_uint32 gss_release_name(OM_uint32 *min, void **name);
API OM_uint32 gss_release_name(OM_uint32 *min, void **name)
{
	*name = NULL;
	return 0;
}

API OM_uint32 gss_get_name_attribute(OM_uint32 *min, void *name,
				     struct gss_buffer *attr, int *auth,
				     int *complete, struct gss_buffer *value,
				     struct gss_buffer *display, int *more);
API OM_uint32 gss_get_name_attribute(OM_uint32 *min, void *name,
				     struct gss_buffer *attr, int *auth,
				     int *complete, struct gss_buffer *value,
				     struct gss_buffer *display, int *more)
{
	return 16u << 16;
}

/* ---- The requester ---------------------------------------------------- */

enum { GSS_DATA = 0, GSS_INIT = 1 };
enum { SVC_NONE = 1, SVC_INTEGRITY = 2, SVC_PRIVACY = 3 };

#define MEM (256u << 10)
#define ARGS 300 /* words */

static struct util_pool pool;
static uint32_t next_seq = 1;
static uint32_t again_xid; /* of all Calls; 0: their sequence number */

static struct xp_ops ops = {
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
};
static SVCXPRT xprt = { .xp_ops = &ops };

static void put32(uint8_t **p, uint32_t v)
{
	v = htonl(v);
	memcpy(*p, &v, 4);
	*p += 4;
}

static uint32_t get32(const uint8_t **p)
{
	uint32_t v;

	memcpy(&v, *p, 4);
	*p += 4;
	return ntohl(v);
}

static void put_opaque(uint8_t **p, const void *from, uint32_t len)
{
	put32(p, len);
	memset(*p, 0, (len + 3) & ~3u);
	memcpy(*p, from, len);
	*p += (len + 3) & ~3u;
}

/* The head of a Call, its credential and verifier (RFC 2203, 5). */
static uint32_t vers = 3; /* of NFS */

static uint8_t *put_head(uint8_t *mem, uint32_t proc, uint32_t gss_proc,
			 uint32_t seq, uint32_t service)
{
	uint8_t *p = mem, mic[MIC_LEN];
	bool init = gss_proc == GSS_INIT;

	put32(&p, again_xid ? again_xid : seq);
	put32(&p, CALL);
	put32(&p, RPC_MSG_VERSION);
	put32(&p, ULB_PROG_NFS);
	put32(&p, vers);
	put32(&p, proc);
	put32(&p, RPCSEC_GSS);
	put32(&p, init ? 20 : 20 + sizeof(context));
	put32(&p, 1);
	put32(&p, gss_proc);
	put32(&p, seq);
	put32(&p, service);
	put_opaque(&p, context, init ? 0 : sizeof(context));
	if (init) {
		put32(&p, AUTH_NONE);
		put32(&p, 0);
	} else {
		make_mic(mic, sum(0, mem, (size_t)(p - mem)));
		put32(&p, RPCSEC_GSS);
		put_opaque(&p, mic, sizeof(mic));
	}
	return p;
}

/* What the arguments begin with, if not with counted words, and what they are
 * when they are decoded. */
static struct {
	unsigned int n;
	const uint32_t *given, *decoded;
} special;

static uint32_t arg(const uint32_t *words, uint32_t seq, uint32_t i)
{
	return i < special.n ? words[i] : seq * 1000 + i;
}

static void put_body(uint8_t **p, uint32_t seq, uint32_t service)
{
	uint8_t data[4 + 4 * ARGS], *d = data, mic[MIC_LEN];
	uint8_t token[HEADER_LEN + sizeof(data) + TRAILER_LEN];

	if (service != SVC_NONE)
		put32(&d, seq);
	for (uint32_t i = 0; i < ARGS; i++)
		put32(&d, arg(special.given, seq, i));
	switch (service) {
	case SVC_INTEGRITY:
		put_opaque(p, data, (uint32_t)(d - data));
		make_mic(mic, sum(0, data, (size_t)(d - data)));
		put_opaque(p, mic, sizeof(mic));
		break;
	case SVC_PRIVACY:
		memset(token, 'H', HEADER_LEN);
		memcpy(token + HEADER_LEN, data, sizeof(data));
		cipher(token + HEADER_LEN, sizeof(data));
		memset(token + HEADER_LEN + sizeof(data), 'T', TRAILER_LEN);
		put_opaque(p, token, sizeof(token));
		break;
	default:
		memcpy(*p, data, (size_t)(d - data));
		*p += d - data;
		break;
	}
}

/* ---- The server ------------------------------------------------------- */

static bool decode_args(XDR *xdrs, void *where)
{
	uint32_t *args = where;

	if (xdrs->x_op == XDR_FREE)
		return true;
	for (int i = 0; i < ARGS; i++)
		if (!XDR_GETUINT32(xdrs, &args[i]))
			return false;
	return true;
}

struct results {
	uint32_t small, data;
	/* The small ones as they are given and as they must come, if they are
	 * not counted up. */
	const uint32_t *given, *wanted;
	bool bare; /* nothing else */
};

static int released;

static void release_uio(xdr_uio *uio, u_int flags)
{
	if (--uio->uio_references)
		return;
	free(uio->uio_vio[0].vio_base);
	free(uio);
	released++;
}

/* @small octets, then @data by reference, then a word. */
static bool encode_results(XDR *xdrs, void *where)
{
	struct results *r = where;
	xdr_uio *uio;

	for (uint32_t i = 0; i < r->small / 4; i++)
		if (!XDR_PUTUINT32(xdrs, r->given ? r->given[i] : i))
			return false;
	if (r->data) {
		uio = calloc(1, sizeof(*uio) + sizeof(xdr_vio));
		uio->uio_release = release_uio;
		uio->uio_count = 1;
		uio->uio_vio[0].vio_base = malloc(r->data);
		uio->uio_vio[0].vio_head = uio->uio_vio[0].vio_base;
		uio->uio_vio[0].vio_tail = uio->uio_vio[0].vio_base + r->data;
		uio->uio_vio[0].vio_wrap = uio->uio_vio[0].vio_tail;
		memset(uio->uio_vio[0].vio_base, 'D', r->data);
		if (!XDR_PUTBUFS(xdrs, uio, UIO_FLAG_NONE))
			return false;
	}
	return r->bare || XDR_PUTUINT32(xdrs, 0xfeedbeef);
}

static struct fake_call *start(struct svc_req *req, const uint8_t *mem,
			       size_t len, uint64_t *rnd)
{
	size_t cuts[3];
	struct fake_call *f;

	/* Half of them in one piece, as most Calls are. */
	for (int i = 0; i < 3; i++)
		cuts[i] = util_below(rnd, len);
	qsort(cuts, 3, sizeof(cuts[0]), util_cmp_size);
	f = fake_new(mem, len, cuts, util_random(rnd) & 1 ? 3 : 0);
	f->pub.nwrites = 1;
	memset(req, 0, sizeof(*req));
	req->rq_xprt = &xprt;
	req->rq_xdrs = nrt_call_open(&f->pub, pool.pool, 1 << 20);
	rpc_msg_init(&req->rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(req->rq_xdrs, &req->rq_msg));
	return f;
}

static void tail(struct svc_req *req)
{
	if (req->rq_auth)
		SVCAUTH_RELEASE(req);
	XDR_DESTROY(req->rq_xdrs);
}

static void test_init(void)
{
	uint64_t rnd = 3;
	uint8_t mem[1000];
	const uint8_t *p;
	struct fake_call *f;
	struct svc_req req;
	bool no_dispatch = false;
	uint8_t *end = put_head(mem, 0, GSS_INIT, 0, SVC_NONE);

	put_opaque(&end, "hello", 5);
	f = start(&req, mem, (size_t)(end - mem), &rnd);
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	CU_ASSERT_TRUE(no_dispatch);
	CU_ASSERT_EQUAL_FATAL(f->replies, 1);
	/* Accepted, with a MIC as the verifier, then the context (RFC 2203,
	 * 5.2.3.1). */
	p = f->bytes + 12;
	CU_ASSERT_EQUAL(get32(&p), RPCSEC_GSS);
	CU_ASSERT_EQUAL(get32(&p), MIC_LEN);
	p += (MIC_LEN + 3) & ~3;
	CU_ASSERT_EQUAL(get32(&p), SUCCESS);
	CU_ASSERT_EQUAL_FATAL(get32(&p), sizeof(context));
	CU_ASSERT_EQUAL(memcmp(p, context, sizeof(context)), 0);
	tail(&req);
	fake_free(f);
}

/* The results in the clear: what encode_results() would give. */
static size_t plain(uint8_t *to, const struct results *r)
{
	uint8_t *p = to;

	for (uint32_t i = 0; i < r->small / 4; i++)
		put32(&p, r->wanted ? r->wanted[i] : i);
	memset(p, 'D', r->data);
	p += r->data;
	if (!r->bare)
		put32(&p, 0xfeedbeef);
	return (size_t)(p - to);
}

static void check_reply(const struct fake_call *f, uint32_t seq,
			uint32_t service, const struct results *r)
{
	static uint8_t want[MEM], body[MEM];
	const uint8_t *p = f->bytes, *end = f->bytes + f->len;
	uint8_t mic[MIC_LEN];
	size_t len = plain(want, r);
	uint32_t n;

	CU_ASSERT_EQUAL(get32(&p), seq);
	CU_ASSERT_EQUAL(get32(&p), REPLY);
	CU_ASSERT_EQUAL(get32(&p), MSG_ACCEPTED);
	CU_ASSERT_EQUAL(get32(&p), RPCSEC_GSS);
	CU_ASSERT_EQUAL_FATAL(get32(&p), MIC_LEN);
	p += (MIC_LEN + 3) & ~3;
	CU_ASSERT_EQUAL_FATAL(get32(&p), SUCCESS);
	if (service == SVC_NONE) {
		CU_ASSERT_EQUAL_FATAL((size_t)(end - p), len);
		CU_ASSERT_EQUAL(memcmp(p, want, len), 0);
		return;
	}
	n = get32(&p);
	if (service == SVC_INTEGRITY) {
		CU_ASSERT_EQUAL_FATAL(n, len + 4);
		make_mic(mic, sum(0, p, n));
		memcpy(body, p, n);
		p += n;
		CU_ASSERT_EQUAL_FATAL(get32(&p), MIC_LEN);
		CU_ASSERT_EQUAL(memcmp(p, mic, MIC_LEN), 0);
		p += (MIC_LEN + 3) & ~3;
	} else {
		CU_ASSERT_EQUAL_FATAL(n, HEADER_LEN + len + 4 + TRAILER_LEN);
		for (int i = 0; i < HEADER_LEN; i++)
			CU_ASSERT_EQUAL(p[i], 'H');
		memcpy(body, p + HEADER_LEN, len + 4);
		cipher(body, len + 4);
		p += HEADER_LEN + len + 4;
		for (int i = 0; i < TRAILER_LEN; i++)
			CU_ASSERT_EQUAL(p[i], 'T');
		p += (TRAILER_LEN + 3) & ~3;
	}
	/* With roundup, and nothing after it. */
	CU_ASSERT_PTR_EQUAL(p, end);
	p = body;
	CU_ASSERT_EQUAL(get32(&p), seq);
	CU_ASSERT_EQUAL(memcmp(p, want, len), 0);
}

static struct nrt_bound *bound;

static void one_call(uint32_t service, const struct results *want,
		     uint64_t *rnd)
{
	static uint32_t args[ARGS];
	uint32_t seq = next_seq++;
	struct results r = *want;
	uint8_t mem[8192], *end;
	struct fake_call *f;
	struct svc_req req;
	bool no_dispatch = false;

	end = put_head(mem, vers == 4 ? 1 : 6, GSS_DATA, seq, service);
	put_body(&end, seq, service);
	f = start(&req, mem, (size_t)(end - mem), rnd);
	if (vers == 4)
		f->user.back = (void *)&fake_sessions;
	f->user.bound = bound;
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	CU_ASSERT_FALSE_FATAL(no_dispatch);
	req.rq_msg.rm_xdr.proc = (xdrproc_t)decode_args;
	req.rq_msg.rm_xdr.where = args;
	memset(args, 0, sizeof(args));
	CU_ASSERT_TRUE(SVCAUTH_CHECKSUM(&req));
	if (vers == 3)
		CU_ASSERT_NOT_EQUAL(req.rq_cksum, 0);
	for (uint32_t i = 0; i < ARGS; i++)
		CU_ASSERT_EQUAL(args[i], arg(special.decoded, seq, i));
	req.rq_msg.RPCM_ack.ar_results.proc = (xdrproc_t)encode_results;
	req.rq_msg.RPCM_ack.ar_results.where = &r;
	released = 0;
	CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
	CU_ASSERT_EQUAL_FATAL(f->replies, 1);
	CU_ASSERT_EQUAL(released, r.data != 0);
	check_reply(f, seq, service, &r);
	/* What is protected cannot go by Write chunk [H3]; and of these, no
	 * result is one that NFSv3 READ would have. */
	if (service != SVC_NONE)
		CU_ASSERT_EQUAL(f->nitems, 0);
	tail(&req);
	CU_ASSERT_EQUAL(f->drops, 0);
	fake_free(f);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

static void all_sizes(uint32_t service)
{
	uint64_t rnd = 99 + service;

	for (uint32_t small = 0; small <= 12000;
	     small += 4 * (1 + small / 60)) {
		for (uint32_t data = 0; data <= 60000; data += 20000) {
			struct results r = { .small = small, .data = data };

			one_call(service, &r, &rnd);
		}
	}
	/* Around the end of the first buffer, at each word. */
	for (uint32_t small = 3900; small <= 4100; small += 4) {
		struct results r = { .small = small };

		one_call(service, &r, &rnd);
		r.data = 8;
		one_call(service, &r, &rnd);
	}
}

static void test_none(void)
{
	all_sizes(SVC_NONE);
}

static void test_integrity(void)
{
	all_sizes(SVC_INTEGRITY);
}

static void test_privacy(void)
{
	in_place = 0;
	all_sizes(SVC_PRIVACY);
	CU_ASSERT_TRUE(in_place > 100);
}

/* The checksum of a Call of NFSv3 with these arguments and the next sequence
 * number. */
static uint64_t sum_of(uint32_t service, const uint32_t *args, uint64_t *rnd)
{
	static uint32_t decoded[ARGS];
	uint32_t seq = next_seq++;
	bool no_dispatch = false;
	uint8_t mem[8192], *end;
	struct fake_call *f;
	struct svc_req req;

	special.n = ARGS;
	special.given = args;
	end = put_head(mem, 12, GSS_DATA, seq, service);
	put_body(&end, seq, service);
	special.n = 0;
	f = start(&req, mem, (size_t)(end - mem), rnd);
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	req.rq_msg.rm_xdr.proc = (xdrproc_t)decode_args;
	req.rq_msg.rm_xdr.where = decoded;
	CU_ASSERT_TRUE(SVCAUTH_CHECKSUM(&req));
	CU_ASSERT_EQUAL(memcmp(decoded, args, sizeof(decoded)), 0);
	tail(&req);
	CU_ASSERT_EQUAL(f->drops, 1);
	fake_free(f);
	return req.rq_cksum;
}

/* A Call that is sent again, with another sequence number and verifier, has the same
 * checksum however it is protected, and one with other arguments another. */
static void test_again(void)
{
	uint32_t args[ARGS];
	uint64_t rnd = 7, sum;

	again_xid = 0x1234;
	/* REMOVE: a filehandle of 100 words, and a name. */
	for (uint32_t i = 0; i < ARGS; i++)
		args[i] = i;
	args[0] = 400;
	args[101] = 4 * (ARGS - 102);
	for (uint32_t service = SVC_NONE; service <= SVC_PRIVACY; service++) {
		sum = sum_of(service, args, &rnd);
		CU_ASSERT_NOT_EQUAL(sum, 0);
		CU_ASSERT_EQUAL(sum_of(service, args, &rnd), sum);
		for (uint32_t i = 1; i < ARGS; i += ARGS - 2) {
			args[i] ^= 1;
			CU_ASSERT_NOT_EQUAL(sum_of(service, args, &rnd), sum);
			args[i] ^= 1;
		}
	}
	again_xid = 0;
}

/* What a Reply says of sessions is read and corrected before it is covered. */
static void test_session(void)
{
	/* status, tag, count; SEQUENCE, which has three words after the
	 * session's identifier and 4 before its flags; BIND_CONN_TO_SESSION */
	static const uint32_t given[] = { 0, 0, 2, 53, 0, 7, 7, 7, 7, 1, 2,
					  3, 4, 1, 41, 0, 8, 8, 8, 8, 3, 0 };
	static const uint32_t services[] = { SVC_NONE, SVC_INTEGRITY,
					     SVC_PRIVACY };
	uint32_t wanted[sizeof(given) / 4];
	uint8_t of[ULB_SESSION_ID];
	uint64_t rnd = 77;

	memcpy(wanted, given, sizeof(given));
	wanted[13] |= ULB_SEQ_CB_PATH_DOWN_SESSION;
	memset(of, 0, sizeof(of));
	for (int i = 3; i < 16; i += 4)
		of[i] = 7;
	vers = 4;
	memcpy(fake_sessions.in_trouble, of, sizeof(of));
	fake_sessions.flags = ULB_SEQ_CB_PATH_DOWN_SESSION;
	fake_sessions.can_back = true;
	for (int i = 0; i < 3; i++) {
		for (uint32_t data = 0; data < 60000; data += 20000) {
			struct results r = { .small = sizeof(given),
					     .data = data,
					     .given = given,
					     .wanted = wanted };

			fake_sessions.backs = 0;
			one_call(services[i], &r, &rnd);
			CU_ASSERT_EQUAL(fake_sessions.backs, 1);
			CU_ASSERT_EQUAL(fake_sessions.id[3], 8);
		}
	}
	vers = 3;
}

/* A session is ended by a connection that is bound to it alone, however that is
 * covered. */
static void test_bound(void)
{
	static const uint32_t services[] = { SVC_NONE, SVC_INTEGRITY,
					     SVC_PRIVACY };
	/* SEQUENCE; tag, minor version and number before. */
	static const uint32_t sequence[] = { 0, 1, 1, 53, 7, 7, 7, 7 };
	static const uint32_t destroy[] = { 0, 1, 1, 44, 7, 7, 7, 7 };
	static const uint32_t spoilt[] = { 0, 1, 1, 44, ~0u, ~0u, ~0u, ~0u };
	static const uint32_t used[] = { 0, 0, 1, 53, 0, 7, 7,
					 7, 7, 1, 2,  3, 4, 0 };
	static const uint32_t unknown[] = { 10052, 0, 1, 44, 10052 };
	static const uint32_t unbound[] = { 10055, 0, 1, 44, 10055 };
	static const uint32_t ended[] = { 0, 0, 1, 44, 0 };
	struct results not_there = { sizeof(unknown), 0, unknown, unknown,
				     true };
	struct results refused = { sizeof(unknown), 0, unknown, unbound, true };
	struct results bind = { sizeof(used), 0, used, used, true };
	struct results done = { sizeof(ended), 0, ended, ended, true };
	struct nrt_bound b;
	uint64_t rnd = 78;

	vers = 4;
	fake_sessions.flags = 0;
	special.n = 8;
	for (int i = 0; i < 300; i++) {
		nrt_bound_init(&b);
		bound = &b;
		special.given = destroy;
		special.decoded = spoilt;
		one_call(services[i % 3], &refused, &rnd);
		special.given = special.decoded = sequence;
		one_call(services[i % 3], &bind, &rnd);
		special.given = special.decoded = destroy;
		one_call(services[i % 3], &done, &rnd);
		/* The server's own word. */
		one_call(services[i % 3], &not_there, &rnd);
		nrt_bound_destroy(&b);
	}
	bound = NULL;
	one_call(SVC_NONE, &not_there, &rnd);
	special.n = 0;
	vers = 3;
}

/* What the server would get wrong it does not get to see, however that is
 * covered: it is told of an illegal operation and of none behind it, and its word
 * for that becomes "not supported". */
static void test_optional(void)
{
	static const uint32_t services[] = { SVC_NONE, SVC_INTEGRITY,
					     SVC_PRIVACY };
	/* Tag, minor version, number; the operations. */
	static const uint32_t dir[] = { 0, 2, 2, 46, 7, 0, 0, 0, 0, 0 };
	static const uint32_t dir_seen[] = { 0, 2, 1, 10044, 7, 0, 0, 0, 0, 0 };
	static const uint32_t plus[] = { 0, 2, 2, 24, 68, 7, 7, 7, 7, 0 };
	static const uint32_t seen[] = { 0, 2, 2, 24, 10044, 7, 7, 7, 7, 0 };
	/* Not of this minor version, and one that nobody knows. */
	static const uint32_t early[] = { 0, 1, 2, 24, 68, 7, 7, 7, 7, 0 };
	static const uint32_t strange[] = { 0, 2, 3, 24, 9999, 68, 7, 7, 7, 7 };
	static const uint32_t illegal1[] = { 10044, 0, 1, 10044, 10044 };
	static const uint32_t dir_right[] = { 10004, 0, 1, 46, 10004 };
	static const uint32_t illegal2[] = { 10044, 0, 2, 24, 0, 10044, 10044 };
	static const uint32_t right[] = { 10004, 0, 2, 24, 0, 68, 10004 };
	/* It had ended before. */
	static const uint32_t stale[] = { 10001, 0, 1, 24, 10001 };
	struct results no_dir = { sizeof(dir_right), 0, illegal1, dir_right,
				  true };
	struct results no_plus = { sizeof(right), 0, illegal2, right, true };
	struct results failed = { sizeof(stale), 0, stale, stale, true };
	struct results other = { sizeof(right), 0, illegal2, illegal2, true };
	uint64_t rnd = 79;

	vers = 4;
	fake_sessions.flags = 0;
	special.n = 10;
	for (int i = 0; i < 300; i++) {
		uint32_t service = services[i % 3];

		special.given = dir;
		special.decoded = dir_seen;
		one_call(service, &no_dir, &rnd);
		special.given = plus;
		special.decoded = seen;
		one_call(service, &no_plus, &rnd);
		one_call(service, &failed, &rnd);
		special.given = special.decoded = early;
		one_call(service, &other, &rnd);
		special.given = special.decoded = strange;
		one_call(service, &other, &rnd);
	}
	special.n = 0;
	vers = 3;
}

/* A body that was changed on the way is not decoded. */
static void test_tampered(void)
{
	uint64_t rnd = 5;
	uint32_t seq = next_seq++, args[ARGS];
	uint8_t mem[8192], *end, *body;
	struct fake_call *f;
	struct svc_req req;
	bool no_dispatch = false;

	end = body = put_head(mem, 6, GSS_DATA, seq, SVC_INTEGRITY);
	put_body(&end, seq, SVC_INTEGRITY);
	body[100] ^= 1;
	f = start(&req, mem, (size_t)(end - mem), &rnd);
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	req.rq_msg.rm_xdr.proc = (xdrproc_t)decode_args;
	req.rq_msg.rm_xdr.where = args;
	CU_ASSERT_FALSE(SVCAUTH_CHECKSUM(&req));
	tail(&req);
	CU_ASSERT_EQUAL(f->drops, 1);
	fake_free(f);
}

static void test_open(void)
{
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 0));
	CU_ASSERT_TRUE_FATAL(util_svc_init(1, 2));
}

static void test_close(void)
{
	util_pool_close(&pool);
}

static const struct unit_test tests[] = { { "open", test_open },
					  { "context", test_init },
					  { "authentication only", test_none },
					  { "integrity", test_integrity },
					  { "privacy", test_privacy },
					  { "sent again", test_again },
					  { "sessions", test_session },
					  { "bound", test_bound },
					  { "optional operations",
					    test_optional },
					  { "tampered", test_tampered },
					  { "close", test_close },
					  { NULL, NULL } };
UNIT_MAIN("ntirpc RPCSEC_GSS", tests)
