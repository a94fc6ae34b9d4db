/* SPDX-License-Identifier: BSD-3-Clause */
/* rpcmsg - the heads of ONC RPC messages */
#include "tools/rpcmsg.h"

#include <errno.h>
#include <string.h>

#include "base/be.h"

#define RPC_VERSION 2
#define AUTH_NONE 0
#define AUTH_SYS 1
#define AUTH_BODY_MAX 400 /* RFC 5531, 8.2 */

void xw_init(struct xw *w, void *buf, size_t size)
{
	*w = (struct xw){ .buf = buf, .size = size };
}

static uint8_t *xw_room(struct xw *w, size_t n)
{
	uint8_t *p = w->buf + w->len;

	if (w->overflow || n > w->size - w->len) {
		w->overflow = true;
		return NULL;
	}
	w->len += n;
	return p;
}

void xw_u32(struct xw *w, uint32_t v)
{
	uint8_t *p = xw_room(w, 4);

	if (p)
		be32_put(p, v);
}

void xr_init(struct xr *r, const void *buf, size_t size)
{
	*r = (struct xr){ .buf = buf, .size = size };
}

static const uint8_t *xr_take(struct xr *r, size_t n)
{
	const uint8_t *p = r->buf + r->at;

	if (r->bad || n > r->size - r->at) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	return p;
}

uint32_t xr_u32(struct xr *r)
{
	const uint8_t *p = xr_take(r, 4);

	return p ? be32_get(p) : 0;
}

const uint8_t *xr_opaque(struct xr *r, size_t max, size_t *n)
{
	uint32_t len = xr_u32(r);
	const uint8_t *p;

	*n = 0;
	if (len > max || len > UINT32_MAX - 3) {
		r->bad = true;
		return NULL;
	}
	p = xr_take(r, len + (-len & 3));
	if (p)
		*n = len;
	return p;
}

void rpc_call_head(struct xw *w, uint32_t xid, uint32_t prog, uint32_t vers,
		   uint32_t proc, bool sys)
{
	xw_u32(w, xid);
	xw_u32(w, RPC_CALL);
	xw_u32(w, RPC_VERSION);
	xw_u32(w, prog);
	xw_u32(w, vers);
	xw_u32(w, proc);
	if (sys) {
		xw_u32(w, AUTH_SYS);
		xw_u32(w, 20);
		xw_u32(w, 0); /* stamp */
		xw_u32(w, 0); /* machine name: empty */
		xw_u32(w, 0); /* uid */
		xw_u32(w, 0); /* gid */
		xw_u32(w, 0); /* no more gids */
	} else {
		xw_u32(w, AUTH_NONE);
		xw_u32(w, 0);
	}
	xw_u32(w, AUTH_NONE);
	xw_u32(w, 0);
}

void rpc_reply_head(struct xw *w, uint32_t xid, uint32_t accept_stat)
{
	xw_u32(w, xid);
	xw_u32(w, RPC_REPLY);
	xw_u32(w, 0); /* MSG_ACCEPTED */
	xw_u32(w, AUTH_NONE);
	xw_u32(w, 0);
	xw_u32(w, accept_stat);
}

void rpc_denial(struct xw *w, uint32_t xid, uint32_t why)
{
	xw_u32(w, xid);
	xw_u32(w, RPC_REPLY);
	xw_u32(w, 1); /* MSG_DENIED */
	xw_u32(w, why ? 1 : 0); /* AUTH_ERROR; RPC_MISMATCH */
	xw_u32(w, why ? why : RPC_VERSION);
	if (!why)
		xw_u32(w, RPC_VERSION);
}

int rpc_reply_decode(const void *buf, size_t len, struct rpc_reply *out)
{
	struct xr r;
	uint32_t type, reply_stat;
	size_t n;

	memset(out, 0, sizeof(*out));
	xr_init(&r, buf, len);
	out->xid = xr_u32(&r);
	type = xr_u32(&r);
	reply_stat = xr_u32(&r);
	if (r.bad || type != RPC_REPLY || reply_stat > 1)
		return -EBADMSG;
	out->denied = reply_stat == 1;
	if (!out->denied) {
		xr_u32(&r);
		xr_opaque(&r, AUTH_BODY_MAX, &n);
	}
	out->stat = xr_u32(&r);
	if (out->denied ? out->stat == 0 :
			  out->stat == RPC_ACCEPT_PROG_MISMATCH) {
		out->low = xr_u32(&r);
		out->high = xr_u32(&r);
	}
	out->body = r.at;
	return r.bad ? -EBADMSG : 0;
}

const char *rpc_reply_text(const struct rpc_reply *r)
{
	static const char *const accepted[] = {
		"success",
		"program unavailable",
		"version not supported",
		"procedure unavailable",
		"garbage arguments",
		"system error",
	};

	if (r->denied)
		return r->stat == 0 ? "RPC version not supported" :
				      "authentication refused";
	if (r->stat < sizeof(accepted) / sizeof(accepted[0]))
		return accepted[r->stat];
	return "unknown status";
}
