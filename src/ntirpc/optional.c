/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * optional - operations of NFSv4 that Linux asks for, and Ganesha gets wrong
 */
#include "ntirpc/optional.h"

#include "ntirpc/call.h"
#include "ntirpc/session.h"

#define OP_ILLEGAL 10044
#define NFS4ERR_NOTSUPP 10004
#define NFS4ERR_OP_ILLEGAL 10044

/* Octet by octet: a word may cross pieces. */
static void put_word(const struct iovec *iov, unsigned int n, size_t at,
		     uint32_t word)
{
	uint32_t be = htonl(word);
	unsigned int done = 0;

	for (unsigned int i = 0; i < n && done < sizeof(be); i++) {
		for (; at < iov[i].iov_len && done < sizeof(be); at++)
			((uint8_t *)iov[i].iov_base)[at] =
				((const uint8_t *)&be)[done++];
		at -= iov[i].iov_len;
	}
}

void nrt_optional_check(struct nrt_call *nc, XDR *xdrs, void *what,
			size_t length)
{
	bool protected = nc->head.op_class == ULB_CLASS_protected;
	struct iovec iov[RT_MAX_PIECES] = { { what, length } };
	struct nrt_decode *d = nrt_decode_of(xdrs);
	unsigned int n = 1;

	if (!nc->readable || (!nc->head.optional && !protected))
		return;
	if (d && what == d->xdrs.x_data)
		n = nrt_decode_rest(d, iov);
	/* Behind the sequence number of the credential, as in bound.c. */
	if (!ulb_find_optional(iov, n, protected ? 4 : 0, &nc->optional))
		return;
	nc->is_optional = true;
	put_word(iov, n, nc->optional.count_at, nc->optional.index + 1);
	put_word(iov, n, nc->optional.at, OP_ILLEGAL);
}

bool nrt_optional_correct(const struct nrt_call *nc, XDR *xdrs, u_int at)
{
	struct nrt_encode *e = nrt_encode_of(xdrs);
	u_int end = XDR_GETPOS(xdrs);
	struct iovec iov[RT_MAX_PIECES];
	uint32_t op, status;

	/* What fails is the last one: its number and status. */
	if (!nc->is_optional || !e || end < at + 8 ||
	    ulb_last_result(iov, nrt_encode_look(e, at, iov, RT_MAX_PIECES),
			    end - at, nc->optional.index, &op, &status) ||
	    op != OP_ILLEGAL || status != NFS4ERR_OP_ILLEGAL)
		return true;
	return nrt_put_at(xdrs, at, NFS4ERR_NOTSUPP) &&
	       nrt_put_at(xdrs, end - 8, nc->optional.op) &&
	       nrt_put_at(xdrs, end - 4, NFS4ERR_NOTSUPP);
}
