/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts - how many clients each host has: hosts.h has the policy
 */
#include "gateway/policy/hosts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

void gw_hosts_init(struct gw_hosts *hosts)
{
	CDS_INIT_LIST_HEAD(&hosts->list);
}

static struct gw_host *find(const struct gw_hosts *hosts,
			    const struct in6_addr *addr)
{
	struct gw_host *h;

	cds_list_for_each_entry(h, &hosts->list, list)
	{
		if (!memcmp(&h->addr, addr, sizeof(*addr)))
			return h;
	}
	return NULL;
}

struct gw_host *gw_host_get(struct gw_hosts *hosts, const struct in6_addr *addr)
{
	struct gw_host *h = find(hosts, addr);

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->addr = *addr;
		cds_list_add(&h->list, &hosts->list);
	}
	h->refs++;
	h->clients++;
	return h;
}

void gw_host_put(struct gw_host *h)
{
	if (--h->refs)
		return;
	cds_list_del(&h->list);
	free(h);
}

/* ---- Users -------------------------------------------------------------- */

struct in6_addr gw_host_of_user(uint32_t uid)
{
	struct in6_addr a = { .s6_addr = { 0xff } };

	memcpy(&a.s6_addr[12], &uid, sizeof(uid));
	return a;
}

static bool is_user(const struct in6_addr *addr)
{
	return IN6_IS_ADDR_MULTICAST(addr);
}

unsigned int gw_hosts_users(const struct gw_hosts *hosts)
{
	const struct gw_host *h;
	unsigned int n = 0;

	cds_list_for_each_entry(h, &hosts->list, list)
	{
		n += is_user(&h->addr) ? h->clients : 0;
	}
	return n;
}

/* An eighth; but 8, so that some users can have their Kerberos contexts at once
 * where there are few places, unless that is more than half. */
unsigned int gw_hosts_users_max(unsigned int places)
{
	unsigned int half = (places + 1) / 2;

	return MAX(places / 8, MIN(half, 8u));
}

/* ---- Claims ------------------------------------------------------------- */

void gw_claim_init(struct gw_claim *claim, const struct gw_hosts *hosts,
		   const struct in6_addr *addr, bool counted)
{
	bool user = addr && is_user(addr);
	const struct gw_host *h;

	memset(claim, 0, sizeof(*claim));
	claim->any = !addr;
	if (!addr)
		return;
	claim->users = user || gw_hosts_users(hosts);
	claim->own = find(hosts, addr);
	if (claim->own)
		claim->own_clients =
			claim->own->clients - (counted && claim->own->clients);
	cds_list_for_each_entry(h, &hosts->list, list)
	{
		if (!claim->users || is_user(&h->addr))
			claim->most = MAX(claim->most, h->clients);
	}
	claim->busy = (claim->users && !user) ||
		      claim->own_clients + 1 < claim->most;
}

bool gw_claim_covers(const struct gw_claim *claim, const struct gw_host *h)
{
	if (claim->any)
		return true;
	if (claim->users && !is_user(&h->addr))
		return false;
	if (h == claim->own && !claim->busy)
		return true;
	return h->clients == claim->most &&
	       (claim->busy || claim->most > claim->own_clients);
}
