/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account - what hosts and connections use of a server, and its limits
 *
 * Hosts: one host must not be able to use up all connections and all memory, so it has a
 * share of each: max_host_connections; max_host_memory for chunks and reassembly; as much
 * for Replies; and as much, but no less than a quarter of max_memory, for Receives. An
 * IPv6 host is its /64, since it can choose any address within.
 *
 * The account of a host has what its connections have done, and how many were opened, closed
 * and refused since it was last reported. It may wait for that without a connection.
 *
 * Unauthenticated connections: where a server takes part in host authentication, anybody
 * can begin an exchange of tokens and leave it unfinished until it times out. So that
 * such peers cannot keep out all others, at most a quarter of all connections may be
 * unauthenticated, and the oldest of them is evicted for the newest.
 *
 * Bad messages: each message that arrives alone wakes the poller and may be logged, so it
 * costs a server more than its sender. A client may send max_wrong bad messages at once,
 * and then one each RT_WRONG_MS. Until the next is allowed, its connection is not polled:
 * what it sends is handled together later, and soon its credits and its TCP window stop
 * it. An honest client errs once or twice, about a version or an extension. A GRANT is
 * not wrong, but costs as much, and more GRANTs than other messages are of no use: those
 * in excess count as bad. The limit is one of the connection and not of the host, which
 * may be a gateway or a NAT of many clients.
 *
 * Context: the runner, except for Replies, which any thread counts. Octets are atomic.
 * inst->lock guards the list of hosts, their counts and accounts, and the list of
 * unauthenticated connections, in which a connection is from its acceptance until its
 * exchange has an outcome or it ends.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/addr.h"
#include "transport/flow/host.h"

/* ---- Hosts ----------------------------------------------------------------- */

void rt_hosts_init(struct rt_instance *inst)
{
	inst->hosts_key = base_addr_key();
	for (unsigned int i = 0; i < RT_HOST_BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&inst->hosts[i]);
}

void rt_hosts_destroy(struct rt_instance *inst)
{
	struct rt_host *h, *tmp;

	/* An instance that could not be created may have no list. */
	for (unsigned int i = 0; i < RT_HOST_BUCKETS && inst->hosts[i].next;
	     i++) {
		cds_list_for_each_entry_safe(h, tmp, &inst->hosts[i], link)
		{
			free(h);
		}
	}
}

/* Forget a host without connections, unless its account is to be reported. Caller holds
 * inst->lock. */
static void host_idle(struct rt_instance *inst, struct rt_host *h)
{
	h->info = (struct rt_host_info){ .addr = h->info.addr };
	if (h->due && inst->nhosts_due < RT_ACCOUNTS_MAX) {
		inst->nhosts_due++;
		return;
	}
	cds_list_del(&h->link);
	free(h);
}

/* Returns the host of @peer, or NULL if there is none, and no memory or, without @add, no wish
 * for one. Caller holds inst->lock. */
static struct rt_host *host_of(struct rt_instance *inst,
			       const struct sockaddr_storage *peer, bool add)
{
	struct in6_addr addr = base_addr_host((const struct sockaddr *)peer);
	struct cds_list_head *bucket =
		&inst->hosts[base_addr_sum(inst->hosts_key, &addr) %
			     RT_HOST_BUCKETS];
	struct rt_host *h;

	cds_list_for_each_entry(h, bucket, link)
	{
		if (!memcmp(&h->info.addr, &addr, sizeof(addr)))
			return h;
	}
	h = add ? calloc(1, sizeof(*h)) : NULL;
	if (!h)
		return NULL;
	h->info.addr = addr;
	h->account.addr = addr;
	CDS_INIT_LIST_HEAD(&h->reads_waiting);
	cds_list_add(&h->link, bucket);
	return h;
}

int rt_host_join(struct rt_conn *c, const struct sockaddr_storage *peer)
{
	struct rt_instance *inst = c->inst;
	struct rt_host *h;
	unsigned int max = RT_CURRENT(inst, max_host_connections);
	int rc = 0;

	rt_assert_strand(c);
	pthread_mutex_lock(&inst->lock);
	h = host_of(inst, peer, true);
	if (!h) {
		rc = -ENOMEM;
	} else if (h->conns >= max) {
		rc = -EUSERS;
	} else {
		inst->nhosts_due -= !h->refs && h->due;
		h->refs++;
		h->conns++;
		c->flow.host_holds = 2;
		c->flow.host = h;
	}
	pthread_mutex_unlock(&inst->lock);
	if (rc == -EUSERS)
		rt_log(c, LOG_WARNING,
		       "connection refused: the limit of connections of its host is reached (%u)",
		       max);
	else if (rc)
		rt_log(c, LOG_WARNING, "connection refused: %s", strerror(-rc));
	return rc;
}

