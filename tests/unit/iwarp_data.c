/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_data - Sends, Writes and Reads between two ends of the provider
 *
 * Threads: one.
 */
#include <unistd.h>

#include "iwarp_util.h"

#define MIB ((size_t)1 << 20)
#define MAX_LEN (MIB + 3)
#define MAX_SGE 16

static const size_t sizes[] = { 0,     1,      2,     3,     4,	     5,
				64,    255,    1000,  2047,  2048,   2049,
				4096,  8191,   16384, 65503, 65517,  65521,
				65522, 65535,  65536, 65537, 131072, 262147,
				MIB,   MAX_LEN };
#define NSIZES (sizeof(sizes) / sizeof(sizes[0]))

struct mem {
	uint8_t *src, *dst;
	struct fab_mr *mr;
};

static void mem_open(struct world *w, struct mem *m)
{
	m->src = malloc(MAX_LEN);
	m->dst = malloc(MAX_LEN + 16);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m->src);
	CU_ASSERT_PTR_NOT_NULL_FATAL(m->dst);
	fill_random(m->src, MAX_LEN, 1);
	CU_ASSERT_EQUAL_FATAL(fab_reg(w->dom, m->dst, MAX_LEN + 16, &m->mr), 0);
}

static void mem_close(struct mem *m)
{
	fab_dereg(m->mr);
	free(m->src);
	free(m->dst);
}

/* Cut @len octets at @p into a random list, with empty pieces among them. */
static unsigned int scatter(struct fab_sge *sge, uint8_t *p, size_t len,
			    uint32_t seed)
{
	unsigned int n = 1 + seed % MAX_SGE;

	for (unsigned int i = 0; i < n; i++) {
		uint16_t r;
		size_t part;

		fill_random(&r, sizeof(r), seed * 31 + i);
		part = i + 1 == n ? len : (size_t)((uint64_t)len * r >> 17);
		if (i + 1 < n && r % 7 == 0)
			part = 0;
		sge[i] = (struct fab_sge){ p, part, NULL };
		p += part;
		len -= part;
	}
	return n;
}

/* ---- Sends ----------------------------------------------------------- */

static void one_send(struct world *w, struct mem *m, struct ep *from,
		     struct ep *to, size_t len, uint32_t seed)
{
	struct fab_sge rsge = { m->dst, len + seed % 3, NULL };
	struct fab_sge ssge[MAX_SGE];
	struct fab_wr recv = { .op = FAB_RECV, .nsge = 1, .sge = &rsge };
	struct fab_wr send = { .op = FAB_SEND, .sge = ssge };
	const struct fab_wc *wc;

	send.flags = FAB_F_SIGNALED | (seed % 2 ? FAB_F_SOLICITED : 0);
	send.nsge = scatter(ssge, m->src, len, seed);
	memset(m->dst, 0xee, MAX_LEN + 16);
	from->nwc = to->nwc = 0;
	CU_ASSERT_EQUAL(fab_post_recv(to->c, &recv), 0);
	ep_post(from, &send);
	PUMP_UNTIL(w, from->nwc == 1 && to->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &send);
	CU_ASSERT_EQUAL(from->wc[0].status, FAB_OK);
	wc = &to->wc[0];
	CU_ASSERT_PTR_EQUAL(wc->wr, &recv);
	CU_ASSERT_EQUAL(wc->status, FAB_OK);
	CU_ASSERT_EQUAL(wc->len, len);
	CU_ASSERT_FALSE(wc->invalidated);
	CU_ASSERT_EQUAL(memcmp(m->src, m->dst, len), 0);
	CU_ASSERT_EQUAL(m->dst[len], 0xee);
}

static void sends(const struct fab_domain_params *p)
{
	static struct world w;
	struct mem m;

	world_pair(&w, p);
	mem_open(&w, &m);
	for (size_t i = 0; i < NSIZES; i++)
		for (uint32_t k = 0; k < 4; k++) {
			one_send(&w, &m, &w.cli, &w.srv, sizes[i],
				 (uint32_t)i * 5 + k);
			one_send(&w, &m, &w.srv, &w.cli, sizes[i],
				 (uint32_t)i * 7 + k);
		}
	mem_close(&m);
	world_close(&w);
}

static void test_send(void)
{
	struct fab_domain_params p = { .crc = true };

	sends(&p);
}

static void test_send_no_crc(void)
{
	struct fab_domain_params p = { .crc = false };

	sends(&p);
}

static void test_send_small_fpdu(void)
{
	struct fab_domain_params p = { .crc = true, .max_fpdu = 1460 };

	sends(&p);
}

/* ---- Writes and Reads ------------------------------------------------ */

