/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_events - what happens to a device, its links and its peers
 *
 *	verbs_events [TEST...]
 *	verbs_events --hold PROVIDER ADDRESS PORT COUNT
 *
 * It takes links and devices away, so it runs only where that is wanted:
 * tests/integration/verbs-guest.sh prepares a guest and names in the
 * environment
 *
 *	RPCRDMA_VERBS_ADDR	our address, of the device
 *	RPCRDMA_VERBS_DEVICE	such as rxe0
 *	RPCRDMA_VERBS_REMOVE	command that removes the device
 *	RPCRDMA_VERBS_ADD	command that makes it anew
 *	RPCRDMA_VERBS_CUT	command after which nothing reaches a peer
 *	RPCRDMA_VERBS_MEND	and that repairs it
 *	RPCRDMA_VERBS_PEER	prefix of commands that run at a peer
 *	RPCRDMA_VERBS_PEER_PROVIDER	what the peer has
 *
 * Exit status 77 without them. With --hold it is a peer: connects COUNT times,
 * says so, and does nothing until it is killed.
 *
 * Threads: one.
 */
#include <linux/capability.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fabric/verbs/vb.h"
#include "fabric/verbs/verbs.h"
#include "provider_util.h"

struct subject subject;
static struct world w;
static char self[4096];

/* As ep_poll(), where there is no test for an assertion to fail. */
static void look(struct ep *e)
{
	struct fab_wc wc[7];
	int n;

	e->ready = false;
	while ((n = fab_poll(e->c, wc, 7)) > 0) {
		for (int i = 0; i < n; i++) {
			e->established |= wc[i].kind == FAB_WC_ESTABLISHED;
			e->disconnected |= wc[i].kind == FAB_WC_DISCONNECTED;
			if (wc[i].kind == FAB_WC_DISCONNECTED)
				e->error = wc[i].error;
		}
	}
}

/* ---- The other side -------------------------------------------------- */

#define MAX_HELD 200

static int hold(char **argv)
{
	static struct ep held[MAX_HELD];
	struct sockaddr_in to = { .sin_family = AF_INET };
	int count = atoi(argv[3]), up = 0, down = 0;
	struct fab_domain *dom;
	struct fab_poller *p;

	to.sin_port = htons((uint16_t)atoi(argv[2]));
	if (inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
	    count > MAX_HELD || !fab_provider(argv[0]) ||
	    fab_domain_open(fab_provider(argv[0]), NULL, &dom) ||
	    fab_poller_create(dom, &p))
		return 1;
	for (int i = 0; i < count; i++)
		if (fab_conn_create(p, ep_ready, &held[i], &held[i].c) ||
		    fab_connect(held[i].c, (struct sockaddr *)&to, sizeof(to),
				NULL))
			return 1;
	for (bool told = false; down < count;) {
		fab_poller_run(p, 1000);
		for (int i = up = down = 0; i < count; i++) {
			if (held[i].ready)
				look(&held[i]);
			up += held[i].established;
			down += held[i].disconnected;
		}
		if (up == count && !told)
			printf("connected\n");
		told |= up == count;
		fflush(stdout);
	}
	return up < count;
}

/* Start one; returns its process id. */
static pid_t start_peer(const char *prefix, const char *provider, int count)
{
	char cmd[5000], addr[INET_ADDRSTRLEN];
	char sh[] = "/bin/sh", c[] = "-c";
	char *args[] = { sh, c, cmd, NULL };
	const struct sockaddr_in *in = (struct sockaddr_in *)&w.addr;
	posix_spawnattr_t attr;
	pid_t pid = 0;

	inet_ntop(AF_INET, &in->sin_addr, addr, sizeof(addr));
	snprintf(cmd, sizeof(cmd), "exec %s %s --hold %s %s %d %d", prefix,
		 self, provider, addr, ntohs(in->sin_port), count);
	posix_spawnattr_init(&attr);
	CU_ASSERT_EQUAL_FATAL(posix_spawn(&pid, sh, NULL, &attr, args, environ),
			      0);
	posix_spawnattr_destroy(&attr);
	return pid;
}

