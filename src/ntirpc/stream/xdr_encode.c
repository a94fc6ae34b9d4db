/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_encode - an XDR that fills registered buffers
 *
 * The stream is a sequence of extents (internal.h). A uio is kept by one reference for all its
 * vectors, as in ntirpc's own stream. An extent of a uio must not be written, so its
 * x_v.vio_wrap is its base, which stops inline putters, too.
 */
#include "ntirpc/stream/internal.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "base/be.h"
#include "compat/ntirpc.h"

/* Extents that xdr_putbufs() leaves for what is copied, or comes later. */
#define SPARE_EXTENTS 6
/* Room before a GSS privacy body: Kerberos needs 32 octets. */
#define HEADROOM 64

static const struct xdr_ops encode_ops;

static inline struct xs_encode *encode_of(XDR *xdrs)
{
	return (struct xs_encode *)(void *)xdrs;
}

static bool encode_put(struct xs_encode *e, const uint8_t *from, size_t len)
{
	XDR *x = &e->xdrs;

	if (e->error)
		return false;
	while (len) {
		const struct xs_extent *at = &e->ext[e->cur];
		size_t here;

		if (at->fixed) {
			/* It must not be overwritten. */
			if (x->x_data != at->base + at->len)
				return xs_encode_fail(e, -EINVAL);
			if (!xs_extent_advance(e))
				return false;
			continue;
		}
		here = (size_t)(x->x_v.vio_wrap - x->x_data);
		if (!here) {
			if (!xs_extent_advance(e))
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

	return encode_put(encode_of(xdrs), (const uint8_t *)&be, sizeof(be));
}

static bool encode_putbytes(XDR *xdrs, const char *from, u_int len)
{
	return encode_put(encode_of(xdrs), (const uint8_t *)from, len);
}

static u_int encode_getpos(XDR *xdrs)
{
	struct xs_encode *e = encode_of(xdrs);
	const struct xs_extent *x = &e->ext[e->cur];

	return x->start + (u_int)(xdrs->x_data - x->base);
}

static bool encode_setpos(XDR *xdrs, u_int pos)
{
	struct xs_encode *e = encode_of(xdrs);
	unsigned int n;

	xs_extent_settle(e);
	if (pos > xs_extent_total(e))
		return false;
	/* Between two extents, choose the later one. */
	for (n = e->next - 1; n && e->ext[n].start > pos;)
		n--;
	xs_extent_enter(e, n, pos - e->ext[n].start);
	return true;
}

static bool encode_at_end(struct xs_encode *e)
{
	xs_extent_settle(e);
	return xs_extent_is_last(e, e->cur) &&
	       e->xdrs.x_data == e->ext[e->cur].base + e->ext[e->cur].len;
}

static void uio_put(struct xdr_uio *uio)
{
	uio->uio_release(uio, UIO_FLAG_NONE);
}

static bool put_by_copy(struct xs_encode *e, const xdr_uio *uio, size_t len)
{
	/* Extents are scarce, so do not use several. */
	if (len > GROW_MAX && xs_extent_append(e, len, 0))
		xs_extent_enter(e, e->next - 1, 0);
	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];

		if (!encode_put(e, v->vio_head,
				(size_t)(v->vio_tail - v->vio_head)))
			return false;
	}
	e->copied += len;
	return true;
}

/*
 * Returns true if the data of @uio are in the buffer that the FSAL was given. Ganesha moves the
 * last octets of an odd length to memory of its own, to pad them there. They still are in the
 * buffer, so pad them there. Their length precedes them in the stream.
 */
static bool in_read_buffer(const struct xs_encode *e, xdr_uio *uio)
{
	const struct fab_sge *buf = &e->read_buffer;
	xdr_vio *v = uio->uio_vio;
	uint32_t len, padding;

	if (!buf->addr || !uio->uio_count || v->vio_head != buf->addr ||
	    e->xdrs.x_data - e->ext[e->cur].base < 4)
		return false;
	len = be32_get(e->xdrs.x_data - 4);
	padding = -len % BYTES_PER_XDR_UNIT;
	if (len > buf->len || padding > buf->len - len)
		return false;
	memset(v->vio_head + len, 0, padding);
	v->vio_tail = v->vio_head + len + padding;
	uio->uio_count = 1;
	return true;
}