static void one_write(struct world *w, struct mem *m, struct ep *from,
		      struct ep *to, size_t len, uint32_t seed)
{
	struct fab_sge ssge[MAX_SGE], tiny = { m->dst + MAX_LEN + 8, 8, NULL };
	struct fab_wr recv = { .op = FAB_RECV, .nsge = 1, .sge = &tiny };
	struct fab_wr write = { .op = FAB_WRITE, .sge = ssge };
	struct fab_wr send = { .op = FAB_SEND_INV, .flags = FAB_F_SIGNALED };
	uint64_t off;

	memset(m->dst, 0xee, MAX_LEN + 16);
	CU_ASSERT_EQUAL(fab_expose(to->c, m->mr, m->dst + 3, len ? len : 1,
				   FAB_REMOTE_WRITE, &write.handle, &off),
			0);
	write.offset = off;
	write.nsge = scatter(ssge, m->src, len, seed);
	write.next = &send;
	send.handle = write.handle;
	from->nwc = to->nwc = 0;
	CU_ASSERT_EQUAL(fab_post_recv(to->c, &recv), 0);
	ep_post(from, &write);
	PUMP_UNTIL(w, from->nwc == 1 && to->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &send);
	CU_ASSERT_TRUE(to->wc[0].invalidated);
	CU_ASSERT_EQUAL(to->wc[0].inv_handle, send.handle);
	CU_ASSERT_EQUAL(to->wc[0].len, 0);
	CU_ASSERT_EQUAL(memcmp(m->src, m->dst + 3, len), 0);
	CU_ASSERT_EQUAL(m->dst[2], 0xee);
	CU_ASSERT_EQUAL(m->dst[len + 3], 0xee);
	/* It is closed already; this does nothing. */
	fab_unexpose(to->c, send.handle, NULL);
}

static void one_read(struct world *w, struct mem *m, struct ep *from,
		     struct ep *to, size_t len, uint32_t seed)
{
	struct fab_sge sge[MAX_SGE];
	struct fab_wr read = { .op = FAB_READ, .sge = sge };
	struct fab_mr *mr;

	memset(m->dst, 0xee, MAX_LEN + 16);
	CU_ASSERT_EQUAL(fab_reg(w->dom, m->src, MAX_LEN, &mr), 0);
	CU_ASSERT_EQUAL(fab_expose(to->c, mr, m->src, len ? len : 1,
				   FAB_REMOTE_READ, &read.handle, &read.offset),
			0);
	read.nsge = scatter(sge, m->dst, len, seed);
	from->nwc = to->nwc = 0;
	ep_post(from, &read);
	PUMP_UNTIL(w, from->nwc == 1);
	CU_ASSERT_PTR_EQUAL(from->wc[0].wr, &read);
	CU_ASSERT_EQUAL(from->wc[0].status, FAB_OK);
	CU_ASSERT_EQUAL(memcmp(m->src, m->dst, len), 0);
	CU_ASSERT_EQUAL(m->dst[len], 0xee);
	fab_unexpose(to->c, read.handle, NULL);
	fab_dereg(mr);
}

static void transfers(const struct fab_domain_params *p)
{
	static struct world w;
	struct mem m;

	world_pair(&w, p);
	mem_open(&w, &m);
	/* The initiator has to speak first. */
	one_send(&w, &m, &w.cli, &w.srv, 1, 0);
	for (size_t i = 0; i < NSIZES; i++)
		for (uint32_t k = 0; k < 3; k++) {
			uint32_t seed = (uint32_t)i * 11 + k;

			one_write(&w, &m, &w.cli, &w.srv, sizes[i], seed);
			one_write(&w, &m, &w.srv, &w.cli, sizes[i], seed);
			one_read(&w, &m, &w.cli, &w.srv, sizes[i], seed);
			one_read(&w, &m, &w.srv, &w.cli, sizes[i], seed);
		}
	mem_close(&m);
	world_close(&w);
}

static void test_transfer(void)
{
	struct fab_domain_params p = { .crc = true };

	transfers(&p);
}

static void test_transfer_no_crc(void)
{
	struct fab_domain_params p = { .crc = false };

	transfers(&p);
}

static void test_transfer_small_fpdu(void)
{
	struct fab_domain_params p = { .crc = true, .max_fpdu = 1 };

	transfers(&p);
}

static const struct unit_test tests[] = {
	{ "send", test_send },
	{ "send_no_crc", test_send_no_crc },
	{ "send_small_fpdu", test_send_small_fpdu },
	{ "transfer", test_transfer },
	{ "transfer_no_crc", test_transfer_no_crc },
	{ "transfer_small_fpdu", test_transfer_small_fpdu },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_data", tests)
