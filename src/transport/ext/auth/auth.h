/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - what a connection and an instance hold of host authentication
 *
 * struct rt_auth is the strand's; a job is the pool's until it is delivered.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_AUTH_H
#define RPCRDMA_TRANSPORT_EXT_AUTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <urcu/list.h>

#include "transport/message/message.h"

/* Octets of a token before its own: kind and length. */
#define RT_AUTH_HEAD 8
/* Threads for steps of host authentication. */
#define RT_AUTH_THREADS 2

/* Where the exchange of host authentication stands. */
enum rt_auth_phase {
	RT_AUTH_OFF, /* no part in it is taken, or no more */
	RT_AUTH_PASSED, /* the peer is known */
	RT_AUTH_LISTENING, /* a token has to come */
	RT_AUTH_WORKING, /* a step is being made */
	RT_AUTH_SENDING, /* its token goes out */
	RT_AUTH_REFUSING, /* our refusal goes out, then the end */
};

/* A step that a thread of the pool makes. */
struct rt_auth_job {
	struct rt_mail mail;
	void (*done)(struct rt_conn *c, struct rt_mail *m);
	struct rt_conn *conn;
	struct cds_list_head link; /* of the pool's queue, its lock */
	bool queued; /* likewise */
	void *exchange;
	uint8_t *memory; /* of the token */
	size_t room; /* counted for the connection */
	uint32_t announced[10];
	struct rt_auth_step step;
	enum rt_auth_status status;
};

struct rt_auth {
	const struct rt_ext *ext;
	enum rt_auth_phase phase;
	bool begun; /* there is or was an exchange */
	bool answer; /* server: its first message is due, with no token */
	void *exchange;
	struct rt_auth_job *job;
	uint64_t deadline;
	unsigned int tokens; /* from the peer */
	/* The token that comes, as far as it is here; what is held for it. */
	uint8_t *in;
	size_t in_len, in_room;
	uint64_t gathered_at; /* ms; until then its parts were waited for */
	/* The one that goes, and how much of it has gone. */
	uint8_t *out;
	size_t out_len, out_at;
};

/* The instance's part, see pool.c. */
struct rt_auth_pool {
	const struct rt_auth_ops *ops;
	void *ctx;
	pthread_t thread[RT_AUTH_THREADS];
	unsigned int nthreads;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	struct cds_list_head queue;
};

extern const struct rt_part rt_part_auth;
extern const struct rt_ext rt_ext_auth;

static inline struct rt_auth *auth(const struct rt_conn *c)
{
	return c->ext[RT_SLOT_AUTH];
}

static inline struct rt_auth_pool *pool(const struct rt_instance *inst)
{
	return inst->ext[RT_SLOT_AUTH];
}

static inline enum rt_auth_policy rt_auth_policy(const struct rt_conn *c)
{
	return c->inst->cfg.auth;
}

static inline bool rt_auth_settled(const struct rt_conn *c)
{
	return auth(c)->phase <= RT_AUTH_PASSED;
}

/* exchange.c */
/* What others go by, whenever it may have changed. */
void rt_auth_announce(struct rt_conn *c);
void rt_auth_go_to(struct rt_conn *c, enum rt_auth_phase phase);
/* Server: is its first message due? */
void rt_auth_answer(struct rt_conn *c, bool due);
/* The token that goes is no more. */
void rt_auth_drop_out(struct rt_conn *c);
/* No part in it is taken any more. */
void rt_auth_reset(struct rt_conn *c);
/* End the connection, but tell the peer why, if that can be told. */
void rt_auth_refuse(struct rt_conn *c, int error, const void *token, size_t len,
		    const char *why);
void rt_auth_refuse_simply(struct rt_conn *c, const char *why);
/* The peer goes on without having shown who it is. */
void rt_auth_absent(struct rt_conn *c);
/* Begin the exchange; false: no memory. */
bool rt_auth_start(struct rt_conn *c);
/* Client: the same with its first step, unless the policy is to take no part. */
void rt_auth_begin(struct rt_conn *c);
/* A client that has not even a token to begin with. */
void rt_auth_cannot_begin(struct rt_conn *c, const char *why);
/* Have a step made; @token: memory that goes along. False: no memory. */
bool rt_auth_run(struct rt_conn *c, uint32_t kind, uint8_t *memory,
		 const uint8_t *token, size_t len);
/* Others take its place. */
void rt_auth_give_way(struct rt_conn *c);
/* Steps that have been made come by here. */
void rt_auth_result(struct rt_conn *c, struct rt_mail *m);

/* pool.c */
int rt_auth_pool_prepare(struct rt_instance *inst, const struct rt_params *p);
void rt_auth_pool_destroy(struct rt_instance *inst);
int rt_auth_pool_start(struct rt_instance *inst);
void rt_auth_pool_stop(struct rt_instance *inst);
/* Any thread; the connection is held until the result is in its inbox. */
void rt_auth_pool_submit(struct rt_auth_job *job);
/* True: it will not be run, and is the caller's again. Not in the last
 * reference to its connection. */
bool rt_auth_pool_cancel(struct rt_auth_job *job);

#endif /* RPCRDMA_TRANSPORT_EXT_AUTH_H */
