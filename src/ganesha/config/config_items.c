/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * config_items - the items of the blocks RDMA and RDMA_Debug
 *
 * Threads: Ganesha's main thread only, during its start.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ganesha/config/config.h"
#include "gss/gss.h"

/* SIZE() writes to those of struct rt_config, too. */
_Static_assert(sizeof(size_t) == sizeof(uint64_t), "64 bits");

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
/* Its range is in sizes. Numbers of 64 bits. */
#define SIZE(nm, member)                                             \
	{                                                            \
		.name = (nm), .type = GSH_CONFIG_PROC,               \
		.u.proc = { .init = gr_keep, .handler = size_take }, \
		OFF(member)                                          \
	}
#define TEXT(nm, member, dflt)                                             \
	{                                                                  \
		.name = (nm), .type = GSH_CONFIG_STRING,                   \
		.u.str = { .minsize = 0, .maxsize = 1023, .def = (dflt) }, \
		OFF(member)                                                \
	}

void gr_complain(const void *node, struct gsh_config_errors *e,
		 const char *format, ...)
{
	const struct gsh_config_node *n = node;
	va_list args;

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

int gr_config_accept(void *node, void *link_mem, void *self,
		     struct gsh_config_errors *e)
{
	return 0;
}

/* The library hands back what it was given as @param. */
static void *block_init(void *link_mem, void *self)
{
	return self ? self : link_mem;
}

struct gsh_config_block gr_config_block(const char *interface, const char *name,
					const struct gsh_config_item *items,
					gr_commit_fn *commit)
{
	return (struct gsh_config_block){
		.dbus_interface_name = interface,
		.desc = { .name = name,
			  .type = GSH_CONFIG_BLOCK,
			  .flags = GSH_CONFIG_UNIQUE,
			  .u.blk = { .init = block_init,
				     .params = items,
				     .commit = commit } },
		.memory = GSH_MEMORY_CONFIG,
	};
}

#define refuse(node, e, ...)                           \
	do {                                           \
		(e)->invalid = true;                   \
		gr_complain((node), (e), __VA_ARGS__); \
	} while (0)

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
		refuse(node, e, "Bind_Addr: (%s) is not an IP address%s", token,
		       strchr(token, ',') ?
			       ": quote the members of a list, not the whole" :
			       "");
		return 1;
	}
	if (zone)
		in6->sin6_scope_id = zone_index(zone + 1);
	if (zone && !in6->sin6_scope_id) {
		refuse(node, e, "Bind_Addr: (%s) names no network interface",
		       token);
		return 1;
	}
	if (!zone && ss.ss_family == AF_INET6 &&
	    IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr)) {
		refuse(node, e,
		       "Bind_Addr: (%s) needs its interface, as in \"%s%%eth0\"",
		       token, token);
		return 1;
	}
	if (a->n == GR_MAX_ADDRS) {
		refuse(node, e, "Bind_Addr: more than %d addresses",
		       GR_MAX_ADDRS);
		return 1;
	}
	a->addr[a->n++] = ss;
	return 0;
}

void *gr_keep(void *link_mem, void *self)
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
		refuse(node, e, "CRC: (%s) is not true, false or auto", token);
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

static const struct gr_size sizes[] = {
	{ "Recv_Size", RT_MIN(recv_size), RT_MAX(recv_size),
	  RT_DEFAULT(recv_size), 4 },
	{ "Max_Memory", RT_MIN(max_memory), 1024 * GB, GB, 1 },
	{ "Busy_Receive_Size", RT_MIN(send_size), RT_MAX(send_size), 16 * KB,
	  4 },
	{ "Idle_Receive_Size", RT_MIN(recv_size), RT_MAX(recv_size),
	  RT_DEFAULT(recv_size), 4 },
	{ "Send_Size", RT_MIN(send_size), RT_MAX(send_size), 64 * KB, 4 },
	/* rtrext; 0: none. A Receive has a page more, which fills a buffer. */
	{ "Placement_Size", 0, RT_MAX(placement_size), 60 * KB, 4096 },
	{ "Max_Segment_Size", RT_MIN(max_segment_size),
	  RT_MAX(max_segment_size), MB, 1 },
	{ "Max_Message", RT_MIN(max_message), RT_MAX(max_message),
	  RT_MAX(max_message), 1 },
	{ "Max_Connection_Memory", MB, 64 * GB, 64 * MB, 1 },
	/* 0: as Max_Host_Share says. */
	{ "Max_Host_Memory", 0, 1024 * GB, 0, 1 },
};

