/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_data - Sends, Writes, Reads and exposed memory
 *
 * Threads: one.
 */
#include "provider_util.h"

#define MIB ((size_t)1 << 20)
/* Where the arena's halves begin. */
#define SRC 0
#define DST (8 * MIB)

static const size_t sizes[] = {
	0,    1,    2,	  3,	4,     100,   219,   220,    221, 1023,	  1024,
	2048, 4095, 4096, 4097, 16384, 65536, 65537, 262147, MIB, MIB + 3
};
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct world w;

/* Cut @len octets at @at into a random list, with empty pieces among them. */
static unsigned int scatter(struct fab_sge *sge, size_t at, size_t len,
			    uint32_t seed)
{
	unsigned int n =
		1 + seed % (w.limits.max_sge < 16 ? w.limits.max_sge : 16);

	for (unsigned int i = 0; i < n; i++) {
		uint16_t r;
		size_t part;

		fill_random(&r, sizeof(r), seed * 31 + i);
		part = i + 1 == n ? len : (size_t)((uint64_t)len * r >> 17);
		if (i + 1 < n && r % 7 == 0)
			part = 0;
		sge[i] = (struct fab_sge){ w.arena + at, part, w.mr };
		at += part;
		len -= part;
	}
	return n;
}

/* ---- Sends ----------------------------------------------------------- */

static void one_send(struct ep *from, struct ep *to, size_t len, uint32_t seed)
{
	struct fab_sge ssge[16];
	struct fab_wr send = { .op = FAB_SEND, .sge = ssge };
	struct msg recv;
	const struct fab_wc *wc;

	send.flags = FAB_F_SIGNALED | (seed % 2 ? FAB_F_SOLICITED : 0);
	send.nsge = scatter(ssge, SRC + 5, len, seed);
	fill_random(w.arena + SRC + 5, len, seed);
	memset(w.arena + DST, 0xee, len + 16);
	from->nwc = to->nwc = 0;
	CU_ASSERT_EQUAL(
		ep_recv(to, msg_init(&w, &recv, FAB_RECV, DST, len + seed % 3)),
		0);
	ep_post(from, &send);
	PUMP_UNTIL(&w, from->nwc == 1 && to->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &send);
	CU_ASSERT_EQUAL(from->wc[0].status, FAB_OK);
	wc = &to->wc[0];
	CU_ASSERT_PTR_EQUAL(wc->wr, &recv.wr);
	CU_ASSERT_PTR_EQUAL(wc->wr->user, &recv);
	CU_ASSERT_EQUAL(wc->status, FAB_OK);
	CU_ASSERT_EQUAL(wc->len, len);
	CU_ASSERT_FALSE(wc->invalidated);
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC + 5, w.arena + DST, len), 0);
	CU_ASSERT_EQUAL(w.arena[DST + len], 0xee);
}

static void test_send(void)
{
	world_pair(&w);
	for (size_t i = 0; i < NSIZES; i++)
		for (uint32_t k = 0; k < 3; k++) {
			if (sizes[i] + 2 > subject.longest)
				continue;
			one_send(&w.cli, &w.srv, sizes[i], (uint32_t)i * 5 + k);
			one_send(&w.srv, &w.cli, sizes[i], (uint32_t)i * 7 + k);
		}
	world_close(&w);
}

static void exchange(struct ep *from, struct ep *to, int ms)
{
	uint64_t end = util_ms() + 60000;
	struct msg send, recv;

	from->nwc = to->nwc = 0;
	CU_ASSERT_EQUAL(ep_recv(to, msg_init(&w, &recv, FAB_RECV, DST, 64)), 0);
	ep_post(from, msg_init(&w, &send, FAB_SEND, SRC, 64));
	while ((from->nwc < 1 || to->nwc < 1) && util_ms() < end)
		world_turn(&w, ms);
	CU_ASSERT_EQUAL(ep_count(from, FAB_OK), 1);
	CU_ASSERT_EQUAL(ep_count(to, FAB_OK), 1);
}

/* What comes is found by who never waits, by who waits, when one follows the
 * other, and after a long time of looking in vain. */
static void test_busy(void)
{
	world_pair(&w);
	for (int i = 0; i < 96; i++) {
		for (int k = 0; i & 4 && k < 2000; k++)
			world_turn(&w, 0);
		exchange(&w.cli, &w.srv, i & 1 ? 50 : 0);
		exchange(&w.srv, &w.cli, i & 2 ? 50 : 0);
	}
	world_close(&w);
}

