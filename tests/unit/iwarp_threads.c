/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_threads - runners and pollers in threads of their own
 *
 * Two poller threads (the listening and the connecting side), two runner
 * threads that poll whatever connection is ready, one that kicks at random. A
 * strand per connection sees to it that one runner at a time has it. Each
 * connection exchanges messages, Writes and Reads, then ends and is destroyed
 * while its poller runs; then the next begins.
 *
 * Threads: as said. A strand's lock guards its state; the queue's lock the
 * queue of ready strands. Order: strand, then queue.
 */
#include <pthread.h>

#include "iwarp_util.h"

#define LANES 6
#define ROUNDS 60
#define MESSAGES 20
#define BULK 70000

struct strand {
	pthread_mutex_t lock;
	struct fab_conn *c;
	bool queued, running, again, ended;
	struct strand *next;
	struct lane *lane;
	bool client;

	/* The runner's. */
	bool up, read_done;
	unsigned int sent, received;
	struct fab_wr recv[2], send, write, read;
	struct fab_sge rsge[2], ssge, wsge, dsge;
	uint8_t in[2][64], out[64];
	uint8_t *bulk_src, *bulk_dst;
	struct fab_mr *mr;
	uint32_t handle;
	uint64_t offset;
};

struct lane {
	struct strand cli, srv;
	atomic_int gone; /* of the two */
	unsigned int round;
};

static struct {
	struct fab_domain *dom;
	struct fab_poller *sp, *cp;
	struct fab_listener *l;
	struct sockaddr_storage addr;
	struct lane lanes[LANES];
	pthread_mutex_t lock; /* queue */
	pthread_cond_t cond;
	struct strand *head, *tail;
	atomic_bool stop;
	atomic_uint errors, done;
} g;

#define CHECK(x)                                                        \
	do {                                                            \
		if (!(x)) {                                             \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x); \
			atomic_fetch_add(&g.errors, 1);                 \
		}                                                       \
	} while (0)

static void enqueue(struct strand *s)
{
	pthread_mutex_lock(&g.lock);
	s->next = NULL;
	if (g.tail)
		g.tail->next = s;
	else
		g.head = s;
	g.tail = s;
	pthread_cond_signal(&g.cond);
	pthread_mutex_unlock(&g.lock);
}

static void on_ready(struct fab_conn *c, void *user)
{
	struct strand *s = user;
	bool put = false;

	pthread_mutex_lock(&s->lock);
	if (s->running) {
		s->again = true;
	} else if (!s->queued && !s->ended) {
		s->queued = true;
		put = true;
	}
	pthread_mutex_unlock(&s->lock);
	if (put)
		enqueue(s);
}

static void lane_start(struct lane *lane);

static void on_gone(void *user)
{
	struct strand *s = user;

	if (atomic_fetch_add(&s->lane->gone, 1) == 1)
		lane_start(s->lane);
}

static void post_recv(struct strand *s, unsigned int i)
{
	s->rsge[i] = (struct fab_sge){ s->in[i], 64, NULL };
	s->recv[i] = (struct fab_wr){ .op = FAB_RECV,
				      .nsge = 1,
				      .sge = &s->rsge[i] };
	CHECK(!fab_post_recv(s->c, &s->recv[i]));
}

/* Tell the peer where to write and read: handle, offset, number. */
static void post_send(struct strand *s)
{
	memcpy(s->out, &s->handle, 4);
	memcpy(s->out + 4, &s->offset, 8);
	memcpy(s->out + 12, &s->sent, 4);
	s->ssge = (struct fab_sge){ s->out, 16, NULL };
	s->send = (struct fab_wr){ .op = FAB_SEND,
				   .flags = FAB_F_SIGNALED,
				   .nsge = 1,
				   .sge = &s->ssge };
	s->sent++;
	CHECK(!fab_post(s->c, &s->send));
}

static void strand_up(struct strand *s)
{
	s->up = true;
	CHECK(!fab_expose(s->c, s->mr, s->bulk_src, BULK, FAB_REMOTE_READ,
			  &s->handle, &s->offset));
	if (s->client)
		post_send(s);
}

