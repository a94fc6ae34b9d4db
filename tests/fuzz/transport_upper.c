/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport_upper.h"
#include "rpcrdma/rtr.h"
#include "rpcrdma/xchar.h"

struct answer {
	struct rt_piece piece[4];
	struct rt_item item[4];
	uint8_t octets[];
};

static void answer_gone(void *arg)
{
	free(arg);
}

static uint32_t read_all(const struct rt_call *call)
{
	uint32_t sum = 0;
	size_t len = 0;

	FUZZ_CHECK(call->npieces <= RT_MAX_PIECES);
	FUZZ_CHECK(call->nwrites <= RT_MAX_CHUNKS);
	for (unsigned int i = 0; i < call->npieces; i++) {
		const uint8_t *p = call->pieces[i].addr;

		for (size_t k = 0; k < call->pieces[i].len; k++)
			sum = sum * 31 + p[k];
		len += call->pieces[i].len;
	}
	FUZZ_CHECK(len == call->len);
	return sum;
}

/* Words of the Reply, then items with a word between them. */
static void reply(struct rt_call *call, struct fuzz_in *in, uint8_t kind)
{
	static const uint32_t sizes[] = { 0,	1,     100,   3000,
					  5000, 20000, 70000, 200000 };
	uint32_t words = fuzz_u8(in), length = sizes[kind >> 3 & 7];
	unsigned int nitems = kind & 3, npieces = 1 + (kind >> 6);
	size_t len = 12 + 4 * words, at = 0;
	struct rt_reply r = { 0 };
	struct answer *a;

	if (words > 250)
		len = words * 1024;
	a = malloc(sizeof(*a) + len + nitems * (length + 8));
	FUZZ_CHECK(a);
	memset(a, 0, sizeof(*a) + len + nitems * (length + 8));
	fuzz_put32(a->octets, call->xid);
	fuzz_put32(a->octets + 4, 1);
	for (unsigned int i = 0; i < nitems; i++) {
		/* Of one that is absent, nothing is in the stream. */
		bool present = !(kind & 4) || i != 1;

		a->item[i] = (struct rt_item){ .position = (uint32_t)len,
					       .length = present ? length : 0,
					       .present = present };
		if (present) {
			memset(a->octets + len, 0x5a, length);
			len += (length + 3) & ~3u;
		}
		len += 4;
	}
	for (unsigned int i = 0; i < npieces; i++) {
		size_t part = i + 1 < npieces ? len / npieces & ~(size_t)1 :
						len - at;

		a->piece[i] = (struct rt_piece){ a->octets + at, part, NULL };
		at += part;
	}
	r.pieces = a->piece;
	r.npieces = npieces;
	r.items = a->item;
	r.nitems = nitems;
	r.done = answer_gone;
	r.arg = a;
	rt_reply(call, &r);
}

void upper_answer(struct rt_pair *p, struct fuzz_in *in)
{
	uint8_t how = fuzz_u8(in);
	struct rt_call *call;

	if (!p->nheld)
		return;
	if (how & 0x80) {
		call = p->held[--p->nheld];
	} else {
		call = p->held[0];
		memmove(p->held, p->held + 1, --p->nheld * sizeof(p->held[0]));
	}
	read_all(call);
	if ((how & 0x1f) == 0x1f)
		rt_call_drop(call);
	else
		reply(call, in, fuzz_u8(in));
}

void upper_call(struct upper *u, struct rt_pair *p, struct fuzz_in *in)
{
	static const uint32_t sizes[] = { 0,	4,    100,   2000,
					  4096, 9000, 30000, 90000 };
	struct rt_conn *c = p->client ? p->client : p->server;
	uint8_t a = fuzz_u8(in), b = fuzz_u8(in), d = fuzz_u8(in);
	struct rt_rpc *r;

	if (!c || u->n == UPPER_RPCS)
		return;
	/* A reverse Call that may not be made is the caller's mistake. */
	if (!p->client && !rt_conn_can_call(c))
		return;
	r = &u->rpc[u->n++];
	rt_rpc_init(p, c, r, 0x40000000u + u->next_xid++, sizes[a & 7], a & 8,
		    12 + sizes[a >> 4 & 7], b & 3, 1 + sizes[b >> 2 & 7],
		    b >> 6, sizes[d & 7]);
	r->rq->call_only = d >> 3 == 31;
	if (d & 8)
		r->rq->reply_max = 0;
	rt_rpc_submit(c, r);
}

