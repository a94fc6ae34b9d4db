/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - RPC-over-RDMA connections
 *
 * Beside this header: call.h for the Responder role, request.h for the Requester role, config.h
 * for settings, stats.h for statistics.
 *
 * One state machine per connection (state.c has its table). A connection has
 * two ends, the client that made it and the server that accepted it. Each end
 * has two roles: as Requester it sends Calls (struct rt_request), as Responder
 * it answers them (struct rt_call). From client to server is the forward
 * direction, from server to client the reverse direction.
 *
 * Threads
 *
 *   A connection is run by one thread at a time, its strand. A thread that has
 *   work for it (the poller thread with an event, a worker with a Reply) puts
 *   the work into the connection's lock-free inbox. If no thread is running the
 *   connection, it runs it; otherwise the current runner sees the work before
 *   it leaves. So no thread waits, and connection state needs no lock. "Strand"
 *   in a comment below means: called by the runner, must not block.
 *
 *   rt_run() drives a poller: its events, timers and connections. The program
 *   gives a thread (or the threads of a pool, one at a time) to each poller.
 *
 * Ownership
 *
 *   A struct rt_call belongs to the upper layer from the call operation until
 *   it is given back by exactly one of rt_reply() and rt_call_drop(). It keeps
 *   its struct rt_conn alive, even after the connection has ended.
 *   A struct rt_request belongs to the transport from rt_request_submit() to
 *   its done callback, and to the upper layer before and after.
 *   rt_conn is reference counted; rt_connect() and the open operation give one
 *   reference each, dropped by rt_conn_put() after the closed operation. A
 *   reference may be held indefinitely, even beyond rt_instance_destroy(). Once
 *   the connection has ended, it has no buffers and only those Calls that still
 *   belong to the upper layer, and can do nothing more.
 *
 * Once warmed up, nothing here allocates or registers memory per RPC: buffers
 * come from a registered pool, calls and requests from free lists.
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

/* A stretch of a payload stream. @mr is NULL if it is not registered. */
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
 * A DDP-eligible data item of a payload stream that the upper layer gives to
 * the transport: @length octets at @position of the unreduced stream. A result
 * that is absent (@present is false) keeps its place in the pairing with Write
 * chunks. Arguments must be present. For a result, @origin is where its operation
 * begins in the Call's stream, or 0 if that is not known (rtrext, 7.4).
 */
struct rt_item {
	uint32_t position;
	uint32_t length;
	bool present;
	uint32_t origin;
};

/* ---- Instance --------------------------------------------------------- */

/*
 * What the upper layer supplies. Every operation is called in the strand (or,
 * open, by the poller thread before there is anything to run).
 */
struct rt_ops {
	/*
	 * Server: a connection has been accepted. Returns the upper layer's
	 * own pointer for rt_conn_user(), or sets *@refuse.
	 */
	void *(*open)(struct rt_conn *c, void *ctx, bool *refuse);
	/*
	 * The version is settled and the peer's properties are known, or the
	 * connection goes on without them: a server's first Call has come
	 * before its client's properties, or a client's wait for them has
	 * timed out. Called once, before any Call is delivered, or never if
	 * the connection ends before.
	 */
	void (*established)(struct rt_conn *c);
	/*
	 * A Call with data item Read chunks has come, which have not been read.
	 * Returns 0; RDMA2_ERR_READ_CHUNKS and sets *@max (E3); or another
	 * error. NULL: accept all but torn Calls.
	 */
	uint32_t (*vet)(struct rt_conn *c, struct rt_vet *v, uint32_t *max);
	/* A whole Call, which the upper layer owns now. NULL: no Responder role;
	 * Calls get RDMA2_ERR_SYSTEM. */
	void (*call)(struct rt_conn *c, struct rt_call *call);
	/* A Call that was given to rt_call_wait() may be executed, or dropped:
	 * see rt_conn_is_closing(). NULL if rt_call_wait() is not used. */
	void (*resume)(struct rt_conn *c, struct rt_call *call);
	/*
	 * The end. All requests that were submitted before, also by their done
	 * callbacks, have been completed. One that is submitted later, or by
	 * another thread at the same time, ends with -ENOTCONN. @error: 0 in
	 * order, by either side or for idleness; -ECONNABORTED aborted by this
	 * side; -EPROTO the peer broke the rules; -ETIMEDOUT no first message,
	 * or not drained, in time; -EPROTONOSUPPORT no version is in common;
	 * -EACCES host authentication failed, or was required and the peer took
	 * no part; -EAGAIN another connection to that server will begin with
	 * another version [B6]; -ENOMEM; others, also of a failed work request,
	 * as in struct fab_wc.
	 */
	void (*closed)(struct rt_conn *c, int error, const char *reason);
	/* closed() logs the end itself, by rt_log(). */
	bool logs_end;
};

