/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the Replies say of sessions: noted and corrected while ntirpc's own
 * functions send them. Under RPCSEC_GSS it is in ntirpc_gss.c.
 */
#include <rpc/xdr_inline.h>

#include "compat/ganesha.h"
#include "ntirpc/nfs_client.h"
#include "ntirpc/quirks/bound.h"
#include "ntirpc_fake.h"
#include "unit.h"

#define XID 0x01020304

static struct util_pool pool;
static struct nrt_names names;

static struct xp_ops ops = {
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
};
static SVCXPRT xprt = { .xp_ops = &ops };

static const uint8_t of[ULB_SESSION_ID] = "0123456789abcde";
static const uint8_t id[ULB_SESSION_ID] = "another session";

/* The words of a COMPOUND's results; an identifier for each 'i' (of) and 'j'. */
struct results {
	const char *form; /* w: the next word */
	const uint32_t *words;
	uint32_t more; /* words after that */
};

static bool encode_results(XDR *xdrs, void *where)
{
	const struct results *r = where;
	const uint32_t *w = r->words;

	for (const char *f = r->form; *f; f++) {
		if (*f == 'w' ?
			    !XDR_PUTUINT32(xdrs, *w++) :
			    !XDR_PUTBYTES(xdrs,
					  (const char *)(*f == 'i' ? of : id),
					  ULB_SESSION_ID))
			return false;
	}
	for (uint32_t i = 0; i < r->more; i++)
		if (!XDR_PUTUINT32(xdrs, i))
			return false;
	return true;
}

static uint32_t reply_word(const struct fake_call *f, size_t at)
{
	uint32_t be;

	/* Six words of the head. */
	memcpy(&be, f->bytes + 24 + at, sizeof(be));
	return ntohl(be);
}

/* Of the Call of answer(): its words behind the operation, and the connection's client. */
static const uint32_t *args;
static struct nrt_client *client;
static char told[256];

void rt_conn_set_client(struct rt_conn *c, const char *name,
			const char *session)
{
	CU_ASSERT_PTR_NOT_NULL(c);
	snprintf(told, sizeof(told), "%s, %s", name ? name : "-",
		 session ? session : "-");
}

static struct bc_server *const some_clnts = (void *)&fake_sessions;

/* The Reply to a COMPOUND of one operation, with these results. */
static struct fake_call *answer(uint32_t op, uint32_t arg,
				const struct results *r)
{
	struct results copy = *r;
	const uint32_t words[] = { XID, CALL, 2, 100003, 4, 1, 0, 0, 0,	  0,
				   0,	1,    1, op,	 0, 0, 0, 0, arg, 0 };
	uint32_t be[sizeof(words) / 4];
	struct fake_call *f;
	struct svc_req req;
	bool no_dispatch;
	const size_t cut = 50;

	for (size_t i = 0; i < sizeof(words) / 4; i++)
		be[i] = htonl(words[i]);
	/* The first argument, where there is one. */
	memcpy(&be[14], id, ULB_SESSION_ID);
	for (size_t i = 0; args && i < 6; i++)
		be[14 + i] = htonl(args[i]);
	f = fake_new((const uint8_t *)be, sizeof(be), &cut, 1);
	memset(&req, 0, sizeof(req));
	req.rq_xprt = &xprt;
	req.rq_xdrs = nrt_call_open(&f->pub, pool.pool, 64 << 10);
	f->user.back = some_clnts;
	f->user.client = client;
	rpc_msg_init(&req.rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(req.rq_xdrs, &req.rq_msg));
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	if (client)
		SVC_CHECKSUM(&req, req.rq_xdrs->x_data,
			     xdr_size_inline(req.rq_xdrs));
	req.rq_msg.RPCM_ack.ar_results.proc = encode_results;
	req.rq_msg.RPCM_ack.ar_results.where = &copy;
	fake_sessions.call = f;
	CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
	fake_sessions.call = NULL;
	CU_ASSERT_EQUAL(fake_sessions.strange, 0);
	/* Ganesha finds its own there when it frees them. */
	CU_ASSERT_TRUE(req.rq_msg.RPCM_ack.ar_results.proc == encode_results);
	CU_ASSERT_PTR_EQUAL(req.rq_msg.RPCM_ack.ar_results.where, &copy);
	CU_ASSERT_EQUAL_FATAL(f->replies, 1);
	SVCAUTH_RELEASE(&req);
	XDR_DESTROY(req.rq_xdrs);
	return f;
}

