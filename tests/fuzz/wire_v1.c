/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_v1 - the decoder of version 1 on any message
 *
 * Input: the message.
 */
#include "wire_walk.h"

static void encode_again(const struct wire_msg *m, const uint8_t *msg,
			 size_t len)
{
	uint8_t *buf = walk_alloc(1, len + 1);
	struct wire_call_desc call = { 0 };
	struct wire_reply_desc reply = { 0 };
	struct walk w;
	size_t n = 0;

	walk_open(&w, m, len);
	if (m->p.htype > RDMA1_NOMSG)
		goto out;
	/* A Reply chunk that was not used may come back; we never send one. */
	if (m->role == WIRE_REPLY && !m->external && m->has_reply)
		goto out;
	if (m->role == WIRE_CALL) {
		call.call = w.call;
		call.ncall = w.ncall;
		call.reads = w.reads;
		call.nreads = w.nreads;
		call.writes = w.writes;
		call.nwrites = w.nwrites;
		call.reply = m->has_reply ? &w.reply : NULL;
		n = wire1_encode_call(buf, len + 1, m->p.xid, m->p.credit,
				      m->external, &call);
		FUZZ_CHECK(n == wire1_call_len(m->external, &call));
	} else if (m->role == WIRE_REPLY) {
		reply.writes = w.writes;
		reply.nwrites = w.nwrites;
		reply.reply = m->has_reply ? &w.reply : NULL;
		n = wire1_encode_reply(buf, len + 1, m->p.xid, m->p.credit,
				       m->external, &reply);
		FUZZ_CHECK(n == wire1_reply_len(m->external, &reply));
	}
	FUZZ_CHECK(n == m->header_len);
	FUZZ_CHECK(!memcmp(buf, msg, n));
out:
	walk_close(&w);
	free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *msg = fuzz_exact(data, size);
	struct wire_msg m;
	enum wire_status st = wire1_decode(msg, size, &m);

	FUZZ_CHECK(wire_status_name(st));
	if (st == WIRE_OK) {
		FUZZ_CHECK(wire1_proc_name(m.p.htype));
		walk_inside(&m, msg, size);
		encode_again(&m, msg, size);
	}
	fuzz_exact_free(msg, size);
	return 0;
}
