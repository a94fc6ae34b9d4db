/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_bad - a peer that breaks the rules, one at a time
 *
 * Each case sends one FPDU that is wrong in one way and checks the Terminate
 * octet by octet, that the work posted comes back flushed, that DISCONNECTED
 * is the last event, and that no memory was touched.
 *
 * Threads: one.
 */
#include "iwarp_raw.h"

#define REGION 4096
#define RECVS 3
#define RECV_LEN 512

struct bad {
	struct world w;
	struct raw r;
	uint8_t mem[3 * REGION], recv[RECVS][RECV_LEN];
	struct fab_mr *mr;
	struct fab_sge rsge[RECVS];
	struct fab_wr rwr[RECVS];
	uint32_t stag, stag_read, stag_write;
	uint64_t off, off_read, off_write;
};

static struct bad b;

static const struct fab_domain_params crc_on = { .crc = true, .read_depth = 4 };

static void bad_open(bool recvs)
{
	memset(&b, 0, sizeof(b));
	world_open(&b.w, &crc_on);
	raw_connect(&b.w, &b.r, false);
	/* The responder wants CRC, so it is used. */
	CU_ASSERT_TRUE(b.r.crc);
	memset(b.mem, 0x5a, sizeof(b.mem));
	memset(b.recv, 0x5a, sizeof(b.recv));
	CU_ASSERT_EQUAL(fab_reg(b.w.dom, b.mem, sizeof(b.mem), &b.mr), 0);
	CU_ASSERT_EQUAL(fab_expose(b.w.srv.c, b.mr, b.mem + REGION, REGION,
				   FAB_REMOTE_READ | FAB_REMOTE_WRITE, &b.stag,
				   &b.off),
			0);
	CU_ASSERT_EQUAL(fab_expose(b.w.srv.c, b.mr, b.mem + REGION, REGION,
				   FAB_REMOTE_READ, &b.stag_read, &b.off_read),
			0);
	CU_ASSERT_EQUAL(fab_expose(b.w.srv.c, b.mr, b.mem + REGION, REGION,
				   FAB_REMOTE_WRITE, &b.stag_write,
				   &b.off_write),
			0);
	for (int i = 0; recvs && i < RECVS; i++) {
		b.rsge[i] = (struct fab_sge){ b.recv[i], RECV_LEN, NULL };
		b.rwr[i] = (struct fab_wr){ .op = FAB_RECV,
					    .nsge = 1,
					    .sge = &b.rsge[i] };
		CU_ASSERT_EQUAL(fab_post_recv(b.w.srv.c, &b.rwr[i]), 0);
	}
}

static void bad_close(void)
{
	close(b.r.fd);
	fab_dereg(b.mr);
	world_close(&b.w);
}

static bool untouched(const void *p, size_t len)
{
	const uint8_t *m = p;

	for (size_t i = 0; i < len; i++)
		if (m[i] != 0x5a)
			return false;
	return true;
}

/* Send what is wrong; expect the Terminate with @ctrl and @hdr behind it. */
static void expect_terminate(const uint8_t *f, size_t len, uint32_t ctrl,
			     const uint8_t *hdr, size_t hdr_len, int recvs)
{
	struct fab_wr late = { .op = FAB_SEND };
	size_t n;

	raw_write(&b.w, &b.r, f, len);
	RAW_UNTIL(&b.w, &b.r, b.r.eof);
	n = raw_fpdu(&b.r);
	CU_ASSERT_EQUAL(n, (20 + 4 + hdr_len + 3) / 4 * 4 + 4);
	CU_ASSERT_EQUAL(n, b.r.in_len);
	if (n) {
		raw_check_crc(&b.r, n);
		CU_ASSERT_EQUAL(b.r.in[2], 0x41);
		CU_ASSERT_EQUAL(b.r.in[3], 0x47);
		CU_ASSERT_EQUAL(get32(b.r.in + 4), 0);
		CU_ASSERT_EQUAL(get32(b.r.in + 8), 2);
		CU_ASSERT_EQUAL(get32(b.r.in + 12), 1);
		CU_ASSERT_EQUAL(get32(b.r.in + 16), 0);
		CU_ASSERT_EQUAL(get32(b.r.in + 20), ctrl);
		if (hdr_len)
			CU_ASSERT_EQUAL(memcmp(b.r.in + 24, hdr, hdr_len), 0);
	}
	CU_ASSERT_FALSE(b.r.reset);
	/* Ours is the closing end now. */
	shutdown(b.r.fd, SHUT_WR);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_EQUAL(b.w.srv.error, -EPROTO);
	CU_ASSERT_EQUAL(b.w.srv.nwc, recvs);
	for (int i = 0; i < b.w.srv.nwc; i++)
		CU_ASSERT_NOT_EQUAL(b.w.srv.wc[i].status, FAB_OK);
	CU_ASSERT_TRUE(untouched(b.mem, sizeof(b.mem)));
	CU_ASSERT_TRUE(untouched(b.recv, sizeof(b.recv)));
	CU_ASSERT_EQUAL(fab_post(b.w.srv.c, &late), -ENOTCONN);
}

