/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * json - printing
 *
 * Threads: no state; the transport's own functions take what locks they need.
 * The connection lock is held while one connection is printed into @f, so @f
 * must be memory (open_memstream()), not a descriptor that can block.
 */
#include "stats/json.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>

#include "base/addr.h"
#include "base/clock.h"
#include "base/prefix.h"
#include "rpcrdma/nfs.h"

/* Returns the length of the UTF-8 character at @s (RFC 3629, 4), or 0 if it is
 * invalid. */
static unsigned int utf8_length(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;
	unsigned char least = 0x80, most = 0xbf;
	unsigned int n;

	if (u[0] < 0x80)
		return 1;
	if (u[0] < 0xc2 || u[0] > 0xf4)
		return 0;
	n = u[0] < 0xe0 ? 2 : u[0] < 0xf0 ? 3 : 4;
	/* Reject overlong forms, surrogates, and values above U+10FFFF. */
	if (u[0] == 0xe0)
		least = 0xa0;
	else if (u[0] == 0xed)
		most = 0x9f;
	else if (u[0] == 0xf0)
		least = 0x90;
	else if (u[0] == 0xf4)
		most = 0x8f;
	for (unsigned int i = 1; i < n; i++) {
		if (u[i] < least || u[i] > most)
			return 0;
		least = 0x80;
		most = 0xbf;
	}
	return n;
}

/* A peer's principal may contain anything (RFC 8259, 8.1). */
static void put_string(FILE *f, const char *s)
{
	unsigned int n;

	putc('"', f);
	for (; *s; s += n ? n : 1) {
		unsigned char c = (unsigned char)*s;

		n = utf8_length(s);
		if (!n)
			fputs("\\ufffd", f);
		else if (c == '"' || c == '\\')
			fprintf(f, "\\%c", c);
		else if (c < 0x20)
			fprintf(f, "\\u%04x", c);
		else
			fwrite(s, 1, n, f);
	}
	putc('"', f);
}

