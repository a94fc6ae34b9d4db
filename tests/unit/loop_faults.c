/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop provider: each fault does what loop.h says, and only that. */
#include "loop_util.h"

static void end_faults(struct end *e, struct loop_faults f)
{
	loop_set_conn_faults(e->c, &f);
}

/* A post is refused: nothing of its chain is taken, and the next one works. */
static void test_refuse_post(void)
{
	struct world *w = world_connect();
	struct req r[3], s[2];

	end_faults(&w->a, (struct loop_faults){ .refuse_post = 2 });
	CU_ASSERT_EQUAL(end_recv(&w->p, 5, 100), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[0], "1"), 0);
	req_init(&s[0], FAB_SEND, "no", 2);
	req_init(&s[1], FAB_SEND, "no", 2);
	s[0].wr.next = &s[1].wr;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &s[0].wr), -ENOMEM);
	CU_ASSERT_PTR_EQUAL(s[0].wr.next, &s[1].wr);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[1], "2"), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, 2);
	CU_ASSERT_EQUAL(w->p.n, 2);
	end_faults(&w->a, (struct loop_faults){ .refuse_post = 4,
						.refuse_error = -ENOTCONN });
	CU_ASSERT_EQUAL(end_send(&w->a, &r[2], "3"), -ENOTCONN);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[2], "3"), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->p.n, 3);
	CU_ASSERT_FALSE(w->a.ended);
	world_close(w);
}

static void test_fail_request(void)
{
	struct world *w = world_connect();
	struct req r[4];

	end_faults(&w->a, (struct loop_faults){ .fail_request = 3 });
	CU_ASSERT_EQUAL(end_recv(&w->a, 1, 10), 0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 5, 10), 0);
	for (int i = 0; i < 4; i++) {
		req_init(&r[i], FAB_SEND, "x", 1);
		r[i].wr.flags = 0;
		if (i)
			r[i - 1].wr.next = &r[i].wr;
	}
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	w->a.touched = true;
	pump(w);
	CU_ASSERT_PTR_NULL(end_wc(&w->a, &r[0].wr));
	CU_ASSERT_PTR_NULL(end_wc(&w->a, &r[1].wr));
	CU_ASSERT_TRUE(end_done(&w->a, &r[2].wr, FAB_ERROR));
	CU_ASSERT_TRUE(end_done(&w->a, &r[3].wr, FAB_FLUSHED));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_FLUSHED));
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[1], FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[2], FAB_FLUSHED));
	CU_ASSERT_TRUE(w->a.ended && w->p.ended);
	CU_ASSERT_EQUAL(w->a.error, -EIO);
	CU_ASSERT_EQUAL(w->p.error, -ECONNRESET);
	world_close(w);
}

static void test_break_messages(void)
{
	struct world *w = world_connect();
	struct req r[3], s[3];

	end_faults(&w->p, (struct loop_faults){ .break_after_messages = 2 });
	CU_ASSERT_EQUAL(end_recv(&w->a, 5, 10), 0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 5, 10), 0);
	/* The other end's messages do not count. */
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(end_send(&w->a, &s[i], "x"), 0);
	CU_ASSERT_EQUAL(end_send(&w->p, &r[0], "x"), 0);
	CU_ASSERT_EQUAL(end_send(&w->p, &r[1], "x"), 0);
	CU_ASSERT_EQUAL(end_send(&w->p, &r[2], "x"), -ENOTCONN);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->p, &r[1].wr, FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[1], FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[2], FAB_FLUSHED));
	CU_ASSERT_EQUAL(w->a.error, -ECONNRESET);
	CU_ASSERT_EQUAL(w->p.error, -ECONNRESET);
	world_close(w);
}

