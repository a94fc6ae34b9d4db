/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * channel - back channels and their callbacks, for the files of this room
 *
 *   clnt.c      ntirpc's CLIENT and clnt_req
 *   callback.c  one callback from its submission to its end; the timer thread
 *   channel.c   the connection and the waiting callbacks of each session
 *
 * Each calls only those below it.
 *
 * These members make up the state of a channel:
 *
 *   fresh      its Call is not answered. Callbacks wait, because the client does not
 *              know the session yet. That Reply names the session, or none.
 *   named      it has a session. Callbacks wait for a connection, and SEQUENCE tells
 *              the client so. Without a session they fail.
 *   conn       the connection that carries it. NULL: the client must bind one.
 *   replies    Replies that bind conn and are being sent. Callbacks wait for them.
 *   pause      the client has answered NFS4ERR_DELAY. Callbacks wait.
 *   listed     it can be found. Not after DESTROY_SESSION, or when it is not needed:
 *              then nothing waits or is sent, and the last reference frees it.
 *
 * Context: Ganesha's workers submit callbacks and answer Calls; strands complete
 * callbacks and end connections; the timer thread ends callbacks in time, and sends
 * all that have waited, in their order. Only workers of ntirpc call cc_process_cb.
 *
 * Lock: one for all channels, a leaf. Under it, functions of the transport and of
 * ntirpc are called only to read or to count references. It is taken for callbacks,
 * and for Replies that create, bind or destroy a session. Other Replies take it, for
 * one look-up, only while a session has flags or a CLIENT is fresh.
 */
#ifndef RPCRDMA_NTIRPC_BACK_CHANNEL_H
#define RPCRDMA_NTIRPC_BACK_CHANNEL_H

#include "ntirpc/back/back.h"

#include <pthread.h>
#include <stdatomic.h>

#include <urcu/list.h>

#include "base/clock.h"
#include "ntirpc/stream/xdr_stream.h"

/* Callbacks that may wait: of a session, which has few slots, and of a host. Each
 * takes 20 KB of heap and its buffers. */
#define BC_WAITING_MAX 32
#define BC_HOST_WAITING_MAX 256
/* A host may have so many channels for each connection that it may have, and at
 * least so many: a client needs one for each session. */
#define BC_PER_CONN 4
#define BC_HOST_MIN 64
/* A callback is sent at most so often. [G6] */
#define BC_TRIES 3
/* Between two attempts after NFS4ERR_DELAY. */
#define BC_PAUSE_MS 200
/* A session is forgotten when it has had no CLIENT for so long; checked so often. */
#define BC_ALONE_MS 300000
#define BC_SWEEP_MS 60000
#define BC_BUCKETS 64

struct bc_channel {
	struct cds_list_head by_host; /* the oldest first */
	struct cds_list_head by_session; /* if named */
	struct cds_list_head by_conn; /* if conn */
	struct cds_list_head backlog; /* if callbacks wait */
	struct cds_list_head waiting; /* callbacks, by order */
	struct cds_list_head sent; /* callbacks that the transport has */
	struct bc_client *client; /* the latest; NULL: it is gone */
	struct rt_conn *conn; /* not counted: bc_conn_closed() clears it */
	/* One if listed, one while sending, one of each CLIENT, callback and bc_reply. */
	unsigned int refs;
	unsigned int nwaiting;
	unsigned int replies;
	/* The session's ca_maxrequestsize. 0: not known. */
	uint32_t call_max;
	struct in6_addr host; /* of the connection that it was made on */
	pthread_t maker; /* while fresh: the thread, and conn's number */
	uint64_t made_on;
	int64_t pause_until; /* ms */
	int64_t alone_since; /* ms; 0: it had a CLIENT when last looked at */
	uint8_t id[ULB_SESSION_ID]; /* if named */
	bool listed, fresh, named;
	bool sending; /* the timer thread is about to */
	bool fault; /* a callback was lost for good */
	bool flagged; /* counted in bc_server.nflagged */
};

struct bc_client {
	CLIENT clnt; /* first */
	struct bc_server *server;
	struct bc_channel *channel; /* NULL: bc_client_create() failed */
	SVCXPRT *xprt;
	rpcprog_t prog;
	rpcvers_t vers;
};

/*
 * A callback, in the user area of its rt_request. The Reply, the timer or bc_req_reset()
 * claims the clnt_req, whichever is first. In any case the transport owns the rt_request until
 * its done callback.
 */
