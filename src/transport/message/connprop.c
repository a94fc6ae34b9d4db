/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connprop - the exchange of transport properties, section 5
 *
 * Runner only. Each side sends exactly one CONNPROP_FINAL ([A9]); our values
 * always fit one message, which is a MIDDLE only with host authentication. A
 * received message is validated as a whole before any value of it takes effect
 * (7.2.2); the last value of a property wins ([F2]); zero length stands for the
 * default ([F1]); unknown properties are ignored (5.1).
 */
#include <arpa/inet.h>
#include <string.h>

#include "transport/internal.h"
#include "rpcrdma/xchar.h"

static const struct rt_properties defaults = {
	.send_size = 0,
	.recv_size = WIRE_DEFAULT_INLINE,
	.segment_size = WIRE_DEFAULT_SEGMENT_SIZE,
	.segments = WIRE_DEFAULT_SEGMENTS,
	.reverse = RDMA2_RVRSDIR_NONE,
};

/* Threshold towards the peer: what we can send and it can receive [A12]. */
void rt_connprop_threshold(struct rt_conn *c)
{
	uint32_t n = c->inst->cfg.send_size;

	if (n > c->theirs.recv_size)
		n = c->theirs.recv_size;
	if (c->xchar.limit && n > c->xchar.limit)
		n = c->xchar.limit;
	c->to_peer = n & ~(uint32_t)3;
	c->from_peer = c->ours.recv_size & ~(uint32_t)3;
	/* Here come all who change a value of either end. */
	c->values++;
	rt_rtr_resized(c);
}

void rt_connprop_init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	c->theirs = defaults;
	c->ours = (struct rt_properties){
		.send_size = cfg->send_size,
		.recv_size = cfg->recv_size,
		.segment_size = cfg->max_segment_size,
		.segments = cfg->max_segments,
		.reverse = c->server ? RDMA2_RVRSDIR_NONE : cfg->reverse,
	};
	rt_rtr_init(c);
	rt_xchar_init(c);
	rt_connprop_threshold(c);
}

/* The XID of all of ours, so that an ERROR can be told [A11]. */
static uint32_t own_xid(struct rt_conn *c)
{
	while (!c->props_xid || rt_request_find(c, c->props_xid))
		c->props_xid = c->next_xid++;
	return c->props_xid;
}

/* 4.3 for a client's first message, else 6.3.3 and what the peer takes. */
static size_t longest(const struct rt_conn *c)
{
	size_t n = WIRE_DEFAULT_INLINE;

	if (!c->first_sent)
		n = WIRE_FIRST_MESSAGE_MAX;
	if (n > c->theirs.recv_size)
		n = c->theirs.recv_size;
	return n & ~(size_t)3;
}

/* Prefix and count; identifier, length and value of a number; the same and
 * inner length of HOSTAUTH. */
#define HEAD_OCTETS 20
#define NUMBER_OCTETS 12
#define AUTH_OCTETS 12

size_t rt_connprop_encode(struct rt_conn *c, void *buf, bool final)
{
	const uint32_t value[] = {
		htonl(c->ours.send_size),    htonl(c->ours.recv_size),
		htonl(c->ours.segment_size), htonl(c->ours.segments),
		htonl(c->ours.reverse),
	};
	const uint32_t xchar = htonl(c->ours.xchar);
	struct wire_prop props[11];
	uint8_t auth[WIRE_DEFAULT_INLINE], rtr[RT_RTR_PROPS];
	const uint8_t *part = NULL;
	uint32_t n = 0, inner;
	size_t len, extra = 0;

	for (uint32_t i = 0; i < 5 && !c->values_sent; i++) {
		/* Only a client has something to say about it (5.2.5). */
		if (i + 1 == RDMA2_PROPID_BRS && !c->ours.reverse)
			continue;
		props[n].which = i + 1;
		props[n].data = (const uint8_t *)&value[i];
		props[n].len = 4;
		n++;
	}
	if (c->ours.xchar && !c->values_sent)
		props[n++] = (struct wire_prop){ RDMA2_PROPID_X_XCHSUPP,
						 (const uint8_t *)&xchar, 4 };
	extra = n * NUMBER_OCTETS;
	if (!c->values_sent) {
		n += rt_rtr_props(c, &props[n], rtr, &len);
		extra += len;
	}
	c->values_sent = true;
	len = final ? 0 :
		      rt_auth_part(
			      c, longest(c) - HEAD_OCTETS - extra - AUTH_OCTETS,
			      &part);
	if (len) {
		inner = htonl((uint32_t)len);
		memcpy(auth, &inner, 4);
		memcpy(auth + 4, part, len);
		props[n].which = RDMA2_PROPID_HOSTAUTH;
		props[n].data = auth;
		props[n].len = (uint32_t)len + 4;
		n++;
	}
	return wire_encode_connprop(buf, longest(c), own_xid(c),
				    c->v->credit_word(c, RT_OUT_CONTROL), final,
				    props, n);
}

