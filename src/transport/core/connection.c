/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection - allocation of a connection, its references, its name, and why it ends
 *
 * The upper layer may hold a reference long after the connection has ended. All that the
 * parts of the connection have is freed as soon as it ends.
 *
 * Context: any thread calls rt_log() and the functions for references; the runner calls
 * the rest.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "transport/core/core.h"

void rt_conn_set_name(struct rt_conn *c, const struct sockaddr *peer)
{
	char name[sizeof(c->who.peer_name)] = "";

	rt_assert_strand(c);
	base_addr_name(peer, name, sizeof(name));
	c->who.log_host = base_addr_host(peer);
	snprintf(c->who.name, sizeof(c->who.name), "%s#%llu", name,
		 (unsigned long long)c->who.id);
	/* rt_conn_info() may read it already. */
	pthread_mutex_lock(&c->info_lock);
	memcpy(c->who.peer_name, name, sizeof(c->who.peer_name));
	pthread_mutex_unlock(&c->info_lock);
}

void rt_part_set(struct rt_conn *c, unsigned int slot, bool on)
{
	uint32_t bit = 1;

	rt_assert_strand(c);
	for (const struct rt_part *const *p = c->inst->parts;
	     !(*p)->optional || (*p)->slot != slot; p++)
		bit <<= 1;
	c->strand.parts_on = on ? c->strand.parts_on | bit :
				  c->strand.parts_on & ~bit;
}

/* Allocate a connection with the state of all parts behind it. */
static struct rt_conn *connection_alloc(struct rt_instance *inst)
{
	const struct rt_part *const *p;
	struct rt_conn *c;
	size_t n = sizeof(*c);

	for (p = inst->parts; *p; p++)
		n += ((*p)->size + 15) & ~(size_t)15;
	c = calloc(1, n);
	if (!c)
		return NULL;
	n = sizeof(*c);
	for (p = inst->parts; *p; p++) {
		if (!(*p)->size)
			continue;
		c->ext[(*p)->slot] = (uint8_t *)c + n;
		n += ((*p)->size + 15) & ~(size_t)15;
	}
	return c;
}

int rt_conn_new(struct rt_instance *inst, unsigned int poller, bool server,
		const struct rt_ops *ops, const struct sockaddr *to,
		socklen_t to_len, struct rt_conn **out)
{
	struct rt_conn *c = connection_alloc(inst);
	int rc;

	if (!c)
		return -ENOMEM;
	c->inst = inst;
	c->ops = ops;
	c->server = server;
	c->strand.poller = poller;
	c->state = server ? RT_ACCEPTING : RT_CONNECTING;
	c->last_active = rt_now_ms();
	c->who.since = c->last_active;
	atomic_init(&c->who.refs, 1);
	atomic_init(&c->strand.pending, 1);
	rt_strand_set_runner(c, pthread_self());
	pthread_mutex_init(&c->info_lock, NULL);
	CDS_INIT_LIST_HEAD(&c->strand.inst_link);
	c->work.chain_tail = &c->work.chain;
	c->info.state = rt_state_names[c->state];
	for (unsigned int i = 0; inst->parts[i]; i++)
		c->strand.parts_on |= (uint32_t)!inst->parts[i]->optional << i;
	if (to && to_len <= sizeof(c->server_addr))
		memcpy(&c->server_addr, to, to_len);
	rc = RT_TRY_PARTS(inst, init, c);
	if (rc) {
		rt_conn_release(c);
		pthread_mutex_destroy(&c->info_lock);
		free(c);
		return rc;
	}

	pthread_mutex_lock(&inst->lock);
	c->who.id = ++inst->next_id;
	atomic_fetch_add_explicit(&inst->refs, 1, memory_order_relaxed);
	cds_list_add_tail(&c->strand.inst_link, &inst->conns);
	inst->nconns++;
	pthread_mutex_unlock(&inst->lock);
	snprintf(c->who.name, sizeof(c->who.name), "#%llu",
		 (unsigned long long)c->who.id);
	*out = c;
	return 0;
}

void rt_conn_release(struct rt_conn *c)
{
	const struct rt_part *const *p = c->inst->parts;

	rt_assert_strand(c);
	while (*p)
		p++;
	while (p-- != c->inst->parts)
		if ((*p)->release)
			(*p)->release(c);
	rt_works_free(c);
}

/* The last reference is gone, nobody runs the connection, and the fabric has ended. */
static void connection_free(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	rt_strand_set_runner(c, pthread_self());
	/* The fabric has done so, unless the connection never had one. */
	rt_instance_remove_conn(c);
	rt_conn_release(c);
	RT_EACH_PART(c->inst, destroyed, c);
	pthread_mutex_destroy(&c->info_lock);
	free(c);
	rt_instance_put(inst);
}

void rt_conn_get(struct rt_conn *c)
{
	atomic_fetch_add_explicit(&c->who.refs, 1, memory_order_relaxed);
}

void rt_conn_put(struct rt_conn *c)
{
	if (atomic_fetch_sub_explicit(&c->who.refs, 1, memory_order_acq_rel) ==
	    1)
		connection_free(c);
}

bool rt_conn_try_get(struct rt_conn *c)
{
	long n = atomic_load(&c->who.refs);

	while (n > 0)
		if (atomic_compare_exchange_weak(&c->who.refs, &n, n + 1))
			return true;
	return false;
}

/* ---- The log, and the reason of the end ----------------------------------- */

void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	base_log_vput(c->inst->log, &c->who.log_host, c->who.name, level, fmt,
		      ap);
	va_end(ap);
}

void rt_conn_vfail(struct rt_conn *c, int error, const char *fmt, va_list ap)
{
	rt_assert_strand(c);
	if (c->end_reason)
		return;
	vsnprintf(c->end_text, sizeof(c->end_text), fmt, ap);
	c->end_reason = c->end_text;
	c->end_error = error;
}

void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
{
	va_list ap;

	rt_assert_strand(c);
	va_start(ap, fmt);
	rt_conn_vfail(c, error, fmt, ap);
	va_end(ap);
}
