/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar_messages - the messages of xcharext
 *
 * Received messages are applied here, and messages to be sent are encoded: INITXCH once,
 * after both CONNPROP_FINALs [X5]; RESPXCH; UPDXCH when our Receives have changed;
 * REQXCH.
 *
 * The extension is in use if both ends have announced it [M2], until the peer answers one
 * of its messages by INVAL_HTYPE.
 *
 * Context: the runner.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/ext/xchar/xchar.h"

/* rt_xchar.fixed has a bit for each property: that of its number for base properties; the
 * highest bits for those of rtrext and X_REQREMINV, whose numbers exceed 31. */
#define BIT_REQREMINV 31
#define BIT_RTR 27

static unsigned int bit_of(uint32_t which)
{
	if (which == RDMA2_PROPID_X_REQREMINV)
		return 1u << BIT_REQREMINV;
	if (which >= RDMA2_PROPID_X_RTRSUPP &&
	    which <= RDMA2_PROPID_X_RESPSXLIM)
		return 1u << (BIT_RTR + (which - RDMA2_PROPID_X_RTRSUPP));
	return which && which < BIT_RTR ? 1u << which : 0;
}

static bool is_enabled(const struct rt_conn *c)
{
	return c->inst->cfg.extensions & RT_EXT_XCHAR;
}

/* Returns true if our CONNPROP_FINAL was sent and the peer's was received. No message of this
 * extension is allowed before that [M2]. */
static bool both_complete(const struct rt_conn *c)
{
	return c->props_sent && c->theirs.complete;
}

int rt_xchar_init(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);

	rt_assert_strand(c);
	x->resp_tail = &x->resp;
	c->ours.xchar = is_enabled(c) ? XCHSUPP_ALL : 0;
	return 0;
}

static bool xchar_message_due(const struct rt_conn *c);
static bool send_next(struct rt_conn *c);

/* Set the header types that the peer supports, XCHSUPP_*; 0 for none. */
static void set_peer_support(struct rt_conn *c, uint32_t peer)
{
	static const struct rt_sender sender = { .due = xchar_message_due,
						 .send = send_next };

	xchar(c)->peer = peer;
	rt_part_set(c, RT_SLOT_XCHAR, peer);
	c->sender = peer ? &sender : NULL;
	c->extensions &= ~RT_EXT_XCHAR;
	if (peer)
		c->extensions |= RT_EXT_XCHAR;
}

void rt_xchar_reset(struct rt_conn *c)
{
	struct rt_xchar *x = xchar(c);

	rt_assert_strand(c);
	while (x->resp) {
		struct rt_xchar_resp *r = x->resp;

		x->resp = r->next;
		free(r);
	}
	x->resp_tail = &x->resp;
	x->nresp = 0;
	set_peer_support(c, 0);
	c->recv_target = 0;
	rt_receives_size(c, c->ours.recv_size);
	x->peer_asked = false;
	x->wanted_size = 0;
	x->request_sent = false;
	x->request_pending = false;
	c->send_limit = 0;
}

static void xchar_props_complete(struct rt_conn *c)
{
	uint32_t peer = c->theirs.xchar;

	/* xcharext 4: a peer that accepts answers must accept INITXCH. */
	if (peer & (XCHSUPP_RESP | XCHSUPP_UPD) && !(peer & XCHSUPP_INIT))
		peer = 0;
	set_peer_support(c, is_enabled(c) && !xchar(c)->refused ?
				    peer & XCHSUPP_ALL :
				    0);
	xchar(c)->sampled_at = rt_now_ms();
	if (xchar(c)->peer)
		rt_log(c, LOG_INFO, "xcharext, the peer takes %s%s%s%s",
		       peer & XCHSUPP_INIT ? "INITXCH " : "",
		       peer & XCHSUPP_REQ ? "REQXCH " : "",
		       peer & XCHSUPP_RESP ? "RESPXCH " : "",
		       peer & XCHSUPP_UPD ? "UPDXCH" : "");
}

static void xchar_refused(struct rt_conn *c)
{
	xchar(c)->refused = true;
	rt_xchar_reset(c);
}

static bool xchar_read_prop(struct rt_conn *c, struct rt_properties *p,
			    const struct wire_prop *v)
{
	if (!is_enabled(c))
		return true;
	if (!wire_xchar_prop_ok(v))
		return false;
	if (v->which == RDMA2_PROPID_X_XCHSUPP)
		p->xchar = wire_prop_u32(v, 0);
	else if (v->which == RDMA2_PROPID_X_REQREMINV)
		/* Zero length means the default, false [M4], [F1]. */
		p->invalidate = wire_prop_u32(v, 0) ? RT_INVALIDATE_YES :
						      RT_INVALIDATE_NO;
	return true;
}

