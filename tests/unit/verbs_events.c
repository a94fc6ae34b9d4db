/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_events - what happens to a device, its links and its peers
 *
 *	verbs_events [--shared] [--abrupt COUNT] [TEST...]
 *	verbs_events --hold PROVIDER ADDRESS PORT COUNT
 *	verbs_events --half-open ADDRESS PORT COUNT confirm|never
 *
 * It takes links and devices away, so it runs only where that is wanted:
 * tests/integration/verbs-guest.sh prepares a guest and names in the
 * environment
 *
 *	RPCRDMA_VERBS_ADDR	our address, of the device
 *	RPCRDMA_VERBS_DEVICE	such as rxe0
 *	RPCRDMA_VERBS_REMOVE	command that removes the device
 *	RPCRDMA_VERBS_ADD	command that makes it anew
 *	RPCRDMA_VERBS_OTHER	our address of another device
 *	RPCRDMA_VERBS_DOWN	command that takes the port of that down
 *	RPCRDMA_VERBS_UP	and up again
 *	RPCRDMA_VERBS_CUT	command after which nothing reaches a peer
 *	RPCRDMA_VERBS_MEND	and that repairs it
 *	RPCRDMA_VERBS_BOND	our address of a device on a bond (may be empty)
 *	RPCRDMA_VERBS_MOVE	command that moves it to another port of the bond
 *	RPCRDMA_VERBS_PEER	prefix of commands that run at a peer
 *	RPCRDMA_VERBS_PEER_PROVIDER	what the peer has
 *
 * Exit status 77 without them. With --hold it is a peer: connects COUNT times,
 * says so, and does nothing until it is killed. With --half-open it sends COUNT
 * messages before it confirms the connection, if ever. --abrupt says how many
 * peers test "abrupt" takes. With --shared all Receives are shared.
 *
 * Threads: one.
 */
#include <dlfcn.h>
#include <linux/capability.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "fabric/verbs/device.h"
#include "rpcrdma/pool.h"
#include "verbs_peer.h"

/* ---- Locked memory --------------------------------------------------- */

/* In a process of its own: what it gives up does not come back. */
static int memlock(void)
{
	/* Nobody listens there; it must not matter. */
	struct sockaddr_in to = *(struct sockaddr_in *)&subject.addr;
	struct fab_domain_params p = { .log = util_log };
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
		peer_look(&e);
	}
	if (!e.disconnected || e.error != -ENOMEM)
		return 16;
	/* With each registration that it has refused, if there was one. */
	if (strstr(subject.said, "registering ") &&
	    !strstr(subject.said,
		    "Cannot allocate memory (limit of locked memory: 256 KiB; "
		    "LimitMEMLOCK=infinity or ulimit -l unlimited)"))
		return 19;
	/* Told before it is used up, and when it was. */
	if (!strstr(subject.said, "at most 256 KiB"))
		return 17;
	return strstr(subject.said, "256 KiB, is too small") ? 0 : 18;
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

	CU_ASSERT_TRUE(vb_owns((struct sockaddr *)&subject.addr, NULL));
	CU_ASSERT_TRUE(vb_owns((struct sockaddr *)&in, NULL));
	CU_ASSERT_TRUE(vb_owns((struct sockaddr *)&in6, NULL));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CU_ASSERT_FALSE(vb_owns((struct sockaddr *)&in, NULL));
	in.sin_addr.s_addr = htonl(0xc0000201);
	CU_ASSERT_FALSE(vb_owns((struct sockaddr *)&in, NULL));
	in6.sin6_addr = in6addr_loopback;
	CU_ASSERT_FALSE(vb_owns((struct sockaddr *)&in6, NULL));
}

static void never(struct fab_listener *l, struct fab_conn *c, const void *priv,
		  size_t priv_len, void *user)
{
	fab_reject(c, NULL, 0);
}

/* A listener is up with the port that has its address, or any. */
static bool is_up(const char *addr)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	struct fab_listener *l;
	bool up;

	inet_pton(AF_INET, addr, &at.sin_addr);
	CU_ASSERT_EQUAL_FATAL(
		listen_anywhere(&w, &at, sizeof(at), never, NULL, &l), 0);
	up = fab_listener_up(l);
	fab_listener_close(l);
	return up;
}

