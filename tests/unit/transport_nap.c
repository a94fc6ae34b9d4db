/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poller spins where that helps, and naps instead while the parts of a long RDMA
 * Read come (core/poller_run.c).
 *
 * What the server's poller finds is told by the script of a test. Time stands
 * still but for a millisecond at each look in vain, and at each nap, and for as many as
 * the script says in hundreds.
 */
#include "rt_pair.h"
#include "test_clock.h"
#include "unit.h"

#define LONG 1000000u

static struct rt_pair p;
static const int *script; /* what looks find, to a -1; NULL: what there is */
static unsigned int looks, sleeps, naps;

int __real_fab_poller_run(struct fab_poller *poller, int timeout_ms);
int __wrap_fab_poller_run(struct fab_poller *poller, int timeout_ms);
int __wrap_nanosleep(const struct timespec *want, struct timespec *left);

int __wrap_fab_poller_run(struct fab_poller *poller, int timeout_ms)
{
	if (!script)
		return __real_fab_poller_run(poller, timeout_ms);
	looks += !timeout_ms;
	sleeps += timeout_ms != 0;
	if (*script > 0) {
		test_clock_pass(*script / 100);
		return *script++ % 100;
	}
	script += !*script;
	test_clock_pass(1);
	return 0;
}

int __wrap_nanosleep(const struct timespec *want, struct timespec *left)
{
	CU_ASSERT_EQUAL(want->tv_sec, 0);
	CU_ASSERT_TRUE(want->tv_nsec > 0 && want->tv_nsec < 100000);
	naps++;
	test_clock_pass(1);
	return 0;
}

/* A turn of the server's poller that may sleep and finds what @found says. */
static int turn(const int *found)
{
	int n;

	looks = sleeps = naps = 0;
	script = found;
	n = rt_run(p.server_inst, 0, 1000);
	script = NULL;
	return n;
}

static const int something[] = { 3, -1 };
static const int nothing[] = { 0, 0, 0, 0, 0, 0, 0, 0, -1 };
static const int late[] = { 0, 0, 3, -1 };

/* It spins, five looks long, and then sleeps. */
static void spins(void)
{
	CU_ASSERT_EQUAL(turn(nothing), 0);
	CU_ASSERT_EQUAL(looks, 5);
	CU_ASSERT_EQUAL(sleeps, 1);
	CU_ASSERT_EQUAL(naps, 0);
}

/* Its Reads stay under way for a while. */
static void slow(struct fab_domain *dom)
{
	static const struct loop_faults faults = { .delay_polls = 50 };

	loop_set_faults(dom, LOOP_PASSIVE, &faults);
}

/* ... and come in parts. */
static void in_parts(struct fab_domain *dom)
{
	struct loop_settings s;

	loop_get_settings(dom, &s);
	s.limits.caps |= FAB_CAP_PARTS;
	loop_set_settings(dom, &s);
	slow(dom);
}

static void begin(void (*prepare)(struct fab_domain *))
{
	static const struct rt_config server = { .busy_poll_us = 5000 };

	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, NULL, &server, prepare));
	/* Busy polling has been of use. */
	CU_ASSERT_EQUAL(turn(something), 3);
}

static uint64_t reads(void)
{
	return rt_pair_stats(p.server_inst).read_bytes;
}

/* The server has begun to read @n octets of the Call @r. */
static void reading(struct rt_rpc *r, uint32_t xid, uint32_t n)
{
	uint64_t before = reads();

	rt_rpc_init(&p, p.client, r, xid, n, true, 100, 0, 0, 0, 0);
	rt_rpc_submit(p.client, r);
	for (int i = 0; i < 50 && reads() == before; i++) {
		rt_run(p.client_inst, 0, 0);
		if (reads() == before)
			rt_run(p.server_inst, 0, 0);
	}
	CU_ASSERT_EQUAL(reads() - before, n);
}

static void done(struct rt_rpc *r)
{
	for (int i = 0; i < 100 && !r->done; i++)
		rt_pair_run(&p);
	CU_ASSERT_TRUE(r->done);
	CU_ASSERT_TRUE(rt_rpc_check(r));
	rt_rpc_free(r);
}

