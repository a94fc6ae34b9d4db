/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - RPC-over-RDMA connections
 *
 * Beside this header: call.h for the Responder role, request.h for the Requester role,
 * config.h for settings, stats.h for statistics.
 *
 * A connection is a state machine (state_table.c has the table). It has two ends, the
 * client that connected and the server that accepted. Each end has two roles: as
 * Requester it sends Calls (struct rt_request), as Responder it answers Calls (struct
 * rt_call). From client to server is the forward direction, from server to client the
 * reverse direction.
 *
 * Threads
 *
 *   One thread at a time runs a connection: it has the connection's strand. A thread
 *   with work for the connection (the poller thread with an event, a worker with a
 *   Reply) puts the work into the connection's lock-free inbox. If no thread is running
 *   the connection, it runs it; otherwise the runner sees the work before it leaves. So
 *   no thread waits, and the state of a connection needs no lock. "Strand" in a comment
 *   below means that the runner calls the function, which must not block.
 *
 *   rt_run() runs a poller: its events, timers and connections. The program gives a
 *   thread (or the threads of a pool, one at a time) to each poller.
 *
 * Ownership
 *
 *   A struct rt_call belongs to the upper layer from the call operation until exactly
 *   one of rt_reply(), rt_call_refuse() and rt_call_drop() gives it back. It holds a
 *   reference to its struct rt_conn, even after the connection has ended.
 *   A struct rt_request belongs to the transport from rt_request_submit() to its done
 *   callback, and to the upper layer before and after.
 *   A struct rt_conn is reference counted. rt_connect() and the open operation give one
 *   reference each, which rt_conn_put() drops after the closed operation. A reference may
 *   be held indefinitely, even beyond rt_instance_destroy(). A connection that has ended
 *   has no buffers, and no Calls but those that still belong to the upper layer.
 *
 * Once warmed up, nothing here allocates or registers memory per RPC: buffers come from a
 * registered pool, Calls and requests from free lists.
 */
#ifndef RPCRDMA_TRANSPORT_H
#define RPCRDMA_TRANSPORT_H

#include <netinet/in.h>
#include <sys/uio.h>

#include "rpcrdma/auth.h"
#include "rpcrdma/config.h"
#include "rpcrdma/fabric.h"
#include "rpcrdma/pool.h"

struct rt_instance;
struct rt_listener;
struct rt_conn;
struct rt_call;
struct rt_vet;

/* Pieces in one payload stream; longer lists are refused with -E2BIG. */
#define RT_MAX_PIECES 64

/* A piece of a payload stream. @mr is NULL if it is not registered. */
struct rt_piece {
	void *addr;
	size_t len;
	struct fab_mr *mr;
};

/* Convert @n pieces to iovecs. @iov must hold @n entries. Returns @n. */
static inline unsigned int rt_to_iov(const struct rt_piece *pieces,
				     unsigned int n, struct iovec *iov)
{
	for (unsigned int i = 0; i < n; i++) {
		iov[i].iov_base = pieces[i].addr;
		iov[i].iov_len = pieces[i].len;
	}
	return n;
}

/*
 * A DDP-eligible data item of a payload stream that the upper layer gives to the
 * transport: @length octets at @position of the unreduced stream. A result that is absent
 * (@present is false) still counts in the pairing with Write chunks. Arguments must be
 * present. For a result, @origin is where its operation begins in the Call's stream, or 0
 * if that is not known (rtrext, 7.4).
 */
struct rt_item {
	uint32_t position;
	uint32_t length;
	bool present;
	uint32_t origin;
};

/* ---- Instance --------------------------------------------------------- */

/*
 * The operations of the upper layer. The runner calls them; the poller thread calls open.
 */
struct rt_ops {
	/*
	 * Server: a connection has been requested. Returns the upper layer's own
	 * pointer for rt_conn_user(), or sets *@refuse.
	 */
	void *(*open)(struct rt_conn *c, void *ctx, bool *refuse);
	/*
	 * The version is settled and the peer's properties are known, or the connection
	 * goes on without them: a client has sent a Call before its properties, or a
	 * client's wait for the server's has timed out. Called once, before any Call is
	 * delivered, or never if the connection ends before.
	 */
	void (*established)(struct rt_conn *c);
	/*
	 * Check a Call with data item Read chunks, before those are read. Returns 0;
	 * RDMA2_ERR_READ_CHUNKS after setting *@max [E3]; or another error. NULL:
	 * accept all but torn Calls.
	 */
	uint32_t (*vet)(struct rt_conn *c, struct rt_vet *v, uint32_t *max);
	/* Take a complete Call, which the upper layer owns now. NULL: there is no
	 * Responder; Calls get RDMA2_ERR_SYSTEM. */
	void (*call)(struct rt_conn *c, struct rt_call *call);
	/* Execute a Call that was passed to rt_call_wait(), or drop it if
	 * rt_conn_is_closing(). NULL if rt_call_wait() is not used. */
	void (*resume)(struct rt_conn *c, struct rt_call *call);
	/*
	 * The connection has ended. All requests that were submitted before, also by
	 * their done callbacks, have been completed. One that is submitted later, or by
	 * another thread at the same time, ends with -ENOTCONN. @error is
	 *   0                 closed in order, by either side or for idleness
	 *   -ECONNABORTED     aborted by this side
	 *   -EPROTO           the peer broke the rules
	 *   -ETIMEDOUT        no first message, or not drained, in time
	 *   -EPROTONOSUPPORT  no version is in common
	 *   -EACCES           host authentication failed, or was required and the peer
	 *                     took no part
	 *   -EAGAIN           the next connection to the server will begin with another
	 *                     version [B6]
	 *   -ENOMEM, and others as in struct fab_wc, also of a failed work request.
	 */
	void (*closed)(struct rt_conn *c, int error, const char *reason);
	/* closed() logs the end itself, by rt_log(), so the transport does not. */
	bool logs_end;
};

