/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_faults - devices that do not do what they should, and peers that ask
 * them to do something else
 *
 *	verbs_faults [--shared] [TEST...]
 *	verbs_faults --server ADDRESS PORT
 *
 * Over the device whose address RPCRDMA_VERBS_ADDR names, which must be an rxe;
 * exit status 77 without it. RPCRDMA_VERBS_OTHER is an address of another one.
 * What no device in software does is made up where this program would call the
 * library, or the library the device. With --server it is a server that answers
 * the first message with an RDMA Write with Immediate (verbs_raw.h).
 *
 * Threads: one, the provider's, which calls the library too, and a peer's, which
 * knows nothing of the provider.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define EP_MAX_WC 64
#include "fabric/verbs/vb.h"
#include "provider_util.h"
#include "verbs_raw.h"

#define LEN 4096u
#define FAR RAW_MOST
#define AT (4u << 20)

struct subject subject;
static struct world w;

static void any_windows(struct fab_domain *dom)
{
	vb_domain(dom)->any_windows = true;
	dom->limits.caps |= FAB_CAP_EXPOSE;
}

static const char *said_why(const struct ep *e, const char *what)
{
	return strstr(e->reason, what);
}

/* ---- The library and the device ---------------------------------------- */

#define NEXT(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))

/* What the next functions count and keep. */
static pthread_mutex_t hooks = PTHREAD_MUTEX_INITIALIZER;
/* What is told of a completed Receive. */
static enum { TRUTH, LONGER, WRITE_IMM, SEND_IMM } tell;
/* A queue whose completions of Sends are late, and those. */
static struct ibv_cq *late_cq;
static struct ibv_wc late[64];
static int nlate;
/* One that nothing is told of. */
static struct ibv_cq *mute_cq;
static unsigned int polls, polls_over;
/* Queues whose pair is no more. */
static struct ibv_cq *over[16];
static unsigned int nover;
static int (*real_poll)(struct ibv_cq *cq, int n, struct ibv_wc *wc);

static void lie(struct ibv_wc *wc)
{
	if (!(wc->wr_id & VB_RECV_ID) || wc->status != IBV_WC_SUCCESS)
		return;
	if (tell != TRUTH)
		wc->byte_len = 1 << 20;
	if (tell == WRITE_IMM)
		wc->opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	if (tell == WRITE_IMM || tell == SEND_IMM)
		wc->wc_flags |= IBV_WC_WITH_IMM;
	if (tell == SEND_IMM)
		wc->byte_len = 8;
}

/* Lock held. */
static int poll_hooked(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got, kept = 0;

	polls++;
	for (unsigned int i = 0; i < nover; i++)
		polls_over += over[i] == cq;
	if (nlate && !late_cq && n > 0) {
		wc[0] = late[0];
		memmove(late, late + 1, (size_t)--nlate * sizeof(late[0]));
		return 1;
	}
	if (cq == mute_cq)
		return 0;
	got = real_poll(cq, n, wc);
	for (int i = 0; i < got; i++) {
		lie(&wc[i]);
		if (cq == late_cq && !(wc[i].wr_id & VB_RECV_ID) && nlate < 64)
			late[nlate++] = wc[i];
		else
			wc[kept++] = wc[i];
	}
	return got < 0 ? got : kept;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int got;

	pthread_mutex_lock(&hooks);
	got = poll_hooked(cq, n, wc);
	pthread_mutex_unlock(&hooks);
	return got;
}

static bool fail_mw;
static struct ibv_mw *failed_mw;
static int (*real_dealloc)(struct ibv_mw *mw);

static int dealloc_mw(struct ibv_mw *mw)
{
	if (!fail_mw)
		return real_dealloc(mw);
	failed_mw = mw;
	return EINVAL;
}

/* All that are in use, for which it is one library. */
static void hook(int (*poll)(struct ibv_cq *, int, struct ibv_wc *),
		 int (*dealloc)(struct ibv_mw *))
{
	for (unsigned int i = 0; i < vb_domain(w.dom)->ndevs; i++) {
		struct ibv_context *ctx = vb_domain(w.dom)->dev[i]->ctx;

		ctx->ops.poll_cq = poll;
		ctx->ops.dealloc_mw = dealloc;
	}
}

static void take_device(void)
{
	struct ibv_context *ctx = vb_domain(w.dom)->dev[0]->ctx;

	real_poll = ctx->ops.poll_cq;
	real_dealloc = ctx->ops.dealloc_mw;
	hook(poll_cq, dealloc_mw);
	polls = polls_over = nover = 0;
}

static void leave_device(void)
{
	hook(real_poll, real_dealloc);
}

static struct ibv_qp *fail_qp;