#define MANY 2000
static struct msg many_s[MANY], many_r[MANY];

/* Far more at once than any queue of a device: nothing is refused, all arrives
 * in order. */
static void many(bool signaled)
{
	const size_t len = 300;

	world_open(&w);
	for (int i = 0; i < MANY; i++) {
		msg_init(&w, &many_r[i], FAB_RECV, DST + (size_t)i * len, len);
		msg_init(&w, &many_s[i], FAB_SEND, SRC + (size_t)i * len, len);
		many_r[i].wr.next = i + 1 < MANY ? &many_r[i + 1].wr : NULL;
		many_s[i].wr.next = i + 1 < MANY ? &many_s[i + 1].wr : NULL;
		if (!signaled && i + 1 < MANY)
			many_s[i].wr.flags = 0;
	}
	fill_random(w.arena + SRC, MANY * len, 3);
	w.early_recv = &many_r[0].wr;
	world_join(&w, NULL);
	ep_post(&w.cli, &many_s[0].wr);
	PUMP_UNTIL(&w, w.srv.nwc == MANY && w.cli.nwc == (signaled ? MANY : 1));
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), MANY);
	CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_OK), w.cli.nwc);
	for (int i = 0; i < w.srv.nwc; i++)
		CU_ASSERT_PTR_EQUAL(w.srv.wc[i].wr, &many_r[i].wr);
	for (int i = 0; signaled && i < w.cli.nwc; i++)
		CU_ASSERT_PTR_EQUAL(w.cli.wc[i].wr, &many_s[i].wr);
	CU_ASSERT_PTR_EQUAL(w.cli.wc[w.cli.nwc - 1].wr, &many_s[MANY - 1].wr);
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC, w.arena + DST, MANY * len), 0);
	world_close(&w);
}

static void test_many_sends(void)
{
	many(true);
	many(false);
}

/* ---- Writes and Reads ------------------------------------------------ */

static void one_write(struct ep *from, struct ep *to, size_t len, uint32_t seed)
{
	bool inv = (w.limits.caps & FAB_CAP_SEND_INV) &&
		   (w.limits.caps & FAB_CAP_EXPOSE);
	struct fab_sge ssge[16];
	struct fab_wr write = { .op = FAB_WRITE, .sge = ssge };
	struct fab_wr send = { .op = inv ? FAB_SEND_INV : FAB_SEND,
			       .flags = FAB_F_SIGNALED };
	struct msg recv;

	memset(w.arena + DST, 0xee, len + 16);
	fill_random(w.arena + SRC, len, seed);
	CU_ASSERT_EQUAL(ep_expose(to, w.arena + DST + 3, len ? len : 1,
				  FAB_REMOTE_WRITE, &write.handle,
				  &write.offset),
			0);
	write.nsge = scatter(ssge, SRC, len, seed);
	write.next = &send;
	send.handle = write.handle;
	from->nwc = to->nwc = 0;
	CU_ASSERT_EQUAL(
		ep_recv(to, msg_init(&w, &recv, FAB_RECV, ARENA - 4096, 8)), 0);
	/* It is opened no later than the next message of its side: here
	 * nothing but the test's own memory tells the peer of it. */
	to->ready = true;
	world_turn(&w, 0);
	ep_post(from, &write);
	PUMP_UNTIL(&w, from->nwc == 1 && to->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &send);
	CU_ASSERT_EQUAL(from->wc[0].status, FAB_OK);
	CU_ASSERT_EQUAL(to->wc[0].invalidated, inv);
	CU_ASSERT_EQUAL(to->wc[0].inv_handle, inv ? send.handle : 0);
	CU_ASSERT_EQUAL(to->wc[0].len, 0);
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC, w.arena + DST + 3, len), 0);
	CU_ASSERT_EQUAL(w.arena[DST + 2], 0xee);
	CU_ASSERT_EQUAL(w.arena[DST + len + 3], 0xee);
	/* Where it is closed already, this does nothing. */
	fab_unexpose(to->c, write.handle, NULL);
}

