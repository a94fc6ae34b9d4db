/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_v2 - the decoder of version 2 on any message
 *
 * Input: an octet of which bit 0 is check_xid, then the message.
 */
#include "wire_walk.h"

static void encode_again(const struct wire_msg *m, const uint8_t *msg,
			 size_t len)
{
	uint8_t *buf = walk_alloc(1, len + 1);
	struct walk w;
	size_t n = 0;

	walk_open(&w, m, len);
	switch (m->p.htype) {
	case RDMA2_CALL_EXTERNAL:
	case RDMA2_CALL_INLINE: {
		struct wire_call_desc d = {
			.inv_handle = m->inv_handle,
			.call = w.call,
			.ncall = w.ncall,
			.reads = w.reads,
			.nreads = w.nreads,
			.writes = w.writes,
			.nwrites = w.nwrites,
			.reply = m->has_reply ? &w.reply : NULL,
		};

		FUZZ_CHECK(m->role == WIRE_CALL);
		n = wire_encode_call(buf, len + 1, m->p.xid, m->p.credit,
				     m->external, &d);
		FUZZ_CHECK(n == wire_call_len(m->external, &d));
		break;
	}
	case RDMA2_REPLY_EXTERNAL:
	case RDMA2_REPLY_INLINE: {
		struct wire_reply_desc d = {
			.writes = w.writes,
			.nwrites = w.nwrites,
			.reply = m->external ? &w.reply : NULL,
		};

		FUZZ_CHECK(m->role == WIRE_REPLY);
		FUZZ_CHECK(!m->external || m->has_reply);
		n = wire_encode_reply(buf, len + 1, m->p.xid, m->p.credit,
				      m->external, &d);
		FUZZ_CHECK(n == wire_reply_len(m->external, &d));
		break;
	}
	case RDMA2_CALL_MIDDLE:
	case RDMA2_REPLY_MIDDLE:
		n = wire_encode_middle(buf, len + 1, m->p.xid, m->p.credit,
				       m->role == WIRE_REPLY, m->remaining);
		break;
	case RDMA2_GRANT:
		/* Its XID is not looked at. */
		FUZZ_CHECK(m->header_len == WIRE_PREFIX_LEN);
		goto out;
	default:
		goto out;
	}
	FUZZ_CHECK(n == m->header_len);
	FUZZ_CHECK(!memcmp(buf, msg, n));
	/* One octet less than needed is noticed. */
	if (m->role == WIRE_CALL && m->p.htype == RDMA2_CALL_MIDDLE)
		FUZZ_CHECK(!wire_encode_middle(buf, n - 1, 0, 0, false, 0));
out:
	walk_close(&w);
	free(buf);
}

static void look(const uint8_t *msg, size_t len, bool check_xid)
{
	struct wire_prefix p;
	struct wire_error e;
	struct wire_msg m;
	enum wire_status st = wire_decode(msg, len, check_xid, &m);
	bool prefix = wire_prefix_decode(msg, len, &p);

	FUZZ_CHECK(prefix == (len >= WIRE_PREFIX_LEN));
	FUZZ_CHECK((st == WIRE_SHORT) == !prefix);
	FUZZ_CHECK(wire_status_name(st));
	if (!prefix)
		return;
	FUZZ_CHECK(!memcmp(&p, &m.p, sizeof(p)));
	FUZZ_CHECK(wire_htype_name(p.htype));
	/* 0 to 3 and what the draft does not name are no types. */
	if (p.vers == WIRE_VERS2 &&
	    (p.htype < RDMA2_ERROR || p.htype > RDMA2_REPLY_INLINE))
		FUZZ_CHECK(st == WIRE_BAD_HTYPE);
	FUZZ_CHECK((st == WIRE_VERSION) == (p.vers != WIRE_VERS2));
	if (st == WIRE_OK) {
		walk_inside(&m, msg, len);
		encode_again(&m, msg, len);
	} else {
		FUZZ_CHECK(!m.payload_len && !m.call.count && !m.reads.count &&
			   !m.writes.count && !m.reply.count && !m.props.count);
	}
	if (p.vers == WIRE_VERS2 && p.htype == RDMA2_ERROR) {
		bool ok = wire_error_decode(msg, len, &e);

		FUZZ_CHECK(ok == (st == WIRE_OK));
		FUZZ_CHECK(e.code == m.error.code);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	bool check_xid = fuzz_u8(&in) & 1;
	size_t len = in.left;
	uint8_t *msg = fuzz_exact(in.p, len);

	look(msg, len, check_xid);
	fuzz_exact_free(msg, len);
	return 0;
}
