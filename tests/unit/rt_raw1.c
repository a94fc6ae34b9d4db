/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>

#include "rt_raw1.h"
#include "unit.h"

const struct rt_config rt_only1 = { .versions = 1u << WIRE_VERS1,
				    .request_user_size = sizeof(void *),
				    .call_read_chunks = 4,
				    .call_write_chunks = 4 };
const struct rt_config rt_only2 = { .versions = 1u << WIRE_VERS2,
				    .request_user_size = sizeof(void *),
				    .call_read_chunks = 4,
				    .call_write_chunks = 4 };

const void *rt_raw1_private(bool r, uint32_t send, uint32_t recv)
{
	static uint8_t octets[WIRE_CM_LEN];
	struct wire_cm_private p = { r, send, recv };

	wire_cm_encode(octets, &p);
	return octets;
}

void rt_raw1_call(struct rt_raw *r, uint32_t xid, uint32_t credit,
		  const struct wire_call_desc *d, const void *payload,
		  size_t len)
{
	static const struct wire_call_desc none;
	size_t n;

	d = d ? d : &none;
	n = wire1_encode_call(r->send_buf, RAW_RECV_SIZE, xid, credit, d->ncall,
			      d);
	CU_ASSERT_FATAL(n != 0);
	if (payload) {
		memcpy(r->send_buf + n, payload, len);
		n += len;
	} else if (!d->ncall) {
		n += rt_raw_payload(r->send_buf + n, xid, (uint32_t)len, 0, 0,
				    0);
	}
	rt_raw_send(r, r->send_buf, n);
}

void rt_raw1_reply(struct rt_raw *r, uint32_t xid, uint32_t credit,
		   const struct wire_reply_desc *d, const void *payload,
		   size_t len)
{
	static const struct wire_reply_desc none;
	struct wire_enc e;
	size_t n;

	d = d ? d : &none;
	n = wire1_encode_reply(r->send_buf, RAW_RECV_SIZE, xid, credit,
			       d->reply, d);
	CU_ASSERT_FATAL(n != 0);
	if (payload) {
		memcpy(r->send_buf + n, payload, len);
		n += len;
	} else if (!d->reply) {
		wire_enc_init(&e, r->send_buf + n, 12);
		wire_put_u32(&e, xid);
		wire_put_u32(&e, 1);
		wire_put_u32(&e, 0);
		n += 12;
	}
	rt_raw_send(r, r->send_buf, n);
}

static void send_error(struct rt_raw *r, uint32_t xid, uint32_t vers,
		       uint32_t credit, const struct wire_error *err)
{
	uint8_t b[28];

	rt_raw_send(r, b,
		    wire1_encode_error(b, sizeof(b), xid, vers, credit, err));
}

void rt_raw1_error(struct rt_raw *r, uint32_t xid, uint32_t credit)
{
	struct wire_error err = { .code = RDMA1_ERR_CHUNK };

	send_error(r, xid, WIRE_VERS1, credit, &err);
}

void rt_raw1_err_vers(struct rt_raw *r, uint32_t xid, uint32_t vers,
		      uint32_t low, uint32_t high)
{
	struct wire_error err = { .code = RDMA2_ERR_VERS,
				  .vers_low = low,
				  .vers_high = high };

	send_error(r, xid, vers, 0xffffffff, &err);
}

void rt_raw1_words(struct rt_raw *r, uint32_t xid, uint32_t proc,
		   const uint32_t *w, size_t n)
{
	struct wire_prefix p = { xid, WIRE_VERS1, 8, proc };
	struct wire_enc e;

	wire_enc_init(&e, r->send_buf, RAW_RECV_SIZE);
	wire_put_prefix(&e, &p);
	for (size_t i = 0; i < n; i++)
		wire_put_u32(&e, w[i]);
	rt_raw_send(r, r->send_buf, e.len);
}

/* @proc -1: any. */
static bool is(struct rt_raw *r, uint32_t xid, int proc, enum wire_role role,
	       uint32_t code)
{
	bool came = rt_raw_more(r);

	if (came && r->status == WIRE_OK && r->m.p.vers == WIRE_VERS1 &&
	    r->m.p.xid == xid && (proc < 0 || r->m.p.htype == (uint32_t)proc) &&
	    r->m.role == role && r->m.error.code == code && r->m.p.credit)
		return true;
	fprintf(stderr,
		"expected %s of %x, got %s: version %u, %s of %x, role %d, "
		"code %x%s\n",
		proc < 0 ? "a Call" : wire1_proc_name((uint32_t)proc), xid,
		came ? "a message" : "nothing", r->m.p.vers,
		wire1_proc_name(r->m.p.htype), r->m.p.xid, r->m.role,
		r->m.error.code, r->down ? ", closed" : "");
	return false;
}

bool rt_raw1_is_refused(struct rt_raw *r, uint32_t xid)
{
	return is(r, xid, RDMA1_ERROR, WIRE_CONTROL, RDMA1_ERR_CHUNK) &&
	       r->msg_len == 20 && !r->invalidated;
}

bool rt_raw1_is_reply(struct rt_raw *r, uint32_t xid)
{
	return is(r, xid, RDMA1_MSG, WIRE_REPLY, 0);
}

bool rt_raw1_is_external(struct rt_raw *r, uint32_t xid)
{
	return is(r, xid, RDMA1_NOMSG, WIRE_REPLY, 0);
}

bool rt_raw1_is_call(struct rt_raw *r, uint32_t xid)
{
	return is(r, xid, -1, WIRE_CALL, 0);
}

bool rt_raw1_is_err_vers(struct rt_raw *r, uint32_t xid, uint32_t vers,
			 uint32_t low, uint32_t high)
{
	struct wire_error e = { 0 };

	if (rt_raw_more(r) && r->msg_len == 28 &&
	    wire_error_decode(r->msg, r->msg_len, &e) &&
	    e.code == RDMA2_ERR_VERS && e.vers_low == low &&
	    e.vers_high == high && r->m.p.xid == xid && r->m.p.vers == vers)
		return true;
	fprintf(stderr, "expected ERR_VERS %u to %u, got code %u, %u to %u\n",
		low, high, e.code, e.vers_low, e.vers_high);
	return false;
}
