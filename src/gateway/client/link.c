/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a client's RDMA connection: link.h
 *
 *	up	attempt
 *	-	-		a pause, GW_TIMER_CONNECT ends it; or a rest, until
 *				gw_link_want()
 *	-	connecting	GW_TIMER_CONNECT looks whether anything answers
 *	open	-		GW_EV_TICK looks whether it is silent
 *	silent	-		a pause, as above
 *	silent	connecting	as above
 *	closing	ready		the attempt is adopted when @up has ended
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/addr.h"
#include "base/clock.h"
#include "gateway/client.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
/* Pauses between attempts to connect are doubled from the first to the last; to the near
 * one only while nobody is there whom many attempts would disturb. */
#define BACKOFF_FIRST_MS 100
#define BACKOFF_NEAR_MS 250
#define BACKOFF_LAST_MS 3000
/* A refused client is disconnected after this time: it connects again at once, and
 * would do so at the pace of the server's refusals. */
#define REFUSED_MS 1000

static bool early(struct gw_client *c)
{
	bool is;

	pthread_mutex_lock(&c->lock);
	is = c->link.early;
	pthread_mutex_unlock(&c->lock);
	return is;
}

static bool is_short(int error)
{
	return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}

static unsigned int take_pause(struct gw_link *l, int error)
{
	unsigned int last = BACKOFF_LAST_MS, ms;

	switch (error) {
	case -ECONNREFUSED:
	case -EPERM:
	case -ETIMEDOUT:
	case -EHOSTUNREACH:
	case -ENETUNREACH:
		last = BACKOFF_NEAR_MS;
	}
	ms = MIN(l->backoff_ms, last);
	l->backoff_ms = 2 * ms;
	return ms;
}

/* ---- Attempts ----------------------------------------------------------- */

/* Why there is no connection: @reason and @more. */
struct failure {
	int error;
	const char *reason, *more;
	bool next; /* another address is tried at once */
	bool lost; /* it was established */
};

static void name_up(const struct gw_link *l, char name[64])
{
	base_addr_name((const struct sockaddr *)&l->addr.addr, name, 64);
}

/* What has failed: an address, or all. */
static void name_server(struct gw_client *c, const struct failure *f,
			char name[GW_SERVER_NAMES])
{
	if (f->lost)
		name_up(&c->link, name);
	else
		gw_server_names(c->gw, name);
}

static void try_next(struct gw_client *c, const struct failure *f)
{
	struct gw_link *l = &c->link;
	char server[64];

	base_addr_name((const struct sockaddr *)&l->round.addr.addr, server,
		       sizeof(server));
	l->told |= !*l->reason;
	gw_client_log(c, *l->reason ? LOG_DEBUG : LOG_NOTICE,
		      "server %s: %s%s; trying its next address", server,
		      f->reason, f->more);
	gw_worker_timer(c, GW_TIMER_CONNECT, base_now_ns());
}

/* All addresses have failed. The same reason is told once. */
static void try_later(struct gw_client *c, const struct failure *f,
		      const char *text)
{
	struct gw_link *l = &c->link;
	unsigned int ms = take_pause(l, f->error);
	bool news = strcmp(f->reason, l->reason) != 0;

	gw_client_log(c, news ? LOG_NOTICE : LOG_DEBUG, "%s; retrying", text);
	l->told |= news;
	snprintf(l->reason, sizeof(l->reason), "%s", f->reason);
	gw_worker_timer(c, GW_TIMER_CONNECT, base_now_ns() + ms * MSEC);
}

static void not_down(struct gw_link *l)
{
	l->down_since = 0;
	l->told = false;
	*l->reason = '\0';
}

/*
 * No Call waits for the connection, which the server has closed in order: it has no reverse
 * Calls to send either. If the connection was lost it may have, so another is made at once
 * (version-two-07, 4.6.5; RFC 8167, 5.4).
 */
static void rest(struct gw_client *c, const struct failure *f)
{
	struct gw_link *l = &c->link;
	char server[GW_SERVER_NAMES];

	name_server(c, f, server);
	gw_client_log(c, LOG_INFO,
		      "server %s: %s; the next Call connects again", server,
		      f->reason);
	l->rests = true;
	not_down(l);
	pthread_mutex_lock(&c->lock);
	gw_calls_none_lost(&c->calls);
	pthread_mutex_unlock(&c->lock);
}

/*
 * The connection has ended or could not be made. Outstanding Calls wait for the next
 * connection; a client whose server has not answered for --retry-seconds is
 * disconnected, as if its TCP server had ended.
 */
