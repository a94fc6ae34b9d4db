/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host - what the connections of a client host share
 *
 *   replay  which Calls may be retransmissions (ntirpc/replay.h)
 *   flow    its Calls in the workers' queue (fair_queue.h)
 *   queue   Calls that must not be executed at the same time, and wait
 *
 * Calls wait for the admission of a new client. Since release 6 Ganesha is asked whether the
 * client may be served, and the answer may take as long as other servers need to release the
 * client. So one worker asks. The other Calls of the connection, and of all connections of
 * the host, wait in the queue, where they use no worker. A Call that leaves submits the next
 * one, in the order of arrival.
 *
 * Context: any thread. A gr_waiter belongs to its Call. Lock order: gr_hosts.lock,
 * gr_host.lock, that of the queue into which submit puts Calls. No lock is held while submit
 * is called or Ganesha is asked.
 */
#ifndef RPCRDMA_GANESHA_HOST_H
#define RPCRDMA_GANESHA_HOST_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <urcu/list.h>

#include "compat/ganesha.h"
#include "ganesha/serve/fair_queue.h"
#include "ntirpc/replay.h"

#define GR_HOST_BUCKETS 256u
/* A host without a connection may retransmit its Calls on a new one. It is kept as long as
 * Ganesha keeps Replies, but only so many hosts are, or as many as may have connections: all
 * may lose theirs at once. */
#define GR_HOST_KEEP_MS (20 * 60 * 1000)
#define GR_HOSTS_KEPT 1024u

struct gr_hosts;

struct gr_host {
	/* Protected by hosts->lock. */
	struct cds_list_head link; /* in its bucket */
	unsigned int refs; /* of connections */
	struct cds_list_head kept; /* in hosts->kept, without references */
	uint64_t kept_since; /* CLOCK_MONOTONIC, ms; 0: it has references */

	struct in6_addr addr; /* base_addr_host() */
	struct gr_hosts *hosts;
	struct nrt_replay replay;
	struct gr_flow flow;
	pthread_mutex_t lock; /* protects what follows */
	bool busy; /* a Call has entered */
	struct cds_list_head queue; /* of gr_waiter */
};

struct gr_hosts {
	pthread_mutex_t lock;
	struct cds_list_head buckets[GR_HOST_BUCKETS];
	struct cds_list_head kept; /* oldest first */
	unsigned int nkept, most_kept;
	/* Have a worker run rq_resume_cb of a Call that has waited. */
	void (*submit)(struct gr_hosts *hosts, struct svc_req *req);
};

/* A Call that has entered, or waits to. Zeroed: neither. */
struct gr_waiter {
	struct gr_host *host; /* NULL: neither */
	struct svc_req *req;
	const void *conn; /* an address that identifies its connection */
	struct cds_list_head link; /* in host->queue, if it waits */
	bool entered;
};

void gr_hosts_init(struct gr_hosts *hosts, unsigned int max_connections,
		   void (*submit)(struct gr_hosts *hosts, struct svc_req *req));
/* Returns the host at @peer, regardless of the port, with a reference that the caller puts; or
 * NULL without memory. */
struct gr_host *gr_host_get(struct gr_hosts *hosts,
			    const struct sockaddr_storage *peer);
void gr_host_put(struct gr_host *host);

enum gr_entry {
	GR_ENTERED,
	/* The Call waits, and belongs to the caller no more: it may already have been
	 * submitted. */
	GR_QUEUED,
	GR_CLOSED, /* the connection has ended */
};

/*
 * Enter with the Call @req of @conn. A Call that has waited calls this again, and has entered
 * unless its connection has ended. @ended is set before gr_host_flush() of @conn.
 */
enum gr_entry gr_host_enter(struct gr_host *host, struct gr_waiter *w,
			    struct svc_req *req, const void *conn,
			    const atomic_bool *ended);
/* Leave. No effect unless the Call has entered. It must not wait. */
void gr_host_leave(struct gr_waiter *w);
/* Submit all Calls of @conn that wait. They have not entered then. */
void gr_host_flush(struct gr_host *host, const void *conn);

/* What Ganesha says of a connection's client. */
enum gr_admission {
	GR_NOT_ASKED,
	GR_ADMITTED,
	GR_DECLINED, /* or the connection has ended */
	GR_PENDING, /* the Call waits, as with GR_QUEUED */
};

/*
 * Returns whether the client of @xprt may be served, which @ask asks Ganesha. The answer is
 * kept in @known, which begins as GR_NOT_ASKED. @w, @req and @ended are those of
 * gr_host_enter(). The Call has left afterwards, unless it waits.
 */
enum gr_admission gr_host_admit(SVCXPRT *xprt, atomic_int *known,
				struct gr_host *host, struct gr_waiter *w,
				struct svc_req *req, const atomic_bool *ended,
				enum xprt_stat (*ask)(SVCXPRT *xprt));

#endif /* RPCRDMA_GANESHA_HOST_H */
