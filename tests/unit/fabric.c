/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric's dispatch refuses for every provider. */
#include <sys/resource.h>
#include <unistd.h>

#include "loop_util.h"

static void test_provider(void)
{
	const struct fab_ops *ops = fab_provider("iwarp");

	CU_ASSERT_PTR_NOT_NULL_FATAL(ops);
	CU_ASSERT_STRING_EQUAL(ops->name, "iwarp");
	CU_ASSERT_PTR_NULL(fab_provider("loop")); /* by its symbol only */
	CU_ASSERT_PTR_NULL(fab_provider("iwar"));
	CU_ASSERT_PTR_NULL(fab_provider(""));
	CU_ASSERT_PTR_NULL(fab_provider(NULL));
}

/* A provider that lacks an operation would crash its first user. */
static void test_complete(void)
{
	const struct fab_ops *const tables[] = { &fab_loop_ops,
						 fab_provider("iwarp") };

	for (int i = 0; i < 2; i++) {
		const struct fab_ops *o = tables[i];

		CU_ASSERT(o->domain_open && o->domain_close);
		CU_ASSERT(o->poller_create && o->poller_destroy);
		CU_ASSERT(o->poller_run && o->poller_wake);
		CU_ASSERT(o->reg && o->dereg && o->expose && o->unexpose);
		CU_ASSERT(o->post && o->post_recv && o->poll && o->schedule);
		CU_ASSERT(o->listen && o->listener_addr && o->listener_close);
		CU_ASSERT(o->conn_create && o->conn_set_ready && o->connect);
		CU_ASSERT(o->accept && o->reject && o->disconnect);
		CU_ASSERT(o->conn_destroy_deferred && o->conn_info &&
			  o->conn_counters);
	}
}

static void test_domain(void)
{
	struct fab_domain_params p = { .read_depth = 5 };
	struct fab_domain *dom;

	CU_ASSERT_EQUAL(fab_domain_open(NULL, NULL, &dom), -EINVAL);
	CU_ASSERT_EQUAL(fab_domain_open(&fab_loop_ops, NULL, NULL), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, NULL, &dom), 0);
	CU_ASSERT_EQUAL(dom->params.startup_timeout_ms, 10000);
	CU_ASSERT_EQUAL(dom->params.max_startup, 256);
	CU_ASSERT_TRUE(dom->params.crc);
	fab_domain_close(dom);
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &p, &dom), 0);
	CU_ASSERT_EQUAL(fab_domain_limits(dom)->max_read_depth, 5);
	CU_ASSERT_FALSE(dom->params.crc);
	fab_domain_close(dom);
	fab_domain_close(NULL);
	fab_poller_destroy(NULL);
	fab_listener_close(NULL);
	fab_dereg(NULL);
}

/* Without a descriptor there is no poller, and (under AddressSanitizer) nothing
 * left of it. */
static void test_no_descriptor(void)
{
	struct rlimit was, none;
	struct fab_domain *dom;
	struct fab_poller *poller;
	int fd = dup(0);

	CU_ASSERT_EQUAL_FATAL(
		fab_domain_open(fab_provider("iwarp"), NULL, &dom), 0);
	close(fd);
	CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = was;
	none.rlim_cur = (rlim_t)fd;
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &none), 0);
	CU_ASSERT_EQUAL(fab_poller_create(dom, &poller), -EMFILE);
	CU_ASSERT_EQUAL(setrlimit(RLIMIT_NOFILE, &was), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(dom, &poller), 0);
	fab_poller_destroy(poller);
	fab_domain_close(dom);
}

static void test_memory(void)
{
	static uint8_t mem[1000];
	struct world *w = world_connect(), *v = world_connect();
	struct fab_mr *mr, *foreign;
	uint32_t h;
	uint64_t off;
	const unsigned int rw = FAB_REMOTE_READ | FAB_REMOTE_WRITE;

	CU_ASSERT_EQUAL(fab_reg(w->dom, NULL, 10, &mr), -EINVAL);
	CU_ASSERT_EQUAL(fab_reg(w->dom, mem, 0, &mr), -EINVAL);
	CU_ASSERT_EQUAL(fab_reg(w->dom, mem, SIZE_MAX, &mr), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(fab_reg(w->dom, mem + 100, 800, &mr), 0);
	CU_ASSERT_EQUAL_FATAL(fab_reg(v->dom, mem, 1000, &foreign), 0);

	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 99, 1, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 899, 2, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 901, 1, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 500, SIZE_MAX - 10, rw, &h,
				   &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 500, 0, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 500, 1, 0, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 500, 1, 4, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, NULL, mem + 500, 1, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, foreign, mem + 500, 1, rw, &h, &off),
			-EINVAL);
	CU_ASSERT_EQUAL(loop_exposed(w->a.c), 0);
	CU_ASSERT_EQUAL(fab_expose(w->a.c, mr, mem + 100, 800, rw, &h, &off),
			0);
	fab_unexpose(w->a.c, h, NULL);
	fab_dereg(mr);
	fab_dereg(foreign);
	world_close(w);
	world_close(v);
}

