/* SPDX-License-Identifier: BSD-3-Clause */
/* How connections end in order: drain, idle time, shutdown, refusal. */
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>

#include "rt_raw.h"
#include "unit.h"

static const struct rt_config with_user = { .request_user_size = 8 };

/* Calls in progress are answered, new ones dropped, then it ends. */
static void drain(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 20000);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	rt_conn_close(r.p.server, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_FALSE(r.p.server_closed);
	/* An ERROR would be the end of the RPC; the end of the connection
	 * lets the client send it again. */
	rt_raw_call(&r, 2, NULL, NULL, 8);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	while (rt_raw_next(&r) == RDMA2_REPLY_MIDDLE)
		;
	CU_ASSERT_EQUAL(r.m.p.htype, RDMA2_REPLY_INLINE);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_EQUAL(r.error, 0);
	CU_ASSERT_TRUE(r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.server_error, 0);
	CU_ASSERT_EQUAL(r.p.dones, 1);
	rt_raw_close(&r);
}

static unsigned int unanswered(const struct rt_raw *r)
{
	struct rt_conn_info info;

	rt_conn_info(r->p.server, &info);
	return info.calls_unanswered;
}

/* What the peer may send again on another connection: until its Reply has
 * arrived. */
static void counts_unanswered(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	CU_ASSERT_EQUAL(unanswered(&r), 0);
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	rt_raw_call(&r, 2, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(unanswered(&r), 2);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_REPLY_INLINE);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(unanswered(&r), 1);
	/* One that is dropped is not answered. */
	rt_call_drop(r.p.held[--r.p.nheld]);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(unanswered(&r), 1);
	rt_raw_close(&r);
}

/* [A7] holds in the end as well: one message before the client's second. */
static void drain_early(void)
{
	struct rt_config cfg = { .credits = 3 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	/* Too short to be looked at, but a GRANT for it is due. */
	rt_raw_send(&r, "", 0);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_conn_close(r.p.server, false);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rt_raw_next(&r), 0);
	CU_ASSERT_TRUE(r.down);
	/* A Call first: its Reply is the one message, another one waits. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(r.p.nheld, 1);
	rt_conn_close(r.p.server, false);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down);
	rt_raw_close(&r);
}

/* A Call that is not answered does not hold it for ever. */
static void drain_time(void)
{
	struct rt_config cfg = { .drain_ms = 150 };
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	rt_raw_run(&r);
	rt_conn_close(r.p.server, false);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_TRUE(r.p.server_closed);
	/* The upper layer still has it, and its answer comes to nothing. */
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_EQUAL(r.p.dones, 1);
	rt_raw_close(&r);
}

/* Our client: Calls that are under way are waited for. */
static void client_drain(void)
{
	struct rt_rpc a, b;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_rpc_init(&r.p, r.p.client, &a, 1, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_init(&r.p, r.p.client, &b, 2, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &a);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	rt_conn_close(r.p.client, false);
	rt_rpc_submit(r.p.client, &b);
	CU_ASSERT_TRUE(rt_raw_silent(&r));
	CU_ASSERT_TRUE(b.done);
	CU_ASSERT_EQUAL(b.rq->status, -ENOTCONN);
	CU_ASSERT_FALSE(a.done);
	rt_raw_reply(&r, 1, NULL, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(a.done);
	CU_ASSERT_EQUAL(a.rq->status, 0);
	CU_ASSERT_TRUE(r.down);
	CU_ASSERT_TRUE(r.p.client_closed);
	rt_rpc_free(&a);
	rt_rpc_free(&b);
	rt_raw_close(&r);
}

/* What comes behind the end of a connection is no loss, and not counted as one. */
static void crossed(void)
{
	struct wire_segment seg = { .handle = 1, .length = 64 };
	struct wire_chunk_desc chunk = { &seg, 1 };
	struct wire_reply_desc external = { .reply = &chunk };
	struct rt_rpc rpc;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_server(&r, &with_user));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_rpc_init(&r.p, r.p.client, &rpc, 1, 0, false, 8, 0, 0, 0, 0);
	rt_rpc_submit(r.p.client, &rpc);
	CU_ASSERT_EQUAL(rt_raw_next(&r), RDMA2_CALL_INLINE);
	/* There was no Reply chunk: our ERROR is the last that goes. */
	rt_raw_reply(&r, 1, &external, NULL, 0);
	rt_raw_grant(&r);
	rt_raw_connprop(&r, true, NULL, 0);
	rt_raw_run(&r);
	CU_ASSERT_EQUAL(rpc.rq->status, -EPROTO);
	CU_ASSERT_TRUE(r.p.client_closed);
	CU_ASSERT_EQUAL(rt_pair_stats(r.p.client_inst).dropped, 0);
	rt_rpc_free(&rpc);
	rt_raw_close(&r);
}

static void idle(void)
{
	struct rt_config cfg = { .idle_ms = 300, .drain_ms = 600000 };
	struct rt_raw r;

	/* Settled and silent. */
	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, &cfg));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_raw_grant(&r);
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	CU_ASSERT_EQUAL(r.error, 0);
	CU_ASSERT_EQUAL(r.p.server_error, 0);
	/* After its first message only. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	CU_ASSERT_TRUE(RT_RAW_WAIT(&r, r.down));
	/* A Call in progress is no idleness. */
	CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	r.p.hold = true;
	rt_raw_call(&r, 1, NULL, NULL, 8);
	for (unsigned int i = 0; i < 60; i++)
		rt_raw_nap(&r);
	CU_ASSERT_FALSE(r.down);
	rt_pair_answer(&r.p, r.p.held[--r.p.nheld]);
	CU_ASSERT_TRUE(rt_raw_is_reply(&r, 1));
	rt_raw_close(&r);
}

