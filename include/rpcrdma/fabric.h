/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric - reliable-connected RDMA as the transport needs it
 *
 * One table of operations (struct fab_ops), several providers:
 *
 *   iwarp   software iWARP over a TCP socket (MPA, DDP, RDMAP); needs no device
 *   verbs   RDMA devices, through librdmacm and libibverbs
 *
 * Tests have one more, loop (tests/lib/loop): two ends in one process.
 *
 * Objects and owners
 *
 *   struct fab_domain    one instance of a provider: settings, limits, memory.
 *   struct fab_poller    an epoll set. Connections and listeners are tied to
 *                        one at creation. fab_poller_run() waits once and calls
 *                        the ready callbacks. One thread at a time per poller;
 *                        it may be a different thread each time.
 *   struct fab_listener  calls back with a struct fab_conn for each start-up.
 *   struct fab_conn      one connection (queue pair and its completion queue).
 *   struct fab_mr        a registered range of memory of the domain.
 *
 * Threads
 *
 *   The functions of one fab_conn must be called by one thread at a time ("the
 *   runner"), which the caller must ensure (the transport has a strand per
 *   connection). The exceptions, callable from any thread, are fab_conn_schedule() and
 *   the ready callback itself, which the poller thread makes at any time and
 *   which must only arrange for the runner to call fab_poll().
 *   Any thread may call registration, domain and pool functions.
 *
 *   In a domain with FAB_CAP_BOUND not every thread may be the runner. Linux
 *   accepts writes to the files of an RDMA device only from a thread that still
 *   has the credentials with which they were opened. If a thread changes its
 *   credentials, even for a moment (setfsuid(2) is enough), neither it nor any
 *   thread it creates can ever use the device again, and it does not always get
 *   an error. So a domain has its own threads: the thread that opened it, and
 *   those that it or others of them have created, as long as they keep their
 *   credentials. Only these may call the functions of pollers, listeners and
 *   connections. Any other thread is foreign. It may still call fab_conn_schedule(),
 *   fab_poller_wake(), fab_domain_limits(), fab_domain_close(), registration
 *   and the pool, which do not write to these files. An upper layer with
 *   foreign threads must run its connections only in fab_poller_run().
 *
 * Progress
 *
 *   fab_poll() makes progress without blocking (receives, places, sends what is
 *   queued) and returns completions. The runner calls it until it returns 0;
 *   from then on the provider makes a ready callback as soon as there is more.
 *   Posting sends as much at once as the provider can take. A post may complete
 *   immediately, but only fab_poll() returns its completion, and ready is not
 *   called for it: the runner must poll after it has posted.
 *
 * Failure semantics, equal on all providers
 *
 *   A message without a posted Receive, a message longer than its Receive, a
 *   bad handle, missing rights or a bound exceeded end the connection: one
 *   FAB_WC_DISCONNECTED, after all posted work has come back flushed
 *   (FAB_FLUSHED). Nothing is ever placed outside an exposed range.
 *
 * Shared Receives
 *
 *   A Receive is a promise to take a message, and the memory for it.
 *   fab_srq_enable() separates the two: the caller posts Receives without memory,
 *   one for each message that this connection may get, and the provider has
 *   common memory for the messages of all connections, if the device has a
 *   queue for it. A completed Receive names the memory that its message is in.
 *   The promises still belong to each connection: it may get as many messages
 *   as it has Receives, and no longer ones.
 */
#ifndef RPCRDMA_FABRIC_H
#define RPCRDMA_FABRIC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/pace.h"
#include "base/stack.h"
#include "base/timers.h"

struct fab_domain;
struct fab_poller;
struct fab_listener;
struct fab_conn;
struct fab_mr;
struct fab_sge;
struct fab_ops;

/* ---- Domain ---------------------------------------------------------- */

enum fab_cap {
	/* Local memory of work requests needs no registration (mr NULL). */
	FAB_CAP_ANY_LOCAL = 1 << 0,
	/* Send with Invalidate can be posted. */
	FAB_CAP_SEND_INV = 1 << 1,
	/* fab_expose() makes a fresh handle each time, which the peer can
	 * invalidate; without it the handle is that of the whole fab_mr. */
	FAB_CAP_EXPOSE = 1 << 2,
	/* Not an ability: only threads of the domain may use it, see above. */
	FAB_CAP_BOUND = 1 << 3,
	/* Not an ability either: what an RDMA Read brings is taken in part by part
	 * as the poller runs, and not by a device. */
	FAB_CAP_PARTS = 1 << 4,
};

