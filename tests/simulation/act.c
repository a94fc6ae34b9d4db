/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * act - one of the things that can happen
 *
 * Threads: one.
 */
#include "simulate.h"

static bool is_there(const struct sim_action *a, unsigned int k)
{
	return a[k].always ||
	       ((sim->kinds >> k & 1) && !(sim->calm && a[k].harsh));
}

void sim_act(unsigned int i, const struct sim_action *a, unsigned int n)
{
	struct draw d = draw_from(sim->opt.seed, 0x100000000ull + i);
	unsigned int sum = 0, at, k = 0;

	sim->step = i;
	for (unsigned int j = 0; j < n; j++)
		sum += is_there(a, j) ? a[j].weight : 0;
	at = draw_below(&d, sum);
	for (;; k++) {
		if (!is_there(a, k))
			continue;
		if (at < a[k].weight)
			break;
		at -= a[k].weight;
	}
	sim->doing = a[k].name;
	a[k].make(&d);
}