/* At once, by this side: its owner is told so. */
static void at_once(void)
{
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	CU_ASSERT_TRUE(rt_raw_greet(&r));
	rt_conn_close(r.p.server, true);
	rt_raw_run(&r);
	CU_ASSERT_TRUE(r.down && r.p.server_closed);
	CU_ASSERT_EQUAL(r.p.server_error, -ECONNABORTED);
	CU_ASSERT_STRING_EQUAL(r.p.server_reason, "ended by this side");
	rt_raw_close(&r);
}

/* All at once, with Calls in progress and in both roles. */
static void shutdown_all(void)
{
	struct rt_config cfg = with_user;
	struct rt_rpc r[10];
	struct rt_pair p;

	/* Longer than the shutdown waits: what is left then is aborted, also
	 * when this thread is kept from looking in time. */
	cfg.drain_ms = 600000;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &cfg, &cfg, NULL));
	p.hold = true;
	for (uint32_t i = 0; i < 10; i++) {
		rt_rpc_init(&p, p.client, &r[i], 1 + i, 9000, true, 64, 0, 0, 0,
			    0);
		rt_rpc_submit(p.client, &r[i]);
	}
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(p.nheld, 10);
	/* The server's Calls are still with the upper layer. */
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.client_inst, 50, true), 0);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	while (p.nheld)
		rt_pair_answer(&p, p.held[--p.nheld]);
	CU_ASSERT_EQUAL(p.dones, 10);
	/* The listener goes with it. */
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.server_inst, 1000, true), 0);
	p.listener = NULL;
	for (uint32_t i = 0; i < 10; i++) {
		CU_ASSERT_TRUE(r[i].done);
		CU_ASSERT_EQUAL(r[i].rq->status, -ECONNRESET);
		rt_rpc_free(&r[i]);
	}
	CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(p.client_error, -ECONNREFUSED);
	rt_pair_close(&p);
}

/* With no time nothing is waited for, and what is in progress goes on. */
static void shutdown_begun(void)
{
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.server_inst, 0, false), 1);
	p.listener = NULL;
	rt_pair_run(&p);
	CU_ASSERT_FALSE(p.server_closed);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(rt_rpc_check(&r));
	CU_ASSERT_TRUE(p.server_closed);
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.server_inst, 0, true), 0);
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

