/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The encode stream against ntirpc's own memory stream, and what that one
 * does not have: growth, buffers by reference, room for GSS tokens.
 */
#include <sys/mman.h>
#include <sys/param.h>

#include "ntirpc_items.h"
#include "unit.h"

#define STREAM_MAX (512u << 10)
#define MiB ((size_t)1 << 20)

static struct util_pool pool;

/* Finish @e and hold it against @want. */
static void check(struct xs_encode *e, const uint8_t *want, size_t len)
{
	size_t got_len = 0, joined;
	int n = xs_encode_pieces(e, &got_len);
	uint8_t *got;

	CU_ASSERT_TRUE_FATAL(n >= 0 && n <= RT_MAX_PIECES);
	CU_ASSERT_EQUAL(got_len, len);
	got = util_join(e->pieces, (unsigned int)n, &joined);
	CU_ASSERT_EQUAL(joined, len);
	CU_ASSERT_TRUE(joined == len && !memcmp(got, want, len));
	for (int i = 0; i < n; i++)
		CU_ASSERT_TRUE(e->pieces[i].len > 0);
	free(got);
}

static void one_sequence(uint64_t *rnd, uint8_t *mem)
{
	struct xs_encode e;
	unsigned int n = (unsigned int)util_below(rnd, 60);
	size_t largest = util_below(rnd, 4) ? 40 : 2000;
	size_t len;
	XDR x;

	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	xdrmem_ncreate(&x, (char *)mem, STREAM_MAX, XDR_ENCODE);
	for (unsigned int i = 0; i < n; i++) {
		struct item it;

		item_make(&it, rnd, largest);
		CU_ASSERT_TRUE_FATAL(item_xdr(&x, &it));
		CU_ASSERT_TRUE_FATAL(item_xdr(&e.xdrs, &it));
		CU_ASSERT_EQUAL(XDR_GETPOS(&x), XDR_GETPOS(&e.xdrs));
		item_free(&it);
		if (!util_below(rnd, 4)) {
			/* Go back, put something over it, come again. */
			u_int end = XDR_GETPOS(&x);
			u_int at = (u_int)util_below(rnd, end / 4 + 1) * 4;
			u_int room = (end - at) / 4;
			u_int words = (u_int)util_below(rnd, room + 1);

			CU_ASSERT_TRUE(XDR_SETPOS(&x, at));
			CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, at));
			CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), at);
			if (words > 20)
				words = 20;
			for (u_int w = 0; w < words; w++) {
				uint32_t v = (uint32_t)util_random(rnd);

				CU_ASSERT_TRUE(XDR_PUTUINT32(&x, v));
				CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, v));
			}
			CU_ASSERT_EQUAL(XDR_GETPOS(&x), XDR_GETPOS(&e.xdrs));
			CU_ASSERT_TRUE(XDR_SETPOS(&x, end));
			CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, end));
			CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), end);
			CU_ASSERT_FALSE(XDR_SETPOS(&e.xdrs, end + 1));
		}
	}
	len = XDR_GETPOS(&x);
	/* Where the position is does not matter at the end. */
	CU_ASSERT_TRUE(
		XDR_SETPOS(&e.xdrs, (u_int)util_below(rnd, len / 4 + 1) * 4));
	check(&e, mem, len);
	XDR_DESTROY(&e.xdrs);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

static void test_random(void)
{
	uint64_t rnd = 0x2545f4914f6cdd1d;
	uint8_t *mem = malloc(STREAM_MAX);

	for (int i = 0; i < 4000; i++)
		one_sequence(&rnd, mem);
	free(mem);
}

/* Words and odd lengths over the borders of the buffers. */
/* Whatever was in the memory before. */
static void test_fresh(void)
{
	struct xs_encode e;

	memset(&e, 0xa5, sizeof(e));
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, MiB), 0);
	CU_ASSERT_PTR_NULL(e.xdrs.x_public);
	CU_ASSERT_PTR_NULL(e.xdrs.x_private);
	CU_ASSERT_PTR_NULL(e.xdrs.x_lib[0]);
	CU_ASSERT_PTR_NULL(e.xdrs.x_lib[1]);
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), 0);
	XDR_DESTROY(&e.xdrs);
}

