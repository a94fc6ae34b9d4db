/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop provider with threads: each end has a poller and a thread of its
 * own, and they echo messages, write into and read from each other, while a
 * third thread wakes them, or kicks and breaks what they use.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "loop_util.h"

#define CONNS 4
#define ROUNDS 400
#define WINDOW 4
#define SIZE 64

struct peer;

/* One end of one connection, run by the thread of its side. */
struct side {
	struct fab_conn *c;
	struct peer *peer;
	bool active, ready, up, ended;
	struct fab_wr rwr[WINDOW], swr, xwr[2];
	struct fab_sge rsge[WINDOW], ssge, xsge[2];
	uint8_t rbuf[WINDOW][SIZE], sbuf[SIZE], xbuf[2][SIZE];
	uint8_t shared[SIZE]; /* exposed to the other side */
	struct fab_mr *mr;
	uint32_t handle;
	uint64_t offset;
	unsigned int rounds, pending, bad, flushed;
};

struct peer {
	struct fab_domain *dom;
	struct fab_poller *poller;
	struct side side[CONNS];
	unsigned int n; /* sides in use */
	bool active;
	bool endless; /* until broken */
	atomic_uint *rounds; /* of all */
	unsigned int freed;
};

static void side_ready(struct fab_conn *c, void *user)
{
	((struct side *)user)->ready = true;
}

static void side_done(void *user)
{
	((struct side *)user)->peer->freed++;
}

static void side_setup(struct side *s, struct peer *p, struct fab_conn *c)
{
	s->peer = p;
	s->c = c;
	s->active = p->active;
	if (fab_reg(p->dom, s->shared, SIZE, &s->mr))
		abort();
	if (fab_expose(c, s->mr, s->shared, SIZE,
		       FAB_REMOTE_READ | FAB_REMOTE_WRITE, &s->handle,
		       &s->offset))
		abort();
	for (int i = 0; i < WINDOW; i++) {
		s->rsge[i] =
			(struct fab_sge){ .addr = s->rbuf[i], .len = SIZE };
		s->rwr[i] = (struct fab_wr){ .op = FAB_RECV,
					     .nsge = 1,
					     .sge = &s->rsge[i],
					     .user = s->rbuf[i] };
		if (fab_post_recv(c, &s->rwr[i]))
			abort();
	}
}

static void side_send(struct side *s)
{
	memcpy(s->sbuf, &s->handle, 4);
	memcpy(s->sbuf + 4, &s->offset, 8);
	s->ssge = (struct fab_sge){ .addr = s->sbuf, .len = SIZE };
	s->swr = (struct fab_wr){ .op = FAB_SEND,
				  .flags = FAB_F_SIGNALED,
				  .nsge = 1,
				  .sge = &s->ssge };
	s->pending++;
	if (fab_post(s->c, &s->swr))
		s->pending--; /* the end is near */
}

/* The other side's turn is over: its memory is ours until we answer. */
static void side_turn(struct side *s, const uint8_t *msg)
{
	for (int i = 0; i < 2; i++) {
		s->xsge[i] =
			(struct fab_sge){ .addr = s->xbuf[i], .len = SIZE };
		s->xwr[i] = (struct fab_wr){ .op = i ? FAB_READ : FAB_WRITE,
					     .flags = FAB_F_SIGNALED,
					     .nsge = 1,
					     .sge = &s->xsge[i] };
		memcpy(&s->xwr[i].handle, msg, 4);
		memcpy(&s->xwr[i].offset, msg + 4, 8);
	}
	s->xwr[0].next = &s->xwr[1];
	memset(s->xbuf[0], (int)s->rounds, SIZE);
	s->pending += 2;
	if (fab_post(s->c, &s->xwr[0]))
		s->pending -= 2;
}

static void side_work(struct side *s, const struct fab_wc *wc)
{
	if (wc->status != FAB_OK) {
		s->flushed++;
		if (wc->wr->op != FAB_RECV)
			s->pending--;
		return;
	}
	switch (wc->wr->op) {
	case FAB_RECV:
		s->rounds++;
		atomic_fetch_add(s->peer->rounds, 1);
		s->bad += wc->len != SIZE;
		if (s->active && !s->peer->endless && s->rounds == ROUNDS) {
			fab_disconnect(s->c, false);
			break;
		}
		side_turn(s, wc->wr->user);
		fab_post_recv(s->c, wc->wr);
		break;
	case FAB_READ:
		/* What we wrote, since it is our turn. */
		s->pending--;
		s->bad += memcmp(s->xbuf[0], s->xbuf[1], SIZE) != 0;
		side_send(s);
		break;
	default:
		s->pending--;
	}
}

