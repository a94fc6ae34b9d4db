/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch - TCP clients that do not go on, and those that give way
 *
 * How share.h's policy is applied. Threads: worker, but for gw_watch_give_way().
 */
#ifndef RPCRDMA_GATEWAY_WATCH_H
#define RPCRDMA_GATEWAY_WATCH_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

struct gateway;
struct gw_client;
struct gw_share;

struct gw_watch {
	uint64_t out_acked; /* octets, when the share's clock was set back */
	/* client.lock held. */
	bool leaving; /* counted in gateway.leaving */
	bool due; /* ... also if it is busy: another host wants its place */
	uint64_t active_at; /* ns; octets came, or the last Reply went */
};

static inline void gw_watch_active(struct gw_watch *w, uint64_t now)
{
	w->active_at = now;
}

static inline bool gw_watch_leaving(const struct gw_watch *w)
{
	return w->leaving;
}

/* It waits for octets of the client, or is about to. */
void gw_watch_in(struct gw_client *c, uint64_t now);
/* GW_EV_WATCH, _EVICT, _LEAVE, _SWEEP and _LOOK; it may be gone then. */
void gw_watch_events(struct gw_client *c, unsigned int events);
/* For gw_share_press(). */
void gw_watch_evict(struct gw_share *victim);
/* Have one that can best do without its connection end it, for the sake of a new
 * one of @host (NULL: not known) or of @c, which is of it; false if there is none
 * such [place.h]. No lock held. */
bool gw_watch_give_way(struct gateway *gw, const struct in6_addr *host,
		       const struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_WATCH_H */