/* Begun again, it shows nothing of what was in it before. */
static void test_restart(void)
{
	static char octets[100000];
	struct xs_encode e;
	struct iovec iov[16];
	unsigned int n;

	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	for (unsigned int i = 0; i < 4; i++)
		CU_ASSERT_TRUE_FATAL(
			XDR_PUTBYTES(&e.xdrs, octets, sizeof(octets)));
	n = xs_encode_look(&e, 0, iov, 16);
	CU_ASSERT_TRUE(n > 2 && n < 16);
	CU_ASSERT_EQUAL(xs_encode_look(&e, 0, iov, 2), 2);
	CU_ASSERT_EQUAL_FATAL(xs_encode_restart(&e), 0);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 7));
	CU_ASSERT_EQUAL(xs_encode_look(&e, 0, iov, 16), 1);
	CU_ASSERT_EQUAL(iov[0].iov_len, 4);
	XDR_DESTROY(&e.xdrs);
}

static void test_growth(void)
{
	static uint8_t want[MiB];
	size_t len = 0;
	struct xs_encode e;

	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	for (uint32_t i = 0; len + 4 + 7 <= sizeof(want); i++) {
		uint8_t odd[7];

		for (unsigned int k = 0; k < sizeof(odd); k++)
			odd[k] = (uint8_t)(i * 7 + k);
		CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&e.xdrs, i));
		CU_ASSERT_TRUE_FATAL(
			XDR_PUTBYTES(&e.xdrs, (char *)odd, sizeof(odd)));
		want[len] = (uint8_t)(i >> 24);
		want[len + 1] = (uint8_t)(i >> 16);
		want[len + 2] = (uint8_t)(i >> 8);
		want[len + 3] = (uint8_t)i;
		memcpy(want + len + 4, odd, sizeof(odd));
		len += 4 + sizeof(odd);
	}
	check(&e, want, len);
	CU_ASSERT_TRUE(e.next > 2);
	CU_ASSERT_TRUE(e.next < 16);
	xs_encode_release(&e);
	xs_encode_release(&e);
	CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 0));
	CU_ASSERT_TRUE(xs_encode_pieces(&e, &len) < 0);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/* ---- Buffers by reference --------------------------------------------- */

static int released;

/* What an owner of a uio does: give everything back at the last reference. */
static void release_uio(xdr_uio *uio, u_int flags)
{
	if (--uio->uio_references)
		return;
	for (size_t i = 0; i < uio->uio_count; i++)
		free(uio->uio_vio[i].vio_base);
	free(uio);
	released++;
}

/* Of memory that is not its own. */
static void release_foreign(xdr_uio *uio, u_int flags)
{
	if (!--uio->uio_references)
		free(uio);
}

static xdr_uio *make_uio(size_t count, const size_t *len, uint8_t fill)
{
	xdr_uio *uio = calloc(1, sizeof(*uio) + count * sizeof(xdr_vio));

	uio->uio_count = count;
	uio->uio_release = release_uio;
	for (size_t i = 0; i < count; i++) {
		xdr_vio *v = &uio->uio_vio[i];

		v->vio_base = malloc(len[i] ? len[i] : 1);
		v->vio_head = v->vio_base;
		v->vio_tail = v->vio_base + len[i];
		v->vio_wrap = v->vio_tail;
		v->vio_length = (uint32_t)len[i];
		v->vio_type = VIO_DATA;
		memset(v->vio_base, fill + (int)i, len[i]);
	}
	return uio;
}

static size_t put_uio(struct xs_encode *e, const size_t *len, size_t count,
		      uint8_t fill, uint8_t *want)
{
	size_t sum = 0;

	CU_ASSERT_TRUE(XDR_PUTBUFS(&e->xdrs, make_uio(count, len, fill),
				   UIO_FLAG_NONE));
	for (size_t i = 0; i < count; i++) {
		memset(want + sum, fill + (int)i, len[i]);
		sum += len[i];
	}
	return sum;
}

