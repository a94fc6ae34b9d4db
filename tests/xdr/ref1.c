/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ref1 - between rows of values and the structures of rpcgen, version 1
 *
 * The same as ref.c, for the same functions: a program links one or the other.
 *
 * No state.
 */
#include <stdlib.h>
#include <string.h>

#include "rpcrdma_v1.h"
#include "ref.h"

static void segment_from(struct ref_row *r, rpcrdma1_segment *s)
{
	s->rdma_handle = (uint32_t)ref_take(r);
	s->rdma_length = (uint32_t)ref_take(r);
	s->rdma_offset = ref_take(r);
}

static void segment_to(struct ref_row *r, const rpcrdma1_segment *s)
{
	ref_add(r, s->rdma_handle);
	ref_add(r, s->rdma_length);
	ref_add(r, s->rdma_offset);
}

static void chunk_from(struct ref_row *r, rpcrdma1_write_chunk *c)
{
	u_int n = (u_int)ref_take(r);

	c->rdma_target.rdma_target_len = n;
	c->rdma_target.rdma_target_val = ref_need(n, sizeof(rpcrdma1_segment));
	for (u_int i = 0; i < n; i++)
		segment_from(r, &c->rdma_target.rdma_target_val[i]);
}

static void chunk_to(struct ref_row *r, const rpcrdma1_write_chunk *c)
{
	ref_add(r, c->rdma_target.rdma_target_len);
	for (u_int i = 0; i < c->rdma_target.rdma_target_len; i++)
		segment_to(r, &c->rdma_target.rdma_target_val[i]);
}

static void lists_from(struct ref_row *r, rpcrdma1_chunk_lists *l)
{
	rpcrdma1_read_list **read = &l->rdma_reads;
	rpcrdma1_write_list **write = &l->rdma_writes;

	for (uint64_t n = ref_take(r); n; n--) {
		*read = ref_need(1, sizeof(**read));
		(*read)->rdma_entry.rdma_position = (uint32_t)ref_take(r);
		segment_from(r, &(*read)->rdma_entry.rdma_target);
		read = &(*read)->rdma_next;
	}
	for (uint64_t n = ref_take(r); n; n--) {
		*write = ref_need(1, sizeof(**write));
		chunk_from(r, &(*write)->rdma_entry);
		write = &(*write)->rdma_next;
	}
	if (ref_take(r)) {
		l->rdma_reply = ref_need(1, sizeof(*l->rdma_reply));
		chunk_from(r, l->rdma_reply);
	}
}

static void lists_to(struct ref_row *r, const rpcrdma1_chunk_lists *l)
{
	const rpcrdma1_read_list *read = l->rdma_reads;
	const rpcrdma1_write_list *write = l->rdma_writes;
	size_t count = r->n;

	ref_add(r, 0);
	for (; read; read = read->rdma_next) {
		r->v[count]++;
		ref_add(r, read->rdma_entry.rdma_position);
		segment_to(r, &read->rdma_entry.rdma_target);
	}
	count = r->n;
	ref_add(r, 0);
	for (; write; write = write->rdma_next) {
		r->v[count]++;
		chunk_to(r, &write->rdma_entry);
	}
	ref_add(r, l->rdma_reply != NULL);
	if (l->rdma_reply)
		chunk_to(r, l->rdma_reply);
}

size_t ref_encode(struct ref_row *r, void *buf, size_t size)
{
	rpcrdma1_header h = { 0 };
	rpcrdma1_body *b = &h.rdma_body;
	XDR x, f = { .x_op = XDR_FREE };
	size_t len = 0;

	r->at = 0;
	h.rdma_xid = (uint32_t)ref_take(r);
	h.rdma_vers = (uint32_t)ref_take(r);
	h.rdma_credit = (uint32_t)ref_take(r);
	b->rdma_proc = (rpcrdma1_proc)ref_take(r);
	if (b->rdma_proc == RDMA_ERROR) {
		rpcrdma1_error *e = &b->rpcrdma1_body_u.rdma_error;

		e->rdma_err = (rpcrdma1_errcode)ref_take(r);
		if (e->rdma_err == RDMA_ERR_VERS) {
			e->rpcrdma1_error_u.rdma_range.rdma_vers_low =
				(uint32_t)ref_take(r);
			e->rpcrdma1_error_u.rdma_range.rdma_vers_high =
				(uint32_t)ref_take(r);
		}
	} else if (b->rdma_proc != RDMA_DONE) {
		lists_from(r, &b->rpcrdma1_body_u.rdma_chunks);
	}
	xdrmem_create(&x, buf, (u_int)size, XDR_ENCODE);
	if (xdr_rpcrdma1_header(&x, &h))
		len = xdr_getpos(&x);
	xdr_destroy(&x);
	xdr_rpcrdma1_header(&f, &h);
	return len;
}

static void row_of(struct ref_row *r, const rpcrdma1_header *h)
{
	const rpcrdma1_body *b = &h->rdma_body;

	ref_add(r, h->rdma_xid);
	ref_add(r, h->rdma_vers);
	ref_add(r, h->rdma_credit);
	ref_add(r, b->rdma_proc);
	if (b->rdma_proc == RDMA_ERROR) {
		const rpcrdma1_error *e = &b->rpcrdma1_body_u.rdma_error;

		ref_add(r, e->rdma_err);
		if (e->rdma_err == RDMA_ERR_VERS) {
			ref_add(r,
				e->rpcrdma1_error_u.rdma_range.rdma_vers_low);
			ref_add(r,
				e->rpcrdma1_error_u.rdma_range.rdma_vers_high);
		}
	} else if (b->rdma_proc == RDMA_MSG || b->rdma_proc == RDMA_NOMSG) {
		lists_to(r, &b->rpcrdma1_body_u.rdma_chunks);
	}
}

bool ref_decode(const void *buf, size_t len, struct ref_row *r, size_t *used)
{
	XDR x, f = { .x_op = XDR_FREE };
	rpcrdma1_header h;
	bool ok;

	memset(&h, 0, sizeof(h));
	memset(r, 0, offsetof(struct ref_row, v));
	/* xdrmem takes a pointer to what it will only read. */
	xdrmem_create(&x, (char *)(uintptr_t)buf, (u_int)len, XDR_DECODE);
	ok = xdr_rpcrdma1_header(&x, &h);
	if (ok) {
		row_of(r, &h);
		*used = xdr_getpos(&x);
	}
	xdr_rpcrdma1_header(&f, &h);
	xdr_destroy(&x);
	return ok;
}