/*
 * References and Calls outlive the connection, and even the instance: they
 * neither count nor are waited for, and give back what they hold at the end.
 */
static void outlive(void)
{
	struct rt_conn_info info;
	struct rt_conn *held;
	struct rt_totals t;
	struct rt_pair p;
	struct rt_rpc r;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 50000, true, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	held = p.server;
	rt_conn_get(held);
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(r.done && p.server_closed);
	rt_rpc_free(&r);
	rt_totals(p.server_inst, &t);
	CU_ASSERT_EQUAL(t.connections, 0);
	CU_ASSERT_EQUAL(t.stats.calls_received, 1);
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.server_inst, 600000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(p.client_inst, 600000, true), 0);
	CU_ASSERT_FALSE(rt_instance_held(p.client_inst));
	CU_ASSERT_TRUE(rt_instance_held(p.server_inst));
	rt_instance_destroy(p.client_inst);
	rt_instance_destroy(p.server_inst);

	rt_conn_close(held, false);
	rt_conn_info(held, &info);
	CU_ASSERT_STRING_EQUAL(info.state, "closed");
	CU_ASSERT_EQUAL(info.stats.calls_received, 1);
	rt_pair_answer(&p, p.held[0]);
	CU_ASSERT_EQUAL(p.dones, 1);
	rt_conn_put(held);
	fab_domain_close(p.dom);
}

static size_t in_use(struct rt_instance *inst)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(rt_instance_pool(inst), &s);
	return s.bytes_in_use;
}

/* Whoever still refers to it: an ended connection has no Receives and no other
 * buffers, but for those of Calls that are still out. */
static void gives_back(void)
{
	struct rt_rpc r[3];
	struct rt_conn *held;
	struct rt_pair p;
	size_t all;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	p.hold = true;
	for (uint32_t i = 0; i < 3; i++) {
		rt_rpc_init(&p, p.client, &r[i], 1 + i, 50000, true, 64, 0, 0,
			    0, 0);
		rt_rpc_submit(p.client, &r[i]);
	}
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 3);
	rt_pair_answer(&p, p.held[--p.nheld]);
	rt_pair_run(&p);
	held = p.server;
	rt_conn_get(held);
	all = in_use(p.server_inst);
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	/* 50000 octets are in one of 64 KiB. */
	CU_ASSERT_TRUE(in_use(p.server_inst) < all / 2);
	while (p.nheld) {
		CU_ASSERT_TRUE(in_use(p.server_inst) > p.nheld * 50000);
		rt_pair_answer(&p, p.held[--p.nheld]);
	}
	CU_ASSERT_EQUAL(in_use(p.server_inst), 0);
	/* Of its own Calls each has its Reply. */
	for (uint32_t i = 0; i < 3; i++)
		rt_rpc_free(&r[i]);
	CU_ASSERT_EQUAL(in_use(p.client_inst), 0);
	/* And can still be asked for what it was. */
	rt_conn_close(held, true);
	CU_ASSERT_TRUE(rt_conn_is_closing(held));
	rt_conn_put(held);
	rt_pair_close(&p);
}

/* A host whose connection has ended has not got rid of its Calls with it. */
static void calls_count(void)
{
	struct rt_config s = with_user;
	struct rt_pair p;
	struct rt_rpc r;

	s.max_host_connections = 1;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &s, NULL));
	p.hold = true;
	rt_rpc_init(&p, p.client, &r, 1, 0, false, 64, 0, 0, 0, 0);
	rt_rpc_submit(p.client, &r);
	rt_pair_run(&p);
	CU_ASSERT_EQUAL_FATAL(p.nheld, 1);
	rt_conn_close(p.client, true);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	p.client_closed = p.server_closed = false;
	CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPERM);
	p.client_closed = false;
	rt_pair_answer(&p, p.held[--p.nheld]);
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	rt_rpc_free(&r);
	rt_pair_close(&p);
}