const struct gr_size *gr_size_of(const char *name)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		if (!strcasecmp(sizes[i].name, name))
			return &sizes[i];
	return NULL;
}

/* "4096", "4K", "64M", "1G"; false: none of these. */
static bool read_size(const char *text, uint64_t *size)
{
	static const char units[] = "KMG";
	const char *unit, *last = "";
	unsigned int shift;
	char *end;

	/* Release 6.5 leaves single quotes where they are. */
	if (*text == '\'') {
		text++;
		last = "'";
	}
	errno = 0;
	*size = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || errno)
		return false;
	if (!strcmp(end, last))
		return true;
	unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
	shift = unit ? 10 * (unsigned int)(unit - units + 1) : 0;
	if (!unit || strcmp(end + 1, last) || *size > UINT64_MAX >> shift)
		return false;
	*size <<= shift;
	return true;
}

void gr_size_text(uint64_t size, char *text, size_t room)
{
	static const char *const units[] = { "", "K", "M", "G" };
	unsigned int i = 0;

	while (i < 3 && size && !(size & 1023)) {
		size >>= 10;
		i++;
	}
	snprintf(text, room, "%" PRIu64 "%s", size, units[i]);
}

/* The parser keeps a sign apart from its number. */
static bool is_negative(const char *token, const void *node)
{
	const struct gsh_config_word *w = node;

	return w && w->word == token && w->sign && *w->sign == '-';
}

/* Ganesha's parser takes a number with a unit in quotes only. */
static int size_take(const char *token, int term, struct gsh_config_item *item,
		     void *param, void *node, struct gsh_config_errors *e)
{
	const struct gr_size *s = gr_size_of(item->name);
	char min[24], max[24], such[24];
	uint64_t size;

	if (is_negative(token, node) || !read_size(token, &size) ||
	    size < s->min || size > s->max) {
		gr_size_text(s->min, min, sizeof(min));
		gr_size_text(s->max, max, sizeof(max));
		gr_size_text(s->def ? s->def : s->max, such, sizeof(such));
		refuse(node, e,
		       "%s: (%s) is not a size from %s to %s, such as \"%s\"",
		       s->name, token, min, max, such);
		return 1;
	}
	if (size % s->step) {
		refuse(node, e, "%s: (%s) is not a multiple of %u", s->name,
		       token, s->step);
		return 1;
	}
	*(uint64_t *)param = size;
	return 0;
}

void gr_config_sizes(const struct gsh_config_item *items, struct gr_config *cfg)
{
	for (; items->name; items++)
		if (items->type == GSH_CONFIG_PROC &&
		    items->u.proc.handler == size_take)
			*(uint64_t *)(void *)((char *)cfg + items->off) =
				gr_size_of(items->name)->def;
}

static void *shared_init(void *link_mem, void *self)
{
	if (self)
		*(struct gr_shared *)self = (struct gr_shared){ .on = true };
	return self;
}

static int shared_take(const char *token, int term,
		       struct gsh_config_item *item, void *param, void *node,
		       struct gsh_config_errors *e)
{
	struct gr_shared *s = param;
	uint64_t n;

	if (term == GSH_TERM_TRUE || term == GSH_TERM_FALSE) {
		s->on = term == GSH_TERM_TRUE;
	} else if (!is_negative(token, node) && read_size(token, &n) && n &&
		   n <= RT_MAX(max_shared_receives)) {
		s->on = true;
		s->max = (uint32_t)n;
	} else {
		refuse(node, e,
		       "Shared_Receives: (%s) is not true, false or a number "
		       "from 1 to %u",
		       token, RT_MAX(max_shared_receives));
		return 1;
	}
	return 0;
}

static int share_said(const char *token, int term, struct gsh_config_item *item,
		      void *param, void *node, struct gsh_config_errors *e)
{
	*(bool *)param = true;
	return 0;
}

