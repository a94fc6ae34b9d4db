/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref - between rows of values and the structures of rpcgen
 *
 * No state.
 */
#include <stdlib.h>
#include <string.h>

#include "rpcrdma_v2.h"
#include "ref.h"

/* One header of any type, and the procedure that does its body. */
union body {
	rpcrdma2_hdr_error error;
	rpcrdma2_hdr_connprop connprop;
	rpcrdma2_hdr_call_external call_external;
	rpcrdma2_hdr_call_middle call_middle;
	rpcrdma2_hdr_call_inline call_inline;
	rpcrdma2_hdr_reply_external reply_external;
	rpcrdma2_hdr_reply_middle reply_middle;
	rpcrdma2_hdr_reply_inline reply_inline;
};

static bool_t body_xdr(XDR *x, uint32_t htype, union body *b)
{
	switch (htype) {
	case RDMA2_ERROR:
		return xdr_rpcrdma2_hdr_error(x, &b->error);
	case RDMA2_GRANT:
		return TRUE;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		return xdr_rpcrdma2_hdr_connprop(x, &b->connprop);
	case RDMA2_CALL_EXTERNAL:
		return xdr_rpcrdma2_hdr_call_external(x, &b->call_external);
	case RDMA2_CALL_MIDDLE:
		return xdr_rpcrdma2_hdr_call_middle(x, &b->call_middle);
	case RDMA2_CALL_INLINE:
		return xdr_rpcrdma2_hdr_call_inline(x, &b->call_inline);
	case RDMA2_REPLY_EXTERNAL:
		return xdr_rpcrdma2_hdr_reply_external(x, &b->reply_external);
	case RDMA2_REPLY_MIDDLE:
		return xdr_rpcrdma2_hdr_reply_middle(x, &b->reply_middle);
	case RDMA2_REPLY_INLINE:
		return xdr_rpcrdma2_hdr_reply_inline(x, &b->reply_inline);
	default:
		return FALSE;
	}
}

static void body_free(uint32_t htype, union body *b)
{
	XDR x = { .x_op = XDR_FREE };

	(void)body_xdr(&x, htype, b);
}

static void segment_from(struct ref_row *r, rpcrdma2_segment *s)
{
	s->rdma_handle = (uint32_t)ref_take(r);
	s->rdma_length = (uint32_t)ref_take(r);
	s->rdma_offset = ref_take(r);
}

static void segment_to(struct ref_row *r, const rpcrdma2_segment *s)
{
	ref_add(r, s->rdma_handle);
	ref_add(r, s->rdma_length);
	ref_add(r, s->rdma_offset);
}

static void chunk_from(struct ref_row *r, rpcrdma2_write_chunk *c)
{
	c->rdma_target.rdma_target_len = (u_int)ref_take(r);
	c->rdma_target.rdma_target_val = ref_need(
		c->rdma_target.rdma_target_len, sizeof(rpcrdma2_segment));
	for (u_int i = 0; i < c->rdma_target.rdma_target_len; i++)
		segment_from(r, &c->rdma_target.rdma_target_val[i]);
}

static void chunk_to(struct ref_row *r, const rpcrdma2_write_chunk *c)
{
	ref_add(r, c->rdma_target.rdma_target_len);
	for (u_int i = 0; i < c->rdma_target.rdma_target_len; i++)
		segment_to(r, &c->rdma_target.rdma_target_val[i]);
}

static rpcrdma2_read_list *reads_from(struct ref_row *r)
{
	rpcrdma2_read_list *first = NULL, **end = &first;

	for (uint64_t n = ref_take(r); n; n--) {
		*end = ref_need(1, sizeof(**end));
		(*end)->rdma_entry.rdma_position = (uint32_t)ref_take(r);
		segment_from(r, &(*end)->rdma_entry.rdma_target);
		end = &(*end)->rdma_next;
	}
	return first;
}

static void reads_to(struct ref_row *r, const rpcrdma2_read_list *l)
{
	size_t count = r->n;

	ref_add(r, 0);
	for (; l; l = l->rdma_next) {
		r->v[count]++;
		ref_add(r, l->rdma_entry.rdma_position);
		segment_to(r, &l->rdma_entry.rdma_target);
	}
}

static rpcrdma2_write_list *writes_from(struct ref_row *r)
{
	rpcrdma2_write_list *first = NULL, **end = &first;

	for (uint64_t n = ref_take(r); n; n--) {
		*end = ref_need(1, sizeof(**end));
		chunk_from(r, &(*end)->rdma_entry);
		end = &(*end)->rdma_next;
	}
	return first;
}

static void writes_to(struct ref_row *r, const rpcrdma2_write_list *l)
{
	size_t count = r->n;

	ref_add(r, 0);
	for (; l; l = l->rdma_next) {
		r->v[count]++;
		chunk_to(r, &l->rdma_entry);
	}
}

