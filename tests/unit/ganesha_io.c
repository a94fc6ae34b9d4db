/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The data of READ and WRITE between our streams and Ganesha's own codec of
 * them, which is there since release 6: neither way may they be copied, and a
 * WRITE that tells of more than has come must cost nothing.
 */
#include <arpa/inet.h>
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "compat/ganesha.h"
#include "ntirpc_util.h"
#include "unit.h"

#define MiB ((size_t)1 << 20)

/* As Ganesha 6.5 has it. */
struct io_data {
	void (*release)(void *data);
	void *release_data;
	u_int data_len;
	u_int iovcnt;
	size_t last_iov_buf_size;
	struct iovec *iov;
};

static bool (*xdr_io_data)(XDR *xdrs, struct io_data *io);
static struct util_pool pool;
static unsigned int released;

static void found(void)
{
	void *lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_LOCAL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(lib);
	*(void **)&xdr_io_data = dlsym(lib, "xdr_io_data");
	CU_ASSERT_PTR_NOT_NULL_FATAL((void *)(uintptr_t)xdr_io_data);
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 64 * MiB));
}

/* Is [at, at + len) in one of the pieces? */
static bool within(const struct rt_piece *pieces, unsigned int n,
		   const void *at, size_t len)
{
	for (unsigned int i = 0; i < n; i++) {
		const uint8_t *base = pieces[i].addr;

		if ((const uint8_t *)at >= base &&
		    (const uint8_t *)at + len <= base + pieces[i].len)
			return true;
	}
	return false;
}

static void write_in_place(void)
{
	static const u_int lengths[] = { 0,    1,    2,	    3,	   4,
					 1000, 4095, 65536, 65537, MiB };
	static uint8_t mem[12 + MiB + 8];
	struct rt_piece pieces[RT_MAX_PIECES];
	uint64_t rnd = 11;

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)util_random(&rnd);
	for (size_t k = 0; k < 10 * sizeof(lengths) / sizeof(*lengths); k++) {
		u_int len = lengths[k / 10], padded = (len + 3) & ~3u;
		uint32_t be = htonl(len), after = htonl(0x600df00d), got;
		struct io_data io = { 0 };
		struct xs_decode d;
		unsigned int np;
		size_t sum = 0;

		memcpy(mem + 8, &be, 4);
		memcpy(mem + 12 + padded, &after, 4);
		np = util_cut_randomly(mem, 16 + padded, &rnd, 20, pieces);
		xs_decode_init(&d, pieces, np, NULL);
		CU_ASSERT_TRUE(XDR_SETPOS(&d.xdrs, 8));
		CU_ASSERT_TRUE_FATAL(xdr_io_data(&d.xdrs, &io));
		CU_ASSERT_EQUAL(io.data_len, len);
		for (u_int i = 0; len && i < io.iovcnt; i++) {
			CU_ASSERT_TRUE(within(pieces, np, io.iov[i].iov_base,
					      io.iov[i].iov_len));
			CU_ASSERT_EQUAL(memcmp(io.iov[i].iov_base,
					       mem + 12 + sum,
					       io.iov[i].iov_len),
					0);
			sum += io.iov[i].iov_len;
		}
		CU_ASSERT_EQUAL(sum, len);
		CU_ASSERT_TRUE(XDR_GETUINT32(&d.xdrs, &got));
		CU_ASSERT_EQUAL(got, 0x600df00d);
		d.xdrs.x_op = XDR_FREE;
		CU_ASSERT_TRUE(xdr_io_data(&d.xdrs, &io));
		util_free_pieces(pieces, np);
	}
}

/* Ganesha ends where it gets no memory. */
static void write_too_long(void)
{
	static const uint32_t lengths[] = { 5, 9, 1u << 30, UINT32_MAX,
					    UINT32_MAX - 3 };
	struct rlimit old, limit;
	uint8_t mem[8] = { 0 };
	struct rt_piece piece = { .addr = mem, .len = sizeof(mem) };

	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_AS, &old), 0);
	limit = old;
	limit.rlim_cur = 512 * MiB;
	CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_AS, &limit), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint32_t be = htonl(lengths[i]);
		struct io_data io = { 0 };
		struct xs_decode d;

		memcpy(mem, &be, sizeof(be));
		xs_decode_init(&d, &piece, 1, NULL);
		CU_ASSERT_FALSE(xdr_io_data(&d.xdrs, &io));
	}
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_AS, &old), 0);
}

static void release(void *data)
{
	released++;
}

static void read_by_reference(void)
{
	static const u_int lengths[] = { 1,	3,     4,	1000,
					 65536, 65537, MiB - 1, MiB };
	static uint8_t mem[MiB];
	uint64_t rnd = 12;

	for (size_t i = 0; i < sizeof(mem); i++)
		mem[i] = (uint8_t)util_random(&rnd);
	for (size_t k = 0; k < sizeof(lengths) / sizeof(*lengths); k++) {
		u_int len = lengths[k], half = len / 2 & ~3u;
		struct iovec iov[2] = { { mem, half },
					{ mem + half, len - half } };
		struct io_data io = { .release = release,
				      .release_data = mem,
				      .data_len = len,
				      .iovcnt = 2,
				      .iov = iov };
		struct xs_encode e;
		size_t total = 0, where = 4, joined;
		uint8_t *all;
		int n;

		released = 0;
		CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 2 * MiB),
				      0);
		CU_ASSERT_TRUE(xdr_io_data(&e.xdrs, &io));
		CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0x600df00d));
		n = xs_encode_pieces(&e, &total);
		CU_ASSERT_TRUE_FATAL(n > 0);
		CU_ASSERT_EQUAL(total, 8 + ((len + 3) & ~3u));
		CU_ASSERT_EQUAL(e.copied, 0);
		/* But for the last word, which has the padding with it. */
		for (int i = 1; i < n && where < 4 + (len & ~3u); i++) {
			CU_ASSERT_PTR_EQUAL(e.pieces[i].addr, mem + where - 4);
			where += e.pieces[i].len;
		}
		all = util_join(e.pieces, (unsigned int)n, &joined);
		CU_ASSERT_EQUAL(memcmp(all + 4, mem, len), 0);
		free(all);
		CU_ASSERT_EQUAL(released, 0);
		xs_encode_release(&e);
		CU_ASSERT_EQUAL(released, 1);
	}
}

static const struct unit_test tests[] = {
	{ "found", found },
	{ "write in place", write_in_place },
	{ "write too long", write_too_long },
	{ "read by reference", read_by_reference },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-io", tests)
