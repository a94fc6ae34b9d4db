/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept - memory that a device could not be made to let go of
 *
 * It is noted where it is registered, in a stack without a lock.
 *
 * Threads: see kept.h.
 */
#include <stdlib.h>

#include "fabric/provider/kept.h"
#include "fabric/provider/util.h"

/* A range of a struct fab_mr. */
struct fab_kept {
	struct base_stack_node node;
	uintptr_t addr;
	size_t len;
};

void fab_mr_keep(struct fab_mr *mr, const void *addr, size_t len)
{
	struct fab_kept *k = malloc(sizeof(*k));

	if (!k) {
		/* Then all of it. */
		atomic_store(&mr->all_kept, true);
		return;
	}
	k->addr = (uintptr_t)addr;
	k->len = len;
	base_stack_push(&mr->kept, &k->node);
}

bool fab_mr_kept(const struct fab_mr *mr, const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	if (atomic_load_explicit(&mr->all_kept, memory_order_relaxed))
		return true;
	for (struct base_stack_node *n = base_stack_look(&mr->kept); n;
	     n = n->next) {
		const struct fab_kept *k =
			container_of(n, struct fab_kept, node);

		if (a < k->addr + k->len && k->addr < a + len)
			return true;
	}
	return false;
}

void fab_mr_forget(struct fab_mr *mr)
{
	struct base_stack_node *n = base_stack_take(&mr->kept), *next;

	for (; n; n = next) {
		next = n->next;
		free(container_of(n, struct fab_kept, node));
	}
}
