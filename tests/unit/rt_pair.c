/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "rt_pair.h"
#include "test_clock.h"
#include "unit.h"

#define HEAD_WORDS 14
#define VETTED 0xa7
/* The head, and no items and no data. */
#define PAIR_CALL_MIN ((HEAD_WORDS + 3) * 4)

/* Of the pattern, @n octets from @pos on: to a buffer of ours, from which they are
 * copied or compared, which the sanitizers see. */
enum { PATTERN = 4096 };

UNIT_UNWATCHED
static void make_pattern(uint8_t *to, uint32_t xid, size_t pos, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = rt_pair_pattern(xid, pos + i);
}

static void put_pattern(uint8_t *to, uint32_t xid, size_t n)
{
	uint8_t part[PATTERN];

	for (size_t at = 0; at < n; at += PATTERN) {
		size_t len = MIN(n - at, (size_t)PATTERN);

		make_pattern(part, xid, at, len);
		memcpy(to + at, part, len);
	}
}

static bool is_pattern(const uint8_t *p, uint32_t xid, size_t from, size_t to)
{
	uint8_t part[PATTERN];

	for (; from < to; from += PATTERN) {
		size_t len = MIN(to - from, (size_t)PATTERN);

		make_pattern(part, xid, from, len);
		if (memcmp(p + from, part, len))
			return false;
	}
	return true;
}

UNIT_UNWATCHED
static uint32_t sum_of(const uint8_t *p, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 33 + p[i];
	return sum;
}

UNIT_UNWATCHED
static uint32_t sum_of_pattern(uint32_t xid, size_t n)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum = sum * 33 + rt_pair_pattern(xid, i);
	return sum;
}

static void put(uint8_t *p, uint32_t v)
{
	v = htonl(v);
	memcpy(p, &v, 4);
}

static uint32_t get(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return ntohl(v);
}

atomic_uint rt_pair_allocs;
const struct fab_ops *rt_pair_provider;
struct in_addr rt_pair_host;
const struct rt_auth_ops *rt_pair_auth;
void *rt_pair_auth_ctx[2];

static void *scratch(size_t n)
{
	atomic_fetch_add(&rt_pair_allocs, 1);
	return calloc(1, n);
}

static const struct fab_ops *provider(void)
{
	return rt_pair_provider ? rt_pair_provider : &fab_loop_ops;
}

/* What a served Call needs until its Reply has gone. */
struct served {
	struct rt_pair *pair;
	uint8_t *octets;
	struct rt_piece piece[3];
	struct rt_item item[RT_MAX_CHUNKS];
};

static void reply_gone(void *arg)
{
	struct served *s = arg;

	__atomic_fetch_add(&s->pair->dones, 1, __ATOMIC_RELAXED);
	free(s->octets);
	free(s);
}

static unsigned int version(struct rt_conn *c)
{
	struct rt_conn_info info;

	rt_conn_info(c, &info);
	return info.version;
}

/*
 * What a Call asks for: returns the length of the unreduced Reply. One that
 * does not make sense, as raw peers may send it, gets the shortest.
 */
static size_t read_wishes(const uint8_t *in, size_t len, struct rt_item *item,
			  uint32_t *nitems, uint32_t *sum)
{
	const uint8_t *q = in + HEAD_WORDS * 4, *end = in + len;
	size_t total;
	uint32_t n;

	*nitems = 0;
	*sum = 0;
	if (len < PAIR_CALL_MIN)
		return 8;
	total = get(q);
	n = get(q + 4);
	q += 8;
	if (total < 8 || n > RT_MAX_CHUNKS || (size_t)(end - q) < 8 * n + 4)
		return 8;
	for (uint32_t i = 0; i < n; i++, q += 8) {
		item[i].position = get(q);
		item[i].length = get(q + 4);
		item[i].present = item[i].length != UINT32_MAX;
		if (!item[i].present)
			item[i].length = 0;
		total += (item[i].length + 3u) & ~3u;
	}
	*nitems = n;
	n = get(q);
	q += 4;
	*sum = sum_of(q, MIN((size_t)n, (size_t)(end - q)));
	return total;
}

