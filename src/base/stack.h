/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack - what many threads put there and one takes, without a lock
 *
 * Only all of it can be taken, so that nothing can be put back meanwhile (ABA).
 *
 * Threads: base_stack_push() any, for a node that is on no stack; base_stack_take() and
 * base_stack_take_in_order() any.
 */
#ifndef RPCRDMA_BASE_STACK_H
#define RPCRDMA_BASE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct base_stack_node {
	struct base_stack_node *next;
};

struct base_stack {
	_Atomic(struct base_stack_node *) top;
};

static inline void base_stack_init(struct base_stack *s)
{
	atomic_init(&s->top, NULL);
}

/* Sequentially consistent, as base_stack_empty() is. */
static inline void base_stack_push(struct base_stack *s,
				   struct base_stack_node *n)
{
	struct base_stack_node *top =
		atomic_load_explicit(&s->top, memory_order_relaxed);

	do {
		n->next = top;
	} while (!atomic_compare_exchange_weak(&s->top, &top, n));
}

static inline bool base_stack_empty(const struct base_stack *s)
{
	return !atomic_load(&s->top);
}

/* The newest, and behind it all others: to look at, where nobody takes. */
static inline struct base_stack_node *
base_stack_look(const struct base_stack *s)
{
	return atomic_load(&s->top);
}

/* All that is there, the newest first, or NULL. Cheap if there is nothing. */
static inline struct base_stack_node *base_stack_take(struct base_stack *s)
{
	if (!atomic_load_explicit(&s->top, memory_order_relaxed))
		return NULL;
	return atomic_exchange(&s->top, NULL);
}

/* The same, the oldest first. */
static inline struct base_stack_node *
base_stack_take_in_order(struct base_stack *s)
{
	struct base_stack_node *n = base_stack_take(s), *first = NULL;

	while (n) {
		struct base_stack_node *next = n->next;

		n->next = first;
		first = n;
		n = next;
	}
	return first;
}

#endif /* RPCRDMA_BASE_STACK_H */
