/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a client that may not be executed at the same time
 *
 * Ganesha before release 5.0 dies of a segmentation fault (its issue 904) when
 * an operation that names state but no file - FREE_STATEID, TEST_STATEID or
 * RELEASE_LOCKOWNER - drops the last reference to state that another Call is just
 * ending: by CLOSE, DELEGRETURN, or a LOCK or OPEN that is refused when it has made
 * some. Linux' client sends
 * both at the same time when a file is closed that was locked, so a program
 * that locks and closes files in a loop ends the server, by TCP as well. So a
 * Call of the first kind goes through the client's gate alone, and those of the
 * second kind together.
 *
 * That client is the NFSv4 client whose state is named (ulb_call.client), from
 * wherever: it may have several connections and addresses. A Call goes through one
 * gate only; what names state of another is withheld (ntirpc/withheld.h), since
 * Ganesha looks a stateid up without asking whose it is. Such a gate is there as long
 * as a Call is in it or waits for it.
 *
 * State also ends when its client comes back with another verifier (EXCHANGE_ID,
 * CREATE_SESSION, SETCLIENTID_CONFIRM), and these do not say which client that is. So
 * there is one gate of all clients: through it those go together, and Calls of the
 * first kind, which are in their client's by then, go together; but not the one with
 * the other. As they take turns, it is for no longer than Calls of the other kind are
 * executed that were there before; but where one of them takes longer than
 * GR_ALL_MS, for instance a SETCLIENTID_CONFIRM that tries a callback address, more of
 * its kind do not wait, so that clients can still come.
 *
 * Another gate, of each host, through which Calls go one by one, is where Ganesha
 * is told of its connections (greet.h).
 *
 * A Call that may not go through yet is left in a queue, in the order of arrival,
 * and no worker waits with it: who leaves hands those on whose turn it is. A Call
 * is inside until it has been answered or dropped, whichever threads execute it.
 * So there is no need for a time after which one goes through all the same: a CLOSE
 * that hangs holds up what names state of this client, and the CLOSEs behind that.
 *
 * Operations under RPCSEC_GSS integrity or privacy cannot be told, and pass.
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

#define GR_GATE_BUCKETS 256u
#define GR_ALL_MS 1000

struct gr_gates;

/* Calls of one kind are inside together, but for those that want to be alone. */
enum gr_kind { GR_TOGETHER, GR_ALONE, GR_OTHERS };

/* One of the two. */
struct gr_gate_key {
	struct in6_addr host; /* fab_addr_host() */
	uint64_t client;
};

struct gr_gate {
	struct cds_list_head link; /* gates->lock, as are the next two */
	unsigned int refs; /* by connections, or by Calls */
	struct gr_gate_key key;
	struct gr_gates *gates;
	pthread_mutex_t lock;
	unsigned int inside;
	enum gr_kind kind; /* of those who are inside */
	struct cds_list_head in; /* they, in order */
	struct cds_list_head queue; /* of gr_pass */
};

struct gr_gates {
	pthread_mutex_t lock;
	struct cds_list_head hosts[GR_GATE_BUCKETS];
	struct cds_list_head clients[GR_GATE_BUCKETS];
	struct gr_gate all; /* the one of all clients */
	/* Have a Call that has waited go on: run its rq_resume_cb. */
	void (*submit)(struct gr_gates *g, struct svc_req *req);
};

/* A Call's way through a gate. Zeroed: through none. */
struct gr_pass {
	struct gr_gate *gate; /* that it is in, or waits for */
	struct svc_req *req;
	const void *of; /* the connection */
	struct cds_list_head link; /* among those who wait */
	struct cds_list_head beside; /* among those who are inside */
	uint64_t since; /* it is inside, fab_now_ms() */
	enum gr_kind kind;
	bool inside;
	bool keeps; /* it has a reference to the gate */
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
			    struct svc_req *req, enum gr_kind kind,
			    const void *of, const atomic_bool *ended);
/* Harmless for one that is in no gate. Not for one that waits. */
void gr_gate_leave(struct gr_pass *p);
/* No Call of the connection @of waits any longer: they go on, outside. */
void gr_gate_expel(struct gr_gate *gate, const void *of);

/* Enter the gate of @client, as above. GR_TOO_LATE: or there is no memory. */
enum gr_entry gr_client_enter(struct gr_gates *g, uint64_t client,
			      struct gr_pass *p, struct svc_req *req,
			      enum gr_kind kind, const void *of,
			      const atomic_bool *ended);
/* gr_gate_expel() at the gates of all clients, and at that of all. */
void gr_clients_expel(struct gr_gates *g, const void *of);

#endif /* RPCRDMA_GANESHA_GATE_H */