/* Also for librdmacm. */
__attribute__((visibility("default"))) int ibv_destroy_qp(struct ibv_qp *qp)
{
	if (qp == fail_qp)
		return EBUSY;
	pthread_mutex_lock(&hooks);
	if (nover < 16)
		over[nover++] = qp->send_cq;
	pthread_mutex_unlock(&hooks);
	return NEXT(ibv_destroy_qp)(qp);
}

static struct ibv_cq *fail_cq;

int ibv_destroy_cq(struct ibv_cq *cq)
{
	if (cq == fail_cq)
		return EBUSY;
	/* Another may get its address. */
	pthread_mutex_lock(&hooks);
	for (unsigned int i = 0; i < nover; i++)
		if (over[i] == cq)
			over[i] = NULL;
	pthread_mutex_unlock(&hooks);
	return NEXT(ibv_destroy_cq)(cq);
}

static void *fail_mr; /* the address of its range */
static struct ibv_mr *failed_mr;
static bool look_for_lock, unlocked;

int ibv_dereg_mr(struct ibv_mr *mr)
{
	if (look_for_lock && !pthread_mutex_trylock(&vb_domain(w.dom)->lock)) {
		unlocked = true;
		pthread_mutex_unlock(&vb_domain(w.dom)->lock);
	}
	if (!fail_mr || mr->addr != fail_mr)
		return NEXT(ibv_dereg_mr)(mr);
	failed_mr = mr;
	return EINVAL;
}

static struct ibv_context *refuse_reg;

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t len,
				uint64_t iova, unsigned int access)
{
	if (pd->context == refuse_reg) {
		errno = ENOMEM;
		return NULL;
	}
	return NEXT(ibv_reg_mr_iova2)(pd, addr, len, iova, access);
}

/* How much inline data the device takes, how often it was asked, and whether it has
 * queue pairs. */
static unsigned int inline_most = UINT32_MAX, pairs_asked;
static bool no_pairs;

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd,
		   struct ibv_qp_init_attr *attr)
{
	pairs_asked++;
	errno = no_pairs ? ENOMEM : EINVAL;
	if (no_pairs || attr->cap.max_inline_data > inline_most)
		return -1;
	return NEXT(rdma_create_qp)(id, pd, attr);
}

static bool deep; /* more Reads than an octet counts */

int ibv_query_device(struct ibv_context *ctx, struct ibv_device_attr *a)
{
	int rc = NEXT(ibv_query_device)(ctx, a);

	if (deep)
		a->max_qp_rd_atom = a->max_qp_init_rd_atom = 1000;
	return rc;
}

static struct rdma_conn_param asked;

int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *param)
{
	if (!deep)
		return NEXT(rdma_connect)(id, param);
	asked = *param;
	errno = ECONNREFUSED;
	return -1;
}

/* ---- Receives that no message is in ------------------------------------ */

static struct raw_peer peer;

/* It makes the device complete a Receive of ours that is no message. */
static void immediate(enum ibv_wr_opcode opcode, uint32_t length)
{
	static struct msg r[2];
	pthread_t thread;

	world_open(&w);
	msg_init(&w, &r[0], FAB_RECV, 0, LEN);
	msg_init(&w, &r[1], FAB_RECV, LEN, LEN);
	r[0].wr.next = &r[1].wr;
	w.early_recv = &r[0].wr;
	memset(&peer, 0, sizeof(peer));
	peer.opcode = opcode;
	peer.length = length;
	peer.to = (struct sockaddr *)&w.addr;
	CU_ASSERT_EQUAL_FATAL(
		pthread_create(&thread, NULL, raw_peer_main, &peer), 0);
	PUMP_UNTIL(&w, w.srv.established);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, FAR, FAB_REMOTE_WRITE,
				  &peer.handle, &peer.offset),
			0);
	atomic_store(&peer.go, true);
	PUMP_UNTIL(&w, w.srv.disconnected);
	CU_ASSERT_EQUAL(w.srv.error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(said_why(&w.srv, "Immediate"));
	CU_ASSERT_EQUAL(w.srv.nwc, 2);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), 0);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_ERROR), 1);
	atomic_store(&peer.over, true);
	pthread_join(thread, NULL);
	CU_ASSERT_TRUE(peer.right);
	world_close(&w);
}

static void test_immediate(void)
{
	immediate(IBV_WR_RDMA_WRITE_WITH_IMM, FAR);
	immediate(IBV_WR_RDMA_WRITE_WITH_IMM, 0);
	immediate(IBV_WR_SEND_WITH_IMM, 64);
}

