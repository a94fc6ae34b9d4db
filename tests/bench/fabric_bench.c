/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric_bench - latency and throughput of a fabric provider over loopback
 *
 *   fabric-bench [-p PROVIDER] [-n] [-f MAX_FPDU] [-t SECONDS] [-o TEST]
 *
 *   -c  with CRC           -t  for each line of the table (default 1)
 *   -o  only this test: send, write or read
 *
 * A client and a server thread, each with its own poller, each asleep in it
 * when it has nothing to do. The CPU time is that of the whole process: both
 * sides, user and system. The system calls are the sendmsg and recvmsg of both
 * ends.
 *
 * Threads: the server thread is started after all set-up of what it uses and
 * shares only the stop flag and its counters, read after it was joined.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "rpcrdma/fabric.h"

#define REGION ((size_t)8 << 20)
#define MSG_MAX 65536
#define WINDOW 16
#define RECVS 64

struct hello {
	uint32_t handle;
	uint64_t offset;
};

struct side {
	struct fab_poller *p;
	struct fab_conn *c;
	bool ready, up, down;
	uint8_t *region;
	struct fab_mr *mr;
	uint8_t *msg[RECVS];
	struct fab_sge rsge[RECVS], ssge;
	struct fab_wr recv[RECVS], send;
	bool echo, send_busy;
	unsigned int got; /* messages */
	size_t got_len;
	unsigned int finished; /* Writes or Reads */
	struct hello peer;
};

static struct {
	struct fab_domain *dom;
	struct sockaddr_storage addr;
	struct side srv, cli;
	atomic_bool stop;
	double seconds;
} g;

