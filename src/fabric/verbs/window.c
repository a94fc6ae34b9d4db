/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window - memory opened to the peer
 *
 * With type 2 memory windows, opening is a bind in the send queue, ahead of
 * whatever will tell the peer of it, and costs no system call. The usual close
 * is the peer's invalidation: the window is free to be bound again. Otherwise
 * it is deallocated, which revokes it at once (ibv_dealloc_mw(3)), while a
 * local invalidation would wait its turn in the send queue.
 *
 * Without windows each opening is a registration of exactly that range, and
 * closing ends it.
 *
 * Threads: the runner of the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vb.h"

#define BIND_WAIT_MS 1000u

static struct vb_window **find(struct vb_conn *c, uint32_t handle)
{
	/* The low octet counts uses, the rest is the window's number. */
	struct vb_window **link =
		&c->windows[(handle >> 8) % VB_WINDOW_BUCKETS];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

static void set_free(struct vb_conn *c, struct vb_window *w)
{
	w->state = WIN_FREE;
	w->next = c->free_windows;
	c->free_windows = w;
}

static struct vb_window *get_free(struct vb_conn *c, int *rc)
{
	struct vb_window *w = c->free_windows;

	if (w) {
		c->free_windows = w->next;
		return w;
	}
	*rc = -ENOSPC;
	if (c->nwindows == VB_MAX_WINDOWS)
		return NULL;
	*rc = -ENOMEM;
	w = calloc(1, sizeof(*w));
	if (w)
		c->nwindows++;
	return w;
}

static int open_window(struct vb_conn *c, struct vb_window *w,
		       struct fab_mr *mr)
{
	errno = 0;
	if (!w->mw) {
		w->mw = ibv_alloc_mw(c->dev->pd, IBV_MW_TYPE_2);
		if (!w->mw)
			return errno ? -errno : -ENOMEM;
		w->handle = w->mw->rkey;
	}
	w->bind_mr = vb_mr_of(c, mr);
	if (!w->bind_mr)
		return -ENODEV; /* which is on its way to this connection */
	/* Another than the last, even if that was never bound. */
	w->handle = ibv_inc_rkey(w->handle);
	w->wr = (struct fab_wr){ .op = FAB_SEND };
	w->wr.priv[WR_KIND] = KIND_BIND;
	w->state = WIN_QUEUED;
	/* It goes with the next post, which is the first that may name it. */
	wr_append(&c->sq, &w->wr);
	return 0;
}

static int open_range(struct vb_conn *c, struct vb_window *w)
{
	int err = 0;

	w->mr = vb_register(c->dev, (void *)(uintptr_t)w->addr, w->len,
			    w->access | IBV_ACCESS_LOCAL_WRITE, &err);
	if (!w->mr)
		return -err;
	w->handle = w->mr->rkey;
	w->state = WIN_BOUND;
	return 0;
}

int vb_expose(struct fab_conn *fc, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset)
{
	struct vb_conn *c = vb_conn(fc);
	struct vb_window *w, **link;
	int rc = 0;

	if (c->state != ST_OPEN && c->state != ST_ACCEPTED)
		return -ENOTCONN;
	w = get_free(c, &rc);
	if (!w)
		return rc;
	w->addr = (uintptr_t)addr;
	w->len = len;
	w->access = (access & FAB_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
		    (access & FAB_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
	rc = c->dev->windows ? open_window(c, w, mr) : open_range(c, w);
	if (rc) {
		set_free(c, w);
		return rc;
	}
	link = find(c, w->handle);
	w->next = *link;
	*link = w;
	*handle = w->handle;
	*offset = w->addr;
	return 0;
}

void vb_window_bound(struct vb_window *w, uint64_t seq)
{
	/* It may be in use again already. */
	if (w->state == WIN_POSTED && w->seq == seq)
		w->state = WIN_BOUND;
}

void vb_window_invalidated(struct vb_conn *c, uint32_t handle)
{
	struct vb_window **link = find(c, handle), *w = *link;

	/* Of a plain registration the device keeps the rest. */
	if (!w || !w->mw)
		return;
	*link = w->next;
	set_free(c, w);
}

/* The bind is the device's, and not known to be done: revoking the window now
 * might make it fail, and with it the connection. */
static void await_bind(struct vb_conn *c, const struct vb_window *w)
{
	uint64_t end = vb_now_ms() + BIND_WAIT_MS;

	while (w->state == WIN_POSTED && c->state != ST_DEAD) {
		if (!vb_post_last_signaled(c))
			vb_post_probe(c);
		vb_cq_progress(c, VB_TURN);
		/* The probe may lie behind others. */
		vb_post_sends(c);
		if (c->broke)
			vb_conn_dead(c, c->broke, c->broke_reason);
		else if (vb_now_ms() > end)
			vb_conn_dead(c, -ETIMEDOUT,
				     "a window could not be closed in time");
	}
	/* Completions of others may have come with it. */
	vb_poller_kick(c);
}

static void unqueue(struct vb_conn *c, struct fab_wr *gone)
{
	struct wr_list keep = { NULL, NULL };
	struct fab_wr *wr;

	while ((wr = wr_take(&c->sq)))
		if (wr != gone)
			wr_append(&keep, wr);
	c->sq = keep;
}

/* Whatever its state, the peer cannot use it when this returns. */
static void revoke(struct vb_window *w)
{
	if (w->mw)
		ibv_dealloc_mw(w->mw);
	w->mw = NULL;
	if (w->mr)
		ibv_dereg_mr(w->mr);
	w->mr = NULL;
}

void vb_unexpose(struct fab_conn *fc, uint32_t handle)
{
	struct vb_conn *c = vb_conn(fc);
	struct vb_window **link = find(c, handle), *w = *link;

	if (!w)
		return;
	if (w->state == WIN_POSTED) {
		await_bind(c, w);
		/* The end closes all; an invalidation may have come. */
		link = find(c, handle);
		w = *link;
		if (!w)
			return;
	}
	*link = w->next;
	if (w->state == WIN_QUEUED)
		unqueue(c, &w->wr);
	else
		revoke(w);
	set_free(c, w);
}

void vb_windows_close(struct vb_conn *c)
{
	struct vb_window *w;

	for (unsigned int i = 0; i < VB_WINDOW_BUCKETS; i++) {
		while ((w = c->windows[i])) {
			c->windows[i] = w->next;
			revoke(w);
			set_free(c, w);
		}
	}
	for (w = c->free_windows; w; w = w->next)
		revoke(w);
}

void vb_windows_free(struct vb_conn *c)
{
	struct vb_window *w;

	while ((w = c->free_windows)) {
		c->free_windows = w->next;
		free(w);
	}
}
