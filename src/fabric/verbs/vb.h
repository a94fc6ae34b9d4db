/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vb - the objects of the verbs provider
 *
 * RDMA devices through librdmacm and libibverbs: InfiniBand, RoCE and iWARP, in
 * hardware or in the kernel. A domain uses every device of the host, or those
 * that it is told to use. A connection has the limits of its device. Prefix:
 * vb_. Differences from iwarp:
 *
 * - On InfiniBand and RoCE a request carries at most 56 octets of private data,
 *   an answer 196 and a rejection 148, padded with zeros.
 * - The peer's RDMA Writes and Reads are not seen: their counters stay 0.
 * - The side whose Receive, handle or bound was missed may only see that the
 *   peer has closed the connection.
 * - The receive queue is created when the connection starts, for twice the
 *   Receives posted by then and at least 256. More Receives wait, unseen by the
 *   peer.
 *
 * Context
 *
 * The poller thread alone reads the event channels (connection manager,
 * completions, devices), and notifies connections. All else of a connection is
 * its runner's. Shared are: what event_loop.h says; the completion queue and
 * what was polled from it (cq_lock, see cq_poll.c); cm, which the poller thread
 * writes before it sets an event bit and the runner reads after it has taken
 * that; the poller's list of connections (poller lock).
 *
 * Commands that create, change or destroy queues take the firmware of a device
 * up to a millisecond each. So each poller has a setup thread (setup.c), to
 * which the runner lends a connection twice: when it is to be connected or
 * accepted, and when it has ended. While it is lent, the setup thread does and
 * owns what is otherwise the runner's, and the runner only remembers what is
 * asked for (conn.c, resume()). Two changes of a pair stay in the poller thread:
 * to connect one of an active connection (rdma_get_cm_event()), and to close one
 * in order (rdma_disconnect()).
 *
 * cm_lock is held over rdma_get_cm_event(), and while a pair is taken from its
 * id to be destroyed. Other commands may run at the same time: libibverbs permits
 * that, and nothing takes a pair out of its error state.
 *
 * FAB_CAP_BOUND: librdmacm's calls, and with rxe and siw also posting and
 * requesting events, write to a device's file, which only threads of the domain
 * may do (fabric.h). Registration, protection domains and closing files are
 * ioctls or no commands at all, which any thread may make.
 *
 * Lock order: listener, domain, cm_lock, poller, the event loop's. None is held
 * over a ready callback; the listener's is held over its request callback. A
 * device's srq_lock is held over calls of the device and the log only.
 *
 * Isolation of connections
 *
 * One protection domain for each device serves all connections, because memory
 * of the pool is registered once. It is as strong as one for each connection,
 * since a peer can name nothing in it at large:
 *
 * - Slabs are registered without remote rights: their keys are useless on the
 *   wire (but see siw in device_caps.c).
 * - fab_expose() binds a type 2 memory window of exactly that range and those
 *   rights to one queue pair. The device refuses its key on any other
 *   (InfiniBand 1.4, 10.6.7.2.3).
 * - A device without usable type 2 windows (siw, rxe: device_caps.c) gets a
 *   registration of exactly that range and those rights, until fab_unexpose().
 *   Its key is valid on all connections of the device meanwhile: another peer
 *   would have to guess it, and each attempt costs it the connection. The
 *   domain logs that this is weaker. It matters little: a server exposes memory
 *   only for reverse-direction Calls with chunks, and a client whose servers do
 *   not trust each other has the iwarp provider, where handles belong to the
 *   connection.
 * - An iWARP adapter places Read data by a key with the right to remote writing
 *   (RFC 5040 section 5.2.2). Each Read gets such a key for its range while it
 *   lasts.
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

