/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_conn - life of connections: depth, order, partial transfers, the end
 *
 * Threads: one.
 */
#include <dirent.h>

#include "fabric/iwarp/iw.h"
#include "iwarp_raw.h"
#include "test_clock.h"

static const struct fab_domain_params crc_on = { .crc = true, .read_depth = 4 };
static struct world w;
static struct raw r;

static struct fab_sge tiny_sge[64];
static uint8_t tiny_mem[64][16];

/* Post @n small Receives. */
static void post_recvs(struct ep *e, struct fab_wr *wr, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		tiny_sge[i] = (struct fab_sge){ tiny_mem[i], 16, NULL };
		wr[i] = (struct fab_wr){ .op = FAB_RECV,
					 .nsge = 1,
					 .sge = &tiny_sge[i] };
		CU_ASSERT_EQUAL(fab_post_recv(e->c, &wr[i]), 0);
	}
}

/* The client says something, so that the server may speak. */
static void say(void)
{
	static struct fab_wr wr, recv;

	wr = (struct fab_wr){ .op = FAB_SEND, .flags = FAB_F_SIGNALED };
	post_recvs(&w.srv, &recv, 1);
	ep_post(&w.cli, &wr);
	PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
	w.srv.nwc = w.cli.nwc = 0;
}

/*
 * The smallest send buffer there is: every send is partial and every receive
 * at the other end cut anywhere. (A receive buffer made small later only makes
 * TCP's probe timers run.)
 */
