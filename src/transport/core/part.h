/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - what the life of a connection asks of everything above it
 *
 * A connection is made of parts: flow control, messages, Responder, Requester,
 * extensions. The strand knows none of them by name. It goes through inst->parts,
 * which assembly.c has put together, in this order, each time.
 *
 * Runner only, but for those of an instance, joined and left. What is NULL is left out.
 */
#ifndef RPCRDMA_TRANSPORT_PART_H
#define RPCRDMA_TRANSPORT_PART_H

#include <stdbool.h>
#include <stdint.h>

#include "rpcrdma/transport.h"

struct rt_part {
	/* An instance is made: before anything else, when its settings are still
	 * to be checked; and when all of it is there. 0 or -errno. */
	int (*prepare)(struct rt_instance *inst, const struct rt_params *p);
	int (*start)(struct rt_instance *inst);
	/* Nobody runs its pollers any more; connections that have ended may
	 * still be held. Also if it has not been started. */
	void (*stop)(struct rt_instance *inst);
	/* The last reference is gone. */
	void (*destroy)(struct rt_instance *inst);
	/* Something that others have done for connections of that poller, by
	 * its thread, in each turn of it: how much there was. */
	int (*poll)(struct rt_instance *inst, unsigned int poller);
	/* A new connection, before anything else. */
	void (*init)(struct rt_conn *c);
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
	/* Each turn, when what has come has been taken. */
	void (*turn)(struct rt_conn *c);
	/* Nothing has been done for a while: give back what that was for. */
	void (*rest)(struct rt_conn *c);
	/* The upper layer wants its end at once. */
	void (*given_up)(struct rt_conn *c);
	/* The fabric has ended: nothing of it is lent any more. */
	void (*down)(struct rt_conn *c);
	/* Give back all that is left; perhaps more than once. */
	void (*ended)(struct rt_conn *c);
};

/* Call @what of all parts of @inst that have it. */
#define RT_EACH_PART(inst, what, ...)                                      \
	do {                                                               \
		for (const struct rt_part *const *p_ = (inst)->parts; *p_; \
		     p_++)                                                 \
			if ((*p_)->what)                                   \
				(*p_)->what(__VA_ARGS__);                  \
	} while (0)

#endif /* RPCRDMA_TRANSPORT_PART_H */
