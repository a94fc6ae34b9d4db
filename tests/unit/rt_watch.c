/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/timers.h"
#include "rt_watch.h"
#include "rpcrdma/xchar.h"

static void fault(struct rt_watch *w, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

static void fault(struct rt_watch *w, const char *fmt, ...)
{
	va_list ap;

	if (w->faults++)
		return;
	va_start(ap, fmt);
	vsnprintf(w->first, sizeof(w->first), fmt, ap);
	va_end(ap);
	if (!w->quiet)
		fprintf(stderr, "watch: %s\n", w->first);
}

static struct rt_watch_end *find(struct rt_watch *w, const struct fab_conn *c,
				 bool active)
{
	struct rt_watch_end *e = &w->end[0];

	for (unsigned int i = 0; i < w->nends; i++) {
		if (w->end[i].conn == c) {
			w->end[i].stamp = ++w->stamp;
			return &w->end[i];
		}
		if (w->end[i].stamp < e->stamp)
			e = &w->end[i];
	}
	/* The one not heard of for longest makes room. */
	if (w->nends < WATCH_ENDS)
		e = &w->end[w->nends++];
	memset(e, 0, sizeof(*e));
	e->conn = c;
	e->active = active;
	e->limit = 1;
	e->granted = 1;
	e->stamp = ++w->stamp;
	return e;
}

/* A new connection may have the address of an old one. */
static void forget(struct rt_watch *w, const struct fab_conn *c)
{
	for (unsigned int i = 0; i < w->nends; i++)
		if (w->end[i].conn == c)
			w->end[i].conn = NULL;
}

static bool ours(const struct rt_watch *w, const struct rt_watch_end *e)
{
	return w->ours & (e->active ? LOOP_ACTIVE : LOOP_PASSIVE);
}

static void look_at_credits(struct rt_watch *w, struct rt_watch_end *from,
			    const struct rt_watch_end *to,
			    const struct wire_prefix *p)
{
	/* @from->sent counts this one already. */
	int32_t over = (int32_t)(from->sent - to->limit);
	bool grant = p->htype == RDMA2_GRANT;

	if (over > (grant ? 1 : 0))
		fault(w, "%s number %u, the limit is %u",
		      wire_htype_name(p->htype), from->sent, to->limit);
	if (grant && !to->sent)
		fault(w, "a GRANT before the peer's first message");
	if (from->answers > 1 && (int32_t)(p->credit - from->limit) < 0)
		fault(w, "limit taken back from %u to %u", from->limit,
		      p->credit);
	if (grant && over == 1 && p->credit == from->limit)
		fault(w, "a GRANT of nothing beyond the limit");
}

/* The stream begins with the XID, so the rest of another one does not. */
static void look_at_start(struct rt_watch *w, const struct wire_msg *m)
{
	const uint8_t *p = m->payload;

	if (m->payload_len < 4)
		return;
	if (m->p.xid != ((uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
			 (uint32_t)p[2] << 8 | p[3]))
		fault(w, "%s of %u begins in the middle",
		      wire_htype_name(m->p.htype), m->p.xid);
}

static void look_at_order(struct rt_watch *w, struct rt_watch_end *e,
			  const struct wire_msg *m)
{
	bool call = m->p.htype == RDMA2_CALL_MIDDLE ||
		    m->p.htype == RDMA2_CALL_INLINE;
	bool middle = m->p.htype == RDMA2_CALL_MIDDLE ||
		      m->p.htype == RDMA2_REPLY_MIDDLE;
	bool last = m->p.htype == RDMA2_CALL_INLINE ||
		    m->p.htype == RDMA2_REPLY_INLINE;

	if (m->p.htype == RDMA2_ERROR && e->sequence && e->call &&
	    m->p.xid == e->xid)
		/* About the Reply to what is not here as a whole: that ends. */
		e->sequence = false;
	if (m->p.htype == RDMA2_ERROR && (e->sequence || e->group) &&
	    !e->refused)
		fault(w, "an ERROR about %u inside the fragments of %u",
		      m->p.xid, e->sequence ? e->xid : e->group_xid);
	if (m->p.htype == RDMA2_GRANT || m->p.htype == RDMA2_ERROR)
		return;
	if (e->group && !e->refused)
		fault(w, "%s of %u inside the group of %u",
		      wire_htype_name(m->p.htype), m->p.xid, e->group_xid);
	e->group = false;
	if (e->sequence && e->refused && m->p.xid != e->xid)
		e->sequence = false;
	if (e->sequence) {
		if (m->p.xid != e->xid || !(middle || last) || call != e->call)
			fault(w, "%s of %u inside the fragments of %u",
			      wire_htype_name(m->p.htype), m->p.xid, e->xid);
		else if (m->payload_len + (middle ? m->remaining : 0) !=
			 e->remaining)
			fault(w, "rdma_remaining was %u, is %u, %zu octets",
			      e->remaining, m->remaining, m->payload_len);
	} else {
		e->refused = false;
		if (middle || last)
			look_at_start(w, m);
	}
	if (middle && (m->payload_len % 4 || !m->remaining))
		fault(w, "a fragment of %zu octets, %u remain", m->payload_len,
		      m->remaining);
	e->sequence = middle;
	e->call = call;
	e->xid = m->p.xid;
	e->remaining = m->remaining;
}

/* What the properties of a message say about xcharext. */
static void note_support(struct rt_watch_end *e, const struct wire_msg *m)
{
	struct wire_iter it = { 0 };
	struct wire_prop p;

	while (wire_prop_next(&m->props, &it, &p))
		if (p.which == RDMA2_PROPID_X_XCHSUPP)
			e->xchar |= wire_prop_u32(&p, 0);
	e->final |= m->p.htype == RDMA2_CONNPROP_FINAL;
}

/* xcharext: only what the other end takes, and not before both FINALs [M2];
 * INITXCH once [X5]; one REQXCH at a time [X7]; not between fragments [M5]. */
static void look_at_xchar(struct rt_watch *w, struct rt_watch_end *from,
			  struct rt_watch_end *to, const struct loop_event *ev)
{
	struct wire_xchar x;
	enum wire_status st = wire_xchar_decode(ev->data, ev->len, &x);
	uint32_t nth = x.p.htype - RDMA2_X_INITXCH;

	if (st != WIRE_OK || x.surplus)
		fault(w, "a malformed %s", wire_htype_name(x.p.htype));
	if (!from->final || !to->final)
		fault(w, "%s before both CONNPROP_FINALs",
		      wire_htype_name(x.p.htype));
	if (!(to->xchar >> nth & 1))
		fault(w, "%s, which the peer does not take",
		      wire_htype_name(x.p.htype));
	if (from->sequence)
		fault(w, "%s inside the fragments of %u",
		      wire_htype_name(x.p.htype), from->xid);
	if (x.p.htype == RDMA2_X_INITXCH &&
	    (from->xcount[WATCH_INITXCH] > 1 || ev->len > 4096))
		fault(w, "INITXCH number %u, %zu octets",
		      from->xcount[WATCH_INITXCH], ev->len);
	if (ev->kind == LOOP_EV_SEND_INV)
		fault(w, "%s with invalidate", wire_htype_name(x.p.htype));
}

/* ---- rtrext ----------------------------------------------------------- */

static bool is_xmt(uint32_t htype)
{
	return htype == RDMA2_X_XMTREQ || htype == RDMA2_X_XMTRESP ||
	       htype == RDMA2_X_XMTCONT || htype == RDMA2_X_REPTERR;
}

/* X_RBSTRUCT: where the target segments are. */
static void look_at_structure(struct rt_watch_end *e,
			      const struct loop_event *ev)
{
	struct wire_iter it = { 0 }, jt = { 0 };
	struct wire_rbstruct b;
	struct wire_rbgroup g;
	struct wire_xchar x;
	struct wire_prop v;
	struct wire_msg m;
	uint32_t at = 0;

	/* A message may be under way that was made for what it was. */
	if (wire_xchar_decode(ev->data, ev->len, &x) == WIRE_OK)
		while (wire_prop_next(&x.props, &it, &v))
			e->moved |= v.which == RDMA2_PROPID_X_RBSTRUCT;
	if (wire_decode(ev->data, ev->len, false, &m) != WIRE_OK)
		return;
	while (wire_prop_next(&m.props, &it, &v)) {
		if (v.which != RDMA2_PROPID_X_RBSTRUCT ||
		    !wire_rbstruct_decode(v.data, v.len, &b))
			continue;
		e->targets = 0;
		while (wire_rbgroup_next(&b.groups, &jt, &g)) {
			for (uint32_t i = 0;
			     (g.flags & XMRSFLAG_PLT) && i < g.count &&
			     e->targets < WATCH_TARGETS;
			     i++) {
				e->target_at[e->targets] = at + i * g.length;
				e->target_len[e->targets++] = g.length;
			}
			at += g.count * g.length;
		}
	}
}

/* Mark what of transmission @x is of an item. */
static void mark_items(const struct wire_xmt *m, const struct rt_watch_end *to,
		       uint32_t x, uint8_t *mark, size_t len)
{
	struct wire_iter it = { 0 };
	struct wire_xitem item;

	while (to->targets && wire_xitem_next(&m->items, &it, &item)) {
		uint32_t left = item.length, skip = item.offset;

		for (uint32_t i = 0; i < item.nbsnum; i++) {
			uint32_t k = wire_bsnum(&item, i);
			uint32_t n = to->target_len[k % to->targets] - skip;
			size_t at = to->target_at[k % to->targets] + skip;

			if (n > left)
				n = left;
			if (k / to->targets == x && at + n <= len)
				memset(mark + at, 1, n);
			left -= n;
			skip = 0;
		}
	}
}

/* Is it an error about that group, or one that it led to? */
static bool refuses(const struct loop_event *ev, uint32_t xid)
{
	struct wire_prefix p;
	struct wire_repterr r;
	struct wire_error e;

	if (wire_error_decode(ev->data, ev->len, &e) &&
	    wire_prefix_decode(ev->data, ev->len, &p))
		return p.xid == xid;
	return wire_repterr_decode(ev->data, ev->len, &r) == WIRE_OK &&
	       (r.bad.xid == xid || (r.has_lead && r.lead.xid == xid));
}

static void look_at_xmt(struct rt_watch *w, struct rt_watch_end *e,
			const struct rt_watch_end *to,
			const struct loop_event *ev)
{
	struct wire_repterr r;
	struct wire_xmt m, head;
	uint32_t x = 0;

	if (wire_repterr_decode(ev->data, ev->len, &r) == WIRE_OK)
		return;
	if (wire_xmt_decode(ev->data, ev->len, &m) != WIRE_OK) {
		fault(w, "a malformed message of rtrext");
		return;
	}
	if (e->sequence && !e->refused)
		fault(w, "%s inside fragments", wire_htype_name(m.p.htype));
	if (m.p.htype == RDMA2_X_XMTCONT) {
		x = m.xnum;
		if (!e->group || m.p.xid != e->group_xid ||
		    m.xnum != e->group_next)
			fault(w, "XMTCONT %u of %u", m.xnum, m.p.xid);
	} else {
		if (e->group && !e->refused)
			fault(w, "%s of %u inside the group of %u",
			      wire_htype_name(m.p.htype), m.p.xid,
			      e->group_xid);
		e->refused = false;
		e->group_xid = m.p.xid;
		e->group_count = m.count;
		e->group_next = 0;
		e->group_len = m.header_len < sizeof(e->group_head) ?
				       m.header_len :
				       sizeof(e->group_head);
		memcpy(e->group_head, ev->data, e->group_len);
	}
	e->group = ++e->group_next < e->group_count;
	if (m.pslen > ev->len - m.header_len || ev->len > sizeof(w->mark)) {
		fault(w, "a payload of %u octets", m.pslen);
		return;
	}
	if (wire_xmt_decode(e->group_head, e->group_len, &head) != WIRE_OK ||
	    to->moved)
		return;
	memset(w->mark, 0, ev->len);
	mark_items(&head, to, x, w->mark, ev->len);
	for (size_t at = m.header_len + m.pslen; at < ev->len; at++) {
		if (w->mark[at])
			continue;
		e->padding++;
		if (((const uint8_t *)ev->data)[at]) {
			fault(w, "octet %zu of the padding of %u", at, m.p.xid);
			break;
		}
	}
}

/* Errors that carry the version of the message that they refuse. */
static bool about_versions(const struct loop_event *ev)
{
	struct wire_error err;

	return wire_error_decode(ev->data, ev->len, &err) &&
	       (err.code == RDMA2_ERR_VERS ||
		err.code == RDMA2_ERR_VERS_MISMATCH);
}

/* One version, but for the fall-back of a client. */
static void look_at_version(struct rt_watch *w, struct rt_watch_end *from,
			    const struct rt_watch_end *to, uint32_t vers)
{
	bool falls = from->active && to->refuses && from->vers == WIRE_VERS2 &&
		     vers == WIRE_VERS1;

	if (ours(w, from) && from->vers && from->vers != vers && !falls)
		fault(w, "version %u after version %u", vers, from->vers);
	from->vers = vers;
}

/* Of version 1: which Calls of @e have no answer yet. */
static void called(struct rt_watch_end *e, uint32_t xid)
{
	if (e->listed < WATCH_CALLS)
		e->out_xid[e->listed++] = xid;
	e->out++;
}

static void answered(struct rt_watch_end *e, uint32_t xid)
{
	uint32_t i = 0;

	while (i < e->listed && e->out_xid[i] != xid)
		i++;
	if (i < e->listed)
		e->out_xid[i] = e->out_xid[--e->listed];
	else if (e->out == e->listed)
		return;
	/* Or else maybe one that the list had no room for. */
	e->out--;
}

static void version1(struct rt_watch *w, struct rt_watch_end *from,
		     struct rt_watch_end *to, const struct loop_event *ev)
{
	uint32_t room =
		from->granted > from->calls ? from->granted - from->calls : 0;
	struct wire_msg m;
	enum wire_status st = wire1_decode(ev->data, ev->len, &m);

	/* What may come at this moment; a peer beyond its grant uses it up. */
	if (ours(w, to) && room && ev->recvs_posted < room + to->calls)
		fault(w, "%zu Receives for %u Calls and %u Replies",
		      ev->recvs_posted, room, to->calls);
	if (ours(w, from)) {
		if (st != WIRE_OK)
			fault(w, "a malformed %s", wire1_proc_name(m.p.htype));
		if (!m.p.credit)
			fault(w, "%s without credits",
			      wire1_proc_name(m.p.htype));
		if (m.role == WIRE_CALL && from->out >= from->granted &&
		    !w->late)
			fault(w, "%u Calls outstanding, %u granted",
			      from->out + 1, from->granted);
		if ((m.role == WIRE_CALL) == !from->active &&
		    m.role != WIRE_CONTROL &&
		    (m.reads.count || m.call.count || m.writes.count ||
		     m.has_reply))
			fault(w, "chunks in the reverse direction");
	}
	if (m.role == WIRE_CALL) {
		called(from, m.p.xid);
		from->calls++;
	} else {
		answered(to, m.p.xid);
		/* Whatever it answers, it uses up a Receive. */
		to->calls -= to->calls > 0;
	}
	if (m.role == WIRE_REPLY && st == WIRE_OK && m.p.credit)
		to->granted = m.p.credit;
}

static void message(struct rt_watch *w, const struct loop_event *ev)
{
	struct rt_watch_end *from = find(w, ev->from, ev->from_active);
	struct rt_watch_end *to = find(w, ev->to, !ev->from_active);
	struct wire_prefix p;
	struct wire_msg m;
	bool whole, vers_error, more;

	from->sent++;
	from->with_invalidate += ev->kind == LOOP_EV_SEND_INV;
	whole = wire_prefix_decode(ev->data, ev->len, &p);
	/* Whatever has a header and follows its first of version 2 shows that
	 * a client was told a limit: it may send one without. */
	if (whole && (from->sent2 || p.vers == WIRE_VERS2))
		from->sent2++;
	if (whole && p.vers == WIRE_VERS1 && !about_versions(ev)) {
		/* [B1] */
		from->refuses |= p.htype == RDMA1_ERROR &&
				 to->vers == WIRE_VERS2;
		look_at_version(w, from, to, p.vers);
		version1(w, from, to, ev);
		return;
	}
	if (ours(w, to) &&
	    /* Two more than it has told; one before it has told anything. */
	    (int32_t)(ev->recvs_posted - (to->limit - (from->sent - 1) + 1 +
					  (to->answers > 0))) < 0 &&
	    /* A peer beyond its limit uses up what is there. */
	    (int32_t)(to->limit - (from->sent - 1)) >= 0)
		fault(w, "%zu Receives, limit %u, %u received",
		      ev->recvs_posted, to->limit, from->sent - 1);
	if (!whole) {
		if (ours(w, from))
			fault(w, "a message of %zu octets", ev->len);
		return;
	}
	if (p.htype < 16)
		from->count[p.htype]++;
	else
		from->xcount[p.htype % 16]++;
	look_at_structure(from, ev);
	vers_error = about_versions(ev);
	from->refuses |= vers_error;
	/* One amid a conversation is an answer like another. */
	if (vers_error)
		answered(to, p.xid);
	if (!vers_error)
		look_at_version(w, from, to, p.vers);
	if (!vers_error && !from->answers++) {
		from->first_htype = p.htype;
		from->first_xid = p.xid;
		if (ours(w, from) && from->active &&
		    (ev->len < 32 || ev->len > 1024))
			fault(w, "a first message of %zu octets", ev->len);
	}
	if ((p.htype == RDMA2_CONNPROP_MIDDLE ||
	     p.htype == RDMA2_CONNPROP_FINAL) &&
	    wire_decode(ev->data, ev->len, false, &m) == WIRE_OK)
		note_support(from, &m);
	if (ours(w, from) && !vers_error) {
		look_at_credits(w, from, to, &p);
		if (p.htype >= RDMA2_X_INITXCH && p.htype <= RDMA2_X_UPDXCH)
			look_at_xchar(w, from, to, ev);
		else if (is_xmt(p.htype))
			look_at_xmt(w, from, to, ev);
		else if (wire_decode(ev->data, ev->len, !from->sequence, &m) !=
			 WIRE_OK)
			fault(w, "a malformed %s", wire_htype_name(p.htype));
		else
			look_at_order(w, from, &m);
		if (!from->active && !to->sent)
			fault(w, "a message before the client's first");
		more = (from->first_htype == RDMA2_REPLY_MIDDLE ||
			from->first_htype == RDMA2_CONNPROP_MIDDLE) &&
		       p.xid == from->first_xid;
		if (from->answers == 1 || more)
			from->answered = base_now_ms();
		/* Its properties, when nothing else has come for a second. */
		if (!from->active && from->answers > 1 && to->sent2 < 2 &&
		    !more &&
		    (p.htype != RDMA2_CONNPROP_FINAL ||
		     base_now_ms() - from->answered < 1000))
			fault(w, "%s before the client's second message",
			      wire_htype_name(p.htype));
	}
	/* A message is sent to its end even if it is refused [D3], but for a Call
	 * whose header types are not known (7.1.3). */
	if (p.htype == RDMA2_ERROR && p.vers == WIRE_VERS2 && to->sequence &&
	    to->call && wire_decode(ev->data, ev->len, true, &m) == WIRE_OK &&
	    m.error.code == RDMA2_ERR_INVAL_HTYPE)
		to->refused = true;
	if (to->group && refuses(ev, to->group_xid))
		to->refused = true;
	if (p.vers == WIRE_VERS2 || ours(w, from))
		from->limit = p.credit;
}

void rt_watch_event(struct rt_watch *w, const struct loop_event *ev)
{
	if (ev->kind == LOOP_EV_SEND || ev->kind == LOOP_EV_SEND_INV)
		message(w, ev);
	if (ev->kind == LOOP_EV_CONNECT || ev->kind == LOOP_EV_ACCEPT) {
		forget(w, ev->from);
		if (ev->to)
			forget(w, ev->to);
	}
}

static void observe(void *ctx, const struct loop_event *ev)
{
	rt_watch_event(ctx, ev);
}

void rt_watch_start(struct rt_watch *w, struct fab_domain *dom,
		    unsigned int which)
{
	memset(w, 0, sizeof(*w));
	w->ours = which;
	loop_set_observer(dom, observe, w);
}
