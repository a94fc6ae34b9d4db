/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_ops - XDR operations that both kinds of stream share, or do not support
 */
#include "ntirpc/stream/internal.h"

#include "compat/ntirpc.h"

bool xs_no_getunit(XDR *xdrs, uint32_t *v)
{
	return false;
}

bool xs_no_putunit(XDR *xdrs, const uint32_t v)
{
	return false;
}

bool xs_no_getbytes(XDR *xdrs, char *to, u_int len)
{
	return false;
}

bool xs_no_putbytes(XDR *xdrs, const char *from, u_int len)
{
	return false;
}

bool xs_no_bufs(XDR *xdrs, xdr_uio *uio, u_int flags)
{
	return false;
}

bool xs_no_newbuf(XDR *xdrs)
{
	return false;
}

bool xs_no_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n)
{
	return false;
}

int xs_walk(const XDR *xdrs, xs_span_fn span, size_t pos, size_t want,
	    xdr_vio *vec)
{
	uint8_t *base;
	size_t len;
	int count = 0;

	for (unsigned int n = 0; want && span(xdrs, n, &base, &len); n++) {
		size_t here;

		if (pos >= len) {
			pos -= len;
			continue;
		}
		here = len - pos < want ? len - pos : want;
		if (vec)
			vec[count] = (xdr_vio){
				.vio_base = base,
				.vio_head = base + pos,
				.vio_tail = base + pos + here,
				.vio_wrap = base + len,
				.vio_length = (uint32_t)here,
				.vio_type = VIO_DATA,
			};
		count++;
		want -= here;
		pos = 0;
	}
	return want ? -1 : count;
}

/* ---- The null stream ------------------------------------------------------ */

static u_int null_getpos(XDR *xdrs)
{
	return 0;
}

__attribute__((unused)) static u_int null_data(XDR *xdrs, u_int pos, u_int len)
{
	return 0;
}

static bool null_setpos(XDR *xdrs, u_int pos)
{
	return false;
}

static int null_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	return -1;
}

static bool null_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	return false;
}

/* XDR_DESTROY and XDR_CONTROL test for NULL, other macros do not. COMPAT_XDR_OPS() sets two more
 * members on releases that have them. */
static const struct xdr_ops null_ops = {
	.x_getunit = xs_no_getunit,
	.x_putunit = xs_no_putunit,
	.x_getbytes = xs_no_getbytes,
	.x_putbytes = xs_no_putbytes,
	.x_getpostn = null_getpos,
	COMPAT_XDR_OPS(null_data, null_data).x_setpostn = null_setpos,
	.x_getbufs = xs_no_bufs,
	.x_putbufs = xs_no_bufs,
	.x_newbuf = xs_no_newbuf,
	.x_iovcount = null_iovcount,
	.x_fillbufs = null_fillbufs,
	.x_allochdrs = xs_no_allochdrs,
};

const XDR xs_null_stream = {
	.x_ops = &null_ops,
	.x_op = XDR_FREE, /* a procedure that runs on it only frees */
};
