/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"
#include "test_clock.h"
#include "transport_upper.h"

/* ---- What comes --------------------------------------------------------- */

static void note_call(struct fuzz_offer *o, const struct wire_msg *m)
{
	struct wire_iter it = { 0 };
	struct wire_list chunk;
	unsigned int n = 0;

	memset(o, 0, sizeof(*o));
	o->xid = m->p.xid;
	while (o->nwrites < FUZZ_CHUNKS &&
	       wire_chunk_next(&m->writes, &it, &chunk)) {
		struct wire_iter s = { 0 };
		struct wire_chunk_desc *d = &o->writes[o->nwrites++];

		d->seg = o->seg + n;
		while (n < FUZZ_SEGS &&
		       wire_segment_next(&chunk, &s, &o->seg[n])) {
			n++;
			d->count++;
		}
	}
	it = (struct wire_iter){ 0 };
	o->reply.seg = o->seg + n;
	o->has_reply = m->has_reply;
	while (n < FUZZ_SEGS && wire_segment_next(&m->reply, &it, &o->seg[n])) {
		n++;
		o->reply.count++;
	}
	it = (struct wire_iter){ 0 };
	while (o->nreads < FUZZ_SEGS &&
	       wire_read_next(&m->reads, &it, &o->reads[o->nreads]))
		o->nreads++;
	it = (struct wire_iter){ 0 };
	while (o->nreads < FUZZ_SEGS &&
	       wire_read_next(&m->call, &it, &o->reads[o->nreads]))
		o->nreads++;
}

static void take_messages(struct fuzz_peer *f, unsigned int n)
{
	struct wire_prefix p;

	while (n-- && rt_raw_more(&f->r)) {
		if (f->r.status == WIRE_OK && f->r.m.role == WIRE_CALL)
			note_call(&f->offer, &f->r.m);
		if (wire_prefix_decode(f->r.msg, f->r.msg_len, &p) &&
		    p.htype == RDMA2_X_REQXCH)
			f->asked = p.xid;
	}
}

/* ---- What goes ---------------------------------------------------------- */

static struct wire_segment segment(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	struct wire_segment s = f->open[k % FUZZ_OPEN];

	if (k & 0x80)
		s.length = k & 0x40 ? fuzz_u32(in) : fuzz_u8(in) * 16u;
	if (k & 0x20)
		s.offset += fuzz_u16(in);
	if (k & 0x10)
		s.handle ^= fuzz_u8(in);
	return s;
}

struct lists {
	struct wire_read_segment call[4], reads[8];
	struct wire_segment seg[FUZZ_SEGS];
	struct wire_chunk_desc writes[FUZZ_CHUNKS], reply;
	unsigned int ncall, nreads, nwrites, nseg;
	bool has_reply;
};

static void chunk(struct fuzz_peer *f, struct fuzz_in *in, struct lists *l,
		  struct wire_chunk_desc *d)
{
	unsigned int n = fuzz_u8(in) % 5;

	d->seg = l->seg + l->nseg;
	for (d->count = 0; d->count < n && l->nseg < FUZZ_SEGS; d->count++)
		l->seg[l->nseg++] = segment(f, in);
}

static void make_lists(struct fuzz_peer *f, struct fuzz_in *in, struct lists *l)
{
	uint8_t k = fuzz_u8(in);
	uint32_t pos = 0;

	memset(l, 0, sizeof(*l));
	for (unsigned int i = 0; i < (k & 3u); i++) {
		uint8_t step = fuzz_u8(in);

		pos += step == 255 ? fuzz_u32(in) : step * 4u;
		l->reads[l->nreads++] =
			(struct wire_read_segment){ pos, segment(f, in) };
		if (step == 254)
			l->reads[l->nreads++] =
				(struct wire_read_segment){ pos,
							    segment(f, in) };
	}
	for (unsigned int i = 0; i < (k >> 2 & 3u); i++)
		chunk(f, in, l, &l->writes[l->nwrites++]);
	l->has_reply = k >> 4 & 1;
	if (l->has_reply)
		chunk(f, in, l, &l->reply);
	for (unsigned int i = 0; i < (k >> 5 & 3u); i++)
		l->call[l->ncall++] =
			(struct wire_read_segment){ k & 0x80 ? fuzz_u8(in) : 0,
						    segment(f, in) };
}

