/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication over the loop provider, against a peer that sends
 * any tokens, whole and in parts, and any other messages between them
 *
 * The input is a script: three octets of settings, then steps. A step sends a
 * token or some octets of one, properties, Calls, Replies, ERRORs or any
 * octets, settles what the next step of the mechanism gives, holds the
 * mechanism up or lets it go on, moves the clock, ends or breaks the
 * connection, or makes a new one. The pool of threads is the real one; what is
 * behind the operations of an authenticator is in auth_mech.c.
 *
 * What must hold, beside the rules that rt_watch knows:
 * - with the policy required nothing is taken from or sent to whoever is not
 *   known, and the connection does not come up;
 * - with optional the connection of a peer that has begun, and is not known,
 *   does not come up;
 * - with none the mechanism is never asked;
 * - a peer has a name in the statistics if, and only if, the mechanism gave one;
 * - when the connections have ended, no exchange and no memory is left.
 */
#include <sched.h>

#include "auth_jobs.h"
#include "auth_mech.h"
#include "test_clock.h"
#include "transport_upper.h"

#define SET_SERVER 0x01u /* the peer is the server */
#define SET_GREET 0x02u /* begin with properties */

struct fuzz {
	struct rt_raw r;
	struct upper u;
	enum rt_auth_policy policy;
	bool server; /* the peer is */
	uint32_t xid, last_own;
	/* Of this connection. */
	unsigned int calls, reverse;
	bool was_up;
};

static struct rt_conn *conn(struct fuzz *f)
{
	return f->server ? f->r.p.client : f->r.p.server;
}

/* ---- What must hold ----------------------------------------------------- */

static void check(struct fuzz *f)
{
	struct rt_pair *p = &f->r.p;
	bool up = f->server ? p->client_up : p->server_up;
	struct mech_state m = mech_state();
	struct rt_conn *c = conn(f);

	FUZZ_CHECK(f->policy != RT_AUTH_NONE || !m.starts);
	if (c) {
		struct rt_conn_info info;

		rt_conn_info(c, &info);
		FUZZ_CHECK(!*info.auth_peer || m.passed);
		FUZZ_CHECK(f->policy != RT_AUTH_REQUIRED ||
			   info.version != WIRE_VERS1);
	}
	if (m.passed)
		return;
	FUZZ_CHECK(!up || f->policy != RT_AUTH_REQUIRED);
	FUZZ_CHECK(!up || f->was_up || !m.tokens);
	FUZZ_CHECK(f->policy != RT_AUTH_REQUIRED ||
		   (p->calls == f->calls && p->reverse_calls == f->reverse));
	f->was_up = up;
}

static void sent_by_transport(struct fuzz *f)
{
	const struct wire_msg *m = &f->r.m;
	struct wire_prefix p;

	if (!wire_prefix_decode(f->r.msg, f->r.msg_len, &p))
		return;
	if (p.htype == RDMA2_CONNPROP_MIDDLE || p.htype == RDMA2_CONNPROP_FINAL)
		f->last_own = p.xid;
	if (f->policy != RT_AUTH_REQUIRED || mech_state().passed)
		return;
	/* The number is the same in all versions; others get nothing else. */
	if (p.htype == RDMA2_ERROR)
		return;
	FUZZ_CHECK(p.vers == WIRE_VERS2 && f->r.status == WIRE_OK);
	FUZZ_CHECK(m->role != WIRE_CALL && m->role != WIRE_REPLY);
}

/*
 * Until nothing moves. A step of the mechanism is made by a thread of the
 * pool: wait until it is there, or until its result has been taken.
 */
static void settle(struct fuzz *f)
{
	rt_raw_run(&f->r);
	while (!mech_holds(auth_jobs())) {
		sched_yield();
		rt_raw_run(&f->r);
	}
	check(f);
}

static void take_messages(struct fuzz *f, unsigned int n)
{
	while (n-- && f->r.first && rt_raw_more(&f->r))
		sent_by_transport(f);
}

/* ---- What goes ---------------------------------------------------------- */

/* A value of property 6 with these octets. */
static void put_value(struct wire_prop *to, uint8_t *value, const uint8_t *p,
		      size_t n)
{
	memset(value, 0, 4 + n + 3);
	fuzz_put32(value, (uint32_t)n);
	if (n)
		memcpy(value + 4, p, n);
	*to = (struct wire_prop){ RDMA2_PROPID_HOSTAUTH, value,
				  (uint32_t)(4 + n + (-n & 3)) };
}

static void send_part(struct fuzz *f, const uint8_t *p, size_t n, bool final)
{
	static uint8_t value[RAW_RECV_SIZE];
	struct wire_prop prop;

	put_value(&prop, value, p, n);
	mech_expect(p, n);
	rt_raw_connprop(&f->r, final, &prop, 1);
}

