/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk_check - what must hold of the back channels after every step
 *
 * Threads: one.
 */
#include <stdio.h>
#include <string.h>

#include "bk.h"
#include "transport/core/connection.h"

/* ---- What channels there were ------------------------------------------------ */

enum kind { FRESH, NAMED, NAMELESS, ENDED, KINDS };

/* Bits of what a channel has. */
enum { CONN = 1, WAITING = 2, SENT = 4, HAS_ALL = 8 };

static const char *const kinds[KINDS] = {
	[FRESH] = "fresh",
	[NAMED] = "of a session",
	[NAMELESS] = "of no session",
	[ENDED] = "ended",
};

static enum kind kind_of(const struct bc_channel *ch)
{
	return !ch->listed ? ENDED :
	       ch->named   ? NAMED :
	       ch->fresh   ? FRESH :
			     NAMELESS;
}

static unsigned int has(struct bc_channel *ch)
{
	return (ch->conn ? CONN : 0) | (ch->nwaiting ? WAITING : 0) |
	       (cds_list_empty(&ch->sent) ? 0 : SENT);
}

/* Nothing is sent after the end. */
static bool impossible(enum kind kind, unsigned int has)
{
	return kind == ENDED && has & CONN;
}

/* Nothing but probes is sent before the Reply. */
static bool sent_early(struct bc_channel *ch)
{
	const struct bc_callback *c;

	cds_list_for_each_entry(c, &ch->sent, link)
	{
		if (ch->fresh && !c->probe)
			return true;
	}
	return false;
}

const char *bks_count_name(unsigned int i, bool *never)
{
	unsigned int has = i % HAS_ALL;
	enum kind kind = i / HAS_ALL;
	static char name[80];

	if (kind >= KINDS)
		return NULL;
	*never = impossible(kind, has);
	snprintf(name, sizeof(name), "%s:%s%s%s%s", kinds[kind],
		 has & CONN ? " connection" : "",
		 has & WAITING ? " waiting" : "", has & SENT ? " sent" : "",
		 has ? "" : " nothing");
	return name;
}

/* ---- One channel ------------------------------------------------------------ */

struct sums {
	unsigned int fresh, flagged, waiting, sent;
};

static void broken(const struct bc_channel *ch, const char *what, uint64_t is,
		   uint64_t should)
{
	sim_fail("%s: %llu, %llu; %s", what, (unsigned long long)is,
		 (unsigned long long)should, kinds[kind_of(ch)]);
}

#define SAME(ch, what, is, should)                          \
	do {                                                \
		uint64_t is_ = (is), should_ = (should);    \
		if (is_ != should_)                         \
			broken((ch), (what), is_, should_); \
	} while (0)

static bool has_ended(const struct rt_conn *rc)
{
	for (unsigned int i = 0; i < BKS_CONNS; i++)
		if (bks.conn[i].s == rc)
			return false;
	return true;
}

/* Nothing moves, and it would be sent if somebody looked. */
static bool could_be_sent(struct bc_channel *ch)
{
	return ch->nwaiting && cds_list_empty(&ch->sent) && !ch->sending &&
	       !ch->replies && ch->pause_until <= (int64_t)platform_ms() &&
	       ch->conn && !ch->fresh && rt_conn_can_call(ch->conn);
}

static void check_channel(struct bc_channel *ch, bool quiet, struct sums *s)
{
	unsigned int waiting = 0, sent = 0, refs;
	const struct bc_callback *c;
	uint64_t last = 0;

	cds_list_for_each_entry(c, &ch->waiting, link)
	{
		waiting++;
		if (!c->waiting || c->channel != ch || c->order <= last)
			broken(ch, "order: of callbacks that wait", c->order,
			       last);
		last = c->order;
	}
	cds_list_for_each_entry(c, &ch->sent, link)
	{
		sent++;
		if (c->waiting || c->channel != ch)
			broken(ch, "list: waiting and sent", c->order, 0);
	}
	SAME(ch, "count: waiting", ch->nwaiting, waiting);
	if (impossible(kind_of(ch), has(ch)) || sent_early(ch))
		broken(ch, "state: it has what it cannot have", has(ch), 0);
	if ((ch->named || ch->fresh) && (!ch->listed || ch->named == ch->fresh))
		broken(ch, "state: a session's, and fresh", ch->named,
		       ch->fresh);
	refs = ch->listed + waiting + sent + ch->replies + ch->sending;
	if (ch->refs < refs + !!ch->client)
		broken(ch, "count: references", ch->refs, refs);
	if (quiet && could_be_sent(ch))
		broken(ch, "quiet: waiting, and could be sent", ch->nwaiting,
		       0);
	if (quiet && waiting && !ch->listed)
		broken(ch, "quiet: waiting for what has ended", waiting, 0);
	if (ch->conn && has_ended(ch->conn))
		broken(ch, "connection: it has ended", 0, 0);
	s->fresh += ch->fresh;
	s->flagged += ch->named && (ch->fault || (!ch->conn && ch->client));
	s->waiting += waiting;
	s->sent += sent;
	sim_counts[kind_of(ch) * HAS_ALL + has(ch)]++;
}

