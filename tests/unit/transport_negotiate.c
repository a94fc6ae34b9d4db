/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which version a connection gets (4.3, [B1] to [B7]) and what RFC 8797 makes
 * of it ([P1] to [P5]): every pair of ends, servers that refuse, that do not
 * answer, that go away; private data of every kind.
 */
#include <errno.h>

#include "rt_raw1.h"
#include "unit.h"

#define V1 (1u << WIRE_VERS1)
#define V2 (1u << WIRE_VERS2)

static struct rt_conn_info info(struct rt_conn *c)
{
	struct rt_conn_info i;

	rt_conn_info(c, &i);
	return i;
}

static uint32_t word_of(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
	       (uint32_t)b[2] << 8 | b[3];
}

static void matrix(void)
{
	static const unsigned int set[] = { V1, V2, V1 | V2 };

	for (unsigned int i = 0; i < 9; i++) {
		struct rt_config c = { .versions = set[i % 3],
				       .request_user_size = sizeof(void *) };
		struct rt_config s = { .versions = set[i / 3] };
		unsigned int both = c.versions & s.versions;
		unsigned int want = both & V2 ? 2 : both ? 1 : 0;
		struct rt_pair p;

		CU_ASSERT_TRUE_FATAL(rt_pair_listen(&p, &c, &s, NULL));
		rt_pair_connect(&p);
		if (want) {
			CU_ASSERT_TRUE_FATAL(p.client_up);
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 5, 3000, true,
						   12, 0, 0, 0, 0));
			CU_ASSERT_EQUAL(info(p.client).version, want);
			CU_ASSERT_EQUAL(info(p.server).version, want);
			CU_ASSERT_TRUE(p.server_up);
		} else if (c.versions == V1) {
			/* It has nothing to say before its first Call. */
			struct rt_rpc r;

			CU_ASSERT_TRUE_FATAL(p.client_up);
			rt_rpc_init(&p, p.client, &r, 5, 0, false, 12, 0, 0, 0,
				    0);
			rt_rpc_submit(p.client, &r);
			rt_pair_run(&p);
			CU_ASSERT_EQUAL(r.rq->status, -ECONNRESET);
			rt_rpc_free(&r);
			CU_ASSERT_EQUAL(p.client_error, -EPROTONOSUPPORT);
		} else {
			CU_ASSERT_FALSE(p.client_up);
			CU_ASSERT_TRUE(p.client_closed);
			CU_ASSERT_EQUAL(p.client_error, -EPROTONOSUPPORT);
		}
		CU_ASSERT_EQUAL(p.server_up, want != 0);
		rt_pair_close(&p);
	}
}

/* [B1]: as a version 1 server answers, whatever its version word says. */
static void refused(void)
{
	static const uint32_t vers[] = { 1, 2, 3, 0 };
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_rpc rpc[2];
	struct rt_raw r;

	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		CU_ASSERT_FALSE(r.p.client_up);
		rt_raw1_err_vers(&r, r.m.p.xid, vers[i], 1, 1);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		CU_ASSERT_TRUE(r.p.client_up);
		CU_ASSERT_EQUAL(info(r.p.client).version, 1);
		/* The credits of that message mean nothing: one Call. */
		for (uint32_t k = 0; k < 2; k++) {
			rt_rpc_init(&r.p, r.p.client, &rpc[k], 1 + k, 0, false,
				    12, 0, 0, 0, 0);
			rt_rpc_submit(r.p.client, &rpc[k]);
		}
		CU_ASSERT_TRUE(rt_raw1_is_call(&r, 1));
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
		CU_ASSERT_TRUE(rt_raw1_is_call(&r, 2));
		/* From here on nothing changes the version [B4]. */
		rt_raw1_err_vers(&r, 77, 1, 1, 2);
		rt_raw_grant(&r);
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_ERROR);
		CU_ASSERT_EQUAL(r.m.error.code, RDMA2_ERR_VERS_MISMATCH);
		CU_ASSERT_EQUAL(r.msg_len, 20);
		CU_ASSERT_EQUAL(r.m.p.vers, 2);
		rt_raw1_reply(&r, 2, 8, NULL, NULL, 0);
		CU_ASSERT_TRUE(rt_raw_silent(&r));
		for (uint32_t k = 0; k < 2; k++) {
			CU_ASSERT_TRUE(rpc[k].done);
			CU_ASSERT_EQUAL(rpc[k].rq->status, 0);
			rt_rpc_free(&rpc[k]);
		}
		/* It is not remembered: a new connection asks again. */
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		/* A range without 1. */
		rt_raw1_err_vers(&r, r.m.p.xid, 2, 3, 7);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(r.p.client_closed);
		CU_ASSERT_EQUAL(r.p.client_error, -EPROTONOSUPPORT);
		/* It refuses version 1, too: no third attempt. */
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		rt_raw1_err_vers(&r, r.m.p.xid, vers[i], 1, 1);
		rt_rpc_init(&r.p, r.p.client, &rpc[0], 3, 0, false, 12, 0, 0, 0,
			    0);
		rt_rpc_submit(r.p.client, &rpc[0]);
		CU_ASSERT_TRUE(rt_raw1_is_call(&r, 3));
		rt_raw1_err_vers(&r, 3, vers[i], 2, 2);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc[0].done && r.p.client_closed);
		CU_ASSERT_EQUAL(r.p.client_error, -EPROTONOSUPPORT);
		rt_rpc_free(&rpc[0]);
		rt_raw_close(&r);
	}
}

