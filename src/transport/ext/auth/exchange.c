/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exchange - the phases of an exchange of tokens, and how it ends
 *
 *   LISTENING -> WORKING -> SENDING -> LISTENING ... -> PASSED
 *                        \-> REFUSING, and the connection ends
 *
 * Another thread runs each step (auth_threads.c), and the connection may end meanwhile.
 * Then rt_auth_result() frees the exchange when the step has ended.
 *
 * Context: the runner.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/ext/auth/auth.h"

/* ms: how long sending a refusal may take. */
#define REFUSE_MS 1000

void rt_auth_update_conn(struct rt_conn *c)
{
	const struct rt_auth *a = auth(c);

	rt_assert_strand(c);
	c->token_due = a->out || a->answer_due;
	c->token_begun = a->out && a->out_at;
	c->token_pending = a->phase == RT_AUTH_WORKING;
	c->props_held = a->out || !rt_auth_settled(c);
	c->gate = rt_auth_settled(c) ? NULL : a->ext;
	rt_part_set(c, RT_SLOT_AUTH, !rt_auth_settled(c));
}

void rt_auth_set_phase(struct rt_conn *c, enum rt_auth_phase phase)
{
	rt_assert_strand(c);
	auth(c)->phase = phase;
	rt_auth_update_conn(c);
}

void rt_auth_set_answer_due(struct rt_conn *c, bool due)
{
	rt_assert_strand(c);
	auth(c)->answer_due = due;
	rt_auth_update_conn(c);
}

/* ---- Our token -------------------------------------------------------- */

void rt_auth_free_out(struct rt_conn *c)
{
	rt_assert_strand(c);
	free(auth(c)->out);
	auth(c)->out = NULL;
	rt_auth_update_conn(c);
}

/* Returns false if there is no memory. */
static bool set_out_token(struct rt_conn *c, uint32_t kind, const void *token,
			  size_t len)
{
	struct rt_auth *a = auth(c);
	uint32_t head[2] = { htonl(kind), htonl((uint32_t)len) };

	rt_auth_free_out(c);
	a->out_len = RT_AUTH_HEAD + rt_round4(len);
	a->out_at = 0;
	a->out = calloc(1, a->out_len);
	if (!a->out)
		return false;
	memcpy(a->out, head, RT_AUTH_HEAD);
	if (len)
		memcpy(a->out + RT_AUTH_HEAD, token, len);
	rt_auth_update_conn(c);
	return true;
}

/* ---- The end of an exchange ------------------------------------------- */

static void free_job(struct rt_conn *c, struct rt_auth_job *job)
{
	rt_memory_uncharge(c, job->room);
	free(job->step.out);
	free(job->memory);
	free(job);
}

static void end_exchange(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	/* Let a client's step that reads the server's refusal log the reason. */
	if (a->job &&
	    (c->server || a->job->step.kind != RT_AUTH_REFUSAL ||
	     !a->job->step.token) &&
	    rt_auth_pool_cancel(a->job)) {
		free_job(c, a->job);
		a->job = NULL;
	}
	/* A running job needs the exchange. */
	if (a->exchange && !a->job)
		pool(c->inst)->ops->end(a->exchange);
	if (!a->job)
		a->exchange = NULL;
	free(a->in);
	a->in = NULL;
	rt_memory_uncharge(c, a->in_room);
	a->in_room = 0;
	a->in_len = 0;
}

void rt_auth_reset(struct rt_conn *c)
{
	rt_assert_strand(c);
	rt_unauthenticated_leave(c);
	rt_auth_set_phase(c, RT_AUTH_OFF);
	rt_auth_set_answer_due(c, false);
	auth(c)->deadline = 0;
	rt_auth_free_out(c);
	end_exchange(c);
}

