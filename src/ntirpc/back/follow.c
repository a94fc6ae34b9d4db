/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * follow - Calls follow their sessions from one connection to the next.
 * clnt.h says what for, back.h tells of threads and locks.
 *
 * In a slot of a session the client takes Calls in one order only, and which
 * slot a Call has is not known here. So all of a session go in the order in
 * which they were made: nothing is sent while an earlier one is parked, is about
 * to be sent again, or is still out on another connection.
 */
#include "ntirpc/back/back.h"

#include <errno.h>

static bool can_call(const struct nrt_back *b)
{
	return b->conn && rt_conn_can_call(b->conn);
}

static bool full(const struct nrt_back *b)
{
	return b->nparked >= NRT_PARKED_MAX ||
	       b->host->nparked >= NRT_HOST_PARKED;
}

/* Must an earlier one come back first: by another connection, or perhaps to be
 * sent again? */
static bool held_up(const struct nrt_back *b)
{
	struct rcall *c;

	cds_list_for_each_entry(c, &b->flying, at)
	{
		if (c->on != b->conn || c->delayed)
			return true;
	}
	return false;
}

/* Can anything be sent now, but for what waits? */
static bool is_up(const struct nrt_back *b)
{
	if (!b->conn || b->announced || b->pause > now_ms())
		return false;
	return b->state == NRT_LONE ||
	       (b->state == NRT_UP && can_call(b) && !held_up(b));
}

static bool may_wait(const struct nrt_clnts *n, const struct nrt_back *b)
{
	return !n->closed && (nrt_back_lives(b) || b->state == NRT_FRESH);
}

static bool must_wait(const struct nrt_clnts *n, const struct nrt_back *b)
{
	if (b->nparked || b->held)
		return !n->closed && !nrt_back_ended(b);
	return may_wait(n, b) && !is_up(b);
}

bool nrt_follow_may_wait(struct rclient *client)
{
	struct nrt_clnts *n = client->n;
	bool yes;

	pthread_mutex_lock(&n->lock);
	yes = client->back && may_wait(n, client->back);
	pthread_mutex_unlock(&n->lock);
	return yes;
}

static void park(struct nrt_clnts *n, struct nrt_back *b, struct rcall *c)
{
	int64_t now = now_ms();

	nrt_rcall_delist(c);
	nrt_back_park(b, c);
	c->parked = true;
	b->host->nparked++;
	if (!b->nparked++)
		cds_list_add(&b->busy, &n->busy);
	if (!c->patience)
		c->patience = now + rt_instance_config(n->inst)->reverse_ms;
	if (!c->cc)
		now += NRT_CHECK_MS;
	else if (nrt_back_named(b) || !c->timeout)
		now = c->patience;
	else
		now += c->timeout;
	nrt_rcall_enlist(n, c, now);
}

static void unpark(struct nrt_clnts *n, struct nrt_back *b, struct rcall *c)
{
	nrt_rcall_delist(c);
	cds_list_del(&c->at);
	c->parked = false;
	b->host->nparked--;
	if (!--b->nparked)
		cds_list_del(&b->busy);
}

static void fly(struct nrt_back *b, struct rcall *c)
{
	rt_conn_get(b->conn);
	c->on = b->conn;
	c->rq->call_max = b->call_max;
	c->tries++;
	cds_list_add_tail(&c->at, &b->flying);
}

enum nrt_begin nrt_follow_begin(struct rcall *c)
{
	struct nrt_back *b = c->client->back;
	struct nrt_clnts *n = c->client->n;

	if (!b)
		return NRT_FAIL;
	c->order = ++n->order;
	if (must_wait(n, b) && !c->waited) {
		if (full(b)) {
			nrt_back_fault(n, b);
			return NRT_FAIL;
		}
		/* It is going: the client should know. */
		if (nrt_back_named(b) && !can_call(b))
			nrt_back_event(n, b, NRT_LOST);
		park(n, b, c);
		if (b->pause)
			nrt_back_wake(n); /* for its end */
		return NRT_PARKED;
	}
	if (!b->conn)
		return NRT_FAIL;
	fly(b, c);
	return NRT_SEND;
}

/*
 * CB_SEQUENCE has failed, so its slot is as it was: Linux' client, for one, takes
 * no callback while it binds a connection. Ganesha counts the slot's sequence on
 * all the same; so what may be repeated is, as it was, and the rest is a fault.
 */