void upper_check(struct upper *u)
{
	for (unsigned int i = 0; i < u->n; i++) {
		FUZZ_CHECK(u->rpc[i].ndone == 1);
		rt_rpc_free(&u->rpc[i]);
	}
	u->n = 0;
}

/* One of rtrext's, with a structure of two pages that may have another layout;
 * or 4711. */
static void rtr_value(struct wire_prop *p, uint8_t which, uint8_t raw[4],
		      uint8_t structure[64])
{
	static const uint32_t ids[] = { RDMA2_PROPID_X_RTRSUPP,
					RDMA2_PROPID_X_REQRXLIM,
					RDMA2_PROPID_X_RESPSXLIM };
	static const uint32_t heads[] = { 4096, 6144, 2048, 7680 };
	uint32_t head = heads[which >> 5 & 3];
	struct wire_rbgroup g[2] = { { 1, head, 1, 0 },
				     { 1, 8192 - head, 1, XMRSFLAG_PLT } };

	switch (which >> 3 & 3) {
	case 0:
		break;
	case 1:
		p->which = RDMA2_PROPID_X_RBSTRUCT;
		p->data = structure;
		/* Or taken back. */
		if (!(which & 0x80))
			p->len = (uint32_t)wire_encode_rbstruct(structure, 64,
								8192, g, 2);
		else
			p->len = 0;
		break;
	default:
		p->which =
			ids[(which >> 3 & 3) == 2 ? 0 : 1 + (which >> 5 & 1)];
		fuzz_put32(raw, which >> 5 & 7);
		break;
	}
}

size_t upper_xchar(struct fuzz_in *in, uint8_t kind, uint32_t xid,
		   uint32_t credit, uint8_t *buf, size_t size)
{
	static const uint32_t ids[] = {
		RDMA2_PROPID_RBSIZ,    RDMA2_PROPID_RBSIZ,
		RDMA2_PROPID_BRS,      RDMA2_PROPID_X_REQREMINV,
		RDMA2_PROPID_RSSIZ,    RDMA2_PROPID_X_XCHSUPP,
		RDMA2_PROPID_HOSTAUTH, 4711
	};
	static const uint32_t values[] = { 0,	 1,    2,     3,
					   1024, 4096, 8192,  16384,
					   1023, 5002, 65536, 0xffffffff };
	uint8_t which, raw[8][4], structure[8][64];
	uint32_t words[3];
	struct wire_subset_desc s[3];
	struct wire_prop p[8];
	unsigned int n = kind >> 2 & 7;

	for (unsigned int i = 0; i < 8; i++) {
		which = i < n || !i ? fuzz_u8(in) : 0;
		fuzz_put32(raw[i], values[(which >> 3) % 12]);
		p[i] = (struct wire_prop){ ids[which & 7], raw[i],
					   which & 0x80 ? which >> 4 & 3 : 4 };
		/* In the place of the one that nobody knows, of rtrext. */
		if ((which & 7) == 7)
			rtr_value(&p[i], which, raw[i], structure[i]);
	}
	for (unsigned int i = 0; i < 3; i++) {
		words[i] = kind & 3 ? 1 : fuzz_u8(in);
		if ((kind & 3) == 2)
			words[i] = fuzz_u8(in) & 3;
		s[i] = (struct wire_subset_desc){ &words[i], 1 };
	}
	switch (kind & 3) {
	case 0:
		return wire_encode_initxch(buf, size, xid, credit, p, n, s);
	case 1:
		return wire_encode_reqxch(buf, size, xid, credit, p, n);
	case 2:
		return wire_encode_respxch(buf, size, xid, credit, &s[0], &s[1],
					   &s[2]);
	default:
		return wire_encode_updxch(buf, size, xid, credit, p, kind & 4);
	}
}
