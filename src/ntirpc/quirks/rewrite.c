/* SPDX-License-Identifier: BSD-3-Clause */
#include "ntirpc/quirks/rewrite.h"

#include <string.h>

unsigned int nrt_args_find(const struct nrt_call *nc, XDR *xdrs, void *what,
			   size_t length, struct iovec *iov, size_t *at)
{
	struct xs_decode *d = xs_decode_of(xdrs);

	/* Protected arguments follow the credential's sequence number
	 * (RFC 2203, 5.3.2.2). */
	*at = nc->head.op_class == ULB_CLASS_protected ? 4 : 0;
	if (d && what == d->xdrs.x_data)
		return xs_decode_rest(d, iov);
	iov[0] = (struct iovec){ what, length };
	return 1;
}

void nrt_args_write(const struct iovec *iov, unsigned int n, size_t at,
		    const void *octets, size_t len)
{
	const uint8_t *from = octets;

	for (unsigned int i = 0; i < n && len; i++) {
		size_t here = iov[i].iov_len;

		if (at >= here) {
			at -= here;
			continue;
		}
		here = here - at < len ? here - at : len;
		memcpy((uint8_t *)iov[i].iov_base + at, from, here);
		from += here;
		len -= here;
		at = 0;
	}
}

bool nrt_results_end_with(XDR *xdrs, u_int at, unsigned int index, uint32_t op,
			  uint32_t status)
{
	struct xs_encode *e = xs_encode_of(xdrs);
	u_int end = XDR_GETPOS(xdrs);
	struct iovec iov[RT_MAX_PIECES];
	uint32_t last, is;

	/* An operation has a number and a status. */
	return e && end >= at + 8 &&
	       !ulb_last_result(iov, xs_encode_look(e, at, iov, RT_MAX_PIECES),
				end - at, index, &last, &is) &&
	       last == op && is == status;
}
