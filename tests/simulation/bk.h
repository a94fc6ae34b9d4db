/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bk - a world with the back channels of a server over ntirpc in it
 *
 * A server is an instance of the transport with src/ntirpc/back on it, used as
 * Ganesha uses it: by some workers, contexts of the platform's (platform.c), which
 * execute Calls, make CLIENTs while they do, send callbacks and wait for them, and
 * run what svc_resume() is given. Clients are two further instances: they make
 * sessions, bind further connections to them, end them, and answer callbacks, or
 * do not.
 *
 * Each callback must be processed once, with its own result if it succeeds, and be
 * seen by the client once on each connection, unless that has put it off. Nobody may
 * be left waiting, and nothing may be left over. What back channels there are, and in
 * which states, must agree with what is counted.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_SIMULATE_BK_H
#define RPCRDMA_SIMULATE_BK_H

#include "simulate.h"

#include "compat/ntirpc.h"
#include "ntirpc/back/channel.h"

#define BKS_CLIENTS 2
#define BKS_CONNS 24
#define BKS_SESSIONS 16
#define BKS_CALLS 512
#define BKS_JOBS 1024
#define BKS_HELD 256
#define BKS_WORKERS 4

/* What the client does with a callback. */
enum bks_how {
	BKS_ANSWER,
	BKS_HOLD,
	BKS_DELAY, /* NFS4ERR_DELAY of CB_SEQUENCE some times, and then an answer */
	BKS_MISORDER,
	BKS_DENY,
	BKS_GARBAGE,
	BKS_REFUSE,
	BKS_DROP,
	BKS_HOWS
};

struct bks_call {
	struct clnt_req req; /* first */
	uint32_t id; /* its place is that modulo BKS_CALLS; 0: none */
	uint32_t arg, result;
	uint32_t said; /* what the client has answered last */
	struct bks_session *of;
	uint32_t session; /* its number: another one may be in its place by now */
	enum bks_how how;
	unsigned int delays;
	bool waits; /* a worker waits for it */
	bool answered, processed;
	bool over; /* its request has been freed */
	unsigned int delivered, on_this;
	uint64_t conn;
	uint64_t sent; /* ms */
	uint64_t timeout; /* ms */
};

struct bks_session {
	bool used, ended;
	bool known; /* to its client, */
	bool lost; /* or will never be */
	bool alone; /* it is none, but a CLIENT without */
	uint32_t latest; /* callback that has come */
	bool raced; /* Calls of it were executed at once */
	unsigned int busy; /* workers that execute a Call of it */
	uint8_t id[ULB_SESSION_ID];
	CLIENT *clnt; /* the server's, or NULL */
	struct bks_conn *on; /* that it was bound to last; NULL: none */
};

/* Both ends of a connection. */
struct bks_conn {
	bool used;
	unsigned int client;
	struct rt_conn *c, *s; /* NULL: that end has closed */
	bool up;
	unsigned int calls; /* the client's, that are out */
	unsigned int held; /* the server's, that are being executed */
};

enum bks_op { BKS_CREATE, BKS_BIND, BKS_DESTROY, BKS_LONE, BKS_NOTHING };

struct bks_job {
	void (*run)(struct bks_job *j);
	struct rt_call *call;
	struct bks_conn *conn;
	struct svc_req *req;
	struct bks_session *session;
	uint64_t salt;
};

struct bks_held {
	struct rt_call *call;
	struct bks_conn *conn;
	uint32_t id;
};

struct bks_world {
	struct sim_world *w;
	struct rt_instance *server, *client[BKS_CLIENTS];
	struct rt_listener *listener;
	struct bc_server *back;
	SVCXPRT xprt;
	AUTH *auth;
	pthread_t worker[BKS_WORKERS];
	unsigned int nworkers;
	bool stop, closed;
	bool preempts; /* threads lose the processor */
	struct bks_job job[BKS_JOBS];
	unsigned int first, njobs;
	struct bks_conn conn[BKS_CONNS];
	struct bks_session session[BKS_SESSIONS];
	uint32_t sessions; /* so far */
	struct bks_call call[BKS_CALLS];
	uint32_t next_id;
	struct bks_held held[BKS_HELD];
	unsigned int nheld;
	uint32_t xid;
};

extern struct bks_world bks;
extern uint64_t bks_progress;

/* bk_world.c */
void bks_open(struct sim_world *w, const struct sim_options *opt);
void bks_close(struct sim_world *w);
void bks_run_quiet(void);
struct bks_conn *bks_connect(unsigned int client);

/* bk_server.c: as Ganesha has it. */
extern const struct rt_ops bks_server_ops;
void bks_resume(struct svc_req *req);
void *bks_work(void *arg);
/* A callback of it, by a worker. */
void bks_send(struct bks_session *s, struct draw *d);
struct bks_call *bks_find(uint32_t id);
/* The server lets go of its CLIENT. */
void bks_forget(struct bks_session *s);

/* bk_client.c */
extern const struct rt_ops bks_client_ops;
void bks_call_server(struct bks_conn *c, enum bks_op op, struct bks_session *s);
struct bks_session *bks_new_session(void);
void bks_answer(unsigned int i);

/* bk_steps.c */
void bks_step(unsigned int i);
unsigned int bks_kinds(void);

/* bk_check.c */
void bks_check(bool quiet);
const char *bks_count_name(unsigned int i, bool *never);

#endif /* RPCRDMA_SIMULATE_BK_H */
