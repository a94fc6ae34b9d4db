/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * invariants - what must hold after every step
 *
 * Of each connection: its counts are those of what it has; no credit is told without
 * its Receive; what one end knows of the other is not more than that has said. Of each
 * node: its accounts are the sums of its connections', and its limits are held. On the
 * wire: what rt_watch.h says.
 *
 * When nothing moves any more, what two ends know of each other agrees, nothing is
 * held for Calls, and each can still send.
 *
 * Threads: one, which has every strand.
 */
#include <errno.h>
#include <stdio.h>

#include "simulate.h"
#include "transport/core/core.h"
#include "transport/flow/credit.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"

/* How often what takes long is looked at, in steps. */
#define SELDOM 16

static void broken(const struct rt_conn *c, const char *what, uint64_t a,
		   uint64_t b) __attribute__((noreturn));
static void broken(const struct rt_conn *c, const char *what, uint64_t a,
		   uint64_t b)
{
	sim_fail("%s: %llu, %llu; %s %s, version %u", what,
		 (unsigned long long)a, (unsigned long long)b,
		 c->server ? "server" : "client", rt_state_names[c->state],
		 c->msg.version);
}

#define SAME(c, what, a, b)                          \
	do {                                         \
		uint64_t a_ = (a), b_ = (b);         \
		if (a_ != b_)                        \
			broken((c), (what), a_, b_); \
	} while (0)

#define AT_MOST(c, what, a, b)                       \
	do {                                         \
		uint64_t a_ = (a), b_ = (b);         \
		if (a_ > b_)                         \
			broken((c), (what), a_, b_); \
	} while (0)

/* ---- One connection -------------------------------------------------------- */

static void check_calls(const struct rt_conn *c)
{
	unsigned int all = 0, holding = 0, upper = 0, executing = 0,
		     reverse = 0, unread = 0;
	const struct rt_call_priv *call;
	size_t memory = 0, largest = c->msg.seq.memory;

	cds_list_for_each_entry(call, &c->resp.calls, link)
	{
		bool up = call->stage >= RT_CALL_UPPER;

		all++;
		holding += !call->posted_first;
		/* One that is over waits for its Reads alone. */
		upper += up;
		executing += call->stage == RT_CALL_UPPER && !call->waiting;
		reverse += call->pub.reverse;
		unread += call->unread;
		memory += call->memory;
		largest = MAX(largest, call->memory);
	}
	SAME(c, "count: Calls", c->calls_all, all);
	SAME(c, "credit: held by Calls", c->credit.holding, holding);
	SAME(c, "count: Calls above", c->calls_upper, upper);
	SAME(c, "count: Calls being executed", c->resp.calls_executing,
	     executing);
	SAME(c, "count: reverse Calls", c->calls_reverse, reverse);
	if (c->state < RT_CLOSING)
		SAME(c, "count: it waits for fewer Reads",
		     c->flow.reads_wanted != 0,
		     unread && !c->resp.reads_stalled);
	AT_MOST(c, "memory: of Calls", memory, c->flow.memory);
	/* Beyond the limit only one message has some, or something that grows
	 * alone. */
	if (largest)
		AT_MOST(c, "limit: memory of a connection", c->flow.memory,
			MAX(c->inst->cfg.max_conn_memory, largest));
}

static void check_requests(const struct rt_conn *c, struct sim_end *e)
{
	unsigned int all = 0, posted = 0, ranges = 0;
	const struct rt_request_priv *rq;

	cds_list_for_each_entry(rq, &c->req.requests, link)
	{
		all++;
		posted += rq->own.posted && !rq->finished;
		ranges += rq->nsegs + rq->nrsegs;
	}
	AT_MOST(c, "count: requests", all, e->calls_out);
	SAME(c, "count: requests posted", c->requests_out, posted);
	SAME(c, "credit: of own Calls",
	     c->server ? c->credit.reverse : c->credit.forward, posted);
	if (c->server)
		AT_MOST(c, "limit: reverse Calls", posted,
			c->inst->cfg.reverse_credits);
	if (c->fab)
		AT_MOST(c, "memory: open to the peer", loop_exposed(c->fab),
			ranges);
}

static void check_credit(const struct rt_conn *c, const struct sim_end *e)
{
	const struct rt_credit *k = &c->credit;

	if (c->msg.version != WIRE_VERS2 || c->state >= RT_CLOSING)
		return;
	/* When the fabric has ended they come back one after the other. */
	if (k->has_announced && !e->asked && !e->over &&
	    (int32_t)(k->announced - k->received) >
		    (int32_t)c->flow.recvs_posted)
		broken(c, "credit: told without a Receive",
		       k->announced - k->received, c->flow.recvs_posted);
	AT_MOST(c, "credit: advertised", rt_credit_advertised(k),
		k->max + k->reverse);
}

