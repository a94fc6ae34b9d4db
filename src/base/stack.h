/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack - what many threads put there and one takes, without a lock
 *
 * Only all of it can be taken, so that nothing can be put back meanwhile (ABA).
 *
 * Threads: stack_push() any, for a node that is on no stack; stack_take() and
 * stack_take_in_order() any.
 */
#ifndef RPCRDMA_BASE_STACK_H
#define RPCRDMA_BASE_STACK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

struct stack_node {
	struct stack_node *next;
};

struct stack {
	_Atomic(struct stack_node *) top;
};

static inline void stack_init(struct stack *s)
{
	atomic_init(&s->top, NULL);
}

/* Sequentially consistent, as stack_empty() is. */
static inline void stack_push(struct stack *s, struct stack_node *n)
{
	struct stack_node *top =
		atomic_load_explicit(&s->top, memory_order_relaxed);

	do {
		n->next = top;
	} while (!atomic_compare_exchange_weak(&s->top, &top, n));
}

static inline bool stack_empty(const struct stack *s)
{
	return !atomic_load(&s->top);
}

/* The newest, and behind it all others: to look at, where nobody takes. */
static inline struct stack_node *stack_look(const struct stack *s)
{
	return atomic_load(&s->top);
}

/* All that is there, the newest first, or NULL. Cheap if there is nothing. */
static inline struct stack_node *stack_take(struct stack *s)
{
	if (!atomic_load_explicit(&s->top, memory_order_relaxed))
		return NULL;
	return atomic_exchange(&s->top, NULL);
}

/* The same, the oldest first. */
static inline struct stack_node *stack_take_in_order(struct stack *s)
{
	struct stack_node *n = stack_take(s), *first = NULL;

	while (n) {
		struct stack_node *next = n->next;

		n->next = first;
		first = n;
		n = next;
	}
	return first;
}

#endif /* RPCRDMA_BASE_STACK_H */