/* As a device might tell it, at either end. */
static void forged(bool initiator, int how, const char *why)
{
	static struct msg r, s;
	struct ep *to = initiator ? &w.cli : &w.srv;
	struct ep *from = initiator ? &w.srv : &w.cli;

	world_pair(&w);
	take_device();
	CU_ASSERT_EQUAL(ep_recv(to, msg_init(&w, &r, FAB_RECV, 0, LEN)), 0);
	tell = how;
	ep_post(from, msg_init(&w, &s, FAB_SEND, AT, 64));
	PUMP_UNTIL(&w, to->disconnected);
	tell = TRUTH;
	CU_ASSERT_EQUAL(to->error, -EPROTO);
	CU_ASSERT_PTR_NOT_NULL(said_why(to, why));
	CU_ASSERT_EQUAL(ep_count(to, FAB_OK), 0);
	CU_ASSERT_EQUAL(ep_count(to, FAB_ERROR), 1);
	leave_device();
	world_close(&w);
}

static void test_forged(void)
{
	for (int i = 0; i < 2; i++) {
		forged(i, LONGER, "longer than its Receive");
		forged(i, WRITE_IMM, "Write with Immediate");
		forged(i, SEND_IMM, "Send with Immediate");
	}
}

/* ---- A bind whose completion is late ----------------------------------- */

static struct msg more[8];
static struct ep first_srv, first_cli;

/* The pair is kept aside, with a window of its server's bound and its
 * completion late, and another connection of the poller made. */
static uint32_t open_late(void)
{
	uint32_t handle;
	uint64_t offset;

	subject.adjust = any_windows;
	world_pair(&w);
	take_device();
	CU_ASSERT_EQUAL(
		ep_recv(&w.srv, msg_init(&w, &more[0], FAB_RECV, 0, 64)), 0);
	CU_ASSERT_EQUAL(
		ep_recv(&w.cli, msg_init(&w, &more[1], FAB_RECV, 0, 64)), 0);
	late_cq = vb_conn(w.srv.c)->cq;
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, LEN, FAB_REMOTE_WRITE,
				  &handle, &offset),
			0);
	ep_post(&w.srv, msg_init(&w, &more[2], FAB_SEND, 64, 64));
	PUMP_UNTIL(&w, w.cli.nwc == 1);
	CU_ASSERT_EQUAL(w.srv.nwc, 0);
	polls = 0;
	CU_ASSERT_FALSE(fab_unexpose(w.srv.c, handle, &more));
	/* It has not waited. */
	CU_ASSERT_TRUE(polls <= 2);
	for (int i = 0; i < 10; i++)
		world_turn(&w, 10);
	CU_ASSERT_EQUAL(w.srv.closed, 0);
	CU_ASSERT_FALSE(w.srv.disconnected);
	return handle;
}

static void close_late(void)
{
	leave_device();
	world_close(&w);
	subject.adjust = NULL;
	nlate = 0;
	late_cq = NULL;
}

static void test_late_bind(void)
{
	static struct msg r, s;
	struct fab_conn *srv;

	open_late();
	/* Others go on. */
	first_cli = w.cli;
	first_srv = w.srv;
	srv = w.srv.c;
	ep_clear(&w);
	world_join(&w, NULL);
	for (int i = 0; i < 20; i++)
		world_hello(&w);
	world_unpair(&w);
	w.cli = first_cli;
	w.srv = first_srv;
	fab_conn_set_ready(srv, ep_ready, &w.srv);
	CU_ASSERT_FALSE(w.srv.closed);
	late_cq = NULL;
	w.srv.ready = true;
	fab_conn_schedule(w.srv.c);
	PUMP_UNTIL(&w, w.srv.closed == 1 && w.srv.nwc == 1);
	CU_ASSERT_PTR_EQUAL(w.srv.closed_user, &more);
	/* Which is as sound as ever. */
	CU_ASSERT_FALSE(w.srv.disconnected || w.cli.disconnected);
	w.srv.nwc = w.cli.nwc = 0;
	CU_ASSERT_EQUAL(ep_recv(&w.cli, msg_init(&w, &r, FAB_RECV, 0, 64)), 0);
	ep_post(&w.srv, msg_init(&w, &s, FAB_SEND, 64, 64));
	PUMP_UNTIL(&w, w.cli.nwc == 1 && w.srv.nwc == 1);
	close_late();
}

/* The peer closes it before the bind is known to be done. */
static void test_late_invalidated(void)
{
	struct fab_wr inv = { .op = FAB_SEND_INV, .flags = FAB_F_SIGNALED };

	inv.handle = open_late();
	ep_post(&w.cli, &inv);
	PUMP_UNTIL(&w, w.srv.closed == 1);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_OK), 1);
	CU_ASSERT_FALSE(w.srv.disconnected);
	late_cq = NULL;
	fab_conn_schedule(w.srv.c);
	PUMP_UNTIL(&w, w.srv.nwc == 2);
	CU_ASSERT_EQUAL(w.srv.closed, 1);
	close_late();
}

/* The end closes it. */
static void test_late_end(void)
{
	open_late();
	fab_disconnect(w.srv.c, true);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_TRUE(w.srv.closed <= 1);
	close_late();
}

