/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss_rpc - RPC over TCP with RPCSEC_GSS
 *
 * See gss_rpc.h.
 */
#include "tools/gss_rpc.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MESSAGE_MAX ((2u << 20) + 65536)
#define CRED_HANDLE_MAX 128

enum {
	FLAVOR = 6,
	PROC_DATA = 0,
	PROC_INIT = 1,
	PROC_CONTINUE = 2,
	PROC_DESTROY = 3,
};

struct gss_rpc {
	int fd;
	uint32_t prog, vers, xid, seq;
	rpc_gss_svc_t service;
	bool tamper;
	gss_ctx_id_t ctx;
	uint8_t handle[CRED_HANDLE_MAX];
	uint32_t handle_len;
	uint8_t out[MESSAGE_MAX], in[MESSAGE_MAX], body[MESSAGE_MAX];
	uint32_t in_len;
};

static bool complain(const char *what, OM_uint32 major, OM_uint32 minor)
{
	gss_buffer_desc text = GSS_C_EMPTY_BUFFER;
	OM_uint32 ignored, more = 0;

	gss_display_status(&ignored, minor ? minor : major,
			   minor ? GSS_C_MECH_CODE : GSS_C_GSS_CODE,
			   GSS_C_NO_OID, &more, &text);
	fprintf(stderr, "%s: %.*s\n", what, (int)text.length,
		(char *)text.value);
	gss_release_buffer(&ignored, &text);
	return false;
}

static bool broken(const char *what)
{
	fprintf(stderr, "%s\n", what);
	return false;
}

static bool put32(XDR *x, uint32_t v)
{
	return xdr_u_int32_t(x, &v);
}

static bool put_bytes(XDR *x, const void *p, size_t n)
{
	char *s = (char *)(uintptr_t)p;
	u_int len = (u_int)n;

	return xdr_bytes(x, &s, &len, len);
}

/* ---- Records ------------------------------------------------------------ */

