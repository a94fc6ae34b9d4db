/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window - memory exposed to the peer
 *
 * Exposing binds a type 2 memory window, in the send queue ahead of whatever
 * tells the peer, without a system call. Usually the peer's invalidation closes
 * it, and the window can be bound again. Otherwise it is deallocated, which
 * revokes it at once (ibv_dealloc_mw(3)); a local invalidation would wait in
 * the send queue.
 *
 * A window whose bind is not complete is left alone: revoking it could make the
 * bind fail, and with it the connection. It is closed when the bind completes,
 * which the peer can delay, and FAB_WC_CLOSED tells its owner.
 *
 * Without windows each exposure is a registration of exactly that range.
 *
 * If the device cannot revoke, the connection ends (section 7.4); if not even
 * destroying the queue pair helps, the memory stays in quarantine.
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "vb.h"
#include "window.h"

static struct vb_window **find_window(struct vb_conn *c, uint32_t handle)
{
	/* The low octet counts uses, the rest is the window's number. */
	struct vb_window **link =
		&c->windows[(handle >> 8) % VB_WINDOW_BUCKETS];

	while (*link && (*link)->handle != handle)
		link = &(*link)->next;
	return link;
}

static void window_put_free(struct vb_conn *c, struct vb_window *w)
{
	w->state = WIN_FREE;
	w->next = c->free_windows;
	c->free_windows = w;
}

static struct vb_window *window_get_free(struct vb_conn *c, int *rc)
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
		return -ENODEV; /* the connection will be told */
	/* Never the last one again, even if that was not bound. */
	w->handle = ibv_inc_rkey(w->handle);
	w->wr = (struct fab_wr){ .op = FAB_SEND };
	w->wr.priv[WR_KIND] = KIND_BIND;
	w->state = WIN_QUEUED;
	/* Posted first, so that whatever names it comes later. */
	wr_append(&c->sq, &w->wr);
	return 0;
}

static int open_range(struct vb_conn *c, struct vb_window *w)
{
	int err = 0;

	w->mr = vb_register(c->dev, (void *)(uintptr_t)w->addr, w->len,
			    w->access | IBV_ACCESS_LOCAL_WRITE, &c->ev.peer,
			    &err);
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

	if (vb_conn_is_lent(c) ||
	    (c->state != VB_ST_OPEN && c->state != VB_ST_ACCEPTED))
		return -ENOTCONN;
	w = window_get_free(c, &rc);
	if (!w)
		return rc;
	w->of = mr;
	w->addr = (uintptr_t)addr;
	w->len = len;
	w->access = (access & FAB_REMOTE_READ ? IBV_ACCESS_REMOTE_READ : 0) |
		    (access & FAB_REMOTE_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0);
	rc = c->dev->windows ? open_window(c, w, mr) : open_range(c, w);
	if (rc) {
		window_put_free(c, w);
		return rc;
	}
	link = find_window(c, w->handle);
	w->next = *link;
	*link = w;
	*handle = w->handle;
	*offset = w->addr;
	return 0;
}

/* ---- Closing --------------------------------------------------------- */

/* Returns true if the peer cannot use it any more. */
static bool window_revoke(struct vb_conn *c, struct vb_window *w)
{
	if (w->mw && vb_device_keeps(c->dev, ibv_dealloc_mw(w->mw)))
		return false;
	w->mw = NULL;
	if (w->mr && vb_device_keeps(c->dev, vb_deregister(c->dev, w->mr)))
		return false;
	w->mr = NULL;
	return true;
}

/* It is out of its bucket. */
static void window_closed(struct vb_conn *c, struct vb_window *w)
{
	if (!w->closing) {
		window_put_free(c, w);
		return;
	}
	w->closing = false;
	c->nclosing--;
	w->next = c->closed_windows;
	c->closed_windows = w;
}

