/* SPDX-License-Identifier: BSD-3-Clause */
/* The loop provider: work requests, exposed memory, and the rules of both. */
#include "loop_util.h"

#define MEM 4096

static struct fab_mr *reg(struct world *w, void *p, size_t len)
{
	struct fab_mr *mr = NULL;

	CU_ASSERT_EQUAL_FATAL(fab_reg(w->dom, p, len, &mr), 0);
	return mr;
}

/* Both ends have ended, each with the error that the rules give it. */
static void check_violation(struct world *w, const struct fab_wr *wr)
{
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, wr, FAB_ERROR));
	CU_ASSERT_TRUE(w->a.ended && w->p.ended);
	CU_ASSERT_EQUAL(w->a.error, -ECONNRESET);
	CU_ASSERT_EQUAL(w->p.error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(w->p.log[w->p.n - 1].reason);
}

static void test_send(void)
{
	struct world *w = world_connect();
	struct fab_sge sge[3] = { { .addr = "one ", .len = 4 },
				  { .addr = "", .len = 0 },
				  { .addr = "two", .len = 3 } };
	struct fab_wr second = { .op = FAB_SEND };
	struct fab_wr first = { .next = &second,
				.op = FAB_SEND,
				.flags = FAB_F_SIGNALED,
				.nsge = 3,
				.sge = sge };
	struct fab_counters ca, cp;

	CU_ASSERT_EQUAL(end_recv(&w->p, 3, 7), 0);
	CU_ASSERT_EQUAL(fab_post(w->a.c, &first), 0);
	w->a.touched = true;
	pump(w);
	/* The second one is not signaled. */
	CU_ASSERT_EQUAL(w->a.n, 1);
	CU_ASSERT_TRUE(end_done(&w->a, &first, FAB_OK));
	/* In order, and the empty one uses a Receive as well. */
	CU_ASSERT_EQUAL(w->p.n, 2);
	CU_ASSERT_PTR_EQUAL(w->p.log[0].wr, &w->p.wr[0]);
	CU_ASSERT_EQUAL(w->p.log[0].len, 7);
	CU_ASSERT_FALSE(w->p.log[0].invalidated);
	CU_ASSERT_EQUAL(memcmp(w->p.mem[0], "one two", 7), 0);
	CU_ASSERT_PTR_EQUAL(w->p.log[1].wr, &w->p.wr[1]);
	CU_ASSERT_EQUAL(w->p.log[1].len, 0);
	CU_ASSERT_EQUAL(loop_recvs_posted(w->p.c), 1);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_SEND), 2);
	CU_ASSERT_EQUAL(event(w, LOOP_EV_SEND, 0)->recvs_posted, 3);
	CU_ASSERT_EQUAL(event(w, LOOP_EV_SEND, 1)->recvs_posted, 2);
	CU_ASSERT_TRUE(event(w, LOOP_EV_SEND, 0)->from_active);

	fab_conn_counters(w->a.c, &ca);
	fab_conn_counters(w->p.c, &cp);
	CU_ASSERT_EQUAL(ca.sends, 2);
	CU_ASSERT_EQUAL(ca.send_bytes, 7);
	CU_ASSERT_EQUAL(ca.posts, 1);
	CU_ASSERT_EQUAL(cp.recvs, 2);
	CU_ASSERT_EQUAL(cp.recv_bytes, 7);
	world_close(w);
}

static void test_no_receive(void)
{
	struct world *w = world_connect();
	struct req r[3];

	CU_ASSERT_EQUAL(end_recv(&w->a, 2, 10), 0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), 0);
	req_init(&r[0], FAB_SEND, "a", 1);
	req_init(&r[1], FAB_SEND, "b", 1);
	req_init(&r[2], FAB_SEND, "c", 1);
	r[0].wr.next = &r[1].wr;
	r[1].wr.next = &r[2].wr;
	r[1].wr.flags = 0;
	r[2].wr.flags = 0;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	w->a.touched = true;
	check_violation(w, &r[1].wr);
	CU_ASSERT_TRUE(end_done(&w->a, &r[0].wr, FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &r[2].wr, FAB_FLUSHED));
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[0], FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[0], FAB_FLUSHED));
	CU_ASSERT_TRUE(end_done(&w->a, &w->a.wr[1], FAB_FLUSHED));
	CU_ASSERT_EQUAL(event(w, LOOP_EV_SEND, 1)->recvs_posted, 0);
	world_close(w);
}