/* What the peer has said is as much as this end knows, and what this end has sent as
 * much as the peer has received. */
static void check_pair(const struct rt_conn *c, const struct rt_conn *p)
{
	if (c->msg.version != WIRE_VERS2 || p->msg.version != WIRE_VERS2)
		return;
	if ((int32_t)(c->credit.sent - p->credit.received) < 0)
		broken(c, "credit: received and not sent", c->credit.sent,
		       p->credit.received);
	if (p->credit.has_announced &&
	    (int32_t)(p->credit.announced - c->credit.limit) < 0)
		broken(c, "credit: a limit that nobody has told",
		       p->credit.announced, c->credit.limit);
	if (p->credit.has_announced &&
	    (int32_t)(c->credit.sent - p->credit.announced) > 1)
		broken(c, "credit: sent beyond the limit", c->credit.sent,
		       p->credit.announced);
}

static void check_state(const struct rt_conn *c, const struct sim_end *e)
{
	bool can_call = atomic_load(&c->strand.can_call);

	SAME(c, "state: over", atomic_load(&c->strand.is_closing),
	     c->state >= RT_CLOSING);
	if (can_call && (c->state != RT_OPEN || !e->established))
		broken(c, "state: it can call", c->state, e->established);
	/* 4.6: not before the client has said so. */
	if (can_call && c->server && c->msg.version == WIRE_VERS2 &&
	    (!c->theirs.complete || !c->theirs.reverse))
		broken(c,
		       "reverse: the client has not said that it takes Calls",
		       c->theirs.complete, c->theirs.reverse);
	if (!can_call && c->server && c->requests_out && c->state == RT_OPEN)
		broken(c, "reverse: Calls are out that could not be made",
		       c->requests_out, 0);
	if (c->nerrors >= c->max_errors && c->state < RT_CLOSING)
		SAME(c, "credit: advertised while too many ERRORs wait",
		     rt_credit_advertised(&c->credit), 0);
	AT_MOST(c, "count: Sends under way", c->sends_inflight,
		c->works_inflight);
	if (c->fab && c->flow.recvs_posted < loop_recvs_posted(c->fab))
		broken(c, "count: Receives", c->flow.recvs_posted,
		       loop_recvs_posted(c->fab));
}

/* Calls that come while it drains are dropped. */
static void check_drain(const struct rt_conn *c, struct sim_end *e)
{
	bool draining = c->state == RT_DRAINING;

	if (draining && e->draining)
		AT_MOST(c, "order: Calls taken while draining", c->calls_all,
			e->drain_calls);
	e->draining = draining;
	e->drain_calls = c->calls_all;
}

void sim_check_event(struct rt_conn *c, enum rt_event ev)
{
	struct sim_end *e = rt_conn_user(c);

	/* In the other worlds it is somebody else's. */
	if (e < sim->end || e >= sim->end + SIM_ENDS)
		return;
	if (e->closed || e->conn != c)
		return;
	check_drain(c, e);
	/* However late its poller is: what has come is read first, unless the fabric
	 * still delays it. */
	if ((ev == EV_TIMEOUT ||
	     (ev == EV_ABORT && c->end_error == -ETIMEDOUT)) &&
	    c->state < RT_CLOSING && !e->over && !e->asked &&
	    !e->faults.delay_polls && !rt_poll_delayed(c) && c->fab)
		SAME(c, "deadline: messages that have come and are not read",
		     c->flow.recvs_posted, loop_recvs_posted(c->fab));
}

/* Without a credit it uses the extra Receive, and a server leaves that to the client
 * for a while, but for its first message. */
void sim_check_grant(const struct sim_end *e)
{
	const struct rt_conn *c = e->conn;

	if (c->msg.version != WIRE_VERS2 || !e->server || e->spoiled ||
	    c->credit.sent == 1 ||
	    (int32_t)(c->credit.limit - c->credit.sent) >= 0)
		return;
	if (platform_ms() < c->last_active + RT_RESERVE_MS)
		broken(c, "credit: the reserve is the client's first",
		       platform_ms(), c->last_active);
}