struct fab_limits {
	unsigned int caps; /* enum fab_cap */
	unsigned int max_sge; /* per work request, at least 4 */
	unsigned int max_read_depth; /* outbound and inbound RDMA Reads */
	size_t max_message; /* longest Send, Read or Write */
};

/*
 * iwarp: whether to ask for CRC32c (RFC 5044 section 7.1.1: it is used if one
 * side asks). Auto asks unless both ends have the same IP address or are
 * loopback: what never leaves the memory of one machine gains nothing by it.
 */
enum fab_crc { FAB_CRC_OFF, FAB_CRC_ON, FAB_CRC_AUTO };

struct fab_domain_params {
	base_log_fn log; /* NULL: silent */
	base_log_host_fn log_host; /* of what a peer causes; NULL: log */
	void *log_ctx;
	unsigned int startup_timeout_ms; /* connection start-up; 0: 10000 */
	unsigned int read_depth; /* 0: provider's default (16) */
	enum fab_crc crc;
	size_t max_fpdu; /* iwarp: longest FPDU sent, 0: the longest there is */
	unsigned int max_startup; /* half-open connections allowed, 0: 256 */
};

/*
 * Returns the provider's table by name ("iwarp"), or NULL if it is not built
 * in. That of tests is passed by its symbol.
 */
const struct fab_ops *fab_provider(const char *name);
/*
 * Can the provider listen on @addr of this host? iwarp can on any; verbs on
 * that of a device, and on the wildcard address if a port of one is up.
 */
bool fab_provider_owns(const struct fab_ops *ops, const struct sockaddr *addr);

/*
 * Without @params, defaults, among them FAB_CRC_AUTO. 0; -EINVAL: impossible
 * parameters; -ENOMEM; with a device: -ENODEV: there is none, -EOPNOTSUPP: it
 * lacks what is needed, or what its driver says.
 */
int fab_domain_open(const struct fab_ops *ops,
		    const struct fab_domain_params *params,
		    struct fab_domain **dom);
/* All connections, listeners, pollers and registrations must be gone. */
void fab_domain_close(struct fab_domain *dom);
const struct fab_limits *fab_domain_limits(const struct fab_domain *dom);

/*
 * Shared Receives: where their memory comes from, and how much there is of it.
 */
struct fab_srq_params {
	size_t size; /* octets of each; no Receive is longer */
	unsigned int each; /* Receives of one connection, at most */
	/*
	 * Receives with memory for all connections of a device together. 0: as
	 * many as the connections have posted, so that there is memory for
	 * every message that may come. If there are more connections than that
	 * is enough for, peers may have to send again (RNR), which the device
	 * does for them.
	 */
	unsigned int most;
	/*
	 * Memory of the domain, registered, at least @size octets: fills in
	 * @sge and returns what names it, or NULL: there is none. And give it
	 * back. Any thread, with locks of the provider's held.
	 */
	void *(*alloc)(void *ctx, struct fab_sge *sge);
	void (*free)(void *ctx, void *memory);
	void *ctx;
};

/*
 * From now on Receives of this domain have no memory of their own. Before its
 * first connection. All memory is back when the last one has been destroyed.
 * 0; -EINVAL, -EBUSY: done before, -EOPNOTSUPP: the provider cannot, nothing
 * has changed.
 */
int fab_srq_enable(struct fab_domain *dom, const struct fab_srq_params *share);

struct fab_srq_stats {
	unsigned int queues; /* shared ones of devices */
	unsigned int connections; /* that share one */
	uint64_t promised; /* Receives of those connections */
	uint64_t posted; /* with memory, in the queues */
	uint64_t low; /* how often a queue was nearly empty */
};
/* Any thread. Zeros where nothing is shared. */
void fab_srq_stats(struct fab_domain *dom, struct fab_srq_stats *out);

/* ---- Poller ---------------------------------------------------------- */