static void test_putbufs(void)
{
	static uint8_t want[MiB];
	const size_t one[] = { 100000 }, three[] = { 4, 0, 8192 };
	const size_t none[] = { 0, 0 };
	struct xs_encode e;
	size_t at = 0;
	uint32_t be;

	released = 0;
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	/* At the very beginning, in the middle, twice in a row, at the end. */
	at += put_uio(&e, one, 1, 'a', want + at);
	be = htonl(1);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 1));
	memcpy(want + at, &be, 4);
	at += 4;
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), at);
	at += put_uio(&e, three, 3, 'b', want + at);
	at += put_uio(&e, none, 2, 'n', want + at);
	CU_ASSERT_EQUAL(released, 1); /* there is nothing to keep */
	at += put_uio(&e, one, 1, 'e', want + at);
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), at);
	/* Go back before a uio, and behind it again. */
	CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, 100000));
	be = htonl(0xfeedface);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0xfeedface));
	memcpy(want + 100000, &be, 4);
	CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, (u_int)at));
	be = htonl(77);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 77));
	memcpy(want + at, &be, 4);
	at += 4;
	check(&e, want, at);
	/* By reference, and the small pieces share one buffer. */
	CU_ASSERT_EQUAL(e.copied, 0);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 4096);
	CU_ASSERT_EQUAL(released, 1);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 4);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 4);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/*
 * READ data of @len octets in @buf between two words, as Ganesha puts them: with @len % 4
 * octets behind them as if that were padding or, where the buffer ends before, with the last
 * octets elsewhere.
 */
static void put_read(struct xs_encode *e, const struct fab_buf *buf,
		     uint32_t len)
{
	const size_t none[2] = { 0 };
	xdr_uio *uio = make_uio(2, none, 0);
	xdr_vio *v = uio->uio_vio;
	uint32_t odd = len % 4;

	for (int i = 0; i < 2; i++)
		free(v[i].vio_base);
	memset(buf->addr, 'r', buf->size);
	v[0].vio_base = NULL; /* the test's */
	v[0].vio_head = buf->addr;
	v[0].vio_tail = v[0].vio_head + len;
	v[1].vio_base = NULL;
	if (len + odd <= buf->size) {
		v[0].vio_tail += odd;
		uio->uio_count = 1;
	} else {
		v[0].vio_tail -= odd;
		v[1].vio_head = (uint8_t *)"elsewhere";
		v[1].vio_tail = v[1].vio_head + 4;
	}
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e->xdrs, len));
	CU_ASSERT_TRUE(XDR_PUTBUFS(&e->xdrs, uio, UIO_FLAG_NONE));
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e->xdrs, 0xfeedface));
}

/* Data in a buffer that the FSAL was given are sent from there, with padding. */
static void test_read_buffer(void)
{
	static const uint32_t lengths[] = { 0, 1, 2, 3, 4, 5, 6, 7, 4090, 4093,
					    65532, 65533,
					    /* of 64 KiB */
					    65534, 65535, 65536 };
	static uint8_t want[100000];
	struct fab_buf *buf = fab_pool_get(pool.pool, 65536);
	const uint32_t end = htonl(0xfeedface);
	struct xs_encode e;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		uint32_t len = lengths[i], be = htonl(len);
		uint32_t padded = (len + 3) & ~3u;

		released = 0;
		CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB),
				      0);
		xs_encode_set_read_buffer(
			&e, &(struct fab_sge){ buf->addr, buf->size, buf->mr });
		put_read(&e, buf, len);
		/* Kept until they have been sent. */
		CU_ASSERT_EQUAL(released, len ? 0 : 1);
		memset(want, 0, sizeof(want));
		memcpy(want, &be, 4);
		memset(want + 4, 'r', len);
		memcpy(want + 4 + padded, &end, 4);
		check(&e, want, 8 + padded);
		if (len) {
			CU_ASSERT_PTR_EQUAL(e.pieces[1].addr, buf->addr);
			CU_ASSERT_PTR_EQUAL(e.pieces[1].mr, buf->mr);
		}
		xs_encode_release(&e);
		CU_ASSERT_EQUAL(released, 1);
		CU_ASSERT_EQUAL(util_pool_used(&pool), buf->size);
	}
	fab_pool_put(buf);
}