/* The data are in memory that is registered as @mr, or in any (NULL). */
static void put_by_reference(struct xs_encode *e, xdr_uio *uio,
			     struct fab_mr *mr)
{
	bool first = true;

	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];
		size_t len = (size_t)(v->vio_tail - v->vio_head);
		size_t start;

		if (!len)
			continue;
		xs_extent_freeze(e);
		start = xs_extent_total(e);
		e->ext[e->next++] = (struct xs_extent){
			.base = v->vio_head,
			.start = (uint32_t)start,
			.len = (uint32_t)len,
			.room = (uint32_t)len,
			.mr = mr,
			.uio = first ? uio : NULL,
			.fixed = true,
		};
		first = false;
		xs_extent_enter(e, e->next - 1, len);
	}
}

/*
 * Callers hand over a uio without a reference, because ntirpc's own stream never fails
 * here, but release one after a failure. So take a reference in any case.
 */
static bool encode_putbufs(XDR *xdrs, xdr_uio *uio, u_int flags)
{
	struct xs_encode *e = encode_of(xdrs);
	size_t sum = 0, used = 0;
	struct fab_mr *mr;
	bool refer;

	uio->uio_references++;
	if (e->error || !encode_at_end(e))
		return xs_encode_fail(e, -EINVAL);
	mr = in_read_buffer(e, uio) ? e->read_buffer.mr : NULL;
	for (size_t n = 0; n < uio->uio_count; n++) {
		const xdr_vio *v = &uio->uio_vio[n];
		size_t len = (size_t)(v->vio_tail - v->vio_head);

		if (v->vio_tail < v->vio_head || len > e->max + e->extra - sum)
			return xs_encode_fail(e, -EMSGSIZE);
		sum += len;
		used += len != 0;
	}
	refer = e->next + used + SPARE_EXTENTS <= RT_MAX_PIECES;
	if (refer && sum <= e->extra) {
		e->extra -= sum;
		e->max += sum;
	} else if (sum > e->max - xs_extent_total(e)) {
		return xs_encode_fail(e, -EMSGSIZE);
	}
	if (refer) {
		put_by_reference(e, uio, mr);
		if (!used)
			uio_put(uio);
		return true;
	}
	if (!put_by_copy(e, uio, sum))
		return false;
	uio_put(uio);
	return true;
}

/* RPCSEC_GSS privacy: what follows begins in an extent of its own, with room for
 * the token's header before it. */
static bool encode_newbuf(XDR *xdrs)
{
	struct xs_encode *e = encode_of(xdrs);

	if (e->error || !encode_at_end(e) || !xs_extent_append(e, 0, HEADROOM))
		return false;
	xs_extent_enter(e, e->next - 1, 0);
	return true;
}

static bool encode_span(const XDR *xdrs, unsigned int n, uint8_t **base,
			size_t *len)
{
	const struct xs_encode *e = (const void *)xdrs;

	if (n >= e->next)
		return false;
	*base = e->ext[n].base;
	*len = e->ext[n].len;
	return true;
}

static int encode_iovcount(XDR *xdrs, u_int pos, u_int len)
{
	xs_extent_settle(encode_of(xdrs));
	return xs_walk(xdrs, encode_span, pos, len, NULL);
}

static bool encode_fillbufs(XDR *xdrs, u_int pos, xdr_vio *vec, u_int len)
{
	xs_extent_settle(encode_of(xdrs));
	return xs_walk(xdrs, encode_span, pos, len, vec) >= 0;
}

