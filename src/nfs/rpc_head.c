/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc_head - the heads of RPC messages (RFC 5531, 9)
 */
#include "nfs/ulb.h"

static int skip_auth(struct ulb_cur *cur)
{
	uint32_t len;

	if (ulb_skip(cur, 4) || ulb_get32(cur, &len) || len > RPC_AUTH_MAX)
		return -EBADMSG;
	return ulb_skip(cur, ulb_roundup(len));
}

/* rpc_gss_cred_t, RFC 2203, 5; later versions begin alike. */
static int get_gss(struct ulb_cur cur, struct ulb_call *c)
{
	uint32_t version, seq;

	if (c->cred_len < 16 || ulb_get32(&cur, &version) ||
	    ulb_get32(&cur, &c->gss_proc) || ulb_get32(&cur, &seq) ||
	    ulb_get32(&cur, &c->gss_service))
		return -EBADMSG;
	/*
	 * 11.2.2.3 [H3]: what a checksum or a cipher covers cannot be removed
	 * from the stream, and arguments of control procedures are not the
	 * program's.
	 */
	c->ddp = c->gss_proc == GSS_PROC_DATA &&
		 c->gss_service == GSS_SERVICE_NONE;
	return 0;
}

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
	uint32_t type, version;
	int rc = 0;

	if (ulb_get32(cur, &c->xid) || ulb_get32(cur, &type) ||
	    type != RPC_CALL || ulb_get32(cur, &version) ||
	    version != RPC_VERSION || ulb_get32(cur, &c->prog) ||
	    ulb_get32(cur, &c->vers) || ulb_get32(cur, &c->proc) ||
	    ulb_get32(cur, &c->flavor) || ulb_get32(cur, &c->cred_len) ||
	    c->cred_len > RPC_AUTH_MAX)
		return -EBADMSG;

	c->ddp = true;
	if (c->flavor == RPC_FLAVOR_GSS)
		rc = get_gss(*cur, c);
	if (ulb_skip(cur, ulb_roundup(c->cred_len)) || rc || skip_auth(cur))
		return -EBADMSG;
	c->nfs = c->prog == ULB_PROG_NFS && (c->vers == 3 || c->vers == 4);
	c->op_class = head_class(c);
	c->once = ulb_class_once(c->op_class);
	return 0;
}

void ulb_call_head(const struct iovec *iov, unsigned int niov,
		   struct ulb_call *c)
{
	struct ulb_cur cur;

	memset(c, 0, sizeof(*c));
	ulb_cur_init(&cur, iov, niov);
	c->readable = !call_head(&cur, c);
	/* No part of it is long. */
	c->body = (uint32_t)cur.pos;
}

int ulb_reply_head(struct ulb_cur *cur)
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
