/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The providers' event loop: descriptors, kicks, bits, waking, timers, and that
 * nothing is freed that is still among the kicks.
 *
 * Threads: that of main() runs the loop; others kick, wake and arm.
 */
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "fabric/provider/event_loop.h"
#include "unit.h"

#define CONNS 8
#define KICKS 20000

struct conn {
	struct fab_ev_conn ev;
	struct fab_source src;
	int readies, again, events;
	atomic_int posted;
	int seen; /* of what was posted, at the last ready */
	unsigned int expired;
	/* Since it was retired. */
	int left, freed, done, kick_at_leave, retire_at_free;
};

static const struct fab_ops ops = { .name = "events" };
static struct fab_domain dom = { .ops = &ops };
static struct fab_ev_loop ev;
static struct conn conns[CONNS], *const c = conns;

static void ready(struct fab_conn *fc, void *user)
{
	struct conn *me = user;

	CU_ASSERT_PTR_EQUAL(fc, &me->ev.fab);
	me->readies++;
	me->seen = atomic_load(&me->posted);
	if (me->again-- > 0)
		fab_ev_conn_schedule(fc);
}

static void expired(struct base_timer *t, unsigned int what)
{
	container_of(t, struct conn, ev.timer)->expired = what;
}

static struct conn *of_retired(struct fab_retired *g)
{
	return container_of(g, struct conn, ev.retired);
}

static void retired_leave(struct fab_retired *g)
{
	struct conn *me = of_retired(g);

	CU_ASSERT_FALSE(me->freed);
	me->left++;
	if (me->kick_at_leave-- > 0)
		fab_ev_conn_schedule(&me->ev.fab);
}

static void retired_free(struct fab_retired *g)
{
	struct conn *me = of_retired(g);

	CU_ASSERT_TRUE(me->left);
	CU_ASSERT_FALSE(atomic_load(&me->ev.is_scheduled));
	me->freed++;
	if (me->retire_at_free-- > 0) {
		me->freed = 0;
		fab_ev_loop_retire(&ev, g);
	}
}

static void done(void *user)
{
	struct conn *me = user;

	me->done++;
}

static int event(struct fab_ev_loop *of, struct fab_source *src,
		 uint32_t events)
{
	struct conn *me = container_of(src, struct conn, src);

	CU_ASSERT_PTR_EQUAL(of, &ev);
	CU_ASSERT_TRUE(events & EPOLLIN);
	me->events++;
	return fab_ev_conn_notify(&me->ev, 1u << me->events);
}

static void begin(void)
{
	memset(conns, 0, sizeof(conns));
	CU_ASSERT_EQUAL_FATAL(fab_ev_loop_init(&ev, &dom), 0);
	for (int i = 0; i < CONNS; i++) {
		fab_ev_conn_init(&conns[i].ev, &ev, expired);
		fab_ev_conn_set_ready(&conns[i].ev.fab, ready, &conns[i]);
		conns[i].ev.retired.leave = retired_leave;
		conns[i].ev.retired.free = retired_free;
		conns[i].src.event = event;
	}
}

static void test_descriptors(void)
{
	int fd[2];

	begin();
	CU_ASSERT_EQUAL_FATAL(pipe(fd), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_watch(&ev, fd[0], &c->src, EPOLLIN), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 0);
	CU_ASSERT_EQUAL(write(fd[1], "x", 1), 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 1);
	CU_ASSERT_EQUAL(c->readies, 2);
	/* What has been told comes together, once. */
	CU_ASSERT_EQUAL(fab_ev_conn_take_events(&c->ev), 2 | 4);
	CU_ASSERT_EQUAL(fab_ev_conn_take_events(&c->ev), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_modify(&ev, fd[0], &c->src, 0), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_modify(&ev, fd[0], &c->src, EPOLLIN), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 1);
	/* One that is dead is not called, though it is told. */
	atomic_store(&c->ev.dead, true);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 0);
	CU_ASSERT_EQUAL(c->events, 4);
	fab_ev_loop_unwatch(&ev, fd[0]);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 0);
	CU_ASSERT_EQUAL(c->events, 4);
	close(fd[0]);
	close(fd[1]);
	fab_ev_loop_destroy(&ev);
}

