/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * coverage - which events have come in which states
 *
 * Threads: one.
 */
#include <stdio.h>

#include "simulate.h"
#include "transport/core/connection.h"

void sim_event(struct rt_conn *c, enum rt_event ev);

uint32_t sim_reached[RT_NSTATES][EV_COUNT];

void sim_event(struct rt_conn *c, enum rt_event ev)
{
	sim_reached[c->state][ev]++;
	sim_check_event(c, ev);
}

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
			       rt_event_names[e], reached[s][e]);
			missing += !reached[s][e];
		}
	printf("of %u entries of the table %u were not reached:\n", entries,
	       missing);
	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++)
			if (rt_transitions[s][e].allowed && !reached[s][e])
				printf("    %s %s\n", rt_state_names[s],
				       rt_event_names[e]);
	printf("%u events came where the table has no entry for them:\n",
	       ignored);
	for (unsigned int s = 0; s < RT_NSTATES; s++)
		for (unsigned int e = 0; e < EV_COUNT; e++)
			if (!rt_transitions[s][e].allowed && reached[s][e])
				printf("    %s %s %u\n", rt_state_names[s],
				       rt_event_names[e], reached[s][e]);
}
