/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * part - what the life of a connection asks of everything above it
 *
 * A connection is made of parts: flow control, messages, Responder, Requester,
 * extensions. The strand knows none of them by name. It goes through rt_parts[],
 * which assembly.c has put together, in this order, each time.
 *
 * Runner only, but for start, stop, joined and left. What is NULL is left out.
 */
#ifndef RPCRDMA_TRANSPORT_PART_H
#define RPCRDMA_TRANSPORT_PART_H

#include <stdbool.h>
#include <stdint.h>

struct rt_conn;
struct rt_instance;

struct rt_part {
	/* An instance begins: 0 or -errno; it ends, when nobody runs its pollers
	 * any more, also if it has not begun. */
	int (*start)(struct rt_instance *inst);
	void (*stop)(struct rt_instance *inst);
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

/* Ends with NULL. */
extern const struct rt_part *const rt_parts[];

/* Call @what of all parts that have it. */
#define RT_EACH_PART(what, ...)                                             \
	do {                                                                \
		for (const struct rt_part *const *p_ = rt_parts; *p_; p_++) \
			if ((*p_)->what)                                    \
				(*p_)->what(__VA_ARGS__);                   \
	} while (0)

#endif /* RPCRDMA_TRANSPORT_PART_H */