/* ---- What the device does not let go of -------------------------------- */

static struct fab_pool *pool;

static struct fab_buf *open_buffer(uint32_t *handle)
{
	struct fab_buf *b;
	uint64_t offset;
	static struct msg r, s;

	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w.dom, NULL, &pool), 0);
	b = fab_pool_get(pool, LEN);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	CU_ASSERT_EQUAL(fab_expose(w.srv.c, b->mr, b->addr, LEN,
				   FAB_REMOTE_WRITE, handle, &offset),
			0);
	/* Its bind, if it has one, is done when this is. */
	CU_ASSERT_EQUAL(ep_recv(&w.cli, msg_init(&w, &r, FAB_RECV, 0, 64)), 0);
	ep_post(&w.srv, msg_init(&w, &s, FAB_SEND, 64, 64));
	PUMP_UNTIL(&w, w.srv.nwc == 1 && w.cli.nwc == 1);
	return b;
}

/* Nobody gets it again, however much is asked for; all else is of use. */
static bool comes_back(struct fab_buf *b)
{
	struct fab_buf *all = NULL, *n;
	bool found = false;

	fab_pool_put(b);
	for (int i = 0; i < 200; i++) {
		n = fab_pool_get(pool, LEN);
		CU_ASSERT_PTR_NOT_NULL_FATAL(n);
		found |= n == b;
		n->next = all;
		all = n;
	}
	while ((n = all)) {
		all = n->next;
		fab_pool_put(n);
	}
	return found;
}

static void not_closed(bool windows)
{
	struct fab_buf *b;
	uint32_t handle;

	subject.adjust = windows ? any_windows : NULL;
	world_pair(&w);
	take_device();
	subject.said[0] = 0;
	b = open_buffer(&handle);
	fail_mw = windows;
	fail_mr = windows ? NULL : b->addr;
	CU_ASSERT_FALSE(fab_unexpose(w.srv.c, handle, NULL));
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_EQUAL(w.srv.closed, 0);
	CU_ASSERT_EQUAL(w.srv.error, -EIO);
	CU_ASSERT_PTR_NOT_NULL(said_why(&w.srv, "cannot be revoked"));
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "4096 bytes are lost"));
	CU_ASSERT_FALSE(comes_back(b));
	world_unpair(&w);
	fail_mw = false;
	fail_mr = NULL;
	CU_ASSERT_EQUAL(windows ? ibv_dealloc_mw(failed_mw) :
				  ibv_dereg_mr(failed_mr),
			0);
	leave_device();
	fab_pool_destroy(pool);
	/* The others go on. */
	world_join(&w, NULL);
	world_hello(&w);
	world_close(&w);
	subject.adjust = NULL;
}

static void test_not_closed(void)
{
	not_closed(false);
	not_closed(true);
}

/* As it is when nothing fails. */
static void test_closed(void)
{
	for (int windows = 0; windows < 2; windows++) {
		struct fab_buf *b;
		uint32_t handle;

		subject.adjust = windows ? any_windows : NULL;
		world_pair(&w);
		b = open_buffer(&handle);
		CU_ASSERT_TRUE(fab_unexpose(w.srv.c, handle, NULL));
		CU_ASSERT_TRUE(comes_back(b));
		CU_ASSERT_FALSE(w.srv.disconnected);
		fab_pool_destroy(pool);
		world_close(&w);
	}
	subject.adjust = NULL;
}

/* A queue pair that stays has all that was posted to it. */
static void test_stuck_pair(void)
{
	struct vb_poller *p;
	struct fab_sge sge;
	struct fab_wr wr = { .op = FAB_RECV, .nsge = 1, .sge = &sge };
	struct fab_buf *b;

	if (subject.shared)
		return;
	world_pair(&w);
	p = vb_poller(w.poller);
	subject.said[0] = 0;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w.dom, NULL, &pool), 0);
	b = fab_pool_get(pool, LEN);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	sge = (struct fab_sge){ b->addr, LEN, b->mr };
	CU_ASSERT_EQUAL(fab_post_recv(w.srv.c, &wr), 0);
	fail_qp = vb_conn(w.srv.c)->id->qp;
	take_device();
	mute_cq = vb_conn(w.srv.c)->cq;
	fab_disconnect(w.cli.c, true);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	CU_ASSERT_EQUAL(ep_count(&w.srv, FAB_FLUSHED), 1);
	CU_ASSERT_FALSE(comes_back(b));
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "cannot be destroyed"));
	world_unpair(&w);
	CU_ASSERT_PTR_NOT_NULL(p->stuck);
	/* Until its device is gone. */
	fail_qp = NULL;
	mute_cq = NULL;
	leave_device();
	atomic_fetch_add(&vb_domain(w.dom)->changes, 1);
	PUMP_UNTIL(&w, !p->stuck);
	for (int i = 0; i < 3; i++)
		world_turn(&w, 10);
	fab_pool_destroy(pool);
	world_close(&w);
}

