/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * turn - how much a poller does of one thing before others get a turn
 *
 * The same for all that it runs: timers that are due, connections that come,
 * events of a device, completions of a connection. What is left over follows in
 * its next turn, which does not wait.
 */
#ifndef RPCRDMA_BASE_TURN_H
#define RPCRDMA_BASE_TURN_H

/* So many, or as many as begin within so long. */
#define BASE_TURN 128
#define BASE_TURN_MS 2

#endif /* RPCRDMA_BASE_TURN_H */
