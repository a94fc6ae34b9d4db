/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hosts - how many clients each host has, and which make way for a new one
 *
 * A host is an IPv4 address or an IPv6 /64. When all places are taken, the new client
 * takes one of its own host, or of the host that has most, if that has more: that of
 * the client that has been idle longest. If the new client's host has at least two
 * fewer than the host that has most, it takes a place of the latter though nobody be
 * idle. So nobody loses a place to a host that has as many.
 *
 * With --reserved-ports, clients from ports that anybody can have share places of
 * their own, in which each user of this machine counts as a host (gw_user_host()).
 *
 * Context: any thread; gateway.lock is held.
 */
#ifndef RPCRDMA_GATEWAY_POLICY_HOSTS_H
#define RPCRDMA_GATEWAY_POLICY_HOSTS_H

#include <netinet/in.h>
#include <stdbool.h>

#include <urcu/list.h>

struct gw_host {
	struct cds_list_head list;
	struct in6_addr addr;
	unsigned int clients;
};

struct gw_places {
	unsigned int n, taken;
	struct cds_list_head hosts; /* that have any */
};

/* How many of @n places users have: an eighth; but 8 if that is more and not more than
 * half. */
unsigned int gw_user_places(unsigned int n);
void gw_places_init(struct gw_places *p, unsigned int n);
/* Take a place for a client of @addr. Returns NULL without memory. */
struct gw_host *gw_place_take(struct gw_places *p, const struct in6_addr *addr);
void gw_place_give(struct gw_places *p, struct gw_host *h);
/* The address that stands for the user who has made the socket that @fd is connected
 * to, one for all whom the kernel does not tell. No lock is needed. */
struct in6_addr gw_user_host(int fd);

/* Whose places a new client may take. */
struct gw_claim {
	const struct gw_host *own; /* NULL: it has none so far */
	unsigned int own_clients;
	unsigned int most; /* clients of the host that has most */
	bool busy; /* also of clients that are not idle */
};

/* @addr is the new client's. */
void gw_claim_init(struct gw_claim *claim, const struct gw_places *p,
		   const struct in6_addr *addr);
/* Returns true if the claim may take a place of @h. */
bool gw_claim_covers(const struct gw_claim *claim, const struct gw_host *h);

#endif /* RPCRDMA_GATEWAY_POLICY_HOSTS_H */
