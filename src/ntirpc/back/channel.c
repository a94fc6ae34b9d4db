/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel - back channels, and which session each belongs to. clnt.h says what for,
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Back channels (under the lock) ----------------------------------- */

static unsigned int bucket_of(const uint8_t id[ULB_SESSION_ID])
{
	uint32_t sum = 0;

	/* Whoever makes them counts in some octet. */
	for (unsigned int i = 0; i < ULB_SESSION_ID; i++)
		sum = sum * 31 + id[i];
	return (sum ^ sum >> 8) % NRT_BUCKETS;
}

static struct nrt_back *find(struct nrt_clnts *n,
			     const uint8_t id[ULB_SESSION_ID])
{
	struct nrt_back *b;

	cds_list_for_each_entry(b, &n->bucket[bucket_of(id)], link)
	{
		if (!memcmp(b->id, id, ULB_SESSION_ID))
			return b;
	}
	return NULL;
}

bool nrt_back_has_client(const struct nrt_back *b)
{
	struct rclient *client;

	cds_list_for_each_entry(client, &b->clients, link)
	{
		if (!(__atomic_load_n(&client->clnt.cl_flags,
				      __ATOMIC_RELAXED) &
		      CLNT_FLAG_DESTROYING))
			return true;
	}
	return false;
}

void nrt_back_wake(struct nrt_clnts *n)
{
	n->resend = true;
	pthread_cond_signal(&n->timer);
}

static struct cds_list_head *on_bucket(struct nrt_clnts *n,
				       const struct rt_conn *c)
{
	return &n->on[rt_conn_id(c) % NRT_BUCKETS];
}

/* To a connection that nrt_clnts_lost() is yet to be called for. */
static void set_conn(struct nrt_clnts *n, struct nrt_back *b, struct rt_conn *c)
{
	rt_conn_get(c);
	b->conn = c;
	cds_list_add(&b->on, on_bucket(n, c));
}

/* The one that it had, to be put. */
static struct rt_conn *take_conn(struct nrt_back *b)
{
	struct rt_conn *c = b->conn;

	b->conn = NULL;
	if (c)
		cds_list_del(&b->on);
	return c;
}

/* Its end is done by nrt_back_unlock(). */
static void discard(struct nrt_clnts *n, struct nrt_back *b)
{
	nrt_back_event(n, b, NRT_GIVEN_UP);
	nrt_host_leave(b);
	cds_list_del(&b->rest);
	if (b->conn)
		cds_list_del(&b->on);
	cds_list_del(&b->link);
	cds_list_add(&b->link, &n->gone);
}

/* Neither Calls nor Replies have to do with it. */
static bool is_quiet(struct nrt_back *b)
{
	return cds_list_empty(&b->parked) && cds_list_empty(&b->flying) &&
	       !b->held && !b->announced;
}

static bool is_idle(struct nrt_back *b)
{
	return cds_list_empty(&b->clients) && is_quiet(b);
}

static void rest(struct nrt_clnts *n, struct nrt_back *b)
{
	if (b->alone && !cds_list_empty(&b->rest))
		return;
	if (!b->alone)
		b->alone = now_ms();
	if (cds_list_empty(&n->rest)) {
		n->sweep = now_ms() + NRT_SWEEP_MS;
		pthread_cond_signal(&n->timer);
	}
	cds_list_del(&b->rest);
	cds_list_add_tail(&b->rest, &n->rest);
}

void nrt_back_put(struct nrt_clnts *n, struct nrt_back *b)
{
	if (!is_idle(b))
		return;
	if (!nrt_back_lives(b) || n->closed) {
		discard(n, b);
		return;
	}
	nrt_back_event(n, b, NRT_IDLE);
	rest(n, b);
}

int64_t nrt_back_sweep(struct nrt_clnts *n)
{
	int64_t now = now_ms();

	if (cds_list_empty(&n->rest))
		return INT64_MAX;
	if (n->sweep > now)
		return n->sweep;
	n->sweep = now + NRT_SWEEP_MS;
	while (!cds_list_empty(&n->rest)) {
		struct nrt_back *b =
			cds_list_first_entry(&n->rest, struct nrt_back, rest);

		if (!is_idle(b)) {
			/* Something has come back to it. */
			cds_list_del_init(&b->rest);
			continue;
		}
		if (b->alone + NRT_ALONE_MS >= now)
			return n->sweep;
		discard(n, b);
	}
	return INT64_MAX;
}

