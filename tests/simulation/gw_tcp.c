/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_tcp - TCP clients of the gateway
 *
 * Threads: one.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/param.h>

#include "base/be.h"
#include "gw.h"

#define RECORD_MAX (8u << 20)
#define CHUNK 65536

/* ---- Connections ------------------------------------------------------------ */

static struct gws_client *unused(void)
{
	for (unsigned int i = 0; i < GWS_CLIENTS; i++)
		if (!gws.client[i].net)
			return &gws.client[i];
	return NULL;
}

bool gws_connect(struct draw *d)
{
	static const size_t windows[] = { 500, 3000, 20000, 100000, 4u << 20 };
	struct gws_client *c = unused();
	struct sockaddr_in from = { .sin_family = AF_INET };
	unsigned int host = draw_below(d, 3);

	if (!c)
		return false;
	memset(c, 0, sizeof(*c));
	c->index = (unsigned int)(c - gws.client);
	c->serial = ++gws.serials;
	c->reads = true;
	c->port = (uint16_t)(draw_one_in(d, 3) ? 2000 + c->index :
						 700 + c->index);
	from.sin_port = htons(c->port);
	from.sin_addr.s_addr = htonl(0x0a000001 + host);
	c->net = net_connect(&from, DRAW_OF(d, windows));
	c->next_xid = draw_one_in(d, 2) ? 0xfffffff0u : (uint32_t)draw(d);
	rec_init(&c->rec, RECORD_MAX);
	sim_note("tcp", c->index, host, c->net != NULL);
	gws.w->conns += c->net != NULL;
	return c->net;
}

void gws_gone(struct gws_client *c)
{
	sim_note("gone", c->index, c->waiting, c->shut);
	net_free(c->net);
	c->net = NULL;
	sim_free(c->acc);
	c->acc = NULL;
	for (unsigned int i = 0; i < GWS_RPCS; i++)
		if (gws.rpc[i].id && gws.rpc[i].from == c)
			gws.rpc[i].id = 0;
	for (unsigned int i = 0; i < GWS_BACKS; i++)
		if (gws.back[i].at == c) {
			gws.back[i].at = NULL;
			gws.back[i].waits = false;
		}
}

/* ---- What it sends ---------------------------------------------------------- */

static void mark(struct net_conn *n, size_t len, bool last)
{
	uint8_t m[4];

	be32_put(m, (uint32_t)len | (last ? REC_LAST_FRAGMENT : 0));
	net_send(n, m, sizeof(m));
}

/* In fragments of any size. */
static void send_record(struct gws_client *c, const uint8_t *p, size_t len,
			struct draw *d)
{
	unsigned int n = draw_one_in(d, 4) ? draw_below(d, 4) : 0;

	while (n-- && len) {
		size_t here = draw_below(d, (uint32_t)MIN(len, 5000u));

		/* An empty fragment is one. */
		mark(c->net, here, false);
		net_send(c->net, p, here);
		p += here;
		len -= here;
	}
	mark(c->net, len, true);
	net_send(c->net, p, len);
}

static struct gws_rpc *rpc_new(struct gws_client *c)
{
	for (unsigned int i = 0; i < GWS_RPCS; i++) {
		uint64_t id = ++gws.next_id;
		struct gws_rpc *r = &gws.rpc[id % GWS_RPCS];

		if (r->id)
			continue;
		memset(r, 0, sizeof(*r));
		r->id = id;
		r->from = c;
		r->xid = c->next_xid++;
		return r;
	}
	return NULL;
}

static void send_call(struct gws_client *c, struct gws_rpc *r, struct draw *d)
{
	uint8_t *buf = sim_alloc(gws_call_most(r));

	gws_write(r, buf);
	r->copies++;
	send_record(c, buf, r->len, d);
	sim_free(buf);
}

void gws_send(struct gws_client *c, struct draw *d)
{
	struct gws_rpc *r = rpc_new(c);

	if (!r)
		return;
	gws_make(r, d);
	send_call(c, r, d);
	c->waiting++;
	gws.w->rpcs_submitted++;
	sim_note("call", r->id, r->kind, r->len);
}

