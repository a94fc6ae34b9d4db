/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/listeners.h"

#include <stdio.h>
#include <string.h>

#include "base/addr.h"
#include "base/text.h"

#define NAME 64

static void format_name(const struct gr_listener *l, char name[NAME])
{
	base_addr_name((const struct sockaddr *)&l->at, name, NAME);
}

/* ---- The table ------------------------------------------------------------ */

/* Take the open listener for @at out of @t, or return a new one. */
static struct gr_listener take_entry(struct gr_listeners *t,
				     const struct sockaddr_storage *at)
{
	struct gr_listener taken = { .at = *at };

	for (unsigned int i = 0; i < t->n; i++)
		if (t->of[i].l && base_addr_equal(&t->of[i].at, at)) {
			taken = t->of[i];
			t->of[i] = t->of[--t->n];
			break;
		}
	return taken;
}

bool gr_listeners_want(const struct gsh *g, struct gr_listeners *t,
		       const struct gr_addrs *want)
{
	struct gr_listener next[STATS_MAX_LISTENERS];
	bool changed = false;
	char name[NAME];

	_Static_assert(GR_MAX_ADDRS <= STATS_MAX_LISTENERS, "room for all");
	for (unsigned int i = 0; i < want->n; i++)
		next[i] = take_entry(t, &want->addr[i]);
	for (unsigned int i = 0; i < t->n; i++) {
		changed = true;
		if (!t->of[i].l)
			continue;
		rt_listener_close(t->of[i].l);
		format_name(&t->of[i], name);
		gsh_log(g, GSH_EVENT,
			"no longer serving RPC-over-RDMA on %s; connections made there go on",
			name);
	}
	memcpy(t->of, next, want->n * sizeof(next[0]));
	t->n = want->n;
	return changed;
}

void gr_listeners_publish(const struct gr_listeners *t,
			  struct stats_source *src)
{
	if (src->lock)
		pthread_mutex_lock(src->lock);
	src->nlisteners = t->n;
	for (unsigned int i = 0; i < t->n; i++) {
		_Static_assert(sizeof(src->listener[i]) == NAME, "a name");
		format_name(&t->of[i], src->listener[i]);
		src->down[i] = !t->of[i].l || t->of[i].down;
	}
	if (src->lock)
		pthread_mutex_unlock(src->lock);
}

/* ---- The state ------------------------------------------------------------ */

/* A listener for any address waits for any device. */
static bool is_any(const char *addr)
{
	return !strncmp(addr, "0.0.0.0:", 8) || !strncmp(addr, "[::]:", 5);
}

static const char *down_reason(const char *addr)
{
	return is_any(addr) ?
		       "no RDMA device has an active port" :
		       "no RDMA device with an active port has this address";
}

bool gr_listeners_check(const struct gsh *g, struct gr_listeners *t,
			struct stats_source *src)
{
	bool changed = false;
	char name[NAME];

	for (unsigned int i = 0; i < t->n; i++) {
		struct gr_listener *l = &t->of[i];
		bool down = l->l && !rt_listener_up(l->l);

		if (l->down == down)
			continue;
		l->down = down;
		changed = true;
		format_name(l, name);
		if (down)
			gsh_log(g, GSH_WARN,
				"RDMA cannot be reached on %s: %s (rdma link shows devices). The server waits for one",
				name, down_reason(name));
		else
			gsh_log(g, GSH_EVENT, "RDMA can be reached on %s again",
				name);
	}
	if (changed)
		gr_listeners_publish(t, src);
	return changed;
}

/* Append the names of the listeners that are @down or not. Returns how many. */
static unsigned int append_names(const struct stats_source *src, bool down,
				 char *text, size_t room)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < src->nlisteners; i++)
		if (src->down[i] == down)
			base_append(text, room, "%s%s", n++ ? ", " : "",
				    src->listener[i]);
	return n;
}

/* Append why @ndown listeners cannot be reached. Caller holds the lock of @src. */
static void append_reason(const struct stats_source *src, unsigned int ndown,
			  char *text, size_t room)
{
	/* Without devices, it could not be opened. */
	if (strcmp(src->provider, "verbs")) {
		base_append(text, room, ": the log says why");
		return;
	}
	/* If a listener for any address is down, no port is active. */
	for (unsigned int i = 0; i < src->nlisteners; i++)
		if (src->down[i] && is_any(src->listener[i])) {
			base_append(text, room, ": %s",
				    down_reason(src->listener[i]));
			return;
		}
	base_append(text, room, ": no RDMA device with an active port has %s",
		    ndown > 1 ? "these addresses" : "this address");
}

void gr_listeners_text(const struct stats_source *src, char *text, size_t room)
{
	char up[1024] = "", down[1024] = "";
	unsigned int nup, ndown;

	*text = '\0';
	if (src->lock)
		pthread_mutex_lock(src->lock);
	nup = append_names(src, false, up, sizeof(up));
	ndown = append_names(src, true, down, sizeof(down));
	if (nup || !ndown)
		base_append(text, room, "RDMA is served on %s, provider %s%s%s",
			    up, src->provider,
			    ndown ? "; cannot be reached on " : "", down);
	else
		base_append(text, room,
			    "RDMA cannot be reached on %s, provider %s", down,
			    src->provider);
	if (ndown)
		append_reason(src, ndown, text, room);
	if (src->lock)
		pthread_mutex_unlock(src->lock);
}
