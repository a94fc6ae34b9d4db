/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every failure of the fabric at every point of a fixed script of RPCs, in all
 * formats and both directions: nothing leaks, each request and each Reply is
 * done exactly once, each Call comes back, the connections are gone. Built for
 * each version (VERSION); in version 1 the long reverse Calls cannot be sent.
 */
#include <errno.h>

#include "rt_pair.h"
#include "unit.h"

#define FORWARD 8
#define REVERSE 5

static const struct rt_config client_cfg = {
	.versions = 1u << VERSION,
	.request_user_size = 8,
	.credits = 4,
	.reverse = RDMA2_RVRSDIR_GENL,
	.call_read_chunks = 2,
	.call_write_chunks = 2,
	.max_memory = 16u << 20,
};
static const struct rt_config server_cfg = {
	.request_user_size = 8,
	/* Nothing of these tests waits for a clock. */
	.max_wrong = UINT32_MAX,
	.credits = 4,
	.call_read_chunks = 2,
	.call_write_chunks = 2,
	.max_memory = 16u << 20,
};

struct script {
	struct rt_pair p;
	struct rt_rpc f[FORWARD], v[REVERSE];
	unsigned int nf, nv;
	unsigned int ok; /* that had a right Reply */
	/* Called between the steps of the script. */
	void (*step)(struct script *s, unsigned int n);
	unsigned int arg, side;
};

/* Take all buffers of the pool but a few small ones, for a while. */
#define HOARD 8192
static struct fab_buf *hoard[HOARD];
static unsigned int hoarded;

static void forward(struct script *s, size_t data, bool reduce, size_t reply,
		    unsigned int items, uint32_t len, unsigned int sinks)
{
	rt_rpc_init(&s->p, s->p.client, &s->f[s->nf], 100 + s->nf, data, reduce,
		    reply, items, len, sinks, len);
	s->nf++;
}

static void reverse(struct script *s, size_t data, bool reduce, size_t reply,
		    unsigned int items, uint32_t len, unsigned int sinks)
{
	rt_rpc_init(&s->p, s->p.server, &s->v[s->nv], 500 + s->nv, data, reduce,
		    reply, items, len, sinks, len);
	s->nv++;
}

static void step(struct script *s, unsigned int n)
{
	if (s->step)
		s->step(s, n);
}

/* A connection that has ended takes no more of it. */
static void submit(struct rt_conn **c, struct rt_rpc *r)
{
	if (*c)
		rt_rpc_submit(*c, r);
}

static void answer_held(struct script *s)
{
	while (s->p.nheld) {
		struct rt_call *call = s->p.held[--s->p.nheld];

		if (s->p.nheld % 5 == 4)
			rt_call_drop(call);
		else
			rt_pair_answer(&s->p, call);
	}
}

static void begin(struct script *s)
{
	forward(s, 100, false, 200, 0, 0, 0);
	forward(s, 20000, true, 8, 0, 0, 0);
	forward(s, 9000, false, 64, 1, 9000, 1);
	forward(s, 70000, false, 8, 0, 0, 0);
	forward(s, 4, false, 9000, 0, 0, 0);
	forward(s, 4, false, 60000, 2, 3001, 2);
	forward(s, 40001, true, 100000, 1, 5, 1);
	forward(s, 0, false, 8, 0, 0, 0);
	reverse(s, 100, false, 100, 0, 0, 0);
	reverse(s, 9000, false, 9000, 0, 0, 0);
	reverse(s, 30000, true, 64, 1, 20000, 1);
	reverse(s, 50000, false, 50000, 0, 0, 0);
	reverse(s, 0, false, 8, 0, 0, 0);
}