/* At a time. */
#define VB_MAX_DEVICES 32u
#define VB_MAX_SGE 16u
#define VB_MIN_SGE 4u /* as fabric.h promises */
/* To librdmacm 255 means "as many as the device has". */
#define VB_MAX_DEPTH 254u
#define VB_MAX_MESSAGE ((size_t)1 << 30)
#define VB_SQ_DEPTH 256u
#define VB_RQ_DEPTH 256u
#define VB_INLINE 220u
#define VB_MIN_INLINE 32u /* less would be of no use */
#define VB_MAX_WINDOWS 1024u
#define VB_WINDOW_BUCKETS 64u
/* Work requests posted by one call. */
#define VB_BATCH 32u
/* Completions that the poller thread polls at once. */
#define VB_FOUND 8u

/* Places of a shared queue, and how many of them are spare. */
#define VB_SRQ_DEPTH 8192u
#define VB_SRQ_SPARE 16u
/* Worn queues of a device, before no more are created. */
#define VB_SRQ_WORN 16u
/* The time between two events of a queue that may run low. */
#define VB_SRQ_QUIET_MS 1000u

/* In ibv_wc.wr_id: the receive queue. */
#define VB_RECV_ID ((uint64_t)1 << 63)

#define VB_LINGER_MS 1000u
#define VB_KEEPALIVE_MS 20000u
/* Then a probe asks for a first message that siw has overlooked. */
#define VB_FIRST_MS 200u
#define VB_RESOLVE_MS 4000
#define VB_REOPEN_MS 1000u
/* The time after which a device that lacks room is tried again. */
#define VB_SHORT_MS 20u

/*
 * Retries when nothing answers: nearly the maximum. With the time-outs that the
 * connection manager derives from the path, a connection survives about ten
 * seconds without a link. (rxe takes 7 for "for ever".) RNR retries: none,
 * since flow control promises a Receive for every message. A missing one is an
 * error, which retries would only hide while both sides wait.
 */
#define VB_RETRIES 6
#define VB_RNR_RETRIES 0
/*
 * With a shared queue a promised Receive may be missing for a moment: another
 * peer has sent too much, or fewer are configured than promised. Then the
 * message is repeated without limit (7), after 0.64 ms (12) each time.
 */
#define VB_RNR_SHARED 7
#define VB_RNR_TIMER 12

/* The context of an rdma_cm_id. */
struct vb_cm_source {
	/* Poller thread. Acknowledges @ev. Returns how many callbacks it has
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

/* Objects of which a device has a certain number. */
enum vb_object { VB_QP, VB_CQ, VB_MR, VB_OBJECTS };

/* A device that was used; never freed before the domain. */
struct vb_device {
	struct fab_source async_src;
	struct vb_domain *dom;
	unsigned int index;
	struct vb_device *before; /* a retired one that had the index, or NULL */
	_Atomic(struct ibv_context *) ctx; /* NULL: retired */
	/* Keeps ctx open, and is told of its removal; NULL if that failed. */
	struct rdma_event_channel *hold_channel;
	struct rdma_cm_id *hold;
	struct fab_source hold_src;
	struct ibv_pd *pd;
	char name[64];
	struct fab_limits limits;
	unsigned int max_wr, max_sge_rd, max_cqe;
	unsigned int max_srq_wr; /* 0: no shared queues */
	unsigned int out_depth, in_depth;
	bool iwarp, windows;
	bool siw; /* Linux' siw */
	struct ibv_cq *filler; /* siw_filler_create() */
	/* Octets of inline data that a new queue pair asks for. */
	atomic_uint inline_room;
	atomic_uint used[VB_OBJECTS]; /* by this domain */
	unsigned int most[VB_OBJECTS]; /* that the device has */
	/* Reads need a key with the right to remote writing. */
	bool sink_rights;
	unsigned int inv_flag; /* in ibv_wc.wc_flags: with invalidate */
	atomic_bool gone;
	atomic_uint conns;
	atomic_uint next_vector;