static void tiny_buffers(struct fab_conn *c)
{
	int size = 1;

	setsockopt(iw_conn(c)->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

/* ---- Depth and order ------------------------------------------------- */

#define NREADS 40
#define READ_LEN 5000

static void test_read_depth(void)
{
	static uint8_t src[NREADS * READ_LEN], dst[NREADS * READ_LEN];
	static struct fab_sge sge[NREADS];
	static struct fab_wr wr[NREADS], after;
	struct fab_mr *mr;
	uint32_t stag;
	uint64_t off;

	/* The server takes fewer at once than the client could issue. */
	world_open(&w, &crc_on);
	w.accept.read_depth = 2;
	world_join(&w, NULL);
	fill_random(src, sizeof(src), 4);
	memset(dst, 0, sizeof(dst));
	CU_ASSERT_EQUAL(fab_reg(w.dom, src, sizeof(src), &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, src, sizeof(src),
				   FAB_REMOTE_READ, &stag, &off),
			0);
	for (unsigned int i = 0; i < NREADS; i++) {
		sge[i] = (struct fab_sge){ dst + i * READ_LEN, READ_LEN, NULL };
		wr[i] = (struct fab_wr){ .op = FAB_READ,
					 .handle = stag,
					 .offset = off + i * READ_LEN,
					 .nsge = 1,
					 .sge = &sge[i],
					 .next = i + 1 < NREADS ? &wr[i + 1] :
								  NULL };
	}
	ep_post(&w.cli, wr);
	/* What is posted later may pass those that wait. */
	after = (struct fab_wr){ .op = FAB_WRITE, .flags = FAB_F_SIGNALED };
	ep_post(&w.cli, &after);
	PUMP_UNTIL(&w, w.cli.nwc == NREADS + 1);
	for (int i = 0, k = 0; i < w.cli.nwc; i++) {
		CU_ASSERT_EQUAL(w.cli.wc[i].status, FAB_OK);
		if (w.cli.wc[i].wr != &after)
			CU_ASSERT_PTR_EQUAL(w.cli.wc[i].wr, &wr[k++]);
	}
	CU_ASSERT_EQUAL(memcmp(src, dst, sizeof(src)), 0);
	fab_dereg(mr);
	world_close(&w);
}

/* Only the last of a chain is signaled; its completion covers all. */
static void test_chain(void)
{
	static uint8_t dst[64 * 1000], src[64 * 1000];
	static struct fab_sge sge[64];
	static struct fab_wr wr[65], recv[1];
	struct fab_counters cnt;
	struct fab_mr *mr;
	uint32_t stag;
	uint64_t off;

	world_pair(&w, &crc_on);
	fill_random(src, sizeof(src), 6);
	CU_ASSERT_EQUAL(fab_reg(w.dom, dst, sizeof(dst), &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, dst, sizeof(dst),
				   FAB_REMOTE_WRITE, &stag, &off),
			0);
	for (unsigned int i = 0; i < 64; i++) {
		sge[i] = (struct fab_sge){ src + i * 1000, 1000, NULL };
		wr[i] = (struct fab_wr){ .op = FAB_WRITE,
					 .handle = stag,
					 .offset = off + i * 1000,
					 .nsge = 1,
					 .sge = &sge[i],
					 .next = &wr[i + 1] };
	}
	wr[64] = (struct fab_wr){ .op = FAB_SEND, .flags = FAB_F_SIGNALED };
	post_recvs(&w.srv, recv, 1);
	ep_post(&w.cli, wr);
	PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
	CU_ASSERT_PTR_EQUAL(w.cli.wc[0].wr, &wr[64]);
	CU_ASSERT_EQUAL(memcmp(src, dst, sizeof(src)), 0);
	fab_conn_counters(w.cli.c, &cnt);
	CU_ASSERT_EQUAL(cnt.posts, 1);
	CU_ASSERT_EQUAL(cnt.writes, 64);
	CU_ASSERT_EQUAL(cnt.write_bytes, sizeof(src));
	CU_ASSERT_EQUAL(cnt.sends, 1);
	fab_conn_counters(w.srv.c, &cnt);
	CU_ASSERT_EQUAL(cnt.peer_writes, 64);
	CU_ASSERT_EQUAL(cnt.peer_write_bytes, sizeof(src));
	CU_ASSERT_EQUAL(cnt.recvs, 1);
	fab_dereg(mr);
	world_close(&w);
}

static void test_post_errors(void)
{
	struct fab_sge sge[IW_MAX_SGE + 1];
	struct fab_wr wr = { .op = FAB_SEND }, bad = { .op = FAB_RECV };
	uint32_t stag;
	uint64_t off;
	struct fab_mr *mr;

	memset(sge, 0, sizeof(sge));
	world_open(&w, &crc_on);
	world_connect(&w, NULL);
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), -ENOTCONN);
	PUMP_UNTIL(&w, w.cli.established && w.srv.established);
	/* Nothing of a bad chain is taken. */
	wr.next = &bad;
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), -EINVAL);
	wr.next = NULL;
	wr.nsge = IW_MAX_SGE + 1;
	wr.sge = sge;
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), -EINVAL);
	wr.nsge = 2;
	sge[0].addr = sge[1].addr = tiny_mem;
	sge[0].len = sge[1].len = SIZE_MAX;
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), -EINVAL);
	CU_ASSERT_EQUAL(fab_post_recv(w.cli.c, &wr), -EINVAL);
	CU_ASSERT_EQUAL(fab_reg(w.dom, tiny_mem, 100, &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w.cli.c, mr, tiny_mem[0] + 1, 100, 1, &stag,
				   &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w.cli.c, mr, tiny_mem, 10, 8, &stag, &off),
			-EINVAL);
	fab_disconnect(w.cli.c, true);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.nwc, 0);
	wr.nsge = 0;
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), -ENOTCONN);
	CU_ASSERT_EQUAL(fab_expose(w.cli.c, mr, tiny_mem, 10, 1, &stag, &off),
			-ENOTCONN);
	fab_dereg(mr);
	world_close(&w);
}

/* ---- Everything at once over tiny socket buffers --------------------- */

#define MIX_LEN 300000
#define MIX 24

struct mix {
	uint8_t *src, *wdst, *rdst, *sdst;
	struct fab_mr *wmr, *rmr;
	uint32_t wstag, rstag;
	uint64_t woff, roff;
	struct fab_sge rs[MIX], ws[MIX], ss[MIX], vs[MIX];
	struct fab_wr read[MIX], write[MIX], send[MIX], recv[MIX];
};

static void mix_open(struct mix *m, struct ep *e, uint32_t seed)
{
	m->src = malloc(MIX_LEN);
	m->wdst = calloc(1, MIX_LEN);
	m->rdst = calloc(1, MIX_LEN);
	m->sdst = calloc(1, MIX_LEN);
	fill_random(m->src, MIX_LEN, seed);
	fab_reg(w.dom, m->wdst, MIX_LEN, &m->wmr);
	fab_reg(w.dom, m->src, MIX_LEN, &m->rmr);
	CU_ASSERT_EQUAL(fab_expose(e->c, m->wmr, m->wdst, MIX_LEN,
				   FAB_REMOTE_WRITE, &m->wstag, &m->woff),
			0);
	CU_ASSERT_EQUAL(fab_expose(e->c, m->rmr, m->src, MIX_LEN,
				   FAB_REMOTE_READ, &m->rstag, &m->roff),
			0);
}

