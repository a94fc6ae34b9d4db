/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * value - types of settings that Ganesha's parser does not know: sizes, addresses, and a
 * switch that also takes other values
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/addr.h"
#include "ganesha/config/config.h"
#include "ganesha/config/setting.h"

/* Of the name of a device, as Linux has them. */
#define DEVICE_CHARS                 \
	"abcdefghijklmnopqrstuvwxyz" \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"0123456789_-."
#define DEVICE_MOST 63

#define complain(node, e, ...)                               \
	do {                                                 \
		(e)->invalid = true;                         \
		gr_block_complain((node), (e), __VA_ARGS__); \
	} while (0)

int gr_switch_read(const char *token, int term, struct gsh_config_item *item,
		   void *param, void *node, struct gsh_config_errors *e)
{
	*(bool *)param = term == GSH_TERM_TRUE;
	return 0;
}

int gr_presence_read(const char *token, int term, struct gsh_config_item *item,
		     void *param, void *node, struct gsh_config_errors *e)
{
	*(bool *)param = true;
	return 0;
}

/* Parse a size such as "4096", "4K", "64M" or "1G". Returns false if it is no size. */
static bool parse_size(const char *text, uint64_t *size)
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

void gr_size_set(void *value, size_t width, uint64_t size)
{
	if (width == sizeof(uint32_t))
		*(uint32_t *)value = (uint32_t)size;
	else
		*(uint64_t *)value = size;
}