/* [B1]: RDMA_ERROR of version 1 of any kind, from a server that took our first
 * message for one of version 1, or did not look. */
static void refused_otherwise(void)
{
	/* The words behind the prefix; ERR_VERS lacks its range. */
	static const struct {
		unsigned int n;
		uint32_t code;
	} errors[] = { { 1, 2 }, { 1, 1 }, { 1, 77 }, { 0, 0 } };
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_rpc rpc;
	struct rt_raw r;

	for (unsigned int i = 0; i < 8; i++) {
		cfg.versions = i < 4 ? V1 | V2 : V2;
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CONNPROP_FINAL);
		rt_raw1_words(&r, r.m.p.xid, RDMA1_ERROR, &errors[i % 4].code,
			      errors[i % 4].n);
		rt_raw_run(&r);
		if (i >= 4) {
			CU_ASSERT_TRUE(r.p.client_closed);
			CU_ASSERT_EQUAL(r.p.client_error, -EPROTONOSUPPORT);
			rt_raw_close(&r);
			continue;
		}
		CU_ASSERT_TRUE(r.p.client_up);
		CU_ASSERT_EQUAL(info(r.p.client).version, 1);
		rt_rpc_init(&r.p, r.p.client, &rpc, 1, 0, false, 12, 0, 0, 0,
			    0);
		rt_rpc_submit(r.p.client, &rpc);
		CU_ASSERT_TRUE(rt_raw1_is_call(&r, 1));
		rt_raw1_reply(&r, 1, 8, NULL, NULL, 0);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(rpc.done);
		CU_ASSERT_EQUAL(rpc.rq->status, 0);
		rt_rpc_free(&rpc);
		rt_raw_close(&r);
	}
	/* It answers nothing later. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw1_words(&r, r.m.p.xid, RDMA1_ERROR, &errors[0].code, 1);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw_close(&r);
}

/* Is the connection's first message of version 2? */
static bool begins_with_2(struct rt_raw *r)
{
	bool came = rt_raw_more(r);

	return came && r->m.p.htype == RDMA2_CONNPROP_FINAL &&
	       r->m.p.vers == WIRE_VERS2;
}

/* Version 1 says nothing before a Call. */
static bool begins_with_1(struct rt_raw *r)
{
	return rt_raw_silent(r) && r->p.client_up &&
	       info(r->p.client).version == 1;
}