void rt_host_ended(struct rt_conn *c)
{
	if (c->flow.host && !--c->flow.host_holds)
		c->flow.host->conns--;
}

void rt_host_calls_returned(struct rt_conn *c)
{
	rt_assert_strand(c);
	pthread_mutex_lock(&c->inst->lock);
	rt_host_ended(c);
	pthread_mutex_unlock(&c->inst->lock);
}

void rt_host_leave(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	struct rt_host *h = c->flow.host;

	rt_assert_strand(c);
	if (!h)
		return;
	assert(!c->flow.reads_wanted);
	c->flow.host = NULL;
	pthread_mutex_lock(&inst->lock);
	if (!--h->refs)
		host_idle(inst, h);
	pthread_mutex_unlock(&inst->lock);
}

void rt_conn_host(const struct rt_conn *c, struct in6_addr *host)
{
	*host = c->flow.host ? c->flow.host->info.addr : in6addr_any;
}

/* ---- Their accounts -------------------------------------------------------- */

static void add_conn(struct rt_host_info *to, const struct rt_conn *c)
{
	struct rt_histogram turns = { 0 };

#define ADD(name, help) \
	to->stats.name += __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(ADD)
#undef ADD
	for (unsigned int i = 0; i < RT_CLASSES; i++)
		rt_histogram_sum(&turns, &c->classes.of[i].turn);
	to->calls += rt_histogram_count(&turns);
	to->call_ns += turns.sum;
}

void rt_host_opened(struct rt_conn *c)
{
	struct rt_host *h = c->flow.host;

	rt_assert_strand(c);
	pthread_mutex_lock(&c->inst->lock);
	if (c->inst->keeps_accounts) {
		c->flow.opened = true;
		h->account.opened++;
		h->due = true;
	}
	pthread_mutex_unlock(&c->inst->lock);
}

void rt_host_removed(struct rt_conn *c)
{
	struct rt_host *h = c->flow.host;

	if (!h)
		return;
	add_conn(&h->info, c);
	if (c->flow.opened) {
		h->account.closed++;
		h->due = true;
	}
}

void rt_host_refused(struct rt_instance *inst,
		     const struct sockaddr_storage *peer)
{
	struct rt_host *h;

	if (!inst->keeps_accounts)
		return;
	h = host_of(inst, peer, inst->nhosts_due < RT_ACCOUNTS_MAX);
	if (!h)
		return;
	inst->nhosts_due += !h->refs && !h->due;
	h->account.refused++;
	h->due = true;
}

static void add_to_host(struct rt_conn *c, void *unused)
{
	if (c->flow.host)
		add_conn(&c->flow.host->sum, c);
}

void rt_for_each_host(struct rt_instance *inst,
		      void (*fn)(const struct rt_host_info *host, void *arg),
		      void *arg)
{
	struct rt_host *h;

	pthread_mutex_lock(&inst->lock);
	for (unsigned int i = 0; i < RT_HOST_BUCKETS; i++) {
		cds_list_for_each_entry(h, &inst->hosts[i], link)
		{
			h->sum = h->info;
		}
	}
	rt_each_conn(inst, add_to_host, NULL);
	for (unsigned int i = 0; i < RT_HOST_BUCKETS; i++) {
		cds_list_for_each_entry(h, &inst->hosts[i], link)
		{
			if (!h->refs)
				continue;
			h->sum.connections = h->conns;
			h->sum.memory = atomic_load_explicit(
				&h->memory, memory_order_relaxed);
			fn(&h->sum, arg);
		}
	}
	pthread_mutex_unlock(&inst->lock);
}

struct taking {
	bool all;
	unsigned int max, hosts, left;
	void (*fn)(const struct rt_account *account, void *arg);
	void *arg;
};

/* Returns false if a host of the bucket is left. Caller holds inst->lock. */
static bool take_bucket(struct rt_instance *inst, struct cds_list_head *bucket,
			struct taking *t)
{
	unsigned int left = t->left;
	struct rt_host *h, *tmp;

	cds_list_for_each_entry_safe(h, tmp, bucket, link)
	{
		t->hosts += h->conns > 0;
		h->due |= t->all && h->conns;
		if (!h->due)
			continue;
		if (!t->max) {
			t->left++;
			continue;
		}
		t->max--;
		h->account.connections = h->conns;
		t->fn(&h->account, t->arg);
		h->account = (struct rt_account){ .addr = h->info.addr };
		h->due = false;
		if (h->refs)
			continue;
		inst->nhosts_due--;
		host_idle(inst, h);
	}
	return t->left == left;
}

