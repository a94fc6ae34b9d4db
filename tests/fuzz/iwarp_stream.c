/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_stream - an established connection of the iwarp provider and a peer
 * that sends FPDUs, good and bad, whole and in parts, and other octets
 *
 * The connection's socket is one of a pair, and start-up is left out, so that
 * all of the input is spent behind it. Frames get what a peer would know (CRC,
 * sequence numbers, STags) unless the input says otherwise.
 *
 * What must hold: each request comes back once, a Receive with no more than it
 * has room for, all of them before DISCONNECTED, and the end comes. All memory
 * that may be touched is an allocation of its own.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "test_clock.h"
#include "fabric/iwarp/crc.h"
#include "fabric/iwarp/iw.h"
#include "fuzz.h"

#define WORKS 48
#define REGIONS 6
#define FRAME_MAX (MPA_LEN_SIZE + MPA_MAX_ULPDU + 3 + MPA_CRC_SIZE)

struct work {
	struct fab_wr wr;
	struct fab_sge sge[3];
	bool lent;
};

struct region {
	struct fab_mr *mr;
	uint8_t *mem;
	size_t len;
	uint32_t handle;
	uint64_t offset;
};

struct peer {
	struct fab_domain *dom;
	struct fab_poller *p;
	struct fab_conn *c;
	int fd;
	bool crc, down, closed;
	struct work work[WORKS];
	struct region region[REGIONS];
	/* What a good peer would send next, and what it was asked for. */
	uint32_t msn[DDP_QN_COUNT], mo;
	uint32_t sink_stag, sink_len, sink_got;
	uint8_t in[64];
	unsigned int lent;
};

static struct fab_domain *doms[4];
static uint8_t frame[FRAME_MAX];

static void ready(struct fab_conn *c, void *user)
{
	struct peer *t = user;
	struct fab_wc wc;

	while (!t->down && fab_poll(c, &wc, 1) == 1) {
		struct work *w;

		if (wc.kind == FAB_WC_ESTABLISHED)
			continue;
		if (wc.kind == FAB_WC_DISCONNECTED) {
			/* Nothing may be lent any more but what was not
			 * signaled. */
			t->down = true;
			continue;
		}
		w = wc.wr->user;
		FUZZ_CHECK(w->lent);
		w->lent = false;
		t->lent--;
		if (wc.wr->op == FAB_RECV && wc.status == FAB_OK)
			FUZZ_CHECK(wc.len <= w->sge[0].len);
		for (unsigned int i = 0; i < wc.wr->nsge; i++)
			free(w->sge[i].addr);
	}
}

static void turn(struct peer *t)
{
	fab_poller_run(t->p, 0);
	if (!t->down)
		ready(t->c, t);
}

static struct work *take(struct peer *t, enum fab_opcode op, unsigned int nsge,
			 size_t len)
{
	for (unsigned int i = 0; i < WORKS; i++) {
		struct work *w = &t->work[i];

		if (w->lent)
			continue;
		memset(w, 0, sizeof(*w));
		w->wr = (struct fab_wr){ .op = op,
					 .flags = FAB_F_SIGNALED,
					 .nsge = nsge,
					 .sge = w->sge,
					 .user = w };
		for (unsigned int k = 0; k < nsge; k++) {
			w->sge[k].len = k + 1 < nsge ? len / nsge :
						       len - k * (len / nsge);
			/* Its contents go out. */
			w->sge[k].addr =
				calloc(1, w->sge[k].len + !w->sge[k].len);
			FUZZ_CHECK(w->sge[k].addr);
		}
		w->lent = true;
		t->lent++;
		return w;
	}
	return NULL;
}

static void refused(struct peer *t, struct work *w)
{
	w->lent = false;
	t->lent--;
	for (unsigned int i = 0; i < w->wr.nsge; i++)
		free(w->sge[i].addr);
}

static void post_recv(struct peer *t, size_t len)
{
	struct work *w = take(t, FAB_RECV, 1, len);

	if (w && fab_post_recv(t->c, &w->wr))
		refused(t, w);
}

static void post(struct peer *t, uint8_t kind, size_t len, uint32_t handle)
{
	static const enum fab_opcode ops[] = { FAB_SEND, FAB_SEND_INV,
					       FAB_WRITE, FAB_READ };
	struct work *w = take(t, ops[kind & 3], 1 + (kind >> 2) % 3, len);

	if (!w)
		return;
	w->wr.handle = handle;
	w->wr.offset = (uint64_t)kind << 32;
	if (fab_post(t->c, &w->wr))
		refused(t, w);
}

static void region_open(struct peer *t, unsigned int i, uint8_t how)
{
	static const size_t sizes[] = { 1, 64, 4096, 70000 };
	struct region *r = &t->region[i];

	if (r->mr)
		return;
	r->len = sizes[how >> 2 & 3];
	r->mem = calloc(1, r->len);
	FUZZ_CHECK(r->mem && !fab_reg(t->dom, r->mem, r->len, &r->mr));
	if (fab_expose(t->c, r->mr, r->mem, r->len, 1 + how % 3, &r->handle,
		       &r->offset))
		r->handle = 0;
}