struct bc_callback {
	struct bc_server *server;
	struct bc_client *client; /* a reference */
	struct bc_channel *channel; /* a reference, from submission to end */
	struct rt_request *rq;
	struct clnt_req *cc; /* NULL: claimed */
	AUTH *auth; /* a reference: the CLIENT's may go before */
	struct rt_conn *conn; /* while sent; a reference */
	struct cds_list_head link; /* of channel's waiting or sent */
	struct cds_list_head due; /* of bc_server.due, if timed */
	int64_t deadline; /* ms */
	int64_t timeout; /* ms from each sending; 0: none */
	int64_t give_up; /* ms: waiting for a connection ends; 0: not yet set */
	uint64_t order; /* of submission */
	unsigned int refs; /* the transport or the waiting list; a worker */
	unsigned int tries;
	bool timed, waiting;
	bool delayed; /* the client answered NFS4ERR_DELAY */
	bool late; /* the timer has claimed it */
	/* CB_NULL, for which a thread waits. It has no slot, so it is sent at once or not at
	 * all, and only once. */
	bool probe, answered;
	struct xs_encode out;
	struct svc_req hop; /* in ntirpc's queue: callback_finish() */
	struct clnt_req *claimed; /* for callback_finish() */
};

struct bc_server {
	struct rt_instance *inst;
	void (*resume)(struct svc_req *req);
	unsigned int host_max; /* channels of a host */
	atomic_uint ncallbacks;
	/* Atomic: channels that are fresh; that give flags. */
	unsigned int nfresh, nflagged;
	pthread_mutex_t lock; /* all that follows, and the channels */
	pthread_cond_t changed; /* for the timer thread */
	pthread_cond_t answered; /* a probe is */
	struct cds_list_head due; /* callbacks, by deadline */
	struct cds_list_head backlog; /* channels with waiting callbacks */
	struct cds_list_head by_host[BC_BUCKETS];
	struct cds_list_head by_session[BC_BUCKETS];
	struct cds_list_head by_conn[BC_BUCKETS];
	uint64_t order; /* of the latest callback */
	uint32_t xid; /* of the next */
	int64_t sweep_at; /* ms */
	pthread_t timer;
	bool running, closed, stop;
};

/* The coarse clock is behind, so pthread_cond_timedwait() would return early. */
static inline int64_t bc_now_ms(void)
{
	return (int64_t)(base_now_ns() / 1000000);
}

/* ---- channel.c: the caller holds the lock, unless said otherwise ---------- */

void bc_channels_init(struct bc_server *s);
/* End all channels that nobody uses. */
void bc_channels_close(struct bc_server *s);
/*
 * Give @client a fresh channel on @conn. Takes the lock. Returns 0, -ENOMEM, -EOPNOTSUPP if
 * @conn cannot carry Calls, or -EUSERS if its host has too many in use. Unused ones are
 * replaced, the oldest first.
 */
int bc_channel_add(struct bc_client *client, struct rt_conn *conn);
/* @client is about to be freed. Takes the lock. */
void bc_channel_remove(struct bc_client *client);
/* Drop a reference. */
void bc_channel_put(struct bc_server *s, struct bc_channel *ch);
/* Returns true if callbacks of @ch may wait. */
bool bc_channel_may_wait(const struct bc_server *s,
			 const struct bc_channel *ch);
/*
 * Returns true if callbacks of @ch can be sent now, unless others wait. Drops
 * a connection that no longer carries Calls: the client should know.
 */
bool bc_channel_ready(struct bc_server *s, struct bc_channel *ch);
/* Returns true if no further callback may wait. */
bool bc_channel_full(struct bc_server *s, const struct bc_channel *ch);
/* Put a callback into @ch's waiting list by its order, or take it out. */
void bc_channel_enqueue(struct bc_channel *ch, struct bc_callback *c);
void bc_channel_dequeue(struct bc_callback *c);
/* The connection has failed. */
void bc_channel_detach(struct bc_server *s, struct bc_channel *ch);
/* The channel is no longer fresh: its Call has been answered, or will not be. */
void bc_channel_settle(struct bc_server *s, struct bc_channel *ch);
/* A callback is lost for good. No effect if @ch is no session's. */
void bc_channel_fault(struct bc_server *s, struct bc_channel *ch);
/* Forget sessions without a CLIENT. Returns when to call it next, in ms. */
int64_t bc_channel_sweep(struct bc_server *s, int64_t now);

/* ---- callback.c ------------------------------------------------------------ */

/* Take the clnt_req from all others. Returns NULL if somebody has it. Caller
 * holds the lock. */
struct clnt_req *bc_callback_claim(struct bc_callback *c);
/* Send @c or let it wait. Returns RPC_CANTSEND, and has freed @c, if it can
 * neither. */
enum clnt_stat bc_callback_submit(struct bc_callback *c);
/* Send @c, wait for its Reply and free it. Returns what is in cc_error. */
enum clnt_stat bc_callback_call(struct bc_callback *c);
/* The done operation of its rt_request. Context: strand. */
void bc_callback_done(struct rt_request *rq);
/* Start the timer thread unless it runs. Returns 0 or an errno. */
int bc_timer_start(struct bc_server *s);

#endif /* RPCRDMA_NTIRPC_BACK_CHANNEL_H */
