/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watched_turn - which events come in which states
 *
 * Compiled into turn.c in front of it: each look at the table of states is seen.
 */
#ifndef RPCRDMA_SIMULATE_WATCHED_TURN_H
#define RPCRDMA_SIMULATE_WATCHED_TURN_H

#include "transport/core/core.h"

void sim_event(struct rt_conn *c, enum rt_event ev);

/* In rt_event(), which has @c and @ev. */
#define rt_transitions (sim_event(c, ev), rt_transitions)

#endif /* RPCRDMA_SIMULATE_WATCHED_TURN_H */
