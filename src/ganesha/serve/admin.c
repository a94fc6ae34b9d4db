/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/admin.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/text.h"
#include "ganesha/config/fault.h"
#include "rpcrdma/stats.h"

/* ---- Texts ---------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static bool
refuse(char text[GR_ADMIN_ROOM], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(text, GR_ADMIN_ROOM, format, args);
	va_end(args);
	return false;
}

static bool not_served(char text[GR_ADMIN_ROOM])
{
	return refuse(text, "RPC-over-RDMA is no longer served");
}

/* Append the names of all settings that can change. */
static void append_changeable(char *text, size_t room)
{
	const char *comma = "";

	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		if (!s->changeable || s->by_file || s->hidden)
			continue;
		base_append(text, room, "%s%s", comma, s->item.name);
		comma = ", ";
	}
}

/* ---- The beginning and the end ------------------------------------------- */

void gr_admin_start(struct gr_admin *a, const struct gsh *g,
		    struct rt_instance *inst, struct gr_config *cfg)
{
	pthread_mutex_init(&a->lock, NULL);
	pthread_mutex_lock(&a->lock);
	a->gsh = g;
	a->cfg = cfg;
	a->file = *cfg;
	a->inst = inst;
	pthread_mutex_unlock(&a->lock);
}

void gr_admin_stop(struct gr_admin *a)
{
	if (!a->gsh)
		return;
	pthread_mutex_lock(&a->lock);
	a->inst = NULL;
	pthread_mutex_unlock(&a->lock);
}

/* ---- Connections ---------------------------------------------------------- */

/* Parse "ADDR", "ADDR/BITS", "ADDR:PORT", "[ADDR]:PORT", also with what the log puts behind
 * these ("#NUMBER"), and with the interface of a link-local address, which is left out. Returns
 * NULL, or what is wrong. */
static const char *parse_peer(const char *given, struct base_prefix *who,
			      uint16_t *port)
{
	char text[128];
	char *host = text, *number = NULL, *colon, *zone, *end;
	unsigned long n;

	snprintf(text, sizeof(text), "%s", given);
	text[strcspn(text, "#")] = '\0';
	*port = 0;
	colon = strchr(text, ':');
	if (*text == '[') {
		host++;
		end = strchr(host, ']');
		if (!end || end[1] != ':')
			return "is not [ADDRESS]:PORT";
		*end = '\0';
		number = end + 2;
	} else if (colon && colon == strrchr(text, ':')) {
		*colon = '\0';
		number = colon + 1;
	}
	zone = strchr(host, '%');
	if (zone)
		*zone = '\0';
	if (number) {
		n = strtoul(number, &end, 10);
		if (!*number || strspn(number, "0123456789") > 5 || *end ||
		    !n || n > UINT16_MAX)
			return "has no port from 1 to 65535";
		*port = (uint16_t)n;
		/* One address: a prefix has no port. */
		if (strchr(host, '/'))
			return "is a prefix with a port";
	}
	return base_prefix_parse(host, who);
}

bool gr_admin_evict(struct gr_admin *a, const char *given, unsigned int seconds,
		    char text[GR_ADMIN_ROOM])
{
	char who[BASE_PREFIX_TEXT];
	struct base_prefix prefix;
	const char *wrong;
	uint16_t port;
	bool served;
	int n = 0;

	if (seconds > GR_DRAIN_MAX)
		return refuse(text, "the time is 0 to %d seconds",
			      GR_DRAIN_MAX);
	wrong = parse_peer(given, &prefix, &port);
	if (wrong)
		return refuse(text, "the host or peer %s", wrong);
	base_prefix_text(&prefix, who, sizeof(who));
	pthread_mutex_lock(&a->lock);
	served = a->inst;
	if (served)
		n = rt_instance_evict(a->inst, &prefix, port, seconds * 1000);
	pthread_mutex_unlock(&a->lock);
	if (!served)
		return not_served(text);
	if (n < 0)
		return refuse(
			text,
			"%d hosts are being refused already: wait until the time of one is over, or leave it out of Allow",
			RT_EVICTIONS_MAX);
	if (!n && !seconds)
		return refuse(text,
			      port ? "no connection of %s has port %u" :
				     "there is no connection of %s",
			      who, port);
	snprintf(text, GR_ADMIN_ROOM, "%d connection%s of %s %s closed", n,
		 n == 1 ? "" : "s", who, n == 1 ? "is" : "are");
	if (seconds)
		base_append(text, GR_ADMIN_ROOM,
			    "; new ones are refused for %u s", seconds);
	gsh_log(a->gsh, GSH_EVENT, "evicted by the administrator: %s", text);
	return true;
}