/* The same Call, though the first may not have been answered. */
void gws_again(struct gws_client *c, struct draw *d)
{
	for (unsigned int i = 0; i < GWS_RPCS; i++) {
		struct gws_rpc *r = &gws.rpc[i];

		if (!r->id || r->from != c || r->copies > 1)
			continue;
		sim_note("again", r->id, r->kind, 0);
		send_call(c, r, d);
		return;
	}
}

/* What no client may send. */
void gws_spoil(struct gws_client *c, struct draw *d)
{
	uint8_t junk[300];
	uint32_t len = draw_below(d, 75) * 4;

	c->spoiled = true;
	gws_pattern(junk, draw(d), sizeof(junk));
	be32_put(junk + 4, draw_below(d, 3));
	if (draw_one_in(d, 2))
		be32_put(junk + 8, 2);
	sim_note("spoil", c->index, len, 0);
	switch (draw_below(d, 5)) {
	case 0:
		len++;
		break;
	case 1:
		len = draw_below(d, 8);
		break;
	case 2:
		mark(c->net, 0x7fffffff, true);
		return;
	case 3:
		/* A record that is never ended. */
		mark(c->net, 100000, true);
		net_send(c->net, junk, 200);
		return;
	}
	mark(c->net, len, true);
	net_send(c->net, junk, len);
}

/* ---- What comes to it ------------------------------------------------------- */

static void wrong(const struct gws_rpc *r, const char *what)
{
	sim_fail(
		"data: %s of Call %llu, kind %u, xid %08x: %zu octets, counts %u and %u, seen as %u and %u",
		what, (unsigned long long)r->id, r->kind, r->xid, r->len,
		r->count[0], r->count[1], r->seen[0], r->seen[1]);
}

static bool must_be_denied(const struct gws_rpc *r)
{
	return r->kind == GWS_DENIED ||
	       (gws.reserved_ports && r->from->port >= 1024 &&
		r->kind != GWS_GSS);
}

/* Made by the gateway itself: no server of the model's does so. */
static bool is_denial(const uint8_t *p, size_t len)
{
	return len >= 20 && be32_get(p + 8) == 1;
}

static bool is_error(const uint8_t *p, size_t len)
{
	return len == 24 && !be32_get(p + 8) && be32_get(p + 20) == 5;
}

static void judge(struct gws_rpc *r, const uint8_t *p, size_t len)
{
	bool denial = is_denial(p, len);
	struct rt_item items[GWS_BULKS];
	unsigned int n;
	uint8_t *want;
	size_t most;

	if (must_be_denied(r)) {
		if (!denial || r->delivered)
			wrong(r, "no denial");
		return;
	}
	if (denial || is_error(p, len)) {
		if (denial != (r->kind == GWS_GSS))
			wrong(r, "the kind of failure");
		if (gws.w->calm && !r->refused)
			sim_fail(
				"calm: Call %llu, kind %u, of %zu octets (%u) fails, delivered %u",
				(unsigned long long)r->id, r->kind, r->len,
				r->count[0], r->delivered);
		return;
	}
	if (!r->delivered)
		wrong(r, "a Reply of nobody's");
	most = gws_reply_most(r);
	want = sim_alloc(most);
	if (gws_reply(r, want, items, &n) != len)
		wrong(r, "the length of the Reply");
	if (memcmp(want, p, len))
		wrong(r, "the Reply");
	sim_free(want);
	gws.w->rpcs_right++;
}

static void on_reply(struct gws_client *c, const uint8_t *p, size_t len)
{
	uint32_t xid = be32_get(p);
	struct gws_rpc *r = NULL;

	for (unsigned int i = 0; i < GWS_RPCS && !r; i++)
		if (gws.rpc[i].id && gws.rpc[i].from == c &&
		    gws.rpc[i].xid == xid)
			r = &gws.rpc[i];
	sim_note("reply", c->index, xid, len);
	if (!r && c->spoiled)
		return;
	if (!r)
		sim_fail("answered: a Reply %08x that nobody waits for", xid);
	judge(r, p, len);
	if (!r->replies++) {
		c->waiting--;
		gws.w->rpcs_done++;
	}
	if (r->replies == r->copies)
		r->id = 0;
}

