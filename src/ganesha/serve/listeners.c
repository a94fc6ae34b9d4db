/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/listeners.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

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

bool gr_listeners_check(const struct gsh *g, struct stats_source *src,
			struct rt_listener *const *l)
{
	bool changed = false;

	for (unsigned int i = 0; i < src->nlisteners; i++) {
		bool down = !rt_listener_up(l[i]);

		if (atomic_exchange(&src->down[i], down) == down)
			continue;
		changed = true;
		if (down)
			gsh_log(g, GSH_WARN,
				"RDMA cannot be reached on %s: %s (rdma link shows devices). The server waits for one",
				src->listener[i],
				down_reason(src->listener[i]));
		else
			gsh_log(g, GSH_EVENT, "RDMA can be reached on %s again",
				src->listener[i]);
	}
	return changed;
}

/* Append the names of the listeners that are @down or not. Returns how many. */
static unsigned int append_names(const struct stats_source *src, bool down,
				 char *text, size_t room)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < src->nlisteners; i++)
		if (atomic_load(&src->down[i]) == down)
			base_append(text, room, "%s%s", n++ ? ", " : "",
				    src->listener[i]);
	return n;
}

void gr_listeners_text(const struct stats_source *src, char *text, size_t room)
{
	char up[1024] = "", down[1024] = "";
	unsigned int nup = append_names(src, false, up, sizeof(up));
	unsigned int ndown = append_names(src, true, down, sizeof(down));

	*text = '\0';
	if (nup || !ndown)
		base_append(text, room, "RDMA is served on %s, provider %s%s%s",
			    up, src->provider,
			    ndown ? "; cannot be reached on " : "", down);
	else
		base_append(text, room,
			    "RDMA cannot be reached on %s, provider %s", down,
			    src->provider);
	if (!ndown)
		return;
	/* If a listener for any address is down, no port is active. */
	for (unsigned int i = 0; i < src->nlisteners; i++)
		if (atomic_load(&src->down[i]) && is_any(src->listener[i])) {
			base_append(text, room, ": %s",
				    down_reason(src->listener[i]));
			return;
		}
	base_append(text, room, ": no RDMA device with an active port has %s",
		    ndown > 1 ? "these addresses" : "this address");
}