static void retry(struct gw_client *c, const struct failure *f)
{
	uint64_t now = base_now_ns(), limit = c->gw->opt.retry_seconds * SEC;
	struct gw_link *l = &c->link;
	bool late, calls, never;
	char text[sizeof(l->up->reason) + GW_SERVER_NAMES + 136];
	char server[GW_SERVER_NAMES];

	if (!l->down_since)
		l->down_since = now;
	late = now - gw_calls_close(c, now, &calls) >= limit && !f->next;
	gw_reverse_orphan(c);
	if (!f->error && l->connected_once && !calls) {
		rest(c, f);
		return;
	}
	if (f->next) {
		try_next(c, f);
		return;
	}
	/* Another attempt would find the same keys and policies. */
	never = f->error == -EPROTONOSUPPORT || f->error == -EACCES;
	name_server(c, f, server);
	snprintf(text, sizeof(text), "server %s: %s%s%s", server, f->reason,
		 f->more,
		 f->error == -EPROTONOSUPPORT ? ": no common version, closed" :
		 f->error == -EACCES	      ? ", closed" :
		 late			      ? ": given up, closed" :
						"");
	if (late) {
		gw_client_kill(c, LOG_ERR, text);
		return;
	}
	if (never) {
		gw_client_log(c, LOG_ERR, "%s", text);
		l->refused = true;
		gw_worker_timer(c, GW_TIMER_CONNECT, now + REFUSED_MS * MSEC);
		return;
	}
	/* Calls wait for a descriptor, or Receives, that somebody idle has. */
	if ((calls || early(c)) && is_short(f->error))
		gw_disconnect_for_descriptor(c->gw, c);
	try_later(c, f, text);
}

/* An attempt beside the silent connection has failed. */
static void retry_beside(struct gw_client *c, const struct failure *f)
{
	char text[sizeof(c->link.up->reason) + GW_SERVER_NAMES + 136];
	char server[GW_SERVER_NAMES];

	gw_server_names(c->gw, server);
	snprintf(text, sizeof(text), "server %s: %s%s", server, f->reason,
		 f->more);
	if (is_short(f->error)) {
		/* There is not enough for two. */
		gw_client_log(c, LOG_NOTICE, "%s", text);
		rt_conn_close(c->link.up->rc, true);
	} else if (f->next) {
		try_next(c, f);
	} else {
		try_later(c, f, text);
	}
}

static void failed(struct gw_client *c, const struct failure *f)
{
	if (c->link.up)
		retry_beside(c, f);
	else
		retry(c, f);
}

static void connect_next(struct gw_client *c)
{
	struct gw_link *l = &c->link;
	struct gw_conn *k = &l->conn[l->up == &l->conn[0]];
	struct gw_round *r = &l->round;
	int rc;

	gw_server_pick(c->gw, r);
	k->c = c;
	k->ready = false;
	k->given_up = false;
	pthread_mutex_lock(&c->lock);
	k->established = false;
	k->closed = false;
	pthread_mutex_unlock(&c->lock);
	gw_client_get(c);
	rc = rt_connect(c->gw->inst,
			c->w->index % rt_instance_pollers(c->gw->inst),
			(const struct sockaddr *)&r->addr.addr, r->addr.len,
			&c->gw->ops, k, &k->rc);
	if (rc) {
		struct failure f = { .error = rc,
				     .reason = strerror(-rc),
				     .more = "",
				     .next = gw_server_failed(c->gw, r, rc) };

		k->rc = NULL;
		gw_client_put(c);
		failed(c, &f);
		return;
	}
	l->attempt = k;
	rt_conn_silent_ms(k->rc); /* begins to watch it */
	gw_worker_timer(c, GW_TIMER_CONNECT,
			base_now_ns() + GW_ATTEMPT_MS * MSEC);
}

static void look_after_attempt(struct gw_client *c)
{
	struct gw_conn *k = c->link.attempt;

	/* The clocks of the timer and of the connection may differ a little. */
	if (rt_conn_silent_ms(k->rc) < GW_ATTEMPT_MS - 10) {
		gw_worker_timer(c, GW_TIMER_CONNECT,
				base_now_ns() + GW_ATTEMPT_MS * MSEC);
		return;
	}
	k->given_up = true;
	rt_conn_close(k->rc, true);
}