/* An rdma_credit: mostly as it ought to be. */
static uint32_t credit(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);

	if (f->vers == WIRE_VERS1)
		return k;
	return k == 255 ? fuzz_u32(in) :
			  rt_raw_credit(&f->r) + (k > 127 ? k - 256u : 0);
}

static uint32_t pick_xid(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);

	if (k < 0x80)
		return ++f->xid;
	if (k < 0xc0)
		return f->xid;
	return k < 0xf0 ? f->offer.xid : fuzz_u32(in);
}

/* Payload behind a header of @n octets: the XID, a word, and zeros, or what the input
 * has. */
static size_t payload(struct fuzz_peer *f, struct fuzz_in *in, size_t n,
		      uint32_t xid, bool call)
{
	uint8_t *p = f->r.send_buf + n, k = fuzz_u8(in);
	size_t len = k < 0xf0 ? k * 4u : k * 16u;

	if (k == 1)
		len = fuzz_u8(in);
	if (len > RAW_RECV_SIZE - n)
		len = RAW_RECV_SIZE - n;
	memset(p, 0, len);
	if (k == 2) {
		const uint8_t *from = fuzz_take(in, fuzz_u8(in), &len);

		memcpy(p, from, len);
	}
	if (len >= 8) {
		fuzz_put32(p, xid);
		fuzz_put32(p + 4, !call);
	}
	return n + len;
}

static void send_call(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	uint32_t xid = pick_xid(f, in), c = credit(f, in);
	bool external = k & 1;
	struct wire_call_desc d = { 0 };
	struct lists l;
	size_t n;

	make_lists(f, in, &l);
	d.inv_handle = k & 2 ? f->open[k >> 4 & 7].handle : 0;
	d.call = l.call;
	d.ncall = external ? l.ncall : 0;
	d.reads = l.reads;
	d.nreads = l.nreads;
	d.writes = l.writes;
	d.nwrites = l.nwrites;
	d.reply = l.has_reply ? &l.reply : NULL;
	n = f->vers == WIRE_VERS1 ?
		    wire1_encode_call(f->r.send_buf, RAW_RECV_SIZE, xid, c,
				      external, &d) :
		    wire_encode_call(f->r.send_buf, RAW_RECV_SIZE, xid, c,
				     external, &d);
	if (!n)
		return;
	if (!external)
		n = payload(f, in, n, xid, true);
	rt_raw_send(&f->r, f->r.send_buf, n);
}

static void send_middle(struct fuzz_peer *f, struct fuzz_in *in, bool reply)
{
	uint32_t xid = pick_xid(f, in), c = credit(f, in);
	uint8_t k = fuzz_u8(in);
	uint32_t left = k == 255 ? fuzz_u32(in) : k * 4u;
	size_t n = wire_encode_middle(f->r.send_buf, RAW_RECV_SIZE, xid, c,
				      reply, left);

	rt_raw_send(&f->r, f->r.send_buf, payload(f, in, n, xid, !reply));
}

/* Into a chunk that the transport has offered, or past it. */
static void write_to(struct fuzz_peer *f, const struct wire_segment *s,
		     size_t len)
{
	struct {
		struct fab_wr wr;
		struct fab_sge sge;
	} *w = calloc(1, sizeof(*w));

	FUZZ_CHECK(w);
	w->sge = (struct fab_sge){ f->r.mem, len < RAW_MEM ? len : RAW_MEM,
				   f->r.mr };
	w->wr = (struct fab_wr){ .op = FAB_WRITE,
				 .flags = FAB_F_SIGNALED,
				 .handle = s->handle,
				 .offset = s->offset,
				 .nsge = 1,
				 .sge = &w->sge,
				 .user = w };
	if (fab_post(f->r.fab, &w->wr))
		free(w);
}

