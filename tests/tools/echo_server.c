/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * echo_server - the Responder of echo.h
 *
 * Threads: one, which runs the poller and does everything in the operations.
 */
#include "base/addr.h"
#include "base/clock.h"
#include "echo.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "tools/args.h"

#define FLAT_MAX (4u << 20)
#define CALLBACKS_MAX 64

enum {
	ECHO_NULL = 0,
	ECHO_ECHO = 1,
	ECHO_DELAY = 2,
	ECHO_MAKE = 3,
	ECHO_CALLBACK = 4,
	ECHO_SILENCE = 5,
};

struct echo_delayed {
	struct echo_delayed *next;
	uint64_t due;
	struct rt_call *call;
	struct echo_answer *a;
};

/* One CALLBACK and the reverse-direction Calls it has made. */
struct callback {
	struct echo *e;
	struct rt_call *call;
	uint32_t size, waiting, good, bad;
};

struct reverse {
	struct callback *cb;
	struct rt_piece pieces[3];
	uint8_t head[64];
	uint8_t pad[4];
};

static volatile sig_atomic_t stopping;

static void on_signal(int sig)
{
	stopping = 1;
}

/* ---- Answers ------------------------------------------------------------ */

static struct echo *echo_of(struct rt_conn *c)
{
	return rt_conn_user(c);
}

static void answer_done(void *arg)
{
	struct echo_answer *a = arg;

	fab_pool_put(a->buf);
	free(a);
}

static struct echo_answer *answer_new(void)
{
	struct echo_answer *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->reply = (struct rt_reply){
		.pieces = a->pieces, .npieces = 1, .done = answer_done, .arg = a
	};
	return a;
}

static void answer_send(struct rt_call *call, struct echo_answer *a)
{
	rt_reply(call, &a->reply);
}

/* Results: an opaque of @n octets at @p, copied. */
static void put_copy(struct echo *e, struct xw *w, struct echo_answer *a,
		     const uint8_t *p, uint32_t n)
{
	a->buf = fab_pool_get(rt_instance_pool(e->inst), n ? n : 1);
	if (!a->buf)
		n = 0;
	if (n)
		memcpy(a->buf->addr, p, n);
	xw_u32(w, n);
	a->pieces[0] = (struct rt_piece){ .addr = a->head, .len = w->len };
	if (!n)
		return;
	a->pieces[1] = (struct rt_piece){ .addr = a->buf->addr,
					  .len = n,
					  .mr = a->buf->mr };
	a->pieces[2] = (struct rt_piece){ .addr = a->pad, .len = -n & 3 };
	a->reply.npieces = n & 3 ? 3 : 2;
}

/* ---- Reverse direction -------------------------------------------------- */

static void callback_over(struct callback *cb)
{
	struct echo_answer *a = answer_new();
	struct xw w;

	if (a) {
		xw_init(&w, a->head, sizeof(a->head));
		rpc_reply_head(&w, cb->call->xid, RPC_ACCEPT_SUCCESS);
		xw_u32(&w, cb->good);
		xw_u32(&w, cb->bad);
		a->pieces[0] =
			(struct rt_piece){ .addr = a->head, .len = w.len };
		answer_send(cb->call, a);
	} else {
		rt_call_drop(cb->call);
	}
	free(cb);
}

static bool reverse_good(struct rt_request *rq, const struct callback *cb)
{
	struct rpc_reply rep;
	const uint8_t *p;
	struct xr r;
	size_t len = 0, n;
	uint8_t *flat;
	bool good = false;

	if (rq->status || !rt_response_is_reply(cb->call->conn, rq))
		return false;
	flat = malloc(rq->reply_len + 1);
	if (!flat)
		return false;
	for (unsigned int i = 0; i < rq->nreply; i++) {
		memcpy(flat + len, rq->reply[i].addr, rq->reply[i].len);
		len += rq->reply[i].len;
	}
	if (!rpc_reply_decode(flat, len, &rep) && rep.xid == rq->xid &&
	    !rep.denied && rep.stat == RPC_ACCEPT_SUCCESS) {
		xr_init(&r, flat, len);
		xr_skip(&r, rep.body);
		p = xr_opaque(&r, FLAT_MAX, &n);
		good = !r.bad && n == cb->size &&
		       echo_is_pattern(cb->e, p, n, 0);
	}
	free(flat);
	return good;
}