void gw_link_connect(struct gw_client *c)
{
	struct gw_link *l = &c->link;

	if (l->refused)
		gw_client_kill(c, LOG_ERR, NULL);
	else if (l->attempt)
		look_after_attempt(c);
	else if (l->up ? l->silent : !l->rests)
		connect_next(c);
}

void gw_link_want(struct gw_client *c)
{
	struct gw_link *l = &c->link;

	if (!l->rests)
		return;
	l->rests = false;
	l->down_since = base_now_ns();
	/* Not here: a failure may end the client, whose record is being parsed. */
	gw_worker_timer(c, GW_TIMER_CONNECT, l->down_since);
}

void gw_link_start(struct gw_client *c)
{
	if (c->link.backoff_ms)
		return;
	c->link.backoff_ms = BACKOFF_FIRST_MS;
	c->link.down_since = base_now_ns();
	gw_link_connect(c);
}

/* ---- Silence ------------------------------------------------------------ */

static double seconds_down(const struct gw_link *l)
{
	return (double)(base_now_ns() - l->down_since) / SEC;
}

static void begin_silence(struct gw_client *c, unsigned int ms)
{
	struct gw_link *l = &c->link;
	char name[64];

	l->silent = true;
	l->down_since = base_now_ns() - ms * MSEC;
	l->backoff_ms = BACKOFF_FIRST_MS;
	l->told = true;
	*l->reason = '\0';
	name_up(l, name);
	gw_client_log(
		c, LOG_NOTICE,
		"server %s: its network has been silent for %.1f s; trying another connection",
		name, seconds_down(l));
	gw_server_silent(c->gw, &l->round, &l->addr);
	gw_link_connect(c);
}

static void end_silence(struct gw_client *c)
{
	struct gw_link *l = &c->link;
	char name[64];

	name_up(l, name);
	gw_client_log(c, LOG_NOTICE, "server %s: heard again after %.1f s",
		      name, seconds_down(l));
	l->silent = false;
	not_down(l);
	if (l->attempt)
		rt_conn_close(l->attempt->rc, true);
}

void gw_link_tick(struct gw_client *c)
{
	struct gw_link *l = &c->link;
	int ms;

	if (!l->up || rt_conn_is_closing(l->up->rc))
		return;
	ms = rt_conn_silent_ms(l->up->rc);
	if (ms >= GW_SILENT_MS && !l->silent)
		begin_silence(c, (unsigned int)ms);
	else if (ms >= 0 && ms < GW_SILENT_MS && l->silent)
		end_silence(c);
}

/* ---- Events ------------------------------------------------------------- */

/* The attempt takes the place of what has ended. */
static void adopt(struct gw_client *c)
{
	struct gw_link *l = &c->link;
	struct rt_conn_info info;

	l->up = l->attempt;
	l->attempt = NULL;
	l->addr = l->round.addr;
	l->silent = false;
	rt_conn_info(l->up->rc, &info);
	gw_client_log(c, LOG_INFO, "server %s, version %u%s%s", info.peer_name,
		      info.version, *info.auth_peer ? ", " : "",
		      info.auth_peer);
	/* The host's attempts may have used up its part of the log. */
	if (l->told)
		base_log_put(
			c->gw->log, NULL, c->name, LOG_NOTICE,
			l->connected_once ?
				"server: connected again after %.1f s, at %s" :
				"server: connected after %.1f s, at %s",
			seconds_down(l), info.peer_name);
	l->down_since = 0;
	l->told = false;
	if (l->connected_once)
		gw_client_count(c, reconnects);
	gw_shorten_set_segments(&c->shorten, &info.theirs);
	l->connected_once = true;
	gw_probe_good(&c->gw->probe);
	gw_server_took(c->gw, &l->round);
	gw_progress(&c->progress, base_now_ns());
	pthread_mutex_lock(&c->lock);
	l->early = false;
	pthread_mutex_unlock(&c->lock);
	gw_calls_open(c, l->up->rc,
		      !info.theirs.segments || !info.theirs.segment_size);
	gw_calls_submit(c);
}

static void attempt_ready(struct gw_client *c)
{
	struct gw_link *l = &c->link;

	l->attempt->ready = true;
	if (!l->up) {
		adopt(c);
		return;
	}
	gw_link_tick(c);
	if (!l->silent)
		return;
	/* gw_link_tick() has given the attempt up otherwise. */
	gw_client_count(c, moves);
	rt_conn_close(l->up->rc, true);
}

/* A server that ends a connection before any Reply has refused it. Only its own log
 * says why. */