/* Until the last has come. */
static void between(void)
{
	struct rt_rpc r;

	begin(in_parts);
	spins();
	for (uint32_t xid = 1; xid < 3; xid++) {
		reading(&r, xid, LONG);
		/* It looks when a nap is over, and before it sleeps. */
		CU_ASSERT_EQUAL(turn(late), 3);
		CU_ASSERT_EQUAL(looks, 3);
		CU_ASSERT_EQUAL(naps, 2);
		CU_ASSERT_EQUAL(sleeps, 0);
		CU_ASSERT_EQUAL(turn(nothing), 0);
		CU_ASSERT_EQUAL(naps, looks);
		CU_ASSERT_EQUAL(sleeps, 1);
		done(&r);
		spins();
	}
	rt_pair_close(&p);
}

/* The peer has stopped sending: others may have Calls. */
static void late_parts(void)
{
	struct rt_rpc r;

	begin(in_parts);
	reading(&r, 1, LONG);
	CU_ASSERT_EQUAL(turn(late), 3);
	CU_ASSERT_EQUAL(naps, 2);
	test_clock_pass(20);
	spins();
	done(&r);
	rt_pair_close(&p);
}

/* A device has them, and tells when all is there. */
static void device(void)
{
	struct rt_rpc r;

	begin(slow);
	reading(&r, 1, LONG);
	spins();
	done(&r);
	rt_pair_close(&p);
}

/* What comes at once. */
static void brief(void)
{
	struct rt_rpc r;

	begin(in_parts);
	reading(&r, 1, 65536);
	spins();
	done(&r);
	rt_pair_close(&p);
}

/* One of two that are under way at once has ended; then the connection has. */
static void two(void)
{
	struct rt_rpc a, b;

	begin(in_parts);
	reading(&a, 1, LONG);
	reading(&b, 2, LONG);
	CU_ASSERT_EQUAL(turn(late), 3);
	CU_ASSERT_EQUAL(naps, 2);
	rt_conn_close(p.server, true);
	rt_pair_run(&p);
	spins();
	rt_rpc_free(&a);
	rt_rpc_free(&b);
	rt_pair_close(&p);
}

/* Something comes as soon as it sleeps. */
static void vain_spins(void)
{
	static const int asleep[] = { 0, 0, 0, 0, 0, 3, -1 };

	for (unsigned int i = 0; i < 4; i++) {
		CU_ASSERT_EQUAL(turn(asleep), 3);
		CU_ASSERT_EQUAL(looks, 5);
		CU_ASSERT_EQUAL(sleeps, 1);
	}
}

static void sleeps_at_once(unsigned int times)
{
	while (times--) {
		CU_ASSERT_EQUAL(turn(something), 3);
		CU_ASSERT_EQUAL(looks, 0);
		CU_ASSERT_EQUAL(sleeps, 1);
	}
}

/* It spins less and less often, until that has helped. */
static void in_vain(void)
{
	begin(slow);
	for (unsigned int i = 1; i < 1024; i = 2 * i + 1) {
		vain_spins();
		sleeps_at_once(i);
	}
	vain_spins();
	sleeps_at_once(1023);
	CU_ASSERT_EQUAL(turn(late), 3);
	CU_ASSERT_EQUAL(looks, 3);
	vain_spins();
	sleeps_at_once(1);
	vain_spins();
	rt_pair_close(&p);
}

/* What comes long after it fell asleep does not have it spin again. */
static void comes_late(void)
{
	static const int much_later[] = { 603, -1 };

	begin(slow);
	vain_spins();
	for (unsigned int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(turn(much_later), 3);
		CU_ASSERT_EQUAL(looks, 0);
	}
	sleeps_at_once(1);
	CU_ASSERT_EQUAL(turn(late), 3);
	CU_ASSERT_EQUAL(looks, 3);
	rt_pair_close(&p);
}

/* It did not have the processor while it looked. */
static void lost(void)
{
	static const int at_last[] = { 0, 203, -1 }, soon[] = { 0, 103, -1 };

	begin(slow);
	CU_ASSERT_EQUAL(turn(soon), 3);
	CU_ASSERT_EQUAL(turn(at_last), 3);
	CU_ASSERT_EQUAL(looks, 2);
	sleeps_at_once(1);
	CU_ASSERT_EQUAL(turn(at_last), 3);
	CU_ASSERT_EQUAL(looks, 2);
	sleeps_at_once(3);
	CU_ASSERT_EQUAL(turn(soon), 3);
	CU_ASSERT_EQUAL(looks, 2);
	rt_pair_close(&p);
}

static const struct unit_test tests[] = {
	{ "between", between },
	{ "late_parts", late_parts },
	{ "device", device },
	{ "brief", brief },
	{ "two", two },
	{ "in vain", in_vain },
	{ "comes late", comes_late },
	{ "lost", lost },
	{ 0 },
};

UNIT_MAIN("transport-nap", tests)
