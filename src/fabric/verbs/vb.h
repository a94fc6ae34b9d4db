/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vb - the objects of the verbs provider, for its own files
 *
 * Threads and owners
 *
 *   The poller thread alone reads the event channels (connection manager,
 *   completions, devices). It tells a connection what it saw by bits and the
 *   ready callback; everything else of a connection is done by its runner.
 *   Shared are only: what events.h has of it; the completion queue and what was
 *   found in it (cq_lock, see cq_poll.c); cm, which the poller thread writes before
 *   it sets a bit and the runner reads after it has taken it; the poller's list
 *   of connections (poller lock).
 *
 *   librdmacm changes the state of the queue pair from within
 *   rdma_get_cm_event(), in the poller thread. So that call, and whatever the
 *   runner does to the pair that is not posting or polling, is done under the
 *   poller's cm_lock.
 *
 *   FAB_CAP_BOUND: what librdmacm does, and with rxe and siw also posting and
 *   asking for completions, is a write to a device's file. So only threads of
 *   the domain (fabric.h) come to those. Registration, protection domains and closing
 *   files are ioctls or no commands at all, which any thread may make.
 *
 * Lock order: listener, domain, poller's cm_lock, poller, events.h's. None is held over a
 * ready callback; the listener's is held over its request callback. A device's
 * srq_lock (srq.c) is held over nothing but calls of the device and of the log.
 *
 * Isolation of connections
 *
 *   There is one protection domain for each device, because memory of the pool
 *   is registered once and serves all connections. It is as strong as one for
 *   each connection, since nothing in it can be named by a peer at large:
 *
 *   - Slabs are registered without any remote right: their keys are useless
 *     on the wire, whichever connection a peer tries them on (but see siw in
 *     device.c).
 *   - What fab_expose() opens is a type 2 memory window of exactly the range
 *     and rights asked for. It is bound to one queue pair; the device refuses
 *     its key on any other (InfiniBand 1.4, 10.6.7.2.3).
 *   - A device without type 2 windows (Linux' siw), or with those of Linux'
 *     rxe (see device.c), gets a registration of exactly the range and rights
 *     instead, closed by fab_unexpose(). Its key is valid on all connections
 *     of the device while it is open: another peer would have to guess it, and
 *     each attempt costs it the connection. That is weaker, and the domain
 *     says so when it is opened. It matters little: a server opens memory only
 *     for reverse-direction Calls with chunks, and a client whose servers do
 *     not trust each other has the iwarp provider, where handles are the
 *     connection's own.
 *   - An iWARP adapter places the answer to a Read by a key with the right to
 *     remote writing (RFC 5040 section 5.2.2). The range of each Read gets
 *     such a key for as long as the Read lasts, and no more.
 */
#ifndef RPCRDMA_VERBS_VB_H
#define RPCRDMA_VERBS_VB_H

#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/queue.h>

#include "base/turn.h"
#include "fabric/provider/event_loop.h"

/* Devices that a domain may meet in its life; one that was removed and came
 * back counts again. */
#define VB_MAX_DEVICES 32u
#define VB_MAX_SGE 16u
/* 255 is not a number to librdmacm, but "as many as the device has", which it
 * counts in an octet. */
#define VB_MAX_DEPTH 254u
#define VB_MAX_MESSAGE ((size_t)1 << 30)
#define VB_SQ_DEPTH 256u
#define VB_RQ_DEPTH 256u
#define VB_INLINE 220u
#define VB_MAX_WINDOWS 1024u
#define VB_WINDOW_BUCKETS 64u
/* Work requests given to the device by one call. */
#define VB_BATCH 32u
/* Completions that the poller thread takes out of a queue at once. */
#define VB_FOUND 8u

/* Receives of a shared queue: places, and how many there are to spare. */
#define VB_SRQ_DEPTH 8192u
#define VB_SRQ_SPARE 16u
/* Queues of a device that may have lost too many, before no more are made. */
#define VB_SRQ_WORN 16u
/* So long is nothing told after a queue has run low that may. */
#define VB_SRQ_QUIET_MS 1000u

/* In ibv_wc.wr_id: of the receive queue. */
#define VB_RECV_ID ((uint64_t)1 << 63)

#define VB_LINGER_MS 1000u
#define VB_KEEPALIVE_MS 20000u
/* After which a first message that siw has left lying is asked for. */
#define VB_FIRST_MS 200u
#define VB_RESOLVE_MS 4000
#define VB_REOPEN_MS 1000u
/* A device that lacks room is tried again after this time at the latest. */
#define VB_SHORT_MS 20u

/*
 * How often an end sends again when nothing answers, and when no Receive is
 * posted at the other. The first is nearly the most there is: with the
 * time-outs that the connection manager derives from the path a connection
 * survives some ten seconds without a link. (Linux' rxe takes 7 for "for
 * ever".) The second is none: flow control promises a Receive for every
 * message, so a missing one is an error, and repeating would only hide it for
 * as long as both sides wait.
 */
#define VB_RETRIES 6
#define VB_RNR_RETRIES 0
/*
 * With a shared queue there may for a moment be none for a message that was
 * promised one, because another peer has sent more than it may, or because the
 * administrator has set fewer than are promised. Then it is sent again, as
 * often as it takes (7 means that), after 0.64 ms (12) each.
 */
#define VB_RNR_SHARED 7
#define VB_RNR_TIMER 12

/* What an rdma_cm_id's context names. */
struct vb_cm_source {
	/* Poller thread. Acknowledges @ev; returns how many callbacks it has
	 * made. */
	int (*event)(struct vb_cm_source *src, struct rdma_cm_event *ev);
};

struct vb_domain;
struct vb_srq;
struct vb_window;
struct vb_conn;
struct vb_listener;
struct vb_poller;
TAILQ_HEAD(vb_conn_queue, vb_conn);
TAILQ_HEAD(vb_poller_queue, vb_poller);
TAILQ_HEAD(vb_mr_queue, vb_mr);
TAILQ_HEAD(vb_srq_queue, vb_srq);

/* One that has been used; what names it lives as long as the domain. */
struct vb_device {
	struct fab_source async_src;
	struct vb_domain *dom;
	unsigned int index;
	_Atomic(struct ibv_context *) ctx; /* NULL: retired */
	/* Keeps ctx open, and hears of its removal. NULL: not to be had. */
	struct rdma_event_channel *hold_channel;
	struct rdma_cm_id *hold;
	struct fab_source hold_src;
	struct ibv_pd *pd;
	char name[64];
	unsigned int max_wr, max_sge, max_sge_rd, max_cqe;
	unsigned int max_srq_wr; /* 0: no shared queues */
	unsigned int out_depth, in_depth;
	bool iwarp, windows;
	bool siw; /* Linux' siw, which has limits of its own */
	struct ibv_cq *filler; /* siw: fill_trap() */
	atomic_bool no_inline; /* its queue pairs have no VB_INLINE */
	/* Reads need a key with the right to remote writing. */
	bool sink_rights;
	unsigned int inv_flag; /* in ibv_wc.wc_flags: "with invalidate" */
	atomic_bool gone;
	atomic_uint conns;
	atomic_uint next_vector;

	pthread_mutex_t srq_lock; /* what follows, and what it points to */
	struct vb_srq_queue srqs;
	struct vb_srq *srq; /* that new connections join */
	bool srq_refused; /* none could be made: not tried again */
	bool srq_worn_told;
	unsigned int srq_low;
};

struct vb_domain {
	struct fab_domain fab;
	unsigned int startup_ms, keepalive_ms, depth;
	/* For tests: use windows that are known for flaws as well. */
	bool any_windows;
	_Atomic(struct vb_device *) dev[VB_MAX_DEVICES];
	/* Counts what might let a device that has gone be retired. */
	atomic_uint changes;
	atomic_bool memlock_told, waits_told, low_told;

	pthread_mutex_t lock; /* what follows, and adding a device */
	unsigned int ndevs;
	struct vb_mr_queue mrs;
	struct vb_poller_queue pollers;
};

struct vb_mr {
	struct fab_mr fab;
	TAILQ_ENTRY(vb_mr) link;
	_Atomic(struct ibv_mr *) mr[VB_MAX_DEVICES];
	bool lost; /* a device did not let go of it */
};

/* What a connection waits for. */
enum vb_timer_kind {
	VB_TIMER_STARTUP,
	VB_TIMER_LINGER,
	VB_TIMER_KEEPALIVE,
	VB_TIMER_FIRST,
	VB_TIMER_SHORT,
};

/* Completions of a device for the connections of a poller. */
struct vb_channel {
	struct fab_source src;
	struct ibv_comp_channel *channel;
	/* Queues that will tell; each does so once. */
	atomic_int armed;
};

struct vb_poller {
	struct fab_ev_loop ev;
	TAILQ_ENTRY(vb_poller) link; /* domain lock */
	struct fab_source cm_src;
	struct rdma_event_channel *cm;
	pthread_mutex_t cm_lock;
	/* The poller thread's. */
	unsigned int changes_seen;
	struct vb_conn_queue polled; /* see cq_poll.c */
	struct fab_retired *
		stuck; /* connections whose queue pairs could not be destroyed */
	unsigned int skipped; /* runs that did not look at files */

	pthread_mutex_t lock; /* what follows */
	uint32_t left; /* bits of devices that this one has let go of */
	struct vb_channel channels[VB_MAX_DEVICES];
	struct vb_conn_queue conns;
};

struct vb_listener {
	struct fab_ev_listener ev; /* its timer: its device has gone */
	struct vb_cm_source src;
	/* Under ev.lock. NULL: waits for its address to come back. */
	struct rdma_cm_id *id;
};

/* Bits of fab_ev_conn.events: what the poller saw. */
#define VB_EV_ADDR 0x1u
#define VB_EV_ROUTE 0x2u
#define VB_EV_UP 0x4u
#define VB_EV_FAIL 0x8u /* of the start; cm.failed and cm.status tell */
#define VB_EV_DOWN 0x10u
#define VB_EV_GONE 0x20u /* the device */
#define VB_EV_MOVED 0x40u /* the address to another device */
#define VB_EV_QP 0x80u /* queue pair or completion queue broken */
#define VB_EV_STARTUP 0x100u
#define VB_EV_LINGER 0x200u
#define VB_EV_TICK 0x400u
#define VB_EV_PROBE 0x800u
#define VB_EV_RULE 0x1000u /* the peer broke a rule, says the device */
#define VB_EV_FIRST 0x2000u
#define VB_EV_SRQ 0x4000u /* a shared receive queue broken */
#define VB_EV_SHORT 0x8000u

enum vb_state {
	VB_ST_IDLE, /* active, not started */
	VB_ST_ADDR, /* active: address, then route, then the answer to come */
	VB_ST_ROUTE,
	VB_ST_CONNECTING,
	VB_ST_REQUESTED, /* passive: accept or reject to come */
	VB_ST_ACCEPTED, /* passive: the peer's confirmation to come */
	VB_ST_OPEN,
	VB_ST_CLOSING, /* locally ended in order: what was posted goes out */
	VB_ST_LINGER, /* disconnect is sent, its answer to come */
	VB_ST_ENDING, /* vb_conn_end() was called */
	VB_ST_DEAD, /* all work flushed */
	VB_ST_REJECTED,
};

/* In fab_wr.priv: enum vb_wr_kind. */
#define WR_KIND WR_OWN

enum vb_wr_kind {
	KIND_USER,
	KIND_BIND, /* a window's */
	KIND_PROBE, /* nothing, but with a completion */
};

/* A place of the send queue. */
struct vb_slot {
	struct fab_wr *wr;
	struct ibv_mr *sink; /* a Read's own key, if it needs one */
	struct fab_mr *sink_of; /* what its range is of */
	bool signaled, read, last, done;
};

struct vb_conn {
	struct fab_ev_conn ev; /* its timer: of a vb_timer_kind */
	struct vb_cm_source src;
	enum vb_state state;

	/* Shared; see the head of this file. */
	TAILQ_ENTRY(vb_conn) link; /* poller lock */
	bool listed; /* poller lock */
	pthread_mutex_t cq_lock; /* cq and the next four */
	struct ibv_wc found[VB_FOUND];
	unsigned int nfound;
	bool cq_broken;
	bool cq_detached; /* not to be looked into: its pair is no more */
	atomic_bool armed; /* its queue is among those of its channel */
	TAILQ_ENTRY(vb_conn) poll_link; /* poller thread, with the next two */
	bool polled;
	unsigned int idle_polls;
	bool stuck; /* poller thread: its queues are the device's for good */
	struct {
		uint8_t priv[256];
		size_t priv_len;
		unsigned int out_depth, in_depth;
		enum rdma_cm_event_type failed;
		int status;
	} cm;

	/* The runner's from here on. */
	struct rdma_cm_id *id;
	struct vb_device *dev;
	struct ibv_cq *cq;
	bool connected;
	uint8_t priv[256];
	size_t priv_len;

	/* Send queue: a ring of sq_depth slots, numbered from 0 on for ever;
	 * of those in [sq_tail, sq_head) the device has not given all back. */
	struct vb_slot *slot;
	uint64_t sq_head, sq_tail;
	unsigned int sq_depth, sq_unsignaled, max_inline;
	struct wr_list sq; /* not yet given to the device */
	struct wr_list reads; /* Reads waiting for depth */
	unsigned int reads_out;
	struct fab_wr probe;
	bool probe_out;
	/* Work requests that have slots and that the device has not taken yet: post.c. */
	struct vb_batch *held;

	/* Receive queue: likewise. Or a shared one: then what was posted waits
	 * in rq, and there are @promised of them. */
	struct fab_wr **rslot;
	uint64_t rq_head, rq_tail;
	unsigned int rq_depth;
	struct wr_list rq;
	struct vb_srq *srq;
	unsigned int promised;

	struct vb_window *windows[VB_WINDOW_BUCKETS];
	struct vb_window *free_windows;
	struct vb_window *closed_windows; /* whose end is to be told */
	unsigned int nwindows, nclosing;

	uint64_t heard, heard_last; /* signs of life of the peer */
	int broke; /* what the first failed completion says */
	bool incomplete; /* completions may have been lost */
	const char *broke_reason;
	char reason_text[160]; /* if it is not a constant one */
};

static inline struct vb_domain *vb_domain(struct fab_domain *d)
{
	return container_of(d, struct vb_domain, fab);
}

static inline struct vb_poller *vb_poller(struct fab_poller *p)
{
	return container_of(p, struct vb_poller, ev.fab);
}

static inline struct vb_conn *vb_conn(struct fab_conn *c)
{
	return container_of(c, struct vb_conn, ev.fab);
}

static inline struct vb_mr *vb_mr(struct fab_mr *mr)
{
	return container_of(mr, struct vb_mr, fab);
}

static inline struct vb_poller *vb_conn_poller(const struct vb_conn *c)
{
	return vb_poller(c->ev.fab.poller);
}

static inline struct vb_domain *vb_conn_domain(const struct vb_conn *c)
{
	return vb_domain(c->ev.fab.poller->dom);
}

static inline void vb_conn_schedule(struct vb_conn *c)
{
	fab_ev_conn_schedule(&c->ev.fab);
}

/* The device's registration of @mr, or NULL. */
static inline struct ibv_mr *vb_mr_of(const struct vb_conn *c,
				      struct fab_mr *mr)
{
	return atomic_load_explicit(&vb_mr(mr)->mr[c->dev->index],
				    memory_order_acquire);
}

/* Its key; 0 if there is none: the device has gone, and takes nothing. */
static inline uint32_t vb_lkey_of(const struct vb_conn *c, struct fab_mr *mr)
{
	const struct ibv_mr *m = vb_mr_of(c, mr);

	return m ? m->lkey : 0;
}

static inline void vb_copy_addr(struct sockaddr_storage *to,
				const struct sockaddr *from)
{
	if (from && from->sa_family == AF_INET)
		memcpy(to, from, sizeof(struct sockaddr_in));
	else if (from && from->sa_family == AF_INET6)
		memcpy(to, from, sizeof(struct sockaddr_in6));
}

/* Returns 0 or -errno. */
static inline int vb_set_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

/* memory.c; any thread */
int vb_reg(struct fab_domain *d, void *addr, size_t len, struct fab_mr **mr);
bool vb_dereg(struct fab_mr *mr);
/* The domain closes: try once more to deregister what could not be before. */
void vb_memory_destroy(struct vb_domain *d);
/* Register with one device. @peer is whose request needs it, or NULL. Returns NULL and
 * sets *@err after logging the reason. */
struct ibv_mr *vb_register(struct vb_device *dev, void *addr, size_t len,
			   unsigned int access,
			   const struct sockaddr_storage *peer, int *err);
/* Say once what helps, if @err means that the limit on locked memory is reached. */
void vb_memlock_hint(struct vb_domain *d, int err);

/* poller.c */
int vb_poller_create(struct fab_domain *dom, struct fab_poller **p);
void vb_poller_destroy(struct fab_poller *p);
int vb_poller_run(struct fab_poller *p, int timeout_ms);

/* cq_poll.c; the poller thread unless said otherwise */
/* The channel for completions of @dev. The runner. */
int vb_cq_channel(struct vb_poller *p, struct vb_device *dev,
		  struct ibv_comp_channel **channel);
/* Have it told when something comes into the queue of @c; 0 or an errno. The
 * poller thread, or the runner at the start. */
int vb_cq_arm(struct vb_conn *c);
/* It will not be, or has been. */
void vb_cq_disarm(struct vb_conn *c);
void vb_cq_poll_remove(struct vb_poller *p, struct vb_conn *c);
/* Look at what is polled, or ask for events of it instead. Both call ready of
 * those where something has come, and return how many. */
int vb_cq_poll_all(struct vb_poller *p);
int vb_cq_arm_all(struct vb_poller *p);
/* The runner. Up to @n completions, in their order. *@broken: the queue is of no use, once
 * none are left. */
unsigned int vb_cq_take(struct vb_conn *c, struct ibv_wc *wc, unsigned int n,
			bool *broken);
/* The runner. No more than has been found: the queue is not looked into again. */
void vb_cq_detach(struct vb_conn *c);

/* cm_event.c: the connection manager's events; poller thread */
/* Of a poller's cm_src. */
int vb_cm_event(struct fab_ev_loop *ev, struct fab_source *src,
		uint32_t events);
/* Of a connection's source. */
int vb_cm_conn_event(struct vb_cm_source *src, struct rdma_cm_event *ev);

/* listener.c */
int vb_listen(struct fab_poller *p, const struct sockaddr *addr,
	      socklen_t addrlen, fab_request_fn fn, void *user,
	      struct fab_listener **l);
/* Returns true if a device of this host has @addr. Any address counts once a port is up. */
bool vb_owns(const struct sockaddr *addr);
bool vb_listener_up(struct fab_listener *l);
void vb_listener_close(struct fab_listener *l);

/* cm_startup.c; the runner. As vb_connect() and vb_accept(), but that it may have
 * to end afterwards. */
int vb_startup_connect(struct vb_conn *c, const struct sockaddr *addr,
		       socklen_t addrlen, const struct fab_conn_params *params);
int vb_startup_accept(struct vb_conn *c, const struct fab_conn_params *params);
void vb_reject(struct fab_conn *c, const void *priv, size_t priv_len);
void vb_startup_progress(struct vb_conn *c, unsigned int ev);

/* conn.c; the runner */
int vb_conn_alloc(struct vb_poller *p, fab_ready_fn ready, void *user,
		  struct vb_conn **c);
/* Poller thread: the removal of their device may have freed those that are
 * stuck. */
void vb_conn_retry_stuck(struct vb_poller *p);
int vb_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **c);
void vb_disconnect(struct fab_conn *c, bool abort);
int vb_poll(struct fab_conn *c, struct fab_wc *wc, int n);
int vb_connect(struct fab_conn *c, const struct sockaddr *addr,
	       socklen_t addrlen, const struct fab_conn_params *params);