	pthread_mutex_t srq_lock; /* what follows, and what it points to */
	struct vb_srq_queue srqs;
	struct vb_srq *srq; /* joined by new connections */
	bool srq_refused; /* none could be created: do not try again */
	bool srq_worn_told;
	unsigned int srq_low;
};

struct vb_domain {
	struct fab_domain fab;
	unsigned int startup_ms, depth;
	unsigned int keepalive_ms; /* 0: quiet connections are not probed */
	char *devices; /* see struct fab_domain_params */
	/* Tests only: use windows with known flaws too. */
	bool any_windows;
	_Atomic(struct vb_device *) dev[VB_MAX_DEVICES];
	/* Counts changes that may allow to retire a device. */
	atomic_uint changes;
	atomic_bool memlock_told, waits_told, low_told, options_told, siw_told;
	/* A listener has no address of its own, and so no device. */
	atomic_bool listens_any;
	/* Hosts whose device refuses the probe, which it should not. */
	struct base_known unprobed;

	pthread_mutex_t lock; /* what follows, and adding a device */
	unsigned int ndevs; /* indexes that have been used */
	struct vb_mr_queue mrs;
	struct vb_poller_queue pollers;
};

struct vb_mr {
	struct fab_mr fab;
	TAILQ_ENTRY(vb_mr) link;
	_Atomic(struct ibv_mr *) mr[VB_MAX_DEVICES];
	bool lost; /* a device could not deregister it */
};

enum vb_timer_kind {
	VB_TIMER_STARTUP,
	VB_TIMER_LINGER,
	VB_TIMER_KEEPALIVE,
	VB_TIMER_FIRST,
	VB_TIMER_SHORT,
};

/* Completion events of one device and one poller. */
struct vb_channel {
	struct fab_source src;
	struct ibv_comp_channel *channel;
	/* Queues for which an event is requested. */
	atomic_int armed;
};

struct vb_poller {
	struct fab_ev_loop ev;
	TAILQ_ENTRY(vb_poller) link; /* domain lock */
	struct fab_source cm_src;
	struct rdma_event_channel *cm;
	pthread_mutex_t cm_lock;
	/* Poller thread. */
	unsigned int changes_seen;
	struct vb_conn_queue polled; /* see cq_poll.c */
	struct fab_retired *
		stuck; /* connections that vb_conn_release() could not release */
	unsigned int skipped; /* runs without epoll */

	pthread_t setup; /* setup.c */
	void (*setup_work)(struct vb_conn *c);
	/* With the lock: to_setup or setup_stops changes, or a connection is back. */
	pthread_cond_t setup_cond;

	pthread_mutex_t lock; /* what follows */
	struct vb_conn_queue to_setup;
	bool setup_stops;
	uint32_t left; /* bits of devices that this poller has left */
	struct vb_channel channels[VB_MAX_DEVICES];
	struct vb_conn_queue conns;
};

struct vb_listener {
	struct fab_ev_listener ev; /* its timer: time to reopen */
	struct vb_cm_source src;
	/* Under ev.lock. NULL: its address has gone. */
	struct rdma_cm_id *id;
};

/* Bits of fab_ev_conn.events. */
#define VB_EV_ADDR 0x1u
#define VB_EV_ROUTE 0x2u
#define VB_EV_UP 0x4u
#define VB_EV_FAIL 0x8u /* start failed, see cm.failed and cm.status */
#define VB_EV_DOWN 0x10u
#define VB_EV_GONE 0x20u /* the device was removed */
#define VB_EV_MOVED 0x40u /* the address moved to another device */
#define VB_EV_QP 0x80u /* queue pair or completion queue broken */
#define VB_EV_STARTUP 0x100u
#define VB_EV_LINGER 0x200u
#define VB_EV_TICK 0x400u
#define VB_EV_PROBE 0x800u
#define VB_EV_RULE 0x1000u /* the device reports that the peer broke a rule */
#define VB_EV_FIRST 0x2000u
#define VB_EV_SRQ 0x4000u /* shared receive queue broken or low */
#define VB_EV_SHORT 0x8000u

enum vb_state {
	VB_ST_IDLE, /* active, not started */
	VB_ST_ADDR, /* active, until CONNECTING: waits for address, route, answer */
	VB_ST_ROUTE,
	VB_ST_PAIRING, /* lent: the setup thread creates the pair, connects or accepts */
	VB_ST_CONNECTING,
	VB_ST_REQUESTED, /* passive: to be accepted or rejected */
	VB_ST_ACCEPTED, /* passive: waits for the peer's confirmation */
	VB_ST_OPEN,
	VB_ST_CLOSING, /* orderly close by this side: posted work is sent */
	VB_ST_LINGER, /* disconnect sent, waiting for the answer */
	VB_ST_ENDING, /* vb_conn_end() was called */
	VB_ST_DEAD, /* all work flushed */
	VB_ST_REJECTED,
};

/* In fab_wr.priv: enum vb_wr_kind. */
#define WR_KIND WR_OWN

enum vb_wr_kind {
	KIND_USER,
	KIND_BIND, /* of a window */
	KIND_PROBE, /* empty, for its completion */
};

/* A place of the send queue. */
struct vb_slot {
	struct fab_wr *wr;
	struct ibv_mr *sink; /* a Read's own key, on iWARP */
	struct fab_mr *sink_of; /* of which its range is */
	bool signaled, read, last, done;
};

struct vb_conn {
	struct fab_ev_conn ev; /* its timer: enum vb_timer_kind */
	struct vb_cm_source src;
	enum vb_state state;