static uint8_t buf[1 << 17], data[1 << 16];

/* A tagged case: open, send, expect. */
static void tagged(unsigned int op, uint32_t stag, uint64_t to, size_t len,
		   uint32_t ctrl)
{
	size_t n = raw_tagged(buf, op, true, stag, to, data, len);

	n = raw_seal(&b.r, buf, n);
	expect_terminate(buf, n, ctrl, buf, 16, RECVS);
	bad_close();
}

#define DDP_STAG 0x1100c000
#define DDP_BOUNDS 0x1101c000
#define DDP_WRAP 0x1103c000
#define RDMAP_ACCESS_MD 0x0102c000

static void test_write_bad_stag(void)
{
	bad_open(true);
	tagged(0, b.stag ^ 0x8000, b.off, 100, DDP_STAG);
	bad_open(true);
	tagged(0, 0, b.off, 100, DDP_STAG);
	bad_open(true);
	tagged(0, b.stag | 0x3fff, b.off, 100, DDP_STAG);
	/* Closed before. */
	bad_open(true);
	fab_unexpose(b.w.srv.c, b.stag, NULL);
	tagged(0, b.stag, b.off, 100, DDP_STAG);
	/* With a payload that would be received in place. */
	bad_open(true);
	tagged(0, b.stag ^ 0x8000, b.off, 60000, DDP_STAG);
}

static void other_ready(struct fab_conn *c, void *user)
{
}

/* A handle of another connection of the same domain. */
static void test_write_foreign_stag(void)
{
	struct fab_conn *other;
	uint64_t off;
	uint32_t stag;
	size_t n;

	bad_open(true);
	CU_ASSERT_EQUAL(fab_conn_create(b.w.poller, other_ready, NULL, &other),
			0);
	for (int i = 0; i < 8; i++)
		CU_ASSERT_EQUAL(fab_expose(other, b.mr, b.mem, REGION,
					   FAB_REMOTE_WRITE, &stag, &off),
				0);
	n = raw_seal(&b.r, buf, raw_tagged(buf, 0, true, stag, off, data, 100));
	expect_terminate(buf, n, DDP_STAG, buf, 16, RECVS);
	fab_conn_destroy_deferred(other, NULL, NULL);
	bad_close();
}

static void test_write_rights(void)
{
	bad_open(true);
	tagged(0, b.stag_read, b.off_read, 100, RDMAP_ACCESS_MD);
}

static void test_write_bounds(void)
{
	bad_open(true);
	tagged(0, b.stag, b.off + REGION - 99, 100, DDP_BOUNDS);
	bad_open(true);
	tagged(0, b.stag, b.off - 1, 100, DDP_BOUNDS);
	bad_open(true);
	tagged(0, b.stag, b.off, REGION + 1, DDP_BOUNDS);
	bad_open(true);
	tagged(0, b.stag, 0, 1, DDP_BOUNDS);
	bad_open(true);
	tagged(0, b.stag, UINT64_MAX, 1, DDP_BOUNDS);
}

static void test_write_wrap(void)
{
	bad_open(true);
	tagged(0, b.stag, UINT64_MAX - 98, 100, DDP_WRAP);
	bad_open(true);
	tagged(0, b.stag, UINT64_MAX, 65521, DDP_WRAP);
}