/* If nothing happens with it and its connection has ended, or it is at rest: no
 * CLIENT has it any longer. False: it is in use. */
static bool give_way(struct nrt_clnts *n, struct nrt_back *b)
{
	struct rclient *client, *tmp;

	if (!is_quiet(b) || (b->conn && !is_idle(b)))
		return false;
	cds_list_for_each_entry_safe(client, tmp, &b->clients, link)
	{
		cds_list_del(&client->link);
		client->back = NULL;
	}
	discard(n, b);
	return true;
}

static void free_back(struct nrt_back *b)
{
	if (b->conn)
		rt_conn_put(b->conn);
	free(b);
}

void nrt_back_unlock(struct nrt_clnts *n)
{
	struct nrt_back *b, *tmp;
	struct cds_list_head gone;

	CDS_INIT_LIST_HEAD(&gone);
	cds_list_splice(&n->gone, &gone);
	CDS_INIT_LIST_HEAD(&n->gone);
	pthread_mutex_unlock(&n->lock);
	cds_list_for_each_entry_safe(b, tmp, &gone, link) free_back(b);
}

/* ---- CLIENTs ---------------------------------------------------------- */

int nrt_back_add(struct rclient *client, struct rt_conn *c, bool fresh)
{
	struct nrt_back *b = calloc(1, sizeof(*b));
	struct nrt_clnts *n = client->n;
	struct in6_addr host;
	int rc = -EOPNOTSUPP;

	if (!b)
		return -ENOMEM;
	rt_conn_host(c, &host);
	CDS_INIT_LIST_HEAD(&b->rest);
	CDS_INIT_LIST_HEAD(&b->clients);
	CDS_INIT_LIST_HEAD(&b->parked);
	CDS_INIT_LIST_HEAD(&b->flying);
	b->maker = pthread_self();
	b->made_on = rt_conn_id(c);
	b->nameable = true;
	b->call_max = fresh ? 0 : UINT32_MAX;
	pthread_mutex_lock(&n->lock);
	/* If so, the end has not been told here yet. */
	if (rt_conn_can_call(c))
		rc = nrt_host_join(n, b, &host, give_way);
	if (!rc) {
		set_conn(n, b, c);
		cds_list_add(&b->link, &n->unnamed);
		cds_list_add(&client->link, &b->clients);
		nrt_back_begin(n, b, fresh);
		client->back = b;
		b = NULL;
	}
	nrt_back_unlock(n);
	free(b);
	return rc;
}

void nrt_back_remove(struct rclient *client)
{
	cds_list_del(&client->link);
	nrt_back_put(client->n, client->back);
}

struct rt_conn *nrt_back_conn(struct rclient *client)
{
	struct rt_conn *c = NULL;

	pthread_mutex_lock(&client->n->lock);
	if (client->back && client->back->conn) {
		c = client->back->conn;
		rt_conn_get(c);
	}
	pthread_mutex_unlock(&client->n->lock);
	return c;
}

/* ---- Sessions --------------------------------------------------------- */

void nrt_clnts_lost(struct nrt_clnts *n, const struct rt_conn *c)
{
	struct nrt_back *b, *tmp;

	pthread_mutex_lock(&n->lock);
	cds_list_for_each_entry_safe(b, tmp, on_bucket(n, c), on)
	{
		if (b->conn != c)
			continue;
		/* Not the last one: the strand has its own. */
		rt_conn_put(take_conn(b));
		if (!cds_list_empty(&b->clients))
			nrt_back_event(n, b, NRT_LOST);
	}
	pthread_mutex_unlock(&n->lock);
}

/* Of the CLIENT that this thread has made a moment ago while it executed a Call
 * of @c, which may have ended since. */
static struct nrt_back *made_here(struct nrt_clnts *n, const struct rt_conn *c)
{
	struct nrt_back *b;

	cds_list_for_each_entry(b, &n->unnamed, link)
	{
		if (b->nameable && b->made_on == rt_conn_id(c) &&
		    pthread_equal(b->maker, pthread_self()) &&
		    nrt_back_has_client(b))
			return b;
	}
	return NULL;
}

