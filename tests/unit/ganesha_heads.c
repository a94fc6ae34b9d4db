/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How often the head of one Call is decoded on its way through the server: from
 * the transport by way of ganesha/serve/conn_ops.c to a worker, here a function, and back.
 */
#include <arpa/inet.h>

#include "ganesha/serve/server.h"
#include "ganesha/serve/xprt.h"
#include "heads.h"
#include "loop/loop.h"
#include "rpcrdma/request.h"
#include "unit.h"

/* ---- In the place of the rest of the server ----------------------------- */

static unsigned int ended;
/* Of the Call that came last. */
static struct {
	unsigned int calls, denied;
	bool vetted, torn;
	struct ulb_call head;
} last;
static bool ranged; /* it gets results by ranges */
static struct gr_server server;
static struct xp_ops ops = {
	.xp_reply = nrt_xp_reply,
	.xp_checksum = nrt_xp_checksum,
};
static struct gr_host host = { .replay.lock = PTHREAD_MUTEX_INITIALIZER };
static struct gr_xprt xprt = { .xprt.xp_ops = &ops,
			       .host = &host,
			       .client.names = &server.names };

struct gr_xprt *gr_xprt_create(struct gr_server *s, struct rt_conn *c,
			       SVCXPRT *parent)
{
	xprt.srv = s;
	xprt.conn = c;
	return &xprt;
}

void gr_xprt_closed(struct gr_xprt *x)
{
	rt_conn_put(x->conn);
	ended++;
}

bool gr_xprt_dead(SVCXPRT *x)
{
	return false;
}

enum xprt_stat gr_xprt_decode(struct svc_req *req)
{
	return XPRT_IDLE;
}

static struct svc_req *alloc_req(SVCXPRT *x, XDR *xdrs)
{
	struct svc_req *req = calloc(1, sizeof(*req));

	req->rq_xprt = x;
	req->rq_xdrs = xdrs;
	return req;
}

/* Results of a READ of NFSv3 that fails, which will do for all. */
static bool encode_failed(XDR *xdrs, void *where)
{
	return XDR_PUTUINT32(xdrs, 70) && XDR_PUTUINT32(xdrs, 0);
}

/* What a worker, and Ganesha with it, does for a Call. */
void gr_workers_submit(struct gr_workers *w, struct svc_req *req)
{
	struct nrt_call *nc = nrt_call_of(req->rq_xdrs);
	bool no_dispatch, malformed;

	last.calls++;
	last.vetted = nc->call->vetted;
	last.torn = nc->call->torn;
	last.head = nc->head;
	nc->call->ranged = ranged;
	if (nrt_denies(req, &malformed)) {
		last.denied++;
		nrt_deny(req);
	} else {
		rpc_msg_init(&req->rq_msg);
		CU_ASSERT_TRUE(xdr_dplx_decode(req->rq_xdrs, &req->rq_msg));
		CU_ASSERT_EQUAL(svc_auth_authenticate(req, &no_dispatch),
				AUTH_OK);
		SVC_CHECKSUM(req, req->rq_xdrs->x_data,
			     xdr_size_inline(req->rq_xdrs));
		req->rq_msg.RPCM_ack.ar_results.proc = encode_failed;
		req->rq_msg.RPCM_ack.ar_results.where = req;
		CU_ASSERT_EQUAL(svc_sendreply(req), XPRT_IDLE);
		SVCAUTH_RELEASE(req);
	}
	XDR_DESTROY(req->rq_xdrs);
	free(req);
}

void gr_workers_run(struct gr_workers *w, struct svc_req *req)
{
	gr_workers_submit(w, req);
}

/* ---- The client --------------------------------------------------------- */

static struct fab_domain *dom;
static struct rt_listener *listener;
static struct rt_instance *client;
static struct rt_conn *conn;
static struct fab_buf *buf; /* a Call, and room for a result behind it */
static unsigned int done;
static int status;

static void run(void)
{
	for (int quiet = 0; quiet < 3;)
		quiet = rt_run(server.inst, 0, 0) + rt_run(client, 0, 0) ?
				0 :
				quiet + 1;
}

