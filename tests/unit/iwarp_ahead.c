/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_ahead - several FPDUs by one receive, predicted rightly and wrongly
 *
 * A peer sends streams of FPDUs, of which a model knows what has to be in memory
 * afterwards: all that has been written, in the order in which it came, whatever
 * was predicted meanwhile.
 *
 * Threads: one.
 */
#include <stdlib.h>
#include <sys/mman.h>

#include "fabric/iwarp/iw.h"
#include "iwarp_raw.h"

#define REGION ((size_t)512 << 10)
#define MARGIN ((size_t)64 << 10)
#define RECVS 64
#define RECV_LEN 256
#define PIECES 7

static struct {
	struct world w;
	struct raw r;
	uint8_t mem[REGION + 2 * MARGIN], recv[RECVS][RECV_LEN];
	uint8_t want[REGION];
	bool written[REGION];
	struct fab_mr *mr;
	struct fab_sge rsge[RECVS], sge[PIECES];
	struct fab_wr rwr[RECVS], read;
	uint32_t stag, msn;
	uint64_t off;
	/* What is to be sent. */
	uint8_t stream[4 * REGION];
	size_t len;
	unsigned int fpdus;
} a;

static void ahead_open(bool crc)
{
	static const int room = 4 << 20;
	const struct fab_domain_params p = { .crc = crc ? FAB_CRC_ON :
							  FAB_CRC_OFF };

	memset(&a, 0, sizeof(a));
	world_open(&a.w, &p);
	raw_connect(&a.w, &a.r, crc);
	CU_ASSERT_EQUAL(a.r.crc, crc);
	/* As much as there may be at a time. */
	setsockopt(a.r.fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	setsockopt(iw_conn(a.w.srv.c)->fd, SOL_SOCKET, SO_RCVBUF, &room,
		   sizeof(room));
	memset(a.mem, 0x5a, sizeof(a.mem));
	CU_ASSERT_EQUAL(fab_reg(a.w.dom, a.mem, sizeof(a.mem), &a.mr), 0);
	CU_ASSERT_EQUAL(fab_expose(a.w.srv.c, a.mr, a.mem + MARGIN, REGION,
				   FAB_REMOTE_WRITE, &a.stag, &a.off),
			0);
	for (int i = 0; i < RECVS; i++) {
		a.rsge[i] = (struct fab_sge){ a.recv[i], RECV_LEN, NULL };
		a.rwr[i] = (struct fab_wr){ .op = FAB_RECV,
					    .nsge = 1,
					    .sge = &a.rsge[i] };
		CU_ASSERT_EQUAL(fab_post_recv(a.w.srv.c, &a.rwr[i]), 0);
	}
	a.msn = 1;
}

static void ahead_close(void)
{
	close(a.r.fd);
	fab_dereg(a.mr);
	world_close(&a.w);
}

/* ---- The stream, and what it makes of memory ----------------------------- */

static void fpdu(unsigned int op, bool last, uint32_t stag, uint64_t to,
		 size_t at, size_t len)
{
	static uint8_t data[1 << 16];
	uint8_t *f = a.stream + a.len;

	fill_random(data, len, (unsigned int)(a.fpdus + 1));
	a.len +=
		raw_seal(&a.r, f, raw_tagged(f, op, last, stag, to, data, len));
	memcpy(a.want + at, data, len);
	memset(a.written + at, 1, len);
	a.fpdus++;
}

static void add_write(size_t at, size_t len, bool last)
{
	fpdu(0, last, a.stag, a.off + at, at, len);
}

/* A Write of @len octets in FPDUs of @part each. */
static void add_writes(size_t at, size_t len, size_t part)
{
	for (size_t done = 0; done < len; done += part) {
		size_t n = part < len - done ? part : len - done;

		add_write(at + done, n, done + n == len);
	}
}

static void add_send(size_t len)
{
	uint8_t text[RECV_LEN];
	uint8_t *f = a.stream + a.len;

	memset(text, (int)a.msn, sizeof(text));
	a.len += raw_seal(
		&a.r, f, raw_untagged(f, 3, true, 0, 0, a.msn++, 0, text, len));
	a.fpdus++;
}

static uint64_t syscalls(void)
{
	struct fab_counters n;

	fab_conn_counters(a.w.srv.c, &n);
	return n.syscalls;
}

static void flow(void)
{
	/* All at once, as far as the socket takes it. */
	raw_write(&a.w, &a.r, a.stream, a.len);
}

static bool margins_untouched(void)
{
	for (size_t i = 0; i < MARGIN; i++)
		if (a.mem[i] != 0x5a || a.mem[MARGIN + REGION + i] != 0x5a)
			return false;
	return true;
}

static bool as_wanted(void)
{
	for (size_t i = 0; i < REGION; i++)
		if (a.written[i] && a.mem[MARGIN + i] != a.want[i])
			return false;
	return margins_untouched();
}

/* All of it has come, and nothing else. */
static void all_right(void)
{
	int sends = (int)a.msn - 1;

	flow();
	PUMP_UNTIL(&a.w, a.w.srv.nwc >= sends || a.w.srv.disconnected);
	CU_ASSERT_FALSE(a.w.srv.disconnected);
	CU_ASSERT_EQUAL(a.w.srv.nwc, sends);
	for (int i = 0; i < a.w.srv.nwc; i++) {
		CU_ASSERT_EQUAL(a.w.srv.wc[i].status, FAB_OK);
		CU_ASSERT_EQUAL(a.recv[i][0], i + 1);
		CU_ASSERT_EQUAL(a.recv[i][a.w.srv.wc[i].len - 1], i + 1);
	}
	CU_ASSERT_TRUE(as_wanted());
	ahead_close();
}

/* ---- Writes -------------------------------------------------------------- */

/* As a peer sends them: far fewer receives than FPDUs. */
static void test_even(void)
{
	for (int crc = 0; crc < 2; crc++) {
		uint64_t before;

		ahead_open(crc);
		before = syscalls();
		add_writes(0, REGION, 8000);
		add_send(100);
		flow();
		PUMP_UNTIL(&a.w, a.w.srv.nwc == 1);
		CU_ASSERT_TRUE(syscalls() - before < a.fpdus / 2);
		CU_ASSERT_TRUE(as_wanted());
		ahead_close();
	}
}

/* It ends before the region does, and other things follow. */
static void test_short_end(void)
{
	for (int crc = 0; crc < 2; crc++) {
		ahead_open(crc);
		add_writes(0, 10 * 16000 + 2500, 16000);
		add_send(200);
		add_send(1);
		add_writes(200 << 10, 12 * 16000, 16000);
		add_send(44);
		add_writes(0, 30 * 4000, 4000);
		add_send(3);
		all_right();
	}
}

/* Octets that were predicted lie where a later part of memory has been written
 * before: it must stay. */
static void test_downwards(void)
{
	for (int crc = 0; crc < 2; crc++) {
		ahead_open(crc);
		for (size_t at = REGION; at; at -= REGION / 4) {
			add_writes(at - REGION / 4, REGION / 4, 9000);
			add_send(250);
			add_send(250);
		}
		all_right();
	}
}

/* A Send between two FPDUs of a Write. */
static void test_between(void)
{
	ahead_open(true);
	for (size_t i = 0; i < 20; i++) {
		add_write(i * 6000, 6000, i == 19);
		if (i > 3 && i % 3 == 0)
			add_send(i * 10);
	}
	add_send(9);
	all_right();
}

/* Longer, shorter, elsewhere, and over what has been written. */
static void test_uneven(void)
{
	ahead_open(true);
	add_writes(0, 5 * 5000, 5000);
	for (size_t i = 0; i < 6; i++)
		add_write(100000 + i * 5000, 5000, false);
	add_write(130000, 20000, false);
	add_write(150000, 20000, false);
	add_write(170000, 3, false);
	add_write(170003, 20000, false);
	for (size_t i = 0; i < 6; i++)
		add_write(300000 + i * 5000, 5000, false);
	/* Elsewhere, in the same message. */
	for (size_t i = 0; i < 6; i++)
		add_write(200000 + i * 5000, 5000, i == 5);
	add_writes(310000, 60000, 5000);
	add_send(8);
	all_right();
}

/* Pages of the staging buffer that have memory, from this octet on. */
static size_t resident(size_t from)
{
	unsigned char in[RX_BUF / RX_PAGE];
	size_t n = 0;

	CU_ASSERT_EQUAL(mincore(iw_conn(a.w.srv.c)->rx.buf,
				sizeof(in) * RX_PAGE, in),
			0);
	for (size_t i = from / RX_PAGE; i < sizeof(in); i++)
		n += in[i] & 1;
	return n;
}

static unsigned int advices;
int __wrap_madvise(void *at, size_t len, int advice);
int __real_madvise(void *at, size_t len, int advice);

int __wrap_madvise(void *at, size_t len, int advice)
{
	advices++;
	return __real_madvise(at, len, advice);
}

/* Room for what was predicted wrongly is not kept; and once it has been given back
 * there is none to give back. */
static void test_spill(void)
{
	unsigned int before;

	ahead_open(false);
	for (size_t i = 0; i < 3; i++)
		add_write(i * 50000, 50000, false);
	for (size_t i = 0; i < 7; i++)
		add_write(150000 + i * 49000, 49000, i == 6);
	add_send(10);
	flow();
	PUMP_UNTIL(&a.w, a.w.srv.nwc == 1);
	CU_ASSERT_TRUE(as_wanted());
	/* What comes behind a payload in place comes there. */
	CU_ASSERT_TRUE(resident(RX_STAGING) <= 1);
	before = advices;
	CU_ASSERT_TRUE(before > 0);
	a.len = 0;
	add_send(11);
	raw_write(&a.w, &a.r, a.stream, a.len);
	PUMP_UNTIL(&a.w, a.w.srv.nwc == 2);
	CU_ASSERT_EQUAL(advices, before);
	ahead_close();
}

/* Nor is any, when nothing comes, unless something is in it. */
static void test_rest(void)
{
	const int sends = RECVS / 2;
	size_t begun = 10;

	ahead_open(false);
	for (int i = 0; i < sends; i++)
		add_send(RECV_LEN);
	flow();
	PUMP_UNTIL(&a.w, a.w.srv.nwc == sends);
	CU_ASSERT_TRUE(resident(0) > 0);
	fab_conn_trim(a.w.srv.c);
	CU_ASSERT_EQUAL(resident(0), 0);
	/* Not yet a header. */
	a.len = 0;
	add_send(RECV_LEN);
	raw_write(&a.w, &a.r, a.stream, begun);
	PUMP_UNTIL(&a.w, iw_conn(a.w.srv.c)->rx.wr == begun);
	fab_conn_trim(a.w.srv.c);
	raw_write(&a.w, &a.r, a.stream + begun, a.len - begun);
	PUMP_UNTIL(&a.w, a.w.srv.nwc > sends || a.w.srv.disconnected);
	CU_ASSERT_EQUAL(a.w.srv.nwc, sends + 1);
	CU_ASSERT_EQUAL(a.recv[sends][RECV_LEN - 1], sends + 1);
	ahead_close();
}

static void test_random_writes(void)
{
	srand(11);
	for (int round = 0; round < 40; round++) {
		ahead_open(round % 2);
		while (a.len < 3 * REGION && a.msn < RECVS) {
			size_t part = 1 + (size_t)rand() % 20000;
			size_t at = (size_t)rand() % (REGION - 1);
			size_t len = 1 + (size_t)rand() % (REGION - at);

			if (len > part * 40)
				len = part * 40;
			if (a.len + len * 2 + 4096 > sizeof(a.stream))
				break;
			add_writes(at, len, part);
			if (rand() % 2)
				add_send(1 + (size_t)rand() % RECV_LEN);
		}
		add_send(1);
		all_right();
	}
}

/* ---- What is wrong in the middle ----------------------------------------- */

static void ends_with(uint32_t ctrl)
{
	flow();
	RAW_UNTIL(&a.w, &a.r, a.r.eof);
	CU_ASSERT_TRUE_FATAL(a.r.in_len >= 24);
	CU_ASSERT_EQUAL(a.r.in[3], 0x47);
	CU_ASSERT_EQUAL(get32(a.r.in + 20), ctrl);
	shutdown(a.r.fd, SHUT_WR);
	PUMP_UNTIL(&a.w, a.w.srv.disconnected);
	for (int i = 0; i < a.w.srv.nwc; i++)
		CU_ASSERT_NOT_EQUAL(a.w.srv.wc[i].status, FAB_OK);
	CU_ASSERT_TRUE(margins_untouched());
	ahead_close();
}

static void test_bad_crc(void)
{
	for (size_t bad = 2; bad < 12; bad++) {
		ahead_open(true);
		for (size_t i = 0; i < 12; i++) {
			add_write(i * 7000, 7000, i == 11);
			if (i == bad)
				a.stream[a.len - 100] ^= 1;
		}
		add_send(5);
		ends_with(0x20020000);
	}
}

static void test_bad_header(void)
{
	ahead_open(true);
	for (size_t i = 0; i < 6; i++)
		add_write(i * 7000, 7000, false);
	fpdu(0, false, a.stag ^ 1, a.off + 42000, 42000, 7000);
	add_send(5);
	ends_with(0x1100c000);
	/* Over the end of the region. */
	ahead_open(true);
	for (size_t at = 0; at + 50000 < REGION; at += 50000)
		add_write(at, 50000, false);
	fpdu(0, false, a.stag, a.off + 500000, 0, 50000);
	add_send(5);
	ends_with(0x1101c000);
}

/* ---- Read Responses ------------------------------------------------------ */

/* RDMA Read of @len octets into pieces of memory; sets the sink's STag. */
static uint32_t post_read(size_t len)
{
	uint32_t sink;
	size_t at = 0;

	for (int i = 0; i < PIECES; i++) {
		size_t n = i < PIECES - 1 ? len / PIECES : len - at;

		a.sge[i] = (struct fab_sge){ a.mem + MARGIN + at, n, a.mr };
		at += n;
	}
	a.read = (struct fab_wr){ .op = FAB_READ,
				  .flags = FAB_F_SIGNALED,
				  .nsge = PIECES,
				  .sge = a.sge,
				  .handle = 1 };
	ep_post(&a.w.srv, &a.read);
	RAW_UNTIL(&a.w, &a.r, raw_fpdu(&a.r));
	sink = get32(a.r.in + 20);
	raw_drop(&a.r, raw_fpdu(&a.r));
	return sink;
}

static void test_responses(void)
{
	srand(12);
	for (int round = 0; round < 30; round++) {
		size_t len = PIECES + (size_t)rand() % (REGION - PIECES);
		size_t part = 1 + (size_t)rand() % 30000, at;
		uint32_t sink;

		if (part < len / 100)
			part = len / 100 + 1;
		ahead_open(round % 2);
		/* RFC 5044 section 7.1.2: the initiator's FPDU comes first. */
		add_send(7);
		flow();
		PUMP_UNTIL(&a.w, a.w.srv.nwc == 1);
		a.len = 0;
		sink = post_read(len);
		for (at = 0; at < len;) {
			size_t n = part < len - at ? part : len - at;

			/* Sometimes one is not as the others. */
			if (rand() % 10 == 0)
				n = 1 + (size_t)rand() % n;
			fpdu(2, at + n == len, sink, at, at, n);
			at += n;
			if (rand() % 20 == 0 && a.msn < 20)
				add_send(20);
		}
		add_send(30);
		flow();
		PUMP_UNTIL(&a.w, a.w.srv.nwc == (int)a.msn);
		for (int i = 0; i < a.w.srv.nwc; i++)
			CU_ASSERT_EQUAL(a.w.srv.wc[i].status, FAB_OK);
		CU_ASSERT_TRUE(as_wanted());
		ahead_close();
	}
}

static const struct unit_test tests[] = {
	{ "even", test_even },
	{ "short_end", test_short_end },
	{ "downwards", test_downwards },
	{ "between", test_between },
	{ "uneven", test_uneven },
	{ "spill", test_spill },
	{ "rest", test_rest },
	{ "random_writes", test_random_writes },
	{ "bad_crc", test_bad_crc },
	{ "bad_header", test_bad_header },
	{ "responses", test_responses },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_ahead", tests)