/* Nor is a connection freed that a completion queue still names. */
static void test_stuck_queue(void)
{
	struct vb_poller *p;

	world_pair(&w);
	p = vb_poller(w.poller);
	subject.said[0] = 0;
	fail_cq = vb_conn(w.srv.c)->cq;
	fab_disconnect(w.cli.c, true);
	PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
	world_unpair(&w);
	CU_ASSERT_PTR_NOT_NULL(p->stuck);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(subject.said, "queue cannot be destroyed"));
	fail_cq = NULL;
	atomic_fetch_add(&vb_domain(w.dom)->changes, 1);
	PUMP_UNTIL(&w, !p->stuck);
	for (int i = 0; i < 3; i++)
		world_turn(&w, 10);
	world_close(&w);
}

/* A slab that the device does not let go of is not unmapped. */
static void test_stuck_memory(void)
{
	struct fab_pool_params few = { .max_bytes = 4u << 20 };
	struct fab_pool_stats is;
	struct fab_buf *b;
	uint8_t *addr;

	world_pair(&w);
	subject.said[0] = 0;
	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w.dom, &few, &pool), 0);
	b = fab_pool_get(pool, 1u << 20);
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	addr = b->addr;
	/* The registration is of the slab. */
	fail_mr = b->mr->addr;
	fab_pool_put(b);
	CU_ASSERT_PTR_NULL(fab_pool_get(pool, 4u << 20));
	CU_ASSERT_PTR_NOT_NULL(strstr(subject.said, "bytes are lost"));
	fab_pool_get_stats(pool, &is);
	CU_ASSERT_EQUAL(is.bytes_held, 4u << 20);
	/* It is still mapped. */
	CU_ASSERT_EQUAL(msync(addr, 1u << 20, MS_ASYNC), 0);
	fail_mr = NULL;
	fab_pool_destroy(pool);
	/* What was lost goes with the domain. */
	world_close(&w);
}

/* ---- Order ------------------------------------------------------------- */

/* No queue is looked into after its pair, by the poller or the runner. */
static void test_polls_over(void)
{
	static struct msg r[8], s[8];

	world_pair(&w);
	take_device();
	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 8; i++)
			CU_ASSERT_EQUAL(
				ep_recv(&w.srv,
					msg_init(&w, &r[i], FAB_RECV, 0, 64)),
				0);
		for (int i = 0; i < 8; i++)
			ep_post(&w.cli, msg_init(&w, &s[i], FAB_SEND, 64, 64));
		/* With much under way, and who looks without being told. */
		for (int i = 0; i < round; i++)
			fab_poller_run(w.poller, 0);
		fab_disconnect(round & 1 ? w.cli.c : w.srv.c, true);
		for (int i = 0; i < 400; i++)
			fab_poller_run(w.poller, 0);
		PUMP_UNTIL(&w, w.srv.disconnected && w.cli.disconnected);
		for (int i = 0; i < 400; i++)
			fab_poller_run(w.poller, 0);
		world_unpair(&w);
		world_join(&w, NULL);
		world_hello(&w);
	}
	CU_ASSERT_EQUAL(polls_over, 0);
	CU_ASSERT_TRUE(nover >= 8);
	leave_device();
	world_close(&w);
}

/* A registration that fails at the second device: that of the first is given
 * back while no device can be retired. */
static void test_half_registered(void)
{
	const char *other = getenv("RPCRDMA_VERBS_OTHER");
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct ep e = { 0 };
	struct fab_mr *mr;
	unsigned int last;

	if (!other)
		return;
	inet_pton(AF_INET, other, &to.sin_addr);
	world_pair(&w);
	CU_ASSERT_EQUAL_FATAL(fab_conn_create(w.poller, ep_ready, &e, &e.c), 0);
	CU_ASSERT_EQUAL(
		fab_connect(e.c, (struct sockaddr *)&to, sizeof(to), NULL), 0);
	for (uint64_t end = util_ms() + 60000;
	     !e.disconnected && util_ms() < end;) {
		world_turn(&w, 10);
		if (e.ready)
			ep_poll(&e);
	}
	last = vb_domain(w.dom)->ndevs - 1;
	CU_ASSERT_TRUE_FATAL(last > 0);
	refuse_reg = atomic_load(&vb_domain(w.dom)->dev[last])->ctx;
	look_for_lock = true;
	CU_ASSERT_EQUAL(fab_reg(w.dom, w.arena, ARENA, &mr), -ENOMEM);
	look_for_lock = false;
	refuse_reg = NULL;
	CU_ASSERT_FALSE(unlocked);
	ep_destroy(&w, &e);
	world_close(&w);
}

