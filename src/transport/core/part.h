/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - what the life of a connection asks of everything above it
 *
 * A connection is made of parts: flow control, messages, Responder, Requester,
 * extensions. The strand knows none of them by name. It calls the hooks of
 * inst->parts, in the order of assembly.c. A hook that is NULL is left out.
 *
 * The hooks of each turn are called only of parts that are on for the connection. A part with `optional` is off until it has something
 * to do there: an extension that is in use, a role that is played.
 *
 * Context: the runner, but for the hooks of an instance, accepted and removed.
 */
#ifndef RPCRDMA_TRANSPORT_PART_H
#define RPCRDMA_TRANSPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/transport.h"
#include "transport/core/state.h"

/* Octets of private data, of all parts together. */
#define RT_PRIVATE_DATA_MAX 64

/* Parts at most, one for each bit of rt_strand.parts_on. */
#define RT_PARTS 32

/* Parts with a slot, at most. */
#define RT_SLOTS 5

struct rt_part {
	/* Octets of its own in each connection, zeroed: rt_conn.ext[slot]. */
	size_t size;
	unsigned int slot;
	bool optional; /* off at first, see rt_part_set(); it has a slot */

	/* ---- An instance ---- */
	/* Called before the settings are checked, which it may change; and when all
	 * of the instance is there. They return 0 or -errno. */
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
	/* Private data of the fabric's handshake: write ours to @buf, and return how
	 * many octets; take the peer's, @priv is NULL if there are none (server). */
	size_t (*private_data)(struct rt_conn *c, void *buf);
	void (*peer_private_data)(struct rt_conn *c, const void *priv,
				  size_t len);
	/* Post what the first messages of the peer need. Returns 0 or -errno. */
	int (*open)(struct rt_conn *c);
	/* Server: the connection has been accepted, and nothing has come. */
	void (*accepted)(struct rt_conn *c);
	/* The fabric is established. @priv is the peer's private data (client). */
	void (*connected)(struct rt_conn *c, const void *priv, size_t len);

	/* ---- Each turn ---- */
	/* Returns when expire() is wanted, in ms, 0 for never. It may be called
	 * earlier and later than that. */
	uint64_t (*due)(struct rt_conn *c);
	void (*expire)(struct rt_conn *c, uint64_t now);
	/* Returns true while this part has work that an orderly close must wait for.
	 * The connection is not idle then. */
	bool (*busy)(struct rt_conn *c);
	/* Fill in this part's fields of @info. */
	void (*fill_info)(struct rt_conn *c, struct rt_conn_info *info);
	/* Called when all that has come has been taken. */
	void (*turn)(struct rt_conn *c);

	/* ---- Now and then ---- */
	/* An effect of the table of states (state.c). */
	void (*effect)(struct rt_conn *c, enum rt_effect e);
	/* The connection has been idle for RT_IDLE_MS: free what it needs no more. */
	void (*on_idle)(struct rt_conn *c);
	/* The connection is in use: free what has not been used since the last call.
	 * Returns true if there was something. */
	bool (*trim)(struct rt_conn *c);

	/* ---- The end of a connection ---- */
	/* Returns true when everything has gone that must go before an orderly end. */
	bool (*drained)(struct rt_conn *c);
	/* The upper layer wants an immediate end. */
	void (*on_abort)(struct rt_conn *c);
	/* The fabric has ended, and has let go of all memory. */
	void (*disconnected)(struct rt_conn *c);
	/* Free everything that is left. From the last part to the first, since each
	 * may depend on those before it; perhaps more than once. */
	void (*release)(struct rt_conn *c);
	/* It is no longer one of the instance's connections. inst->lock is held. */
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