static bool repeats(struct nrt_clnts *n, struct nrt_back *b, struct rcall *c,
		    uint32_t sequence)
{
	int64_t now = now_ms();

	if (sequence != ULB_NFS4ERR_DELAY ||
	    (c->patience && c->patience < now) || full(b)) {
		if (sequence != ULB_NFS4ERR_RETRY_UNCACHED_REP)
			nrt_back_fault(n, b);
		return false;
	}
	c->tries--; /* not taken */
	c->delayed = true;
	b->pause = now + NRT_PAUSE_MS;
	park(n, b, c);
	return true;
}

bool nrt_follow_done(struct rcall *c, int status, uint32_t sequence)
{
	struct nrt_back *b = c->client->back;
	struct nrt_clnts *n = c->client->n;
	bool parked = false;

	cds_list_del(&c->at);
	switch (status) {
	case 0:
		if (sequence && nrt_back_lives(b) && !c->waited && !n->closed)
			parked = repeats(n, b, c, sequence);
		break;
	case -EPROTO: /* it has been executed, whatever came back */
		break;
	case -ENOTCONN:
	case -EOPNOTSUPP:
		c->tries--; /* not sent */
		/* fallthrough */
	case -ECONNRESET:
		if (c->on == b->conn)
			nrt_back_event(n, b, NRT_LOST);
		parked = nrt_back_lives(b) && !c->waited && !n->closed &&
			 !full(b) && c->tries < NRT_TRIES;
		if (parked)
			park(n, b, c);
		/* fallthrough */
	default:
		if (!parked && nrt_back_lives(b) && !c->waited)
			nrt_back_fault(n, b);
		break;
	}
	if (b->nparked)
		nrt_back_wake(n);
	nrt_back_put(n, b);
	return parked;
}

struct rcall *nrt_follow_find(struct rclient *client, const struct clnt_req *cc)
{
	struct nrt_back *b = client->back;
	struct rcall *c;

	if (!b)
		return NULL;
	cds_list_for_each_entry(c, &b->flying, at)
	{
		if (c->cc == cc)
			return c;
	}
	cds_list_for_each_entry(c, &b->parked, at)
	{
		if (c->cc == cc)
			return c;
	}
	return NULL;
}

/* Nobody will ever send it. */
static bool hopeless(struct nrt_clnts *n, struct nrt_back *b)
{
	if (n->closed || !nrt_back_lives(b))
		return true;
	if (nrt_back_has_client(b)) {
		b->alone = 0;
		return false;
	}
	if (!b->alone)
		b->alone = now_ms();
	return b->alone + NRT_ALONE_MS < now_ms();
}

bool nrt_follow_expire(struct rcall *c, bool claimed)
{
	struct nrt_back *b = c->client->back;
	struct nrt_clnts *n = c->client->n;
	int64_t next = now_ms();

	if (b->state == NRT_FRESH) {
		/* The Call that it was made for is not answered, it seems. */
		nrt_back_event(n, b, NRT_ANSWERED);
		nrt_back_wake(n);
	}
	if (!claimed && hopeless(n, b)) {
		unpark(n, b, c);
		return true;
	}
	if (!n->closed && nrt_back_lives(b))
		next += NRT_CHECK_MS;
	nrt_rcall_delist(c);
	nrt_rcall_enlist(n, c, next);
	return false;
}

int64_t nrt_follow_wake(struct nrt_clnts *n)
{
	int64_t now = now_ms(), next = INT64_MAX;
	struct nrt_back *b;

	cds_list_for_each_entry(b, &n->busy, busy)
	{
		if (b->pause && b->pause <= now) {
			b->pause = 0;
			n->resend = true;
		} else if (b->pause && b->pause < next) {
			next = b->pause;
		}
	}
	return next;
}

static struct nrt_back *sendable(struct nrt_clnts *n)
{
	struct nrt_back *b;

	cds_list_for_each_entry(b, &n->busy, busy)
	{
		if (is_up(b))
			return b;
	}
	return NULL;
}

void nrt_follow_resend(struct nrt_clnts *n)
{
	struct nrt_back *b;
	struct rcall *c;

	n->resend = false;
	while ((b = sendable(n))) {
		struct rt_conn *conn = b->conn;

		c = cds_list_first_entry(&b->parked, struct rcall, at);
		unpark(n, b, c);
		if (c->cc)
			nrt_rcall_enlist(n, c,
					 c->timeout ? now_ms() + c->timeout :
						      INT64_MAX);
		fly(b, c);
		b->held++;
		rt_conn_get(conn);
		nrt_back_unlock(n);
		rt_request_submit(conn, c->rq);
		rt_conn_put(conn);
		pthread_mutex_lock(&n->lock);
		b->held--;
		nrt_back_put(n, b);
		nrt_back_unlock(n);
		pthread_mutex_lock(&n->lock);
	}
}