static void test_addresses(void)
{
	static const struct {
		sa_family_t family;
		socklen_t len;
		int rc;
	} bad[] = {
		{ AF_INET, sizeof(struct sockaddr_in) - 1, -EINVAL },
		{ AF_INET6, sizeof(struct sockaddr_in6) - 1, -EINVAL },
		{ AF_INET, sizeof(struct sockaddr_storage) + 1, -EINVAL },
		{ AF_UNIX, sizeof(struct sockaddr_in), -EAFNOSUPPORT },
	};
	struct world *w = world_open(NULL);
	struct fab_listener *l;

	world_listen(w);
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, on_ready, &w->a, &w->a.c),
			0);
	CU_ASSERT_EQUAL(fab_listen(w->poller, NULL, 0, on_request, w, &l),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, NULL, 0, NULL), -EINVAL);
	for (unsigned int i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct sockaddr_storage to = { .ss_family = bad[i].family };
		const struct sockaddr *at = (struct sockaddr *)&to;

		CU_ASSERT_EQUAL(fab_listen(w->poller, at, bad[i].len,
					   on_request, w, &l),
				bad[i].rc);
		CU_ASSERT_PTR_NULL(l);
		CU_ASSERT_EQUAL(fab_connect(w->a.c, at, bad[i].len, NULL),
				bad[i].rc);
	}
	world_close(w);
}

/* A connection may have other limits than its domain. */
static void test_conn_limits(void)
{
	static uint8_t mem[8];
	struct world *w = world_connect();
	struct fab_limits own = *fab_domain_limits(w->dom);
	struct fab_sge sge[2] = { { mem, 1, NULL }, { mem, 1, NULL } };
	struct req r;

	CU_ASSERT_PTR_EQUAL(fab_conn_limits(w->a.c), fab_domain_limits(w->dom));
	own.caps &= ~(unsigned int)FAB_CAP_SEND_INV;
	own.max_sge = 1;
	own.max_message = 4;
	w->a.c->limits = &own;
	CU_ASSERT_PTR_EQUAL(fab_conn_limits(w->a.c), &own);
	req_init(&r, FAB_SEND_INV, mem, 1);
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	req_init(&r, FAB_SEND, mem, 5);
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	req_init(&r, FAB_SEND, mem, 1);
	r.wr.sge = sge;
	r.wr.nsge = 2;
	CU_ASSERT_EQUAL(fab_post(w->a.c, &r.wr), -EINVAL);
	w->a.c->limits = NULL;
	world_close(w);
}

