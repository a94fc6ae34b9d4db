/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * delay_relay - TCP from here to there, so much later
 *
 * What it reads it writes after a fixed time, in each direction for itself, as
 * a longer line would. It counts how often a connection changes its direction:
 * with one Call under way, half of that is the number of round trips.
 *
 * Threads: one, which owns everything.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tools/args.h"

#define PAIRS 16
#define CHUNK 65536u
#define QUEUE 256u /* chunks; what is full is not read from */

struct chunk {
	uint64_t due;
	size_t len, at;
	uint8_t data[CHUNK];
};

/* From the end @from to the other one. */
struct way {
	struct chunk *chunks; /* QUEUE of them, a ring */
	unsigned int head, count;
	bool ended, closed;
};

struct pair {
	int fd[2]; /* client, server; -1: none */
	struct way way[2];
	unsigned int last; /* the way that something came last */
	bool any;
};

struct relay {
	int listener;
	struct arg_addr to;
	uint64_t delay;
	struct pair pairs[PAIRS];
	uint64_t turns, octets[2];
};

static volatile sig_atomic_t stop;

static void on_signal(int sig)
{
	(void)sig;
	stop = 1;
}

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static void tune(int fd)
{
	int one = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void pair_end(struct pair *p)
{
	for (int i = 0; i < 2; i++) {
		if (p->fd[i] >= 0)
			close(p->fd[i]);
		p->fd[i] = -1;
		free(p->way[i].chunks);
		p->way[i] = (struct way){ 0 };
	}
}

static void take(struct relay *r)
{
	int fd = accept4(r->listener, NULL, NULL, SOCK_CLOEXEC);
	struct pair *p = NULL;

	if (fd < 0)
		return;
	for (int i = 0; i < PAIRS && !p; i++)
		if (r->pairs[i].fd[0] < 0)
			p = &r->pairs[i];
	if (!p) {
		close(fd);
		return;
	}
	*p = (struct pair){ .fd = { fd, -1 } };
	for (int i = 0; i < 2; i++)
		p->way[i].chunks = calloc(QUEUE, sizeof(struct chunk));
	p->fd[1] = socket(r->to.addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (!p->way[0].chunks || !p->way[1].chunks || p->fd[1] < 0 ||
	    connect(p->fd[1], (struct sockaddr *)&r->to.addr, r->to.len)) {
		perror("delay-relay: no connection");
		pair_end(p);
		return;
	}
	tune(p->fd[0]);
	tune(p->fd[1]);
}

/* What has come at end @from; false: the pair is of no use any more. */
static bool pull(struct relay *r, struct pair *p, unsigned int from)
{
	struct way *w = &p->way[from];
	struct chunk *c = &w->chunks[(w->head + w->count) % QUEUE];
	ssize_t n = read(p->fd[from], c->data, CHUNK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (!n) {
		w->ended = true;
		return true;
	}
	c->due = now() + r->delay;
	c->len = (size_t)n;
	c->at = 0;
	w->count++;
	r->octets[from] += (uint64_t)n;
	if (!p->any || p->last != from)
		r->turns++;
	p->any = true;
	p->last = from;
	return true;
}

/* What is due from end @from to the other. */
static bool push(struct pair *p, unsigned int from, uint64_t when)
{
	struct way *w = &p->way[from];

	while (w->count && w->chunks[w->head].due <= when) {
		struct chunk *c = &w->chunks[w->head];
		ssize_t n = send(p->fd[!from], c->data + c->at, c->len - c->at,
				 MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		c->at += (size_t)n;
		if (c->at < c->len)
			return true;
		/* An empty ring begins anew, so that few chunks are in use. */
		w->head = --w->count ? (w->head + 1) % QUEUE : 0;
	}
	if (w->ended && !w->count && !w->closed) {
		w->closed = true;
		shutdown(p->fd[!from], SHUT_WR);
	}
	return true;
}

/* Both ends have ended, and nothing is left. */
static bool over(const struct pair *p)
{
	return p->way[0].ended && !p->way[0].count && p->way[1].ended &&
	       !p->way[1].count;
}

/* Which events to wait for, and until when: 0 if there is nothing to wait for. */
static uint64_t plan(struct relay *r, struct pollfd *fds, uint64_t when)
{
	uint64_t next = 0;

	fds[0] = (struct pollfd){ .fd = r->listener, .events = POLLIN };
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct pair *p = &r->pairs[i];
		struct pollfd *f = &fds[1 + 2 * i];

		for (unsigned int k = 0; k < 2; k++) {
			struct way *in = &p->way[k], *out = &p->way[!k];

			f[k] = (struct pollfd){ .fd = p->fd[k] };
			if (p->fd[k] < 0)
				continue;
			if (!in->ended && in->count < QUEUE)
				f[k].events |= POLLIN;
			if (!out->count)
				continue;
			if (out->chunks[out->head].due <= when)
				f[k].events |= POLLOUT; /* it was full */
			else if (!next || out->chunks[out->head].due < next)
				next = out->chunks[out->head].due;
			if (!f[k].events)
				f[k].fd = -1; /* no news of its end now */
		}
	}
	return next;
}

static void serve(struct relay *r, const struct pollfd *fds)
{
	if (fds[0].revents)
		take(r);
	for (unsigned int i = 0; i < PAIRS; i++) {
		struct pair *p = &r->pairs[i];
		const struct pollfd *f = &fds[1 + 2 * i];
		bool good = true;

		if (p->fd[0] < 0)
			continue;
		for (unsigned int k = 0; k < 2 && good; k++)
			if (f[k].fd >= 0 && f[k].revents & ~POLLOUT &&
			    !p->way[k].ended)
				good = pull(r, p, k);
		for (unsigned int k = 0; k < 2 && good; k++)
			good = push(p, k, now());
		if (!good || over(p))
			pair_end(p);
	}
}

static void run(struct relay *r)
{
	struct pollfd fds[1 + 2 * PAIRS];

	while (!stop) {
		uint64_t when = now(), next = plan(r, fds, when);
		struct timespec ts = { 0 };

		if (next) {
			ts.tv_sec = (time_t)((next - when) / 1000000000ull);
			ts.tv_nsec = (long)((next - when) % 1000000000ull);
		}
		if (ppoll(fds, 1 + 2 * PAIRS, next ? &ts : NULL, NULL) < 0) {
			if (errno != EINTR)
				break;
			continue;
		}
		serve(r, fds);
	}
}

static const char usage[] =
	"usage: delay-relay --listen ADDR:PORT --to ADDR:PORT [--delay US]\n"
	"Relay TCP, each octet so many microseconds later. On SIGTERM it tells\n"
	"how often its connections changed direction, and the octets each way.\n";

static const struct option options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "to", required_argument, NULL, 't' },
	{ "delay", required_argument, NULL, 'd' },
	{ "help", no_argument, NULL, 'h' },
	{ 0 },
};

static int open_listener(const struct arg_addr *at)
{
	int one = 1, fd;

	fd = socket(at->addr.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&at->addr, at->len) ||
	    listen(fd, PAIRS)) {
		close(fd);
		return -1;
	}
	return fd;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct arg_addr at = { .len = 0 };
	struct relay r = { .listener = -1 };
	struct arg_err err;
	int opt, index = 0;

	for (int i = 0; i < PAIRS; i++)
		r.pairs[i].fd[0] = r.pairs[i].fd[1] = -1;
	while ((opt = getopt_long(argc, argv, "", options, &index)) != -1) {
		const char *bad = NULL;

		switch (opt) {
		case 'l':
			bad = arg_addr(optarg, 0, &at, &err);
			break;
		case 't':
			bad = arg_addr(optarg, 0, &r.to, &err);
			break;
		case 'd':
			bad = arg_number(optarg, 0, 1000000, &r.delay, &err);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			return 2;
		}
		if (bad) {
			fprintf(stderr, "delay-relay: --%s: %s\n",
				options[index].name, bad);
			return 2;
		}
	}
	if (optind < argc || !at.len || !r.to.len) {
		fputs(usage, stderr);
		return 2;
	}
	r.delay *= 1000;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	/* Timers to the microsecond, not to the 50 that are usual. */
	prctl(PR_SET_TIMERSLACK, 1);
	r.listener = open_listener(&at);
	if (r.listener < 0) {
		perror("delay-relay: no socket");
		return 1;
	}
	run(&r);
	for (int i = 0; i < PAIRS; i++)
		pair_end(&r.pairs[i]);
	close(r.listener);
	printf("turns=%" PRIu64 " out=%" PRIu64 " back=%" PRIu64 "\n", r.turns,
	       r.octets[0], r.octets[1]);
	return 0;
}