unsigned int
rt_accounts_take(struct rt_instance *inst, bool all, unsigned int max,
		 void (*fn)(const struct rt_account *account, void *arg),
		 void *arg, unsigned int *left)
{
	struct taking t = { .all = all, .max = max, .fn = fn, .arg = arg };
	unsigned int begin, next;

	pthread_mutex_lock(&inst->lock);
	inst->keeps_accounts = true;
	begin = next = inst->accounts_at;
	for (unsigned int i = 0; i < RT_HOST_BUCKETS; i++) {
		unsigned int n = (begin + i) % RT_HOST_BUCKETS;
		bool first = !t.left;

		if (!take_bucket(inst, &inst->hosts[n], &t) && first)
			next = n;
	}
	inst->accounts_at = next;
	pthread_mutex_unlock(&inst->lock);
	*left = t.left;
	return t.hosts;
}

struct fab_buf *rt_memory_get(struct rt_conn *c, size_t held, size_t size)
{
	struct rt_instance *inst = c->inst;
	struct fab_buf *b = fab_pool_get_spare(inst->pool, size);

	rt_assert_strand(c);
	/* If nothing else is charged, a message may use the reserve. */
	if (!b &&
	    atomic_load_explicit(&inst->memory, memory_order_relaxed) <= held)
		b = fab_pool_get(inst->pool, size);
	if (b && !rt_memory_charge(c, held, b->size)) {
		fab_pool_put(b);
		return NULL;
	}
	return b;
}

bool rt_memory_charge(struct rt_conn *c, size_t held, size_t n)
{
	rt_assert_strand(c);
	/* Buffers may be larger than the message in them. So the limit applies only if
	 * something else is charged, or it would refuse a message that it should
	 * admit. */
	if (c->flow.memory > held &&
	    c->flow.memory + n > c->inst->cfg.max_conn_memory)
		return false;
	if (c->flow.host) {
		size_t was = atomic_fetch_add_explicit(&c->flow.host->memory, n,
						       memory_order_relaxed);

		if (was > held &&
		    was + n > RT_CURRENT(c->inst, max_host_memory)) {
			atomic_fetch_sub_explicit(&c->flow.host->memory, n,
						  memory_order_relaxed);
			return false;
		}
	}
	atomic_fetch_add_explicit(&c->inst->memory, n, memory_order_relaxed);
	c->flow.memory += n;
	return true;
}

void rt_memory_uncharge(struct rt_conn *c, size_t n)
{
	rt_assert_strand(c);
	assert(c->flow.memory >= n);
	c->flow.memory -= n;
	atomic_fetch_sub_explicit(&c->inst->memory, n, memory_order_relaxed);
	if (c->flow.host)
		atomic_fetch_sub_explicit(&c->flow.host->memory, n,
					  memory_order_relaxed);
}

bool rt_memory_held(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return c->flow.memory;
}

bool rt_memory_elsewhere(const struct rt_conn *c)
{
	rt_assert_strand(c);
	return atomic_load_explicit(&c->inst->memory, memory_order_relaxed) >
	       c->flow.memory;
}

bool rt_host_receives(struct rt_conn *c, size_t n)
{
	const struct rt_config *cfg = &c->inst->cfg;
	size_t was = c->flow.recv_octets, all, most = cfg->max_memory / 4;

	rt_assert_strand(c);
	if (!c->flow.host)
		return true;
	most = MAX(most, RT_CURRENT(c->inst, max_host_memory));
	all = atomic_fetch_add_explicit(&c->flow.host->receives, n - was,
					memory_order_relaxed) -
	      was;
	if (n > was && all && all + n > most) {
		atomic_fetch_sub_explicit(&c->flow.host->receives, n - was,
					  memory_order_relaxed);
		return false;
	}
	c->flow.recv_octets = n;
	return true;
}

void rt_replies_add(struct rt_conn *c, size_t n)
{
	if (!c->flow.host)
		return;
	atomic_fetch_add_explicit(&c->inst->reply_octets, n,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&c->flow.host->reply_octets, n,
				  memory_order_relaxed);
	atomic_fetch_add_explicit(&c->flow.reply_octets, n,
				  memory_order_relaxed);
}

void rt_replies_sub(struct rt_conn *c, size_t n)
{
	/* The counters are unsigned, so this subtracts. */
	rt_replies_add(c, 0 - n);
}