static void test_read_response_unasked(void)
{
	bad_open(true);
	tagged(2, b.stag, b.off, 100, DDP_STAG);
	bad_open(true);
	tagged(2, 0x1234c000, 0, 0, DDP_STAG);
}

static void test_bad_crc(void)
{
	size_t n;

	/* Small: verified before it is placed. */
	bad_open(true);
	n = raw_seal(&b.r, buf,
		     raw_tagged(buf, 0, true, b.stag, b.off, data, 1000));
	buf[500] ^= 1;
	expect_terminate(buf, n, 0x20020000, NULL, 0, RECVS);
	bad_close();
	bad_open(true);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 3, true, 0, 0, 1, 0, data, 300));
	buf[n - 1] ^= 0x80;
	expect_terminate(buf, n, 0x20020000, NULL, 0, RECVS);
	bad_close();
}

/* Large: placed while it comes, but never outside, and never completed. */
static void test_bad_crc_large(void)
{
	size_t n;

	bad_open(true);
	fill_random(data, REGION, 9);
	n = raw_seal(&b.r, buf,
		     raw_tagged(buf, 0, true, b.stag, b.off, data, REGION));
	buf[n - 1] ^= 0x80;
	/* In two parts, so that it cannot be in the staging buffer whole. */
	raw_write(&b.w, &b.r, buf, 2500);
	for (int i = 0; i < 20; i++)
		world_turn(&b.w, 1);
	raw_write(&b.w, &b.r, buf + 2500, n - 2500);
	RAW_UNTIL(&b.w, &b.r, b.r.eof);
	CU_ASSERT_EQUAL(raw_fpdu(&b.r), b.r.in_len);
	CU_ASSERT_EQUAL(get32(b.r.in + 20), 0x20020000);
	shutdown(b.r.fd, SHUT_WR);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_TRUE(untouched(b.mem, REGION));
	CU_ASSERT_TRUE(untouched(b.mem + 2 * REGION, REGION));
	bad_close();
}

/* An untagged case. */
static void untagged(unsigned int op, uint32_t word, uint32_t qn, uint32_t msn,
		     uint32_t mo, size_t len, uint32_t ctrl)
{
	size_t n = raw_untagged(buf, op, true, word, qn, msn, mo, data, len);

	n = raw_seal(&b.r, buf, n);
	expect_terminate(buf, n, ctrl, buf, 20, RECVS);
	bad_close();
}

#define DDP_QN 0x1201c000
#define DDP_NO_BUFFER 0x1202c000
#define DDP_MSN 0x1203c000
#define DDP_MO 0x1204c000
#define DDP_TOO_LONG 0x1205c000

static void test_send_msn_mo_qn(void)
{
	bad_open(true);
	untagged(3, 0, 0, 2, 0, 10, DDP_MSN);
	bad_open(true);
	untagged(3, 0, 0, 0, 0, 10, DDP_MSN);
	bad_open(true);
	untagged(3, 0, 0, 1, 4, 10, DDP_MO);
	bad_open(true);
	untagged(3, 0, 0, 1, 0xffffffff, 10, DDP_MO);
	bad_open(true);
	untagged(3, 0, 1, 1, 0, 10, DDP_QN);
	bad_open(true);
	untagged(3, 0, 3, 1, 0, 10, DDP_QN);
	bad_open(true);
	untagged(7, 0, 0, 1, 0, 10, DDP_QN);
	bad_open(true);
	untagged(1, 0, 0, 1, 0, 28, DDP_QN);
	bad_open(true);
	untagged(7, 0, 2, 1, 0, 200, DDP_TOO_LONG);
}

static void test_send_too_long(void)
{
	bad_open(true);
	untagged(3, 0, 0, 1, 0, RECV_LEN + 1, DDP_TOO_LONG);
	CU_ASSERT_EQUAL(b.w.srv.wc[0].status, FAB_ERROR);
	bad_open(true);
	untagged(3, 0, 0, 1, 0, 65000, DDP_TOO_LONG);
}