const struct gsh_config_item gr_config_items[] = {
	BOOL("Required", required, false),
	/*
	 * The library sets all to the defaults again when anything in the
	 * block is wrong, but just then Required decides: keep it apart.
	 */
	{ .name = "Required",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = gr_keep, .handler = required_take },
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
	  OFF(rt.versions) },
	{ .name = "Extensions",
	  .type = GSH_CONFIG_LIST,
	  .u.lst = { .def = 0,
		     .mask = UINT32_MAX,
		     .tokens = extensions,
		     .set_off = UINT32_MAX },
	  OFF(rt.extensions) },
	UINT("Pollers", pollers, 1, 64, 1),
	/* Each receives into its own buffer: Credits times Recv_Size octets
	 * are registered for a connection. */
	UINT("Credits", rt.credits, 1, RT_CREDITS_MAX, 64),
	SIZE("Recv_Size", recv_size),
	BOOL("Reverse_Direction", reverse_direction, true),
	UINT("Max_Connections", rt.max_connections, 1, RT_MAX(max_connections),
	     1024),
	SIZE("Max_Memory", rt.max_memory),
	UINT("Max_Host_Share", host_share, 1, 100, 25),
	/* The default leaves 64 connections to a host: it has to be known. */
	{ .name = "Max_Host_Share",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = gr_keep, .handler = share_said },
	  OFF(host_share_said) },
	{ .name = "Shared_Receives",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = shared_init, .handler = shared_take },
	  OFF(shared) },
	UINT("Idle_Timeout", idle_timeout, 0, 86400, 0),
	{ .name = "Host_Authentication",
	  .type = GSH_CONFIG_TOKEN,
	  .u.lst = { .def = RT_AUTH_NONE, .tokens = policies },
	  OFF(auth) },
	/* Empty: Kerberos' default keytab, and any key that is in it. */
	TEXT("Host_Authentication_Keytab", auth_keytab, ""),
	TEXT("Host_Authentication_Principal", auth_principal, ""),
	TEXT("Host_Authentication_Allow", auth_allow, AUTH_GSS_ALLOW),
	{ .name = "CRC",
	  .type = GSH_CONFIG_PROC,
	  .u.proc = { .init = crc_init, .handler = crc_take },
	  OFF(crc) },
	{ .name = "Stats_Socket",
	  .type = GSH_CONFIG_PATH,
	  .u.str = { .minsize = 0, .maxsize = 107, .def = GR_STATS_SOCKET },
	  OFF(stats_socket) },
	BOOL("Rpcbind", rpcbind, true),
	{ .name = NULL },
};

const struct gsh_config_item gr_debug_items[] = {
	BOOL("Worker_Polling", worker_polling, true),
	SIZE("Send_Size", send_size),
	SIZE("Busy_Receive_Size", busy_recv_size),
	SIZE("Idle_Receive_Size", idle_recv_size),
	UINT("Idle_After", idle_after, 1, 86400, 60),
	SIZE("Placement_Size", placement_size),
	UINT("Max_Transmissions", rt.max_transmissions, 1, RT_TRANSMISSIONS_MAX,
	     4),
	SIZE("Max_Segment_Size", max_segment_size),
	UINT("Max_Segments", rt.max_segments, 1, RT_MAX_SEGMENTS, 16),
	UINT("Max_Read_Chunks", rt.max_read_chunks, 1, RT_MAX_CHUNKS, 8),
	UINT("Max_Write_Chunks", rt.max_write_chunks, 1, RT_MAX_CHUNKS, 8),
	SIZE("Max_Message", rt.max_message),
	SIZE("Max_Connection_Memory", rt.max_conn_memory),
	UINT("Max_Host_Connections", rt.max_host_connections, 0,
	     RT_MAX(max_connections), 0),
	SIZE("Max_Host_Memory", rt.max_host_memory),
	BOOL("Remote_Invalidation", remote_invalidation, true),
	BOOL("Continued_Replies", continued_replies, true),
	UINT("Reverse_Credits", rt.reverse_credits, 1, RT_MAX(reverse_credits),
	     16),
	/* Not so long that it could be seen in the load of the machine. */
	UINT("Busy_Poll", rt.busy_poll_us, 0, 1000, 200),
	UINT("Startup_Timeout", startup_timeout, 1, 3600, 10),
	UINT("Drain_Timeout", drain_timeout, 0, 600, 5),
	BOOL("Huge_Pages", rt.huge_pages, false),
	UINT("Host_Authentication_Timeout", auth_timeout, 1,
	     RT_MAX(auth_ms) / 1000, RT_DEFAULT(auth_ms) / 1000),
	BOOL("Stats_DBus", stats_dbus, true),
	{ .name = NULL },
};

const struct gsh_config_item gr_old_items[] = {
	BOOL("Enable", enable, true),
	UINT("Max_Shared_Receives", max_shared_old, 0,
	     RT_MAX(max_shared_receives), 0),
	{ .name = NULL },
};