/* [B6]: a server that does not answer, or goes, is met with version 1. */
static void unanswered(void)
{
	struct rt_config cfg = { .first_message_ms = 150,
				 .version1_ms = 1000,
				 .request_user_size = sizeof(void *) };
	struct rt_raw r;

	/* In time. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(begins_with_2(&r));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_FALSE(r.p.client_up);
	CU_ASSERT_EQUAL(r.p.client_error, -EAGAIN);
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_TRUE(begins_with_1(&r));
	}
	/* A disconnect then says nothing about versions. */
	fab_disconnect(r.fab, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_NOT_EQUAL(r.p.client_error, -EAGAIN);
	/* It does not last for ever. */
	for (unsigned int i = 0; i < 1000 && !r.first; i++) {
		rt_raw_nap(&r);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	}
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_raw_close(&r);

	/* A disconnect, in order or not, before any answer. */
	cfg.first_message_ms = 0;
	cfg.version1_ms = 0;
	for (unsigned int abort = 0; abort < 2; abort++) {
		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(begins_with_2(&r));
		fab_disconnect(r.fab, abort);
		rt_raw_run(&r);
		CU_ASSERT_TRUE(r.p.client_closed);
		CU_ASSERT_EQUAL(r.p.client_error, -EAGAIN);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
		CU_ASSERT_TRUE(begins_with_1(&r));
		rt_raw_close(&r);
	}

	/* Straight after ERR_VERS. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_raw1_err_vers(&r, r.m.p.xid, 1, 1, 1);
	fab_disconnect(r.fab, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_EQUAL(r.p.client_error, -EAGAIN);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_1(&r));
	rt_raw_close(&r);
}

/* What does not make a server one of version 1. */
static void not_remembered(void)
{
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_raw r;

	/* Our own end. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_conn_close(r.p.client, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_NOT_EQUAL(r.p.client_error, -EAGAIN);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_2(&r));
	/* An answer, and then the end. */
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_up);
	fab_disconnect(r.fab, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_NOT_EQUAL(r.p.client_error, -EAGAIN);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_raw_close(&r);

	/* Without version 1 there is nothing to fall back to. */
	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &rt_only2));
	CU_ASSERT_TRUE(begins_with_2(&r));
	fab_disconnect(r.fab, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_NOT_EQUAL(r.p.client_error, -EAGAIN);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_raw_close(&r);
}

/* A server remembered for version 1 that says it has only version 2 by now. */
static void upgraded(void)
{
	struct rt_config cfg = { .request_user_size = sizeof(void *) };
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
	CU_ASSERT_TRUE(begins_with_2(&r));
	fab_disconnect(r.fab, false);
	rt_raw_run(&r);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_1(&r));
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 0, false, 12, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_TRUE(rt_raw1_is_call(&r, 1));
	rt_raw1_err_vers(&r, 1, 1, 2, 2);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->status, -ECONNRESET);
	rt_rpc_free(&rpc);
	CU_ASSERT_EQUAL(r.p.client_error, -EAGAIN);
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(begins_with_2(&r));
	rt_raw_close(&r);
}

