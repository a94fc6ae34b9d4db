/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - the life of a connection in one table
 *
 * Runner only. Each row says, for one state, what an event does: an effect,
 * the next state, and whether the message that came with it is processed.
 * An event that has no entry is ignored, and its message dropped; that is so
 * only where the fabric or the peer can still deliver what was under way when
 * the connection began to end. What is wrong with a message inside a state
 * that takes it (continuation, chunks, properties) is for recv.c to say.
 *
 *   CONNECTING  client: the fabric is starting up
 *   ACCEPTING   server: likewise
 *   GREETING    client: its one first message, of version 2, is out, nothing
 *               has come back (4.3: one message outstanding)
 *   AWAITING    server: no version yet; the first message decides (4.3.3)
 *   ANSWERED    server: the version is settled; one message may go out, then
 *               nothing before the client's second message shows that it has
 *               received our credit limit (4.3 [A7])
 *   OPEN        both sides have a version and a credit limit (in version 1:
 *               the one credit that a client begins with, RFC 8166 3.3.3)
 *   DRAINING    an orderly end was asked for: no new Calls, those in progress
 *               are finished
 *   CLOSING     the fabric is disconnecting
 *   CLOSED      the fabric has ended; only the upper layer still holds things
 */
#include <errno.h>

#include "transport/internal.h"

struct transition {
	bool allowed;
	bool process;
	enum rt_state next;
	void (*act)(struct rt_conn *c);
};

/* Effects, after the table; and rt_act_version1(), v1.c. */
static void act_greet(struct rt_conn *c);
static void act_await(struct rt_conn *c);
static void act_opened(struct rt_conn *c);
static void act_answer_props(struct rt_conn *c);
static void act_second(struct rt_conn *c);
static void act_heard(struct rt_conn *c);
static void act_drain(struct rt_conn *c);
static void act_disconnect(struct rt_conn *c);
static void act_abort(struct rt_conn *c);
static void act_down(struct rt_conn *c);

#define GO(next, act)                  \
	{                              \
		true, false, next, act \
	}
#define TAKE(next, act)               \
	{                             \
		true, true, next, act \
	}

/* clang-format off */
static const struct transition table[RT_NSTATES][EV_COUNT] = {
	[RT_CONNECTING] = {
		[EV_UP]          = GO(RT_GREETING, act_greet),
		[EV_VERSION1]    = GO(RT_OPEN, rt_act_version1),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
		[EV_CLOSE]       = GO(RT_CLOSING, act_abort),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
	},
	[RT_ACCEPTING] = {
		[EV_UP]          = GO(RT_AWAITING, act_await),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
		[EV_CLOSE]       = GO(RT_CLOSING, act_abort),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
	},
	[RT_GREETING] = {
		/* Any version 2 message is the answer that 4.3.1 speaks of. */
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, act_opened),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, act_opened),
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, act_opened),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, act_opened),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, act_opened),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, act_opened),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, act_opened),
		/* 4.3.2 [B1]: a server without version 2 has said so. */
		[EV_VERSION1]    = GO(RT_OPEN, rt_act_version1),
		[EV_MSG_VERSION] = TAKE(RT_GREETING, NULL),
		[EV_CLOSE]       = GO(RT_CLOSING, act_disconnect),
		[EV_VIOLATION]   = GO(RT_CLOSING, act_disconnect),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_TIMEOUT]     = GO(RT_CLOSING, act_abort),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	[RT_AWAITING] = {
		/* 4.3.3. A Call is answered first, its properties follow the
		 * next message [A9]; a CONNPROP or GRANT is answered with our
		 * properties at once [A8]. */
		[EV_MSG_PROPS]   = TAKE(RT_ANSWERED, act_answer_props),
		[EV_MSG_GRANT]   = TAKE(RT_ANSWERED, act_answer_props),
		[EV_MSG_CALL]    = TAKE(RT_ANSWERED, act_opened),
		[EV_MSG_REPLY]   = TAKE(RT_ANSWERED, act_opened),
		[EV_MSG_ERROR]   = TAKE(RT_ANSWERED, act_opened),
		[EV_MSG_BAD]     = TAKE(RT_ANSWERED, act_opened),
		[EV_MSG_EXT]     = TAKE(RT_ANSWERED, act_opened),
		/* [B5]: nothing has to be waited for in version 1. */
		[EV_VERSION1]    = GO(RT_OPEN, rt_act_version1),
		/* [B2]: answered, and settles nothing. */
		[EV_MSG_VERSION] = TAKE(RT_AWAITING, NULL),
		[EV_CLOSE]       = GO(RT_CLOSING, act_disconnect),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_TIMEOUT]     = GO(RT_CLOSING, act_abort),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	[RT_ANSWERED] = {
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, act_second),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, act_second),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, act_second),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, act_second),
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, act_second),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, act_second),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, act_second),
		[EV_MSG_VERSION] = TAKE(RT_OPEN, act_second),
		/* [A9]: a client that began with a Call may wait for our
		 * properties. */
		[EV_SETTLED]     = GO(RT_OPEN, act_second),
		[EV_CLOSE]       = GO(RT_DRAINING, act_drain),
		[EV_VIOLATION]   = GO(RT_CLOSING, act_disconnect),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_TIMEOUT]     = GO(RT_DRAINING, act_drain),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	[RT_OPEN] = {
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, NULL),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, NULL),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, NULL),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, NULL),
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, NULL),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, NULL),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, NULL),
		[EV_MSG_VERSION] = TAKE(RT_OPEN, NULL),
		[EV_CLOSE]       = GO(RT_DRAINING, act_drain),
		[EV_VIOLATION]   = GO(RT_CLOSING, act_disconnect),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_TIMEOUT]     = GO(RT_DRAINING, act_drain),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	[RT_DRAINING] = {
		/* call.c drops new Calls in this state. It may have been
		 * reached from ANSWERED, with a Reply still to go. */
		[EV_MSG_PROPS]   = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_GRANT]   = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_CALL]    = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_REPLY]   = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_ERROR]   = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_BAD]     = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_EXT]     = TAKE(RT_DRAINING, act_heard),
		[EV_MSG_VERSION] = TAKE(RT_DRAINING, act_heard),
		[EV_DRAINED]     = GO(RT_CLOSING, act_disconnect),
		[EV_TIMEOUT]     = GO(RT_CLOSING, act_abort),
		[EV_VIOLATION]   = GO(RT_CLOSING, act_disconnect),
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	[RT_CLOSING] = {
		[EV_ABORT]       = GO(RT_CLOSING, act_abort),
		[EV_DOWN]        = GO(RT_CLOSED, act_down),
	},
	/* RT_CLOSED: nothing can happen any more. */
};

