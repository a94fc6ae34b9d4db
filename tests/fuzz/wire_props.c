/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_props - the list of properties of a CONNPROP
 *
 * Input: bit 0 of an octet for MIDDLE or FINAL, then what follows the four
 * words that all messages have.
 */
#include "fuzz.h"
#include "rpcrdma/wire.h"

static void look_at(const struct wire_prop *p, const uint8_t *msg, size_t len)
{
	const uint8_t *inner;
	uint32_t n = 0;

	FUZZ_CHECK(!p->len ||
		   (p->data >= msg && p->data + p->len <= msg + len));
	FUZZ_CHECK(wire_propid_name(p->which));
	switch (p->which) {
	case RDMA2_PROPID_SBSIZ:
	case RDMA2_PROPID_RBSIZ:
	case RDMA2_PROPID_RSSIZ:
	case RDMA2_PROPID_RCSIZ:
	case RDMA2_PROPID_BRS:
		FUZZ_CHECK(p->len == 0 || p->len == 4);
		if (p->len)
			FUZZ_CHECK(wire_prop_u32(p, 77) == fuzz_get32(p->data));
		else
			FUZZ_CHECK(wire_prop_u32(p, 77) == 77);
		break;
	case RDMA2_PROPID_HOSTAUTH:
		if (wire_prop_opaque(p, &inner, &n))
			FUZZ_CHECK(n <= p->len && inner >= p->data &&
				   inner + n <= p->data + p->len);
		break;
	default:
		break;
	}
	if (p->len % 4 == 0)
		wire_subset_test(p->data, p->len / 4, n);
}

static void walk(const struct wire_msg *m, const uint8_t *msg, size_t len)
{
	struct wire_prop *props = calloc(m->props.count + 1, sizeof(*props));
	uint8_t *buf = malloc(len + 4);
	struct wire_iter it = { 0 };
	struct wire_msg again;
	uint32_t n = 0;
	size_t out;

	FUZZ_CHECK(props && buf);
	while (wire_prop_next(&m->props, &it, &props[n])) {
		look_at(&props[n], msg, len);
		FUZZ_CHECK(n++ < m->props.count);
	}
	FUZZ_CHECK(n == m->props.count);
	out = wire_encode_connprop(buf, len + 4, m->p.xid, m->p.credit,
				   m->p.htype == RDMA2_CONNPROP_FINAL, props,
				   n);
	/* But for the roundup octets it is the same. */
	FUZZ_CHECK(out == m->header_len);
	FUZZ_CHECK(wire_decode(buf, out, false, &again) == WIRE_OK);
	FUZZ_CHECK(again.props.count == n && again.p.htype == m->p.htype);
	free(buf);
	free(props);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	bool final = fuzz_u8(&in) & 1;
	size_t len = WIRE_PREFIX_LEN + in.left;
	uint8_t *msg = malloc(len);
	struct wire_msg m;
	enum wire_status st;

	FUZZ_CHECK(msg);
	fuzz_put32(msg, 1);
	fuzz_put32(msg + 4, WIRE_VERS2);
	fuzz_put32(msg + 8, 2);
	fuzz_put32(msg + 12,
		   final ? RDMA2_CONNPROP_FINAL : RDMA2_CONNPROP_MIDDLE);
	if (in.left)
		memcpy(msg + WIRE_PREFIX_LEN, in.p, in.left);
	st = wire_decode(msg, len, false, &m);
	FUZZ_CHECK(st == WIRE_OK || st == WIRE_BAD_XDR ||
		   st == WIRE_BAD_PROPVAL);
	if (st == WIRE_OK)
		walk(&m, msg, len);
	free(msg);
	return 0;
}
