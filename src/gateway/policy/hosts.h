/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts - how many clients each host has, and who makes way for a new one
 *
 * When --max-clients is reached, the new client takes the place of one of its own
 * host, or of the host that has most. That is the client that has been idle
 * longest. If the new client's host has at least two fewer than the host that has
 * most, it takes a place of the latter though nobody be idle. So nobody loses a
 * place to a host that has as many.
 *
 * A host is an IPv4 address or an IPv6 /64. With --reserved-ports, clients from
 * ports that anybody can have count by user of this machine instead: each user is
 * a host of its own (gw_host_of_user()). All users together have a part of the
 * places at most (gw_hosts_users_max()), take no place of a host, and are the
 * first to make way for one.
 *
 * Context: any thread; gateway.lock is held.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_HOSTS_H
#define RPCRDMA_GATEWAY_POLICY_HOSTS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#include <urcu/list.h>

struct gw_host {
	struct cds_list_head list;
	struct in6_addr addr;
	unsigned int refs; /* clients that are not freed */
	unsigned int clients; /* of these, not asked to leave, nor gone */
};

struct gw_hosts {
	struct cds_list_head list;
};

void gw_hosts_init(struct gw_hosts *hosts);
/* One client more of @addr. Returns NULL without memory. */
struct gw_host *gw_host_get(struct gw_hosts *hosts,
			    const struct in6_addr *addr);
/* One of its clients has been freed. */
void gw_host_put(struct gw_host *h);

/* The address that stands for a user: of multicast, so no host has it. */
struct in6_addr gw_host_of_user(uint32_t uid);
/* How many clients all users have, and how many of @places they may have. */
unsigned int gw_hosts_users(const struct gw_hosts *hosts);
unsigned int gw_hosts_users_max(unsigned int places);

/* Whose places a new client may take. */
struct gw_claim {
	const struct gw_host *own; /* NULL: it has none so far */
	unsigned int own_clients;
	unsigned int most; /* clients of the host that has most */
	bool any; /* places of every host */
	bool users; /* places of users only */
	bool busy; /* also of clients that are not idle */
};

/* @addr is the new client's. NULL: it is not known yet, and any idle client makes
 * way. @counted: the client is one of the host's already. */
void gw_claim_init(struct gw_claim *claim, const struct gw_hosts *hosts,
		   const struct in6_addr *addr, bool counted);
/* Returns true if the claim may take a place of @h. */
bool gw_claim_covers(const struct gw_claim *claim, const struct gw_host *h);

#endif /* RPCRDMA_GATEWAY_POLICY_HOSTS_H */