static void test_too_long(void)
{
	struct world *w = world_connect();
	struct req r;

	CU_ASSERT_EQUAL(end_recv(&w->p, 2, 4), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r, "12345"), 0);
	check_violation(w, &r.wr);
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[0], FAB_ERROR));
	CU_ASSERT_TRUE(end_done(&w->p, &w->p.wr[1], FAB_FLUSHED));
	CU_ASSERT_EQUAL(w->p.mem[0][0], 0);
	world_close(w);
}

static void test_write_read(void)
{
	static uint8_t mem[MEM], src[100], dst[200];
	struct world *w = world_connect();
	struct fab_mr *mr = reg(w, mem, sizeof(mem));
	struct req r[3];
	uint32_t h;
	uint64_t off;
	struct fab_counters ca, cp;

	memset(mem, 0, sizeof(mem));
	memset(src, 7, sizeof(src));
	CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem + 1000, 200,
				   FAB_REMOTE_READ | FAB_REMOTE_WRITE, &h,
				   &off),
			0);
	CU_ASSERT_EQUAL(loop_exposed(w->p.c), 1);
	CU_ASSERT_EQUAL(
		end_rdma(&w->a, &r[0], FAB_WRITE, src, 100, h, off + 100), 0);
	CU_ASSERT_EQUAL(mem[1099], 0);
	CU_ASSERT_EQUAL(mem[1100], 7);
	CU_ASSERT_EQUAL(mem[1199], 7);
	CU_ASSERT_EQUAL(mem[1200], 0);
	r[1].wr.flags = 0;
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[1], FAB_READ, dst, 200, h, off), 0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r[0].wr, FAB_OK));
	CU_ASSERT_TRUE(end_done(&w->a, &r[1].wr, FAB_OK));
	CU_ASSERT_EQUAL(end_wc(&w->a, &r[1].wr)->len, 200);
	CU_ASSERT_EQUAL(memcmp(dst, mem + 1000, 200), 0);
	/* The peer's program does not notice. */
	CU_ASSERT_EQUAL(w->p.n, 0);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_WRITE), 1);
	CU_ASSERT_EQUAL(event(w, LOOP_EV_WRITE, 0)->len, 100);
	CU_ASSERT_EQUAL(event(w, LOOP_EV_WRITE, 0)->offset, off + 100);
	CU_ASSERT_EQUAL(event(w, LOOP_EV_WRITE, 0)->handle, h);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_READ_REQUEST), 1);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_READ_RESPONSE), 1);

	fab_conn_counters(w->a.c, &ca);
	fab_conn_counters(w->p.c, &cp);
	CU_ASSERT_EQUAL(ca.writes, 1);
	CU_ASSERT_EQUAL(ca.write_bytes, 100);
	CU_ASSERT_EQUAL(ca.reads, 1);
	CU_ASSERT_EQUAL(ca.read_bytes, 200);
	CU_ASSERT_EQUAL(cp.peer_writes, 1);
	CU_ASSERT_EQUAL(cp.peer_write_bytes, 100);
	CU_ASSERT_EQUAL(cp.peer_reads, 1);
	CU_ASSERT_EQUAL(cp.peer_read_bytes, 200);

	/* An empty one needs no valid handle. */
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[2], FAB_WRITE, src, 0, 0, 0), 0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r[2].wr, FAB_OK));
	fab_unexpose(w->p.c, h, NULL);
	fab_unexpose(w->p.c, h, NULL);
	CU_ASSERT_EQUAL(loop_exposed(w->p.c), 0);
	fab_dereg(mr);
	world_close(w);
}