static void one_read(struct ep *from, struct ep *to, size_t len, uint32_t seed)
{
	struct fab_sge sge[16];
	struct fab_wr read = { .op = FAB_READ, .sge = sge };

	memset(w.arena + DST, 0xee, len + 16);
	fill_random(w.arena + SRC + 1, len, seed);
	CU_ASSERT_EQUAL(ep_expose(to, w.arena + SRC + 1, len ? len : 1,
				  FAB_REMOTE_READ, &read.handle, &read.offset),
			0);
	to->ready = true;
	world_turn(&w, 0);
	read.nsge = scatter(sge, DST, len, seed);
	from->nwc = to->nwc = 0;
	ep_post(from, &read);
	PUMP_UNTIL(&w, from->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &read);
	CU_ASSERT_EQUAL(from->wc[0].status, FAB_OK);
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC + 1, w.arena + DST, len), 0);
	CU_ASSERT_EQUAL(w.arena[DST + len], 0xee);
	fab_unexpose(to->c, read.handle, NULL);
	CU_ASSERT_FALSE(to->disconnected);
}

static void test_write(void)
{
	world_pair(&w);
	for (size_t i = 0; i < NSIZES; i++)
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t seed = (uint32_t)i * 11 + k;

			one_write(&w.cli, &w.srv, sizes[i], seed);
			one_write(&w.srv, &w.cli, sizes[i], seed);
		}
	world_close(&w);
}

static void test_read(void)
{
	world_pair(&w);
	for (size_t i = 0; i < NSIZES; i++)
		for (uint32_t k = 0; k < 2; k++) {
			uint32_t seed = (uint32_t)i * 13 + k;

			one_read(&w.cli, &w.srv, sizes[i], seed);
			one_read(&w.srv, &w.cli, sizes[i], seed);
		}
	world_close(&w);
}

#define NREADS 200
#define READ_LEN 5000

/* More Reads than the depth allows, of which what is posted later may pass
 * those that wait. */
static void test_read_depth(void)
{
	static struct msg r[NREADS];
	static struct fab_wr after;
	uint32_t handle;
	uint64_t off;

	world_pair(&w);
	fill_random(w.arena + SRC, NREADS * READ_LEN, 4);
	memset(w.arena + DST, 0, NREADS * READ_LEN);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + SRC, NREADS * READ_LEN,
				  FAB_REMOTE_READ, &handle, &off),
			0);
	w.srv.ready = true;
	world_turn(&w, 0);
	for (unsigned int i = 0; i < NREADS; i++) {
		msg_init(&w, &r[i], FAB_READ, DST + i * READ_LEN, READ_LEN);
		r[i].wr.handle = handle;
		r[i].wr.offset = off + i * READ_LEN;
		r[i].wr.next = i + 1 < NREADS ? &r[i + 1].wr : NULL;
	}
	ep_post(&w.cli, &r[0].wr);
	after = (struct fab_wr){ .op = FAB_WRITE, .flags = FAB_F_SIGNALED };
	ep_post(&w.cli, &after);
	PUMP_UNTIL(&w, w.cli.nwc == NREADS + 1);
	for (int i = 0, k = 0; i < w.cli.nwc; i++) {
		CU_ASSERT_EQUAL(w.cli.wc[i].status, FAB_OK);
		if (w.cli.wc[i].wr != &after && k < NREADS)
			CU_ASSERT_PTR_EQUAL(w.cli.wc[i].wr, &r[k++].wr);
	}
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC, w.arena + DST, NREADS * READ_LEN),
			0);
	world_close(&w);
}

#define NCHAIN 64

