/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is kept of back channels whose connections have ended, and how many of
 * them one host may have.
 */
#include <errno.h>

#include "ntirpc/back/channel.h"
#include "ntirpc_named.h"

static bool let_go(void)
{
	return !rt_instance_held(ends.server);
}

/* A session's CLIENT is there for long after its connection, and keeps nothing
 * of that. */
static void test_lets_go(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	cut();
	ends_wait_for(let_go);
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION);
	CU_ASSERT_TRUE(let_go());
	come_back();
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.result, 2);
	CLNT_DESTROY(clnt);
}

/* A connection that ends before its CLIENT is made. */
static void test_too_late(void)
{
	struct rt_conn *gone = ends.server_conn;
	CLIENT *clnt;

	rt_conn_get(gone);
	cut();
	clnt = bc_client_create(ends.back, gone, NULL, PROG, VERS);
	CU_ASSERT_EQUAL(clnt->cl_error.re_status, RPC_CANTSEND);
	CLNT_DESTROY(clnt);
	rt_conn_put(gone);
	clnt = bc_client_create(ends.back, NULL, NULL, PROG, VERS);
	CU_ASSERT_EQUAL(clnt->cl_error.re_status, RPC_CANTSEND);
	CLNT_DESTROY(clnt);
	ends_wait_for(let_go);
	ends_connect();
}

/* Call @f for each channel. */
static void each_channel(void (*f)(struct bc_channel *ch))
{
	struct bc_channel *ch;

	pthread_mutex_lock(&ends.back->lock);
	for (unsigned int i = 0; i < BC_BUCKETS; i++) {
		cds_list_for_each_entry(ch, &ends.back->by_host[i], by_host)
		{
			f(ch);
		}
	}
	pthread_mutex_unlock(&ends.back->lock);
}

static unsigned int channels, alone;
static int64_t passed;

static void count(struct bc_channel *ch)
{
	channels++;
	alone += ch->alone_since != 0;
}

static void age(struct bc_channel *ch)
{
	if (ch->alone_since)
		ch->alone_since -= passed;
}

static unsigned int count_channels(void)
{
	channels = alone = 0;
	each_channel(count);
	return channels;
}

static bool none_left(void)
{
	return !count_channels();
}

static bool all_alone(void)
{
	return count_channels() == alone;
}

static void pass(int64_t ms)
{
	passed = ms;
	each_channel(age);
	pthread_mutex_lock(&ends.back->lock);
	ends.back->sweep_at = 0;
	pthread_cond_signal(&ends.back->changed);
	pthread_mutex_unlock(&ends.back->lock);
}

/* What nobody has any more is forgotten, though nothing else happens: with the
 * callbacks that have waited for it. */
static void test_swept(void)
{
	CLIENT *clnt = named_clnt();
	struct call c;

	cut();
	ends_expect(1);
	CU_ASSERT_EQUAL(ends_send(&c, clnt, DO_ADD, 1, long_time), RPC_SUCCESS);
	pass(0);
	CU_ASSERT_FALSE(all_alone());
	CLNT_DESTROY(clnt);
	pass(0);
	ends_wait_for(all_alone);
	CU_ASSERT_TRUE(channels);
	CU_ASSERT_EQUAL(atomic_load(&ends.processed), 0);
	pass(BC_ALONE_MS + 1000);
	ends_wait_for(none_left);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(c.stat, RPC_TIMEDOUT);
	ends_connect();
}

/* @n of them, in sessions of their own; the first octets of their names. */
static void named_clnts(CLIENT **clnt, uint8_t *of, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		clnt[i] = named_clnt();
		of[i] = session[0];
	}
}

static void refused(void)
{
	CLIENT *clnt = ends_new_clnt();

	CU_ASSERT_EQUAL(clnt->cl_error.re_status, RPC_SYSTEMERROR);
	CU_ASSERT_EQUAL(clnt->cl_error.re_errno, EUSERS);
	CLNT_DESTROY(clnt);
}

static uint32_t flags_of(uint8_t of)
{
	uint8_t id[ULB_SESSION_ID];

	memcpy(id, session, sizeof(id));
	id[0] = of;
	return bc_session_flags(ends.back, id);
}