/* [B2], [B3], [B5]: what a server answers that has both versions. */
static void server_answers(void)
{
	uint8_t b[40] = { 0 };
	struct wire_enc e;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (uint32_t vers = 0; vers < 5; vers++) {
		struct wire_prefix p = { 0x40 + vers, vers, 1, 0 };

		if (vers == 1 || vers == 2)
			continue;
		wire_enc_init(&e, b, sizeof(b));
		wire_put_prefix(&e, &p);
		rt_raw_send(&r, b, 28);
		CU_ASSERT_TRUE(
			rt_raw1_is_err_vers(&r, 0x40 + vers, vers, 1, 2));
	}
	CU_ASSERT_FALSE(r.p.server_up);
	/* The next supported version decides. */
	rt_raw1_call(&r, 1, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	CU_ASSERT_EQUAL(info(r.p.server).version, 1);
	/* Then version 2 is the wrong one, and 3 is not supported. */
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_ERROR);
	CU_ASSERT_EQUAL(r.msg_len, 20);
	CU_ASSERT_EQUAL(r.m.p.vers, 2);
	CU_ASSERT_EQUAL(r.m.error.code, RDMA2_ERR_VERS_MISMATCH);
	b[7] = 3;
	rt_raw_send(&r, b, 28);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 0x44, 3, 1, 2));
	rt_raw1_call(&r, 3, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 3));
	/* Eight in a row. */
	for (unsigned int i = 0; i < 8; i++)
		rt_raw_send(&r, b, 28);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.p.server_error, -EPROTO);

	/* The other way round. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw1_call(&r, 5, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw_more(&r));
	CU_ASSERT_EQUAL(r.msg_len, 20);
	CU_ASSERT_EQUAL(r.m.p.vers, 1);
	CU_ASSERT_EQUAL(word_of(r.msg + 16), RDMA2_ERR_VERS_MISMATCH);
	rt_raw_call(&r, 6, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 6));
	rt_raw_close(&r);

	/* A server without version 2 answers a version 2 client [B1]. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_only1));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 0x7001, 2, 1, 1));
	CU_ASSERT_EQUAL(r.limit, 64);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_raw1_call(&r, 1, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
	/* Now too it has no version 2 that could mismatch. */
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 0x7001, 2, 1, 1));
	rt_raw_close(&r);

	/* And one without version 1: its credits would be a valid grant. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_only2));
	rt_raw1_call(&r, 1, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 1, 1, 2, 2));
	CU_ASSERT_TRUE(r.limit >= 1 && r.limit <= 65);
	CU_ASSERT_FALSE(r.p.server_up);
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_close(&r);
}

/* The peer goes: how does the server say that it ended, and is it counted? */
static void ends(struct rt_raw *r, int error, const char *reason,
		 uint64_t counted)
{
	struct rt_totals t;

	fab_disconnect(r->fab, false);
	rt_raw_run(r);
	CU_ASSERT_TRUE(r->p.server_closed);
	CU_ASSERT_EQUAL(r->p.server_error, error);
	if (reason)
		CU_ASSERT_STRING_EQUAL(r->p.server_reason, reason);
	rt_totals(r->p.server_inst, &t);
	CU_ASSERT_EQUAL(t.refused[RT_REFUSED_version], counted);
}

/* A client whose version is not spoken: that is why it went. */
static void server_tells(void)
{
	uint8_t b[40] = { 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 1 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_only2));
	rt_raw1_call(&r, 1, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 1, 1, 2, 2));
	ends(&r, -EPROTONOSUPPORT,
	     "version 1 refused: only version 2 is served", 1);
	/* One that goes on with the other. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	rt_raw1_call(&r, 1, 8, NULL, NULL, 12);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 1, 1, 2, 2));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	ends(&r, 0, NULL, 1);
	/* One that says nothing at all. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	ends(&r, 0, NULL, 1);
	rt_raw_close(&r);

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &rt_only1));
	rt_raw_connprop(&r, true, NULL, 0);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 0x7001, 2, 1, 1));
	ends(&r, -EPROTONOSUPPORT,
	     "version 2 refused: only version 1 is served", 1);
	rt_raw_close(&r);

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	rt_raw_send(&r, b, 28);
	CU_ASSERT_TRUE(rt_raw1_is_err_vers(&r, 9, 3, 1, 2));
	ends(&r, -EPROTONOSUPPORT,
	     "version 3 refused: only versions 1 and 2 are served", 1);
	rt_raw_close(&r);
}

/* What the server makes of private data: the longest inline Reply. */
static void private_data(void)
{
	static const struct {
		size_t len;
		uint32_t longest;
		uint8_t octets[40];
	} data[] = {
		{ 0, 1024, { 0 } },
		{ 8, 1024, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 0 } },
		{ 8, 4096, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3 } },
		{ 8, 8192, { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 255, 7 } },
		/* Reserved bits are ignored. */
		{ 8, 2048, { 0xf6, 0xab, 0x0e, 0x18, 1, 0xfe, 0, 1 } },
		/* Too short; not ours; another version. */
		{ 7, 1024, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3 } },
		{ 8, 1024, { 0xf6, 0xab, 0x0e, 0x19, 1, 0, 0, 3 } },
		{ 8, 1024, { 0xf6, 0xab, 0x0e, 0x18, 2, 0, 0, 3 } },
		{ 8, 1024, { 0xf6, 0xab, 0x0e, 0x18, 0, 0, 0, 3 } },
		/* At an offset, of any alignment; with zeros behind. */
		{ 12, 4096, { 1, 2, 3, 4, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3 } },
		{ 9, 4096, { 9, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3 } },
		{ 13,
		  3072,
		  { 0xf6, 0xab, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 2, 0, 0, 0 } },
		{ 40, 4096, { 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3 } },
		/* The first that conforms. */
		{ 24, 4096, { 0xf6, 0xab, 0x0e, 0x18, 9, 0, 0, 0,
			      0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 3,
			      0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 1 } },
		/* It would overrun the end. */
		{ 15,
		  1024,
		  { 1, 2, 3, 4, 5, 6, 7, 8, 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0 } },
	};
	struct rt_raw r;

	for (unsigned int i = 0; i < sizeof(data) / sizeof(*data); i++) {
		uint32_t n = data[i].longest - 28;

		CU_ASSERT_TRUE_FATAL(rt_raw_client_with(
			&r, NULL, data[i].octets, data[i].len));
		/* Ours: 4096 each way is announced, sent is more [P3]. */
		CU_ASSERT_EQUAL(r.peer_priv_len, 8);
		CU_ASSERT_EQUAL(memcmp(r.peer_priv,
				       "\xf6\xab\x0e\x18\x01\x01\x3f\x03", 8),
				0);
		rt_raw1_call(&r, 1, 8, NULL, NULL, n);
		CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 1));
		CU_ASSERT_EQUAL(r.msg_len, data[i].longest);
		rt_raw1_call(&r, 2, 8, NULL, NULL, n + 4);
		CU_ASSERT_TRUE(rt_raw1_is_refused(&r, 2));
		/* [P5]: Receives of 4096 whatever was said. */
		{
			uint8_t pay[4096 - 28];
			size_t len = rt_raw_payload(pay, 3, 12, 0, 0,
						    sizeof(pay) - 68);

			rt_raw1_call(&r, 3, 8, NULL, pay, len);
			CU_ASSERT_TRUE(rt_raw1_is_reply(&r, 3));
		}
		rt_raw_close(&r);
	}
}

