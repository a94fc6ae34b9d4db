/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * instance - settings, pollers, listeners, the list of connections
 *
 * Any thread. Locks: inst->lock guards the lists of connections and listeners
 * and the totals; a connection's info_lock may be taken inside it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "transport/internal.h"

#define DFLT(field, value)                    \
	do {                                  \
		if (!cfg->field)              \
			cfg->field = (value); \
	} while (0)

void rt_config_defaults(struct rt_config *cfg)
{
	DFLT(versions, 1u << WIRE_VERS1 | 1u << WIRE_VERS2);
	DFLT(credits, 64);
	DFLT(recv_size, WIRE_DEFAULT_INLINE);
	DFLT(placement_size, 15 * RT_RTR_SEGMENT);
	DFLT(max_transmissions, 4);
	DFLT(send_size,
	     (cfg->extensions & RT_EXT_RTR) && !cfg->no_placement &&
			     cfg->placement_size > 65536 - RT_RTR_HEAD &&
			     cfg->placement_size <= RT_PLACEMENT_MAX ?
		     cfg->placement_size + RT_RTR_HEAD :
		     65536);
	DFLT(max_segment_size, WIRE_DEFAULT_SEGMENT_SIZE);
	DFLT(max_segments, WIRE_DEFAULT_SEGMENTS);
	DFLT(max_read_chunks, 8);
	DFLT(max_write_chunks, 8);
	DFLT(max_message, (1u << 20) + (64u << 10));
	DFLT(max_conn_memory, (size_t)64 << 20);
	DFLT(call_read_chunks, 1);
	DFLT(call_write_chunks, 1);
	DFLT(max_fragments, 8);
	DFLT(reverse_credits, 16);
	DFLT(first_message_ms, 10000);
	DFLT(version1_ms, 600000);
	DFLT(continuation_ms, 60000);
	DFLT(memory_wait_ms, 5000);
	DFLT(drain_ms, 5000);
	DFLT(busy_recv_size, 16384);
	DFLT(idle_recv_size, WIRE_DEFAULT_INLINE);
	DFLT(idle_recv_ms, 60000);
	DFLT(auth_ms, RT_AUTH_SECONDS * 1000);
	DFLT(max_connections, 1024);
	DFLT(max_memory, (size_t)1 << 30);
	DFLT(max_host_connections,
	     cfg->max_connections < 256 ? 64 : cfg->max_connections / 4);
	DFLT(max_host_memory, cfg->max_memory / 4 < cfg->max_message ?
				      cfg->max_message :
				      cfg->max_memory / 4);
}