struct rt_params {
	const struct fab_ops *provider;
	struct fab_domain_params domain;
	/* A domain to use instead of opening one (for tests). */
	struct fab_domain *shared_domain;
	unsigned int pollers; /* 0: 1 */
	/*
	 * Threads that must not use a device will call the functions that are for any
	 * thread (fabric.h, FAB_CAP_BOUND). If the provider requires it
	 * (rt_instance_bound()), connections are then run within rt_run() only, and all
	 * other threads hand them over. Only the domain's own threads may create and
	 * destroy the instance, and call rt_run(), rt_listen(), rt_connect(),
	 * rt_listener_close() and rt_instance_shutdown().
	 */
	bool foreign_threads;
	struct rt_config config;
	const struct rt_auth_ops *auth; /* unless the policy is RT_AUTH_NONE */
	void *auth_ctx; /* used until rt_instance_destroy() has returned */
	base_log_fn log;
	void *log_ctx;
};

/*
 * Returns 0; -EINVAL if rt_config_check() refuses the settings; -ENOMEM, or an
 * error of the provider (fab_domain_open(), fab_poller_create()).
 */
int rt_instance_create(const struct rt_params *p, struct rt_instance **inst);
/*
 * Listeners must be closed, connections ended and requests freed, as after
 * rt_instance_shutdown(). No thread may be in rt_run(). Waits for steps of host
 * authentication that are running.
 *
 * Connections that have ended may still be referenced, and the upper layer may still have
 * Calls of them. What those use of the instance (the pool, the domain, the settings) is
 * freed with the last of them. Until then rt_conn_*(), rt_reply() and rt_call_drop() may
 * be called as before, and a @shared_domain must exist.
 */
void rt_instance_destroy(struct rt_instance *inst);
/* Returns true if there are such references. After rt_instance_shutdown() there will be
 * no new ones once it has returned false. Context: any thread. */
bool rt_instance_held(const struct rt_instance *inst);
/*
 * Close the listeners and drain every connection. Wait up to @ms for them to end while
 * other threads run the pollers, or, if @run is true, run them here. Abort those that
 * have not ended then, and wait until none ends for RT_ABORT_MS. With @ms 0 do not wait,
 * and abort nothing. Returns how many connections have not ended.
 */
unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run);

/* ---- Maintenance of a server. Context: any thread ---- */

/*
 * Close in order the connections whose peer is within @who and, unless @port is 0, has that
 * port. Refuse new connections of @who for the next @ms; 0: do not. A later call for the same
 * @who replaces that time, unless its @ms is 0. Returns how many connections it closes, or
 * -ENOSPC, without any effect, if RT_EVICTIONS_MAX others are refused now.
 */
#define RT_EVICTIONS_MAX 64
int rt_instance_evict(struct rt_instance *inst, const struct base_prefix *who,
		      uint16_t port, unsigned int ms);
struct rt_evicted {
	struct base_prefix who;
	unsigned int seconds; /* until its time is over, rounded up */
};
/* Set @out to whose new connections are refused. Returns how many they are. */
unsigned int rt_evictions(struct rt_instance *inst,
			  struct rt_evicted out[RT_EVICTIONS_MAX]);
/* Refuse new connections, and close all that there are in order. Their Calls have @ms to
 * finish, instead of drain_ms or the time of an earlier call. 0: accept new connections
 * again; those that are being closed still end. */
void rt_instance_drain(struct rt_instance *inst, unsigned int ms);
/*
 * Apply the members of @cfg that RT_CHANGEABLE() names, and allow; the others must be as they
 * were. Connections that exceed a lower limit stay; there are no new ones until fewer are
 * left. Versions and allow are those of new connections. Returns 0, or -EINVAL, without any
 * effect, if rt_config_check() refuses @cfg.
 */
int rt_instance_configure(struct rt_instance *inst,
			  const struct rt_config *cfg);

/* ---- What others ask of an instance ---- */