/* 0; -ENOMEM, or why there is no descriptor (-EMFILE, ...). */
int fab_poller_create(struct fab_domain *dom, struct fab_poller **p);
void fab_poller_destroy(struct fab_poller *p);
/*
 * Wait up to @timeout_ms (-1: for ever, 0: not at all) and call the callbacks
 * of what is ready, and of timers that are due.
 * Returns the number of callbacks made, 0 on time-out or wake-up.
 */
int fab_poller_run(struct fab_poller *p, int timeout_ms);
/* For timers that fire in its fab_poller_run(). Any thread. */
struct base_timers *fab_poller_timers(struct fab_poller *p);
/* Make a running or the next fab_poller_run() return soon. Any thread. */
void fab_poller_wake(struct fab_poller *p);

/* ---- Memory ---------------------------------------------------------- */

/*
 * Register @len octets at @addr for local use and for fab_expose(). Costly:
 * for pools, not for single requests. 0; -EINVAL, -ENOMEM, or what the
 * device's driver says; -EBUSY: it has failed, and as with fab_dereg() a device
 * has kept it.
 */
int fab_reg(struct fab_domain *dom, void *addr, size_t len, struct fab_mr **mr);
/* False: a device does not let go of the memory, so that it must neither be unmapped
 * nor used for anything else. */
bool fab_dereg(struct fab_mr *mr);

enum fab_access {
	FAB_REMOTE_READ = 1 << 0,
	FAB_REMOTE_WRITE = 1 << 1,
};

/*
 * Open @len octets at @addr (inside @mr) to this connection's peer. On success
 * sets the handle and the offset that go into a segment. Takes effect before
 * any work request posted later. As long as it is open for FAB_REMOTE_WRITE, that
 * part of it which the peer has not written may change, too. The runner calls it.
 * Errors: -EINVAL (outside @mr, bad rights), -ENOSPC (too many), -ENOTCONN,
 * -ENOMEM, or what the device's driver says.
 */
int fab_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	       unsigned int access, uint32_t *handle, uint64_t *offset);
/*
 * Close it again; once for each handle. True: the peer cannot touch the memory
 * any more. False: not yet, since the device has not said that it has opened
 * it, and waiting for that is not for the runner to do. Then FAB_WC_CLOSED
 * follows, with @user, or FAB_WC_DISCONNECTED; until then the memory must be
 * used for nothing else. A handle that the peer has invalidated is already
 * closed: then does nothing. If it cannot be closed the connection ends, and
 * the memory is kept, see fab_mr_quarantine().
 */
bool fab_unexpose(struct fab_conn *c, uint32_t handle, void *user);

/*
 * For providers: a device could not be made to let go of these octets, though
 * their connection has ended. Whoever has memory to give out must not give out
 * what is kept, until the whole of @mr is deregistered: the pool does not. Any
 * thread.
 */
void fab_mr_quarantine(struct fab_mr *mr, const void *addr, size_t len);
bool fab_mr_quarantined(const struct fab_mr *mr, const void *addr, size_t len);

/* ---- Work requests --------------------------------------------------- */

struct fab_sge {
	void *addr;
	size_t len;
	struct fab_mr *mr; /* may be NULL with FAB_CAP_ANY_LOCAL */
};

enum fab_opcode {
	FAB_SEND,
	FAB_SEND_INV, /* Send with Invalidate of @handle */
	FAB_WRITE, /* RDMA Write to @handle, @offset */
	FAB_READ, /* RDMA Read from @handle, @offset into sge */
	FAB_RECV,
};

enum fab_status {
	FAB_OK = 0,
	FAB_FLUSHED, /* the connection ended before it was done */
	FAB_ERROR, /* this one broke the connection */
};

#define FAB_F_SIGNALED 0x1 /* give a completion (Reads always do) */
#define FAB_F_SOLICITED 0x2 /* Send: the solicited form */

/*
 * One work request. The caller owns it, and what sge points to, and lends
 * both to the provider from the post until it is complete: for one that is
 * not signaled, until a later signaled Send or Write of the same connection
 * is complete, or FAB_WC_DISCONNECTED. Flushed requests all give completions.
 * Sends and Writes are performed and completed in the order posted; Reads
 * may be passed by later ones. More Reads than the depth allows wait inside.
 * A Receive has one sge; with fab_srq_enable() that has a length only.
 */