/* ---- Huge pages ------------------------------------------------------ */

static int huge_reserve(int want)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "r+");
	int got = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "%d\n", want);
	fflush(f);
	rewind(f);
	CU_ASSERT_EQUAL(fscanf(f, "%d", &got), 1);
	fclose(f);
	return got;
}

static void test_huge_pages(void)
{
	struct fab_pool_params p = { .huge_pages = true };
	struct fab_pool_stats st;
	struct fab_pool *pool;
	struct fab_sge sge;
	struct fab_buf *b;
	struct fab_wr wr = { .op = FAB_SEND, .flags = FAB_F_SIGNALED };
	static struct msg r;

	CU_ASSERT_TRUE(huge_reserve(4) > 0);
	world_pair(&w);
	/* Registered with a device that is in use. */
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w.dom, &p, &pool), 0);
	b = fab_pool_get(pool, 65536);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	fab_pool_get_stats(pool, &st);
	CU_ASSERT_TRUE(st.bytes_huge >= (size_t)2 << 20);
	fill_random(b->addr, 60000, 7);
	CU_ASSERT_EQUAL(ep_recv(&w.srv, msg_init(&w, &r, FAB_RECV, 0, 60000)),
			0);
	sge = (struct fab_sge){ b->addr, 60000, b->mr };
	wr.sge = &sge;
	wr.nsge = 1;
	CU_ASSERT_EQUAL(fab_post(w.cli.c, &wr), 0);
	PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
	CU_ASSERT_EQUAL(memcmp(w.arena, b->addr, 60000), 0);
	fab_pool_put(b);
	fab_pool_destroy(pool);
	/* Without them it goes on, and tells what to do. */
	huge_reserve(0);
	subject.said[0] = 0;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w.dom, &p, &pool), 0);
	b = fab_pool_get(pool, 65536);
	CU_ASSERT_PTR_NOT_NULL(b);
	fab_pool_get_stats(pool, &st);
	CU_ASSERT_EQUAL(st.bytes_huge, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "vm.nr_hugepages"));
	fab_pool_put(b);
	fab_pool_destroy(pool);
	world_close(&w);
}

/* ---- A pair on another device, of the same domain -------------------- */

static struct ep near, far;
static struct fab_listener *other;
static struct msg other_msg[4];

static void other_request(struct fab_listener *l, struct fab_conn *c,
			  const void *priv, size_t priv_len, void *user)
{
	struct fab_conn_params none = { 0 };

	far.c = c;
	far.mr = w.mr;
	fab_conn_set_ready(c, ep_ready, &far);
	CU_ASSERT_EQUAL(fab_accept(c, &none), 0);
}

static void all_turn(void)
{
	if (near.ready)
		ep_poll(&near);
	if (far.ready)
		ep_poll(&far);
	for (int i = 0; i < nmany; i++)
		if (many[i].ready)
			ep_poll(&many[i]);
	world_turn(&w, 50);
}

#define ALL_UNTIL(cond)                             \
	do {                                        \
		uint64_t end_ = util_ms() + 60000;  \
		while (!(cond) && util_ms() < end_) \
			all_turn();                 \
		CU_ASSERT_TRUE(!!(cond));           \
	} while (0)

/* It serves both directions. */
static void other_hello(void)
{
	struct ep *e[2] = { &near, &far };

	near.nwc = far.nwc = 0;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL(ep_recv(e[i], msg_init(&w, &other_msg[i],
						       FAB_RECV, 0, 64)),
				0);
	ep_post(&near, msg_init(&w, &other_msg[2], FAB_SEND, 64, 64));
	ALL_UNTIL(far.nwc == 1);
	ep_post(&far, msg_init(&w, &other_msg[3], FAB_SEND, 64, 64));
	ALL_UNTIL(near.nwc == 2 && far.nwc == 2);
	CU_ASSERT_EQUAL(ep_count(&near, FAB_OK) + ep_count(&far, FAB_OK), 4);
	CU_ASSERT_FALSE(near.disconnected || far.disconnected);
}