#define FLAGS_AT \
	52 /* status, tag, count, number, status, identifier, 4 words */

static void test_flags(void)
{
	const uint32_t words[] = { 0, 0, 1, 53, 0, 1, 2, 3, 4, 8, 0, 0 };
	const struct results r = { "wwwwwiwwwww", words, 0 };
	/* Longer than a stretch of the stream. */
	const struct results longer = { "wwwwwiwwwww", words, 5000 };
	struct fake_call *f;

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	f = answer(53, 0, &r);
	CU_ASSERT_EQUAL(reply_word(f, FLAGS_AT), 8);
	fake_free(f);
	fake_sessions.flags = ULB_SEQ_CB_PATH_DOWN_SESSION;
	f = answer(53, 0, &r); /* of another session */
	CU_ASSERT_EQUAL(reply_word(f, FLAGS_AT), 8);
	fake_free(f);
	memcpy(fake_sessions.in_trouble, of, ULB_SESSION_ID);
	/* Whatever comes after the SEQUENCE. */
	for (uint32_t op = 22; op < 60; op++) {
		f = answer(op, 0, op & 1 ? &r : &longer);
		CU_ASSERT_EQUAL(reply_word(f, FLAGS_AT), 8 | 0x200);
		CU_ASSERT_EQUAL(f->len,
				24u + FLAGS_AT + 4 + (op & 1 ? 0 : 20000));
		if (!(op & 1))
			CU_ASSERT_EQUAL(reply_word(f, FLAGS_AT + 4 + 4 * 4999),
					4999);
		fake_free(f);
	}
	CU_ASSERT_EQUAL(fake_sessions.backs + fake_sessions.ends, 0);
}

static void test_bound(void)
{
	const uint32_t words[] = { 0, 0, 1, 41, 0, 3, 0 };
	const struct results r = { "wwwwwjww", words, 0 };
	struct fake_call *f;

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	fake_sessions.can_back = true;
	f = answer(41, ULB_DIR_FORE_OR_BOTH, &r);
	CU_ASSERT_EQUAL(reply_word(f, 36), ULB_DIR_BOTH);
	CU_ASSERT_EQUAL(fake_sessions.backs, 1);
	CU_ASSERT_EQUAL(fake_sessions.prepared, 1);
	CU_ASSERT_EQUAL(fake_sessions.replies_prepared, 0);
	CU_ASSERT_EQUAL(fake_sessions.replies_before, 1);
	CU_ASSERT_EQUAL(memcmp(fake_sessions.id, id, ULB_SESSION_ID), 0);
	CU_ASSERT_PTR_EQUAL(fake_sessions.conn, f->pub.conn);
	fake_free(f);
	/* Nothing can be bound: that is what the client hears. */
	fake_sessions.can_back = false;
	f = answer(41, ULB_DIR_FORE_OR_BOTH, &r);
	CU_ASSERT_EQUAL(reply_word(f, 36), ULB_DIR_FORE);
	CU_ASSERT_EQUAL(fake_sessions.backs, 1);
	fake_free(f);
	/* No answer to this would be right. */
	f = answer(41, ULB_DIR_BACK, &r);
	CU_ASSERT_EQUAL(reply_word(f, 36), ULB_DIR_BOTH);
	fake_free(f);
}

static void test_created(void)
{
	/* ca_maxrequestsize of the back channel: 21. */
	const uint32_t words[] = { 0,  0,  1, 43, 0,  1,  2,  10, 11, 12, 13,
				   14, 15, 0, 20, 21, 22, 23, 24, 25, 0 };
	const struct results r = { "wwwwwjwwwwwwwwwwwwwwww", words, 0 };
	struct fake_call *f;

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	fake_sessions.can_back = true;
	f = answer(43, 0, &r);
	CU_ASSERT_EQUAL(fake_sessions.backs, 1);
	CU_ASSERT_EQUAL(memcmp(fake_sessions.id, id, ULB_SESSION_ID), 0);
	CU_ASSERT_EQUAL(fake_sessions.call_max, 21);
	fake_free(f);
}

/* A CLIENT was made, and there is no session of it. */
static void test_nothing(void)
{
	const uint32_t words[] = { 10022, 0, 1, 43, 10022 };
	const struct results r = { "wwwww", words, 0 };

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	fake_free(answer(43, 0, &r));
	CU_ASSERT_EQUAL(fake_sessions.nones, 0);
	fake_sessions.fresh = true;
	fake_free(answer(43, 0, &r));
	CU_ASSERT_EQUAL(fake_sessions.nones, 1);
	CU_ASSERT_EQUAL(fake_sessions.backs, 0);
}