const char *rt_config_check(const struct rt_config *cfg)
{
	if (cfg->versions & ~(1u << WIRE_VERS1 | 1u << WIRE_VERS2))
		return "there are versions 1 and 2";
	if (cfg->extensions & ~(RT_EXT_XCHAR | RT_EXT_RTR))
		return "the extensions are xcharext and rtrext";
	if (cfg->extensions && !(cfg->versions >> WIRE_VERS2 & 1))
		return "extensions need version 2";
	if (cfg->auth > RT_AUTH_REQUIRED)
		return "host authentication must be none, optional or required";
	if (cfg->auth != RT_AUTH_NONE && !(cfg->versions >> WIRE_VERS2 & 1))
		return "host authentication needs version 2";
	if (cfg->auth_ms > RT_AUTH_SECONDS_MAX * 1000)
		return "the time for host authentication must be 1 to 3600 s";
	if (cfg->credits < 1 || cfg->credits > RT_CREDITS_MAX)
		return "credits must be 1 to 4096";
	if (cfg->recv_size < RT_SEND_MIN || cfg->recv_size > RT_SEND_MAX ||
	    cfg->recv_size % 4)
		return "the receive size must be 1024 to 262144 and a multiple of 4";
	if (cfg->send_size < RT_SEND_MIN || cfg->send_size > RT_SEND_MAX ||
	    cfg->send_size % 4)
		return "the send size must be 1024 to 262144 and a multiple of 4";
	if (cfg->busy_recv_size < RT_SEND_MIN ||
	    cfg->busy_recv_size > RT_SEND_MAX || cfg->busy_recv_size % 4)
		return "the receive size of busy connections must be 1024 to 262144 and a multiple of 4";
	if (cfg->idle_recv_size < RT_SEND_MIN ||
	    cfg->idle_recv_size > RT_SEND_MAX || cfg->idle_recv_size % 4)
		return "the receive size of idle connections must be 1024 to 262144 and a multiple of 4";
	if (cfg->placement_size < RT_RTR_SEGMENT ||
	    cfg->placement_size > RT_PLACEMENT_MAX ||
	    cfg->placement_size % RT_RTR_SEGMENT)
		return "the placement size must be 4096 to 258048 and a multiple of 4096";
	if (cfg->max_transmissions < 1 ||
	    cfg->max_transmissions > RT_TRANSMISSIONS_MAX)
		return "the number of transmissions must be 1 to 16";
	if (cfg->max_segment_size < RT_SEGMENT_MIN ||
	    cfg->max_segment_size > RT_SEGMENT_MAX)
		return "the segment size must be 4096 to 1073741824";
	if (cfg->max_segments < 1 || cfg->max_segments > RT_MAX_SEGMENTS)
		return "the number of segments must be 1 to 64";
	if (cfg->max_read_chunks > RT_MAX_CHUNKS ||
	    cfg->max_write_chunks > RT_MAX_CHUNKS ||
	    cfg->call_read_chunks > RT_MAX_CHUNKS ||
	    cfg->call_write_chunks > RT_MAX_CHUNKS)
		return "the number of chunks must be at most 16";
	if (cfg->max_message < RT_MESSAGE_MIN ||
	    cfg->max_message > RT_MESSAGE_MAX)
		return "the longest message must be 65536 to 4194304";
	if (cfg->max_conn_memory < cfg->max_message)
		return "a connection's memory must hold one message";
	if (cfg->max_fragments < 1)
		return "the number of fragments must be at least 1";
	if (cfg->reverse > RDMA2_RVRSDIR_GENL)
		return "reverse direction must be none, simple, continued or general";
	if (cfg->reverse_credits < 1 ||
	    cfg->reverse_credits > RT_REVERSE_CREDITS_MAX)
		return "reverse credits must be 1 to 1024";
	if (cfg->max_connections < 1 ||
	    cfg->max_connections > RT_CONNECTIONS_MAX)
		return "the number of connections must be 1 to 65536";
	if (cfg->max_host_memory < cfg->max_message)
		return "a host's memory must hold one message";
	if (cfg->max_memory < RT_MEMORY_MIN)
		return "the memory limit must be at least 16 MiB";
	return NULL;
}