static void other_connect(void)
{
	struct sockaddr_storage bound;

	memset(&near, 0, sizeof(near));
	memset(&far, 0, sizeof(far));
	near.mr = w.mr;
	if (subject.shared)
		near.done = far.done = share_done;
	fab_listener_addr(other, &bound);
	CU_ASSERT_EQUAL_FATAL(
		fab_conn_create(w.poller, ep_ready, &near, &near.c), 0);
	CU_ASSERT_EQUAL(fab_connect(near.c, (struct sockaddr *)&bound,
				    sizeof(struct sockaddr_in), NULL),
			0);
	ALL_UNTIL((near.established && far.established) || near.disconnected);
}

static void other_open(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };

	inet_pton(AF_INET, getenv("RPCRDMA_VERBS_OTHER"), &at.sin_addr);
	CU_ASSERT_EQUAL_FATAL(listen_anywhere(&w, &at, sizeof(at),
					      other_request, NULL, &other),
			      0);
	other_connect();
	CU_ASSERT_TRUE_FATAL(near.established && far.established);
	other_hello();
}

static void other_destroy(void)
{
	if (near.c && !near.disconnected)
		fab_disconnect(near.c, true);
	if (far.c && !far.disconnected)
		fab_disconnect(far.c, true);
	ALL_UNTIL((!near.c || near.disconnected) &&
		  (!far.c || far.disconnected));
	ep_destroy(&w, &near);
	ep_destroy(&w, &far);
	far.established = false;
}

static void other_close(void)
{
	other_hello();
	other_destroy();
	fab_listener_close(other);
}

/* ---- Devices, links, addresses ---------------------------------------- */

static void test_removed(void)
{
	static struct msg r[10];
	pid_t remove, add;

	world_pair(&w);
	other_open();
	for (int i = 0; i < 10; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 4096)),
				0);
	remove = command("RPCRDMA_VERBS_REMOVE");
	ALL_UNTIL(w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.nwc, 10);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 10);
	CU_ASSERT_TRUE(w.cli.error == -ENODEV || w.srv.error == -ENODEV);
	world_unpair(&w);
	PUMP_UNTIL(&w, command_ended(&remove));
	other_hello();
	CU_ASSERT_FALSE(fab_listener_up(w.listener));
	CU_ASSERT_TRUE(fab_listener_up(other));
	CU_ASSERT_TRUE(is_up("0.0.0.0"));
	/* There is no way now. */
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_FALSE(w.cli.established);
	world_unpair(&w);
	/* The listener comes back with the device. */
	add = command("RPCRDMA_VERBS_ADD");
	PUMP_UNTIL(&w, command_ended(&add));
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
	CU_ASSERT_TRUE(fab_listener_up(w.listener));
	world_hello(&w);
	other_close();
	world_close(&w);
}

/* The link of a device goes: its connections end, those of others go on, and
 * the listener hears again as soon as it is back. The last test, for rxe. */
static void test_port(void)
{
	pid_t cmd;

	world_pair(&w);
	other_open();
	near.nwc = far.nwc = 0;
	CU_ASSERT_EQUAL(
		ep_recv(&far, msg_init(&w, &other_msg[0], FAB_RECV, 0, 64)), 0);
	vb_domain(w.dom)->keepalive_ms = 1000;
	subject.said[0] = 0;
	cmd = command("RPCRDMA_VERBS_DOWN");
	ALL_UNTIL(command_ended(&cmd));
	ALL_UNTIL(near.disconnected && far.disconnected);
	/* siw ends them itself, and does not tell why. */
	if (!strstr(getenv("RPCRDMA_VERBS_DEVICE"), "siw"))
		CU_ASSERT_TRUE(near.error || far.error);
	CU_ASSERT_EQUAL(ep_count(&far, FAB_FLUSHED), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "port 1 is down"));
	CU_ASSERT_FALSE(fab_listener_up(other));
	CU_ASSERT_TRUE(fab_listener_up(w.listener));
	CU_ASSERT_TRUE(is_up("0.0.0.0"));
	world_hello(&w);
	other_destroy();
	cmd = command("RPCRDMA_VERBS_UP");
	ALL_UNTIL(command_ended(&cmd));
	ALL_UNTIL(strstr(subject.said, "port 1 is up"));
	CU_ASSERT_TRUE(fab_listener_up(other));
	if (strstr(getenv("RPCRDMA_VERBS_DEVICE"), "rxe")) {
		/* Whose queue pair for the connection manager is then no
		 * longer of use, for this process or any other. */
		world_hello(&w);
		fab_listener_close(other);
		world_close(&w);
		return;
	}
	for (int i = 0; i < 20 && !far.established; i++) {
		if (near.c)
			other_destroy();
		for (int k = 0; k < 10; k++)
			all_turn();
		other_connect();
	}
	CU_ASSERT_TRUE_FATAL(far.established);
	other_close();
	world_hello(&w);
	world_close(&w);
}