static void test_kicks(void)
{
	begin();
	for (int i = 0; i < 3; i++) {
		fab_ev_conn_schedule(&conns[0].ev.fab);
		fab_ev_conn_schedule(&conns[1].ev.fab);
	}
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 2);
	CU_ASSERT_EQUAL(conns[0].readies, 1);
	CU_ASSERT_EQUAL(conns[1].readies, 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, 0), 0);
	/* One that kicks itself leaves the others their turn. */
	c->again = 2;
	fab_ev_conn_schedule(&c->ev.fab);
	CU_ASSERT_EQUAL(fab_ev_loop_run_scheduled(&ev), 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run_scheduled(&ev), 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run_scheduled(&ev), 0);
	CU_ASSERT_EQUAL(c->readies, 4);
	/* A wake-up calls nobody, and counts once. */
	fab_ev_loop_wake(&ev.fab);
	fab_ev_loop_wake(&ev.fab);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 0);
	fab_ev_loop_destroy(&ev);
}

static void test_retired(void)
{
	begin();
	fab_ev_conn_timer_set(&c->ev, 100000, 7);
	fab_ev_conn_retire(&c->ev.fab, done, c);
	CU_ASSERT_FALSE(c->freed);
	CU_ASSERT_EQUAL(base_timer_at(&c->ev.timer), 0);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 1);
	CU_ASSERT_EQUAL(c->freed, 1);
	CU_ASSERT_EQUAL(c->done, 1);
	/* Kicked on its way: not before the kick has been taken. */
	conns[1].kick_at_leave = 1;
	fab_ev_conn_retire(&conns[1].ev.fab, done, &conns[1]);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 0);
	CU_ASSERT_EQUAL(conns[1].left, 1);
	CU_ASSERT_FALSE(conns[1].freed);
	CU_ASSERT_FALSE(conns[1].done);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 1);
	CU_ASSERT_EQUAL(conns[1].left, 2);
	CU_ASSERT_EQUAL(conns[1].freed, 1);
	CU_ASSERT_EQUAL(conns[1].readies, 0);
	/* One that cannot be freed yet: who waits for it waits no longer. */
	conns[2].retire_at_free = 1;
	fab_ev_conn_retire(&conns[2].ev.fab, done, &conns[2]);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 1);
	CU_ASSERT_FALSE(conns[2].freed);
	CU_ASSERT_EQUAL(conns[2].done, 1);
	CU_ASSERT_EQUAL(fab_ev_loop_run(&ev, -1), 0);
	CU_ASSERT_EQUAL(conns[2].freed, 1);
	CU_ASSERT_EQUAL(conns[2].done, 1);
	/* The end of the loop frees what is left, is_scheduled or not. */
	fab_ev_conn_retire(&conns[3].ev.fab, done, &conns[3]);
	fab_ev_conn_schedule(&conns[3].ev.fab);
	fab_ev_conn_retire(&conns[4].ev.fab, NULL, NULL);
	fab_ev_loop_destroy(&ev);
	CU_ASSERT_EQUAL(conns[3].freed, 1);
	CU_ASSERT_EQUAL(conns[3].done, 1);
	CU_ASSERT_EQUAL(conns[4].freed, 1);
}

static void *arm(void *arg)
{
	fab_ev_conn_timer_set(arg, 1, 7);
	return NULL;
}

/* Armed by another thread while the loop may be asleep for ever. */
static void test_timer(void)
{
	int found = 0;
	pthread_t t;

	begin();
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, arm, &c->ev), 0);
	while (c->expired != 7)
		found += fab_ev_loop_run(&ev, -1);
	CU_ASSERT_EQUAL(found, 1);
	pthread_join(t, NULL);
	fab_ev_loop_destroy(&ev);
}

static void *kicker(void *unused)
{
	for (int i = 0; i < KICKS; i++) {
		struct conn *to = &conns[i % CONNS];

		atomic_fetch_add(&to->posted, 1);
		fab_ev_conn_schedule(&to->ev.fab);
	}
	return NULL;
}

static bool all_seen(int each)
{
	for (int i = 0; i < CONNS; i++)
		if (conns[i].seen != each)
			return false;
	return true;
}

/* No kick is lost, however often the loop falls asleep: it ends. */
static void test_threads(void)
{
	pthread_t t[2];

	begin();
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(pthread_create(&t[i], NULL, kicker, NULL),
				      0);
	while (!all_seen(2 * KICKS / CONNS))
		fab_ev_loop_run(&ev, -1);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	fab_ev_loop_destroy(&ev);
}

static const struct unit_test tests[] = {
	{ "descriptors", test_descriptors }, { "kicks", test_kicks },
	{ "retired", test_retired },	     { "timer", test_timer },
	{ "threads", test_threads },	     { NULL, NULL },
};

UNIT_MAIN("events", tests)
