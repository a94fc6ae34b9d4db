/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disconnect - clients that stall, or make way for others
 *
 * Applies the policies of policy/memory.h and policy/hosts.h to clients. A client
 * that is disconnected connects again when it has a Call to send.
 */
#ifndef RPCRDMA_GATEWAY_DISCONNECT_H
#define RPCRDMA_GATEWAY_DISCONNECT_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct gateway;
struct gw_account;
struct gw_client;

struct gw_disconnect {
	uint64_t acked; /* octets of Replies that its TCP has acknowledged; worker */
	atomic_uint_least64_t
		active_at; /* ns; octets came, or the last Reply went */
};

/* Something was done for the client, at @now. Any thread. */
static inline void gw_disconnect_active(struct gw_disconnect *d, uint64_t now)
{
	atomic_store(&d->active_at, now);
}

/* The client was refused memory: try again in a moment. It may be gone on return.
 * Worker. */
void gw_disconnect_wait_memory(struct gw_client *c);
/* For gw_memory_init(). */
void gw_disconnect_evict(struct gw_account *victim);
/* GW_EV_TICK, GW_EV_EVICT, GW_EV_LEAVE. The client may be gone on return.
 * Worker. */
void gw_disconnect_events(struct gw_client *c, unsigned int events);

/*
 * Have a client make way for a new one of @addr, or for @c, which counts as one of
 * @addr already. @addr is NULL if any idle client will do. Returns false if none can
 * make way. Any thread, no lock held.
 */
bool gw_disconnect_make_way(struct gateway *gw, const struct in6_addr *addr,
			    const struct gw_client *c);

#endif /* RPCRDMA_GATEWAY_DISCONNECT_H */
