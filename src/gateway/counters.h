/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters - what a gateway counts
 *
 * Each client has its own counters, under its lock. Those of clients that are gone are
 * added up in gateway.ended.
 */
#ifndef RPCRDMA_GATEWAY_COUNTERS_H
#define RPCRDMA_GATEWAY_COUNTERS_H

#include <stdint.h>

#define GW_STATS(X)                                                       \
	X(tcp_calls, "Calls received over TCP")                           \
	X(tcp_replies, "Replies sent over TCP")                           \
	X(tcp_bytes_in, "bytes received over TCP")                        \
	X(tcp_bytes_out, "bytes sent over TCP")                           \
	X(arguments_reduced, "arguments sent as Read chunks")             \
	X(results_reduced, "results placed through Write chunks")         \
	X(duplicates, "Calls dropped because their XID was outstanding")  \
	X(counts_lowered, "READs and READDIRs forwarded for fewer bytes") \
	X(writes_shortened, "WRITEs forwarded in part")                   \
	X(retransmits, "Calls sent again on a new RDMA connection")       \
	X(renewals, "TCP connections ended so that Calls are resent")     \
	X(reconnects, "RDMA connections made again")                      \
	X(moves, "silent RDMA connections left for new ones")             \
	X(resource_retries, "Calls sent again with larger chunks")        \
	X(errors_answered, "Calls answered with RPC SYSTEM_ERR")          \
	X(reverse_calls, "reverse-direction Calls carried to TCP")        \
	X(reverse_replies, "their Replies carried back")                  \
	X(memory_waits, "reads from clients put off for lack of memory")  \
	X(pauses, "reads put off because the client was at its limit")    \
	X(records_refused, "records that ended a TCP connection")         \
	X(overdue, "clients ended because they made no progress")         \
	X(evictions, "clients ended because others needed their memory")  \
	X(gave_way, "clients ended to make room for new ones")

struct gw_stats {
#define GW_STATS_FIELD(name, help) uint64_t name;
	GW_STATS(GW_STATS_FIELD)
#undef GW_STATS_FIELD
};

struct gateway;

static inline void gw_stats_add(struct gw_stats *to,
				const struct gw_stats *from)
{
#define GW_STATS_ADD(name, help) to->name += from->name;
	GW_STATS(GW_STATS_ADD)
#undef GW_STATS_ADD
}

/* Add up the counters of all clients, also of those that are gone. Any thread, no lock
 * held. */
void gw_stats_total(struct gateway *gw, struct gw_stats *out);

#endif /* RPCRDMA_GATEWAY_COUNTERS_H */