/* Cut within a Write: what came before the cut is there, the rest is not. */
static void test_break_octets_write(void)
{
	static uint8_t mem[200], src[200];
	struct world *w = world_connect();
	struct fab_mr *mr;
	struct req r, s;
	uint32_t h;
	uint64_t off;

	memset(mem, 0, sizeof(mem));
	memset(src, 5, sizeof(src));
	CU_ASSERT_EQUAL(fab_reg(w->dom, mem, 200, &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 200, FAB_REMOTE_WRITE, &h,
				   &off),
			0);
	end_faults(&w->a, (struct loop_faults){ .break_after_octets = 110 });
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &s, "0123456789"), 0);
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r, FAB_WRITE, src, 200, h, off), 0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[0], FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &r.wr, FAB_ERROR));
	CU_ASSERT_TRUE(w->a.ended && w->p.ended);
	CU_ASSERT_EQUAL(mem[99], 5);
	CU_ASSERT_EQUAL(mem[100], 0);
	fab_unexpose(w->p.c, h, NULL);
	fab_dereg(mr);
	world_close(w);
}

/* A Read counts for the end that gives the data. */
static void test_break_octets_read(void)
{
	static uint8_t mem[200], dst[200];
	struct world *w = world_connect();
	struct fab_mr *mr;
	struct req r;
	uint32_t h;
	uint64_t off;

	memset(mem, 5, sizeof(mem));
	memset(dst, 0, sizeof(dst));
	CU_ASSERT_EQUAL(fab_reg(w->dom, mem, 200, &mr), 0);
	CU_ASSERT_EQUAL(
		fab_expose(w->p.c, mr, mem, 200, FAB_REMOTE_READ, &h, &off), 0);
	end_faults(&w->a, (struct loop_faults){ .break_after_octets = 10 });
	end_faults(&w->p, (struct loop_faults){ .break_after_octets = 150 });
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r, FAB_READ, dst, 200, h, off), 0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r.wr, FAB_ERROR));
	CU_ASSERT_EQUAL(dst[149], 5);
	CU_ASSERT_EQUAL(dst[150], 0);
	CU_ASSERT_TRUE(w->a.ended && w->p.ended);
	fab_unexpose(w->p.c, h, NULL);
	fab_dereg(mr);
	world_close(w);
}

/* Of a Send that is cut nothing arrives; one that just fits does. */
static void test_break_octets_send(void)
{
	for (int fits = 0; fits < 2; fits++) {
		struct world *w = world_connect();
		struct req r;

		end_faults(&w->a, (struct loop_faults){ .break_after_octets =
								fits ? 5 : 4 });
		CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), 0);
		CU_ASSERT_EQUAL(end_send(&w->a, &r, "12345"), 0);
		pump(w);
		CU_ASSERT_TRUE(
			end_done(&w->a, &r.wr, fits ? FAB_OK : FAB_ERROR));
		CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[0],
					fits ? FAB_OK : FAB_FLUSHED));
		CU_ASSERT_EQUAL(w->p.mem[0][0], fits ? '1' : 0);
		CU_ASSERT_EQUAL(w->a.error, -ECONNRESET);
		CU_ASSERT_EQUAL(w->p.error, -ECONNRESET);
		world_close(w);
	}
}

static void test_break_now(void)
{
	struct world *w = world_connect();

	CU_ASSERT_EQUAL(end_recv(&w->a, 2, 10), 0);
	loop_break(w->p.c, -ENETDOWN);
	loop_break(w->p.c, -EIO);
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, 3);
	CU_ASSERT_EQUAL(w->a.error, -ENETDOWN);
	CU_ASSERT_EQUAL(w->p.error, -ENETDOWN);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_END), 1);
	CU_ASSERT_PTR_NULL(event(w, LOOP_EV_END, 0)->from);
	world_close(w);
}