static void reverse_done(struct rt_request *rq)
{
	struct reverse *v = rt_request_user(rq);
	struct callback *cb = v->cb;

	if (reverse_good(rq, cb))
		cb->good++;
	else
		cb->bad++;
	rt_request_free(rq);
	if (!--cb->waiting)
		callback_over(cb);
}

static void callback(struct echo *e, struct rt_call *call, uint32_t count,
		     uint32_t size, uint32_t call_max)
{
	struct callback *cb = calloc(1, sizeof(*cb));
	static uint32_t xid = 0x70000000;
	struct xw w;

	if (!cb) {
		rt_call_drop(call);
		return;
	}
	cb->e = e;
	cb->call = call;
	cb->size = size;
	/* One more, so that the last Reply cannot come before the last Call. */
	cb->waiting = 1;
	if (count > CALLBACKS_MAX)
		count = CALLBACKS_MAX;
	for (uint32_t i = 0; i < count; i++) {
		struct rt_request *rq = rt_request_alloc(e->inst);
		struct reverse *v = rq ? rt_request_user(rq) : NULL;
		uint8_t *base = e->pattern->addr;

		if (!rq) {
			cb->bad++;
			continue;
		}
		memset(v, 0, sizeof(*v));
		v->cb = cb;
		xw_init(&w, v->head, sizeof(v->head));
		rpc_call_head(&w, ++xid, ECHO_CB_PROG, 1, ECHO_ECHO, false);
		xw_u32(&w, size);
		v->pieces[0] =
			(struct rt_piece){ .addr = v->head, .len = w.len };
		v->pieces[1] = (struct rt_piece){ .addr = base,
						  .len = size,
						  .mr = e->pattern->mr };
		v->pieces[2] =
			(struct rt_piece){ .addr = v->pad, .len = -size & 3 };
		rq->xid = xid;
		rq->pieces = v->pieces;
		rq->npieces = size ? (size & 3 ? 3 : 2) : 1;
		rq->reply_max = size + 64;
		rq->call_max = call_max;
		rq->done = reverse_done;
		cb->waiting++;
		rt_request_submit(call->conn, rq);
	}
	if (!--cb->waiting)
		callback_over(cb);
}

/* ---- Calls -------------------------------------------------------------- */

static void delay(struct echo *e, struct rt_call *call, struct echo_answer *a,
		  uint32_t ms)
{
	struct echo_delayed *d = calloc(1, sizeof(*d));

	if (!d) {
		answer_send(call, a);
		return;
	}
	d->due = base_now_ns() + ms * 1000000ull;
	d->call = call;
	d->a = a;
	d->next = e->delayed;
	e->delayed = d;
}

static void run_delayed(struct echo *e, bool all)
{
	struct echo_delayed **p = &e->delayed, *d;
	uint64_t now = base_now_ns();

	while ((d = *p)) {
		if (!all && d->due > now) {
			p = &d->next;
			continue;
		}
		*p = d->next;
		answer_send(d->call, d->a);
		free(d);
		p = &e->delayed;
	}
}

/* ECHO_PROG; true if the answer in @a is to be sent now. */
static bool echo_prog(struct echo *e, struct rt_call *call, uint32_t proc,
		      struct xr *r, struct xw *w, struct echo_answer *a)
{
	const uint8_t *p;
	uint32_t ms = 0, call_max;
	size_t n;

