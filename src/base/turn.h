/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn - how much a poller does of one kind before other work gets a turn
 *
 * One limit for all that it does: timers that are due, connections to accept, events of a
 * device, completions of a connection. The rest follows in the next turn, before which the
 * poller does not sleep.
 */
#ifndef RPCRDMA_BASE_TURN_H
#define RPCRDMA_BASE_TURN_H

/* The turn ends after so many items, or so many ms. */
#define BASE_TURN 128
#define BASE_TURN_MS 2

#endif /* RPCRDMA_BASE_TURN_H */
