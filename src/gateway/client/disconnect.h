/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * disconnect - clients that make no progress, or make way for others
 *
 * A client makes progress when it begins a record, and whenever it has sent or
 * acknowledged GW_PROGRESS octets. While the server or the gateway is at work for it,
 * no time passes. The others are disconnected
 *
 *   after GW_STALL_SECONDS without progress, inside a record or with Replies to take;
 *   for memory, when a client has waited for GW_TURN_SECONDS and has its turn: who has
 *     borrowed and made no progress for GW_EVICT_SECONDS. If the pool has no buffer of
 *     that size because many small ones are in its way, one of those who wait;
 *   for a place (policy/hosts.h), or a file descriptor: who is idle for
 *     GW_IDLE_SECONDS, or has made no progress, or waited for the server to accept
 *     it, for GW_STUCK_SECONDS.
 *
 * Of several the one goes that has been waited for longest. It connects again when it
 * has a Call to send.
 */
#ifndef RPCRDMA_GATEWAY_CLIENT_DISCONNECT_H
#define RPCRDMA_GATEWAY_CLIENT_DISCONNECT_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GW_PROGRESS 1024u
#define GW_STALL_SECONDS 60
#define GW_TURN_SECONDS 10
#define GW_EVICT_SECONDS 2
#define GW_STUCK_SECONDS 10
/* So that clients that connect without end do not end each other before their first
 * Call. */
#define GW_IDLE_SECONDS 1

struct gateway;
struct gw_client;
struct gw_places;

struct gw_progress {
	atomic_uint_least64_t at; /* ns; the last progress */
	atomic_bool in_record; /* the rest of it is not in the socket so far */
	atomic_bool unacked; /* its TCP has Replies to acknowledge */
	/* Worker only. */
	size_t octets; /* since the last progress */
	uint64_t acked; /* octets of Replies */
};

/* Progress was made at @now. Any thread. */
static inline void gw_progress(struct gw_progress *p, uint64_t now)
{
	atomic_store(&p->at, now);
}

/* @n octets more were sent or acknowledged. Worker. */
static inline void gw_progress_add(struct gw_progress *p, size_t n,
				   uint64_t now)
{
	p->octets += n;
	if (p->octets < GW_PROGRESS)
		return;
	p->octets = 0;
	gw_progress(p, now);
}

/* The socket is empty, inside a record if @inside. Worker. */
static inline void gw_progress_in_record(struct gw_progress *p, bool inside)
{
	atomic_store(&p->in_record, inside);
}

/* The client was refused memory: try again in a moment. It may be gone on return.
 * Worker. */
void gw_disconnect_wait_memory(struct gw_client *c);
/* GW_EV_TICK, GW_EV_LEAVE. The client may be gone on return. Worker. */
void gw_disconnect_events(struct gw_client *c, unsigned int events);
/* Returns true if there is a place for a new client of the host @addr, for which
 * another one may have to leave. Any thread, no lock held. */
bool gw_disconnect_for_place(struct gateway *gw, const struct gw_places *p,
			     const struct in6_addr *addr);
/* Descriptors or memory of the system are short, for @c or for a new client if that is
 * NULL: an idle client is to leave. Any thread, no lock held. */
void gw_disconnect_for_descriptor(struct gateway *gw,
				  const struct gw_client *c);
/* The gateway is to end: all clients are to leave when their Calls are answered. Main. */
void gw_disconnect_all(struct gateway *gw);

#endif /* RPCRDMA_GATEWAY_CLIENT_DISCONNECT_H */
