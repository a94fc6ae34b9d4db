/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/clock.h"
#include "base/log.h"

/* Hosts whose lines are counted apart; the one not heard of for longest makes
 * room for another. Who has more addresses than these is held by the budget of
 * all. */
#define HOSTS 64
#define TEXT 512
#define NAME (INET6_ADDRSTRLEN + 32)
/* Counts told by one tick. */
#define TOLD 8
/* What is remembered of a host's lines, to know them again: so many of each class that
 * has warnings or notices, as far as this. */
#define KNOWN 4
#define KNOWN_TEXT 96
#define KNOWN_CLASSES 2

enum scope { CONN, HOST, ALL };

static const struct {
	unsigned int burst, ms;
} limits[] = {
	[CONN] = { FAB_LOG_CONN, FAB_LOG_CONN_MS },
	[HOST] = { FAB_LOG_HOST, FAB_LOG_HOST_MS },
	[ALL] = { FAB_LOG_ALL, FAB_LOG_ALL_MS },
};

/* At what level a count of each class is told. */
static const int levels[FAB_LOG_CLASSES] = { LOG_WARNING, LOG_NOTICE, LOG_INFO,
					     LOG_DEBUG };

struct known {
	char text[KNOWN][KNOWN_TEXT];
	unsigned int next;
};

struct host {
	struct in6_addr addr; /* zero: lines of no host */
	uint64_t used;
	uint64_t heard[FAB_LOG_CLASSES]; /* the last line, left out or not */
	struct fab_log_budget budget;
	struct known known[KNOWN_CLASSES];
};

struct fab_log {
	fab_log_fn sink;
	void *ctx;
	atomic_bool left; /* a host's or all's count is to be told */
	pthread_mutex_t lock; /* all below, and the budgets of connections */
	struct fab_log_budget all;
	struct host hosts[HOSTS];
};

/* Counts that go out with a line. */
struct counts {
	uint64_t of[3]; /* enum scope */
};

/* Never 0: that is a host which has not been used. */
static uint64_t now_ms(void)
{
	return fab_now_ms() + 1;
}

static unsigned int class_of(int level)
{
	return level <= LOG_WARNING ? 0 :
	       level == LOG_NOTICE  ? 1 :
	       level == LOG_INFO    ? 2 :
				      3;
}

/* ---- Budgets, under the lock ------------------------------------------ */

static uint64_t interval(enum scope s, unsigned int class)
{
	return limits[s].ms / (class > 1 ? FAB_LOG_MORE : 1);
}

/* For one more, and @kept others. */
static bool room(const struct fab_log_bucket *b, enum scope s,
		 unsigned int class, unsigned int kept, uint64_t now)
{
	uint64_t burst = limits[s].burst * (class > 1 ? FAB_LOG_MORE : 1);

	return b->until <= now || b->until + (kept + 1) * interval(s, class) <=
					  now + burst * interval(s, class);
}

static void take(struct fab_log_bucket *b, enum scope s, unsigned int class,
		 uint64_t now)
{
	b->until = MAX(b->until, now);
	b->until += interval(s, class);
}

static struct host *find(struct fab_log *l, const struct in6_addr *addr,
			 uint64_t now)
{
	struct host *h = &l->hosts[0];
	struct in6_addr any = IN6ADDR_ANY_INIT;

	if (!addr)
		addr = &any;
	for (unsigned int i = 0; i < HOSTS; i++) {
		struct host *at = &l->hosts[i];

		if (at->used && !memcmp(&at->addr, addr, sizeof(*addr))) {
			at->used = now;
			return at;
		}
		if (at->used < h->used)
			h = at;
	}
	for (unsigned int i = 0; i < FAB_LOG_CLASSES; i++)
		l->all.of[i].left_out += h->budget.of[i].left_out;
	*h = (struct host){ .addr = *addr, .used = now };
	return h;
}

/* ---- Lines that a host has had, under the lock ---------------------------- */

/* What is left of @text without its numbers. */
static void essence(const char *text, char key[KNOWN_TEXT])
{
	size_t n = 0;

	for (; *text && n < KNOWN_TEXT - 1; text++)
		if (*text < '0' || *text > '9')
			key[n++] = *text;
	key[n] = '\0';
}