static bool filled(struct rt_call *call, uint8_t with)
{
	const uint8_t *user = rt_call_user(call);
	size_t n = 0;

	while (n < PAIR_CALL_USER && user[n] == with)
		n++;
	return n == PAIR_CALL_USER;
}

/* Flatten the Call, read what it asks for, and answer. */
void rt_pair_answer(struct rt_pair *p, struct rt_call *call)
{
	struct served *s = scratch(sizeof(*s));
	struct rt_reply reply = { 0 };
	uint8_t *in = scratch(call->len ? call->len : 1);
	uint32_t nitems, sum;
	size_t at = 0, total;

	if (p->fills)
		CU_ASSERT_TRUE(filled(call, (uint8_t)call->xid));
	for (unsigned int i = 0; i < call->npieces; i++) {
		memcpy(in + at, call->pieces[i].addr, call->pieces[i].len);
		at += call->pieces[i].len;
	}
	s->pair = p;
	total = read_wishes(in, call->len, s->item, &nitems, &sum);
	for (uint32_t i = 0; i < nitems; i++)
		s->item[i].origin = p->origin[i];
	s->octets = scratch(total);
	put_pattern(s->octets, call->xid, total);
	/* Roundup is zero. */
	for (uint32_t i = 0; i < nitems; i++)
		for (uint32_t j = s->item[i].length; j % 4; j++)
			s->octets[s->item[i].position + j] = 0;
	put(s->octets, call->xid);
	if (version(call->conn) == WIRE_VERS1) {
		put(s->octets + 4, 1);
		if (total >= 12)
			put(s->octets + 8, sum);
	} else {
		put(s->octets + 4, sum);
	}
	free(in);
	/* Three pieces, so that items lie across their borders. */
	s->piece[0] = (struct rt_piece){ s->octets, 8, NULL };
	s->piece[1] = (struct rt_piece){ s->octets + 8, (total - 8) / 2, NULL };
	s->piece[2] = (struct rt_piece){ s->octets + 8 + (total - 8) / 2,
					 total - 8 - (total - 8) / 2, NULL };
	reply.pieces = s->piece;
	reply.npieces = 3;
	reply.items = s->item;
	reply.nitems = nitems;
	reply.done = reply_gone;
	reply.arg = s;
	__atomic_fetch_add(&p->answers, 1, __ATOMIC_RELAXED);
	call->op_class = p->op_class;
	rt_reply(call, &reply);
}

static void deal_with(struct rt_pair *p, struct rt_call *call)
{
	if (p->drop)
		rt_call_drop(call);
	else if (p->hold && p->nheld < PAIR_MAX_CALLS)
		p->held[p->nheld++] = call;
	else
		rt_pair_answer(p, call);
}

static void on_call(struct rt_conn *c, struct rt_call *call)
{
	struct rt_pair *p = rt_conn_user(c);

	/* What vet() has left is there, but not what others have. */
	if (call->vetted)
		CU_ASSERT_TRUE(filled(call, VETTED));
	p->vets += call->vetted;
	/* All of them are ours, until it is answered. */
	memset(rt_call_user(call), (uint8_t)call->xid, PAIR_CALL_USER);
	p->fills = true;
	if (call->reverse)
		p->reverse_calls++;
	else
		p->calls++;
	deal_with(p, call);
}

static void on_resume(struct rt_conn *c, struct rt_call *call)
{
	struct rt_pair *p = rt_conn_user(c);

	p->resumes++;
	p->resumes_late += p->server_closed;
	deal_with(p, call);
}

static uint32_t on_vet(struct rt_conn *c, struct rt_vet *v, uint32_t *max)
{
	struct rt_pair *p = rt_conn_user(c);

	p->vet = *v;
	memset(v->user, VETTED, PAIR_CALL_USER);
	p->vetted = 0;
	for (unsigned int i = 0; i < v->npieces; i++)
		p->vetted += v->pieces[i].len;
	if (v->torn && !p->vet_torn)
		return RDMA2_ERR_BAD_XDR;
	v->torn |= p->vet_misfit;
	if (!p->vet_code || v->total <= p->vet_max)
		return 0;
	*max = p->vet_max;
	return p->vet_code;
}

