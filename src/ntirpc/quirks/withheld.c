/* SPDX-License-Identifier: BSD-3-Clause */
#include "ntirpc/quirks/withheld.h"

#include <rpc/xdr_inline.h>
#include <endian.h>
#include <string.h>
#include <sys/param.h>

#include "compat/ganesha.h"
#include "ntirpc/quirks/rewrite.h"

#define OP_SEQUENCE 53
#define OP_ILLEGAL 10044
#define NFS4ERR_OP_ILLEGAL 10044

static void put_word(const struct iovec *iov, unsigned int n, size_t at,
		     uint32_t word)
{
	uint32_t be = htonl(word);

	nrt_args_write(iov, n, at, &be, sizeof(be));
}

struct args {
	const struct iovec *iov;
	unsigned int n;
};

/* Nobody has a stateid of ones (RFC 8881, 8.2.3). */
static void mask_stateid(void *ctx, size_t at)
{
	const struct args *args = ctx;
	uint8_t ones[12];

	memset(ones, 0xff, sizeof(ones));
	nrt_args_write(args->iov, args->n, at, ones, sizeof(ones));
}

/* READW_LT becomes READ_LT, WRITEW_LT becomes WRITE_LT. */
static void clear_wait(void *ctx, size_t at, uint32_t type)
{
	const struct args *args = ctx;

	put_word(args->iov, args->n, at, type - 2);
}

/* Read behind the end of any file, which no file system refuses. */
static void replace_empty_read(struct nrt_call *nc, const struct iovec *iov,
			       unsigned int n, size_t at)
{
	const uint64_t behind = htobe64(INT64_MAX - 1);
	size_t offset_at;

	nc->is_empty_read = ulb_empty_read(iov, n, at, &nc->head, &offset_at,
					   &nc->read_offset);
	if (!nc->is_empty_read)
		return;
	nrt_args_write(iov, n, offset_at, &behind, sizeof(behind));
	put_word(iov, n, offset_at + sizeof(behind), 1);
}

/* READ3resok: status, attributes_follow, attributes (84 octets), count, eof */
bool nrt_withheld_empty_read(XDR *xdrs, void *results)
{
	struct nrt_results *r = results;
	struct xs_encode *e = xs_encode_of(xdrs);
	u_int at = XDR_GETPOS(xdrs);
	uint32_t head[9];
	struct iovec iov[2];
	uint64_t size;
	size_t n = 0;

	if (!r->proc(xdrs, r->where))
		return false;
	if (!e)
		return true;
	for (unsigned int i = 0, k = xs_encode_look(e, at, iov, 2);
	     i < k && n < sizeof(head); i++) {
		size_t len = MIN(iov[i].iov_len, sizeof(head) - n);

		memcpy((uint8_t *)head + n, iov[i].iov_base, len);
		n += len;
	}
	/* After a failure, or without the file's size, eof stays. */
	if (n < sizeof(head) || head[0] || !head[1])
		return true;
	size = (uint64_t)ntohl(head[7]) << 32 | ntohl(head[8]);
	return xs_encode_patch(xdrs, at + 8 + 84 + 4,
			       r->nc->read_offset >= size);
}

void nrt_withheld_check(struct nrt_call *nc, XDR *xdrs, void *what,
			size_t length)
{
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n;
	size_t at;
	bool found;

	if (COMPAT_EMPTY_READ && nc->head.nfs && nc->head.vers == 3 &&
	    nc->head.op_class == ULB_CLASS_read) {
		/* The class is known even if the arguments are protected. */
		n = nrt_args_find(nc, xdrs, what, length, iov, &at);
		replace_empty_read(nc, iov, n, nc->head.ddp ? 0 : 4);
		return;
	}
	if (!nc->head.withheld && !nc->head.unread && !nc->head.foreign &&
	    !nc->head.keeps_data && !(COMPAT_WAITING_LOCK && nc->head.waits) &&
	    nc->head.op_class != ULB_CLASS_protected)
		return;
	n = nrt_args_find(nc, xdrs, what, length, iov, &at);
	if (COMPAT_WAITING_LOCK)
		ulb_waiting_locks(iov, n, at, clear_wait,
				  &(struct args){ iov, n });
	found = ulb_find_withheld(iov, n, at, mask_stateid,
				  &(struct args){ iov, n }, &nc->withheld);
	if (nc->withheld.cache_at)
		put_word(iov, n, nc->withheld.cache_at, false);
	if (!found)
		return;
	if (nc->withheld.unread) {
		put_word(iov, n, nc->withheld.count_at, UINT32_MAX);
		return;
	}
	nc->is_withheld = true;
	put_word(iov, n, nc->withheld.count_at, nc->withheld.index + 1);
	put_word(iov, n, nc->withheld.at, OP_ILLEGAL);
}

bool nrt_withheld_replayed(const struct nrt_call *nc, const void *results)
{
	const struct gsh_compound *const *kept = results;

	return nc->withheld.cache_at && (*kept)->refs > 1;
}

bool nrt_withheld_uncached(XDR *xdrs, void *results)
{
	struct gsh_compound *kept = *(struct gsh_compound **)results;
	const uint32_t words[] = { 1, OP_SEQUENCE,
				   ULB_NFS4ERR_RETRY_UNCACHED_REP };

	if (!XDR_PUTUINT32(xdrs, ULB_NFS4ERR_RETRY_UNCACHED_REP) ||
	    !xdr_bytes(xdrs, &kept->tag.val, &kept->tag.len, UINT32_MAX))
		return false;
	for (unsigned int i = 0; i < 3; i++)
		if (!XDR_PUTUINT32(xdrs, words[i]))
			return false;
	return true;
}

bool nrt_withheld_correct(const struct nrt_call *nc, XDR *xdrs, u_int at)
{
	u_int end = XDR_GETPOS(xdrs);

	/* After an operation that fails none is executed. */
	if (!nc->is_withheld ||
	    !nrt_results_end_with(xdrs, at, nc->withheld.index, OP_ILLEGAL,
				  NFS4ERR_OP_ILLEGAL))
		return true;
	return xs_encode_patch(xdrs, at, nc->withheld.status) &&
	       xs_encode_patch(xdrs, end - 8, nc->withheld.op) &&
	       xs_encode_patch(xdrs, end - 4, nc->withheld.status);
}
