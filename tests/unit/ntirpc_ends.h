/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Both ends of a connection of the software iWARP provider, the server's with
 * CLIENTs for reverse-direction Calls and ntirpc's own workers.
 *
 * The peer (the connection's client) does to each Call what its procedure
 * number asks for.
 */
#ifndef RPCRDMA_NTIRPC_ENDS_H
#define RPCRDMA_NTIRPC_ENDS_H

#include <pthread.h>
#include <stdatomic.h>

#include "compat/ntirpc.h"
#include "ntirpc/back/back.h"

#define PROG 0x40000000
#define VERS 1
/* Calls at a time, at most. */
#define MANY 300
/* Of those that are not answered yet. */
#define MOST_HELD 64

enum proc {
	DO_NULL,
	DO_ADD, /* the argument plus one */
	DO_HOLD, /* no answer until told */
	DO_UNAVAIL,
	DO_DENY, /* AUTH_ERROR */
	DO_GARBAGE, /* results that cannot be decoded */
	DO_SILENT, /* never an answer */
	DO_CALL, /* a Call in place of a Reply; without msg_type if the argument is 0 */
	DO_REFUSE, /* an ERROR of the transport's */
	DO_DELAY, /* CB_SEQUENCE: NFS4ERR_DELAY twice, then as DO_ADD */
	DO_MISORDER, /* CB_SEQUENCE: NFS4ERR_SEQ_MISORDERED */
};

static const struct timespec long_time = { .tv_sec = 200 };
static const struct timespec short_time = { .tv_nsec = 30 * 1000000 };

struct call {
	struct clnt_req req; /* first */
	uint32_t arg, result;
	enum clnt_stat stat;
	pthread_t thread;
	unsigned int processed;
	bool keep; /* do not release in the callback */
};

/* A Call as it came to the peer. */
struct seen {
	uint32_t xid, proc, arg;
};

extern struct ends {
	struct rt_instance *server, *client;
	struct rt_listener *listener;
	struct rt_conn *server_conn, *client_conn;
	atomic_int server_up, client_up, closed;
	pthread_t pollers[2];
	atomic_bool stop;
	struct bc_server *back;
	unsigned int reverse_ms; /* of the server, set before ends_open() */

	pthread_mutex_t held_lock;
	struct rt_call *held[MOST_HELD];
	unsigned int nheld;
	struct seen seen[1024]; /* of the latest, the first are kept */
	unsigned int nseen;
	unsigned int delayed; /* by DO_DELAY; one strand */
	atomic_int credentials; /* of the last Call: its flavor */

	atomic_bool hold_forward, first_answered;
	struct rt_call *forward[8]; /* Calls in the forward direction */
	atomic_uint nforward;

	AUTH *auth; /* of the Calls */
	atomic_int processed, freed;
	int expected;
} ends;

void ends_open(void);
void ends_connect(void);
bool ends_both_closed(void);
void ends_end(void);
void ends_wait_for(bool (*cond)(void));

/* By the peer. */
void ends_answer(struct rt_call *call, const uint32_t *words, size_t n);
void ends_answer_held(void);
/* The one held for longest: NFS4ERR_DELAY of its CB_SEQUENCE. */
void ends_delay_held(void);
struct rt_request *ends_forward_call(uint32_t xid, uint32_t *words,
				     struct rt_piece *piece);

/* By the server. */
/* As Ganesha makes it while it executes a Call. */
CLIENT *ends_fresh_clnt(void);
/* ... which then names no session. */
CLIENT *ends_new_clnt(void);
void ends_fill(struct call *c, CLIENT *clnt, enum proc proc, uint32_t arg);
enum clnt_stat ends_send(struct call *c, CLIENT *clnt, enum proc proc,
			 uint32_t arg, struct timespec timeout);
/* Send, and wait for the end. */
enum clnt_stat ends_call(struct call *c, CLIENT *clnt, enum proc proc,
			 uint32_t arg, struct timespec timeout);
/* The cc_process_cb and cc_free_cb of those: counted. */
void ends_process(struct clnt_req *cc);
void ends_free_call(struct clnt_req *cc, size_t size COMPAT_FREE_PARAMETERS);
void ends_expect(int n);
bool ends_all_processed(void);

#endif /* RPCRDMA_NTIRPC_ENDS_H */