	switch (proc) {
	case ECHO_NULL:
		return true;
	case ECHO_DELAY:
		ms = xr_u32(r);
		/* fall through */
	case ECHO_ECHO:
		p = xr_opaque(r, FLAT_MAX, &n);
		if (r->bad)
			break;
		put_copy(e, w, a, p, (uint32_t)n);
		if (proc == ECHO_ECHO)
			return true;
		delay(e, call, a, ms);
		return false;
	case ECHO_MAKE:
		echo_put_pattern(e, w, a, 0, xr_u32(r));
		return true;
	case ECHO_CALLBACK:
		ms = xr_u32(r);
		n = xr_u32(r);
		if (r->bad || n > ECHO_PATTERN_LEN - ECHO_PERIOD)
			break;
		call_max = xr_u32(r);
		callback(e, call, ms, (uint32_t)n,
			 r->bad ? UINT32_MAX : call_max);
		free(a);
		return false;
	case ECHO_SILENCE:
		rt_call_drop(call);
		free(a);
		return false;
	default:
		w->len -= 4;
		xw_u32(w, RPC_ACCEPT_PROC_UNAVAIL);
		return true;
	}
	w->len -= 4;
	xw_u32(w, RPC_ACCEPT_GARBAGE_ARGS);
	return true;
}

static void op_call(struct rt_conn *c, struct rt_call *call)
{
	struct echo *e = echo_of(c);
	struct echo_answer *a = answer_new();
	uint32_t type, rpcvers, prog, vers, proc;
	size_t at = 0, n;
	bool send = true;
	struct xr r;
	struct xw w;

	if (!a || call->len > FLAT_MAX) {
		free(a);
		rt_call_drop(call);
		return;
	}
	for (unsigned int i = 0; i < call->npieces; i++) {
		memcpy(e->flat + at, call->pieces[i].addr, call->pieces[i].len);
		at += call->pieces[i].len;
	}
	xr_init(&r, e->flat, at);
	xr_u32(&r); /* xid */
	type = xr_u32(&r);
	rpcvers = xr_u32(&r);
	prog = xr_u32(&r);
	vers = xr_u32(&r);
	proc = xr_u32(&r);
	xr_u32(&r);
	xr_opaque(&r, 400, &n);
	xr_u32(&r);
	xr_opaque(&r, 400, &n);
	if (e->log) {
		fprintf(e->log, "%08x %u %u %u %zu %llu\n", call->xid, prog,
			vers, proc, call->len,
			(unsigned long long)rt_conn_id(c));
		fflush(e->log);
	}
	if (r.bad || type != RPC_CALL || rpcvers != 2) {
		free(a);
		rt_call_drop(call);
		return;
	}
	xw_init(&w, a->head, sizeof(a->head));
	rpc_reply_head(&w, call->xid, RPC_ACCEPT_SUCCESS);
	if (prog == ECHO_PROG && vers == 1) {
		send = echo_prog(e, call, proc, &r, &w, a);
	} else if (prog == 100003 && (vers == 3 || (vers == 4 && !proc))) {
		echo_nfs(e, proc, &r, &w, a);
	} else if (prog == 100003) {
		w.len -= 4;
		xw_u32(&w, RPC_ACCEPT_PROG_MISMATCH);
		xw_u32(&w, 3);
		xw_u32(&w, 3);
	} else {
		w.len -= 4;
		xw_u32(&w, RPC_ACCEPT_PROG_UNAVAIL);
	}
	if (!send)
		return;
	a->pieces[0] = (struct rt_piece){ .addr = a->head, .len = w.len };
	answer_send(call, a);
}

static void *op_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	return ctx;
}

static void op_closed(struct rt_conn *c, int error, const char *reason)
{
	struct echo *e = rt_conn_user(c);

	if (e->log) {
		fprintf(e->log, "closed %d\n", error);
		fflush(e->log);
	}
	rt_conn_put(c);
}

static const struct rt_ops ops = {
	.open = op_open,
	.call = op_call,
	.closed = op_closed,
};

/* ---- Program ------------------------------------------------------------ */

static void log_text(void *ctx, int level, const char *text)
{
	if (level <= LOG_WARNING)
		fprintf(stderr, "echo-server: %s\n", text);
}

static const struct option options[] = {
	{ "listen", required_argument, NULL, 'l' },
	{ "log", required_argument, NULL, 'o' },
	{ "recv-size", required_argument, NULL, 'r' },
	{ "segments", required_argument, NULL, 's' },
	{ "credits", required_argument, NULL, 'c' },
	{ "idle-ms", required_argument, NULL, 'i' },
	{ "no-continuation", no_argument, NULL, 'n' },
	{ "no-crc", no_argument, NULL, 'C' },
	{ "roundup", no_argument, NULL, 'u' },
	{ "version-rdma", required_argument, NULL, 'v' },
	{ "provider", required_argument, NULL, 'p' },
	{ 0 },
};