int rt_instance_create(const struct rt_params *p, struct rt_instance **out)
{
	struct rt_instance *inst = calloc(1, sizeof(*inst));
	struct fab_pool_params pp;
	int rc = -ENOMEM;

	if (!inst)
		return -ENOMEM;
	inst->cfg = p->config;
	rt_config_defaults(&inst->cfg);
	inst->log = p->log;
	inst->log_ctx = p->log_ctx;
	inst->provider = p->provider;
	inst->npollers = p->pollers ? p->pollers : 1;
	inst->auth.ops = p->auth;
	inst->auth.ctx = p->auth_ctx;
	CDS_INIT_LIST_HEAD(&inst->auth.queue);
	pthread_mutex_init(&inst->auth.lock, NULL);
	pthread_cond_init(&inst->auth.wake, NULL);
	atomic_init(&inst->refs, 1);
	pthread_mutex_init(&inst->lock, NULL);
	pthread_mutex_init(&inst->request_lock, NULL);
	CDS_INIT_LIST_HEAD(&inst->conns);
	CDS_INIT_LIST_HEAD(&inst->hosts);
	CDS_INIT_LIST_HEAD(&inst->crowd);
	CDS_INIT_LIST_HEAD(&inst->listeners);
	if (rt_config_check(&inst->cfg) ||
	    (inst->cfg.auth != RT_AUTH_NONE && !p->auth)) {
		rc = -EINVAL;
		goto fail;
	}
	if (inst->cfg.auth == RT_AUTH_REQUIRED) {
		/* Version 1 has none: as if it were not spoken here. */
		inst->auth.version1 = inst->cfg.versions >> WIRE_VERS1 & 1;
		inst->cfg.versions = 1u << WIRE_VERS2;
	}
	inst->pollers = calloc(inst->npollers, sizeof(*inst->pollers));
	if (!inst->pollers || rt_turns_create(inst))
		goto fail;
	inst->dom = p->shared_domain;
	if (!inst->dom) {
		rc = fab_domain_open(p->provider, &p->domain, &inst->dom);
		if (rc)
			goto fail;
		inst->own_domain = true;
	}
	inst->limits = fab_domain_limits(inst->dom);
	inst->bound = p->strangers && (inst->limits->caps & FAB_CAP_BOUND);
	pp = (struct fab_pool_params){ .max_bytes = inst->cfg.max_memory,
				       .huge_pages = inst->cfg.huge_pages };
	rc = fab_pool_create(inst->dom, &pp, &inst->pool);
	if (!rc && (inst->cfg.extensions & RT_EXT_RTR)) {
		inst->zeros = fab_pool_get(inst->pool, RT_RTR_ZEROS);
		if (inst->zeros)
			memset(inst->zeros->addr, 0, inst->zeros->size);
		else
			rc = -ENOMEM;
	}
	for (unsigned int i = 0; !rc && i < inst->npollers; i++)
		rc = fab_poller_create(inst->dom, &inst->pollers[i]);
	if (!rc)
		rc = rt_auth_pool_start(inst);
	if (rc)
		goto fail;
	*out = inst;
	return 0;
fail:
	rt_instance_destroy(inst);
	return rc;
}

bool rt_instance_held(const struct rt_instance *inst)
{
	return atomic_load(&inst->refs) > 1;
}

void rt_instance_put(struct rt_instance *inst)
{
	if (atomic_fetch_sub_explicit(&inst->refs, 1, memory_order_acq_rel) !=
	    1)
		return;
	while (inst->free_requests) {
		struct rt_request_priv *rq = inst->free_requests;

		inst->free_requests = rq->next_free;
		free(rq);
	}
	fab_pool_put(inst->zeros);
	if (inst->pool)
		fab_pool_destroy(inst->pool);
	if (inst->own_domain)
		fab_domain_close(inst->dom);
	pthread_mutex_destroy(&inst->lock);
	pthread_mutex_destroy(&inst->request_lock);
	pthread_mutex_destroy(&inst->auth.lock);
	pthread_cond_destroy(&inst->auth.wake);
	free(inst->pollers);
	rt_turns_free(inst);
	free(inst);
}

void rt_instance_destroy(struct rt_instance *inst)
{
	if (!inst)
		return;
	rt_auth_pool_stop(inst);
	for (unsigned int i = 0; inst->pollers && i < inst->npollers; i++)
		if (inst->pollers[i])
			fab_poller_destroy(inst->pollers[i]);
	/* Connections that have ended and are still held need the rest. */
	rt_instance_put(inst);
}

struct fab_pool *rt_instance_pool(struct rt_instance *inst)
{
	return inst->pool;
}

const struct rt_config *rt_instance_config(const struct rt_instance *inst)
{
	return &inst->cfg;
}

bool rt_instance_bound(const struct rt_instance *inst)
{
	return inst->bound;
}

unsigned int rt_instance_pollers(const struct rt_instance *inst)
{
	return inst->npollers;
}

/* ---- The list of connections ------------------------------------------ */

static void add_stats(struct rt_stats *sum, struct rt_conn *c)
{
#define ADD(name, help) \
	sum->name += __atomic_load_n(&c->stats.name, __ATOMIC_RELAXED);
	RT_STATS(ADD)
#undef ADD
}

static void add_stages(struct rt_stages *sum, const struct rt_conn *c)
{
	for (unsigned int i = 0; i < RT_NSTAGES; i++)
		rt_histogram_sum(&sum->stage[i], &c->stages.stage[i]);
}

