/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/config/setting.h"

#include <string.h>
#include <strings.h>

#include "ganesha/config/config.h"
#include "gss/gss.h"

#define MB (1ull << 20)

static const struct gsh_config_token providers[] = {
	{ "auto", GR_AUTO },
	{ "iwarp", GR_IWARP },
	{ "verbs", GR_VERBS },
	{ NULL, 0 },
};

static const struct gsh_config_token versions[] = {
	{ "1", 1u << 1 },
	{ "2", 1u << 2 },
	{ NULL, 0 },
};

static const struct gsh_config_token extensions[] = {
	{ "none", 0 },
	{ "xcharext", RT_EXT_XCHAR },
	{ "rtrext", RT_EXT_RTR },
	{ NULL, 0 },
};

static const struct gsh_config_token policies[] = {
	{ "none", RT_AUTH_NONE },
	{ "optional", RT_AUTH_OPTIONAL },
	{ "required", RT_AUTH_REQUIRED },
	{ NULL, 0 },
};

#define MEMBER(member) offsetof(struct gr_config, member)
#define ITEM(where, nm, kind, member, ...)                                     \
	.block = (where), .width = sizeof(((struct gr_config *)NULL)->member), \
	.item = { .name = (nm),                                                \
		  .type = (kind),                                              \
		  .off = MEMBER(member),                                       \
		  __VA_ARGS__ }
#define SWITCH(where, nm, member, dflt) \
	ITEM(where, nm, GSH_CONFIG_BOOL, member, .u.b = (dflt))
#define NUMBER(where, nm, member, lo, hi, dflt)    \
	ITEM(where, nm, GSH_CONFIG_UINT32, member, \
	     .u.u32 = { .min = (lo),               \
			.max = (hi),               \
			.def = (dflt),             \
			.zero_ok = (lo) == 0 })
/* As rt_config_check() and rt_config_defaults() have it. */
#define RT_NUMBER(where, nm, field)                               \
	NUMBER(where, nm, rt.field, RT_MIN(field), RT_MAX(field), \
	       RT_DEFAULT(field))
#define SECONDS(where, nm, member, lo, hi, dflt, field) \
	NUMBER(where, nm, member, lo, hi, dflt),        \
		.milliseconds = MEMBER(rt.field)
#define SIZE(where, nm, field, lo, hi, dflt)                                \
	ITEM(where, nm, GSH_CONFIG_PROC, rt.field,                          \
	     .u.proc = { .init = gr_block_keep, .handler = gr_size_read }), \
		.min = (lo), .max = (hi), .def = (dflt),                    \
		.step = RT_STEP(field)
#define RT_SIZE(where, nm, field) \
	SIZE(where, nm, field, RT_MIN(field), RT_MAX(field), RT_DEFAULT(field))
#define CHOICE(where, nm, member, words, dflt)    \
	ITEM(where, nm, GSH_CONFIG_TOKEN, member, \
	     .u.lst = { .def = (dflt), .tokens = (words) })
#define SET(where, nm, member, words, dflt)      \
	ITEM(where, nm, GSH_CONFIG_LIST, member, \
	     .u.lst = { .def = (dflt),           \
			.mask = UINT32_MAX,      \
			.tokens = (words),       \
			.set_off = UINT32_MAX })
#define TEXT(where, nm, kind, member, most, dflt) \
	ITEM(where, nm, kind, member,             \
	     .u.str = { .maxsize = (most), .def = (dflt) })
#define VALUE(where, nm, member, first, read)    \
	ITEM(where, nm, GSH_CONFIG_PROC, member, \
	     .u.proc = { .init = (first), .handler = (read) })