static void mix_post(struct mix *m, const struct mix *peer, struct ep *e)
{
	size_t part = MIX_LEN / MIX;

	for (unsigned int i = 0; i < MIX; i++) {
		size_t at = i * part;

		m->vs[i] = (struct fab_sge){ m->sdst + at, part, NULL };
		m->recv[i] = (struct fab_wr){ .op = FAB_RECV,
					      .nsge = 1,
					      .sge = &m->vs[i] };
		CU_ASSERT_EQUAL(fab_post_recv(e->c, &m->recv[i]), 0);
		m->rs[i] = (struct fab_sge){ m->rdst + at, part, NULL };
		m->read[i] = (struct fab_wr){ .op = FAB_READ,
					      .handle = peer->rstag,
					      .offset = peer->roff + at,
					      .nsge = 1,
					      .sge = &m->rs[i],
					      .next = &m->write[i] };
		m->ws[i] = (struct fab_sge){ m->src + at, part, NULL };
		m->write[i] = (struct fab_wr){ .op = FAB_WRITE,
					       .handle = peer->wstag,
					       .offset = peer->woff + at,
					       .nsge = 1,
					       .sge = &m->ws[i],
					       .next = &m->send[i] };
		m->ss[i] = m->ws[i];
		m->send[i] = (struct fab_wr){ .op = FAB_SEND,
					      .flags = FAB_F_SIGNALED,
					      .nsge = 1,
					      .sge = &m->ss[i],
					      .next = i + 1 < MIX ?
							      &m->read[i + 1] :
							      NULL };
	}
}

static void mix_close(struct mix *m)
{
	fab_dereg(m->wmr);
	fab_dereg(m->rmr);
	free(m->src);
	free(m->wdst);
	free(m->rdst);
	free(m->sdst);
}

static void mixed(const struct fab_domain_params *p)
{
	static struct mix a, b;

	world_pair(&w, p);
	tiny_buffers(w.cli.c);
	tiny_buffers(w.srv.c);
	mix_open(&a, &w.cli, 1);
	mix_open(&b, &w.srv, 2);
	mix_post(&a, &b, &w.cli);
	mix_post(&b, &a, &w.srv);
	ep_post(&w.cli, a.read);
	ep_post(&w.srv, b.read);
	PUMP_UNTIL(&w, w.cli.nwc == 3 * MIX && w.srv.nwc == 3 * MIX);
	for (int i = 0; i < 3 * MIX; i++) {
		CU_ASSERT_EQUAL(w.cli.wc[i].status, FAB_OK);
		CU_ASSERT_EQUAL(w.srv.wc[i].status, FAB_OK);
	}
	CU_ASSERT_EQUAL(memcmp(a.src, b.wdst, MIX_LEN), 0);
	CU_ASSERT_EQUAL(memcmp(a.src, b.sdst, MIX_LEN), 0);
	CU_ASSERT_EQUAL(memcmp(a.src, b.rdst, MIX_LEN), 0);
	CU_ASSERT_EQUAL(memcmp(b.src, a.wdst, MIX_LEN), 0);
	CU_ASSERT_EQUAL(memcmp(b.src, a.sdst, MIX_LEN), 0);
	CU_ASSERT_EQUAL(memcmp(b.src, a.rdst, MIX_LEN), 0);
	mix_close(&a);
	mix_close(&b);
	world_close(&w);
}

static void test_mixed(void)
{
	static const size_t fpdu[] = { 0, 128, 1460, 9000 };

	for (unsigned int i = 0; i < 4; i++)
		for (unsigned int crc = 0; crc < 2; crc++) {
			struct fab_domain_params p = { .crc = crc,
						       .read_depth = 3,
						       .max_fpdu = fpdu[i] };

			mixed(&p);
		}
}

/*
 * Read Responses take turns with the send queue, but two tagged messages are
 * never interleaved, nor two untagged ones.
 */
