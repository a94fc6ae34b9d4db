/* SPDX-License-Identifier: BSD-3-Clause */
/* window - memory exposed to the peer. Context: the runner. */
#ifndef RPCRDMA_VERBS_WINDOW_H
#define RPCRDMA_VERBS_WINDOW_H

#include "vb.h"

/* An exposed range. */
struct vb_window {
	struct fab_wr wr; /* for the bind */
	struct vb_window *next; /* in its bucket, or in the free list */
	struct ibv_mw *mw; /* a window, or */
	struct ibv_mr *mr; /* a registration of exactly the range */
	struct ibv_mr *bind_mr;
	uint32_t handle;
	unsigned int access;
	uint64_t addr, len;
	enum { WIN_FREE, WIN_QUEUED, WIN_POSTED, WIN_BOUND } state;
	uint64_t seq; /* of the bind, when posted */
	struct fab_mr *of; /* of which the range is */
	/* Close when the bind completes, and report @user. */
	bool closing;
	void *user;
};

int vb_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	      unsigned int access, uint32_t *handle, uint64_t *offset);
/* vb_unexpose(), but the connection may have to end afterwards. */
bool vb_window_close(struct vb_conn *c, uint32_t handle, void *user);
void vb_window_invalidated(struct vb_conn *c, uint32_t handle);
/* The bind at @seq is complete. */
void vb_window_bound(struct vb_conn *c, struct vb_window *w, uint64_t seq);
/* Make sure that binds that are waited for complete. */
void vb_windows_progress(struct vb_conn *c);
/* Returns true and the @user of a window that was closed late. */
bool vb_window_closed(struct vb_conn *c, void **user);
/* Close all that can be; after the end, since none may be opened again. */
void vb_windows_close(struct vb_conn *c);
/* Quarantine the memory of those still open. */
void vb_windows_quarantine(struct vb_conn *c);
void vb_windows_free(struct vb_conn *c);

#endif /* RPCRDMA_VERBS_WINDOW_H */