static bool set_drain(struct gr_admin *a, unsigned int ms,
		      char text[GR_ADMIN_ROOM])
{
	bool served;

	pthread_mutex_lock(&a->lock);
	served = a->inst;
	if (served) {
		rt_instance_drain(a->inst, ms);
		atomic_store(&a->draining, ms);
	}
	pthread_mutex_unlock(&a->lock);
	return served || not_served(text);
}

bool gr_admin_drain(struct gr_admin *a, unsigned int seconds,
		    char text[GR_ADMIN_ROOM])
{
	if (seconds > GR_DRAIN_MAX)
		return refuse(text, "the time is 0 to %d seconds",
			      GR_DRAIN_MAX);
	if (!set_drain(a, seconds * 1000 + GR_DRAIN_MORE_MS, text))
		return false;
	snprintf(text, GR_ADMIN_ROOM,
		 "connections are closed, and new ones refused until undrain");
	gsh_log(a->gsh, GSH_EVENT, "drained by the administrator: %s", text);
	return true;
}

bool gr_admin_undrain(struct gr_admin *a, char text[GR_ADMIN_ROOM])
{
	bool was = atomic_load(&a->draining);

	if (!set_drain(a, 0, text))
		return false;
	snprintf(text, GR_ADMIN_ROOM, "new connections are accepted%s",
		 was ? "" : ", as they were");
	gsh_log(a->gsh, GSH_EVENT, "undrained by the administrator: %s", text);
	return true;
}

/* ---- Settings --------------------------------------------------------------- */

/* Copy the setting, which may have two rows. */
static void copy_setting(struct gr_config *to, const struct gr_config *from,
			 const struct gr_setting *s)
{
	for (const struct gr_setting *r = gr_settings; r->item.name; r++)
		if (!strcmp(r->item.name, s->item.name))
			memcpy((char *)to + r->item.off,
			       gr_setting_value(r, from), r->width);
}

static bool differs(const struct gr_setting *s, const struct gr_config *a,
		    const struct gr_config *b)
{
	for (const struct gr_setting *r = gr_settings; r->item.name; r++)
		if (!strcmp(r->item.name, s->item.name) &&
		    memcmp(gr_setting_value(r, a), gr_setting_value(r, b),
			   r->width) != 0)
			return true;
	return false;
}

/* Use the changeable settings of @now. Caller holds the lock. Returns false if the transport
 * refuses them. */
static bool apply(struct gr_admin *a, const struct gr_config *now)
{
	struct gr_config next = *a->cfg;
	struct rt_config rt;

	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (s->changeable)
			copy_setting(&next, now, s);
	gr_config_transport(&next, &rt);
	if (rt_instance_configure(a->inst, &rt))
		return false;
	/* Other threads read the other settings without the lock. */
	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (s->changeable)
			copy_setting(a->cfg, now, s);
	return true;
}

/* Returns true if @value is blank, or has a blank member. */
static bool has_blank(const char *value)
{
	for (;; value++) {
		value += strspn(value, " ");
		if (!*value || *value == ',')
			return true;
		value += strcspn(value, ",");
		if (!*value)
			return false;
	}
}

