/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts - how many clients each host has: hosts.h has the policy
 */
#include "gateway/policy/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

unsigned int gw_user_places(unsigned int n)
{
	return MAX(n / 8, MIN((n + 1) / 2, 8u));
}

void gw_places_init(struct gw_places *p, unsigned int n)
{
	CDS_INIT_LIST_HEAD(&p->hosts);
	p->n = n;
	p->taken = 0;
}

static struct gw_host *find(const struct gw_places *p,
			    const struct in6_addr *addr)
{
	struct gw_host *h;

	cds_list_for_each_entry(h, &p->hosts, list)
	{
		if (!memcmp(&h->addr, addr, sizeof(*addr)))
			return h;
	}
	return NULL;
}

struct gw_host *gw_place_take(struct gw_places *p, const struct in6_addr *addr)
{
	struct gw_host *h = find(p, addr);

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->addr = *addr;
		cds_list_add(&h->list, &p->hosts);
	}
	h->clients++;
	p->taken++;
	return h;
}

void gw_place_give(struct gw_places *p, struct gw_host *h)
{
	p->taken--;
	if (--h->clients)
		return;
	cds_list_del(&h->list);
	free(h);
}

void gw_claim_init(struct gw_claim *claim, const struct gw_places *p,
		   const struct in6_addr *addr)
{
	const struct gw_host *h;

	claim->own = find(p, addr);
	claim->own_clients = claim->own ? claim->own->clients : 0;
	claim->most = 0;
	cds_list_for_each_entry(h, &p->hosts, list)
	{
		claim->most = MAX(claim->most, h->clients);
	}
	claim->busy = claim->own_clients + 1 < claim->most;
}

bool gw_claim_covers(const struct gw_claim *claim, const struct gw_host *h)
{
	if (h == claim->own)
		return !claim->busy;
	return h->clients == claim->most && claim->most > claim->own_clients;
}
