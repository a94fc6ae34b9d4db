/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a host that may not be executed at the same time
 *
 * They go through it one by one: where Ganesha is told of its connections
 * (greet.h). A Call that may not go through yet is left in a queue, in the order of
 * arrival, and no worker waits with it: who leaves hands on the next one.
 *
 * Threads: any, but a gr_pass belongs to its Call. The lock of all gates may be
 * held when that of one is taken, which is the innermost but for that of the queue
 * that submit puts Calls into; submit is called without either.
 */
#ifndef RPCRDMA_GANESHA_GATE_H
#define RPCRDMA_GANESHA_GATE_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <urcu/list.h>

#include "compat/ganesha.h"
#include "ganesha/serve/fair.h"
#include "ntirpc/replay.h"

#define GR_GATE_BUCKETS 256u
/* Hosts without a connection whose Calls may come again: as long as Ganesha keeps
 * the Replies, and no more than so many. */
#define GR_GATE_KEEP_MS (20 * 60 * 1000)
#define GR_GATES_KEPT 1024u

struct gr_gates;

struct gr_gate {
	struct cds_list_head link; /* gates->lock, as are the next five */
	unsigned int refs; /* by connections */
	struct cds_list_head kept; /* in gates->kept, if there are none */
	uint64_t kept_since; /* CLOCK_MONOTONIC, ms */
	struct nrt_replay replay;
	struct in6_addr host; /* base_addr_host() */
	struct gr_gates *gates;
	pthread_mutex_t lock;
	bool busy; /* a Call is inside */
	struct cds_list_head queue; /* of gr_pass */
	struct gr_flow flow; /* of the host's Calls, in the workers' queue */
};

struct gr_gates {
	pthread_mutex_t lock;
	struct cds_list_head hosts[GR_GATE_BUCKETS];
	struct cds_list_head kept; /* oldest first */
	unsigned int nkept;
	/* Have a Call that has waited go on: run its rq_resume_cb. */
	void (*submit)(struct gr_gates *g, struct svc_req *req);
};

/* A Call's way through a gate. Zeroed: through none. */
struct gr_pass {
	struct gr_gate *gate; /* that it is in, or waits for */
	struct svc_req *req;
	const void *of; /* the connection */
	struct cds_list_head link; /* among those who wait */
	bool inside;
};

enum gr_entry {
	GR_INSIDE,
	/* Leave it alone: it may have gone on already. It comes back by submit. */
	GR_WAITS,
	GR_TOO_LATE, /* the connection has ended */
};

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req));
/* That of the host at @peer, of whatever port; to be put. NULL: no memory. */
struct gr_gate *gr_gate_of_host(struct gr_gates *g,
				const struct sockaddr_storage *peer);
void gr_gate_put(struct gr_gate *gate);

/*
 * Once more by a Call that has waited: it is inside, unless its connection has
 * ended. @of: the connection; @ended: set before gr_gate_expel() of it.
 */
enum gr_entry gr_gate_enter(struct gr_gate *gate, struct gr_pass *p,
			    struct svc_req *req, const void *of,
			    const atomic_bool *ended);
/* Harmless for one that is in no gate. Not for one that waits. */
void gr_gate_leave(struct gr_pass *p);
/* No Call of the connection @of waits any longer: they go on, outside. */
void gr_gate_expel(struct gr_gate *gate, const void *of);

#endif /* RPCRDMA_GANESHA_GATE_H */