/* Answer that @s cannot have a value that is no value of any setting. */
static bool refuse_syntax(const struct gr_setting *s,
			  char answer[GR_ADMIN_ROOM])
{
	FILE *f = fmemopen(answer, GR_ADMIN_ROOM, "w");

	if (!f)
		return refuse(answer, "the value is not understood");
	gr_fault_allowed(f, "the value is not understood; ", &s->item);
	fclose(f);
	return false;
}

/* Set @now to the settings in use with @value for @s. Caller holds the lock. */
static bool read_value(struct gr_admin *a, const struct gr_setting *s,
		       const char *value, struct gr_config *now,
		       char answer[GR_ADMIN_ROOM])
{
	enum gsh_parse_result parse = GSH_PARSE_FAILED;
	enum gr_config_result res;
	struct gsh quiet = *a->gsh;
	struct gsh_parsed parsed;
	const char *wrong = NULL, *allowed = NULL;
	char own[64], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (f) {
		gr_config_print_with(f, a->cfg, s, value);
		fclose(f);
	}
	quiet.config_errs_to_log = gr_block_silent;
	memset(now, 0, sizeof(*now));
	if (text)
		parse = gsh_parse_text(a->gsh, text, &parsed);
	free(text);
	if (parse == GSH_PARSE_FAILED)
		return refuse(
			answer,
			"the value cannot be read: memory or descriptors (LimitNOFILE) are short");
	if (parse == GSH_PARSE_SYNTAX)
		return refuse_syntax(s, answer);
	res = gr_config_load(&quiet, parsed.tree, now);
	gsh_parse_end(&parsed);
	if (res == GR_CONFIG_GOOD)
		return true;
	/* Behind "FILE:LINE: ". */
	if (*now->fault)
		wrong = strstr(now->fault, ": ");
	/* What it may be says more than the parser does. */
	snprintf(own, sizeof(own), "; %s is ", s->item.name);
	if (wrong)
		allowed = strstr(wrong, own);
	if (allowed)
		wrong = allowed;
	return refuse(answer, "%s",
		      wrong ? wrong + 2 : "the value is not understood");
}

/* Say what the limits that are lower than in @was mean for those that exceed them. Caller holds
 * the lock. */
static void append_excess(struct gr_admin *a, const struct rt_config *was,
			  char text[GR_ADMIN_ROOM])
{
	struct rt_config is;
	struct rt_totals t;
	char size[24];

	gr_config_transport(a->cfg, &is);
	rt_totals(a->inst, &t);
	if (is.max_connections < was->max_connections &&
	    t.connections >= is.max_connections)
		base_append(
			text, GR_ADMIN_ROOM,
			"; there are %u connections, which stay, and no new ones until there are fewer than %u",
			t.connections, is.max_connections);
	if (is.max_host_connections < was->max_host_connections)
		base_append(
			text, GR_ADMIN_ROOM,
			"; a host with more connections than %u keeps them, and gets no new ones until it has fewer",
			is.max_host_connections);
	gr_size_text(is.max_host_memory, size, sizeof(size));
	if (is.max_host_memory < was->max_host_memory)
		base_append(
			text, GR_ADMIN_ROOM,
			"; a host that uses more memory than %s gets no more until it uses less",
			size);
}

static bool is_for_new(const struct gr_setting *s)
{
	return s->item.off == offsetof(struct gr_config, rt.allow) ||
	       s->item.off == offsetof(struct gr_config, rt.versions);
}

