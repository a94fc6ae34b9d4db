/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_xdr - XDR by hand for the tests of the upper-layer binding
 *
 * A builder of streams that knows where it has put the data items, a small
 * language for XDR values, and streams cut into pieces. Each piece is memory
 * of its own of exactly its length, so that a step outside of it shows.
 */
#ifndef RPCRDMA_TEST_ULB_XDR_H
#define RPCRDMA_TEST_ULB_XDR_H

#include <endian.h>
#include <errno.h>
#include <stdint.h>

#include "rpcrdma/nfs.h"
#include "unit.h"

#define X_MAX 65536
#define X_ITEMS 64

struct xdr {
	size_t len; /* octets in the stream */
	size_t absent; /* octets that are in chunks */
	unsigned int odd; /* makes the next opaque another length */
	unsigned int nitems;
	struct ulb_item items[X_ITEMS];
	/* For each item to come: travels in a chunk. */
	const bool *reduced;
	unsigned int nreduced;
	uint8_t b[X_MAX];
};

static inline void x_init(struct xdr *x)
{
	memset(x, 0, offsetof(struct xdr, b));
}

static inline void x_raw(struct xdr *x, const void *p, size_t len)
{
	if (x->len + len > X_MAX)
		abort();
	memcpy(x->b + x->len, p, len);
	x->len += len;
}

static inline void x_u32(struct xdr *x, uint32_t v)
{
	v = htobe32(v);
	x_raw(x, &v, sizeof(v));
}

static inline void x_u64(struct xdr *x, uint64_t v)
{
	x_u32(x, (uint32_t)(v >> 32));
	x_u32(x, (uint32_t)v);
}

/* Octets that no count, discriminant or length should be taken from. */
static inline void x_fill(struct xdr *x, size_t len)
{
	while (len--)
		x_raw(x, "\xa5", 1);
}

static inline void x_opaque(struct xdr *x, uint32_t len)
{
	x_u32(x, len);
	x_fill(x, len);
	while (x->len % 4)
		x_raw(x, "", 1);
}

static inline void x_item(struct xdr *x, uint32_t len)
{
	struct ulb_item *i = &x->items[x->nitems];

	i->position = (uint32_t)(x->len + x->absent + 4);
	i->length = len;
	i->present = true;
	if (x->nitems < x->nreduced && x->reduced[x->nitems]) {
		x_u32(x, len);
		x->absent += (len + 3) & ~(size_t)3;
	} else {
		x_opaque(x, len);
	}
	x->nitems++;
}

static inline void x_no_item(struct xdr *x)
{
	x->items[x->nitems++] = (struct ulb_item){ 0 };
}

/*
 * Values in the order of the RFC's XDR, separated by blanks:
 *
 *	123	a word of that value: status, discriminant, count, boolean
 *	u h	uint32_t, uint64_t
 *	t	nfstime4
 *	v	verifier4
 *	i n d	stateid4, sessionid4, deviceid4
 *	s	opaque<> or a string, each time of another length
 *	b	bitmap4
 *	f	fattr4
 *	c	change_info4
 *	D	an eligible data item
 *	-	an eligible result that is not there
 */
static inline void x_values(struct xdr *x, const char *v)
{
	char *end;

	for (; *v; v++) {
		switch (*v) {
		case ' ':
			break;
		case 'u':
			x_fill(x, 4);
			break;
		case 'h':
		case 'v':
			x_fill(x, 8);
			break;
		case 't':
			x_fill(x, 12);
			break;
		case 'i':
		case 'n':
		case 'd':
			x_fill(x, 16);
			break;
		case 's':
			x_opaque(x, 2 + x->odd++ % 7);
			break;
		case 'b':
			x_u32(x, 2);
			x_fill(x, 8);
			break;
		case 'f':
			x_u32(x, 3);
			x_fill(x, 12);
			x_opaque(x, 40);
			break;
		case 'c':
			x_u32(x, 1);
			x_fill(x, 16);
			break;
		case 'D':
			x_item(x, 5 + x->odd++ % 7);
			break;
		case '-':
			x_no_item(x);
			break;
		default:
			if (*v < '0' || *v > '9')
				abort();
			x_u32(x, (uint32_t)strtoul(v, &end, 10));
			v = end - 1;
		}
	}
}

