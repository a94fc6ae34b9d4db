/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - host authentication (5.2.6 [F5])
 *
 * Reading order: auth.c (tokens in CONNPROP messages), exchange.c (the exchange of
 * tokens, and how it ends), auth_threads.c (threads that make its steps).
 *
 * Context: the caller holds the connection's strand, unless a comment says otherwise. A
 * job belongs to the threads from submit until it is in the connection's inbox.
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
	RT_AUTH_OFF, /* not used, or no more */
	RT_AUTH_PASSED, /* the peer is known */
	RT_AUTH_LISTENING, /* for a token */
	RT_AUTH_WORKING, /* a thread makes a step */
	RT_AUTH_SENDING, /* its token */
	RT_AUTH_REFUSING, /* our refusal is sent, then the connection ends */
};

/* A step of an exchange, which a thread makes. */
struct rt_auth_job {
	struct rt_mail mail;
	void (*done)(struct rt_conn *c, struct rt_mail *m);
	struct rt_conn *conn;
	struct cds_list_head link; /* rt_auth_pool.queue, under its lock */
	bool queued; /* under its lock */
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
	bool answer; /* server: its first message is due, without a token */
	void *exchange;
	struct rt_auth_job *job;
	uint64_t deadline;
	unsigned int tokens; /* from the peer */
	/* The token that comes: its octets so far, and the memory for it. */
	uint8_t *in;
	size_t in_len, in_room;
	uint64_t gathered_at; /* ms; until then its parts were waited for */
	/* The token that goes, and how much of it has gone. */
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
/* Tell flow control and messages what has changed. */
void rt_auth_announce(struct rt_conn *c);
void rt_auth_go_to(struct rt_conn *c, enum rt_auth_phase phase);
/* Server: its first message is due, or not. */
void rt_auth_answer(struct rt_conn *c, bool due);
/* Free the token that goes. */
void rt_auth_drop_out(struct rt_conn *c);
/* End the exchange without an outcome. */
void rt_auth_reset(struct rt_conn *c);
/* End the connection, after sending the peer a refusal if that is possible. */
void rt_auth_refuse(struct rt_conn *c, int error, const void *token, size_t len,
		    const char *why);
void rt_auth_refuse_simply(struct rt_conn *c, const char *why);
/* The peer goes on without host authentication: as the policy allows. */
void rt_auth_absent(struct rt_conn *c);
/* Begin the exchange. Returns false if there is no memory. */
bool rt_auth_start(struct rt_conn *c);
/* Client: begin with the first step, unless the policy is RT_AUTH_NONE. */
void rt_auth_begin(struct rt_conn *c);
/* Client: there is no first token. */
void rt_auth_cannot_begin(struct rt_conn *c, const char *why);
/* Have a thread make a step with a token of the peer, in @memory, which it takes over.
 * Returns false if there is no memory. */
bool rt_auth_run(struct rt_conn *c, uint32_t kind, uint8_t *memory,
		 const uint8_t *token, size_t len);
/* The connection ends because newer unproved ones take its place. */
void rt_auth_give_way(struct rt_conn *c);
/* A step has been made. */
void rt_auth_result(struct rt_conn *c, struct rt_mail *m);

/* auth_threads.c */
int rt_auth_pool_prepare(struct rt_instance *inst, const struct rt_params *p);
void rt_auth_pool_destroy(struct rt_instance *inst);
int rt_auth_pool_start(struct rt_instance *inst);
void rt_auth_pool_stop(struct rt_instance *inst);
/* Any thread. The job holds a reference to its connection. */
void rt_auth_pool_submit(struct rt_auth_job *job);
/* Any thread that holds another reference to the connection. Returns true if the job will
 * not be run, and is the caller's again. */
bool rt_auth_pool_cancel(struct rt_auth_job *job);

#endif /* RPCRDMA_TRANSPORT_EXT_AUTH_H */