static void on_back(struct gws_client *c, const uint8_t *p, size_t len)
{
	struct gws_back *b = NULL;
	uint8_t *want;

	if (len >= 44 && be32_get(p + 40) < GWS_BACKS)
		b = &gws.back[be32_get(p + 40)];
	sim_note("back", c->index, be32_get(p), len);
	if (!b || b->xid != be32_get(p) || b->len != len)
		sim_fail("data: a callback that nobody has made");
	if (b->seen)
		sim_fail("answered: a callback comes twice");
	want = sim_alloc(len);
	memcpy(want, b->piece.addr, len);
	if (memcmp(want, p, len))
		sim_fail("data: a callback is another");
	sim_free(want);
	b->seen = true;
	/* Or has its connection ended meanwhile? */
	if (!b->rq)
		return;
	if (b->on->of && b->on->of != c->serial)
		sim_fail("data: a callback comes to another client");
	b->waits = true;
	b->at = c;
}

void gws_answer_back(struct gws_back *b, struct draw *d)
{
	struct gws_client *c = b->at;
	uint8_t *p;

	b->waits = false;
	if (!c || c->shut)
		return;
	b->answered = true;
	p = sim_alloc(b->reply_len);
	gws_pattern(p, ~b->salt, b->reply_len);
	memset(p, 0, 24);
	be32_put(p, b->xid);
	be32_put(p + 4, 1);
	sim_note("answer", c->index, b->xid, b->reply_len);
	send_record(c, p, b->reply_len, d);
	sim_free(p);
}

static void keep(struct gws_client *c, const uint8_t *p, size_t n)
{
	if (c->len + n > c->size) {
		uint8_t *more;

		c->size = 2 * (c->len + n);
		more = sim_alloc(c->size);
		if (c->acc)
			memcpy(more, c->acc, c->len);
		sim_free(c->acc);
		c->acc = more;
	}
	memcpy(c->acc + c->len, p, n);
	c->len += n;
}

static void parse(struct gws_client *c, const uint8_t *p, size_t n)
{
	size_t used;

	for (;;) {
		switch (rec_next(&c->rec, p, n, &used)) {
		case REC_MORE:
			return;
		case REC_MARK:
			break;
		case REC_DATA:
			keep(c, p, used);
			break;
		case REC_END:
			if (c->len < 20)
				sim_fail("data: a record of %zu octets",
					 c->len);
			if (be32_get(c->acc + 4))
				on_reply(c, c->acc, c->len);
			else
				on_back(c, c->acc, c->len);
			c->len = 0;
			break;
		case REC_LONG:
			sim_fail("data: a record without an end");
		}
		p += used;
		n -= used;
	}
}

/* Has the gateway a reason to end it? */
static void judge_end(const struct gws_client *c)
{
	if (!gws.w->calm || gws.stopping || c->spoiled || c->was_reset)
		return;
	/* Of ports that anybody can have only so many have a place. */
	if (gws.reserved_ports && c->port >= 1024)
		return;
	if (!c->shut)
		sim_fail(
			"calm: the gateway ends a client, which waits for %u Replies",
			c->waiting);
	if (c->waiting && !c->had_back)
		sim_fail(
			"calm: the gateway ends a client that sends no more with %u Replies due",
			c->waiting);
}

void gws_take(struct gws_client *c, size_t n)
{
	uint8_t *buf = sim_alloc(CHUNK);

	while (n && net_waiting(c->net)) {
		size_t got = net_take(c->net, buf, MIN(n, (size_t)CHUNK));

		parse(c, buf, got);
		n -= got;
	}
	sim_free(buf);
	if (net_over(c->net)) {
		judge_end(c);
		gws_gone(c);
	}
}
