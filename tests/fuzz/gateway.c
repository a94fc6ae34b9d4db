/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway - the whole gateway, between TCP clients that send any records and an RDMA
 * server that sends any messages
 *
 * The input is a script: two octets of settings, then steps. A step sends octets or a
 * record to one of two TCP connections, reads from it, ends it, is one of the RDMA
 * server's (peer.h), or moves the clock. The worker is a thread, as always, but waits
 * in epoll_wait() until it gets a turn, so that there is one order of things.
 *
 * What must hold: what comes to a TCP client is whole records, a Reply in it is to a
 * Call that the client has sent, one to each; the rules that rt_watch knows; and in
 * the end no client, connection, or memory is left.
 */
#include <fcntl.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/client.h"
#include "peer.h"
#include "test_clock.h"

#define SET_GREET 0x01u /* each connection begins with the usual exchange */
#define SET_RTR 0x02u /* and with both extensions */
#define SET_AGAIN 0x04u /* after a connection the next is accepted at once */
#define SET_VERSION_1 0x08u

#define TCPS 2
#define CALLS 256

int __real_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms);

/* The heads of records in one direction of a TCP connection. */
struct stream {
	struct rec rec;
	uint8_t head[8];
	size_t nhead;
};

struct tcp {
	int fd; /* -1: none */
	struct stream out, in;
	uint32_t calls[CALLS]; /* that have had no Reply */
	unsigned int ncalls;
};

struct fuzz {
	struct fuzz_peer peer;
	struct gateway gw;
	struct gw_worker worker;
	struct gw_batch batch;
	struct tcp tcp[TCPS];
	uint8_t set;
	bool begun; /* the connection of the peer has had its exchange */
	uint32_t xid;
};

/* ---- The worker's turns ------------------------------------------------- */

static struct {
	sem_t go, waits;
	bool free; /* it runs without turns, to its end */
	int events; /* of its last turn */
} turns;
static _Thread_local bool is_main;

int __wrap_epoll_wait(int fd, struct epoll_event *ev, int max, int ms)
{
	if (is_main)
		return __real_epoll_wait(fd, ev, max, ms);
	if (!turns.free) {
		sem_post(&turns.waits);
		sem_wait(&turns.go);
	}
	turns.events = __real_epoll_wait(fd, ev, max, 0);
	return turns.events;
}

static void turn(void)
{
	sem_post(&turns.go);
	sem_wait(&turns.waits);
}

/* Until nothing moves. */
static void settle(struct fuzz *f)
{
	struct rt_raw *r = &f->peer.r;
	unsigned int quiet = 0;

	while (quiet < 2) {
		rt_raw_run(r);
		gw_batch_flush(&f->batch);
		turn();
		quiet = turns.events ? 0 : quiet + 1;
		if (r->down && f->set & SET_AGAIN) {
			rt_raw_drop(r);
			f->begun = r->down = false;
		}
		if (!r->fab || !r->up || r->down || f->begun)
			continue;
		f->begun = true;
		quiet = 0;
		fuzz_peer_open(&f->peer);
		if (f->set & SET_GREET && f->set & SET_RTR)
			fuzz_peer_greet(&f->peer, true);
		else if (f->set & SET_GREET && !(f->set & SET_VERSION_1))
			rt_raw_greet(r);
	}
}

/* ---- TCP ---------------------------------------------------------------- */

static void whole_record(struct tcp *t, const struct stream *s, bool out)
{
	uint32_t xid = fuzz_get32(s->head);
	unsigned int i = 0;

	if (s->nhead < 8) {
		FUZZ_CHECK(out);
		return;
	}
	if (fuzz_get32(s->head + 4) != !out)
		return; /* a reverse-direction one */
	if (out) {
		if (t->ncalls < CALLS)
			t->calls[t->ncalls++] = xid;
		return;
	}
	while (i < t->ncalls && t->calls[i] != xid)
		i++;
	FUZZ_CHECK(i < t->ncalls || t->ncalls == CALLS);
	if (i < t->ncalls)
		t->calls[i] = t->calls[--t->ncalls];
}