/* ---- Receiving -------------------------------------------------------- */

static bool xchar_accepts(const struct rt_conn *c, uint32_t htype)
{
	return is_enabled(c);
}

static enum wire_status xchar_check(const struct rt_in *in)
{
	struct wire_xchar x;

	return wire_xchar_decode(in->buf, in->len, &x);
}

/* Bring the peer's values into force. */
static void apply_values(struct rt_conn *c, struct rt_properties *next)
{
	rt_values_take(c, next);
	rt_connprop_threshold(c);
	/* If the peer accepts no reverse Calls any more, fail those that wait. */
	if (c->server && !c->theirs.reverse)
		rt_request_fail_queued(c, -EOPNOTSUPP);
}

/* Read values, except X_XCHSUPP, which only CONNPROP may set. Returns false if one is
 * invalid. */
static bool take_values(struct rt_conn *c, const struct wire_list *props,
			struct rt_properties *next)
{
	if (!rt_values_read(c, props, next))
		return false;
	next->xchar = c->theirs.xchar;
	return true;
}

static uint32_t take_init(struct rt_conn *c, const struct wire_xchar *m)
{
	struct rt_xchar *x = xchar(c);
	struct rt_properties next;
	struct wire_iter it = { 0 };
	struct wire_prop v;

	if (x->init_taken)
		return RDMA2_ERR_INVAL_CONT; /* [X5] */
	if (!take_values(c, &m->props, &next))
		return RDMA2_ERR_BAD_PROPVAL;
	x->init_taken = true;
	while (wire_prop_next(&m->props, &it, &v))
		if (wire_subset_test(m->nochg.words, m->nochg.nwords,
				     it.index - 1))
			x->fixed |= bit_of(v.which);
	apply_values(c, &next);
	rt_log(c, LOG_DEBUG, "INITXCH: peer receives %u, fixed %08x",
	       c->theirs.recv_size, x->fixed);
	return 0;
}

static uint32_t take_update(struct rt_conn *c, const struct wire_xchar *m)
{
	struct rt_xchar *x = xchar(c);
	struct rt_properties next;
	struct wire_iter it = { 0 };
	struct wire_prop v;

	if (!take_values(c, &m->props, &next) ||
	    !wire_prop_next(&m->props, &it, &v))
		return RDMA2_ERR_BAD_PROPVAL;
	RT_COUNT(c, xchar_updates_received, 1);
	if (x->fixed & bit_of(v.which))
		rt_log(c, LOG_NOTICE, "UPDXCH for %s, which would not change",
		       wire_propid_name(v.which)); /* [X8] */
	if (m->pendclr) {
		/* We request only the size of Receives. The value in the UPDXCH shows whether
		 * the peer granted that (4.4), so send_limit is not needed any more. */
		if (v.which == RDMA2_PROPID_RBSIZ && x->request_pending) {
			x->request_pending = false;
			c->send_limit = 0;
		} else {
			rt_log(c, LOG_NOTICE,
			       "UPDXCH ends a request for %s that is not open",
			       wire_propid_name(v.which));
		}
	} else if (v.which == RDMA2_PROPID_RBSIZ && !x->request_sent &&
		   !x->request_pending) {
		/* The peer announces a size: that ends a limit that take_response() left. */
		c->send_limit = 0;
	}
	apply_values(c, &next);
	rt_log(c, LOG_DEBUG, "UPDXCH: %s, peer receives %u",
	       wire_propid_name(v.which), c->theirs.recv_size);
	return 0;
}

static void take_response(struct rt_conn *c, const struct wire_xchar *m)
{
	struct rt_xchar *x = xchar(c);
	bool done = wire_subset_test(m->done.words, m->done.nwords, 0);
	bool rej = wire_subset_test(m->rej.words, m->rej.nwords, 0);
	bool pend = wire_subset_test(m->pend.words, m->pend.nwords, 0);

	if (!x->request_sent || m->p.xid != x->request_xid) {
		rt_log(c, LOG_NOTICE, "RESPXCH %08x answers no request",
		       m->p.xid);
		RT_COUNT(c, dropped, 1);
		return;
	}
	x->request_sent = false;
	if (done + rej + pend != 1) {
		/* [X8]: the peer may have the lower size now, so send_limit stays until it
		 * announces another size. */
		rt_log(c, LOG_NOTICE, "RESPXCH %08x contradicts itself",
		       m->p.xid);
		return;
	}
	if (pend) {
		x->request_pending = true;
	} else {
		if (done)
			rt_values_set_recv_size(c, x->requested_size);
		c->send_limit = 0;
	}
	rt_connprop_threshold(c);
	rt_log(c, LOG_DEBUG, "the peer's Receives to be %u: %s",
	       x->requested_size,
	       rej  ? "rejected" :
	       done ? "done" :
		      "pending");
}

