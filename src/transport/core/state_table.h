/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state_table - the states, events and effects of a connection
 *
 * state_table.c has the table; rt_event() in turn.c applies it.
 */
#ifndef RPCRDMA_TRANSPORT_STATE_TABLE_H
#define RPCRDMA_TRANSPORT_STATE_TABLE_H

#include <stdbool.h>

/* X(state, its name in logs and probes). state_table.c says what each means. */
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
 *   EV_MSG_EXT       of an extension that is enabled here
 *   EV_MSG_VERSION   of a version that is not supported here
 *   EV_MSG_BAD       of our version, to be answered by an ERROR
 *   EV_CLOSE         the upper layer wants an orderly end
 *   EV_ABORT         the connection ends at once
 *   EV_VIOLATION     the connection ends when what is posted has been sent
 *   EV_DRAINED       nothing is in progress any more
 *   EV_TIMEOUT       the state's deadline has passed
 *   EV_SETTLED       server: its first message must have arrived by now
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
	/* Carried out by turn.c alone. */
	RT_DO_AWAIT, /* server: wait for the first message */
	RT_DO_SECOND_DRAINING, /* as RT_DO_SECOND, while the connection drains */
	RT_DO_DRAIN,
	RT_DO_DISCONNECT,
	RT_DO_ABORT,
	RT_DO_DOWN,
	/* Also passed to the parts, see struct rt_part. */
	RT_DO_GREET, /* client: send the first message */
	RT_DO_FIRST, /* the peer's first message of version 2 was received */
	RT_DO_ANSWER, /* server: the same, and our properties answer it */
	RT_DO_SECOND, /* server: the client's second message was received */
	RT_DO_VERSION1, /* version 1 is settled */
};

struct rt_transition {
	bool allowed;
	bool process; /* the message that caused the event */
	enum rt_state next;
	enum rt_effect effect;
};

extern const struct rt_transition rt_transitions[RT_NSTATES][EV_COUNT];
extern const char *const rt_state_names[RT_NSTATES];
extern const char *const rt_event_names[EV_COUNT];

#endif /* RPCRDMA_TRANSPORT_STATE_TABLE_H */
