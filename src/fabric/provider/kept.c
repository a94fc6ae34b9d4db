/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kept - memory that a device could not be made to let go of
 *
 * It is noted where it is registered, in a list without a lock.
 *
 * Threads: see kept.h.
 */
#include <stdlib.h>

#include "fabric/provider/kept.h"

/* A range of a struct fab_mr. */
struct fab_kept {
	struct fab_kept *next;
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
	k->next = atomic_load(&mr->kept);
	while (!atomic_compare_exchange_weak(&mr->kept, &k->next, k))
		;
}

bool fab_mr_kept(const struct fab_mr *mr, const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	if (atomic_load_explicit(&mr->all_kept, memory_order_relaxed))
		return true;
	for (const struct fab_kept *k = atomic_load(&mr->kept); k; k = k->next)
		if (a < k->addr + k->len && k->addr < a + len)
			return true;
	return false;
}

void fab_mr_forget(struct fab_mr *mr)
{
	struct fab_kept *k;

	while ((k = atomic_load(&mr->kept))) {
		atomic_store(&mr->kept, k->next);
		free(k);
	}
}