/* The address goes to another port of a bond, with another hardware address:
 * what is connected by the old one has to connect again. */
static void test_moved(void)
{
	const char *bond = getenv("RPCRDMA_VERBS_BOND");
	struct sockaddr_storage keep = subject.addr;
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;
	pid_t cmd;

	if (!bond || !*bond)
		return;
	inet_pton(AF_INET, bond, &in->sin_addr);
	world_pair(&w);
	other_open();
	subject.said[0] = 0;
	cmd = command("RPCRDMA_VERBS_MOVE");
	ALL_UNTIL(command_ended(&cmd));
	ALL_UNTIL(w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_TRUE(w.cli.error == -ENETRESET || w.srv.error == -ENETRESET);
	ALL_UNTIL(strstr(subject.said, "listener is up"));
	world_unpair(&w);
	world_connect(&w, NULL);
	ALL_UNTIL(w.cli.established && w.srv.established);
	world_hello(&w);
	other_close();
	world_close(&w);
	subject.addr = keep;
}

/* ---- Broken queues --------------------------------------------------- */

/* More completions than a completion queue has room for. */
static void test_cq_error(void)
{
	static struct msg r[40], s[40];

	world_pair(&w);
	other_open();
	if (ibv_resize_cq(vb_conn(w.srv.c)->cq, 4)) {
		/* siw does not resize, nor tell. */
		CU_ASSERT_PTR_NOT_NULL(
			strstr(getenv("RPCRDMA_VERBS_DEVICE"), "siw"));
		other_close();
		world_close(&w);
		return;
	}
	for (int i = 0; i < 40; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 64)),
				0);
	for (int i = 0; i < 40; i++)
		CU_ASSERT_EQUAL(ep_try_post(&w.cli, msg_init(&w, &s[i],
							     FAB_SEND, 0, 8)),
				0);
	/* Time for them to arrive, while nobody looks. */
	usleep(2000000);
	ALL_UNTIL(w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EIO);
	CU_ASSERT_EQUAL(w.srv.nwc, 40);
	CU_ASSERT_EQUAL(w.cli.nwc, 40);
	CU_ASSERT_TRUE(ep_count(&w.srv, FAB_FLUSHED) > 0);
	other_close();
	world_close(&w);
}

/* No device in software has these events: they are put in where the library
 * would read them from the device. */
static struct ibv_qp *fatal_qp;
static struct ibv_srq *fatal_srq;
static bool made_up; /* the last event that was got */

int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *ev)
{
	typedef int get_fn(struct ibv_context *, struct ibv_async_event *);
	static get_fn *next;

	made_up = true;
	if (fatal_qp && fatal_qp->context == ctx) {
		ev->event_type = IBV_EVENT_QP_FATAL;
		ev->element.qp = fatal_qp;
		fatal_qp = NULL;
		return 0;
	}
	if (fatal_srq && fatal_srq->context == ctx) {
		ev->event_type = IBV_EVENT_SRQ_ERR;
		ev->element.srq = fatal_srq;
		fatal_srq = NULL;
		return 0;
	}
	made_up = false;
	if (!next)
		next = (get_fn *)(uintptr_t)dlsym(RTLD_NEXT,
						  "ibv_get_async_event");
	return next(ctx, ev);
}

void ibv_ack_async_event(struct ibv_async_event *ev)
{
	typedef void ack_fn(struct ibv_async_event *);
	static ack_fn *next;

	/* The queue pair cannot be destroyed before a real one is. */
	if (made_up)
		return;
	if (!next)
		next = (ack_fn *)(uintptr_t)dlsym(RTLD_NEXT,
						  "ibv_ack_async_event");
	next(ev);
}

void device_breaks(struct fab_conn *fc)
{
	struct vb_conn *c = vb_conn(fc);

	fatal_qp = c->id->qp;
	vb_device_event(fab_ev_loop(w.poller), &c->dev->async_src, 0);
	CU_ASSERT_PTR_NULL(fatal_qp);
}