/* A bad request anywhere in a chain: nothing of the chain is taken. */
static void test_chains(void)
{
	static uint8_t mem[1000];
	struct world *w = world_connect(), *v = world_connect();
	size_t most = fab_domain_limits(w->dom)->max_message;
	unsigned int nsge = fab_domain_limits(w->dom)->max_sge;
	struct fab_sge sge[64];
	struct req good, bad;
	struct fab_mr *foreign, *mr;

	CU_ASSERT_FATAL(nsge < 64);
	for (int i = 0; i < 64; i++)
		sge[i] = (struct fab_sge){ .addr = mem, .len = 1 };
	CU_ASSERT_EQUAL_FATAL(fab_reg(v->dom, mem, 1000, &foreign), 0);
	CU_ASSERT_EQUAL_FATAL(fab_reg(w->dom, mem, 100, &mr), 0);
	CU_ASSERT_EQUAL(end_recv(&w->p, 2, 100), 0);
	CU_ASSERT_EQUAL(fab_post(w->a.c, NULL), -EINVAL);
	CU_ASSERT_EQUAL(fab_post_recv(w->a.c, NULL), -EINVAL);
	for (int how = 0; how < 9; how++) {
		req_init(&good, FAB_SEND, "x", 1);
		req_init(&bad, FAB_SEND, mem, 1);
		good.wr.next = &bad.wr;
		switch (how) {
		case 0:
			bad.wr.op = FAB_RECV;
			break;
		case 1:
			bad.wr.op = (enum fab_opcode)99;
			break;
		case 2:
			bad.wr.sge = sge;
			bad.wr.nsge = nsge + 1;
			break;
		case 3:
			bad.wr.sge = NULL;
			break;
		case 4:
			bad.sge.addr = NULL;
			break;
		case 5:
			bad.sge.len = most + 1;
			break;
		case 6: /* the sum, and it must not wrap */
			bad.wr.sge = sge;
			bad.wr.nsge = 3;
			sge[0].len = SIZE_MAX / 2;
			sge[1].len = SIZE_MAX / 2;
			sge[2].len = 3;
			break;
		case 7:
			bad.sge.mr = foreign;
			break;
		case 8:
			bad.sge.mr = mr;
			bad.sge.addr = mem + 100;
			break;
		}
		CU_ASSERT_EQUAL(fab_post(w->a.c, &good.wr), -EINVAL);
	}
	/* A Receive has exactly one sge. */
	req_init(&good, FAB_RECV, mem, 10);
	req_init(&bad, FAB_RECV, mem, 10);
	good.wr.next = &bad.wr;
	bad.wr.nsge = 0;
	CU_ASSERT_EQUAL(fab_post_recv(w->a.c, &good.wr), -EINVAL);
	bad.wr.sge = &sge[3];
	bad.wr.nsge = 2;
	CU_ASSERT_EQUAL(fab_post_recv(w->a.c, &good.wr), -EINVAL);
	bad.wr.nsge = 1;
	bad.wr.op = FAB_SEND;
	CU_ASSERT_EQUAL(fab_post_recv(w->a.c, &good.wr), -EINVAL);
	CU_ASSERT_EQUAL(loop_recvs_posted(w->a.c), 0);

	pump(w);
	CU_ASSERT_EQUAL(events(w, LOOP_EV_SEND), 0);
	CU_ASSERT_EQUAL(w->a.n, 0);
	fab_dereg(foreign);
	fab_dereg(mr);
	world_close(w);
	world_close(v);
}

static unsigned int given;

static void *share_take(void *ctx, struct fab_sge *sge)
{
	uint8_t **mem = ctx;
	void *memory = *mem;

	*sge = (struct fab_sge){ *mem, 100, NULL };
	*mem = NULL;
	return memory;
}

static void share_give(void *ctx, void *memory)
{
	given++;
}

/* Receives without memory, and messages that come with it. */
static void test_share(void)
{
	static uint8_t mem[100];
	uint8_t *next = mem;
	struct fab_srq_params share = { .size = 100,
					.each = 4,
					.alloc = share_take,
					.free = share_give,
					.ctx = &next };
	struct fab_srq_params bad[5] = { share, share, share, share, share };
	struct fab_srq_stats st = { .queues = 7 };
	struct world *w = world_connect();
	struct fab_domain *other;
	struct req r[3], s;

	bad[0].size = 0;
	bad[1].each = 0;
	bad[2].alloc = NULL;
	bad[3].free = NULL;
	bad[4].size = fab_domain_limits(w->dom)->max_message + 1;
	for (int i = 0; i < 5; i++)
		CU_ASSERT_EQUAL(fab_srq_enable(w->dom, &bad[i]), -EINVAL);
	CU_ASSERT_EQUAL(fab_srq_enable(w->dom, NULL), -EINVAL);
	CU_ASSERT_EQUAL(fab_srq_enable(NULL, &share), -EINVAL);
	CU_ASSERT_EQUAL_FATAL(
		fab_domain_open(fab_provider("iwarp"), NULL, &other), 0);
	CU_ASSERT_EQUAL(fab_srq_enable(other, &share), -EOPNOTSUPP);
	fab_domain_close(other);
	fab_srq_stats(w->dom, &st);
	CU_ASSERT_EQUAL(st.queues, 0);

	CU_ASSERT_EQUAL_FATAL(fab_srq_enable(w->dom, &share), 0);
	CU_ASSERT_EQUAL(fab_srq_enable(w->dom, &share), -EBUSY);
	for (int i = 0; i < 3; i++)
		req_init(&r[i], FAB_RECV, NULL, 60);
	req_init(&s, FAB_RECV, mem, 60);
	CU_ASSERT_EQUAL(fab_post_recv(w->p.c, &s.wr), -EINVAL);
	req_init(&s, FAB_RECV, NULL, 101);
	CU_ASSERT_EQUAL(fab_post_recv(w->p.c, &s.wr), -EINVAL);
	for (int i = 0; i < 3; i++)
		CU_ASSERT_EQUAL(fab_post_recv(w->p.c, &r[i].wr), 0);
	CU_ASSERT_EQUAL(end_send(&w->a, &s, "shared"), 0);
	pump(w);
	CU_ASSERT_PTR_NOT_NULL_FATAL(end_wc(&w->p, &r[0].wr));
	CU_ASSERT_PTR_EQUAL(end_wc(&w->p, &r[0].wr)->memory, mem);
	CU_ASSERT_PTR_NULL(end_wc(&w->p, &r[1].wr));
	CU_ASSERT_EQUAL(memcmp(mem, "shared", 6), 0);
	/* There is no more of it. */
	CU_ASSERT_EQUAL(end_send(&w->a, &s, "more"), 0);
	pump(w);
	CU_ASSERT_TRUE(w->p.ended && w->a.ended);
	CU_ASSERT_EQUAL(given, 0);
	world_close(w);
}