static void test_connects(void)
{
	struct loop_faults reject = { .reject_connects = true };
	struct loop_faults ignore = { .ignore_connects = true };
	struct fab_domain_params dp = { .startup_timeout_ms = 1 };
	struct world *w = world_open(NULL);

	loop_set_faults(w->dom, LOOP_ACTIVE, &reject);
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_TRUE(w->a.ended);
	CU_ASSERT_EQUAL(w->a.error, -ECONNREFUSED);
	CU_ASSERT_EQUAL(w->requests, 0);
	world_close(w);

	w = world_open(&dp);
	loop_set_faults(w->dom, LOOP_ACTIVE, &ignore);
	world_listen(w);
	world_start(w, NULL);
	while (!w->a.ended) {
		fab_poller_run(w->poller, -1);
		drain(&w->a);
	}
	CU_ASSERT_EQUAL(w->a.error, -ETIMEDOUT);
	CU_ASSERT_EQUAL(w->requests, 0);
	world_close(w);

	/* Ignored, and given up by the caller. */
	w = world_open(NULL);
	loop_set_faults(w->dom, LOOP_ACTIVE | LOOP_PASSIVE, &ignore);
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, 0);
	fab_disconnect(w->a.c, false);
	pump(w);
	CU_ASSERT_TRUE(w->a.ended);
	CU_ASSERT_EQUAL(w->a.error, -ECONNABORTED);
	/* Without the fault, the next one works. */
	fab_conn_destroy_deferred(w->a.c, NULL, NULL);
	memset(&w->a, 0, sizeof(w->a));
	loop_set_faults(w->dom, LOOP_ACTIVE, NULL);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_TRUE(w->a.established);
	world_close(w);
}

/* ---- Tampering ------------------------------------------------------- */

struct tamper {
	unsigned long at;
	enum { CHANGE, SHORTEN, LENGTHEN, REPLACE, INVALIDATE } how;
	uint32_t handle;
	unsigned int calls;
};

static void tamper(void *ctx, struct loop_message *m)
{
	struct tamper *t = ctx;

	t->calls++;
	if (m->n != t->at)
		return;
	switch (t->how) {
	case CHANGE:
		m->data[0] ^= 0xff;
		break;
	case SHORTEN:
		m->len = 2;
		break;
	case LENGTHEN:
		memset(m->data + m->len, 'z', 3);
		m->len += 3;
		break;
	case REPLACE:
		memcpy(m->data, "quite another", 13);
		m->len = 13;
		break;
	case INVALIDATE:
		m->invalidate = true;
		m->inv_handle = t->handle;
		break;
	}
}

static void test_tamper(void)
{
	static const char *want[] = { "\x97"
				      "ello",
				      "he", "hellozzz", "quite another" };

	for (int how = CHANGE; how <= REPLACE; how++) {
		struct tamper t = { .at = 2 };
		struct world *w = world_connect();
		struct req r[3];
		size_t len = strlen(want[how]);

		memcpy(&t.how, &how, sizeof(t.how));
		end_faults(&w->a, (struct loop_faults){ .tamper = tamper,
							.tamper_ctx = &t });
		CU_ASSERT_EQUAL(end_recv(&w->p, 3, 100), 0);
		for (int i = 0; i < 3; i++)
			CU_ASSERT_EQUAL(end_send(&w->a, &r[i], "hello"), 0);
		pump(w);
		CU_ASSERT_EQUAL(t.calls, 3);
		CU_ASSERT_EQUAL(w->p.n, 3);
		CU_ASSERT_EQUAL(memcmp(w->p.mem[0], "hello", 5), 0);
		CU_ASSERT_EQUAL(end_wc(&w->p, &w->p.wr[1])->len, len);
		CU_ASSERT_EQUAL(memcmp(w->p.mem[1], want[how], len), 0);
		CU_ASSERT_EQUAL(memcmp(w->p.mem[2], "hello", 5), 0);
		CU_ASSERT_EQUAL(event(w, LOOP_EV_SEND, 1)->len, len);
		world_close(w);
	}
}

/* The rules hold for what was made of a message. */
static void test_tamper_rules(void)
{
	static uint8_t mem[10];
	struct tamper t = { .at = 1, .how = LENGTHEN };
	struct loop_faults f = { .tamper = tamper, .tamper_ctx = &t };
	struct world *w = world_connect();
	struct fab_mr *mr;
	uint64_t off;
	struct req r;

	end_faults(&w->a, f);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 5), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r, "hello"), 0);
	pump(w);
	CU_ASSERT_TRUE(w->p.ended);
	CU_ASSERT_EQUAL(w->p.error, -EPROTO);
	world_close(w);

	t.how = INVALIDATE;
	w = world_connect();
	end_faults(&w->a, f);
	CU_ASSERT_EQUAL(fab_reg(w->dom, mem, 10, &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 10, FAB_REMOTE_READ,
				   &t.handle, &off),
			0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 5), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r, "hello"), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->p.n, 1);
	CU_ASSERT_TRUE(w->p.log[0].invalidated);
	CU_ASSERT_EQUAL(w->p.log[0].inv_handle, t.handle);
	CU_ASSERT_EQUAL(loop_exposed(w->p.c), 0);
	fab_dereg(mr);
	world_close(w);
}