/* Of how many devices the two ends are: a kernel may choose another for the client. */
static unsigned int devices(void)
{
	return vb_conn(w.cli.c)->dev == vb_conn(w.srv.c)->dev ? 1 : 2;
}

/* Less inline data than is wanted is better than none, and is looked for once. */
static void test_inline(void)
{
	inline_most = 96;
	pairs_asked = 0;
	world_pair(&w);
	CU_ASSERT_EQUAL(pairs_asked, 2 + 2 * devices());
	CU_ASSERT_TRUE(vb_conn(w.cli.c)->max_inline >= VB_INLINE / 4);
	world_close(&w);
	inline_most = 0;
	pairs_asked = 0;
	world_pair(&w);
	CU_ASSERT_EQUAL(pairs_asked, 2 + 3 * devices());
	world_close(&w);
	inline_most = UINT32_MAX;
}

/* Connect once more, to a device that has no queue pair left. Expect @error and @why. */
static void refused(int error, const char *why)
{
	struct ep e = { 0 };

	no_pairs = true;
	CU_ASSERT_EQUAL_FATAL(fab_conn_create(w.poller, ep_ready, &e, &e.c), 0);
	CU_ASSERT_EQUAL(fab_connect(e.c, (struct sockaddr *)&w.addr,
				    subject.addrlen, NULL),
			0);
	for (uint64_t end = util_ms() + 60000;
	     !e.disconnected && util_ms() < end;) {
		world_turn(&w, 10);
		if (e.ready)
			ep_poll(&e);
	}
	CU_ASSERT_EQUAL(e.error, error);
	CU_ASSERT_PTR_NOT_NULL(said_why(&e, why));
	ep_destroy(&w, &e);
	no_pairs = false;
}

static void same_device(const struct fab_device *d, void *arg)
{
	const struct vb_device *dev = arg;

	if (strcmp(d->name, dev->name) != 0)
		return;
	CU_ASSERT_EQUAL(d->used[FAB_DEVICE_queue_pairs],
			atomic_load(&dev->used[VB_QP]));
	CU_ASSERT_EQUAL(d->most[FAB_DEVICE_completion_queues],
			dev->most[VB_CQ]);
	CU_ASSERT_TRUE(d->used[FAB_DEVICE_memory_regions] > 0);
}

/* Drivers say ENOMEM whatever there is too little of. */
static void test_shortage(void)
{
	struct vb_device *dev;
	unsigned int n;
	char why[96];

	world_pair(&w);
	dev = vb_conn(w.cli.c)->dev;
	n = 3 - devices();
	CU_ASSERT_EQUAL(atomic_load(&dev->used[VB_QP]), n);
	CU_ASSERT_EQUAL(atomic_load(&dev->used[VB_CQ]), n);
	fab_for_each_device(w.dom, same_device, dev);
	snprintf(why, sizeof(why),
		 "creates no queue pair: Cannot allocate memory (%u of ", n);
	refused(-ENOMEM, why);
	dev->most[VB_QP] = n;
	snprintf(why, sizeof(why),
		 "has no queue pair left: %u of %u are used here", n, n);
	refused(-ENOSPC, why);
	world_hello(&w);
	world_unpair(&w);
	CU_ASSERT_EQUAL(atomic_load(&dev->used[VB_QP]), 0);
	CU_ASSERT_EQUAL(atomic_load(&dev->used[VB_CQ]), 0);
	world_close(&w);
}

/* The device has as many Reads as were agreed on, and no other before one of them is
 * known to be done. */
static void test_reads_out(void)
{
	static struct msg m[32];
	struct fab_conn_info info;
	uint32_t handle;
	uint64_t off;
	unsigned int n;

	world_pair(&w);
	take_device();
	fab_conn_info(w.cli.c, &info);
	n = info.read_depth;
	CU_ASSERT_TRUE_FATAL(n > 0 && n + 2 <= 32);
	memset(w.arena, 0, AT);
	memset(w.arena + AT, 0x5a, LEN);
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, LEN, FAB_REMOTE_READ,
				  &handle, &off),
			0);
	w.srv.ready = true;
	world_turn(&w, 0);
	late_cq = vb_conn(w.cli.c)->cq;
	for (unsigned int i = 0; i < n + 2; i++) {
		msg_init(&w, &m[i], FAB_READ, i * 64, 64);
		m[i].wr.handle = handle;
		m[i].wr.offset = off;
		ep_post(&w.cli, &m[i].wr);
	}
	PUMP_UNTIL(&w, w.arena[n * 64 - 1] == 0x5a);
	for (int i = 0; i < 20; i++)
		world_turn(&w, 10);
	CU_ASSERT_EQUAL(w.arena[n * 64], 0);
	late_cq = NULL;
	w.cli.ready = true;
	fab_conn_schedule(w.cli.c);
	PUMP_UNTIL(&w, (unsigned int)w.cli.nwc == n + 2);
	CU_ASSERT_EQUAL(w.arena[(n + 2) * 64 - 1], 0x5a);
	leave_device();
	world_close(&w);
}