void rt_instance_forget(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	pthread_mutex_lock(&inst->lock);
	if (!cds_list_empty(&c->inst_link)) {
		cds_list_del_init(&c->inst_link);
		inst->nconns--;
		rt_host_ended(c);
		rt_crowd_leave_locked(c);
		add_stats(&inst->ended, c);
		add_stages(&inst->ended_stages, c);
		rt_classes_sum(&inst->ended_classes, &c->classes);
	}
	pthread_mutex_unlock(&inst->lock);
}

bool rt_conn_try_get(struct rt_conn *c)
{
	long n = atomic_load(&c->refs);

	while (n > 0)
		if (atomic_compare_exchange_weak(&c->refs, &n, n + 1))
			return true;
	return false;
}

void rt_stats_total(struct rt_instance *inst, struct rt_stats *out,
		    unsigned int *connections, uint64_t *accepted)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended;
	cds_list_for_each_entry(c, &inst->conns, inst_link) add_stats(out, c);
	if (connections)
		*connections = inst->nconns;
	if (accepted)
		*accepted = inst->accepted;
	pthread_mutex_unlock(&inst->lock);
}

void rt_stages_total(struct rt_instance *inst, struct rt_stages *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_stages;
	cds_list_for_each_entry(c, &inst->conns, inst_link) add_stages(out, c);
	pthread_mutex_unlock(&inst->lock);
}

void rt_classes_total(struct rt_instance *inst, struct rt_classes *out)
{
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	*out = inst->ended_classes;
	cds_list_for_each_entry(c, &inst->conns, inst_link)
		rt_classes_sum(out, &c->classes);
	pthread_mutex_unlock(&inst->lock);
}

void rt_for_each_conn(struct rt_instance *inst,
		      void (*fn)(const struct rt_conn_info *info, void *arg),
		      void *arg)
{
	struct rt_conn_info info;
	struct rt_conn *c;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, inst_link)
	{
		rt_conn_info(c, &info);
		fn(&info, arg);
	}
	pthread_mutex_unlock(&inst->lock);
}

#define BATCH 64

unsigned int rt_with_conns(struct rt_instance *inst,
			   bool (*want)(struct rt_conn *, uint64_t),
			   void (*fn)(struct rt_conn *), uint64_t arg)
{
	struct rt_conn *batch[BATCH], *c;
	unsigned int n = 0;

	pthread_mutex_lock(&inst->lock);
	cds_list_for_each_entry(c, &inst->conns, inst_link)
	{
		if (n == BATCH)
			break;
		if (want(c, arg) && rt_conn_try_get(c))
			batch[n++] = c;
	}
	pthread_mutex_unlock(&inst->lock);
	for (unsigned int i = 0; i < n; i++) {
		fn(batch[i]);
		rt_conn_put(batch[i]);
	}
	return n;
}

/* ---- Listening and connecting ----------------------------------------- */

static void unused_gone(void *user)
{
	rt_reclaim_receives(user);
	rt_instance_forget(user);
	rt_conn_put(user);
}

/* Who is turned away comes again: say it now and then. */
static void log_refused(struct rt_instance *inst, const char *text)
{
	uint64_t now = rt_now_ms();
	bool quiet;

	pthread_mutex_lock(&inst->lock);
	quiet = inst->refused_at && now - inst->refused_at < RT_REFUSED_MS;
	if (!quiet)
		inst->refused_at = now;
	pthread_mutex_unlock(&inst->lock);
	if (!quiet && inst->log)
		inst->log(inst->log_ctx, LOG_WARNING, text);
}

/* The one that runs @f. */
static unsigned int poller_of(const struct rt_instance *inst,
			      const struct fab_conn *f)
{
	unsigned int n = 0;

	while (inst->pollers[n] != fab_conn_poller(f))
		n++;
	return n;
}

