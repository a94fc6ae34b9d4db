/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - what the life of a connection asks of everything above it
 *
 * A connection is made of parts: flow control, messages, Responder, Requester,
 * extensions. The strand knows none of them by name. It calls the hooks of
 * inst->parts, in the order of assembly.c. A hook that is NULL is left out.
 *
 * What each turn asks for (due, expire, busy, tell, turn) is asked only of parts that
 * are on for the connection. A part with `optional` is off until it has something
 * to do there: an extension that is in use, a role that is played.
 *
 * Context: the runner, but for the hooks of an instance, joined and left.
 */
#ifndef RPCRDMA_TRANSPORT_PART_H
#define RPCRDMA_TRANSPORT_PART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/transport.h"
#include "transport/core/state.h"

/* Room for what goes with the fabric's handshake. */
#define RT_HELLO_ROOM 64

/* Parts at most, one for each bit of rt_strand.parts_on. */
#define RT_PARTS 32

/* Parts with a slot, at most. */
#define RT_SLOTS 5

struct rt_part {
	/* Octets of its own in each connection: rt_conn.ext[slot]. */
	size_t room;
	unsigned int slot;
	bool optional; /* off at first, see rt_part_set(); it has a slot */
	/* An instance is made: before anything else, when its settings are still
	 * to be checked; and when all of it is there. 0 or -errno. */
	int (*prepare)(struct rt_instance *inst, const struct rt_params *p);
	int (*start)(struct rt_instance *inst);
	/* Nobody runs its pollers any more; connections that have ended may
	 * still be held. Also if it has not been started. */
	void (*stop)(struct rt_instance *inst);
	/* The last reference is gone. */
	void (*destroy)(struct rt_instance *inst);
	/* A new connection, before anything else. 0 or -errno. */
	int (*init)(struct rt_conn *c);
	/* May there be one more? Before anything of it is posted; @peer: from
	 * there, NULL: this end connects. 0 or -errno, and then it has been
	 * logged why. */
	int (*admit)(struct rt_conn *c, const struct sockaddr_storage *peer);
	/* What goes to the peer with the fabric's own handshake: octets in @buf,
	 * of RT_HELLO_ROOM; and what has come so, NULL: nothing. */
	size_t (*hello)(struct rt_conn *c, void *buf);
	void (*greeted)(struct rt_conn *c, const void *priv, size_t len);
	/* Post what the first messages of the peer need. 0 or -errno. */
	int (*open)(struct rt_conn *c);
	/* Server: it has been accepted; nothing has come. */
	void (*joined)(struct rt_conn *c);
	/* It no longer counts; inst->lock is held. */
	void (*left)(struct rt_conn *c);
	/* When, in ms, expire() is wanted, 0: never. It comes then or later, and
	 * also before: @now says. */
	uint64_t (*due)(struct rt_conn *c);
	void (*expire)(struct rt_conn *c, uint64_t now);
	/* Is there anything that an orderly end has to wait for, and that keeps
	 * the connection from being idle? */
	bool (*busy)(struct rt_conn *c);
	/* The fabric is up, and the peer has sent this with it. */
	void (*up)(struct rt_conn *c, const void *priv, size_t len);
	/* What the table of states (state.c) leaves to the parts. */
	void (*effect)(struct rt_conn *c, enum rt_effect e);
	/* Its share of what rt_conn_info() tells. */
	void (*tell)(struct rt_conn *c, struct rt_conn_info *info);
	/* Each turn, when what has come has been taken. */
	void (*turn)(struct rt_conn *c);
	/* Nothing has been done for a while: give back what that was for. */
	void (*rest)(struct rt_conn *c);
	/* It goes on working: give back what was of no use since this was last
	 * called. Was there something? */
	bool (*trim)(struct rt_conn *c);
	/* Has all gone that must go before an orderly end? */
	bool (*drained)(struct rt_conn *c);
	/* The upper layer wants its end at once. */
	void (*given_up)(struct rt_conn *c);
	/* The fabric has ended: nothing of it is lent any more. */
	void (*down)(struct rt_conn *c);
	/* Give back all that is left; perhaps more than once. From the last part
	 * to the first: what a part has was made with what those before it have. */
	void (*ended)(struct rt_conn *c);
	/* The last reference is gone. */
	void (*freed)(struct rt_conn *c);
};

/* The parts that have a hook, as bits: 1 << index in inst->parts. */
struct rt_hooks {
	uint32_t due, expire, busy, tell, turn;
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

/* Likewise of what can fail, until one of them does: 0 or -errno. */
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