struct rt_params {
	const struct fab_ops *provider;
	struct fab_domain_params domain;
	/* A domain to share instead of opening one (tests with loop). */
	struct fab_domain *shared_domain;
	unsigned int pollers; /* 0: 1 */
	/*
	 * Threads that must not use a device call the functions that are for
	 * any thread (fabric.h, FAB_CAP_BOUND). With a provider that requires it
	 * (rt_instance_bound()) connections are then run within rt_run() only, to
	 * which all other threads hand over. Only the domain's own threads may
	 * create and destroy the instance, and call rt_run(), rt_listen(),
	 * rt_connect(), rt_listener_close() and rt_instance_shutdown().
	 */
	bool foreign_threads;
	struct rt_config config;
	/* Unless the policy is RT_AUTH_NONE. */
	const struct rt_auth_ops *auth;
	void *auth_ctx; /* must live until rt_instance_destroy() has returned */
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
 * rt_instance_shutdown(). No thread may be in rt_run(). Waits for a step of
 * host authentication that is being made.
 *
 * A connection that has ended may still be referenced, and the upper layer may
 * still have a Call of it. They keep what they use of the instance (the pool, the
 * domain, the settings), which is freed with the last of them. Until then
 * rt_conn_*(), rt_reply() and rt_call_drop() may be called as before. A
 * @shared_domain must live as long.
 */
void rt_instance_destroy(struct rt_instance *inst);
/* Returns true if rt_instance_destroy() would leave something to such a reference. After
 * rt_instance_shutdown() it stays false once it is. Context: any thread. */
bool rt_instance_held(const struct rt_instance *inst);
/*
 * Close the listeners and drain every connection. Wait up to @ms for them to end
 * while other threads run the pollers, or, if @run is true, run them here. Abort
 * those that have not ended then, and wait a moment more. With @ms 0 wait for
 * nothing and abort nothing. Returns how many connections have not ended;
 * references to ended ones do not count.
 */
unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run);
struct fab_pool *rt_instance_pool(struct rt_instance *inst);
/* Set @out to the statistics of shared Receives, zeros if there are none. Context: any thread. */
void rt_share_stats(struct rt_instance *inst, struct fab_share_stats *out);
const struct rt_config *rt_instance_config(const struct rt_instance *inst);
unsigned int rt_instance_pollers(const struct rt_instance *inst);
/* Returns true if foreign threads must not use the device (rt_params.foreign_threads). */
bool rt_instance_bound(const struct rt_instance *inst);

/* A time-out of rt_run(): until an event or the next timer, without busy polling. */
#define RT_SLEEP (-2)
/*
 * Run poller @n once: wait up to @timeout_ms (-1: until an event or the next
 * timer; or RT_SLEEP), and handle what is ready. Returns the number of events.
 * Context: one thread at a time for each poller.
 */
int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms);
/* Make rt_run() of poller @n return soon. Context: any thread. */
void rt_wake(struct rt_instance *inst, unsigned int n);

/* ---- Connections ------------------------------------------------------ */

/*
 * Listen on @addr. One poller's thread calls the open operation; if the provider
 * can do so, connections go to all pollers in turn. Returns 0, -ENOMEM, or an
 * error of fab_listen().
 */
int rt_listen(struct rt_instance *inst, const struct sockaddr *addr,
	      socklen_t addrlen, const struct rt_ops *ops, void *ctx,
	      struct rt_listener **l);
void rt_listener_addr(const struct rt_listener *l,
		      struct sockaddr_storage *addr);
/* Returns true if clients could reach it now, as fab_listener_up(). */
bool rt_listener_up(struct rt_listener *l);
void rt_listener_close(struct rt_listener *l);

/*
 * Connect. The caller gets a reference, and the established or the closed
 * operation follows. Returns 0, -ENOMEM, or an error of fab_conn_create() or
 * fab_connect(): then there is no connection, and nothing follows. Context: any
 * thread.
 */
int rt_connect(struct rt_instance *inst, unsigned int poller,
	       const struct sockaddr *addr, socklen_t addrlen,
	       const struct rt_ops *ops, void *user, struct rt_conn **c);
void *rt_conn_user(struct rt_conn *c);
struct rt_instance *rt_conn_instance(struct rt_conn *c);
uint64_t rt_conn_id(const struct rt_conn *c);
/* Returns its name for log lines, "192.0.2.1:1234#7", which lives as long as the connection.
 * Context: any thread. */
const char *rt_conn_name(const struct rt_conn *c);
/* Write a line about the connection to the instance's log, as often as its host may
 * (base/log.h). Context: any thread. */
void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_get(struct rt_conn *c);
void rt_conn_put(struct rt_conn *c);
/*
 * End the connection. Without @abort no new Calls are taken, those in progress
 * are answered within drain_ms, and then it closes. Harmless when repeated.
 * Context: any thread.
 */
void rt_conn_close(struct rt_conn *c, bool abort);
/* Returns true if the connection has ended or is about to: a Reply would be dropped, and the
 * peer sends its Calls again on another one. Context: any thread. */
bool rt_conn_is_closing(struct rt_conn *c);
/* Server: set @host to the peer's host, as max_host_connections counts: an IPv4 address or an
 * IPv6 /64. Context: any thread. */
void rt_conn_host(const struct rt_conn *c, struct in6_addr *host);

#endif /* RPCRDMA_TRANSPORT_H */
