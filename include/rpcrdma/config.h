/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - settings of the transport: limits, defaults, and what they mean
 */
#ifndef RPCRDMA_TRANSPORT_CONFIG_H
#define RPCRDMA_TRANSPORT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/auth.h"
#include "rpcrdma/pool.h"
#include "rpcrdma/wire.h"

/* Chunks of one kind in one header that this implementation can be set to. */
#define RT_MAX_CHUNKS 16
/* Segments in one header, likewise. */
#define RT_MAX_SEGMENTS 64

/* Transmissions of one message of rtrext, likewise. */
#define RT_TRANSMISSIONS_MAX 16

enum rt_call_format {
	RT_FORMAT_AUTO = 0, /* [D8] */
	RT_FORMAT_CONTINUED, /* never Special, nor a Reply chunk */
	RT_FORMAT_SPECIAL, /* Special whenever it does not fit inline */
};

/* What rt_config_check() lets through; readers of settings use the same. */
#define RT_CREDITS_MAX 4096
/* Messages beyond the limit that are borne, and Receives for them: who reads
 * "is greater than" in 4.2.1 as it stands sends one more ([A2]), and there is
 * the GRANT of 4.2.1.1. */
#define RT_CREDIT_BEYOND 2
/* Of max_memory this part is not for Receives, chunks and reassembly. */
#define RT_POOL_RESERVE 16
/* With fewer a peer would have to choose between a GRANT and a message of its own,
 * and lose either way: at least two credits are advertised. */
#define RT_CREDIT_MIN 2
/* rtrext, our Receives: the plain segment, and each target segment. */
#define RT_RTR_HEAD 4096u
#define RT_RTR_SEGMENT 4096u
/* A page of data, such as a WRITE's, and what is before and behind it. */
#define RT_RECV_DEFAULT 4608u
#define RT_SEND_MIN 1024 /* of recv_size and send_size, which are */
#define RT_SEND_MAX 262144 /* multiples of four */
#define RT_SEGMENT_MIN 4096
#define RT_SEGMENT_MAX (1u << 30)
#define RT_MESSAGE_MIN 65536
/* Data of 4 MiB, the longest that Linux asks for, and what is around them. */
#define RT_MESSAGE_MAX (FAB_POOL_MAX_BUF + (128u << 10))
#define RT_MEMORY_MIN ((size_t)16 << 20)
#define RT_CONNECTIONS_MAX 65536
#define RT_SHARED_MAX (1u << 20)
#define RT_REVERSE_CREDITS_MAX 1024
#define RT_AUTH_SECONDS 30 /* the default */
#define RT_AUTH_SECONDS_MAX 3600

/* rt_config.placement_size: a Receive is a page longer. */
#define RT_PLACEMENT_MAX (RT_SEND_MAX - 4096)

/* rt_config.extensions; what they are is in docs/protocol.md. */
#define RT_EXT_XCHAR 1u /* transport characteristics, [M1] */
#define RT_EXT_RTR 2u /* round-trip reduction */

/* Zero means the default, which rt_config_defaults() fills in. */
struct rt_config {
	/* Versions spoken, 1 << number each; both. A client begins with the
	 * highest and falls back, 4.3.2. */
	unsigned int versions;
	unsigned int extensions; /* RT_EXT_*; none */
	/* rtrext: octets of target segments in each Receive, which then has
	 * that and a page whatever recv_size says; 61440. None at all. */
	uint32_t placement_size;
	bool no_placement;
	unsigned int max_transmissions; /* rtrext: of a message; 4 */
	/* Server: messages that are wrong, of one connection at once; 4. */
	unsigned int max_wrong;
	unsigned int credits; /* most Advertised credits; 64; at least 2 are
			       * advertised in version 2 */
	uint32_t recv_size; /* Receive Buffer Size announced; 4608 */
	uint32_t send_size; /* largest Send; 65536 */
	uint32_t max_segment_size; /* announced RSSIZ; 1 MiB */
	unsigned int max_segments; /* announced RCSIZ; 16 */
	unsigned int max_read_chunks; /* data item chunks of a Call; 8 */
	unsigned int max_write_chunks; /* 8 */
	size_t max_message; /* longest payload stream; 1 MiB + 64 KiB */
	size_t max_conn_memory; /* chunk and reassembly buffers of one
				 * connection, counted whole; a lone message
				 * has what it needs; 64 MiB */
	unsigned int call_read_chunks; /* used in one Call at most; 1 [H2] */
	unsigned int call_write_chunks; /* likewise; 1 */
	unsigned int max_fragments; /* of a Call, before Special; 8 */
	enum rt_call_format call_format;
	unsigned int reverse; /* enum wire_reverse, client: announced */
	unsigned int reverse_credits; /* reverse Calls outstanding; 16 */
	unsigned int reverse_ms; /* server: until each is answered; 60000 */
	bool no_remote_invalidation;
	bool no_continuation; /* Replies: Special or REPLY_RESOURCE only */
	unsigned int first_message_ms; /* 10000 [B6] */
	unsigned int version1_ms; /* how long a server that did not answer
				   * version 2 is met with version 1; 600000 */
	unsigned int continuation_ms; /* 60000 [D6] */
	unsigned int memory_wait_ms; /* a Call, for memory of chunks; 30000 */
	unsigned int idle_ms; /* server: end idle connections; 0: never */
	unsigned int drain_ms; /* 5000 */
	/* xcharext. Receives of a busy connection are raised to this, and at
	 * most to this if the peer asks; 16384. A peer that is idle so long
	 * is asked to lower its own to that; 4608, 60000. */
	uint32_t busy_recv_size;
	uint32_t idle_recv_size;
	unsigned int idle_recv_ms;
	unsigned int busy_poll_us; /* rt_run() polls so long before it sleeps,
				    * while that is of use; 0: never */
	unsigned int max_connections; /* not yet ended; 1024 */
	/* Server: of one host's address. A quarter of max_connections, but
	 * not under 64; a quarter of max_memory, but not under max_message. */
	unsigned int max_host_connections;
	size_t max_host_memory;
	size_t max_memory; /* of the pool; 1 GiB */
	bool huge_pages;
	/* One Receive queue for the connections of a device, where it has one,
	 * with Receives for all that they are granted, or with so many at most:
	 * see fab_share. */
	bool share_receives;
	unsigned int max_shared_receives;
	/* Of the peer's host; rt_params.auth must be set for it. */
	enum rt_auth_policy auth;
	unsigned int auth_ms; /* the whole exchange; 30000 */
	/* Octets that each rt_call carries for the upper layer. */
	size_t call_user_size;
	/* Octets that each rt_request carries for the upper layer. */
	size_t request_user_size;
};

void rt_config_defaults(struct rt_config *cfg);
/* NULL if sound; otherwise what is wrong, as one static line. */
const char *rt_config_check(const struct rt_config *cfg);
/* With the defaults for what is 0: octets of a connection's Receives at first, and
 * of all of them together. A client takes reverse Calls with Receives of their own. */
size_t rt_config_receive(const struct rt_config *cfg);
size_t rt_config_receives(const struct rt_config *cfg, bool client);

#endif /* RPCRDMA_TRANSPORT_CONFIG_H */
