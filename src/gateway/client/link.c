/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a client's RDMA connection: link.h
 *
 * down -> connecting -> up -> down ...
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
/* Waits between attempts to connect: doubled from the first to the last. */
#define BACKOFF_FIRST_MS 100
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

/*
 * The connection has ended or could not be made, for @reason and @more. With @next
 * another address is tried at once. Outstanding Calls wait for the next connection; a
 * client whose server has not answered for --retry-seconds is disconnected, as if its
 * TCP server had ended.
 */
static void retry(struct gw_client *c, int error, const char *reason,
		  const char *more, bool next)
{
	uint64_t now = base_now_ns(), limit = c->gw->opt.retry_seconds * SEC;
	struct gw_link *l = &c->link;
	bool late, calls;
	char text[sizeof(l->down_reason) + GW_SERVER_NAMES + 136];
	char server[GW_SERVER_NAMES];

	if (!l->down_since)
		l->down_since = now;
	late = now - gw_calls_close(c, now, &calls) >= limit && !next;
	gw_reverse_orphan(c);
	if (c->gone)
		return;
	if (next) {
		base_addr_name((const struct sockaddr *)&l->round.addr.addr,
			       server, sizeof(server));
		gw_client_log(c, LOG_NOTICE,
			      "server %s: %s%s; trying its next address",
			      server, reason, more);
		gw_worker_timer(c, GW_TIMER_CONNECT, now);
		return;
	}
	gw_server_names(c->gw, server);
	snprintf(text, sizeof(text), "server %s: %s%s%s", server, reason, more,
		 error == -EPROTONOSUPPORT ? ": no common version, closed" :
		 error == -EACCES	   ? ", closed" :
		 late			   ? ": given up, closed" :
					     "");
	if (late) {
		gw_client_kill(c, LOG_ERR, text);
		return;
	}
	/* Another attempt would find the same keys and policies. */
	if (error == -EPROTONOSUPPORT || error == -EACCES) {
		gw_client_log(c, LOG_ERR, "%s", text);
		l->refused = true;
		gw_worker_timer(c, GW_TIMER_CONNECT, now + REFUSED_MS * MSEC);
		return;
	}
	/* Calls wait for a descriptor, or Receives, that somebody idle has. */
	if ((calls || early(c)) &&
	    (error == -EMFILE || error == -ENFILE || error == -ENOMEM))
		gw_disconnect_for_descriptor(c->gw, c);
	gw_client_log(c, LOG_NOTICE, "%s; retrying in %u ms", text,
		      l->backoff_ms);
	gw_worker_timer(c, GW_TIMER_CONNECT, now + l->backoff_ms * MSEC);
	l->backoff_ms *= 2;
	l->backoff_ms = MIN(l->backoff_ms, BACKOFF_LAST_MS);
}

void gw_link_connect(struct gw_client *c)
{
	struct gw_round *r = &c->link.round;
	int rc;

	if (c->link.refused) {
		gw_client_kill(c, LOG_ERR, NULL);
		return;
	}
	gw_server_pick(c->gw, r);
	gw_client_get(c);
	rc = rt_connect(c->gw->inst,
			c->w->index % rt_instance_pollers(c->gw->inst),
			(const struct sockaddr *)&r->addr.addr, r->addr.len,
			&c->gw->ops, c, &c->link.rc);
	if (rc) {
		c->link.rc = NULL;
		gw_client_put(c);
		retry(c, rc, strerror(-rc), "", gw_server_failed(c->gw, r, rc));
	}
}

void gw_link_start(struct gw_client *c)
{
	if (c->link.backoff_ms)
		return;
	c->link.backoff_ms = BACKOFF_FIRST_MS;
	gw_link_connect(c);
}

static void link_up(struct gw_client *c)
{
	struct rt_conn_info info;
	bool several = c->link.round.of > 1;

	rt_conn_info(c->link.rc, &info);
	gw_client_log(c, LOG_INFO, "server %s, version %u%s%s", info.peer_name,
		      info.version, *info.auth_peer ? ", " : "",
		      info.auth_peer);
	if (c->link.down_since)
		gw_client_log(
			c, LOG_NOTICE,
			c->link.connected_once ?
				"server: connected again after %.1f s%s%s" :
				"server: connected after %.1f s%s%s",
			(double)(base_now_ns() - c->link.down_since) / SEC,
			several ? ", at " : "", several ? info.peer_name : "");
	c->link.down_since = 0;
	if (c->link.connected_once)
		gw_client_count(c, reconnects);
	gw_shorten_set_segments(&c->shorten, &info.theirs);
	c->link.connected_once = true;
	gw_probe_good(&c->gw->probe);
	gw_server_took(c->gw, &c->link.round);
	gw_progress(&c->progress, base_now_ns());
	pthread_mutex_lock(&c->lock);
	c->link.early = false;
	pthread_mutex_unlock(&c->lock);
	gw_calls_open(c, c->link.rc,
		      !info.theirs.segments || !info.theirs.segment_size);
	gw_calls_submit(c);
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

static void link_down(struct gw_client *c)
{
	char reason[sizeof(c->link.down_reason)];
	struct rt_conn_info info;
	struct rt_conn *rc;
	bool next = false;
	int error;

	pthread_mutex_lock(&c->lock);
	error = c->link.down_error;
	memcpy(reason, c->link.down_reason, sizeof(reason));
	pthread_mutex_unlock(&c->lock);
	rc = c->link.rc;
	c->link.rc = NULL;
	rt_conn_info(rc, &info);
	/* The server has served. */
	if (info.stats.replies_received)
		c->link.backoff_ms = BACKOFF_FIRST_MS;
	else if (!info.local.ss_family)
		gw_probe_failed(&c->gw->probe, c->link.round.index, error);
	if (c->gone)
		;
	else if (info.stats.replies_received)
		gw_server_lost(c->gw, &c->link.round);
	else
		next = gw_server_failed(c->gw, &c->link.round, error);
	retry(c, error, reason, refused(error, &info), next);
	rt_conn_put(rc);
	gw_client_put(c);
}

bool gw_link_events(struct gw_client *c, unsigned int events)
{
	bool first = !c->link.connected_once;

	if (c->link.rc && (events & GW_EV_DOWN)) {
		link_down(c);
		return false;
	}
	if (!c->link.rc || !(events & GW_EV_UP) || c->gone)
		return false;
	link_up(c);
	return first;
}

/* ---- Operations of the transport: strand -------------------------------- */

static void op_established(struct rt_conn *rc)
{
	gw_wakeup(rt_conn_user(rc), GW_EV_UP);
}

static void op_closed(struct rt_conn *rc, int error, const char *reason)
{
	struct gw_client *c = rt_conn_user(rc);
	bool dead;

	if (!reason)
		reason = strerror(-error);
	pthread_mutex_lock(&c->lock);
	c->link.down_error = error;
	snprintf(c->link.down_reason, sizeof(c->link.down_reason), "%s",
		 reason);
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