static void test_turns(void)
{
	static const struct fab_domain_params p = { .crc = true,
						    .max_fpdu = 1460 };
	static uint8_t mem[40000], f[256];
	static struct fab_sge sge = { mem, sizeof(mem), NULL };
	static struct fab_wr wr[6], recv;
	unsigned int open[2] = { 0, 0 }, done = 0, mixed = 0;
	struct fab_mr *mr;
	uint32_t stag;
	uint64_t off;
	size_t n = 0, len;

	world_open(&w, &p);
	raw_connect(&w, &r, true);
	tiny_buffers(w.srv.c);
	CU_ASSERT_EQUAL(fab_reg(w.dom, mem, sizeof(mem), &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, mem, sizeof(mem),
				   FAB_REMOTE_READ, &stag, &off),
			0);
	post_recvs(&w.srv, &recv, 1);
	for (unsigned int i = 0; i < 6; i++)
		wr[i] = (struct fab_wr){ .op = i % 2 ? FAB_SEND : FAB_WRITE,
					 .handle = 5,
					 .nsge = 1,
					 .sge = &sge,
					 .next = i < 5 ? &wr[i + 1] : NULL };
	ep_post(&w.srv, wr);
	for (uint32_t i = 1; i <= 3; i++)
		n += raw_seal(&r, f + n,
			      raw_read_req(f + n, i, 77, 0, sizeof(mem), stag,
					   off));
	raw_write(&w, &r, f, n);
	while (done < 9) {
		RAW_UNTIL(&w, &r, raw_fpdu(&r) || r.eof);
		len = raw_fpdu(&r);
		if (!len)
			break;
		raw_check_crc(&r, len);
		unsigned int tagged = r.in[2] >> 7, op = r.in[3];

		CU_ASSERT_TRUE(!open[tagged] || open[tagged] == op);
		mixed += open[!tagged] != 0;
		open[tagged] = r.in[2] & 0x40 ? 0 : op;
		done += r.in[2] >> 6 & 1;
		raw_drop(&r, len);
	}
	CU_ASSERT_EQUAL(done, 9);
	CU_ASSERT_TRUE(mixed > 10);
	close(r.fd);
	fab_dereg(mr);
	world_close(&w);
}

/* ---- The end --------------------------------------------------------- */

#define BIG ((size_t)8 << 20)

/* In order: what was posted before still arrives, and then the end. */
static void test_orderly(void)
{
	static struct fab_wr write, send, recv;
	struct fab_sge sge;
	uint8_t *src = malloc(BIG), *dst = malloc(BIG);
	struct fab_mr *mr;

	test_clock_hold(); /* However long it takes. */
	world_pair(&w, &crc_on);
	fill_random(src, BIG, 1);
	sge = (struct fab_sge){ src, BIG, NULL };
	CU_ASSERT_EQUAL(fab_reg(w.dom, dst, BIG, &mr), 0);
	write = (struct fab_wr){ .op = FAB_WRITE, .nsge = 1, .sge = &sge };
	send = (struct fab_wr){ .op = FAB_SEND };
	write.next = &send;
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, dst, BIG, FAB_REMOTE_WRITE,
				   &write.handle, &write.offset),
			0);
	post_recvs(&w.srv, &recv, 1);
	ep_post(&w.cli, &write);
	fab_disconnect(w.cli.c, false);
	fab_disconnect(w.cli.c, false);
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &send), -ENOTCONN);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, 0);
	CU_ASSERT_EQUAL(w.srv.error, 0);
	CU_ASSERT_EQUAL(w.srv.nwc, 1);
	CU_ASSERT_EQUAL(w.srv.wc[0].status, FAB_OK);
	CU_ASSERT_EQUAL(memcmp(src, dst, BIG), 0);
	fab_disconnect(w.cli.c, true);
	fab_dereg(mr);
	world_close(&w);
	test_clock_release();
	free(src);
	free(dst);
}

