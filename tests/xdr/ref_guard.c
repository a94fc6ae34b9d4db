/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_guard - keep the reference decoder from allocating gigabytes
 *
 * libtirpc allocates what a count asks for before it looks whether the message
 * is that long. A count that cannot be satisfied is refused here first; all
 * others go to libtirpc unchanged, so accept and reject are not affected.
 */
#include <rpc/rpc.h>

bool_t ref_xdr_array(XDR *x, char **addr, u_int *count, u_int max, u_int size,
		     xdrproc_t proc);
bool_t ref_xdr_bytes(XDR *x, char **addr, u_int *count, u_int max);

/* Whether the count at this place of the message could be true. */
static bool_t plausible(XDR *x, u_int each)
{
	u_int pos, n;

	if (x->x_op != XDR_DECODE)
		return TRUE;
	pos = xdr_getpos(x);
	if (!xdr_u_int(x, &n) || n > x->x_handy / each)
		return FALSE;
	return xdr_setpos(x, pos);
}

bool_t ref_xdr_array(XDR *x, char **addr, u_int *count, u_int max, u_int size,
		     xdrproc_t proc)
{
	/* No element of these arrays has fewer than four octets. */
	return plausible(x, 4) && xdr_array(x, addr, count, max, size, proc);
}

bool_t ref_xdr_bytes(XDR *x, char **addr, u_int *count, u_int max)
{
	return plausible(x, 1) && xdr_bytes(x, addr, count, max);
}
