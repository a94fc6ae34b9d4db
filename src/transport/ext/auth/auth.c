/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * auth - the exchange of tokens for host authentication (5.2.6 [F5])
 *
 * Runner only. A token is a uint32 kind and an opaque<>, which are cut into as
 * many values of property 6 as they need, each in a CONNPROP_MIDDLE of its
 * own. The ends take turns, the client begins. While that goes on an end keeps
 * its CONNPROP_FINAL back; what it says of itself (properties 1 to 5) is in
 * its first CONNPROP, so that the authenticator can cover it; what it changes
 * of that after its last token is refused.
 *
 * A step of the authenticator is made by another thread (pool.c), so a
 * connection can end while one is under way: then the job's return is all that
 * is still to come.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/ext/auth/auth.h"

/* kind and length */
#define TOKEN_HEAD 8
/* An end that expects a client to begin does not wait for long. */
#define BEGIN_MS RT_SETTLE_MS
/* How long a refusal may take to go out. */
#define REFUSE_MS 1000

static enum rt_auth_policy policy(const struct rt_conn *c)
{
	return c->inst->cfg.auth;
}

static bool settled(const struct rt_conn *c)
{
	return auth(c)->phase <= RT_AUTH_PASSED;
}

/* What others go by, whenever it may have changed. */
static void announce(struct rt_conn *c)
{
	const struct rt_auth *a = auth(c);

	c->part_due = a->out || a->answer;
	c->part_inside = a->out && a->out_at;
	c->part_made = a->phase == RT_AUTH_WORKING;
	c->props_held = a->out || !settled(c);
	c->gate = settled(c) ? NULL : &rt_ext_auth;
}

static void go_to(struct rt_conn *c, enum rt_auth_phase phase)
{
	auth(c)->phase = phase;
	announce(c);
}

static void answer(struct rt_conn *c, bool due)
{
	auth(c)->answer = due;
	announce(c);
}

static int init(struct rt_conn *c)
{
	if (c->server && policy(c) != RT_AUTH_NONE)
		go_to(c, RT_AUTH_LISTENING);
	return 0;
}

/* ---- What goes out ---------------------------------------------------- */

static void drop_out(struct rt_conn *c)
{
	free(auth(c)->out);
	auth(c)->out = NULL;
	announce(c);
}

/* False: no memory. */
static bool token_out(struct rt_conn *c, uint32_t kind, const void *token,
		      size_t len)
{
	struct rt_auth *a = auth(c);
	uint32_t head[2] = { htonl(kind), htonl((uint32_t)len) };

	drop_out(c);
	a->out_len = TOKEN_HEAD + rt_round4(len);
	a->out_at = 0;
	a->out = calloc(1, a->out_len);
	if (!a->out)
		return false;
	memcpy(a->out, head, TOKEN_HEAD);
	if (len)
		memcpy(a->out + TOKEN_HEAD, token, len);
	announce(c);
	return true;
}

static size_t part(struct rt_conn *c, size_t room, const uint8_t **part)
{
	struct rt_auth *a = auth(c);
	size_t n;

	answer(c, false);
	if (!a->out)
		return 0;
	n = a->out_len - a->out_at;
	if (n > room)
		n = room;
	*part = a->out + a->out_at;
	a->out_at += n;
	announce(c);
	return n;
}

static void part_sent(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	if (!c->server && c->state == RT_GREETING) {
		/* From here on the server has to answer, [B6]. */
		c->unanswered = true;
		a->deadline = rt_now_ms() + c->inst->cfg.auth_ms;
	}
	if (!a->out || a->out_at < a->out_len)
		return;
	drop_out(c);
	if (a->phase == RT_AUTH_SENDING)
		go_to(c, RT_AUTH_LISTENING);
	if (a->phase == RT_AUTH_REFUSING) {
		rt_chain_post(c);
		rt_event(c, EV_VIOLATION);
	}
}

/* ---- The end of it, one way or another -------------------------------- */

static void free_job(struct rt_conn *c, struct rt_auth_job *job)
{
	rt_memory_give(c, job->room);
	free(job->step.out);
	free(job->memory);
	free(job);
}

static void end_exchange(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	/* A server's refusal still says why, for the log. */
	if (a->job &&
	    (c->server || a->job->step.kind != RT_AUTH_REFUSAL ||
	     !a->job->step.token) &&
	    rt_auth_pool_cancel(a->job)) {
		free_job(c, a->job);
		a->job = NULL;
	}
	/* A job's return does it, if there is one. */
	if (a->exchange && !a->job)
		pool(c->inst)->ops->end(a->exchange);
	if (!a->job)
		a->exchange = NULL;
	free(a->in);
	a->in = NULL;
	rt_memory_give(c, a->in_room);
	a->in_room = 0;
	a->in_len = 0;
}