/* The second segment is of another kind than the first. */
static void test_send_changes_kind(void)
{
	size_t n, m;

	bad_open(true);
	memset(data, 0x5a, 512);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 3, false, 0, 0, 1, 0, data, 100));
	m = raw_seal(&b.r, buf + n,
		     raw_untagged(buf + n, 5, true, 0, 0, 1, 100, data, 1));
	expect_terminate(buf, n + m, 0x0206c000, buf + n, 20, RECVS);
	bad_close();
}

/* Invalidation of nothing by a Send that is received in place. */
static void test_invalidate_in_place(void)
{
	static uint8_t big[8192];
	struct fab_sge sge = { big, sizeof(big), NULL };
	struct fab_wr wr = { .op = FAB_RECV, .nsge = 1, .sge = &sge };
	size_t n;

	bad_open(false);
	CU_ASSERT_EQUAL(fab_post_recv(b.w.srv.c, &wr), 0);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 4, true, b.stag + 1, 0, 1, 0, data,
				  sizeof(big)));
	raw_write(&b.w, &b.r, buf, 4000);
	for (int i = 0; i < 10; i++)
		world_turn(&b.w, 1);
	expect_terminate(buf + 4000, n - 4000, 0x0109c000, buf, 20, 1);
	CU_ASSERT_EQUAL(b.w.srv.wc[0].status, FAB_FLUSHED);
	bad_close();
}

/* Too long only with its second segment. */
static void test_send_too_long_second(void)
{
	size_t n, m;

	bad_open(true);
	memset(data, 0x5a, 512);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 3, false, 0, 0, 1, 0, data, RECV_LEN));
	m = raw_seal(&b.r, buf + n,
		     raw_untagged(buf + n, 3, true, 0, 0, 1, RECV_LEN, data,
				  1));
	expect_terminate(buf, n + m, DDP_TOO_LONG, buf + n, 20, RECVS);
	bad_close();
}

static void test_no_receive(void)
{
	size_t n;

	bad_open(false);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 3, true, 0, 0, 1, 0, data, 16));
	expect_terminate(buf, n, DDP_NO_BUFFER, buf, 20, 0);
	bad_close();
	bad_open(false);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 5, true, 0, 0, 1, 0, data, 0));
	expect_terminate(buf, n, DDP_NO_BUFFER, buf, 20, 0);
	bad_close();
}

static void test_opcode_version(void)
{
	size_t n;

	bad_open(true);
	for (unsigned int op = 8; op < 16; op++) {
		untagged(op, 0, 0, 1, 0, 10, 0x0206c000);
		bad_open(true);
		tagged(op, b.stag, b.off, 10, 0x0206c000);
		bad_open(true);
	}
	/* Tagged what must not be, and the other way round. */
	tagged(3, b.stag, b.off, 10, 0x0206c000);
	bad_open(true);
	tagged(1, b.stag, b.off, 40, 0x0206c000);
	bad_open(true);
	untagged(0, 0, 0, 1, 0, 10, 0x0206c000);
	bad_open(true);
	untagged(2, 0, 0, 1, 0, 10, 0x0206c000);
	for (unsigned int v = 0; v < 4; v++) {
		if (v == 1)
			continue;
		bad_open(true);
		n = raw_tagged(buf, 0, true, b.stag, b.off, data, 10);
		buf[2] = (uint8_t)((buf[2] & ~3u) | v);
		expect_terminate(buf, raw_seal(&b.r, buf, n), 0x1104c000, buf,
				 16, RECVS);
		bad_close();
		bad_open(true);
		n = raw_untagged(buf, 3, true, 0, 0, 1, 0, data, 10);
		buf[2] = (uint8_t)((buf[2] & ~3u) | v);
		expect_terminate(buf, raw_seal(&b.r, buf, n), 0x1206c000, buf,
				 20, RECVS);
		bad_close();
		bad_open(true);
		n = raw_tagged(buf, 0, true, b.stag, b.off, data, 10);
		buf[3] = (uint8_t)((buf[3] & ~0xc0u) | v << 6);
		expect_terminate(buf, raw_seal(&b.r, buf, n), 0x0205c000, buf,
				 16, RECVS);
		bad_close();
	}
}