static void fill_vio(xdr_vio *v, const struct xs_extent *x, uint8_t *head)
{
	v->vio_base = x->base;
	v->vio_head = head;
	v->vio_tail = head + v->vio_length;
	v->vio_wrap = x->base + x->room;
}

/* Make room for the header of a token before the data at @pos, where an extent
 * begins. */
static bool insert_header(struct xs_encode *e, size_t pos, xdr_vio *v)
{
	struct xs_extent *x = NULL;
	uint32_t len = v->vio_length;
	unsigned int n;

	for (n = 0; n < e->next; n++) {
		x = &e->ext[n];
		if (x->start == pos && x->len)
			break;
	}
	if (n == e->next || x->headroom < len)
		return xs_encode_fail(e, -EINVAL);
	if (len > e->max - xs_extent_total(e))
		return xs_encode_fail(e, -EMSGSIZE);
	x->base -= len;
	x->headroom -= len;
	x->len += len;
	x->room += len;
	if (x->room > e->max - x->start)
		x->room = (uint32_t)(e->max - x->start);
	if (xs_extent_is_last(e, n) && e->open) {
		e->spare -= len;
		e->spare_len += len;
	}
	while (++n < e->next)
		e->ext[n].start += len;
	fill_vio(v, x, x->base);
	return true;
}

/* Make room for octets in a row at the end. */
static bool add_trailer(struct xs_encode *e, xdr_vio *v)
{
	struct xs_extent *x = &e->ext[e->next - 1];

	if ((x->fixed || x->room - x->len < v->vio_length)) {
		/* xs_extent_append() freezes the extent that the position is in. */
		xs_extent_enter(e, e->next - 1, x->len);
		x = xs_extent_append(e, v->vio_length, 0);
		if (!x)
			return false;
	}
	fill_vio(v, x, x->base + x->len);
	x->len += v->vio_length;
	xs_extent_enter(e, e->next - 1, x->len);
	return true;
}

/*
 * Make room for the header and the trailers of a GSS token around the data that begin
 * at @pos. @vec has the header, if any, the data, and the trailers; a VIO_TRAILER_LEN
 * is the length word of the next one.
 */
static bool encode_allochdrs(XDR *xdrs, u_int pos, xdr_vio *vec, int n)
{
	struct xs_encode *e = encode_of(xdrs);
	int i = 0;

	xs_extent_settle(e);
	if (e->error)
		return false;
	if (n && vec[0].vio_type == VIO_HEADER) {
		if (!insert_header(e, pos, &vec[0]))
			return false;
		i = 1;
	}
	while (i < n && vec[i].vio_type == VIO_DATA)
		i++;
	xs_extent_enter(e, e->next - 1, e->ext[e->next - 1].len);
	for (; i < n; i++) {
		uint32_t be;

		if (!add_trailer(e, &vec[i]))
			return false;
		if (vec[i].vio_type != VIO_TRAILER_LEN)
			continue;
		if (i + 1 == n || vec[i].vio_length != sizeof(be))
			return xs_encode_fail(e, -EINVAL);
		be = htonl(vec[i + 1].vio_length);
		memcpy(vec[i].vio_head, &be, sizeof(be));
	}
	return true;
}

static void encode_destroy(XDR *xdrs)
{
	xs_encode_release(encode_of(xdrs));
}

static bool encode_control(XDR *xdrs, int request, void *info)
{
	return true;
}

/* Asked of streams that are read. */
__attribute__((unused)) static u_int encode_data(XDR *xdrs, u_int pos,
						 u_int len)
{
	return pos;
}

static const struct xdr_ops encode_ops = {
	.x_getunit = xs_no_getunit,
	.x_putunit = encode_putunit,
	.x_getbytes = xs_no_getbytes,
	.x_putbytes = encode_putbytes,
	.x_getpostn = encode_getpos,
	COMPAT_XDR_OPS(encode_data, encode_data).x_setpostn = encode_setpos,
	.x_destroy = encode_destroy,
	.x_control = encode_control,
	.x_getbufs = xs_no_bufs,
	.x_putbufs = encode_putbufs,
	.x_newbuf = encode_newbuf,
	.x_iovcount = encode_iovcount,
	.x_fillbufs = encode_fillbufs,
	.x_allochdrs = encode_allochdrs,
};

