/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn_ops - the operations of connections, which the transport calls
 *
 * Context: the strand of a connection, so they must not block.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/clock.h"
#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"
#include "ntirpc/svc_call.h"
#include "rpcrdma/nfs.h"

/* Format "1.5 MiB". Returns @text. */
static const char *bytes_text(uint64_t n, char text[24])
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB",
					     "TiB" };
	unsigned int i = 0;
	double v = (double)n;

	while (i < 4 && v >= 1024) {
		v /= 1024;
		i++;
	}
	snprintf(text, 24, i ? "%.1f %s" : "%.0f %s", v, units[i]);
	return text;
}

static void op_established(struct rt_conn *c)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct rt_conn_info info;

	rt_conn_info(c, &info);
	rt_log(c, LOG_NOTICE,
	       "connected: RPC-over-RDMA version %u, provider %s%s%s",
	       info.version, x->srv->provider, *info.auth_peer ? ", host " : "",
	       info.auth_peer);
}

static void log_end(struct rt_conn *c, const struct gr_xprt *x, int error,
		    const char *reason)
{
	struct rt_conn_info info;
	const struct rt_stats *st = &info.stats;
	char in[24], out[24];

	rt_conn_info(c, &info);
	rt_log(c, error && error != -ECONNRESET ? LOG_WARNING : LOG_NOTICE,
	       "closed: %s; after %.1f s, %" PRIu64
	       " Calls, %s received, %s sent",
	       reason, (double)(base_now_ns() - x->since) / 1e9,
	       st->calls_received,
	       bytes_text(st->inline_bytes_received + st->read_bytes +
				  st->placed_bytes_received,
			  in),
	       bytes_text(st->inline_bytes_sent + st->write_bytes +
				  st->placed_bytes_sent,
			  out));
}

static void *op_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	struct gr_server *s = ctx;
	struct gr_xprt *x = gr_xprt_create(s, c, s->parent);

	if (x) {
		x->since = base_now_ns();
		rt_log(c, LOG_DEBUG, "accepted");
	} else {
		rt_log(c, LOG_INFO, "refused, the server is stopping");
		*refuse = true;
	}
	return x;
}

static uint32_t op_vet(struct rt_conn *c, struct rt_vet *v, uint32_t *max)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct nrt_call *nc = v->user;
	struct iovec iov[RT_MAX_PIECES];
	struct ulb_read reads[RT_MAX_CHUNKS];
	unsigned int niov, n, most;
	bool misfit;

	/* Nothing is read for a torn Call. */
	for (n = 0; n < v->nreads && !v->torn; n++)
		reads[n] = (struct ulb_read){ v->reads[n].position,
					      v->reads[n].length };
	niov = rt_to_iov(v->pieces, v->npieces, iov);
	ulb_call_head(iov, niov, &nc->head);
	if (ulb_take_reads(iov, niov, &nc->head, reads, n, v->total,
			   x->srv->cfg.rt.max_read_chunks, &most, &misfit)) {
		v->torn = v->torn || misfit;
		return 0;
	}
	*max = most;
	return RDMA2_ERR_READ_CHUNKS;
}

/* Returns nrt_call.peer of this connection. The peer is authenticated before its first Call. */
static uint64_t peer_sum(struct gr_xprt *x, struct rt_conn *c)
{
	struct rt_conn_info info;

	if (!x->peer_known) {
		rt_conn_info(c, &info);
		x->peer = x->srv->secret ^
			  nrt_checksum(info.auth_peer, strlen(info.auth_peer));
		x->peer_known = true;
	}
	return x->peer;
}

/*
 * Returns how many octets of results may go to the Write chunks of @call. A device that sends
 * only registered memory needs a copy of them. So they may be as long as the segments of one
 * message that this end accepts, and a quarter of the connection's memory.
 */
static size_t write_room(const struct rt_config *cfg,
			 const struct rt_call *call)
{
	size_t most = (size_t)cfg->max_segments * cfg->max_segment_size;
	size_t sum = 0;

	for (unsigned int i = 0; i < call->nwrites; i++)
		sum += call->writes[i];
	most = MIN(most, cfg->max_conn_memory / 4);
	return MIN(sum, most);
}

static void op_call(struct rt_conn *c, struct rt_call *call)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct gr_server *s = x->srv;
	struct nrt_call *nc;
	struct svc_req *req;
	XDR *xdrs;

	/* The connection is about to end. */
	if (gr_xprt_dead(&x->xprt)) {
		rt_call_drop(call);
		return;
	}
	xdrs = nrt_call_open(call, rt_instance_pool(s->inst),
			     rt_instance_config(s->inst)->max_message);
	if (!xdrs) {
		rt_call_drop(call);
		return;
	}
	req = s->alloc_cb(&x->xprt, xdrs);
	req->rq_resume_cb = gr_xprt_decode;
	nc = rt_call_user(call);
	memset(&((struct gr_call *)(void *)nc)->waiter, 0,
	       sizeof(struct gr_waiter));
	nc->owner = req;
	nc->back = s->back;
	nc->write_room = write_room(rt_instance_config(s->inst), call);
	nc->bound = COMPAT_BOUND ? &x->bound : NULL;
	nc->client = &x->client;
	nc->peer = peer_sum(x, c);
	nc->replay = &x->host->replay;
	nc->conn = rt_conn_id(c);
	gr_workers_submit(&s->workers, req);
}

/* Run a request that has waited. */
static void resume_request(struct gr_server *s, struct svc_req *req)
{
	if (atomic_load(&s->workers_gone))
		gr_workers_run(&s->workers, req);
	else
		gr_workers_submit(&s->workers, req);
}

static void op_resume(struct rt_conn *c, struct rt_call *call)
{
	struct svc_req *req = ((struct nrt_call *)rt_call_user(call))->owner;

	resume_request(((struct gr_xprt *)rt_conn_user(c))->srv, req);
}

void gr_server_resume(struct gr_hosts *hosts, struct svc_req *req)
{
	resume_request((struct gr_server *)((char *)hosts -
					    offsetof(struct gr_server, hosts)),
		       req);
}

static void op_closed(struct rt_conn *c, int error, const char *reason)
{
	struct gr_xprt *x = rt_conn_user(c);
	struct rt_conn_info info;

	if (!x)
		return;
	rt_conn_info(c, &info);
	if (!error && !info.calls_unanswered)
		nrt_replay_close(&x->host->replay, info.id);
	log_end(c, x, error, reason);
	bc_conn_closed(x->srv->back, c);
	gr_xprt_closed(x);
}

const struct rt_ops gr_server_ops = {
	.open = op_open,
	.established = op_established,
	.vet = op_vet,
	.call = op_call,
	.resume = op_resume,
	.closed = op_closed,
	.logs_end = true,
};
