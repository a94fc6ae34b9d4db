/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config - the items of the RDMA { } block
 *
 * Threads: Ganesha's main thread only, during its start.
 *
 * As everywhere in ganesha.conf an unknown parameter is reported and passed
 * over. A wrong value of a known one makes the whole block bad: with it the
 * server would not run as its operator meant.
 */
#include "ganesha/config.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gss/gss.h"
#include "rpcrdma/transport.h"

#define OFF(member) .off = offsetof(struct gr_config, member)
#define BOOL(nm, member, dflt)                                        \
	{                                                             \
		.name = (nm), .type = GSH_CONFIG_BOOL, .u.b = (dflt), \
		OFF(member)                                           \
	}
#define UINT(nm, member, lo, hi, dflt)                   \
	{                                                \
		.name = (nm), .type = GSH_CONFIG_UINT32, \
		.u.u32 = { .min = (lo),                  \
			   .max = (hi),                  \
			   .def = (dflt),                \
			   .zero_ok = (lo) == 0 },       \
		OFF(member)                              \
	}
#define SIZE(nm, member, lo, hi, dflt)                   \
	{                                                \
		.name = (nm), .type = GSH_CONFIG_UINT64, \
		.u.u64 = { .min = (lo),                  \
			   .max = (hi),                  \
			   .def = (dflt),                \
			   .zero_ok = (lo) == 0,         \
			   .set_off = UINT32_MAX },      \
		OFF(member)                              \
	}

#define TEXT(nm, member, dflt)                                             \
	{                                                                  \
		.name = (nm), .type = GSH_CONFIG_STRING,                   \
		.u.str = { .minsize = 0, .maxsize = 1023, .def = (dflt) }, \
		OFF(member)                                                \
	}

/* In the form that Ganesha gives its messages: file and line first. */
__attribute__((format(printf, 3, 4))) static void
complain(void *node, struct gsh_config_errors *e, const char *format, ...)
{
	const struct gsh_config_node *n = node;
	va_list args;

	e->invalid = true;
	if (!e->fp)
		return;
	fprintf(e->fp, "Config File (%s:%d): ",
		n && n->filename ? n->filename : "<unknown file>",
		n ? n->line : 0);
	va_start(args, format);
	vfprintf(e->fp, format, args);
	va_end(args);
	fputc('\f', e->fp);
}

static void *addrs_init(void *link_mem, void *self)
{
	struct gr_addrs *a = self;

	if (a)
		a->n = 0;
	return self;
}

/* The interface of that name, or number; 0: there is none. */
static unsigned int zone_index(const char *zone)
{
	unsigned int index = if_nametoindex(zone);
	char name[IF_NAMESIZE];

	if (!index && strlen(zone) < 10 &&
	    strspn(zone, "0123456789") == strlen(zone))
		index = (unsigned int)strtoul(zone, NULL, 10);
	return index && if_indextoname(index, name) ? index : 0;
}

/* One word of Bind_Addr. Returns the number of errors. */
static int addrs_take(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	struct gr_addrs *a = param;
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	char host[INET6_ADDRSTRLEN] = "";
	const char *zone = strchr(token, '%');
	size_t len = zone ? (size_t)(zone - token) : strlen(token);

	/* "fe80::1%eth0": such an address says nothing without its link. */
	if (len < sizeof(host))
		memcpy(host, token, len);
	if (!zone && inet_pton(AF_INET, token, &in->sin_addr) == 1) {
		ss.ss_family = AF_INET;
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		ss.ss_family = AF_INET6;
	} else {
		complain(node, e, "Bind_Addr: (%s) is not an IP address",
			 token);
		return 1;
	}
	if (zone)
		in6->sin6_scope_id = zone_index(zone + 1);
	if (zone && !in6->sin6_scope_id) {
		complain(node, e, "Bind_Addr: (%s) names no network interface",
			 token);
		return 1;
	}
	if (!zone && ss.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) {
		complain(
			node, e,
			"Bind_Addr: (%s) needs its interface, as in \"%s%%eth0\"",
			token, token);
		return 1;
	}
	if (a->n == GR_MAX_ADDRS) {
		complain(node, e, "Bind_Addr: more than %d addresses",
			 GR_MAX_ADDRS);
		return 1;
	}
	a->addr[a->n++] = ss;
	return 0;
}