const struct gr_setting gr_settings[] = {
	{ SWITCH(GR_RDMA, "Required", required, false) },
	/* The parser resets the whole block to its defaults when a value is
	 * wrong, which is just when Required decides: keep it apart. */
	{ VALUE(GR_RDMA, "Required", required_given, gr_block_keep,
		gr_switch_read),
	  .hidden = true },
	{ ITEM(GR_RDMA, "Port", GSH_CONFIG_UINT16, port,
	       .u.u16 = { .min = 1, .max = UINT16_MAX, .def = 20049 }),
	  .changeable = true, .by_file = true },
	{ VALUE(GR_RDMA, "Bind_Addr", bind, gr_addrs_init, gr_addrs_read),
	  .print = gr_addrs_print, .changeable = true, .by_file = true },
	{ CHOICE(GR_RDMA, "Provider", provider, providers, GR_AUTO) },
	{ VALUE(GR_RDMA, "Device", devices, gr_devices_init, gr_devices_read),
	  .print = gr_devices_print },
	{ SET(GR_RDMA, "Versions", rt.versions, versions, 1u << 1 | 1u << 2),
	  .changeable = true },
	{ SET(GR_RDMA, "Extensions", rt.extensions, extensions, 0) },
	{ NUMBER(GR_RDMA, "Pollers", pollers, 1, 64, 1) },
	{ RT_NUMBER(GR_RDMA, "Credits", credits) },
	{ RT_SIZE(GR_RDMA, "Recv_Size", recv_size) },
	{ SWITCH(GR_RDMA, "Reverse_Direction", reverse_direction, true) },
	{ RT_NUMBER(GR_RDMA, "Max_Connections", max_connections),
	  .changeable = true },
	{ RT_SIZE(GR_RDMA, "Max_Memory", max_memory) },
	{ NUMBER(GR_RDMA, "Max_Host_Share", host_share, 1, 100, 25),
	  .changeable = true },
	/* Only without the setting a host may have 64 connections at least. */
	{ VALUE(GR_RDMA, "Max_Host_Share", host_share_given, gr_block_keep,
		gr_presence_read),
	  .hidden = true, .changeable = true },
	{ VALUE(GR_RDMA, "Shared_Receives", shared, gr_shared_init,
		gr_shared_read),
	  .print = gr_shared_print },
	{ SECONDS(GR_RDMA, "Idle_Timeout", idle_timeout, 0, 86400, 0, idle_ms),
	  .changeable = true },
	{ CHOICE(GR_RDMA, "Host_Authentication", auth, policies,
		 RT_AUTH_NONE) },
	/* Empty: the keytab of Kerberos, and any key in it. */
	{ TEXT(GR_RDMA, "Host_Authentication_Keytab", GSH_CONFIG_STRING,
	       auth_keytab, 1023, "") },
	{ TEXT(GR_RDMA, "Host_Authentication_Principal", GSH_CONFIG_STRING,
	       auth_principal, 1023, "") },
	{ TEXT(GR_RDMA, "Host_Authentication_Allow", GSH_CONFIG_STRING,
	       auth_allow, 1023, AUTH_GSS_ALLOW) },
	{ VALUE(GR_RDMA, "CRC", crc, gr_crc_init, gr_crc_read),
	  .print = gr_crc_print },
	{ NUMBER(GR_RDMA, "Service_Type", service_type, 0, UINT8_MAX, 0) },
	/* Whether the file has it: 0 is a value, too. */
	{ VALUE(GR_RDMA, "Service_Type", service_type_given, gr_block_keep,
		gr_presence_read),
	  .hidden = true },
	{ TEXT(GR_RDMA, "Stats_Socket", GSH_CONFIG_PATH, stats_socket, 107,
	       GR_STATS_SOCKET) },
	{ SWITCH(GR_RDMA, "Rpcbind", rpcbind, true) },
	{ VALUE(GR_RDMA, "Allow", rt.allow, gr_allow_init, gr_allow_read),
	  .print = gr_allow_print, .changeable = true },

	{ SWITCH(GR_RDMA_DEBUG, "Worker_Polling", worker_polling, true) },
	{ RT_SIZE(GR_RDMA_DEBUG, "Send_Size", send_size) },
	{ RT_SIZE(GR_RDMA_DEBUG, "Busy_Receive_Size", busy_recv_size) },
	{ RT_SIZE(GR_RDMA_DEBUG, "Idle_Receive_Size", idle_recv_size) },
	{ SECONDS(GR_RDMA_DEBUG, "Idle_After", idle_after, 1, 86400, 60,
		  idle_recv_ms),
	  .changeable = true },
	/* 0: none. A Receive has a page more, which fills a buffer. */
	{ SIZE(GR_RDMA_DEBUG, "Placement_Size", placement_size, 0,
	       RT_MAX(placement_size), RT_DEFAULT(placement_size)) },
	{ RT_NUMBER(GR_RDMA_DEBUG, "Max_Transmissions", max_transmissions) },
	{ RT_SIZE(GR_RDMA_DEBUG, "Max_Segment_Size", max_segment_size) },
	{ RT_NUMBER(GR_RDMA_DEBUG, "Max_Segments", max_segments) },
	{ RT_NUMBER(GR_RDMA_DEBUG, "Max_Read_Chunks", max_read_chunks) },
	{ RT_NUMBER(GR_RDMA_DEBUG, "Max_Write_Chunks", max_write_chunks) },
	{ SIZE(GR_RDMA_DEBUG, "Max_Message", max_message, RT_MIN(max_message),
	       RT_MAX(max_message), RT_MAX(max_message)) },
	{ SIZE(GR_RDMA_DEBUG, "Max_Connection_Memory", max_conn_memory, MB,
	       RT_MAX(max_conn_memory), RT_DEFAULT(max_conn_memory)) },
	/* 0: Max_Host_Share decides. */
	{ NUMBER(GR_RDMA_DEBUG, "Max_Host_Connections", rt.max_host_connections,
		 0, RT_MAX(max_connections), 0),
	  .changeable = true,
	  .instead = "set Max_Host_Share, in percent, instead" },
	{ SIZE(GR_RDMA_DEBUG, "Max_Host_Memory", max_host_memory, 0,
	       RT_MAX(max_host_memory), 0),
	  .changeable = true,
	  .instead = "set Max_Host_Share, in percent, instead" },
	{ SWITCH(GR_RDMA_DEBUG, "Remote_Invalidation", remote_invalidation,
		 true),
	  .opposite = MEMBER(rt.no_remote_invalidation) },
	{ SWITCH(GR_RDMA_DEBUG, "Continued_Replies", continued_replies, true),
	  .opposite = MEMBER(rt.no_continuation) },
	{ RT_NUMBER(GR_RDMA_DEBUG, "Reverse_Credits", reverse_credits) },
	/* Too short to be seen in the load of the machine. */
	{ NUMBER(GR_RDMA_DEBUG, "Busy_Poll", rt.busy_poll_us, 0, 1000, 200) },
	{ NUMBER(GR_RDMA_DEBUG, "Keepalive", keepalive, 0, 3600, 20) },
	{ NUMBER(GR_RDMA_DEBUG, "Ack_Timeout", ack_timeout, 0, 31, 0) },
	{ SECONDS(GR_RDMA_DEBUG, "Startup_Timeout", startup_timeout, 1, 3600,
		  10, first_message_ms) },
	{ SECONDS(GR_RDMA_DEBUG, "Drain_Timeout", drain_timeout, 0, 600, 5,
		  drain_ms) },
	{ SWITCH(GR_RDMA_DEBUG, "Huge_Pages", rt.huge_pages, false) },
	{ SECONDS(GR_RDMA_DEBUG, "Host_Authentication_Timeout", auth_timeout, 1,
		  3600, 30, auth_ms) },
	{ SWITCH(GR_RDMA_DEBUG, "Stats_DBus", stats_dbus, true) },

	{ SWITCH(GR_OLD, "Enable", enable, true),
	  .instead = "remove it; to turn RDMA off, remove the block" },
	{ NUMBER(GR_OLD, "Max_Shared_Receives", max_shared_old, 0,
		 RT_MAX(max_shared_receives), 0),
	  .instead =
		  "remove it if it is 0, or give this number to Shared_Receives instead" },
	{ .item.name = NULL },
};

/* struct gr_config has a bit for each. */
_Static_assert(sizeof(gr_settings) / sizeof(gr_settings[0]) <= 64, "64 bits");

const struct gr_setting *gr_setting_lookup(const char *name)
{
	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (!strcasecmp(s->item.name, name))
			return s;
	return NULL;
}

const void *gr_setting_value(const struct gr_setting *s,
			     const struct gr_config *cfg)
{
	return (const char *)cfg + s->item.off;
}

bool gr_setting_is_changed(const struct gr_setting *s,
			   const struct gr_config *cfg)
{
	const void *value = gr_setting_value(s, cfg);

	if (s->step)
		return gr_size_value(value, s->width) != s->def;
	if (s->item.type == GSH_CONFIG_BOOL)
		return *(const bool *)value != s->item.u.b;
	return *(const uint32_t *)value != s->item.u.u32.def;
}