#define FIRSTS 8

/* The XIDs of our own messages, which go out before anybody has said who he is,
 * tell nothing of addresses or times here: they have little in common. */
static void xids(void)
{
	uint32_t xid[FIRSTS], same = ~0u;
	struct rt_raw r;

	CU_ASSERT_TRUE_FATAL(rt_raw_client(&r, NULL));
	for (unsigned int i = 0; i < FIRSTS; i++) {
		CU_ASSERT_TRUE(rt_raw_greet(&r));
		xid[i] = r.m.p.xid;
		same &= ~(xid[i] ^ xid[0]);
		CU_ASSERT_TRUE_FATAL(rt_raw_again(&r));
	}
	CU_ASSERT_TRUE(__builtin_popcount(same) < 16);
	rt_raw_close(&r);
}

/* More than @max, or of one host more than @host, are turned away, and there
 * is room again. */
static void too_many_of(unsigned int max, unsigned int host)
{
	struct rt_config s = with_user;
	struct rt_conn *first, *held;
	struct rt_pair p;

	s.max_connections = max;
	s.max_host_connections = host;
	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &s, NULL));
	first = p.client;
	/* Held beyond its end, it takes nobody's place. */
	held = p.server;
	rt_conn_get(held);
	CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_FALSE(p.server_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPERM);
	p.client_closed = false;
	rt_conn_close(first, false);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	rt_conn_put(held);
	rt_pair_close(&p);
}

static void too_many(void)
{
	too_many_of(1, 0);
	too_many_of(0, 1);
}

/* The connection for which there is no memory: the server's second. */
static unsigned int conns_left = UINT_MAX;

int __real_rt_conn_new(struct rt_instance *inst, unsigned int poller,
		       bool server, const struct rt_ops *ops,
		       const struct sockaddr *to, socklen_t to_len,
		       struct rt_conn **out);
int __wrap_rt_conn_new(struct rt_instance *inst, unsigned int poller,
		       bool server, const struct rt_ops *ops,
		       const struct sockaddr *to, socklen_t to_len,
		       struct rt_conn **out);
int __wrap_rt_conn_new(struct rt_instance *inst, unsigned int poller,
		       bool server, const struct rt_ops *ops,
		       const struct sockaddr *to, socklen_t to_len,
		       struct rt_conn **out)
{
	if (server && !conns_left--)
		return -ENOMEM;
	return __real_rt_conn_new(inst, poller, server, ops, to, to_len, out);
}

static void no_memory(void)
{
	struct rt_conn *first;
	struct rt_totals before, after;
	struct rt_pair p;

	CU_ASSERT_TRUE_FATAL(rt_pair_open(&p, &with_user, &with_user, NULL));
	first = p.client;
	rt_totals(p.server_inst, &before);
	conns_left = 0;
	CU_ASSERT_TRUE(rt_pair_connect_to(&p, 20049));
	rt_pair_run(&p);
	conns_left = UINT_MAX;
	CU_ASSERT_TRUE(p.client_closed);
	CU_ASSERT_FALSE(p.server_closed);
	CU_ASSERT_EQUAL(p.client_error, -EPERM);
	rt_totals(p.server_inst, &after);
	CU_ASSERT_EQUAL(after.refused[RT_REFUSED_other],
			before.refused[RT_REFUSED_other] + 1);
	CU_ASSERT_EQUAL(after.accepted, before.accepted);
	/* The other one goes on until it is closed; and there is memory again. */
	p.client_closed = false;
	rt_conn_close(first, false);
	rt_pair_run(&p);
	CU_ASSERT_TRUE(p.client_closed && p.server_closed);
	CU_ASSERT_TRUE(rt_pair_connect(&p));
	rt_pair_close(&p);
}

