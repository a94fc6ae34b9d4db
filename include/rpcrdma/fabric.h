/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric - reliable-connected RDMA as the transport needs it. Prefix: fab_.
 *
 * One table of operations (struct fab_ops), several providers: iwarp, software
 * iWARP over a TCP socket, which needs no device; verbs, RDMA devices through
 * librdmacm and libibverbs. Tests have one more, loop (tests/lib/loop), with
 * both ends in one process.
 *
 *   struct fab_domain    one instance of a provider: settings, limits, memory
 *   struct fab_poller    an epoll set, to which connections and listeners are tied
 *                        at creation. fab_poller_run() waits once and makes the
 *                        callbacks; one thread at a time per poller.
 *   struct fab_listener  makes a callback with a struct fab_conn for each start-up
 *   struct fab_conn      one connection (queue pair and its completion queue)
 *   struct fab_mr        a registered range of memory of the domain
 *
 * Context
 *
 * One thread at a time, "the runner", may call the functions of a fab_conn; the
 * transport has a strand for that. Exceptions, from any thread:
 * fab_conn_schedule(). The poller thread makes the ready callback at any time;
 * it must only arrange for the runner to call fab_poll(). Any thread may call
 * registration, domain and pool functions.
 *
 * With FAB_CAP_BOUND not every thread may be the runner. Linux accepts writes
 * to the files of an RDMA device only from a thread that still has the
 * credentials with which they were opened. A thread that changes its
 * credentials, even for a moment (setfsuid(2) is enough), can never use the
 * device again, nor can threads that it creates, and it does not always get an
 * error. So a domain has its own threads: the one that opened it and those
 * created by its own threads, as long as they keep their credentials. Only
 * these may call the functions of pollers, listeners and connections. Any other
 * thread is foreign, and may call only what does not write to these files:
 * fab_conn_schedule(), fab_poller_wake(), fab_domain_limits(),
 * fab_domain_close(), registration and the pool. An upper layer with foreign
 * threads must run its connections only in fab_poller_run().
 *
 * Progress
 *
 * fab_poll() makes progress without blocking and returns completions. The
 * runner calls it until it returns 0; from then on there is a ready callback as
 * soon as there is more. Posting sends as much as the provider takes at once. A
 * post may complete immediately, without a ready callback: the runner must poll
 * after it has posted.
 *
 * Failures, equal on all providers
 *
 * A message without a posted Receive, a message longer than its Receive, a bad
 * handle, missing rights or an exceeded bound end the connection: one
 * FAB_WC_DISCONNECTED, after all posted work has been returned as FAB_FLUSHED.
 * Nothing is ever placed outside an exposed range.
 *
 * Shared Receives
 *
 * A Receive is a promise to take a message, and the memory for it.
 * fab_srq_enable() separates the two: the caller posts Receives without memory,
 * one for each message that this connection may get, and the device has a
 * shared receive queue (SRQ) with memory for the messages of all connections. A
 * completed Receive names the memory of its message. The promises stay with
 * each connection, and so does the length.
 */
#ifndef RPCRDMA_FABRIC_H
#define RPCRDMA_FABRIC_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
	/* fab_expose() makes a fresh handle, which the peer can invalidate;
	 * otherwise the handle is that of the whole fab_mr. */
	FAB_CAP_EXPOSE = 1 << 2,
	/* Only threads of the domain may use it, see above. */
	FAB_CAP_BOUND = 1 << 3,
	/* The poller, not a device, receives RDMA Read data, part by part. */
	FAB_CAP_PARTS = 1 << 4,
};

/*
 * Of a domain: what holds for each of its connections. With verbs that is what
 * all devices have in common; those of a connection are its device's, and may
 * be wider. ANY_LOCAL, BOUND and PARTS are the same for all of a domain.
 */
struct fab_limits {
	unsigned int caps; /* enum fab_cap */
	unsigned int max_sge; /* per work request, at least 4 */
	unsigned int max_read_depth; /* outbound and inbound RDMA Reads */
	size_t max_message; /* longest Send, Read or Write */
};

/*
 * iwarp: whether to ask for CRC32c, which is used if one side asks (RFC 5044
 * section 7.1.1). AUTO asks unless both ends have the same IP address or are
 * loopback.
 */
enum fab_crc { FAB_CRC_OFF, FAB_CRC_ON, FAB_CRC_AUTO };

