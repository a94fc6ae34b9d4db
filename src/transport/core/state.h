/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - the life of a connection in one table: states, events, effects
 *
 * state.c has the table, strand.c goes by it.
 */
#ifndef RPCRDMA_TRANSPORT_STATE_H
#define RPCRDMA_TRANSPORT_STATE_H

#include <stdbool.h>

/* X(state, its name in logs and probes). state.c says what each means. */
#define RT_STATES(X)                   \
	X(RT_CONNECTING, "connecting") \
	X(RT_ACCEPTING, "accepting")   \
	X(RT_GREETING, "greeting")     \
	X(RT_AWAITING, "awaiting")     \
	X(RT_ANSWERED, "answered")     \
	X(RT_OPEN, "open")             \
	X(RT_DRAINING, "draining")     \
	X(RT_CLOSING, "closing")       \
	X(RT_CLOSED, "closed")

/*
 * X(event, its name). EV_MSG_* are messages, by header type.
 *
 *   EV_UP, EV_DOWN   the fabric is established, has ended
 *   EV_VERSION1      version 1 is settled: by the first message (server), by choice
 *                    or by ERR_VERS (client)
 *   EV_MSG_EXT       of an extension that is on here
 *   EV_MSG_VERSION   of a version that is not supported here
 *   EV_MSG_BAD       of our version, to be answered with an ERROR
 *   EV_CLOSE         the upper layer wants an orderly end
 *   EV_ABORT         an immediate end
 *   EV_VIOLATION     an end after what is posted has gone out
 *   EV_DRAINED       nothing is in progress any more
 *   EV_TIMEOUT       the state's deadline has passed
 *   EV_SETTLED       server: its first message must have come by now
 */
#define RT_EVENTS(X)                 \
	X(EV_UP, "up")               \
	X(EV_VERSION1, "version1")   \
	X(EV_DOWN, "down")           \
	X(EV_MSG_ERROR, "error")     \
	X(EV_MSG_GRANT, "grant")     \
	X(EV_MSG_PROPS, "props")     \
	X(EV_MSG_CALL, "call")       \
	X(EV_MSG_REPLY, "reply")     \
	X(EV_MSG_EXT, "extension")   \
	X(EV_MSG_VERSION, "version") \
	X(EV_MSG_BAD, "bad")         \
	X(EV_CLOSE, "close")         \
	X(EV_ABORT, "abort")         \
	X(EV_VIOLATION, "violation") \
	X(EV_DRAINED, "drained")     \
	X(EV_TIMEOUT, "timeout")     \
	X(EV_SETTLED, "settled")

#define RT_ENUMERATOR(name, text) name,
enum rt_state { RT_STATES(RT_ENUMERATOR) RT_NSTATES };
enum rt_event { RT_EVENTS(RT_ENUMERATOR) EV_COUNT };
#undef RT_ENUMERATOR

/* What an event does, besides changing the state. */
enum rt_effect {
	RT_DO_NOTHING,
	/* The strand's own. */
	RT_DO_AWAIT, /* server: wait for the first message */
	RT_DO_HEARD, /* server: the client's second message has come */
	RT_DO_DRAIN,
	RT_DO_DISCONNECT,
	RT_DO_ABORT,
	RT_DO_DOWN,
	/* For the parts as well, see struct rt_part. */
	RT_DO_GREET, /* client: send the first message */
	RT_DO_FIRST, /* the peer's first message of version 2 has come */
	RT_DO_ANSWER, /* server: likewise, and our properties answer it */
	RT_DO_SECOND, /* server: RT_DO_HEARD, for the first time */
	RT_DO_VERSION1, /* version 1 is settled */
};

struct rt_transition {
	bool allowed;
	bool process; /* the message that came with the event */
	enum rt_state next;
	enum rt_effect effect;
};

extern const struct rt_transition rt_transitions[RT_NSTATES][EV_COUNT];
extern const char *const rt_state_names[RT_NSTATES];
extern const char *const rt_event_names[EV_COUNT];

#endif /* RPCRDMA_TRANSPORT_STATE_H */
