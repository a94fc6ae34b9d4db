/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xcharext against a raw peer: discovery, what is taken and refused, Receives
 * that change their size, what both ends may rely on meanwhile. [M1] to [M5],
 * [X4] to [X9]
 */
#include <arpa/inet.h>
#include <errno.h>

#include "rt_raw.h"
#include "test_clock.h"
#include "unit.h"
#include "rpcrdma/xchar.h"

/* Calls after which it is looked whether a connection is busy. */
#define LOOK 256
#define IDLE_MS 2000

static const struct rt_config on = { .extensions = RT_EXT_XCHAR,
				     .credits = 8,
				     .busy_recv_size = 8192,
				     .idle_recv_size = 1024,
				     .idle_recv_ms = IDLE_MS,
				     .request_user_size = 8 };

/* ---- The raw peer's side ---------------------------------------------- */

/* The last message of the extension, which others may follow. */
static struct wire_xchar x;
static uint8_t x_octets[RAW_RECV_SIZE];

static bool read_it(const struct rt_raw *r)
{
	memcpy(x_octets, r->msg, r->msg_len);
	return wire_xchar_decode(x_octets, r->msg_len, &x) == WIRE_OK;
}

/* Is the next message one of these? In x and r->msg. */
static bool next_is(struct rt_raw *r, uint32_t htype)
{
	uint32_t got = rt_raw_next(r);

	if (got != htype)
		printf("\n%s instead of %s\n", wire_htype_name(got),
		       wire_htype_name(htype));
	return got == htype && read_it(r);
}

static uint32_t value_of(uint32_t which, bool *found)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	*found = false;
	while (wire_prop_next(&x.props, &it, &p))
		if (p.which == which) {
			*found = true;
			return wire_prop_u32(&p, 0xdead);
		}
	return 0;
}

static bool has(uint32_t which, uint32_t value)
{
	bool found;

	return value_of(which, &found) == value && found;
}

static bool lacks(uint32_t which)
{
	bool found;

	value_of(which, &found);
	return !found;
}

static void props(struct rt_raw *r, bool final, uint32_t supp)
{
	uint32_t v = htonl(supp), level = htonl(RDMA2_RVRSDIR_SIMPLE);
	struct wire_prop p[] = {
		{ RDMA2_PROPID_BRS, (uint8_t *)&level, 4 },
		{ RDMA2_PROPID_X_XCHSUPP, (uint8_t *)&v, 4 },
	};

	rt_raw_connprop(r, final, p, 2);
}

