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
 * Threads: base_known_*() any; a base_pace is its listener's, under that one's
 * lock. Times are those of base_now_ms(), and come as an argument.
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
#define BASE_PACE_BURST 512
#define BASE_PACE_MS 5
/* Of all that are not known: as many as there are clients of most servers, and
 * thereafter as many as take a tenth of a processor, where each begins host
 * authentication (about 0.3 ms). */
#define BASE_PACE_NEW_BURST 1024
#define BASE_PACE_NEW_MS 4
/* So many of those wait; what is more is refused. */
#define BASE_PACE_NEW_WAIT 128

#define BASE_PACE_SLOTS 256
#define BASE_KNOWN_SLOTS 4096

struct base_known {
	uint64_t key; /* random */
	_Atomic uint64_t slot[BASE_KNOWN_SLOTS];
};

void base_known_put(struct base_known *k, const struct in6_addr *host);
bool base_known_has(struct base_known *k, const struct in6_addr *host);

struct base_pace {
	uint64_t key; /* random */
	/* By when what was taken is made up for, ms. */
	uint64_t slot[BASE_PACE_SLOTS];
	uint64_t unknown;
};

/* When this host's next connection may be taken: 0 for at once. */
uint64_t base_pace_turn(const struct base_pace *p, const struct in6_addr *host,
			bool known, uint64_t now);
/* Do enough of those that are not known wait already? */
bool base_pace_full(const struct base_pace *p, bool known, uint64_t now);
/* It is taken, or will be in its turn. */
void base_pace_take(struct base_pace *p, const struct in6_addr *host,
		    bool known, uint64_t now);

#endif /* RPCRDMA_BASE_PACE_H */
