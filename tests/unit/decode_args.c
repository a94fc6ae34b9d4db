/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * decode_args - arguments of NFSv4 operations, and how they are read here
 *
 *	rpcrdma-decode-args SEED COUNT
 *
 * For each row of ulb_rows.c: its arguments, and COUNT - 1 times with words changed,
 * each followed by some that do not belong to it. A line has the operation's number,
 * how many octets its arguments take (-1: they cannot be read), all octets, and the
 * name of the row. decode.test asks Ganesha for the same.
 */
#include "nfs/ulb.h"
#include "ulb_rows.h"
#include "ulb_xdr.h"

#define MORE 64 /* words behind the arguments */

static struct xdr x;
static uint64_t state;

/* xorshift64* */
static uint32_t any(uint32_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (uint32_t)(state * 2685821657736338717u >> 32) % below;
}

static uint32_t word(void)
{
	static const uint32_t odd[] = { 9,	   16,	       64,
					0x10000,   0x7fffffff, 0x80000000,
					UINT32_MAX };
	uint32_t n = any(20);

	return n < 13 ? n % 9 : odd[n - 13];
}

static void change(size_t len)
{
	uint32_t be;

	if (!len)
		return;
	be = htobe32(word());
	memcpy(x.b + any((uint32_t)len / 4) * 4, &be, sizeof(be));
}

static void print(const struct row *r)
{
	struct iovec v = { x.b, x.len };
	struct ulb_walk w = { 0 };

	ulb_cur_init(&w.cur, &v, 1);
	if (ulb_walk(&w, ulb_nfs4_ops[r->op].args))
		printf("%u -1 ", r->op);
	else
		printf("%u %ju ", r->op, (uintmax_t)w.cur.pos);
	for (size_t i = 0; i < x.len; i++)
		printf("%02x", x.b[i]);
	printf(" %s\n", r->name);
}

int main(int argc, char **argv)
{
	unsigned long count;
	size_t len;

	if (argc != 3)
		return 2;
	state = strtoull(argv[1], NULL, 10) | (uint64_t)1 << 40;
	count = strtoul(argv[2], NULL, 10);
	for (const struct row *r = args_rows; r->name; r++) {
		for (unsigned long n = 0; n < count; n++) {
			x_init(&x);
			x.odd = any(7);
			x_values(&x, r->values);
			len = x.len;
			for (unsigned int i = 0; i < MORE; i++)
				x_u32(&x, word() % 16);
			for (uint32_t i = n ? 1 + any(3) : 0; i; i--)
				change(len);
			print(r);
		}
	}
	return 0;
}