static void use_offer(struct fuzz_peer *f, struct fuzz_in *in, struct lists *l)
{
	const struct fuzz_offer *o = &f->offer;

	for (unsigned int i = 0; i < o->nwrites; i++) {
		struct wire_chunk_desc *d = &l->writes[l->nwrites++];

		d->seg = l->seg + l->nseg;
		for (d->count = 0; d->count < o->writes[i].count; d->count++) {
			struct wire_segment *s = &l->seg[l->nseg++];
			uint8_t k = fuzz_u8(in);

			*s = o->writes[i].seg[d->count];
			if (k & 1)
				write_to(f, s, s->length);
			if (k & 2)
				s->length = k & 4 ? 0 : s->length / 2;
			if (k & 8)
				s->length += k >> 4;
		}
	}
	l->has_reply = o->has_reply;
	if (!o->has_reply)
		return;
	l->reply.seg = l->seg + l->nseg;
	for (; l->reply.count < o->reply.count; l->reply.count++) {
		struct wire_segment *s = &l->seg[l->nseg++];
		uint8_t k = fuzz_u8(in);

		*s = o->reply.seg[l->reply.count];
		fuzz_put32(f->r.mem, o->xid);
		fuzz_put32(f->r.mem + 4, 1);
		if (k & 1)
			write_to(f, s, s->length);
		if (k & 2)
			s->length = k & 0xf8u;
	}
}

static void send_reply(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	bool external = k & 1;
	uint32_t xid = k & 2 ? pick_xid(f, in) : f->offer.xid;
	uint32_t c = credit(f, in);
	struct wire_reply_desc d = { 0 };
	struct lists l;
	size_t n;

	memset(&l, 0, sizeof(l));
	if (k & 4)
		make_lists(f, in, &l);
	else
		use_offer(f, in, &l);
	d.writes = l.writes;
	d.nwrites = l.nwrites;
	d.reply = (external || f->vers == WIRE_VERS1) && l.has_reply ?
			  &l.reply :
			  NULL;
	n = f->vers == WIRE_VERS1 ?
		    wire1_encode_reply(f->r.send_buf, RAW_RECV_SIZE, xid, c,
				       external, &d) :
		    wire_encode_reply(f->r.send_buf, RAW_RECV_SIZE, xid, c,
				      external, &d);
	if (!n)
		return;
	if (!external)
		n = payload(f, in, n, xid, false);
	if (k & 8 && f->offer.nreads) {
		f->r.send_invalidate = true;
		f->r.send_inv_handle = f->offer.reads[0].target.handle;
	} else if (k & 8 && l.nseg) {
		f->r.send_invalidate = true;
		f->r.send_inv_handle = l.seg[0].handle;
	}
	rt_raw_send(&f->r, f->r.send_buf, n);
}

static void send_props(struct fuzz_peer *f, struct fuzz_in *in)
{
	static const uint32_t values[] = { 0,	 1,	 2,	   3,
					   1024, 4096,	 8192,	   65536,
					   1022, 262144, 1u << 20, 0xffffffff };
	uint8_t k = fuzz_u8(in), raw[8][4];
	struct wire_prop p[8];
	unsigned int n = k >> 1 & 7;
	uint32_t c = credit(f, in);
	size_t len;

	for (unsigned int i = 0; i < n; i++) {
		uint8_t which = fuzz_u8(in);

		fuzz_put32(raw[i], values[fuzz_u8(in) % 12]);
		p[i] = (struct wire_prop){ which % 8, raw[i],
					   which & 0x80 ? which >> 4 & 3 : 4 };
	}
	len = wire_encode_connprop(f->r.send_buf, RAW_RECV_SIZE, 0x7001, c,
				   k & 1, p, n);
	rt_raw_send(&f->r, f->r.send_buf, len);
}

static void send_xchar(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	uint32_t xid = k & 0x80 ? f->asked : pick_xid(f, in);
	uint32_t c = credit(f, in);

	rt_raw_send(&f->r, f->r.send_buf,
		    upper_xchar(in, k, xid, c, f->r.send_buf, RAW_RECV_SIZE));
}

static void send_error(struct fuzz_peer *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in), v = fuzz_u8(in);
	struct wire_error e = { .code = k == 15 ? 100 : k % 12 };
	uint32_t xid = k & 0x80 ? pick_xid(f, in) :
		       k & 0x20 ? f->asked :
				  f->offer.xid;
	uint32_t c = credit(f, in);
	size_t n;

	e.vers_low = v & 3;
	e.vers_high = v >> 2 & 3;
	e.max_chunks = e.max_segments = e.chunk_index = v & 15;
	e.length_needed = v * 256u;
	n = f->vers == WIRE_VERS1 ?
		    wire1_encode_error(f->r.send_buf, RAW_RECV_SIZE, xid,
				       v >> 4 & 3, c, &e) :
		    wire_encode_error(f->r.send_buf, RAW_RECV_SIZE, xid,
				      k & 0x40 ? v >> 4 & 3 : 2, c, &e);
	rt_raw_send(&f->r, f->r.send_buf, n);
}