static void got_message(struct strand *s, const struct fab_wc *wc)
{
	const uint8_t *m = wc->wr->sge->addr;
	unsigned int n;

	memcpy(&n, m + 12, 4);
	CHECK(wc->len == 16);
	CHECK(n == s->received);
	s->received++;
	if (s->received == 1) {
		s->dsge = (struct fab_sge){ s->bulk_dst, BULK, NULL };
		s->read = (struct fab_wr){ .op = FAB_READ,
					   .nsge = 1,
					   .sge = &s->dsge };
		memcpy(&s->read.handle, m, 4);
		memcpy(&s->read.offset, m + 4, 8);
		memset(s->bulk_dst, 0, BULK);
		CHECK(!fab_post(s->c, &s->read));
	}
	post_recv(s, wc->wr == &s->recv[1]);
}

static void maybe_end(struct strand *s)
{
	if (s->client && s->read_done && s->received == MESSAGES)
		fab_disconnect(s->c, s->lane->round % 3 == 0);
}

static bool run(struct strand *s)
{
	struct fab_wc wc[4];
	bool ended = false;
	int n;

	while ((n = fab_poll(s->c, wc, 4)) > 0) {
		for (int i = 0; i < n; i++) {
			if (wc[i].kind == FAB_WC_DISCONNECTED) {
				ended = true;
				continue;
			}
			if (wc[i].kind == FAB_WC_ESTABLISHED) {
				strand_up(s);
				continue;
			}
			if (wc[i].status != FAB_OK)
				continue;
			if (wc[i].wr == &s->read) {
				s->read_done = true;
				CHECK(s->bulk_dst[0] == 0x42 &&
				      s->bulk_dst[BULK - 1] == 0x42);
				maybe_end(s);
			} else if (wc[i].wr->op == FAB_RECV) {
				got_message(s, &wc[i]);
				/* The server answers, the client goes on. */
				if (!s->client || s->sent < MESSAGES)
					post_send(s);
				maybe_end(s);
			}
		}
	}
	return ended;
}

static void *runner(void *arg)
{
	for (;;) {
		struct strand *s;
		bool more = true;

		pthread_mutex_lock(&g.lock);
		while (!g.head && !atomic_load(&g.stop))
			pthread_cond_wait(&g.cond, &g.lock);
		s = g.head;
		if (s) {
			g.head = s->next;
			if (!g.head)
				g.tail = NULL;
		}
		pthread_mutex_unlock(&g.lock);
		if (!s)
			return NULL;
		pthread_mutex_lock(&s->lock);
		s->queued = false;
		s->running = true;
		while (more) {
			bool ended;

			s->again = false;
			pthread_mutex_unlock(&s->lock);
			ended = run(s);
			pthread_mutex_lock(&s->lock);
			if (ended) {
				struct fab_conn *c = s->c;

				s->ended = true;
				s->c = NULL;
				s->running = false;
				pthread_mutex_unlock(&s->lock);
				fab_conn_destroy_deferred(c, on_gone, s);
				break;
			}
			more = s->again;
			if (!more) {
				s->running = false;
				pthread_mutex_unlock(&s->lock);
			}
		}
	}
}

static void *poller(void *arg)
{
	while (!atomic_load(&g.stop))
		fab_poller_run(arg, -1);
	return NULL;
}

/* Kicks come from anywhere, as long as the connection lives. */
static void *kicker(void *arg)
{
	uint32_t x = 1;

	while (!atomic_load(&g.stop)) {
		struct strand *s;

		x = x * 1664525 + 1013904223;
		s = x & 1 << 20 ? &g.lanes[(x >> 24) % LANES].cli :
				  &g.lanes[(x >> 24) % LANES].srv;
		pthread_mutex_lock(&s->lock);
		if (s->c && !s->ended)
			fab_conn_schedule(s->c);
		pthread_mutex_unlock(&s->lock);
		if (!(x >> 28))
			fab_poller_wake(x & 1 << 21 ? g.sp : g.cp);
	}
	return NULL;
}

static void strand_begin(struct strand *s, struct fab_conn *c)
{
	s->up = s->read_done = false;
	s->sent = s->received = 0;
	s->queued = s->running = s->again = s->ended = false;
	s->c = c;
	post_recv(s, 0);
	post_recv(s, 1);
}

