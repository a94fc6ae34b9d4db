/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Encode stream: an XDR that fills registered buffers.
 *
 * The stream is a row of extents (extents.h).
 *
 * A uio is kept by reference, one for the whole uio, as ntirpc's own stream
 * does. Nothing may be put into an extent of a uio: its x_v.vio_wrap is its
 * base, so that inline putters do not write either.
 */
#include "ntirpc/stream/extents.h"
#include "ntirpc/stream/over.h"
#include "ntirpc/stream/span.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/be.h"
#include "compat/ntirpc.h"

/* Extents that xdr_putbufs() leaves for what must be copied or comes after. */
#define SPARE_EXTENTS 6
/* Room before a GSS privacy body: Kerberos needs 32 octets. */
#define HEADROOM 64

static const struct xdr_ops encode_ops;

static inline struct nrt_encode *enc(XDR *xdrs)
{
	return (struct nrt_encode *)(void *)xdrs;
}

static bool put(struct nrt_encode *e, const uint8_t *from, size_t len)
{
	XDR *x = &e->xdrs;

	if (e->error)
		return false;
	while (len) {
		const struct nrt_extent *at = &e->ext[e->cur];
		size_t here;

		if (at->fixed) {
			/* Behind it, but not over it. */
			if (x->x_data != at->base + at->len)
				return nrt_ext_fail(e, -EINVAL);
			if (!nrt_ext_advance(e))
				return false;
			continue;
		}
		here = (size_t)(x->x_v.vio_wrap - x->x_data);
		if (!here) {
			if (!nrt_ext_advance(e))
				return false;
			continue;
		}
		here = MIN(here, len);
		memcpy(x->x_data, from, here);
		x->x_data += here;
		from += here;
		len -= here;
	}
	return true;
}

static bool encode_putunit(XDR *xdrs, const uint32_t v)
{
	uint32_t be = htonl(v);

	return put(enc(xdrs), (const uint8_t *)&be, sizeof(be));
}

static bool encode_putbytes(XDR *xdrs, const char *from, u_int len)
{
	return put(enc(xdrs), (const uint8_t *)from, len);
}

static u_int encode_getpos(XDR *xdrs)
{
	struct nrt_encode *e = enc(xdrs);
	const struct nrt_extent *x = &e->ext[e->cur];

	return x->start + (u_int)(xdrs->x_data - x->base);
}

static bool encode_setpos(XDR *xdrs, u_int pos)
{
	struct nrt_encode *e = enc(xdrs);
	unsigned int n;

	nrt_ext_settle(e);
	if (pos > nrt_ext_total(e))
		return false;
	/* Where one extent ends and another begins, the position is in the
	 * later one. */
	for (n = e->next - 1; n && e->ext[n].start > pos;)
		n--;
	nrt_ext_enter(e, n, pos - e->ext[n].start);
	return true;
}

static bool at_end(struct nrt_encode *e)
{
	nrt_ext_settle(e);
	return nrt_ext_last(e, e->cur) &&
	       e->xdrs.x_data == e->ext[e->cur].base + e->ext[e->cur].len;
}

/* The uio is done with, or has been copied. */
static void uio_drop(struct xdr_uio *uio)
{
	uio->uio_release(uio, UIO_FLAG_NONE);
}

static bool put_by_copy(struct nrt_encode *e, const xdr_uio *uio, size_t len)
{
	/* Extents are scarce here: one for all that is longer than a buffer
	 * would be otherwise. */
	if (len > GROW_MAX && nrt_ext_append(e, len, 0))
		nrt_ext_enter(e, e->next - 1, 0);
	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];

		if (!put(e, v->vio_head, (size_t)(v->vio_tail - v->vio_head)))
			return false;
	}
	e->copied += len;
	return true;
}

/*
 * Is the data of @uio in the buffer that the FSAL was given? Then this puts right how
 * many octets that are: with room in the buffer, Ganesha takes two too few for padding
 * (length % 4 == 1) or too many (3). The length stands before the data. And @uio has no
 * memory to free any more: Ganesha frees it unless op_ctx is still that of the Call.
 */
