/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a client that may not be executed at the same time
 *
 * Ganesha before release 5.0 dies of a segmentation fault (its issue 904) when
 * an operation that names state but no file - FREE_STATEID, TEST_STATEID or
 * RELEASE_LOCKOWNER - finds what a CLOSE is just ending. Linux' client sends
 * both at the same time when a file is closed that was locked, so a program
 * that locks and closes files in a loop ends the server, by TCP as well. So a
 * Call of the first kind goes through the client's gate alone, and those of the
 * second kind together.
 *
 * A second gate of each client, through which Calls go one by one, is where
 * Ganesha is told of its connections (greet.h).
 *
 * A client is an address, because its Calls may come through several
 * connections; it shares its gates with no other. A Call that may not go through
 * yet is left in a queue, in the order of arrival, and no worker waits with it:
 * who leaves hands those on whose turn it is. A Call is inside until it has been
 * answered or dropped, whichever threads execute it. So there is no need for
 * a time after which one goes through all the same: a CLOSE that hangs holds up
 * this client's other CLOSEs, and nothing else.
 *
 * Operations under RPCSEC_GSS integrity or privacy cannot be told, and pass.
 *
 * Threads: any, but a gr_pass belongs to its Call. A gate's lock is the
 * innermost but for that of the queue that submit puts Calls into; submit is
 * called without it.
 */
#ifndef RPCRDMA_GANESHA_GATE_H
#define RPCRDMA_GANESHA_GATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <urcu/list.h>

#include "compat/ganesha.h"

#define GR_HOST_BUCKETS 256u

struct gr_gates;

struct gr_gate {
	struct gr_gates *gates;
	pthread_mutex_t lock;
	unsigned int inside;
	bool alone; /* who is inside wants no other there */
	struct cds_list_head queue; /* of gr_pass */
};

/* The gates of one client. */
struct gr_host {
	struct cds_list_head link; /* gates->lock, as is the next */
	unsigned int refs; /* by connections */
	struct sockaddr_storage addr; /* its port is 0 */
	struct gr_gate state, greeting;
};

struct gr_gates {
	pthread_mutex_t lock;
	struct cds_list_head bucket[GR_HOST_BUCKETS];
	/* Have a Call that has waited go on: run its rq_resume_cb. */
	void (*submit)(struct gr_gates *g, struct svc_req *req);
};

/* A Call's way through a gate. Zeroed: through none. */
struct gr_pass {
	struct gr_gate *gate; /* that it is in, or waits for */
	struct svc_req *req;
	const void *of; /* the connection */
	struct cds_list_head link;
	bool alone, inside;
};

enum gr_entry {
	GR_INSIDE,
	/* Leave it alone: it may have gone on already. It comes back by submit. */
	GR_WAITS,
	GR_TOO_LATE, /* the connection has ended */
};

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req));
/* That of the client at @peer, of whatever port; to be put. NULL: no memory. */
struct gr_host *gr_host_get(struct gr_gates *g,
			    const struct sockaddr_storage *peer);
void gr_host_put(struct gr_gates *g, struct gr_host *h);

/*
 * Once more by a Call that has waited: it is inside, unless its connection has
 * ended. @of: the connection; @ended: set before gr_gate_expel() of it.
 */
enum gr_entry gr_gate_enter(struct gr_gate *gate, struct gr_pass *p,
			    struct svc_req *req, bool alone, const void *of,
			    const atomic_bool *ended);
/* Harmless for one that is in no gate. Not for one that waits. */
void gr_gate_leave(struct gr_pass *p);
/* No Call of the connection @of waits any longer: they go on, outside. */
void gr_gate_expel(struct gr_gate *gate, const void *of);

#endif /* RPCRDMA_GANESHA_GATE_H */