struct fab_wr {
	struct fab_wr *next; /* chain for posting; then the provider's */
	enum fab_opcode op;
	unsigned int flags;
	uint32_t handle;
	uint64_t offset;
	unsigned int nsge;
	struct fab_sge *sge;
	void *user; /* the caller's; not touched */
	/* For the provider while the request is lent to it. */
	uint64_t priv[5];
};

/*
 * Post a chain (linked by next). Returns 0 or a negative errno: -ENOTCONN
 * after the end of the connection (nothing of the chain was taken, and none
 * of it gives a completion), -EINVAL for a bad chain: it is a fault of the
 * caller's, and the connection is of no use after it. Receives may be posted
 * on a connection that is not yet established; a positive result is how many of
 * them, the last ones of the chain, the device has no room for at present: they
 * were not taken.
 */
int fab_post(struct fab_conn *c, struct fab_wr *chain);
int fab_post_recv(struct fab_conn *c, struct fab_wr *chain);

enum fab_wc_kind {
	FAB_WC_WORK, /* @wr is complete, with @status */
	FAB_WC_CLOSED, /* a handle, late: fab_unexpose() was given @user */
	FAB_WC_ESTABLISHED, /* both sides may send; @priv is the peer's data */
	FAB_WC_DISCONNECTED, /* the end; always the last event */
};

struct fab_wc {
	enum fab_wc_kind kind;
	enum fab_status status;
	struct fab_wr *wr;
	void *user; /* CLOSED */
	size_t len; /* Receive: octets received */
	/* Receive without memory of its own, FAB_OK: what the message is in,
	 * as fab_srq_params.alloc() named it. The caller's from now on. */
	void *memory;
	bool invalidated; /* Receive: came with invalidate, of @inv_handle */
	uint32_t inv_handle;
	/* ESTABLISHED, active side: private data, valid until next poll. */
	const uint8_t *priv;
	size_t priv_len;
	/*
	 * DISCONNECTED: 0 in order, by either side, and the peer has what
	 * completed Sends brought; -ECONNREFUSED rejected;
	 * -ETIMEDOUT not started up, or not ended, in time; -ECONNRESET lost;
	 * -ECONNABORTED aborted here; -EPROTO the peer broke the rules;
	 * -ENOMEM; while connecting what the network says (-EHOSTUNREACH, ...);
	 * with a device -ENODEV, -ENETRESET. And why, for the log (static or
	 * owned by the connection).
	 */
	int error;
	const char *reason;
};

/* Up to @n completions; 0: nothing now, ready will be called. */
int fab_poll(struct fab_conn *c, struct fab_wc *wc, int n);
/* Have the poller call ready for this connection soon. Any thread. */
void fab_conn_schedule(struct fab_conn *c);
/*
 * With @quiet, ready need not be called for what comes, until this is called
 * without: then it is called for what has come meanwhile. For the end it is called
 * all the same. The runner calls it, when it will not look for a while.
 */
void fab_conn_mask(struct fab_conn *c, bool quiet);
/*
 * Nothing has come or gone for a while: give back what memory is only of use
 * when something does. The runner calls it; it never fails.
 */
void fab_conn_trim(struct fab_conn *c);
/*
 * The peer has been of use: further connections of its host do not wait behind
 * those of hosts that nobody knows (pace.h). The runner calls it.
 */
void fab_conn_vouch(struct fab_conn *c);

/* ---- Connections ----------------------------------------------------- */

typedef void (*fab_ready_fn)(struct fab_conn *c, void *user);

/* Octets of private data; on verbs at most 196. */
#define FAB_MAX_PRIV 512

struct fab_conn_params {
	const void *priv; /* private data */
	size_t priv_len;
	/* RDMA Read depths asked for; 0: the domain's. The provider lowers
	 * them to what the peer allows. */
	unsigned int read_depth;
};

/*
 * A start-up from a peer has come as far as its private data. Poller thread.
 * The callee must set ready with fab_conn_set_ready(), post its Receives, and
 * call fab_accept() or fab_reject(), now or later. @priv dies with the return.
 */