/* CONNPROP both ways, and their INITXCH taken, if it comes. */
static bool greet(struct rt_raw *r, uint32_t supp)
{
	r->credits = 64;
	if (r->listener) {
		if (rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
			return false;
		props(r, true, supp);
	} else {
		props(r, true, supp);
		if (rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
			return false;
		/* [A7]: it waits for a second message. */
		if (!rt_raw_silent(r))
			return false;
		rt_raw_grant(r);
	}
	rt_raw_run(r);
	return !(supp & XCHSUPP_INIT) || next_is(r, RDMA2_X_INITXCH);
}

static void send_values(struct rt_raw *r, uint32_t htype, uint32_t xid,
			uint32_t n, const uint32_t (*v)[2], uint32_t nochg)
{
	struct wire_enc *e = rt_raw_begin(r, htype, xid);

	wire_put_u32(e, n);
	for (uint32_t i = 0; i < n; i++) {
		wire_put_u32(e, v[i][0]);
		wire_put_u32(e, 4);
		wire_put_u32(e, v[i][1]);
	}
	if (htype == RDMA2_X_INITXCH) {
		wire_put_u32(e, 1);
		wire_put_u32(e, nochg);
	}
	rt_raw_end(r);
}

static void request(struct rt_raw *r, uint32_t xid, uint32_t which,
		    uint32_t value)
{
	const uint32_t v[1][2] = { { which, value } };

	send_values(r, RDMA2_X_REQXCH, xid, 1, v, 0);
}

static void update(struct rt_raw *r, uint32_t xid, uint32_t which,
		   uint32_t value, bool clear)
{
	struct wire_enc *e = rt_raw_begin(r, RDMA2_X_UPDXCH, xid);

	wire_put_u32(e, which);
	wire_put_u32(e, 4);
	wire_put_u32(e, value);
	wire_put_u32(e, clear);
	rt_raw_end(r);
}

static void respond(struct rt_raw *r, uint32_t xid, uint32_t done, uint32_t rej,
		    uint32_t pend)
{
	struct wire_enc *e = rt_raw_begin(r, RDMA2_X_RESPXCH, xid);

	wire_put_u32(e, 1);
	wire_put_u32(e, done);
	wire_put_u32(e, 1);
	wire_put_u32(e, rej);
	wire_put_u32(e, 1);
	wire_put_u32(e, pend);
	rt_raw_end(r);
}

static uint32_t word(const struct wire_subset *s, uint32_t n)
{
	uint32_t v = 0;

	for (uint32_t i = 32; i--;)
		v = v << 1 | wire_subset_test(s->words, s->nwords, n * 32 + i);
	return v;
}

/* Is the next message the answer to @xid, with these subsets? */
static bool answered(struct rt_raw *r, uint32_t xid, uint32_t done,
		     uint32_t rej, uint32_t pend)
{
	return next_is(r, RDMA2_X_RESPXCH) && x.p.xid == xid &&
	       word(&x.done, 0) == done && word(&x.rej, 0) == rej &&
	       word(&x.pend, 0) == pend;
}

/* The longest message of a continued Reply. */
static size_t longest(struct rt_raw *r, uint32_t xid, uint32_t len)
{
	size_t max = 0;
	uint32_t htype;

	rt_raw_call(r, xid, NULL, NULL, len);
	do {
		htype = rt_raw_next(r);
		if (r->msg_len > max)
			max = r->msg_len;
	} while (htype == RDMA2_REPLY_MIDDLE);
	CU_ASSERT_EQUAL(htype, RDMA2_REPLY_INLINE);
	return max;
}

/* A Call of @len octets in one message is taken and answered. */
static bool takes(struct rt_raw *r, uint32_t xid, size_t len)
{
	uint8_t *b = calloc(1, len);
	bool ok;
	size_t n = 32 + rt_raw_payload(b + 32, xid, 8, 0, 0, 0);
	struct wire_call_desc d = { 0 };

	CU_ASSERT_EQUAL(
		wire_encode_call(b, 32, xid, rt_raw_credit(r), false, &d), 32);
	CU_ASSERT_TRUE(n <= len);
	rt_raw_send(r, b, len);
	ok = rt_raw_is_reply(r, xid);
	free(b);
	return ok;
}

static uint32_t receives(struct rt_raw *r)
{
	struct rt_conn_info i;

	rt_conn_info(r->p.server ? r->p.server : r->p.client, &i);
	return i.ours.recv_size;
}

/* Does one of these come now? What comes with it is flushed. */
static bool among(struct rt_raw *r, uint32_t htype)
{
	for (uint32_t h; (h = rt_raw_next(r));)
		if (h == htype) {
			CU_ASSERT_TRUE(read_it(r));
			rt_raw_flush(r);
			return true;
		}
	return false;
}

/* NULL-like Calls until UPDXCH comes; how many. */
static unsigned int calls_to_update(struct rt_raw *r, uint32_t *xid)
{
	for (unsigned int n = 1; n < 100; n++) {
		rt_raw_call(r, ++*xid, NULL, NULL, 8);
		if (among(r, RDMA2_X_UPDXCH))
			return n;
	}
	return 0;
}

/* Calls that do not fit, until it tells that they do now. */
static bool raises(struct rt_raw *r, uint32_t *xid)
{
	uint8_t pay[128];

	for (unsigned int n = 0; n < 2 * LOOK; n++) {
		size_t len = rt_raw_payload(pay, ++*xid, 8, 0, 0, 0);

		rt_raw_middle(r, *xid, false, (uint32_t)len - 16, pay, 16);
		rt_raw_call(r, *xid, NULL, pay + 16, len - 16);
		if (among(r, RDMA2_X_UPDXCH))
			return true;
	}
	return false;
}

/* Replies that do not fit, until it asks for longer Receives. */
static bool asks_higher(struct rt_raw *r, uint32_t *xid)
{
	for (unsigned int n = 0; n < 2 * LOOK; n++) {
		rt_raw_call(r, ++*xid, NULL, NULL, 9000);
		if (among(r, RDMA2_X_REQXCH))
			return has(RDMA2_PROPID_RBSIZ, 8192);
	}
	return false;
}

static bool silent_while_idle(struct rt_raw *r)
{
	test_clock_pass(2 * IDLE_MS);
	return rt_raw_silent(r);
}

/* It is idle, and so it asks for shorter ones. */
static bool asks_lower(struct rt_raw *r)
{
	test_clock_pass(2 * IDLE_MS);
	return next_is(r, RDMA2_X_REQXCH) && has(RDMA2_PROPID_RBSIZ, 1024) &&
	       x.props.count == 1;
}

/* ---- Discovery -------------------------------------------------------- */

/* Off: not an octet is different, and each is an unknown header type. */
static void off(void)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	r.credits = 64;
	props(&r, true, XCHSUPP_ALL);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	while (wire_prop_next(&r.m.props, &it, &p))
		CU_ASSERT_TRUE(p.which <= RDMA2_PROPID_BRS);
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	for (uint32_t i = 0; i < 4; i++) {
		wire_put_u32(rt_raw_begin(&r, RDMA2_X_INITXCH + i, 0x900 + i),
			     0);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(
			rt_raw_is_error(&r, 0x900 + i, RDMA2_ERR_INVAL_HTYPE));
		CU_ASSERT_EQUAL(r.msg_len, 20);
	}
	/* A property of it that could not be is unknown, and so no matter. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	p = (struct wire_prop){ RDMA2_PROPID_X_XCHSUPP, (const uint8_t *)"abc",
				3 };
	rt_raw_connprop(&r, true, &p, 1);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_close(&r);
}

/* A peer that knows nothing of it, or only halves, hears nothing. */
static void unaware(void)
{
	static const uint32_t supp[] = { 0, XCHSUPP_RESP,
					 XCHSUPP_UPD | XCHSUPP_REQ, 0xf0 };
	struct rt_conn_info i;
	struct wire_iter it;
	struct wire_prop p;
	struct rt_raw r;

	for (unsigned int k = 0; k < 8; k++) {
		bool found = false;

		it = (struct wire_iter){ 0 };
		if (k & 1)
			CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &on))
		else
			CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
		r.credits = 64;
		if (k & 1)
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		props(&r, true, supp[k / 2]);
		if (!(k & 1))
			CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		while (wire_prop_next(&r.m.props, &it, &p))
			if (p.which == RDMA2_PROPID_X_XCHSUPP) {
				found = true;
				CU_ASSERT_EQUAL(wire_prop_u32(&p, 0),
						XCHSUPP_ALL);
			}
		CU_ASSERT_TRUE(found);
		rt_raw_grant(&r);
		CU_ASSERT_TRUE(silent_while_idle(&r));
		rt_conn_info(k & 1 ? r.p.client : r.p.server, &i);
		CU_ASSERT_EQUAL(i.extensions, 0);
		CU_ASSERT_EQUAL(i.ours.recv_size, 4096);
		CU_ASSERT_EQUAL(i.ours.reverse, 0);
		rt_raw_close(&r);
	}
	/* Values that cannot be. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	r.credits = 64;
	p = (struct wire_prop){ RDMA2_PROPID_X_XCHSUPP, (const uint8_t *)"abc",
				3 };
	rt_raw_connprop(&r, false, &p, 1);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 0x7001, RDMA2_ERR_BAD_PROPVAL));
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	rt_raw_close(&r);
}

/* INITXCH: what it says, from either end, once. */
static void initial(void)
{
	const uint32_t v[3][2] = { { RDMA2_PROPID_RBSIZ, 1024 },
				   { 4711, 1 },
				   { RDMA2_PROPID_X_REQREMINV, 0 } };
	uint32_t xid = 100;
	struct rt_conn_info i;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_EQUAL(x.props.count, 5);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_SBSIZ, 65536));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 4096));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RSSIZ, 1048576));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RCSIZ, 16));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_X_REQREMINV, 1));
	CU_ASSERT_TRUE(lacks(RDMA2_PROPID_BRS));
	/* All but the size of Receives. */
	CU_ASSERT_EQUAL(word(&x.nochg, 0), 1 | 4 | 8 | 16);
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);
	/* Ours: it holds from then on, and nothing is said. */
	send_values(&r, RDMA2_X_INITXCH, 0, 3, v, 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 2, 20000), 1024);
	rt_conn_info(r.p.server, &i);
	CU_ASSERT_EQUAL(i.extensions, RT_EXT_XCHAR);
	CU_ASSERT_EQUAL(i.theirs.recv_size, 1024);
	CU_ASSERT_EQUAL(i.theirs.invalidate, RT_INVALIDATE_NO);
	/* A second one [X5]. */
	send_values(&r, RDMA2_X_INITXCH, 5, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 5, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_EQUAL(longest(&r, 3, 20000), 1024);
	/* What was marked as fixed changes all the same [X8]. */
	update(&r, 0, RDMA2_PROPID_RBSIZ, 2048, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 4, 20000), 2048);
	rt_raw_close(&r);

	/* A client, which says what it takes in the reverse direction. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_EQUAL(x.props.count, 6);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_BRS, RDMA2_RVRSDIR_NONE));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);

	/* To a peer that takes nothing else. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_INIT));
	CU_ASSERT_TRUE(silent_while_idle(&r));
	CU_ASSERT_FALSE(raises(&r, &xid));
	rt_raw_close(&r);
}

/* Too early, in the wrong place, malformed. */
static void misplaced(void)
{
	struct rt_raw r;
	uint8_t pay[128] = { 0 };

	/* Before the client's FINAL; nothing is broken by it. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	r.credits = 64;
	rt_raw_grant(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	send_values(&r, RDMA2_X_INITXCH, 7, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 7, RDMA2_ERR_INVAL_CONT));
	/* Between MIDDLE and FINAL. */
	props(&r, false, XCHSUPP_ALL);
	request(&r, 8, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 8, RDMA2_ERR_INVAL_CONT));
	props(&r, true, XCHSUPP_ALL);
	CU_ASSERT_TRUE(next_is(&r, RDMA2_X_INITXCH));
	/* Inside a continued message: it breaks that off [M5]. */
	rt_raw_payload(pay, 9, 8, 0, 0, 0);
	rt_raw_middle(&r, 9, false, 1000, pay, 64);
	update(&r, 10, RDMA2_PROPID_RBSIZ, 2048, false);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 10, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 9, RDMA2_ERR_INVAL_CONT));
	CU_ASSERT_EQUAL(longest(&r, 11, 20000), 4096);
	/* As the very first message of all. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	send_values(&r, RDMA2_X_INITXCH, 7, 0, NULL, 0);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 7, RDMA2_ERR_INVAL_CONT));
	props(&r, true, XCHSUPP_ALL);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(next_is(&r, RDMA2_X_INITXCH));
	rt_raw_close(&r);
}

static void malformed(void)
{
	static const struct {
		uint32_t htype, n, w[6], code;
	} rows[] = {
		{ RDMA2_X_REQXCH, 3, { 1, 2, 0x1000 }, RDMA2_ERR_BAD_PROPVAL },
		{ RDMA2_X_REQXCH,
		  4,
		  { 1, RDMA2_PROPID_X_REQREMINV, 4, 2 },
		  RDMA2_ERR_BAD_PROPVAL },
		{ RDMA2_X_REQXCH, 4, { 1, 2, 2, 0 }, RDMA2_ERR_BAD_PROPVAL },
		{ RDMA2_X_REQXCH, 0, { 0 }, RDMA2_ERR_BAD_XDR },
		{ RDMA2_X_INITXCH, 1, { 0 }, RDMA2_ERR_BAD_XDR },
		{ RDMA2_X_RESPXCH, 2, { 0, 0 }, RDMA2_ERR_BAD_XDR },
		{ RDMA2_X_UPDXCH, 3, { 2, 4, 2048 }, RDMA2_ERR_BAD_XDR },
		{ RDMA2_X_UPDXCH, 4, { 2, 4, 2048, 2 }, RDMA2_ERR_BAD_XDR },
	};
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct wire_enc *e = rt_raw_begin(&r, rows[i].htype, 0x500 + i);

		for (uint32_t k = 0; k < rows[i].n; k++)
			wire_put_u32(e, rows[i].w[k]);
		rt_raw_end(&r);
		CU_ASSERT_TRUE(rt_raw_is_error(&r, 0x500 + i, rows[i].code));
		CU_ASSERT_TRUE(rt_raw_silent(&r));
	}
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);
	/* [A13] */
	update(&r, 2, RDMA2_PROPID_RBSIZ, 512, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 3, 20000), 1024);
	rt_raw_close(&r);
}