static void kill_peer(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* Run a command of the environment; not waited for, since it may wait for
 * what this side does. */
static pid_t run(const char *name)
{
	char sh[] = "/bin/sh", c[] = "-c";
	char *args[] = { sh, c, getenv(name), NULL };
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(posix_spawn(&pid, sh, NULL, NULL, args, environ),
			      0);
	return pid;
}

static bool ended(pid_t *pid)
{
	if (*pid && waitpid(*pid, NULL, WNOHANG) == *pid)
		*pid = 0;
	return !*pid;
}

/* ---- Many connections of peers --------------------------------------- */

static struct ep many[MAX_HELD];
static int nmany;
static struct msg many_recv[MAX_HELD][4];

static void many_request(struct fab_listener *l, struct fab_conn *c,
			 const void *priv, size_t priv_len, void *user)
{
	struct fab_conn_params none = { 0 };
	struct ep *e = &many[nmany];

	if (nmany == MAX_HELD) {
		fab_reject(c, NULL, 0);
		fab_conn_destroy_deferred(c, NULL, NULL);
		return;
	}
	memset(e, 0, sizeof(*e));
	e->c = c;
	e->mr = w.mr;
	fab_conn_set_ready(c, ep_ready, e);
	for (int i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(ep_recv(e, msg_init(&w, &many_recv[nmany][i],
						    FAB_RECV, 0, 4096)),
				0);
	if (fab_accept(c, &none)) {
		fab_conn_destroy_deferred(c, NULL, NULL);
		e->c = NULL;
		return;
	}
	nmany++;
}

static void many_turn(void)
{
	fab_poller_run(w.poller, 50);
	for (int i = 0; i < nmany; i++)
		if (many[i].ready)
			ep_poll(&many[i]);
}

static int many_count(size_t member)
{
	int n = 0;

	for (int i = 0; i < nmany; i++)
		n += *((bool *)((char *)&many[i] + member));
	return n;
}

#define MANY_UNTIL(cond)                            \
	do {                                        \
		uint64_t end_ = util_ms() + 120000; \
		while (!(cond) && util_ms() < end_) \
			many_turn();                \
		CU_ASSERT_TRUE(!!(cond));           \
	} while (0)

static void many_listen(void)
{
	world_domain(&w, 0);
	nmany = 0;
	CU_ASSERT_EQUAL_FATAL(
		fab_listen(w.poller, (struct sockaddr *)&subject.addr,
			   subject.addrlen, many_request, &w, &w.listener),
		0);
	fab_listener_addr(w.listener, &w.addr);
}

static void many_destroy(void)
{
	int gone = 0;

	for (int i = 0; i < nmany; i++)
		fab_conn_destroy_deferred(many[i].c, ep_gone, &many[i]);
	for (int i = 0; i < 100 && gone < nmany; i++) {
		fab_poller_run(w.poller, 10);
		gone = 0;
		for (int k = 0; k < nmany; k++)
			gone += many[k].gone;
	}
	CU_ASSERT_EQUAL(gone, nmany);
	nmany = 0;
}

/* ---- Locked memory --------------------------------------------------- */

static char said[4096];

static void keep_log(void *ctx, int level, const char *text)
{
	size_t n = strlen(said);

	snprintf(said + n, sizeof(said) - n, "%s\n", text);
}

/* In a process of its own: what it gives up does not come back. */
static int memlock(void)
{
	/* Nobody listens there; it must not matter. */
	struct sockaddr_in to = *(struct sockaddr_in *)&subject.addr;
	struct fab_domain_params p = { .log = keep_log };
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct cap[2];
	struct rlimit small = { 256 << 10, 256 << 10 };
	struct fab_domain *dom;
	struct fab_poller *poller;
	struct fab_conn *c;
	struct fab_mr *mr;
	struct ep e = { 0 };
	uint64_t end = util_ms() + 60000;

	/* The check is of who is bound by the limit at all. */
	if (syscall(SYS_capget, &head, cap))
		return 10;
	cap[0].effective &= ~(1u << CAP_IPC_LOCK);
	cap[0].permitted &= ~(1u << CAP_IPC_LOCK);
	if (syscall(SYS_capset, &head, cap) ||
	    setrlimit(RLIMIT_MEMLOCK, &small))
		return 11;
	if (fab_domain_open(&fab_verbs_ops, &p, &dom) ||
	    fab_poller_create(dom, &poller))
		return 12;
	w.arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* No device is in use: nothing is locked yet. */
	if (fab_reg(dom, w.arena, ARENA, &mr))
		return 13;
	if (fab_conn_create(poller, ep_ready, &e, &c))
		return 14;
	e.c = c;
	to.sin_port = htons(9);
	if (fab_connect(c, (struct sockaddr *)&to, sizeof(to), NULL))
		return 15;
	while (!e.disconnected && util_ms() < end) {
		fab_poller_run(poller, 10);
		look(&e);
	}
	if (!e.disconnected || e.error != -ENOMEM)
		return 16;
	return strstr(said, "LimitMEMLOCK") ? 0 : 17;
}

static void test_memlock(void)
{
	char option[] = "--memlock";
	char *args[] = { self, option, NULL };
	int status = 0;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(
		posix_spawn(&pid, self, NULL, NULL, args, environ), 0);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_TRUE(WIFEXITED(status));
	CU_ASSERT_EQUAL(WEXITSTATUS(status), 0);
}

static void test_owns(void)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };

	CU_ASSERT_TRUE(fab_verbs_owns((struct sockaddr *)&subject.addr));
	CU_ASSERT_TRUE(fab_verbs_owns((struct sockaddr *)&in));
	CU_ASSERT_TRUE(fab_verbs_owns((struct sockaddr *)&in6));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_FALSE(fab_verbs_owns((struct sockaddr *)&in));
	in.sin_addr.s_addr = htonl(0xc0000201);
	CU_ASSERT_FALSE(fab_verbs_owns((struct sockaddr *)&in));
	in6.sin6_addr = in6addr_loopback;
	CU_ASSERT_FALSE(fab_verbs_owns((struct sockaddr *)&in6));
}