/* Every way to be outside what is exposed, and nothing is touched. */
static void test_protection(void)
{
	enum how {
		BEFORE,
		AFTER,
		ACROSS,
		WRAPS,
		HANDLE,
		RIGHT,
		CLOSED,
		OTHER_CONN,
		HOWS
	};
	static uint8_t mem[MEM], buf[512];

	for (int i = 0; i < 2 * HOWS; i++) {
		enum how how = (enum how)(i / 2);
		enum fab_opcode op = i % 2 ? FAB_READ : FAB_WRITE;
		unsigned int access = i % 2 ? FAB_REMOTE_READ :
					      FAB_REMOTE_WRITE;
		struct world *w = world_connect();
		struct fab_mr *mr = reg(w, mem, sizeof(mem));
		uint32_t h, use;
		uint64_t off, at;
		size_t len = 100;
		struct req r;

		memset(mem, 0x11, sizeof(mem));
		memset(buf, 0x22, sizeof(buf));
		if (how == RIGHT)
			access ^= FAB_REMOTE_READ | FAB_REMOTE_WRITE;
		/* Exposed by the active side, it is not for its own peer. */
		CU_ASSERT_EQUAL(fab_expose(how == OTHER_CONN ? w->a.c : w->p.c,
					   mr, mem + 1000, 300, access, &h,
					   &off),
				0);
		at = off;
		use = h;
		if (how == BEFORE)
			at--;
		else if (how == AFTER)
			at += 300;
		else if (how == ACROSS)
			at += 201;
		else if (how == WRAPS)
			at = UINT64_MAX - 10;
		else if (how == HANDLE)
			use++;
		else if (how == CLOSED)
			fab_unexpose(w->p.c, h, NULL);
		CU_ASSERT_EQUAL(end_rdma(&w->a, &r, op, buf, len, use, at), 0);
		check_violation(w, &r.wr);
		for (size_t k = 0; k < sizeof(mem); k++)
			if (mem[k] != 0x11)
				CU_FAIL_FATAL("written");
		for (size_t k = 0; k < sizeof(buf); k++)
			if (buf[k] != 0x22)
				CU_FAIL_FATAL("read");
		if (how == OTHER_CONN)
			fab_unexpose(w->a.c, h, NULL);
		else
			fab_unexpose(w->p.c, h, NULL);
		fab_dereg(mr);
		world_close(w);
	}
}

static void test_invalidate(void)
{
	static uint8_t mem[MEM];
	struct world *w = world_connect();
	struct fab_mr *mr = reg(w, mem, sizeof(mem));
	struct req r[3];
	uint32_t h[2];
	uint64_t off[2];
	struct fab_counters ca;

	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 100,
					   FAB_REMOTE_WRITE, &h[i], &off[i]),
				0);
	CU_ASSERT_NOT_EQUAL(h[0], h[1]);
	CU_ASSERT_EQUAL(end_recv(&w->p, 3, 100), 0);
	req_init(&r[0], FAB_SEND_INV, "bye", 3);
	r[0].wr.handle = h[0];
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &r[1], "plain"), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->p.n, 2);
	CU_ASSERT_TRUE(w->p.log[0].invalidated);
	CU_ASSERT_EQUAL(w->p.log[0].inv_handle, h[0]);
	CU_ASSERT_EQUAL(w->p.log[0].len, 3);
	CU_ASSERT_FALSE(w->p.log[1].invalidated);
	CU_ASSERT_EQUAL(loop_exposed(w->p.c), 1);
	fab_conn_counters(w->a.c, &ca);
	CU_ASSERT_EQUAL(ca.sends, 2);
	CU_ASSERT_EQUAL(ca.sends_inv, 1);
	fab_unexpose(w->p.c, h[0], NULL); /* closed already */
	/* A second time it is a bad handle, and the other one still works. */
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[2], FAB_WRITE, "x", 1, h[1], off[1]),
			0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r[2].wr, FAB_OK));
	CU_ASSERT_EQUAL(mem[0], 'x');
	req_init(&r[0], FAB_SEND_INV, "bye", 3);
	r[0].wr.handle = h[0];
	w->a.n = 0;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	w->a.touched = true;
	check_violation(w, &r[0].wr);
	fab_unexpose(w->p.c, h[1], NULL);
	fab_dereg(mr);
	world_close(w);
}

