/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/param.h>

#include "base/addr.h"
#include "base/pace.h"

void base_known_put(struct base_known *k, const struct in6_addr *host)
{
	uint64_t sum = base_addr_sum(k->key, host);

	atomic_store_explicit(&k->slot[sum % BASE_KNOWN_SLOTS], sum,
			      memory_order_relaxed);
}

bool base_known_has(struct base_known *k, const struct in6_addr *host)
{
	uint64_t sum = base_addr_sum(k->key, host);

	return atomic_load_explicit(&k->slot[sum % BASE_KNOWN_SLOTS],
				    memory_order_relaxed) == sum;
}

/* Returns when a limit that is in use until @used has room again, or 0. */
static uint64_t next_at(uint64_t used, uint64_t burst, uint64_t ms,
			uint64_t now)
{
	return used > now + burst * ms ? used - burst * ms : 0;
}

static void count_one(uint64_t *used, uint64_t ms, uint64_t now)
{
	*used = (*used > now ? *used : now) + ms;
}

static uint64_t unknown_burst(const struct base_pace *p)
{
	return MAX(p->burst, BASE_PACE_NEW_BURST);
}

uint64_t base_pace_turn(const struct base_pace *p, const struct in6_addr *host,
			bool known, uint64_t now)
{
	uint64_t own =
		next_at(p->slot[base_addr_sum(p->key, host) % BASE_PACE_SLOTS],
			BASE_PACE_BURST, BASE_PACE_MS, now);
	uint64_t all = known ? 0 :
			       next_at(p->unknown, unknown_burst(p),
				       BASE_PACE_NEW_MS, now);

	return MAX(own, all);
}

bool base_pace_full(const struct base_pace *p, bool known, uint64_t now)
{
	return !known &&
	       next_at(p->unknown, unknown_burst(p) + BASE_PACE_NEW_WAIT,
		       BASE_PACE_NEW_MS, now);
}

void base_pace_take(struct base_pace *p, const struct in6_addr *host,
		    bool known, uint64_t now)
{
	count_one(&p->slot[base_addr_sum(p->key, host) % BASE_PACE_SLOTS],
		  BASE_PACE_MS, now);
	if (!known)
		count_one(&p->unknown, BASE_PACE_NEW_MS, now);
}
