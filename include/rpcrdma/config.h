/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - settings of the transport: their meaning, limits and defaults
 */
#ifndef RPCRDMA_TRANSPORT_CONFIG_H
#define RPCRDMA_TRANSPORT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/prefix.h"
#include "rpcrdma/auth.h"
#include "rpcrdma/pool.h"
#include "rpcrdma/wire.h"

/* Limits that are also the sizes of arrays. */
#define RT_CREDITS_MAX 4096
#define RT_MAX_CHUNKS 16 /* of one kind, in one header */
#define RT_MAX_SEGMENTS 64 /* in one header */
#define RT_TRANSMISSIONS_MAX 16 /* of one message (rtrext) */
#define RT_ALLOW_MAX 64 /* prefixes of struct rt_allow */

/* Messages in excess of the credit limit that are accepted and have a Receive: a peer
 * that takes "is greater than" in 4.2.1 literally sends one more ([A2]), and 4.2.1.1
 * allows a GRANT. */
#define RT_CREDIT_BEYOND 2
/* With one credit a peer could not send both a GRANT and another message, so at least two
 * are advertised. */
#define RT_CREDIT_MIN 2
/* This fraction of max_memory is reserved: not for Receives, chunks and reassembly. */
#define RT_POOL_RESERVE 16
/* Octets of the plain segment, and of each target segment, of a Receive of rtrext. */
#define RT_RTR_HEAD 4096u
#define RT_RTR_SEGMENT 4096u

#define RT_NO_LIMIT 4294967295

/*
 * Settings that are numbers, a row for each:
 *
 * 	X(type, field, default, min, max, step, what)
 *
 * struct rt_config has the field, in which 0 means the default. rt_config_defaults() sets
 * it; rt_config_check() accepts min to max in multiples of step, and names the setting as
 * @what. Programs that read settings use the same numbers by RT_DEFAULT(), RT_MIN() and
 * RT_MAX(). Sizes are octets, _ms milliseconds, _us microseconds. A default of 0 means
 * that rt_config_defaults() derives it from other settings, or that the setting is off.
 */