static void xchar_receive(struct rt_conn *c, struct rt_work *w,
			  const struct rt_in *in)
{
	struct wire_xchar m;
	uint32_t err = 0;

	/* It succeeds, as in xchar_check(). */
	wire_xchar_decode(in->buf, in->len, &m);
	if (m.surplus)
		RT_COUNT(c, surplus, 1);
	if (!both_complete(c)) {
		/* [M2]: as for messages between MIDDLE and FINAL. */
		rt_error_code(c, m.p.xid, RDMA2_ERR_INVAL_CONT);
		return;
	}
	switch (m.p.htype) {
	case RDMA2_X_INITXCH:
		err = take_init(c, &m);
		break;
	case RDMA2_X_REQXCH:
		err = rt_xchar_request(c, &m);
		break;
	case RDMA2_X_RESPXCH:
		take_response(c, &m);
		break;
	case RDMA2_X_UPDXCH:
		err = take_update(c, &m);
		break;
	}
	if (!err)
		return;
	rt_log(c, LOG_WARNING, "%s with xid %08x: %s",
	       wire_htype_name(m.p.htype), m.p.xid, wire_errcode_name(err));
	rt_error_code(c, m.p.xid, err);
}

static bool xchar_error(struct rt_conn *c, uint32_t xid,
			const struct wire_error *err)
{
	struct rt_xchar *x = xchar(c);

	if (!rt_xids_contain(&x->sent, xid))
		return false;
	if (x->request_sent && xid == x->request_xid) {
		/* Treat the request as rejected [X9]. */
		x->request_sent = false;
		c->send_limit = 0;
	}
	if (err->code == RDMA2_ERR_INVAL_HTYPE && x->peer) {
		rt_log(c, LOG_WARNING, "the peer refuses xcharext");
		xchar_refused(c);
	}
	rt_connprop_threshold(c);
	return true;
}

/* ---- Sending ---------------------------------------------------------- */

static bool init_due(const struct rt_conn *c)
{
	return xchar(c)->peer & XCHSUPP_INIT && !xchar(c)->init_sent;
}

static bool update_due(const struct rt_conn *c)
{
	const struct rt_xchar *x = xchar(c);

	return x->peer & XCHSUPP_UPD && rt_xchar_raised(c);
}

static bool ask_due(const struct rt_conn *c)
{
	const struct rt_xchar *x = xchar(c);

	return x->peer & XCHSUPP_REQ && x->wanted_size && !x->request_sent &&
	       !x->request_pending;
}

static bool xchar_message_due(const struct rt_conn *c)
{
	if (!xchar(c)->peer || !both_complete(c))
		return false;
	/* While the connection drains, only answers are sent. */
	if (c->state != RT_OPEN)
		return c->state == RT_DRAINING && xchar(c)->resp;
	return xchar(c)->resp || init_due(c) || update_due(c) || ask_due(c);
}

static uint32_t fresh_xid(struct rt_conn *c)
{
	uint32_t xid = rt_xid_fresh(c);

	rt_xids_add(&xchar(c)->sent, xid);
	return xid;
}

static struct wire_prop number(uint32_t which, const uint32_t *value)
{
	return (struct wire_prop){ which, (const uint8_t *)value, 4 };
}

/* Encode all our values, and which of them will not change (4.1). */
static size_t encode_init(struct rt_conn *c, void *buf, uint32_t credit)
{
	const struct {
		uint32_t which, value;
		bool fixed;
	} all[] = {
		{ RDMA2_PROPID_SBSIZ, c->ours.send_size, true },
		{ RDMA2_PROPID_RBSIZ, c->ours.recv_size, c->recv_fixed },
		{ RDMA2_PROPID_RSSIZ, c->ours.segment_size, true },
		{ RDMA2_PROPID_RCSIZ, c->ours.segments, true },
		{ RDMA2_PROPID_X_REQREMINV, rt_offers_handles(c), true },
		/* Only a client announces this one (version 2, 5.2.5). */
		{ RDMA2_PROPID_BRS, c->ours.reverse, true },
	};
	unsigned int n = c->server ? 5 : 6, more;
	struct wire_prop p[6 + RT_EXT_PROPS];
	uint32_t value[6], word = 0;
	struct wire_subset_desc fixed = { &word, 1 };
	uint8_t values[RT_EXT_ROOM];

	for (unsigned int i = 0; i < n; i++) {
		value[i] = htonl(all[i].value);
		p[i] = number(all[i].which, &value[i]);
		word |= (uint32_t)all[i].fixed << i;
	}
	/* The properties of other extensions do not change. */
	more = rt_ext_props(c, &rt_ext_xchar, &p[n], values);
	word |= ((1u << more) - 1) << n;
	n += more;
	xchar(c)->init_sent = true;
	return wire_encode_initxch(buf, RT_HEADER_ROOM, fresh_xid(c), credit, p,
				   n, &fixed);
}