struct fab_domain_params {
	base_log_fn log; /* NULL: silent */
	base_log_host_fn log_host; /* what peers cause; NULL: log */
	void *log_ctx;
	unsigned int startup_timeout_ms; /* connection start-up; 0: 10000 */
	unsigned int read_depth; /* 0: 16 */
	enum fab_crc crc;
	size_t max_fpdu; /* iwarp: longest FPDU to send; 0: no limit */
	unsigned int max_startup; /* half-open connections; 0: 256 */
	/* So many connections of unknown hosts are accepted at once, but at least
	 * BASE_PACE_NEW_BURST (pace.h). */
	unsigned int max_new;
	/*
	 * Returns true if @peer may connect to this end, by one of @devices
	 * (@chosen) or another device. It is called before anything is
	 * allocated for the connection; if it returns false, the connection is
	 * refused without a log line, and does not count as a failed start.
	 * Must not block. NULL: all may. Context: poller threads.
	 */
	bool (*admit)(void *ctx, const struct sockaddr_storage *peer,
		      bool chosen);
	void *admit_ctx;
	/* verbs: names of the devices to use, with commas between them; NULL or
	 * "": all. */
	const char *devices;
	/* Of the packets that are sent: type of service (IPv4) or traffic class
	 * (IPv6); if not given, the system's. On InfiniBand and RoCE both ends
	 * use that of the side that connects. */
	bool service_type_given;
	uint8_t service_type;
	/* verbs: time-out of an acknowledgement, 4.096 us * 2^n, at most 31; 0:
	 * what the connection manager derives from the path. */
	uint8_t ack_timeout;
	/* verbs: silence after which a peer is probed; 0: 20000; FAB_NEVER: it
	 * is not. */
	unsigned int keepalive_ms;
};

#define FAB_NEVER UINT_MAX

/* Returns the table of "iwarp" or "verbs", or NULL if it is not built in. */
const struct fab_ops *fab_provider(const char *name);
/*
 * Returns true if the provider can listen on @addr of this host: iwarp always;
 * verbs if one of @devices (as in struct fab_domain_params) has it, or for a
 * wildcard address any address, on a port that is up.
 */
bool fab_provider_owns(const struct fab_ops *ops, const struct sockaddr *addr,
		       const char *devices);

/*
 * @params NULL: defaults, with FAB_CRC_AUTO. Returns 0, -EINVAL or -ENOMEM;
 * with a device also -ENODEV, -EOPNOTSUPP if all lack what is needed, or what
 * the driver says.
 */
int fab_domain_open(const struct fab_ops *ops,
		    const struct fab_domain_params *params,
		    struct fab_domain **dom);
/* All connections, listeners, pollers and registrations must be gone. */
void fab_domain_close(struct fab_domain *dom);
const struct fab_limits *fab_domain_limits(const struct fab_domain *dom);
/* Until the connection has a device, which a passive one always has, those of its
 * domain. Context: the runner. */
const struct fab_limits *fab_conn_limits(const struct fab_conn *c);

/* The memory of a shared receive queue. */
struct fab_srq_params {
	size_t size; /* octets of each Receive */
	unsigned int each; /* Receives of one connection, at most */
	/*
	 * Receives in the queue of a device. 0: as many as its connections have
	 * posted, so that every message has memory. With fewer, peers may have
	 * to repeat messages (RNR), which their devices do.
	 */
	unsigned int most;
	/*
	 * Allocate at least @size registered octets: sets @sge and returns
	 * their name, or NULL. Context: any thread, with locks of the provider
	 * held.
	 */
	void *(*alloc)(void *ctx, struct fab_sge *sge);
	void (*free)(void *ctx, void *memory);
	void *ctx;
};

/*
 * From now on Receives of this domain have no memory of their own. Call it
 * before the first connection. All memory is freed when the last connection is
 * destroyed. Returns 0, -EINVAL, -EBUSY if enabled before, or -EOPNOTSUPP if
 * the provider has no SRQ.
 */
int fab_srq_enable(struct fab_domain *dom, const struct fab_srq_params *share);

struct fab_srq_stats {
	unsigned int queues;
	unsigned int connections; /* that use one */
	uint64_t promised; /* Receives of those connections */
	uint64_t posted; /* with memory, in the queues */
	uint64_t low; /* how often a queue was nearly empty */
};
/* Context: any thread. Zeros without an SRQ. */
void fab_srq_stats(struct fab_domain *dom, struct fab_srq_stats *out);