static void test_short_fpdu(void)
{
	for (unsigned int len = 0; len < 14; len++) {
		size_t n;

		bad_open(true);
		raw_tagged(buf, 0, true, b.stag, b.off, data, 0);
		put16(buf, len);
		n = raw_seal(&b.r, buf, 2 + len < 4 ? 4 : 2 + len);
		expect_terminate(buf, n, 0x10000000, NULL, 0, RECVS);
		bad_close();
	}
	for (unsigned int len = 14; len < 18; len++) {
		bad_open(true);
		raw_untagged(buf, 3, true, 0, 0, 1, 0, data, 0);
		put16(buf, len);
		expect_terminate(buf, raw_seal(&b.r, buf, 2 + len), 0x10000000,
				 NULL, 0, RECVS);
		bad_close();
	}
	/* A Read Request without all of its header. */
	bad_open(true);
	raw_read_req(buf, 1, 1, 0, 4, b.stag, b.off);
	put16(buf, 45);
	expect_terminate(buf, raw_seal(&b.r, buf, 47), 0x10000000, NULL, 0,
			 RECVS);
	bad_close();
}

static void read_case(uint32_t msn, uint32_t size, uint32_t stag, uint64_t to,
		      uint32_t ctrl, size_t hdr_len)
{
	size_t n = raw_read_req(buf, msn, 77, 1, size, stag, to);

	n = raw_seal(&b.r, buf, n);
	expect_terminate(buf, n, ctrl, buf, hdr_len, RECVS);
	bad_close();
}

static void test_read_request(void)
{
	bad_open(true);
	read_case(1, 10, b.stag ^ 0x8000, b.off, 0x0100e000, 48);
	bad_open(true);
	read_case(1, 10, b.stag_write, b.off_write, 0x0102e000, 48);
	bad_open(true);
	read_case(1, REGION + 1, b.stag, b.off, 0x0101e000, 48);
	bad_open(true);
	read_case(1, 0xffffffff, b.stag, b.off, 0x0101e000, 48);
	bad_open(true);
	read_case(1, 10, b.stag, b.off - 1, 0x0101e000, 48);
	bad_open(true);
	read_case(1, 10, b.stag, UINT64_MAX - 5, 0x0104e000, 48);
	bad_open(true);
	read_case(2, 10, b.stag, b.off, DDP_MSN, 20);
	/* With a message offset, with payload, and not the last. */
	bad_open(true);
	raw_read_req(buf, 1, 77, 1, 10, b.stag, b.off);
	put32(buf + 16, 4);
	expect_terminate(buf, raw_seal(&b.r, buf, 48), DDP_MO, buf, 20, RECVS);
	bad_close();
	bad_open(true);
	raw_read_req(buf, 1, 77, 1, 10, b.stag, b.off);
	put16(buf, 50);
	expect_terminate(buf, raw_seal(&b.r, buf, 52), DDP_TOO_LONG, buf, 20,
			 RECVS);
	bad_close();
	bad_open(true);
	raw_read_req(buf, 1, 77, 1, 10, b.stag, b.off);
	buf[2] &= (uint8_t)~0x40;
	expect_terminate(buf, raw_seal(&b.r, buf, 48), DDP_TOO_LONG, buf, 20,
			 RECVS);
	bad_close();
}

/* The peer invalidates what it asked to read, in the same breath. */
static void test_read_then_invalidate(void)
{
	uint8_t req[48];
	size_t n;

	bad_open(true);
	n = raw_read_req(buf, 1, 77, 1, REGION, b.stag, b.off);
	memcpy(req, buf, n);
	n = raw_seal(&b.r, buf, n);
	n += raw_seal(&b.r, buf + n,
		      raw_untagged(buf + n, 4, true, b.stag, 0, 1, 0, data, 0));
	raw_write(&b.w, &b.r, buf, n);
	RAW_UNTIL(&b.w, &b.r, b.r.eof);
	/* Either the response went out before, or it is refused. */
	if (b.r.in[3] == 0x47) {
		CU_ASSERT_EQUAL(get32(b.r.in + 20), 0x0100e000);
		CU_ASSERT_EQUAL(memcmp(b.r.in + 24, req, 48), 0);
	}
	CU_ASSERT_TRUE(b.r.in[3] == 0x47 || b.r.in[3] == 0x42);
	bad_close();
}

