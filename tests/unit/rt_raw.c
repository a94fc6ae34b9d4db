/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt_raw.h"
#include "test_clock.h"
#include "unit.h"

struct raw_recv {
	struct fab_wr wr;
	struct fab_sge sge;
	struct raw_recv *next;
	size_t len;
	bool invalidated;
	uint32_t inv_handle;
	uint8_t buf[RAW_RECV_SIZE];
};

struct raw_send {
	struct fab_wr wr;
	struct fab_sge sge;
	uint8_t buf[];
};

static void post_recv(struct rt_raw *r, struct raw_recv *v)
{
	v->sge = (struct fab_sge){ v->buf, sizeof(v->buf), NULL };
	v->wr = (struct fab_wr){
		.op = FAB_RECV, .nsge = 1, .sge = &v->sge, .user = v
	};
	fab_post_recv(r->fab, &v->wr);
}

static void take(struct rt_raw *r, const struct fab_wc *wc)
{
	struct raw_recv *v = wc->wr->user;

	if (wc->wr->op != FAB_RECV) {
		free(wc->wr->user);
		return;
	}
	if (wc->status != FAB_OK)
		return;
	v->len = wc->len;
	v->invalidated = wc->invalidated;
	v->inv_handle = wc->inv_handle;
	v->next = NULL;
	*r->last = v;
	r->last = &v->next;
	r->queued++;
}

static void ready(struct fab_conn *c, void *user)
{
	struct rt_raw *r = user;
	struct fab_wc wc;

	while (fab_poll(c, &wc, 1) == 1) {
		switch (wc.kind) {
		case FAB_WC_ESTABLISHED:
			r->up = true;
			if (!r->listener && wc.priv_len) {
				memcpy(r->peer_priv, wc.priv, wc.priv_len);
				r->peer_priv_len = wc.priv_len;
			}
			break;
		case FAB_WC_CLOSED:
			break;
		case FAB_WC_DISCONNECTED:
			r->down = true;
			r->error = wc.error;
			r->reason = wc.reason;
			break;
		case FAB_WC_WORK:
			take(r, &wc);
			break;
		}
	}
}

static void prepare_conn(struct rt_raw *r)
{
	r->up = r->down = false;
	r->sent = r->received = 0;
	r->limit = 1;
	r->first = NULL;
	r->last = &r->first;
	r->queued = 0;
	for (unsigned int i = 0; i < RAW_RECVS; i++)
		post_recv(r, &r->recvs[i]);
}

static void request(struct fab_listener *l, struct fab_conn *c,
		    const void *priv, size_t priv_len, void *user)
{
	struct rt_raw *r = user;
	struct fab_conn_params params = { .priv = r->priv,
					  .priv_len = r->priv_len };

	if (r->fab) {
		fab_reject(c, NULL, 0);
		fab_conn_destroy_deferred(c, NULL, NULL);
		return;
	}
	r->fab = c;
	r->peer_priv_len = priv_len;
	if (priv_len)
		memcpy(r->peer_priv, priv, priv_len);
	fab_conn_set_ready(c, ready, r);
	prepare_conn(r);
	fab_accept(c, &params);
}

static bool begin(struct rt_raw *r)
{
	r->credits = 32;
	r->recvs = calloc(RAW_RECVS, sizeof(*r->recvs));
	r->send_buf = malloc(RAW_RECV_SIZE);
	r->mem = calloc(1, RAW_MEM);
	if (fab_poller_create(r->p.dom, &r->poller) ||
	    fab_reg(r->p.dom, r->mem, RAW_MEM, &r->mr))
		return false;
	r->p.raw_poller = r->poller;
	return true;
}

static bool connect_raw(struct rt_raw *r)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(20049) };
	struct fab_conn_params params = { .priv = r->priv,
					  .priv_len = r->priv_len };

	if (fab_conn_create(r->poller, ready, r, &r->fab))
		return false;
	prepare_conn(r);
	if (fab_connect(r->fab, (struct sockaddr *)&addr, sizeof(addr),
			&params))
		return false;
	rt_raw_run(r);
	return r->up;
}

