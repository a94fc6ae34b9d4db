/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider_util - two endpoints of any provider in one thread
 *
 * One poller drives both sides: pump() runs it and polls whoever is ready,
 * until a condition holds or a long time has passed. Completions are kept.
 * Memory comes from one registered arena, since a provider may need that.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_TEST_PROVIDER_UTIL_H
#define RPCRDMA_TEST_PROVIDER_UTIL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "endpoint.h"
#include "rpcrdma/pool.h"

#define ARENA ((size_t)16 << 20)

struct world {
	/* The client's may be the same as the server's. */
	struct fab_domain *dom, *cli_dom;
	struct fab_poller *poller, *cli_poller;
	struct fab_limits limits; /* of both */
	struct fab_listener *listener;
	struct sockaddr_storage addr;
	/* The side that listens, and the one that connects. */
	struct ep srv, cli;
	uint8_t req_priv[512];
	size_t req_priv_len;
	int requests;
	bool reject, no_answer;
	struct fab_conn_params accept;
	/* Posted before the answer. */
	struct fab_wr *early_recv;

	uint8_t *arena;
	struct fab_mr *mr, *cli_mr;
	struct fab_pool *pool; /* for shared Receives, if subject.shared */
};

/* What is tested, set once by main(). */
struct subject {
	const struct fab_ops *ops;
	const struct fab_ops *cli_ops; /* of the side that connects */
	struct sockaddr_storage addr;
	socklen_t addrlen;
	/* Of each domain, but for what is the same for all. */
	struct fab_domain_params params;
	/* Called with each domain after it was opened; or NULL. */
	void (*adjust)(struct fab_domain *dom);
	/* The device's windows have known flaws: leave those out. */
	bool flawed_windows;
	/* The end of what was logged. */
	char said[8192];
	/* Linux' siw: does not tell why a connection ended, nor checks the
	 * right to remote reading. */
	bool siw;
	/* All Receives are posted without memory, fab_srq_enable(): how many the
	 * shared queues have at most, and the limit of their memory, 0: none.
	 * And the length of the longest. */
	bool shared;
	unsigned int share_most;
	int pair_steps;
	unsigned int patience_ms; /* until a start that nobody answers fails */
	size_t share_memory;
	size_t longest;
};
extern struct subject subject;

/* Name the memory as the domain of @e knows it, or, if Receives are shared,
 * not at all. */
static inline struct fab_wr *ep_own(const struct ep *e, struct fab_wr *chain)
{
	for (struct fab_wr *wr = chain; wr; wr = wr->next)
		for (unsigned int i = 0; i < wr->nsge; i++) {
			if (wr->sge[i].mr)
				wr->sge[i].mr = e->mr;
			if (subject.shared && wr->op == FAB_RECV)
				wr->sge[i] = (struct fab_sge){ NULL,
							       wr->sge[i].len,
							       NULL };
		}
	return chain;
}

static inline void world_request(struct fab_listener *l, struct fab_conn *c,
				 const void *priv, size_t priv_len, void *user)
{
	struct world *w = user;

	w->requests++;
	w->req_priv_len = priv_len;
	if (priv_len)
		memcpy(w->req_priv, priv, priv_len);
	w->srv.c = c;
	fab_conn_set_ready(c, ep_ready, &w->srv);
	if (w->no_answer)
		return;
	if (w->reject) {
		fab_reject(c, w->accept.priv, w->accept.priv_len);
		return;
	}
	if (w->early_recv)
		CU_ASSERT_EQUAL(
			fab_post_recv(c, ep_own(&w->srv, w->early_recv)), 0);
	CU_ASSERT_EQUAL(fab_accept(c, &w->accept), 0);
}

static inline void util_log(void *ctx, int level, const char *text)
{
	size_t n = strlen(subject.said), len = strlen(text) + 1;

	if (n + len >= sizeof(subject.said))
		n = 0;
	snprintf(subject.said + n, sizeof(subject.said) - n, "%s\n", text);
	if (getenv("RPCRDMA_TEST_LOG") && *getenv("RPCRDMA_TEST_LOG"))
		printf("<%d> %s\n", level, text);
}

static inline void side_open(struct world *w, const struct fab_ops *ops,
			     unsigned int startup_ms, struct fab_domain **dom,
			     struct fab_poller **poller, struct fab_mr **mr)
{
	struct fab_domain_params p = subject.params;

	p.crc = true;
	p.log = util_log;
	p.startup_timeout_ms = startup_ms;
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(ops, &p, dom), 0);
	if (subject.adjust)
		subject.adjust(*dom);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(*dom, poller), 0);
	CU_ASSERT_EQUAL_FATAL(fab_reg(*dom, w->arena, ARENA, mr), 0);
}

/* A Receive or Send of @len octets at @at of the arena, which is @place. */
struct msg {
	struct fab_wr wr;
	struct fab_sge sge;
	void *place;
};

