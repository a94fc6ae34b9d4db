/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref_xchar - between rows of values and the structures of rpcgen, xcharext
 *
 * No state.
 */
#include <stdlib.h>
#include <string.h>

#include "rpcrdma_v2_ext.h"
#include "ref_xchar.h"

#define INITXCH 0xffffff01u
#define REQXCH 0xffffff02u
#define RESPXCH 0xffffff03u
#define UPDXCH 0xffffff04u

union body {
	rpcrdma2_x_initxch init;
	rpcrdma2_x_reqxch req;
	rpcrdma2_x_respxch resp;
	rpcrdma2_x_updxch upd;
};

static bool_t body_xdr(XDR *x, uint32_t htype, union body *b)
{
	switch (htype) {
	case INITXCH:
		return xdr_rpcrdma2_x_initxch(x, &b->init);
	case REQXCH:
		return xdr_rpcrdma2_x_reqxch(x, &b->req);
	case RESPXCH:
		return xdr_rpcrdma2_x_respxch(x, &b->resp);
	case UPDXCH:
		return xdr_rpcrdma2_x_updxch(x, &b->upd);
	default:
		return FALSE;
	}
}

static void prop_from(struct ref_row *r, rpcrdma2_propval *p)
{
	u_int n;

	p->rdma_which = (uint32_t)ref_take(r);
	n = (u_int)ref_take(r);
	p->rdma_data.rdma_data_len = n;
	p->rdma_data.rdma_data_val = ref_need(n, 1);
	for (u_int i = 0; i < n; i++)
		p->rdma_data.rdma_data_val[i] = (char)ref_take(r);
}

static void prop_to(struct ref_row *r, const rpcrdma2_propval *p)
{
	ref_add(r, p->rdma_which);
	ref_add(r, p->rdma_data.rdma_data_len);
	for (u_int i = 0; i < p->rdma_data.rdma_data_len; i++)
		ref_add(r, (uint8_t)p->rdma_data.rdma_data_val[i]);
}

static void props_from(struct ref_row *r, rpcrdma2_propset *s)
{
	u_int n = (u_int)ref_take(r);

	s->rpcrdma2_propset_len = n;
	s->rpcrdma2_propset_val = ref_need(n, sizeof(rpcrdma2_propval));
	for (u_int i = 0; i < n; i++)
		prop_from(r, &s->rpcrdma2_propset_val[i]);
}

static void props_to(struct ref_row *r, const rpcrdma2_propset *s)
{
	ref_add(r, s->rpcrdma2_propset_len);
	for (u_int i = 0; i < s->rpcrdma2_propset_len; i++)
		prop_to(r, &s->rpcrdma2_propset_val[i]);
}

static void subset_from(struct ref_row *r, rpcrdma2_propsubset *s)
{
	u_int n = (u_int)ref_take(r);

	s->rpcrdma2_propsubset_len = n;
	s->rpcrdma2_propsubset_val = ref_need(n, sizeof(uint32));
	for (u_int i = 0; i < n; i++)
		s->rpcrdma2_propsubset_val[i] = (uint32)ref_take(r);
}

static void subset_to(struct ref_row *r, const rpcrdma2_propsubset *s)
{
	ref_add(r, s->rpcrdma2_propsubset_len);
	for (u_int i = 0; i < s->rpcrdma2_propsubset_len; i++)
		ref_add(r, s->rpcrdma2_propsubset_val[i]);
}

static void body_from(struct ref_row *r, uint32_t htype, union body *b)
{
	switch (htype) {
	case INITXCH:
		props_from(r, &b->init.start);
		subset_from(r, &b->init.nochg);
		break;
	case REQXCH:
		props_from(r, &b->req.want);
		break;
	case RESPXCH:
		subset_from(r, &b->resp.done);
		subset_from(r, &b->resp.rej);
		subset_from(r, &b->resp.pend);
		break;
	case UPDXCH:
		prop_from(r, &b->upd.now);
		b->upd.pendclr = (bool_t)ref_take(r);
		break;
	}
}

static void body_to(struct ref_row *r, uint32_t htype, const union body *b)
{
	switch (htype) {
	case INITXCH:
		props_to(r, &b->init.start);
		subset_to(r, &b->init.nochg);
		break;
	case REQXCH:
		props_to(r, &b->req.want);
		break;
	case RESPXCH:
		subset_to(r, &b->resp.done);
		subset_to(r, &b->resp.rej);
		subset_to(r, &b->resp.pend);
		break;
	case UPDXCH:
		prop_to(r, &b->upd.now);
		ref_add(r, (uint32_t)b->upd.pendclr);
		break;
	}
}

size_t ref_xchar_encode(struct ref_row *r, void *buf, size_t size)
{
	XDR x, none = { .x_op = XDR_FREE };
	union body b;
	uint32_t word[4];
	size_t len = 0;
	bool_t ok = TRUE;

	r->at = 0;
	memset(&b, 0, sizeof(b));
	xdrmem_create(&x, buf, (u_int)size, XDR_ENCODE);
	for (int i = 0; i < 4; i++) {
		word[i] = (uint32_t)ref_take(r);
		ok = ok && xdr_u_int(&x, &word[i]);
	}
	body_from(r, word[3], &b);
	if (ok && body_xdr(&x, word[3], &b))
		len = xdr_getpos(&x);
	(void)body_xdr(&none, word[3], &b);
	return len;
}

bool ref_xchar_decode(const void *buf, size_t len, struct ref_row *r,
		      size_t *used)
{
	XDR x, none = { .x_op = XDR_FREE };
	union body b;
	void *copy = ref_need(len, 1);
	uint32_t word[4] = { 0 };
	bool_t ok = TRUE;

	r->n = 0;
	r->at = 0;
	memset(&b, 0, sizeof(b));
	memcpy(copy, buf, len);
	xdrmem_create(&x, copy, (u_int)len, XDR_DECODE);
	for (int i = 0; ok && i < 4; i++) {
		ok = xdr_u_int(&x, &word[i]);
		ref_add(r, word[i]);
	}
	ok = ok && body_xdr(&x, word[3], &b);
	if (ok) {
		body_to(r, word[3], &b);
		*used = xdr_getpos(&x);
	}
	(void)body_xdr(&none, word[3], &b);
	free(copy);
	return ok;
}