/* ---- Devices and links ----------------------------------------------- */

static void test_removed(void)
{
	static struct msg r[10];
	pid_t remove, add;

	world_pair(&w);
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 4096)),
				0);
	remove = run("RPCRDMA_VERBS_REMOVE");
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.nwc, 10);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 10);
	CU_ASSERT_TRUE(w.cli.error == -ENODEV || w.srv.error == -ENODEV);
	world_unpair(&w);
	PUMP_UNTIL(&w, ended(&remove));
	/* There is no way now. */
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.established);
	world_unpair(&w);
	/* The listener comes back with the device. */
	add = run("RPCRDMA_VERBS_ADD");
	PUMP_UNTIL(&w, ended(&add));
	for (int i = 0; i < 60 && !w.srv.established; i++) {
		world_unpair(&w);
		world_connect(&w, NULL);
		PUMP_UNTIL(&w, w.cli.disconnected || (w.cli.established &&
						      w.srv.established));
		if (w.cli.disconnected)
			for (int k = 0; k < 10; k++)
				world_turn(&w, 50);
	}
	CU_ASSERT_TRUE(w.cli.established);
	CU_ASSERT_TRUE(w.srv.established);
	world_hello(&w);
	world_close(&w);
}

/* The peer is there, but nothing reaches it, nor do we hear of its end. */
static void vanish(bool keepalive)
{
	const char *prefix = getenv("RPCRDMA_VERBS_PEER");
	const char *provider = getenv("RPCRDMA_VERBS_PEER_PROVIDER");
	struct fab_wr send[3];
	pid_t peer, cut;

	many_listen();
	vb_domain(w.dom)->keepalive_ms = keepalive ? 1000 : 1000000;
	peer = start_peer(prefix, provider, 3);
	MANY_UNTIL(many_count(offsetof(struct ep, established)) == 3);
	cut = run("RPCRDMA_VERBS_CUT");
	MANY_UNTIL(ended(&cut));
	/* Otherwise what is sent shows it. An iWARP device does not see what
	 * TCP has not been told, for a long time. */
	if (!keepalive)
		for (int i = 0; i < 3; i++) {
			send[i] = (struct fab_wr){ .op = FAB_SEND };
			CU_ASSERT_EQUAL(fab_post(many[i].c, &send[i]), 0);
		}
	MANY_UNTIL(many_count(offsetof(struct ep, disconnected)) == 3);
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_EQUAL(many[i].error, -ETIMEDOUT);
		CU_ASSERT_EQUAL(ep_count(&many[i], FAB_FLUSHED), 4);
		CU_ASSERT_EQUAL(ep_count(&many[i], FAB_ERROR), !keepalive);
	}
	cut = run("RPCRDMA_VERBS_MEND");
	MANY_UNTIL(ended(&cut));
	kill_peer(peer);
	many_destroy();
	world_close(&w);
}