/* ---- Shared Receives ------------------------------------------------- */

#define SHARE_SIZE 65536u
#define SHARE_EACH 256u

/* Where it would have come without sharing. */
static inline void share_done(const struct fab_wc *wc)
{
	const struct msg *m = wc->wr->user;
	struct fab_buf *b = wc->memory;

	if (wc->wr->op != FAB_RECV || wc->status != FAB_OK)
		return;
	CU_ASSERT_PTR_NOT_NULL_FATAL(b);
	if (wc->len)
		memcpy(m->place, b->addr, wc->len);
	fab_pool_put(b);
}

static inline void ep_clear(struct world *w)
{
	memset(&w->cli, 0, sizeof(w->cli));
	memset(&w->srv, 0, sizeof(w->srv));
	w->srv.mr = w->mr;
	w->cli.mr = w->cli_mr;
	if (subject.shared)
		w->srv.done = w->cli.done = share_done;
}

static inline void share_open(struct world *w)
{
	struct fab_pool_params p = { .max_bytes = subject.share_memory };
	struct fab_srq_params share = { .size = SHARE_SIZE,
					.each = SHARE_EACH,
					.most = subject.share_most };

	CU_ASSERT_EQUAL_FATAL(fab_pool_create(w->dom, &p, &w->pool), 0);
	fab_pool_srq_memory(w->pool, &share);
	CU_ASSERT_EQUAL_FATAL(fab_srq_enable(w->dom, &share), 0);
	CU_ASSERT_EQUAL(fab_srq_enable(w->dom, &share), -EBUSY);
}

static inline void share_close(struct world *w)
{
	struct fab_pool_stats st;

	fab_pool_get_stats(w->pool, &st);
	CU_ASSERT_EQUAL(st.bytes_in_use, 0);
	fab_pool_destroy(w->pool);
}

static inline void world_domain(struct world *w, unsigned int startup_ms)
{
	const struct fab_limits *l;

	memset(w, 0, sizeof(*w));
	w->arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CU_ASSERT_TRUE_FATAL(w->arena != MAP_FAILED);
	side_open(w, subject.ops, startup_ms, &w->dom, &w->poller, &w->mr);
	w->limits = *fab_domain_limits(w->dom);
	w->cli_dom = w->dom;
	w->cli_poller = w->poller;
	w->cli_mr = w->mr;
	if (subject.shared)
		share_open(w);
	if (subject.cli_ops != subject.ops) {
		side_open(w, subject.cli_ops, startup_ms, &w->cli_dom,
			  &w->cli_poller, &w->cli_mr);
		l = fab_domain_limits(w->cli_dom);
		w->limits.caps &= l->caps;
		if (l->max_sge < w->limits.max_sge)
			w->limits.max_sge = l->max_sge;
		if (l->max_read_depth < w->limits.max_read_depth)
			w->limits.max_read_depth = l->max_read_depth;
	}
	ep_clear(w);
}

/* At any port of @at, which has none. Linux' connection manager chooses ports
 * without asking TCP. A listening siw may not have the one it gets, for
 * connections that are not long gone keep some: it tries again. A siw client may
 * get the very one at which the iwarp provider listens, and fails (EADDRINUSE):
 * so that listens below the range for clients. */
static inline int listen_anywhere(struct world *w, const void *at,
				  socklen_t len, fab_request_fn fn, void *user,
				  struct fab_listener **out)
{
	static uint16_t port = 20000;
	bool below = subject.siw && subject.ops == fab_provider("iwarp");
	struct sockaddr_storage to;
	int rc = -EADDRINUSE;

	memcpy(&to, at, len);
	for (int i = 0; i < 50 && rc == -EADDRINUSE; i++) {
		/* The same place in both families. */
		if (below)
			((struct sockaddr_in *)&to)->sin_port = htons(port++);
		rc = fab_listen(w->poller, (struct sockaddr *)&to, len, fn,
				user, out);
	}
	return rc;
}

static inline void world_listen(struct world *w)
{
	CU_ASSERT_EQUAL_FATAL(listen_anywhere(w, &subject.addr, subject.addrlen,
					      world_request, w, &w->listener),
			      0);
	fab_listener_addr(w->listener, &w->addr);
}

static inline void world_open(struct world *w)
{
	world_domain(w, 0);
	world_listen(w);
}

static inline void world_turn(struct world *w, int ms)
{
	/* With two, neither may wait for long. */
	if (w->cli_poller != w->poller) {
		fab_poller_run(w->cli_poller, 0);
		ms = ms ? 1 : 0;
	}
	fab_poller_run(w->poller, ms);
	if (w->cli.ready)
		ep_poll(&w->cli);
	if (w->srv.ready)
		ep_poll(&w->srv);
}

static inline void world_tell(const struct world *w)
{
	printf("\n    client: %s (%d), server: %s (%d)\n", w->cli.reason,
	       w->cli.error, w->srv.reason, w->srv.error);
}