/* Go on as long as there are credits; the rest is lost. */
static void send_parts(struct fuzz *f, const uint8_t *p, size_t len,
		       size_t step)
{
	for (size_t at = 0; at < len && !f->r.down; at += step) {
		if ((int32_t)(f->r.limit - f->r.sent) <= 0) {
			settle(f);
			take_messages(f, RAW_RECVS);
		}
		if ((int32_t)(f->r.limit - f->r.sent) <= 0) {
			mech_expect_nothing();
			return;
		}
		send_part(f, p + at, step < len - at ? step : len - at, false);
	}
}

/* A token as it should be: of a kind, a length, in parts. */
static void send_token(struct fuzz *f, struct fuzz_in *in, bool odd)
{
	static const uint32_t lens[] = { 0,    4,    44,    100,   901,
					 1000, 4096, 20001, 65536, 65537 };
	static const uint32_t steps[] = { 4, 5, 8, 13, 100, 400, 1000, 4000 };
	static uint8_t token[8 + 65540];
	uint8_t a = fuzz_u8(in), b = fuzz_u8(in);
	uint32_t len = lens[a % 10], said = len;
	size_t whole, step = steps[b & 7];

	if (odd) {
		len = fuzz_u8(in) * 4u;
		said = b & 8 ? fuzz_u32(in) : len + (b >> 6) - 1;
	}
	/* As many messages as anybody needs to be sure. */
	if (len > 2000 && step < 1000)
		step = 4000;
	memset(token, b, sizeof(token));
	fuzz_put32(token, (b >> 4 & 3u) == 3 ? RT_AUTH_REFUSAL : b >> 4 & 3u);
	fuzz_put32(token + 4, said);
	whole = 8 + len + (-len & 3);
	memset(token + 8 + len, 0, -len & 3);
	if (whole > 400 && step < 100)
		step = 400;
	send_parts(f, token, whole, step);
}

/* Any octets of any number of tokens, in one or two values of a message. */
static void send_octets(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	static uint8_t value[2][300];
	struct wire_prop p[2];
	const uint8_t *b;
	size_t n;

	b = fuzz_take(in, fuzz_u8(in), &n);
	put_value(&p[0], value[0], b, n);
	mech_expect(b, n);
	if (op & 0x20) {
		b = fuzz_take(in, fuzz_u8(in), &n);
		put_value(&p[1], value[1], b, n);
		mech_expect(b, n);
	}
	rt_raw_connprop(&f->r, op & 0x10, p, op & 0x20 ? 2 : 1);
}

/* Properties of any length and value, 6 among them. */
static void send_props(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	static const uint32_t values[] = {
		0, 1, 1024, 1020, 4096, 8192, 65536, 8, 4, 0xffffffff
	};
	struct wire_prop p[8];
	uint8_t raw[8][8];
	unsigned int n = op >> 5;

	for (unsigned int i = 0; i < n; i++) {
		uint8_t which = fuzz_u8(in);

		fuzz_put32(raw[i], values[fuzz_u8(in) % 10]);
		fuzz_put32(raw[i] + 4, 0);
		p[i] = (struct wire_prop){ which % 8, raw[i],
					   which & 0x80 ? which >> 4 & 7 : 4 };
		/* Parts of a token, perhaps, and perhaps of none at all. */
		if (p[i].which == RDMA2_PROPID_HOSTAUTH || (which & 0x80))
			mech_expect_nothing();
		if (p[i].which < 3 && fuzz_get32(raw[i]) < 1024)
			mech_expect_nothing();
	}
	rt_raw_connprop(&f->r, op & 0x10, p, n);
}

static void send_rpc(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	uint8_t payload[256] = { 0 };
	uint32_t xid = ++f->xid;
	size_t n = 8 + 4 * (fuzz_u8(in) & 31);

	fuzz_put32(payload, xid);
	switch (op >> 4 & 3) {
	case 0:
		rt_raw_call(&f->r, xid, NULL, NULL, 8);
		break;
	case 1:
		fuzz_put32(payload + 4, 1);
		rt_raw_reply(&f->r, xid, NULL, payload, n);
		break;
	default:
		fuzz_put32(payload + 4, op >> 4 & 1);
		rt_raw_middle(&f->r, xid, op & 0x10, fuzz_u8(in) * 4u, payload,
			      n);
		break;
	}
}

static void send_any(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	struct wire_prefix p = { 0 };
	const uint8_t *b;
	size_t n;

	mech_expect_nothing();
	wire_enc_init(&f->r.enc, f->r.send_buf, RAW_RECV_SIZE);
	if (op & 0x10) {
		p.xid = op & 0x20 ? f->last_own : ++f->xid;
		p.vers = op & 0x40 ? fuzz_u8(in) : WIRE_VERS2;
		p.credit = rt_raw_credit(&f->r);
		p.htype = fuzz_u8(in);
		wire_put_prefix(&f->r.enc, &p);
	}
	b = fuzz_take(in, fuzz_u8(in), &n);
	memcpy(f->r.send_buf + f->r.enc.len, b, n);
	rt_raw_send(&f->r, f->r.send_buf, f->r.enc.len + n);
}

