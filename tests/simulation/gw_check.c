/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_check - what must hold of the gateway after every step
 *
 * While a thread has lost the processor amid something its counts may be on the way
 * from one to the next, and are not looked at.
 *
 * Threads: one.
 */
#include <string.h>

#include "gateway/client.h"
#include "gw.h"

#define SURGE 16

static void broken(const struct gw_client *c, const char *what, uint64_t a,
		   uint64_t b)
{
	sim_fail("%s: %llu, %llu; client %s%s", what, (unsigned long long)a,
		 (unsigned long long)b, c->name, c->gone ? ", gone" : "");
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

struct sums {
	size_t lent;
	unsigned int clients, placed;
};

/* ---- One client ------------------------------------------------------------ */

static bool in_table(const struct gw_calls *b, const struct gw_call *call)
{
	const struct gw_call *i = b->hash[call->head.xid % GW_HASH];

	while (i && i != call)
		i = i->hnext;
	return i;
}

static void check_calls(const struct gw_client *c)
{
	const struct gw_calls *b = &c->calls;
	const struct gw_call *last = NULL;
	unsigned int n = 0, queued = 0, hashed = 0;
	size_t held = 0;

	for (const struct gw_call *i = b->first; i; i = i->next) {
		SAME(c, "list: the one before", (uintptr_t)i->prev,
		     (uintptr_t)last);
		if (!in_table(b, i))
			broken(c, "list: not found by its XID", i->head.xid, 0);
		n++;
		held += i->cost;
		last = i;
	}
	SAME(c, "list: the last", (uintptr_t)b->last, (uintptr_t)last);
	for (unsigned int i = 0; i < GW_HASH; i++)
		for (const struct gw_call *k = b->hash[i]; k; k = k->hnext)
			hashed++;
	SAME(c, "count: Calls by XID", hashed, n);
	/* Those that are answered, and not yet written. */
	for (const struct gw_send *o = c->sendq.first; o; o = o->next) {
		const struct gw_call *i = (const struct gw_call *)o;

		if (o->iov != i->iov)
			continue;
		queued++;
		held += i->cost;
	}
	SAME(c, "count: Calls outstanding", b->outstanding, n + queued);
	SAME(c, "memory: held by Calls", b->held, held);
	AT_MOST(c, "limit: Calls outstanding", b->outstanding,
		(uint64_t)gws.max_calls * SURGE);
}

static void check_backs(const struct gw_client *c)
{
	unsigned int n = 0;

	for (const struct gw_reverse *r = c->reverse.first; r; r = r->next)
		n++;
	SAME(c, "count: reverse Calls", c->reverse.n, n);
}

static void check_out(const struct gw_client *c)
{
	struct gw_send *const *tail = &c->sendq.first;

	while (*tail)
		tail = &(*tail)->next;
	SAME(c, "list: the end of the output", (uintptr_t)c->sendq.tail,
	     (uintptr_t)tail);
	if (c->sendq.writing)
		broken(c, "list: somebody writes, and does not", 0, 0);
}

static void check_client(const struct gw_client *c, struct sums *s)
{
	size_t used = atomic_load(&c->account.used);

	s->clients++;
	if (used > c->gw->memory.allowance)
		s->lent += used - c->gw->memory.allowance;
	s->placed += c->host != NULL;
	check_calls(c);
	check_backs(c);
	check_out(c);
	AT_MOST(c, "memory: promised", c->account.promised, used);
	if (c->gone) {
		SAME(c, "gone: records", c->rx.acc.nhold, 0);
		SAME(c, "gone: a buffer", (uintptr_t)c->rx.buf, 0);
	}
}

/* ---- All together ---------------------------------------------------------- */

static void check_hosts(const struct gateway *gw, const struct gw_places *p)
{
	const struct gw_host *h;
	unsigned int taken = 0;

	cds_list_for_each_entry(h, &p->hosts, list)
	{
		unsigned int n = 0;

		for (const struct gw_client *c = gw->clients; c;
		     c = c->all_next)
			n += c->host == h;
		if (n != h->clients)
			sim_fail("count: a host has %u clients, %u", n,
				 h->clients);
		taken += n;
	}
	if (taken != p->taken || taken > p->n)
		sim_fail("count: %u of %u places are taken, %u", taken, p->n,
			 p->taken);
}

static void check_turn(const struct gateway *gw)
{
	const struct gw_account *turn = atomic_load(&gw->memory.turn);
	const struct gw_client *c = gw->clients;

	while (turn && c && turn != &c->account)
		c = c->all_next;
	if (turn && (!c || c->gone || !gw_account_waits(turn)))
		sim_fail("turn: of one that does not wait for memory");
}

static void check_sums(const struct gateway *gw, const struct sums *s)
{
	if (s->lent != atomic_load(&gw->memory.lent))
		sim_fail("memory: the loans are %zu, together %zu", s->lent,
			 atomic_load(&gw->memory.lent));
	if (s->clients != atomic_load(&gw->nclients) ||
	    s->placed != gw->hosts.taken + gw->users.taken)
		sim_fail("count: %u clients, %u; %u have a place, %u",
			 s->clients, atomic_load(&gw->nclients), s->placed,
			 gw->hosts.taken + gw->users.taken);
}

static void check_pool(const struct gateway *gw)
{
	struct fab_pool_stats s;

	fab_pool_get_stats(gw->pool, &s);
	if (s.bytes_in_use > s.bytes_held || s.bytes_held > s.limit)
		sim_fail("limit: a pool of %zu octets holds %zu, %zu in use",
			 s.limit, s.bytes_held, s.bytes_in_use);
}

/* Nobody has anything to do, so a client without Calls has no memory but for what it
 * receives into, and after a while not even that. */
static void check_quiet(const struct gw_client *c, bool idle)
{
	if (c->calls.outstanding || c->reverse.n || c->rx.pos < c->rx.fill ||
	    rec_inside(&c->rx.rec) || c->rx.have_record ||
	    gw_account_waits(&c->account))
		return;
	SAME(c, "quiet: memory", atomic_load(&c->account.used),
	     c->rx.buf && !idle ?
		     fab_pool_size(c->gw->pool,
				   c->rx.buf->cap + sizeof(*c->rx.buf)) :
		     0);
}

void gws_tell(void)
{
	const struct gw_memory *m = &gws.gw->memory;
	struct fab_pool_stats pool;

	fab_pool_get_stats(gws.gw->pool, &pool);
	sim_log("pool: %zu in use of %zu held of %zu", pool.bytes_in_use,
		pool.bytes_held, pool.limit);
	sim_log("memory: allowances of %zu, %zu lent of %zu", m->allowance,
		atomic_load(&m->lent), m->surplus);
	for (const struct gw_client *c = gws.gw->clients; c; c = c->all_next)
		sim_log("%s%s%s: has %zu, %zu promised, %zu refused%s%s, %u Calls of %zu octets%s, %u reverse, record %zu + %u, buffer %zu of %zu at %zu%s",
			c->name, c->gone ? ", gone" : "",
			c->calls.to ? ", up" : "",
			atomic_load(&c->account.used), c->account.promised,
			c->account.refused,
			gw_account_waits(&c->account) ? ", waits" : "",
			atomic_load(&m->turn) == &c->account ? ", its turn" :
							       "",
			c->calls.outstanding, c->calls.held,
			c->calls.paused ? ", paused" : "", c->reverse.n,
			c->rx.acc.len, c->rx.rec.left,
			c->rx.buf ? c->rx.fill : 0,
			c->rx.buf ? c->rx.buf->fab->size : 0, c->rx.pos,
			c->sendq.first ? ", output" : "");
}

void gws_check(enum gws_quiet quiet)
{
	const struct gateway *gw = gws.gw;
	struct sums s = { 0 };

	if (gws.w->watch.faults)
		sim_fail("wire: %s", gws.w->watch.first);
	if (gws.over)
		sim_fail("ends: the gateway, with %d", gws.status);
	if (!gw || platform_amid())
		return;
	for (const struct gw_client *c = gw->clients; c; c = c->all_next) {
		check_client(c, &s);
		if (quiet)
			check_quiet(c, quiet == GWS_IDLE);
	}
	check_sums(gw, &s);
	check_hosts(gw, &gw->hosts);
	check_hosts(gw, &gw->users);
	check_turn(gw);
	check_pool(gw);
}
