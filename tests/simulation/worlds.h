/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worlds - which kinds of worlds there are
 */
#ifndef RPCRDMA_SIMULATE_WORLDS_H
#define RPCRDMA_SIMULATE_WORLDS_H

#include "simulate.h"

struct sim_kind {
	const char *name;
	void (*open)(struct sim_world *w, const struct sim_options *opt);
	void (*step)(unsigned int i);
	void (*close)(struct sim_world *w);
	/* The name of the @i-th of sim_counts, NULL: there is none; @never: it need not
	 * be reached. */
	const char *(*count_name)(unsigned int i, bool *never);
};

void sim_print_counts(const struct sim_kind *k,
		      const uint32_t counts[SIM_COUNTS]);

/* The last has no name. */
extern const struct sim_kind sim_worlds[];

#endif /* RPCRDMA_SIMULATE_WORLDS_H */