	/* Shared; see above. */
	TAILQ_ENTRY(vb_conn) link; /* poller lock */
	bool listed; /* poller lock */
	TAILQ_ENTRY(vb_conn) setup_link; /* poller lock */
	atomic_bool lent; /* set by the runner; cleared under the poller lock */
	pthread_mutex_t cq_lock; /* cq and the next four */
	struct ibv_wc found[VB_FOUND];
	unsigned int nfound;
	bool cq_broken;
	bool cq_detached; /* its pair is destroyed: do not poll */
	atomic_bool armed; /* counted in its channel's */
	TAILQ_ENTRY(vb_conn) poll_link; /* poller thread, with the next two */
	bool polled;
	unsigned int idle_polls;
	bool stuck; /* poller thread: could not be released */
	struct {
		uint8_t priv[256];
		size_t priv_len;
		unsigned int out_depth, in_depth;
		enum rdma_cm_event_type failed;
		int status;
	} cm;

	/* The runner's, even while it is lent: asked for meanwhile. */
	struct wr_list later; /* Receives */
	bool unwanted; /* its end */

	/* The runner's from here on, or the setup thread's while it is lent. */
	struct rdma_cm_id *id;
	struct vb_device *dev;
	struct ibv_cq *cq;
	bool connected;
	uint8_t priv[256];
	size_t priv_len;

	/* Send queue: a ring of sq_depth slots with running numbers; those in
	 * [sq_tail, sq_head) are outstanding. */
	struct vb_slot *slot;
	uint64_t sq_head, sq_tail;
	unsigned int sq_depth, sq_unsignaled, max_inline;
	struct wr_list sq; /* not yet posted */
	struct wr_list reads; /* Reads beyond the depth */
	unsigned int reads_out;
	struct fab_wr probe;
	bool probe_out;
	uint64_t probed_at; /* ms; when the last one was posted */
	bool signal_all; /* the close cannot use a probe */
	/* A batch, with slots, for which the device lacks room. */
	struct vb_batch *held;

	/* Receive queue: rslot has what the device holds, rq what is not yet posted. With a
	 * shared queue all posted Receives are in rq, and @promised counts them. */
	struct fab_wr **rslot;
	uint64_t rq_head, rq_tail;
	unsigned int rq_depth;
	struct wr_list rq;
	struct vb_srq *srq;
	unsigned int promised;

	struct vb_window *windows[VB_WINDOW_BUCKETS];
	struct vb_window *free_windows;
	struct vb_window *closed_windows; /* closed late, to be reported */
	unsigned int nwindows, nclosing;

