/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel - back channels: their sessions, connections and hosts
 *
 * channel.h explains states, context and the lock, which the callers of static functions
 * hold.
 */
#include "ntirpc/back/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

/* ---- Tables --------------------------------------------------------------- */

/* @key has 16 octets, some of which count up: a session ID or an address. */
static unsigned int key_bucket(const uint8_t *key)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < 16; i++)
		sum = sum * 31 + key[i];
	return (sum ^ sum >> 8) % BC_BUCKETS;
}

static struct cds_list_head *host_bucket(struct bc_server *s,
					 const struct in6_addr *host)
{
	return &s->by_host[key_bucket(host->s6_addr)];
}

static struct cds_list_head *conn_bucket(struct bc_server *s,
					 const struct rt_conn *conn)
{
	return &s->by_conn[rt_conn_id(conn) % BC_BUCKETS];
}

static struct bc_channel *channel_find(struct bc_server *s,
				       const uint8_t id[ULB_SESSION_ID])
{
	struct bc_channel *ch;

	cds_list_for_each_entry(ch, &s->by_session[key_bucket(id)], by_session)
	{
		if (!memcmp(ch->id, id, ULB_SESSION_ID))
			return ch;
	}
	return NULL;
}

/* Returns true if Ganesha has not destroyed the CLIENT. It does so when the session ends or gets
 * another one; callbacks may still have references. */
static bool has_client(const struct bc_channel *ch)
{
	return ch->client &&
	       !(__atomic_load_n(&ch->client->clnt.cl_flags, __ATOMIC_RELAXED) &
		 CLNT_FLAG_DESTROYING);
}

/* ---- Changes -------------------------------------------------------------- */

static void add_to(unsigned int *counter, int by)
{
	__atomic_add_fetch(counter, by, __ATOMIC_RELAXED);
}

/* Call this after changes that bc_session_flags() or the timer thread must see. */
static void channel_changed(struct bc_server *s, struct bc_channel *ch)
{
	bool flagged = ch->named && (ch->fault || (!ch->conn && ch->client));

	if (flagged != ch->flagged)
		add_to(&s->nflagged, flagged ? 1 : -1);
	ch->flagged = flagged;
	pthread_cond_signal(&s->changed);
}

static void channel_attach(struct bc_server *s, struct bc_channel *ch,
			   struct rt_conn *conn)
{
	ch->conn = conn;
	cds_list_add(&ch->by_conn, conn_bucket(s, conn));
	channel_changed(s, ch);
}

void bc_channel_detach(struct bc_server *s, struct bc_channel *ch)
{
	if (ch->conn)
		cds_list_del(&ch->by_conn);
	ch->conn = NULL;
	channel_changed(s, ch);
}

void bc_channel_settle(struct bc_server *s, struct bc_channel *ch)
{
	if (ch->fresh)
		add_to(&s->nfresh, -1);
	ch->fresh = false;
	channel_changed(s, ch);
}

void bc_channel_fault(struct bc_server *s, struct bc_channel *ch)
{
	ch->fault = ch->named;
	channel_changed(s, ch);
}

static void channel_unlist(struct bc_server *s, struct bc_channel *ch)
{
	if (!ch->listed)
		return;
	ch->listed = false;
	if (ch->named)
		cds_list_del(&ch->by_session);
	ch->named = false;
	bc_channel_settle(s, ch);
	bc_channel_detach(s, ch);
	bc_channel_put(s, ch);
}

void bc_channel_put(struct bc_server *s, struct bc_channel *ch)
{
	if (!--ch->refs) {
		cds_list_del(&ch->by_host);
		free(ch);
	} else if (ch->refs == 1 && ch->listed && (!ch->named || s->closed)) {
		channel_unlist(s, ch);
	}
}

/* ---- Callbacks that wait -------------------------------------------------- */

bool bc_channel_may_wait(const struct bc_server *s, const struct bc_channel *ch)
{
	return !s->closed && (ch->named || ch->fresh);
}

/*
 * A slot accepts callbacks in one order, and the slot of a callback is not known here. So a
 * callback that was sent on another connection, or that the client has delayed, must be
 * completed before any other is sent.
 */