/* To librdmacm 255 is no number. */
static void test_depth(void)
{
	struct fab_domain_params p = { .read_depth = 1000 };
	struct fab_poller *poller;
	struct fab_domain *dom;
	struct ep e = { 0 };

	world_open(&w);
	deep = true;
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_verbs_ops, &p, &dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(dom, &poller), 0);
	CU_ASSERT_EQUAL_FATAL(fab_conn_create(poller, ep_ready, &e, &e.c), 0);
	CU_ASSERT_EQUAL(fab_connect(e.c, (struct sockaddr *)&w.addr,
				    subject.addrlen, NULL),
			0);
	for (uint64_t end = util_ms() + 60000;
	     !e.disconnected && util_ms() < end;) {
		fab_poller_run(poller, 10);
		if (e.ready)
			ep_poll(&e);
	}
	CU_ASSERT_EQUAL(asked.initiator_depth, 254);
	CU_ASSERT_EQUAL(asked.responder_resources, 254);
	deep = false;
	fab_conn_destroy_deferred(e.c, ep_gone, &e);
	while (!e.gone)
		fab_poller_run(poller, 10);
	fab_poller_destroy(poller);
	fab_domain_close(dom);
	world_close(&w);
}

/* Whose turn it is not is refused, named and counted. */
static void test_pace(void)
{
	struct vb_listener *l;

	world_open(&w);
	l = container_of(w.listener, struct vb_listener, ev.fab);
	/* Of every host, and for minutes, as an emulated processor takes seconds
	 * to connect. */
	for (unsigned int i = 0; i < BASE_PACE_SLOTS; i++)
		l->ev.pace.slot[i] = base_now_ms() + 600000;
	subject.said[0] = '\0';
	world_connect(&w, NULL);
	PUMP_UNTIL(&w, w.cli.disconnected);
	CU_ASSERT_EQUAL(w.cli.error, -EPERM);
	CU_ASSERT_EQUAL(w.requests, 0);
	CU_ASSERT_EQUAL(w.dom->failed_starts, 1);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(subject.said,
		       ": connection refused: too many connections at once"));
	ep_destroy(&w, &w.cli);
	world_close(&w);
}

/* ---- What the device takes no more of for a while ----------------------- */

/* So many calls take a few of what they are given, and no more. */
static unsigned int few_sends, few_recvs;
static int (*real_send)(struct ibv_qp *qp, struct ibv_send_wr *wr,
			struct ibv_send_wr **bad);
static int (*real_recv)(struct ibv_qp *qp, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad);
static int (*real_srq_recv)(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad);

#define FEW 3

/* Post the first of them, if there are more. */
#define POST_FEW(left, real, to, wr, bad)                         \
	({                                                        \
		__typeof__(wr) last_ = wr, rest_ = wr;            \
		int rc_ = 0;                                      \
		if (!(left))                                      \
			return real(to, wr, bad);                 \
		(left)--;                                         \
		for (int i_ = 0; i_ < FEW && rest_->next; i_++) { \
			last_ = rest_;                            \
			rest_ = rest_->next;                      \
		}                                                 \
		if (rest_ != wr) {                                \
			last_->next = NULL;                       \
			rc_ = real(to, wr, bad);                  \
			last_->next = rest_;                      \
		}                                                 \
		*bad = rest_;                                     \
		rc_ ? rc_ : ENOMEM;                               \
	})

static int send_few(struct ibv_qp *qp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad)
{
	return POST_FEW(few_sends, real_send, qp, wr, bad);
}

static int recv_few(struct ibv_qp *qp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad)
{
	return POST_FEW(few_recvs, real_recv, qp, wr, bad);
}

static int srq_recv_few(struct ibv_srq *srq, struct ibv_recv_wr *wr,
			struct ibv_recv_wr **bad)
{
	return POST_FEW(few_recvs, real_srq_recv, srq, wr, bad);
}

#define SHORT 12

