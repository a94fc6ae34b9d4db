/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stack - a lock-free stack of which all nodes are taken at once
 *
 * No single node can be popped, so there is no ABA problem.
 *
 * Context: any thread. A node is on one stack at most.
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

/* This and base_stack_empty() are sequentially consistent. */
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

/* Returns the newest node, linked to the older ones, or NULL. The caller must know that no
 * thread takes the nodes meanwhile. */
static inline struct base_stack_node *
base_stack_look(const struct base_stack *s)
{
	return atomic_load(&s->top);
}

/* Take all nodes. Returns the newest, linked to the older ones, or NULL, which costs one
 * load. */
static inline struct base_stack_node *base_stack_take(struct base_stack *s)
{
	if (!atomic_load_explicit(&s->top, memory_order_relaxed))
		return NULL;
	return atomic_exchange(&s->top, NULL);
}

/* The same, oldest first. */
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
