/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_peer - peers in processes of their own, and our end of them
 *
 * A peer is this program again, with --hold: it connects as often as it is
 * told, says so, and does nothing until it is killed. At our end are many[],
 * each with four Receives and a range of memory open to the peer. What the
 * environment must name stands in verbs_events.c.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_TEST_VERBS_PEER_H
#define RPCRDMA_TEST_VERBS_PEER_H

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#define EP_MAX_WC 64
#include "fabric/verbs/vb.h"
#include "provider_util.h"

#define MAX_HELD 200
#define MANY_RECEIVES 4

extern struct world w;
extern struct ep many[MAX_HELD];
extern int nmany;
extern char self[4096]; /* this program */

/* PROVIDER ADDRESS PORT COUNT; the exit status. */
int peer_hold(char **argv);
/* Start one that connects @count times; its process id. */
pid_t peer_start(int count);
void peer_kill(pid_t pid);
/* As ep_poll(), where there is no test for an assertion to fail. */
void peer_look(struct ep *e);

/* Run a command of the environment; not waited for, since it may wait for
 * what this side does. */
pid_t command(const char *name);
/* Has it? Then with success. */
bool command_ended(pid_t *pid);

void many_listen(void);
void many_turn(void);
/* How many of them have the flag at @member of struct ep. */
int many_count(size_t member);
void many_destroy(void);

#define MANY_UP many_count(offsetof(struct ep, established))
#define MANY_DOWN many_count(offsetof(struct ep, disconnected))
#define MANY_UNTIL(cond)                            \
	do {                                        \
		uint64_t end_ = util_ms() + 120000; \
		while (!(cond) && util_ms() < end_) \
			many_turn();                \
		CU_ASSERT_TRUE(!!(cond));           \
	} while (0)

/* verbs_abrupt.c */
extern int abrupt_clients; /* of the test of that name */
void test_abrupt(void);
void test_vanished_idle(void);
void test_vanished_sending(void);

/* verbs_half_open.c */
/* ADDRESS PORT COUNT HOW: such a peer; the exit status. */
int half_open(char **argv);
void test_early(void);
void test_half_open(void);
void test_half_broken(void);

/* verbs_events.c */
/* As the device tells that the queue pair is of no use any more. */
void device_breaks(struct fab_conn *c);

#endif /* RPCRDMA_TEST_VERBS_PEER_H */