static void test_vanished_idle(void)
{
	vanish(true);
}

static void test_vanished_sending(void)
{
	if (strstr(getenv("RPCRDMA_VERBS_DEVICE"), "siw"))
		return;
	vanish(false);
}

/* ---- Killed peers ---------------------------------------------------- */

/* What the kernel holds for the device, all processes. */
static void resources(char *buf, size_t size)
{
	FILE *f;
	size_t n;

	snprintf(buf, size, "rdma resource show %s",
		 getenv("RPCRDMA_VERBS_DEVICE"));
	f = popen(buf, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n = fread(buf, 1, size - 1, f);
	buf[n] = 0;
	pclose(f);
}

#define ROUNDS 6
#define EACH 50

static void test_killed(void)
{
	const char *prefix = getenv("RPCRDMA_VERBS_PEER");
	const char *provider = getenv("RPCRDMA_VERBS_PEER_PROVIDER");
	char before[512] = "", after[512] = "";

	many_listen();
	for (int round = 0; round < ROUNDS; round++) {
		pid_t peer = start_peer(prefix, provider, EACH);
		/* Some are killed while they connect. */
		int enough = round % 2 ? EACH / 2 : EACH;

		MANY_UNTIL(many_count(offsetof(struct ep, established)) >=
			   enough);
		kill_peer(peer);
		MANY_UNTIL(many_count(offsetof(struct ep, disconnected)) ==
			   nmany);
		for (int i = 0; i < nmany; i++)
			CU_ASSERT_EQUAL(many[i].nwc, 4);
		many_destroy();
		/* What was on its way to us when the peer was killed. */
		for (int i = 0; i < 20; i++)
			many_turn();
		MANY_UNTIL(many_count(offsetof(struct ep, disconnected)) ==
			   nmany);
		many_destroy();
		resources(round ? after : before, sizeof(before));
	}
	CU_ASSERT_STRING_EQUAL(before, after);
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "owns", test_owns },
	{ "memlock", test_memlock },
	{ "killed", test_killed },
	{ "vanished_idle", test_vanished_idle },
	{ "vanished_sending", test_vanished_sending },
	{ "removed", test_removed },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	static const char *const needed[] = {
		"RPCRDMA_VERBS_ADDR",	"RPCRDMA_VERBS_DEVICE",
		"RPCRDMA_VERBS_REMOVE", "RPCRDMA_VERBS_ADD",
		"RPCRDMA_VERBS_CUT",	"RPCRDMA_VERBS_MEND",
		"RPCRDMA_VERBS_PEER",	"RPCRDMA_VERBS_PEER_PROVIDER"
	};
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 6 && !strcmp(argv[1], "--hold"))
		return hold(argv + 2);
	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		if (!getenv(needed[i])) {
			printf("no %s\n", needed[i]);
			return 77;
		}
	}
	if (!realpath("/proc/self/exe", self))
		return 2;
	subject.ops = subject.cli_ops = &fab_verbs_ops;
	subject.addrlen = sizeof(*in);
	in->sin_family = AF_INET;
	inet_pton(AF_INET, getenv("RPCRDMA_VERBS_ADDR"), &in->sin_addr);
	if (argc == 2 && !strcmp(argv[1], "--memlock"))
		return memlock();
	return unit_run("verbs_events", tests, argc, argv);
}
