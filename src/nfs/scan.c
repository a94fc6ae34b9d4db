/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scan - the scans of whole RPC messages
 */
#include "nfs/ulb.h"

/* Move to the arguments, or to where an unreadable head has ended. */
static void to_body(struct ulb_walk *w, const struct iovec *iov,
		    unsigned int niov, const struct ulb_call *c)
{
	ulb_cur_init(&w->cur, iov, niov);
	(void)ulb_skip(&w->cur, c->body);
}

void ulb_classify(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c)
{
	struct ulb_walk w = { 0 };

	if (c->classified || !c->nfs || !c->ddp || c->vers != 4 ||
	    c->proc != NFS4_COMPOUND)
		return;
	to_body(&w, iov, niov, c);
	ulb_nfs4_classify(c, &w);
	c->classified = true;
}

unsigned int ulb_max_read_chunks(const struct ulb_call *c,
				 unsigned int compound_max)
{
	if (!c->ddp || !c->nfs)
		return 0;
	if (c->vers == 3)
		return c->proc == NFS3_WRITE || c->proc == NFS3_SYMLINK;
	return c->proc == NFS4_COMPOUND ? compound_max : 0;
}

bool ulb_args_end(const struct iovec *args, unsigned int n, size_t at,
		  const struct ulb_call *c, size_t *end)
{
	struct ulb_walk w = { 0 };

	ulb_cur_init(&w.cur, args, n);
	if (!c->nfs || ulb_skip(&w.cur, at) ||
	    (c->vers == 3 ? ulb_nfs3_args(c, &w) : ulb_nfs4_args_end(&w)))
		return false;
	*end = (size_t)w.cur.pos;
	return true;
}

static int scan_body(struct ulb_call *c, struct ulb_walk *w,
		     struct ulb_scan *scan)
{
	int rc = 0;

	if (c->vers == 3)
		return ulb_nfs3_scan_call(c, w, scan);
	if (c->proc == NFS4_COMPOUND) {
		rc = ulb_nfs4_scan_call(c, w, scan);
		/* Nothing behind a misfit chunk was read. */
		c->classified = !w->misfit;
		c->unread &= !w->misfit;
	} else if (c->proc == NFS4_NULL) {
		scan->reply_max = ULB_REPLY_HEAD;
	}
	return rc;
}

bool ulb_take_reads(const struct iovec *iov, unsigned int niov,
		    struct ulb_call *c, const struct ulb_read *reads,
		    unsigned int n, unsigned int total,
		    unsigned int compound_max, unsigned int *most, bool *misfit)
{
	struct ulb_walk w = { .reads = reads, .nreads = n };
	struct ulb_scan scan = { 0 };
	const struct ulb_read *left;
	bool out = false;
	int rc = c->readable ? 0 : -EBADMSG;

	to_body(&w, iov, niov, c);
	*most = c->readable ? ulb_max_read_chunks(c, compound_max) : 0;
	if (n && *most)
		rc = scan_body(c, &w, &scan);
	/*
	 * The chunks that are left begin at no item, as far as the stream can
	 * be read. It may be unreadable because a chunk is missing in it.
	 */
	*misfit = w.misfit;
	left = w.nread < n && !w.misfit ? &reads[w.nread] : NULL;
	if (left && (*most || !c->readable))
		out = (!rc && !w.unknown) || left->position < w.cur.pos ||
		      (rc && left->position == w.cur.pos);
	if (out && w.nread < *most)
		*most = w.nread;
	return !out && (!c->readable || total <= *most);
}

int ulb_scan_call(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c, struct ulb_scan *scan)
{
	struct ulb_walk w = { .items = scan->args, .max = ULB_MAX_ITEMS };
	int rc;

	memset(scan, 0, sizeof(*scan));
	if (!c->readable)
		return -EBADMSG;
	if (!c->nfs || !c->ddp)
		return 0;
	to_body(&w, iov, niov, c);
	rc = scan_body(c, &w, scan);
	scan->nargs = w.n < w.max ? w.n : w.max;
	if (rc)
		memset(scan, 0, sizeof(*scan));
	return rc;
}

unsigned int ulb_scan_bulk(const struct iovec *iov, unsigned int niov,
			   const struct ulb_call *c, struct ulb_bulk *bulk,
			   unsigned int max)
{
	struct ulb_bulks b = { .bulk = bulk, .max = max };
	struct ulb_walk w = { 0 };

	if (!c->nfs || !c->ddp)
		return 0;
	to_body(&w, iov, niov, c);
	if (c->vers == 3)
		ulb_nfs3_bulk(c, &w, &b);
	else if (c->proc == NFS4_COMPOUND)
		ulb_nfs4_bulk(c, &w, &b);
	return b.n;
}

int ulb_scan_reply(const struct ulb_call *c, const struct iovec *iov,
		   unsigned int niov, const uint32_t *chunk,
		   unsigned int nchunk, struct ulb_item *items,
		   unsigned int max, unsigned int *nitems)
{
	struct ulb_walk w = {
		.items = items,
		.max = max,
		.chunk = chunk,
		.nchunk = chunk ? nchunk : 0,
	};
	int rc;

	*nitems = 0;
	ulb_cur_init(&w.cur, iov, niov);
	rc = ulb_reply_head(&w.cur);
	if (rc > 0) {
		rc = 0;
		if (!c->nfs || !c->ddp)
			w.unknown = true;
		else if (c->vers == 3)
			rc = ulb_nfs3_scan_reply(c, &w);
		else if (c->proc == NFS4_COMPOUND)
			rc = ulb_nfs4_scan_reply(&w);
	}
	/* Octets in a chunk may belong to a result that was not found. */
	for (unsigned int i = w.n; !rc && w.unknown && i < w.nchunk; i++)
		if (chunk[i] && chunk[i] != UINT32_MAX)
			rc = -EBADMSG;
	if (!rc)
		*nitems = w.n < max ? w.n : max;
	return rc;
}