static void reset(struct rt_conn *c)
{
	rt_unproved_leave(c);
	go_to(c, RT_AUTH_OFF);
	answer(c, false);
	auth(c)->deadline = 0;
	drop_out(c);
	end_exchange(c);
}

/* Go on: our FINAL may go, and the peer's is waited for as without all this. */
static void go_on(struct rt_conn *c)
{
	auth(c)->deadline = 0;
	/* A server's is due, or not yet, as its state has it. */
	if (!c->server && !c->props_sent)
		c->props_due = true;
	if (c->theirs.complete)
		rt_conn_tell_established(c);
	else if (!c->server && c->state == RT_OPEN)
		c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
}

/* Without knowing the peer, as the policy allows. */
static void give_up(struct rt_conn *c)
{
	reset(c);
	if (c->state == RT_GREETING)
		c->unanswered = true;
	go_on(c);
}

/* End the connection, but tell the peer why, if that can be told. */
static void refuse(struct rt_conn *c, int error, const void *token, size_t len,
		   const char *why)
{
	struct rt_auth *a = auth(c);

	if (a->phase == RT_AUTH_REFUSING)
		return;
	rt_conn_fail(c, error, "host authentication: %s", why);
	RT_COUNT(c, auth_failed, 1);
	end_exchange(c);
	answer(c, false);
	if (c->props_sent || !token_out(c, RT_AUTH_REFUSAL, token,
					len > RT_AUTH_TOKEN_MAX ? 0 : len)) {
		reset(c);
		rt_event(c, EV_VIOLATION);
		return;
	}
	go_to(c, RT_AUTH_REFUSING);
	a->deadline = rt_now_ms() + REFUSE_MS;
}

static void refuse_simply(struct rt_conn *c, const char *why)
{
	refuse(c, -EACCES, NULL, 0, why);
}

