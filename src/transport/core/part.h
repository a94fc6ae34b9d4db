/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - the hooks by which the core runs everything above it
 *
 * A connection is made of parts: flow control, messages, Responder, Requester,
 * extensions. The core knows none of them by name. It calls the hooks of inst->parts, in
 * the order of assembly.c. A hook may be NULL.
 *
 * An `optional` part is off until it has something to do for the connection, such as an
 * extension that comes into use. While it is off, its hooks of each turn are not called.
 *
 * Context: the runner calls the hooks, except those of an instance, accepted and removed.
 */
#ifndef RPCRDMA_TRANSPORT_PART_H
#define RPCRDMA_TRANSPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/transport.h"
#include "transport/core/state_table.h"

/* Octets of private data, of all parts together. */
#define RT_PRIVATE_DATA_MAX 64

/* Parts at most, one for each bit of rt_strand.parts_on. */
#define RT_PARTS 32

/* Parts with a slot, at most. */
#define RT_SLOTS 5

struct rt_part {
	/* Octets of its state in each connection, rt_conn.ext[slot], zeroed. */
	size_t size;
	unsigned int slot;
	bool optional; /* off at first, see rt_part_set(); it has a slot */

	/* ---- An instance ---- */
	/* prepare is called before the settings are checked, and may change them; start
	 * is called when the instance is complete. They return 0 or -errno. */
	int (*prepare)(struct rt_instance *inst, const struct rt_params *p);
	int (*start)(struct rt_instance *inst);
	/* All pollers have stopped. Closed connections may still be referenced. Also
	 * called if start was not. */
	void (*stop)(struct rt_instance *inst);
	/* The last reference is gone. */
	void (*destroy)(struct rt_instance *inst);

	/* ---- The beginning of a connection ---- */
	/* Returns 0 or -errno. */
	int (*init)(struct rt_conn *c);
	/* Admission control, before anything is posted. @peer is NULL on the
	 * connecting side. Returns 0, or -errno after logging the reason. */
	int (*admit)(struct rt_conn *c, const struct sockaddr_storage *peer);
	/* The private data of the fabric's handshake. private_data writes ours to @buf
	 * and returns its length. peer_private_data takes the peer's (server); @priv is
	 * NULL if there is none. */
	size_t (*private_data)(struct rt_conn *c, void *buf);
	void (*peer_private_data)(struct rt_conn *c, const void *priv,
				  size_t len);
	/* Post the Receives for the peer's first messages. Returns 0 or -errno. */
	int (*open)(struct rt_conn *c);
	/* A connection of @peer has been refused. inst->lock is held. */
	void (*refused)(struct rt_instance *inst,
			const struct sockaddr_storage *peer);
	/* Server: the connection has been accepted, and nothing has been received. */
	void (*accepted)(struct rt_conn *c);
	/* The fabric is established. @priv is the peer's private data (client). */
	void (*connected)(struct rt_conn *c, const void *priv, size_t len);

	/* ---- Each turn ---- */
	/* Returns when expire is to be called, in ms, 0 for never. It may be called
	 * earlier or later than that. */
	uint64_t (*due)(struct rt_conn *c);
	void (*expire)(struct rt_conn *c, uint64_t now);
	/* Returns true while this part has work that an orderly close must wait for.
	 * The connection is not idle then. */
	bool (*busy)(struct rt_conn *c);
	/* Fill in this part's fields of @info. */
	void (*fill_info)(struct rt_conn *c, struct rt_conn_info *info);
	/* Called after the completions of this turn have been handled. */
	void (*turn)(struct rt_conn *c);

	/* ---- Now and then ---- */
	/* An effect of the table of states (state_table.c). */
	void (*effect)(struct rt_conn *c, enum rt_effect e);
	/* The connection has been idle for RT_IDLE_MS: free what it does not need. */
	void (*on_idle)(struct rt_conn *c);
	/* The connection is in use: free what has not been used since the last call.
	 * Returns true if there was something. */
	bool (*trim)(struct rt_conn *c);

	/* ---- The end of a connection ---- */
	/* Returns true when all that must precede an orderly end has been sent. */
	bool (*drained)(struct rt_conn *c);
	/* The upper layer wants an immediate end. */
	void (*on_abort)(struct rt_conn *c);
	/* The fabric has ended, and uses no memory of the connection any more. */
	void (*disconnected)(struct rt_conn *c);
	/* Free all that is left. Called from the last part to the first, since each may
	 * depend on those before it, and perhaps more than once. */
	void (*release)(struct rt_conn *c);
	/* The connection is no longer one of the instance's. inst->lock is held. */
	void (*removed)(struct rt_conn *c);
	/* The last reference is gone. */
	void (*destroyed)(struct rt_conn *c);
};

/* The parts that have a hook, as bits: 1 << index in inst->parts. */
struct rt_hooks {
	uint32_t due, expire, busy, fill_info, turn;
};

/* Call @what of all parts that have it and are on for @c. */
#define RT_EACH_HOOK(c, what, ...)                                         \
	do {                                                               \
		for (uint32_t m_ =                                         \
			     (c)->strand.parts_on & (c)->inst->hooks.what; \
		     m_; m_ &= m_ - 1)                                     \
			(c)->inst->parts[__builtin_ctz(m_)]->what(         \
				__VA_ARGS__);                              \
	} while (0)

/* Call @what of all parts of @inst that have it. */
#define RT_EACH_PART(inst, what, ...)                                      \
	do {                                                               \
		for (const struct rt_part *const *p_ = (inst)->parts; *p_; \
		     p_++)                                                 \
			if ((*p_)->what)                                   \
				(*p_)->what(__VA_ARGS__);                  \
	} while (0)

/* The same until one fails. Returns 0 or -errno. */
#define RT_TRY_PARTS(inst, what, ...)                                 \
	({                                                            \
		int rc_ = 0;                                          \
		for (const struct rt_part *const *p_ = (inst)->parts; \
		     *p_ && !rc_; p_++)                               \
			if ((*p_)->what)                              \
				rc_ = (*p_)->what(__VA_ARGS__);       \
		rc_;                                                  \
	})

#endif /* RPCRDMA_TRANSPORT_PART_H */
