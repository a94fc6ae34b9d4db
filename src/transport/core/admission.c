/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admission - whose connections a server accepts
 *
 * The fabric asks before it allocates anything for a connection, and on_request() asks once
 * more when the connection is in the list of the instance (maintenance.c).
 *
 * Context: any thread. inst->lock guards the rules.
 */
#include <errno.h>

#include "base/addr.h"
#include "transport/core/core.h"

static const char *const refusal_text[RT_NREFUSALS] = {
#define TEXT(name, help) [RT_REFUSED_##name] = (help),
	RT_REFUSALS(TEXT)
#undef TEXT
};

/* Caller holds inst->lock. */
static bool is_allowed(const struct rt_allow *allow,
		       const struct sockaddr_storage *peer)
{
	for (unsigned int i = 0; i < allow->n; i++)
		if (base_prefix_has(&allow->prefix[i], peer))
			return true;
	return !allow->n;
}

/* Caller holds inst->lock. */
static bool is_evicted(const struct rt_admission *a,
		       const struct sockaddr_storage *peer)
{
	uint64_t now = rt_now_ms();

	for (unsigned int i = 0; i < RT_EVICTIONS_MAX; i++)
		if (a->evicted[i].until > now &&
		    base_prefix_has(&a->evicted[i].who, peer))
			return true;
	return false;
}

enum rt_refusal rt_admission_check(struct rt_instance *inst,
				   const struct sockaddr_storage *peer,
				   bool chosen)
{
	enum rt_refusal why = RT_NREFUSALS;
	struct in6_addr host;
	char name[64];

	pthread_mutex_lock(&inst->lock);
	if (!is_allowed(&inst->current.allow, peer))
		why = RT_REFUSED_not_allowed;
	else if (!chosen)
		why = RT_REFUSED_device;
	else if (is_evicted(&inst->admission, peer))
		why = RT_REFUSED_evicted;
	else if (atomic_load(&inst->admission.draining_ms))
		why = RT_REFUSED_draining;
	pthread_mutex_unlock(&inst->lock);
	if (why == RT_NREFUSALS)
		return why;
	host = base_addr_host((const struct sockaddr *)peer);
	base_addr_name((const struct sockaddr *)peer, name, sizeof(name));
	base_log_put(inst->log, &host, name, LOG_WARNING,
		     "connection refused: %s", refusal_text[why]);
	return why;
}

bool rt_admission_early(void *ctx, const struct sockaddr_storage *peer,
			bool chosen)
{
	struct rt_instance *inst = ctx;
	enum rt_refusal why = rt_admission_check(inst, peer, chosen);

	if (why == RT_NREFUSALS)
		return true;
	rt_count_refused(inst, why, peer);
	return false;
}

unsigned int rt_evictions(struct rt_instance *inst,
			  struct rt_evicted out[RT_EVICTIONS_MAX])
{
	uint64_t now = rt_now_ms();
	unsigned int n = 0;

	pthread_mutex_lock(&inst->lock);
	for (unsigned int i = 0; i < RT_EVICTIONS_MAX; i++) {
		const struct rt_eviction *e = &inst->admission.evicted[i];

		if (e->until <= now)
			continue;
		out[n].who = e->who;
		out[n++].seconds = (unsigned int)(e->until - now + 999) / 1000;
	}
	pthread_mutex_unlock(&inst->lock);
	return n;
}

int rt_refuse_until(struct rt_instance *inst, const struct base_prefix *who,
		    uint64_t until)
{
	struct rt_eviction *e, *at = NULL;
	uint64_t now = rt_now_ms();

	pthread_mutex_lock(&inst->lock);
	for (unsigned int i = 0; i < RT_EVICTIONS_MAX; i++) {
		e = &inst->admission.evicted[i];
		if (e->until > now && e->who.bits == who->bits &&
		    IN6_ARE_ADDR_EQUAL(&e->who.addr, &who->addr)) {
			at = e;
			break;
		}
		if (e->until <= now)
			at = e;
	}
	if (at)
		*at = (struct rt_eviction){ *who, until };
	pthread_mutex_unlock(&inst->lock);
	return at ? 0 : -ENOSPC;
}