void nrt_back_park(struct nrt_back *b, struct rcall *c)
{
	struct cds_list_head *after = b->parked.prev;

	while (after != &b->parked &&
	       cds_list_entry(after, struct rcall, at)->order > c->order)
		after = after->prev;
	cds_list_add(&c->at, after);
}

/* The CLIENT of @from, and its Calls, are those of @to. */
static void join(struct nrt_clnts *n, struct nrt_back *to,
		 struct nrt_back *from)
{
	struct rclient *client, *t;
	struct rcall *c, *u;

	cds_list_for_each_entry_safe(client, t, &from->clients, link)
	{
		cds_list_del(&client->link);
		cds_list_add(&client->link, &to->clients);
		client->back = to;
	}
	cds_list_for_each_entry_safe(c, u, &from->parked, at)
	{
		cds_list_del(&c->at);
		nrt_back_park(to, c);
	}
	if (from->nparked) {
		cds_list_del(&from->busy);
		if (!to->nparked)
			cds_list_add(&to->busy, &n->busy);
		to->nparked += from->nparked;
		to->host->nparked += from->nparked;
		from->host->nparked -= from->nparked;
		from->nparked = 0;
	}
	cds_list_splice(&from->flying, &to->flying);
	CDS_INIT_LIST_HEAD(&from->flying);
	to->alone = 0;
	/* The timer thread may be sending a Call that was parked there. */
	nrt_back_event(n, from, NRT_ANSWERED);
	from->nameable = false;
	nrt_back_put(n, from);
}

/* That of the session; one made here gets its name. */
static struct nrt_back *name(struct nrt_clnts *n,
			     const uint8_t id[ULB_SESSION_ID],
			     const struct rt_conn *c)
{
	struct nrt_back *b = find(n, id), *made = made_here(n, c);

	if (made && b) {
		join(n, b, made);
	} else if (made) {
		b = made;
		cds_list_del(&b->link);
		b->bucket = bucket_of(id);
		cds_list_add(&b->link, &n->bucket[b->bucket]);
		memcpy(b->id, id, ULB_SESSION_ID);
		nrt_back_event(n, b, NRT_NAMED);
	}
	return b;
}

/* @c is its connection, unless that has ended. Returns the one it had, to be
 * put. */
static struct rt_conn *rebind(struct nrt_clnts *n, struct nrt_back *b,
			      struct rt_conn *c)
{
	struct rt_conn *old = NULL;

	if (rt_conn_can_call(c) && b->conn != c) {
		old = take_conn(b);
		set_conn(n, b, c);
	}
	if (!b->conn || b->conn == c)
		nrt_back_event(n, b,
			       b->conn && rt_conn_can_call(c) ? NRT_BOUND :
								NRT_LOST);
	return old;
}

/* The Reply that says so has been sent, or could not be. */
static void announced(struct nrt_clnts *n, struct nrt_back *b)
{
	b->announced--;
	nrt_back_wake(n);
	nrt_back_put(n, b);
}

/* Whoever waits for these is told soon, and then they go. */
static void expire_parked(struct nrt_clnts *n, struct nrt_back *b)
{
	struct rcall *c;

	cds_list_for_each_entry(c, &b->parked, at)
	{
		nrt_rcall_delist(c);
		nrt_rcall_enlist(n, c, now_ms());
	}
	pthread_cond_signal(&n->timer);
}

static void end(struct nrt_clnts *n, const uint8_t id[ULB_SESSION_ID])
{
	struct nrt_back *b = find(n, id);

	if (!b)
		return;
	nrt_back_event(n, b, NRT_DONE);
	expire_parked(n, b);
	nrt_back_put(n, b);
}

/* Made here, and of no session. */
static void leave_unnamed(struct nrt_clnts *n, const struct rt_conn *c)
{
	struct nrt_back *b = made_here(n, c);

	if (!b)
		return;
	b->nameable = false;
	nrt_back_event(n, b, NRT_ANSWERED);
	nrt_back_wake(n);
}

bool nrt_clnts_settled(const struct nrt_clnts *n)
{
	return !__atomic_load_n(&n->nfresh, __ATOMIC_RELAXED);
}