bool rt_raw_client(struct rt_raw *r, const struct rt_config *server)
{
	return rt_raw_client_with(r, server, NULL, 0);
}

bool rt_raw_client_with(struct rt_raw *r, const struct rt_config *server,
			const void *priv, size_t priv_len)
{
	/* For a client beside this one. */
	static const struct rt_config client = { .request_user_size =
							 sizeof(void *) };

	struct rt_config cfg = { 0 };

	if (server)
		cfg = *server;
	/* Most of what is sent here is wrong, and the clock stands still. */
	if (!cfg.max_wrong)
		cfg.max_wrong = UINT_MAX;
	memset(r, 0, sizeof(*r));
	test_clock_hold();
	r->priv = priv;
	r->priv_len = priv_len;
	if (!rt_pair_listen(&r->p, &client, &cfg, NULL) || !begin(r))
		return false;
	r->p.watch.ours = LOOP_PASSIVE;
	return connect_raw(r);
}

bool rt_raw_server(struct rt_raw *r, const struct rt_config *client)
{
	return rt_raw_server_with(r, client, NULL, 0);
}

bool rt_raw_listen(struct rt_raw *r, const struct rt_config *client)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(RAW_PORT) };

	memset(r, 0, sizeof(*r));
	test_clock_hold();
	if (!rt_pair_listen(&r->p, client, NULL, NULL) || !begin(r))
		return false;
	r->p.watch.ours = LOOP_ACTIVE;
	return !fab_listen(r->poller, (struct sockaddr *)&addr, sizeof(addr),
			   request, r, &r->listener);
}

bool rt_raw_server_with(struct rt_raw *r, const struct rt_config *client,
			const void *priv, size_t priv_len)
{
	if (!rt_raw_listen(r, client))
		return false;
	r->priv = priv;
	r->priv_len = priv_len;
	if (!rt_pair_connect_to(&r->p, RAW_PORT))
		return false;
	rt_raw_run(r);
	return r->up;
}

void rt_raw_drop(struct rt_raw *r)
{
	if (!r->fab)
		return;
	if (!r->down)
		fab_disconnect(r->fab, true);
	rt_raw_run(r);
	fab_conn_destroy_deferred(r->fab, NULL, NULL);
	r->fab = NULL;
	rt_raw_run(r);
}

bool rt_raw_again(struct rt_raw *r)
{
	rt_raw_drop(r);
	if (!r->listener)
		return connect_raw(r);
	if (!rt_pair_connect_to(&r->p, RAW_PORT))
		return false;
	rt_raw_run(r);
	return r->up;
}

void rt_raw_close(struct rt_raw *r)
{
	rt_raw_drop(r);
	if (r->listener)
		fab_listener_close(r->listener);
	r->p.raw_poller = NULL;
	fab_poller_run(r->poller, 0);
	fab_poller_destroy(r->poller);
	fab_dereg(r->mr);
	rt_pair_close(&r->p);
	free(r->mem);
	free(r->recvs);
	free(r->send_buf);
}

void rt_raw_run(struct rt_raw *r)
{
	rt_pair_run(&r->p);
}

void rt_raw_nap(struct rt_raw *r)
{
	test_clock_pass(10);
	rt_raw_run(r);
}

uint32_t rt_raw_next(struct rt_raw *r)
{
	struct wire_prefix p;

	if (!rt_raw_more(r))
		return 0;
	if (!wire_prefix_decode(r->msg, r->msg_len, &p))
		return UINT32_MAX;
	return p.htype;
}

bool rt_raw_more(struct rt_raw *r)
{
	struct raw_recv *v;
	struct wire_prefix p;

	if (!r->first)
		rt_raw_run(r);
	v = r->first;
	if (!v)
		return false;
	r->first = v->next;
	if (!r->first)
		r->last = &r->first;
	r->queued--;
	r->received++;
	r->msg_len = v->len;
	memcpy(r->msg, v->buf, v->len);
	r->invalidated = v->invalidated;
	r->inv_handle = v->inv_handle;
	if (!r->down)
		post_recv(r, v);
	r->status = wire_decode(r->msg, r->msg_len, false, &r->m);
	if (!wire_prefix_decode(r->msg, r->msg_len, &p))
		return true;
	if (p.vers == WIRE_VERS1)
		r->status = wire1_decode(r->msg, r->msg_len, &r->m);
	r->limit = p.credit;
	return true;
}