/* X(name, help) for each kind of error that devices count at their ports. */
#define FAB_PORT_COUNTERS(X)                                       \
	X(retransmitted, "packets or segments sent again")         \
	X(duplicates, "requests of peers that came again")         \
	X(timeouts, "time-outs of acknowledgements")               \
	X(rnr, "messages without a Receive, here or at a peer")    \
	X(out_of_sequence, "packets that came out of sequence")    \
	X(congestion, "congestion notifications, sent and heeded") \
	X(discarded, "packets discarded, or with errors")

enum fab_port_counter {
#define FAB_PORT_COUNTER(name, help) FAB_PORT_##name,
	FAB_PORT_COUNTERS(FAB_PORT_COUNTER)
#undef FAB_PORT_COUNTER
		FAB_NPORT_COUNTERS
};

/* Since the driver was loaded, by whichever programs. */
struct fab_port {
	char device[64];
	unsigned int port; /* from 1 */
	unsigned int has; /* 1 << kind: the device counts it */
	uint64_t count[FAB_NPORT_COUNTERS];
};
typedef void (*fab_port_fn)(const struct fab_port *port, void *arg);
/* Call @fn for each port of the devices that the domain has used or listened on;
 * of providers without devices there are none. The kernel may ask firmware.
 * Context: any thread but those that move data. */
void fab_for_each_port(struct fab_domain *dom, fab_port_fn fn, void *arg);

/* X(name, help) for each kind of object of which a device has a certain number. */
#define FAB_DEVICE_OBJECTS(X)                  \
	X(queue_pairs, "of connections")       \
	X(completion_queues, "of connections") \
	X(memory_regions, "registered with it")

enum fab_device_object {
#define FAB_DEVICE_OBJECT(name, help) FAB_DEVICE_##name,
	FAB_DEVICE_OBJECTS(FAB_DEVICE_OBJECT)
#undef FAB_DEVICE_OBJECT
		FAB_NDEVICE_OBJECTS
};

struct fab_device {
	char name[64];
	unsigned int used[FAB_NDEVICE_OBJECTS]; /* by the domain */
	unsigned int most[FAB_NDEVICE_OBJECTS]; /* that the device has, for all */
};
typedef void (*fab_device_fn)(const struct fab_device *device, void *arg);
/* Call @fn for each device that the domain has used; of providers without
 * devices there are none. Context: any thread. */
void fab_for_each_device(struct fab_domain *dom, fab_device_fn fn, void *arg);

/* What to print of devices. */
struct fab_report {
	bool brief; /* lines that begin with "# ", and nothing of the host */
	size_t conn_memory; /* octets that one connection receives in */
	const char *devices; /* as in struct fab_domain_params */
	/* Only devices that have one of these addresses, of which a wildcard
	 * means all; with 0 all devices. */
	unsigned int naddrs;
	const struct sockaddr_storage *addr;
};
/*
 * Print a report of the provider's devices: what they are and can do, what
 * follows for connections, and what to look after. It has addresses of this host
 * and no secrets. Returns how many devices it has, or -EOPNOTSUPP if the
 * provider has none. Opens devices. Context: any thread whose credentials do not
 * change.
 */
int fab_report(const struct fab_ops *ops, FILE *out,
	       const struct fab_report *how);

/* ---- Poller ---------------------------------------------------------- */

/* Returns 0, -ENOMEM, or why there is no descriptor (-EMFILE, ...). */
int fab_poller_create(struct fab_domain *dom, struct fab_poller **p);
void fab_poller_destroy(struct fab_poller *p);
/*
 * Wait up to @timeout_ms (-1: for ever, 0: not at all) and make the callbacks
 * of what is ready, and of due timers. Returns how many, 0 on time-out or
 * wake-up.
 */
int fab_poller_run(struct fab_poller *p, int timeout_ms);
/* For timers that fire in fab_poller_run(). Context: any thread. */
struct base_timers *fab_poller_timers(struct fab_poller *p);
/* Make this or the next fab_poller_run() return soon. Context: any thread. */
void fab_poller_wake(struct fab_poller *p);

/* ---- Memory ---------------------------------------------------------- */

/*
 * Register memory for local use and for fab_expose(). Costly: for pools, not
 * for single requests. Returns 0, -EINVAL, -ENOMEM, or what the driver says.
 * -EBUSY: it has failed, and the memory is in quarantine as after fab_dereg().
 */
