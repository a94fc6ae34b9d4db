/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * domain - the loop provider's memory, faults and observer
 *
 * Any thread. The locks of the domain are explained in loop_priv.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#endif

#include "loop/loop_priv.h"

/* Odd, so that multiples of it run through all 32-bit values. */
#define LOOP_HANDLE_STEP 2654435761u

static __thread bool estranged;

void loop_make_foreign(void)
{
	estranged = true;
}

bool loop_make_foreignd(void)
{
	return estranged;
}

void loop_misuse(const char *where, const char *what)
{
	fprintf(stderr, "loop: %s: %s\n", where, what);
	abort();
}

/* ---- Shortages ------------------------------------------------------- */

struct loop_shortage *loop_shortage(struct fab_domain *dom)
{
	return &((struct loop_domain *)dom)->shortage;
}

bool loop_refuses(atomic_uint *n)
{
	unsigned int left = atomic_load(n);

	while (left && !atomic_compare_exchange_weak(n, &left, left - 1))
		;
	return left;
}

/* ---- Memory ---------------------------------------------------------- */

uint32_t loop_new_handle(struct loop_domain *dom)
{
	uint32_t h;

	pthread_mutex_lock(&dom->mem_lock);
	if (!++dom->next_handle)
		dom->next_handle = 1;
	h = dom->next_handle * LOOP_HANDLE_STEP;
	pthread_mutex_unlock(&dom->mem_lock);
	return h;
}

int loop_reg(struct fab_domain *fd, void *addr, size_t len, struct fab_mr **out)
{
	struct loop_domain *dom = (struct loop_domain *)fd;
	struct loop_mr *mr;

	if (loop_refuses(&dom->shortage.regs))
		return -ENOMEM;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return -ENOMEM;
	mr->base.dom = fd;
	mr->base.addr = addr;
	mr->base.len = len;
	/* It says nothing of where the memory is. */
	mr->offset = (uint64_t)loop_new_handle(dom) << 20;
	pthread_mutex_lock(&dom->mem_lock);
	mr->next = dom->mrs;
	dom->mrs = mr;
	pthread_mutex_unlock(&dom->mem_lock);
	atomic_fetch_add(&dom->users, 1);
	*out = &mr->base;
	return 0;
}

bool loop_dereg(struct fab_mr *fm)
{
	struct loop_mr *mr = (struct loop_mr *)fm;
	struct loop_domain *dom = (struct loop_domain *)fm->dom;
	struct loop_mr **link = &dom->mrs;

	LOOP_CHECK(!atomic_load(&mr->exposed), "the memory is still exposed");
	pthread_mutex_lock(&dom->mem_lock);
	while (*link != mr)
		link = &(*link)->next;
	*link = mr->next;
	pthread_mutex_unlock(&dom->mem_lock);
	atomic_fetch_sub(&dom->users, 1);
	free(mr);
	return true;
}

uint32_t loop_mr_handle(struct loop_mr *mr)
{
	struct loop_domain *dom = (struct loop_domain *)mr->base.dom;
	uint32_t fresh = loop_new_handle(dom), h;

	pthread_mutex_lock(&dom->mem_lock);
	if (!mr->handle)
		mr->handle = fresh;
	h = mr->handle;
	pthread_mutex_unlock(&dom->mem_lock);
	return h;
}

static bool is_unused(void *addr, size_t len)
{
#ifdef __SANITIZE_ADDRESS__
	return __asan_region_is_poisoned(addr, len);
#else
	return false;
#endif
}

bool loop_mr_copy(struct loop_domain *dom, uint32_t handle, uint64_t offset,
		  void *buf, size_t len, size_t cut, bool to_mr, bool honest)
{
	struct loop_mr *mr;
	bool found = false;

	pthread_mutex_lock(&dom->mem_lock);
	for (mr = dom->mrs; mr; mr = mr->next)
		if (mr->handle && mr->handle == handle)
			break;
	if (mr && offset >= mr->offset && offset - mr->offset <= mr->base.len &&
	    len <= mr->base.len - (offset - mr->offset)) {
		uint8_t *p = (uint8_t *)mr->base.addr + (offset - mr->offset);

		found = honest || !is_unused(p, cut);
		if (found)
			memcpy(to_mr ? p : buf, to_mr ? buf : p, cut);
	}
	pthread_mutex_unlock(&dom->mem_lock);
	return found;
}

/* ---- Settings, faults, observer -------------------------------------- */

void loop_get_settings(struct fab_domain *fd, struct loop_settings *s)
{
	struct loop_domain *dom = (struct loop_domain *)fd;

	*s = (struct loop_settings){
		.limits = fd->limits,
		.max_exposed = dom->max_exposed,
	};
}

void loop_set_settings(struct fab_domain *fd, const struct loop_settings *s)
{
	struct loop_domain *dom = (struct loop_domain *)fd;

	LOOP_CHECK(!atomic_load(&dom->users), "the domain is already in use");
	fd->limits = s->limits;
	dom->max_exposed = s->max_exposed;
}

void loop_set_faults(struct fab_domain *fd, unsigned int sides,
		     const struct loop_faults *faults)
{
	static const struct loop_faults none;
	struct loop_domain *dom = (struct loop_domain *)fd;

	pthread_mutex_lock(&dom->lock);
	if (sides & LOOP_ACTIVE)
		dom->faults[0] = faults ? *faults : none;
	if (sides & LOOP_PASSIVE)
		dom->faults[1] = faults ? *faults : none;
	pthread_mutex_unlock(&dom->lock);
}

void loop_set_observer(struct fab_domain *fd, loop_observer_fn fn, void *ctx)
{
	struct loop_domain *dom = (struct loop_domain *)fd;

	pthread_mutex_lock(&dom->observer_lock);
	dom->observer = fn;
	dom->observer_ctx = ctx;
	pthread_mutex_unlock(&dom->observer_lock);
}

void loop_observe(struct loop_domain *dom, const struct loop_event *ev)
{
	pthread_mutex_lock(&dom->observer_lock);
	if (dom->observer)
		dom->observer(dom->observer_ctx, ev);
	pthread_mutex_unlock(&dom->observer_lock);
}