/* A Read that is under way is waited for. */
static void test_orderly_read(void)
{
	static struct fab_wr read;
	struct fab_sge sge;
	uint8_t *src = malloc(BIG), *dst = malloc(BIG);
	struct fab_mr *mr;

	test_clock_hold(); /* However long it takes. */
	world_pair(&w, &crc_on);
	fill_random(src, BIG, 1);
	sge = (struct fab_sge){ dst, BIG, NULL };
	CU_ASSERT_EQUAL(fab_reg(w.dom, src, BIG, &mr), 0);
	read = (struct fab_wr){ .op = FAB_READ, .nsge = 1, .sge = &sge };
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, src, BIG, FAB_REMOTE_READ,
				   &read.handle, &read.offset),
			0);
	ep_post(&w.cli, &read);
	fab_disconnect(w.cli.c, false);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.cli.nwc, 1);
	CU_ASSERT_EQUAL(w.cli.wc[0].status, FAB_OK);
	CU_ASSERT_EQUAL(memcmp(src, dst, BIG), 0);
	fab_dereg(mr);
	world_close(&w);
	test_clock_release();
	free(src);
	free(dst);
}

/* At once, in the middle of much of everything. */
static void test_abort(void)
{
	static struct mix a, b;

	for (int turns = 0; turns < 12; turns++) {
		world_pair(&w, &crc_on);
		tiny_buffers(w.cli.c);
		mix_open(&a, &w.cli, 1);
		mix_open(&b, &w.srv, 2);
		mix_post(&a, &b, &w.cli);
		mix_post(&b, &a, &w.srv);
		ep_post(&w.cli, a.read);
		ep_post(&w.srv, b.read);
		for (int i = 0; i < turns * 3; i++)
			world_turn(&w, 1);
		fab_disconnect(turns % 2 ? w.cli.c : w.srv.c, true);
		PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
		/* Each side has all of its Receives, Reads and signaled
		 * Sends back; flushed ones give completions all. */
		for (unsigned int i = 0; i < MIX; i++) {
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.cli, &a.recv[i]));
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.cli, &a.read[i]));
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.cli, &a.send[i]));
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.srv, &b.recv[i]));
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.srv, &b.read[i]));
			CU_ASSERT_PTR_NOT_NULL(ep_find(&w.srv, &b.send[i]));
		}
		CU_ASSERT_EQUAL((turns % 2 ? &w.cli : &w.srv)->error,
				-ECONNABORTED);
		mix_close(&a);
		mix_close(&b);
		world_close(&w);
	}
}

/* A peer that never closes its side holds nobody up for long. */
static void test_linger(void)
{
	world_open(&w, &crc_on);
	raw_connect(&w, &r, true);
	fab_disconnect(w.srv.c, false);
	RAW_UNTIL(&w, &r, r.eof);
	PUMP_UNTIL(&w, w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -ETIMEDOUT);
	close(r.fd);
	world_close(&w);
}

/* The same after a Terminate that it does not even read. */
static void test_linger_terminate(void)
{
	uint8_t f[64];
	size_t n;

	world_open(&w, &crc_on);
	raw_connect(&w, &r, true);
	n = raw_seal(&r, f, raw_untagged(f, 3, true, 0, 0, 1, 0, "abc", 3));
	raw_write(&w, &r, f, n);
	PUMP_UNTIL(&w, w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EPROTO);
	close(r.fd);
	world_close(&w);
}

/* A region closed while the peer reads it: not an octet more goes out, not
 * even to end an FPDU before the Terminate that something else calls for. */
static void closed_under_read(bool terminate)
{
	uint8_t *mem = malloc(BIG), f[64], late[32];
	struct fab_mr *mr;
	uint32_t stag;
	uint64_t off;
	size_t got = 0, n;

	test_clock_hold(); /* However long it takes. */
	memset(late, 0x22, sizeof(late));
	memset(mem, 0x11, BIG);
	world_open(&w, &crc_on);
	raw_connect(&w, &r, true);
	tiny_buffers(w.srv.c);
	CU_ASSERT_EQUAL(fab_reg(w.dom, mem, BIG, &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, mr, mem, BIG, FAB_REMOTE_READ,
				   &stag, &off),
			0);
	n = raw_seal(&r, f, raw_read_req(f, 1, 5, 0, (uint32_t)BIG, stag, off));
	raw_write(&w, &r, f, n);
	/* Not read from, the socket fills up in the middle of an FPDU. TCP
	 * acknowledges late, so that it takes a while. */
	for (int still = 0; still < 120; still++) {
		uint64_t sent = iw_conn(w.srv.c)->tx.sent;

		world_turn(&w, 1);
		if (iw_conn(w.srv.c)->tx.sent != sent)
			still = 0;
	}
	if (terminate) {
		n = raw_seal(&r, f, raw_tagged(f, 0, true, 5, 5, "abc", 3));
		CU_ASSERT_EQUAL(send(r.fd, f, n, 0), (ssize_t)n);
		for (int i = 0; i < 20; i++)
			world_turn(&w, 1);
		CU_ASSERT_FALSE(w.srv.disconnected);
	}
	fab_unexpose(w.srv.c, stag, NULL);
	memset(mem, 0x22, BIG);
	for (;;) {
		/* Longer than what headers and CRC may hold by chance. */
		CU_ASSERT_PTR_NULL(memmem(r.in, r.in_len, late, sizeof(late)));
		got += r.in_len;
		r.in_len = 0;
		if (r.eof)
			break;
		world_turn(&w, 1);
		raw_read(&r);
	}
	CU_ASSERT_TRUE(got < BIG);
	PUMP_UNTIL(&w, w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EPROTO);
	close(r.fd);
	fab_dereg(mr);
	world_close(&w);
	test_clock_release();
	free(mem);
}