/* The depth holds; later Sends pass; all Reads complete, in order. */
static void test_read_queue(void)
{
	enum { N = 10, DEPTH = 3 };
	static uint8_t mem[MEM], dst[N][16];
	struct fab_domain_params dp = { .read_depth = DEPTH };
	struct world *w = world_open(&dp);
	struct fab_mr *mr;
	struct req r[N], s;
	uint32_t h;
	uint64_t off;
	unsigned int out = 0, most = 0, seen = 0;

	world_listen(w);
	world_start(w, NULL);
	pump(w);
	w->a.n = w->p.n = w->nev = 0;
	mr = reg(w, mem, sizeof(mem));
	for (int i = 0; i < MEM; i++)
		mem[i] = (uint8_t)(i / 16);
	CU_ASSERT_EQUAL(
		fab_expose(w->p.c, mr, mem, MEM, FAB_REMOTE_READ, &h, &off), 0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), 0);
	for (unsigned int i = 0; i < N; i++) {
		req_init(&r[i], FAB_READ, dst[i], 16);
		r[i].wr.handle = h;
		r[i].wr.offset = off + i * 16;
		r[i].wr.flags = 0; /* completes all the same */
		if (i)
			r[i - 1].wr.next = &r[i].wr;
	}
	req_init(&s, FAB_SEND, "s", 1);
	r[N - 1].wr.next = &s.wr;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	/* Only so many on the wire before an answer has come. */
	CU_ASSERT_EQUAL(events(w, LOOP_EV_READ_REQUEST), DEPTH);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_SEND), 1);
	/* The one who waits for the Reads is called. */
	pump(w);
	CU_ASSERT_EQUAL(w->a.n, N + 1);
	CU_ASSERT_PTR_EQUAL(w->a.log[0].wr, &s.wr);
	for (unsigned int i = 0; i < N; i++) {
		CU_ASSERT_PTR_EQUAL(w->a.log[i + 1].wr, &r[i].wr);
		CU_ASSERT_EQUAL(w->a.log[i + 1].status, FAB_OK);
		CU_ASSERT_EQUAL(dst[i][0], i);
		CU_ASSERT_EQUAL(dst[i][15], i);
	}
	for (unsigned int i = 0; i < w->nev; i++) {
		if (w->ev[i].kind == LOOP_EV_READ_REQUEST) {
			out++;
			CU_ASSERT_EQUAL(w->ev[i].reads_out, out);
		} else if (w->ev[i].kind == LOOP_EV_READ_RESPONSE) {
			out--;
			seen++;
		}
		most = out > most ? out : most;
	}
	CU_ASSERT_EQUAL(seen, N);
	CU_ASSERT_EQUAL(most, DEPTH);
	fab_unexpose(w->p.c, h, NULL);
	fab_dereg(mr);
	world_close(w);
}

/* Reads that have not been answered are waited for by an orderly end. */
static void test_disconnect_reads(void)
{
	static uint8_t mem[64], dst[2][64];

	for (int abort = 0; abort < 2; abort++) {
		struct world *w = world_connect();
		struct fab_mr *mr = reg(w, mem, sizeof(mem));
		struct req r[2];
		uint32_t h;
		uint64_t off;

		memset(mem, 9, sizeof(mem));
		memset(dst, 0, sizeof(dst));
		CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 64, FAB_REMOTE_READ,
					   &h, &off),
				0);
		for (int i = 0; i < 2; i++)
			CU_ASSERT_EQUAL(end_rdma(&w->a, &r[i], FAB_READ, dst[i],
						 64, h, off),
					0);
		fab_disconnect(w->a.c, abort);
		pump(w);
		CU_ASSERT_TRUE(w->a.ended && w->p.ended);
		for (int i = 0; i < 2; i++) {
			CU_ASSERT_TRUE(end_done(&w->a, &r[i].wr,
						abort ? FAB_FLUSHED : FAB_OK));
			CU_ASSERT_EQUAL(dst[i][63], abort ? 0 : 9);
		}
		fab_unexpose(w->p.c, h, NULL);
		fab_dereg(mr);
		world_close(w);
	}
}

/* ---- Capabilities ---------------------------------------------------- */

static struct world *world_caps(unsigned int caps, unsigned int max_exposed)
{
	struct world *w = world_open(NULL);
	struct loop_settings s;

	loop_get_settings(w->dom, &s);
	s.limits.caps = caps;
	s.max_exposed = max_exposed;
	loop_set_settings(w->dom, &s);
	CU_ASSERT_EQUAL(fab_domain_limits(w->dom)->caps, caps);
	world_listen(w);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_FATAL(w->a.established && w->p.established);
	w->a.n = w->p.n = w->nev = 0;
	return w;
}

static void test_local_registered(void)
{
	static uint8_t mem[MEM];
	struct world *w = world_caps(FAB_CAP_SEND_INV | FAB_CAP_EXPOSE, 8);
	struct fab_mr *mr = reg(w, mem + 100, 1000);
	struct req r, q;

	/* A Receive as well. */
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), -EINVAL);
	w->p.posted = 0;
	req_init(&q, FAB_RECV, mem + 200, 100);
	q.sge.mr = mr;
	CU_ASSERT_EQUAL(fab_post_recv(w->p.c, &q.wr), 0);

	CU_ASSERT_EQUAL(end_send(&w->a, &r, "no mr"), -EINVAL);
	req_init(&r, FAB_SEND, mem + 99, 10);
	r.sge.mr = mr;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	req_init(&r, FAB_SEND, mem + 1091, 10);
	r.sge.mr = mr;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	req_init(&r, FAB_SEND, mem + 1090, 10);
	r.sge.mr = mr;
	memcpy(mem + 1090, "0123456789", 10);
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), 0);
	w->a.touched = true;
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r.wr, FAB_OK));
	CU_ASSERT_EQUAL(memcmp(mem + 200, "0123456789", 10), 0);
	fab_disconnect(w->a.c, true);
	pump(w);
	fab_dereg(mr);
	world_close(w);
}