#define RT_SETTINGS(X)                                                           \
	/* At least RT_CREDIT_MIN are advertised in version 2. */                \
	X(unsigned int, credits, 64, 1, RT_CREDITS_MAX, 1, "credits")            \
	X(unsigned int, reverse_credits, 16, 1, 1024, 1, "reverse credits")      \
	/* The default holds a page of data and what is around it. */            \
	X(uint32_t, recv_size, 4608, 1024, 262144, 4, "the receive size")        \
	X(uint32_t, send_size, 65536, 1024, 262144, 4, "the send size")          \
	/* xcharext: Receives of a busy connection grow to this size. */         \
	/* The peer may ask for no more. */                                      \
	X(uint32_t, busy_recv_size, 16384, 1024, 262144, 4,                      \
	  "the receive size of busy connections")                                \
	/* xcharext: an idle peer is asked to lower its own to this size. */     \
	X(uint32_t, idle_recv_size, 4608, 1024, 262144, 4,                       \
	  "the receive size of idle connections")                                \
	X(unsigned int, idle_recv_ms, 60000, 1, RT_NO_LIMIT, 1,                  \
	  "the time until idle")                                                 \
	/* rtrext: target segments in a Receive, beside RT_RTR_HEAD. */          \
	X(uint32_t, placement_size, 61440, 4096, 258048, 4096,                   \
	  "the placement size")                                                  \
	X(unsigned int, max_transmissions, 4, 1, RT_TRANSMISSIONS_MAX, 1,        \
	  "the number of transmissions")                                         \
	/* Of the RDMA segments that the peer should use. */                     \
	X(uint32_t, max_segment_size, 1048576, 4096, 1073741824, 1,              \
	  "the segment size")                                                    \
	X(unsigned int, max_segments, 16, 1, RT_MAX_SEGMENTS, 1,                 \
	  "the number of segments")                                              \
	/* Data item chunks that a Call of the peer's may have. */               \
	X(unsigned int, max_read_chunks, 8, 1, RT_MAX_CHUNKS, 1,                 \
	  "the number of Read chunks")                                           \
	X(unsigned int, max_write_chunks, 8, 1, RT_MAX_CHUNKS, 1,                \
	  "the number of Write chunks")                                          \
	/* Data item chunks that a Call of ours uses [H2]. */                    \
	X(unsigned int, call_read_chunks, 1, 1, RT_MAX_CHUNKS, 1,                \
	  "the number of Read chunks of a Call")                                 \
	X(unsigned int, call_write_chunks, 1, 1, RT_MAX_CHUNKS, 1,               \
	  "the number of Write chunks of a Call")                                \
	/* Of a continued Call; a longer one uses the Special format. */         \
	X(unsigned int, max_fragments, 8, 1, RT_NO_LIMIT, 1,                     \
	  "the number of fragments")                                             \
	/* Of payload. The most is what Linux asks for, 4 MiB of data. */        \
	X(size_t, max_message, 1114112, 65536, 4325376, 1,                       \
	  "the longest message")                                                 \
	/* Chunks and reassembly; a message that is alone gets what it needs. */ \
	X(size_t, max_conn_memory, 67108864, 65536, 68719476736, 1,              \
	  "a connection's memory")                                               \
	X(size_t, max_memory, 1073741824, 16777216, 1099511627776, 1,            \
	  "the memory limit")                                                    \
	/* Connections that have not ended. */                                   \
	X(unsigned int, max_connections, 1024, 1, 65536, 1,                      \
	  "the number of connections")                                           \
	/* Of one client host: by default a quarter, but at least 64. */         \
	X(unsigned int, max_host_connections, 0, 1, RT_NO_LIMIT, 1,              \
	  "the number of a host's connections")                                  \
	/* Of one client host: by default a quarter, at least max_message. */    \
	X(size_t, max_host_memory, 0, 65536, 1099511627776, 1,                   \
	  "a host's memory")                                                     \
	/* With share_receives; 0: one for each message that may come. */        \
	X(unsigned int, max_shared_receives, 0, 0, 1048576, 1,                   \
	  "the number of shared Receives")                                       \
	/* Server: malformed messages of one connection at once. */              \
	X(unsigned int, max_wrong, 4, 1, RT_NO_LIMIT, 1,                         \
	  "the number of wrong messages")                                        \
	/* rt_run() polls so long before it sleeps, where that finds events */   \
	/* and leaves processors to others. Try 200 for lone Calls. */           \
	X(unsigned int, busy_poll_us, 0, 0, RT_NO_LIMIT, 1,                      \
	  "the time of busy polling")                                            \
	/* Until the first message [B6], and the next fragment [D6]. */          \
	X(unsigned int, first_message_ms, 10000, 1, RT_NO_LIMIT, 1,              \
	  "the time until the first message")                                    \
	X(unsigned int, continuation_ms, 60000, 1, RT_NO_LIMIT, 1,               \
	  "the time until the next fragment")                                    \
	/* Server: until the client answers a reverse Call. */                   \
	X(unsigned int, reverse_ms, 60000, 1, RT_NO_LIMIT, 1,                    \
	  "the time of a reverse Call")                                          \
	/* A Call waits so long for the memory of its chunks. */                 \
	X(unsigned int, memory_wait_ms, 30000, 1, RT_NO_LIMIT, 1,                \
	  "the time to wait for memory")                                         \
	/* Server: until an idle connection is closed; 0: never. */              \
	X(unsigned int, idle_ms, 0, 0, RT_NO_LIMIT, 1,                           \
	  "the time of idle connections")                                        \
	X(unsigned int, drain_ms, 5000, 1, RT_NO_LIMIT, 1,                       \
	  "the time to drain")                                                   \
	/* Client: of version 1, with a server that did not answer version 2. */ \
	X(unsigned int, version1_ms, 600000, 1, RT_NO_LIMIT, 1,                  \
	  "the time of version 1")                                               \
	X(unsigned int, auth_ms, 30000, 1, 3600000, 1,                           \
	  "milliseconds of host authentication")