typedef void (*fab_request_fn)(struct fab_listener *l, struct fab_conn *c,
			       const void *priv, size_t priv_len, void *user);

/*
 * Listen on @addr (port 0: any free one; fab_listener_addr tells).
 * 0 or -EADDRINUSE, -EADDRNOTAVAIL, -EACCES, -EAFNOSUPPORT, -EINVAL, -ENOMEM,
 * and with a device -ENODEV: @addr is not of one that this domain has.
 */
int fab_listen(struct fab_poller *p, const struct sockaddr *addr,
	       socklen_t addrlen, fab_request_fn fn, void *user,
	       struct fab_listener **l);
void fab_listener_addr(const struct fab_listener *l,
		       struct sockaddr_storage *addr);
/*
 * Have the connections that it accepts from now on run by these pollers of its
 * domain, in turn: @p has @n, and is copied. Request callbacks stay where they
 * are. Where the provider cannot, connections stay with the listener's poller,
 * too. Any thread. 0 or -ENOMEM.
 */
int fab_listener_spread(struct fab_listener *l, struct fab_poller *const *p,
			unsigned int n);
/*
 * Could anybody reach it now? With a device: is a port active that has its address,
 * or, if that is any, one of any device? May take some milliseconds, and open devices.
 * Any thread of the domain that is not in a callback of the listener's; not while it
 * is closed.
 */
bool fab_listener_up(struct fab_listener *l);
/* The poller that runs it. */
struct fab_poller *fab_conn_poller(const struct fab_conn *c);
/* No request callback runs after the return. Not from within one. */
void fab_listener_close(struct fab_listener *l);

/* An active connection, not yet started, so that Receives can be posted. 0 or
 * -ENOMEM. */
int fab_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		    struct fab_conn **c);
void fab_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
/*
 * Start it; ESTABLISHED or DISCONNECTED follows. Errors, after which nothing
 * does: -EINVAL, -EAFNOSUPPORT, -EISCONN, -ENOMEM, -ENODEV, and what the
 * network says at once.
 */
int fab_connect(struct fab_conn *c, const struct sockaddr *addr,
		socklen_t addrlen, const struct fab_conn_params *params);
/* ESTABLISHED follows when this side may send (or DISCONNECTED). Not after an
 * error: -EINVAL, -ENOTCONN when the peer has gone, -ENOMEM. */
int fab_accept(struct fab_conn *c, const struct fab_conn_params *params);
/* Refuse; then fab_conn_destroy(). No event follows. */
void fab_reject(struct fab_conn *c, const void *priv, size_t priv_len);
/*
 * End in order: what is posted is still sent, then the connection closes;
 * DISCONNECTED follows, at the latest after a second or so. With @abort,
 * nothing more is sent. Harmless when repeated.
 */
void fab_disconnect(struct fab_conn *c, bool abort);
/*
 * Free. The runner; the connection must have given DISCONNECTED, or never
 * have been started or accepted, or have been rejected. All handles close.
 * No ready callback begins after the return; one may be running in the
 * poller thread, so @user must live until that poller's current
 * fab_poller_run() has returned, which fab_conn_destroy_deferred() waits for:
 * it calls @done (poller thread) when @user may go.
 */
void fab_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *user),
			       void *user);

struct fab_conn_info {
	struct sockaddr_storage local, peer;
	unsigned int read_depth; /* outbound RDMA Reads allowed at once */
	const char *provider;
	bool crc;
};
void fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info);

/* What went over the wire, for statistics and tests (runner, or quiet). */
struct fab_counters {
	uint64_t sends, sends_inv, writes, reads, recvs;
	uint64_t write_bytes, read_bytes, send_bytes, recv_bytes;
	uint64_t peer_writes, peer_write_bytes; /* placed by the peer */
	uint64_t peer_reads, peer_read_bytes; /* fetched by the peer */
	uint64_t posts; /* fab_post calls: "doorbells" */
	uint64_t syscalls; /* sendmsg and recvmsg (iwarp) */
	uint64_t terminates_sent, terminates_received;
};
void fab_conn_counters(const struct fab_conn *c, struct fab_counters *out);