/* ---- All of them ------------------------------------------------------------ */

/* What one host has. */
static void check_host(struct bc_server *n, const struct bc_channel *of,
		       struct cds_list_head *bucket)
{
	unsigned int channels = 0, waiting = 0;
	const struct bc_channel *ch;

	cds_list_for_each_entry(ch, bucket, by_host)
	{
		if (!ch->listed ||
		    memcmp(&ch->host, &of->host, sizeof(of->host)))
			continue;
		channels++;
		waiting += ch->nwaiting;
	}
	if (channels > n->host_max || waiting > BC_HOST_WAITING_MAX)
		sim_fail("count: a host has %u channels of %u, %u waiting",
			 channels, n->host_max, waiting);
}

static unsigned int length(struct cds_list_head *list)
{
	struct cds_list_head *at;
	unsigned int n = 0;

	cds_list_for_each(at, list) n++;
	return n;
}

static void check_tables(struct bc_server *n)
{
	unsigned int named = 0, with_conn = 0, with_backlog = 0;
	unsigned int in_sessions = 0, in_conns = 0;
	struct bc_channel *ch;

	for (unsigned int i = 0; i < BC_BUCKETS; i++) {
		cds_list_for_each_entry(ch, &n->by_host[i], by_host)
		{
			named += ch->named;
			with_conn += !!ch->conn;
			with_backlog += !!ch->nwaiting;
			check_host(n, ch, &n->by_host[i]);
		}
		in_sessions += length(&n->by_session[i]);
		in_conns += length(&n->by_conn[i]);
	}
	if (named != in_sessions || with_conn != in_conns ||
	    with_backlog != length(&n->backlog))
		sim_fail(
			"count: %u channels of sessions, %u; %u with connections, %u; %u with callbacks, %u",
			named, in_sessions, with_conn, in_conns, with_backlog,
			length(&n->backlog));
}

static void check_all(struct bc_server *n, bool quiet)
{
	struct sums s = { 0 };
	struct bc_channel *ch;

	for (unsigned int i = 0; i < BC_BUCKETS; i++)
		cds_list_for_each_entry(ch, &n->by_host[i], by_host)
			check_channel(ch, quiet, &s);
	if (s.flagged != n->nflagged || s.fresh != n->nfresh)
		sim_fail("count: %u sessions have flags, %u; %u are fresh, %u",
			 s.flagged, n->nflagged, s.fresh, n->nfresh);
	if (quiet && s.waiting + s.sent != atomic_load(&n->ncallbacks) &&
	    !bks.njobs)
		sim_fail("count: %u waiting, %u sent, %u", s.waiting, s.sent,
			 atomic_load(&n->ncallbacks));
	check_tables(n);
}

/* ---- What clients hear ------------------------------------------------------ */

static void check_flags(struct bks_session *s)
{
	uint32_t flags = bc_session_flags(bks.back, s->id);

	if (s->on && s->on->s && rt_conn_can_call(s->on->s) &&
	    (flags & ULB_SEQ_CB_PATH_DOWN_SESSION))
		sim_fail(
			"flags: session %u is bound, and is told that it is not",
			(unsigned int)(s - bks.session));
	if (s->ended && flags)
		sim_fail("flags: %x of a session that is no more, %u", flags,
			 (unsigned int)(s - bks.session));
}

void bks_check(bool quiet)
{
	if (bks.w->watch.faults)
		sim_fail("wire: %s", bks.w->watch.first);
	if (platform_amid())
		return;
	check_all(bks.back, quiet);
	for (unsigned int i = 0; quiet && i < BKS_SESSIONS; i++)
		if (bks.session[i].used && !bks.session[i].raced)
			check_flags(&bks.session[i]);
}