static void client_closed(struct rt_conn *c, int error, const char *reason)
{
	ended++;
	rt_conn_put(c);
}

static const struct rt_ops client_ops = { .closed = client_closed };

static void call_done(struct rt_request *rq)
{
	done++;
	status = rq->status;
	rt_request_free(rq);
}

static struct rt_instance *instance(size_t user)
{
	struct rt_params p = { .provider = &fab_loop_ops,
			       .shared_domain = dom,
			       .foreign_threads = true,
			       .config.call_user_size = user };
	struct rt_instance *inst = NULL;

	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&p, &inst), 0);
	return inst;
}

static void up(void)
{
	struct fab_domain_params dp = { 0 };
	struct sockaddr_in addr = { .sin_family = AF_INET,
				    .sin_port = htons(20049) };

	CU_ASSERT_EQUAL_FATAL(fab_domain_open(&fab_loop_ops, &dp, &dom), 0);
	memset(&server, 0, sizeof(server));
	server.inst = instance(sizeof(struct gr_call));
	server.cfg.rt.max_read_chunks = 8;
	server.provider = "loop";
	server.alloc_cb = alloc_req;
	client = instance(0);
	CU_ASSERT_EQUAL_FATAL(bc_server_create(server.inst, NULL, &server.back),
			      0);
	CU_ASSERT_EQUAL_FATAL(rt_listen(server.inst, (struct sockaddr *)&addr,
					sizeof(addr), &gr_server_ops, &server,
					&listener),
			      0);
	CU_ASSERT_EQUAL_FATAL(rt_connect(client, 0, (struct sockaddr *)&addr,
					 sizeof(addr), &client_ops, NULL,
					 &conn),
			      0);
	run();
	buf = fab_pool_get(rt_instance_pool(client), 65536);
	CU_ASSERT_PTR_NOT_NULL_FATAL(buf);
}