bool gr_admin_set(struct gr_admin *a, const char *name, const char *value,
		  char text[GR_ADMIN_ROOM])
{
	/* Beyond these the words would be echoed, or end the value, in a file. */
	static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ.,:/%_- ";
	const struct gr_setting *s = gr_setting_lookup(name);
	char was[GR_SETTING_ROOM], is[GR_SETTING_ROOM];
	struct rt_config before;
	struct gr_config now;
	bool done;

	if (!s || !s->changeable || s->by_file) {
		(void)refuse(
			text, "%s; these can be changed: ",
			!s ? "there is no such setting" :
			s->by_file ?
			     "this setting is read from the file only: change ganesha.conf, and reload" :
			     "this setting is read at the start only: change ganesha.conf, and restart the server");
		append_changeable(text, GR_ADMIN_ROOM);
		return false;
	}
	if (strspn(value, plain) != strlen(value) || strlen(value) > 4096)
		return refuse(text,
			      "%s: the value has a character that no value has",
			      s->item.name);
	/* An Allow without addresses allows everybody: do so only if that is meant. */
	if (has_blank(value) &&
	    (*value || s->item.off != offsetof(struct gr_config, rt.allow)))
		return refuse(text, "%s: the value, or a part of it, is empty",
			      s->item.name);
	pthread_mutex_lock(&a->lock);
	done = a->inst ? read_value(a, s, value, &now, text) : not_served(text);
	if (done) {
		struct gr_config all = *a->cfg;

		gr_config_transport(a->cfg, &before);
		gr_setting_text(s, a->cfg, was);
		copy_setting(&all, &now, s);
		done = apply(a, &all) ||
		       refuse(text, "%s: the transport refuses the value",
			      s->item.name);
	}
	if (done) {
		gr_setting_text(s, a->cfg, is);
		snprintf(text, GR_ADMIN_ROOM, "%s = %s (was %s)", s->item.name,
			 is, was);
		append_excess(a, &before, text);
		if (is_for_new(s))
			base_append(text, GR_ADMIN_ROOM,
				    "; for new connections");
	}
	pthread_mutex_unlock(&a->lock);
	if (done)
		gsh_log(a->gsh, GSH_EVENT, "set by the administrator: %s",
			text);
	return done;
}

void gr_admin_reload(struct gr_admin *a, const struct gr_config *file,
		     char text[GR_ADMIN_ROOM])
{
	const char *comma = "";
	struct rt_config before;
	bool changed = false;

	*text = '\0';
	if (!a->gsh)
		return;
	pthread_mutex_lock(&a->lock);
	gr_config_transport(a->cfg, &before);
	for (const struct gr_setting *s = gr_settings; a->inst && s->item.name;
	     s++) {
		if (!s->changeable || s->hidden || !differs(s, a->cfg, file))
			continue;
		changed = true;
		base_append(text, GR_ADMIN_ROOM, "%s%s", comma, s->item.name);
		comma = ", ";
	}
	if (changed && apply(a, file))
		append_excess(a, &before, text);
	else
		*text = '\0';
	for (const struct gr_setting *s = gr_settings; s->item.name; s++)
		if (s->changeable)
			copy_setting(&a->file, file, s);
	pthread_mutex_unlock(&a->lock);
}

void gr_admin_config(struct gr_admin *a, const struct gr_config *cfg,
		     struct gr_config *used)
{
	if (a->gsh)
		pthread_mutex_lock(&a->lock);
	*used = *cfg;
	if (a->gsh)
		pthread_mutex_unlock(&a->lock);
}

void gr_admin_reloaded(struct gr_admin *a, bool failed)
{
	if (!a->gsh)
		return;
	pthread_mutex_lock(&a->lock);
	a->reloaded = time(NULL);
	a->reload_failed = failed;
	pthread_mutex_unlock(&a->lock);
}

void gr_admin_describe(struct gr_admin *a, struct stats_server *out)
{
	char one[GR_SETTING_ROOM], other[GR_SETTING_ROOM];
	const char *comma = "";

	*out->not_of_file = '\0';
	pthread_mutex_lock(&a->lock);
	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		if (!s->changeable || s->hidden ||
		    !differs(s, a->cfg, &a->file))
			continue;
		gr_setting_text(s, a->cfg, one);
		gr_setting_text(s, &a->file, other);
		base_append(out->not_of_file, sizeof(out->not_of_file),
			    "%s%s = %s (file: %s)", comma, s->item.name, one,
			    other);
		comma = ", ";
	}
	out->reloaded = a->reloaded;
	out->reload_failed = a->reload_failed;
	pthread_mutex_unlock(&a->lock);
}