#define RT_SETTING_NUMBERS(type, field, dflt, min, max, step, what) \
	enum {                                                      \
		RT_DEFAULT_##field = (dflt),                        \
		RT_MIN_##field = (min),                             \
		RT_MAX_##field = (max),                             \
		RT_STEP_##field = (step),                           \
	};
RT_SETTINGS(RT_SETTING_NUMBERS)
#undef RT_SETTING_NUMBERS

#define RT_DEFAULT(field) RT_DEFAULT_##field
#define RT_MIN(field) RT_MIN_##field
#define RT_MAX(field) RT_MAX_##field
#define RT_STEP(field) RT_STEP_##field

_Static_assert(RT_MAX(max_message) == FAB_POOL_MAX_BUF + (128 << 10),
	       "the longest message and what is around it");
_Static_assert(RT_MAX(placement_size) == RT_MAX(recv_size) - RT_RTR_HEAD,
	       "a Receive of rtrext is a page longer than what is placed");

enum rt_call_format {
	RT_FORMAT_AUTO = 0, /* [D8] */
	RT_FORMAT_CONTINUED, /* never Special, nor a Reply chunk */
	RT_FORMAT_SPECIAL, /* Special whenever it does not fit inline */
};

/* rt_config.extensions; docs/protocol.md describes them. */
#define RT_EXT_XCHAR 1u /* transport characteristics, [M1] */
#define RT_EXT_RTR 2u /* round-trip reduction */

/* The client addresses that a server accepts. None: all. */
struct rt_allow {
	unsigned int n;
	struct base_prefix prefix[RT_ALLOW_MAX];
};

struct rt_config {
#define RT_SETTING_FIELD(type, field, dflt, min, max, step, what) type field;
	RT_SETTINGS(RT_SETTING_FIELD)
#undef RT_SETTING_FIELD
	/* Versions spoken, 1 << number each; 0: both. A client begins with the highest,
	 * and falls back if the server refuses it (4.3.2). */
	unsigned int versions;
	unsigned int extensions; /* RT_EXT_* */
	bool no_placement; /* rtrext without target segments */
	enum rt_call_format call_format;
	unsigned int reverse; /* enum wire_reverse, announced by a client */
	bool no_remote_invalidation;
	bool no_continuation; /* Replies: Special or REPLY_RESOURCE only */
	bool huge_pages;
	/* Share one Receive queue between all connections of a device that supports it,
	 * see fab_srq_enable(). */
	bool share_receives;
	enum rt_auth_policy auth; /* of the peer's host; needs rt_params.auth */
	struct rt_allow allow;
	/* Octets that each rt_call, and each rt_request, carries for the upper layer. */
	size_t call_user_size;
	size_t request_user_size;
};

/* X(field) for each of those that rt_instance_configure() changes, beside allow. */
#define RT_CHANGEABLE(X)        \
	X(versions)             \
	X(max_connections)      \
	X(max_host_connections) \
	X(max_host_memory)      \
	X(idle_ms)              \
	X(idle_recv_ms)

/* Replace each 0 that means a default. */
void rt_config_defaults(struct rt_config *cfg);
/* Check @cfg, after rt_config_defaults(). Returns NULL if it is valid, otherwise a static
 * line that says what is wrong. */
const char *rt_config_check(const struct rt_config *cfg);
/* Return the octets of one of a connection's first Receives, and of all of them. A client
 * has additional Receives for reverse Calls. A 0 in @cfg means the default. */
size_t rt_config_receive(const struct rt_config *cfg);
size_t rt_config_receives(const struct rt_config *cfg, bool client);

#endif /* RPCRDMA_TRANSPORT_CONFIG_H */
