/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - keeps apart what Ganesha 4.3 cannot execute at the same time
 *
 * Ganesha before release 5.0 dies of a segmentation fault (its issue 904) when
 * an operation that names state but no file - FREE_STATEID, TEST_STATEID or
 * RELEASE_LOCKOWNER - finds what a CLOSE is just ending. Linux' client sends
 * both at the same time when a file is closed that was locked, so a program
 * that locks and closes files in a loop ends the server, by TCP as well.
 *
 * So a Call of the first kind is executed while none of the second kind is, of
 * the same client. A client is an address, because its Calls may come through
 * several connections; some share a gate. Nobody waits for longer than
 * GR_GATE_SECONDS: a CLOSE that hangs must not take all of Ganesha's workers
 * along.
 *
 * Operations under RPCSEC_GSS integrity or privacy cannot be told, and pass.
 *
 * Threads: enter and leave by the worker that executes the Call; init and
 * destroy while there is none. A gate is held while Ganesha's locks are taken,
 * never the other way round.
 */
#ifndef RPCRDMA_GANESHA_GATE_H
#define RPCRDMA_GANESHA_GATE_H

#include <pthread.h>
#include <sys/socket.h>

#include "ulb/ulb.h"

#define GR_GATES 61u
#define GR_GATE_SECONDS 1

struct gr_gates {
	pthread_rwlock_t gate[GR_GATES];
};

void gr_gates_init(struct gr_gates *g);
void gr_gates_destroy(struct gr_gates *g);

/* That of the client at @peer, of whatever port. */
pthread_rwlock_t *gr_gate_of(struct gr_gates *g,
			     const struct sockaddr_storage *peer);

/* What to give to gr_gate_leave(): NULL if the Call passes without. */
pthread_rwlock_t *gr_gate_enter(pthread_rwlock_t *gate,
				const struct ulb_call *head);
void gr_gate_leave(pthread_rwlock_t *entered);

#endif /* RPCRDMA_GANESHA_GATE_H */