static bool in_read_buffer(const struct nrt_encode *e, xdr_uio *uio)
{
	const struct fab_buf *buf = e->read_buffer;
	xdr_vio *v = uio->uio_vio;
	uint32_t len, padding;

	if (!buf || !uio->uio_count || v->vio_head != buf->addr ||
	    e->xdrs.x_data - e->ext[e->cur].base < 4)
		return false;
	len = be32_get(e->xdrs.x_data - 4);
	padding = -len % BYTES_PER_XDR_UNIT;
	if (len > buf->size || padding > buf->size - len)
		return false;
	memset(v->vio_head + len, 0, padding);
	v->vio_base = NULL;
	v->vio_tail = v->vio_head + len + padding;
	uio->uio_count = 1;
	return true;
}

/* @mr: NULL, and the stream keeps the uio; or it is not needed for the data. */
static void put_by_reference(struct nrt_encode *e, xdr_uio *uio,
			     struct fab_mr *mr)
{
	bool first = true;

	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];
		size_t len = (size_t)(v->vio_tail - v->vio_head);
		size_t start;

		if (!len)
			continue;
		nrt_ext_freeze(e);
		start = nrt_ext_total(e);
		e->ext[e->next++] = (struct nrt_extent){
			.base = v->vio_head,
			.start = (uint32_t)start,
			.len = (uint32_t)len,
			.room = (uint32_t)len,
			.mr = mr,
			.uio = first && !mr ? uio : NULL,
			.fixed = true,
		};
		first = false;
		nrt_ext_enter(e, e->next - 1, len);
	}
}

/*
 * ntirpc's own stream takes all or nothing here and never fails, so callers
 * hand over a uio without a reference, and their clean-up after a failure
 * (calling uio_release) expects one. Hence the reference is taken in any case.
 */
static bool encode_putbufs(XDR *xdrs, xdr_uio *uio, u_int flags)
{
	struct nrt_encode *e = enc(xdrs);
	size_t sum = 0, used = 0;
	struct fab_mr *mr;
	bool refer;

	uio->uio_references++;
	if (e->error || !at_end(e))
		return nrt_ext_fail(e, -EINVAL);
	mr = in_read_buffer(e, uio) ? e->read_buffer->mr : NULL;
	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];
		size_t len = (size_t)(v->vio_tail - v->vio_head);

		if (v->vio_tail < v->vio_head || len > e->max + e->beside - sum)
			return nrt_ext_fail(e, -EMSGSIZE);
		sum += len;
		used += len != 0;
	}
	refer = e->next + used + SPARE_EXTENTS <= RT_MAX_PIECES;
	if (refer && sum <= e->beside) {
		e->beside -= sum;
		e->max += sum;
	} else if (sum > e->max - nrt_ext_total(e)) {
		return nrt_ext_fail(e, -EMSGSIZE);
	}
	if (refer) {
		put_by_reference(e, uio, mr);
		if (!used || mr)
			uio_drop(uio);
		return true;
	}
	if (!put_by_copy(e, uio, sum))
		return false;
	uio_drop(uio);
	return true;
}

/*
 * RPCSEC_GSS privacy: what follows must begin in an extent of its own, with
 * room for the token's header before it.
 */
static bool encode_newbuf(XDR *xdrs)
{
	struct nrt_encode *e = enc(xdrs);

	if (e->error || !at_end(e) || !nrt_ext_append(e, 0, HEADROOM))
		return false;
	nrt_ext_enter(e, e->next - 1, 0);
	return true;
}

static bool encode_span(const XDR *xdrs, unsigned int n, uint8_t **base,
			size_t *len)
{
	const struct nrt_encode *e = (const void *)xdrs;

	if (n >= e->next)
		return false;
	*base = e->ext[n].base;
	*len = e->ext[n].len;
	return true;
}

static int encode_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	nrt_ext_settle(enc(xdrs));
	return span_walk(xdrs, encode_span, pos, len, NULL);
}