/* [P3]: sizes in kilo-octets, the smaller of the two, each way. */
static void thresholds(void)
{
	static const uint32_t size[] = { 1024, 2044, 4096, 5000, 8192, 65536 };

	for (unsigned int i = 0; i < 6; i++)
		for (unsigned int k = 0; k < 6; k++) {
			struct rt_config c = rt_only1, s = { 0 };
			uint32_t recv, want;
			struct rt_pair p;

			c.send_size = size[i];
			s.recv_size = size[k];
			s.send_size = size[i];
			c.recv_size = size[k];
			recv = size[k] / 1024 * 1024;
			if (recv < 4096)
				recv = 4096;
			/* As it is announced, by the kilo-octet. */
			want = size[i] / 1024 * 1024;
			if (want > recv)
				want = recv;
			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 0, false,
						   12, 0, 0, 0, 0));
			CU_ASSERT_EQUAL(info(p.client).call_inline, want);
			CU_ASSERT_EQUAL(info(p.server).reply_inline, want);
			CU_ASSERT_EQUAL(info(p.server).call_inline, want);
			CU_ASSERT_EQUAL(info(p.client).reply_inline, want);
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 2, 900, false,
						   980, 0, 0, 0, 0));
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 3, 7000, false,
						   7000, 0, 0, 0, 0));
			rt_pair_close(&p);
		}
}

/* [B7]: on a connection of version 2 the private data has no effect. */
static void private_data_v2(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client_with(
		&r, NULL, rt_raw1_private(true, 1024, 1024), WIRE_CM_LEN));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_call(&r, 1, NULL, NULL, 4096 - 20);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	CU_ASSERT_EQUAL(r.msg_len, 4096);
	CU_ASSERT_FALSE(r.invalidated);
	rt_raw_close(&r);
}

static const struct unit_test tests[] = {
	{ "matrix", matrix },
	{ "refused", refused },
	{ "refused otherwise", refused_otherwise },
	{ "unanswered", unanswered },
	{ "not remembered", not_remembered },
	{ "upgraded", upgraded },
	{ "server answers", server_answers },
	{ "server tells", server_tells },
	{ "server_tells", server_tells },
	{ "private data", private_data },
	{ "thresholds", thresholds },
	{ "private data and version 2", private_data_v2 },
	{ NULL, NULL },
};

UNIT_MAIN("transport-negotiate", tests)
