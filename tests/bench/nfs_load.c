/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_load - making Calls, taking Replies, counting
 *
 * Threads: one.
 */
#include "nfs_bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define NFS3_PROG 100003
#define NFS3_READ 6
#define NFS3_WRITE 7
#define UNSTABLE 0
#define FILE_SYNC 2
#define STALL_NS 30000000000ull

void bench_fail(struct bench *b, int error, const char *fmt, ...)
{
	va_list ap;

	if (b->error)
		return;
	b->error = error;
	va_start(ap, fmt);
	vsnprintf(b->error_text, sizeof(b->error_text), fmt, ap);
	va_end(ap);
}

struct bench_slot *bench_slot_of(struct bench *b, uint32_t xid)
{
	struct bench_slot *s = &b->slots[xid % b->nslots];

	return s->busy && s->xid == xid ? s : NULL;
}

/* ---- Calls -------------------------------------------------------------- */

static uint64_t blocks(const struct bench *b)
{
	return b->o.file_size / b->count;
}

static bool more(const struct bench *b)
{
	if (b->error)
		return false;
	if (b->checking)
		return b->next < blocks(b);
	return b->o.calls ? b->left : base_now_ns() < b->until;
}

/* xorshift64: the same offsets in every run. */
static uint64_t rnd(struct bench *b)
{
	b->rnd ^= b->rnd << 13;
	b->rnd ^= b->rnd >> 7;
	b->rnd ^= b->rnd << 17;
	return b->rnd;
}

static void submit(struct bench *b, struct bench_slot *s)
{
	static const uint32_t procs[] = { 0, NFS3_READ, NFS3_WRITE };
	struct xw w;
	int rc;

	s->kind = b->kind;
	s->count = b->count;
	b->left -= b->left != 0;
	if (b->mixed)
		s->kind = b->xid / b->nslots % 3 == 2 ? BENCH_WRITE :
							BENCH_READ;
	if (s->kind != BENCH_NULL) {
		uint64_t n = b->random ? rnd(b) : b->next++;

		s->offset = n % blocks(b) * b->count;
	}
	/* The slot can be told from the XID, and no two are alike for long. */
	b->xid += b->nslots;
	s->xid = b->xid - b->xid % b->nslots + s->index;
	xw_init(&w, s->head, BENCH_HEAD);
	rpc_call_head(&w, s->xid, NFS3_PROG, 3, procs[s->kind],
		      s->kind != BENCH_NULL);
	if (s->kind != BENCH_NULL) {
		xw_opaque(&w, b->fh, b->fh_len);
		xw_u64(&w, s->offset);
		xw_u32(&w, s->count);
	}
	if (s->kind == BENCH_WRITE) {
		xw_u32(&w, b->o.unstable ? UNSTABLE : FILE_SYNC);
		xw_u32(&w, s->count);
	}
	s->head_len = w.len;
	s->busy = true;
	b->busy++;
	s->start = base_now_ns();
	rc = b->carrier->submit(b, s);
	if (rc)
		bench_fail(b, rc, "sending: %s", strerror(-rc));
}

/* ---- Replies ------------------------------------------------------------ */

/* Post-operation attributes, RFC 1813. */
static void skip_attr(struct xr *r)
{
	if (xr_u32(r))
		xr_skip(r, 84);
}

static void skip_wcc(struct xr *r)
{
	if (xr_u32(r))
		xr_skip(r, 24);
	skip_attr(r);
}

static void check_result(struct bench *b, struct bench_slot *s, struct xr *r,
			 size_t data_len)
{
	uint32_t status = xr_u32(r), count = 0;

	if (s->kind == BENCH_READ)
		skip_attr(r);
	else
		skip_wcc(r);
	if (!r->bad && status) {
		bench_fail(b, -EIO, "%s at %" PRIu64 ": NFS status %u",
			   s->kind == BENCH_READ ? "READ" : "WRITE", s->offset,
			   status);
		return;
	}
	count = xr_u32(r);
	if (s->kind == BENCH_READ) {
		xr_u32(r); /* eof */
		if (xr_u32(r) != data_len)
			r->bad = true;
	}
	if (r->bad || count != s->count ||
	    (s->kind == BENCH_READ && data_len != count)) {
		bench_fail(b, -EBADMSG, "%s at %" PRIu64 ": %u octets of %u%s",
			   s->kind == BENCH_READ ? "READ" : "WRITE", s->offset,
			   count, s->count, r->bad ? ", bad Reply" : "");
		return;
	}
	if (b->checking && s->kind == BENCH_READ &&
	    memcmp(s->data, b->pattern + s->offset % BENCH_PERIOD, count))
		bench_fail(b, -EIO, "READ at %" PRIu64 ": wrong data",
			   s->offset);
	b->bytes += count;
}