static void test_short(void)
{
	static struct msg s[SHORT], r[SHORT], read;
	struct vb_device *dev;
	struct ibv_context *ctx[3];
	uint32_t handle;
	uint64_t offset;
	int refused;

	world_pair(&w);
	dev = vb_conn(w.cli.c)->dev;
	ctx[0] = vb_conn(w.cli.c)->id->qp->context;
	ctx[1] = vb_conn(w.srv.c)->id->qp->context;
	ctx[2] = vb_conn(w.srv.c)->dev->pd->context;
	real_send = ctx[0]->ops.post_send;
	real_recv = ctx[0]->ops.post_recv;
	real_srq_recv = ctx[0]->ops.post_srq_recv;
	for (int i = 0; i < 3; i++) {
		ctx[i]->ops.post_send = send_few;
		ctx[i]->ops.post_recv = recv_few;
		ctx[i]->ops.post_srq_recv = srq_recv_few;
	}
	for (int i = 0; i < SHORT; i++) {
		msg_init(&w, &r[i], FAB_RECV, (size_t)i * LEN, LEN);
		msg_init(&w, &s[i], FAB_SEND, AT + (size_t)i * LEN, 64);
		if (i) {
			r[i - 1].wr.next = &r[i].wr;
			s[i - 1].wr.next = &s[i].wr;
		}
	}
	/* Receives: what is not taken is said. */
	few_recvs = 1;
	refused = ep_recv(&w.srv, &r[0].wr);
	CU_ASSERT_EQUAL(few_recvs, 0);
	/* A shared queue has some to spare. */
	CU_ASSERT_TRUE_FATAL(refused >= !subject.shared && refused <= SHORT);
	if (refused)
		CU_ASSERT_EQUAL(ep_recv(&w.srv, &r[SHORT - refused].wr), 0);
	/* Sends: they go later, in order. */
	few_sends = 7;
	ep_post(&w.cli, &s[0].wr);
	PUMP_UNTIL(&w, w.srv.nwc == SHORT && w.cli.nwc == SHORT);
	CU_ASSERT_EQUAL(few_sends, 0);
	for (int i = 0; i < SHORT; i++)
		CU_ASSERT_PTR_EQUAL(w.cli.wc[i].wr, &s[i].wr);
	CU_ASSERT_TRUE(atomic_load(&w.dom->shortages) >= 8);
	/* The key that an iWARP adapter needs for a Read. */
	CU_ASSERT_EQUAL(ep_expose(&w.srv, w.arena + AT, LEN, FAB_REMOTE_READ,
				  &handle, &offset),
			0);
	msg_init(&w, &read, FAB_READ, 0, LEN);
	read.wr.handle = handle;
	read.wr.offset = offset;
	dev->sink_rights = true;
	refuse_reg = dev->pd->context;
	ep_post(&w.cli, &read.wr);
	for (int i = 0; i < 10; i++)
		world_turn(&w, 10);
	CU_ASSERT_EQUAL(w.cli.nwc, SHORT);
	refuse_reg = NULL;
	PUMP_UNTIL(&w, w.cli.nwc == SHORT + 1);
	CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_OK), SHORT + 1);
	CU_ASSERT_FALSE(w.srv.disconnected || w.cli.disconnected);
	/* An end while something waits. */
	few_sends = UINT32_MAX;
	ep_post(&w.cli, msg_init(&w, &s[0], FAB_SEND, AT, 64));
	fab_disconnect(w.cli.c, true);
	PUMP_UNTIL(&w, w.cli.disconnected && w.srv.disconnected);
	CU_ASSERT_EQUAL(ep_count(&w.cli, FAB_FLUSHED), 1);
	few_sends = 0;
	dev->sink_rights = false;
	for (int i = 0; i < 3; i++) {
		ctx[i]->ops.post_send = real_send;
		ctx[i]->ops.post_recv = real_recv;
		ctx[i]->ops.post_srq_recv = real_srq_recv;
	}
	world_close(&w);
}

static const struct unit_test tests[] = {
	{ "immediate", test_immediate },
	{ "forged", test_forged },
	{ "late_bind", test_late_bind },
	{ "late_invalidated", test_late_invalidated },
	{ "late_end", test_late_end },
	{ "closed", test_closed },
	{ "not_closed", test_not_closed },
	{ "stuck_pair", test_stuck_pair },
	{ "stuck_queue", test_stuck_queue },
	{ "stuck_memory", test_stuck_memory },
	{ "polls_over", test_polls_over },
	{ "half_registered", test_half_registered },
	{ "inline", test_inline },
	{ "shortage", test_shortage },
	{ "reads_out", test_reads_out },
	{ "depth", test_depth },
	{ "pace", test_pace },
	{ "short", test_short },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	struct sockaddr_in *in = (struct sockaddr_in *)&subject.addr;
	const char *addr = getenv("RPCRDMA_VERBS_ADDR");

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 4 && !strcmp(argv[1], "--server"))
		return raw_server(argv[2], argv[3]);
	if (!addr || inet_pton(AF_INET, addr, &in->sin_addr) != 1) {
		printf("no RPCRDMA_VERBS_ADDR\n");
		return 77;
	}
	in->sin_family = AF_INET;
	subject.addrlen = sizeof(*in);
	subject.ops = subject.cli_ops = &fab_verbs_ops;
	if (argc >= 2 && !strcmp(argv[1], "--shared")) {
		subject.shared = true;
		argc--;
		argv++;
	}
	return unit_run("verbs_faults", tests, argc, argv);
}