/* The script. Returns what part of it went well. */
static unsigned int play(struct script *s, void (*prepare)(struct fab_domain *))
{
	unsigned int n = 0;

	s->nf = s->nv = 0;
	s->ok = 0;
	CU_ASSERT_TRUE_FATAL(
		rt_pair_listen(&s->p, &client_cfg, &server_cfg, prepare));
	step(s, n++);
	/* Without memory for Receives it does not even begin. */
	CU_ASSERT_TRUE(rt_pair_connect_to(&s->p, 20049) || hoarded);
	rt_pair_run(&s->p);
	step(s, n++);
	if (s->p.client && s->p.server) {
		begin(s);
		step(s, n++);
		submit(&s->p.client, &s->f[0]);
		rt_pair_run(&s->p);
		step(s, n++);
		s->p.hold = true;
		for (unsigned int i = 1; i < FORWARD; i++) {
			submit(&s->p.client, &s->f[i]);
			if (i < REVERSE)
				submit(&s->p.server, &s->v[i]);
			if (i % 3 == 0) {
				rt_pair_run(&s->p);
				step(s, n++);
				answer_held(s);
			}
		}
		for (unsigned int i = 0; i < 6; i++) {
			rt_pair_run(&s->p);
			step(s, n++);
			answer_held(s);
		}
		submit(&s->p.server, &s->v[0]);
		s->p.hold = false;
		rt_pair_run(&s->p);
		step(s, n++);
		for (unsigned int i = 0; i < FORWARD; i++)
			s->ok += rt_rpc_check(&s->f[i]);
		for (unsigned int i = 0; i < REVERSE; i++)
			s->ok += rt_rpc_check(&s->v[i]);
	}
	step(s, UINT32_MAX);
	if (s->p.client)
		rt_conn_close(s->p.client, true);
	rt_pair_run(&s->p);
	answer_held(s);
	rt_pair_run(&s->p);
	CU_ASSERT_TRUE(!s->p.client && !s->p.server);
	CU_ASSERT_EQUAL(s->p.answers, s->p.dones);
	for (unsigned int i = 0; i < s->nf; i++) {
		CU_ASSERT_EQUAL(s->f[i].ndone, s->f[i].nsubmit);
		rt_rpc_free(&s->f[i]);
	}
	for (unsigned int i = 0; i < s->nv; i++) {
		CU_ASSERT_EQUAL(s->v[i].ndone, s->v[i].nsubmit);
		rt_rpc_free(&s->v[i]);
	}
	/* Also checks that no buffer is missing. */
	rt_pair_close(&s->p);
	return s->ok;
}

static struct loop_faults faults;
static unsigned int sides;

static void with_faults(struct fab_domain *dom)
{
	loop_set_faults(dom, sides, &faults);
}

/* What goes well without faults: all but the dropped ones. */
static unsigned int all;

static void no_faults(void)
{
	static struct script s;

	all = play(&s, NULL);
	/* Some are dropped. */
	CU_ASSERT_TRUE(all >= (VERSION == 2 ? FORWARD + 1 : FORWARD - 1));
	for (unsigned int d = 1; d < 6; d++) {
		sides = LOOP_ACTIVE | LOOP_PASSIVE;
		faults = (struct loop_faults){ .delay_polls = d };
		CU_ASSERT_TRUE(play(&s, with_faults) + 1 >= all);
	}
}

/* Break after each message of each side. */
static void messages(void)
{
	static struct script s;

	for (sides = LOOP_ACTIVE; sides <= LOOP_PASSIVE; sides++)
		for (unsigned int n = 1; n < 400; n++) {
			faults = (struct loop_faults){
				.break_after_messages = n,
				.delay_polls = n % 3,
			};
			if (play(&s, with_faults) == all)
				break;
			CU_ASSERT_TRUE_FATAL(n < 399);
		}
}

/* Within messages, Writes and Reads. */
static void octets(void)
{
	static struct script s;
	uint64_t n = 1;

	for (sides = LOOP_ACTIVE; sides <= LOOP_PASSIVE; sides++)
		for (n = 1; n < 1000000; n += 61 + n / 90) {
			faults = (struct loop_faults){
				.break_after_octets = n,
				.order_seed = (uint32_t)(n % 4),
			};
			play(&s, with_faults);
		}
}