uint64_t gr_size_value(const void *value, size_t width)
{
	return width == sizeof(uint32_t) ? *(const uint32_t *)value :
					   *(const uint64_t *)value;
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

/* Returns true if @token has a minus sign, which the parser keeps apart from the number. */
static bool is_negative(const char *token, const void *node)
{
	const struct gsh_config_word *w = node;

	return w && w->word == token && w->sign && *w->sign == '-';
}

int gr_size_read(const char *token, int term, struct gsh_config_item *item,
		 void *param, void *node, struct gsh_config_errors *e)
{
	const struct gr_setting *s = gr_setting_lookup(item->name);
	char min[24], max[24], example[24];
	uint64_t size;

	if (is_negative(token, node) || !parse_size(token, &size) ||
	    size < s->min || size > s->max) {
		gr_size_text(s->min, min, sizeof(min));
		gr_size_text(s->max, max, sizeof(max));
		gr_size_text(s->def ? s->def : s->max, example,
			     sizeof(example));
		complain(node, e,
			 "%s: (%s) is not a size from %s to %s, such as \"%s\"",
			 s->item.name, token, min, max, example);
		return 1;
	}
	if (size % s->step) {
		complain(node, e, "%s: (%s) is not a multiple of %u",
			 s->item.name, token, s->step);
		return 1;
	}
	gr_size_set(param, s->width, size);
	return 0;
}

void gr_size_print(FILE *f, const void *value, size_t width)
{
	const char *quote;
	char text[24];

	gr_size_text(gr_size_value(value, width), text, sizeof(text));
	/* The parser accepts a unit only in quotes. */
	quote = strpbrk(text, "KMG") ? "\"" : "";
	fprintf(f, "%s%s%s", quote, text, quote);
}

void *gr_addrs_init(void *link_mem, void *self)
{
	struct gr_addrs *a = self;

	if (a)
		a->n = 0;
	return self;
}

/* Returns the index of the interface with that name or number, or 0. */
static unsigned int zone_index(const char *zone)
{
	unsigned int index = if_nametoindex(zone);
	char name[IF_NAMESIZE];

	if (!index && strlen(zone) < 10 &&
	    strspn(zone, "0123456789") == strlen(zone))
		index = (unsigned int)strtoul(zone, NULL, 10);
	return index && if_indextoname(index, name) ? index : 0;
}

int gr_addrs_read(const char *token, int term, struct gsh_config_item *item,
		  void *param, void *node, struct gsh_config_errors *e)
{
	struct gr_addrs *a = param;
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in *in = (struct sockaddr_in *)&ss;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	char host[INET6_ADDRSTRLEN] = "";
	const char *zone = strchr(token, '%');
	size_t len = zone ? (size_t)(zone - token) : strlen(token);

	if (len < sizeof(host))
		memcpy(host, token, len);
	if (!zone && inet_pton(AF_INET, token, &in->sin_addr) == 1) {
		ss.ss_family = AF_INET;
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) == 1) {
		ss.ss_family = AF_INET6;
	} else {
		complain(
			node, e, "Bind_Addr: (%s) is not an IP address%s",
			token,
			strchr(token, ',') ?
				": quote the members of a list, not the whole" :
				"");
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

void gr_addrs_print(FILE *f, const void *value)
{
	const struct gr_addrs *a = value;
	char text[BASE_ADDR_TEXT];

	for (unsigned int i = 0; i < a->n; i++) {
		const char *quote;

		base_addr_text((const struct sockaddr *)&a->addr[i], text,
			       sizeof(text));
		/* The parser takes '%' in quotes only. */
		quote = strchr(text, '%') ? "\"" : "";
		fprintf(f, "%s%s%s%s", i ? ", " : "", quote, text, quote);
	}
}

void *gr_devices_init(void *link_mem, void *self)
{
	if (self)
		memset(self, 0, sizeof(struct gr_devices));
	return self;
}

int gr_devices_read(const char *token, int term, struct gsh_config_item *item,
		    void *param, void *node, struct gsh_config_errors *e)
{
	struct gr_devices *d = param;
	size_t len = strlen(d->names), n = strspn(token, DEVICE_CHARS);

	if (!n || token[n] || n > DEVICE_MOST) {
		complain(
			node, e,
			"Device: (%s) is not the name of an RDMA device, such as mlx5_0%s",
			token,
			strchr(token, ',') ?
				": quote the members of a list, not the whole" :
				"");
		return 1;
	}
	if (len + 2 + n >= sizeof(d->names)) {
		complain(node, e, "Device: more than %zu bytes of names",
			 sizeof(d->names) - 1);
		return 1;
	}
	snprintf(d->names + len, sizeof(d->names) - len, "%s%s",
		 len ? ", " : "", token);
	return 0;
}

void gr_devices_print(FILE *f, const void *value)
{
	const char *at = ((const struct gr_devices *)value)->names, *comma = "";
	size_t n;

	/* The parser takes a name that begins with a digit in quotes only. */
	for (; *at; at += n) {
		at += strspn(at, ", ");
		n = strcspn(at, ", ");
		fprintf(f, "%s\"%.*s\"", comma, (int)n, at);
		comma = ", ";
	}
}

void *gr_allow_init(void *link_mem, void *self)
{
	if (self)
		((struct rt_allow *)self)->n = 0;
	return self;
}

int gr_allow_read(const char *token, int term, struct gsh_config_item *item,
		  void *param, void *node, struct gsh_config_errors *e)
{
	struct rt_allow *allow = param;
	struct base_prefix p;
	const char *wrong;

	/* Allow = "" is as good as no Allow. */
	if (!*token)
		return 0;
	wrong = base_prefix_parse(token, &p);
	if (wrong) {
		complain(
			node, e, "Allow: (%s) %s%s", token, wrong,
			strchr(token, ',') ?
				": quote the members of a list, not the whole" :
				"");
		return 1;
	}
	if (allow->n == RT_ALLOW_MAX) {
		complain(node, e,
			 "Allow: more than %d addresses: join some to a prefix",
			 RT_ALLOW_MAX);
		return 1;
	}
	allow->prefix[allow->n++] = p;
	return 0;
}

void gr_allow_print(FILE *f, const void *value)
{
	const struct rt_allow *allow = value;
	char text[BASE_PREFIX_TEXT];

	for (unsigned int i = 0; i < allow->n; i++) {
		const char *quote;

		base_prefix_text(&allow->prefix[i], text, sizeof(text));
		/* The parser takes some IPv6 prefixes, such as ::/0, in quotes only. */
		quote = strchr(text, ':') && strchr(text, '/') ? "\"" : "";
		fprintf(f, "%s%s%s%s", i ? ", " : "", quote, text, quote);
	}
}

void *gr_crc_init(void *link_mem, void *self)
{
	if (self)
		*(uint32_t *)self = FAB_CRC_AUTO;
	return self;
}

int gr_crc_read(const char *token, int term, struct gsh_config_item *item,
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

void gr_crc_print(FILE *f, const void *value)
{
	static const char *const words[] = {
		[FAB_CRC_AUTO] = "auto", [FAB_CRC_ON] = "true", [FAB_CRC_OFF] = "false"
	};

	fputs(words[*(const uint32_t *)value], f);
}

void *gr_shared_init(void *link_mem, void *self)
{
	if (self)
		*(struct gr_shared *)self = (struct gr_shared){ .on = true };
	return self;
}

int gr_shared_read(const char *token, int term, struct gsh_config_item *item,
		   void *param, void *node, struct gsh_config_errors *e)
{
	struct gr_shared *s = param;
	uint64_t n;

	if (term == GSH_TERM_TRUE || term == GSH_TERM_FALSE) {
		s->on = term == GSH_TERM_TRUE;
	} else if (!is_negative(token, node) && parse_size(token, &n) && n &&
		   n <= RT_MAX(max_shared_receives)) {
		s->on = true;
		s->max = (uint32_t)n;
	} else {
		complain(node, e,
			 "Shared_Receives: (%s) is not true, false or a number "
			 "from 1 to %u",
			 token, RT_MAX(max_shared_receives));
		return 1;
	}
	return 0;
}

void gr_shared_print(FILE *f, const void *value)
{
	const struct gr_shared *s = value;

	if (s->on && s->max)
		fprintf(f, "%" PRIu32, s->max);
	else
		fputs(s->on ? "true" : "false", f);
}