static bool encode_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	nrt_ext_settle(enc(xdrs));
	return span_walk(xdrs, encode_span, pos, len, vec) >= 0;
}

static void fill_vio(xdr_vio *v, const struct nrt_extent *x, uint8_t *head)
{
	v->vio_base = x->base;
	v->vio_head = head;
	v->vio_tail = head + v->vio_length;
	v->vio_wrap = x->base + x->room;
}

/* @v: the header of a token whose data begin at @pos, the start of an extent */
static bool insert_header(struct nrt_encode *e, size_t pos, xdr_vio *v)
{
	struct nrt_extent *x = NULL;
	uint32_t len = v->vio_length;
	unsigned int n;

	for (n = 0; n < e->next; n++) {
		x = &e->ext[n];
		if (x->start == pos && x->len)
			break;
	}
	if (n == e->next || x->headroom < len)
		return nrt_ext_fail(e, -EINVAL);
	if (len > e->max - nrt_ext_total(e))
		return nrt_ext_fail(e, -EMSGSIZE);
	x->base -= len;
	x->headroom -= len;
	x->len += len;
	x->room += len;
	if (x->room > e->max - x->start)
		x->room = (uint32_t)(e->max - x->start);
	if (nrt_ext_last(e, n) && e->open) {
		e->spare -= len;
		e->spare_len += len;
	}
	while (++n < e->next)
		e->ext[n].start += len;
	fill_vio(v, x, x->base);
	return true;
}

/* @v: octets behind everything, in a row */
static bool add_trailer(struct nrt_encode *e, xdr_vio *v)
{
	struct nrt_extent *x = &e->ext[e->next - 1];

	if ((x->fixed || x->room - x->len < v->vio_length)) {
		/* A uio at the end was left only by nrt_ext_enter(), never by put. */
		nrt_ext_enter(e, e->next - 1, x->len);
		x = nrt_ext_append(e, v->vio_length, 0);
		if (!x)
			return false;
	}
	fill_vio(v, x, x->base + x->len);
	x->len += v->vio_length;
	nrt_ext_enter(e, e->next - 1, x->len);
	return true;
}

/*
 * Make room for the header and the trailers of a GSS token around data that
 * are in place since @pos. In @vec come the header, if any, then the data,
 * then the trailers; a VIO_TRAILER_LEN is the length word of what follows it.
 */
static bool encode_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n)
{
	struct nrt_encode *e = enc(xdrs);
	int i = 0;

	nrt_ext_settle(e);
	if (e->error)
		return false;
	if (n && vec[0].vio_type == VIO_HEADER) {
		if (!insert_header(e, pos, &vec[0]))
			return false;
		i = 1;
	}
	while (i < n && vec[i].vio_type == VIO_DATA)
		i++;
	nrt_ext_enter(e, e->next - 1, e->ext[e->next - 1].len);
	for (; i < n; i++) {
		uint32_t be;

		if (!add_trailer(e, &vec[i]))
			return false;
		if (vec[i].vio_type != VIO_TRAILER_LEN)
			continue;
		if (i + 1 == n || vec[i].vio_length != sizeof(be))
			return nrt_ext_fail(e, -EINVAL);
		be = htonl(vec[i + 1].vio_length);
		memcpy(vec[i].vio_head, &be, sizeof(be));
	}
	return true;
}

static void encode_destroy(XDR *xdrs)
{
	nrt_encode_release(enc(xdrs));
}

static bool encode_control(XDR *xdrs, int request, void *info)
{
	return true;
}

/* Of a stream that is read. */
__attribute__((unused)) static u_int no_data(XDR *xdrs, u_int pos, u_int len)
{
	return pos;
}

static const struct xdr_ops encode_ops = {
	.x_getunit = nrt_over_getunit,
	.x_putunit = encode_putunit,
	.x_getbytes = nrt_over_getbytes,
	.x_putbytes = encode_putbytes,
	.x_getpostn = encode_getpos,
	COMPAT_XDR_OPS(no_data, no_data).x_setpostn = encode_setpos,
	.x_destroy = encode_destroy,
	.x_control = encode_control,
	.x_getbufs = nrt_over_bufs,
	.x_putbufs = encode_putbufs,
	.x_newbuf = encode_newbuf,
	.x_iovcount = encode_iovcount,
	.x_fillbufs = encode_fillbufs,
	.x_allochdrs = encode_allochdrs,
};

