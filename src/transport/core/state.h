/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - the life of a connection in one table: states, events, effects
 *
 * state.c has the table, strand.c goes by it.
 */
#ifndef RPCRDMA_TRANSPORT_STATE_H
#define RPCRDMA_TRANSPORT_STATE_H

#include <stdbool.h>

/* See state.c for what each means. */
enum rt_state {
	RT_CONNECTING,
	RT_ACCEPTING,
	RT_GREETING,
	RT_AWAITING,
	RT_ANSWERED,
	RT_OPEN,
	RT_DRAINING,
	RT_CLOSING,
	RT_CLOSED,
	RT_NSTATES
};

enum rt_event {
	EV_UP, /* the fabric is established */
	EV_VERSION1, /* version 1 is settled: by the first message (server),
		      * by choice or by ERR_VERS (client) */
	EV_DOWN, /* the fabric has ended */
	EV_MSG_ERROR, /* messages, by header type */
	EV_MSG_GRANT,
	EV_MSG_PROPS,
	EV_MSG_CALL,
	EV_MSG_REPLY,
	EV_MSG_EXT, /* of an extension that is on here */
	EV_MSG_VERSION, /* of a version we do not support */
	EV_MSG_BAD, /* of our version, with an error to answer */
	EV_CLOSE, /* the upper layer wants an orderly end */
	EV_ABORT, /* an immediate end */
	EV_VIOLATION, /* an end after what is posted has gone out */
	EV_DRAINED, /* nothing is in progress any more */
	EV_TIMEOUT, /* the state's deadline has passed */
	EV_SETTLED, /* server: its first message must have come by now */
	EV_COUNT
};

/* What is done when an event comes, besides going to another state. */
enum rt_effect {
	RT_DO_NOTHING,
	/* The strand's own. */
	RT_DO_AWAIT, /* server: the first message is waited for */
	RT_DO_HEARD, /* server: the client's second message is here */
	RT_DO_DRAIN,
	RT_DO_DISCONNECT,
	RT_DO_ABORT,
	RT_DO_DOWN,
	/* For the parts as well, see struct rt_part. */
	RT_DO_GREET, /* client: say something first */
	RT_DO_FIRST, /* the peer's first message of version 2 is here */
	RT_DO_ANSWER, /* server: likewise, and our properties answer it */
	RT_DO_SECOND, /* server: RT_DO_HEARD, for the first time */
	RT_DO_VERSION1, /* version 1 is settled */
};

struct rt_transition {
	bool allowed;
	bool process; /* the message that came with it */
	enum rt_state next;
	enum rt_effect effect;
};

extern const struct rt_transition rt_transitions[RT_NSTATES][EV_COUNT];
extern const char *const rt_state_names[RT_NSTATES];

#endif /* RPCRDMA_TRANSPORT_STATE_H */