/*
 * Returns how many octets of Replies a host may have. Replies are not in the pool. Once
 * all hosts together have max_memory of them, each may have less, and at twice as much
 * none, so that there is a limit whatever the number of hosts.
 */
static size_t max_host_replies(const struct rt_instance *inst)
{
	size_t all =
		atomic_load_explicit(&inst->reply_octets, memory_order_relaxed);

	if (all <= inst->cfg.max_memory)
		return RT_CURRENT(inst, max_host_memory);
	return all / 2 <= inst->cfg.max_memory ?
		       RT_CURRENT(inst, max_host_memory) / RT_MANY_HOSTS :
		       0;
}

bool rt_replies_over_limit(struct rt_conn *c, unsigned int others)
{
	/* A connection without queued Replies goes on with one Call at a time, also
	 * while the pool is short of memory (receives.c). */
	return c->flow.host &&
	       (fab_pool_short(c->inst->pool) ||
		atomic_load_explicit(&c->flow.host->reply_octets,
				     memory_order_relaxed) >
			max_host_replies(c->inst)) &&
	       (others || atomic_load_explicit(&c->flow.reply_octets,
					       memory_order_relaxed));
}

const char *rt_replies_limit_text(struct rt_conn *c)
{
	if (fab_pool_short(c->inst->pool))
		return "memory is short";
	if (c->flow.host && atomic_load_explicit(&c->flow.host->reply_octets,
						 memory_order_relaxed) <=
				    RT_CURRENT(c->inst, max_host_memory))
		return "all hosts together have more Replies to take than the limit of memory";
	return "this host has more Replies to take than its limit";
}

/* ---- Unauthenticated connections ------------------------------------------ */

#define UNAUTHENTICATED_MIN 16

static unsigned int unauthenticated_max(const struct rt_instance *inst)
{
	return MAX(RT_CURRENT(inst, max_connections) / 4, UNAUTHENTICATED_MIN);
}

void rt_unauthenticated_join(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;
	struct rt_conn *oldest = NULL;

	rt_assert_strand(c);
	pthread_mutex_lock(&inst->lock);
	cds_list_add_tail(&c->flow.unauthenticated_link,
			  &inst->unauthenticated);
	if (++inst->nunauthenticated > unauthenticated_max(inst)) {
		oldest = cds_list_first_entry(&inst->unauthenticated,
					      struct rt_conn,
					      flow.unauthenticated_link);
		rt_unauthenticated_leave_locked(oldest);
		if (!rt_conn_try_get(oldest))
			oldest = NULL;
	}
	pthread_mutex_unlock(&inst->lock);
	if (!oldest)
		return;
	atomic_store(&oldest->evicted, true);
	rt_conn_close(oldest, true);
	rt_conn_put(oldest);
}

void rt_unauthenticated_leave_locked(struct rt_conn *c)
{
	if (cds_list_empty(&c->flow.unauthenticated_link))
		return;
	cds_list_del_init(&c->flow.unauthenticated_link);
	c->inst->nunauthenticated--;
}

void rt_unauthenticated_leave(struct rt_conn *c)
{
	rt_assert_strand(c);
	pthread_mutex_lock(&c->inst->lock);
	rt_unauthenticated_leave_locked(c);
	pthread_mutex_unlock(&c->inst->lock);
}

/* ---- Bad messages ---------------------------------------------------------- */

#define GRANTS_MAX 64

static uint64_t burst_ms(const struct rt_conn *c)
{
	return (uint64_t)c->inst->cfg.max_wrong * RT_WRONG_MS;
}

void rt_bad_message(struct rt_conn *c)
{
	uint64_t now;

	rt_assert_strand(c);
	if (!c->server)
		return;
	now = rt_now_ms();
	c->flow.bad_messages_until = MAX(c->flow.bad_messages_until, now);
	c->flow.bad_messages_until += RT_WRONG_MS;
	if (c->flow.bad_messages_until > burst_ms(c))
		rt_delay_poll(c, c->flow.bad_messages_until - burst_ms(c));
}

void rt_grant_received(struct rt_conn *c)
{
	uint32_t all = c->credit.received + c->credit.sent;
	uint32_t others = all - c->flow.grants_at - 1;

	rt_assert_strand(c);
	c->flow.grants_at = all;
	c->flow.grants -= MIN(others, c->flow.grants);
	if (c->flow.grants < GRANTS_MAX)
		c->flow.grants++;
	else
		rt_bad_message(c);
}
