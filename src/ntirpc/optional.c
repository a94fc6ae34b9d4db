/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * optional - operations of NFSv4 that Linux asks for, and Ganesha gets wrong
 */
#include "ntirpc/optional.h"

#include "ntirpc/change.h"
#include "ntirpc/session.h"

#define OP_ILLEGAL 10044
#define NFS4ERR_NOTSUPP 10004
#define NFS4ERR_OP_ILLEGAL 10044

static void put_word(const struct iovec *iov, unsigned int n, size_t at,
		     uint32_t word)
{
	uint32_t be = htonl(word);

	nrt_args_put(iov, n, at, &be, sizeof(be));
}

void nrt_optional_check(struct nrt_call *nc, XDR *xdrs, void *what,
			size_t length)
{
	struct iovec iov[RT_MAX_PIECES];
	unsigned int n;
	size_t at;

	if (!nc->head.optional && nc->head.op_class != ULB_CLASS_protected)
		return;
	n = nrt_args_look(nc, xdrs, what, length, iov, &at);
	if (!ulb_find_optional(iov, n, at, &nc->optional))
		return;
	nc->is_optional = true;
	put_word(iov, n, nc->optional.count_at, nc->optional.index + 1);
	put_word(iov, n, nc->optional.at, OP_ILLEGAL);
}

bool nrt_optional_correct(const struct nrt_call *nc, XDR *xdrs, u_int at)
{
	u_int end = XDR_GETPOS(xdrs);

	/* What fails is the last one. */
	if (!nc->is_optional ||
	    !nrt_results_end(xdrs, at, nc->optional.index, OP_ILLEGAL,
			     NFS4ERR_OP_ILLEGAL))
		return true;
	return nrt_put_at(xdrs, at, NFS4ERR_NOTSUPP) &&
	       nrt_put_at(xdrs, end - 8, nc->optional.op) &&
	       nrt_put_at(xdrs, end - 4, NFS4ERR_NOTSUPP);
}
