/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pace - limit the rate at which a listener accepts connections
 *
 * A connection costs the server more than the client. So each host may make a burst of
 * connections, and then one each BASE_PACE_MS. All unknown hosts together have such a
 * limit, too. A host becomes known when one of its connections has proved useful
 * (fab_conn_vouch()), and is forgotten when another one takes its slot. After a restart
 * all hosts are unknown.
 *
 * A slot is chosen by a keyed hash of the host. Hosts with the same slot share its limit,
 * which nobody can bring about without the key.
 *
 * Context: base_known_*() any thread; base_pace_*() the holder of the listener's lock.
 * @now is base_now_ms().
 */
#ifndef RPCRDMA_BASE_PACE_H
#define RPCRDMA_BASE_PACE_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Of a host: a burst of twice as many as it may have by default
 * (rt_config.max_host_connections), as it may be a gateway with many clients; then so
 * many that they use a few hundredths of a processor. */
#define BASE_PACE_BURST 512
#define BASE_PACE_MS 5
/* Of all unknown hosts: a burst of as many as most servers have clients, or as this one may
 * have, since after its restart all come at once; then so many that they use a tenth of a
 * processor if each begins host authentication (0.3 ms). */
#define BASE_PACE_NEW_BURST 1024
#define BASE_PACE_NEW_MS 4
/* So many connections of unknown hosts may wait. More are refused. */
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
	unsigned int
		burst; /* of unknown hosts, if more than BASE_PACE_NEW_BURST */
	/* When the limit is unused again, ms: of each slot, and of all unknown hosts. */
	uint64_t slot[BASE_PACE_SLOTS];
	uint64_t unknown;
};

/* Returns when the next connection of @host may be accepted. 0: now. */
uint64_t base_pace_turn(const struct base_pace *p, const struct in6_addr *host,
			bool known, uint64_t now);
/* Returns true if no further connection of an unknown host may wait. */
bool base_pace_full(const struct base_pace *p, bool known, uint64_t now);
/* Count a connection that is accepted, now or after it has waited. */
void base_pace_take(struct base_pace *p, const struct in6_addr *host,
		    bool known, uint64_t now);

#endif /* RPCRDMA_BASE_PACE_H */