/* ---- Delay and order ------------------------------------------------- */

static void test_delay(void)
{
	struct world *w = world_connect();
	struct fab_wc wc[4];
	struct req r;

	end_faults(&w->p, (struct loop_faults){ .delay_polls = 3 });
	CU_ASSERT_EQUAL(end_recv(&w->p, 2, 10), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r, "slow"), 0);
	for (int i = 1; i < 3; i++) {
		CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 0);
		/* It is owed a callback each time. */
		CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 1);
	}
	CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 1);
	CU_ASSERT_PTR_EQUAL(wc[0].wr, &w->p.wr[0]);
	CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 0);
	CU_ASSERT_EQUAL(fab_poller_run(w->poller, 0), 0);
	/* The end waits behind what is flushed. */
	fab_disconnect(w->a.c, false);
	CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 0);
	CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 0);
	CU_ASSERT_EQUAL(fab_poll(w->p.c, wc, 4), 2);
	CU_ASSERT_EQUAL(wc[0].status, FAB_FLUSHED);
	CU_ASSERT_EQUAL(wc[1].kind, FAB_WC_DISCONNECTED);
	w->p.ended = true;
	world_close(w);
}

/*
 * Both ends send, write and read; returns a digest of the order in which the
 * wire saw it. What must be in order is, whatever the seed.
 */
static uint32_t run_order(uint32_t seed)
{
	enum { N = 20 };
	static uint8_t mem[2][N], dst[2][N];
	struct loop_faults f = { .order_seed = seed };
	struct world *w = world_open(NULL);
	struct req s[2][N], wr[2][N], rd[2][N];
	struct fab_mr *mr[2];
	struct end *e[2] = { &w->a, &w->p };
	uint32_t h[2], digest = 2166136261u;
	uint64_t off[2];
	unsigned int count[2][2] = { { 0, 0 }, { 0, 0 } };

	loop_set_faults(w->dom, LOOP_ACTIVE, &f);
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	w->a.n = w->p.n = w->nev = 0;
	for (int i = 0; i < 2; i++) {
		memset(mem[i], 0, N);
		memset(dst[i], 0xee, N);
		CU_ASSERT_EQUAL(fab_reg(w->dom, mem[i], N, &mr[i]), 0);
		CU_ASSERT_EQUAL(fab_expose(e[i]->c, mr[i], mem[i], N,
					   FAB_REMOTE_READ | FAB_REMOTE_WRITE,
					   &h[i], &off[i]),
				0);
		CU_ASSERT_EQUAL(end_recv(e[i], N, 10), 0);
	}
	for (unsigned int k = 0; k < N; k++) {
		for (int i = 0; i < 2; i++) {
			static const char octets[] = "abcdefghijklmnopqrst";

			CU_ASSERT_EQUAL(end_rdma(e[i], &wr[i][k], FAB_WRITE,
						 (void *)(uintptr_t)&octets[k],
						 1, h[!i], off[!i] + k),
					0);
			/* After the Write, so it must see what that wrote. */
			CU_ASSERT_EQUAL(end_rdma(e[i], &rd[i][k], FAB_READ,
						 &dst[i][k], 1, h[!i],
						 off[!i] + k),
					0);
			req_init(&s[i][k], FAB_SEND, &octets[k], 1);
			CU_ASSERT_EQUAL(fab_post(e[i]->c, &s[i][k].wr), 0);
		}
	}
	pump(w);
	for (int i = 0; i < 2; i++) {
		/* Per end N of each, and N Receives. */
		CU_ASSERT_EQUAL(e[i]->n, 4 * N);
		CU_ASSERT_EQUAL(memcmp(mem[i], "abcdefghijklmnopqrst", N), 0);
		CU_ASSERT_EQUAL(memcmp(dst[i], "abcdefghijklmnopqrst", N), 0);
		for (unsigned int k = 0; k < N; k++) {
			CU_ASSERT_TRUE(end_done(e[i], &rd[i][k].wr, FAB_OK));
			CU_ASSERT_EQUAL(e[i]->mem[k][0], 'a' + k);
		}
	}
	for (unsigned int i = 0; i < w->nev; i++) {
		const struct loop_event *ev = &w->ev[i];
		int side = ev->from_active ? 0 : 1;

		/* A Send is never seen before the Writes posted before it. */
		if (ev->kind == LOOP_EV_WRITE)
			count[side][0]++;
		else if (ev->kind == LOOP_EV_SEND)
			CU_ASSERT_EQUAL(count[side][0], ++count[side][1]);
		digest = (digest ^ (uint32_t)(ev->kind * 2 + side)) * 16777619u;
	}
	CU_ASSERT_EQUAL(count[0][1], N);
	CU_ASSERT_EQUAL(count[1][1], N);
	/* An orderly end waits for what is still to be done. */
	fab_disconnect(w->a.c, false);
	pump(w);
	CU_ASSERT_TRUE(w->a.ended && w->p.ended);
	for (int i = 0; i < 2; i++) {
		fab_unexpose(e[i]->c, h[i], NULL);
		fab_dereg(mr[i]);
	}
	world_close(w);
	return digest;
}