static const char *refused(int error, const struct rt_conn_info *info)
{
	if ((error && error != -ECONNRESET) || !info->local.ss_family ||
	    info->stats.replies_received)
		return "";
	return " before any Reply: the server's log says why";
}

/* Returns true if it makes no difference that a connection, which was @l->up if @was_up,
 * has ended: another is there, or on its way. */
static bool is_replaced(const struct gw_link *l, bool was_up)
{
	return was_up ? l->attempt != NULL : l->up && !l->silent;
}

static void ended(struct gw_client *c, const struct rt_conn_info *info,
		  struct failure *f)
{
	struct gw_link *l = &c->link;

	/* The server has served. */
	if (info->stats.replies_received) {
		l->backoff_ms = BACKOFF_FIRST_MS;
		*l->reason = '\0';
		gw_server_lost(c->gw, &l->round);
	} else {
		if (!info->local.ss_family)
			gw_probe_failed(&c->gw->probe, l->round.index,
					f->error);
		f->next = gw_server_failed(c->gw, &l->round, f->error);
	}
	failed(c, f);
}

static void conn_down(struct gw_client *c, struct gw_conn *k)
{
	struct gw_link *l = &c->link;
	bool was_up = k == l->up, calls;
	struct rt_conn *rc = k->rc;
	char reason[sizeof(k->reason)];
	struct rt_conn_info info;
	struct failure f = { .reason = reason, .lost = was_up };

	pthread_mutex_lock(&c->lock);
	f.error = k->error;
	memcpy(reason, k->reason, sizeof(reason));
	pthread_mutex_unlock(&c->lock);
	rt_conn_info(rc, &info);
	if (k->given_up) {
		f.error = -ETIMEDOUT;
		f.reason = "nothing answers";
	}
	f.more = refused(f.error, &info);
	k->rc = NULL;
	if (was_up) {
		l->up = NULL;
		l->silent = false;
		gw_calls_close(c, base_now_ns(), &calls);
		gw_reverse_orphan(c);
	} else {
		l->attempt = NULL;
	}
	if (!c->gone && !is_replaced(l, was_up))
		ended(c, &info, &f);
	else if (!c->gone && l->attempt && l->attempt->ready)
		adopt(c);
	rt_conn_put(rc);
	gw_client_put(c);
}

static bool take_flag(struct gw_client *c, struct gw_conn *k, bool *flag)
{
	bool was;

	if (!k->rc)
		return false;
	pthread_mutex_lock(&c->lock);
	was = *flag;
	*flag = false;
	pthread_mutex_unlock(&c->lock);
	return was;
}

bool gw_link_events(struct gw_client *c, unsigned int events)
{
	struct gw_link *l = &c->link;
	bool first = !l->connected_once;

	if (!(events & (GW_EV_UP | GW_EV_DOWN)))
		return false;
	for (unsigned int i = 0; i < 2; i++)
		if (take_flag(c, &l->conn[i], &l->conn[i].closed))
			conn_down(c, &l->conn[i]);
	if (l->attempt && !c->gone &&
	    take_flag(c, l->attempt, &l->attempt->established))
		attempt_ready(c);
	return first && l->connected_once && !c->gone;
}

/* ---- Operations of the transport: strand -------------------------------- */

static void op_established(struct rt_conn *rc)
{
	struct gw_conn *k = rt_conn_user(rc);

	pthread_mutex_lock(&k->c->lock);
	k->established = true;
	pthread_mutex_unlock(&k->c->lock);
	gw_wakeup(k->c, GW_EV_UP);
}

static void op_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct gw_conn *k = rt_conn_user(rc);
	struct gw_client *c = k->c;
	bool dead;

	if (!reason)
		reason = strerror(-error);
	pthread_mutex_lock(&c->lock);
	k->closed = true;
	k->error = error;
	snprintf(k->reason, sizeof(k->reason), "%s", reason);
	dead = c->dead;
	pthread_mutex_unlock(&c->lock);
	/* retry() logs it, unless the client has gone before. */
	if (dead && error && error != -ECONNRESET && error != -ECONNABORTED)
		rt_log(rc, LOG_WARNING, "closed: %s", reason);
	gw_wakeup(c, GW_EV_DOWN);
}

void gw_link_ops(struct rt_ops *ops, bool reverse)
{
	memset(ops, 0, sizeof(*ops));
	ops->established = op_established;
	ops->closed = op_closed;
	ops->logs_end = true;
	if (reverse) {
		ops->vet = gw_reverse_vet;
		ops->call = gw_reverse_call;
	}
}
