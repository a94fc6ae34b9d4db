/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * expose - what of an end's memory its peer may touch
 *
 * Under the pair's lock, which the two public operations take themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "loop/loop_priv.h"

static struct loop_exposure **find_exposure(struct loop_conn *c,
					    uint32_t handle)
{
	/* Handles are multiples of an odd number: high bits vary most. */
	struct loop_exposure **link =
		&c->exposed[(handle >> 16) % LOOP_BUCKETS];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

static void unexpose_at(struct loop_conn *c, struct loop_exposure **link)
{
	struct loop_exposure *e = *link;

	*link = e->next;
	c->nexposed--;
	atomic_fetch_sub(&e->mr->exposed, 1);
	free(e);
}

int loop_expose(struct fab_conn *fc, struct fab_mr *fm, void *addr, size_t len,
		unsigned int access, uint32_t *handle, uint64_t *offset)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_mr *mr = (struct loop_mr *)fm;
	struct loop_domain *dom = loop_domain_of(c);
	struct loop_exposure *e, **link;
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&c->pair->lock);
	if (c->state == LOOP_DEAD) {
		rc = -ENOTCONN;
	} else if (!(dom->base.limits.caps & FAB_CAP_EXPOSE)) {
		*handle = loop_mr_handle(mr);
		*offset = mr->offset +
			  (uint64_t)((uint8_t *)addr - (uint8_t *)fm->addr);
	} else if (c->nexposed >= dom->max_exposed) {
		rc = -ENOSPC;
	} else if (loop_refuses(&dom->shortage.windows)) {
		rc = -ENOMEM;
	} else if (!(e = calloc(1, sizeof(*e)))) {
		rc = -ENOMEM;
	} else {
		e->mr = mr;
		e->addr = addr;
		e->len = len;
		e->access = access;
		e->handle = loop_new_handle(dom);
		/* Any start will do; this one is never an address. */
		e->offset = (uint64_t)e->handle << 20;
		link = find_exposure(c, e->handle);
		*link = e;
		c->nexposed++;
		atomic_fetch_add(&mr->exposed, 1);
		*handle = e->handle;
		*offset = e->offset;
	}
	pthread_mutex_unlock(&c->pair->lock);
	return rc;
}

bool loop_unexpose(struct fab_conn *fc, uint32_t handle, void *user)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_exposure **link;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&c->pair->lock);
	link = find_exposure(c, handle);
	if (*link)
		unexpose_at(c, link);
	pthread_mutex_unlock(&c->pair->lock);
	return true;
}

void loop_unexpose_all(struct loop_conn *c)
{
	for (unsigned int i = 0; i < LOOP_BUCKETS; i++)
		while (c->exposed[i])
			unexpose_at(c, &c->exposed[i]);
}

/*
 * Copy the first @cut of the @len octets that a request of the peer wants in
 * or out of @c's memory. NULL if the whole is allowed, or why not. An empty
 * operation touches nothing, and its handle is not looked at.
 */
const char *loop_touch(struct loop_conn *c, uint32_t handle, uint64_t offset,
		       void *buf, size_t len, size_t cut, unsigned int access)
{
	struct loop_domain *dom = loop_domain_of(c);
	struct loop_exposure *e;
	uint8_t *p;

	if (!len)
		return NULL;
	if (!(dom->base.limits.caps & FAB_CAP_EXPOSE))
		return loop_mr_copy(dom, handle, offset, buf, len, cut,
				    access == FAB_REMOTE_WRITE,
				    !c->faults.tamper &&
					    !loop_peer_of(c)->faults.tamper) ?
			       NULL :
			       "bad handle or bounds exceeded";
	e = *find_exposure(c, handle);
	if (!e)
		return "bad handle";
	if (!(e->access & access))
		return "missing right";
	if (offset < e->offset || offset - e->offset > e->len ||
	    len > e->len - (offset - e->offset))
		return "bounds exceeded";
	p = e->addr + (offset - e->offset);
	if (access == FAB_REMOTE_WRITE)
		memcpy(p, buf, cut);
	else
		memcpy(buf, p, cut);
	return NULL;
}

bool loop_invalidate(struct loop_conn *c, uint32_t handle)
{
	struct loop_exposure **link = find_exposure(c, handle);

	if (!*link)
		return false;
	unexpose_at(c, link);
	return true;
}
