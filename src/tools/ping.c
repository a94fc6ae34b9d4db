/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ping - rpcrdma-ping: NULL Calls over RPC-over-RDMA, and how long they take
 *
 * Context: one thread, which runs the poller itself: callbacks come from
 * rt_run() and rt_request_submit().
 */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/addr.h"
#include "base/clock.h"
#include "tools/ping.h"
#include "tools/rpc_tcp.h"
#include "tools/rpcmsg.h"
#include "rpcrdma/nfs.h"

#define CALL_ROOM 64
#define SHUTDOWN_MS 2000

struct slot {
	struct ping *p;
	struct rt_piece piece;
	uint64_t start;
	uint32_t version; /* of the program, in the outstanding Call */
	bool busy;
};

static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	interrupted = 1;
}

static void log_text(void *ctx, int level, const char *text)
{
	const struct ping_options *o = ctx;

	if (o->verbose || level <= LOG_ERR)
		fprintf(stderr, "rpcrdma-ping: %s\n", text);
}

/* ---- Calls -------------------------------------------------------------- */

static void ping_done(struct rt_request *rq);

static bool has_more(const struct ping *p)
{
	return !interrupted && !p->down &&
	       (!p->o.count || p->sent < p->o.count);
}

static void call_failed(struct ping *p, uint32_t xid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

static void call_failed(struct ping *p, uint32_t xid, const char *fmt, ...)
{
	char text[sizeof(p->first_failure)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!p->failed++)
		memcpy(p->first_failure, text, sizeof(text));
	if (!p->o.flood && !p->o.quiet && !p->o.json)
		printf("xid %08x: %s\n", xid, text);
}

static void submit(struct ping *p, struct rt_request *rq)
{
	struct slot *s = rt_request_user(rq);
	struct xw w;

	xw_init(&w, s->piece.addr, CALL_ROOM);
	rpc_call_head(&w, ++p->xid, p->o.program, p->o.version, p->o.proc,
		      false);
	s->piece.len = w.len;
	s->version = p->o.version;
	s->busy = true;
	p->busy++;
	p->sent++;
	rq->xid = p->xid;
	rq->pieces = &s->piece;
	rq->npieces = 1;
	rq->nitems = 0;
	rq->nsinks = 0;
	rq->reply_max = 512;
	rq->op_class = ULB_CLASS_null;
	rq->call_only = false;
	rq->done = ping_done;
	s->start = base_now_ns();
	rt_request_submit(p->conn, rq);
}

/* Only the head of the Reply matters. */
static int reply_head(const struct rt_request *rq, struct rpc_reply *rep)
{
	uint8_t head[512];
	size_t len = 0;

	for (unsigned int i = 0; i < rq->nreply && len < sizeof(head); i++) {
		size_t n = rq->reply[i].len;

		n = MIN(n, sizeof(head) - len);
		memcpy(head + len, rq->reply[i].addr, n);
		len += n;
	}
	return rpc_reply_decode(head, len, rep);
}

/* The server lacks this version of the program, and no version was given: use
 * its newest one, once, and repeat outstanding Calls. */
static bool takes_other(struct ping *p, const struct slot *s,
			const struct rpc_reply *rep)
{
	if (p->o.version_given || p->o.proc || rep->denied || !rep->high ||
	    interrupted || p->down || rt_conn_is_closing(p->conn))
		return false;
	if (p->other_taken)
		return s->version != p->o.version;
	if (rep->high == s->version)
		return false;
	if (!p->o.quiet && !p->o.json)
		printf("program %u: the server has no version %u, using %u\n",
		       p->o.program, s->version, rep->high);
	p->o.version = rep->high;
	p->other_taken = true;
	return true;
}

static void ping_done(struct rt_request *rq)
{
	struct slot *s = rt_request_user(rq);
	struct ping *p = s->p;
	uint64_t took = base_now_ns() - s->start;
	struct rpc_reply rep;

	s->busy = false;
	p->busy--;
	if (!rq->status && !reply_head(rq, &rep) && takes_other(p, s, &rep)) {
		p->sent--;
		rt_request_reset(rq);
		submit(p, rq);
		return;
	}
	if (rq->status == -EREMOTEIO) {
		call_failed(p, rq->xid, "the server answered %s",
			    wire_errcode_name(rq->error.code));
	} else if (rq->status) {
		call_failed(p, rq->xid, "%s", strerror(-rq->status));
	} else if (reply_head(rq, &rep)) {
		call_failed(p, rq->xid, "the Reply is malformed");
	} else if (rep.denied || rep.stat != RPC_ACCEPT_SUCCESS) {
		if (!rep.denied && rep.high)
			call_failed(
				p, rq->xid,
				"program %u: version %u is not served, %u to %u are: try --version %u",
				p->o.program, s->version, rep.low, rep.high,
				rep.high);
		else if (rep.low || rep.high)
			call_failed(p, rq->xid, "%s (%u to %u)",
				    rpc_reply_text(&rep), rep.low, rep.high);
		else
			call_failed(p, rq->xid, "%s", rpc_reply_text(&rep));
	} else {
		p->answered++;
		lat_add(&p->lat, took);
		if (!p->o.flood && !p->o.quiet && !p->o.json)
			printf("xid %08x: %.1f us\n", rq->xid,
			       (double)took / 1000);
	}
	rt_request_reset(rq);
	if (p->o.flood && has_more(p) && !rt_conn_is_closing(p->conn) &&
	    (!rq->status || rq->status == -EREMOTEIO))
		submit(p, rq);
}

/* ---- Connection --------------------------------------------------------- */

static void on_established(struct rt_conn *c)
{
	struct ping *p = rt_conn_user(c);

	p->up = true;
}

static void on_closed(struct rt_conn *c, int error, const char *reason)
{
	struct ping *p = rt_conn_user(c);

	p->down = true;
	p->error = error;
	snprintf(p->reason, sizeof(p->reason), "%s",
		 reason ? reason : strerror(-error));
}

static const struct rt_ops ping_ops = {
	.established = on_established,
	.closed = on_closed,
};

static int ping_connect(struct ping *p)
{
	const struct arg_addr *a = ping_address(p);

	return rt_connect(p->inst, 0, (const struct sockaddr *)&a->addr, a->len,
			  &ping_ops, p, &p->conn);
}

static int ping_setup(struct ping *p)
{
	struct ping_options *o = &p->o;
	struct rt_params params = {
		.provider = fab_provider(o->rdma.provider),
		.domain = o->rdma.domain,
		.config = o->rdma.config,
		.log = log_text,
		.log_ctx = o,
	};
	char fault[RT_AUTH_TEXT];
	int rc;

	params.domain.log = params.log;
	params.domain.log_ctx = params.log_ctx;
	rc = hostauth_start(&o->rdma.hostauth, &params, &p->auth, fault);
	if (rc && *fault)
		snprintf(p->reason, sizeof(p->reason), "%s", fault);
	if (!rc)
		rc = rt_instance_create(&params, &p->inst);
	if (rc)
		return rc;
	p->rq = calloc(o->depth, sizeof(struct rt_request *));
	p->calls = fab_pool_get(rt_instance_pool(p->inst),
				(size_t)CALL_ROOM * o->depth);
	if (!p->rq || !p->calls)
		return -ENOMEM;
	for (unsigned int i = 0; i < o->depth; i++) {
		struct slot *s;

		p->rq[i] = rt_request_alloc(p->inst);
		if (!p->rq[i])
			return -ENOMEM;
		s = rt_request_user(p->rq[i]);
		*s = (struct slot){
			.p = p,
			.piece = { .addr = (uint8_t *)p->calls->addr +
					   (size_t)CALL_ROOM * i,
				   .mr = p->calls->mr },
		};
	}
	return 0;
}

/* Run the transport until @until (ns), or @stop says so. */
static void run_until(struct ping *p, uint64_t until,
		      bool (*stop)(const struct ping *))
{
	while (!p->down && !stop(p)) {
		uint64_t now = base_now_ns();

		if (now >= until)
			return;
		rt_run(p->inst, 0,
		       until - now > 100000000 ?
			       100 :
			       (int)((until - now + 999999) / 1000000));
	}
}

static bool is_up(const struct ping *p)
{
	return p->up || p->down || interrupted;
}

static bool is_idle(const struct ping *p)
{
	return !p->busy;
}

static bool is_done(const struct ping *p)
{
	return !p->busy && !has_more(p);
}

static bool never(const struct ping *p)
{
	return interrupted;
}

static void ping_again(struct ping *p)
{
	if (p->conn)
		rt_conn_put(p->conn);
	p->conn = NULL;
	p->up = false;
	p->error = ping_connect(p);
	p->down = p->error != 0;
	snprintf(p->reason, sizeof(p->reason), "%s",
		 p->down ? strerror(-p->error) : "");
}

/* Wait until @until (ns) for the connection. After -EAGAIN, when the version
 * was not answered or refused, connect again. */
static void ping_up(struct ping *p, uint64_t until)
{
	for (unsigned int tries = 0; tries < 2; tries++) {
		if (p->down) {
			if (!p->conn || p->error != -EAGAIN)
				return;
			ping_again(p);
		}
		run_until(p, until, is_up);
	}
}

/* Was there an RDMA connection? */
static bool was_rdma(const struct ping *p)
{
	struct rt_conn_info info;

	if (!p->conn)
		return false;
	rt_conn_info(p->conn, &info);
	return info.local.ss_family != 0;
}

/* A peer that takes the connection and ends it without any Reply has refused it. */
static bool is_refused(const struct ping *p)
{
	struct rt_conn_info info;

	if (!p->down || !p->conn)
		return false;
	rt_conn_info(p->conn, &info);
	if (info.stats.replies_received)
		return false;
	switch (p->error) {
	case -ECONNRESET: /* also closed before RDMA has begun */
	case -EPIPE:
	case -EPERM: /* rejected */
		return true;
	case 0:
	case -EACCES: /* host authentication, by either end */
	case -EPROTONOSUPPORT:
		return was_rdma(p);
	default:
		return false;
	}
}

/* Where the reason does not say it. */
static const char *refusal_hint(const struct ping *p)
{
	return is_refused(p) && was_rdma(p) &&
			       (!p->error || p->error == -ECONNRESET) ?
		       " before any Reply: the server's log says why" :
		       "";
}

static void ping_flood(struct ping *p, uint64_t timeout)
{
	for (unsigned int i = 0; i < p->o.depth && has_more(p); i++) {
		struct slot *s = rt_request_user(p->rq[i]);

		if (!s->busy)
			submit(p, p->rq[i]);
	}
	while (!is_done(p) && !p->down) {
		uint64_t before = p->answered + p->failed;

		run_until(p, base_now_ns() + timeout, is_done);
		if (p->answered + p->failed == before)
			return; /* nothing for a whole time-out */
	}
}

static void one_by_one(struct ping *p, uint64_t timeout)
{
	while (has_more(p)) {
		uint64_t start = base_now_ns();

		submit(p, p->rq[0]);
		run_until(p, start + timeout, is_idle);
		if (p->busy)
			return;
		if (has_more(p))
			run_until(p, start + p->o.interval_ms * 1000000, never);
	}
}

static void ping_run(struct ping *p)
{
	const uint64_t timeout = p->o.timeout_ms * 1000000;

	while (has_more(p)) {
		if (p->o.flood)
			ping_flood(p, timeout);
		else
			one_by_one(p, timeout);
		if (!p->down || p->busy)
			return;
		ping_up(p, base_now_ns() + timeout);
	}
}

/* Returns false if it does not close. */
static bool ping_close(struct ping *p)
{
	uint64_t until = base_now_ns() + SHUTDOWN_MS * 1000000ull;

	if (!p->conn)
		return true;
	rt_conn_close(p->conn, p->busy != 0);
	while (!p->down && base_now_ns() < until)
		rt_run(p->inst, 0, 100);
	return p->down && !p->busy;
}

/* Say why there is no connection to the current address. */
static void ping_explain(struct ping *p)
{
	const struct arg_addr *a = ping_address(p);
	const struct sockaddr *sa = (const struct sockaddr *)&a->addr;
	char server[64];

	if (!p->down)
		snprintf(p->reason, sizeof(p->reason), "no answer");
	base_addr_name(sa, server, sizeof(server));
	fprintf(stderr, "rpcrdma-ping: no connection to %s: %s%s\n", server,
		p->reason, refusal_hint(p));
	/* Only if something was tried. RDMA devices have ports of their own,
	 * where no TCP is refused. */
	if (p->inst && p->error != -ECONNREFUSED && p->error != -EPERM &&
	    !was_rdma(p) &&
	    rpc_tcp_answers(sa, a->len, p->o.program, p->o.version, 2000))
		fprintf(stderr,
			"rpcrdma-ping: this is a port of RPC over TCP, such as NFS; that of RPC-over-RDMA is 20049 by default\n");
}

/* Try the addresses of the server in turn. */
static void ping_first(struct ping *p)
{
	for (;; p->address++) {
		ping_again(p);
		ping_up(p, base_now_ns() + p->o.timeout_ms * 1000000);
		if (p->up)
			return;
		ping_explain(p);
		if (interrupted || p->address + 1 == p->o.rdma.server.n ||
		    !ping_close(p))
			return;
	}
}

static void ping_teardown(struct ping *p)
{
	bool clean;

	if (!p->inst)
		return;
	clean = ping_close(p);
	if (p->conn)
		rt_conn_put(p->conn);
	if (!clean || rt_instance_shutdown(p->inst, SHUTDOWN_MS, true)) {
		fprintf(stderr,
			"rpcrdma-ping: the connection did not close in time\n");
		return;
	}
	for (unsigned int i = 0; p->rq && i < p->o.depth; i++)
		if (p->rq[i])
			rt_request_free(p->rq[i]);
	fab_pool_put(p->calls);
	rt_instance_destroy(p->inst);
	auth_gss_destroy(p->auth);
	free(p->rq);
}

static int report_devices(const struct ping_options *o)
{
	struct fab_report how = {
		.conn_memory = rt_config_receives(&o->rdma.config, false),
	};
	int n = fab_report(fab_provider(o->rdma.provider), stdout, &how);

	return n > 0 ? EXIT_ALL : EXIT_NO_DEVICE;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_signal };
	struct ping *p = calloc(1, sizeof(*p));
	uint64_t start;
	int rc, status;

	if (!p)
		return EXIT_SOME;
	status = ping_options(&p->o, argc, argv);
	p->o.rdma.config.request_user_size = sizeof(struct slot);
	if (status < 0 && p->o.report)
		status = report_devices(&p->o);
	if (status >= 0)
		goto out;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	lat_init(&p->lat);
	p->started = base_now_ns();
	p->xid = arc4random();
	rc = ping_setup(p);
	if (rc) {
		if (p->inst)
			snprintf(p->reason, sizeof(p->reason), "%s",
				 strerror(-rc));
		else if (!*p->reason)
			snprintf(p->reason, sizeof(p->reason),
				 "provider %s: %s", p->o.rdma.provider,
				 arg_provider_fault(rc));
		p->error = rc;
		p->down = true;
		ping_explain(p);
	} else {
		ping_first(p);
	}
	if (!p->up) {
		if (p->o.json && p->inst)
			ping_report_json(p, 0);
		status = is_refused(p) ? EXIT_REFUSED : EXIT_NO_CONN;
		goto out;
	}
	rt_conn_info(p->conn, &p->info);
	if (!p->o.json && !p->o.quiet)
		ping_report_connection(p);
	start = base_now_ns();
	ping_run(p);
	start = base_now_ns() - start;
	rt_conn_info(p->conn, &p->info);
	if (p->o.json)
		ping_report_json(p, start);
	else
		ping_report_summary(p, start);
	if (p->down)
		fprintf(stderr, "rpcrdma-ping: the connection ended: %s%s\n",
			p->reason, refusal_hint(p));
	if (is_refused(p))
		status = EXIT_REFUSED;
	else if (p->answered == p->sent && p->sent && !p->down)
		status = EXIT_ALL;
	else
		status = EXIT_SOME;
out:
	ping_teardown(p);
	free(p);
	return status;
}