int fab_reg(struct fab_domain *dom, void *addr, size_t len, struct fab_mr **mr);
/* Returns false if a device could not deregister it: the memory must then
 * neither be unmapped nor used. */
bool fab_dereg(struct fab_mr *mr);

enum fab_access {
	FAB_REMOTE_READ = 1 << 0,
	FAB_REMOTE_WRITE = 1 << 1,
};

/*
 * Expose @len octets at @addr, inside @mr, to the peer of this connection. Sets
 * the handle and offset for a segment, which are valid for work requests posted
 * later. While it is exposed for FAB_REMOTE_WRITE, any part that the peer has
 * not written may change too. Returns 0, -EINVAL (outside @mr, bad rights),
 * -ENOSPC, -ENOTCONN, -ENOMEM, or what the driver says. Context: the runner.
 */
int fab_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	       unsigned int access, uint32_t *handle, uint64_t *offset);
/*
 * Close a handle, once. Returns true if the peer cannot reach the memory any
 * more. False: not yet, since the device has not confirmed that it is exposed.
 * FAB_WC_CLOSED follows with @user, or FAB_WC_DISCONNECTED; until then the
 * memory must not be used. Does nothing to a handle that the peer has
 * invalidated. If it cannot be closed, the connection ends and the memory is
 * quarantined.
 */
bool fab_unexpose(struct fab_conn *c, uint32_t handle, void *user);

/*
 * For providers: a device may still access these octets after the end of their
 * connection. Allocators (the pool) must not hand out quarantined memory until
 * @mr is deregistered. Context: any thread.
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
	FAB_FLUSHED, /* the connection ended before */
	FAB_ERROR, /* this request broke the connection */
};

#define FAB_F_SIGNALED 0x1 /* wants a completion (Reads always have one) */
#define FAB_F_SOLICITED 0x2 /* Send: the solicited form */

/*
 * One work request. The caller owns it, and what sge points to, and lends both
 * to the provider until it is complete; one that is not signaled until a later
 * signaled Send or Write is complete, or FAB_WC_DISCONNECTED. All flushed
 * requests have completions. Sends and Writes are performed and completed in
 * order; later requests may pass Reads. Reads beyond the depth wait inside. A
 * Receive has one sge; with an SRQ that has only a length.
 */
struct fab_wr {
	struct fab_wr *next; /* chain to post; then the provider's */
	enum fab_opcode op;
	unsigned int flags;
	uint32_t handle;
	uint64_t offset;
	unsigned int nsge;
	struct fab_sge *sge;
	void *user; /* the caller's */
	/* The provider's while lent. */
	uint64_t priv[5];
};

/*
 * Post a chain. Returns 0; -ENOTCONN after the end of the connection, and
 * nothing was taken; -EINVAL for a bad chain, a fault of the caller after which
 * the connection is of no use. Receives may be posted before the connection is
 * established. fab_post_recv() may return a positive number: that many, the
 * last of the chain, were not taken, since the device has no room now.
 */
int fab_post(struct fab_conn *c, struct fab_wr *chain);
int fab_post_recv(struct fab_conn *c, struct fab_wr *chain);

enum fab_wc_kind {
	FAB_WC_WORK, /* @wr is complete, with @status */
	FAB_WC_CLOSED, /* fab_unexpose() with @user is complete */
	FAB_WC_ESTABLISHED, /* both sides may send; @priv is the peer's data */
	FAB_WC_DISCONNECTED, /* always the last event */
};

struct fab_wc {
	enum fab_wc_kind kind;
	enum fab_status status;
	struct fab_wr *wr;
	void *user; /* CLOSED */
	size_t len; /* Receive: octets received */
	/* Shared Receive, FAB_OK: name of the memory, which the caller owns
	 * from now on. */
	void *memory;
	bool invalidated; /* Receive: @inv_handle was invalidated */
	uint32_t inv_handle;
	/* ESTABLISHED, active side: private data, valid until the next poll. */
	const uint8_t *priv;
	size_t priv_len;
	/*
	 * DISCONNECTED: 0 after an orderly close by either side, when the peer
	 * has all completed Sends; -ECONNREFUSED nobody listens there; -EPERM the
	 * peer rejected it; -ETIMEDOUT start or close took too long; -ECONNRESET
	 * lost; -ECONNABORTED aborted here; -EPROTO the peer broke a rule; -ENOMEM;
	 * while connecting what the network says; with a device -ENODEV, -ENETRESET,
	 * -ENOSPC if it has no more queues. @reason, for the log, is static or the
	 * connection's.
	 */
	int error;
	const char *reason;
};