static void test_no_send_inv(void)
{
	struct world *w = world_caps(FAB_CAP_ANY_LOCAL | FAB_CAP_EXPOSE, 8);
	struct req r;

	req_init(&r, FAB_SEND_INV, "x", 1);
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	pump(w);
	CU_ASSERT_FALSE(w->a.ended);
	world_close(w);
}

static void test_no_expose(void)
{
	static uint8_t mem[MEM], buf[10];
	struct world *w = world_caps(FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV, 1);
	struct fab_mr *mr = reg(w, mem, sizeof(mem));
	uint32_t h[2];
	uint64_t off[2];
	struct req r[3];

	memset(mem, 3, sizeof(mem));
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem + 100 * i, 100,
					   FAB_REMOTE_READ, &h[i], &off[i]),
				0);
	CU_ASSERT_EQUAL(h[0], h[1]);
	CU_ASSERT_EQUAL(off[1] - off[0], 100);
	fab_unexpose(w->p.c, h[0], NULL);
	/* The whole registration, and a right that was not asked for. */
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[0], FAB_WRITE, "y", 1, h[0],
				 off[0] + MEM - 1),
			0);
	CU_ASSERT_EQUAL(mem[MEM - 1], 'y');
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[1], FAB_READ, buf, 10, h[0],
				 off[0] + MEM - 10),
			0);
	pump(w);
	CU_ASSERT_TRUE(end_done(&w->a, &r[1].wr, FAB_OK));
	CU_ASSERT_EQUAL(buf[9], 'y');
	/* But not beyond it, ... */
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[2], FAB_WRITE, "yy", 2, h[0],
				 off[0] + MEM - 1),
			0);
	check_violation(w, &r[2].wr);
	fab_dereg(mr);
	world_close(w);

	/* ... not for invalidation, ... */
	w = world_caps(FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV, 1);
	mr = reg(w, mem, sizeof(mem));
	CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 100, FAB_REMOTE_READ, &h[0],
				   &off[0]),
			0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 1, 10), 0);
	req_init(&r[0], FAB_SEND_INV, "x", 1);
	r[0].wr.handle = h[0];
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r[0].wr), 0);
	w->a.touched = true;
	check_violation(w, &r[0].wr);
	fab_dereg(mr);
	world_close(w);

	/* ... and not once it is gone. */
	w = world_caps(FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV, 1);
	mr = reg(w, mem, sizeof(mem));
	CU_ASSERT_EQUAL(fab_expose(w->p.c, mr, mem, 100, FAB_REMOTE_READ, &h[0],
				   &off[0]),
			0);
	fab_dereg(mr);
	CU_ASSERT_EQUAL(end_rdma(&w->a, &r[0], FAB_WRITE, "x", 1, h[0], off[0]),
			0);
	check_violation(w, &r[0].wr);
	world_close(w);
}

static void test_expose_limits(void)
{
	static uint8_t mem[MEM];
	struct world *w = world_caps(FAB_CAP_ANY_LOCAL | FAB_CAP_EXPOSE, 2);
	struct fab_mr *mr = reg(w, mem, sizeof(mem));
	uint32_t h[3];
	uint64_t off;

	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem, 10, FAB_REMOTE_READ,
					   &h[i], &off),
				i < 2 ? 0 : -ENOSPC);
	fab_unexpose(w->a.c, h[0], NULL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem, 10, FAB_REMOTE_READ, &h[2],
				   &off),
			0);
	CU_ASSERT_NOT_EQUAL(h[2], h[0]);
	fab_disconnect(w->a.c, true);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem, 10, FAB_REMOTE_READ, &h[0],
				   &off),
			-ENOTCONN);
	pump(w);
	/* Destroying the connection closes what is still open. */
	fab_conn_destroy_deferred(w->a.c, NULL, NULL);
	w->a.c = NULL;
	fab_dereg(mr);
	world_close(w);
}

static const struct unit_test tests[] = {
	{ "send", test_send },
	{ "no-receive", test_no_receive },
	{ "too-long", test_too_long },
	{ "write-read", test_write_read },
	{ "protection", test_protection },
	{ "invalidate", test_invalidate },
	{ "read-queue", test_read_queue },
	{ "disconnect-reads", test_disconnect_reads },
	{ "local-registered", test_local_registered },
	{ "no-send-inv", test_no_send_inv },
	{ "no-expose", test_no_expose },
	{ "expose-limits", test_expose_limits },
	{ NULL, NULL },
};

UNIT_MAIN("loop-work", tests)