/* Posts that are refused, and why. */
static void refused(void)
{
	static const int why[] = { -ENOMEM, -ENOTCONN, -EINVAL };
	static struct script s;

	for (sides = LOOP_ACTIVE; sides <= LOOP_PASSIVE; sides++)
		for (unsigned int n = 1; n < 400; n++) {
			faults = (struct loop_faults){
				.refuse_post = n,
				.refuse_error = why[n % 3],
			};
			if (play(&s, with_faults) == all)
				break;
			CU_ASSERT_TRUE_FATAL(n < 399);
		}
}

/* Requests that fail, of each kind. */
static void failed(void)
{
	static struct script s;

	for (sides = LOOP_ACTIVE; sides <= LOOP_PASSIVE; sides++)
		for (unsigned int n = 1; n < 400; n++) {
			faults = (struct loop_faults){ .fail_request = n };
			if (play(&s, with_faults) == all)
				break;
			CU_ASSERT_TRUE_FATAL(n < 399);
		}
}

/* Either side ends it, in order or not, at each step. */
static void end_at(struct script *s, unsigned int n)
{
	struct rt_conn *c = s->side & 1 ? s->p.client : s->p.server;

	if (n == s->arg && c)
		rt_conn_close(c, s->side & 2);
}

static void closed(void)
{
	static struct script s = { .step = end_at };

	for (s.side = 0; s.side < 4; s.side++)
		for (s.arg = 0; s.arg < 14; s.arg++) {
			play(&s, NULL);
			CU_ASSERT_TRUE(s.ok <= all);
		}
	/* And before it is up. */
	for (unsigned int i = 0; i < 3; i++) {
		sides = LOOP_ACTIVE;
		faults = (struct loop_faults){ .reject_connects = i == 0,
					       .ignore_connects = i > 0 };
		CU_ASSERT_TRUE_FATAL(rt_pair_listen(&s.p, &client_cfg,
						    &server_cfg, with_faults));
		CU_ASSERT_TRUE(rt_pair_connect_to(&s.p, 20049));
		if (i == 1)
			rt_conn_close(s.p.client, true);
		if (i == 2)
			rt_conn_close(s.p.client, false);
		rt_pair_run(&s.p);
		CU_ASSERT_TRUE(s.p.client_closed);
		CU_ASSERT_FALSE(s.p.client_up);
		rt_pair_close(&s.p);
	}
}

/* ---- Damage ------------------------------------------------------------ */

static uint32_t damage_seed;

/* Each few messages: some octets changed, cut off, or added. */
static void damage(void *ctx, struct loop_message *m)
{
	uint32_t *s = ctx;

	*s = *s * 1664525 + 1013904223;
	if ((*s >> 8) % 6)
		return;
	switch ((*s >> 16) % 4) {
	case 0:
		m->len = (*s >> 9) % (m->len + 1);
		break;
	case 1:
		if (m->len + 4 <= m->cap && m->len < 4000)
			memset(m->data + m->len, 0xff, 4);
		m->len += m->len < 4000 ? 4 : 0;
		break;
	case 2: /* somewhere in the header */
		if (m->len >= 16)
			m->data[4 * ((*s >> 20) %
				     (m->len / 4 < 16 ? m->len / 4 : 16)) +
				(*s >> 30)] ^= (uint8_t)(1u << (*s >> 5) % 8);
		break;
	case 3: /* a small number instead of a word */
		if (m->len >= 64) {
			memset(m->data + 4 * ((*s >> 20) % 16), 0, 3);
			m->data[4 * ((*s >> 20) % 16) + 3] =
				(uint8_t)(*s >> 27);
		}
		break;
	}
}

/* Damaged messages are not what the watch is for. */
static void blind(struct script *s, unsigned int n)
{
	s->p.watch.quiet = true;
	if (n == UINT32_MAX)
		s->p.watch.faults = 0;
}

