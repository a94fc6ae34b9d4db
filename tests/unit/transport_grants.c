/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * GRANTs for GRANTs (4.2.1.1, [A5] rule 5): who sends nothing else gets its
 * credits back, and two of our own ends come to rest.
 */
#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8,
					    .call_read_chunks = 2,
					    .call_write_chunks = 2 };

static void answer_held(struct rt_pair *p)
{
	while (p->nheld)
		rt_pair_answer(p, p->held[--p->nheld]);
}

/* Those of @r that come now, and are all that comes. */
static unsigned int grants_back(struct rt_raw *r)
{
	unsigned int n = 0;

	rt_raw_run(r);
	while (r->queued) {
		CU_ASSERT_EQUAL(rt_raw_next(r), RDMA2_GRANT);
		n++;
	}
	return n;
}

/*
 * A peer that sends GRANTs alone, one after another: before half of its limit
 * is used it gets its credits back, if that is two or more ([A5] rule 5), and
 * with a limit of one by the GRANT that may go beyond it.
 */
static void grants_only(void)
{
	for (unsigned int credits = 1; credits <= 64; credits *= 2) {
		struct rt_config cfg = { .credits = credits };
		unsigned int most = credits < 4 ? 2 : credits / 2, back = 0;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		for (unsigned int i = 1; i <= 200; i++) {
			CU_ASSERT_TRUE_FATAL(r.limit != r.sent);
			rt_raw_grant(&r);
			back += grants_back(&r);
			CU_ASSERT_EQUAL(back, i / most);
		}
		/* And there is one for a Call. */
		rt_raw_call(&r, 1, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		/* All but one are held by Calls: so the last one is gone. */
		r.p.hold = true;
		while (r.limit - r.sent > 1)
			rt_raw_call(&r, r.sent, NULL, NULL, 8);
		rt_raw_grant(&r);
		CU_ASSERT_EQUAL(grants_back(&r), 0);
		CU_ASSERT_EQUAL(r.limit, r.sent);
		rt_raw_grant(&r);
		CU_ASSERT_EQUAL(grants_back(&r), 1);
		CU_ASSERT_EQUAL(r.limit, r.sent + 1);
		CU_ASSERT_FALSE(r.p.server_closed);
		answer_held(&r.p);
		rt_raw_close(&r);
	}
}

/* The same of a server, to whose limit the client's GRANTs keep too. */
static void grants_of_a_server(void)
{
	for (unsigned int credits = 1; credits <= 3; credits++) {
		struct rt_config cfg = { .credits = credits };
		unsigned int back = 0;
		struct rt_raw r;

		CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		/* For the FINAL, which is half of its credits. */
		CU_ASSERT_EQUAL(grants_back(&r), 1);
		for (unsigned int i = 1; i <= 40; i++) {
			CU_ASSERT_TRUE_FATAL(r.limit != r.sent);
			rt_raw_grant(&r);
			back += grants_back(&r);
			CU_ASSERT_EQUAL(back, i / 2);
		}
		rt_raw_close(&r);
	}
}

/*
 * All that is not a GRANT is given back for itself: what is dropped, what is
 * refused, and properties that come again. A Reply to nothing too.
 */
static void others_alone(void)
{
	for (unsigned int kind = 0; kind < 6; kind++) {
		struct rt_config cfg = { .credits = 8 };
		struct rt_raw r;
		uint32_t low = 8;

		CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		/* What is too short is no second message [A7]. */
		rt_raw_call(&r, 1, NULL, NULL, 8);
		CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
		for (unsigned int i = 0; i < 40; i++) {
			uint32_t left = r.limit - r.sent;

			low = left < low ? left : low;
			switch (kind) {
			case 0:
				rt_raw_error(&r, 1, 77);
				break;
			case 1:
				rt_raw_send(&r, "xyz", 3);
				break;
			case 2:
				rt_raw_begin(&r, 99, i);
				rt_raw_end(&r);
				break;
			case 3:
				rt_raw_prop(&r, true, RDMA2_PROPID_RBSIZ, 4096);
				break;
			case 4:
				rt_raw_reply(&r, i, NULL, "\0\0\0\0", 4);
				break;
			default:
				rt_raw_middle(&r, 7, true, 400 - 4 * i,
					      "\0\0\0\7", 4);
				break;
			}
			rt_raw_run(&r);
			while (r.queued)
				rt_raw_next(&r);
			CU_ASSERT_FALSE_FATAL(r.p.server_closed);
		}
		CU_ASSERT_TRUE(low > 4);
		rt_raw_close(&r);
	}
}

/*
 * Two of our own ends do not answer each other's GRANTs without end: each sends
 * half as many as it gets, and what they can have given away is their credits.
 */
static void at_rest(void)
{
	struct rt_config c = with_user, s = with_user;

	for (c.credits = 1; c.credits <= 4; c.credits++)
		for (s.credits = 1; s.credits <= 4; s.credits++) {
			unsigned long before, after, most;
			struct rt_stats a, b;
			struct rt_rpc dropped[5];
			struct rt_pair p;

			CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &c, &s, NULL));
			/* Long ones to draw GRANTs, and Calls without answer:
			 * the last that moves is a GRANT. */
			CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1, 50000,
						   false, 50000, 0, 0, 0, 0));
			p.drop = true;
			before = rt_pair_stats(p.client_inst).grants_sent +
				 rt_pair_stats(p.server_inst).grants_sent;
			for (uint32_t i = 0; i < 5; i++) {
				rt_rpc_init(&p, p.client, &dropped[i], 2 + i, 0,
					    false, 8, 0, 0, 0, 0);
				rt_rpc_submit(p.client, &dropped[i]);
			}
			/* Not rt_pair_run(), which waits for the rest. */
			for (unsigned int i = 0; i < 1000; i++) {
				rt_run(p.server_inst, 0, 0);
				rt_run(p.client_inst, 0, 0);
			}
			a = rt_pair_stats(p.client_inst);
			b = rt_pair_stats(p.server_inst);
			after = a.grants_sent + b.grants_sent;
			CU_ASSERT_EQUAL(a.grants_sent, b.grants_received);
			CU_ASSERT_EQUAL(b.grants_sent, a.grants_received);
			most = 5 + 2 * ((c.credits < 2 ? 2 : c.credits) +
					(s.credits < 2 ? 2 : s.credits));
			CU_ASSERT_TRUE(after > before);
			CU_ASSERT_TRUE(after - before <= most);
			if (after - before > most)
				fprintf(stderr, "credits %u, %u: %lu GRANTs\n",
					c.credits, s.credits, after - before);
			p.drop = false;
			if (after - before <= most)
				CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 9, 0,
							   false, 8, 0, 0, 0,
							   0));
			rt_conn_close(p.client, true);
			rt_pair_run(&p);
			for (uint32_t i = 0; i < 5; i++) {
				CU_ASSERT_TRUE(dropped[i].done);
				rt_rpc_free(&dropped[i]);
			}
			rt_pair_close(&p);
		}
}

static const struct unit_test tests[] = {
	{ "grants only", grants_only },
	{ "grants of a server", grants_of_a_server },
	{ "others alone", others_alone },
	{ "at rest", at_rest },
	{ NULL, NULL },
};

UNIT_MAIN("transport-grants", tests)