static void test_closed_under_read(void)
{
	closed_under_read(false);
	closed_under_read(true);
}

/* A Terminate in the middle of a large FPDU waits until that is out. */
static void test_terminate_after_partial(void)
{
	static struct fab_wr write;
	uint8_t *mem = malloc(BIG), f[64];
	struct fab_sge sge = { mem, BIG, NULL };
	struct fab_wr recv;
	size_t n, len;

	test_clock_hold(); /* However long it takes. */
	memset(mem, 0x11, BIG);
	world_open(&w, &crc_on);
	raw_connect(&w, &r, true);
	tiny_buffers(w.srv.c);
	post_recvs(&w.srv, &recv, 1);
	/* Speak first, so that it may. */
	n = raw_seal(&r, f, raw_untagged(f, 3, true, 0, 0, 1, 0, "abc", 3));
	raw_write(&w, &r, f, n);
	PUMP_UNTIL(&w, w.srv.nwc == 1);
	write = (struct fab_wr){ .op = FAB_WRITE,
				 .nsge = 1,
				 .sge = &sge,
				 .handle = 1,
				 .flags = FAB_F_SIGNALED };
	ep_post(&w.srv, &write);
	for (int i = 0; i < 5; i++)
		world_turn(&w, 1);
	n = raw_seal(&r, f, raw_tagged(f, 0, true, 5, 5, "abc", 3));
	send(r.fd, f, n, 0);
	for (int i = 0; i < 20; i++)
		world_turn(&w, 1);
	/* Whole FPDUs with good CRC, the Terminate, the end. */
	n = 0;
	do {
		RAW_UNTIL(&w, &r, raw_fpdu(&r) || r.eof);
		len = raw_fpdu(&r);
		if (!len)
			break;
		raw_check_crc(&r, len);
		n = r.in[3];
		CU_ASSERT_TRUE(n == 0x40 ||
			       (n == 0x47 && get32(r.in + 20) == 0x1100c000));
		raw_drop(&r, len);
	} while (n != 0x47);
	CU_ASSERT_EQUAL(n, 0x47);
	RAW_UNTIL(&w, &r, r.eof);
	CU_ASSERT_EQUAL(r.in_len, 0);
	shutdown(r.fd, SHUT_WR);
	PUMP_UNTIL(&w, w.srv.disconnected);
	CU_ASSERT_PTR_NOT_NULL(ep_find(&w.srv, &write));
	CU_ASSERT_EQUAL(ep_find(&w.srv, &write)->status, FAB_FLUSHED);
	close(r.fd);
	world_close(&w);
	test_clock_release();
	free(mem);
}

/* ---- Destruction ----------------------------------------------------- */

static void destroy_in_ready(struct fab_conn *c, void *user)
{
	struct ep *e = user;
	struct fab_wc wc;

	CU_ASSERT_FALSE(e->ready);
	while (fab_poll(c, &wc, 1) > 0)
		if (wc.kind == FAB_WC_DISCONNECTED)
			e->disconnected = true;
	if (!e->disconnected)
		return;
	/* A kick that is on its way must not come any more, neither one made
	 * from the callback of an event nor one from that of a kick. */
	fab_conn_schedule(c);
	if (!e->nwc++)
		return;
	fab_conn_destroy_deferred(c, ep_gone, e);
	e->c = NULL;
	e->ready = true;
}

