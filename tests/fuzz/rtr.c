/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - the round-trip extension over the loop provider, against a peer that
 * sends any of its messages in any order, as client or as server
 *
 * The input is a script: two octets of settings, then steps. A step sends an
 * XMTREQ, XMTRESP, XMTCONT or REPTERR that is made of the input, with items and
 * directions of all types, or any octets behind a header type, or a message of
 * the base protocol or of xcharext; lets the upper layer answer or call; moves the clock; ends
 * the connection or makes a new one.
 *
 * What must hold: the rules that rt_watch knows, zeros in the padding among
 * them; every Call of the upper layer is completed once; when the connections
 * have ended, none is left, and no memory.
 */
#include "test_clock.h"
#include "transport_upper.h"
#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"

#define SET_SERVER 0x01u /* the peer is the server */
/* In the second octet of settings. */
#define AND_XCHAR 0x01u /* both have xcharext, too */
#define AND_EQUAL 0x02u /* nothing longer than the peer's structure is sent */
#define ITEMS 4
#define NUMBERS 16
#define OPEN 4
#define PAGE 4096u
#define LONGEST (4 * PAGE)

struct fuzz {
	struct rt_raw r;
	struct upper u;
	struct wire_segment open[OPEN];
	uint32_t xid;
	uint32_t asked; /* the XID of the transport's last REQXCH */
	/* Of the last XMTREQ that came. */
	uint32_t offer_xid, nwants, wants[ITEMS];
	uint8_t out[LONGEST];
};

static void open_memory(struct fuzz *f)
{
	for (unsigned int i = 0; i < OPEN; i++) {
		f->open[i] = (struct wire_segment){ .length = 20000 };
		fab_expose(f->r.fab, f->r.mr, f->r.mem + i * 20000, 20000,
			   i & 1 ? FAB_REMOTE_WRITE : FAB_REMOTE_READ,
			   &f->open[i].handle, &f->open[i].offset);
	}
}

/* ---- What comes --------------------------------------------------------- */

static void note(struct fuzz *f)
{
	struct wire_iter it = { 0 }, jt = { 0 };
	struct wire_rsdset set;
	struct wire_rsditem t;
	struct wire_prefix p;
	struct wire_xmt m;

	if (wire_prefix_decode(f->r.msg, f->r.msg_len, &p) &&
	    p.htype == RDMA2_X_REQXCH)
		f->asked = p.xid;
	if (wire_xmt_decode(f->r.msg, f->r.msg_len, &m) != WIRE_OK ||
	    m.p.htype != RDMA2_X_XMTREQ)
		return;
	f->offer_xid = m.p.xid;
	f->nwants = 0;
	if (!wire_rsdset_next(&m.rsd, &it, &set))
		return;
	while (f->nwants < ITEMS && wire_rsditem_next(&set.items, &jt, &t))
		f->wants[f->nwants++] = t.type;
}

/* ---- What goes ---------------------------------------------------------- */

static uint32_t pick_xid(struct fuzz *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);

	if (k < 0x60)
		return ++f->xid;
	if (k < 0xc0)
		return f->xid;
	return k < 0xf0 ? f->offer_xid : fuzz_u32(in);
}

static uint32_t length(struct fuzz_in *in)
{
	static const uint32_t some[] = { 0,    1,    4,	   1023,  1024, 4095,
					 4096, 4097, 8192, 12288, 65536 };
	uint8_t k = fuzz_u8(in);

	return k < 11 ? some[k] : k == 255 ? fuzz_u32(in) : k * 16u;
}

/* Segments of what is open, or not quite. */
static uint32_t segments(struct fuzz *f, struct fuzz_in *in,
			 struct wire_segment *s, uint32_t max, uint32_t len)
{
	uint8_t k = fuzz_u8(in);
	uint32_t n = k & 3;

	if (n > max)
		n = max;
	for (uint32_t i = 0; i < n; i++) {
		s[i] = f->open[(k >> 2) % OPEN];
		s[i].length = i + 1 < n ? len / 2 : len - (n > 1 ? len / 2 : 0);
		if (k & 0x40)
			s[i].length = length(in);
		if (k & 0x80)
			s[i].handle ^= fuzz_u8(in);
	}
	return n;
}

struct made {
	struct wire_xmt_desc d;
	struct wire_xitem_desc item[ITEMS];
	uint32_t number[ITEMS][NUMBERS];
	struct wire_segment seg[4 * ITEMS];
	uint32_t nsegs;
	struct wire_rsdset_desc set[2];
	struct wire_rsditem_desc want[ITEMS];
};

