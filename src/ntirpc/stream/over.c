/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * over - a stream that takes and has nothing
 */
#include "ntirpc/stream/over.h"

#include "compat/ntirpc.h"

bool nrt_over_getunit(XDR *xdrs, uint32_t *v)
{
	return false;
}

bool nrt_over_putunit(XDR *xdrs, const uint32_t v)
{
	return false;
}

bool nrt_over_getbytes(XDR *xdrs, char *to, u_int len)
{
	return false;
}

bool nrt_over_putbytes(XDR *xdrs, const char *from, u_int len)
{
	return false;
}

static u_int over_getpos(XDR *xdrs)
{
	return 0;
}

__attribute__((unused)) static u_int over_data(XDR *xdrs, u_int pos, u_int len)
{
	return 0;
}

static bool over_setpos(XDR *xdrs, u_int pos)
{
	return false;
}

bool nrt_over_bufs(XDR *xdrs, xdr_uio *uio, u_int flags)
{
	return false;
}

bool nrt_over_newbuf(XDR *xdrs)
{
	return false;
}

static int over_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	return -1;
}

static bool over_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	return false;
}

bool nrt_over_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n)
{
	return false;
}

/* XDR_DESTROY and XDR_CONTROL allow for operations that are not there. */
static const struct xdr_ops over_ops = {
	.x_getunit = nrt_over_getunit,
	.x_putunit = nrt_over_putunit,
	.x_getbytes = nrt_over_getbytes,
	.x_putbytes = nrt_over_putbytes,
	.x_getpostn = over_getpos,
	COMPAT_XDR_OPS(over_data, over_data).x_setpostn = over_setpos,
	.x_getbufs = nrt_over_bufs,
	.x_putbufs = nrt_over_bufs,
	.x_newbuf = nrt_over_newbuf,
	.x_iovcount = over_iovcount,
	.x_fillbufs = over_fillbufs,
	.x_allochdrs = nrt_over_allochdrs,
};

/* Nobody writes to it: a stream without room or data is never changed. */
const XDR nrt_over_stream = {
	.x_ops = &over_ops,
	.x_op = XDR_FREE,
};
