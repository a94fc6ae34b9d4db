/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_abrupt - peers that go without a word
 *
 * Threads: one.
 */
#include <dirent.h>
#include <malloc.h>
#include <sys/param.h>

#include "verbs_peer.h"

/* Enough for everything to have been allocated that is kept. */
#define WARM_UP 3
#define MOST_EACH 100

int abrupt_clients = 800;

/* ---- What a connection leaves behind --------------------------------- */

struct footprint {
	long rss_kib; /* of the process */
	/* Octets allocated of it. What malloc() keeps for each thread counts, so it
	 * is to keep none (verbs-guest.sh). */
	long heap;
	int fds;
	char device[256]; /* the kernel's: QPs, MRs, ... of all processes */
};

static int count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void read_device(char *buf, size_t size)
{
	char cmd[128];
	size_t n;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "rdma resource show %s",
		 getenv("RPCRDMA_VERBS_DEVICE"));
	f = popen(cmd, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = 0;
	pclose(f);
}

static void measure(struct footprint *p)
{
	struct mallinfo2 m;
	long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(fscanf(f, "%*d %ld", &pages), 1);
	fclose(f);
	p->rss_kib = pages * (sysconf(_SC_PAGESIZE) / 1024);
	m = mallinfo2();
	p->heap = (long)(m.uordblks - m.fsmblks);
	p->fds = count_fds();
	read_device(p->device, sizeof(p->device));
}

static void print_footprint(const char *when, const struct footprint *p)
{
	printf("%s: %ld KiB resident, %ld octets of heap, %d descriptors, %s",
	       when, p->rss_kib, p->heap, p->fds, p->device);
}

/* ---- Thousands of them ----------------------------------------------- */

static void cut_link(bool cut)
{
	pid_t pid = command(cut ? "RPCRDMA_VERBS_CUT" : "RPCRDMA_VERBS_MEND");

	MANY_UNTIL(command_ended(&pid));
}

/* @each clients; how many of them have connected. */
static int abrupt_round(int n, int each)
{
	enum { KILLED, KILLED_CONNECTING, POWER_CUT } how = n % WARM_UP;
	pid_t peer = peer_start(each);
	int served;

	MANY_UNTIL(MANY_UP >= (how == KILLED_CONNECTING ? each / 2 : each));
	/* Of a process killed its kernel tells us. Not of one that has no
	 * power, or no way to us. */
	if (how == POWER_CUT)
		cut_link(true);
	peer_kill(peer);
	MANY_UNTIL(MANY_DOWN == nmany);
	if (how == POWER_CUT)
		cut_link(false);
	/* What was on its way when the peer was killed. */
	for (int i = 0; i < 10; i++)
		many_turn();
	MANY_UNTIL(MANY_DOWN == nmany);
	for (int i = 0; i < nmany; i++) {
		CU_ASSERT_EQUAL(many[i].nwc, MANY_RECEIVES);
		CU_ASSERT_EQUAL(ep_count(&many[i], FAB_OK), 0);
	}
	served = nmany;
	many_destroy();
	return served;
}

void test_abrupt(void)
{
	struct footprint before = { 0 }, after = { 0 };
	int each = MIN((abrupt_clients + WARM_UP - 1) / WARM_UP, MOST_EACH);
	uint64_t end;
	int n = 0;

	many_listen();
	vb_domain(w.dom)->keepalive_ms = 1000;
	for (int i = 0; i < WARM_UP; i++)
		abrupt_round(i, each);
	measure(&before);
	for (int i = 0; n < abrupt_clients; i++)
		n += abrupt_round(i, each);
	/* The kernel may take its time with what it cleans up. */
	end = util_ms() + 60000;
	do {
		many_turn();
		measure(&after);
	} while (strcmp(before.device, after.device) && util_ms() < end);
	print_footprint("before", &before);
	printf("%d clients\n", n);
	print_footprint("after", &after);
	CU_ASSERT_STRING_EQUAL(before.device, after.device);
	CU_ASSERT_EQUAL(before.fds, after.fds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	/* Less than the smallest leak would be. */
	CU_ASSERT_TRUE(after.heap - before.heap < 16l * abrupt_clients);
	CU_ASSERT_TRUE(after.rss_kib - before.rss_kib < 1024);
#endif
	world_close(&w);
}

/* ---- Peers that can no longer be reached ----------------------------- */

/* The peer is there, but nothing reaches it, nor do we hear of its end. */
static void vanish(bool keepalive)
{
	struct fab_wr send[3];
	pid_t peer;

	many_listen();
	vb_domain(w.dom)->keepalive_ms = keepalive ? 1000 : 1000000;
	peer = peer_start(3);
	MANY_UNTIL(MANY_UP == 3);
	cut_link(true);
	/* Otherwise what is sent shows it. An iWARP device does not see what
	 * TCP has not been told, for a long time. */
	if (!keepalive)
		for (int i = 0; i < 3; i++) {
			send[i] = (struct fab_wr){ .op = FAB_SEND };
			CU_ASSERT_EQUAL(fab_post(many[i].c, &send[i]), 0);
		}
	MANY_UNTIL(MANY_DOWN == 3);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(many[i].error, -ETIMEDOUT);
		CU_ASSERT_EQUAL(ep_count(&many[i], FAB_FLUSHED), MANY_RECEIVES);
		CU_ASSERT_EQUAL(ep_count(&many[i], FAB_ERROR), !keepalive);
	}
	cut_link(false);
	peer_kill(peer);
	many_destroy();
	world_close(&w);
}

void test_vanished_idle(void)
{
	vanish(true);
}

void test_vanished_sending(void)
{
	if (strstr(getenv("RPCRDMA_VERBS_DEVICE"), "siw"))
		return;
	vanish(false);
}