static void make_items(struct fuzz *f, struct fuzz_in *in, struct made *m,
		       bool reply)
{
	uint8_t k = fuzz_u8(in);
	uint32_t disp = 68, n = k & 3, number = 0;

	if (reply && !(k & 0x80))
		n = f->nwants;
	m->d.items = m->item;
	m->d.nitems = n;
	for (uint32_t i = 0; i < n; i++) {
		struct wire_xitem_desc *t = &m->item[i];
		uint8_t how = fuzz_u8(in);

		t->type = 1 + how % (how & 0x80 ? 7 : 2);
		if (reply && !(how & 0x40) && i < f->nwants)
			t->type = f->wants[i] % 4 == 3 ? XMPTYPE_TBSN :
							 f->wants[i];
		t->disp = reply ? 8 + 4 * i : disp;
		if ((how & 0x30) == 0x30)
			t->disp = fuzz_u16(in);
		t->length = length(in);
		disp += (t->length + 3) & ~3u;
		t->offset = (how & 0x30) == 0x20 ? fuzz_u16(in) : 0;
		t->bsnum = m->number[i];
		t->nbsnum = t->length < 65536 ? (t->length + PAGE - 1) / PAGE :
						NUMBERS;
		if ((how & 0x30) == 0x10)
			t->nbsnum = fuzz_u8(in) % (NUMBERS + 1);
		for (uint32_t j = 0; j < t->nbsnum; j++)
			m->number[i][j] = number++;
		if ((how & 0x30) == 0x10 && t->nbsnum)
			m->number[i][0] = fuzz_u8(in);
		t->seg = &m->seg[m->nsegs];
		if (t->type == XMPTYPE_EXRW)
			t->nsegs = segments(f, in, &m->seg[m->nsegs], 3,
					    t->length);
		m->nsegs += t->nsegs;
	}
}

static void make_wants(struct fuzz *f, struct fuzz_in *in, struct made *m)
{
	uint8_t k = fuzz_u8(in);
	uint32_t n = k & 3;

	m->d.sets = m->set;
	m->d.nsets = n ? 1 + (k >> 2 & 1) : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct wire_rsditem_desc *t = &m->want[i];
		uint8_t how = fuzz_u8(in);

		t->type = 1 + how % (how & 0x80 ? 6 : 4);
		t->minlen = how & 0x10 ? length(in) : 0;
		t->threshold = how & 0x20 ? length(in) : 4096;
		t->seg = &m->seg[m->nsegs];
		if (t->type != XMPTYPE_TBSN)
			t->nsegs = segments(f, in, &m->seg[m->nsegs], 1, 20000);
		m->nsegs += t->nsegs;
	}
	m->set[0] = (struct wire_rsdset_desc){ 0, 100, m->want, n };
	if (m->d.nsets < 2)
		return;
	m->set[0].nitems = n / 2;
	m->set[1] = (struct wire_rsdset_desc){ k & 0x10 ? 50 : 100, 200,
					       m->want + n / 2, n - n / 2 };
}

/* Header of @n octets, payload, something in all of the rest. */
static void post(struct fuzz *f, struct fuzz_in *in, size_t n, uint32_t xid,
		 bool call, uint32_t pslen)
{
	size_t len = n + (pslen < LONGEST ? pslen : 0);
	uint8_t k = fuzz_u8(in);

	if (!n)
		return;
	if (k & 0x80 || len > LONGEST)
		len = LONGEST;
	else if (k & 0x40)
		len = k * 256u < LONGEST ? k * 256u : LONGEST;
	if (len < n)
		len = n;
	memset(f->out + n, k, LONGEST - n);
	if (LONGEST - n >= 8) {
		fuzz_put32(f->out + n, xid);
		fuzz_put32(f->out + n + 4, !call);
	}
	rt_raw_send(&f->r, f->out, len);
}

static void send_xmt(struct fuzz *f, struct fuzz_in *in, bool reply)
{
	uint32_t xid = reply ? f->offer_xid : pick_xid(f, in);
	uint8_t k = fuzz_u8(in);
	struct made m;
	size_t n;

	memset(&m, 0, sizeof(m));
	make_items(f, in, &m, reply);
	if (!reply)
		make_wants(f, in, &m);
	m.d.count = k & 0x80 ? k & 7 : 1 + (k >> 6 & 1);
	m.d.rsbuf = k >> 3 & 7;
	m.d.pslen = k & 4 && !(k & 0x80) ? length(in) : 68;
	n = reply ? wire_encode_xmtresp(f->out, PAGE, xid, rt_raw_credit(&f->r),
					&m.d) :
		    wire_encode_xmtreq(f->out, PAGE, xid, rt_raw_credit(&f->r),
				       &m.d);
	post(f, in, n, xid, !reply, m.d.pslen);
}