/* Let our CONNPROP_FINAL be sent, and wait for the peer's for the usual time. */
static void continue_setup(struct rt_conn *c)
{
	auth(c)->deadline = 0;
	/* A server sends its own when its state requires that. */
	if (!c->server && !c->props_sent)
		c->props_due = true;
	if (c->theirs.complete)
		rt_conn_notify_established(c);
	else if (!c->server && c->state == RT_OPEN)
		c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
}

static void continue_unauthenticated(struct rt_conn *c)
{
	rt_auth_reset(c);
	if (c->state == RT_GREETING)
		c->unanswered = true;
	continue_setup(c);
}

void rt_auth_refuse(struct rt_conn *c, int error, const void *token, size_t len,
		    const char *why)
{
	struct rt_auth *a = auth(c);

	rt_assert_strand(c);
	if (a->phase == RT_AUTH_REFUSING)
		return;
	rt_conn_fail(c, error, "host authentication: %s", why);
	RT_COUNT(c, auth_failed, 1);
	end_exchange(c);
	rt_auth_set_answer_due(c, false);
	if (c->props_sent ||
	    !set_out_token(c, RT_AUTH_REFUSAL, token,
			   len > RT_AUTH_TOKEN_MAX ? 0 : len)) {
		rt_auth_reset(c);
		rt_event(c, EV_VIOLATION);
		return;
	}
	rt_auth_set_phase(c, RT_AUTH_REFUSING);
	a->deadline = rt_now_ms() + REFUSE_MS;
}

void rt_auth_deny(struct rt_conn *c, const char *why)
{
	rt_assert_strand(c);
	rt_auth_refuse(c, -EACCES, NULL, 0, why);
}

void rt_auth_peer_absent(struct rt_conn *c)
{
	rt_assert_strand(c);
	/* A peer that has begun must succeed, whatever the policy. */
	if (auth(c)->tokens || auth(c)->in_len) {
		rt_auth_deny(c, "broken off by the peer");
		return;
	}
	if (rt_auth_policy(c) == RT_AUTH_REQUIRED) {
		rt_auth_deny(
			c,
			c->server ?
				"required, and the client does not use it: enable it there" :
				"required, and the server does not use it: enable it there");
		return;
	}
	rt_log(c, LOG_INFO, "the peer takes no part in host authentication");
	continue_unauthenticated(c);
}

/* ---- Steps ------------------------------------------------------------ */

static void put_announced(uint32_t to[5], const struct rt_properties *p)
{
	to[0] = htonl(p->send_size);
	to[1] = htonl(p->recv_size);
	to[2] = htonl(p->segment_size);
	to[3] = htonl(p->segments);
	to[4] = htonl(p->reverse);
}

bool rt_auth_run(struct rt_conn *c, uint32_t kind, uint8_t *memory,
		 const uint8_t *token, size_t len)
{
	struct rt_auth *a = auth(c);
	struct rt_auth_job *job = calloc(1, sizeof(*job));

	rt_assert_strand(c);
	if (!job)
		return false;
	job->done = rt_auth_result;
	job->conn = c;
	job->exchange = a->exchange;
	job->memory = memory;
	job->room = a->in_room;
	job->step.kind = kind;
	job->step.token = token;
	job->step.len = len;
	if (token) {
		put_announced(job->announced,
			      c->server ? &c->theirs : &c->ours);
		put_announced(job->announced + 5,
			      c->server ? &c->ours : &c->theirs);
		job->step.announced = job->announced;
		job->step.announced_len = sizeof(job->announced);
	}
	a->in = NULL;
	a->in_len = a->in_room = 0;
	a->job = job;
	rt_auth_set_phase(c, RT_AUTH_WORKING);
	rt_auth_pool_submit(job);
	return true;
}

bool rt_auth_start(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	rt_assert_strand(c);
	a->begun = true;
	a->deadline = rt_now_ms() + c->inst->cfg.auth_ms;
	a->exchange = pool(c->inst)->ops->start(pool(c->inst)->ctx, !c->server);
	return a->exchange;
}

