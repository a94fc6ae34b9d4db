/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc - the heads of RPC messages (RFC 5531, 9), and the scans of whole ones
 */
#include "nfs/rows.h"

/* An opaque_auth of which nothing but its end is of interest. */
static int skip_auth(struct ulb_cur *cur)
{
	uint32_t len;

	if (ulb_skip(cur, 4) || ulb_get32(cur, &len) || len > RPC_AUTH_MAX)
		return -EBADMSG;
	return ulb_skip(cur, ulb_roundup(len));
}

/* rpc_gss_cred_t, RFC 2203, 5; later versions begin alike. */
static int get_gss(struct ulb_cur cur, uint32_t len, struct ulb_call *c)
{
	uint32_t version, seq;

	if (len < 16 || ulb_get32(&cur, &version) ||
	    ulb_get32(&cur, &c->gss_proc) || ulb_get32(&cur, &seq) ||
	    ulb_get32(&cur, &c->gss_service))
		return -EBADMSG;
	/*
	 * 11.2.2.3 [H3]: what a checksum or a cipher covers cannot be taken
	 * out of the stream, and the arguments of the other control procedures
	 * are not those of the program.
	 */
	c->ddp = c->gss_proc == GSS_PROC_DATA &&
		 c->gss_service == GSS_SERVICE_NONE;
	return 0;
}

/* As far as the head tells. */
static enum ulb_class head_class(const struct ulb_call *c)
{
	if (!c->proc ||
	    (c->flavor == RPC_FLAVOR_GSS && c->gss_proc != GSS_PROC_DATA))
		return ULB_CLASS_null;
	if (!c->nfs)
		return ULB_CLASS_other;
	if (c->vers == 3)
		return ulb_nfs3_class(c->proc);
	return c->proc == NFS4_COMPOUND && !c->ddp ? ULB_CLASS_protected :
						     ULB_CLASS_other;
}

static int call_head(struct ulb_cur *cur, struct ulb_call *c)
{
	uint32_t type, version, len;
	int rc = 0;

	memset(c, 0, sizeof(*c));
	if (ulb_get32(cur, &c->xid) || ulb_get32(cur, &type) ||
	    type != RPC_CALL || ulb_get32(cur, &version) ||
	    version != RPC_VERSION || ulb_get32(cur, &c->prog) ||
	    ulb_get32(cur, &c->vers) || ulb_get32(cur, &c->proc) ||
	    ulb_get32(cur, &c->flavor) || ulb_get32(cur, &len) ||
	    len > RPC_AUTH_MAX)
		return -EBADMSG;

	c->ddp = true;
	if (c->flavor == RPC_FLAVOR_GSS)
		rc = get_gss(*cur, len, c);
	if (ulb_skip(cur, ulb_roundup(len)) || rc || skip_auth(cur))
		return -EBADMSG;
	c->nfs = c->prog == ULB_PROG_NFS && (c->vers == 3 || c->vers == 4);
	c->body = (uint32_t)cur->pos;
	c->op_class = head_class(c);
	return 0;
}

int ulb_call_head(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c)
{
	struct ulb_cur cur;

	ulb_cur_init(&cur, iov, niov);
	return call_head(&cur, c);
}