/* Nothing may be written into a buffer that is not ours. */
static void test_uio_untouched(void)
{
	const size_t len[] = { 64 };
	struct xs_encode e;
	xdr_uio *uio = make_uio(1, len, 'u');

	released = 0;
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, MiB), 0);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 5));
	CU_ASSERT_TRUE(XDR_PUTBUFS(&e.xdrs, uio, UIO_FLAG_NONE));
	CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, 24));
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), 24);
	CU_ASSERT_PTR_NULL(xdr_inline_encode(&e.xdrs, 4));
	CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 0));
	for (size_t i = 0; i < len[0]; i++)
		CU_ASSERT_EQUAL(uio->uio_vio[0].vio_base[i], 'u');
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, (size_t[]){ 0 }), -EINVAL);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 1);
}

/* More uios than there are extents: the rest is copied. */
static void test_many_uios(void)
{
	static uint8_t want[MiB];
	struct xs_encode e;
	size_t at = 0;

	released = 0;
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	for (int i = 0; i < 200; i++) {
		const size_t len[] = { 1000, 3000 };
		uint32_t be = htonl((uint32_t)i);

		CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, (uint32_t)i));
		memcpy(want + at, &be, 4);
		at += 4;
		at += put_uio(&e, len, 2, (uint8_t)i, want + at);
	}
	check(&e, want, at);
	CU_ASSERT_TRUE(e.copied > 0);
	CU_ASSERT_TRUE(released > 0 && released < 200);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 200);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

/* ---- Limits ----------------------------------------------------------- */

static void test_max(void)
{
	for (size_t max = 4; max <= 12000; max += max < 40 ? 4 : 988) {
		struct xs_encode e;
		size_t len, put = 0;

		CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, max), 0);
		while (put + 4 <= max) {
			CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&e.xdrs, 1));
			put += 4;
		}
		CU_ASSERT_TRUE(xs_encode_pieces(&e, &len) > 0);
		CU_ASSERT_EQUAL(len, put);
		CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 1));
		CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), -EMSGSIZE);
		/* And it can be used again. */
		CU_ASSERT_EQUAL(xs_encode_restart(&e), 0);
		CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 9));
		CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), 1);
		CU_ASSERT_EQUAL(len, 4);
		xs_encode_release(&e);
		CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
	}
}

/* Put uios of a word each until there is no extent to spare for the last. */
static size_t until_copied(struct xs_encode *e)
{
	const size_t one[] = { 4 };
	size_t sum = 0;

	while (!e->copied) {
		CU_ASSERT_TRUE_FATAL(XDR_PUTBUFS(&e->xdrs, make_uio(1, one, 0),
						 UIO_FLAG_NONE));
		sum += one[0];
	}
	return sum;
}

/* One that is copied may reach to the last octet. */
static void test_max_copy(void)
{
	const size_t large[] = { 300000 };
	struct xs_encode e;
	size_t len, before;
	xdr_uio *uio;

	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, MiB), 0);
	before = until_copied(&e);
	xs_encode_release(&e);
	for (size_t over = 0; over < 2; over++) {
		released = 0;
		CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool,
						     before + large[0] - over),
				      0);
		CU_ASSERT_EQUAL(until_copied(&e), before);
		uio = make_uio(1, large, 0);
		CU_ASSERT_EQUAL(XDR_PUTBUFS(&e.xdrs, uio, UIO_FLAG_NONE),
				!over);
		if (over)
			uio->uio_release(uio, UIO_FLAG_NONE);
		if (!over) {
			CU_ASSERT_TRUE(xs_encode_pieces(&e, &len) > 0);
			CU_ASSERT_EQUAL(len, before + large[0]);
		}
		xs_encode_release(&e);
		CU_ASSERT_EQUAL((size_t)released, before / 4 + 1);
	}
}