/* ---- Requests of the peer --------------------------------------------- */

/* Every element has its answer, every request one [4.3]. */
static void requests(void)
{
	static const uint32_t v[7][2] = {
		{ RDMA2_PROPID_SBSIZ, 2048 },	 { RDMA2_PROPID_RBSIZ, 4096 },
		{ RDMA2_PROPID_BRS, 1 },	 { 4711, 4711 },
		{ RDMA2_PROPID_X_REQREMINV, 0 }, { RDMA2_PROPID_RBSIZ, 1023 },
		{ RDMA2_PROPID_RBSIZ, 1024 },
	};
	struct rt_config cfg = on;
	struct wire_enc *e;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	/* Of nothing. */
	send_values(&r, RDMA2_X_REQXCH, 0xaa, 0, NULL, 0);
	CU_ASSERT_TRUE(next_is(&r, RDMA2_X_RESPXCH));
	CU_ASSERT(x.p.xid == 0xaa && !word(&x.done, 0) && !word(&x.rej, 0) &&
		  !word(&x.pend, 0));
	/* As it is: done; below what is sent first: rejected; lower: done. */
	send_values(&r, RDMA2_X_REQXCH, 0xab, 7, v, 0);
	CU_ASSERT_TRUE(answered(&r, 0xab, 0x42, 0x3d, 0));
	CU_ASSERT_EQUAL(receives(&r), 1024);
	/* Zero length is the default, 4096: raised at once, since no Receive
	 * is ever shorter. */
	e = rt_raw_begin(&r, RDMA2_X_REQXCH, 0xac);
	wire_put_u32(e, 1);
	wire_put_u32(e, RDMA2_PROPID_RBSIZ);
	wire_put_u32(e, 0);
	rt_raw_end(&r);
	CU_ASSERT_TRUE(answered(&r, 0xac, 1, 0, 0));
	CU_ASSERT_EQUAL(receives(&r), 4096);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);

	cfg.recv_size = 8192;
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	/* As many as there may be, and one more. */
	for (uint32_t n = 512; n <= 513; n++) {
		e = rt_raw_begin(&r, RDMA2_X_REQXCH, n);
		wire_put_u32(e, n);
		for (uint32_t i = 0; i < n; i++) {
			wire_put_u32(e, 4711);
			wire_put_u32(e, 0);
		}
		rt_raw_end(&r);
		if (n == 513) {
			CU_ASSERT_TRUE(
				rt_raw_is_error(&r, n, RDMA2_ERR_SYSTEM));
			break;
		}
		CU_ASSERT_TRUE(next_is(&r, RDMA2_X_RESPXCH));
		CU_ASSERT_EQUAL(x.rej.nwords, 16);
		for (uint32_t i = 0; i < 512; i++)
			CU_ASSERT_EQUAL(wire_subset_test(x.rej.words,
							 x.rej.nwords, i),
					i < n);
	}
	rt_raw_close(&r);

	/* Whoever asks must be able to take the answer [M2]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_INIT));
	request(&r, 1, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(rt_raw_is_error(&r, 1, RDMA2_ERR_INVAL_HTYPE));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* A raise: pending until the last short Receive has been used [X6]. */