static void damaged(void)
{
	static struct script s = { .step = blind };
	const char *more = getenv("RPCRDMA_TEST_SEEDS");
	unsigned int runs = more ? (unsigned int)atoi(more) : 200;

	for (unsigned int i = 0; i < runs; i++) {
		damage_seed = i * 7919;
		sides = 1 + i % 3;
		faults = (struct loop_faults){ .tamper = damage,
					       .tamper_ctx = &damage_seed };
		play(&s, with_faults);
	}
}

/* ---- No memory -------------------------------------------------------- */

static void give_back(void)
{
	while (hoarded)
		fab_pool_put(hoard[--hoarded]);
}

static void take_all(struct fab_pool *pool, unsigned int but)
{
	struct fab_buf *small[16] = { NULL };

	for (unsigned int i = 0; i < but; i++)
		small[i] = fab_pool_get(pool, 4096);
	for (size_t size = 4u << 20; size >= 4096; size /= 4) {
		struct fab_buf *b;

		while (hoarded < HOARD && (b = fab_pool_get(pool, size)))
			hoard[hoarded++] = b;
	}
	for (unsigned int i = 0; i < but; i++)
		fab_pool_put(small[i]);
}

static void starve(struct script *s, unsigned int n)
{
	give_back();
	if (n == s->arg / 16)
		take_all(rt_instance_pool(s->side ? s->p.client_inst :
						    s->p.server_inst),
			 s->arg % 16);
}

static void no_memory(void)
{
	static struct script s = { .step = starve };
	unsigned int none = 0;

	/* There, Receives do not have their memory from what is starved. */
	if (getenv("RPCRDMA_TEST_SHARED"))
		return;
	for (s.side = 0; s.side < 2; s.side++)
		for (s.arg = 0; s.arg < 13 * 16; s.arg++)
			/* begin() needs some itself. */
			if (s.arg / 16 != 1)
				none += !play(&s, NULL);
	/* It did make a difference, and not always the whole one. */
	CU_ASSERT_TRUE(none > 5 && none < 100);
}

/* ---- Poorer fabrics --------------------------------------------------- */

static struct loop_settings settings;

static void with_settings(struct fab_domain *dom)
{
	struct loop_settings now;

	loop_get_settings(dom, &now);
	if (!settings.limits.max_sge)
		settings.limits.max_sge = now.limits.max_sge;
	if (!settings.limits.max_read_depth)
		settings.limits.max_read_depth = now.limits.max_read_depth;
	if (!settings.max_exposed)
		settings.max_exposed = now.max_exposed;
	settings.limits.max_message = now.limits.max_message;
	loop_set_settings(dom, &settings);
}

static void poorer(void)
{
	static struct script s;
	unsigned int caps = FAB_CAP_ANY_LOCAL | FAB_CAP_SEND_INV |
			    FAB_CAP_EXPOSE;
	unsigned int ok;

	for (unsigned int c = 0; c <= caps; c++)
		for (unsigned int i = 0; i < 3; i++) {
			settings = (struct loop_settings){
				.limits.caps = c,
				.limits.max_sge = i ? 4 : 0,
				.limits.max_read_depth = i == 2,
			};
			CU_ASSERT_EQUAL(play(&s, with_settings), all);
		}
	/* Few handles: what does not fit goes another way. */
	for (unsigned int n = 1; n < 20; n++) {
		settings = (struct loop_settings){ .limits.caps = caps,
						   .max_exposed = n };
		/* Version 1 has no other way for a long message. */
		ok = play(&s, with_settings);
		CU_ASSERT_TRUE(VERSION == 2 ? ok == all : ok <= all);
	}
}

static const struct unit_test tests[] = {
	{ "no faults", no_faults }, { "messages", messages },
	{ "octets", octets },	    { "refused", refused },
	{ "failed", failed },	    { "closed", closed },
	{ "damaged", damaged },	    { "no memory", no_memory },
	{ "poorer", poorer },	    { NULL, NULL },
};

UNIT_MAIN("transport-faults", tests)
