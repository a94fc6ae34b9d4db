/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - how many clients each host has, and whose place a new one may take
 *
 * --max-clients is shared out by host (an IPv4 address or an IPv6 /64). A host
 * may have all places while no other wants one. When all are taken,
 *
 *   a newcomer whose host has at least two fewer than the host with the most
 *   takes a place of that host, idle or not: it still has no more than that;
 *
 *   any other takes the place of one that does nothing, of its own host or of
 *   one that has more.
 *
 * So nobody loses a place to a host that has as many. On loopback all clients
 * are of one host, and only those that do nothing give way.
 *
 * With --reserved-ports, clients from ports that anybody can have are together
 * one host more, GW_PLACE_USERS. It has a part of the places at most, and takes
 * none of another host's.
 *
 * Threads: any, gateway.lock held.
 */
#ifndef RPCRDMA_GATEWAY_PLACE_H
#define RPCRDMA_GATEWAY_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_PLACE_SLOTS 256
/* Of multicast, and so nobody's. */
#define GW_PLACE_USERS ((struct in6_addr){ .s6_addr = { 0xff } })
/* How many of @all places they may have. */
static inline unsigned int gw_place_users_most(unsigned int all)
{
	return all < 8 ? 1 : all / 8;
}

/* Of one host, as long as it has clients. */
struct gw_place {
	struct gw_place *next;
	struct in6_addr host;
	unsigned int clients; /* that have not been freed */
	unsigned int stay; /* of these, neither ended nor on their way out */
};

struct gw_places {
	uint64_t key;
	struct gw_place *slot[GW_PLACE_SLOTS];
};

void gw_places_init(struct gw_places *p);
/* One client more of @host, which stays; NULL: no memory. */
struct gw_place *gw_place_get(struct gw_places *p, const struct in6_addr *host);
/* How many of @host's stay. */
unsigned int gw_place_stay(struct gw_places *p, const struct in6_addr *host);
/* It has been freed. Before that it has left. */
void gw_place_put(struct gw_places *p, struct gw_place *h);

static inline void gw_place_leave(struct gw_place *h)
{
	h->stay--;
}

/* It stays after all. */
static inline void gw_place_return(struct gw_place *h)
{
	h->stay++;
}

/* What one that wants a place may have. */
struct gw_wish {
	const struct gw_place *own; /* its host's, if that has any */
	unsigned int least; /* what another host must have */
	bool due; /* it takes one also of those that are busy */
};

/* Of a newcomer of @host, or of one that is @counted already; NULL: it is not
 * known; those of the host that has the most give way, else any that is idle. */
void gw_wish_init(struct gw_wish *w, const struct gw_places *p,
		  const struct in6_addr *host, bool counted);
/* May it be a place of @h? */
bool gw_wish_takes(const struct gw_wish *w, const struct gw_place *h);

#endif /* RPCRDMA_GATEWAY_PLACE_H */
