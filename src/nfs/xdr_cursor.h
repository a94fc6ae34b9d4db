/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xdr_cursor - a bounded reader of XDR over iovecs
 *
 * Positions are those of the unreduced stream: octets in a chunk are passed
 * with ulb_cur_absent(), so the position can be ahead of the octets read.
 */
#ifndef RPCRDMA_NFS_XDR_CURSOR_H
#define RPCRDMA_NFS_XDR_CURSOR_H

#include <endian.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

struct ulb_cur {
	const uint8_t *p;
	size_t left; /* octets left in this piece */
	const struct iovec *iov; /* the pieces after it */
	unsigned int niov;
	uint64_t pos; /* of the next octet in the unreduced stream */
};

static inline void ulb_cur_init(struct ulb_cur *c, const struct iovec *iov,
				unsigned int niov)
{
	c->p = NULL;
	c->left = 0;
	c->iov = iov;
	c->niov = niov;
	c->pos = 0;
	if (niov) {
		c->p = iov->iov_base;
		c->left = iov->iov_len;
		c->iov++;
		c->niov--;
	}
}

/* Takes time proportional to the pieces. */
static inline int ulb_skip(struct ulb_cur *c, uint64_t n)
{
	c->pos += n;
	while (__builtin_expect(n > c->left, 0)) {
		if (!c->niov)
			return -EBADMSG;
		n -= c->left;
		c->p = c->iov->iov_base;
		c->left = c->iov->iov_len;
		c->iov++;
		c->niov--;
	}
	/* An empty piece may have no address. */
	if (n) {
		c->p += n;
		c->left -= n;
	}
	return 0;
}

/* A word that crosses pieces. */
static inline int ulb_get32_split(struct ulb_cur *c, uint32_t *v)
{
	uint32_t x = 0;

	for (int i = 0; i < 4; i++) {
		while (!c->left) {
			if (!c->niov)
				return -EBADMSG;
			c->p = c->iov->iov_base;
			c->left = c->iov->iov_len;
			c->iov++;
			c->niov--;
		}
		x = x << 8 | *c->p;
		c->p++;
		c->left--;
	}
	c->pos += 4;
	*v = x;
	return 0;
}

static inline int ulb_get32(struct ulb_cur *c, uint32_t *v)
{
	uint32_t be;

	if (__builtin_expect(c->left < sizeof(be), 0))
		return ulb_get32_split(c, v);
	memcpy(&be, c->p, sizeof(be));
	c->p += sizeof(be);
	c->left -= sizeof(be);
	c->pos += sizeof(be);
	*v = be32toh(be);
	return 0;
}

/* RFC 4506, 4.10; the sum needs more than 32 bits. */
static inline uint64_t ulb_roundup(uint32_t len)
{
	return ((uint64_t)len + 3) & ~(uint64_t)3;
}

/* opaque<> or string<> */
static inline int ulb_skip_opaque(struct ulb_cur *c)
{
	uint32_t len;

	if (ulb_get32(c, &len))
		return -EBADMSG;
	return ulb_skip(c, ulb_roundup(len));
}

/* @n octets that came in a chunk */
static inline void ulb_cur_absent(struct ulb_cur *c, uint64_t n)
{
	c->pos += n;
}

#endif /* RPCRDMA_NFS_XDR_CURSOR_H */