static void test_destroyed(void)
{
	const uint32_t words[] = { 0, 0, 1, 44, 0 };
	const struct results r = { "wwwww", words, 0 };
	struct fake_call *f;

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	f = answer(44, 0, &r);
	CU_ASSERT_EQUAL(fake_sessions.ends, 1);
	CU_ASSERT_EQUAL(memcmp(fake_sessions.id, id, ULB_SESSION_ID), 0);
	fake_free(f);
}

/* Of many sessions a connection knows those that it was bound to last. */
/* As Ganesha's encoder would of what it has given away already. */
static bool encode_given(XDR *xdrs, void *where)
{
	CU_FAIL("results whose data are gone");
	return true;
}

static bool encode_status(XDR *xdrs, void *where)
{
	return XDR_PUTUINT32(xdrs, (*(struct gsh_compound **)where)->status);
}

/* SEQUENCE and READ, as @keep asks, answered with results that have @refs. */
static struct fake_call *read_again(uint32_t keep, int32_t refs)
{
	struct gsh_compound kept = { .status = 70,
				     .tag = { 3, "tag" },
				     .refs = refs };
	struct gsh_compound *results = &kept;
	const uint32_t words[] = { XID, CALL, 2,  100003, 4, 1, 0, 0, 0, 0,
				   0,	1,    2,  53,	  0, 0, 0, 0, 1, 0,
				   0,	keep, 25, 0,	  0, 0, 0, 0, 0, 5 };
	uint32_t be[sizeof(words) / 4];
	struct fake_call *f;
	struct svc_req req;
	bool no_dispatch;

	for (size_t i = 0; i < sizeof(words) / 4; i++)
		be[i] = htonl(words[i]);
	f = fake_new((const uint8_t *)be, sizeof(be), NULL, 0);
	memset(&f->user, 0x5a, sizeof(f->user));
	memset(&req, 0, sizeof(req));
	req.rq_xprt = &xprt;
	req.rq_xdrs = nrt_call_open(&f->pub, pool.pool, 64 << 10);
	rpc_msg_init(&req.rq_msg);
	CU_ASSERT_TRUE_FATAL(xdr_dplx_decode(req.rq_xdrs, &req.rq_msg));
	CU_ASSERT_EQUAL_FATAL(svc_auth_authenticate(&req, &no_dispatch),
			      AUTH_OK);
	SVC_CHECKSUM(&req, req.rq_xdrs->x_data, xdr_size_inline(req.rq_xdrs));
	/* What Ganesha is shown. */
	CU_ASSERT_EQUAL(f->user.withheld.cache_at, keep ? 84 - 40 : 0);
	req.rq_msg.RPCM_ack.ar_results.proc =
		(xdrproc_t)(keep && refs > 1 ? encode_given : encode_status);
	req.rq_msg.RPCM_ack.ar_results.where = &results;
	CU_ASSERT_EQUAL(svc_sendreply(&req), XPRT_IDLE);
	CU_ASSERT_EQUAL_FATAL(f->replies, 1);
	SVCAUTH_RELEASE(&req);
	XDR_DESTROY(req.rq_xdrs);
	return f;
}

/* Ganesha has kept a Reply with data that it sent by TCP. */
static void test_replayed(void)
{
	struct fake_call *f;

	for (uint32_t keep = 0; keep < 2; keep++) {
		for (int32_t refs = 1; refs < 4; refs++) {
			f = read_again(keep, refs);
			if (keep && refs > 1) {
				CU_ASSERT_EQUAL(f->len, 24 + 24);
				CU_ASSERT_EQUAL(reply_word(f, 0), 10068);
				CU_ASSERT_EQUAL(reply_word(f, 4), 3);
				CU_ASSERT_EQUAL(
					memcmp(f->bytes + 32, "tag\0", 4), 0);
				CU_ASSERT_EQUAL(reply_word(f, 12), 1);
				CU_ASSERT_EQUAL(reply_word(f, 16), 53);
				CU_ASSERT_EQUAL(reply_word(f, 20), 10068);
			} else {
				CU_ASSERT_EQUAL(f->len, 24 + 4);
				CU_ASSERT_EQUAL(reply_word(f, 0), 70);
			}
			fake_free(f);
		}
	}
}