static void *server_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	struct rt_pair *p = ctx;

	p->server = c;
	return p;
}

static void server_up(struct rt_conn *c)
{
	struct rt_pair *p = rt_conn_user(c);

	p->server_up = true;
	p->server_ups++;
	p->calls_at_up = p->calls;
	rt_conn_info(c, &p->info_at_up);
}

static void client_up(struct rt_conn *c)
{
	struct rt_pair *p = rt_conn_user(c);

	p->client_up = true;
	p->v1 = version(c) == WIRE_VERS1;
}

static void server_closed(struct rt_conn *c, int error, const char *reason)
{
	struct rt_pair *p = rt_conn_user(c);

	p->server_closed = true;
	p->server_error = error;
	snprintf(p->server_reason, sizeof(p->server_reason), "%s", reason);
	p->server = NULL;
	rt_conn_put(c);
}

static void client_closed(struct rt_conn *c, int error, const char *reason)
{
	struct rt_pair *p = rt_conn_user(c);

	p->client_closed = true;
	p->client_error = error;
	snprintf(p->client_reason, sizeof(p->client_reason), "%s", reason);
	p->client = NULL;
	rt_conn_put(c);
}

static const struct rt_ops server_ops = {
	.open = server_open,
	.established = server_up,
	.vet = on_vet,
	.call = on_call,
	.resume = on_resume,
	.closed = server_closed,
};

static const struct rt_ops client_ops = {
	.established = client_up,
	.call = on_call,
	.resume = on_resume,
	.closed = client_closed,
};

_Thread_local char rt_pair_line[256];

static void log_line(void *ctx, int level, const char *text)
{
	snprintf(rt_pair_line, sizeof(rt_pair_line), "%s", text);
	if (getenv("RPCRDMA_TEST_LOG"))
		fprintf(stderr, "[%s] %s\n", (const char *)ctx, text);
}

/* ---- Shared Receives -------------------------------------------------- */

/* If the environment has RPCRDMA_TEST_SHARED: both ends are of one domain, so
 * that neither's pool would do for both. */
static bool share(struct rt_pair *p)
{
	struct fab_srq_params s = { .size = 65536, .each = 4096 };

	if (!getenv("RPCRDMA_TEST_SHARED"))
		return true;
	if (fab_pool_create(p->dom, NULL, &p->pool))
		return false;
	fab_pool_srq_memory(p->pool, &s);
	return !fab_srq_enable(p->dom, &s);
}

static void unshare_receives(struct rt_pair *p)
{
	struct fab_pool_stats s;

	if (!p->pool)
		return;
	fab_pool_get_stats(p->pool, &s);
	CU_ASSERT_EQUAL(s.bytes_in_use, 0);
	CU_ASSERT_TRUE(s.gets > 0 || !p->calls);
	fab_pool_destroy(p->pool);
}

static struct rt_instance *instance(struct rt_pair *p, const char *name,
				    const struct rt_config *cfg)
{
	struct rt_params params = {
		.provider = provider(),
		.shared_domain = p->dom,
		.foreign_threads = true, /* which the domain may not mind */
		.log = log_line,
		.log_ctx = (void *)(uintptr_t)name,
	};
	struct rt_instance *inst = NULL;

	if (cfg)
		params.config = *cfg;
	/* What tests count with unless they say: that of the draft. */
	if (!params.config.recv_size)
		params.config.recv_size = 4096;
	if (!params.config.idle_recv_size)
		params.config.idle_recv_size = 4096;
	params.config.share_receives = p->pool;
	if (params.config.call_user_size < PAIR_CALL_USER)
		params.config.call_user_size = PAIR_CALL_USER;
	params.auth = rt_pair_auth;
	params.auth_ctx = rt_pair_auth_ctx[*name == 's'];
	rt_instance_create(&params, &inst);
	return inst;
}