static void raised(void)
{
	uint32_t xid = 100;
	struct rt_raw r;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	request(&r, 1, RDMA2_PROPID_RBSIZ, 6000);
	CU_ASSERT_TRUE(answered(&r, 1, 0, 0, 1));
	/* While it is pending it cannot be asked for again [X7]. */
	request(&r, 2, RDMA2_PROPID_RBSIZ, 7000);
	CU_ASSERT_TRUE(answered(&r, 2, 0, 1, 0));
	request(&r, 3, RDMA2_PROPID_RBSIZ, 1024);
	CU_ASSERT_TRUE(answered(&r, 3, 0, 1, 0));
	CU_ASSERT_EQUAL(receives(&r), 4096);
	/* 9 were posted beside that of the request (the credits, and two);
	 * two of them have gone since. Each Call takes one. */
	n = calls_to_update(&r, &xid);
	CU_ASSERT_EQUAL(n, 7);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 6000));
	CU_ASSERT_TRUE(x.pendclr);
	CU_ASSERT_EQUAL(receives(&r), 6000);
	/* It may be relied on at once, for every message that may come. */
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(takes(&r, ++xid, 6000));
	/* Up to what is the most here, and that is said. */
	request(&r, 4, RDMA2_PROPID_RBSIZ, 100000);
	CU_ASSERT_TRUE(answered(&r, 4, 0, 0, 1));
	n = calls_to_update(&r, &xid);
	CU_ASSERT_EQUAL(n, 9);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 8192));
	CU_ASSERT_TRUE(x.pendclr);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(takes(&r, ++xid, 8192));
	/* No more than that. */
	request(&r, 5, RDMA2_PROPID_RBSIZ, 16384);
	CU_ASSERT_TRUE(answered(&r, 5, 0, 1, 0));
	/* Lower at once, and up again at once while long ones are there. */
	request(&r, 6, RDMA2_PROPID_RBSIZ, 4096);
	CU_ASSERT_TRUE(answered(&r, 6, 1, 0, 0));
	CU_ASSERT_EQUAL(receives(&r), 4096);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(takes(&r, ++xid, 4096));
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	/* By our own decision: nobody's request ends. */
	CU_ASSERT_TRUE(raises(&r, &xid));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 8192));
	CU_ASSERT_FALSE(x.pendclr);
	CU_ASSERT_EQUAL(receives(&r), 8192);
	rt_raw_close(&r);
}