/* The caller releases a uio that was refused, as Ganesha does. */
static void test_max_uio(void)
{
	const size_t fits[] = { 900 }, more[] = { 100, 1 };
	struct xs_encode e;
	xdr_uio *uio;
	size_t len;

	released = 0;
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 1000), 0);
	CU_ASSERT_TRUE(
		XDR_PUTBUFS(&e.xdrs, make_uio(1, fits, 0), UIO_FLAG_NONE));
	uio = make_uio(2, more, 0);
	CU_ASSERT_FALSE(XDR_PUTBUFS(&e.xdrs, uio, UIO_FLAG_NONE));
	uio->uio_release(uio, UIO_FLAG_NONE);
	CU_ASSERT_EQUAL(released, 1);
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), -EMSGSIZE);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 2);
}

/* Beside the longest stream only what is taken by reference, and so much of it. */
static void test_beside(void)
{
	const size_t large[] = { 500000, 500000 }, more[] = { 1001 };
	struct xs_encode e;
	xdr_uio *uio;
	size_t len;

	released = 0;
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 1000), 0);
	xs_encode_allow_extra(&e, 1000000);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 1));
	CU_ASSERT_TRUE(
		XDR_PUTBUFS(&e.xdrs, make_uio(2, large, 0), UIO_FLAG_NONE));
	for (uint32_t i = 1; i < 250; i++)
		CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&e.xdrs, i));
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), 4);
	CU_ASSERT_EQUAL(len, 1001000);
	CU_ASSERT_EQUAL(e.copied, 0);
	CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 0));
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 1);
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 1000), 0);
	xs_encode_allow_extra(&e, 1000);
	uio = make_uio(1, more, 0);
	CU_ASSERT_FALSE(XDR_PUTBUFS(&e.xdrs, uio, UIO_FLAG_NONE));
	uio->uio_release(uio, UIO_FLAG_NONE);
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), -EMSGSIZE);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(released, 2);
}

/* Positions have 32 bits, whatever may come beside the longest stream. Of a uio
 * by reference nobody reads an octet. */
static void test_beside_all(void)
{
	const size_t max = 1000, most = UINT32_MAX - max;
	void *mem = mmap(NULL, most + 1, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct xs_encode e;
	xdr_uio *uio;
	size_t len;

	CU_ASSERT_NOT_EQUAL_FATAL(mem, MAP_FAILED);
	for (size_t beside = UINT32_MAX; beside > most - 8; beside -= 4) {
		for (size_t over = 0; over < 2; over++) {
			size_t octets = MIN(beside, most) + over;
			bool fits = !over;

			uio = calloc(1, sizeof(*uio) + sizeof(xdr_vio));
			uio->uio_count = 1;
			uio->uio_release = release_foreign;
			uio->uio_vio[0].vio_base = mem;
			uio->uio_vio[0].vio_head = mem;
			uio->uio_vio[0].vio_tail = (uint8_t *)mem + octets;
			CU_ASSERT_EQUAL_FATAL(
				xs_encode_init(&e, pool.pool, max), 0);
			xs_encode_allow_extra(&e, beside);
			CU_ASSERT_EQUAL(
				XDR_PUTBUFS(&e.xdrs, uio, UIO_FLAG_NONE), fits);
			if (!fits)
				uio->uio_release(uio, UIO_FLAG_NONE);
			for (size_t i = 0; fits && i < max; i += 4)
				CU_ASSERT_TRUE_FATAL(XDR_PUTUINT32(&e.xdrs, 1));
			CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len),
					fits ? 2 : -EMSGSIZE);
			if (fits) {
				CU_ASSERT_EQUAL(len, octets + max);
				CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), len);
			}
			xs_encode_release(&e);
		}
	}
	munmap(mem, most + 1);
}

