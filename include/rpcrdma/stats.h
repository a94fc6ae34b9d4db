/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stats - the counters and the visible state of connections and instances
 */
#ifndef RPCRDMA_TRANSPORT_STATS_H
#define RPCRDMA_TRANSPORT_STATS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "rpcrdma/auth.h"
#include "rpcrdma/opclass.h"
#include "rpcrdma/stage.h"
#include "rpcrdma/transport.h"

/* X(name, help) for each counter, so that printers need no second list. */
#define RT_STATS(X)                                                    \
	X(calls_sent, "Calls sent")                                    \
	X(calls_received, "Calls received")                            \
	X(calls_denied, "Calls whose RPC header was refused")          \
	X(replies_sent, "Replies sent")                                \
	X(replies_received, "Replies received")                        \
	X(reverse_calls_sent, "reverse-direction Calls sent")          \
	X(reverse_calls_received, "reverse-direction Calls received")  \
	X(inline_sent, "messages sent in Simple format")               \
	X(inline_received, "messages received in Simple format")       \
	X(continued_sent, "messages sent in Continued format")         \
	X(continued_received, "messages received in Continued format") \
	X(fragments_sent, "MIDDLE fragments sent")                     \
	X(fragments_received, "MIDDLE fragments received")             \
	X(special_sent, "messages sent in Special format")             \
	X(special_received, "messages received in Special format")     \
	X(inline_bytes_sent, "payload octets sent inline")             \
	X(inline_bytes_received, "payload octets received inline")     \
	X(continued_bytes_sent, "of these in Continued format")        \
	X(continued_bytes_received, "of these in Continued format")    \
	X(read_chunks, "Read and Call chunks handled")                 \
	X(read_bytes, "octets by RDMA Read")                           \
	X(write_chunks, "Write chunks filled")                         \
	X(reply_chunks, "Reply chunks filled")                         \
	X(write_bytes, "octets by RDMA Write")                         \
	X(invalidations_sent, "Replies sent with invalidate")          \
	X(invalidations_received, "handles invalidated by the peer")   \
	X(grants_sent, "GRANTs sent")                                  \
	X(grants_received, "GRANTs received")                          \
	X(errors_sent, "ERRORs sent")                                  \
	X(errors_received, "ERRORs received")                          \
	X(dropped, "messages dropped")                                 \
	X(auth_passed, "peers known by host authentication")           \
	X(auth_failed, "peers refused by host authentication")         \
	X(surplus, "messages with octets after the header")            \
	X(xchar_requests_sent, "xcharext: changes asked for")          \
	X(xchar_requests_received, "xcharext: changes asked for here") \
	X(xchar_updates_sent, "xcharext: changes told")                \
	X(xchar_updates_received, "xcharext: changes of the peer's")   \
	X(xmt_calls_sent, "Calls sent by XMTREQ")                      \
	X(xmt_calls_received, "Calls received by XMTREQ")              \
	X(placed_bytes_sent, "octets sent to target segments")         \
	X(placed_bytes_received, "octets received in target segments") \
	X(repterrs_sent, "REPTERRs sent")                              \
	X(repterrs_received, "REPTERRs received")                      \
	X(xmt_fallbacks, "Calls sent again without XMTREQ")            \
	X(credit_waits, "times a message waited for a credit")         \
	X(reply_waits, "times a Call waited for Replies to be taken")  \
	X(read_waits, "times a Call waited for fewer RDMA Reads")      \
	X(shortages, "times memory or a device was short")             \
	X(copied_bytes, "payload octets copied by the transport")

struct rt_stats {
#define RT_STATS_FIELD(name, help) uint64_t name;
	RT_STATS(RT_STATS_FIELD)
#undef RT_STATS_FIELD
};

/* How long Calls were in each stage, by enum rt_stage. */
struct rt_stages {
	struct rt_histogram stage[RT_NSTAGES];
};

/* Whether a side lets Replies invalidate its handles, as xcharext announces it. */
enum rt_invalidate {
	RT_INVALIDATE_UNKNOWN = 0, /* each Call says so itself */
	RT_INVALIDATE_NO,
	RT_INVALIDATE_YES,
};

/* Properties that one side has announced, or their defaults. */
struct rt_properties {
	uint32_t send_size; /* 0: not announced */
	uint32_t recv_size;
	uint32_t segment_size;
	uint32_t segments;
	uint32_t reverse;
	uint32_t xchar; /* xcharext: XCHSUPP_* */
	enum rt_invalidate invalidate; /* xcharext: remote invalidation */
	bool complete; /* its CONNPROP_FINAL has been received (sent) */
};