/* A raise that has begun has its memory, whatever others take; without memory
 * none begins, and the connection goes on. */
static void no_memory(void)
{
	struct rt_config cfg = on;
	struct fab_buf *all[4096];
	struct fab_pool *pool;
	uint32_t xid = 100;
	unsigned int n = 0;
	struct rt_raw r;

	cfg.max_memory = RT_MIN(max_memory);
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	pool = rt_instance_pool(r.p.server_inst);
	request(&r, 1, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(answered(&r, 1, 0, 0, 1));
	for (size_t size = 4u << 20; size >= 4096; size /= 4)
		while (n < 4096 && (all[n] = fab_pool_get(pool, size)))
			n++;
	CU_ASSERT_TRUE(calls_to_update(&r, &xid) > 0);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 8192));
	rt_raw_flush(&r);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(takes(&r, ++xid, 8192));
	/* Lowered, longer ones serve where there are no shorter ones. */
	request(&r, 2, RDMA2_PROPID_RBSIZ, 4096);
	CU_ASSERT_TRUE(answered(&r, 2, 1, 0, 0));
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_TRUE(takes(&r, ++xid, 4096));
	request(&r, 3, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(answered(&r, 3, 0, 1, 0));
	while (n)
		fab_pool_put(all[--n]);
	request(&r, 4, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(answered(&r, 4, 0, 0, 1));
	CU_ASSERT_TRUE(calls_to_update(&r, &xid) > 0);
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 8192));
	rt_raw_close(&r);
}