static void send_octets(struct fuzz_peer *f, struct fuzz_in *in, uint8_t op)
{
	struct wire_prefix p = { 0 };
	const uint8_t *b;
	size_t n;

	wire_enc_init(&f->r.enc, f->r.send_buf, RAW_RECV_SIZE);
	if (op & 0x10) {
		/* The prefix is given, the rest is not. */
		p.xid = pick_xid(f, in);
		p.vers = op & 0x20 ? fuzz_u8(in) : f->vers;
		p.credit = credit(f, in);
		p.htype = fuzz_u8(in);
		wire_put_prefix(&f->r.enc, &p);
	}
	b = fuzz_take(in, fuzz_u8(in), &n);
	memcpy(f->r.send_buf + f->r.enc.len, b, n);
	if (op & 0x40) {
		f->r.send_invalidate = true;
		f->r.send_inv_handle = f->offer.nreads ?
					       f->offer.reads[0].target.handle :
					       f->open[0].handle;
	}
	rt_raw_send(&f->r, f->r.send_buf, f->r.enc.len + n);
}

void fuzz_peer_open(struct fuzz_peer *f)
{
	for (unsigned int i = 0; i < FUZZ_OPEN; i++) {
		uint32_t len = (i & 3) == 3 ? 30000 : 1024u << (i & 3);

		f->open[i] = (struct wire_segment){ .length = len };
		fab_expose(f->r.fab, f->r.mr, f->r.mem + i * 30000u, len,
			   i < 4 ? FAB_REMOTE_READ : FAB_REMOTE_WRITE,
			   &f->open[i].handle, &f->open[i].offset);
	}
}

void fuzz_peer_greet(struct fuzz_peer *f, bool rtr)
{
	struct wire_rbgroup g[2] = { { 1, 4096, 1, 0 },
				     { 1, 4096, 4096, XMRSFLAG_PLT } };
	uint8_t all[4], seven[4], b[64];
	struct wire_prop p[4] = { { RDMA2_PROPID_X_XCHSUPP, all, 4 },
				  { RDMA2_PROPID_X_RTRSUPP, seven, 4 },
				  { RDMA2_PROPID_X_RESPSXLIM, seven, 4 },
				  { RDMA2_PROPID_X_RBSTRUCT, b, 0 } };

	fuzz_put32(all, XCHSUPP_ALL);
	fuzz_put32(seven, RTRS_XREQ | RTRS_XRESP | RTRS_XCONT);
	p[3].len = (uint32_t)wire_encode_rbstruct(b, sizeof(b), 8192, g, 2);
	if (f->r.listener)
		rt_raw_next(&f->r);
	rt_raw_connprop(&f->r, true, p, rtr ? 4 : 1);
	if (!f->r.listener) {
		rt_raw_next(&f->r);
		rt_raw_grant(&f->r);
	}
	rt_raw_run(&f->r);
}

bool fuzz_peer_step(struct fuzz_peer *f, struct fuzz_in *in, uint8_t op)
{
	static const uint32_t ms[] = { 100, 300, 1100, 5100, 11000, 61000 };

	switch (op & 15) {
	case 0:
		send_octets(f, in, op);
		break;
	case 1:
	case 2:
		send_call(f, in);
		break;
	case 3:
		send_middle(f, in, op & 0x10);
		break;
	case 4:
	case 5:
		send_reply(f, in);
		break;
	case 6:
		if (op & 0x10)
			send_xchar(f, in);
		else
			send_props(f, in);
		break;
	case 7:
		send_error(f, in);
		break;
	case 8:
		rt_raw_grant(&f->r);
		break;
	case 11:
		take_messages(f, 1 + (op >> 4));
		break;
	case 12:
		test_clock_pass(ms[(op >> 4) % 6]);
		break;
	case 13:
		f->r.credits = op >> 4 == 15 ? RAW_RECVS : op >> 4;
		break;
	default:
		return false;
	}
	return true;
}
