/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A provider that closes memory late, and one that tells a length that cannot
 * be: loop, with these of its functions replaced.
 */
#include <errno.h>

#include "rt_pair.h"
#include "unit.h"

static struct fab_ops odd;
static struct rt_pair p;
static const struct rt_config client = { .request_user_size = sizeof(void *) };

/* ---- Memory that is closed late --------------------------------------- */

#define MOST 64

static struct {
	struct fab_conn *c;
	void *user;
} late[MOST];
static unsigned int nlate;
static bool release;

static bool unexpose_late(struct fab_conn *c, uint32_t handle, void *user)
{
	fab_loop_ops.unexpose(c, handle, user);
	if (nlate == MOST)
		return true;
	late[nlate].c = c;
	late[nlate++].user = user;
	return false;
}

static int poll_late(struct fab_conn *c, struct fab_wc *wc, int n)
{
	int got = 0;

	if (!release || !nlate || late[nlate - 1].c != c)
		return fab_loop_ops.poll(c, wc, n);
	while (got < n && nlate) {
		memset(&wc[got], 0, sizeof(wc[got]));
		wc[got].kind = FAB_WC_CLOSED;
		wc[got++].user = late[--nlate].user;
	}
	return got;
}

static void closes_late(struct fab_domain *dom)
{
	odd = fab_loop_ops;
	odd.unexpose = unexpose_late;
	odd.poll = poll_late;
	dom->ops = &odd;
	nlate = 0;
	release = false;
}

static void call(struct rt_rpc *r)
{
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, closes_late));
	rt_rpc_init(&p, p.client, r, 77, 40000, true, 100, 2, 50000, 2, 50000);
	rt_rpc_submit(p.client, r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.answers, 1);
	CU_ASSERT_TRUE(nlate > 0);
	/* Its memory is not the upper layer's yet. */
	CU_ASSERT_FALSE(r->done);
}

static void test_late(void)
{
	struct rt_rpc r;

	call(&r);
	/* Nor does it keep others. */
	CU_ASSERT_TRUE(
		rt_rpc_trip(&p, p.client, 78, 100, false, 100, 0, 0, 0, 0));
	CU_ASSERT_FALSE(r.done);
	release = true;
	fab_conn_schedule(late[0].c);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(nlate, 0);
	CU_ASSERT_EQUAL(r.ndone, 1);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

static void test_late_end(void)
{
	struct rt_rpc r;

	call(&r);
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(r.ndone, 1);
	/* The Reply had come. */
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	rt_rpc_free(&r);
	p.client = NULL;
	rt_pair_close(&p);
}

/* ---- A length that cannot be ------------------------------------------- */

static bool forge;

static int poll_forged(struct fab_conn *c, struct fab_wc *wc, int n)
{
	int got = fab_loop_ops.poll(c, wc, n);

	for (int i = 0; forge && i < got; i++)
		if (wc[i].kind == FAB_WC_WORK && wc[i].status == FAB_OK &&
		    wc[i].wr->op == FAB_RECV) {
			wc[i].len = 1 << 20;
			forge = false;
		}
	return got;
}

static void forges(struct fab_domain *dom)
{
	odd = fab_loop_ops;
	odd.poll = poll_forged;
	dom->ops = &odd;
	forge = false;
}

static void test_forged(void)
{
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, forges));
	rt_rpc_init(&p, p.client, &r, 77, 100, false, 100, 0, 0, 0, 0);
	forge = true;
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(forge);
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(p.server_error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(strstr(p.server_reason, "1048576 bytes in a"));
	CU_ASSERT_EQUAL(p.calls, 0);
	CU_ASSERT_TRUE(r.done);
	rt_rpc_free(&r);
	p.client = p.server = NULL;
	rt_pair_close(&p);
}

/* By a server, for its Reply. */
static void test_forged_reply(void)
{
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, NULL, forges));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 77, 100, false, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	forge = true;
	p.nheld = 0;
	rt_pair_answer(&p, p.held[0]);
	rt_pair_run(&p);
	CU_ASSERT_FALSE(forge);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(strstr(p.client_reason, "1048576 bytes in a"));
	CU_ASSERT_TRUE(r.done);
	CU_ASSERT_EQUAL(r.rq->status, -ECONNRESET);
	rt_rpc_free(&r);
	p.client = p.server = NULL;
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "late", test_late },
	{ "late_end", test_late_end },
	{ "forged", test_forged },
	{ "forged_reply", test_forged_reply },
	{ NULL, NULL },
};

UNIT_MAIN("transport_provider", tests)