/* Answers wait for credits, in order; whoever asks on and on is dropped. */
static void without_credits(void)
{
	struct rt_raw r;
	unsigned int n;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	r.credits = 0;
	for (uint32_t i = 0; i < 5; i++)
		request(&r, 0x10 + i, RDMA2_PROPID_RBSIZ, 4096);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	r.credits = 64;
	rt_raw_grant(&r);
	for (uint32_t i = 0; i < 5; i++)
		CU_ASSERT_TRUE(answered(&r, 0x10 + i, 1, 0, 0));
	r.credits = 0;
	r.p.watch.quiet = true;
	for (n = 0; n < 40 && !r.down; n++) {
		request(&r, 0x20 + n, RDMA2_PROPID_RBSIZ, 4096);
		rt_raw_run(&r);
	}
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(n <= 30);
	rt_raw_close(&r);
}

/* ---- Requests of ours ------------------------------------------------- */

static void asked_lower(void)
{
	struct rt_conn_info i;
	struct rt_raw r;
	uint32_t xid;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);
	/* From the moment of asking; rejected: as before (3.1). */
	CU_ASSERT_TRUE(asks_lower(&r));
	CU_ASSERT_TRUE(x.p.xid != 0);
	xid = x.p.xid;
	CU_ASSERT_EQUAL(longest(&r, 2, 20000), 1024);
	/* One at a time [X7]. */
	CU_ASSERT_TRUE(silent_while_idle(&r));
	/* Another XID answers nothing. */
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).dropped, 0);
	respond(&r, xid + 1, 0, 1, 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.server_inst).dropped, 1);
	CU_ASSERT_EQUAL(longest(&r, 3, 20000), 1024);
	respond(&r, xid, 0, 1, 0);
	CU_ASSERT_EQUAL(longest(&r, 4, 20000), 4096);
	/* Pending: kept, whatever is announced meanwhile, to the last. */
	CU_ASSERT_TRUE(asks_lower(&r));
	CU_ASSERT_TRUE(x.p.xid != xid);
	respond(&r, x.p.xid, 0, 0, 1);
	CU_ASSERT_EQUAL(longest(&r, 5, 20000), 1024);
	update(&r, 77, RDMA2_PROPID_RBSIZ, 8192, false);
	CU_ASSERT_EQUAL(longest(&r, 6, 20000), 1024);
	rt_conn_info(r.p.server, &i);
	CU_ASSERT_EQUAL(i.theirs.recv_size, 8192);
	/* Something else that ends is not this. */
	update(&r, 77, RDMA2_PROPID_RSSIZ, 65536, true);
	CU_ASSERT_EQUAL(longest(&r, 7, 20000), 1024);
	CU_ASSERT_TRUE(silent_while_idle(&r));
	update(&r, 0, RDMA2_PROPID_RBSIZ, 1024, true);
	CU_ASSERT_EQUAL(longest(&r, 8, 20000), 1024);
	update(&r, 0, RDMA2_PROPID_RBSIZ, 4096, false);
	CU_ASSERT_EQUAL(longest(&r, 9, 20000), 4096);
	/* Done; the old value back with pendclr is a rejection; more than was
	 * asked for, in part. */
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 1, 0, 0);
	CU_ASSERT_EQUAL(longest(&r, 10, 20000), 1024);
	rt_conn_info(r.p.server, &i);
	CU_ASSERT_EQUAL(i.theirs.recv_size, 1024);
	/* It need not be asked for again. */
	CU_ASSERT_TRUE(silent_while_idle(&r));
	update(&r, 0, RDMA2_PROPID_RBSIZ, 2000, false);
	CU_ASSERT_EQUAL(longest(&r, 11, 20000), 2000);
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 0, 0, 1);
	update(&r, 0, RDMA2_PROPID_RBSIZ, 2000, true);
	CU_ASSERT_EQUAL(longest(&r, 12, 20000), 2000);
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 0, 0, 1);
	update(&r, 0, RDMA2_PROPID_RBSIZ, 1500, true);
	CU_ASSERT_EQUAL(longest(&r, 13, 20000), 1500);
	/* Subsets that overlap, or say nothing: rejected [X8], but it may be
	 * so low now; until there is something clear. */
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 1, 0, 1);
	CU_ASSERT_EQUAL(longest(&r, 14, 20000), 1024);
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 2, 0, 0);
	CU_ASSERT_EQUAL(longest(&r, 15, 20000), 1024);
	update(&r, 0, RDMA2_PROPID_RBSIZ, 1500, false);
	CU_ASSERT_EQUAL(longest(&r, 16, 20000), 1500);
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 1, 1, 0);
	CU_ASSERT_EQUAL(longest(&r, 17, 20000), 1024);
	CU_ASSERT_TRUE(asks_lower(&r));
	respond(&r, x.p.xid, 0, 1, 0);
	CU_ASSERT_EQUAL(longest(&r, 18, 20000), 1500);
	rt_raw_close(&r);
}