static void on_request(struct fab_listener *fl, struct fab_conn *f,
		       const void *priv, size_t priv_len, void *user)
{
	struct rt_listener *l = user;
	struct rt_instance *inst = l->inst;
	struct fab_conn_params params = { 0 };
	struct fab_conn_info fi;
	struct rt_conn *c;
	uint8_t data[WIRE_CM_LEN];
	bool refuse = false, full;
	char text[160];
	int rc;

	pthread_mutex_lock(&inst->lock);
	full = inst->nconns >= inst->cfg.max_connections;
	pthread_mutex_unlock(&inst->lock);
	if (full) {
		log_refused(inst,
			    "connection refused: Max_Connections reached");
		goto reject;
	}
	rc = rt_conn_new(inst, poller_of(inst, f), true, l->ops, &c);
	if (rc)
		goto reject;
	fab_conn_info(f, &fi);
	rt_conn_set_name(c, (struct sockaddr *)&fi.peer);
	rc = rt_host_join(c, &fi.peer);
	if (rc) {
		snprintf(text, sizeof(text), "%s: connection refused: %s",
			 c->name,
			 rc == -EUSERS ? "Max_Host_Connections reached" :
					 strerror(-rc));
		log_refused(inst, text);
		rt_conn_put(c);
		goto reject;
	}
	pthread_mutex_lock(&inst->lock);
	inst->accepted++;
	pthread_mutex_unlock(&inst->lock);
	pthread_mutex_lock(&c->info_lock);
	c->info.local = fi.local;
	c->info.peer = fi.peer;
	c->info.crc = fi.crc;
	pthread_mutex_unlock(&c->info_lock);
	c->fab = f;
	fab_conn_set_ready(f, rt_conn_ready, c);
	rt_conn_publish(c);
	/* The upper layer's reference. */
	rt_conn_get(c);
	if (l->ops->open)
		c->user = l->ops->open(c, l->ctx, &refuse);
	else
		c->user = l->ctx;
	rt_private_data(inst, true, data);
	rt_private_take(c, priv, priv_len);
	params.priv = data;
	params.priv_len = sizeof(data);
	rc = refuse ? -EPERM : rt_post_receives(c);
	if (!rc)
		rc = fab_accept(f, &params);
	if (rc) {
		if (!refuse)
			rt_log(c, LOG_WARNING, "not accepted: %s",
			       strerror(-rc));
		if (!refuse && l->ops->closed)
			l->ops->closed(c, rc, "not accepted");
		if (refuse)
			rt_conn_put(c);
		c->state = RT_CLOSED;
		c->fab = NULL;
		fab_reject(f, NULL, 0);
		fab_conn_destroy_deferred(f, unused_gone, c);
	}
	rt_crowd_join(c);
	rt_strand_release(c);
	return;
reject:
	fab_reject(f, NULL, 0);
	fab_conn_destroy_deferred(f, NULL, NULL);
}

