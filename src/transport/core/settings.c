/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings - defaults and limits of struct rt_config
 *
 * Threads: pure functions, but for rt_current_set().
 */
#include <sys/param.h>

#include "transport/core/core.h"

void rt_config_defaults(struct rt_config *cfg)
{
	bool any_send_size = !cfg->send_size;

#define SET_DEFAULT(type, field, dflt, min, max, step, what) \
	if (!cfg->field)                                     \
		cfg->field = (dflt);
	RT_SETTINGS(SET_DEFAULT)
#undef SET_DEFAULT
	if (!cfg->versions)
		cfg->versions = 1u << WIRE_VERS1 | 1u << WIRE_VERS2;
	/* A peer with the same settings can receive this much. */
	if (any_send_size && (cfg->extensions & RT_EXT_RTR) &&
	    !cfg->no_placement &&
	    cfg->placement_size > RT_DEFAULT(send_size) - RT_RTR_HEAD &&
	    cfg->placement_size <= RT_MAX(placement_size))
		cfg->send_size = cfg->placement_size + RT_RTR_HEAD;
	if (!cfg->max_host_connections)
		cfg->max_host_connections = MAX(cfg->max_connections / 4, 64u);
	if (!cfg->max_host_memory)
		cfg->max_host_memory =
			MAX(cfg->max_memory / 4, cfg->max_message);
}

void rt_current_set(struct rt_current *now, const struct rt_config *cfg)
{
#define SET(field) __atomic_store_n(&now->field, cfg->field, __ATOMIC_RELAXED);
	RT_CHANGEABLE(SET)
#undef SET
	now->allow = cfg->allow;
}

unsigned int rt_most_receives(const struct rt_config *cfg)
{
	return cfg->credits + cfg->reverse_credits + RT_CREDIT_MIN +
	       RT_CREDIT_BEYOND;
}

size_t rt_config_receive(const struct rt_config *given)
{
	struct rt_config cfg = *given;

	rt_config_defaults(&cfg);
	if ((cfg.extensions & RT_EXT_RTR) && !cfg.no_placement)
		return RT_RTR_HEAD + cfg.placement_size;
	return MAX(cfg.recv_size, WIRE_DEFAULT_INLINE);
}

size_t rt_config_receives(const struct rt_config *given, bool client)
{
	struct rt_config cfg = *given;

	rt_config_defaults(&cfg);
	return rt_config_receive(&cfg) *
	       (cfg.credits + (client ? cfg.reverse_credits : 0) +
		RT_CREDIT_BEYOND);
}

static bool within(uint64_t n, uint64_t min, uint64_t max, uint64_t step)
{
	return n >= min && n <= max && n % step == 0;
}

#define TEXT_OF(number) #number
#define MULTIPLE_OF_1 ""
#define MULTIPLE_OF_4 " and a multiple of 4"
#define MULTIPLE_OF_4096 " and a multiple of 4096"

const char *rt_config_check(const struct rt_config *cfg)
{
	bool v2 = cfg->versions >> WIRE_VERS2 & 1;

	if (cfg->versions & ~(1u << WIRE_VERS1 | 1u << WIRE_VERS2))
		return "there are versions 1 and 2";
	if (cfg->extensions & ~(RT_EXT_XCHAR | RT_EXT_RTR))
		return "the extensions are xcharext and rtrext";
	if (cfg->extensions && !v2)
		return "extensions need version 2";
	if (cfg->auth > RT_AUTH_REQUIRED)
		return "host authentication must be none, optional or required";
	if (cfg->auth != RT_AUTH_NONE && !v2)
		return "host authentication needs version 2";
	if (cfg->reverse > RDMA2_RVRSDIR_GENL)
		return "reverse direction must be none, simple, continued or general";
#define CHECK(type, field, dflt, min, max, step, what)                   \
	if (!within(cfg->field, min, max, step))                         \
		return what " must be " TEXT_OF(min) " to " TEXT_OF(max) \
			MULTIPLE_OF_##step;
	RT_SETTINGS(CHECK)
#undef CHECK
	if (cfg->max_conn_memory < cfg->max_message)
		return "a connection's memory must hold one message";
	if (cfg->max_host_memory < cfg->max_message)
		return "a host's memory must hold one message";
	if (cfg->max_shared_receives &&
	    cfg->max_shared_receives < rt_most_receives(cfg))
		return "shared Receives must be 0, or at least three more than credits and reverse credits together";
	return NULL;
}