/* More Reads at once than the depth of 4 that the domain has. */
static void test_read_depth(void)
{
	size_t n = 0;

	bad_open(true);
	for (uint32_t i = 1; i <= 5; i++)
		n += raw_seal(&b.r, buf + n,
			      raw_read_req(buf + n, i, 77, 0, REGION, b.stag,
					   b.off));
	raw_write(&b.w, &b.r, buf, n);
	RAW_UNTIL(&b.w, &b.r, b.r.eof);
	/* Whatever was answered, the last is the Terminate. */
	while (raw_fpdu(&b.r) && raw_fpdu(&b.r) < b.r.in_len)
		raw_drop(&b.r, raw_fpdu(&b.r));
	CU_ASSERT_EQUAL(b.r.in[3], 0x47);
	CU_ASSERT_EQUAL(get32(b.r.in + 20), DDP_NO_BUFFER);
	shutdown(b.r.fd, SHUT_WR);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	bad_close();
}

/* Within the depth, in any number after another. */
static void test_read_good(void)
{
	uint8_t want[REGION];
	uint32_t msn = 1;

	bad_open(true);
	fill_random(b.mem + REGION, REGION, 3);
	memcpy(want, b.mem + REGION, REGION);
	for (int round = 0; round < 10; round++) {
		size_t n = 0;

		for (uint32_t i = 0; i < 4; i++)
			n += raw_seal(&b.r, buf + n,
				      raw_read_req(buf + n, msn++, 77 + i,
						   1000 * i, i ? REGION : 0,
						   i ? b.stag : 0,
						   i ? b.off : 0));
		raw_write(&b.w, &b.r, buf, n);
		for (uint32_t i = 0; i < 4; i++) {
			RAW_UNTIL(&b.w, &b.r, raw_fpdu(&b.r));
			n = raw_fpdu(&b.r);
			raw_check_crc(&b.r, n);
			CU_ASSERT_EQUAL(b.r.in[2], 0xc1);
			CU_ASSERT_EQUAL(b.r.in[3], 0x42);
			CU_ASSERT_EQUAL(get32(b.r.in + 4), 77 + i);
			CU_ASSERT_EQUAL(get64(b.r.in + 8), 1000 * i);
			CU_ASSERT_EQUAL(b.r.in[0] << 8 | b.r.in[1],
					14 + (i ? REGION : 0));
			if (i)
				CU_ASSERT_EQUAL(
					memcmp(b.r.in + 16, want, REGION), 0);
			raw_drop(&b.r, n);
		}
	}
	bad_close();
}

static void test_invalidate(void)
{
	bad_open(true);
	/* Not there. */
	memset(data, 0x5a, 512);
	untagged(4, b.stag ^ 0x8000, 0, 1, 0, 8, 0x0109c000);
	bad_open(true);
	untagged(6, 0, 0, 1, 0, 0, 0x0109c000);
}

/* The right kind, then the handle is closed to Writes and Invalidates. */
static void test_invalidate_good(void)
{
	size_t n;

	bad_open(true);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 6, true, b.stag, 0, 1, 0, data, 5));
	raw_write(&b.w, &b.r, buf, n);
	PUMP_UNTIL(&b.w, b.w.srv.nwc == 1);
	CU_ASSERT_TRUE(b.w.srv.wc[0].invalidated);
	CU_ASSERT_EQUAL(b.w.srv.wc[0].inv_handle, b.stag);
	CU_ASSERT_EQUAL(b.w.srv.wc[0].len, 5);
	b.w.srv.nwc = 0;
	memset(b.recv, 0x5a, sizeof(b.recv));
	n = raw_seal(&b.r, buf,
		     raw_tagged(buf, 0, true, b.stag, b.off, data, 5));
	expect_terminate(buf, n, DDP_STAG, buf, 16, RECVS - 1);
	bad_close();
}

