/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * window - ranges of memory that the peer may use
 *
 * Threads: the runner.
 */
#ifndef RPCRDMA_VERBS_WINDOW_H
#define RPCRDMA_VERBS_WINDOW_H

#include "vb.h"

/* A range that the peer may use. */
struct vb_window {
	struct fab_wr wr; /* for binding */
	struct vb_window *next; /* in its bucket, or of the free ones */
	struct ibv_mw *mw; /* or */
	struct ibv_mr *mr; /* of exactly the range */
	struct ibv_mr *bind_mr;
	uint32_t handle;
	unsigned int access;
	uint64_t addr, len;
	enum { WIN_FREE, WIN_QUEUED, WIN_POSTED, WIN_BOUND } state;
	uint64_t seq; /* of the bind, when posted */
	struct fab_mr *of; /* what the range is of */
	/* To be closed as soon as the bind is done, and @user to be told. */
	bool closing;
	void *user;
};

int vb_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset);
/* As vb_unexpose(), but that the connection may have to end afterwards. */
bool vb_window_close(struct vb_conn *c, uint32_t handle, void *user);
/* The peer has invalidated it. */
void vb_window_invalidated(struct vb_conn *c, uint32_t handle);
/* Its bind, at @seq, is done. */
void vb_window_bound(struct vb_conn *c, struct vb_window *w, uint64_t seq);
/* See to it that the end of each bind that is waited for is told. */
void vb_windows_progress(struct vb_conn *c);
/* Has one been closed late? Then *@user is whom to tell. */
bool vb_window_closed(struct vb_conn *c, void **user);
/* Close all; after the end, since nothing must be opened again. Those that
 * cannot be are left. */
void vb_windows_close(struct vb_conn *c);
/* The memory of what is still open is never used for anything else. */
void vb_windows_quarantine(struct vb_conn *c);
void vb_windows_free(struct vb_conn *c);

#endif /* RPCRDMA_VERBS_WINDOW_H */