/* The peer goes on without having shown who it is. */
static void absent(struct rt_conn *c)
{
	/* Who takes part has to succeed, whatever the policy. */
	if (auth(c)->tokens || auth(c)->in_len) {
		refuse_simply(c, "broken off by the peer");
		return;
	}
	if (policy(c) == RT_AUTH_REQUIRED) {
		refuse_simply(c, c->server ?
					 "required, and the client takes no "
					 "part in it (configure it there)" :
					 "required, and the server takes no "
					 "part in it (configure it there)");
		return;
	}
	rt_log(c, LOG_INFO, "the peer takes no part in host authentication");
	give_up(c);
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

/* @token: memory that goes along. False: no memory. */
static bool step(struct rt_conn *c, uint32_t kind, uint8_t *memory,
		 const uint8_t *token, size_t len)
{
	struct rt_auth *a = auth(c);
	struct rt_auth_job *job = calloc(1, sizeof(*job));

	if (!job)
		return false;
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
	go_to(c, RT_AUTH_WORKING);
	rt_auth_pool_submit(job);
	return true;
}

static bool start(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	a->begun = true;
	a->deadline = rt_now_ms() + c->inst->cfg.auth_ms;
	a->exchange = pool(c->inst)->ops->start(pool(c->inst)->ctx, !c->server);
	return a->exchange;
}

static void give_way(struct rt_conn *c)
{
	if (!atomic_load(&c->gives_way) || c->state >= RT_CLOSING)
		return;
	rt_conn_fail(c, -EBUSY,
		     "host authentication: not completed, and too many others "
		     "begin (a quarter of all connections may)");
	RT_COUNT(c, auth_failed, 1);
}

/* Client: begin the exchange, unless the policy is to take no part in it. */
static void begin(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	if (c->server || policy(c) == RT_AUTH_NONE)
		return;
	if (!start(c) || !step(c, 0, NULL, NULL, 0)) {
		rt_conn_stop(c, EV_ABORT, -ENOMEM,
			     "host authentication: no memory");
		return;
	}
	/* Time must be left for what follows, [B6]. */
	a->deadline = rt_now_ms() + c->inst->cfg.first_message_ms / 2;
}

static void passed(struct rt_conn *c, const char *name)
{
	go_to(c, RT_AUTH_PASSED);
	rt_unproved_leave(c);
	end_exchange(c);
	RT_COUNT(c, auth_passed, 1);
	pthread_mutex_lock(&c->info_lock);
	snprintf(c->info.auth_peer, sizeof(c->info.auth_peer), "%s", name);
	pthread_mutex_unlock(&c->info_lock);
	rt_log(c, LOG_INFO, "the peer is %s, by host authentication", name);
	go_on(c);
}

/* A client that has not even a token to begin with. */
static void cannot_begin(struct rt_conn *c, const char *why)
{
	if (policy(c) == RT_AUTH_OPTIONAL) {
		rt_log(c, LOG_WARNING, "without host authentication: %s", why);
		give_up(c);
		return;
	}
	rt_conn_fail(c, -EACCES, "host authentication: %s", why);
	RT_COUNT(c, auth_failed, 1);
	reset(c);
	rt_event(c, EV_ABORT);
}

static void take_result(struct rt_conn *c, const struct rt_auth_job *job)
{
	struct rt_auth *a = auth(c);
	const struct rt_auth_step *s = &job->step;
	bool first = !s->token;

	if (job->status == RT_AUTH_FAILED) {
		if (first) {
			cannot_begin(c, s->text);
		} else if (s->kind == RT_AUTH_REFUSAL) {
			/* There is no answer to that. */
			reset(c);
			rt_event(c, EV_VIOLATION);
		} else {
			refuse(c, -EACCES, s->out, s->out_len, s->text);
		}
		return;
	}
	if (s->send && (s->out_len > RT_AUTH_TOKEN_MAX ||
			!token_out(c, s->out_kind, s->out, s->out_len))) {
		refuse_simply(c, s->out_len > RT_AUTH_TOKEN_MAX ?
					 "our own token is too long" :
					 "no memory");
		return;
	}
	if (job->status == RT_AUTH_DONE) {
		passed(c, s->text);
		return;
	}
	go_to(c, a->out ? RT_AUTH_SENDING : RT_AUTH_LISTENING);
	if (c->theirs.complete)
		refuse_simply(c, "the peer's CONNPROP_FINAL came in the "
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

/* ---- What comes ------------------------------------------------------- */

/* Room for @n octets more; as they come, not as they are announced. */
static bool grow(struct rt_conn *c, size_t n)
{
	struct rt_auth *a = auth(c);
	uint8_t *p;

	if (a->in_len + n <= a->in_room)
		return true;
	if (!rt_memory_take(c, a->in_room, a->in_len + n - a->in_room))
		return false;
	a->in_room = a->in_len + n;
	p = realloc(a->in, a->in_room);
	if (p)
		a->in = p;
	return p;
}

/* A part of a token. */
static void take_part(struct rt_conn *c, const uint8_t *data, size_t n)
{
	struct rt_auth *a = auth(c);
	uint32_t head[2];
	size_t want;

	if (a->phase != RT_AUTH_LISTENING) {
		refuse_simply(c, "a token out of turn");
		return;
	}
	if (!a->begun && !start(c)) {
		refuse_simply(c, "no memory");
		return;
	}
	if (n > TOKEN_HEAD + RT_AUTH_TOKEN_MAX - a->in_len) {
		refuse_simply(c, "a token that is too long");
		return;
	}
	if (!grow(c, n)) {
		refuse_simply(c, "no memory for a token");
		return;
	}
	memcpy(a->in + a->in_len, data, n);
	a->in_len += n;
	if (a->in_len < TOKEN_HEAD)
		return;
	memcpy(head, a->in, TOKEN_HEAD);
	want = ntohl(head[1]);
	if (want > RT_AUTH_TOKEN_MAX) {
		refuse_simply(c, "a token that is too long");
		return;
	}
	if (a->in_len < TOKEN_HEAD + rt_round4(want))
		return;
	if (a->in_len > TOKEN_HEAD + rt_round4(want)) {
		refuse_simply(c, "octets after a token");
		return;
	}
	if (++a->tokens > RT_AUTH_TOKENS_MAX) {
		refuse_simply(c, "too many tokens");
		return;
	}
	if (ntohl(head[0]) == RT_AUTH_REFUSAL) {
		/* Its end may be here before it is known what the token says,
		 * which is for the log alone. */
		rt_conn_fail(c, -EACCES,
			     "host authentication: refused by the peer, whose "
			     "log tells why");
		RT_COUNT(c, auth_failed, 1);
	}
	if (!step(c, ntohl(head[0]), a->in, a->in + TOKEN_HEAD, want))
		refuse_simply(c, "no memory");
}

/* Not what its tokens do not cover, once they cover some. */
static bool covers(struct rt_conn *c, const struct rt_properties *next)
{
	const struct rt_auth *a = auth(c);

	/* What a step is about is what was said before its token, or with it;
	 * the last token of the peer is the last that covers anything. */
	if (a->phase != RT_AUTH_PASSED &&
	    !(a->phase == RT_AUTH_WORKING && a->tokens))
		return true;
	if (!rt_values_change(c, next))
		return true;
	refuse_simply(c, "properties that came after the tokens that would "
			 "cover them");
	return false;
}

static void heard(struct rt_conn *c, const struct wire_msg *m)
{
	struct rt_auth *a = auth(c);
	struct wire_iter it = { 0 };
	struct wire_prop v;
	const uint8_t *data;
	uint32_t n;

	/* Not ours to look at, [F5]: no part is taken, or no more. */
	if (policy(c) == RT_AUTH_NONE || a->phase == RT_AUTH_OFF)
		return;
	while (wire_prop_next(&m->props, &it, &v)) {
		if (v.which != RDMA2_PROPID_HOSTAUTH)
			continue;
		if (wire_prop_opaque(&v, &data, &n) && n)
			take_part(c, data, n);
		if (a->phase == RT_AUTH_REFUSING || c->state >= RT_CLOSING)
			return;
	}
	/* The answer goes with the token that is being made, if there is one:
	 * before the client's second message there is but one, [A7]. */
	if (c->server && !c->values_sent)
		answer(c, a->phase == RT_AUTH_LISTENING);
	if (m->p.htype != RDMA2_CONNPROP_FINAL)
		return;
	/* A server that knows nothing of it answers so. */
	if (a->phase == RT_AUTH_LISTENING || a->phase == RT_AUTH_SENDING)
		absent(c);
}

static bool admits(struct rt_conn *c, bool rpc)
{
	struct rt_auth *a = auth(c);

	if (a->phase == RT_AUTH_REFUSING)
		return false;
	if (!rpc)
		return true;
	if (a->phase == RT_AUTH_LISTENING || a->phase == RT_AUTH_SENDING)
		absent(c);
	else if (a->phase == RT_AUTH_WORKING)
		refuse_simply(c, "a Call or Reply in the middle of it");
	return settled(c) && c->state < RT_CLOSING;
}

static void refused(struct rt_conn *c)
{
	if (!settled(c) && auth(c)->phase != RT_AUTH_REFUSING)
		absent(c);
}

/* Server: the client's first message is here; it should begin soon. */
static void await(struct rt_conn *c)
{
	struct rt_auth *a = auth(c);

	if (a->phase != RT_AUTH_LISTENING || a->begun || a->deadline)
		return;
	a->deadline = rt_now_ms() + (policy(c) == RT_AUTH_REQUIRED ?
					     c->inst->cfg.auth_ms :
					     BEGIN_MS);
}

static uint64_t due(struct rt_conn *c)
{
	return settled(c) ? 0 : auth(c)->deadline;
}

static void refuse_late(struct rt_conn *c)
{
	char why[64];

	snprintf(why, sizeof(why), "not completed in time (%u s)",
		 (c->inst->cfg.auth_ms + 999) / 1000);
	refuse(c, -ETIMEDOUT, NULL, 0, why);
}

static void expire(struct rt_conn *c, uint64_t now)
{
	struct rt_auth *a = auth(c);

	if (c->state >= RT_CLOSING || !due(c) || due(c) > now)
		return;
	a->deadline = 0;
	if (a->phase == RT_AUTH_REFUSING)
		rt_event(c, EV_ABORT);
	else if (!c->server && !c->first_sent)
		cannot_begin(c, "no token in time (does the KDC answer?)");
	else if (!a->begun && policy(c) == RT_AUTH_OPTIONAL)
		absent(c);
	else
		refuse_late(c);
}

static void effect(struct rt_conn *c, enum rt_effect e)
{
	switch (e) {
	case RT_DO_GREET:
		begin(c);
		return;
	case RT_DO_ANSWER:
		/* Before the FINAL that answers it a MIDDLE comes, [F5]. */
		answer(c, c->props_held);
		await(c);
		return;
	case RT_DO_FIRST:
		if (c->server)
			await(c);
		return;
	case RT_DO_VERSION1:
		reset(c);
		return;
	default:
		return;
	}
}

static void joined(struct rt_conn *c)
{
	if (!settled(c))
		rt_unproved_join(c);
}

const struct rt_ext rt_ext_auth = {
	.covers = covers,
	.heard = heard,
	.refused = refused,
	.part = part,
	.part_sent = part_sent,
	.admits = admits,
};

const struct rt_part rt_part_auth = {
	.room = sizeof(struct rt_auth),
	.slot = RT_SLOT_AUTH,
	.prepare = rt_auth_pool_prepare,
	.start = rt_auth_pool_start,
	.stop = rt_auth_pool_stop,
	.destroy = rt_auth_pool_destroy,
	.poll = rt_auth_pool_deliver,
	.init = init,
	.joined = joined,
	.effect = effect,
	.due = due,
	.expire = expire,
	.given_up = give_way,
	.down = reset,
};
