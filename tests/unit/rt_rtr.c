/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <string.h>

#include "rt_rtr.h"
#include "unit.h"

const struct rt_config rt_rtr_on = { .extensions = RT_EXT_RTR,
				     .request_user_size = sizeof(void *) };

static uint8_t out[262144];

void rt_rtr_announce(struct rt_raw *r, uint32_t support, uint32_t targets,
		     uint32_t limit)
{
	struct wire_rbgroup g[2] = { { 1, RTR_PAGE, 1, 0 },
				     { targets, RTR_PAGE, RTR_PAGE,
				       XMRSFLAG_PLT } };
	uint32_t s = htonl(support), l = htonl(limit);
	uint32_t size = htonl(RTR_PAGE * (1 + targets));
	uint8_t b[64];
	struct wire_prop p[5] = {
		{ RDMA2_PROPID_RBSIZ, (uint8_t *)&size, 4 },
		{ RDMA2_PROPID_X_RTRSUPP, (uint8_t *)&s, 4 },
		{ RDMA2_PROPID_X_REQRXLIM, (uint8_t *)&l, 4 },
		{ RDMA2_PROPID_X_RESPSXLIM, (uint8_t *)&l, 4 },
		{ RDMA2_PROPID_X_RBSTRUCT, b, 0 },
	};

	p[4].len = (uint32_t)wire_encode_rbstruct(
		b, sizeof(b), RTR_PAGE * (1 + targets), g, 2);
	rt_raw_connprop(r, true, p, targets ? 5 : 4);
}

bool rt_rtr_client(struct rt_raw *r, const struct rt_config *cfg)
{
	if (!rt_raw_client(r, cfg))
		return false;
	rt_rtr_announce(r, RTR_ALL, 1, 4);
	return rt_raw_next(r) == RDMA2_CONNPROP_FINAL;
}

bool rt_rtr_server(struct rt_raw *r, const struct rt_config *cfg,
		   uint32_t targets)
{
	if (!rt_raw_server(r, cfg) || rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
		return false;
	rt_rtr_announce(r, RTR_ALL, targets, 4);
	rt_raw_run(r);
	return r->p.client_up;
}

static void finish(struct rt_raw *r, size_t head, const void *payload,
		   size_t len, size_t at, const void *data, size_t n)
{
	memset(out + head, 0, sizeof(out) - head);
	if (len)
		memcpy(out + head, payload, len);
	if (n)
		memcpy(out + at, data, n);
	rt_raw_send(r, out, n ? at + n : head + len);
}

void rt_rtr_request(struct rt_raw *r, uint32_t xid,
		    const struct wire_xmt_desc *d, const void *payload,
		    size_t len, size_t at, const void *data, size_t n)
{
	finish(r,
	       wire_encode_xmtreq(out, sizeof(out), xid, rt_raw_credit(r), d),
	       payload, len, at, data, n);
}

void rt_rtr_response(struct rt_raw *r, uint32_t xid,
		     const struct wire_xmt_desc *d, const void *payload,
		     size_t len, size_t at, const void *data, size_t n)
{
	finish(r,
	       wire_encode_xmtresp(out, sizeof(out), xid, rt_raw_credit(r), d),
	       payload, len, at, data, n);
}

void rt_rtr_cont(struct rt_raw *r, uint32_t xid, uint32_t xnum, uint32_t itype,
		 uint32_t pslen, const void *payload, size_t at,
		 const void *data, size_t n)
{
	finish(r,
	       wire_encode_xmtcont(out, sizeof(out), xid, rt_raw_credit(r),
				   xnum, itype, pslen),
	       payload, payload ? pslen : 0, at, data, n);
}

void rt_rtr_report_raw(struct rt_raw *r, const struct wire_repterr *e)
{
	rt_raw_send(r, out,
		    wire_encode_repterr(out, sizeof(out), rt_raw_credit(r), e));
}

static uint32_t next(struct rt_raw *r)
{
	uint32_t htype;

	do
		htype = rt_raw_next(r);
	while (htype == RDMA2_GRANT);
	return htype;
}

bool rt_rtr_is(struct rt_raw *r, uint32_t htype, uint32_t xid, uint32_t count,
	       struct wire_xmt *m)
{
	return next(r) == htype &&
	       wire_xmt_decode(r->msg, r->msg_len, m) == WIRE_OK &&
	       m->p.xid == xid && m->count == count;
}

bool rt_rtr_is_repterr(struct rt_raw *r, uint32_t xid, uint32_t code,
		       struct wire_repterr *e)
{
	return next(r) == RDMA2_X_REPTERR &&
	       wire_repterr_decode(r->msg, r->msg_len, e) == WIRE_OK &&
	       e->bad.xid == xid && e->code == code &&
	       rt_rtr_word(r->msg) == xid;
}

uint32_t rt_rtr_word(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}