static void test_no_memory(void)
{
	struct util_pool small;
	struct fab_buf *taken[64];
	struct xs_encode e;
	unsigned int n = 0;
	size_t len;

	CU_ASSERT_TRUE_FATAL(util_pool_open(&small, 256 << 10));
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, small.pool, MiB), 0);
	while (n < 64 && (taken[n] = fab_pool_get(small.pool, 4096)))
		n++;
	for (int i = 0; i < 1024; i++)
		CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 1));
	CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 1));
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), -ENOMEM);
	xs_encode_release(&e);
	taken[n++] = fab_pool_get(small.pool, 4096);
	CU_ASSERT_PTR_NOT_NULL(taken[n - 1]);
	/* Not even the first buffer: still safe to use and to release. */
	CU_ASSERT_EQUAL(xs_encode_init(&e, small.pool, MiB), -ENOMEM);
	CU_ASSERT_FALSE(XDR_PUTUINT32(&e.xdrs, 1));
	CU_ASSERT_EQUAL(xs_encode_pieces(&e, &len), -ENOMEM);
	xs_encode_release(&e);
	while (n)
		fab_pool_put(taken[--n]);
	util_pool_close(&small);
}

/* ---- Room for GSS tokens ---------------------------------------------- */

/*
 * As RPCSEC_GSS privacy does: a length word, then a body in a new buffer, in
 * front of which comes a header and behind it a trailer, after the fact.
 */
static void wrap(size_t before, size_t body, size_t uio_len, uint32_t header,
		 uint32_t trailer)
{
	static uint8_t want[MiB];
	const size_t uio[] = { uio_len };
	struct xs_encode e;
	xdr_vio vec[RT_MAX_PIECES];
	u_int start, data;
	size_t at;
	int n;

	memset(vec, 0, sizeof(vec));
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, 4 * MiB), 0);
	memset(want, 'b', before);
	CU_ASSERT_TRUE(XDR_PUTBYTES(&e.xdrs, (char *)want, (u_int)before));
	start = XDR_GETPOS(&e.xdrs);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0xaaaaaaaa));
	CU_ASSERT_TRUE(XDR_NEWBUF(&e.xdrs));
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), start + 4);
	at = before + 4 + header;
	memset(want + at, 'd', body);
	CU_ASSERT_TRUE(XDR_PUTBYTES(&e.xdrs, (char *)want + at, (u_int)body));
	at += body;
	if (uio_len)
		at += put_uio(&e, uio, 1, 'u', want + at);
	data = XDR_GETPOS(&e.xdrs) - start - 4;
	CU_ASSERT_EQUAL(data, body + uio_len);
	n = XDR_IOVCOUNT(&e.xdrs, start + 4, data);
	CU_ASSERT_TRUE_FATAL(n > 0 && n + 3 <= RT_MAX_PIECES);
	vec[0].vio_type = VIO_HEADER;
	vec[0].vio_length = header;
	CU_ASSERT_TRUE(XDR_FILLBUFS(&e.xdrs, start + 4, &vec[1], data));
	vec[n + 1].vio_type = VIO_TRAILER; /* no padding */
	vec[n + 2].vio_type = VIO_TRAILER;
	vec[n + 2].vio_length = trailer;
	CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, start));
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0x01020304));
	CU_ASSERT_TRUE_FATAL(XDR_ALLOCHDRS(&e.xdrs, start + 4, vec, n + 3));
	memcpy(want + before, "\1\2\3\4", 4);
	memset(want + before + 4, 'h', header);
	memset(vec[0].vio_head, 'h', header);
	CU_ASSERT_EQUAL(vec[0].vio_tail - vec[0].vio_head, header);
	memset(want + at, 't', trailer);
	memset(vec[n + 2].vio_head, 't', trailer);
	at += trailer;
	/* The position is behind it all, and one can go on. */
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), at);
	CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0x05060708));
	memcpy(want + at, "\5\6\7\10", 4);
	at += 4;
	check(&e, want, at);
	xs_encode_release(&e);
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
}

static void test_wrap(void)
{
	static const size_t befores[] = { 0, 24, 4088, 4092, 4096, 70000 };
	static const size_t bodies[] = { 4, 100, 5000, 300000 };

	for (size_t b = 0; b < 6; b++) {
		for (size_t d = 0; d < 4; d++) {
			wrap(befores[b], bodies[d], 0, 32, 60);
			wrap(befores[b], bodies[d], 0, 0, 0);
			wrap(befores[b], bodies[d], 8192, 32, 61);
			wrap(befores[b], bodies[d], 3, 64, 5000);
		}
	}
}