void rt_raw_flush(struct rt_raw *r)
{
	while (rt_raw_next(r))
		;
}

void rt_raw_send(struct rt_raw *r, const void *buf, size_t len)
{
	struct raw_send *s = malloc(sizeof(*s) + len + 1);

	memcpy(s->buf, buf, len);
	s->sge = (struct fab_sge){ s->buf, len, NULL };
	s->wr = (struct fab_wr){ .op = r->send_invalidate ? FAB_SEND_INV :
							    FAB_SEND,
				 .flags = FAB_F_SIGNALED,
				 .handle = r->send_inv_handle,
				 .nsge = 1,
				 .sge = &s->sge,
				 .user = s };
	r->send_invalidate = false;
	r->sent++;
	if (fab_post(r->fab, &s->wr))
		free(s);
	/* What a post completes is seen by polling. */
	ready(r->fab, r);
}

uint32_t rt_raw_credit(const struct rt_raw *r)
{
	return r->received + r->queued + r->credits;
}

struct wire_enc *rt_raw_begin(struct rt_raw *r, uint32_t htype, uint32_t xid)
{
	struct wire_prefix p = { xid, WIRE_VERS2, rt_raw_credit(r), htype };

	wire_enc_init(&r->enc, r->send_buf, RAW_RECV_SIZE);
	wire_put_prefix(&r->enc, &p);
	return &r->enc;
}

void rt_raw_end(struct rt_raw *r)
{
	CU_ASSERT_FALSE_FATAL(r->enc.overflow);
	rt_raw_send(r, r->send_buf, r->enc.len);
}

void rt_raw_connprop(struct rt_raw *r, bool final,
		     const struct wire_prop *props, uint32_t count)
{
	size_t n = wire_encode_connprop(r->send_buf, RAW_RECV_SIZE, 0x7001,
					rt_raw_credit(r), final, props, count);

	rt_raw_send(r, r->send_buf, n);
}

void rt_raw_prop(struct rt_raw *r, bool final, uint32_t which, uint32_t value)
{
	uint32_t v = htonl(value);
	struct wire_prop p = { which, (const uint8_t *)&v, 4 };

	rt_raw_connprop(r, final, &p, 1);
}

void rt_raw_grant(struct rt_raw *r)
{
	rt_raw_begin(r, RDMA2_GRANT, 0);
	rt_raw_end(r);
}

void rt_raw_error(struct rt_raw *r, uint32_t xid, uint32_t code)
{
	wire_put_u32(rt_raw_begin(r, RDMA2_ERROR, xid), code);
	wire_put_u32(&r->enc, 1);
	wire_put_u32(&r->enc, 1);
	rt_raw_end(r);
}

UNIT_UNWATCHED
static void put_call_pattern(uint8_t *to, uint32_t xid, uint32_t len)
{
	for (uint32_t i = 0; i < len; i++)
		to[i] = rt_pair_pattern(xid ^ 0x55, i);
}

size_t rt_raw_payload(uint8_t *buf, uint32_t xid, uint32_t reply_len,
		      uint32_t nitems, uint32_t item_len, uint32_t data_len)
{
	struct wire_enc e;
	uint32_t pos = 8;

	wire_enc_init(&e, buf, (size_t)1 << 30);
	wire_put_u32(&e, xid);
	for (unsigned int i = 1; i < 14; i++)
		wire_put_u32(&e, 0);
	wire_put_u32(&e, reply_len);
	wire_put_u32(&e, nitems);
	for (uint32_t i = 0; i < nitems; i++) {
		wire_put_u32(&e, pos);
		wire_put_u32(&e, item_len);
		pos += ((item_len + 3) & ~3u) + 4;
	}
	wire_put_u32(&e, data_len);
	/* With its roundup; and the sanitizers see that there is room. */
	memset(buf + e.len, 0, (data_len + 3) & ~3u);
	put_call_pattern(buf + e.len, xid, data_len);
	return e.len + ((data_len + 3) & ~3u);
}