static size_t encode_response(struct rt_conn *c, void *buf, uint32_t credit)
{
	struct rt_xchar *x = xchar(c);
	struct rt_xchar_resp *r = x->resp;
	uint32_t words = (r->count + 31) / 32, rej[RT_XCHAR_WORDS];
	struct wire_subset_desc done = { r->done, words };
	struct wire_subset_desc pend = { r->pend, words };
	struct wire_subset_desc rest = { rej, words };
	size_t n;

	for (uint32_t i = 0; i < words; i++) {
		uint32_t all = UINT32_MAX;

		if (i == r->count / 32)
			all = (1u << (r->count % 32)) - 1;
		rej[i] = all & ~(r->done[i] | r->pend[i]);
	}
	n = wire_encode_respxch(buf, RT_HEADER_ROOM, r->xid, credit, &done,
				&rest, &pend);
	rt_xids_add(&x->sent, r->xid);
	x->resp = r->next;
	if (!x->resp)
		x->resp_tail = &x->resp;
	x->nresp--;
	free(r);
	return n;
}

/* Only the size of our Receives ever changes. */
static size_t encode_update(struct rt_conn *c, void *buf, uint32_t credit)
{
	/* This sets the new size in c->ours. */
	bool peer_asked = rt_xchar_raise_done(c);
	uint32_t value = htonl(c->ours.recv_size);
	struct wire_prop now = number(RDMA2_PROPID_RBSIZ, &value);

	RT_COUNT(c, xchar_updates_sent, 1);
	return wire_encode_updxch(buf, RT_HEADER_ROOM, fresh_xid(c), credit,
				  &now, peer_asked);
}

static size_t encode_request(struct rt_conn *c, void *buf, uint32_t credit)
{
	struct rt_xchar *x = xchar(c);
	uint32_t value = htonl(x->wanted_size);
	struct wire_prop want = number(RDMA2_PROPID_RBSIZ, &value);
	size_t n;

	x->request_xid = fresh_xid(c);
	n = wire_encode_reqxch(buf, RT_HEADER_ROOM, x->request_xid, credit,
			       &want, 1);
	x->request_sent = true;
	x->requested_size = x->wanted_size;
	x->wanted_size = 0;
	/* 3.1: this end obeys a lower size from now on. */
	c->send_limit =
		x->requested_size < c->theirs.recv_size ? x->requested_size : 0;
	rt_connprop_threshold(c);
	RT_COUNT(c, xchar_requests_sent, 1);
	return n;
}

static bool send_next(struct rt_conn *c)
{
	struct rt_work *w = rt_send_get(c);
	uint32_t credit;
	size_t n;

	if (!w)
		return false;
	credit = c->v->credit_word(c, RT_OUT_CONTROL);
	if (init_due(c))
		n = encode_init(c, w->buf->addr, credit);
	else if (xchar(c)->resp)
		n = encode_response(c, w->buf->addr, credit);
	else if (update_due(c))
		n = encode_update(c, w->buf->addr, credit);
	else
		n = encode_request(c, w->buf->addr, credit);
	rt_send_work(c, w, n);
	return true;
}

static unsigned int xchar_props(struct rt_conn *c, struct wire_prop *to,
				void *buf, size_t room)
{
	uint32_t value = htonl(c->ours.xchar);

	if (!c->ours.xchar)
		return 0;
	memcpy(buf, &value, 4);
	to[0] = (struct wire_prop){ RDMA2_PROPID_X_XCHSUPP, buf, 4 };
	return 1;
}

const struct rt_ext rt_ext_xchar = {
	.bit = RT_EXT_XCHAR,
	.first = RDMA2_X_INITXCH,
	.last = RDMA2_X_UPDXCH,
	.accepts = xchar_accepts,
	.check = xchar_check,
	.receive = xchar_receive,
	.error = xchar_error,
	.props = xchar_props,
	.read_prop = xchar_read_prop,
	.props_complete = xchar_props_complete,
	.props_refused = xchar_refused,
};