static bool is_held_up(const struct bc_channel *ch)
{
	const struct bc_callback *c;

	cds_list_for_each_entry(c, &ch->sent, link)
	{
		if (c->conn != ch->conn || c->delayed)
			return true;
	}
	return false;
}

bool bc_channel_ready(struct bc_server *s, struct bc_channel *ch)
{
	if (ch->conn && !rt_conn_can_call(ch->conn))
		bc_channel_detach(s, ch);
	return ch->conn && !ch->fresh && !ch->replies && !ch->sending &&
	       ch->pause_until <= bc_now_ms() && !is_held_up(ch);
}

void bc_channel_enqueue(struct bc_channel *ch, struct bc_callback *c)
{
	struct cds_list_head *after = ch->waiting.prev;

	while (after != &ch->waiting &&
	       cds_list_entry(after, struct bc_callback, link)->order >
		       c->order)
		after = after->prev;
	cds_list_add(&c->link, after);
	c->channel = ch;
	c->waiting = true;
	if (!ch->nwaiting++)
		cds_list_add_tail(&ch->backlog, &c->server->backlog);
}

void bc_channel_dequeue(struct bc_callback *c)
{
	cds_list_del(&c->link);
	c->waiting = false;
	if (!--c->channel->nwaiting)
		cds_list_del(&c->channel->backlog);
}

/* ---- Hosts ---------------------------------------------------------------- */

/* Returns true if nothing is under way, and no callback can come or be sent. */
static bool may_give_way(struct bc_channel *ch)
{
	return !ch->nwaiting && cds_list_empty(&ch->sent) && !ch->replies &&
	       !ch->sending && (!ch->conn || !ch->client);
}

/* What a host has. */
struct host_use {
	unsigned int channels, waiting;
	struct bc_channel *oldest; /* of those that may give way */
};

static struct host_use host_use(struct bc_server *s,
				const struct in6_addr *host)
{
	struct host_use use = { 0 };
	struct bc_channel *ch;

	cds_list_for_each_entry(ch, host_bucket(s, host), by_host)
	{
		if (!ch->listed || memcmp(&ch->host, host, sizeof(*host)))
			continue;
		use.channels++;
		use.waiting += ch->nwaiting;
		if (!use.oldest && may_give_way(ch))
			use.oldest = ch;
	}
	return use;
}

bool bc_channel_full(struct bc_server *s, const struct bc_channel *ch)
{
	return ch->nwaiting >= BC_WAITING_MAX ||
	       host_use(s, &ch->host).waiting >= BC_HOST_WAITING_MAX;
}

static int make_room(struct bc_server *s, const struct in6_addr *host)
{
	for (;;) {
		struct host_use use = host_use(s, host);

		if (use.channels < s->host_max)
			return 0;
		if (!use.oldest)
			return -EUSERS;
		channel_unlist(s, use.oldest);
	}
}

/* ---- CLIENTs -------------------------------------------------------------- */

static void channel_init(struct bc_channel *ch, struct bc_client *client,
			 struct rt_conn *conn)
{
	CDS_INIT_LIST_HEAD(&ch->waiting);
	CDS_INIT_LIST_HEAD(&ch->sent);
	rt_conn_host(conn, &ch->host);
	ch->maker = pthread_self();
	ch->made_on = rt_conn_id(conn);
	ch->client = client;
	ch->fresh = true;
	ch->listed = true;
	ch->refs = 2;
}