int ulb_classify(const struct iovec *iov, unsigned int niov, struct ulb_call *c)
{
	struct ulb_walk w = { 0 };

	ulb_cur_init(&w.cur, iov, niov);
	if (call_head(&w.cur, c))
		return -EBADMSG;
	if (c->nfs && c->ddp && c->vers == 4 && c->proc == NFS4_COMPOUND)
		ulb_nfs4_classify(c, &w);
	return 0;
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

bool ulb_take_reads(const struct iovec *iov, unsigned int niov,
		    const struct ulb_read *reads, unsigned int n,
		    unsigned int total, unsigned int compound_max,
		    unsigned int *most, bool *misfit)
{
	struct ulb_walk w = { .reads = reads, .nreads = n };
	struct ulb_scan scan = { 0 };
	const struct ulb_read *left;
	bool head, out = false;
	struct ulb_call c;
	int rc;

	ulb_cur_init(&w.cur, iov, niov);
	rc = call_head(&w.cur, &c);
	head = !rc;
	*most = head ? ulb_max_read_chunks(&c, compound_max) : 0;
	if (n && *most)
		rc = c.vers == 3 ? ulb_nfs3_scan_call(&c, &w, &scan) :
				   ulb_nfs4_scan_call(&c, &w, &scan);
	/*
	 * None of those that are left is where an item begins, as far as the
	 * stream can be read. What it cannot be read for may be the chunk that
	 * is missing in it.
	 */
	*misfit = w.misfit;
	left = w.nread < n && !w.misfit ? &reads[w.nread] : NULL;
	if (left && (*most || !head))
		out = (!rc && !w.unknown) || left->position < w.cur.pos ||
		      (rc && left->position == w.cur.pos);
	if (out && w.nread < *most)
		*most = w.nread;
	return !out && (!head || total <= *most);
}

int ulb_scan_call(const struct iovec *iov, unsigned int niov,
		  struct ulb_call *c, struct ulb_scan *scan)
{
	struct ulb_walk w = { .items = scan->args, .max = ULB_MAX_ITEMS };
	int rc;

	memset(scan, 0, sizeof(*scan));
	ulb_cur_init(&w.cur, iov, niov);
	rc = call_head(&w.cur, c);
	if (rc || !c->nfs || !c->ddp)
		return rc;
	if (c->vers == 3)
		rc = ulb_nfs3_scan_call(c, &w, scan);
	else if (c->proc == NFS4_COMPOUND)
		rc = ulb_nfs4_scan_call(c, &w, scan);
	else if (c->proc == NFS4_NULL)
		scan->reply_max = ULB_REPLY_HEAD;
	scan->nargs = w.n < w.max ? w.n : w.max;
	if (rc)
		memset(scan, 0, sizeof(*scan));
	return rc;
}

unsigned int ulb_scan_bulk(const struct iovec *iov, unsigned int niov,
			   struct ulb_bulk *bulk, unsigned int max)
{
	struct ulb_bulks b = { .bulk = bulk, .max = max };
	struct ulb_walk w = { 0 };
	struct ulb_call c;

	ulb_cur_init(&w.cur, iov, niov);
	if (call_head(&w.cur, &c) || !c.nfs || !c.ddp)
		return 0;
	if (c.vers == 3)
		ulb_nfs3_bulk(&c, &w, &b);
	else if (c.proc == NFS4_COMPOUND)
		ulb_nfs4_bulk(&c, &w, &b);
	return b.n;
}

/*
 * As far as the accept_stat. 1 if results of the program follow, 0 if it is
 * another answer.
 */
static int reply_head(struct ulb_cur *cur)
{
	uint32_t xid, type, stat;

	if (ulb_get32(cur, &xid) || ulb_get32(cur, &type) ||
	    type != RPC_REPLY || ulb_get32(cur, &stat) || stat > RPC_MSG_DENIED)
		return -EBADMSG;
	if (stat == RPC_MSG_DENIED)
		return 0;
	if (skip_auth(cur) || ulb_get32(cur, &stat))
		return -EBADMSG;
	return !stat;
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
	rc = reply_head(&w.cur);
	if (rc > 0) {
		rc = 0;
		if (!c->nfs || !c->ddp)
			;
		else if (c->vers == 3)
			rc = ulb_nfs3_scan_reply(c, &w);
		else if (c->proc == NFS4_COMPOUND)
			rc = ulb_nfs4_scan_reply(&w);
	}
	/* Octets in a chunk that no result accounts for. */
	for (unsigned int i = w.n; !rc && i < w.nchunk; i++)
		if (chunk[i] && chunk[i] != UINT32_MAX)
			rc = -EBADMSG;
	if (!rc)
		*nitems = w.n < max ? w.n : max;
	return rc;
}
