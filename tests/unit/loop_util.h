/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop_util - two ends over the loop provider, in one thread
 *
 * world_open() makes a domain, a poller and a listener; world_connect() two
 * ends that are established. pump() moves both on until nothing happens, and
 * puts what they are given in their logs.
 */
#ifndef RPCRDMA_TEST_LOOP_UTIL_H
#define RPCRDMA_TEST_LOOP_UTIL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>

#include "loop/loop.h"
#include "unit.h"

#define END_LOG 4096
#define END_RECVS 64
#define END_RECV_SIZE 1024
#define EV_LOG 8192

struct end {
	struct fab_conn *c;
	unsigned int readies;
	bool touched; /* has posted: polls without being called */
	struct fab_wc log[END_LOG];
	unsigned int n;
	bool established, ended;
	int error;
	char priv[512];
	size_t priv_len;
	/* Its Receives. */
	uint8_t mem[END_RECVS][END_RECV_SIZE];
	struct fab_wr wr[END_RECVS];
	struct fab_sge sge[END_RECVS];
	unsigned int posted;
};

struct world {
	struct fab_domain *dom;
	struct fab_poller *poller;
	struct fab_listener *l;
	struct sockaddr_storage addr;
	struct end a, p; /* active, passive */
	bool hold; /* do not accept */
	bool refuse;
	unsigned int requests;
	char req_priv[512];
	size_t req_priv_len;
	struct loop_event ev[EV_LOG];
	unsigned int nev;
};

static inline void on_ready(struct fab_conn *c, void *user)
{
	((struct end *)user)->readies++;
}

static inline void on_event(void *ctx, const struct loop_event *ev)
{
	struct world *w = ctx;

	if (w->nev < EV_LOG)
		w->ev[w->nev++] = *ev;
}

static inline void on_request(struct fab_listener *l, struct fab_conn *c,
			      const void *priv, size_t priv_len, void *user)
{
	static const struct fab_conn_params params = {
		.priv = "answer",
		.priv_len = 6,
	};
	struct world *w = user;

	w->requests++;
	w->p.c = c;
	w->req_priv_len = priv_len;
	memcpy(w->req_priv, priv, priv_len);
	if (w->refuse) {
		fab_reject(c, NULL, 0);
		return;
	}
	fab_conn_set_ready(c, on_ready, &w->p);
	if (!w->hold)
		CU_ASSERT_EQUAL(fab_accept(c, &params), 0);
}

static inline unsigned int events(const struct world *w,
				  enum loop_event_kind kind)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < w->nev; i++)
		n += w->ev[i].kind == kind;
	return n;
}

/* The nth (from 0) event of the kind, or NULL. */
static inline const struct loop_event *
event(const struct world *w, enum loop_event_kind kind, unsigned int n)
{
	for (unsigned int i = 0; i < w->nev; i++)
		if (w->ev[i].kind == kind && !n--)
			return &w->ev[i];
	return NULL;
}

static inline struct world *world_open(const struct fab_domain_params *params)
{
	struct world *w = calloc(1, sizeof(*w));

	CU_ASSERT_PTR_NOT_NULL_FATAL(w);
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, params, &w->dom),
			      0);
	loop_set_observer(w->dom, on_event, w);
	return w;
}

static inline void world_listen(struct world *w)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	CU_ASSERT_EQUAL_FATAL(fab_poller_create(w->dom, &w->poller), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(w->poller, (struct sockaddr *)&sin,
					 sizeof(sin), on_request, w, &w->l),
			      0);
	fab_listener_addr(w->l, &w->addr);
}

static inline bool drain(struct end *e)
{
	bool any = false;
	int got;

	if (!e->c)
		return false;
	do {
		CU_ASSERT_FATAL(e->n < END_LOG);
		got = fab_poll(e->c, &e->log[e->n],
			       e->n % 3 && e->n + 3 < END_LOG ? 3 : 1);
		for (int i = 0; i < got; i++) {
			struct fab_wc *wc = &e->log[e->n + (unsigned int)i];

			any = true;
			CU_ASSERT_FALSE(e->ended); /* it is the last event */
			if (wc->kind == FAB_WC_ESTABLISHED) {
				e->established = true;
				e->priv_len = wc->priv_len;
				if (wc->priv_len)
					memcpy(e->priv, wc->priv, wc->priv_len);
			} else if (wc->kind == FAB_WC_DISCONNECTED) {
				e->ended = true;
				e->error = wc->error;
			}
		}
		e->n += (unsigned int)got;
	} while (got > 0);
	return any;
}

