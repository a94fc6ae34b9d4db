/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * back - what the files of this folder share
 *
 *   clnt.c      CLIENT and clnt_req, as ntirpc knows them
 *   timer.c     the end of each Call, and the thread that times them out
 *   follow.c    Calls that wait for a connection
 *   channel.c   back channels and sessions
 *   state.c     the life of a back channel
 *   host.c      how many of them one host may have
 *   timed.c     Calls by their deadlines; result.c: what becomes of one
 *
 * Each calls only those below it.
 *
 * A Call is a struct rcall in the user area of its rt_request. Two may claim
 * its clnt_req (rcall.cc), under the lock of its struct nrt_clnts, and only the
 * first gets it: the transport's done callback and the timer; nrt_req_reset()
 * takes it away from both. The rt_request itself stays the transport's until
 * done, whatever has become of the clnt_req, so the rcall is counted: one for
 * the transport, one while a worker has it, one while somebody waits for it.
 *
 * A clnt_req with cc_process_cb is finished by a worker, through svc_resume()
 * with a svc_req of ours whose resume callback returns XPRT_SUSPEND, which
 * tells ntirpc not to touch it any more. One that somebody waits for
 * (CLNT_CALL_WAIT) is finished by the waiter itself. cc_we.mtx, which
 * clnt_req_fill() leaves locked, is not used: the waiter may itself be running
 * the connection's strand when done is called.
 *
 * A parked Call is one that waits for a connection; what was the transport's
 * reference is the parking's then. It is sent again by the timer thread alone,
 * so that all of a CLIENT go in the order in which they were made; a new one
 * is parked behind them.
 *
 * A back channel refers to its connection until that has ended, and no longer:
 * who has sessions may be gone long before them.
 *
 * Lock order: nothing is locked inside the lock of struct nrt_clnts, and
 * nothing of the transport's or of ntirpc's is called under it but what only
 * counts or looks.
 */
#ifndef RPCRDMA_NTIRPC_BACK_BACK_H
#define RPCRDMA_NTIRPC_BACK_BACK_H

#include "ntirpc/back/clnt.h"
#include "ntirpc/stream/stream.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include <urcu/list.h>

#include "base/clock.h"
/* A session has at most so many Calls parked; some four have a slot. And so many
 * has a host, whose sessions may be many: each takes some 20 KB of heap and its
 * buffers. */
#define NRT_PARKED_MAX 32
#define NRT_HOST_PARKED 256
/* A host may have so many back channels for each connection that it may have,
 * and these at least: a client needs one for each session. */
#define NRT_HOST_EACH 4
#define NRT_HOST_LEAST 64
/* A Call is sent so often. */
#define NRT_TRIES 3
/* How often it is seen whether a parked Call still has a CLIENT, for nobody
 * tells; and how long it waits for another one, or for DESTROY_SESSION. */
#define NRT_CHECK_MS 10000
#define NRT_ALONE_MS 300000
/* Between two attempts when the client has no time for a callback. */
#define NRT_PAUSE_MS 200
/* How often it is seen which have been alone for too long. */
#define NRT_SWEEP_MS 60000
/* Buckets of sessions, of connections and of hosts. */
#define NRT_BUCKETS 64

/* What the back channels of one host have together; channel.c made them for its
 * connections, wherever they have gone since. */
struct nrt_host {
	struct cds_list_head link;
	struct in6_addr addr;
	struct cds_list_head backs; /* the oldest first */
	unsigned int nbacks;
	unsigned int nparked;
};

/*
 * FRESH      made while a Call is executed whose Reply will say for which
 *            session; until then nothing is sent, and Calls wait
 * LONE       of no session, or of none yet; Calls are sent, and wait for nothing
 * LONE_DOWN  likewise, and its connection has ended
 * UP         a session's; its Calls wait if they must
 * DOWN       a session's, that the client must bind to another connection
 * ENDED      of a session that is no more
 * GONE       to be freed
 */
enum nrt_back_state {
	NRT_SAME, /* in the table: no change */
	NRT_FRESH,
	NRT_LONE,
	NRT_LONE_DOWN,
	NRT_UP,
	NRT_DOWN,
	NRT_ENDED,
	NRT_GONE,
	NRT_BACK_STATES,
};

enum nrt_back_event {
	NRT_ANSWERED, /* the Call that it was made for */
	NRT_NAMED, /* its session is known */
	NRT_BOUND, /* to a connection that carries it */
	NRT_LOST, /* its connection has ended, or will not do */
	NRT_IDLE, /* nothing refers to it */
	NRT_DONE, /* the session is ended */
	NRT_GIVEN_UP, /* it is of no use any more */
	NRT_BACK_EVENTS,
};

/*
 * A back channel: of a session, or of a CLIENT whose session is not yet known,
 * or will never be. All under the lock. Freed when nothing refers to it; but
 * one of a session stays for NRT_ALONE_MS, or until the session is ended.
 */