/* The Reply to a COMPOUND of one operation on the connection of @c; what is told of it. */
static const char *reply_on(struct nrt_client *c, uint32_t op,
			    const uint32_t *its, const struct results *r)
{
	*told = '\0';
	client = c;
	args = its;
	fake_free(answer(op, 0, r));
	client = NULL;
	args = NULL;
	return told;
}

static void test_client(void)
{
	/* A verifier, and "host one" or "other". */
	static const uint32_t one[] = { 1, 2, 8, 0x686f7374, 0x206f6e65, 0 };
	static const uint32_t other[] = { 1, 2, 5, 0x6f746865, 0x72000000, 0 };
	static const uint32_t sequence[] = { 0, 0, 1, 53, 0, 1, 2, 3, 4, 0 };
	const struct results in_sequence = { "wwwwwiwwwww", sequence, 0 };
	const struct results of_other = { "wwwwwjwwwww", sequence, 0 };
	uint32_t named[] = { 0, 0, 1, 42, 0, 0, 0, 1, 0 };
	const struct results accepted = { "wwwwwwwww", named, 0 };
	static const uint32_t no[] = { 10017, 0, 1, 42, 10017 };
	const struct results refused = { "wwwww", no, 0 };
	struct nrt_client a, b;
	uint64_t number;

	memset(&fake_sessions, 0, sizeof(fake_sessions));
	nrt_names_init(&names);
	nrt_client_init(&a, &names);
	nrt_client_init(&b, &names);
	/* Nobody has named that client yet. The session is told once. */
	CU_ASSERT_STRING_EQUAL(reply_on(&a, 53, NULL, &in_sequence),
			       "-, 30313233343536373839616263646500");
	CU_ASSERT_STRING_EQUAL(reply_on(&a, 53, NULL, &in_sequence), "");
	/* What is refused is not told. */
	CU_ASSERT_STRING_EQUAL(reply_on(&a, 42, one, &refused), "");
	/* Sessions begin with the number that Ganesha gives. */
	memcpy(&number, of, sizeof(number));
	named[5] = (uint32_t)(number >> 32);
	named[6] = (uint32_t)number;
	CU_ASSERT_STRING_EQUAL(reply_on(&a, 42, one, &accepted), "host one, -");
	/* On another connection there is just the session. */
	CU_ASSERT_STRING_EQUAL(reply_on(&b, 53, NULL, &in_sequence),
			       "host one, 30313233343536373839616263646500");
	CU_ASSERT_STRING_EQUAL(reply_on(&b, 53, NULL, &of_other),
			       "-, 616e6f746865722073657373696f6e00");
	/* Another one in the same place of the table. */
	named[6] += NRT_NAMES;
	CU_ASSERT_STRING_EQUAL(reply_on(&b, 42, other, &accepted), "other, -");
	CU_ASSERT_STRING_EQUAL(reply_on(&b, 53, NULL, &in_sequence),
			       "-, 30313233343536373839616263646500");
	nrt_client_destroy(&a);
	nrt_client_destroy(&b);
}

static void test_table(void)
{
	uint8_t one[ULB_SESSION_ID] = { 0 };
	struct nrt_bound b;

	nrt_bound_init(&b);
	CU_ASSERT_FALSE(nrt_bound_has(&b, one));
	for (unsigned int i = 0; i < 10 * NRT_BOUND_MAX; i++) {
		one[3] = (uint8_t)i;
		nrt_bound_add(&b, one);
		nrt_bound_add(&b, one);
		for (unsigned int j = 0; j <= i; j++) {
			one[3] = (uint8_t)j;
			CU_ASSERT_EQUAL(nrt_bound_has(&b, one),
					j + NRT_BOUND_MAX > i);
		}
	}
	nrt_bound_destroy(&b);
}

static void test_open(void)
{
	CU_ASSERT_TRUE_FATAL(util_pool_open(&pool, 0));
	CU_ASSERT_TRUE_FATAL(util_svc_init(1, 2));
}

static void test_close(void)
{
	CU_ASSERT_EQUAL(util_pool_used(&pool), 0);
	util_pool_close(&pool);
}

static const struct unit_test tests[] = {
	{ "open", test_open },
	{ "SEQUENCE flags", test_flags },
	{ "connection bound", test_bound },
	{ "session created", test_created },
	{ "no session", test_nothing },
	{ "session destroyed", test_destroyed },
	{ "kept from TCP", test_replayed },
	{ "sessions of a connection", test_table },
	{ "client of a connection", test_client },
	{ "close", test_close },
	{ NULL, NULL },
};
UNIT_MAIN("ntirpc sessions", tests)