void nrt_clnts_prepare(struct nrt_clnts *n, struct nrt_news *news,
		       struct rt_conn *c)
{
	struct rt_conn *old = NULL;
	struct nrt_back *b;

	news->bound = NULL;
	if (news->event != ULB_SESSION_BACK)
		return;
	pthread_mutex_lock(&n->lock);
	b = name(n, news->id, c);
	if (b && !nrt_back_ended(b)) {
		b->announced++;
		if (news->call_max)
			b->call_max = news->call_max;
		news->bound = b;
		old = rebind(n, b, c);
	}
	nrt_back_unlock(n);
	if (old)
		rt_conn_put(old);
}

void nrt_clnts_settle(struct nrt_clnts *n, const struct nrt_news *news,
		      const struct rt_conn *c)
{
	pthread_mutex_lock(&n->lock);
	switch (news->event) {
	case ULB_SESSION_BACK:
		if (news->bound)
			announced(n, news->bound);
		break;
	case ULB_SESSION_ENDED:
		end(n, news->id);
		break;
	case ULB_SESSION_NONE:
		leave_unnamed(n, c);
		break;
	}
	nrt_back_unlock(n);
}

bool nrt_clnts_can_back(struct nrt_clnts *n, const uint8_t id[ULB_SESSION_ID],
			struct rt_conn *c)
{
	struct nrt_back *b;
	bool can;

	if (!rt_conn_can_call(c))
		return false;
	pthread_mutex_lock(&n->lock);
	b = find(n, id);
	can = made_here(n, c) || (b && nrt_back_has_client(b));
	/* Another thread may be making one. */
	if (!can && b && nrt_clnts_settled(n))
		nrt_back_fault(n, b);
	pthread_mutex_unlock(&n->lock);
	return can;
}

bool nrt_clnts_troubled(const struct nrt_clnts *n)
{
	return __atomic_load_n(&n->ntroubled, __ATOMIC_RELAXED);
}

uint32_t nrt_clnts_flags(struct nrt_clnts *n, const uint8_t id[ULB_SESSION_ID])
{
	struct nrt_back *b;
	uint32_t flags = 0;

	if (!__atomic_load_n(&n->troubled[bucket_of(id)], __ATOMIC_RELAXED))
		return 0;
	pthread_mutex_lock(&n->lock);
	b = find(n, id);
	/* Without a CLIENT the server knows by itself that it has none. */
	if (b && b->state == NRT_DOWN && nrt_back_has_client(b))
		flags |= ULB_SEQ_CB_PATH_DOWN_SESSION;
	if (b && b->fault)
		flags |= ULB_SEQ_BACKCHANNEL_FAULT;
	pthread_mutex_unlock(&n->lock);
	return flags;
}

/* ---- Beginning and end ------------------------------------------------ */

void nrt_clnts_close(struct nrt_clnts *n)
{
	struct nrt_back *b, *tmp;

	pthread_mutex_lock(&n->lock);
	n->closed = true;
	cds_list_for_each_entry(b, &n->busy, busy) expire_parked(n, b);
	for (unsigned int i = 0; i < NRT_BUCKETS; i++) {
		cds_list_for_each_entry_safe(b, tmp, &n->bucket[i], link)
			nrt_back_put(n, b);
	}
	nrt_back_unlock(n);
}

void nrt_back_init(struct nrt_clnts *n)
{
	CDS_INIT_LIST_HEAD(&n->busy);
	CDS_INIT_LIST_HEAD(&n->unnamed);
	CDS_INIT_LIST_HEAD(&n->gone);
	CDS_INIT_LIST_HEAD(&n->rest);
	for (unsigned int i = 0; i < NRT_BUCKETS; i++) {
		CDS_INIT_LIST_HEAD(&n->bucket[i]);
		CDS_INIT_LIST_HEAD(&n->on[i]);
		CDS_INIT_LIST_HEAD(&n->hosts[i]);
	}
}

void nrt_back_fini(struct nrt_clnts *n)
{
	struct nrt_back *b, *tmp;

	pthread_mutex_lock(&n->lock);
	for (unsigned int i = 0; i < NRT_BUCKETS; i++) {
		cds_list_for_each_entry_safe(b, tmp, &n->bucket[i], link)
			discard(n, b);
	}
	nrt_back_unlock(n);
}