static void test_terminate_received(void)
{
	struct fab_counters cnt;
	uint8_t ctrl[4] = { 0x02, 0x06, 0x00, 0x00 };
	size_t n;

	bad_open(true);
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 7, true, 0, 2, 1, 0, ctrl, 4));
	raw_write(&b.w, &b.r, buf, n);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_EQUAL(b.w.srv.error, -EREMOTEIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(b.w.srv.reason, "opcode"));
	CU_ASSERT_EQUAL(b.w.srv.nwc, RECVS);
	for (int i = 0; i < RECVS; i++)
		CU_ASSERT_EQUAL(b.w.srv.wc[i].status, FAB_FLUSHED);
	fab_conn_counters(b.w.srv.c, &cnt);
	CU_ASSERT_EQUAL(cnt.terminates_received, 1);
	CU_ASSERT_EQUAL(cnt.terminates_sent, 0);
	bad_close();
}

/* The stream ends in the middle of an FPDU, wherever that is. */
static void test_cut_short(void)
{
	static const size_t cuts[] = { 1, 3, 15, 16, 17, 2500, 4111, 4113 };
	size_t n;

	for (unsigned int i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++) {
		bad_open(true);
		n = raw_seal(&b.r, buf,
			     raw_tagged(buf, 0, true, b.stag, b.off, data,
					REGION));
		CU_ASSERT_TRUE(cuts[i] < n);
		raw_write(&b.w, &b.r, buf, cuts[i]);
		if (i % 2)
			for (int k = 0; k < 5; k++)
				world_turn(&b.w, 1);
		shutdown(b.r.fd, SHUT_WR);
		PUMP_UNTIL(&b.w, b.w.srv.disconnected);
		CU_ASSERT_EQUAL(b.w.srv.error, -ECONNRESET);
		CU_ASSERT_EQUAL(b.w.srv.nwc, RECVS);
		bad_close();
	}
	/* Between FPDUs it is an orderly end. */
	bad_open(true);
	shutdown(b.r.fd, SHUT_WR);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_EQUAL(b.w.srv.error, 0);
	bad_close();
}