void bench_done(struct bench *b, struct bench_slot *s, const uint8_t *p,
		size_t len, size_t data_len)
{
	struct rpc_reply rep;
	struct xr r;

	lat_add(&b->lat, base_now_ns() - s->start);
	s->busy = false;
	b->busy--;
	if (rpc_reply_decode(p, len, &rep)) {
		bench_fail(b, -EBADMSG, "a Reply is not one");
		return;
	}
	if (rep.denied || rep.stat) {
		bench_fail(b, -EIO, "RPC: %s", rpc_reply_text(&rep));
		return;
	}
	xr_init(&r, p, len);
	xr_skip(&r, rep.body);
	if (s->kind != BENCH_NULL)
		check_result(b, s, &r, data_len);
	b->ops++;
	if (!b->gap && more(b))
		submit(b, s);
}

/* ---- Runs --------------------------------------------------------------- */

static void take_replies(struct bench *b)
{
	uint64_t seen = b->ops, since = base_now_ns();

	while (b->busy && !b->error) {
		int rc = b->carrier->run(b, 1000);

		if (rc < 0)
			bench_fail(b, rc, "%s", strerror(-rc));
		if (b->ops != seen) {
			seen = b->ops;
			since = base_now_ns();
		} else if (base_now_ns() - since > STALL_NS) {
			bench_fail(b, -ETIMEDOUT, "no answer");
		}
	}
}

static void sleep_until(uint64_t ns)
{
	const struct timespec at = { .tv_sec = (time_t)(ns / 1000000000),
				     .tv_nsec = (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) ==
	       EINTR)
		;
}

static int run(struct bench *b, unsigned int depth)
{
	uint64_t due = base_now_ns();

	b->next = 0;
	b->ops = 0;
	b->bytes = 0;
	b->rnd = 88172645463325252ull;
	lat_init(&b->lat);
	while (b->gap && more(b)) {
		sleep_until(due);
		/* One that is late delays the others, so that no two are together. */
		due = base_now_ns() + b->gap;
		submit(b, &b->slots[0]);
		take_replies(b);
	}
	for (unsigned int i = 0; i < depth && more(b); i++)
		submit(b, &b->slots[i]);
	take_replies(b);
	return b->error;
}

int bench_pass(struct bench *b, enum bench_kind kind, bool check)
{
	b->kind = kind;
	b->count = b->o.block;
	b->random = false;
	b->checking = true;
	b->mixed = false;
	b->gap = 0;
	return run(b, b->nslots < 8 ? b->nslots : 8);
}

static double cpu_of_self(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* utime and stime, fields 14 and 15; the name (2) may contain anything. */
static double cpu_of(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long u = 0, s = 0;
	char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = 0;
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 1,
		   " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", &u,
		   &s) != 2)
		return 0;
	return (double)(u + s) / (double)sysconf(_SC_CLK_TCK);
}

static double cpu_of_servers(const struct bench *b)
{
	double sum = 0;

	for (unsigned int i = 0; i < b->o.npids; i++)
		sum += cpu_of(b->o.pid[i]);
	return sum;
}

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

int bench_measure(struct bench *b, const struct bench_load *load,
		  unsigned int depth)
{
	const struct latency *l = &b->lat;
	double client, server, took, gb;
	uint64_t start;
	int rc;

	b->kind = load->kind;
	b->count = load->count ? load->count : b->o.block;
	b->random = load->random;
	b->mixed = load->mixed;
	b->checking = false;
	b->left = b->o.calls;
	b->gap = b->o.rate ? 1000000000 / b->o.rate : 0;
	client = cpu_of_self();
	server = cpu_of_servers(b);
	start = base_now_ns();
	b->until = start + (uint64_t)(b->o.seconds * 1e9);
	rc = run(b, depth * b->o.connections);
	if (rc)
		return rc;
	took = (double)(base_now_ns() - start) / 1e9;
	client = cpu_of_self() - client;
	server = cpu_of_servers(b) - server;
	gb = (double)b->bytes / 1e9;
	printf("bench transport=%s test=%s connections=%u depth=%u block=%u seconds=%.3f ops=%" PRIu64
	       " ops_per_s=%.0f mb_per_s=%.1f",
	       b->carrier->name, load->name, b->o.connections, depth,
	       load->kind == BENCH_NULL ? 0 : b->count, took, b->ops,
	       (double)b->ops / took, gb * 1000 / took);
	printf(" min_us=%.1f avg_us=%.1f p50_us=%.1f p90_us=%.1f p99_us=%.1f p999_us=%.1f max_us=%.1f",
	       us(l->min), us(lat_avg(l)), us(lat_at(l, 500)),
	       us(lat_at(l, 900)), us(lat_at(l, 990)), us(lat_at(l, 999)),
	       us(l->max));
	printf(" client_cpu_s=%.3f client_cpu_us_per_op=%.2f", client,
	       client * 1e6 / (double)b->ops);
	if (b->o.npids)
		printf(" server_cpu_s=%.3f server_cpu_us_per_op=%.2f", server,
		       server * 1e6 / (double)b->ops);
	if (gb > 0)
		printf(" client_cpu_s_per_gb=%.3f", client / gb);
	if (gb > 0 && b->o.npids)
		printf(" server_cpu_s_per_gb=%.3f", server / gb);
	putchar('\n');
	fflush(stdout);
	return 0;
}