static void *keep(void *link_mem, void *self)
{
	return self;
}

static int required_take(const char *token, int term,
			 struct gsh_config_item *item, void *param, void *node,
			 struct gsh_config_errors *e)
{
	*(bool *)param = term == GSH_TERM_TRUE;
	return 0;
}

static void *crc_init(void *link_mem, void *self)
{
	if (self)
		*(uint32_t *)self = FAB_CRC_AUTO;
	return self;
}

static int crc_take(const char *token, int term, struct gsh_config_item *item,
		    void *param, void *node, struct gsh_config_errors *e)
{
	uint32_t *crc = param;

	if (term == GSH_TERM_TRUE || term == GSH_TERM_FALSE) {
		*crc = term == GSH_TERM_TRUE ? FAB_CRC_ON : FAB_CRC_OFF;
	} else if (!strcasecmp(token, "auto")) {
		*crc = FAB_CRC_AUTO;
	} else {
		complain(node, e, "CRC: (%s) is not true, false or auto",
			 token);
		return 1;
	}
	return 0;
}

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

#define KB 1024ull
#define MB (1024 * KB)
#define GB (1024 * MB)

const struct gsh_config_item gr_config_items[] = {
	BOOL("Enable", enable, true),
	BOOL("Required", required, false),
	/*
	 * The library sets all to the defaults again when anything in the
	 * block is wrong, but just then Required decides: keep it apart.
	 */
	{ .name = "Required",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = keep, .handler = required_take },
	  OFF(required_said) },
	{ .name = "Port",
	  .type = GSH_CONFIG_UINT16,
	  .u.u16 = { .min = 1, .max = UINT16_MAX, .def = 20049 },
	  OFF(port) },
	{ .name = "Bind_Addr",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = addrs_init, .handler = addrs_take },
	  OFF(bind) },
	{ .name = "Provider",
	  .type = GSH_CONFIG_TOKEN,
	  .u.lst = { .def = GR_AUTO, .tokens = providers },
	  OFF(provider) },
	{ .name = "Versions",
	  .type = GSH_CONFIG_LIST,
	  .u.lst = { .def = 1u << 1 | 1u << 2,
		     .mask = UINT32_MAX,
		     .tokens = versions,
		     .set_off = UINT32_MAX },
	  OFF(versions) },
	{ .name = "Extensions",
	  .type = GSH_CONFIG_LIST,
	  .u.lst = { .def = 0,
		     .mask = UINT32_MAX,
		     .tokens = extensions,
		     .set_off = UINT32_MAX },
	  OFF(extensions) },
	UINT("Pollers", pollers, 1, 64, 1),
	BOOL("Worker_Polling", worker_polling, true),
	/* Each receives into its own buffer: Credits times Recv_Size octets
	 * are registered for a connection. */
	UINT("Credits", credits, 1, RT_CREDITS_MAX, 64),
	UINT("Recv_Size", recv_size, RT_SEND_MIN, RT_SEND_MAX, 4096),
	UINT("Busy_Receive_Size", busy_recv_size, RT_SEND_MIN, RT_SEND_MAX,
	     16 * KB),
	UINT("Idle_Receive_Size", idle_recv_size, RT_SEND_MIN, RT_SEND_MAX,
	     4096),
	UINT("Idle_After", idle_after, 1, 86400, 60),
	UINT("Send_Size", send_size, RT_SEND_MIN, RT_SEND_MAX, 64 * KB),
	/* rtrext; 0: none. A Receive has a page more, which fills a buffer. */
	UINT("Placement_Size", placement_size, 0, RT_PLACEMENT_MAX, 60 * KB),
	UINT("Max_Transmissions", max_transmissions, 1, RT_TRANSMISSIONS_MAX,
	     4),
	UINT("Max_Segment_Size", max_segment_size, RT_SEGMENT_MIN,
	     RT_SEGMENT_MAX, MB),
	UINT("Max_Segments", max_segments, 1, RT_MAX_SEGMENTS, 16),
	UINT("Max_Read_Chunks", max_read_chunks, 1, RT_MAX_CHUNKS, 8),
	UINT("Max_Write_Chunks", max_write_chunks, 1, RT_MAX_CHUNKS, 8),
	UINT("Max_Message", max_message, RT_MESSAGE_MIN, RT_MESSAGE_MAX,
	     2 * (MB + 64 * KB)),
	SIZE("Max_Connection_Memory", max_conn_memory, MB, 64 * GB, 64 * MB),
	SIZE("Max_Memory", max_memory, RT_MEMORY_MIN, 1024 * GB, GB),
	UINT("Max_Connections", max_connections, 1, RT_CONNECTIONS_MAX, 1024),
	/* 0: shares of the limits for all, rt_config_defaults(). */
	UINT("Max_Host_Connections", max_host_connections, 0,
	     RT_CONNECTIONS_MAX, 0),
	SIZE("Max_Host_Memory", max_host_memory, 0, 1024 * GB, 0),
	BOOL("Remote_Invalidation", remote_invalidation, true),
	BOOL("Continued_Replies", continued_replies, true),
	BOOL("Reverse_Direction", reverse_direction, true),
	UINT("Reverse_Credits", reverse_credits, 1, RT_REVERSE_CREDITS_MAX, 16),
	/* Not so long that it could be seen in the load of the machine. */
	UINT("Busy_Poll", busy_poll, 0, 1000, 50),
	UINT("Idle_Timeout", idle_timeout, 0, 86400, 0),
	UINT("Startup_Timeout", startup_timeout, 1, 3600, 10),
	UINT("Drain_Timeout", drain_timeout, 0, 600, 5),
	{ .name = "CRC",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = crc_init, .handler = crc_take },
	  OFF(crc) },
	BOOL("Huge_Pages", huge_pages, false),
	BOOL("Shared_Receives", share_receives, true),
	UINT("Max_Shared_Receives", max_shared_receives, 0, RT_SHARED_MAX, 0),
	{ .name = "Host_Authentication",
	  .type = GSH_CONFIG_TOKEN,
	  .u.lst = { .def = RT_AUTH_NONE, .tokens = policies },
	  OFF(auth) },
	/* Empty: Kerberos' default keytab, and any key that is in it. */
	TEXT("Host_Authentication_Keytab", auth_keytab, ""),
	TEXT("Host_Authentication_Principal", auth_principal, ""),
	TEXT("Host_Authentication_Allow", auth_allow, AUTH_GSS_ALLOW),
	UINT("Host_Authentication_Timeout", auth_timeout, 1,
	     RT_AUTH_SECONDS_MAX, RT_AUTH_SECONDS),
	{ .name = "Stats_Socket",
	  .type = GSH_CONFIG_PATH,
	  .u.str = { .minsize = 0, .maxsize = 107, .def = GR_STATS_SOCKET },
	  OFF(stats_socket) },
	BOOL("Stats_DBus", stats_dbus, true),
	BOOL("Rpcbind", rpcbind, true),
	{ .name = NULL },
};