/* A host has so many and no more. What is of no use gives way, the oldest
 * first; what is in use does not, nor what Calls wait for. */
static void test_bound(void)
{
	unsigned int most = ends.back->host_max;
	CLIENT *first[3], *more[2];
	uint8_t of[3], other[2];
	struct call calls[2];

	ends.back->host_max = 3;
	named_clnts(first, of, 3);
	refused();
	cut();
	ends_expect(1);
	session[0] = of[1];
	CU_ASSERT_EQUAL(ends_send(&calls[0], first[1], DO_ADD, 1, long_time),
			RPC_SUCCESS);
	ends_connect();
	session[0] = of[2];
	named_clnts(more, other, 1);
	CU_ASSERT_EQUAL(flags_of(of[0]), 0);
	CU_ASSERT_EQUAL(flags_of(of[1]), ULB_SEQ_CB_PATH_DOWN_SESSION);
	CU_ASSERT_EQUAL(flags_of(of[2]), ULB_SEQ_CB_PATH_DOWN_SESSION);
	CU_ASSERT_EQUAL(ends_send(&calls[1], first[0], DO_ADD, 1, long_time),
			RPC_CANTSEND);
	bc_req_release(&calls[1].req);
	named_clnts(&more[1], &other[1], 1);
	CU_ASSERT_EQUAL(flags_of(of[2]), 0);
	refused();
	/* It comes back, and finds its own. */
	session[0] = of[1];
	settle(ULB_SESSION_BACK, session);
	ends_wait_for(ends_all_processed);
	CU_ASSERT_EQUAL(calls[0].result, 2);
	refused();
	/* One at rest does as well. */
	CLNT_DESTROY(more[0]);
	more[0] = named_clnt();
	for (unsigned int i = 0; i < 3; i++)
		CLNT_DESTROY(first[i]);
	for (unsigned int i = 0; i < 2; i++)
		CLNT_DESTROY(more[i]);
	ends.back->host_max = most;
	session[0] = other[1];
}

#define FULL (BC_HOST_WAITING_MAX / BC_WAITING_MAX)

/* Nor may more than so many Calls of it wait, in however many sessions. */
static void test_host_parked(void)
{
	static struct call calls[BC_HOST_WAITING_MAX + 1];
	CLIENT *clnt[FULL + 1];
	uint8_t of[FULL + 1];
	unsigned int n = 0;

	named_clnts(clnt, of, FULL + 1);
	cut();
	ends_expect(BC_HOST_WAITING_MAX);
	for (unsigned int i = 0; i < FULL; i++)
		for (unsigned int k = 0; k < BC_WAITING_MAX; k++)
			CU_ASSERT_EQUAL(ends_send(&calls[n++], clnt[i], DO_ADD,
						  k, long_time),
					RPC_SUCCESS);
	CU_ASSERT_EQUAL(ends_send(&calls[n], clnt[FULL], DO_ADD, 0, long_time),
			RPC_CANTSEND);
	bc_req_release(&calls[n].req);
	CU_ASSERT_EQUAL(flags(), ULB_SEQ_CB_PATH_DOWN_SESSION |
					 ULB_SEQ_BACKCHANNEL_FAULT);
	ends_connect();
	for (unsigned int i = 0; i < FULL + 1; i++) {
		session[0] = of[i];
		settle(ULB_SESSION_BACK, session);
	}
	ends_wait_for(ends_all_processed);
	for (n = 0; n < BC_HOST_WAITING_MAX; n++)
		CU_ASSERT_EQUAL(calls[n].stat, RPC_SUCCESS);
	for (unsigned int i = 0; i < FULL + 1; i++)
		CLNT_DESTROY(clnt[i]);
}

static const struct unit_test tests[] = {
	{ "open", ends_open },	       { "lets go", test_lets_go },
	{ "too late", test_too_late }, { "swept", test_swept },
	{ "bound", test_bound },       { "host's parked", test_host_parked },
	{ "end", ends_end },	       { NULL, NULL },
};
UNIT_MAIN("ntirpc back", tests)