/* So is nothing, which stands for a count. */
static bool is_known(const struct known *k, const char *key)
{
	if (!*key)
		return true;
	for (unsigned int i = 0; i < KNOWN; i++)
		if (!strcmp(k->text[i], key))
			return true;
	return false;
}

static void learn(struct known *k, const char *key)
{
	if (is_known(k, key))
		return;
	memcpy(k->text[k->next], key, strlen(key) + 1);
	k->next = (k->next + 1) % KNOWN;
}

/* May it be written? Then @told has the counts that go with it. @text: of the line, for
 * classes below KNOWN_CLASSES; "": a count. */
static bool admit(struct fab_log *l, struct fab_log_budget *mine,
		  const struct in6_addr *host, unsigned int class,
		  const char *text, struct counts *told)
{
	struct fab_log_bucket *b[3] = { mine ? &mine->of[class] : NULL, NULL,
					&l->all.of[class] };
	struct known *known = NULL;
	uint64_t now = now_ms();
	unsigned int kept = 0;
	char key[KNOWN_TEXT];
	struct host *h;
	bool ok = true;

	if (text)
		essence(text, key);
	pthread_mutex_lock(&l->lock);
	h = find(l, host, now);
	h->heard[class] = now;
	b[HOST] = &h->budget.of[class];
	if (text)
		known = &h->known[class];
	if (known && is_known(known, key))
		kept = FAB_LOG_KEPT;
	for (enum scope s = CONN; ok && s <= ALL; s++) {
		if (!b[s] || room(b[s], s, class, s == HOST ? kept : 0, now))
			continue;
		b[s]->left_out++;
		if (s != CONN)
			atomic_store(&l->left, true);
		ok = false;
	}
	for (enum scope s = CONN; ok && s <= ALL; s++) {
		told->of[s] = 0;
		if (!b[s])
			continue;
		take(b[s], s, class, now);
		told->of[s] = b[s]->left_out;
		b[s]->left_out = 0;
	}
	if (ok && known)
		learn(known, key);
	pthread_mutex_unlock(&l->lock);
	return ok;
}

/* ---- Lines ------------------------------------------------------------- */

static void host_name(const struct in6_addr *a, char *buf)
{
	char text[INET6_ADDRSTRLEN] = "?";

	if (!a || IN6_IS_ADDR_UNSPECIFIED(a)) {
		snprintf(buf, NAME, "lines of no host");
	} else if (IN6_IS_ADDR_V4MAPPED(a)) {
		inet_ntop(AF_INET, &a->s6_addr[12], text, sizeof(text));
		snprintf(buf, NAME, "host %s", text);
	} else {
		inet_ntop(AF_INET6, a, text, sizeof(text));
		snprintf(buf, NAME, "host %s/64", text);
	}
}

static void tell(struct fab_log *l, const char *name, unsigned int class,
		 uint64_t n)
{
	char text[TEXT];

	snprintf(text, sizeof(text), "%s: %" PRIu64 " more line%s left out",
		 name, n, n == 1 ? "" : "s");
	l->sink(l->ctx, levels[class], text);
}

static void tell_all(struct fab_log *l, const struct counts *told,
		     const struct in6_addr *host, const char *name,
		     unsigned int class)
{
	char text[NAME];

	if (told->of[CONN])
		tell(l, name ? name : "?", class, told->of[CONN]);
	if (told->of[HOST]) {
		host_name(host, text);
		tell(l, text, class, told->of[HOST]);
	}
	if (told->of[ALL])
		tell(l, "all hosts", class, told->of[ALL]);
}

void fab_log_vput(struct fab_log *l, struct fab_log_budget *mine,
		  const struct in6_addr *host, const char *name, int level,
		  const char *fmt, va_list ap)
{
	unsigned int class = class_of(level);
	bool early = class < KNOWN_CLASSES;
	struct counts told;
	char text[TEXT] = "";
	size_t n = 0;

	if (!l || !l->sink)
		return;
	if (name) {
		snprintf(text, sizeof(text), "%s: ", name);
		n = strlen(text);
	}
	/* What is not known again is made when it may be written. */
	if (early)
		vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	if (!admit(l, mine, host, class, early ? text + n : NULL, &told))
		return;
	tell_all(l, &told, host, name, class);
	if (!early)
		vsnprintf(text + n, sizeof(text) - n, fmt, ap);
	l->sink(l->ctx, level, text);
}

