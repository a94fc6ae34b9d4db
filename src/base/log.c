/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/log.h"

/* With more hosts than this, the one that has been quiet for longest is forgotten. */
#define HOSTS 64
#define TEXT 512

/* The class of a level is the first one that is not below it. A count has that level. */
static const int classes[] = { LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG };
#define CLASSES 4

static unsigned int class_of(int level)
{
	unsigned int i = 0;

	while (i < CLASSES - 1 && level > classes[i])
		i++;
	return i;
}

struct bucket {
	uint64_t full_at; /* ms */
	uint64_t last; /* ms: the last line, written or not */
	uint64_t left_out; /* not reported yet */
};

struct host {
	struct in6_addr addr; /* zero: lines of no host */
	uint64_t used; /* ms; 0: the entry is free */
	struct bucket of[CLASSES];
};

struct base_log {
	base_log_fn sink;
	void *ctx;
	atomic_bool owes; /* a count waits to be written */
	pthread_mutex_t lock; /* protects what follows */
	struct bucket all[CLASSES];
	struct host hosts[HOSTS];
};

/* ---- Buckets. Caller holds the lock ------------------------------------ */

/* Returns when @b is full again if a token is taken now, or 0 if it has none. @burst is its
 * size, and a token comes back in @ms. */
static uint64_t full_after_one(const struct bucket *b, uint64_t burst,
			       uint64_t ms, unsigned int class, uint64_t now)
{
	uint64_t at =
		MAX(b->full_at, now) + (class > 1 ? ms / BASE_LOG_MORE : ms);

	return at - now <= burst * ms ? at : 0;
}

/* Counts that go out with a line. */
struct counts {
	uint64_t host, all;
};

/* Take a token of @b and of all, and the counts. Returns NULL, or the bucket that is empty. */
static struct bucket *take_token(struct base_log *l, struct bucket *b,
				 unsigned int class, uint64_t now,
				 struct counts *n)
{
	struct bucket *all = &l->all[class];
	uint64_t b_full =
		full_after_one(b, BASE_LOG_HOST, BASE_LOG_HOST_MS, class, now);
	uint64_t all_full =
		full_after_one(all, BASE_LOG_ALL, BASE_LOG_ALL_MS, class, now);

	if (!b_full || !all_full) {
		atomic_store(&l->owes, true);
		return b_full ? all : b;
	}
	b->full_at = b_full;
	all->full_at = all_full;
	*n = (struct counts){ b->left_out, all->left_out };
	b->left_out = all->left_out = 0;
	return NULL;
}

/* Returns the entry of @addr, which may replace that of another host. */
static struct host *host_of(struct base_log *l, const struct in6_addr *addr,
			    uint64_t now)
{
	struct host *oldest = &l->hosts[0];

	for (struct host *h = l->hosts; h < l->hosts + HOSTS; h++) {
		if (h->used && !memcmp(&h->addr, addr, sizeof(*addr))) {
			h->used = now;
			return h;
		}
		if (h->used < oldest->used)
			oldest = h;
	}
	for (unsigned int i = 0; i < CLASSES; i++)
		l->all[i].left_out += oldest->of[i].left_out;
	*oldest = (struct host){ .addr = *addr, .used = now };
	return oldest;
}

/* ---- Lines ------------------------------------------------------------- */

static void write_count(struct base_log *l, const struct in6_addr *host,
			unsigned int class, uint64_t n)
{
	char text[TEXT], name[BASE_HOST_TEXT];

	if (!n)
		return;
	if (!host)
		snprintf(text, sizeof(text), "all hosts");
	else if (IN6_IS_ADDR_UNSPECIFIED(host))
		snprintf(text, sizeof(text), "lines of no host");
	else {
		base_addr_host_text(host, name, sizeof(name));
		snprintf(text, sizeof(text), "host %s", name);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text),
		 ": %" PRIu64 " more line%s left out", n, n == 1 ? "" : "s");
	l->sink(l->ctx, classes[class], text);
}

static void write_counts(struct base_log *l, const struct in6_addr *host,
			 unsigned int class, const struct counts *n)
{
	write_count(l, host, class, n->host);
	write_count(l, NULL, class, n->all);
}

void base_log_vput(struct base_log *l, const struct in6_addr *host,
		   const char *name, int level, const char *fmt, va_list ap)
{
	static const struct in6_addr nobody = IN6ADDR_ANY_INIT;
	uint64_t now = base_now_ms() + 1;
	struct counts count;
	struct bucket *b, *empty;
	unsigned int class;
	char text[TEXT] = "";
	size_t n;

	if (!l || !l->sink)
		return;
	class = class_of(level);
	host = host ? host : &nobody;
	pthread_mutex_lock(&l->lock);
	b = &host_of(l, host, now)->of[class];
	b->last = now;
	empty = take_token(l, b, class, now, &count);
	if (empty)
		empty->left_out++;
	pthread_mutex_unlock(&l->lock);
	if (empty)
		return;
	write_counts(l, host, class, &count);
	if (name)
		snprintf(text, sizeof(text), "%s: ", name);
	n = strlen(text);
	vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	l->sink(l->ctx, level, text);
}

void base_log_put(struct base_log *l, const struct in6_addr *host,
		  const char *name, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	base_log_vput(l, host, name, level, fmt, ap);
	va_end(ap);
}

void base_log_line(void *log, int level, const char *text)
{
	base_log_put(log, NULL, NULL, level, "%s", text);
}

void base_log_host_line(void *log, const struct in6_addr *host, int level,
			const char *text)
{
	base_log_put(log, host, NULL, level, "%s", text);
}

bool base_log_owes(const struct base_log *l)
{
	return l && atomic_load_explicit(&l->owes, memory_order_relaxed);
}

/* Write the counts of a host that is quiet. The next line of another one brings its counts. */
static void report_quiet(struct base_log *l, struct host *h, unsigned int class)
{
	struct bucket *b = &h->of[class];
	uint64_t now = base_now_ms() + 1;
	struct counts count = { 0 };
	struct in6_addr addr;

	pthread_mutex_lock(&l->lock);
	addr = h->addr;
	if (b->left_out || l->all[class].left_out) {
		if (b->last + BASE_LOG_HOST_MS > now)
			atomic_store(&l->owes, true);
		else
			take_token(l, b, class, now, &count);
	}
	pthread_mutex_unlock(&l->lock);
	write_counts(l, &addr, class, &count);
}

void base_log_tick(struct base_log *l)
{
	if (!base_log_owes(l))
		return;
	atomic_store(&l->owes, false);
	for (unsigned int i = 0; i < HOSTS * CLASSES; i++)
		report_quiet(l, &l->hosts[i / CLASSES], i % CLASSES);
}

/* ---- Life -------------------------------------------------------------- */

struct base_log *base_log_create(base_log_fn sink, void *ctx)
{
	struct base_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->sink = sink;
	l->ctx = ctx;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void base_log_destroy(struct base_log *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; l->sink && i < CLASSES; i++) {
		uint64_t n = l->all[i].left_out;

		for (unsigned int k = 0; k < HOSTS; k++)
			n += l->hosts[k].of[i].left_out;
		write_count(l, NULL, i, n);
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
}