static rpcrdma2_write_chunk *reply_from(struct ref_row *r)
{
	rpcrdma2_write_chunk *c = NULL;

	if (ref_take(r)) {
		c = ref_need(1, sizeof(*c));
		chunk_from(r, c);
	}
	return c;
}

static void reply_to(struct ref_row *r, const rpcrdma2_write_chunk *c)
{
	ref_add(r, c != NULL);
	if (c)
		chunk_to(r, c);
}

static void props_from(struct ref_row *r, rpcrdma2_propset *s)
{
	s->rpcrdma2_propset_len = (u_int)ref_take(r);
	s->rpcrdma2_propset_val =
		ref_need(s->rpcrdma2_propset_len, sizeof(rpcrdma2_propval));
	for (u_int i = 0; i < s->rpcrdma2_propset_len; i++) {
		rpcrdma2_propval *p = &s->rpcrdma2_propset_val[i];

		p->rdma_which = (uint32_t)ref_take(r);
		p->rdma_data.rdma_data_len = (u_int)ref_take(r);
		p->rdma_data.rdma_data_val =
			ref_need(p->rdma_data.rdma_data_len, 1);
		for (u_int j = 0; j < p->rdma_data.rdma_data_len; j++)
			p->rdma_data.rdma_data_val[j] = (char)ref_take(r);
	}
}

static void props_to(struct ref_row *r, const rpcrdma2_propset *s)
{
	ref_add(r, s->rpcrdma2_propset_len);
	for (u_int i = 0; i < s->rpcrdma2_propset_len; i++) {
		const rpcrdma2_propval *p = &s->rpcrdma2_propset_val[i];

		ref_add(r, p->rdma_which);
		ref_add(r, p->rdma_data.rdma_data_len);
		for (u_int j = 0; j < p->rdma_data.rdma_data_len; j++)
			ref_add(r, (uint8_t)p->rdma_data.rdma_data_val[j]);
	}
}

static void error_from(struct ref_row *r, rpcrdma2_hdr_error *e)
{
	e->rdma_err = (uint32_t)ref_take(r);
	switch (e->rdma_err) {
	case RDMA2_ERR_VERS:
		e->rpcrdma2_hdr_error_u.rdma_vrange.rdma_vers_low =
			(uint32_t)ref_take(r);
		e->rpcrdma2_hdr_error_u.rdma_vrange.rdma_vers_high =
			(uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		e->rpcrdma2_hdr_error_u.rdma_max_chunks = (uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_SEGMENTS:
		e->rpcrdma2_hdr_error_u.rdma_max_segments =
			(uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		e->rpcrdma2_hdr_error_u.rdma_writeres.rdma_chunk_index =
			(uint32_t)ref_take(r);
		e->rpcrdma2_hdr_error_u.rdma_writeres.rdma_length_needed =
			(uint32_t)ref_take(r);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		e->rpcrdma2_hdr_error_u.rdma_length_needed =
			(uint32_t)ref_take(r);
		break;
	default:
		break;
	}
}

static void error_to(struct ref_row *r, const rpcrdma2_hdr_error *e)
{
	ref_add(r, e->rdma_err);
	switch (e->rdma_err) {
	case RDMA2_ERR_VERS:
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_vrange.rdma_vers_low);
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_vrange.rdma_vers_high);
		break;
	case RDMA2_ERR_READ_CHUNKS:
	case RDMA2_ERR_WRITE_CHUNKS:
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_max_chunks);
		break;
	case RDMA2_ERR_SEGMENTS:
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_max_segments);
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		ref_add(r,
			e->rpcrdma2_hdr_error_u.rdma_writeres.rdma_chunk_index);
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_writeres
				   .rdma_length_needed);
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		ref_add(r, e->rpcrdma2_hdr_error_u.rdma_length_needed);
		break;
	default:
		break;
	}
}