/* A connection that fails before it has begun leaves nothing behind. */
static void no_way(void)
{
	struct rt_params params = { .provider = fab_provider("iwarp") };
	/* No family that the provider knows. */
	struct sockaddr_in in = { .sin_family = AF_UNIX };
	struct rt_instance *inst;
	struct rt_ops ops = { 0 };
	struct rt_conn *c = NULL;

	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&params, &inst), 0);
	for (unsigned int i = 0; i < 20; i++)
		CU_ASSERT_EQUAL(rt_connect(inst, 0, (struct sockaddr *)&in,
					   sizeof(in), &ops, NULL, &c),
				-EAFNOSUPPORT);
	CU_ASSERT_PTR_NULL(c);
	CU_ASSERT_EQUAL(rt_instance_shutdown(inst, 1000, true), 0);
	rt_instance_destroy(inst);
}

#define SPREAD 3

struct spread {
	unsigned int up, closed, calls, replies;
	unsigned int by_peer; /* of those that are closed */
	unsigned int on[SPREAD]; /* connections of each poller */
};

static void *spread_open(struct rt_conn *c, void *ctx, bool *refuse)
{
	return ctx;
}

static void spread_call(struct rt_conn *c, struct rt_call *call)
{
	((struct spread *)rt_conn_user(c))->calls++;
	rt_call_refuse(call, RDMA2_ERR_SYSTEM);
}

static void spread_up(struct rt_conn *c)
{
	((struct spread *)rt_conn_user(c))->up++;
}

static void spread_closed(struct rt_conn *c, int error, const char *reason)
{
	struct spread *s = rt_conn_user(c);

	CU_ASSERT_EQUAL(error, 0);
	s->closed++;
	s->by_peer += !strcmp(reason, "closed by the peer");
	rt_conn_put(c);
}

static void spread_done(struct rt_request *rq)
{
	CU_ASSERT_EQUAL(rq->status, -EREMOTEIO);
	(**(struct spread **)rt_request_user(rq)).replies++;
	rt_request_free(rq);
}

static void spread_count(const struct rt_conn_info *info, void *arg)
{
	((struct spread *)arg)->on[info->poller]++;
}

static void run_all(struct rt_instance *server, struct rt_instance *client)
{
	for (unsigned int i = 0; i < SPREAD; i++)
		rt_run(server, i, 0);
	rt_run(client, 0, 1);
}

/* A listener's connections go to all pollers in turn, and work there. */
static void spread(void)
{
	static const struct rt_ops server_ops = { .open = spread_open,
						  .established = spread_up,
						  .call = spread_call,
						  .closed = spread_closed };
	static const struct rt_ops client_ops = { .established = spread_up,
						  .closed = spread_closed };
	struct rt_params sp = { .provider = fab_provider("iwarp"),
				.pollers = SPREAD };
	struct rt_params cp = { .provider = fab_provider("iwarp") };
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	static uint32_t words[10];
	struct rt_piece piece = { words, sizeof(words), NULL };
	struct spread s = { 0 }, c = { 0 };
	struct rt_instance *server, *client;
	struct rt_conn *conn[2 * SPREAD];
	struct sockaddr_storage at;
	struct rt_listener *l;

	cp.config.request_user_size = sizeof(void *);
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&sp, &server), 0);
	CU_ASSERT_EQUAL_FATAL(rt_instance_create(&cp, &client), 0);
	CU_ASSERT_EQUAL_FATAL(rt_listen(server, (struct sockaddr *)&in,
					sizeof(in), &server_ops, &s, &l),
			      0);
	rt_listener_addr(l, &at);
	for (unsigned int i = 0; i < 2 * SPREAD; i++)
		CU_ASSERT_EQUAL_FATAL(
			rt_connect(client, 0, (struct sockaddr *)&at,
				   sizeof(in), &client_ops, &c, &conn[i]),
			0);
	for (unsigned int i = 0; i < 5000 && c.up + s.up < 4 * SPREAD; i++)
		run_all(server, client);
	CU_ASSERT_EQUAL(c.up, 2 * SPREAD);
	CU_ASSERT_EQUAL(s.up, 2 * SPREAD);
	rt_for_each_conn(server, spread_count, &s);
	for (unsigned int i = 0; i < SPREAD; i++)
		CU_ASSERT_EQUAL(s.on[i], 2);
	for (unsigned int i = 0; i < 2 * SPREAD; i++) {
		struct rt_request *rq = rt_request_alloc(client);

		*(struct spread **)rt_request_user(rq) = &c;
		rq->xid = 0;
		rq->pieces = &piece;
		rq->npieces = 1;
		rq->reply_max = 100;
		rq->done = spread_done;
		rt_request_submit(conn[i], rq);
	}
	for (unsigned int i = 0; i < 5000 && c.replies < 2 * SPREAD; i++)
		run_all(server, client);
	CU_ASSERT_EQUAL(s.calls, 2 * SPREAD);
	CU_ASSERT_EQUAL(c.replies, 2 * SPREAD);
	for (unsigned int i = 0; i < 2 * SPREAD; i++)
		rt_conn_close(conn[i], false);
	for (unsigned int i = 0; i < 5000 && c.closed + s.closed < 4 * SPREAD;
	     i++)
		run_all(server, client);
	CU_ASSERT_EQUAL(s.closed, 2 * SPREAD);
	/* The provider knows how, though it was in order. */
	CU_ASSERT_EQUAL(s.by_peer, 2 * SPREAD);
	CU_ASSERT_EQUAL(rt_instance_shutdown(client, 10000, true), 0);
	CU_ASSERT_EQUAL(rt_instance_shutdown(server, 10000, true), 0);
	rt_instance_destroy(client);
	rt_instance_destroy(server);
}

