/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs_rdma - Calls over RPC-over-RDMA connections
 *
 * Threads: one, which runs the poller; the operations are called in it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "nfs_bench.h"

#define OPEN_MS 10000
#define CLOSE_MS 3000
#define REPLY_HEAD 512

struct slot {
	struct rt_request *rq;
	struct rt_piece pieces[2];
	struct rt_item item;
	struct rt_sink sink;
	struct fab_buf *data;
};

struct rdma {
	struct rt_instance *inst;
	/* A slot's is that of its index, modulo their number. */
	struct rt_conn *conn[BENCH_CONNECTIONS];
	unsigned int up, down;
	int error;
	struct fab_buf *heads, *pattern;
	struct slot *slots;
};

static void log_text(void *ctx, int level, const char *text)
{
	if (level <= LOG_WARNING)
		fprintf(stderr, "rpcrdma-bench: %s\n", text);
}

static void on_established(struct rt_conn *c)
{
	struct bench *b = rt_conn_user(c);
	struct rdma *r = b->priv;

	r->up++;
}

static void on_closed(struct rt_conn *c, int error, const char *reason)
{
	struct bench *b = rt_conn_user(c);
	struct rdma *r = b->priv;

	r->down++;
	r->error = error ? error : -ECONNRESET;
	if (b->busy || r->up < b->o.connections)
		bench_fail(b, r->error, "the connection ended: %s",
			   reason ? reason : strerror(-r->error));
}

static const struct rt_ops ops = {
	.established = on_established,
	.closed = on_closed,
};

/*
 * Data of a READ that is in the Reply itself, as one that was placed by the
 * Send (rtrext): it stays there if it is in one piece. Its length, 0 if there
 * is none.
 */
static size_t data_inside(struct rt_request *rq, struct bench_slot *s,
			  struct slot *v)
{
	size_t pad = -s->count & 3u, at = 0, done = 0, first;

	if (rq->reply_len < s->count + pad + 4)
		return 0;
	first = rq->reply_len - s->count - pad;
	for (unsigned int i = 0; i < rq->nreply && done < s->count; i++) {
		const struct rt_piece *p = &rq->reply[i];
		size_t skip = first > at ? first - at : 0, n;

		at += p->len;
		if (skip >= p->len)
			continue;
		n = p->len - skip;
		if (!done && n >= s->count) {
			s->data = (uint8_t *)p->addr + skip;
			return s->count;
		}
		if (n > s->count - done)
			n = s->count - done;
		memcpy((uint8_t *)v->data->addr + done,
		       (uint8_t *)p->addr + skip, n);
		done += n;
	}
	return done;
}

static void rdma_done(struct rt_request *rq)
{
	struct bench_slot *s = *(struct bench_slot **)rt_request_user(rq);
	struct bench *b = s->b;
	struct rdma *r = b->priv;
	struct slot *v = &r->slots[s->index];
	uint8_t head[REPLY_HEAD];
	const uint8_t *p = rq->nreply ? rq->reply[0].addr : NULL;
	size_t len = rq->reply_len, data = 0;

	if (rq->status) {
		bench_fail(b, rq->status, "a Call failed: %s%s",
			   strerror(-rq->status),
			   rq->status == -EREMOTEIO ?
				   wire_errcode_name(rq->error.code) :
				   "");
		b->busy--;
		s->busy = false;
		return;
	}
	if (rq->nreply > 1) {
		len = 0;
		for (unsigned int i = 0; i < rq->nreply; i++) {
			size_t n = rq->reply[i].len;

			if (n > sizeof(head) - len)
				n = sizeof(head) - len;
			memcpy(head + len, rq->reply[i].addr, n);
			len += n;
		}
		p = head;
	}
	s->data = v->data->addr;
	if (rq->nsinks)
		data = v->sink.used ? v->sink.used : data_inside(rq, s, v);
	/* Nothing is made here that refers to the Reply after bench_done(),
	 * which may submit the slot again. */
	bench_done(b, s, p, len, data);
}

static int rdma_slots(struct bench *b)
{
	struct rdma *r = b->priv;
	struct fab_pool *pool = rt_instance_pool(r->inst);

	r->slots = calloc(b->nslots, sizeof(*r->slots));
	r->heads = fab_pool_get(pool, (size_t)b->nslots * BENCH_HEAD);
	r->pattern = fab_pool_get(pool, b->o.block + BENCH_PERIOD);
	if (!r->slots || !r->heads || !r->pattern)
		return -ENOMEM;
	memcpy(r->pattern->addr, b->pattern, b->o.block + BENCH_PERIOD);
	for (unsigned int i = 0; i < b->nslots; i++) {
		struct slot *v = &r->slots[i];

		b->slots[i].head =
			(uint8_t *)r->heads->addr + (size_t)i * BENCH_HEAD;
		v->rq = rt_request_alloc(r->inst);
		v->data = fab_pool_get(pool, b->o.block);
		if (!v->rq || !v->data)
			return -ENOMEM;
		*(struct bench_slot **)rt_request_user(v->rq) = &b->slots[i];
	}
	return 0;
}