void fab_log_put(struct fab_log *l, struct fab_log_budget *mine,
		 const struct in6_addr *host, const char *name, int level,
		 const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fab_log_vput(l, mine, host, name, level, fmt, ap);
	va_end(ap);
}

void fab_log_line(void *log, int level, const char *text)
{
	fab_log_put(log, NULL, NULL, NULL, level, "%s", text);
}

void fab_log_host_line(void *log, const struct in6_addr *host, int level,
		       const char *text)
{
	fab_log_put(log, NULL, host, NULL, level, "%s", text);
}

void fab_log_leave(struct fab_log *l, struct fab_log_budget *mine,
		   const struct in6_addr *host, const char *name)
{
	struct counts told;
	uint64_t n;

	if (!l || !l->sink)
		return;
	for (unsigned int i = 0; i < FAB_LOG_CLASSES; i++) {
		pthread_mutex_lock(&l->lock);
		n = mine->of[i].left_out;
		mine->of[i].left_out = 0;
		pthread_mutex_unlock(&l->lock);
		if (!n)
			continue;
		if (admit(l, NULL, host, i, i < KNOWN_CLASSES ? "" : NULL,
			  &told)) {
			told.of[CONN] = n;
			tell_all(l, &told, host, name, i);
			continue;
		}
		/* Then it is the host's; the line itself does not count. */
		pthread_mutex_lock(&l->lock);
		find(l, host, now_ms())->budget.of[i].left_out += n - 1;
		pthread_mutex_unlock(&l->lock);
		atomic_store(&l->left, true);
	}
}

bool fab_log_owes(const struct fab_log *l)
{
	return l && atomic_load_explicit(&l->left, memory_order_relaxed);
}

void fab_log_tick(struct fab_log *l)
{
	struct {
		struct in6_addr host;
		unsigned int class;
		struct counts n;
	} told[TOLD];
	unsigned int n = 0;
	bool left = false;
	uint64_t now;

	if (!fab_log_owes(l))
		return;
	now = now_ms();
	pthread_mutex_lock(&l->lock);
	for (unsigned int i = 0; i < FAB_LOG_CLASSES * HOSTS; i++) {
		unsigned int class = i % FAB_LOG_CLASSES;
		struct host *h = &l->hosts[i / FAB_LOG_CLASSES];
		struct fab_log_bucket *b = &h->budget.of[class];
		struct fab_log_bucket *all = &l->all.of[class];

		if (!b->left_out && !all->left_out)
			continue;
		/* While a host has lines, the next of them that may be written
		 * brings the count along. */
		if (n == TOLD || !room(all, ALL, class, 0, now) ||
		    (b->left_out && (h->heard[class] + FAB_LOG_HOST_MS > now ||
				     !room(b, HOST, class, 0, now)))) {
			left = true;
			continue;
		}
		told[n].host = h->addr;
		told[n].class = class;
		told[n].n = (struct counts){ .of = { 0, b->left_out,
						     all->left_out } };
		n++;
		take(all, ALL, class, now);
		if (b->left_out)
			take(b, HOST, class, now);
		b->left_out = all->left_out = 0;
	}
	atomic_store(&l->left, left);
	pthread_mutex_unlock(&l->lock);
	for (unsigned int i = 0; i < n; i++)
		tell_all(l, &told[i].n, &told[i].host, NULL, told[i].class);
}

/* ---- Life -------------------------------------------------------------- */

struct fab_log *fab_log_create(fab_log_fn sink, void *ctx)
{
	struct fab_log *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->sink = sink;
	l->ctx = ctx;
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

void fab_log_destroy(struct fab_log *l)
{
	if (!l)
		return;
	for (unsigned int i = 0; l->sink && i < FAB_LOG_CLASSES; i++) {
		uint64_t n = l->all.of[i].left_out;

		for (unsigned int k = 0; k < HOSTS; k++)
			n += l->hosts[k].budget.of[i].left_out;
		if (n)
			tell(l, "all hosts", i, n);
	}
	pthread_mutex_destroy(&l->lock);
	free(l);
}