/* Polls only who was called ready or has posted, as a transport does. */
static inline void pump(struct world *w)
{
	bool any;
	int idle = 0;

	do {
		any = fab_poller_run(w->poller, 0) > 0;
		for (int i = 0; i < 2; i++) {
			struct end *e = i ? &w->p : &w->a;

			if (!e->readies && !e->touched)
				continue;
			e->readies = 0;
			e->touched = false;
			any = true;
			drain(e);
		}
		idle = any ? 0 : idle + 1;
	} while (idle < 2);
}

static inline void world_start(struct world *w,
			       const struct fab_conn_params *params)
{
	CU_ASSERT_EQUAL_FATAL(
		fab_conn_create(w->poller, on_ready, &w->a, &w->a.c), 0);
	CU_ASSERT_EQUAL_FATAL(fab_connect(w->a.c, (struct sockaddr *)&w->addr,
					  sizeof(struct sockaddr_in), params),
			      0);
}

static inline struct world *world_connect(void)
{
	struct world *w = world_open(NULL);

	world_listen(w);
	world_start(w, NULL);
	pump(w);
	CU_ASSERT_FATAL(w->a.established && w->p.established);
	w->a.n = 0;
	w->p.n = 0;
	w->nev = 0;
	return w;
}

static inline void world_close(struct world *w)
{
	struct end *ends[] = { &w->a, &w->p };

	for (int i = 0; i < 2; i++)
		if (ends[i]->c && ends[i]->established && !ends[i]->ended)
			fab_disconnect(ends[i]->c, true);
	pump(w);
	for (int i = 0; i < 2; i++) {
		if (!ends[i]->c)
			continue;
		CU_ASSERT(!ends[i]->established || ends[i]->ended);
		fab_conn_destroy_deferred(ends[i]->c, NULL, NULL);
	}
	fab_listener_close(w->l);
	fab_poller_run(w->poller, 0);
	fab_poller_destroy(w->poller);
	fab_domain_close(w->dom);
	free(w);
}

/* Post @n Receives of @len octets; user is 1, 2, ... */
static inline int end_recv(struct end *e, unsigned int n, size_t len)
{
	struct fab_wr *first = &e->wr[e->posted];

	CU_ASSERT_FATAL(e->posted + n <= END_RECVS && len <= END_RECV_SIZE);
	for (unsigned int i = 0; i < n; i++) {
		unsigned int k = e->posted + i;

		e->sge[k] = (struct fab_sge){ .addr = e->mem[k], .len = len };
		e->wr[k] = (struct fab_wr){
			.next = i + 1 < n ? &e->wr[k + 1] : NULL,
			.op = FAB_RECV,
			.nsge = 1,
			.sge = &e->sge[k],
			.user = (void *)(uintptr_t)(k + 1),
		};
	}
	e->posted += n;
	return fab_post_recv(e->c, first);
}

/* A request with one sge, which it needs until it is complete. */
struct req {
	struct fab_wr wr;
	struct fab_sge sge;
};

static inline struct fab_wr *req_init(struct req *r, enum fab_opcode op,
				      const void *data, size_t len)
{
	r->sge =
		(struct fab_sge){ .addr = (void *)(uintptr_t)data, .len = len };
	r->wr = (struct fab_wr){
		.op = op, .flags = FAB_F_SIGNALED, .nsge = 1, .sge = &r->sge
	};
	return &r->wr;
}

static inline int end_send(struct end *e, struct req *r, const char *text)
{
	e->touched = true;
	return fab_post(e->c, req_init(r, FAB_SEND, text, strlen(text)));
}

static inline int end_rdma(struct end *e, struct req *r, enum fab_opcode op,
			   void *data, size_t len, uint32_t handle,
			   uint64_t offset)
{
	req_init(r, op, data, len);
	r->wr.handle = handle;
	r->wr.offset = offset;
	e->touched = true;
	return fab_post(e->c, &r->wr);
}

/* The completion of @wr in the log, or NULL. */
static inline const struct fab_wc *end_wc(const struct end *e,
					  const struct fab_wr *wr)
{
	for (unsigned int i = 0; i < e->n; i++)
		if (e->log[i].kind == FAB_WC_WORK && e->log[i].wr == wr)
			return &e->log[i];
	return NULL;
}

static inline bool end_done(const struct end *e, const struct fab_wr *wr,
			    enum fab_status status)
{
	const struct fab_wc *wc = end_wc(e, wr);

	return wc && wc->status == status;
}

#endif /* RPCRDMA_TEST_LOOP_UTIL_H */
