/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * admission - whose connections a server accepts
 *
 * The fabric asks before it allocates anything for a connection, and on_request() asks once
 * more when the connection is in the list of the instance: since then, whoever closes the
 * connections of a host finds it there.
 *
 * Context: any thread. inst->lock guards the rules.
 */
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

enum rt_refusal rt_admission_check(struct rt_instance *inst,
				   const struct sockaddr_storage *peer)
{
	enum rt_refusal why = RT_NREFUSALS;
	struct in6_addr host;
	char name[64];

	pthread_mutex_lock(&inst->lock);
	if (!is_allowed(&inst->cfg.allow, peer))
		why = RT_REFUSED_not_allowed;
	pthread_mutex_unlock(&inst->lock);
	if (why == RT_NREFUSALS)
		return why;
	host = base_addr_host((const struct sockaddr *)peer);
	base_addr_name((const struct sockaddr *)peer, name, sizeof(name));
	base_log_put(inst->log, &host, name, LOG_WARNING,
		     "connection refused: %s", refusal_text[why]);
	return why;
}

bool rt_admission_early(void *ctx, const struct sockaddr_storage *peer)
{
	struct rt_instance *inst = ctx;
	enum rt_refusal why = rt_admission_check(inst, peer);

	if (why == RT_NREFUSALS)
		return true;
	rt_count_refused(inst, why);
	return false;
}