static struct {
	struct rt_pair p;
	unsigned int dones, late;
} resubmit;

/* The upper layer tries three times, whatever comes of it. */
static void submit_again(struct rt_request *rq)
{
	resubmit.late += resubmit.p.client_closed;
	if (++resubmit.dones < 3)
		rt_request_submit(resubmit.p.client, rq);
}

/* closed() comes when all requests are done, also those that a done submits. */
static void done_before_closed(void)
{
	struct rt_rpc a;

	CU_ASSERT_TRUE_FATAL(
		rt_pair_open(&resubmit.p, &with_user, &with_user, NULL));
	resubmit.dones = resubmit.late = 0;
	resubmit.p.hold = true;
	rt_rpc_init(&resubmit.p, resubmit.p.client, &a, 1, 0, false, 8, 0, 0, 0,
		    0);
	a.rq->done = submit_again;
	rt_request_submit(resubmit.p.client, a.rq);
	rt_pair_run(&resubmit.p);
	CU_ASSERT_EQUAL(resubmit.dones, 0);
	rt_conn_close(resubmit.p.client, true);
	rt_pair_run(&resubmit.p);
	CU_ASSERT_TRUE(resubmit.p.client_closed);
	CU_ASSERT_EQUAL(resubmit.dones, 3);
	CU_ASSERT_EQUAL(resubmit.late, 0);
	CU_ASSERT_EQUAL(a.rq->status, -ENOTCONN);
	while (resubmit.p.nheld)
		rt_call_drop(resubmit.p.held[--resubmit.p.nheld]);
	rt_rpc_free(&a);
	rt_pair_close(&resubmit.p);
}

static const struct unit_test tests[] = {
	{ "drain", drain },
	{ "unanswered", counts_unanswered },
	{ "drain early", drain_early },
	{ "drain time", drain_time },
	{ "client drain", client_drain },
	{ "crossed", crossed },
	{ "idle", idle },
	{ "at once", at_once },
	{ "shutdown", shutdown_all },
	{ "shutdown begun", shutdown_begun },
	{ "outlive", outlive },
	{ "gives back", gives_back },
	{ "Calls count", calls_count },
	{ "XIDs", xids },
	{ "too many", too_many },
	{ "no memory", no_memory },
	{ "no way", no_way },
	{ "spread", spread },
	{ "done before closed", done_before_closed },
	{ NULL, NULL },
};

UNIT_MAIN("transport-end", tests)