static bool set_option(struct echo *e, struct rt_params *params,
		       struct arg_addr *addr, int opt)
{
	struct arg_err err;
	const char *bad = NULL;
	uint64_t v = 0;

	switch (opt) {
	case 'l':
		bad = arg_addr(optarg, 0, addr, &err);
		break;
	case 'o':
		e->log = fopen(optarg, "ae");
		bad = e->log ? NULL : strerror(errno);
		break;
	case 'r':
		bad = arg_number(optarg, 1024, 262144, &v, &err);
		params->config.recv_size = (uint32_t)v;
		break;
	case 's':
		bad = arg_number(optarg, 1, RT_MAX_SEGMENTS, &v, &err);
		params->config.max_segments = (unsigned int)v;
		break;
	case 'c':
		bad = arg_number(optarg, 1, 16384, &v, &err);
		params->config.credits = (unsigned int)v;
		break;
	case 'i':
		bad = arg_number(optarg, 0, 60000, &v, &err);
		params->config.idle_ms = (unsigned int)v;
		break;
	case 'n':
		params->config.no_continuation = true;
		break;
	case 'u':
		e->roundup = true;
		break;
	case 'C':
		params->domain.crc = false;
		break;
	case 'v':
		bad = arg_rdma_versions(optarg, &params->config.versions, &err);
		break;
	case 'p':
		params->provider = fab_provider(optarg);
		bad = params->provider ? NULL : "that provider is not built in";
		break;
	default:
		return false;
	}
	if (bad)
		fprintf(stderr, "echo-server: %s\n", bad);
	return !bad;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct rt_params params = { .provider = fab_provider("iwarp"),
				    .domain = { .log = log_text, .crc = true },
				    .log = log_text };
	struct echo e = { 0 };
	struct arg_addr addr;
	struct arg_err err;
	struct sockaddr_storage bound;
	struct rt_listener *l;
	char name[64];
	uint8_t *base;
	int opt, rc;

	arg_addr("127.0.0.1:0", 0, &addr, &err);
	rt_config_defaults(&params.config);
	/* A gateway is one host, however many clients it has. */
	params.config.max_host_connections = params.config.max_connections;
	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
		if (!set_option(&e, &params, &addr, opt))
			return 2;
	params.config.request_user_size = sizeof(struct reverse);
	params.config.max_message = FLAT_MAX - 4096;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	rc = rt_instance_create(&params, &e.inst);
	if (rc) {
		fprintf(stderr, "echo-server: %s\n", strerror(-rc));
		return 1;
	}
	e.flat = malloc(FLAT_MAX);
	e.pattern = fab_pool_get(rt_instance_pool(e.inst), ECHO_PATTERN_LEN);
	if (!e.flat || !e.pattern)
		return 1;
	base = e.pattern->addr;
	for (uint32_t o = 0; o < ECHO_PATTERN_LEN; o++)
		base[o] = (uint8_t)(7 * o + (o >> 8));
	rc = rt_listen(e.inst, (struct sockaddr *)&addr.addr, addr.len, &ops,
		       &e, &l);
	if (rc) {
		fprintf(stderr, "echo-server: listen: %s\n", strerror(-rc));
		return 1;
	}
	rt_listener_addr(l, &bound);
	base_addr_name((struct sockaddr *)&bound, name, sizeof(name));
	printf("listening on %s\n", name);
	fflush(stdout);
	while (!stopping) {
		rt_run(e.inst, 0, e.delayed ? 2 : 200);
		run_delayed(&e, false);
	}
	run_delayed(&e, true);
	rt_listener_close(l);
	if (rt_instance_shutdown(e.inst, 3000, true)) {
		fprintf(stderr, "echo-server: connections left over\n");
		return 1;
	}
	fab_pool_put(e.pattern);
	rt_instance_destroy(e.inst);
	free(e.flat);
	if (e.log)
		fclose(e.log);
	return 0;
}
