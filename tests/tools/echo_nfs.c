/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo_nfs - the procedures of NFSv3 that move data (RFC 1813)
 *
 * Threads: that of echo_server.c.
 */
#include <string.h>

#include "echo.h"

#define NFS3_OK 0
#define NFS3ERR_IO 5
#define NFS3ERR_INVAL 22
#define FHSIZE3 64
#define LINK_MAX3 4096

enum {
	NFS3_NULL = 0,
	NFS3_READLINK = 5,
	NFS3_READ = 6,
	NFS3_WRITE = 7,
	NFS3_SYMLINK = 10,
	NFS3_COMMIT = 21,
};

bool echo_is_pattern(struct echo *e, const uint8_t *p, size_t n,
		     uint64_t offset)
{
	const uint8_t *base = e->pattern->addr;

	return n <= ECHO_PATTERN_LEN - ECHO_PERIOD &&
	       (!n || !memcmp(p, base + offset % ECHO_PERIOD, n));
}

void echo_put_pattern(struct echo *e, struct xw *w, struct echo_answer *a,
		      uint64_t offset, uint32_t n)
{
	uint8_t *base = e->pattern->addr;

	if (n > ECHO_PATTERN_LEN - ECHO_PERIOD)
		n = ECHO_PATTERN_LEN - ECHO_PERIOD;
	xw_u32(w, n);
	a->pieces[0] = (struct rt_piece){ .addr = a->head, .len = w->len };
	a->pieces[1] = (struct rt_piece){ .addr = base + offset % ECHO_PERIOD,
					  .len = n,
					  .mr = e->pattern->mr };
	a->pieces[2] = (struct rt_piece){ .addr = a->pad, .len = -n & 3 };
	a->reply.npieces = n ? (n & 3 ? 3 : 2) : 1;
}

static void item(struct echo *e, struct echo_answer *a, struct xw *w,
		 uint32_t n)
{
	if (e->roundup)
		n = (n + 3) & ~3u;
	a->item = (struct rt_item){ .position = (uint32_t)w->len,
				    .length = n,
				    .present = true };
	a->reply.items = &a->item;
	a->reply.nitems = 1;
}

static void absent(struct echo_answer *a)
{
	a->item = (struct rt_item){ .present = false };
	a->reply.items = &a->item;
	a->reply.nitems = 1;
}

/* The first word of a file handle, which tells a file's peculiarity. */
static uint32_t handle_word(const uint8_t *fh, size_t n)
{
	if (n < 4)
		return 0;
	return (uint32_t)fh[0] << 24 | (uint32_t)fh[1] << 16 |
	       (uint32_t)fh[2] << 8 | fh[3];
}

static void nfs_read(struct echo *e, struct xr *r, struct xw *w,
		     struct echo_answer *a)
{
	const uint8_t *fh;
	uint64_t offset;
	uint32_t count;
	size_t n;

	fh = xr_opaque(r, FHSIZE3, &n);
	offset = xr_u64(r);
	count = xr_u32(r) + (r->bad ? 0 : handle_word(fh, n));
	if (r->bad || offset > ECHO_FILE_SIZE) {
		xw_u32(w, NFS3ERR_INVAL);
		xw_u32(w, 0); /* no attributes */
		absent(a);
		return;
	}
	if (count > ECHO_FILE_SIZE - offset)
		count = (uint32_t)(ECHO_FILE_SIZE - offset);
	if (count > ECHO_PATTERN_LEN - ECHO_PERIOD)
		count = ECHO_PATTERN_LEN - ECHO_PERIOD;
	xw_u32(w, NFS3_OK);
	xw_u32(w, 0);
	xw_u32(w, count);
	xw_u32(w, offset + count == ECHO_FILE_SIZE); /* eof */
	echo_put_pattern(e, w, a, offset, count);
	item(e, a, w, count);
}

static void nfs_write(struct echo *e, struct xr *r, struct xw *w)
{
	const uint8_t *data;
	uint64_t offset;
	uint32_t count;
	bool good;
	size_t n;

	xr_opaque(r, FHSIZE3, &n);
	offset = xr_u64(r);
	count = xr_u32(r);
	xr_u32(r); /* stable */
	data = xr_opaque(r, ECHO_PATTERN_LEN, &n);
	good = !r->bad && n == count && echo_is_pattern(e, data, n, offset);
	xw_u32(w, good ? NFS3_OK : NFS3ERR_IO);
	xw_u32(w, 0); /* wcc_data: nothing before, nothing after */
	xw_u32(w, 0);
	if (!good)
		return;
	xw_u32(w, count);
	xw_u32(w, 2); /* FILE_SYNC */
	xw_u64(w, 1); /* verifier */
}

static void nfs_readlink(struct echo *e, struct xr *r, struct xw *w,
			 struct echo_answer *a)
{
	const uint8_t *fh;
	size_t n;
	uint32_t len;

	fh = xr_opaque(r, FHSIZE3, &n);
	if (r->bad || n < 4) {
		xw_u32(w, NFS3ERR_INVAL);
		xw_u32(w, 0);
		absent(a);
		return;
	}
	len = handle_word(fh, n);
	if (len > LINK_MAX3)
		len = LINK_MAX3;
	xw_u32(w, NFS3_OK);
	xw_u32(w, 0);
	echo_put_pattern(e, w, a, 0, len);
	item(e, a, w, len);
}

/* sattr3: six optional values, the times with a choice of three. */
static void skip_sattr(struct xr *r)
{
	for (int i = 0; i < 3; i++)
		if (xr_u32(r))
			xr_skip(r, 4); /* mode, uid, gid */
	if (xr_u32(r))
		xr_skip(r, 8); /* size */
	for (int i = 0; i < 2; i++)
		if (xr_u32(r) == 2)
			xr_skip(r, 8); /* atime, mtime */
}

static void nfs_symlink(struct echo *e, struct xr *r, struct xw *w)
{
	const uint8_t *path;
	bool good;
	size_t n;

	xr_opaque(r, FHSIZE3, &n);
	xr_opaque(r, 255, &n);
	skip_sattr(r);
	path = xr_opaque(r, LINK_MAX3, &n);
	good = !r->bad && echo_is_pattern(e, path, n, 0);
	xw_u32(w, good ? NFS3_OK : NFS3ERR_IO);
	if (good) {
		xw_u32(w, 0); /* no handle */
		xw_u32(w, 0); /* no attributes */
	}
	xw_u32(w, 0);
	xw_u32(w, 0);
}

static void nfs_commit(struct xw *w)
{
	xw_u32(w, NFS3_OK);
	xw_u32(w, 0);
	xw_u32(w, 0);
	xw_u64(w, 1);
}

void echo_nfs(struct echo *e, uint32_t proc, struct xr *r, struct xw *w,
	      struct echo_answer *a)
{
	switch (proc) {
	case NFS3_NULL:
		break;
	case NFS3_READLINK:
		nfs_readlink(e, r, w, a);
		break;
	case NFS3_READ:
		nfs_read(e, r, w, a);
		break;
	case NFS3_WRITE:
		nfs_write(e, r, w);
		break;
	case NFS3_SYMLINK:
		nfs_symlink(e, r, w);
		break;
	case NFS3_COMMIT:
		nfs_commit(w);
		break;
	default:
		w->len -= 4;
		xw_u32(w, RPC_ACCEPT_PROC_UNAVAIL);
		break;
	}
}