static void asked_higher(void)
{
	uint32_t xid = 100;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_TRUE(asks_higher(&r, &xid));
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 4096);
	respond(&r, x.p.xid, 0, 0, 1);
	CU_ASSERT_EQUAL(longest(&r, 2, 20000), 4096);
	update(&r, 0, RDMA2_PROPID_RBSIZ, 6000, false);
	CU_ASSERT_EQUAL(longest(&r, 3, 20000), 6000);
	/* Still open: no other goes. */
	CU_ASSERT_FALSE(asks_higher(&r, &xid));
	CU_ASSERT_TRUE(silent_while_idle(&r));
	update(&r, 0, RDMA2_PROPID_RBSIZ, 8192, true);
	CU_ASSERT_EQUAL(longest(&r, 4, 20000), 8192);
	CU_ASSERT_TRUE(asks_lower(&r));
	CU_ASSERT_EQUAL(longest(&r, 5, 20000), 1024);
	respond(&r, x.p.xid, 0, 1, 0);
	CU_ASSERT_EQUAL(longest(&r, 6, 20000), 8192);
	rt_raw_close(&r);
}

/* INVAL_HTYPE ends it for the connection; other errors only the request. */
static void refused(void)
{
	struct rt_conn_info i;
	struct rt_raw r;
	uint32_t xid;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_TRUE(asks_lower(&r));
	CU_ASSERT_EQUAL(longest(&r, 1, 20000), 1024);
	rt_raw_error(&r, x.p.xid, RDMA2_ERR_SYSTEM);
	CU_ASSERT_EQUAL(longest(&r, 2, 20000), 4096);
	CU_ASSERT_TRUE(asks_lower(&r));
	rt_raw_error(&r, x.p.xid, RDMA2_ERR_INVAL_HTYPE);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(longest(&r, 3, 20000), 4096);
	rt_conn_info(r.p.server, &i);
	CU_ASSERT_EQUAL(i.extensions, 0);
	CU_ASSERT_TRUE(silent_while_idle(&r));
	xid = 100;
	CU_ASSERT_FALSE(raises(&r, &xid));
	CU_ASSERT_FALSE(asks_higher(&r, &xid));
	rt_raw_close(&r);

	/* In answer to INITXCH, amid a raise. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	xid = x.p.xid;
	request(&r, 1, RDMA2_PROPID_RBSIZ, 8192);
	CU_ASSERT_TRUE(answered(&r, 1, 0, 0, 1));
	rt_raw_error(&r, xid, RDMA2_ERR_INVAL_HTYPE);
	for (uint32_t n = 0; n < 20; n++)
		CU_ASSERT_EQUAL(longest(&r, 10 + n, 100), 120);
	CU_ASSERT_EQUAL(receives(&r), 4096);
	/* An ERROR for something else ends nothing. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	rt_raw_error(&r, x.p.xid + 1000, RDMA2_ERR_INVAL_HTYPE);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(asks_lower(&r));
	rt_raw_close(&r);
}

/* ---- Other characteristics -------------------------------------------- */

/* A Call with a Write chunk and a handle that may be invalidated. */
static bool invalidates(struct rt_raw *r, uint32_t xid)
{
	struct wire_segment seg = rt_raw_expose(r, 0, 4096, true);
	struct wire_chunk_desc w = { &seg, 1 };
	struct wire_call_desc d = { .writes = &w,
				    .nwrites = 1,
				    .inv_handle = seg.handle };

	rt_raw_call(r, xid, &d, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(r, xid));
	return r->invalidated;
}

/* What the peer says of remote invalidation [M4]. */
static void invalidation(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	/* Never said: each Call says for itself. */
	CU_ASSERT_TRUE(invalidates(&r, 1));
	update(&r, 0, RDMA2_PROPID_X_REQREMINV, 0, false);
	CU_ASSERT_FALSE(invalidates(&r, 2));
	update(&r, 0, RDMA2_PROPID_X_REQREMINV, 1, false);
	CU_ASSERT_TRUE(invalidates(&r, 3));
	rt_raw_close(&r);

	/* Off, the property is an unknown one. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	r.credits = 64;
	rt_raw_prop(&r, true, RDMA2_PROPID_X_REQREMINV, 0);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
	CU_ASSERT_TRUE(invalidates(&r, 1));
	rt_raw_close(&r);
}

/* Whether our Calls offer a handle is what we say. */
static void own_invalidation(void)
{
	struct rt_config cfg = on;
	struct rt_rpc rpc;
	struct rt_raw r;

	for (uint32_t offered = 0; offered < 2; offered++) {
		cfg.no_remote_invalidation = !offered;
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
		CU_ASSERT_TRUE(has(RDMA2_PROPID_X_REQREMINV, offered));
		rt_rpc_init(&r.p, r.p.client, &rpc, 10, 0, false, 64, 1, 5000,
			    1, 5000);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
		CU_ASSERT_EQUAL(r.m.inv_handle != 0, offered);
		rt_raw_reply(&r, rpc.xid, NULL, NULL, 0);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		rt_rpc_free(&rpc);
		rt_raw_close(&r);
	}
}

/* A client's level of the reverse direction changes. */
static void reverse(void)
{
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &on));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_TRUE(rt_conn_can_call(r.p.server));
	/* A Call that has not gone when the level sinks comes back. */
	r.credits = 0;
	rt_rpc_init(&r.p, r.p.server, &rpc, 50, 0, false, 64, 0, 0, 0, 0);
	request(&r, 9, RDMA2_PROPID_RBSIZ, 4096);
	rt_raw_flush(&r);
	rt_rpc_submit(r.p.server, &rpc);
	rt_raw_run(&r);
	update(&r, 0, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_NONE, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rpc.done);
	CU_ASSERT_EQUAL(rpc.rq->status, -EOPNOTSUPP);
	rt_rpc_free(&rpc);
	CU_ASSERT_FALSE(rt_conn_can_call(r.p.server));
	r.credits = 64;
	update(&r, 0, RDMA2_PROPID_BRS, RDMA2_RVRSDIR_CONT, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(rt_conn_can_call(r.p.server));
	rt_raw_close(&r);
}

/* ---- Policy ----------------------------------------------------------- */

/* A client that is idle, and a server whose Receives are long. */
static void idle(void)
{
	struct rt_config cfg = on;
	struct rt_raw r;

	cfg.idle_recv_size = 1024;
	cfg.idle_recv_ms = 30;
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(greet(&r, XCHSUPP_ALL));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.queued));
	CU_ASSERT_TRUE(next_is(&r, RDMA2_X_REQXCH));
	CU_ASSERT_TRUE(has(RDMA2_PROPID_RBSIZ, 1024));
	/* It is asked once, whatever the answer. */
	respond(&r, x.p.xid, 0, 1, 0);
	for (int i = 0; i < 10; i++)
		rt_raw_nap(&r);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "off", off },
	{ "unaware", unaware },
	{ "initial", initial },
	{ "misplaced", misplaced },
	{ "malformed", malformed },
	{ "requests", requests },
	{ "raised", raised },
	{ "no memory", no_memory },
	{ "without credits", without_credits },
	{ "asked lower", asked_lower },
	{ "asked higher", asked_higher },
	{ "refused", refused },
	{ "invalidation", invalidation },
	{ "own invalidation", own_invalidation },
	{ "reverse", reverse },
	{ "idle", idle },
	{ NULL, NULL },
};

UNIT_MAIN("transport-xchar", tests)
