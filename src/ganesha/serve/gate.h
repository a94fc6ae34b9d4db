/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a host that must not be executed at the same time
 *
 * Since release 6 Ganesha is asked whether a new client may be served. The answer may take
 * as long as other servers need to release the client. So one worker asks. The other Calls
 * of the connection, and of all connections of its host, wait in the queue of the host's
 * gate, where they take no worker. The Call that leaves submits the next one, in the order
 * of arrival.
 *
 * Context: any thread. A gr_pass belongs to its Call. Lock order: gr_gates.lock,
 * gr_gate.lock, that of the queue into which submit puts Calls. No lock is held while
 * submit is called and Ganesha is asked.
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
/* A host without a connection may send its Calls again. Its gate is kept as long as
 * Ganesha keeps Replies, but only so many gates are. */
#define GR_GATE_KEEP_MS (20 * 60 * 1000)
#define GR_GATES_KEPT 1024u

struct gr_gates;

struct gr_gate {
	struct cds_list_head link; /* gates->lock, as are the next five */
	unsigned int refs; /* by connections */
	struct cds_list_head kept; /* in gates->kept, without references */
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
	/* Have a worker run rq_resume_cb of a Call that has waited. */
	void (*submit)(struct gr_gates *g, struct svc_req *req);
};

/* A Call at a gate. Zeroed: it is at none. */
struct gr_pass {
	struct gr_gate *gate; /* that it is in, or waits for */
	struct svc_req *req;
	const void *of; /* the connection */
	struct cds_list_head link; /* among those who wait */
	bool inside;
};

enum gr_entry {
	GR_INSIDE,
	/* The Call is not the caller's any more: it may already have been resumed. It
	 * comes back by submit. */
	GR_WAITS,
	GR_TOO_LATE, /* the connection has ended */
};

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req));
/* Returns the gate of the host at @peer, regardless of the port, with a reference that the
 * caller puts; or NULL without memory. */
struct gr_gate *gr_gate_of_host(struct gr_gates *g,
				const struct sockaddr_storage *peer);
void gr_gate_put(struct gr_gate *gate);

/*
 * Enter the gate with the Call @req of the connection @of. A Call that has waited calls this
 * again, and is inside unless its connection has ended. @ended is set before
 * gr_gate_flush() of @of.
 */
enum gr_entry gr_gate_enter(struct gr_gate *gate, struct gr_pass *p,
			    struct svc_req *req, const void *of,
			    const atomic_bool *ended);
/* Leave the gate. Harmless for a Call that is in none; not for one that waits. */
void gr_gate_leave(struct gr_pass *p);
/* Submit all Calls of the connection @of that wait. They are in no gate then. */
void gr_gate_flush(struct gr_gate *gate, const void *of);

/* What Ganesha says of a connection's client. */
enum gr_admission {
	GR_NOT_ASKED,
	GR_ADMITTED,
	GR_DECLINED, /* or the connection has ended */
	GR_PENDING, /* as GR_WAITS */
};

/*
 * Ask Ganesha by @ask whether the client of @xprt may be served, unless @known has the
 * answer, and keep it there; @known begins as GR_NOT_ASKED. @p to @ended are those of
 * gr_gate_enter(). The Call is in no gate afterwards, unless it waits.
 */
enum gr_admission gr_gate_admit(SVCXPRT *xprt, atomic_int *known,
				struct gr_gate *gate, struct gr_pass *p,
				struct svc_req *req, const atomic_bool *ended,
				enum xprt_stat (*ask)(SVCXPRT *xprt));

#endif /* RPCRDMA_GANESHA_GATE_H */
