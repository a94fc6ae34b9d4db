/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_setup - the file to work on, by MOUNT and NFSv3 over TCP (RFC 1813)
 *
 * Threads: one; blocking sockets, one Call at a time.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "nfs_bench.h"
#include "tools/record.h"

#define MOUNT_PROG 100005
#define MOUNT_MNT 1
#define NFS3_PROG 100003
#define NFS3_LOOKUP 3
#define NFS3_CREATE 8
#define SETUP_ROOM 4096
#define SETUP_SECONDS 60

static int transfer(int fd, uint8_t *p, size_t n, bool out)
{
	while (n) {
		ssize_t k = out ? send(fd, p, n, MSG_NOSIGNAL) :
				  recv(fd, p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -errno : -ECONNRESET;
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

/* Send what is in @w, behind room for a mark; the Reply goes to @buf. */
static int exchange(int fd, struct xw *w, uint8_t *buf, size_t size,
		    size_t *len, struct rpc_reply *rep)
{
	uint8_t mark[REC_MARK_LEN];
	bool last = false;
	int rc;

	if (w->overflow)
		return -E2BIG;
	rec_mark(mark, w->len);
	rc = transfer(fd, mark, sizeof(mark), true);
	if (!rc)
		rc = transfer(fd, w->buf, w->len, true);
	for (*len = 0; !rc && !last;) {
		struct xr r;
		uint32_t word;

		rc = transfer(fd, mark, sizeof(mark), false);
		if (rc)
			return rc;
		xr_init(&r, mark, sizeof(mark));
		word = xr_u32(&r);
		last = word & REC_LAST_FRAGMENT;
		word &= ~REC_LAST_FRAGMENT;
		if (word > size - *len)
			return -EMSGSIZE;
		rc = transfer(fd, buf + *len, word, false);
		*len += word;
	}
	if (!rc)
		rc = rpc_reply_decode(buf, *len, rep);
	return rc;
}

static int dial(const struct arg_addr *a)
{
	struct timeval tv = { .tv_sec = SETUP_SECONDS };
	int fd = socket(a->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	if (connect(fd, (const struct sockaddr *)&a->addr, a->len)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

/* A handle out of @r into b->fh. */
static void take_handle(struct bench *b, struct xr *r)
{
	const uint8_t *p = xr_opaque(r, BENCH_FH_MAX, &b->fh_len);

	if (p)
		memcpy(b->fh, p, b->fh_len);
}

static int bad_reply(const char *what, const struct rpc_reply *rep,
		     const struct xr *r, uint32_t status)
{
	if (rep->denied || rep->stat)
		fprintf(stderr, "rpcrdma-bench: %s: %s\n", what,
			rpc_reply_text(rep));
	else if (r->bad)
		fprintf(stderr, "rpcrdma-bench: %s: bad Reply\n", what);
	else
		fprintf(stderr, "rpcrdma-bench: %s: status %u\n", what, status);
	return -EIO;
}

static int mount_root(struct bench *b)
{
	uint8_t call[SETUP_ROOM], reply[SETUP_ROOM];
	struct rpc_reply rep = { 0 };
	uint32_t status = 0;
	struct xw w;
	struct xr r;
	size_t len;
	int fd = dial(&b->o.mount), rc;

	if (fd < 0)
		return fd;
	xw_init(&w, call, sizeof(call));
	rpc_call_head(&w, 1, MOUNT_PROG, 3, MOUNT_MNT, true);
	xw_opaque(&w, b->o.path, strlen(b->o.path));
	rc = exchange(fd, &w, reply, sizeof(reply), &len, &rep);
	close(fd);
	if (rc)
		return rc;
	xr_init(&r, reply, len);
	xr_skip(&r, rep.body);
	status = xr_u32(&r);
	if (!rep.denied && !rep.stat && !status)
		take_handle(b, &r);
	if (rep.denied || rep.stat || status || r.bad)
		return bad_reply("MNT", &rep, &r, status);
	return 0;
}

static int find_file(struct bench *b, int fd)
{
	uint8_t call[SETUP_ROOM], reply[SETUP_ROOM];
	uint8_t root[BENCH_FH_MAX];
	size_t root_len = b->fh_len, len;
	struct rpc_reply rep;
	uint32_t status;
	struct xw w;
	struct xr r;
	int rc;

	memcpy(root, b->fh, root_len);
	xw_init(&w, call, sizeof(call));
	rpc_call_head(&w, 2, NFS3_PROG, 3, NFS3_CREATE, true);
	xw_opaque(&w, root, root_len);
	xw_opaque(&w, b->o.file, strlen(b->o.file));
	xw_u32(&w, 0); /* UNCHECKED */
	xw_u32(&w, 1); /* mode */
	xw_u32(&w, 0666);
	for (int i = 0; i < 5; i++)
		xw_u32(&w, 0); /* nothing else is set */
	rc = exchange(fd, &w, reply, sizeof(reply), &len, &rep);
	if (rc)
		return rc;
	xr_init(&r, reply, len);
	xr_skip(&r, rep.body);
	status = xr_u32(&r);
	if (rep.denied || rep.stat || status || r.bad)
		return bad_reply("CREATE", &rep, &r, status);

	xw_init(&w, call, sizeof(call));
	rpc_call_head(&w, 3, NFS3_PROG, 3, NFS3_LOOKUP, true);
	xw_opaque(&w, root, root_len);
	xw_opaque(&w, b->o.file, strlen(b->o.file));
	rc = exchange(fd, &w, reply, sizeof(reply), &len, &rep);
	if (rc)
		return rc;
	xr_init(&r, reply, len);
	xr_skip(&r, rep.body);
	status = xr_u32(&r);
	if (!rep.denied && !rep.stat && !status)
		take_handle(b, &r);
	if (rep.denied || rep.stat || status || r.bad)
		return bad_reply("LOOKUP", &rep, &r, status);
	return 0;
}

int bench_setup(struct bench *b)
{
	int fd, rc;

	if (b->fh_len)
		return 0;
	rc = mount_root(b);
	if (rc)
		return rc;
	fd = dial(&b->o.nfs);
	if (fd < 0)
		return fd;
	rc = find_file(b, fd);
	close(fd);
	return rc;
}