/* Our values did not reach the peer: it takes the defaults ([F2]). */
void rt_connprop_refused(struct rt_conn *c)
{
	rt_log(c, LOG_WARNING, "the peer refused our properties");
	/* It knows nothing of our target segments, nor of the rest. */
	rt_rtr_off(c);
	rt_xchar_off(c);
	rt_auth_refused(c);
}

bool rt_connprop_apply(const struct rt_conn *c, struct rt_properties *p,
		       const struct wire_prop *v)
{
	uint32_t n;

	switch (v->which) {
	case RDMA2_PROPID_SBSIZ:
		/* Information (5.2.1), whatever it is [A13]; zero length
		 * undoes an announcement. */
		p->send_size = wire_prop_u32(v, 0);
		break;
	case RDMA2_PROPID_RBSIZ:
		n = wire_prop_u32(v, WIRE_DEFAULT_INLINE);
		/* A least size: each Receive takes a first message (4.3), so
		 * they are longer than that [A13]. */
		p->recv_size =
			n < WIRE_FIRST_MESSAGE_MAX ? WIRE_FIRST_MESSAGE_MAX : n;
		break;
	case RDMA2_PROPID_RSSIZ:
		p->segment_size = wire_prop_u32(v, WIRE_DEFAULT_SEGMENT_SIZE);
		break;
	case RDMA2_PROPID_RCSIZ:
		p->segments = wire_prop_u32(v, WIRE_DEFAULT_SEGMENTS);
		break;
	case RDMA2_PROPID_BRS:
		n = wire_prop_u32(v, RDMA2_RVRSDIR_NONE);
		/* An unknown level cannot be relied on [F4]. */
		p->reverse = n <= RDMA2_RVRSDIR_GENL ? n : RDMA2_RVRSDIR_NONE;
		break;
	default:
		return rt_xchar_prop(c, p, v);
	}
	return true;
}

enum wire_status rt_connprop_receive(struct rt_conn *c,
				     const struct wire_msg *m)
{
	struct rt_properties next = c->theirs;
	struct rt_rtr_peer rtr = c->rtr.theirs;
	struct wire_iter it = { 0 };
	struct wire_prop v;

	while (wire_prop_next(&m->props, &it, &v))
		if (!rt_connprop_apply(c, &next, &v) ||
		    !rt_rtr_apply(c, &rtr, &v))
			return WIRE_BAD_PROPVAL;
	if (!rt_auth_covers(c, &next, &rtr))
		return WIRE_OK;
	rt_rtr_taken(c, &rtr, &next);
	next.complete = m->p.htype == RDMA2_CONNPROP_FINAL;
	c->theirs = next;
	rt_connprop_threshold(c);
	if (next.complete) {
		c->props_open = false;
		rt_xchar_begin(c);
		rt_rtr_settled(c);
		rt_log(c, LOG_INFO,
		       "version 2, peer receives %u, sends %u, "
		       "segments %u of %u, reverse direction %u",
		       next.recv_size, next.send_size, next.segments,
		       next.segment_size, next.reverse);
	}
	rt_auth_receive(c, m);
	if (next.complete && rt_auth_settled(c) && c->state < RT_CLOSING)
		rt_conn_tell_established(c);
	return WIRE_OK;
}
