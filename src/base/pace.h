/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pace - how fast a listener takes connections
 *
 * To make a connection and to end it costs a server more than who asks for it,
 * so each host may make some at once, and then so many a second. All hosts that
 * nobody has vouched for may make some together, too: a server that starts anew
 * has none of whom it knows anything. One is known when a connection of it has
 * been of use (fab_conn_vouch()), until others have taken its place.
 *
 * Hosts are told apart by a sum with a key: two that have the same share what
 * they may have, which the one cannot bring about without knowing the key.
 *
 * Threads: fab_known_*() any; a fab_pace is its listener's, under that one's
 * lock. Times are those of fab_now_ms(), and come as an argument.
 */
#ifndef RPCRDMA_BASE_PACE_H
#define RPCRDMA_BASE_PACE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a host: twice as many as Max_Host_Connections has by default; and so far
 * apart that they take some hundredths of a processor. It may be a gateway, whose
 * clients are not to hold up each other. */
#define FAB_PACE_BURST 512
#define FAB_PACE_MS 5
/* Of all that are not known: as many as there are clients of most servers, and
 * thereafter as many as take a tenth of a processor, where each begins host
 * authentication (about 0.3 ms). */
#define FAB_PACE_NEW_BURST 1024
#define FAB_PACE_NEW_MS 4
/* So many of those wait; what is more is refused. */
#define FAB_PACE_NEW_WAIT 128

#define FAB_PACE_SLOTS 256
#define FAB_KNOWN_SLOTS 4096

struct fab_known {
	uint64_t key; /* random */
	_Atomic uint64_t slot[FAB_KNOWN_SLOTS];
};

void fab_known_put(struct fab_known *k, const struct in6_addr *host);
bool fab_known_has(struct fab_known *k, const struct in6_addr *host);

struct fab_pace {
	uint64_t key; /* random */
	/* By when what was taken is made up for, ms. */
	uint64_t slot[FAB_PACE_SLOTS];
	uint64_t unknown;
};

/* When this host's next connection may be taken: 0 for at once. */
uint64_t fab_pace_turn(const struct fab_pace *p, const struct in6_addr *host,
		       bool known, uint64_t now);
/* Do enough of those that are not known wait already? */
bool fab_pace_full(const struct fab_pace *p, bool known, uint64_t now);
/* It is taken, or will be in its turn. */
void fab_pace_take(struct fab_pace *p, const struct in6_addr *host, bool known,
		   uint64_t now);

#endif /* RPCRDMA_BASE_PACE_H */