bool rt_pair_listen(struct rt_pair *p, const struct rt_config *client,
		    const struct rt_config *server,
		    void (*prepare)(struct fab_domain *))
{
	struct fab_domain_params dp = { 0 };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(20049),
				    .sin_addr = rt_pair_host };

	memset(p, 0, sizeof(*p));
	if (fab_domain_open(provider(), &dp, &p->dom))
		return false;
	if (!share(p))
		return false;
	if (!rt_pair_provider)
		rt_watch_start(&p->watch, p->dom, LOOP_ACTIVE | LOOP_PASSIVE);
	if (prepare)
		prepare(p->dom);
	p->server_inst = instance(p, "server", server);
	p->client_inst = instance(p, "client", client);
	return p->server_inst && p->client_inst &&
	       !rt_listen(p->server_inst, (struct sockaddr *)&addr,
			  sizeof(addr), &server_ops, p, &p->listener);
}

bool rt_pair_connect_to(struct rt_pair *p, uint16_t port)
{
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr = rt_pair_host };

	p->client_up = p->server_up = false;
	p->client_closed = p->server_closed = false;
	return !rt_connect(p->client_inst, 0, (struct sockaddr *)&addr,
			   sizeof(addr), &client_ops, p, &p->client);
}

bool rt_pair_connect(struct rt_pair *p)
{
	if (!rt_pair_connect_to(p, 20049))
		return false;
	rt_pair_run(p);
	/* A version 1 server knows nothing before the first Call. */
	return p->client_up && (p->server_up || p->v1);
}

bool rt_pair_open(struct rt_pair *p, const struct rt_config *client,
		  const struct rt_config *server,
		  void (*prepare)(struct fab_domain *))
{
	return rt_pair_listen(p, client, server, prepare) && rt_pair_connect(p);
}

void rt_pair_run(struct rt_pair *p)
{
	int quiet = 0, wait_ms = rt_pair_provider ? 10 : 0;

	while (quiet < 3) {
		int n = rt_run(p->server_inst, 0, wait_ms) +
			rt_run(p->client_inst, 0, wait_ms);

		if (p->raw_poller)
			n += fab_poller_run(p->raw_poller, 0);
		p->pollings++;
		quiet = n ? 0 : quiet + 1;
	}
}

static unsigned int open_conns(struct rt_instance *inst)
{
	struct rt_totals t;

	rt_totals(inst, &t);
	return t.connections;
}

void rt_pair_close(struct rt_pair *p)
{
	struct rt_totals t;
	unsigned int n;

	if (p->client)
		rt_conn_close(p->client, false);
	rt_pair_run(p);
	if (p->server)
		rt_conn_close(p->server, true);
	if (p->client)
		rt_conn_close(p->client, true);
	rt_pair_run(p);
	for (unsigned int i = 0; i < p->nheld; i++)
		rt_call_drop(p->held[i]);
	p->nheld = 0;
	rt_pair_run(p);
	/* A device ends them in a thread of its own, which may be late. */
	for (int i = 0; rt_pair_provider && i < 500 &&
			open_conns(p->server_inst) + open_conns(p->client_inst);
	     i++)
		rt_pair_run(p);
	n = open_conns(p->server_inst);
	if (n) {
		fprintf(stderr, "%u server connections left\n", n);
		abort();
	}
	n = open_conns(p->client_inst);
	if (n) {
		fprintf(stderr, "%u client connections left\n", n);
		abort();
	}
	rt_totals(p->server_inst, &t);
	CU_ASSERT_EQUAL(t.reads_under_way, 0);
	CU_ASSERT_EQUAL(p->watch.faults, 0);
	if (p->listener)
		rt_listener_close(p->listener);
	rt_instance_destroy(p->client_inst);
	rt_instance_destroy(p->server_inst);
	unshare_receives(p);
	fab_domain_close(p->dom);
	test_clock_release();
}

static void rpc_done(struct rt_request *rq)
{
	struct rt_rpc *r = *(struct rt_rpc **)rt_request_user(rq);

	r->done = true;
	r->ndone++;
}