static void test_order(void)
{
	uint32_t first = run_order(1), plain = run_order(0);
	unsigned int same = 0;

	for (uint32_t seed = 2; seed < 30; seed++)
		same += run_order(seed) == first;
	CU_ASSERT(same < 3);
	CU_ASSERT_EQUAL(run_order(1), first);
	CU_ASSERT_EQUAL(run_order(0), plain);
	CU_ASSERT_NOT_EQUAL(plain, first);
}

/* What is in flight when the connection breaks comes back, all of it. */
static void test_order_break(void)
{
	enum { N = 30 };

	for (uint32_t seed = 1; seed < 40; seed++) {
		struct world *w = world_connect();
		struct req s[N];
		unsigned int taken = 0, back = 0, good = 0, arrived = 0;

		end_faults(&w->a,
			   (struct loop_faults){ .order_seed = seed,
						 .break_after_messages = 12 });
		CU_ASSERT_EQUAL(end_recv(&w->p, N, 10), 0);
		for (unsigned int k = 0; k < N; k++)
			if (!end_send(&w->a, &s[k], "m"))
				taken++;
		pump(w);
		CU_ASSERT_TRUE(w->a.ended && w->p.ended);
		for (unsigned int k = 0; k < taken; k++) {
			back += !!end_wc(&w->a, &s[k].wr);
			good += end_done(&w->a, &s[k].wr, FAB_OK);
		}
		for (unsigned int k = 0; k < N; k++)
			arrived += end_done(&w->p, &w->p.wr[k], FAB_OK);
		CU_ASSERT_EQUAL(back, taken);
		CU_ASSERT_EQUAL(good, 12);
		CU_ASSERT_EQUAL(arrived, 12);
		CU_ASSERT_EQUAL(w->p.n, N + 1);
		world_close(w);
	}
}

static const struct unit_test tests[] = {
	{ "refuse-post", test_refuse_post },
	{ "fail-request", test_fail_request },
	{ "break-messages", test_break_messages },
	{ "break-octets-write", test_break_octets_write },
	{ "break-octets-read", test_break_octets_read },
	{ "break-octets-send", test_break_octets_send },
	{ "break-now", test_break_now },
	{ "connects", test_connects },
	{ "tamper", test_tamper },
	{ "tamper-rules", test_tamper_rules },
	{ "delay", test_delay },
	{ "order", test_order },
	{ "order-break", test_order_break },
	{ NULL, NULL },
};

UNIT_MAIN("loop-faults", tests)