/* Only the last of a chain is signaled; its completion covers all. */
static void test_chain(void)
{
	static struct msg c[NCHAIN + 1], recv;
	struct fab_counters cnt;
	uint32_t handle;
	uint64_t off, posts;

	world_pair(&w);
	fab_conn_counters(w.cli.c, &cnt);
	posts = cnt.posts;
	fill_random(w.arena + SRC, NCHAIN * 1000, 6);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + DST, NCHAIN * 1000,
				  FAB_REMOTE_WRITE, &handle, &off),
			0);
	CU_ASSERT_EQUAL(ep_recv(&w.srv,
				msg_init(&w, &recv, FAB_RECV, ARENA - 64, 64)),
			0);
	w.srv.ready = true;
	world_turn(&w, 0);
	for (unsigned int i = 0; i < NCHAIN; i++) {
		msg_init(&w, &c[i], FAB_WRITE, SRC + i * 1000, 1000);
		c[i].wr.flags = 0;
		c[i].wr.handle = handle;
		c[i].wr.offset = off + i * 1000;
		c[i].wr.next = &c[i + 1].wr;
	}
	msg_init(&w, &c[NCHAIN], FAB_SEND, SRC, 10);
	ep_post(&w.cli, &c[0].wr);
	PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
	CU_ASSERT_PTR_EQUAL(w.cli.wc[0].wr, &c[NCHAIN].wr);
	CU_ASSERT_EQUAL(memcmp(w.arena + SRC, w.arena + DST, NCHAIN * 1000), 0);
	fab_conn_counters(w.cli.c, &cnt);
	CU_ASSERT_TRUE(cnt.posts - posts <= 1 + NCHAIN / 32);
	CU_ASSERT_EQUAL(cnt.writes, NCHAIN);
	CU_ASSERT_EQUAL(cnt.write_bytes, NCHAIN * 1000);
	CU_ASSERT_EQUAL(cnt.sends, 2);
	CU_ASSERT_EQUAL(cnt.send_bytes, 5 + 10);
	fab_conn_counters(w.srv.c, &cnt);
	CU_ASSERT_EQUAL(cnt.recvs, 2);
	CU_ASSERT_EQUAL(cnt.recv_bytes, 5 + 10);
	world_close(&w);
}

#define MIX 400

/* Sends both ways, Writes and Reads, all at once and over all depths. */
static void test_mix(void)
{
	static struct msg s[2][MIX], r[2][MIX], wr[2][MIX], rd[2][MIX];
	struct ep *e[2] = { &w.cli, &w.srv };
	const size_t n = 1000, area = MIX * n;
	uint32_t hw[2], hr[2];
	uint64_t ow[2], orr[2];

	world_open(&w);
	/* Enough Receives from the start. */
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < MIX; i++) {
			msg_init(&w, &r[k][i], FAB_RECV,
				 DST + (size_t)k * area + (size_t)i * n, n);
			r[k][i].wr.next = i + 1 < MIX ? &r[k][i + 1].wr : NULL;
		}
	w.early_recv = &r[1][0].wr;
	world_create(&w);
	CU_ASSERT_EQUAL(ep_recv(&w.cli, &r[0][0].wr), 0);
	world_join(&w, NULL);
	fill_random(w.arena + SRC, 2 * area, 8);
	for (int k = 0; k < 2; k++) {
		CU_ASSERT_EQUAL(
			ep_expose(e[k], w.arena + DST + (size_t)(2 + k) * area,
				  area, FAB_REMOTE_WRITE, &hw[k], &ow[k]),
			0);
		CU_ASSERT_EQUAL(
			ep_expose(e[k], w.arena + SRC + (size_t)k * area, area,
				  FAB_REMOTE_READ, &hr[k], &orr[k]),
			0);
		e[k]->ready = true;
	}
	world_turn(&w, 0);
	for (int i = 0; i < MIX; i++) {
		for (int k = 0; k < 2; k++) {
			size_t at = (size_t)k * area + (size_t)i * n;

			msg_init(&w, &wr[k][i], FAB_WRITE, SRC + at, n);
			wr[k][i].wr.flags = 0;
			wr[k][i].wr.handle = hw[!k];
			wr[k][i].wr.offset = ow[!k] + (size_t)i * n;
			wr[k][i].wr.next = &rd[k][i].wr;
			msg_init(&w, &rd[k][i], FAB_READ, DST + 4 * area + at,
				 n);
			rd[k][i].wr.handle = hr[!k];
			rd[k][i].wr.offset = orr[!k] + (size_t)i * n;
			rd[k][i].wr.next = &s[k][i].wr;
			msg_init(&w, &s[k][i], FAB_SEND, SRC + at, n);
			ep_post(e[k], &wr[k][i].wr);
		}
		if (i % 50 == 0)
			world_turn(&w, 0);
	}
	PUMP_UNTIL(&w, w.cli.nwc == 3 * MIX && w.srv.nwc == 3 * MIX);
	for (size_t k = 0; k < 2; k++) {
		CU_ASSERT_EQUAL(ep_count(e[k], FAB_OK), 3 * MIX);
		/* Sent by k, received by !k; written by k into !k's; read by k
		 * from !k's. */
		CU_ASSERT_EQUAL(memcmp(w.arena + SRC + k * area,
				       w.arena + DST + !k * area, area),
				0);
		CU_ASSERT_EQUAL(memcmp(w.arena + SRC + k * area,
				       w.arena + DST + (2 + !k) * area, area),
				0);
		CU_ASSERT_EQUAL(memcmp(w.arena + SRC + !k * area,
				       w.arena + DST + (4 + k) * area, area),
				0);
	}
	world_close(&w);
}