/* Returns up to @n completions. 0: nothing now, ready will be called. */
int fab_poll(struct fab_conn *c, struct fab_wc *wc, int n);
/* Have the poller call ready soon. Context: any thread. */
void fab_conn_schedule(struct fab_conn *c);
/*
 * While masked, ready may be withheld, except for the end. Unmasking calls it
 * for what has come meanwhile. Context: the runner.
 */
void fab_conn_mask(struct fab_conn *c, bool mask);
/*
 * Release memory that an idle connection does not need. Never fails. Context:
 * the runner.
 */
void fab_conn_trim(struct fab_conn *c);
/*
 * The peer has proved useful: further connections of its host are not paced
 * with those of unknown hosts (pace.h). Context: the runner.
 */
void fab_conn_vouch(struct fab_conn *c);
/*
 * Returns for how many ms the peer's end of the network has left octets or a probe
 * unacknowledged, whatever the peer's program does; 0 while it answers. The
 * first call begins to probe a peer that need not say anything; call it once a
 * second from then on. Context: the runner.
 */
unsigned int fab_conn_silent_ms(struct fab_conn *c);

/* ---- Connections ----------------------------------------------------- */

typedef void (*fab_ready_fn)(struct fab_conn *c, void *user);

/* Octets of private data; on verbs at most 196. */
#define FAB_MAX_PRIV 512

struct fab_conn_params {
	const void *priv; /* private data */
	size_t priv_len;
	/* RDMA Read depth to ask for, 0: the domain's. Reduced to what the peer
	 * allows. */
	unsigned int read_depth;
};

/*
 * A peer's private data has arrived. The callee must set ready with
 * fab_conn_set_ready(), post Receives, and call fab_accept() or fab_reject(),
 * now or later. @priv is valid during the call. Context: the poller thread.
 */
typedef void (*fab_request_fn)(struct fab_listener *l, struct fab_conn *c,
			       const void *priv, size_t priv_len, void *user);

/*
 * Listen on @addr; with port 0 on any free one, see fab_listener_addr().
 * Returns 0, -EADDRINUSE, -EACCES, -EAFNOSUPPORT, -EINVAL, -ENOMEM, or
 * -EADDRNOTAVAIL if @addr belongs to no interface, or to no device of the domain.
 * If the sysctl ip_nonlocal_bind of the address family is on, it succeeds instead,
 * and peers can connect from when the address comes.
 */
int fab_listen(struct fab_poller *p, const struct sockaddr *addr,
	       socklen_t addrlen, fab_request_fn fn, void *user,
	       struct fab_listener **l);
void fab_listener_addr(const struct fab_listener *l,
		       struct sockaddr_storage *addr);
/*
 * Spread future connections over @n pollers of the domain, in turn. @p is
 * copied. Request callbacks stay with the listener's poller, and so do
 * connections if the provider cannot spread. Returns 0 or -ENOMEM. Context: any
 * thread.
 */
int fab_listener_spread(struct fab_listener *l, struct fab_poller *const *p,
			unsigned int n);
/*
 * Returns true if a peer could connect now; with a device, if a port with that
 * address, or for a wildcard address with any, is active. May take some milliseconds, and open devices. Context: any
 * thread of the domain, but not in a callback of the listener or while it is
 * closed.
 */
bool fab_listener_up(struct fab_listener *l);
struct fab_poller *fab_conn_poller(const struct fab_conn *c);
/* No request callback runs after the return. Not from within one. */
void fab_listener_close(struct fab_listener *l);

/* Create an active connection, to which Receives can be posted. Returns 0 or
 * -ENOMEM. */
int fab_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		    struct fab_conn **c);
void fab_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user);
/*
 * Start it; ESTABLISHED or DISCONNECTED follows. Returns -EINVAL,
 * -EAFNOSUPPORT, -EISCONN, -ENOMEM, -ENODEV, or what the network says at once;
 * then nothing follows.
 */
int fab_connect(struct fab_conn *c, const struct sockaddr *addr,
		socklen_t addrlen, const struct fab_conn_params *params);