static void die(const char *what, int rc)
{
	fprintf(stderr, "fabric-bench: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static void must(const char *what, int rc)
{
	if (rc)
		die(what, rc);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static double cpu(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
	       (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1e-6;
}

static uint64_t calls(void)
{
	struct fab_counters a, b;

	/* The server's may be a moment old: it only adds. */
	fab_conn_counters(g.cli.c, &a);
	fab_conn_counters(g.srv.c, &b);
	return a.syscalls + b.syscalls;
}

static void on_ready(struct fab_conn *c, void *user)
{
	((struct side *)user)->ready = true;
}

static void repost(struct side *s, struct fab_wr *wr)
{
	wr->next = NULL;
	must("post receive", fab_post_recv(s->c, wr));
}

static void say(struct side *s, const void *p, size_t len)
{
	union {
		const void *in;
		void *out;
	} u = { .in = p };

	s->ssge = (struct fab_sge){ u.out, len, NULL };
	s->send = (struct fab_wr){ .op = FAB_SEND,
				   .flags = FAB_F_SIGNALED,
				   .nsge = len ? 1 : 0,
				   .sge = &s->ssge };
	s->send_busy = true;
	must("post", fab_post(s->c, &s->send));
	s->ready = true;
}

static void got_message(struct side *s, const struct fab_wc *wc)
{
	s->got++;
	s->got_len = wc->len;
	if (wc->len == sizeof(struct hello) && !s->peer.handle)
		memcpy(&s->peer, wc->wr->sge->addr, sizeof(s->peer));
	if (s->echo)
		say(s, s->region, wc->len);
	repost(s, wc->wr);
}

static void side_poll(struct side *s)
{
	struct fab_wc wc[16];
	int n;

	s->ready = false;
	while ((n = fab_poll(s->c, wc, 16)) > 0) {
		for (int i = 0; i < n; i++) {
			if (wc[i].kind == FAB_WC_ESTABLISHED)
				s->up = true;
			else if (wc[i].kind == FAB_WC_DISCONNECTED)
				s->down = true;
			else if (wc[i].status != FAB_OK)
				continue;
			else if (wc[i].wr->op == FAB_RECV)
				got_message(s, &wc[i]);
			else if (wc[i].wr == &s->send)
				s->send_busy = false;
			else
				s->finished++;
		}
	}
}

static void side_turn(struct side *s, int timeout_ms)
{
	/* After a post the runner polls before it may sleep. */
	if (!s->ready)
		fab_poller_run(s->p, timeout_ms);
	if (s->ready && s->c)
		side_poll(s);
}

static void side_recvs(struct side *s)
{
	for (unsigned int i = 0; i < RECVS; i++) {
		s->rsge[i] = (struct fab_sge){ s->msg[i], MSG_MAX, NULL };
		s->recv[i] = (struct fab_wr){ .op = FAB_RECV,
					      .nsge = 1,
					      .sge = &s->rsge[i] };
		repost(s, &s->recv[i]);
	}
}

static void on_request(struct fab_listener *l, struct fab_conn *c,
		       const void *priv, size_t priv_len, void *user)
{
	struct side *s = user;

	s->c = c;
	fab_conn_set_ready(c, on_ready, s);
	side_recvs(s);
	must("accept", fab_accept(c, NULL));
}

static void side_open(struct side *s)
{
	must("poller", fab_poller_create(g.dom, &s->p));
	s->region = aligned_alloc(4096, REGION);
	if (!s->region)
		die("memory", -12);
	memset(s->region, 7, REGION);
	must("registration", fab_reg(g.dom, s->region, REGION, &s->mr));
	for (unsigned int i = 0; i < RECVS; i++)
		s->msg[i] = malloc(MSG_MAX);
}

static void *server(void *arg)
{
	struct side *s = &g.srv;

	while (!atomic_load(&g.stop) && !s->down)
		side_turn(s, -1);
	return NULL;
}

static void client_until(const unsigned int *counter, unsigned int value)
{
	while ((int)(*counter - value) < 0 && !g.cli.down)
		side_turn(&g.cli, -1);
	if (g.cli.down)
		die("connection lost", -104);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* ---- The tests ------------------------------------------------------- */

#define SAMPLES 2000000

static void ping_pong(size_t len)
{
	static double t[SAMPLES];
	double end, c0 = 0;
	uint64_t s0 = 0;
	unsigned int n = 0, warm = 200;

	end = now() + g.seconds;
	for (;;) {
		double t0 = now();

		if (n == 0 && warm)
			warm--;
		if (!warm && n == 0) {
			c0 = cpu();
			s0 = calls();
			end = now() + g.seconds;
			t0 = now();
		}
		say(&g.cli, g.cli.region, len);
		client_until(&g.cli.got, g.cli.got + 1);
		while (g.cli.send_busy)
			side_turn(&g.cli, -1);
		if (warm)
			continue;
		t[n++] = now() - t0;
		if (now() > end || n == SAMPLES)
			break;
	}
	c0 = cpu() - c0;
	s0 = calls() - s0;
	qsort(t, n, sizeof(t[0]), by_value);
	printf("send %8zu %9u/s  p50 %6.1f us  p90 %6.1f  p99 %6.1f  "
	       "p99.9 %6.1f  cpu %5.1f us  calls %.2f\n",
	       len, (unsigned int)(n / g.seconds), t[n / 2] * 1e6,
	       t[(size_t)n * 90 / 100] * 1e6, t[(size_t)n * 99 / 100] * 1e6,
	       t[(size_t)n * 999 / 1000] * 1e6, c0 / n * 1e6, (double)s0 / n);
}

static void stream(bool read, size_t len)
{
	static struct fab_sge sge[WINDOW];
	static struct fab_wr wr[WINDOW];
	struct side *s = &g.cli;
	unsigned int posted = 0, first = s->finished;
	double t0 = now(), c0 = cpu(), mb;
	uint64_t s0 = calls();

	for (;;) {
		bool over = now() > t0 + g.seconds;
		unsigned int busy = posted - (s->finished - first), i;

		if (over && !busy)
			break;
		if (over || busy == WINDOW) {
			client_until(&s->finished, s->finished + 1);
			continue;
		}
		i = posted++ % WINDOW;
		sge[i] = (struct fab_sge){ s->region, len, NULL };
		wr[i] = (struct fab_wr){ .op = read ? FAB_READ : FAB_WRITE,
					 .flags = FAB_F_SIGNALED,
					 .handle = s->peer.handle,
					 .offset = s->peer.offset,
					 .nsge = 1,
					 .sge = &sge[i] };
		must("post", fab_post(s->c, &wr[i]));
		s->ready = true;
		/* Take what is complete without sleeping. */
		if (busy == WINDOW - 1)
			side_poll(s);
	}
	/* The last octets are there when the peer has answered. */
	say(s, s->region, 1);
	client_until(&s->got, s->got + 1);
	while (s->send_busy)
		side_turn(s, -1);
	t0 = now() - t0;
	c0 = cpu() - c0;
	s0 = calls() - s0;
	mb = (double)posted * (double)len / 1e6;
	printf("%-5s%9zu %9.0f/s  %8.1f MB/s  cpu %5.2f s/GB  %6.2f calls "
	       "each\n",
	       read ? "read" : "write", len, posted / t0, mb / t0,
	       c0 / (mb / 1e3), (double)s0 / posted);
}

/* ---- Set-up ---------------------------------------------------------- */

static void connect_both(void)
{
	struct hello hello;
	struct side *s = &g.cli;

	must("connection", fab_conn_create(s->p, on_ready, s, &s->c));
	side_recvs(s);
	must("connect", fab_connect(s->c, (struct sockaddr *)&g.addr,
				    sizeof(g.addr), NULL));
	while (!s->up || !g.srv.up) {
		side_turn(s, 1);
		side_turn(&g.srv, 1);
		if (s->down)
			die("connect", -111);
	}
	must("expose", fab_expose(g.srv.c, g.srv.mr, g.srv.region, REGION,
				  FAB_REMOTE_READ | FAB_REMOTE_WRITE,
				  &hello.handle, &hello.offset));
	say(s, s->region, 1);
	while (!g.srv.got || s->send_busy) {
		side_turn(s, 1);
		side_turn(&g.srv, 1);
	}
	say(&g.srv, &hello, sizeof(hello));
	while (!s->peer.handle || g.srv.send_busy) {
		side_turn(s, 1);
		side_turn(&g.srv, 1);
	}
	g.srv.echo = true;
}

static void side_close(struct side *s)
{
	if (s->c)
		fab_conn_destroy_deferred(s->c, NULL, NULL);
	fab_poller_run(s->p, 0);
	fab_dereg(s->mr);
	fab_poller_destroy(s->p);
	free(s->region);
	for (unsigned int i = 0; i < RECVS; i++)
		free(s->msg[i]);
}

int main(int argc, char **argv)
{
	static const size_t msgs[] = { 16, 256, 1024, 4096, 16384 };
	static const size_t bulks[] = { 1024,	4096,	 16384,	 65536,
					262144, 1048576, 4194304 };
	struct fab_domain_params params = { .crc = FAB_CRC_OFF };
	struct sockaddr_in sa = { .sin_family = AF_INET };
	const char *name = "iwarp", *only = "";
	struct fab_listener *l;
	pthread_t t;
	int opt;

	g.seconds = 1;
	while ((opt = getopt(argc, argv, "p:cf:t:o:")) != -1) {
		switch (opt) {
		case 'p':
			name = optarg;
			break;
		case 'c':
			params.crc = FAB_CRC_ON;
			break;
		case 'f':
			params.max_fpdu = strtoul(optarg, NULL, 0);
			break;
		case 't':
			g.seconds = strtod(optarg, NULL);
			break;
		case 'o':
			only = optarg;
			break;
		default:
			fprintf(stderr, "usage: see the head of the source\n");
			return 2;
		}
	}
	if (!fab_provider(name))
		die(name, -95);
	must("domain", fab_domain_open(fab_provider(name), &params, &g.dom));
	side_open(&g.srv);
	side_open(&g.cli);
	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must("listen", fab_listen(g.srv.p, (struct sockaddr *)&sa, sizeof(sa),
				  on_request, &g.srv, &l));
	fab_listener_addr(l, &g.addr);
	connect_both();
	if (pthread_create(&t, NULL, server, NULL))
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("%s, CRC %s\n", name, params.crc ? "on" : "off");
	for (size_t i = 0; i < sizeof(msgs) / sizeof(msgs[0]); i++)
		if (!*only || !strcmp(only, "send"))
			ping_pong(msgs[i]);
	for (int read = 0; read < 2; read++)
		for (size_t i = 0; i < sizeof(bulks) / sizeof(bulks[0]); i++)
			if (!*only || !strcmp(only, read ? "read" : "write"))
				stream(read, bulks[i]);
	fab_disconnect(g.cli.c, false);
	while (!g.cli.down)
		side_turn(&g.cli, -1);
	atomic_store(&g.stop, true);
	fab_poller_wake(g.srv.p);
	pthread_join(t, NULL);
	fab_listener_close(l);
	side_close(&g.cli);
	side_close(&g.srv);
	fab_domain_close(g.dom);
	return 0;
}