/* The library hands back what it was given as @param, see gr_config_load(). */
static void *block_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

/* What single items cannot tell: do they go together? */
static int block_commit(void *node, void *link_mem, void *self,
			struct gsh_config_errors *e)
{
	struct gr_config *cfg = self;
	struct rt_config rt;
	const char *wrong;

	/* The library takes texts of any length. */
	for (const struct gsh_config_item *i = gr_config_items; i->name; i++) {
		const char *const *text =
			(const void *)((const char *)self + i->off);

		if ((i->type != GSH_CONFIG_STRING &&
		     i->type != GSH_CONFIG_PATH) ||
		    !*text || strlen(*text) <= (size_t)i->u.str.maxsize)
			continue;
		complain(node, e, "%s is text of %d octets at most", i->name,
			 i->u.str.maxsize);
		e->errors++;
		return 1;
	}
	gr_config_transport(cfg, &rt);
	wrong = rt_config_check(&rt);
	if (!wrong)
		return 0;
	complain(node, e, "block RDMA: %s", wrong);
	e->errors++;
	return 1;
}

static const struct gsh_config_block block = {
	.dbus_interface_name = "org.ganesha.nfsd.config.rdma",
	.desc = { .name = "RDMA",
		  .type = GSH_CONFIG_BLOCK,
		  .flags = GSH_CONFIG_UNIQUE,
		  .u.blk = { .init = block_init,
			     .params = gr_config_items,
			     .commit = block_commit } },
};