/* clang-format on */

const char *const rt_state_names[RT_NSTATES] = {
	[RT_CONNECTING] = "connecting", [RT_ACCEPTING] = "accepting",
	[RT_GREETING] = "greeting",	[RT_AWAITING] = "awaiting",
	[RT_ANSWERED] = "answered",	[RT_OPEN] = "open",
	[RT_DRAINING] = "draining",	[RT_CLOSING] = "closing",
	[RT_CLOSED] = "closed",
};

bool rt_event(struct rt_conn *c, enum rt_event ev)
{
	const struct transition *t = &table[c->state][ev];

	if (!t->allowed)
		return false;
	if (c->state != t->next) {
		RT_PROBE(state, c, rt_state_names[c->state],
			 rt_state_names[t->next]);
		rt_log(c, LOG_DEBUG, "%s -> %s", rt_state_names[c->state],
		       rt_state_names[t->next]);
		c->state = t->next;
		if (c->state >= RT_CLOSING)
			atomic_store(&c->over, true);
		c->state_deadline = 0;
	}
	if (t->act)
		t->act(c);
	return t->process;
}

bool rt_state_may_send(const struct rt_conn *c)
{
	switch (c->state) {
	case RT_GREETING:
	case RT_ANSWERED:
		return !c->first_sent;
	case RT_OPEN:
		return true;
	case RT_DRAINING:
		return !c->one_only || !c->first_sent;
	default:
		return false;
	}
}

/* ---- Effects ---------------------------------------------------------- */

static void act_greet(struct rt_conn *c)
{
	c->state_deadline = rt_now_ms() + c->inst->cfg.first_message_ms;
	if (rt_auth_begin(c))
		return;
	/* [A8]: the first message is our CONNPROP_FINAL. */
	c->props_due = true;
	c->unanswered = true;
}

static void act_await(struct rt_conn *c)
{
	c->state_deadline = rt_now_ms() + c->inst->cfg.first_message_ms;
}

static void act_opened(struct rt_conn *c)
{
	if (c->server) {
		c->one_only = true;
		rt_auth_heard(c);
		return;
	}
	rt_version_answered(c);
	if (!rt_auth_holds(c))
		c->state_deadline = rt_now_ms() + RT_SETTLE_MS;
}

static void act_answer_props(struct rt_conn *c)
{
	c->props_due = true;
	c->one_only = true;
	/* With host authentication a MIDDLE comes before it, [F5]. */
	c->auth.answer = rt_auth_holds(c);
	rt_auth_heard(c);
}

static void act_heard(struct rt_conn *c)
{
	c->one_only = false;
}

static void act_second(struct rt_conn *c)
{
	act_heard(c);
	if (!c->props_sent)
		c->props_due = true;
	/* Who is given the first Call may want to call back at once. */
	rt_conn_publish(c);
}

static void act_drain(struct rt_conn *c)
{
	c->state_deadline = rt_now_ms() + c->inst->cfg.drain_ms;
}

static void act_disconnect(struct rt_conn *c)
{
	if (c->fab)
		fab_disconnect(c->fab, false);
}

static void act_abort(struct rt_conn *c)
{
	if (c->fab)
		fab_disconnect(c->fab, true);
}

static void fabric_gone(void *user)
{
	rt_instance_forget(user);
	rt_conn_put(user);
}

static void act_down(struct rt_conn *c)
{
	struct fab_conn *fab = c->fab;

	atomic_store(&c->can_call, false);
	rt_chain_drop(c);
	RT_EACH_PART(c->inst, down, c);
	rt_conn_publish(c);
	rt_log(c,
	       c->ops->tells_end			   ? LOG_DEBUG :
	       c->end_error && c->end_error != -ECONNRESET ? LOG_WARNING :
							     LOG_INFO,
	       "closed: %s", c->end_reason ? c->end_reason : "in order");
	rt_log_ended(c);
	if (c->ops->closed)
		c->ops->closed(c, c->end_error,
			       c->end_reason ? c->end_reason : "in order");
	rt_alarm_stop(c);
	c->fab = NULL;
	/* Before it no longer counts. */
	rt_conn_ended(c);
	/* The fabric's own reference goes when no ready callback can come. */
	fab_conn_destroy_deferred(fab, fabric_gone, c);
}