static void look(struct tcp *t, struct stream *s, const uint8_t *p, size_t n,
		 bool out)
{
	enum rec_event ev;
	size_t used;

	while ((ev = rec_next(&s->rec, p, n, &used)) != REC_MORE) {
		/* The gateway does not go on either. */
		if (ev == REC_LONG)
			return;
		if (ev == REC_END) {
			whole_record(t, s, out);
			s->nhead = 0;
		}
		for (size_t i = 0; ev == REC_DATA && i < used; i++)
			if (s->nhead < 8)
				s->head[s->nhead++] = p[i];
		p += used;
		n -= used;
	}
}

static void tcp_open(struct fuzz *f, struct tcp *t)
{
	struct in6_addr host = { .s6_addr = { 1, (uint8_t)(t - f->tcp) } };
	int sv[2], room = 4096;

	if (t->fd >= 0)
		return;
	FUZZ_CHECK(!socketpair(
		AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sv));
	/* Its sends shall stop half-way, too. */
	setsockopt(sv[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
	t->fd = sv[1];
	t->ncalls = 0;
	t->out = t->in = (struct stream){ 0 };
	rec_init(&t->out.rec, 1u << 30);
	rec_init(&t->in.rec, 1u << 30);
	FUZZ_CHECK(!gw_client_new(&f->gw, sv[0], &host, f->set & 0x80));
}

static void tcp_read(struct tcp *t, size_t most)
{
	uint8_t buf[4096];
	ssize_t n;

	while (t->fd >= 0 && most) {
		n = recv(t->fd, buf, most < sizeof(buf) ? most : sizeof(buf),
			 0);
		if (n <= 0)
			return;
		look(t, &t->in, buf, (size_t)n, false);
		most -= (size_t)n;
	}
}

static void tcp_close(struct tcp *t)
{
	tcp_read(t, SIZE_MAX);
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void tcp_put(struct tcp *t, const uint8_t *p, size_t len)
{
	ssize_t n = send(t->fd, p, len, MSG_NOSIGNAL);

	if (n > 0)
		look(t, &t->out, p, (size_t)n, true);
}

/* Octets, or with 0x10 a record of them; with 0x20 its XID is a new one, with 0x80
 * there are zeros behind them. */
static void tcp_send(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	static uint8_t buf[4 + UINT16_MAX + 64 * UINT8_MAX];
	struct tcp *t = &f->tcp[op >> 6 & 1];
	size_t more = op & 0x80 ? 64u * fuzz_u8(in) : 0, len;
	const uint8_t *p = fuzz_take(in, fuzz_u16(in), &len);

	if (t->fd < 0)
		return;
	memcpy(buf + 4, p, len);
	memset(buf + 4 + len, 0, more);
	len += more;
	if (op & 0x20 && len >= 4)
		fuzz_put32(buf + 4, ++f->xid);
	if (op & 0x10)
		fuzz_put32(buf, 1u << 31 | (uint32_t)len);
	tcp_put(t, op & 0x10 ? buf : buf + 4, op & 0x10 ? len + 4 : len);
}

static void tcp_do(struct fuzz *f, struct fuzz_in *in, uint8_t op)
{
	struct tcp *t = &f->tcp[op >> 6 & 1];

	switch (op >> 4 & 3) {
	case 0:
		tcp_read(t, SIZE_MAX);
		break;
	case 1:
		tcp_read(t, 16u * fuzz_u8(in));
		break;
	case 2:
		if (op & 0x80)
			tcp_close(t);
		else if (t->fd >= 0)
			shutdown(t->fd, SHUT_WR);
		break;
	default:
		tcp_open(f, t);
		break;
	}
}

/* ---- Steps -------------------------------------------------------------- */

static void step(struct fuzz *f, struct fuzz_in *in)
{
	struct rt_raw *r = &f->peer.r;
	uint8_t op = fuzz_u8(in);

	switch (op & 15) {
	case 9:
		tcp_send(f, in, op);
		break;
	case 10:
		tcp_do(f, in, op);
		break;
	case 14:
		if (op & 0x80 && r->fab) {
			rt_raw_drop(r);
			f->begun = r->down = false;
		} else if (op & 0x10) {
			f->peer.vers ^= WIRE_VERS1 ^ WIRE_VERS2;
		} else {
			test_clock_pass(100u * fuzz_u8(in));
		}
		break;
	case 15:
		if (r->fab && !r->down && op & 0x80)
			loop_break(r->fab, -ECONNRESET);
		else if (r->fab && !r->down)
			fab_disconnect(r->fab, op & 0x10);
		break;
	default:
		if (r->fab || (op & 15) >= 12)
			fuzz_peer_step(&f->peer, in, op);
		break;
	}
	settle(f);
}

/* Options, with limits that a few Calls can reach. */
static void set_options(struct fuzz *f, uint8_t a)
{
	char program[] = "rpcrdma-gateway",
	     server[] = "--server=127.0.0.1:20050";
	char *argv[] = { program, server, NULL };
	struct gw_options *o = &f->gw.opt;
	struct rt_config *c = &o->rdma.config;
	int status;

	FUZZ_CHECK(!gw_options_parse(o, 2, argv, &status));
	o->log_level = -1;
	if (f->set & SET_VERSION_1)
		c->versions = 1u << WIRE_VERS1;
	else if (f->set & SET_RTR)
		c->extensions = RT_EXT_XCHAR | RT_EXT_RTR;
	if (a & 1)
		o->max_calls = 2;
	if (a & 2)
		o->max_record = 8192;
	if (a & 4)
		c->max_memory = RT_MIN(max_memory);
	if (a & 8)
		c->reverse = RDMA2_RVRSDIR_NONE;
	if (a & 0x10)
		c->credits = 2;
	if (a & 0x20)
		c->recv_size = 1024;
	if (a & 0x40)
		o->reduce_min = 1;
	FUZZ_CHECK(!rt_config_check(c));
}

static void gateway_open(struct fuzz *f, uint8_t a)
{
	struct gateway *gw = &f->gw;
	const struct gw_options *o = &gw->opt;

	set_options(f, a);
	pthread_mutex_init(&gw->lock, NULL);
	gw_places_init(&gw->hosts, o->max_clients);
	gw_places_init(&gw->users, o->max_clients);
	FUZZ_CHECK(!pthread_key_create(&gw->batch_key, NULL));
	gw->server.addrs = o->rdma.server;
	gw->log = base_log_create(gw_log_text, gw);
	FUZZ_CHECK(gw->log && rt_raw_listen(&f->peer.r, &o->rdma.config));
	gw->inst = f->peer.r.p.client_inst;
	gw->pool = rt_instance_pool(gw->inst);
	gw_memory_init(&gw->memory, o->rdma.config.max_memory, o->max_clients);
	gw_link_ops(&gw->ops, o->rdma.config.reverse != RDMA2_RVRSDIR_NONE);
	gw_batch_open(gw, &f->batch);
	gw->workers = &f->worker;
	gw->nworkers = 1;
	turns.free = false;
	sem_init(&turns.go, 0, 0);
	sem_init(&turns.waits, 0, 0);
	FUZZ_CHECK(!gw_worker_start(&f->worker, gw, 0, gw_client_event));
	sem_wait(&turns.waits);
}

static void gateway_close(struct fuzz *f)
{
	struct gateway *gw = &f->gw;

	rt_raw_drop(&f->peer.r);
	settle(f);
	FUZZ_CHECK(!atomic_load(&gw->nclients) && !gw->clients);
	turns.free = true;
	gw_worker_signal_stop(&f->worker);
	sem_post(&turns.go);
	gw_worker_join(&f->worker);
	rt_raw_run(&f->peer.r);
	FUZZ_CHECK(!atomic_load(&gw->memory.lent));
	rt_raw_close(&f->peer.r);
	base_log_destroy(gw->log);
	gw_options_free(&gw->opt);
	pthread_key_delete(gw->batch_key);
	pthread_mutex_destroy(&gw->lock);
	sem_destroy(&turns.go);
	sem_destroy(&turns.waits);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	struct fuzz *f = calloc(1, sizeof(*f));

	FUZZ_CHECK(f);
	is_main = true;
	f->set = fuzz_u8(&in);
	f->peer.vers = f->set & SET_VERSION_1 ? WIRE_VERS1 : WIRE_VERS2;
	f->peer.xid = f->xid = 0x100;
	gateway_open(f, fuzz_u8(&in));
	f->peer.r.credits = RAW_RECVS - 4;
	for (unsigned int i = 0; i < TCPS; i++)
		f->tcp[i].fd = -1;
	tcp_open(f, &f->tcp[0]);
	settle(f);
	for (int i = 0; i < 60 && in.left; i++)
		step(f, &in);
	for (unsigned int i = 0; i < TCPS; i++)
		tcp_close(&f->tcp[i]);
	settle(f);
	gateway_close(f);
	free(f);
	return 0;
}