static bool send_record(struct gss_rpc *r, uint32_t len)
{
	uint32_t mark = htonl(len | 0x80000000);
	const uint8_t *p = r->out;

	if (send(r->fd, &mark, 4, MSG_MORE | MSG_NOSIGNAL) != 4)
		return broken("cannot send");
	while (len) {
		ssize_t n = send(r->fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return broken("cannot send");
		p += n;
		len -= (uint32_t)n;
	}
	return true;
}

static bool recv_record(struct gss_rpc *r)
{
	uint32_t mark;

	r->in_len = 0;
	do {
		if (recv(r->fd, &mark, 4, MSG_WAITALL) != 4)
			return broken("no Reply");
		mark = ntohl(mark);
		if ((mark & 0x7fffffff) > MESSAGE_MAX - r->in_len)
			return broken("a Reply that is too long");
		if (recv(r->fd, r->in + r->in_len, mark & 0x7fffffff,
			 MSG_WAITALL) != (ssize_t)(mark & 0x7fffffff))
			return broken("half a Reply");
		r->in_len += mark & 0x7fffffff;
	} while (!(mark & 0x80000000));
	return true;
}

/* ---- One Call ----------------------------------------------------------- */

/* Head, credential and verifier (RFC 2203, 5.3.1). */
static bool put_head(struct gss_rpc *r, XDR *x, uint32_t gss_proc,
		     uint32_t proc, uint32_t seq)
{
	gss_buffer_desc head = { 0, r->out }, mic = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor;
	uint32_t padded = (r->handle_len + 3) & ~3u;
	bool ok;

	if (!put32(x, ++r->xid) || !put32(x, 0) || !put32(x, 2) ||
	    !put32(x, r->prog) || !put32(x, r->vers) || !put32(x, proc) ||
	    !put32(x, FLAVOR) || !put32(x, 20 + padded) || !put32(x, 1) ||
	    !put32(x, gss_proc) || !put32(x, seq) || !put32(x, r->service) ||
	    !put_bytes(x, r->handle, r->handle_len))
		return false;
	if (gss_proc == PROC_INIT || gss_proc == PROC_CONTINUE)
		return put32(x, 0) && put32(x, 0);
	head.length = xdr_getpos(x);
	major = gss_get_mic(&minor, r->ctx, GSS_C_QOP_DEFAULT, &head, &mic);
	if (major)
		return complain("gss_get_mic", major, minor);
	ok = put32(x, FLAVOR) && put_bytes(x, mic.value, mic.length);
	gss_release_buffer(&minor, &mic);
	return ok;
}

static bool put_args(struct gss_rpc *r, XDR *x, bool_t (*args)(XDR *, void *),
		     void *arg)
{
	gss_buffer_desc body = { 0, r->body }, made = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor;
	bool ok;
	XDR b;

	if (r->service == RPCSEC_GSS_SVC_NONE)
		return args(x, arg);
	xdrmem_create(&b, (char *)r->body, sizeof(r->body), XDR_ENCODE);
	if (!put32(&b, r->seq) || !args(&b, arg))
		return broken("arguments too long");
	body.length = xdr_getpos(&b);
	if (r->service == RPCSEC_GSS_SVC_INTEGRITY)
		major = gss_get_mic(&minor, r->ctx, GSS_C_QOP_DEFAULT, &body,
				    &made);
	else
		major = gss_wrap(&minor, r->ctx, 1, GSS_C_QOP_DEFAULT, &body,
				 NULL, &made);
	if (major)
		return complain("protect", major, minor);
	if (r->tamper) {
		if (r->service == RPCSEC_GSS_SVC_INTEGRITY)
			r->body[body.length / 2] ^= 1;
		else
			((uint8_t *)made.value)[made.length / 2] ^= 1;
		r->tamper = false;
	}
	ok = (r->service != RPCSEC_GSS_SVC_INTEGRITY ||
	      put_bytes(x, body.value, body.length)) &&
	     put_bytes(x, made.value, made.length);
	gss_release_buffer(&minor, &made);
	return ok;
}

/* As far as the accept_stat; @verf: its octets, in r->in. */
static bool get_head(struct gss_rpc *r, XDR *x, gss_buffer_t verf)
{
	uint32_t xid, type, stat, flavor, len;
	u_int at;

	if (!xdr_u_int32_t(x, &xid) || !xdr_u_int32_t(x, &type) ||
	    !xdr_u_int32_t(x, &stat) || xid != r->xid || type != 1)
		return broken("no Reply to this Call");
	if (stat) {
		uint32_t why = 0;

		xdr_u_int32_t(x, &stat);
		xdr_u_int32_t(x, &why);
		fprintf(stderr, "denied: %u, %u\n", stat, why);
		return false;
	}
	if (!xdr_u_int32_t(x, &flavor) || !xdr_u_int32_t(x, &len))
		return broken("half a verifier");
	at = xdr_getpos(x);
	if (len > 400 || at + ((len + 3) & ~3u) > r->in_len)
		return broken("half a verifier");
	verf->value = r->in + at;
	verf->length = len;
	xdr_setpos(x, at + ((len + 3) & ~3u));
	if (!xdr_u_int32_t(x, &stat) || stat) {
		fprintf(stderr, "accepted, but: %u\n", stat);
		return false;
	}
	return flavor == FLAVOR || broken("a verifier of another flavor");
}

static bool check_verf(struct gss_rpc *r, uint32_t value, gss_buffer_t verf)
{
	uint32_t be = htonl(value);
	gss_buffer_desc seq = { sizeof(be), &be };
	OM_uint32 major, minor;

	major = gss_verify_mic(&minor, r->ctx, &seq, verf, NULL);
	return !major || complain("the Reply's verifier", major, minor);
}

static bool get_results(struct gss_rpc *r, XDR *x,
			bool_t (*results)(XDR *, void *), void *arg)
{
	gss_buffer_desc body = GSS_C_EMPTY_BUFFER, mic = GSS_C_EMPTY_BUFFER;
	gss_buffer_desc plain = GSS_C_EMPTY_BUFFER;
	OM_uint32 major, minor;
	uint32_t seq;
	u_int len = 0;
	char *p = (char *)r->body;
	uint8_t sum[256];
	bool ok = false;
	int conf = 0;
	XDR b;

	if (r->service == RPCSEC_GSS_SVC_NONE)
		return results(x, arg) || broken("bad results");
	if (!xdr_bytes(x, &p, &len, sizeof(r->body)))
		return broken("no protected results");
	body.value = r->body;
	body.length = len;
	if (r->service == RPCSEC_GSS_SVC_INTEGRITY) {
		p = (char *)sum;
		if (!xdr_bytes(x, &p, &len, sizeof(sum)))
			return broken("no checksum");
		mic.value = sum;
		mic.length = len;
		major = gss_verify_mic(&minor, r->ctx, &body, &mic, NULL);
	} else {
		major = gss_unwrap(&minor, r->ctx, &body, &plain, &conf, NULL);
		if (!major && !conf)
			return broken("results that are not encrypted");
		body = plain;
	}
	if (major)
		return complain("the results", major, minor);
	xdrmem_create(&b, body.value, (u_int)body.length, XDR_DECODE);
	ok = xdr_u_int32_t(&b, &seq) && seq == r->seq && results(&b, arg) &&
	     xdr_getpos(&b) == body.length;
	gss_release_buffer(&minor, &plain);
	return (ok && xdr_getpos(x) == r->in_len) || broken("bad results");
}

bool gss_rpc_send(struct gss_rpc *r, uint32_t proc,
		  bool_t (*args)(XDR *, void *), void *arg)
{
	XDR x;

	r->seq++;
	xdrmem_create(&x, (char *)r->out, sizeof(r->out), XDR_ENCODE);
	return put_head(r, &x, PROC_DATA, proc, r->seq) &&
	       put_args(r, &x, args, arg) && send_record(r, xdr_getpos(&x));
}

bool gss_rpc_call(struct gss_rpc *r, uint32_t proc,
		  bool_t (*args)(XDR *, void *),
		  bool_t (*results)(XDR *, void *), void *arg)
{
	gss_buffer_desc verf;
	XDR x;

	if (!gss_rpc_send(r, proc, args, arg) || !recv_record(r))
		return false;
	xdrmem_create(&x, (char *)r->in, r->in_len, XDR_DECODE);
	return get_head(r, &x, &verf) && check_verf(r, r->seq, &verf) &&
	       get_results(r, &x, results, arg);
}

/* ---- The context -------------------------------------------------------- */

/* One step: @token goes out, what comes back is in it (a view of r->body). */
static bool exchange(struct gss_rpc *r, bool first, gss_buffer_t token,
		     uint32_t *window, gss_buffer_t verf)
{
	uint32_t major, minor;
	char *p = (char *)r->handle;
	u_int len;
	XDR x;

	xdrmem_create(&x, (char *)r->out, sizeof(r->out), XDR_ENCODE);
	if (!put_head(r, &x, first ? PROC_INIT : PROC_CONTINUE, 0, 0) ||
	    !put_bytes(&x, token->value, token->length) ||
	    !send_record(r, xdr_getpos(&x)) || !recv_record(r))
		return false;
	xdrmem_create(&x, (char *)r->in, r->in_len, XDR_DECODE);
	if (!get_head(r, &x, verf) || !xdr_bytes(&x, &p, &len, CRED_HANDLE_MAX))
		return false;
	r->handle_len = len;
	p = (char *)r->body;
	if (!xdr_u_int32_t(&x, &major) || !xdr_u_int32_t(&x, &minor) ||
	    !xdr_u_int32_t(&x, window) ||
	    !xdr_bytes(&x, &p, &len, sizeof(r->body)))
		return broken("bad answer to a token");
	token->value = r->body;
	token->length = len;
	return !GSS_ERROR(major) || complain("the server", major, minor);
}

static bool establish(struct gss_rpc *r, const char *target)
{
	static gss_OID_desc krb5 = { 9,
				     "\x2a\x86\x48\x86\xf7\x12\x01\x02\x02" };
	gss_buffer_desc name = { strlen(target), (char *)(uintptr_t)target };
	gss_buffer_desc token = GSS_C_EMPTY_BUFFER, out, verf;
	rpc_gss_svc_t service = r->service;
	gss_name_t to = GSS_C_NO_NAME;
	OM_uint32 major, minor, ignored;
	uint32_t window = 0;
	bool first = true, went, ok = false;

	r->service = RPCSEC_GSS_SVC_NONE;
	major = gss_import_name(&minor, &name, GSS_C_NT_HOSTBASED_SERVICE, &to);
	if (major)
		return complain(target, major, minor);
	for (;;) {
		major = gss_init_sec_context(
			&minor, GSS_C_NO_CREDENTIAL, &r->ctx, to, &krb5,
			GSS_C_MUTUAL_FLAG | GSS_C_INTEG_FLAG | GSS_C_CONF_FLAG,
			0, NULL, &token, NULL, &out, NULL, NULL);
		if (GSS_ERROR(major)) {
			complain(target, major, minor);
			break;
		}
		if (!out.length) {
			/* RFC 2203, 5.2.3.1: the window is what is signed. */
			ok = major == GSS_S_COMPLETE &&
			     check_verf(r, window, &verf);
			break;
		}
		token = out;
		went = exchange(r, first, &token, &window, &verf);
		gss_release_buffer(&ignored, &out);
		if (!went)
			break;
		first = false;
	}
	gss_release_name(&ignored, &to);
	r->service = service;
	return ok;
}

struct gss_rpc *gss_rpc_open(int fd, uint32_t prog, uint32_t vers,
			     rpc_gss_svc_t service, const char *target)
{
	struct gss_rpc *r = calloc(1, sizeof(*r));

	if (!r) {
		close(fd);
		return NULL;
	}
	r->fd = fd;
	r->prog = prog;
	r->vers = vers;
	r->service = service;
	r->ctx = GSS_C_NO_CONTEXT;
	r->xid = (uint32_t)getpid() << 12;
	if (establish(r, target))
		return r;
	gss_rpc_close(r, false);
	return NULL;
}

bool gss_rpc_ended(struct gss_rpc *r)
{
	uint8_t octet;

	return recv(r->fd, &octet, 1, 0) <= 0;
}

uint32_t gss_rpc_seq(const struct gss_rpc *r)
{
	return r->seq + 1;
}

void gss_rpc_set_seq(struct gss_rpc *r, uint32_t seq)
{
	r->seq = seq - 1;
}

void gss_rpc_tamper(struct gss_rpc *r)
{
	r->tamper = true;
}

static bool_t nothing(XDR *x, void *arg)
{
	return true;
}

void gss_rpc_close(struct gss_rpc *r, bool orderly)
{
	OM_uint32 minor;
	gss_buffer_desc verf;
	XDR x;

	if (!r)
		return;
	if (orderly) {
		r->seq++;
		xdrmem_create(&x, (char *)r->out, sizeof(r->out), XDR_ENCODE);
		if (put_head(r, &x, PROC_DESTROY, 0, r->seq) &&
		    put_args(r, &x, nothing, NULL) &&
		    send_record(r, xdr_getpos(&x)) && recv_record(r)) {
			xdrmem_create(&x, (char *)r->in, r->in_len, XDR_DECODE);
			if (get_head(r, &x, &verf))
				check_verf(r, r->seq, &verf);
		}
	}
	if (r->ctx != GSS_C_NO_CONTEXT)
		gss_delete_sec_context(&minor, &r->ctx, NULL);
	close(r->fd);
	free(r);
}