static void test_private_data(void)
{
	static uint8_t priv[513];
	struct fab_conn_params p = { .priv = priv, .priv_len = 513 };
	struct world *w = world_open(NULL);

	world_listen(w);
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, on_ready, &w->a, &w->a.c),
			0);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&w->addr,
				    sizeof(struct sockaddr_in), &p),
			-EINVAL);
	p.priv = NULL;
	p.priv_len = 1;
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&w->addr,
				    sizeof(struct sockaddr_in), &p),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_connect(w->a.c, NULL, 0, NULL), -EINVAL);
	p.priv = priv;
	p.priv_len = 512;
	memset(priv, 0x77, sizeof(priv));
	CU_ASSERT_EQUAL(fab_connect(w->a.c, (struct sockaddr *)&w->addr,
				    sizeof(struct sockaddr_in), &p),
			0);
	w->hold = true;
	pump(w);
	CU_ASSERT_EQUAL(w->req_priv_len, 512);
	CU_ASSERT_EQUAL(memcmp(w->req_priv, priv, 512), 0);
	p.priv_len = 513;
	CU_ASSERT_EQUAL(fab_accept(w->p.c, &p), -EINVAL);
	p.priv_len = 512;
	CU_ASSERT_EQUAL(fab_accept(w->p.c, &p), 0);
	pump(w);
	CU_ASSERT_EQUAL(w->a.priv_len, 512);
	CU_ASSERT_EQUAL(memcmp(w->a.priv, priv, 512), 0);
	world_close(w);
}

static void test_create(void)
{
	struct world *w = world_open(NULL);
	struct fab_listener *l;
	struct fab_conn *c;

	world_listen(w);
	CU_ASSERT_EQUAL(fab_conn_create(NULL, on_ready, w, &c), -EINVAL);
	CU_ASSERT_EQUAL(fab_conn_create(w->poller, NULL, w, &c), -EINVAL);
	CU_ASSERT_EQUAL(fab_poller_create(NULL, &w->poller), -EINVAL);
	CU_ASSERT_EQUAL(fab_listen(w->poller, NULL, 0, on_request, w, &l),
			-EINVAL);
	CU_ASSERT_EQUAL(fab_listen(w->poller, (struct sockaddr *)&w->addr,
				   sizeof(struct sockaddr_in), NULL, w, &l),
			-EINVAL);
	world_close(w);
}

static const struct unit_test tests[] = {
	{ "provider", test_provider },
	{ "complete", test_complete },
	{ "domain", test_domain },
	{ "no-descriptor", test_no_descriptor },
	{ "memory", test_memory },
	{ "addresses", test_addresses },
	{ "conn_limits", test_conn_limits },
	{ "chains", test_chains },
	{ "private-data", test_private_data },
	{ "create", test_create },
	{ "share", test_share },
	{ NULL, NULL },
};

UNIT_MAIN("fabric", tests)
