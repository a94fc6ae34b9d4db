/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stag - the exposed regions of one connection
 *
 * An STag is an index and random bits, fresh at each exposure, so that a closed
 * handle stays closed when its entry is used again. Tagged offsets begin at a
 * random value too, and reveal no addresses.
 */
#include <errno.h>
#include <stdlib.h>

#include "stag.h"

#define FIRST_SIZE 64u

void iw_stag_init(struct stag_table *t)
{
	t->e = NULL;
	t->size = 0;
	t->free_head = 0;
	t->rnd_left = 0;
}

void iw_stag_fini(struct stag_table *t)
{
	free(t->e);
	iw_stag_init(t);
}

static int stag_grow(struct stag_table *t)
{
	uint32_t size = t->size ? t->size * 2 : FIRST_SIZE;
	struct stag_entry *e;

	if (t->size >= STAG_MAX)
		return -ENOSPC;
	e = realloc(t->e, size * sizeof(*e));
	if (!e)
		return -ENOMEM;
	/* Entry 0 is never used: it ends the free list. */
	for (uint32_t i = t->size ? t->size : 1; i < size; i++) {
		e[i].stag = 0;
		e[i].last = 0;
		e[i].next_free = i + 1 < size ? i + 1 : t->free_head;
	}
	if (!t->size)
		e[0].stag = 0;
	t->free_head = t->size ? t->size : 1;
	t->e = e;
	t->size = size;
	return 0;
}

/* One system call for many exposures. */
static const struct stag_random *next_random(struct stag_table *t)
{
	if (!t->rnd_left) {
		arc4random_buf(t->rnd, sizeof(t->rnd));
		t->rnd_left = sizeof(t->rnd) / sizeof(t->rnd[0]);
	}
	return &t->rnd[--t->rnd_left];
}

int iw_stag_add(struct stag_table *t, void *addr, size_t len,
		unsigned int access, uint32_t *stag, uint64_t *base)
{
	const struct stag_random *r;
	struct stag_entry *e;
	uint32_t i;
	int rc;

	if (!t->free_head) {
		rc = stag_grow(t);
		if (rc)
			return rc;
	}
	i = t->free_head;
	e = &t->e[i];
	t->free_head = e->next_free;
	r = next_random(t);
	e->stag = (r->stag & ~(STAG_MAX - 1u)) | i;
	/* Never the handle closed last. */
	if (e->stag == e->last)
		e->stag ^= STAG_MAX;
	e->access = access;
	e->addr = addr;
	e->len = len;
	e->top = 0;
	/* base + len cannot wrap. */
	e->base = r->base >> 1;
	*stag = e->stag;
	*base = e->base;
	return 0;
}

bool iw_stag_del(struct stag_table *t, uint32_t stag)
{
	uint32_t i = stag & (STAG_MAX - 1u);

	if (!iw_stag_find(t, stag))
		return false;
	t->e[i].last = stag;
	t->e[i].stag = 0;
	t->e[i].next_free = t->free_head;
	t->free_head = i;
	return true;
}

uint32_t iw_stag_sink(struct stag_table *t)
{
	uint32_t stag = next_random(t)->stag & ~(STAG_MAX - 1u);

	return stag ? stag : STAG_MAX;
}
