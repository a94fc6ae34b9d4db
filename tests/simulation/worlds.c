/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worlds - see worlds.h
 */
#include "worlds.h"

#include <stdio.h>

#include "gw.h"
#ifdef SIMULATE_BACK
#include "bk.h"
#endif

uint32_t sim_counts[SIM_COUNTS];

const struct sim_kind sim_worlds[] = {
	{ "transport", sim_open, sim_step, sim_close, NULL },
	{ "gateway", gws_open, gws_step, gws_close, gws_count_name },
#ifdef SIMULATE_BACK
	{ "back", bks_open, bks_step, bks_close, bks_count_name },
#endif
	{ 0 },
};

void sim_print_counts(const struct sim_kind *k,
		      const uint32_t counts[SIM_COUNTS])
{
	unsigned int all = 0, missing = 0;

	for (unsigned int i = 0; i < SIM_COUNTS; i++) {
		bool never = false;
		const char *name = k->count_name(i, &never);

		if (!name || (never && !counts[i]))
			continue;
		printf("%-34s %10u%s\n", name, counts[i],
		       never	 ? ", changes nothing" :
		       counts[i] ? "" :
				   ", not reached");
		all += !never;
		missing += !counts[i] && !never;
	}
	printf("of %u things %u were not reached\n", all, missing);
}