static void test_qp_fatal(void)
{
	struct epoll_event again = { 0 };
	static struct msg r[5];
	struct vb_conn *c;

	world_pair(&w);
	other_open();
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 64)),
				0);
	c = vb_conn(w.srv.c);
	device_breaks(w.srv.c);
	/* There may be more of such: the channel is still looked at. */
	CU_ASSERT_EQUAL(epoll_ctl(fab_ev_loop(w.poller)->epfd, EPOLL_CTL_ADD,
				  c->dev->ctx->async_fd, &again),
			-1);
	CU_ASSERT_EQUAL(errno, EEXIST);
	ALL_UNTIL(w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EIO);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 5);
	other_close();
	world_close(&w);
}

/* And none refuses a shared queue. */
static bool refuse_srq;

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd,
			       struct ibv_srq_init_attr *attr)
{
	typedef struct ibv_srq *create_fn(struct ibv_pd *,
					  struct ibv_srq_init_attr *);
	static create_fn *next;

	if (refuse_srq) {
		errno = ENOMEM;
		return NULL;
	}
	if (!next)
		next = (create_fn *)(uintptr_t)dlsym(RTLD_NEXT,
						     "ibv_create_srq");
	return next(pd, attr);
}

static unsigned int shared_queues(void)
{
	struct fab_srq_stats st;

	fab_srq_stats(w.dom, &st);
	return st.queues;
}

/* The connections of a broken queue end, those of another device go on; new
 * ones get another queue, or, if there is none to be had, one of their own. */
static void test_srq_error(void)
{
	static struct msg r[5];
	struct vb_device *dev;
	struct vb_conn *c;

	if (!subject.shared)
		return;
	world_pair(&w);
	other_open();
	CU_ASSERT_EQUAL(shared_queues(), 2);
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 64)),
				0);
	c = vb_conn(w.srv.c);
	dev = c->dev;
	fatal_srq = c->id->qp->srq;
	vb_device_event(fab_ev_loop(w.poller), &dev->async_src, 0);
	CU_ASSERT_PTR_NULL(fatal_srq);
	ALL_UNTIL(w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EIO);
	CU_ASSERT_PTR_NOT_NULL(strstr(w.srv.reason, "shared receive queue"));
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 5);
	other_hello();
	for (int refused = 0; refused < 2; refused++) {
		world_unpair(&w);
		CU_ASSERT_EQUAL(shared_queues(), 1);
		refuse_srq = refused;
		world_join(&w, NULL);
		world_hello(&w);
		CU_ASSERT_EQUAL(shared_queues(), refused ? 1 : 2);
	}
	refuse_srq = false;
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "each connection gets"));
	other_close();
	world_close(&w);
}

/* Receives that the device forgets. */
static bool forget;
static int (*post_srq)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
		       struct ibv_recv_wr **bad);

static int post_or_forget(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			  struct ibv_recv_wr **bad)
{
	return forget ? 0 : post_srq(srq, wr, bad);
}

/* More are lost than was counted: the device tells that it has few, and the
 * messages that were promised a Receive arrive all the same. */
static void test_srq_lost(void)
{
	static struct msg r[EP_MAX_WC - 4], s[EP_MAX_WC - 4];
	const int n = EP_MAX_WC - 4;
	struct ibv_context *ctx;

	if (!subject.shared)
		return;
	world_pair(&w);
	w.srv.nwc = w.cli.nwc = 0;
	ctx = vb_conn(w.srv.c)->dev->ctx;
	post_srq = ctx->ops.post_srq_recv;
	ctx->ops.post_srq_recv = post_or_forget;
	forget = true;
	for (int i = 0; i < n; i++)
		CU_ASSERT_EQUAL(ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 64)),
				0);
	forget = false;
	for (int i = 0; i < n; i++)
		ep_post(&w.cli, msg_init(&w, &s[i], FAB_SEND, 0, 64));
	PUMP_UNTIL(&w, w.srv.nwc == n);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), n);
	ctx->ops.post_srq_recv = post_srq;
	world_close(&w);
}

/* ---- What is said of it ---------------------------------------------- */

