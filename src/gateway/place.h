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
 * With --reserved-ports, clients from ports that anybody can have count by user of
 * this machine instead of host (gw_place_user(); those of other machines are one),
 * and have a part of the places at most (gw_place_users_most()). They share that
 * among themselves by the same rules, and take no place of a host's; a host's
 * newcomer takes one of theirs, busy or not.
 *
 * Threads: any, gateway.lock held.
 */
#ifndef RPCRDMA_GATEWAY_PLACE_H
#define RPCRDMA_GATEWAY_PLACE_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/param.h>

#define GW_PLACE_SLOTS 256

/* How many of @all places users may have: an eighth, but so many that a few can have
 * their contexts of Kerberos at once where there are few. */
static inline unsigned int gw_place_users_most(unsigned int all)
{
	unsigned int few = (all + 1) / 2;

	return MAX(all / 8, MIN(few, 8u));
}

/* Counts as the host of user @uid: of multicast, and so nobody's. */
static inline struct in6_addr gw_place_user(uint32_t uid)
{
	struct in6_addr a = { .s6_addr = { 0xff } };

	memcpy(&a.s6_addr[12], &uid, sizeof(uid));
	return a;
}

static inline bool gw_place_is_user(const struct in6_addr *host)
{
	return IN6_IS_ADDR_MULTICAST(host);
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
/* How many of users' stay. */
unsigned int gw_place_users(const struct gw_places *p);
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
	bool users; /* of users alone */
};

/* Of a newcomer of @host, or of one that is @counted already; NULL: it is not
 * known; those of the host that has the most give way, else any that is idle. */
void gw_wish_init(struct gw_wish *w, const struct gw_places *p,
		  const struct in6_addr *host, bool counted);
/* May it be a place of @h? */
bool gw_wish_takes(const struct gw_wish *w, const struct gw_place *h);

#endif /* RPCRDMA_GATEWAY_PLACE_H */
