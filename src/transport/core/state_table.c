/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state_table - what each event does in each state of a connection
 *
 * Each row has an effect, the next state, and whether the message that caused the event
 * is processed. An event without a row is ignored, and its message is not counted as
 * dropped: only the fabric or the peer can cause one, by delivering what was under way
 * when the connection began to end. Faults of a message itself (continuation, chunks,
 * properties) are found by version1.c and version2.c.
 *
 *   CONNECTING  client: the fabric is starting up
 *   ACCEPTING   server: likewise
 *   GREETING    client: its one first message, of version 2, has been sent and not
 *               answered (4.3: one message outstanding)
 *   AWAITING    server: no version yet; the first message decides (4.3.3)
 *   ANSWERED    server: the version is settled. One message may be sent, and no more
 *               until the client's second message shows that it has our credit
 *               limit (4.3 [A7])
 *   OPEN        both sides have a version and a credit limit (in version 1:
 *               the one credit that a client begins with, RFC 8166 3.3.3)
 *   DRAINING    the upper layer closes the connection: no new Calls are accepted,
 *               those in progress are finished
 *   CLOSING     the fabric is disconnecting
 *   CLOSED      the fabric has ended; only the upper layer may hold references
 */
#include "transport/core/state_table.h"

#define GO(next, effect)                  \
	{                                 \
		true, false, next, effect \
	}
#define TAKE(next, effect)               \
	{                                \
		true, true, next, effect \
	}

/* clang-format off */
const struct rt_transition rt_transitions[RT_NSTATES][EV_COUNT] = {
	[RT_CONNECTING] = {
		[EV_UP]          = GO(RT_GREETING, RT_DO_GREET),
		[EV_VERSION1]    = GO(RT_OPEN, RT_DO_VERSION1),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
		[EV_CLOSE]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
	},
	[RT_ACCEPTING] = {
		[EV_UP]          = GO(RT_AWAITING, RT_DO_AWAIT),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
		[EV_CLOSE]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
	},
	[RT_GREETING] = {
		/* Any version 2 message is the answer that 4.3.1 speaks of. */
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, RT_DO_FIRST),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, RT_DO_FIRST),
		/* 4.3.2 [B1]: the server has refused version 2. */
		[EV_VERSION1]    = GO(RT_OPEN, RT_DO_VERSION1),
		[EV_MSG_VERSION] = TAKE(RT_GREETING, RT_DO_NOTHING),
		[EV_CLOSE]       = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_VIOLATION]   = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_TIMEOUT]     = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	[RT_AWAITING] = {
		/* 4.3.3. A Call is answered first, its properties follow the
		 * next message [A9]; a CONNPROP or GRANT is answered with our
		 * properties at once [A8]. */
		[EV_MSG_PROPS]   = TAKE(RT_ANSWERED, RT_DO_ANSWER),
		[EV_MSG_GRANT]   = TAKE(RT_ANSWERED, RT_DO_ANSWER),
		[EV_MSG_CALL]    = TAKE(RT_ANSWERED, RT_DO_FIRST),
		[EV_MSG_REPLY]   = TAKE(RT_ANSWERED, RT_DO_FIRST),
		[EV_MSG_ERROR]   = TAKE(RT_ANSWERED, RT_DO_FIRST),
		[EV_MSG_BAD]     = TAKE(RT_ANSWERED, RT_DO_FIRST),
		[EV_MSG_EXT]     = TAKE(RT_ANSWERED, RT_DO_FIRST),
		/* [B5]: version 1 has no exchange of properties to wait for. */
		[EV_VERSION1]    = GO(RT_OPEN, RT_DO_VERSION1),
		/* [B2]: it is answered, and does not settle the version. */
		[EV_MSG_VERSION] = TAKE(RT_AWAITING, RT_DO_NOTHING),
		[EV_CLOSE]       = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_TIMEOUT]     = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	[RT_ANSWERED] = {
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, RT_DO_SECOND),
		[EV_MSG_VERSION] = TAKE(RT_OPEN, RT_DO_SECOND),
		/* [A9]: a client that began with a Call may wait for our
		 * properties. */
		[EV_SETTLED]     = GO(RT_OPEN, RT_DO_SECOND),
		[EV_CLOSE]       = GO(RT_DRAINING, RT_DO_DRAIN),
		[EV_VIOLATION]   = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_TIMEOUT]     = GO(RT_DRAINING, RT_DO_DRAIN),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	[RT_OPEN] = {
		[EV_MSG_PROPS]   = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_GRANT]   = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_CALL]    = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_REPLY]   = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_ERROR]   = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_BAD]     = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_EXT]     = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_MSG_VERSION] = TAKE(RT_OPEN, RT_DO_NOTHING),
		[EV_CLOSE]       = GO(RT_DRAINING, RT_DO_DRAIN),
		[EV_VIOLATION]   = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_TIMEOUT]     = GO(RT_DRAINING, RT_DO_DRAIN),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	[RT_DRAINING] = {
		/* rt_call_admit() drops new Calls in this state. The state before
		 * may have been ANSWERED, with a Reply still to be sent. */
		[EV_MSG_PROPS]   = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_GRANT]   = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_CALL]    = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_REPLY]   = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_ERROR]   = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_BAD]     = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_EXT]     = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		[EV_MSG_VERSION] = TAKE(RT_DRAINING, RT_DO_SECOND_DRAINING),
		/* The latest rt_instance_drain() says how long. */
		[EV_CLOSE]       = GO(RT_DRAINING, RT_DO_DRAIN),
		[EV_DRAINED]     = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_TIMEOUT]     = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_VIOLATION]   = GO(RT_CLOSING, RT_DO_DISCONNECT),
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	[RT_CLOSING] = {
		[EV_ABORT]       = GO(RT_CLOSING, RT_DO_ABORT),
		[EV_DOWN]        = GO(RT_CLOSED, RT_DO_DOWN),
	},
	/* RT_CLOSED: nothing can happen any more. */
};

/* clang-format on */

#define NAME(name, text) [name] = text,
const char *const rt_state_names[RT_NSTATES] = { RT_STATES(NAME) };
const char *const rt_event_names[EV_COUNT] = { RT_EVENTS(NAME) };
#undef NAME
