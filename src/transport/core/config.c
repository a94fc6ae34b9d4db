/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - defaults and bounds of what can be set
 *
 * Any thread.
 */
#include <sys/param.h>

#include "transport/core/core.h"

#define DFLT(field, value)                    \
	do {                                  \
		if (!cfg->field)              \
			cfg->field = (value); \
	} while (0)

void rt_config_defaults(struct rt_config *cfg)
{
	DFLT(versions, 1u << WIRE_VERS1 | 1u << WIRE_VERS2);
	DFLT(max_wrong, 4);
	DFLT(credits, 64);
	DFLT(recv_size, RT_RECV_DEFAULT);
	DFLT(placement_size, 15 * RT_RTR_SEGMENT);
	DFLT(max_transmissions, 4);
	DFLT(send_size,
	     (cfg->extensions & RT_EXT_RTR) && !cfg->no_placement &&
			     cfg->placement_size > 65536 - RT_RTR_HEAD &&
			     cfg->placement_size <= RT_PLACEMENT_MAX ?
		     cfg->placement_size + RT_RTR_HEAD :
		     65536);
	DFLT(max_segment_size, WIRE_DEFAULT_SEGMENT_SIZE);
	DFLT(max_segments, WIRE_DEFAULT_SEGMENTS);
	DFLT(max_read_chunks, 8);
	DFLT(max_write_chunks, 8);
	DFLT(max_message, (1u << 20) + (64u << 10));
	DFLT(max_conn_memory, (size_t)64 << 20);
	DFLT(call_read_chunks, 1);
	DFLT(call_write_chunks, 1);
	DFLT(max_fragments, 8);
	DFLT(reverse_credits, 16);
	DFLT(first_message_ms, 10000);
	DFLT(version1_ms, 600000);
	DFLT(continuation_ms, 60000);
	DFLT(reverse_ms, 60000);
	DFLT(memory_wait_ms, 30000);
	DFLT(drain_ms, 5000);
	DFLT(busy_recv_size, 16384);
	DFLT(idle_recv_size, RT_RECV_DEFAULT);
	DFLT(idle_recv_ms, 60000);
	DFLT(auth_ms, RT_AUTH_SECONDS * 1000);
	DFLT(max_connections, 1024);
	DFLT(max_memory, (size_t)1 << 30);
	DFLT(max_host_connections,
	     cfg->max_connections < 256 ? 64 : cfg->max_connections / 4);
	DFLT(max_host_memory, MAX(cfg->max_memory / 4, cfg->max_message));
}

unsigned int rt_most_receives(const struct rt_config *cfg)
{
	return cfg->credits + cfg->reverse_credits + RT_CREDIT_MIN +
	       RT_CREDIT_BEYOND;
}

size_t rt_config_receive(const struct rt_config *given)
{
	struct rt_config cfg = *given;

	rt_config_defaults(&cfg);
	if ((cfg.extensions & RT_EXT_RTR) && !cfg.no_placement)
		return RT_RTR_HEAD + cfg.placement_size;
	return MAX(cfg.recv_size, WIRE_DEFAULT_INLINE);
}

size_t rt_config_receives(const struct rt_config *given, bool client)
{
	struct rt_config cfg = *given;

	rt_config_defaults(&cfg);
	return rt_config_receive(&cfg) *
	       (cfg.credits + (client ? cfg.reverse_credits : 0) +
		RT_CREDIT_BEYOND);
}

static bool within(uint64_t n, uint64_t min, uint64_t max, uint64_t multiple)
{
	return n >= min && n <= max && n % multiple == 0;
}

const char *rt_config_check(const struct rt_config *cfg)
{
	if (cfg->versions & ~(1u << WIRE_VERS1 | 1u << WIRE_VERS2))
		return "there are versions 1 and 2";
	if (cfg->extensions & ~(RT_EXT_XCHAR | RT_EXT_RTR))
		return "the extensions are xcharext and rtrext";
	if (cfg->extensions && !(cfg->versions >> WIRE_VERS2 & 1))
		return "extensions need version 2";
	if (cfg->auth > RT_AUTH_REQUIRED)
		return "host authentication must be none, optional or required";
	if (cfg->auth != RT_AUTH_NONE && !(cfg->versions >> WIRE_VERS2 & 1))
		return "host authentication needs version 2";
	if (!within(cfg->auth_ms, 0, RT_AUTH_SECONDS_MAX * 1000, 1))
		return "the time for host authentication must be 1 to 3600 s";
	if (!within(cfg->credits, 1, RT_CREDITS_MAX, 1))
		return "credits must be 1 to 4096";
	if (!within(cfg->recv_size, RT_SEND_MIN, RT_SEND_MAX, 4))
		return "the receive size must be 1024 to 262144 and a multiple of 4";
	if (!within(cfg->send_size, RT_SEND_MIN, RT_SEND_MAX, 4))
		return "the send size must be 1024 to 262144 and a multiple of 4";
	if (!within(cfg->busy_recv_size, RT_SEND_MIN, RT_SEND_MAX, 4))
		return "the receive size of busy connections must be 1024 to 262144 and a multiple of 4";
	if (!within(cfg->idle_recv_size, RT_SEND_MIN, RT_SEND_MAX, 4))
		return "the receive size of idle connections must be 1024 to 262144 and a multiple of 4";
	if (!within(cfg->placement_size, RT_RTR_SEGMENT, RT_PLACEMENT_MAX,
		    RT_RTR_SEGMENT))
		return "the placement size must be 4096 to 258048 and a multiple of 4096";
	if (!within(cfg->max_transmissions, 1, RT_TRANSMISSIONS_MAX, 1))
		return "the number of transmissions must be 1 to 16";
	if (!within(cfg->max_segment_size, RT_SEGMENT_MIN, RT_SEGMENT_MAX, 1))
		return "the segment size must be 4096 to 1073741824";
	if (!within(cfg->max_segments, 1, RT_MAX_SEGMENTS, 1))
		return "the number of segments must be 1 to 64";
	if (cfg->max_read_chunks > RT_MAX_CHUNKS ||
	    cfg->max_write_chunks > RT_MAX_CHUNKS ||
	    cfg->call_read_chunks > RT_MAX_CHUNKS ||
	    cfg->call_write_chunks > RT_MAX_CHUNKS)
		return "the number of chunks must be at most 16";
	if (!within(cfg->max_message, RT_MESSAGE_MIN, RT_MESSAGE_MAX, 1))
		return "the longest message must be 65536 to 4194304";
	if (cfg->max_conn_memory < cfg->max_message)
		return "a connection's memory must hold one message";
	if (cfg->max_fragments < 1)
		return "the number of fragments must be at least 1";
	if (cfg->reverse > RDMA2_RVRSDIR_GENL)
		return "reverse direction must be none, simple, continued or general";
	if (!within(cfg->reverse_credits, 1, RT_REVERSE_CREDITS_MAX, 1))
		return "reverse credits must be 1 to 1024";
	if (!within(cfg->max_connections, 1, RT_CONNECTIONS_MAX, 1))
		return "the number of connections must be 1 to 65536";
	if (cfg->max_shared_receives &&
	    !within(cfg->max_shared_receives, rt_most_receives(cfg),
		    RT_SHARED_MAX, 1))
		return "shared Receives must be 0, or at least three more than credits and reverse credits together, and at most 1048576";
	if (cfg->max_host_memory < cfg->max_message)
		return "a host's memory must hold one message";
	if (cfg->max_memory < RT_MEMORY_MIN)
		return "the memory limit must be at least 16 MiB";
	return NULL;
}