static int rdma_open(struct bench *b)
{
	struct rt_params params = {
		.provider = fab_provider(b->o.provider),
		.domain = { .log = log_text, .crc = b->o.crc },
		.config = b->o.config,
		.log = log_text,
	};
	struct rdma *r = calloc(1, sizeof(*r));
	uint64_t until = base_now_ns() + OPEN_MS * 1000000ull;
	int rc;

	if (!r)
		return -ENOMEM;
	b->priv = r;
	rc = rt_instance_create(&params, &r->inst);
	if (!rc)
		rc = rdma_slots(b);
	for (unsigned int i = 0; i < b->o.connections && !rc; i++)
		rc = rt_connect(r->inst, 0,
				(struct sockaddr *)&b->o.server.addr,
				b->o.server.len, &ops, b, &r->conn[i]);
	if (rc)
		return rc;
	while (r->up < b->o.connections && !r->down && base_now_ns() < until)
		rt_run(r->inst, 0, 100);
	return r->down ? r->error : r->up < b->o.connections ? -ETIMEDOUT : 0;
}

static int rdma_submit(struct bench *b, struct bench_slot *s)
{
	struct rdma *r = b->priv;
	struct slot *v = &r->slots[s->index];
	struct rt_request *rq = v->rq;

	if (r->down)
		return -ENOTCONN;
	rq->xid = s->xid;
	v->pieces[0] = (struct rt_piece){ .addr = s->head,
					  .len = s->head_len,
					  .mr = r->heads->mr };
	rq->pieces = v->pieces;
	rq->npieces = 1;
	rq->nitems = 0;
	rq->nsinks = 0;
	rq->reply_max = 256;
	rq->done = rdma_done;
	if (s->kind == BENCH_WRITE) {
		v->pieces[1] = (struct rt_piece){
			.addr = (uint8_t *)r->pattern->addr +
				s->offset % BENCH_PERIOD,
			.len = s->count,
			.mr = r->pattern->mr,
		};
		v->item = (struct rt_item){ .position = (uint32_t)s->head_len,
					    .length = s->count,
					    .present = true };
		rq->npieces = 2;
		rq->items = &v->item;
		rq->nitems = 1;
	} else if (s->kind == BENCH_READ) {
		v->sink = (struct rt_sink){ .addr = v->data->addr,
					    .len = s->count,
					    .mr = v->data->mr };
		rq->sinks = &v->sink;
		rq->nsinks = 1;
	}
	rt_request_submit(r->conn[s->index % b->o.connections], rq);
	return 0;
}

static int rdma_run(struct bench *b, int ms)
{
	struct rdma *r = b->priv;

	rt_run(r->inst, 0, ms);
	return r->down ? r->error : 0;
}

static void rdma_close(struct bench *b)
{
	struct rdma *r = b->priv;
	uint64_t until = base_now_ns() + CLOSE_MS * 1000000ull;
	unsigned int n = 0;

	if (!r)
		return;
	for (unsigned int i = 0; i < BENCH_CONNECTIONS && r->conn[i]; i++, n++)
		rt_conn_close(r->conn[i], b->busy != 0);
	while (r->down < n && base_now_ns() < until)
		rt_run(r->inst, 0, 100);
	if (r->down < n) /* the process ends with them */
		return;
	while (n)
		rt_conn_put(r->conn[--n]);
	for (unsigned int i = 0; r->slots && i < b->nslots; i++) {
		if (r->slots[i].rq)
			rt_request_free(r->slots[i].rq);
		fab_pool_put(r->slots[i].data);
	}
	fab_pool_put(r->heads);
	fab_pool_put(r->pattern);
	if (r->inst && !rt_instance_shutdown(r->inst, CLOSE_MS, true))
		rt_instance_destroy(r->inst);
	free(r->slots);
	free(r);
	b->priv = NULL;
}

const struct bench_carrier bench_rdma = {
	.name = "rdma",
	.open = rdma_open,
	.submit = rdma_submit,
	.run = rdma_run,
	.close = rdma_close,
};