void rt_rpc_init(struct rt_pair *p, struct rt_conn *c, struct rt_rpc *r,
		 uint32_t xid, size_t data_len, bool reduce, size_t reply_len,
		 unsigned int nitems, uint32_t item_len, unsigned int nsinks,
		 uint32_t sink_len)
{
	struct rt_instance *inst = rt_conn_instance(c);
	struct fab_pool *pool = rt_instance_pool(inst);
	size_t head = (HEAD_WORDS + 2 + 2 * nitems + 1) * 4;
	size_t len = head + ((data_len + 3) & ~(size_t)3);
	uint32_t pos = p->v1 ? 12 : 8;
	uint8_t *b;

	memset(r, 0, sizeof(*r));
	r->pair = p;
	r->xid = xid;
	r->reply_len = reply_len;
	r->data_len = data_len;
	r->nitems = nitems;
	r->rq = rt_request_alloc(inst);
	*(struct rt_rpc **)rt_request_user(r->rq) = r;
	r->call_buf = fab_pool_get(pool, len);
	b = r->call_buf->addr;
	memset(b, 0, len);
	put(b, xid);
	put(b + HEAD_WORDS * 4, (uint32_t)reply_len);
	put(b + HEAD_WORDS * 4 + 4, nitems);
	for (unsigned int i = 0; i < nitems; i++) {
		r->want[i].position = pos;
		r->want[i].length = item_len;
		r->want[i].present = true;
		put(b + HEAD_WORDS * 4 + 8 + 8 * i, pos);
		put(b + HEAD_WORDS * 4 + 12 + 8 * i, item_len);
		/* A word of the Reply between the items. */
		pos += ((item_len + 3) & ~3u) + 4;
	}
	put(b + head - 4, (uint32_t)data_len);
	put_pattern(b + head, xid ^ 0x55, data_len);
	r->piece[0] = (struct rt_piece){ b, len, r->call_buf->mr };
	r->rq->xid = xid;
	r->rq->pieces = r->piece;
	r->rq->npieces = 1;
	if (reduce && data_len) {
		r->item = (struct rt_item){ .position = (uint32_t)head,
					    .length = (uint32_t)data_len,
					    .present = true };
		r->rq->items = &r->item;
		r->rq->nitems = 1;
	}
	for (unsigned int i = 0; i < nsinks; i++) {
		if (!sink_len)
			continue;
		r->sink_buf[i] = fab_pool_get(pool, sink_len);
		r->sink[i] = (struct rt_sink){ .addr = r->sink_buf[i]->addr,
					       .len = sink_len,
					       .mr = r->sink_buf[i]->mr };
	}
	r->rq->sinks = r->sink;
	r->rq->nsinks = nsinks;
	r->rq->reply_max = reply_len;
	r->rq->call_max = UINT32_MAX;
	for (unsigned int i = nsinks; i < nitems; i++)
		r->rq->reply_max += (item_len + 3) & ~3u;
	r->rq->done = rpc_done;
}

void rt_rpc_submit(struct rt_conn *c, struct rt_rpc *r)
{
	r->done = false;
	r->nsubmit++;
	rt_request_submit(c, r->rq);
}