static void side_run(struct side *s)
{
	struct fab_wc wc[3];
	int n;

	s->ready = false;
	while ((n = fab_poll(s->c, wc, 3)) > 0) {
		for (int i = 0; i < n; i++) {
			if (wc[i].kind == FAB_WC_WORK) {
				side_work(s, &wc[i]);
			} else if (wc[i].kind == FAB_WC_ESTABLISHED) {
				s->up = true;
				if (s->active)
					side_send(s);
			} else {
				s->ended = true;
				s->bad += s->pending != 0;
				fab_unexpose(s->c, s->handle, NULL);
				fab_conn_destroy_deferred(s->c, side_done, s);
				return;
			}
		}
	}
}

static void *peer_run(void *arg)
{
	struct peer *p = arg;

	while (p->freed < CONNS) {
		fab_poller_run(p->poller, -1);
		for (unsigned int i = 0; i < p->n; i++)
			if (p->side[i].ready && !p->side[i].ended)
				side_run(&p->side[i]);
	}
	return NULL;
}

static void peer_request(struct fab_listener *l, struct fab_conn *c,
			 const void *priv, size_t priv_len, void *user)
{
	struct peer *p = user;
	struct side *s = &p->side[p->n++];

	fab_conn_set_ready(c, side_ready, s);
	side_setup(s, p, c);
	if (fab_accept(c, NULL))
		abort();
}

static void run(uint32_t seed, bool breaks)
{
	struct loop_faults f = { .order_seed = seed, .delay_polls = seed % 3 };
	struct peer *p = calloc(2, sizeof(*p));
	struct sockaddr_in sin = { .sin_family = AF_INET };
	struct sockaddr_storage addr;
	atomic_uint rounds = 0;
	struct fab_domain *dom;
	struct fab_listener *l;
	struct fab_conn *conns[CONNS];
	pthread_t t[2];

	CU_ASSERT_PTR_NOT_NULL_FATAL(p);
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, NULL, &dom), 0);
	loop_set_faults(dom, LOOP_ACTIVE | LOOP_PASSIVE, &f);
	for (int i = 0; i < 2; i++) {
		p[i].dom = dom;
		p[i].active = i == 0;
		p[i].endless = breaks;
		p[i].rounds = &rounds;
		CU_ASSERT_EQUAL_FATAL(fab_poller_create(dom, &p[i].poller), 0);
	}
	CU_ASSERT_EQUAL_FATAL(fab_listen(p[1].poller, (struct sockaddr *)&sin,
					 sizeof(sin), peer_request, &p[1], &l),
			      0);
	fab_listener_addr(l, &addr);
	for (unsigned int i = 0; i < CONNS; i++) {
		struct side *s = &p[0].side[i];

		CU_ASSERT_EQUAL_FATAL(
			fab_conn_create(p[0].poller, side_ready, s, &s->c), 0);
		conns[i] = s->c;
		side_setup(s, &p[0], s->c);
		CU_ASSERT_EQUAL_FATAL(fab_connect(s->c,
						  (struct sockaddr *)&addr,
						  sizeof(sin), NULL),
				      0);
	}
	p[0].n = CONNS;
	for (int i = 0; i < 2; i++)
		CU_ASSERT_EQUAL_FATAL(
			pthread_create(&t[i], NULL, peer_run, &p[i]), 0);
	if (breaks) {
		/* None ends by itself, so each is there until it is broken:
		 * the first at once, the others in the midst of traffic. */
		for (unsigned int i = 0; i < CONNS; i++) {
			while (atomic_load(&rounds) < i * ROUNDS)
				sched_yield();
			fab_conn_schedule(conns[i]);
			loop_break(conns[i], -ENETDOWN);
		}
	} else {
		for (int i = 0; i < 1000; i++)
			fab_poller_wake(p[i % 2].poller);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(p[i].freed, CONNS);
		for (unsigned int k = 0; k < CONNS; k++) {
			struct side *s = &p[i].side[k];

			CU_ASSERT_TRUE(s->ended);
			CU_ASSERT_EQUAL(s->bad, 0);
			if (!breaks)
				CU_ASSERT_EQUAL(s->rounds, ROUNDS);
			fab_dereg(s->mr);
		}
	}
	fab_listener_close(l);
	for (int i = 0; i < 2; i++)
		fab_poller_destroy(p[i].poller);
	fab_domain_close(dom);
	free(p);
}

static void test_plain(void)
{
	run(0, false);
}

static void test_random(void)
{
	for (uint32_t seed = 1; seed <= 4; seed++)
		run(seed, false);
}

static void test_break(void)
{
	for (uint32_t seed = 0; seed < 4; seed++)
		run(seed, true);
}

static const struct unit_test tests[] = {
	{ "plain", test_plain },
	{ "random", test_random },
	{ "break", test_break },
	{ NULL, NULL },
};

UNIT_MAIN("loop-threads", tests)