static void send_cont(struct fuzz *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	bool reply = k & 1;
	uint32_t xid = reply ? f->offer_xid : f->xid;
	uint32_t pslen = k & 2 ? length(in) : 0;
	uint32_t itype = reply ? RDMA2_X_XMTRESP : RDMA2_X_XMTREQ;

	if (k & 0x80)
		xid = pick_xid(f, in);
	if ((k & 0x60) == 0x60)
		itype = fuzz_u8(in) | 0xffffff00u;
	post(f, in,
	     wire_encode_xmtcont(f->out, PAGE, xid, rt_raw_credit(&f->r),
				 k >> 2 & 7, itype, pslen),
	     xid, !reply, pslen);
}

static void send_repterr(struct fuzz *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	struct wire_repterr e = {
		.bad = { k & 0x80 ? pick_xid(f, in) : f->offer_xid, k >> 6 & 1,
			 k >> 4 & 3 },
		.has_lead = (k & 0x30) == 0x30,
		.lead = { f->offer_xid, XMSI_CALL, 0 },
		.code = k & 15,
	};

	rt_raw_send(&f->r, f->out,
		    wire_encode_repterr(f->out, PAGE, rt_raw_credit(&f->r),
					&e));
}

static void send_octets(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	struct wire_prefix p = { op & 0x80 ? f->offer_xid : pick_xid(f, in),
				 WIRE_VERS2, rt_raw_credit(&f->r),
				 RDMA2_X_XMTREQ + (op >> 4 & 3) };
	const uint8_t *b;
	size_t n;

	wire_enc_init(&f->r.enc, f->out, LONGEST);
	wire_put_prefix(&f->r.enc, &p);
	b = fuzz_take(in, fuzz_u8(in), &n);
	memcpy(f->out + f->r.enc.len, b, n);
	rt_raw_send(&f->r, f->out, f->r.enc.len + n);
}

static void send_base(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	uint8_t text[96] = { 0 };
	uint32_t xid = op & 0x80 ? f->offer_xid : pick_xid(f, in);

	fuzz_put32(text, xid);
	switch (op >> 4 & 7) {
	case 0:
		rt_raw_call(&f->r, xid, NULL, text, sizeof(text));
		break;
	case 1:
		rt_raw_reply(&f->r, xid, NULL, text, sizeof(text));
		break;
	case 2:
		rt_raw_middle(&f->r, xid, op & 0x80, 96, text, sizeof(text));
		break;
	case 3:
		rt_raw_error(&f->r, xid, 1 + fuzz_u8(in) % 11);
		break;
	default:
		rt_raw_grant(&f->r);
		break;
	}
}

static void send_xchar(struct fuzz *f, struct fuzz_in *in)
{
	uint8_t k = fuzz_u8(in);
	uint32_t xid = k & 0x80 ? f->asked : pick_xid(f, in);

	rt_raw_send(&f->r, f->out,
		    upper_xchar(in, k, xid, rt_raw_credit(&f->r), f->out,
				PAGE));
}

/* Properties, of which one or another may be odd. */
static void greet(struct fuzz *f, uint8_t k)
{
	/* As much as the raw peer's Receives hold; in pages, or so that a
	 * result has more than one segment of a transmission. */
	struct wire_rbgroup g[2] = { { 1, PAGE, 1, 0 },
				     { k & 4 ? 8 : 1, k & 4 ? 512 : PAGE, 512,
				       XMRSFLAG_PLT } };
	uint8_t v[4][4], b[64];
	struct wire_prop p[5] = {
		{ RDMA2_PROPID_X_RTRSUPP, v[0], 4 },
		{ RDMA2_PROPID_X_REQRXLIM, v[1], 4 },
		{ RDMA2_PROPID_X_RESPSXLIM, v[2], 4 },
		{ RDMA2_PROPID_X_XCHSUPP, v[3], 4 },
		{ RDMA2_PROPID_X_RBSTRUCT, b, 0 },
	};

	fuzz_put32(v[0], k & 8 ? k >> 4 & 7 : 7);
	fuzz_put32(v[1], 4);
	fuzz_put32(v[2], k >> 4 & 7);
	fuzz_put32(v[3], k & AND_XCHAR ? XCHSUPP_ALL : 0);
	p[4].len = (uint32_t)wire_encode_rbstruct(b, 64, 2 * PAGE, g, 2);
	rt_raw_connprop(&f->r, true, p, k & 0x80 ? 4 : 5);
	rt_raw_run(&f->r);
	rt_raw_flush(&f->r);
}