/* The reason has it all, and nothing else is logged of it. */
static void test_reasons(void)
{
	static struct msg s;
	bool siw = strstr(getenv("RPCRDMA_VERBS_DEVICE"), "siw");

	world_pair(&w);
	subject.said[0] = 0;
	/* For which there is no Receive. */
	ep_post(&w.cli, msg_init(&w, &s, FAB_SEND, 0, 64));
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	if (subject.shared) {
		/* There was memory for it, but no promise. */
		CU_ASSERT_PTR_NOT_NULL(
			strstr(w.srv.reason, "without a Receive"));
	} else if (!siw) {
		CU_ASSERT_PTR_NOT_NULL(strstr(w.cli.reason, "no Receive"));
		CU_ASSERT_PTR_NOT_NULL(strstr(w.cli.reason, "(rxe"));
		CU_ASSERT_PTR_NOT_NULL(strstr(w.cli.reason, "queue pair"));
	}
	world_unpair(&w);
	w.reject = true;
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(w.cli.reason, "rejected by the peer (its"));
	w.srv.disconnected = true;
	CU_ASSERT_STRING_EQUAL(subject.said, "");
	world_close(&w);
}

/* ---- A thread that has changed its credentials ------------------------ */

static void *foreign(void *arg)
{
	struct fab_mr *mr = NULL;
	int *rc = arg;

	/* As FSAL_VFS does; the raw calls are for this thread alone. From here
	 * on Linux refuses it to write to the device's files. */
	syscall(SYS_setfsuid, 1);
	syscall(SYS_setfsuid, 0);
	*rc = fab_reg(w.dom, w.arena, ARENA, &mr);
	fab_dereg(mr);
	fab_conn_schedule(w.srv.c);
	fab_poller_wake(w.poller);
	return NULL;
}

/* What is open to every thread in spite of FAB_CAP_BOUND works for it. */
static void test_foreign(void)
{
	uint64_t end = util_ms() + 60000;
	pthread_t thread;
	int rc = -1;

	world_pair(&w);
	CU_ASSERT_TRUE(w.limits.caps & FAB_CAP_BOUND);
	w.srv.ready = false;
	CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, foreign, &rc), 0);
	pthread_join(thread, NULL);
	CU_ASSERT_EQUAL(rc, 0);
	while (!w.srv.ready && util_ms() < end)
		fab_poller_run(w.poller, 10);
	CU_ASSERT_TRUE(w.srv.ready);
	world_unpair(&w);
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "owns", test_owns },
	{ "memlock", test_memlock },
	{ "huge_pages", test_huge_pages },
	{ "reasons", test_reasons },
	{ "foreign", test_foreign },
	{ "qp_fatal", test_qp_fatal },
	{ "srq_error", test_srq_error },
	{ "srq_lost", test_srq_lost },
	{ "cq_error", test_cq_error },
	{ "early", test_early },
	{ "half_open", test_half_open },
	{ "half_broken", test_half_broken },
	{ "vanished_idle", test_vanished_idle },
	{ "vanished_sending", test_vanished_sending },
	{ "abrupt", test_abrupt },
	{ "moved", test_moved },
	{ "removed", test_removed },
	{ "port", test_port },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	static const char *const needed[] = {
		"RPCRDMA_VERBS_ADDR",	      "RPCRDMA_VERBS_DEVICE",
		"RPCRDMA_VERBS_REMOVE",	      "RPCRDMA_VERBS_ADD",
		"RPCRDMA_VERBS_CUT",	      "RPCRDMA_VERBS_MEND",
		"RPCRDMA_VERBS_DOWN",	      "RPCRDMA_VERBS_UP",
		"RPCRDMA_VERBS_OTHER",	      "RPCRDMA_VERBS_PEER",
		"RPCRDMA_VERBS_PEER_PROVIDER"
	};
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 6 && !strcmp(argv[1], "--hold"))
		return peer_hold(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "--half-open"))
		return half_open(argv + 2);
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
	if (argc >= 2 && !strcmp(argv[1], "--shared")) {
		subject.shared = true;
		argc--;
		argv++;
	}
	if (argc >= 3 && !strcmp(argv[1], "--abrupt")) {
		abrupt_clients = atoi(argv[2]);
		argc -= 2;
		argv += 2;
	}
	return unit_run("verbs_events", tests, argc, argv);
}