static inline void x_call(struct xdr *x, uint32_t prog, uint32_t vers,
			  uint32_t proc)
{
	x_u32(x, 0x11223344);
	x_u32(x, 0); /* CALL */
	x_u32(x, 2);
	x_u32(x, prog);
	x_u32(x, vers);
	x_u32(x, proc);
	/* AUTH_SYS: stamp, machine, uid, gid, gids */
	x_u32(x, 1);
	x_u32(x, 32);
	x_values(x, "7 4");
	x_raw(x, "host", 4);
	x_values(x, "0 0 2 4 5");
	x_values(x, "0 0");
}

/* Accepted, with success */
static inline void x_reply(struct xdr *x)
{
	x_values(x, "17 1 0 0 0 0");
}

static inline void x_compound_call(struct xdr *x, uint32_t minor,
				   uint32_t count)
{
	x_call(x, ULB_PROG_NFS, 4, 1);
	x_values(x, "s");
	x_u32(x, minor);
	x_u32(x, count);
}

static inline void x_compound_reply(struct xdr *x, uint32_t status,
				    uint32_t count)
{
	x_reply(x);
	x_u32(x, status);
	x_values(x, "s");
	x_u32(x, count);
}

/* What scans of Replies need to know of the Call. */
static inline struct ulb_call x_compound(void)
{
	return (struct ulb_call){
		.prog = ULB_PROG_NFS,
		.vers = 4,
		.proc = 1,
		.ddp = true,
		.nfs = true,
	};
}

static inline struct ulb_call x_nfs3(uint32_t proc)
{
	return (struct ulb_call){
		.prog = ULB_PROG_NFS,
		.vers = 3,
		.proc = proc,
		.ddp = true,
		.nfs = true,
	};
}

/* A stream in pieces, each of its own allocation. */
struct pieces {
	struct iovec *iov;
	unsigned int n;
};

static inline struct iovec x_piece(const uint8_t *p, size_t len)
{
	struct iovec v = { NULL, len };

	/* An empty piece has no address at all. */
	if (len) {
		v.iov_base = malloc(len);
		memcpy(v.iov_base, p, len);
	}
	return v;
}

static inline void x_free(struct pieces *p)
{
	for (unsigned int i = 0; i < p->n; i++)
		free(p->iov[i].iov_base);
	free(p->iov);
}

/* @b[0..at) and @b[at..len) */
static inline struct pieces x_split(const uint8_t *b, size_t len, size_t at)
{
	struct pieces p = { calloc(2, sizeof(*p.iov)), 2 };

	p.iov[0] = x_piece(b, at);
	p.iov[1] = x_piece(b + at, len - at);
	return p;
}

/* Pieces of @size octets, an empty one after each. */
static inline struct pieces x_shred(const uint8_t *b, size_t len, size_t size)
{
	size_t n = 2 * ((len + size - 1) / size), off = 0, l;
	struct pieces p = { calloc(n ? n : 1, sizeof(*p.iov)),
			    (unsigned int)n };

	for (size_t i = 0; i < n; i += 2, off += l) {
		l = len - off < size ? len - off : size;
		p.iov[i] = x_piece(b + off, l);
		p.iov[i + 1] = x_piece(NULL, 0);
	}
	return p;
}

/* What is asked of a Call of which nothing is known yet. */
static inline int x_classify(const struct iovec *iov, unsigned int n,
			     struct ulb_call *c)
{
	ulb_call_head(iov, n, c);
	ulb_classify(iov, n, c);
	return c->readable ? 0 : -EBADMSG;
}

static inline int x_scan_call(const struct iovec *iov, unsigned int n,
			      struct ulb_call *c, struct ulb_scan *scan)
{
	ulb_call_head(iov, n, c);
	return ulb_scan_call(iov, n, c, scan);
}

static inline unsigned int x_scan_bulk(const struct iovec *iov, unsigned int n,
				       struct ulb_bulk *bulk, unsigned int max)
{
	struct ulb_call c;

	ulb_call_head(iov, n, &c);
	return ulb_scan_bulk(iov, n, &c, bulk, max);
}

static inline bool x_same(const struct ulb_item *a, unsigned int na,
			  const struct ulb_item *b, unsigned int nb)
{
	if (na != nb)
		return false;
	for (unsigned int i = 0; i < na; i++) {
		if (a[i].present != b[i].present)
			return false;
		if (a[i].present && (a[i].position != b[i].position ||
				     a[i].length != b[i].length))
			return false;
	}
	return true;
}

#endif /* RPCRDMA_TEST_ULB_XDR_H */