void rt_raw_call(struct rt_raw *r, uint32_t xid, const struct wire_call_desc *d,
		 const void *payload, size_t len)
{
	static const struct wire_call_desc none;
	size_t n;

	d = d ? d : &none;
	n = wire_encode_call(r->send_buf, RAW_RECV_SIZE, xid, rt_raw_credit(r),
			     d->ncall, d);
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

void rt_raw_reply(struct rt_raw *r, uint32_t xid,
		  const struct wire_reply_desc *d, const void *payload,
		  size_t len)
{
	static const struct wire_reply_desc none;
	size_t n;

	d = d ? d : &none;
	n = wire_encode_reply(r->send_buf, RAW_RECV_SIZE, xid, rt_raw_credit(r),
			      d->reply, d);
	CU_ASSERT_FATAL(n != 0);
	if (payload) {
		memcpy(r->send_buf + n, payload, len);
		n += len;
	} else if (!d->reply) {
		struct wire_enc e;

		wire_enc_init(&e, r->send_buf + n, 8);
		wire_put_u32(&e, xid);
		wire_put_u32(&e, 1);
		n += 8;
	}
	rt_raw_send(r, r->send_buf, n);
}

void rt_raw_middle(struct rt_raw *r, uint32_t xid, bool reply,
		   uint32_t remaining, const void *payload, size_t len)
{
	size_t n = wire_encode_middle(r->send_buf, RAW_RECV_SIZE, xid,
				      rt_raw_credit(r), reply, remaining);

	memcpy(r->send_buf + n, payload, len);
	rt_raw_send(r, r->send_buf, n + len);
}

struct wire_segment rt_raw_expose(struct rt_raw *r, size_t at, uint32_t len,
				  bool write)
{
	struct wire_segment s = { .length = len };

	CU_ASSERT_EQUAL_FATAL(fab_expose(r->fab, r->mr, r->mem + at, len,
					 write ? FAB_REMOTE_WRITE :
						 FAB_REMOTE_READ,
					 &s.handle, &s.offset),
			      0);
	return s;
}

bool rt_raw_is_error(struct rt_raw *r, uint32_t xid, uint32_t code)
{
	uint32_t htype = rt_raw_next(r);

	if (htype == RDMA2_ERROR && r->status == WIRE_OK && r->m.p.xid == xid &&
	    r->m.error.code == code && !r->invalidated)
		return true;
	fprintf(stderr, "expected ERROR %s of %x, got %s of %x, code %u%s\n",
		wire_errcode_name(code), xid, wire_htype_name(htype),
		r->m.p.xid, r->m.error.code, r->down ? ", closed" : "");
	return false;
}

bool rt_raw_is_reply(struct rt_raw *r, uint32_t xid)
{
	uint32_t htype = rt_raw_next(r);

	if (htype == RDMA2_REPLY_INLINE && r->status == WIRE_OK &&
	    r->m.p.xid == xid)
		return true;
	fprintf(stderr, "expected a Reply of %x, got %s of %x, code %u%s\n",
		xid, wire_htype_name(htype), r->m.p.xid, r->m.error.code,
		r->down ? ", closed" : "");
	return false;
}

bool rt_raw_silent(struct rt_raw *r)
{
	uint32_t htype = rt_raw_next(r);

	if (!htype && !r->down)
		return true;
	fprintf(stderr, "expected nothing, got %s of %x, code %u%s\n",
		wire_htype_name(htype), r->m.p.xid, r->m.error.code,
		r->down ? ", closed" : "");
	return false;
}

bool rt_raw_greet(struct rt_raw *r)
{
	if (!r->listener) {
		rt_raw_connprop(r, true, NULL, 0);
		return rt_raw_next(r) == RDMA2_CONNPROP_FINAL;
	}
	if (rt_raw_next(r) != RDMA2_CONNPROP_FINAL)
		return false;
	rt_raw_connprop(r, true, NULL, 0);
	rt_raw_run(r);
	return r->p.client_up;
}