struct fab_pool *rt_instance_pool(struct rt_instance *inst);
/* Set @out to the statistics of shared Receives, or to zeros. Context: any thread. */
void rt_share_stats(struct rt_instance *inst, struct fab_srq_stats *out);
/* fab_for_each_port() of the instance's domain. */
void rt_for_each_port(struct rt_instance *inst, fab_port_fn fn, void *arg);
/* fab_for_each_device() of it. */
void rt_for_each_device(struct rt_instance *inst, fab_device_fn fn, void *arg);
/* The settings at the start: rt_instance_configure() does not change them. */
const struct rt_config *rt_instance_config(const struct rt_instance *inst);
unsigned int rt_instance_pollers(const struct rt_instance *inst);
/* Returns true if connections run within rt_run() alone (rt_params.foreign_threads). */
bool rt_instance_bound(const struct rt_instance *inst);

/* A @timeout_ms of rt_run(): until an event or the next timer, without busy polling. */
#define RT_SLEEP (-2)
/*
 * Run poller @n once: wait up to @timeout_ms (-1: until an event or the next
 * timer; or RT_SLEEP), and handle what is ready. Returns the number of events.
 * Context: one thread at a time for each poller.
 */
int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms);
/*
 * Promise that the calling thread will call rt_run() of poller @n soon: until then, what it
 * has for connections of that poller, such as Replies, waits, to be sent together. If another
 * thread calls rt_run() first, that sends it.
 * Context: as for rt_run(), and not bound (rt_instance_bound()).
 */
void rt_run_later(struct rt_instance *inst, unsigned int n);
/* Returns how often threads have entered and left rt_run() of poller @n: odd while one is in it.
 * Context: any thread. */
uint64_t rt_turns(const struct rt_instance *inst, unsigned int n);
/* Make rt_run() of poller @n return soon. Context: any thread. */
void rt_wake(struct rt_instance *inst, unsigned int n);

/* ---- Connections ------------------------------------------------------ */

/*
 * Listen on @addr. A poller's thread calls the open operation. If the provider can do so,
 * connections are spread over all pollers. Returns 0, -ENOMEM, or an error of
 * fab_listen().
 */
int rt_listen(struct rt_instance *inst, const struct sockaddr *addr,
	      socklen_t addrlen, const struct rt_ops *ops, void *ctx,
	      struct rt_listener **l);
void rt_listener_addr(const struct rt_listener *l,
		      struct sockaddr_storage *addr);
/* Returns true if clients can reach it now, see fab_listener_up(). */
bool rt_listener_up(struct rt_listener *l);
void rt_listener_close(struct rt_listener *l);

/*
 * Connect to @addr. Returns 0 and a reference, and the established or the closed
 * operation follows; or -ENOMEM or an error of fab_conn_create() or fab_connect(), and
 * nothing follows. Context: any thread.
 */
int rt_connect(struct rt_instance *inst, unsigned int poller,
	       const struct sockaddr *addr, socklen_t addrlen,
	       const struct rt_ops *ops, void *user, struct rt_conn **c);
void *rt_conn_user(struct rt_conn *c);
struct rt_instance *rt_conn_instance(struct rt_conn *c);
uint64_t rt_conn_id(const struct rt_conn *c);
/* Returns the name for log lines, "192.0.2.1:1234#7", which exists as long as the
 * connection. Context: any thread. */
const char *rt_conn_name(const struct rt_conn *c);
/* Room for the name of a client, and for that of a session. */
#define RT_CLIENT_TEXT 96
#define RT_SESSION_TEXT 40
/* Note for statistics which client of the upper layer the connection belongs to, and which
 * session it uses: printable ASCII, which is copied and may be cut off. NULL: leave that one
 * as it is. Context: any thread. */
void rt_conn_set_client(struct rt_conn *c, const char *client,
			const char *session);
/* Log a line about the connection, unless its host has used up its budget of lines
 * (base/log.h). Context: any thread. */
void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_get(struct rt_conn *c);
void rt_conn_put(struct rt_conn *c);
/*
 * End the connection, with @abort at once. Otherwise no new Calls are accepted, those in
 * progress are answered within drain_ms, and then it is closed. Harmless if repeated.
 * Context: any thread.
 */
void rt_conn_close(struct rt_conn *c, bool abort);
/* Returns true if the connection has ended or is about to: a Reply would be dropped, and
 * the peer will send its Calls again on another connection. Context: any thread. */
bool rt_conn_is_closing(struct rt_conn *c);
/*
 * Returns fab_conn_silent_ms(), or 0 after the end; -EBUSY if another thread runs the
 * connection now, or the instance is bound. Context: any thread but the runner.
 */
int rt_conn_silent_ms(struct rt_conn *c);
/* Server: set @host to the peer's host as max_host_connections counts it, an IPv4 address
 * or an IPv6 /64. Context: any thread. */
void rt_conn_host(const struct rt_conn *c, struct in6_addr *host);

#endif /* RPCRDMA_TRANSPORT_H */
