/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_util - two endpoints of the iwarp provider in one thread
 *
 * One poller drives both sides: pump() runs it and polls whoever is ready,
 * until a condition holds or a long time has passed. Completions are kept.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_TEST_IWARP_UTIL_H
#define RPCRDMA_TEST_IWARP_UTIL_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

#include "endpoint.h"

struct world {
	struct fab_domain *dom;
	struct fab_poller *poller;
	struct fab_listener *listener;
	struct sockaddr_storage addr;
	/* The side that listens, and the one that connects. */
	struct ep srv, cli;
	uint8_t req_priv[512];
	size_t req_priv_len;
	int requests;
	bool reject, no_answer;
	struct fab_conn_params accept;
};

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
	if (w->reject)
		fab_reject(c, w->accept.priv, w->accept.priv_len);
	else
		CU_ASSERT_EQUAL(fab_accept(c, &w->accept), 0);
}

static inline void world_open_at(struct world *w,
				 const struct fab_domain_params *p,
				 const struct sockaddr *sa, socklen_t len)
{
	memset(w, 0, sizeof(*w));
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_iwarp_ops, p, &w->dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(w->dom, &w->poller), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(w->poller, sa, len, world_request, w,
					 &w->listener),
			      0);
	fab_listener_addr(w->listener, &w->addr);
}

static inline void world_open(struct world *w,
			      const struct fab_domain_params *p)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	world_open_at(w, p, (struct sockaddr *)&sa, sizeof(sa));
}

static inline void world_turn(struct world *w, int ms)
{
	fab_poller_run(w->poller, ms);
	if (w->cli.ready)
		ep_poll(&w->cli);
	if (w->srv.ready)
		ep_poll(&w->srv);
}

/* A time-out here means a hang, not slowness. */
#define PUMP_UNTIL(w, cond)                         \
	do {                                        \
		uint64_t end_ = util_ms() + 60000;  \
		while (!(cond) && util_ms() < end_) \
			world_turn(w, 5);           \
		CU_ASSERT_TRUE(cond);               \
	} while (0)

static inline void ep_post(struct ep *e, struct fab_wr *wr)
{
	CU_ASSERT_EQUAL(fab_post(e->c, wr), 0);
	e->ready = true;
}

static inline void world_connect(struct world *w,
				 const struct fab_conn_params *p)
{
	CU_ASSERT_EQUAL_FATAL(
		fab_conn_create(w->poller, ep_ready, &w->cli, &w->cli.c), 0);
	CU_ASSERT_EQUAL(fab_connect(w->cli.c, (struct sockaddr *)&w->addr,
				    sizeof(w->addr), p),
			0);
}

/* Connect, until both ends are up. */
static inline void world_join(struct world *w, const struct fab_conn_params *p)
{
	world_connect(w, p);
	PUMP_UNTIL(w, w->cli.established && w->srv.established);
}

/* Open and connected. */
static inline void world_pair(struct world *w,
			      const struct fab_domain_params *p)
{
	world_open(w, p);
	world_join(w, NULL);
}

static inline void ep_destroy(struct world *w, struct ep *e)
{
	if (!e->c)
		return;
	fab_conn_destroy_deferred(e->c, ep_gone, e);
	e->c = NULL;
	e->ready = false;
	PUMP_UNTIL(w, e->gone);
}

static inline void world_close(struct world *w)
{
	if (w->cli.c && !w->cli.disconnected)
		fab_disconnect(w->cli.c, true);
	if (w->srv.c && !w->srv.disconnected)
		fab_disconnect(w->srv.c, true);
	ep_destroy(w, &w->cli);
	ep_destroy(w, &w->srv);
	if (w->listener)
		fab_listener_close(w->listener);
	fab_poller_destroy(w->poller);
	fab_domain_close(w->dom);
}

#endif /* RPCRDMA_TEST_IWARP_UTIL_H */