/* A reset, with work of every kind posted. */
static void test_reset(void)
{
	static const struct linger reset = { 1, 0 };
	static struct fab_sge big = { data, sizeof(data), NULL };
	struct fab_wr wr[3] = {
		{ .op = FAB_READ, .nsge = 1, .sge = &big, .handle = 7 },
		{ .op = FAB_WRITE, .nsge = 1, .sge = &big, .handle = 7 },
		{ .op = FAB_SEND },
	};

	bad_open(true);
	wr[0].next = &wr[1];
	wr[1].next = &wr[2];
	/* Held back until the initiator has spoken: it never does. */
	ep_post(&b.w.srv, &wr[0]);
	setsockopt(b.r.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(b.r.fd);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_EQUAL(b.w.srv.error, -ECONNRESET);
	CU_ASSERT_STRING_EQUAL(b.w.srv.reason, "reset by the peer");
	CU_ASSERT_EQUAL(b.w.srv.nwc, RECVS + 3);
	for (int i = 0; i < b.w.srv.nwc; i++)
		CU_ASSERT_EQUAL(b.w.srv.wc[i].status, FAB_FLUSHED);
	b.r.fd = -1;
	bad_close();
}

/* One octet a time: every state of the machine is entered from outside. */
static void test_byte_at_a_time(void)
{
	size_t n = 0;

	bad_open(true);
	fill_random(data, 3000, 5);
	n += raw_seal(&b.r, buf + n,
		      raw_tagged(buf + n, 0, true, b.stag, b.off, data, 3000));
	n += raw_seal(&b.r, buf + n,
		      raw_untagged(buf + n, 3, false, 0, 0, 1, 0, data, 7));
	n += raw_seal(&b.r, buf + n,
		      raw_tagged(buf + n, 0, true, 99, 99, data, 0));
	n += raw_seal(&b.r, buf + n,
		      raw_untagged(buf + n, 3, true, 0, 0, 1, 7, data + 7,
				   122));
	n += raw_seal(&b.r, buf + n,
		      raw_read_req(buf + n, 1, 5, 6, 11, b.stag, b.off));
	for (size_t i = 0; i < n; i++) {
		raw_write(&b.w, &b.r, buf + i, 1);
		world_turn(&b.w, i % 64 ? 0 : 1);
	}
	PUMP_UNTIL(&b.w, b.w.srv.nwc == 1);
	CU_ASSERT_EQUAL(b.w.srv.wc[0].len, 129);
	CU_ASSERT_EQUAL(memcmp(b.recv[0], data, 129), 0);
	CU_ASSERT_EQUAL(memcmp(b.mem + REGION, data, 3000), 0);
	CU_ASSERT_TRUE(untouched(b.mem, REGION));
	CU_ASSERT_TRUE(untouched(b.mem + REGION + 3000, 2 * REGION - 3000));
	RAW_UNTIL(&b.w, &b.r, raw_fpdu(&b.r));
	CU_ASSERT_EQUAL(memcmp(b.r.in + 16, data, 11), 0);
	bad_close();
}

/* The region is closed while a Write into it is half here. */
static void test_closed_under_write(void)
{
	size_t n;

	bad_open(true);
	memset(data, 0x77, sizeof(data));
	n = raw_seal(&b.r, buf,
		     raw_tagged(buf, 0, true, b.stag, b.off, data, REGION));
	raw_write(&b.w, &b.r, buf, 3000);
	PUMP_UNTIL(&b.w, b.mem[REGION] == 0x77);
	for (int i = 0; i < 5; i++)
		world_turn(&b.w, 1);
	fab_unexpose(b.w.srv.c, b.stag, NULL);
	memset(b.mem, 0x5a, sizeof(b.mem));
	expect_terminate(buf + 3000, n - 3000, DDP_STAG, buf, 16, RECVS);
	bad_close();
}

/* Sends that are complete, and that the peer had not received when it closed: that
 * is no end in order. */
static void test_closed_unread(void)
{
	static uint8_t out[1 << 20];
	int small = 4096;
	struct fab_sge sge;
	struct fab_wr wr;
	size_t n;

	bad_open(true);
	/* A responder waits for the first FPDU before it sends. */
	n = raw_seal(&b.r, buf,
		     raw_untagged(buf, 3, true, 0, 0, 1, 0, data, 7));
	raw_write(&b.w, &b.r, buf, n);
	PUMP_UNTIL(&b.w, b.w.srv.nwc == 1);
	setsockopt(b.r.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	sge = (struct fab_sge){ out, sizeof(out), NULL };
	wr = (struct fab_wr){
		.op = FAB_SEND, .flags = FAB_F_SIGNALED, .sge = &sge, .nsge = 1
	};
	ep_post(&b.w.srv, &wr);
	for (int i = 0; i < 50; i++)
		world_turn(&b.w, 1);
	shutdown(b.r.fd, SHUT_WR);
	PUMP_UNTIL(&b.w, b.w.srv.disconnected);
	CU_ASSERT_EQUAL(b.w.srv.error, -ECONNRESET);
	bad_close();
}

static const struct unit_test tests[] = {
	{ "write_bad_stag", test_write_bad_stag },
	{ "write_foreign_stag", test_write_foreign_stag },
	{ "write_rights", test_write_rights },
	{ "write_bounds", test_write_bounds },
	{ "write_wrap", test_write_wrap },
	{ "read_response_unasked", test_read_response_unasked },
	{ "bad_crc", test_bad_crc },
	{ "bad_crc_large", test_bad_crc_large },
	{ "send_msn_mo_qn", test_send_msn_mo_qn },
	{ "send_too_long", test_send_too_long },
	{ "send_too_long_second", test_send_too_long_second },
	{ "send_changes_kind", test_send_changes_kind },
	{ "invalidate_in_place", test_invalidate_in_place },
	{ "read_then_invalidate", test_read_then_invalidate },
	{ "no_receive", test_no_receive },
	{ "opcode_version", test_opcode_version },
	{ "short_fpdu", test_short_fpdu },
	{ "read_request", test_read_request },
	{ "read_depth", test_read_depth },
	{ "read_good", test_read_good },
	{ "invalidate", test_invalidate },
	{ "invalidate_good", test_invalidate_good },
	{ "terminate_received", test_terminate_received },
	{ "cut_short", test_cut_short },
	{ "reset", test_reset },
	{ "byte_at_a_time", test_byte_at_a_time },
	{ "closed_under_write", test_closed_under_write },
	{ "closed_unread", test_closed_unread },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_bad", tests)