/* Put the Reply together from its pieces and sinks, and compare. */
bool rt_rpc_check(struct rt_rpc *r)
{
	struct rt_request *rq = r->rq;
	size_t total = r->reply_len, at = 0, in = 0;
	uint8_t *flat, *got;
	uint32_t sum;
	bool ok;

	if (!r->done || rq->status)
		return false;
	for (unsigned int i = 0; i < r->nitems; i++)
		total += (r->want[i].length + 3) & ~3u;
	flat = scratch(rq->reply_len + 1);
	got = scratch(total + 1);
	for (unsigned int i = 0; i < rq->nreply; i++) {
		memcpy(flat + at, rq->reply[i].addr, rq->reply[i].len);
		at += rq->reply[i].len;
	}
	ok = at == rq->reply_len;
	at = 0;
	for (unsigned int i = 0; ok && i <= r->nitems; i++) {
		size_t upto = i < r->nitems ? r->want[i].position : total;
		size_t n = upto - at;

		if (in + n > rq->reply_len) {
			ok = false;
			break;
		}
		memcpy(got + at, flat + in, n);
		at += n;
		in += n;
		if (i == r->nitems || !rq->sinks[i].used)
			continue;
		ok = rq->sinks[i].used == r->want[i].length;
		if (ok)
			memcpy(got + at, rq->sinks[i].addr, rq->sinks[i].used);
		at += (r->want[i].length + 3) & ~3u;
	}
	ok = ok && in == rq->reply_len;
	sum = sum_of_pattern(r->xid ^ 0x55, r->data_len);
	ok = ok && get(got) == r->xid;
	if (r->pair->v1)
		ok = ok && get(got + 4) == 1 &&
		     (total < 12 || get(got + 8) == sum);
	else
		ok = ok && get(got + 4) == sum;
	at = r->pair->v1 ? 12 : 8;
	for (unsigned int i = 0; ok && i < r->nitems; i++) {
		size_t end = r->want[i].position + r->want[i].length;

		ok = is_pattern(got, r->xid, at, end);
		/* Roundup is zero. */
		for (at = end; ok && at % 4; at++)
			ok = !got[at];
	}
	ok = ok && is_pattern(got, r->xid, at, total);
	free(flat);
	free(got);
	return ok;
}

void rt_rpc_free(struct rt_rpc *r)
{
	rt_request_free(r->rq);
	fab_pool_put(r->call_buf);
	for (unsigned int i = 0; i < 4; i++)
		fab_pool_put(r->sink_buf[i]);
}

void rt_rpc_finish(struct rt_rpc *r, size_t n)
{
	for (; n; n--, r++) {
		CU_ASSERT_TRUE(rt_rpc_check(r));
		rt_rpc_free(r);
	}
}

uint64_t rt_pair_sent(struct rt_conn *c)
{
	struct rt_conn_info info;

	rt_conn_info(c, &info);
	return info.sent;
}

bool rt_rpc_trip(struct rt_pair *p, struct rt_conn *from, uint32_t xid,
		 size_t data_len, bool reduce, size_t reply_len,
		 unsigned int nitems, uint32_t item_len, unsigned int nsinks,
		 uint32_t sink_len)
{
	struct rt_rpc r;
	bool ok;

	rt_rpc_init(p, from, &r, xid, data_len, reduce, reply_len, nitems,
		    item_len, nsinks, sink_len);
	rt_rpc_submit(from, &r);
	rt_pair_run(p);
	ok = rt_rpc_check(&r);
	if (!ok)
		fprintf(stderr,
			"xid %u data %zu reduce %d reply %zu items %u x %u "
			"sinks %u x %u: done %d status %d error %u\n",
			xid, data_len, reduce, reply_len, nitems, item_len,
			nsinks, sink_len, r.done, r.rq->status,
			r.rq->error.code);
	rt_rpc_free(&r);
	return ok;
}

struct rt_stats rt_pair_stats(struct rt_instance *inst)
{
	struct rt_totals t;

	rt_totals(inst, &t);
	return t.stats;
}

/* All classes together. */
static struct rt_class classes(struct rt_instance *inst)
{
	struct rt_class sum = { 0 };
	struct rt_totals t;

	rt_totals(inst, &t);
	for (unsigned int i = 0; i < RT_CLASSES; i++) {
#define ADD(name, help) sum.name += t.classes.of[i].name;
		RT_CLASS_COUNTERS(ADD)
#undef ADD
		rt_histogram_sum(&sum.turn, &t.classes.of[i].turn);
	}
	return sum;
}

bool rt_pair_classes_match(struct rt_pair *p)
{
	struct rt_class c = classes(p->client_inst);
	struct rt_class s = classes(p->server_inst);
	struct rt_stats st = rt_pair_stats(p->server_inst);

	return rt_histogram_count(&c.turn) == st.replies_sent &&
	       rt_histogram_count(&s.turn) == st.replies_sent &&
	       c.octets_sent == s.octets_received &&
	       s.octets_sent == c.octets_received &&
	       c.rdma_sent == s.rdma_received &&
	       s.rdma_sent == c.rdma_received &&
	       s.rdma_received == st.read_bytes &&
	       s.rdma_sent == st.write_bytes;
}