static void down(void)
{
	fab_pool_put(buf);
	ended = 0;
	rt_conn_close(conn, false);
	run();
	CU_ASSERT_EQUAL(ended, 2);
	rt_listener_close(listener);
	CU_ASSERT_EQUAL(rt_instance_shutdown(client, 1000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(server.inst, 1000, true), 0);
	bc_server_destroy(server.back);
	rt_instance_destroy(client);
	rt_instance_destroy(server.inst);
	fab_domain_close(dom);
}

#define DATA 20000
#define ROOM 4096 /* for a result */

static struct {
	size_t n; /* words in buf */
	struct rt_piece piece;
	struct rt_item item;
	struct rt_sink sink;
} msg;

static void words(size_t n, const uint32_t *w)
{
	for (size_t i = 0; i < n; i++)
		((uint32_t *)buf->addr)[msg.n++] = htonl(w[i]);
}

#define WORDS(...)                                     \
	words(sizeof((uint32_t[]){ __VA_ARGS__ }) / 4, \
	      (const uint32_t[]){ __VA_ARGS__ })

static void begin(uint32_t rpcvers, uint32_t prog, uint32_t vers, uint32_t proc)
{
	memset(buf->addr, 0, buf->size);
	msg.n = 0;
	WORDS(7, 0, rpcvers, prog, vers, proc, 0, 0, 0, 0);
}

/* An eligible argument. */
static void data(uint32_t len)
{
	WORDS(len);
	msg.item = (struct rt_item){ .position = (uint32_t)msg.n * 4,
				     .length = len,
				     .present = true };
	msg.n += len / 4;
}

/* Send it; @item: with a Read chunk; @sink: with a Write chunk. */
static void send_call(bool item, bool sink)
{
	struct rt_request *rq = rt_request_alloc(client);

	CU_ASSERT_PTR_NOT_NULL_FATAL(rq);
	msg.piece = (struct rt_piece){ buf->addr, msg.n * 4, buf->mr };
	msg.sink = (struct rt_sink){ .addr = (uint8_t *)buf->addr + buf->size -
					     ROOM,
				     .len = ROOM,
				     .mr = buf->mr };
	rq->xid = 7;
	rq->pieces = &msg.piece;
	rq->npieces = 1;
	rq->items = &msg.item;
	rq->nitems = item;
	rq->sinks = &msg.sink;
	rq->nsinks = sink;
	rq->reply_max = 400;
	rq->done = call_done;
	done = 0;
	heads = 0;
	memset(&last, 0, sizeof(last));
	rt_request_submit(conn, rq);
	run();
	CU_ASSERT_EQUAL(done, 1);
}

/* ---- Tests -------------------------------------------------------------- */

static void once(void)
{
	CU_ASSERT_EQUAL(status, 0);
	CU_ASSERT_EQUAL(last.calls, 1);
	CU_ASSERT_EQUAL(heads, 1);
}

static void nfs3(void)
{
	up();
	/* NULL */
	begin(2, ULB_PROG_NFS, 3, 0);
	send_call(false, false);
	once();
	CU_ASSERT_EQUAL(last.head.op_class, ULB_CLASS_null);
	/* READ, also by ranges */
	for (int i = 0; i < 2; i++) {
		begin(2, ULB_PROG_NFS, 3, 6);
		WORDS(4, 0xf11e, 0, 0, 4096);
		ranged = i;
		send_call(false, true);
		ranged = false;
		once();
		CU_ASSERT_FALSE(last.vetted);
		CU_ASSERT_EQUAL(last.head.op_class, ULB_CLASS_read);
	}
	/* WRITE with a Read chunk, and without; a long one in a Call chunk */
	for (int i = 0; i < 2; i++) {
		begin(2, ULB_PROG_NFS, 3, 7);
		WORDS(4, 0xf11e, 0, 0, DATA, 2);
		data(DATA);
		send_call(!i, false);
		once();
		CU_ASSERT_EQUAL(last.vetted, !i);
		CU_ASSERT_EQUAL(last.head.op_class, ULB_CLASS_write);
		CU_ASSERT_EQUAL(last.head.body, 40);
	}
	down();
}

static void nfs4(void)
{
	up();
	/* SEQUENCE, WRITE, DESTROY_SESSION: what stands behind the data is
	 * known as what stands before them. */
	for (int i = 0; i < 2; i++) {
		begin(2, ULB_PROG_NFS, 4, 1);
		WORDS(0, 1, 3, 53, 1, 2, 3, 4, 1, 0, 0, 0);
		WORDS(38, 0, 0, 0, 0, 0, 0, 2);
		data(DATA);
		WORDS(44, 5, 6, 7, 8);
		send_call(!i, false);
		once();
		CU_ASSERT_EQUAL(last.vetted, !i);
		CU_ASSERT_EQUAL(last.head.op_class, ULB_CLASS_write);
		CU_ASSERT_TRUE(last.head.ends_session);
		CU_ASSERT_TRUE(last.head.sequence);
		CU_ASSERT_EQUAL(last.head.session[3], 1);
	}
	down();
}

/* Once, too; with a Read chunk that does not fit its argument, it is torn. */
static void others(void)
{
	up();
	begin(2, ULB_PROG_NFS, 3, 7);
	WORDS(4, 0xf11e, 0, 0, DATA, 2);
	data(DATA);
	msg.item.length -= 8;
	send_call(true, false);
	once();
	CU_ASSERT(last.vetted && last.torn);
	/* No such version of RPC */
	begin(3, ULB_PROG_NFS, 3, 7);
	WORDS(4, 0xf11e, 0, 0, DATA, 2);
	data(DATA);
	send_call(true, false);
	once();
	CU_ASSERT(last.vetted && last.denied && !last.head.readable);
	send_call(false, false);
	once();
	CU_ASSERT(!last.vetted && last.denied && !last.head.readable);
	/* Another program may have no Read chunk: the client sends it again
	 * without. */
	begin(2, 100000, 3, 7);
	data(DATA);
	send_call(true, false);
	CU_ASSERT_EQUAL(last.calls, 1);
	CU_ASSERT_FALSE(last.vetted);
	CU_ASSERT_EQUAL(heads, 2);
	down();
}

static const struct unit_test tests[] = {
	{ "NFSv3", nfs3 },
	{ "NFSv4", nfs4 },
	{ "others", others },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-heads", tests)