/* Empty the stream, and let nothing be put. */
static void encode_close(struct xs_encode *e)
{
	e->ext[0] = (struct xs_extent){ .base = (uint8_t *)e, .fixed = true };
	e->next = 1;
	e->open = false;
	xs_extent_enter(e, 0, 0);
}

static int encode_begin(struct xs_encode *e)
{
	e->next = 0;
	e->error = 0;
	e->open = false;
	e->copied = 0;
	e->promised = 0;
	e->spare = NULL;
	e->spare_len = 0;
	if (!xs_extent_append(e, 0, 0)) {
		encode_close(e);
		return e->error;
	}
	xs_extent_enter(e, 0, 0);
	return 0;
}

int xs_encode_init(struct xs_encode *e, struct fab_pool *pool, size_t max)
{
	memset(&e->xdrs, 0, sizeof(e->xdrs));
	e->pool = pool;
	e->max = MIN(max, UINT32_MAX);
	e->extra = 0;
	e->read_buffer = (struct fab_sge){ 0 };
	e->xdrs.x_ops = &encode_ops;
	e->xdrs.x_op = XDR_ENCODE;
	e->xdrs.x_base = &e->xdrs.x_v;
	e->xdrs.x_flags = XDR_FLAG_VIO;
	e->spare_mr = NULL;
	return encode_begin(e);
}

void xs_encode_allow_extra(struct xs_encode *e, size_t octets)
{
	/* Positions have 32 bits. */
	e->extra = octets < UINT32_MAX - e->max ? octets : UINT32_MAX - e->max;
}

void xs_encode_set_read_buffer(struct xs_encode *e, const struct fab_sge *buf)
{
	e->read_buffer = *buf;
}

struct xs_encode *xs_encode_of(XDR *xdrs)
{
	return xdrs && xdrs->x_ops == &encode_ops ? encode_of(xdrs) : NULL;
}

bool xs_encode_patch(XDR *xdrs, u_int at, uint32_t word)
{
	u_int end = XDR_GETPOS(xdrs);

	return XDR_SETPOS(xdrs, at) && XDR_PUTUINT32(xdrs, word) &&
	       XDR_SETPOS(xdrs, end);
}

void xs_encode_release(struct xs_encode *e)
{
	for (unsigned int n = 0; n < e->next; n++) {
		struct xs_extent *x = &e->ext[n];

		if (x->uio)
			uio_put(x->uio);
		fab_pool_put(x->buf);
	}
	xs_encode_fail(e, -EINVAL);
	encode_close(e);
}

int xs_encode_restart(struct xs_encode *e)
{
	xs_encode_release(e);
	return encode_begin(e);
}

unsigned int xs_encode_look(struct xs_encode *e, size_t at, struct iovec *iov,
			    unsigned int n)
{
	unsigned int got = 0;

	xs_extent_settle(e);
	for (unsigned int i = 0; i < e->next && got < n; i++) {
		const struct xs_extent *x = &e->ext[i];
		size_t skip = at > x->start ? at - x->start : 0;

		if (skip >= x->len)
			continue;
		iov[got].iov_base = x->base + skip;
		iov[got++].iov_len = x->len - skip;
	}
	return got;
}

int xs_encode_pieces(struct xs_encode *e, size_t *len)
{
	int count = 0;

	xs_extent_settle(e);
	if (e->error)
		return e->error;
	for (unsigned int n = 0; n < e->next; n++) {
		const struct xs_extent *x = &e->ext[n];

		if (!x->len)
			continue;
		e->pieces[count++] = (struct rt_piece){
			.addr = x->base,
			.len = x->len,
			.mr = x->mr,
		};
	}
	*len = xs_extent_total(e);
	return count;
}