struct nrt_back {
	struct cds_list_head link; /* of its bucket, or unnamed */
	struct cds_list_head busy; /* if there are parked ones */
	struct cds_list_head on; /* of its connection's bucket, if it has one */
	struct cds_list_head rest; /* if nothing refers to it */
	struct cds_list_head sibling; /* of the same host */
	struct nrt_host *host;
	struct cds_list_head clients;
	struct cds_list_head parked; /* in order */
	struct cds_list_head flying; /* those the transport has */
	unsigned int nparked;
	unsigned int held; /* by the timer thread, about to send */
	unsigned int announced; /* by Replies that are being sent */
	struct rt_conn *conn; /* a reference; NULL: it has ended */
	/* The session's ca_maxrequestsize; 0 if it is not known, UINT32_MAX if the
	 * channel was not made for a session. */
	uint32_t call_max;
	pthread_t maker; /* of the CLIENT, while it is nameable */
	uint64_t made_on; /* which connection's Call it then executes */
	int64_t pause; /* ms: nothing is sent before */
	int64_t alone; /* ms: since when it has no CLIENT; 0: it has */
	enum nrt_back_state state;
	uint8_t id[ULB_SESSION_ID]; /* if it is named */
	unsigned int bucket; /* of the id */
	bool nameable; /* it may yet be, by the maker */
	bool fault; /* a Call was lost for good */
};

struct rclient {
	CLIENT clnt; /* first */
	struct nrt_clnts *n;
	SVCXPRT *xprt;
	rpcprog_t prog;
	rpcvers_t vers;
	uint32_t last_xid;
	struct nrt_back *back; /* under the lock; NULL: it failed, gave way */
	struct cds_list_head link; /* of its clients */
};

struct rcall {
	struct rclient *client; /* a reference */
	struct rt_request *rq;
	struct clnt_req *cc; /* claimed by setting it to NULL */
	struct clnt_req *mine; /* the claimed one, for the worker */
	struct cds_list_head due; /* Calls with a deadline */
	int64_t deadline; /* ms, INT64_MAX: none */
	int64_t timeout; /* ms from sending to deadline, 0: none */
	int64_t patience; /* ms: when waiting for a connection ends */
	uint64_t order; /* in which they were made */
	struct cds_list_head at; /* parked or flying */
	struct rt_conn *on; /* while it flies; a reference */
	unsigned int refs;
	unsigned int tries; /* how often it was sent */
	bool timed; /* among those with a deadline */
	bool parked;
	bool delayed; /* the client had no time for it */
	bool waited; /* nobody's cc_process_cb, but a waiter */
	bool late; /* the timer was first */
	bool finished;
	struct nrt_encode out;
	struct svc_req hop;
	AUTH *auth; /* a reference: the channel may end before its Calls */
};

struct nrt_clnts {
	struct rt_instance *inst;
	void (*resume)(struct svc_req *req);
	uint32_t xid; /* atomic */
	unsigned int host_most; /* back channels of a host */
	atomic_uint nrcalls; /* requests that are not freed */
	pthread_mutex_t lock; /* what follows, and the claims */
	pthread_cond_t finished; /* of a waited Call */
	pthread_cond_t timer; /* earlier deadline, Calls to send, or stop */
	struct cds_list_head calls, parkings; /* by deadline */
	uint64_t order; /* of the latest Call */
	struct cds_list_head busy; /* back channels with parked Calls */
	struct cds_list_head unnamed; /* back channels */
	struct cds_list_head bucket[NRT_BUCKETS];
	struct cds_list_head on[NRT_BUCKETS]; /* by connection */
	struct cds_list_head hosts[NRT_BUCKETS];
	struct cds_list_head rest; /* those at rest for longest first */
	int64_t sweep; /* ms: when they are looked at next */
	struct cds_list_head gone; /* to be freed outside of the lock */
	/* Sessions of a bucket down or at fault; fresh back channels. Atomic. */
	unsigned int troubled[NRT_BUCKETS];
	unsigned int ntroubled;
	unsigned int nfresh;
	pthread_t thread;
	bool running;
	bool resend; /* some parked Call may have a connection again */
	bool closed;
	bool stop;
};

/* Not the cheap clock, which is behind: waits end by that of now. */
static inline int64_t now_ms(void)
{
	return (int64_t)(base_now_ns() / 1000000);
}

static inline struct timespec to_timespec(int64_t ms)
{
	return (struct timespec){
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000,
	};
}

/* ---- timed.c (under the lock, but for the last) -------------------------- */

/* Among the Calls with a deadline, or the parked ones; from there. */
void nrt_rcall_enlist(struct nrt_clnts *n, struct rcall *c, int64_t deadline);
void nrt_rcall_delist(struct rcall *c);
/* Take the clnt_req away from all others; NULL: somebody else has it. */
struct clnt_req *nrt_rcall_claim(struct rcall *c);
void nrt_rcall_put(struct rcall *c);

/* ---- result.c ----------------------------------------------------------- */

