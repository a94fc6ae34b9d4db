/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connprop - the exchange of transport properties, section 5
 *
 * Each side sends exactly one CONNPROP_FINAL ([A9]). Our values always fit one message,
 * which is a MIDDLE only with host authentication. A received message is validated as a
 * whole before any value of it takes effect (7.2.2); the last value of a property counts
 * ([F2]); zero length means the default ([F1]); unknown properties are ignored (5.1).
 *
 * Context: the runner.
 */
#include <arpa/inet.h>
#include <string.h>
#include <sys/param.h>

#include "transport/message/message.h"

/*
 * The properties of 5.2 that are numbers, in the order of the message:
 *
 * 	X(ID, member, setting, default, min, max)
 *
 * This end announces the setting as RDMA2_PROPID_ID. A peer that announces nothing has
 * the default. A value below min counts as min, and one beyond max as the default.
 *
 * SBSIZ is information only (5.2.1), so any value is accepted [A13]. A smaller RBSIZ than
 * min is not believed: each Receive must hold a first message (4.3) [A13]. Only a client
 * announces BRS (5.2.5), and a level that is unknown here cannot be relied on [F4].
 */
#define PROPERTIES(X)                                                   \
	X(SBSIZ, send_size, cfg->send_size, 0, 0, UINT32_MAX)           \
	X(RBSIZ, recv_size, cfg->recv_size, WIRE_DEFAULT_INLINE,        \
	  WIRE_FIRST_MESSAGE_MAX, UINT32_MAX)                           \
	X(RSSIZ, segment_size, cfg->max_segment_size,                   \
	  WIRE_DEFAULT_SEGMENT_SIZE, 0, UINT32_MAX)                     \
	X(RCSIZ, segments, cfg->max_segments, WIRE_DEFAULT_SEGMENTS, 0, \
	  UINT32_MAX)                                                   \
	X(BRS, reverse, c->server ? RDMA2_RVRSDIR_NONE : cfg->reverse,  \
	  RDMA2_RVRSDIR_NONE, 0, RDMA2_RVRSDIR_GENL)

static const struct rt_properties defaults = {
#define DEFAULT(id, member, setting, dflt, min, max) .member = (dflt),
	PROPERTIES(DEFAULT)
#undef DEFAULT
};

void rt_connprop_threshold(struct rt_conn *c)
{
	uint32_t n = c->inst->cfg.send_size;

	rt_assert_strand(c);
	n = MIN(n, c->theirs.recv_size);
	if (c->send_limit && n > c->send_limit)
		n = c->send_limit;
	c->send_threshold = n & ~(uint32_t)3;
	c->recv_threshold = c->ours.recv_size & ~(uint32_t)3;
	c->props_generation++;
	rt_receives_size(c, c->ours.recv_size);
	RT_EACH_EXT(c, thresholds_changed, c);
}

void rt_connprop_init(struct rt_conn *c)
{
	const struct rt_config *cfg = &c->inst->cfg;

	rt_assert_strand(c);
	c->theirs = defaults;
	c->ours = (struct rt_properties){
#define SETTING(id, member, setting, dflt, min, max) .member = (setting),
		PROPERTIES(SETTING)
#undef SETTING
	};
	rt_connprop_threshold(c);
}

/* Returns the octets of the longest CONNPROP message: 4.3 limits a client's first
 * message, otherwise 6.3.3 and the peer's Receives do. */
static size_t max_message_len(const struct rt_conn *c)
{
	size_t n = WIRE_DEFAULT_INLINE;

	if (!c->first_sent)
		n = WIRE_FIRST_MESSAGE_MAX;
	n = MIN(n, c->theirs.recv_size);
	return n & ~(size_t)3;
}

/* Prefix and count; identifier and length of a property; the same and inner
 * length of HOSTAUTH. */
#define HEAD_OCTETS 20
#define PROP_OCTETS 8
#define AUTH_OCTETS 12

unsigned int rt_ext_props(struct rt_conn *c, const struct rt_ext *except,
			  struct wire_prop *props, uint8_t values[RT_EXT_ROOM])
{
	unsigned int n = 0;
	size_t at = 0;

	rt_assert_strand(c);
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++) {
		unsigned int had = n;

		if (*x == except || !(*x)->props)
			continue;
		n += (*x)->props(c, &props[n], values + at, RT_EXT_ROOM - at);
		for (unsigned int i = had; i < n; i++)
			at += rt_round4(props[i].len);
	}
	return n;
}

