/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Decode stream: the pieces of a payload stream as an XDR.
 *
 * ntirpc's inline getters read x_data and compare it with x_v.vio_tail, so
 * these always describe the current piece; only what does not fit in it gets
 * here. vio_wrap equals vio_tail, because ntirpc takes it for the end of the
 * data when it computes a checksum.
 *
 * The stream writes nothing. RPCSEC_GSS privacy decrypts in place, through
 * x_fillbufs; the pieces are not used for anything else by then.
 */
#include "ntirpc/stream/stream.h"
#include "ntirpc/stream/over.h"
#include "ntirpc/stream/span.h"

#include <limits.h>
#include <string.h>
#include <sys/param.h>

#include "compat/ntirpc.h"

static const struct xdr_ops decode_ops;

static inline struct nrt_decode *dec(XDR *xdrs)
{
	return (struct nrt_decode *)(void *)xdrs;
}

static void enter(struct nrt_decode *d, unsigned int n, size_t off)
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

static size_t position(const struct nrt_decode *d)
{
	return d->start + (size_t)(d->xdrs.x_data - d->xdrs.x_v.vio_base);
}

static bool advance(struct nrt_decode *d)
{
	if (d->cur + 1 >= d->npieces)
		return false;
	d->start += d->pieces[d->cur].len;
	enter(d, d->cur + 1, 0);
	return true;
}

static bool get(struct nrt_decode *d, uint8_t *to, size_t len)
{
	XDR *x = &d->xdrs;

	if (len > d->len - position(d))
		return false;
	while (len) {
		size_t here = (size_t)(x->x_v.vio_tail - x->x_data);

		if (!here) {
			if (!advance(d))
				return false;
			continue;
		}
		here = MIN(here, len);
		/* What has been lent is there already (lend.h). */
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

	if (!get(dec(xdrs), (uint8_t *)&be, sizeof(be)))
		return false;
	*v = ntohl(be);
	return true;
}

static bool decode_getbytes(XDR *xdrs, char *to, u_int len)
{
	return get(dec(xdrs), (uint8_t *)to, len);
}

static u_int decode_getpos(XDR *xdrs)
{
	return (u_int)position(dec(xdrs));
}

static bool decode_setpos(XDR *xdrs, u_int pos)
{
	struct nrt_decode *d = dec(xdrs);
	size_t start = 0;

	if (pos > d->len)
		return false;
	/* The last position of a piece is the first of the next one, so that
	 * an in-line getter finds its octets. */
	for (unsigned int n = 0; n < d->npieces; n++) {
		if (pos - start < d->pieces[n].len || n + 1 == d->npieces) {
			d->start = start;
			enter(d, n, pos - start);
			return true;
		}
		start += d->pieces[n].len;
	}
	return pos == 0;
}

static void decode_destroy(XDR *xdrs)
{
	struct nrt_decode *d = dec(xdrs);
	void (*fn)(struct nrt_decode * d);

	fn = __atomic_exchange_n(&d->destroyed, NULL, __ATOMIC_ACQ_REL);
	if (fn)
		fn(d);
}

static bool decode_span(const XDR *xdrs, unsigned int n, uint8_t **base,
			size_t *len)
{
	const struct nrt_decode *d = (const void *)xdrs;

	if (n >= d->npieces)
		return false;
	*base = d->pieces[n].addr;
	*len = d->pieces[n].len;
	return true;
}

/*
 * Where the data of a WRITE begin, and end, for decoders that take them from
 * where they are: behind their length, as ever, whatever way they came. If they
 * are not all there, they begin nowhere: see decode_iovcount().
 */
__attribute__((unused)) static u_int decode_start_of_data(XDR *xdrs, u_int pos,
							  u_int len)
{
	const struct nrt_decode *d = dec(xdrs);

	return pos <= d->len && len <= d->len - pos ? pos : UINT_MAX;
}

__attribute__((unused)) static u_int decode_end_of_data(XDR *xdrs, u_int pos,
							u_int len)
{
	return len <= UINT_MAX - pos ? pos + len : UINT_MAX;
}

/*
 * Less than zero: not all there. But Ganesha's decoder of a WRITE's data would
 * take that for a very large number, and allocate all that the length says: for
 * data that begin nowhere there are no stretches, and filling them fails.
 */
static int decode_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	if (pos > dec(xdrs)->len)
		return 0;
	return span_walk(xdrs, decode_span, pos, len, NULL);
}

static bool decode_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	return span_walk(xdrs, decode_span, pos, len, vec) >= 0;
}

static bool decode_control(XDR *xdrs, int request, void *info)
{
	return true;
}

static const struct xdr_ops decode_ops = {
	.x_getunit = decode_getunit,
	.x_putunit = nrt_over_putunit,
	.x_getbytes = decode_getbytes,
	.x_putbytes = nrt_over_putbytes,
	.x_getpostn = decode_getpos,
	COMPAT_XDR_OPS(decode_start_of_data, decode_end_of_data).x_setpostn =
		decode_setpos,
	.x_destroy = decode_destroy,
	.x_control = decode_control,
	.x_getbufs = nrt_over_bufs,
	.x_putbufs = nrt_over_bufs,
	.x_newbuf = nrt_over_newbuf,
	.x_iovcount = decode_iovcount,
	.x_fillbufs = decode_fillbufs,
	.x_allochdrs = nrt_over_allochdrs,
};

void nrt_decode_init(struct nrt_decode *d, const struct rt_piece *pieces,
		     unsigned int npieces,
		     void (*destroyed)(struct nrt_decode *d))
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

struct nrt_decode *nrt_decode_of(XDR *xdrs)
{
	return xdrs && xdrs->x_ops == &decode_ops ? dec(xdrs) : NULL;
}

size_t nrt_decode_peek(const struct nrt_decode *d, void *to, size_t len)
{
	size_t done = 0;
	const uint8_t *from = d->xdrs.x_data;
	size_t here = (size_t)(d->xdrs.x_v.vio_tail - from);

	for (unsigned int n = d->cur; len && n < d->npieces;) {
		here = MIN(here, len);
		memcpy((uint8_t *)to + done, from, here);
		done += here;
		len -= here;
		if (++n < d->npieces) {
			from = d->pieces[n].addr;
			here = d->pieces[n].len;
		}
	}
	return done;
}

unsigned int nrt_decode_rest(const struct nrt_decode *d, struct iovec *iov)
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