/* Nothing is in the stream, and nobody can put anything. */
static void close_off(struct nrt_encode *e)
{
	e->ext[0] = (struct nrt_extent){ .base = (uint8_t *)e, .fixed = true };
	e->next = 1;
	e->open = false;
	nrt_ext_enter(e, 0, 0);
}

static int begin(struct nrt_encode *e)
{
	e->next = 0;
	e->error = 0;
	e->open = false;
	e->copied = 0;
	e->promised = 0;
	e->spare = NULL;
	e->spare_len = 0;
	if (!nrt_ext_append(e, 0, 0)) {
		close_off(e);
		return e->error;
	}
	nrt_ext_enter(e, 0, 0);
	return 0;
}

int nrt_encode_init(struct nrt_encode *e, struct fab_pool *pool, size_t max)
{
	memset(&e->xdrs, 0, sizeof(e->xdrs));
	e->pool = pool;
	e->max = MIN(max, UINT32_MAX);
	e->beside = 0;
	e->read_buffer = NULL;
	e->xdrs.x_ops = &encode_ops;
	e->xdrs.x_op = XDR_ENCODE;
	e->xdrs.x_base = &e->xdrs.x_v;
	e->xdrs.x_flags = XDR_FLAG_VIO;
	e->spare_mr = NULL;
	return begin(e);
}

void nrt_encode_beside(struct nrt_encode *e, size_t octets)
{
	/* Positions have 32 bits. */
	e->beside = octets < UINT32_MAX - e->max ? octets : UINT32_MAX - e->max;
}

void nrt_encode_read_buffer(struct nrt_encode *e, const struct fab_buf *buf)
{
	e->read_buffer = buf;
}

struct nrt_encode *nrt_encode_of(XDR *xdrs)
{
	return xdrs && xdrs->x_ops == &encode_ops ? enc(xdrs) : NULL;
}

bool nrt_put_at(XDR *xdrs, u_int at, uint32_t word)
{
	u_int end = XDR_GETPOS(xdrs);

	return XDR_SETPOS(xdrs, at) && XDR_PUTUINT32(xdrs, word) &&
	       XDR_SETPOS(xdrs, end);
}

void nrt_encode_release(struct nrt_encode *e)
{
	for (unsigned int n = 0; n < e->next; n++) {
		struct nrt_extent *x = &e->ext[n];

		if (x->uio)
			uio_drop(x->uio);
		fab_pool_put(x->buf);
	}
	nrt_ext_fail(e, -EINVAL);
	close_off(e);
}

int nrt_encode_restart(struct nrt_encode *e)
{
	nrt_encode_release(e);
	return begin(e);
}

unsigned int nrt_encode_look(struct nrt_encode *e, size_t at, struct iovec *iov,
			     unsigned int n)
{
	unsigned int got = 0;

	nrt_ext_settle(e);
	for (unsigned int i = 0; i < e->next && got < n; i++) {
		const struct nrt_extent *x = &e->ext[i];
		size_t skip = at > x->start ? at - x->start : 0;

		if (skip >= x->len)
			continue;
		iov[got].iov_base = x->base + skip;
		iov[got++].iov_len = x->len - skip;
	}
	return got;
}

int nrt_encode_pieces(struct nrt_encode *e, size_t *len)
{
	int count = 0;

	nrt_ext_settle(e);
	if (e->error)
		return e->error;
	for (unsigned int n = 0; n < e->next; n++) {
		const struct nrt_extent *x = &e->ext[n];

		if (!x->len)
			continue;
		e->pieces[count++] = (struct rt_piece){
			.addr = x->base,
			.len = x->len,
			.mr = x->mr,
		};
	}
	*len = nrt_ext_total(e);
	return count;
}
