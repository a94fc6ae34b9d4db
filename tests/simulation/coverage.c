/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage - which events have come in which states
 *
 * Threads: one.
 */
#include <stdio.h>

#include "simulate.h"
#include "transport/core/conn.h"

void sim_event(struct rt_conn *c, enum rt_event ev);

uint32_t sim_reached[RT_NSTATES][EV_COUNT];

void sim_event(struct rt_conn *c, enum rt_event ev)
{
	sim_reached[c->state][ev]++;
	sim_check_event(c, ev);
}

static const char *const names[EV_COUNT] = {
	[EV_UP] = "up",
	[EV_VERSION1] = "version1",
	[EV_DOWN] = "down",
	[EV_MSG_ERROR] = "error",
	[EV_MSG_GRANT] = "grant",
	[EV_MSG_PROPS] = "props",
	[EV_MSG_CALL] = "call",
	[EV_MSG_REPLY] = "reply",
	[EV_MSG_EXT] = "extension",
	[EV_MSG_VERSION] = "version",
	[EV_MSG_BAD] = "bad",
	[EV_CLOSE] = "close",
	[EV_ABORT] = "abort",
	[EV_VIOLATION] = "violation",
	[EV_DRAINED] = "drained",
	[EV_TIMEOUT] = "timeout",
	[EV_SETTLED] = "settled",
};

void sim_coverage_print(const uint32_t reached[RT_NSTATES][EV_COUNT])
{
	unsigned int entries = 0, missing = 0, ignored = 0;

	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++) {
			if (!rt_transitions[s][e].allowed) {
				ignored += reached[s][e] > 0;
				continue;
			}
			entries++;
			printf("%-10s %-10s %10u\n", rt_state_names[s],
			       names[e], reached[s][e]);
			missing += !reached[s][e];
		}
	printf("of %u entries of the table %u were not reached:\n", entries,
	       missing);
	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++)
			if (rt_transitions[s][e].allowed && !reached[s][e])
				printf("    %s %s\n", rt_state_names[s],
				       names[e]);
	printf("%u events came where the table has no entry for them:\n",
	       ignored);
	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++)
			if (!rt_transitions[s][e].allowed && reached[s][e])
				printf("    %s %s %u\n", rt_state_names[s],
				       names[e], reached[s][e]);
}