static void body_from(struct ref_row *r, uint32_t htype, union body *b)
{
	switch (htype) {
	case RDMA2_ERROR:
		error_from(r, &b->error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		props_from(r, &b->connprop.rdma_props);
		break;
	case RDMA2_CALL_EXTERNAL:
		b->call_external.rdma_inv_handle = (uint32_t)ref_take(r);
		b->call_external.rdma_call = reads_from(r);
		b->call_external.rdma_reads = reads_from(r);
		b->call_external.rdma_provisional_writes = writes_from(r);
		b->call_external.rdma_provisional_reply = reply_from(r);
		break;
	case RDMA2_CALL_INLINE:
		b->call_inline.rdma_inv_handle = (uint32_t)ref_take(r);
		b->call_inline.rdma_reads = reads_from(r);
		b->call_inline.rdma_provisional_writes = writes_from(r);
		b->call_inline.rdma_provisional_reply = reply_from(r);
		b->call_inline.rdma_rpc_first_word = (uint32_t)ref_take(r);
		break;
	case RDMA2_REPLY_EXTERNAL:
		b->reply_external.rdma_writes = writes_from(r);
		b->reply_external.rdma_reply = reply_from(r);
		break;
	case RDMA2_REPLY_INLINE:
		b->reply_inline.rdma_writes = writes_from(r);
		b->reply_inline.rdma_rpc_first_word = (uint32_t)ref_take(r);
		break;
	case RDMA2_CALL_MIDDLE:
		b->call_middle.rdma_remaining = (uint32_t)ref_take(r);
		b->call_middle.rdma_rpc_first_word = (uint32_t)ref_take(r);
		break;
	case RDMA2_REPLY_MIDDLE:
		b->reply_middle.rdma_remaining = (uint32_t)ref_take(r);
		b->reply_middle.rdma_rpc_first_word = (uint32_t)ref_take(r);
		break;
	default:
		break;
	}
}

static void body_to(struct ref_row *r, uint32_t htype, const union body *b)
{
	switch (htype) {
	case RDMA2_ERROR:
		error_to(r, &b->error);
		break;
	case RDMA2_CONNPROP_MIDDLE:
	case RDMA2_CONNPROP_FINAL:
		props_to(r, &b->connprop.rdma_props);
		break;
	case RDMA2_CALL_EXTERNAL:
		ref_add(r, b->call_external.rdma_inv_handle);
		reads_to(r, b->call_external.rdma_call);
		reads_to(r, b->call_external.rdma_reads);
		writes_to(r, b->call_external.rdma_provisional_writes);
		reply_to(r, b->call_external.rdma_provisional_reply);
		break;
	case RDMA2_CALL_INLINE:
		ref_add(r, b->call_inline.rdma_inv_handle);
		reads_to(r, b->call_inline.rdma_reads);
		writes_to(r, b->call_inline.rdma_provisional_writes);
		reply_to(r, b->call_inline.rdma_provisional_reply);
		ref_add(r, b->call_inline.rdma_rpc_first_word);
		break;
	case RDMA2_REPLY_EXTERNAL:
		writes_to(r, b->reply_external.rdma_writes);
		reply_to(r, b->reply_external.rdma_reply);
		break;
	case RDMA2_REPLY_INLINE:
		writes_to(r, b->reply_inline.rdma_writes);
		ref_add(r, b->reply_inline.rdma_rpc_first_word);
		break;
	case RDMA2_CALL_MIDDLE:
		ref_add(r, b->call_middle.rdma_remaining);
		ref_add(r, b->call_middle.rdma_rpc_first_word);
		break;
	case RDMA2_REPLY_MIDDLE:
		ref_add(r, b->reply_middle.rdma_remaining);
		ref_add(r, b->reply_middle.rdma_rpc_first_word);
		break;
	default:
		break;
	}
}

size_t ref_encode(struct ref_row *r, void *buf, size_t size)
{
	rpcrdma2_hdr_prefix p;
	union body b = { 0 };
	size_t len = 0;
	XDR x;

	r->at = 0;
	p.rdma_start.rdma_xid = (uint32_t)ref_take(r);
	p.rdma_start.rdma_vers = (uint32_t)ref_take(r);
	p.rdma_start.rdma_credit = (uint32_t)ref_take(r);
	p.rdma_start.rdma_htype = (uint32_t)ref_take(r);
	body_from(r, p.rdma_start.rdma_htype, &b);

	xdrmem_create(&x, buf, (u_int)size, XDR_ENCODE);
	if (xdr_rpcrdma2_hdr_prefix(&x, &p) &&
	    body_xdr(&x, p.rdma_start.rdma_htype, &b))
		len = xdr_getpos(&x);
	xdr_destroy(&x);
	body_free(p.rdma_start.rdma_htype, &b);
	return len;
}

bool ref_decode(const void *buf, size_t len, struct ref_row *r, size_t *used)
{
	rpcrdma2_hdr_prefix p = { 0 };
	union body b;
	bool ok = false;
	XDR x;

	memset(&b, 0, sizeof(b));
	memset(r, 0, offsetof(struct ref_row, v));
	/* xdrmem takes a pointer to what it will only read. */
	xdrmem_create(&x, (char *)(uintptr_t)buf, (u_int)len, XDR_DECODE);
	if (!xdr_rpcrdma2_hdr_prefix(&x, &p))
		goto out;
	ok = body_xdr(&x, p.rdma_start.rdma_htype, &b);
	if (ok) {
		ref_add(r, p.rdma_start.rdma_xid);
		ref_add(r, p.rdma_start.rdma_vers);
		ref_add(r, p.rdma_start.rdma_credit);
		ref_add(r, p.rdma_start.rdma_htype);
		body_to(r, p.rdma_start.rdma_htype, &b);
		*used = xdr_getpos(&x);
	}
	body_free(p.rdma_start.rdma_htype, &b);
out:
	xdr_destroy(&x);
	return ok;
}