static void on_request(struct fab_listener *l, struct fab_conn *c,
		       const void *priv, size_t priv_len, void *user)
{
	struct strand *s;

	CHECK(priv_len == 1);
	s = &g.lanes[*(const uint8_t *)priv].srv;
	pthread_mutex_lock(&s->lock);
	strand_begin(s, c);
	fab_conn_set_ready(c, on_ready, s);
	CHECK(!fab_accept(c, NULL));
	pthread_mutex_unlock(&s->lock);
}

static void lane_start(struct lane *lane)
{
	uint8_t id = (uint8_t)(lane - g.lanes);
	struct fab_conn_params p = { .priv = &id, .priv_len = 1 };
	struct strand *s = &lane->cli;
	struct fab_conn *c;

	if (++lane->round > ROUNDS) {
		atomic_fetch_add(&g.done, 1);
		return;
	}
	atomic_store(&lane->gone, 0);
	CHECK(!fab_conn_create(g.cp, on_ready, s, &c));
	pthread_mutex_lock(&s->lock);
	strand_begin(s, c);
	CHECK(!fab_connect(c, (struct sockaddr *)&g.addr, sizeof(g.addr), &p));
	pthread_mutex_unlock(&s->lock);
}

static void strand_init(struct strand *s, struct lane *lane, bool client)
{
	pthread_mutex_init(&s->lock, NULL);
	s->lane = lane;
	s->client = client;
	s->bulk_src = malloc(BULK);
	s->bulk_dst = malloc(BULK);
	memset(s->bulk_src, 0x42, BULK);
	CHECK(!fab_reg(g.dom, s->bulk_src, BULK, &s->mr));
}

static void strand_fini(struct strand *s)
{
	fab_dereg(s->mr);
	free(s->bulk_src);
	free(s->bulk_dst);
	pthread_mutex_destroy(&s->lock);
}

static void test_threads(void)
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	uint64_t end = util_ms() + 600000;
	pthread_t t[5];

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	pthread_mutex_init(&g.lock, NULL);
	pthread_cond_init(&g.cond, NULL);
	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_iwarp_ops, NULL, &g.dom), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(g.dom, &g.sp), 0);
	CU_ASSERT_EQUAL_FATAL(fab_poller_create(g.dom, &g.cp), 0);
	CU_ASSERT_EQUAL_FATAL(fab_listen(g.sp, (struct sockaddr *)&sa,
					 sizeof(sa), on_request, NULL, &g.l),
			      0);
	fab_listener_addr(g.l, &g.addr);
	for (unsigned int i = 0; i < LANES; i++) {
		strand_init(&g.lanes[i].cli, &g.lanes[i], true);
		strand_init(&g.lanes[i].srv, &g.lanes[i], false);
	}
	pthread_create(&t[0], NULL, poller, g.sp);
	pthread_create(&t[1], NULL, poller, g.cp);
	pthread_create(&t[2], NULL, runner, NULL);
	pthread_create(&t[3], NULL, runner, NULL);
	pthread_create(&t[4], NULL, kicker, NULL);
	for (unsigned int i = 0; i < LANES; i++)
		lane_start(&g.lanes[i]);
	while (atomic_load(&g.done) < LANES && util_ms() < end) {
		struct timespec ts = { .tv_nsec = 2000000 };

		nanosleep(&ts, NULL);
	}
	CU_ASSERT_EQUAL(atomic_load(&g.done), LANES);
	atomic_store(&g.stop, true);
	fab_poller_wake(g.sp);
	fab_poller_wake(g.cp);
	pthread_mutex_lock(&g.lock);
	pthread_cond_broadcast(&g.cond);
	pthread_mutex_unlock(&g.lock);
	for (int i = 0; i < 5; i++)
		pthread_join(t[i], NULL);
	CU_ASSERT_EQUAL(atomic_load(&g.errors), 0);
	fab_listener_close(g.l);
	for (unsigned int i = 0; i < LANES; i++) {
		strand_fini(&g.lanes[i].cli);
		strand_fini(&g.lanes[i].srv);
	}
	fab_poller_destroy(g.sp);
	fab_poller_destroy(g.cp);
	fab_domain_close(g.dom);
	pthread_cond_destroy(&g.cond);
	pthread_mutex_destroy(&g.lock);
}

static const struct unit_test tests[] = {
	{ "threads", test_threads },
	{ NULL, NULL },
};

UNIT_MAIN("iwarp_threads", tests)