struct rt_conn_info {
	uint64_t id; /* unique in the instance */
	bool server;
	unsigned int poller; /* the number of the poller that runs it */
	const char *state;
	unsigned int version; /* 0: not yet decided */
	unsigned int extensions; /* RT_EXT_* that both ends have */
	struct sockaddr_storage local, peer;
	char peer_name[64]; /* "192.0.2.1:1234", "[2001:db8::1]:1234" */
	uint64_t age_ms; /* since it was accepted, or began to connect */
	bool crc; /* the fabric has a checksum, such as iWARP's */
	struct rt_properties ours, theirs;
	uint32_t sent, received; /* message counts, 4.2.1 */
	uint32_t credit_limit; /* Received credits */
	uint32_t advertised; /* Advertised credits */
	uint32_t call_inline, reply_inline; /* thresholds */
	unsigned int calls_in_progress, requests_outstanding;
	/* Calls that were delivered and whose Replies have not been sent. After the end
	 * the peer may send them again on another connection. */
	unsigned int calls_unanswered;
	char auth_peer[RT_AUTH_TEXT]; /* by host authentication; or "" */
	/* rt_conn_set_client() */
	char client[RT_CLIENT_TEXT], session[RT_SESSION_TEXT];
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;
};

/* X(name, help) for each reason to refuse a connection. */
#define RT_REFUSALS(X)                                                         \
	X(draining, "the server is being drained")                             \
	X(evicted, "its host has been evicted")                                \
	X(not_allowed, "the host's address is not among those allowed")        \
	X(device, "it comes by a device that is not to be used")               \
	X(connections, "the limit of connections is reached")                  \
	X(host_connections, "the limit of connections of its host is reached") \
	X(host_memory,                                                         \
	  "its host has used up its share of memory for Receives")             \
	X(version, "no version is in common")                                  \
	X(other, "memory is short, the server is stopping, or the fabric")

enum rt_refusal {
#define RT_REFUSAL(name, help) RT_REFUSED_##name,
	RT_REFUSALS(RT_REFUSAL)
#undef RT_REFUSAL
		RT_NREFUSALS,
};

/* The sums of all connections, including those that have ended. */
struct rt_totals {
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;
	/* Open connections, as max_connections counts them. */
	unsigned int connections;
	bool draining; /* rt_instance_drain() */
	uint64_t accepted;
	uint64_t refused[RT_NREFUSALS]; /* by enum rt_refusal */
	/* Connections that ended before RDMA began: the peer was no RDMA client, or too
	 * slow, or there were too many at once. */
	uint64_t failed_starts;
	/* Limits in use, see config.h. */
	unsigned int connections_limit, host_connections_limit;
	size_t host_memory_limit;
	size_t reply_octets; /* of Replies that have not been sent */
	uint64_t reads_under_way; /* octets of RDMA Reads, until a thread takes the Call */
};
/* Context: any thread. */
void rt_totals(struct rt_instance *inst, struct rt_totals *out);
/* Call @fn for each connection, while the instance's lock is held. */
void rt_for_each_conn(struct rt_instance *inst,
		      void (*fn)(const struct rt_conn_info *info, void *arg),
		      void *arg);
/* Set @info. Its fields may have been read at different times. Context: any thread. */
void rt_conn_info(struct rt_conn *c, struct rt_conn_info *info);

/* ---- By client host, as a server's limits count it ---- */

/* What the connections of a host have done, also those that have ended. */
struct rt_host_info {
	struct in6_addr addr; /* base_addr_host() */
	unsigned int connections; /* as max_host_connections counts them */
	size_t memory; /* as max_host_memory counts it */
	uint64_t calls, call_ns; /* that got a Reply, and how long they took */
	struct rt_stats stats;
};
/* Call @fn for each host, while the instance's lock is held. The counts of a host begin at
 * 0 again after it has had no connection. */
void rt_for_each_host(struct rt_instance *inst,
		      void (*fn)(const struct rt_host_info *host, void *arg),
		      void *arg);

/* What has happened to the connections of a host since it was last reported. */
struct rt_account {
	struct in6_addr addr; /* base_addr_host() */
	unsigned int connections; /* now */
	unsigned int opened, closed, refused;
};
/* Hosts without connections that wait to be reported. What happens to further ones is not
 * reported. */
#define RT_ACCOUNTS_MAX 4096
/*
 * Call @fn, while the instance's lock is held, for up to @max hosts to which something has
 * happened, and with @all for the others that have connections, too. Those that are left
 * come first the next time. Set *@left to their number. Nothing is kept before the first
 * call. Returns how many hosts have connections. Context: any thread.
 */
unsigned int
rt_accounts_take(struct rt_instance *inst, bool all, unsigned int max,
		 void (*fn)(const struct rt_account *account, void *arg),
		 void *arg, unsigned int *left);

#endif /* RPCRDMA_TRANSPORT_STATS_H */