/*
 * ESTABLISHED or DISCONNECTED follows. Returns -EINVAL, -ENOTCONN if the peer
 * has gone, or -ENOMEM; then nothing follows. If a device cannot create the
 * queues, the request is rejected, and DISCONNECTED follows.
 */
int fab_accept(struct fab_conn *c, const struct fab_conn_params *params);
/* Reject; then destroy it. No event follows. */
void fab_reject(struct fab_conn *c, const void *priv, size_t priv_len);
/*
 * Close in order: posted work is sent first. DISCONNECTED follows within about
 * a second. @abort: send nothing more. May be repeated.
 */
void fab_disconnect(struct fab_conn *c, bool abort);
/*
 * Free a connection that has returned DISCONNECTED, was never started or
 * accepted, or was rejected. Handles are closed. No ready callback begins after
 * the return, but one may be running: @done is called by the poller thread when
 * @user may be freed. Context: the runner.
 */
void fab_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *user),
			       void *user);

struct fab_conn_info {
	struct sockaddr_storage local, peer;
	unsigned int read_depth; /* outbound */
	const char *provider;
	bool crc;
};
void fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info);

/* What went over the wire. Context: the runner until the connection ends, or while idle. */
struct fab_counters {
	uint64_t sends, sends_inv, writes, reads, recvs;
	uint64_t write_bytes, read_bytes, send_bytes, recv_bytes;
	uint64_t peer_writes, peer_write_bytes; /* of the peer, placed here */
	uint64_t peer_reads,
		peer_read_bytes; /* of the peer, fetched from here */
	uint64_t posts; /* calls of fab_post() */
	uint64_t syscalls; /* sendmsg and recvmsg (iwarp) */
	uint64_t terminates_sent, terminates_received;
};
void fab_conn_counters(const struct fab_conn *c, struct fab_counters *out);

/* ---- What a provider supplies ---------------------------------------- */

/*
 * Each provider embeds these at the start of its own structures. They have the
 * table for dispatch, and what all providers have in common.
 */
struct fab_domain {
	const struct fab_ops *ops;
	struct fab_limits limits;
	struct fab_domain_params params;
	struct fab_srq_params srq; /* .alloc is NULL without an SRQ */
	struct base_known known;
	/* Start-ups that ended before a fab_request_fn was called. */
	_Atomic uint64_t failed_starts;
	/* Failed registrations, and work that a device could not take at once. */
	_Atomic uint64_t shortages;
};
struct fab_poller {
	const struct fab_ops *ops;
	struct fab_domain *dom;
	struct base_timers timers; /* run by the provider, see timers.h */
};
struct fab_listener {
	const struct fab_ops *ops;
	struct fab_poller *poller;
};
struct fab_conn {
	const struct fab_ops *ops;
	struct fab_poller *poller;
	const struct fab_limits *limits; /* NULL: the domain's */
};
struct fab_mr {
	struct fab_domain *dom;
	void *addr;
	size_t len;
	struct base_stack quarantine; /* struct quarantined */
	atomic_bool all_quarantined;
};

/* Contracts: the fab_* functions of the same names. NULL is allowed where said. */
struct fab_ops {
	const char *name;
	int (*domain_open)(const struct fab_domain_params *,
			   struct fab_domain **);
	void (*domain_close)(struct fab_domain *);
	/* NULL: the provider has no SRQ. Otherwise post_recv() may get requests
	 * without memory. */
	void (*srq_stats)(struct fab_domain *, struct fab_srq_stats *);
	bool (*owns)(const struct sockaddr *, const char *); /* NULL: any */
	void (*for_each_port)(struct fab_domain *, fab_port_fn,
			      void *); /* NULL: there are none */
	void (*for_each_device)(struct fab_domain *, fab_device_fn,
				void *); /* NULL: there are none */
	int (*report)(FILE *, const struct fab_report *); /* NULL: no devices */
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
	void (*mask)(struct fab_conn *, bool); /* NULL: never masked */
	void (*trim)(struct fab_conn *); /* NULL: nothing to release */
	unsigned int (*silent_ms)(struct fab_conn *); /* NULL: never silent */
	int (*listen)(struct fab_poller *, const struct sockaddr *, socklen_t,
		      fab_request_fn, void *, struct fab_listener **);
	void (*listener_addr)(const struct fab_listener *,
			      struct sockaddr_storage *);
	int (*listener_spread)(struct fab_listener *,
			       struct fab_poller *const *,
			       unsigned int); /* NULL: connections stay */
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