int bc_channel_add(struct bc_client *client, struct rt_conn *conn)
{
	struct bc_channel *ch = calloc(1, sizeof(*ch));
	struct bc_server *s = client->server;
	int rc = -EOPNOTSUPP;

	if (!ch)
		return -ENOMEM;
	channel_init(ch, client, conn);
	pthread_mutex_lock(&s->lock);
	/* If it can, bc_conn_closed() has not been called yet. */
	if (rt_conn_can_call(conn))
		rc = make_room(s, &ch->host);
	if (!rc) {
		cds_list_add_tail(&ch->by_host, host_bucket(s, &ch->host));
		channel_attach(s, ch, conn);
		add_to(&s->nfresh, 1);
		client->channel = ch;
		if (s->sweep_at == INT64_MAX) {
			s->sweep_at = bc_now_ms() + BC_SWEEP_MS;
			pthread_cond_signal(&s->changed);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (rc)
		free(ch);
	return rc;
}

void bc_channel_remove(struct bc_client *client)
{
	struct bc_server *s = client->server;
	struct bc_channel *ch;

	pthread_mutex_lock(&s->lock);
	ch = client->channel;
	if (ch && ch->client == client)
		ch->client = NULL;
	if (ch) {
		channel_changed(s, ch);
		bc_channel_put(s, ch);
	}
	pthread_mutex_unlock(&s->lock);
}

/* @from was made with a CLIENT for the session of @to. Move all that it has to @to. */
static void channel_join(struct bc_server *s, struct bc_channel *to,
			 struct bc_channel *from)
{
	struct bc_callback *c, *next;

	cds_list_for_each_entry_safe(c, next, &from->waiting, link)
	{
		bc_channel_dequeue(c);
		bc_channel_enqueue(to, c);
		to->refs++;
		from->refs--;
	}
	if (has_client(from)) {
		to->alone_since = 0;
		to->client = from->client;
	}
	from->client->channel = to;
	to->refs++;
	from->refs--;
	from->client = NULL;
	channel_unlist(s, from);
}

int64_t bc_channel_sweep(struct bc_server *s, int64_t now)
{
	struct bc_channel *ch, *next;
	bool any = false;

	if (now < s->sweep_at)
		return s->sweep_at;
	for (unsigned int i = 0; i < BC_BUCKETS; i++) {
		cds_list_for_each_entry_safe(ch, next, &s->by_host[i], by_host)
		{
			any = true;
			if (has_client(ch))
				ch->alone_since = 0;
			else if (!ch->alone_since)
				ch->alone_since = now;
			else if (now - ch->alone_since > BC_ALONE_MS)
				channel_unlist(s, ch);
		}
	}
	s->sweep_at = any ? now + BC_SWEEP_MS : INT64_MAX;
	return s->sweep_at;
}

/* ---- Sessions ------------------------------------------------------------- */

/* Returns a channel that this thread has made for its Call of @conn, which may have
 * ended since. Its CLIENT may have been destroyed since then, unless it must be @in_use. */
static struct bc_channel *made_here(struct bc_server *s,
				    const struct rt_conn *conn, bool in_use)
{
	struct in6_addr host;
	struct bc_channel *ch;

	rt_conn_host(conn, &host);
	cds_list_for_each_entry(ch, host_bucket(s, &host), by_host)
	{
		if (ch->fresh && ch->client &&
		    ch->made_on == rt_conn_id(conn) &&
		    pthread_equal(ch->maker, pthread_self()) &&
		    (!in_use || has_client(ch)))
			return ch;
	}
	return NULL;
}

static struct bc_channel *channel_name(struct bc_server *s,
				       const uint8_t id[ULB_SESSION_ID],
				       const struct rt_conn *conn)
{
	struct bc_channel *ch = channel_find(s, id), *made;

	while ((made = made_here(s, conn, false))) {
		if (ch) {
			channel_join(s, ch, made);
			continue;
		}
		ch = made;
		ch->named = true;
		memcpy(ch->id, id, ULB_SESSION_ID);
		cds_list_add(&ch->by_session, &s->by_session[key_bucket(id)]);
		bc_channel_settle(s, ch);
	}
	return ch;
}

/* The client has bound @conn, which may have ended since. */
static void channel_rebind(struct bc_server *s, struct bc_channel *ch,
			   struct rt_conn *conn)
{
	if (rt_conn_can_call(conn)) {
		bc_channel_detach(s, ch);
		channel_attach(s, ch, conn);
	} else if (ch->conn == conn) {
		bc_channel_detach(s, ch);
	}
	channel_changed(s, ch);
}

void bc_reply_begin(struct bc_server *s, struct bc_reply *reply,
		    struct rt_conn *conn)
{
	struct bc_channel *ch;

	reply->channel = NULL;
	if (reply->event != ULB_SESSION_BACK)
		return;
	pthread_mutex_lock(&s->lock);
	ch = channel_name(s, reply->id, conn);
	if (ch) {
		ch->refs++;
		ch->replies++;
		if (reply->call_max)
			ch->call_max = reply->call_max;
		reply->channel = ch;
		channel_rebind(s, ch, conn);
	}
	pthread_mutex_unlock(&s->lock);
}

void bc_reply_sent(struct bc_server *s, const struct bc_reply *reply,
		   const struct rt_conn *conn)
{
	struct bc_channel *ch = reply->channel;

	pthread_mutex_lock(&s->lock);
	switch (reply->event) {
	case ULB_SESSION_BACK:
		if (!ch)
			break;
		ch->replies--;
		pthread_cond_signal(&s->changed);
		bc_channel_put(s, ch);
		break;
	case ULB_SESSION_ENDED:
		ch = channel_find(s, reply->id);
		if (ch)
			channel_unlist(s, ch);
		break;
	case ULB_SESSION_NONE:
		while ((ch = made_here(s, conn, false)))
			bc_channel_settle(s, ch);
		break;
	}
	pthread_mutex_unlock(&s->lock);
}

bool bc_reply_expected(const struct bc_server *s)
{
	return __atomic_load_n(&s->nfresh, __ATOMIC_RELAXED);
}

bool bc_can_bind(struct bc_server *s, const uint8_t id[ULB_SESSION_ID],
		 struct rt_conn *conn)
{
	struct bc_channel *ch;
	bool can;

	if (!rt_conn_can_call(conn))
		return false;
	pthread_mutex_lock(&s->lock);
	ch = channel_find(s, id);
	can = made_here(s, conn, true) || (ch && has_client(ch));
	/* Another thread may be creating a CLIENT. */
	if (!can && ch && !bc_reply_expected(s))
		bc_channel_fault(s, ch);
	pthread_mutex_unlock(&s->lock);
	return can;
}

bool bc_has_flags(const struct bc_server *s)
{
	return __atomic_load_n(&s->nflagged, __ATOMIC_RELAXED);
}

uint32_t bc_session_flags(struct bc_server *s, const uint8_t id[ULB_SESSION_ID])
{
	const struct bc_channel *ch;
	uint32_t flags = 0;

	if (!bc_has_flags(s))
		return 0;
	pthread_mutex_lock(&s->lock);
	ch = channel_find(s, id);
	/* Without a CLIENT Ganesha sets the flag itself. */
	if (ch && !ch->conn && has_client(ch))
		flags |= ULB_SEQ_CB_PATH_DOWN_SESSION;
	if (ch && ch->fault)
		flags |= ULB_SEQ_BACKCHANNEL_FAULT;
	pthread_mutex_unlock(&s->lock);
	return flags;
}

void bc_conn_closed(struct bc_server *s, const struct rt_conn *conn)
{
	struct bc_channel *ch, *next;

	pthread_mutex_lock(&s->lock);
	cds_list_for_each_entry_safe(ch, next, conn_bucket(s, conn), by_conn)
	{
		if (ch->conn == conn)
			bc_channel_detach(s, ch);
	}
	pthread_mutex_unlock(&s->lock);
}

/* ---- Beginning and end ---------------------------------------------------- */

void bc_channels_init(struct bc_server *s)
{
	CDS_INIT_LIST_HEAD(&s->backlog);
	for (unsigned int i = 0; i < BC_BUCKETS; i++) {
		CDS_INIT_LIST_HEAD(&s->by_host[i]);
		CDS_INIT_LIST_HEAD(&s->by_session[i]);
		CDS_INIT_LIST_HEAD(&s->by_conn[i]);
	}
	s->sweep_at = INT64_MAX;
}

void bc_channels_close(struct bc_server *s)
{
	struct bc_channel *ch, *next;

	for (unsigned int i = 0; i < BC_BUCKETS; i++) {
		cds_list_for_each_entry_safe(ch, next, &s->by_host[i], by_host)
		{
			if (ch->refs == 1)
				channel_unlist(s, ch);
		}
	}
}