/* ---- Steps -------------------------------------------------------------- */

static void again(struct fuzz *f, struct fuzz_in *in)
{
	if (f->r.p.client || f->r.p.server || !rt_raw_again(&f->r))
		return;
	open_memory(f);
	greet(f, fuzz_u8(in));
}

static void step(struct fuzz *f, struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in);

	switch (op & 15) {
	case 0:
		send_octets(f, in, op);
		break;
	case 1:
	case 2:
		send_xmt(f, in, false);
		break;
	case 3:
	case 4:
		send_cont(f, in);
		break;
	case 5:
	case 6:
		send_xmt(f, in, true);
		break;
	case 7:
		send_repterr(f, in);
		break;
	case 8:
		send_base(f, in, op);
		break;
	case 9:
	case 10:
		upper_call(&f->u, &f->r.p, in);
		break;
	case 11:
		upper_answer(&f->r.p, in);
		break;
	case 12:
		for (int n = 1 + (op >> 4); n && rt_raw_more(&f->r); n--)
			note(f);
		break;
	case 13:
		f->r.credits = op >> 4 == 15 ? RAW_RECVS : op >> 4;
		break;
	case 14:
		test_clock_pass(op & 0x80 ? 61000 : 1100);
		break;
	default:
		if (op & 0x80)
			again(f, in);
		else if (op & 0x40)
			send_xchar(f, in);
		else if (op & 0x20)
			test_clock_pass(100u * fuzz_u8(in));
		else if (f->r.p.client || f->r.p.server)
			rt_conn_close(f->r.p.client ? f->r.p.client :
						      f->r.p.server,
				      op & 0x10);
		break;
	}
	rt_raw_run(&f->r);
	/* The helper has room for some. */
	while (f->r.p.nheld > 100)
		upper_answer(&f->r.p, in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct fuzz *f = calloc(1, sizeof(*f));
	uint8_t set = fuzz_u8(&in), k = fuzz_u8(&in);
	struct rt_config cfg = {
		.extensions = RT_EXT_RTR | (k & AND_XCHAR ? RT_EXT_XCHAR : 0),
		.send_size = k & AND_EQUAL ? 2 * PAGE : 0,
		.idle_recv_ms = 2000,
		.idle_recv_size = 1024,
		.request_user_size = sizeof(void *),
		.placement_size = 3 * PAGE,
		.no_placement = (set & 6) == 6,
		.max_transmissions = 1 + (set >> 3 & 3),
		.max_message = 65536,
		.max_conn_memory = set & 0x80 ? 65536 : 0,
		.call_read_chunks = 3,
		.call_write_chunks = 3,
		.reverse = set & 2 ? RDMA2_RVRSDIR_GENL : 0,
		.credits = set & 4 ? 3 : 0,
	};
	bool up;

	FUZZ_CHECK(f);
	f->xid = 0x100;
	up = set & SET_SERVER ? rt_raw_server(&f->r, &cfg) :
				rt_raw_client(&f->r, &cfg);
	FUZZ_CHECK(up);
	f->r.p.hold = true;
	f->r.credits = RAW_RECVS - 4;
	open_memory(f);
	greet(f, k);
	for (int i = 0; i < 100 && in.left; i++)
		step(f, &in);
	rt_raw_run(&f->r);
	if (f->r.p.client)
		rt_conn_close(f->r.p.client, set & 0x40);
	if (f->r.p.server)
		rt_conn_close(f->r.p.server, set & 0x40);
	rt_raw_run(&f->r);
	fab_disconnect(f->r.fab, true);
	rt_raw_run(&f->r);
	while (f->r.p.nheld)
		upper_answer(&f->r.p, &in);
	rt_raw_run(&f->r);
	FUZZ_CHECK(!f->r.p.client && !f->r.p.server);
	upper_check(&f->u);
	rt_raw_close(&f->r);
	free(f);
	return 0;
}