int vb_accept(struct fab_conn *c, const struct fab_conn_params *params);
int vb_post(struct fab_conn *c, struct fab_wr *chain);
int vb_post_recv(struct fab_conn *c, struct fab_wr *chain);
bool vb_unexpose(struct fab_conn *c, uint32_t handle, void *user);

/* conn_state.c; the runner */
/* Ask for the end of the connection; the first reason stands. */
void vb_conn_end(struct vb_conn *c, int error, const char *reason);
/* Note that work has failed, which ends the connection in its next turn. The first
 * reason stands, and takes precedence over that of vb_conn_end(). */
void vb_conn_fail(struct vb_conn *c, int error, const char *reason);
/* Format a reason. The layer above logs the end of each connection once, with this. */
const char *vb_conn_reason(struct vb_conn *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void vb_conn_timer_set(struct vb_conn *c, enum vb_timer_kind kind);
/* The device lacks room: count that, and try again within VB_SHORT_MS. */
void vb_conn_retry_later(struct vb_conn *c);

/* post.c; the runner */
int vb_post_chain(struct vb_conn *c, struct fab_wr *chain);
int vb_post_recv_chain(struct vb_conn *c, struct fab_wr *chain);
/* Give the device what it has room for. */
void vb_post_sends(struct vb_conn *c);
/* Give the device the Receives that it has room for. False: it lacks room or memory. */
bool vb_post_receives(struct vb_conn *c);
/* See to it that all that the device has gets a completion some time. */
void vb_post_probe(struct vb_conn *c);
bool vb_post_last_signaled(const struct vb_conn *c);

/* cq.c; the runner */
/* Handle up to @budget completions; how many there were. */
unsigned int vb_cq_progress(struct vb_conn *c, unsigned int budget);
/* What the device gave no completion for. It must have let go of them; or, with
 * @keeps, has not, and their memory is kept. */
void vb_cq_flush(struct vb_conn *c, bool keeps);

#endif /* RPCRDMA_VERBS_VB_H */
