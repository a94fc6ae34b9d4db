/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_count - what the gateway has done, and which events have come to clients
 *
 * Threads: one.
 */
#include <stdio.h>

#include "gateway/client.h"
#include "gw.h"

enum state { FRESH, DOWN, CONNECTING, UP, GONE, STATES };

static const char *const states[STATES] = {
	[FRESH] = "fresh", [DOWN] = "down", [CONNECTING] = "connecting",
	[UP] = "up",	   [GONE] = "gone",
};

static const char *const events[] = {
	"new",	  "up",	   "down",    "room", "resend", "idle",
	"broken", "renew", "leave",   "in",   "out",	"hangup",
	"error",  "read",  "connect", "tick", "stop",	"drain",
};

#define EVENTS (sizeof(events) / sizeof(events[0]))

static const char *const stats[] = {
#define NAME(name, help) #name,
	GW_STATS(NAME)
#undef NAME
};

#define STATS (sizeof(stats) / sizeof(stats[0]))

_Static_assert(STATS + STATES * EVENTS <= SIM_COUNTS,
	       "more than there is room");

void __real_gw_client_event(struct gw_client *c, unsigned int ev);
void __wrap_gw_client_event(struct gw_client *c, unsigned int ev);

static enum state state(const struct gw_client *c)
{
	if (c->gone)
		return GONE;
	if (c->calls.to)
		return UP;
	if (gw_link_is_open(&c->link))
		return CONNECTING;
	return c->link.backoff_ms ? DOWN : FRESH;
}

void __wrap_gw_client_event(struct gw_client *c, unsigned int ev)
{
	for (unsigned int i = 0; i < EVENTS; i++)
		if (ev >> i & 1)
			sim_counts[STATS + state(c) * EVENTS + i]++;
	__real_gw_client_event(c, ev);
}

void gws_count_stats(void)
{
	struct gw_stats s;
	const uint64_t *at = (const uint64_t *)&s;

	gw_stats_total(gws.gw, &s);
	for (unsigned int i = 0; i < STATS; i++)
		sim_counts[i] = (uint32_t)at[i];
}

const char *gws_count_name(unsigned int i, bool *never)
{
	static char name[40];

	if (i < STATS)
		return stats[i];
	i -= STATS;
	if (i >= STATES * EVENTS)
		return NULL;
	snprintf(name, sizeof(name), "%s %s", states[i / EVENTS],
		 events[i % EVENTS]);
	return name;
}