/* As integrity does: the length of the token and the token behind the data. */
static void test_mic(void)
{
	for (size_t body = 4080; body <= 4100; body++) {
		static uint8_t want[8192];
		struct xs_encode e;
		xdr_vio vec[8];
		int n;

		memset(vec, 0, sizeof(vec));
		CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, MiB), 0);
		memset(want, 'd', body);
		CU_ASSERT_TRUE(
			XDR_PUTBYTES(&e.xdrs, (char *)want, (u_int)body));
		n = XDR_IOVCOUNT(&e.xdrs, 4, (u_int)body - 4);
		CU_ASSERT_TRUE_FATAL(n > 0 && n < 6);
		CU_ASSERT_TRUE(XDR_FILLBUFS(&e.xdrs, 4, vec, (u_int)body - 4));
		vec[n].vio_type = VIO_TRAILER_LEN;
		vec[n].vio_length = 4;
		vec[n + 1].vio_type = VIO_TRAILER;
		vec[n + 1].vio_length = 28;
		CU_ASSERT_TRUE(XDR_SETPOS(&e.xdrs, 0));
		CU_ASSERT_TRUE(XDR_PUTUINT32(&e.xdrs, 0x64646464));
		CU_ASSERT_TRUE_FATAL(XDR_ALLOCHDRS(&e.xdrs, 4, vec, n + 2));
		memset(vec[n + 1].vio_head, 'm', 28);
		memcpy(want + body, "\0\0\0\34", 4);
		memset(want + body + 4, 'm', 28);
		CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), body + 32);
		check(&e, want, body + 32);
		xs_encode_release(&e);
	}
}

/* Behind all that has been put, though nobody has asked yet how much that is. */
static void test_trailer(void)
{
	xdr_vio vec = { .vio_type = VIO_TRAILER, .vio_length = 28 };
	uint8_t want[128];
	struct xs_encode e;

	memset(want, 'd', 100);
	memset(want + 100, 'm', 28);
	CU_ASSERT_EQUAL_FATAL(xs_encode_init(&e, pool.pool, MiB), 0);
	CU_ASSERT_TRUE(XDR_PUTBYTES(&e.xdrs, (char *)want, 100));
	CU_ASSERT_TRUE_FATAL(XDR_ALLOCHDRS(&e.xdrs, 0, &vec, 1));
	memset(vec.vio_head, 'm', 28);
	CU_ASSERT_EQUAL(XDR_GETPOS(&e.xdrs), 128);
	check(&e, want, 128);
	xs_encode_release(&e);
}

static void test_open(void)
{
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 0));
}

static void test_close(void)
{
	struct xs_encode e;

	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
	CU_ASSERT_EQUAL(xs_encode_init(&e, pool.pool, 100), 0);
	CU_ASSERT_PTR_EQUAL(xs_encode_of(&e.xdrs), &e);
	xs_encode_release(&e);
	util_pool_close(&pool);
}

static const struct unit_test tests[] = {
	{ "open", test_open },
	{ "random items", test_random },
	{ "growth", test_growth },
	{ "putbufs", test_putbufs },
	{ "buffer of a READ", test_read_buffer },
	{ "fresh", test_fresh },
	{ "restart", test_restart },
	{ "uio untouched", test_uio_untouched },
	{ "many uios", test_many_uios },
	{ "longest stream", test_max },
	{ "longest stream, uio", test_max_uio },
	{ "beside the longest stream", test_beside },
	{ "all that has a position beside it", test_beside_all },
	{ "copied to the last octet", test_max_copy },
	{ "no memory", test_no_memory },
	{ "privacy token", test_wrap },
	{ "integrity token", test_mic },
	{ "trailer", test_trailer },
	{ "close", test_close },
	{ NULL, NULL }
};
UNIT_MAIN("ntirpc encode stream", tests)