static void put_stats(FILE *f, const struct rt_stats *st)
{
	const char *comma = "";

	putc('{', f);
#define PUT(name, help)                                           \
	fprintf(f, "%s\"" #name "\": %" PRIu64, comma, st->name); \
	comma = ", ";
	RT_STATS(PUT)
#undef PUT
	putc('}', f);
}

static void put_properties(FILE *f, const struct rt_properties *p)
{
	fprintf(f,
		"{\"send_size\": %" PRIu32 ", \"recv_size\": %" PRIu32
		", \"segment_size\": %" PRIu32 ", \"segments\": %" PRIu32
		", \"reverse\": %" PRIu32 ", \"complete\": %s}",
		p->send_size, p->recv_size, p->segment_size, p->segments,
		p->reverse, p->complete ? "true" : "false");
}

static void put_histogram(FILE *f, uint64_t n, const struct rt_histogram *h)
{
	const char *next = "";

	fprintf(f,
		"\"count\": %" PRIu64 ", \"sum_ns\": %" PRIu64
		", \"up_to_ns\": [",
		n, h->sum);
	for (unsigned int b = 0; b < RT_STAGE_BUCKETS; b++) {
		uint64_t bound = rt_stage_bound(b);

		if (!h->bucket[b])
			continue;
		fprintf(f, "%s[", next);
		next = ", ";
		if (bound == UINT64_MAX)
			fputs("null", f);
		else
			fprintf(f, "%" PRIu64, bound);
		fprintf(f, ", %" PRIu64 "]", h->bucket[b]);
	}
	putc(']', f);
}

/*
 * Of each stage with Calls: their number and total time, and how many took up
 * to so many nanoseconds, but more than the bound before.
 */
static void put_stages(FILE *f, const struct rt_stages *st)
{
	static const char *const name[RT_NSTAGES] = {
#define NAME(stage, help) #stage,
		RT_STAGES(NAME)
#undef NAME
	};
	const char *comma = "";

	putc('{', f);
	for (unsigned int i = 0; i < RT_NSTAGES; i++) {
		const struct rt_histogram *h = &st->stage[i];
		uint64_t n = rt_histogram_count(h);

		if (!n)
			continue;
		fprintf(f, "%s\"%s\": {", comma, name[i]);
		comma = ", ";
		put_histogram(f, n, h);
		putc('}', f);
	}
	putc('}', f);
}

/* Each class with Calls, by the upper layer's names. */
static void put_classes(FILE *f, const struct rt_classes *classes)
{
	const char *comma = "";

	_Static_assert(ULB_NCLASSES <= RT_CLASSES, "room for all");
	putc('{', f);
	for (unsigned int i = 0; i < ULB_NCLASSES; i++) {
		const struct rt_class *k = &classes->of[i];
		uint64_t n = rt_histogram_count(&k->turn);

		if (!n)
			continue;
		fprintf(f, "%s\"%s\": {", comma, ulb_class_name(i));
		comma = ", ";
#define PUT(nm, help) fprintf(f, "\"" #nm "\": %" PRIu64 ", ", k->nm);
		RT_CLASS_COUNTERS(PUT)
#undef PUT
		put_histogram(f, n, &k->turn);
		putc('}', f);
	}
	putc('}', f);
}

/* The elements of an array. */
struct put_array {
	FILE *f;
	const char *comma;
};

static void put_conn(const struct rt_conn_info *i, void *arg)
{
	struct put_array *pc = arg;
	FILE *f = pc->f;
	struct in6_addr host =
		base_addr_host((const struct sockaddr *)&i->peer);
	char local[64], name[BASE_HOST_TEXT];

	base_addr_host_text(&host, name, sizeof(name));
	base_addr_name((const struct sockaddr *)&i->local, local,
		       sizeof(local));
	fprintf(f, "%s\n  {\"id\": %" PRIu64 ", \"role\": \"%s\", \"peer\": ",
		pc->comma, i->id, i->server ? "server" : "client");
	pc->comma = ",";
	put_string(f, i->peer_name);
	fputs(", \"local\": ", f);
	put_string(f, local);
	fputs(", \"state\": ", f);
	put_string(f, i->state ? i->state : "?");
	fputs(", \"principal\": ", f);
	put_string(f, i->auth_peer);
	fprintf(f, ", \"host\": \"%s\", \"client\": ", name);
	put_string(f, i->client);
	fputs(", \"session\": ", f);
	put_string(f, i->session);
	fprintf(f, ", \"age\": %.3f", (double)i->age_ms / 1e3);
	fprintf(f,
		", \"crc\": %s, \"version\": %u, \"sent\": %" PRIu32
		", \"received\": %" PRIu32 ", \"credit_limit\": %" PRIu32
		", \"advertised\": %" PRIu32 ", \"call_inline\": %" PRIu32
		", \"reply_inline\": %" PRIu32
		", \"calls_in_progress\": %u, \"requests_outstanding\": %u",
		i->crc ? "true" : "false", i->version, i->sent, i->received,
		i->credit_limit, i->advertised, i->call_inline, i->reply_inline,
		i->calls_in_progress, i->requests_outstanding);
	fprintf(f, ", \"extensions\": [%s%s%s]",
		i->extensions & RT_EXT_XCHAR ? "\"xcharext\"" : "",
		i->extensions == (RT_EXT_XCHAR | RT_EXT_RTR) ? ", " : "",
		i->extensions & RT_EXT_RTR ? "\"rtrext\"" : "");
	fputs(",\n   \"ours\": ", f);
	put_properties(f, &i->ours);
	fputs(",\n   \"theirs\": ", f);
	put_properties(f, &i->theirs);
	fputs(",\n   \"stats\": ", f);
	put_stats(f, &i->stats);
	fputs(",\n   \"stages\": ", f);
	put_stages(f, &i->stages);
	fputs(",\n   \"operations\": ", f);
	put_classes(f, &i->classes);
	putc('}', f);
}

/* With the counters that are not 0. */
static void put_host(const struct rt_host_info *h, void *arg)
{
	struct put_array *pc = arg;
	char name[BASE_HOST_TEXT];
	const char *comma = "";

	base_addr_host_text(&h->addr, name, sizeof(name));
	fprintf(pc->f,
		"%s\n  {\"host\": \"%s\", \"connections\": %u, \"memory\": %zu"
		", \"calls\": %" PRIu64 ", \"call_ns\": %" PRIu64
		", \"stats\": {",
		pc->comma, name, h->connections, h->memory, h->calls,
		h->call_ns);
	pc->comma = ",";
#define PUT(name, help)                                            \
	if (h->stats.name) {                                       \
		fprintf(pc->f, "%s\"" #name "\": %" PRIu64, comma, \
			h->stats.name);                            \
		comma = ", ";                                      \
	}
	RT_STATS(PUT)
#undef PUT
	fputs("}}", pc->f);
}

static void put_device(const struct fab_device *d, void *arg)
{
	static const char *const name[FAB_NDEVICE_OBJECTS] = {
#define NAME(kind, help) #kind,
		FAB_DEVICE_OBJECTS(NAME)
#undef NAME
	};
	struct put_array *pc = arg;

	fprintf(pc->f, "%s\n  {\"device\": ", pc->comma);
	pc->comma = ",";
	put_string(pc->f, d->name);
	for (unsigned int i = 0; i < FAB_NDEVICE_OBJECTS; i++)
		fprintf(pc->f, ", \"%s\": {\"used\": %u, \"limit\": %u}",
			name[i], d->used[i], d->most[i]);
	putc('}', pc->f);
}

/* The descriptors that this process has, and may have. */
static void put_descriptors(FILE *f)
{
	struct rlimit limit;
	uintmax_t n = 0;
	DIR *dir;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	dir = opendir("/proc/self/fd");
	if (!dir && errno != EMFILE)
		return;
	/* Without one for @dir all are in use. */
	if (!dir)
		n = limit.rlim_cur + 3;
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	/* Not ".", "..", nor that of @dir. */
	if (n < 3)
		return;
	fprintf(f, ",\n \"descriptors\": {\"used\": %ju, \"limit\": %ju}",
		n - 3, (uintmax_t)limit.rlim_cur);
}

static void put_server(FILE *f, const struct stats_source *src)
{
	struct stats_server s = { .not_of_file = "" };

	if (!src->server)
		return;
	src->server(src->server_ctx, &s);
	fputs(", \"not_of_file\": ", f);
	put_string(f, s.not_of_file);
	fprintf(f,
		",\n \"exports\": {\"served\": %u, \"expected\": %u},\n "
		"\"reload\": {\"time\": %jd, \"failed\": %s}",
		s.exports, s.exports_expected, (intmax_t)s.reloaded,
		s.reload_failed ? "true" : "false");
}

static void put_port(const struct fab_port *p, void *arg)
{
	static const char *const name[FAB_NPORT_COUNTERS] = {
#define NAME(kind, help) #kind,
		FAB_PORT_COUNTERS(NAME)
#undef NAME
	};
	struct put_array *pc = arg;
	const char *comma = "";

	fprintf(pc->f, "%s\n  {\"device\": ", pc->comma);
	pc->comma = ",";
	put_string(pc->f, p->device);
	fprintf(pc->f, ", \"port\": %u, \"counters\": {", p->port);
	for (unsigned int i = 0; i < FAB_NPORT_COUNTERS; i++) {
		if (!(p->has >> i & 1))
			continue;
		fprintf(pc->f, "%s\"%s\": %" PRIu64, comma, name[i],
			p->count[i]);
		comma = ", ";
	}
	fputs("}}", pc->f);
}

static void put_listeners(FILE *f, const struct stats_source *src,
			  bool only_down)
{
	const char *comma = "";

	if (src->lock)
		pthread_mutex_lock(src->lock);
	for (unsigned int i = 0; i < src->nlisteners; i++) {
		if (only_down && !src->down[i])
			continue;
		fputs(comma, f);
		put_string(f, src->listener[i]);
		comma = ", ";
	}
	if (src->lock)
		pthread_mutex_unlock(src->lock);
}

/* How many connections were refused, and for which reasons. */
static void put_refused(FILE *f, const struct rt_totals *t)
{
	static const char *const name[RT_NREFUSALS] = {
#define NAME(reason, help) #reason,
		RT_REFUSALS(NAME)
#undef NAME
	};
	const char *comma = "";
	uint64_t all = 0;

	for (unsigned int i = 0; i < RT_NREFUSALS; i++)
		all += t->refused[i];
	fprintf(f, ", \"connections_refused\": %" PRIu64 ", \"refused\": {",
		all);
	for (unsigned int i = 0; i < RT_NREFUSALS; i++) {
		fprintf(f, "%s\"%s\": %" PRIu64, comma, name[i], t->refused[i]);
		comma = ", ";
	}
	putc('}', f);
}

/* Who is refused, and for how many more seconds. */
static void put_evictions(FILE *f, struct rt_instance *inst)
{
	struct rt_evicted e[RT_EVICTIONS_MAX];
	unsigned int n = rt_evictions(inst, e);
	char who[BASE_PREFIX_TEXT];

	fprintf(f, ", \"evicted\": %u, \"evictions\": [", n);
	for (unsigned int i = 0; i < n; i++) {
		base_prefix_text(&e[i].who, who, sizeof(who));
		fprintf(f, "%s{\"host\": \"%s\", \"seconds\": %u}",
			i ? ", " : "", who, e[i].seconds);
	}
	putc(']', f);
}

void stats_json(FILE *f, const struct stats_source *src)
{
	struct put_array pc = { .f = f, .comma = "" };
	struct put_array ports = { .f = f, .comma = "" };
	struct fab_pool_stats pool;
	struct fab_srq_stats shared;
	struct rt_totals total;
	struct put_array devices = { .f = f, .comma = "" };
	struct put_array hosts = { .f = f, .comma = "" };

	rt_totals(src->inst, &total);
	fab_pool_get_stats(rt_instance_pool(src->inst), &pool);

	fputs("{\"program\": ", f);
	put_string(f, src->program);
	if (src->program_version) {
		fputs(", \"program_version\": ", f);
		put_string(f, src->program_version);
	}
	fprintf(f, ", \"version\": \"%s\", \"uptime\": %.3f, \"provider\": ",
		RPCRDMA_VERSION, (double)(base_now_ns() - src->started) / 1e9);
	put_string(f, src->provider);
	if (src->last_provider) {
		fputs(", \"last_provider\": ", f);
		put_string(f, src->last_provider);
	}
	fputs(", \"listeners\": [", f);
	put_listeners(f, src, false);
	fputs("], \"listeners_down\": [", f);
	put_listeners(f, src, true);
	fprintf(f,
		"],\n \"connections_now\": %u, \"connections_accepted\": %" PRIu64,
		total.connections, total.accepted);
	put_refused(f, &total);
	fprintf(f, ", \"failed_starts\": %" PRIu64 ", \"draining\": %s",
		total.failed_starts, total.draining ? "true" : "false");
	put_evictions(f, src->inst);
	put_server(f, src);
	fputs(",\n \"totals\": ", f);
	put_stats(f, &total.stats);
	fputs(",\n \"stages\": ", f);
	put_stages(f, &total.stages);
	fputs(",\n \"operations\": ", f);
	put_classes(f, &total.classes);
	fprintf(f,
		",\n \"connections_limit\": %u, \"host_connections_limit\": %u"
		", \"host_memory_limit_bytes\": %zu, \"reply_bytes\": %zu"
		", \"reply_limit_bytes\": %zu, \"reads_under_way\": %" PRIu64,
		total.connections_limit, total.host_connections_limit,
		total.host_memory_limit, total.reply_octets, 2 * pool.limit,
		total.reads_under_way);
	put_descriptors(f);
	fprintf(f,
		",\n \"pool\": {\"bytes_held\": %zu, \"bytes_huge\": %zu, "
		"\"bytes_in_use\": %zu, "
		"\"bytes_in_use_peak\": %zu, \"limit\": %zu, \"gets\": %" PRIu64
		", \"refused\": %" PRIu64 ", \"slabs\": %" PRIu64 "}",
		pool.bytes_held, pool.bytes_huge, pool.bytes_in_use,
		pool.bytes_in_use_peak, pool.limit, pool.gets, pool.refused,
		pool.slabs);
	rt_share_stats(src->inst, &shared);
	fprintf(f,
		",\n \"shared_receives\": {\"queues\": %u, \"connections\": %u, "
		"\"promised\": %" PRIu64 ", \"posted\": %" PRIu64
		", \"low\": %" PRIu64 "},\n \"ports\": [",
		shared.queues, shared.connections, shared.promised,
		shared.posted, shared.low);
	rt_for_each_port(src->inst, put_port, &ports);
	fputs("],\n \"devices\": [", f);
	rt_for_each_device(src->inst, put_device, &devices);
	fputs("],\n \"hosts\": [", f);
	rt_for_each_host(src->inst, put_host, &hosts);
	fputs("],\n \"connections\": [", f);
	rt_for_each_conn(src->inst, put_conn, &pc);
	fputs("]}\n", f);
}