static void test_destroy_in_ready(void)
{
	world_pair(&w, &crc_on);
	fab_conn_set_ready(w.cli.c, destroy_in_ready, &w.cli);
	w.cli.ready = false;
	fab_disconnect(w.srv.c, false);
	for (int i = 0; i < 1000 && !w.cli.gone; i++) {
		fab_poller_run(w.poller, 5);
		if (w.srv.ready)
			ep_poll(&w.srv);
	}
	CU_ASSERT_TRUE(w.cli.gone);
	w.cli.ready = false;
	PUMP_UNTIL(&w, w.srv.disconnected);
	world_close(&w);
}

static void test_listener_close(void)
{
	static struct raw idle[5];

	world_open(&w, &crc_on);
	for (int i = 0; i < 5; i++) {
		raw_dial(&idle[i], &w.addr);
		world_turn(&w, 1);
	}
	fab_listener_close(w.listener);
	w.listener = NULL;
	for (int i = 0; i < 5; i++) {
		RAW_UNTIL(&w, &idle[i], idle[i].eof);
		close(idle[i].fd);
	}
	CU_ASSERT_EQUAL(w.requests, 0);
	world_close(&w);
}

static int open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* Thousands of connections, ended in every way, leave nothing behind.
 * (Memory: the leak checker of the address sanitizer looks at the end.) */
static void test_many(void)
{
	int before;

	world_open(&w, &crc_on);
	before = open_fds();
	for (unsigned int i = 0; i < 3000; i++) {
		w.cli.established = w.cli.disconnected = false;
		w.srv.established = w.srv.disconnected = false;
		w.cli.gone = w.srv.gone = 0;
		w.cli.nwc = w.srv.nwc = 0;
		world_connect(&w, NULL);
		if (i % 5 == 4) {
			/* Not even established. */
			fab_disconnect(w.cli.c, true);
			PUMP_UNTIL(&w, w.cli.disconnected);
			ep_destroy(&w, &w.cli);
			if (w.srv.c) {
				fab_disconnect(w.srv.c, true);
				PUMP_UNTIL(&w, w.srv.disconnected);
				ep_destroy(&w, &w.srv);
			}
			continue;
		}
		PUMP_UNTIL(&w, w.cli.established && w.srv.established);
		if (i % 5 == 3)
			say();
		fab_disconnect(i & 1 ? w.cli.c : w.srv.c, i & 2);
		PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
		ep_destroy(&w, &w.cli);
		ep_destroy(&w, &w.srv);
	}
	/* A server that has yet to hear of some finds them gone. */
	PUMP_UNTIL(&w, open_fds() == before);
	world_close(&w);
}

/* Quiet: what comes is not told of, but later; and the end at once. */
static void test_quiet(void)
{
	static struct fab_wr wr, recv[2];

	world_pair(&w, &crc_on);
	post_recvs(&w.srv, recv, 2);
	fab_conn_mask(w.srv.c, true);
	for (int i = 0; i < 5; i++)
		world_turn(&w, 1);
	for (int i = 1; i <= 2; i++) {
		wr = (struct fab_wr){ .op = FAB_SEND, .flags = FAB_F_SIGNALED };
		ep_post(&w.cli, &wr);
		PUMP_UNTIL(&w, w.cli.nwc == i);
		for (int k = 0; k < 20; k++)
			world_turn(&w, 1);
		CU_ASSERT_EQUAL(w.srv.nwc, 0);
	}
	fab_conn_mask(w.srv.c, false);
	PUMP_UNTIL(&w, w.srv.nwc == 2);
	fab_conn_mask(w.srv.c, true);
	fab_disconnect(w.cli.c, false);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, 0);
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "read_depth", test_read_depth },
	{ "chain", test_chain },
	{ "post_errors", test_post_errors },
	{ "mixed", test_mixed },
	{ "turns", test_turns },
	{ "orderly", test_orderly },
	{ "orderly_read", test_orderly_read },
	{ "abort", test_abort },
	{ "linger", test_linger },
	{ "linger_terminate", test_linger_terminate },
	{ "closed_under_read", test_closed_under_read },
	{ "terminate_after_partial", test_terminate_after_partial },
	{ "destroy_in_ready", test_destroy_in_ready },
	{ "listener_close", test_listener_close },
	{ "many", test_many },
	{ "quiet", test_quiet },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_conn", tests)