enum gr_config_result gr_config_load(const struct gsh *g,
				     struct gsh_config *tree,
				     struct gr_config *cfg)
{
	enum gr_config_result res = GR_CONFIG_GOOD;
	struct gsh_config_errors e;
	int found;

	memset(cfg, 0, sizeof(*cfg));
	if (!tree)
		return GR_CONFIG_ABSENT;
	if (!g->init_error_type(&e))
		return GR_CONFIG_BAD;
	found = g->load_config_from_parse(tree, &block, cfg, true, &e);
	/* Unknown parameters set only the bit named bogus: no reason to
	 * refuse. The count goes up for everything that was not taken. */
	if (found < 0 || e.errors || e.scan || e.parse || e.init ||
	    e.resource || e.unique || e.invalid || e.missing || e.internal)
		res = GR_CONFIG_BAD;
	else if (!found)
		res = GR_CONFIG_ABSENT;
	if (res == GR_CONFIG_BAD)
		gr_config_faults(g, tree, &block, &e);
	else
		g->report_config_errors(&e, NULL, g->config_errs_to_log);
	cfg->required = cfg->required_said;
	return res;
}

void gr_config_transport(const struct gr_config *cfg, struct rt_config *rt)
{
	memset(rt, 0, sizeof(*rt));
	rt->versions = cfg->versions;
	rt->extensions = cfg->extensions;
	rt->credits = cfg->credits;
	rt->recv_size = cfg->recv_size;
	rt->send_size = cfg->send_size;
	rt->busy_recv_size = cfg->busy_recv_size;
	rt->idle_recv_size = cfg->idle_recv_size;
	rt->idle_recv_ms = cfg->idle_after * 1000;
	rt->placement_size = cfg->placement_size;
	rt->no_placement = !cfg->placement_size;
	rt->max_transmissions = cfg->max_transmissions;
	rt->max_segment_size = cfg->max_segment_size;
	rt->max_segments = cfg->max_segments;
	rt->max_read_chunks = cfg->max_read_chunks;
	rt->max_write_chunks = cfg->max_write_chunks;
	rt->max_message = cfg->max_message;
	rt->max_conn_memory = cfg->max_conn_memory;
	rt->max_memory = cfg->max_memory;
	rt->max_connections = cfg->max_connections;
	rt->max_host_connections = cfg->max_host_connections;
	rt->max_host_memory = cfg->max_host_memory;
	rt->reverse_credits = cfg->reverse_credits;
	rt->no_remote_invalidation = !cfg->remote_invalidation;
	rt->no_continuation = !cfg->continued_replies;
	rt->first_message_ms = cfg->startup_timeout * 1000;
	rt->idle_ms = cfg->idle_timeout * 1000;
	/* 0 would be the transport's default. */
	rt->drain_ms = cfg->drain_timeout ? cfg->drain_timeout * 1000 : 1;
	rt->busy_poll_us = cfg->busy_poll;
	rt->huge_pages = cfg->huge_pages;
	rt->share_receives = cfg->share_receives;
	rt->max_shared_receives = cfg->max_shared_receives;
	rt->auth = (enum rt_auth_policy)cfg->auth;
	rt->auth_ms = cfg->auth_timeout * 1000;
	rt_config_defaults(rt);
}