int rt_listen(struct rt_instance *inst, const struct sockaddr *addr,
	      socklen_t addrlen, const struct rt_ops *ops, void *ctx,
	      struct rt_listener **out)
{
	struct rt_listener *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	l->inst = inst;
	l->ops = ops;
	l->ctx = ctx;
	pthread_mutex_lock(&inst->lock);
	l->poller = inst->next_poller++ % inst->npollers;
	cds_list_add_tail(&l->link, &inst->listeners);
	pthread_mutex_unlock(&inst->lock);
	rc = fab_listen(inst->pollers[l->poller], addr, addrlen, on_request, l,
			&l->fab);
	if (!rc) {
		rc = fab_listener_spread(l->fab, inst->pollers, inst->npollers);
		if (rc)
			fab_listener_close(l->fab);
	}
	if (rc) {
		pthread_mutex_lock(&inst->lock);
		cds_list_del(&l->link);
		pthread_mutex_unlock(&inst->lock);
		free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void rt_listener_addr(const struct rt_listener *l,
		      struct sockaddr_storage *addr)
{
	fab_listener_addr(l->fab, addr);
}

void rt_listener_close(struct rt_listener *l)
{
	struct rt_instance *inst = l->inst;

	fab_listener_close(l->fab);
	pthread_mutex_lock(&inst->lock);
	cds_list_del(&l->link);
	pthread_mutex_unlock(&inst->lock);
	free(l);
}

int rt_connect(struct rt_instance *inst, unsigned int poller,
	       const struct sockaddr *addr, socklen_t addrlen,
	       const struct rt_ops *ops, void *user, struct rt_conn **out)
{
	struct fab_conn_params params = { 0 };
	uint8_t data[WIRE_CM_LEN];
	struct rt_conn *c;
	int rc;

	rc = rt_conn_new(inst, poller, false, ops, &c);
	if (rc)
		return rc;
	c->user = user;
	if (addrlen <= sizeof(c->server_addr))
		memcpy(&c->server_addr, addr, addrlen);
	rt_version_init(c);
	rt_conn_set_name(c, addr);
	rc = fab_conn_create(inst->pollers[poller], rt_conn_ready, c, &c->fab);
	if (rc) {
		rt_conn_put(c);
		return rc;
	}
	rc = rt_post_receives(c);
	if (!rc) {
		rt_private_data(inst, false, data);
		params.priv = data;
		params.priv_len = sizeof(data);
		rc = fab_connect(c->fab, addr, addrlen, &params);
	}
	if (rc) {
		struct fab_conn *f = c->fab;

		c->fab = NULL;
		c->state = RT_CLOSED;
		/* The poller may let go of it before we have. */
		rt_conn_get(c);
		fab_conn_destroy_deferred(f, unused_gone, c);
		rt_strand_release(c);
		rt_conn_put(c);
		return rc;
	}
	rt_conn_get(c);
	*out = c;
	rt_strand_release(c);
	return 0;
}

/* ---- The end ---------------------------------------------------------- */

static bool not_closing(struct rt_conn *c, uint64_t unused)
{
	const char *state;

	pthread_mutex_lock(&c->info_lock);
	state = c->info.state;
	pthread_mutex_unlock(&c->info_lock);
	/* close_wanted goes back to 0 once an abort has been seen. */
	return !atomic_load(&c->close_wanted) &&
	       strcmp(state, rt_state_names[RT_CLOSED]) &&
	       strcmp(state, rt_state_names[RT_CLOSING]);
}

static void close_one(struct rt_conn *c)
{
	rt_conn_close(c, false);
}

/* One that waits for the peer's end of an orderly close, too. */
static bool not_aborted(struct rt_conn *c, uint64_t unused)
{
	return !atomic_load(&c->shut);
}

static void abort_one(struct rt_conn *c)
{
	atomic_store(&c->shut, true);
	rt_conn_close(c, true);
}

/* Wait until @end for the connections to be gone. Returns how many are left. */
static unsigned int wait_ended(struct rt_instance *inst, uint64_t end, bool run)
{
	for (;;) {
		unsigned int left;

		pthread_mutex_lock(&inst->lock);
		left = inst->nconns;
		pthread_mutex_unlock(&inst->lock);
		if (!left || rt_now_ms() >= end)
			return left;
		if (run) {
			for (unsigned int i = 0; i < inst->npollers; i++)
				rt_run(inst, i, 10);
		} else {
			struct timespec ts = { 0, 5000000 };

			nanosleep(&ts, NULL);
		}
	}
}

unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run)
{
	unsigned int left;

	for (;;) {
		struct rt_listener *l = NULL;

		pthread_mutex_lock(&inst->lock);
		if (!cds_list_empty(&inst->listeners))
			l = cds_list_first_entry(&inst->listeners,
						 struct rt_listener, link);
		pthread_mutex_unlock(&inst->lock);
		if (!l)
			break;
		rt_listener_close(l);
	}
	while (rt_with_conns(inst, not_closing, close_one, 0))
		;
	left = wait_ended(inst, rt_now_ms() + ms, run);
	if (!left || !ms)
		return left;
	/*
	 * However late this thread comes to it: nothing is left to a drain
	 * time that nobody waits for.
	 */
	while (rt_with_conns(inst, not_aborted, abort_one, 0))
		;
	return wait_ended(inst, rt_now_ms() + RT_ABORT_MS, run);
}