/* Set cc_error, and the results if there are any, from the end of @c. */
void nrt_rcall_finish(struct clnt_req *cc, const struct rcall *c);

/* ---- timer.c ------------------------------------------------------------ */

/* The done callback of its request (strand). */
void nrt_rcall_done(struct rt_request *rq);
/* Start the timer thread unless it runs; 0 or an errno. */
int nrt_clnts_start(struct nrt_clnts *n);

/* ---- channel.c (under the lock, unless said otherwise) --------------------- */

void nrt_back_init(struct nrt_clnts *n);
/* When there are no Calls and no CLIENTs any more. Without the lock. */
void nrt_back_fini(struct nrt_clnts *n);
/* Unlock, and free what is no longer wanted. */
void nrt_back_unlock(struct nrt_clnts *n);
/* Forget sessions that have been alone for too long, if it is time to look;
 * when that is next, in ms, or INT64_MAX. */
int64_t nrt_back_sweep(struct nrt_clnts *n);

/*
 * A back channel for a new CLIENT of @c. @fresh: made while a Call is executed
 * whose Reply will say for which session; until then nothing is sent. Takes the
 * lock. 0; -ENOMEM; -EOPNOTSUPP: the connection has just ended; -EUSERS: its host
 * has too many that are in use.
 */
int nrt_back_add(struct rclient *client, struct rt_conn *c, bool fresh);
/* The CLIENT is freed. */
void nrt_back_remove(struct rclient *client);
/* A reference to its connection; NULL if it has none. Takes the lock. */
struct rt_conn *nrt_back_conn(struct rclient *client);

/* Has it a CLIENT that its maker has not let go of? He does so when there is
 * another, or the session is no more, and tells nobody. */
bool nrt_back_has_client(const struct nrt_back *b);
/* Have the timer thread send what can be. */
void nrt_back_wake(struct nrt_clnts *n);
/* Among the parked ones, in order. */
void nrt_back_park(struct nrt_back *b, struct rcall *c);
/* Something has let go of it. */
void nrt_back_put(struct nrt_clnts *n, struct nrt_back *b);

/* ---- state.c (likewise) ------------------------------------------------- */

static inline bool nrt_back_named(const struct nrt_back *b)
{
	return b->state >= NRT_UP && b->state <= NRT_ENDED;
}

static inline bool nrt_back_ended(const struct nrt_back *b)
{
	return b->state == NRT_ENDED;
}

/* Of a session that goes on? */
static inline bool nrt_back_lives(const struct nrt_back *b)
{
	return b->state == NRT_UP || b->state == NRT_DOWN;
}

void nrt_back_begin(struct nrt_clnts *n, struct nrt_back *b, bool fresh);
void nrt_back_event(struct nrt_clnts *n, struct nrt_back *b,
		    enum nrt_back_event event);
/* A Call of it is lost for good, and the client is to hear so. */
void nrt_back_fault(struct nrt_clnts *n, struct nrt_back *b);

/* ---- host.c (likewise) -------------------------------------------------- */

/* Have @b end if nothing needs it: false, it is in use. Then it is no longer
 * there, and perhaps its host neither. */
typedef bool (*nrt_give_way_fn)(struct nrt_clnts *n, struct nrt_back *b);
/* A new one of that host, for which others may have to @give_way: 0, -EUSERS,
 * -ENOMEM. */
int nrt_host_join(struct nrt_clnts *n, struct nrt_back *b,
		  const struct in6_addr *addr, nrt_give_way_fn give_way);
void nrt_host_leave(struct nrt_back *b);

/* ---- follow.c (likewise) ------------------------------------------------ */

/* May a new Call of it wait, if it must? Takes the lock. */
bool nrt_follow_may_wait(struct rclient *client);

enum nrt_begin { NRT_PARKED, NRT_SEND, NRT_FAIL };
/* A new Call. NRT_SEND: by c->on; it counts as flying. NRT_FAIL: it has no
 * connection, and cannot wait for one. */
enum nrt_begin nrt_follow_begin(struct rcall *c);
/*
 * The transport is done with it, with a Reply in which CB_SEQUENCE has @sequence
 * if @status is 0. False: it has ended, else it is parked.
 */
bool nrt_follow_done(struct rcall *c, int status, uint32_t sequence);
/* A parked Call's deadline has passed, and its clnt_req was @claimed: put it
 * off, or take it out of the parking (true: to be given back). */
bool nrt_follow_expire(struct rcall *c, bool claimed);
/* The Call in flight or parked of that clnt_req. */
struct rcall *nrt_follow_find(struct rclient *client,
			      const struct clnt_req *cc);
/* When the next pause of one that has parked Calls is over, in ms, or INT64_MAX;
 * asks for a resend where one is. */
int64_t nrt_follow_wake(struct nrt_clnts *n);
/* Send what can be. Lets go of the lock in between. */
void nrt_follow_resend(struct nrt_clnts *n);

#endif /* RPCRDMA_NTIRPC_BACK_BACK_H */