	uint64_t heard, heard_last; /* counts completions, as signs of life */
	int broke; /* of the first failed completion */
	bool incomplete; /* completions may have been lost */
	const char *broke_reason;
	char reason_text[160]; /* for vb_conn_reason() */
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

static inline void vb_conn_set_device(struct vb_conn *c, struct vb_device *dev)
{
	c->dev = dev;
	c->ev.fab.limits = dev ? &dev->limits : NULL;
}

static inline bool vb_conn_is_lent(const struct vb_conn *c)
{
	return atomic_load(&c->lent);
}

static inline void vb_conn_schedule(struct vb_conn *c)
{
	fab_ev_conn_schedule(&c->ev.fab);
}

/* Returns the device's registration of @mr, or NULL. */
static inline struct ibv_mr *vb_mr_of(const struct vb_conn *c,
				      struct fab_mr *mr)
{
	return atomic_load_explicit(&vb_mr(mr)->mr[c->dev->index],
				    memory_order_acquire);
}

/* Returns the next smaller size of inline data to try, or 0 for none. */
static inline unsigned int vb_less_inline(unsigned int size)
{
	return size / 2 < VB_MIN_INLINE ? 0 : size / 2;
}

/* Returns 0 if the device has gone, which takes nothing then. */
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

/* registration.c; any thread */
int vb_reg(struct fab_domain *d, void *addr, size_t len, struct fab_mr **mr);
bool vb_dereg(struct fab_mr *mr);
/* The domain closes: try once more to deregister what could not be before. */
void vb_memory_destroy(struct vb_domain *d);
/* Register with one device. @peer is whose request needs it, or NULL. Returns NULL and
 * sets *@err after logging the reason. */
struct ibv_mr *vb_register(struct vb_device *dev, void *addr, size_t len,
			   unsigned int access,
			   const struct sockaddr_storage *peer, int *err);
/* Returns 0 or an errno. */
int vb_deregister(struct vb_device *dev, struct ibv_mr *mr);
/* Say once what helps, if @err means that the limit on locked memory is reached. */
void vb_memlock_hint(struct vb_domain *d, int err);

/* poller.c */
int vb_poller_create(struct fab_domain *dom, struct fab_poller **p);
void vb_poller_destroy(struct fab_poller *p);
int vb_poller_run(struct fab_poller *p, int timeout_ms);

/* cq_poll.c; the poller thread unless said otherwise */
/* Get the channel for completions of @dev, created at the first use. The
 * runner. */
int vb_cq_channel(struct vb_poller *p, struct vb_device *dev,
		  struct ibv_comp_channel **channel);
/* Request an event. Returns 0 or an errno. The poller thread with cq_lock, or the
 * setup thread at the start. */
int vb_cq_arm(struct vb_conn *c);
/* The event has come, or will not. */
void vb_cq_disarm(struct vb_conn *c);
void vb_cq_poll_remove(struct vb_poller *p, struct vb_conn *c);
/* Poll all polled queues, or request their events instead. Both call ready
 * where something has come, and return how many. */
int vb_cq_poll_all(struct vb_poller *p);
int vb_cq_arm_all(struct vb_poller *p);
/* The runner. Returns up to @n completions in order. Sets *@broken if the queue
 * is broken, and all have been returned. */
unsigned int vb_cq_take(struct vb_conn *c, struct ibv_wc *wc, unsigned int n,
			bool *broken);
/* The runner. Return what was polled, but poll no more. */
void vb_cq_detach(struct vb_conn *c);

/* cm_event.c; poller thread */
/* For a poller's cm_src. */
int vb_cm_event(struct fab_ev_loop *ev, struct fab_source *src,
		uint32_t events);
/* For a connection's source. */
int vb_cm_conn_event(struct vb_cm_source *src, struct rdma_cm_event *ev);

/* listener.c */
int vb_listen(struct fab_poller *p, const struct sockaddr *addr,
	      socklen_t addrlen, fab_request_fn fn, void *user,
	      struct fab_listener **l);
/* fab_ops.owns. Opens devices: a daemon must have forked before. */
bool vb_owns(const struct sockaddr *addr, const char *devices);
bool vb_listener_up(struct fab_listener *l);
void vb_listener_close(struct fab_listener *l);

/* setup.c */
/* Start the thread, which calls @work for each connection that is lent. Returns 0 or
 * -errno. Stop it when nothing is lent any more. */
int vb_setup_start(struct vb_poller *p, void (*work)(struct vb_conn *c));
void vb_setup_stop(struct vb_poller *p);
/* The runner lends @c. When it is back, it is scheduled. */
void vb_setup_lend(struct vb_conn *c);
/* Poller lock held: wait for it. */
void vb_setup_await(struct vb_conn *c);

/* cm_startup.c; the runner. The connection may have to end afterwards, or to be
 * lent. */
/* Before @id resolves an address, listens or accepts: what the domain's parameters say of
 * its packets. The poller thread, too. */
void vb_set_id_options(struct vb_domain *d, struct rdma_cm_id *id);
int vb_startup_connect(struct vb_conn *c, const struct sockaddr *addr,
		       socklen_t addrlen, const struct fab_conn_params *params);
int vb_startup_accept(struct vb_conn *c, const struct fab_conn_params *params);
void vb_reject(struct fab_conn *c, const void *priv, size_t priv_len);
void vb_startup_progress(struct vb_conn *c, unsigned int ev);
/* Create the queues, connect or accept. The setup thread. */
void vb_startup_pair(struct vb_conn *c);

/* conn.c; the runner */
/* Do what its state asks of the setup thread. That thread. */
void vb_conn_setup(struct vb_conn *c);
int vb_conn_alloc(struct vb_poller *p, fab_ready_fn ready, void *user,
		  struct vb_conn **c);
/* Poller thread. After a removal connections that are stuck may be released. */
void vb_conn_retry_stuck(struct vb_poller *p);
int vb_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		   struct fab_conn **c);
void vb_disconnect(struct fab_conn *c, bool abort);
unsigned int vb_silent_ms(struct fab_conn *c);
/* Returns true if the peer's device is known to refuse the probe. */
bool vb_conn_unprobed(struct vb_conn *c);
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
/* Work has failed: the connection ends in its next turn. The first reason
 * stands, and precedes that of vb_conn_end(). */
void vb_conn_fail(struct vb_conn *c, int error, const char *reason);
/* Format a reason, with which the layer above logs the end of the connection. */
const char *vb_conn_reason(struct vb_conn *c, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* There is one timer, which @kind replaces. */
void vb_conn_timer_set(struct vb_conn *c, enum vb_timer_kind kind);
/* The device lacks room: count that, try again within VB_SHORT_MS. */
void vb_conn_retry_later(struct vb_conn *c);

/* post.c; the runner */
int vb_post_chain(struct vb_conn *c, struct fab_wr *chain);
int vb_post_recv_chain(struct vb_conn *c, struct fab_wr *chain);
/* Post what the device has room for. */
void vb_post_sends(struct vb_conn *c);
/* Returns false if the device lacks room or memory for some. */
bool vb_post_receives(struct vb_conn *c);
/* Post an empty request, so that all that is outstanding completes. */
void vb_post_probe(struct vb_conn *c);
/* Returns true if a completion will report the last request, or there is none. If not, post a
 * probe. */
bool vb_post_last_signaled(const struct vb_conn *c);

/* cq.c; the runner */
/* Process up to @budget completions. Returns how many. */
unsigned int vb_cq_progress(struct vb_conn *c, unsigned int budget);
/* Flush what has no completion. @keeps: the device could not destroy the queue
 * pair; quarantine the memory. */
void vb_cq_flush(struct vb_conn *c, bool keeps);

#endif /* RPCRDMA_VERBS_VB_H */