/* A time-out here means a hang, not slowness. What follows would rely on what
 * has not come. */
#define PUMP_UNTIL(w, cond)                         \
	do {                                        \
		uint64_t end_ = util_ms() + 60000;  \
		while (!(cond) && util_ms() < end_) \
			world_turn(w, 50);          \
		if (!(cond))                        \
			world_tell(w);              \
		CU_ASSERT_TRUE_FATAL(!!(cond));     \
	} while (0)

static inline int ep_try_post(struct ep *e, struct fab_wr *wr)
{
	return fab_post(e->c, ep_own(e, wr));
}

static inline void ep_post(struct ep *e, struct fab_wr *wr)
{
	CU_ASSERT_EQUAL(ep_try_post(e, wr), 0);
	e->ready = true;
}

static inline int ep_recv(struct ep *e, struct fab_wr *wr)
{
	return fab_post_recv(e->c, ep_own(e, wr));
}

static inline int ep_expose(struct ep *e, void *addr, size_t len,
			    unsigned int access, uint32_t *handle,
			    uint64_t *offset)
{
	return fab_expose(e->c, e->mr, addr, len, access, handle, offset);
}

static inline void world_create(struct world *w)
{
	CU_ASSERT_EQUAL_FATAL(fab_conn_create(w->cli_poller, ep_ready, &w->cli,
					      &w->cli.c),
			      0);
}

static inline void world_connect(struct world *w,
				 const struct fab_conn_params *p)
{
	if (!w->cli.c)
		world_create(w);
	CU_ASSERT_EQUAL(fab_connect(w->cli.c, (struct sockaddr *)&w->addr,
				    subject.addrlen, p),
			0);
}

static inline struct fab_wr *msg_init(struct world *w, struct msg *m,
				      enum fab_opcode op, size_t at, size_t len)
{
	m->place = w->arena + at;
	m->sge = (struct fab_sge){ m->place, len, w->mr };
	m->wr = (struct fab_wr){
		.op = op, .nsge = 1, .sge = &m->sge, .user = m
	};
	if (op == FAB_SEND || op == FAB_SEND_INV || op == FAB_WRITE)
		m->wr.flags = FAB_F_SIGNALED;
	return &m->wr;
}

/* The client says something, so that an iWARP server may speak. */
static inline void world_hello(struct world *w)
{
	static struct msg s, r;

	CU_ASSERT_EQUAL(
		ep_recv(&w->srv, msg_init(w, &r, FAB_RECV, ARENA - 64, 64)), 0);
	ep_post(&w->cli, msg_init(w, &s, FAB_SEND, ARENA - 128, 5));
	PUMP_UNTIL(w, w->srv.nwc == 1 && w->cli.nwc == 1);
	w->srv.nwc = w->cli.nwc = 0;
}

/* Connect, until both ends are up. */
static inline void world_join(struct world *w, const struct fab_conn_params *p)
{
	world_connect(w, p);
	PUMP_UNTIL(w, w->cli.established && w->srv.established);
}

/* Open, connected, and either side may send. */
static inline void world_pair(struct world *w)
{
	world_open(w);
	world_join(w, NULL);
	world_hello(w);
}

static inline void ep_destroy(struct world *w, struct ep *e)
{
	if (!e->c)
		return;
	fab_conn_destroy_deferred(e->c, ep_gone, e);
	e->c = NULL;
	e->ready = false;
	PUMP_UNTIL(w, e->gone);
	CU_ASSERT_EQUAL(e->gone, 1);
}

/* Both connections away; the listener stays. */
static inline void world_unpair(struct world *w)
{
	if (w->cli.c && !w->cli.disconnected)
		fab_disconnect(w->cli.c, true);
	if (w->srv.c && !w->srv.disconnected)
		fab_disconnect(w->srv.c, true);
	ep_destroy(w, &w->cli);
	ep_destroy(w, &w->srv);
	ep_clear(w);
}

static inline void world_close(struct world *w)
{
	world_unpair(w);
	if (w->listener)
		fab_listener_close(w->listener);
	if (w->cli_dom != w->dom) {
		fab_dereg(w->cli_mr);
		fab_poller_destroy(w->cli_poller);
		fab_domain_close(w->cli_dom);
	}
	fab_dereg(w->mr);
	fab_poller_destroy(w->poller);
	if (w->pool)
		share_close(w);
	fab_domain_close(w->dom);
	munmap(w->arena, ARENA);
}

static inline int ep_count(const struct ep *e, enum fab_status status)
{
	int n = 0;

	for (int i = 0; i < e->nwc; i++)
		n += e->wc[i].status == status;
	return n;
}

extern const struct unit_test provider_life_tests[], provider_data_tests[],
	provider_bad_tests[], provider_shared_tests[];

#endif /* RPCRDMA_TEST_PROVIDER_UTIL_H */