/* ---- Opening and closing --------------------------------------------- */

/* Closed before, while and after the device has opened it. */
static void test_expose_close(void)
{
	static struct msg s, r;
	uint32_t h[40];
	uint64_t off;
	int same = 0;

	world_pair(&w);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 40; i++) {
			CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena + i, 100,
						  FAB_REMOTE_READ, &h[i], &off),
					0);
			for (int k = 0; k < i; k++)
				same += h[i] == h[k];
			if (round % 3 == 0 && i % 2)
				fab_unexpose(w.cli.c, h[i], NULL);
		}
		if (round % 3) {
			CU_ASSERT_EQUAL(ep_recv(&w.srv,
						msg_init(&w, &r, FAB_RECV,
							 ARENA - 64, 64)),
					0);
			ep_post(&w.cli,
				msg_init(&w, &s, FAB_SEND, ARENA - 128, 5));
			if (round % 3 == 1)
				PUMP_UNTIL(&w, w.cli.nwc == 1);
		}
		for (int i = 0; i < 40; i++)
			fab_unexpose(w.cli.c, h[i], NULL);
		if (round % 3)
			PUMP_UNTIL(&w, w.cli.nwc == 1 && w.srv.nwc == 1);
		w.cli.nwc = w.srv.nwc = 0;
	}
	/* A handle is never that of one just closed. */
	CU_ASSERT_EQUAL(same, 0);
	world_turn(&w, 0);
	CU_ASSERT_FALSE(w.cli.disconnected);
	world_hello(&w);
	world_close(&w);
}

static void test_expose_bad(void)
{
	uint32_t h;
	uint64_t off;

	world_pair(&w);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena + ARENA - 1, 2,
				  FAB_REMOTE_READ, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena - 1, 2, FAB_REMOTE_READ, &h,
				  &off),
			-EINVAL);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena, 2, 8, &h, &off), -EINVAL);
	CU_ASSERT_EQUAL(ep_expose(&w.cli, w.arena, 2, 0, &h, &off), -EINVAL);
	world_close(&w);
}

static void test_post_bad(void)
{
	struct fab_sge sge[65];
	struct fab_wr wr = { .op = FAB_SEND }, bad = { .op = FAB_RECV };
	const struct fab_limits *limits;

	for (unsigned int i = 0; i < 65; i++)
		sge[i] = (struct fab_sge){ w.arena, 1, w.mr };
	world_open(&w);
	limits = fab_domain_limits(w.cli_dom);
	world_connect(&w, NULL);
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -ENOTCONN);
	PUMP_UNTIL(&w, w.cli.established && w.srv.established);
	wr.next = &bad;
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -EINVAL);
	wr.next = NULL;
	wr.sge = sge;
	wr.nsge = limits->max_sge + 1;
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -EINVAL);
	wr.nsge = 1;
	sge[0] = (struct fab_sge){ w.arena + ARENA - 1, 2, w.mr };
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -EINVAL);
	sge[0] = (struct fab_sge){ w.arena, 2, NULL };
	if (!(limits->caps & FAB_CAP_ANY_LOCAL))
		CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -EINVAL);
	sge[0] = (struct fab_sge){ w.arena, limits->max_message + 1, w.mr };
	CU_ASSERT_EQUAL(ep_try_post(&w.cli, &wr), -EINVAL);
	CU_ASSERT_EQUAL(ep_recv(&w.cli, &wr), -EINVAL);
	w.cli.ready = true;
	world_turn(&w, 0);
	CU_ASSERT_FALSE(w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.nwc, 0);
	world_close(&w);
}

const struct unit_test provider_data_tests[] = {
	{ "send", test_send },
	{ "many_sends", test_many_sends },
	{ "busy", test_busy },
	{ "write", test_write },
	{ "read", test_read },
	{ "read_depth", test_read_depth },
	{ "chain", test_chain },
	{ "mix", test_mix },
	{ "expose_close", test_expose_close },
	{ "expose_bad", test_expose_bad },
	{ "post_bad", test_post_bad },
	{ NULL, NULL },
};
