/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poller hangs if its thread stays in rt_run() although it is woken, or if the watchdog that should
 * hand over its lead makes no progress. Nobody in rt_run(): workers wait for a file system.
 */
#include "ganesha/serve/liveness.h"
#include "unit.h"

#define POLLERS 2

struct rt_instance {
	uint64_t turns[POLLERS];
	unsigned int woken[POLLERS];
};

unsigned int rt_instance_pollers(const struct rt_instance *inst)
{
	(void)inst;
	return POLLERS;
}

uint64_t rt_turns(const struct rt_instance *inst, unsigned int n)
{
	return inst->turns[n];
}

void rt_wake(struct rt_instance *inst, unsigned int n)
{
	inst->woken[n]++;
}

static void check(void)
{
	struct gr_liveness l = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rt_instance inst = { .turns = { 1, 1 } };
	/* Pollers with threads of their own have none. */
	struct gr_watchdog none = { .running = false, .state = GR_TICKING };

	CU_ASSERT_TRUE(gr_liveness_check(&l)); /* nothing is served */
	gr_liveness_set(&l, &inst, &none);
	CU_ASSERT_TRUE(gr_liveness_check(&l)); /* it has only begun */
	CU_ASSERT_EQUAL(inst.woken[0], 1);
	CU_ASSERT_EQUAL(inst.woken[1], 1);
	inst.turns[0] = 3;
	inst.turns[1] = 3;
	CU_ASSERT_TRUE(gr_liveness_check(&l));
	inst.turns[0] = 5;
	CU_ASSERT_FALSE(gr_liveness_check(&l)); /* the second did not leave */
	inst.turns[0] = 7;
	CU_ASSERT_FALSE(gr_liveness_check(&l));
	inst.turns[0] = 8;
	inst.turns[1] = 5;
	CU_ASSERT_TRUE(gr_liveness_check(&l)); /* it goes on */
	inst.turns[1] = 6;
	for (int i = 0; i < 3; i++)
		CU_ASSERT_TRUE(gr_liveness_check(&l)); /* nobody polls */
	inst.turns[1] = 7;
	CU_ASSERT_TRUE(gr_liveness_check(&l));
	CU_ASSERT_FALSE(gr_liveness_check(&l));
	gr_liveness_set(&l, NULL, NULL);
	CU_ASSERT_TRUE(gr_liveness_check(&l));
}

static void watchdog(void)
{
	struct gr_liveness l = { .lock = PTHREAD_MUTEX_INITIALIZER };
	struct rt_instance inst = { .turns = { 2, 2 } };
	struct gr_watchdog dog = { .running = true, .state = GR_ARMED };

	gr_liveness_set(&l, &inst, &dog);
	CU_ASSERT_TRUE(gr_liveness_check(&l)); /* it has only begun */
	CU_ASSERT_FALSE(gr_liveness_check(&l));
	dog.progress++;
	CU_ASSERT_TRUE(gr_liveness_check(&l));
	/* Asleep, it need not look. */
	dog.state = GR_ASLEEP;
	CU_ASSERT_TRUE(gr_liveness_check(&l));
	dog.state = GR_TICKING;
	CU_ASSERT_TRUE(gr_liveness_check(&l));
	CU_ASSERT_FALSE(gr_liveness_check(&l));
	/* Another server has not hung before. */
	gr_liveness_set(&l, &inst, &dog);
	CU_ASSERT_TRUE(gr_liveness_check(&l));
}

static const struct unit_test tests[] = {
	{ "check", check },
	{ "watchdog", watchdog },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-liveness", tests)
