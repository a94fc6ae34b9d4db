/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication (5.2.6 [F5])
 *
 * Reading order: auth.c (tokens in CONNPROP messages), exchange.c (the exchange of
 * tokens, and how it ends), auth_threads.c (the threads that run its steps).
 *
 * Context: the caller is the runner, unless a comment says otherwise. A job belongs to
 * the threads from its submission until it is in the connection's inbox.
 */
#ifndef RPCRDMA_TRANSPORT_EXT_AUTH_H
#define RPCRDMA_TRANSPORT_EXT_AUTH_H

#include <pthread.h>
#include <stdatomic.h>
#include <urcu/list.h>

#include "transport/message/message.h"

/* Octets before a token: its kind and length. */
#define RT_AUTH_HEAD 8
/* Threads for steps of host authentication. */
#define RT_AUTH_THREADS 2

enum rt_auth_phase {
	RT_AUTH_OFF, /* there is no exchange, or it ended without an outcome */
	RT_AUTH_PASSED, /* the peer is authenticated */
	RT_AUTH_LISTENING, /* waiting for a token */
	RT_AUTH_WORKING, /* a thread runs a step */
	RT_AUTH_SENDING, /* sending our token */
	RT_AUTH_REFUSING, /* sending our refusal, then the connection ends */
};

/* A step of an exchange, which a thread runs. */
struct rt_auth_job {
	struct rt_mail mail;
	void (*done)(struct rt_conn *c, struct rt_mail *m);
	struct rt_conn *conn;
	struct cds_list_head link; /* rt_auth_pool.queue, under its lock */
	bool queued; /* under its lock */
	void *exchange;
	uint8_t *memory; /* has the peer's token */
	size_t room; /* octets charged to the connection */
	uint32_t announced[10];
	struct rt_auth_step step;
	enum rt_auth_status status;
};

struct rt_auth {
	const struct rt_ext *ext;
	enum rt_auth_phase phase;
	bool begun; /* there is or was an exchange */
	bool answer_due; /* server: its first message is due, without a token */
	void *exchange;
	struct rt_auth_job *job;
	uint64_t deadline;
	unsigned int tokens; /* received */
	/* The token that is being received: its octets so far, and those allocated. */
	uint8_t *in;
	size_t in_len, in_room;
	uint64_t gather_until; /* ms; until then its parts gather unread */
	/* The token that is being sent, and how much of it has been sent. */
	uint8_t *out;
	size_t out_len, out_at;
};

/* See auth_threads.c. */
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
/* Set the members of the connection that depend on the state of the exchange. */
void rt_auth_update_conn(struct rt_conn *c);
void rt_auth_set_phase(struct rt_conn *c, enum rt_auth_phase phase);
/* Server: set whether its first message is due, without a token. */
void rt_auth_set_answer_due(struct rt_conn *c, bool due);
/* Free the token that is being sent. */
void rt_auth_free_out(struct rt_conn *c);
/* End the exchange without an outcome. */
void rt_auth_reset(struct rt_conn *c);
/* End the connection, after sending the peer a refusal, with @token, if that is
 * possible. */
void rt_auth_refuse(struct rt_conn *c, int error, const void *token, size_t len,
		    const char *why);
/* The same with -EACCES and without a token. */
void rt_auth_deny(struct rt_conn *c, const char *why);
/* The peer takes no part in host authentication: go on, or refuse it, by the policy. */
void rt_auth_peer_absent(struct rt_conn *c);
/* Begin the exchange. Returns false if there is no memory. */
bool rt_auth_start(struct rt_conn *c);
/* Client: have the first step run, unless the policy is RT_AUTH_NONE. */
void rt_auth_begin(struct rt_conn *c);
/* Client: the first step has given no token. Go on without, or end the connection. */
void rt_auth_cannot_begin(struct rt_conn *c, const char *why);
/* Have a thread run a step with the peer's @token, which lies in @memory. The job then
 * owns @memory. Returns false if there is no memory. */
bool rt_auth_run(struct rt_conn *c, uint32_t kind, uint8_t *memory,
		 const uint8_t *token, size_t len);
/* The connection ends; if it was evicted (account.c), note that as the reason. */
void rt_auth_evicted(struct rt_conn *c);
/* Take the result of a step. */
void rt_auth_result(struct rt_conn *c, struct rt_mail *m);

/* auth_threads.c */
int rt_auth_pool_prepare(struct rt_instance *inst, const struct rt_params *p);
void rt_auth_pool_destroy(struct rt_instance *inst);
int rt_auth_pool_start(struct rt_instance *inst);
void rt_auth_pool_stop(struct rt_instance *inst);
/* Queue a job, which holds a reference to its connection. Any thread. */
void rt_auth_pool_submit(struct rt_auth_job *job);
/* Returns true if the job will not be run, and belongs to the caller again. Any thread
 * that holds another reference to the connection. */
bool rt_auth_pool_cancel(struct rt_auth_job *job);

#endif /* RPCRDMA_TRANSPORT_EXT_AUTH_H */