static void region_close(struct peer *t, unsigned int i)
{
	struct region *r = &t->region[i];

	if (!r->mr)
		return;
	if (r->handle)
		fab_unexpose(t->c, r->handle, NULL);
	fab_dereg(r->mr);
	free(r->mem);
	memset(r, 0, sizeof(*r));
}

static void put(struct peer *t, const uint8_t *p, size_t n)
{
	while (n && !t->closed) {
		ssize_t k = send(t->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (k <= 0) {
			/* It reads, or has ended. */
			turn(t);
			k = send(t->fd, p, n, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (k <= 0)
				return;
		}
		p += k;
		n -= (size_t)k;
	}
}

/* Take what was sent, and note the Read Request if one is at the front. */
static void drain(struct peer *t, size_t max)
{
	static uint8_t buf[65536];

	while (max) {
		ssize_t n = recv(t->fd, buf,
				 max < sizeof(buf) ? max : sizeof(buf),
				 MSG_DONTWAIT);

		if (n <= 0)
			return;
		max -= (size_t)n;
		/* Requests are often alone, behind what was there before. */
		if (n >= OFF_RREQ_END &&
		    (buf[OFF_RDMAP_CTRL] & RDMAP_OPCODE_MASK) ==
			    RDMAP_READ_REQ) {
			t->sink_stag = be32_get(buf + OFF_RREQ_SINK_STAG);
			t->sink_len = be32_get(buf + OFF_RREQ_SIZE);
			t->sink_got = 0;
		}
	}
}

#define F_LAST 0x01u
#define F_BAD_CRC 0x02u
#define F_BAD_FIELD 0x04u /* the next octets replace some of the header */
#define F_CUT 0x08u /* in two parts */
#define F_TAGGED 0x10u /* against the opcode */

static uint32_t pick_handle(struct peer *t, uint8_t which)
{
	const struct region *r = &t->region[which % REGIONS];

	return which >= 0xf0 ? which * 0x01010101u : r->handle;
}

static size_t header(struct peer *t, struct fuzz_in *in, unsigned int op,
		     uint8_t flags, size_t payload)
{
	bool tagged = op == RDMAP_WRITE || op == RDMAP_READ_RESP;
	uint8_t which = fuzz_u8(in);
	const struct region *r = &t->region[which % REGIONS];
	enum ddp_queue qn = op == RDMAP_READ_REQ  ? DDP_QN_READ_REQ :
			    op == RDMAP_TERMINATE ? DDP_QN_TERMINATE :
						    DDP_QN_SEND;
	size_t len;

	if (flags & F_TAGGED)
		tagged = !tagged;
	len = tagged ? OFF_TAGGED_PAYLOAD : OFF_UNTAGGED_PAYLOAD;
	memset(frame, 0, OFF_RREQ_END);
	ddp_put_ctrl(frame, 0, tagged, flags & F_LAST, op);
	if (tagged && op == RDMAP_READ_RESP) {
		ddp_put_tagged(frame, t->sink_stag, t->sink_got);
		t->sink_got += (uint32_t)payload;
	} else if (tagged) {
		ddp_put_tagged(frame, pick_handle(t, which),
			       r->offset + fuzz_u16(in));
	} else {
		ddp_put_untagged(frame, pick_handle(t, which), qn, t->msn[qn],
				 qn == DDP_QN_SEND ? t->mo : 0);
		if (qn == DDP_QN_SEND && (flags & F_LAST)) {
			t->msn[qn]++;
			t->mo = 0;
		} else if (qn == DDP_QN_SEND) {
			t->mo += (uint32_t)payload;
		} else {
			t->msn[qn]++;
		}
	}
	if (!tagged && op == RDMAP_READ_REQ) {
		be32_put(frame + OFF_RREQ_SINK_STAG, 1);
		be64_put(frame + OFF_RREQ_SINK_TO, which);
		be32_put(frame + OFF_RREQ_SIZE,
			 which & 0x80 ? fuzz_u32(in) : fuzz_u8(in));
		be32_put(frame + OFF_RREQ_SRC_STAG, pick_handle(t, which));
		be64_put(frame + OFF_RREQ_SRC_TO, r->offset);
		len = OFF_RREQ_END;
	}
	if (flags & F_BAD_FIELD) {
		uint8_t at = fuzz_u8(in) % OFF_RREQ_END, n = fuzz_u8(in) % 9;

		while (n-- && at < len)
			frame[at++] = fuzz_u8(in);
	}
	return len;
}

static void send_frame(struct peer *t, struct fuzz_in *in)
{
	uint8_t flags = fuzz_u8(in), op = fuzz_u8(in), fill = fuzz_u8(in);
	size_t payload = fuzz_u8(in), len, cut;
	unsigned int pad;

	/* Long ones, too, at little cost of input. */
	if (op & 0x80)
		payload = payload << 8 | fuzz_u8(in);
	if ((op & 0x70) == 0x70)
		payload = 0;
	len = header(t, in, op & 0x0f, flags, payload);
	if (payload > MPA_LEN_SIZE + MPA_MAX_ULPDU - len)
		payload = MPA_LEN_SIZE + MPA_MAX_ULPDU - len;
	memset(frame + len, fill, payload);
	len += payload;
	if (!(flags & F_BAD_FIELD) || frame[0] + frame[1] == 0)
		be16_put(frame, (uint16_t)(len - MPA_LEN_SIZE));
	pad = mpa_pad((unsigned int)len - MPA_LEN_SIZE);
	memset(frame + len, 0, pad);
	len += pad;
	crc_put(frame + len,
		t->crc ? crc_final(crc_update(CRC_SEED, frame, len)) : 0);
	if (flags & F_BAD_CRC)
		frame[len] ^= 1;
	len += MPA_CRC_SIZE;
	cut = flags & F_CUT ? (size_t)fuzz_u16(in) % len : 0;
	put(t, frame, cut);
	if (cut)
		turn(t);
	put(t, frame + cut, len - cut);
}

static void step(struct peer *t, struct fuzz_in *in)
{
	uint8_t op = fuzz_u8(in), arg;
	const uint8_t *b;
	size_t n;

	switch (op & 15) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4:
	case 5:
		send_frame(t, in);
		if (op & 0x80)
			turn(t);
		break;
	case 6:
		b = fuzz_take(in, op >> 4, &n);
		put(t, b, n);
		break;
	case 7:
		post_recv(t, (size_t)fuzz_u8(in) << (op >> 4));
		break;
	case 8:
	case 9:
		arg = fuzz_u8(in);
		post(t, op >> 4, (size_t)arg << (op & 1 ? 10 : 0), arg);
		if (op & 0x80)
			drain(t, 1 << 20);
		break;
	case 10:
		region_close(t, (op >> 4) % REGIONS);
		break;
	case 11:
		region_open(t, (op >> 4) % REGIONS, fuzz_u8(in));
		break;
	case 12:
		drain(t, (size_t)fuzz_u8(in) << (op >> 4));
		break;
	case 13:
		if (op >> 4 > 12)
			fab_disconnect(t->c, op & 0x10);
		break;
	case 14:
		if (op >> 4 > 12)
			shutdown(t->fd, op & 0x10 ? SHUT_WR : SHUT_RD);
		else if (op >> 4 == 0)
			test_clock_pass(2000);
		break;
	default:
		turn(t);
		break;
	}
}

static void begin(struct peer *t, uint8_t set)
{
	struct fab_domain **dom = &doms[set & 3];
	int sv[2], room = 8192;
	struct iw_conn *c;

	if (!*dom) {
		struct fab_domain_params p = {
			.crc = set & 1,
			.max_fpdu = set & 2 ? 256 : 0,
			.read_depth = 4,
		};

		FUZZ_CHECK(!fab_domain_open(&fab_iwarp_ops, &p, dom));
	}
	memset(t, 0, sizeof(*t));
	t->dom = *dom;
	t->crc = set & 1;
	for (unsigned int i = 0; i < DDP_QN_COUNT; i++)
		t->msn[i] = 1;
	FUZZ_CHECK(!fab_poller_create(t->dom, &t->p));
	FUZZ_CHECK(!socketpair(
		AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv));
	t->fd = sv[1];
	/* Its sends shall stop half-way, too. */
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	FUZZ_CHECK(!iw_conn_alloc(fab_ev_loop(t->p), &c));
	t->c = &c->ev.fab;
	c->fd = sv[0];
	c->crc = t->crc;
	fab_conn_set_ready(t->c, ready, t);
	for (unsigned int i = 0; i < 4; i++)
		post_recv(t, 64u << (3 * i % 7));
	if (set & 4) {
		c->ev.active = true;
		c->ev.ird = c->ev.ord = c->depth;
		c->can_write = true;
		iw_startup_done(c);
	} else {
		c->state = IW_ST_REQUESTED;
		c->peer_rev = 1;
		c->peer_ird = c->peer_ord = 4;
		FUZZ_CHECK(!fab_accept(t->c, NULL));
	}
	FUZZ_CHECK(!fab_ev_loop_watch(fab_ev_loop(t->p), c->fd, &c->src,
				      IW_CONN_EVENTS));
	for (unsigned int i = 0; i < 4; i++)
		region_open(t, i, (uint8_t)(i << 2 | i % 3));
	turn(t);
	drain(t, 4096);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct peer *t = calloc(1, sizeof(*t));

	FUZZ_CHECK(t);
	test_clock_hold();
	begin(t, fuzz_u8(&in));
	for (int i = 0; i < 200 && in.left && !t->down; i++)
		step(t, &in);
	turn(t);
	drain(t, SIZE_MAX);
	turn(t);
	/* In order, if the peer lets it; by the clock if not. */
	if (!t->down)
		fab_disconnect(t->c, false);
	turn(t);
	test_clock_pass(3000);
	turn(t);
	FUZZ_CHECK(t->down && !t->lent);
	for (unsigned int i = 0; i < REGIONS; i++)
		region_close(t, i);
	fab_conn_destroy_deferred(t->c, NULL, NULL);
	close(t->fd);
	fab_poller_run(t->p, 0);
	fab_poller_destroy(t->p);
	free(t);
	return 0;
}
