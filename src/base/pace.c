/* SPDX-License-Identifier: BSD-3-Clause */
#include <sys/param.h>

#include "base/addr.h"
#include "base/pace.h"

void fab_known_put(struct fab_known *k, const struct in6_addr *host)
{
	uint64_t sum = fab_addr_sum(k->key, host);

	atomic_store_explicit(&k->slot[sum % FAB_KNOWN_SLOTS], sum,
			      memory_order_relaxed);
}

bool fab_known_has(struct fab_known *k, const struct in6_addr *host)
{
	uint64_t sum = fab_addr_sum(k->key, host);

	return atomic_load_explicit(&k->slot[sum % FAB_KNOWN_SLOTS],
				    memory_order_relaxed) == sum;
}

/* @used, as it stands for @burst of @ms each. */
static uint64_t turn(uint64_t used, uint64_t burst, uint64_t ms, uint64_t now)
{
	return used > now + burst * ms ? used - burst * ms : 0;
}

static void take(uint64_t *used, uint64_t ms, uint64_t now)
{
	*used = (*used > now ? *used : now) + ms;
}

uint64_t fab_pace_turn(const struct fab_pace *p, const struct in6_addr *host,
		       bool known, uint64_t now)
{
	uint64_t own =
		turn(p->slot[fab_addr_sum(p->key, host) % FAB_PACE_SLOTS],
		     FAB_PACE_BURST, FAB_PACE_MS, now);
	uint64_t all = known ? 0 :
			       turn(p->unknown, FAB_PACE_NEW_BURST,
				    FAB_PACE_NEW_MS, now);

	return MAX(own, all);
}

bool fab_pace_full(const struct fab_pace *p, bool known, uint64_t now)
{
	return !known &&
	       turn(p->unknown, FAB_PACE_NEW_BURST + FAB_PACE_NEW_WAIT,
		    FAB_PACE_NEW_MS, now);
}

void fab_pace_take(struct fab_pace *p, const struct in6_addr *host, bool known,
		   uint64_t now)
{
	take(&p->slot[fab_addr_sum(p->key, host) % FAB_PACE_SLOTS], FAB_PACE_MS,
	     now);
	if (!known)
		take(&p->unknown, FAB_PACE_NEW_MS, now);
}