static size_t encode_connprop(struct rt_conn *c, void *buf, bool final)
{
	const struct {
		uint32_t which, value;
	} rows[] = {
#define ROW(id, member, setting, dflt, min, max) \
	{ RDMA2_PROPID_##id, htonl(c->ours.member) },
		PROPERTIES(ROW)
#undef ROW
	};
	const size_t nrows = sizeof(rows) / sizeof(rows[0]);
	struct wire_prop
		props[sizeof(rows) / sizeof(rows[0]) + 1 + RT_EXT_PROPS];
	uint8_t auth[WIRE_DEFAULT_INLINE], values[RT_EXT_ROOM];
	const uint8_t *part = NULL;
	uint32_t n = 0, inner;
	size_t len = 0, room;

	for (size_t i = 0; i < nrows && !c->values_sent; i++) {
		/* Only a client announces it (5.2.5). */
		if (rows[i].which == RDMA2_PROPID_BRS && !rows[i].value)
			continue;
		props[n].which = rows[i].which;
		props[n].data = (const uint8_t *)&rows[i].value;
		props[n].len = 4;
		n++;
	}
	if (!c->values_sent)
		n += rt_ext_props(c, NULL, &props[n], values);
	room = max_message_len(c) - HEAD_OCTETS - AUTH_OCTETS;
	for (uint32_t i = 0; i < n; i++)
		room -= PROP_OCTETS + rt_round4(props[i].len);
	c->values_sent = true;
	for (const struct rt_ext *const *x = c->inst->exts; *x && !final; x++)
		if ((*x)->token_part)
			len = (*x)->token_part(c, room, &part);
	if (len) {
		inner = htonl((uint32_t)len);
		memcpy(auth, &inner, 4);
		memcpy(auth + 4, part, len);
		props[n].which = RDMA2_PROPID_HOSTAUTH;
		props[n].data = auth;
		props[n].len = (uint32_t)len + 4;
		n++;
	}
	return wire_encode_connprop(buf, max_message_len(c), rt_xid_props(c),
				    c->v->credit_word(c, RT_OUT_CONTROL), final,
				    props, n);
}

bool rt_connprop_post(struct rt_conn *c)
{
	struct rt_work *w = rt_send_get(c);
	bool final = !c->token_due;
	size_t n;

	rt_assert_strand(c);
	if (!w)
		return false;
	n = encode_connprop(c, w->buf->addr, final);
	rt_send_work(c, w, n);
	if (final) {
		c->props_due = false;
		c->props_sent = true;
	} else {
		RT_EACH_EXT(c, token_part_sent, c);
	}
	return true;
}

void rt_connprop_refused(struct rt_conn *c)
{
	rt_assert_strand(c);
	rt_log(c, LOG_WARNING, "the peer refused our properties");
	/* The peer assumes the defaults, and knows nothing of our extensions [F2]. */
	RT_EACH_EXT(c, props_refused, c);
}

/* Returns the value of @v, see PROPERTIES. Zero length undoes an announcement. */
static uint32_t value_of(const struct wire_prop *v, uint32_t dflt, uint32_t min,
			 uint32_t max)
{
	uint32_t n = wire_prop_u32(v, dflt);

	return n > max ? dflt : MAX(n, min);
}

static void apply_prop(struct rt_properties *p, const struct wire_prop *v)
{
	switch (v->which) {
#define TAKE(id, member, setting, dflt, min, max)              \
	case RDMA2_PROPID_##id:                                \
		p->member = value_of(v, (dflt), (min), (max)); \
		break;
		PROPERTIES(TAKE)
#undef TAKE
	default:
		break;
	}
}

static bool read_value(struct rt_conn *c, struct rt_properties *next,
		       const struct wire_prop *v)
{
	apply_prop(next, v);
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if ((*x)->read_prop && !(*x)->read_prop(c, next, v))
			return false;
	return true;
}

bool rt_values_read(struct rt_conn *c, const struct wire_list *props,
		    struct rt_properties *next)
{
	struct wire_iter it = { 0 };
	struct wire_prop v;

	rt_assert_strand(c);
	*next = c->theirs;
	RT_EACH_EXT(c, read_begin, c);
	while (wire_prop_next(props, &it, &v))
		if (!read_value(c, next, &v))
			return false;
	return true;
}

void rt_values_set_recv_size(struct rt_conn *c, uint32_t size)
{
	uint32_t value = htonl(size);
	struct rt_properties next = c->theirs;
	struct wire_prop v = { RDMA2_PROPID_RBSIZ, (const uint8_t *)&value, 4 };

	rt_assert_strand(c);
	RT_EACH_EXT(c, read_begin, c);
	if (read_value(c, &next, &v))
		rt_values_take(c, &next);
}

static bool same_props(const struct rt_properties *a,
		       const struct rt_properties *b)
{
#define SAME(id, member, setting, dflt, min, max) a->member == b->member &&
	return PROPERTIES(SAME) a->xchar == b->xchar &&
	       a->invalidate == b->invalidate;
#undef SAME
}

bool rt_values_change(const struct rt_conn *c, const struct rt_properties *next)
{
	rt_assert_strand(c);
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if ((*x)->props_changed && (*x)->props_changed(c))
			return true;
	return !same_props(next, &c->theirs);
}

void rt_values_take(struct rt_conn *c, struct rt_properties *next)
{
	rt_assert_strand(c);
	RT_EACH_EXT(c, props_applied, c, next);
	c->theirs = *next;
}

enum wire_status rt_connprop_receive(struct rt_conn *c,
				     const struct wire_msg *m)
{
	struct rt_properties next;

	rt_assert_strand(c);
	if (!rt_values_read(c, &m->props, &next))
		return WIRE_BAD_PROPVAL;
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if ((*x)->props_allowed && !(*x)->props_allowed(c, &next))
			return WIRE_OK;
	next.complete = m->p.htype == RDMA2_CONNPROP_FINAL;
	rt_values_take(c, &next);
	rt_connprop_threshold(c);
	if (next.complete) {
		c->msg.props_open = false;
		RT_EACH_EXT(c, props_complete, c);
		rt_log(c, LOG_INFO,
		       "version 2, peer receives %u, sends %u, "
		       "segments %u of %u, reverse direction %u",
		       next.recv_size, next.send_size, next.segments,
		       next.segment_size, next.reverse);
	}
	RT_EACH_EXT(c, connprop_received, c, m);
	if (next.complete && !c->gate && c->state < RT_CLOSING)
		rt_conn_notify_established(c);
	return WIRE_OK;
}