/* Returns false if the connection has to end. */
static bool revoke_one(struct vb_conn *c, struct vb_window *w)
{
	struct vb_window **link = find_window(c, w->handle);

	if (!window_revoke(c, w)) {
		vb_conn_fail(c, -EIO,
			     "the peer's access to memory cannot be revoked");
		return false;
	}
	*link = w->next;
	window_closed(c, w);
	return true;
}

void vb_window_bound(struct vb_conn *c, struct vb_window *w, uint64_t seq)
{
	/* It may be in use again. */
	if (w->state != WIN_POSTED || w->seq != seq)
		return;
	w->state = WIN_BOUND;
	if (w->closing)
		revoke_one(c, w);
}

void vb_window_invalidated(struct vb_conn *c, uint32_t handle)
{
	struct vb_window **link = find_window(c, handle), *w = *link;

	/* A plain registration stays valid. */
	if (!w || !w->mw)
		return;
	*link = w->next;
	window_closed(c, w);
}

static void dequeue_bind(struct vb_conn *c, struct fab_wr *gone)
{
	struct wr_list keep = { NULL, NULL };
	struct fab_wr *wr;

	while ((wr = wr_take(&c->sq)))
		if (wr != gone)
			wr_append(&keep, wr);
	c->sq = keep;
}

bool vb_window_close(struct vb_conn *c, uint32_t handle, void *user)
{
	struct vb_window **link = find_window(c, handle), *w = *link;

	/* The end has closed all, or quarantined their memory. */
	if (!w || c->state == VB_ST_DEAD)
		return true;
	switch (w->state) {
	case WIN_QUEUED:
		*link = w->next;
		dequeue_bind(c, &w->wr);
		window_put_free(c, w);
		return true;
	case WIN_POSTED:
		c->nclosing += !w->closing;
		w->closing = true;
		w->user = user;
		vb_windows_progress(c);
		break;
	case WIN_BOUND:
	case WIN_FREE:
		if (revoke_one(c, w))
			return true;
		vb_conn_end(c, c->broke, c->broke_reason);
		break;
	}
	return false;
}

void vb_windows_progress(struct vb_conn *c)
{
	/* The last request may be signaled already. */
	if (c->nclosing && !vb_post_last_signaled(c))
		vb_post_probe(c);
}

bool vb_window_closed(struct vb_conn *c, void **user)
{
	struct vb_window *w = c->closed_windows;

	if (!w)
		return false;
	c->closed_windows = w->next;
	*user = w->user;
	window_put_free(c, w);
	return true;
}

void vb_windows_close(struct vb_conn *c)
{
	struct vb_window *w, **link;

	for (unsigned int i = 0; i < VB_WINDOW_BUCKETS; i++) {
		link = &c->windows[i];
		while ((w = *link)) {
			/* DISCONNECTED reports it. */
			w->closing = false;
			if (!window_revoke(c, w)) {
				link = &w->next;
				continue;
			}
			*link = w->next;
			window_put_free(c, w);
		}
	}
	c->nclosing = 0;
	for (w = c->free_windows; w; w = w->next)
		(void)window_revoke(c, w); /* grants no access */
}

void vb_windows_quarantine(struct vb_conn *c)
{
	struct vb_window *w;

	for (unsigned int i = 0; i < VB_WINDOW_BUCKETS; i++) {
		for (w = c->windows[i]; w; w = w->next) {
			fab_mr_quarantine(w->of, (void *)(uintptr_t)w->addr,
					  w->len);
			fab_domain_log_peer(
				c->ev.fab.poller->dom, &c->ev.peer, 3,
				"verbs: %s: a peer's access to memory cannot be revoked; "
				"%zu bytes are lost",
				c->dev->name, (size_t)w->len);
		}
	}
}

static void free_list(struct vb_window *w)
{
	struct vb_window *next;

	for (; w; w = next) {
		next = w->next;
		free(w);
	}
}

void vb_windows_free(struct vb_conn *c)
{
	for (unsigned int i = 0; i < VB_WINDOW_BUCKETS; i++)
		free_list(c->windows[i]);
	free_list(c->closed_windows);
	free_list(c->free_windows);
}
