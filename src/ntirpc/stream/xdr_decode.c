/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_decode - an XDR that reads the pieces of a payload stream
 *
 * ntirpc's inline getters read from x_data up to x_v.vio_tail, so these describe the current
 * piece. The functions here are called for what does not fit in it. vio_wrap equals vio_tail,
 * because ntirpc takes it for the end of the data when it computes a checksum.
 *
 * RPCSEC_GSS privacy decrypts in place, through x_fillbufs.
 */
#include "ntirpc/stream/internal.h"

#include <limits.h>
#include <string.h>
#include <sys/param.h>

#include "compat/ntirpc.h"

static const struct xdr_ops decode_ops;

static inline struct xs_decode *decode_of(XDR *xdrs)
{
	return (struct xs_decode *)(void *)xdrs;
}

static void decode_enter(struct xs_decode *d, unsigned int n, size_t off)
{
	XDR *x = &d->xdrs;
	uint8_t *base = d->pieces[n].addr;

	d->cur = n;
	x->x_data = base + off;
	x->x_v.vio_base = base;
	x->x_v.vio_head = base;
	x->x_v.vio_tail = base + d->pieces[n].len;
	x->x_v.vio_wrap = x->x_v.vio_tail;
}

static size_t decode_position(const struct xs_decode *d)
{
	return d->start + (size_t)(d->xdrs.x_data - d->xdrs.x_v.vio_base);
}

static bool decode_advance(struct xs_decode *d)
{
	if (d->cur + 1 >= d->npieces)
		return false;
	d->start += d->pieces[d->cur].len;
	decode_enter(d, d->cur + 1, 0);
	return true;
}

static bool decode_get(struct xs_decode *d, uint8_t *to, size_t len)
{
	XDR *x = &d->xdrs;

	if (len > d->len - decode_position(d))
		return false;
	while (len) {
		size_t here = (size_t)(x->x_v.vio_tail - x->x_data);

		if (!here) {
			if (!decode_advance(d))
				return false;
			continue;
		}
		here = MIN(here, len);
		/* Lent memory has the octets already (lend.h). */
		if (to != x->x_data)
			memcpy(to, x->x_data, here);
		x->x_data += here;
		to += here;
		len -= here;
	}
	return true;
}

static bool decode_getunit(XDR *xdrs, uint32_t *v)
{
	uint32_t be;

	if (!decode_get(decode_of(xdrs), (uint8_t *)&be, sizeof(be)))
		return false;
	*v = ntohl(be);
	return true;
}

static bool decode_getbytes(XDR *xdrs, char *to, u_int len)
{
	return decode_get(decode_of(xdrs), (uint8_t *)to, len);
}

static u_int decode_getpos(XDR *xdrs)
{
	return (u_int)decode_position(decode_of(xdrs));
}

static bool decode_setpos(XDR *xdrs, u_int pos)
{
	struct xs_decode *d = decode_of(xdrs);
	size_t start = 0;

	if (pos > d->len)
		return false;
	/* Between two pieces, choose the later one, where inline getters find the octets. */
	for (unsigned int n = 0; n < d->npieces; n++) {
		if (pos - start < d->pieces[n].len || n + 1 == d->npieces) {
			d->start = start;
			decode_enter(d, n, pos - start);
			return true;
		}
		start += d->pieces[n].len;
	}
	return pos == 0;
}

static void decode_destroy(XDR *xdrs)
{
	struct xs_decode *d = decode_of(xdrs);
	void (*fn)(struct xs_decode * d);

	fn = __atomic_exchange_n(&d->destroyed, NULL, __ATOMIC_ACQ_REL);
	if (fn)
		fn(d);
}

static bool decode_span(const XDR *xdrs, unsigned int n, uint8_t **base,
			size_t *len)
{
	const struct xs_decode *d = (const void *)xdrs;

	if (n >= d->npieces)
		return false;
	*base = d->pieces[n].addr;
	*len = d->pieces[n].len;
	return true;
}

/*
 * Returns where the data of a WRITE begin, for decoders that take references to them: after
 * their length, also if they came by Read chunk. UINT_MAX if some are missing: see
 * decode_iovcount().
 */
__attribute__((unused)) static u_int decode_start_of_data(XDR *xdrs, u_int pos,
							  u_int len)
{
	const struct xs_decode *d = decode_of(xdrs);

	return pos <= d->len && len <= d->len - pos ? pos : UINT_MAX;
}

__attribute__((unused)) static u_int decode_end_of_data(XDR *xdrs, u_int pos,
							u_int len)
{
	return len <= UINT_MAX - pos ? pos + len : UINT_MAX;
}

/*
 * Returns -1 if some octets are missing. Ganesha's decoder of a WRITE's data would take that
 * for a very large number, and allocate as much as the length says. So with such data (@pos is
 * UINT_MAX) return 0, and x_fillbufs fails.
 */
static int decode_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	if (pos > decode_of(xdrs)->len)
		return 0;
	return xs_walk(xdrs, decode_span, pos, len, NULL);
}

static bool decode_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	return xs_walk(xdrs, decode_span, pos, len, vec) >= 0;
}

static bool decode_control(XDR *xdrs, int request, void *info)
{
	return true;
}

static const struct xdr_ops decode_ops = {
	.x_getunit = decode_getunit,
	.x_putunit = xs_no_putunit,
	.x_getbytes = decode_getbytes,
	.x_putbytes = xs_no_putbytes,
	.x_getpostn = decode_getpos,
	COMPAT_XDR_OPS(decode_start_of_data, decode_end_of_data).x_setpostn =
		decode_setpos,
	.x_destroy = decode_destroy,
	.x_control = decode_control,
	.x_getbufs = xs_no_bufs,
	.x_putbufs = xs_no_bufs,
	.x_newbuf = xs_no_newbuf,
	.x_iovcount = decode_iovcount,
	.x_fillbufs = decode_fillbufs,
	.x_allochdrs = xs_no_allochdrs,
};

void xs_decode_init(struct xs_decode *d, const struct rt_piece *pieces,
		    unsigned int npieces,
		    void (*destroyed)(struct xs_decode *d))
{
	memset(d, 0, sizeof(*d));
	d->pieces = pieces;
	d->npieces = npieces;
	d->destroyed = destroyed;
	for (unsigned int n = 0; n < npieces; n++)
		d->len += pieces[n].len;
	d->xdrs.x_ops = &decode_ops;
	d->xdrs.x_op = XDR_DECODE;
	d->xdrs.x_base = &d->xdrs.x_v;
	d->xdrs.x_flags = XDR_FLAG_VIO;
	decode_setpos(&d->xdrs, 0);
}

struct xs_decode *xs_decode_of(XDR *xdrs)
{
	return xdrs && xdrs->x_ops == &decode_ops ? decode_of(xdrs) : NULL;
}

unsigned int xs_decode_rest(const struct xs_decode *d, struct iovec *iov)
{
	unsigned int count = 0;

	for (unsigned int n = d->cur; n < d->npieces; n++) {
		iov[count].iov_base = d->pieces[n].addr;
		iov[count++].iov_len = d->pieces[n].len;
	}
	if (count) {
		iov->iov_base = d->xdrs.x_data;
		iov->iov_len = (size_t)(d->xdrs.x_v.vio_tail - d->xdrs.x_data);
	}
	return count;
}