void sim_check_end(struct sim_end *e)
{
	const struct rt_conn *c = e->conn;

	if (e->closed || c->state == RT_CLOSED)
		return;
	check_state(c, e);
	check_drain(c, e);
	check_calls(c);
	check_requests(c, e);
	check_credit(c, e);
	if (!e->spoiled && e->peer && !e->peer->closed)
		check_pair(c, e->peer->conn);
}

/* ---- One node -------------------------------------------------------------- */

static void check_accounts(const struct sim_node *n)
{
	const struct rt_instance *inst = n->inst;
	size_t memory = 0, replies = 0;
	unsigned int conns = 0, unauthenticated = 0;
	const struct rt_conn *c;
	struct cds_list_head *pos;

	cds_list_for_each_entry(c, &inst->conns, strand.inst_link)
	{
		conns++;
		memory += c->flow.memory;
		replies += atomic_load(&c->flow.reply_octets);
	}
	cds_list_for_each(pos, &inst->unauthenticated) unauthenticated++;
	/* One that has ended is not in the list, its Calls may be above still. */
	if (memory > atomic_load(&inst->memory))
		sim_fail(
			"memory: the connections of a node have %zu, it has %zu",
			memory, atomic_load(&inst->memory));
	if (replies > atomic_load(&inst->reply_octets))
		sim_fail(
			"memory: Replies of connections are %zu, of the node %zu",
			replies, atomic_load(&inst->reply_octets));
	if (conns != inst->nconns || unauthenticated != inst->nunauthenticated)
		sim_fail("count: %u connections, %u; %u unauthenticated, %u",
			 conns, inst->nconns, unauthenticated,
			 inst->nunauthenticated);
	if (n->server && conns > inst->cfg.max_connections)
		sim_fail("limit: %u connections, %u may be", conns,
			 inst->cfg.max_connections);
}

static void check_pool(struct fab_pool *pool)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(pool, &s);
	if (s.bytes_in_use > s.bytes_held || s.bytes_held > s.limit)
		sim_fail("limit: a pool of %zu octets holds %zu, %zu in use",
			 s.limit, s.bytes_held, s.bytes_in_use);
}

static void check_nodes(void)
{
	for (unsigned int i = 0; i < sim->nnodes; i++) {
		const struct sim_node *n = &sim->node[i];

		if (!n->inst)
			continue;
		check_accounts(n);
		if (!(sim->step % SELDOM))
			check_pool(rt_instance_pool(n->inst));
	}
}

/* ---- When ------------------------------------------------------------------ */

void sim_check(void)
{
	if (sim->watch.faults)
		sim_fail("wire: %s", sim->watch.first);
	for (unsigned int i = 0; i < sim->nends; i++)
		if (sim->end[i].busy)
			sim_check_end(&sim->end[i]);
	check_nodes();
}

static void check_quiet_end(const struct sim_end *e)
{
	const struct rt_conn *c = e->conn;

	SAME(c, "quiet: Calls", c->calls_all, 0);
	SAME(c, "quiet: requests", c->requests_out, 0);
	SAME(c, "quiet: Sends", c->sends_inflight, 0);
	SAME(c, "quiet: memory", c->flow.memory, 0);
	SAME(c, "quiet: Reads", c->inst->reads.octets, 0);
	SAME(c, "quiet: Replies", atomic_load(&c->flow.reply_octets), 0);
	SAME(c, "quiet: open to the peer", loop_exposed(c->fab), 0);
	SAME(c, "quiet: Receives", c->flow.recvs_posted,
	     loop_recvs_posted(c->fab));
}

static void check_quiet_pair(const struct rt_conn *c, const struct rt_conn *p)
{
	if (c->msg.version != WIRE_VERS2)
		return;
	SAME(c, "quiet: sent and received", c->credit.sent, p->credit.received);
	if (p->credit.has_announced)
		SAME(c, "quiet: the limit", c->credit.limit,
		     p->credit.announced);
	if (!rt_credit_available(&c->credit) && !c->credit.lacking &&
	    !p->credit.lacking)
		broken(c, "quiet: no credit is left", c->credit.sent,
		       c->credit.limit);
}

void sim_check_quiet(void)
{
	for (unsigned int i = 0; i < sim->nends; i++) {
		const struct sim_end *e = &sim->end[i], *p = e->peer;

		if (!e->busy || e->closed || e->spoiled || !e->established ||
		    e->conn->state != RT_OPEN || !p || p->closed ||
		    !p->established || p->conn->state != RT_OPEN)
			continue;
		check_quiet_end(e);
		check_quiet_pair(e->conn, p->conn);
	}
}