/* ---- Steps -------------------------------------------------------------- */

static void begin(struct fuzz *f)
{
	mech_begin();
	f->r.p.client_up = f->r.p.server_up = false;
	f->calls = f->r.p.calls;
	f->reverse = f->r.p.reverse_calls;
	f->was_up = false;
}

static void new_connection(struct fuzz *f)
{
	mech_hold(false);
	settle(f);
	if (f->r.p.client || f->r.p.server)
		return;
	begin(f);
	rt_raw_again(&f->r);
}

static void end(struct fuzz *f, uint8_t op)
{
	struct rt_conn *c = conn(f);

	if (!c)
		return;
	switch (op >> 4 & 3) {
	case 0:
		loop_break(f->r.fab, -ECONNRESET);
		break;
	case 1:
		fab_disconnect(f->r.fab, op & 0x40);
		break;
	default:
		rt_conn_close(c, op & 0x10);
		break;
	}
}

static void step(struct fuzz *f, struct fuzz_in *in)
{
	static const uint32_t ms[] = { 100,  600,   1100,  3100,
				       5100, 11000, 31000, 61000 };
	uint8_t op = fuzz_u8(in);

	switch (op & 15) {
	case 0:
	case 1:
		send_token(f, in, op & 0x10);
		break;
	case 2:
	case 3:
		send_octets(f, in, op);
		break;
	case 4:
		send_props(f, in, op);
		break;
	case 5:
		send_rpc(f, in, op);
		break;
	case 6:
		send_any(f, in, op);
		break;
	case 7:
		rt_raw_error(&f->r, op & 0x80 ? f->last_own : f->xid,
			     op >> 4 & 7);
		break;
	case 8:
		rt_raw_grant(&f->r);
		break;
	case 9:
		mech_plan(fuzz_u8(in));
		break;
	case 10:
		mech_hold(op & 0x10);
		break;
	case 11:
		take_messages(f, 1 + (op >> 4));
		break;
	case 12:
		test_clock_pass(ms[op >> 4 & 7]);
		break;
	case 13:
		f->r.credits = op >> 4 == 15 ? RAW_RECVS : op >> 4;
		break;
	case 14:
		if (op & 0x80)
			upper_answer(&f->r.p, in);
		else
			upper_call(&f->u, &f->r.p, in);
		break;
	default:
		if (op & 0x80)
			new_connection(f);
		else
			end(f, op);
		break;
	}
	settle(f);
	while (f->r.p.nheld > 100)
		upper_answer(&f->r.p, in);
}

static struct rt_config settings(uint8_t a, enum rt_auth_policy policy)
{
	struct rt_config cfg = {
		.auth = policy,
		.credits = a & 3 ? 0 : 2,
		.auth_ms = a & 4 ? 0 : 2000,
		.reverse = a >> 3 & 3,
		.max_message = 65536,
		.request_user_size = sizeof(void *),
	};

	if (a & 0x20)
		cfg.recv_size = 1024;
	if (a & 0x40) {
		cfg.max_conn_memory = 65536;
		cfg.max_host_memory = 65536;
	}
	/* Who needs version 2 does not speak 1 alone. */
	if (a & 0x80)
		cfg.versions = 1u << WIRE_VERS2;
	return cfg;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct fuzz *f = calloc(1, sizeof(*f));
	uint8_t set = fuzz_u8(&in);
	struct rt_config cfg;
	bool up;

	FUZZ_CHECK(f);
	f->policy = (set >> 4 & 3) == 3 ? RT_AUTH_REQUIRED :
					  (enum rt_auth_policy)(set >> 4 & 3);
	f->server = set & SET_SERVER;
	f->xid = 0x100;
	mech_open(f->server);
	mech_plan(fuzz_u8(&in));
	cfg = settings(fuzz_u8(&in), f->policy);
	begin(f);
	up = f->server ? rt_raw_server(&f->r, &cfg) :
			 rt_raw_client(&f->r, &cfg);
	FUZZ_CHECK(up);
	f->r.p.hold = true;
	f->r.credits = RAW_RECVS - 4;
	settle(f);
	if (set & SET_GREET)
		rt_raw_prop(&f->r, set & 4, RDMA2_PROPID_RBSIZ, 4096);
	for (int i = 0; i < 60 && in.left; i++)
		step(f, &in);
	/* The end, by the peer, while a step is held up, or not. */
	if (set & 8)
		mech_hold(false);
	settle(f);
	if (conn(f))
		rt_conn_close(conn(f), set & 0x80);
	settle(f);
	fab_disconnect(f->r.fab, true);
	settle(f);
	while (f->r.p.nheld)
		upper_answer(&f->r.p, &in);
	settle(f);
	FUZZ_CHECK(!f->r.p.client && !f->r.p.server);
	upper_check(&f->u);
	/* The instance waits for what is being made. */
	mech_hold(false);
	rt_raw_close(&f->r);
	mech_close();
	free(f);
	return 0;
}