void rt_auth_evicted(struct rt_conn *c)
{
	rt_assert_strand(c);
	if (!atomic_load(&c->evicted) || c->state >= RT_CLOSING)
		return;
	rt_conn_fail(c, -EBUSY,
		     "host authentication: not completed, and too many others "
		     "begin (a quarter of all connections may)");
	RT_COUNT(c, auth_failed, 1);
}

void rt_auth_begin(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	rt_assert_strand(c);
	if (c->server || rt_auth_policy(c) == RT_AUTH_NONE)
		return;
	if (!rt_auth_start(c) || !rt_auth_run(c, 0, NULL, NULL, 0)) {
		rt_conn_stop(c, EV_ABORT, -ENOMEM,
			     "host authentication: no memory");
		return;
	}
	/* Leave time for the answer of the server [B6]. */
	a->deadline = rt_now_ms() + c->inst->cfg.first_message_ms / 2;
}

static void auth_passed(struct rt_conn *c, const char *name)
{
	rt_auth_set_phase(c, RT_AUTH_PASSED);
	rt_unauthenticated_leave(c);
	end_exchange(c);
	RT_COUNT(c, auth_passed, 1);
	pthread_mutex_lock(&c->info_lock);
	snprintf(c->info.auth_peer, sizeof(c->info.auth_peer), "%s", name);
	pthread_mutex_unlock(&c->info_lock);
	rt_log(c, LOG_INFO, "the peer is %s, by host authentication", name);
	continue_setup(c);
}

void rt_auth_cannot_begin(struct rt_conn *c, const char *why)
{
	rt_assert_strand(c);
	if (rt_auth_policy(c) == RT_AUTH_OPTIONAL) {
		rt_log(c, LOG_WARNING, "without host authentication: %s", why);
		continue_unauthenticated(c);
		return;
	}
	rt_conn_fail(c, -EACCES, "host authentication: %s", why);
	RT_COUNT(c, auth_failed, 1);
	rt_auth_reset(c);
	rt_event(c, EV_ABORT);
}

static void take_result(struct rt_conn *c, const struct rt_auth_job *job)
{
	struct rt_auth *a = auth(c);
	const struct rt_auth_step *s = &job->step;
	bool first = !s->token;

	if (job->status == RT_AUTH_FAILED) {
		if (first) {
			rt_auth_cannot_begin(c, s->text);
		} else if (s->kind == RT_AUTH_REFUSAL) {
			/* A refusal is not answered. */
			rt_auth_reset(c);
			rt_event(c, EV_VIOLATION);
		} else {
			rt_auth_refuse(c, -EACCES, s->out, s->out_len, s->text);
		}
		return;
	}
	if (s->send && (s->out_len > RT_AUTH_TOKEN_MAX ||
			!set_out_token(c, s->out_kind, s->out, s->out_len))) {
		rt_auth_deny(c, s->out_len > RT_AUTH_TOKEN_MAX ?
					"our own token is too long" :
					"no memory");
		return;
	}
	if (job->status == RT_AUTH_DONE) {
		auth_passed(c, s->text);
		return;
	}
	rt_auth_set_phase(c, a->out ? RT_AUTH_SENDING : RT_AUTH_LISTENING);
	if (c->theirs.complete)
		rt_auth_deny(c, "the peer's CONNPROP_FINAL came in the "
				"middle of it");
}

void rt_auth_result(struct rt_conn *c, struct rt_mail *m)
{
	struct rt_auth_job *job = caa_container_of(m, struct rt_auth_job, mail);
	struct rt_auth *a = auth(c);

	rt_assert_strand(c);
	a->job = NULL;
	if (job->step.token && job->step.kind == RT_AUTH_REFUSAL)
		rt_log(c, LOG_WARNING,
		       "host authentication: refused by the peer: %s",
		       job->step.text);
	if (c->state < RT_CLOSING && a->phase == RT_AUTH_WORKING)
		take_result(c, job);
	else
		end_exchange(c);
	free_job(c, job);
	rt_conn_put(c);
}