/* ---- What a provider supplies ---------------------------------------- */

/*
 * Each provider embeds struct fab_domain, fab_poller, ... at the start of its
 * own; they hold the table, so that the wrappers can dispatch, and what all
 * providers have alike.
 */
struct fab_domain {
	const struct fab_ops *ops;
	struct fab_limits limits;
	struct fab_domain_params params;
	struct fab_srq_params srq; /* .alloc: NULL if nothing is shared */
	struct base_known known;
	/* Of who wanted to connect: those of whom no fab_request_fn heard. */
	_Atomic uint64_t failed_starts;
	/* How often memory could not be registered, or a device took no work, so
	 * that something waited. */
	_Atomic uint64_t shortages;
};
struct fab_poller {
	const struct fab_ops *ops;
	struct fab_domain *dom;
	struct base_timers timers; /* the provider runs them, see timers.h */
};
struct fab_listener {
	const struct fab_ops *ops;
	struct fab_poller *poller;
};
struct fab_conn {
	const struct fab_ops *ops;
	struct fab_poller *poller;
};
struct fab_mr {
	struct fab_domain *dom;
	void *addr;
	size_t len;
	struct base_stack kept; /* of struct fab_kept, fab_mr_quarantine() */
	atomic_bool all_kept;
};

/* Same contracts as the fab_* functions of the same names. */
struct fab_ops {
	const char *name;
	int (*domain_open)(const struct fab_domain_params *,
			   struct fab_domain **);
	void (*domain_close)(struct fab_domain *);
	/* NULL: it has none; else fab_post_recv() may come without memory. */
	void (*srq_stats)(struct fab_domain *, struct fab_srq_stats *);
	bool (*owns)(const struct sockaddr *); /* NULL: any */
	int (*poller_create)(struct fab_domain *, struct fab_poller **);
	void (*poller_destroy)(struct fab_poller *);
	int (*poller_run)(struct fab_poller *, int timeout_ms);
	void (*poller_wake)(struct fab_poller *);
	int (*reg)(struct fab_domain *, void *, size_t, struct fab_mr **);
	bool (*dereg)(struct fab_mr *);
	int (*expose)(struct fab_conn *, struct fab_mr *, void *, size_t,
		      unsigned int, uint32_t *, uint64_t *);
	bool (*unexpose)(struct fab_conn *, uint32_t, void *);
	int (*post)(struct fab_conn *, struct fab_wr *);
	int (*post_recv)(struct fab_conn *, struct fab_wr *);
	int (*poll)(struct fab_conn *, struct fab_wc *, int);
	void (*schedule)(struct fab_conn *);
	void (*mask)(struct fab_conn *, bool); /* NULL: it always tells */
	void (*trim)(struct fab_conn *); /* NULL: it holds nothing */
	int (*listen)(struct fab_poller *, const struct sockaddr *, socklen_t,
		      fab_request_fn, void *, struct fab_listener **);
	void (*listener_addr)(const struct fab_listener *,
			      struct sockaddr_storage *);
	int (*listener_spread)(struct fab_listener *,
			       struct fab_poller *const *,
			       unsigned int); /* NULL: cannot */
	bool (*listener_up)(struct fab_listener *); /* NULL: always */
	void (*listener_close)(struct fab_listener *);
	int (*conn_create)(struct fab_poller *, fab_ready_fn, void *,
			   struct fab_conn **);
	void (*conn_set_ready)(struct fab_conn *, fab_ready_fn, void *);
	int (*connect)(struct fab_conn *, const struct sockaddr *, socklen_t,
		       const struct fab_conn_params *);
	int (*accept)(struct fab_conn *, const struct fab_conn_params *);
	void (*reject)(struct fab_conn *, const void *, size_t);
	void (*disconnect)(struct fab_conn *, bool);
	void (*conn_destroy_deferred)(struct fab_conn *, void (*)(void *),
				      void *);
	void (*conn_info)(const struct fab_conn *, struct fab_conn_info *);
	void (*conn_counters)(const struct fab_conn *, struct fab_counters *);
};

/* The providers, if they are built in. */
extern const struct fab_ops fab_iwarp_ops, fab_verbs_ops;

#endif /* RPCRDMA_FABRIC_H */
