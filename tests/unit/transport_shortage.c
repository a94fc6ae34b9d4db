/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that has run out of something: Calls wait, or do without, and it is
 * counted; no connection ends, and none is made anew. By both versions.
 */
#include <errno.h>

#include "rt_raw1.h"
#include "test_clock.h"
#include "unit.h"

#define CALLS 8
#define LONG 300000 /* a buffer that a new pool does not have */

static struct rt_pair p;
static struct rt_rpc rpc[CALLS], little[CALLS];
static struct loop_shortage *device;

/* Its Calls have their memory: @data octets, in a Read chunk if @reduce. */
static void start(const struct rt_config *version, size_t data, bool reduce)
{
	struct rt_config client = *version, server = *version;

	client.request_user_size = sizeof(void *);
	server.memory_wait_ms = 3000;
	/* The short ones have credits of their own. */
	server.credits = client.credits = 2 * CALLS;
	test_clock_hold();
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &client, &server, NULL));
	device = loop_shortage(p.dom);
	/* Version 1 begins with one credit. */
	CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 99, 0, false, 16, 0, 0, 0, 0));
	for (uint32_t i = 0; i < CALLS; i++) {
		rt_rpc_init(&p, p.client, &rpc[i], 1 + i, data, reduce, 16, 0,
			    0, 0, 0);
		rt_rpc_init(&p, p.client, &little[i], 101 + i, 40, false, 16, 0,
			    0, 0, 0);
	}
}

static void pass(unsigned int ms)
{
	for (; ms; ms -= 10) {
		test_clock_pass(10);
		rt_wake(p.server_inst, 0);
		rt_wake(p.client_inst, 0);
		rt_pair_run(&p);
	}
}

/* A short Call goes by, and so the connection is the first one. */
static void goes_by(unsigned int i)
{
	rt_rpc_submit(p.client, &little[i]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(little[i].done);
	CU_ASSERT_TRUE(rt_rpc_check(&little[i]));
	CU_ASSERT_FALSE(p.client_closed || p.server_closed);
}

static unsigned int done(void)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < CALLS; i++)
		n += rpc[i].done;
	return n;
}

static void submit(void)
{
	for (unsigned int i = 0; i < CALLS; i++)
		rt_rpc_submit(p.client, &rpc[i]);
	rt_pair_run(&p);
}

static uint64_t shortages(struct rt_instance *inst)
{
	return rt_pair_stats(inst).shortages;
}

static void finish(void)
{
	struct rt_totals t;

	rt_totals(p.server_inst, &t);
	CU_ASSERT_EQUAL(t.accepted, 1);
	CU_ASSERT_FALSE(p.client_closed || p.server_closed);
	for (unsigned int i = 0; i < CALLS; i++) {
		rt_rpc_free(&rpc[i]);
		rt_rpc_free(&little[i]);
	}
	rt_pair_close(&p);
	test_clock_release();
}

/* No memory can be registered: what needs it waits, all else goes by. */
static void registrations_of(const struct rt_config *version)
{
	start(version, LONG, true);
	atomic_store(&device->regs, UINT32_MAX);
	submit();
	CU_ASSERT_EQUAL(done(), 0);
	goes_by(0);
	CU_ASSERT_TRUE(shortages(p.server_inst) > 0);
	pass(100);
	CU_ASSERT_EQUAL(done(), 0);
	goes_by(1);
	/* Tried again a second after the first time. */
	atomic_store(&device->regs, 0);
	pass(300);
	test_clock_pass(800);
	pass(200);
	CU_ASSERT_EQUAL(done(), CALLS);
	for (unsigned int i = 0; i < CALLS; i++)
		CU_ASSERT_TRUE(rt_rpc_check(&rpc[i]));
	finish();
}

/* ... and never: the RPCs end, one after the other, and the connection does not. */
static void for_good_of(const struct rt_config *version)
{
	start(version, LONG, true);
	atomic_store(&device->regs, UINT32_MAX);
	submit();
	pass(3200 * (CALLS + 1));
	CU_ASSERT_EQUAL(done(), CALLS);
	for (unsigned int i = 0; i < CALLS; i++) {
		CU_ASSERT_EQUAL(rpc[i].rq->status, -EREMOTEIO);
		CU_ASSERT_EQUAL(rpc[i].rq->error.code,
				version == &rt_only2 ? RDMA2_ERR_SYSTEM :
						       RDMA1_ERR_CHUNK);
	}
	goes_by(0);
	atomic_store(&device->regs, 0);
	finish();
}

/* No window for the Requester: it does without chunks, where the version can. */
static void windows_of(const struct rt_config *version)
{
	start(version, 20000, true);
	atomic_store(&device->windows, UINT32_MAX);
	submit();
	CU_ASSERT_EQUAL(done(), CALLS);
	for (unsigned int i = 0; i < CALLS; i++) {
		if (version == &rt_only2) {
			CU_ASSERT_TRUE(rt_rpc_check(&rpc[i]));
		} else {
			CU_ASSERT_EQUAL(rpc[i].rq->status, -E2BIG);
		}
	}
	CU_ASSERT_TRUE(shortages(p.client_inst) > 0);
	goes_by(0);
	atomic_store(&device->windows, 0);
	finish();
}

/* It has no room for Receives: the peer is promised fewer. */
static void receives_of(const struct rt_config *version)
{
	for (unsigned int n = 1; n < 40; n += 5) {
		start(version, 100, false);
		atomic_store(&device->recvs, n);
		submit();
		for (unsigned int i = 0; i < CALLS; i++)
			goes_by(i);
		pass(100 * n);
		CU_ASSERT_EQUAL(done(), CALLS);
		CU_ASSERT_EQUAL(atomic_load(&device->recvs), 0);
		CU_ASSERT_TRUE(shortages(p.server_inst) +
				       shortages(p.client_inst) >
			       0);
		finish();
	}
}

#define BOTH(name)                    \
	static void name##_2(void)    \
	{                             \
		name##_of(&rt_only2); \
	}                             \
	static void name##_1(void)    \
	{                             \
		name##_of(&rt_only1); \
	}

BOTH(registrations)
BOTH(for_good)
BOTH(windows)
BOTH(receives)

static const struct unit_test tests[] = {
	{ "registrations, version 2", registrations_2 },
	{ "registrations, version 1", registrations_1 },
	{ "registrations for good, version 2", for_good_2 },
	{ "registrations for good, version 1", for_good_1 },
	{ "windows, version 2", windows_2 },
	{ "windows, version 1", windows_1 },
	{ "Receives, version 2", receives_2 },
	{ "Receives, version 1", receives_1 },
	{ NULL, NULL },
};

UNIT_MAIN("transport-shortage", tests)
