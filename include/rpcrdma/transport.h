/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - RPC-over-RDMA connections
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

#include "rpcrdma/fabric.h"
#include "rpcrdma/pool.h"
#include "rpcrdma/auth.h"
#include "rpcrdma/opclass.h"
#include "rpcrdma/stage.h"
#include "rpcrdma/wire.h"

struct rt_instance;
struct rt_listener;
struct rt_conn;
struct rt_call;

/* While memory is short the upper layer may take so many buffers of the pool, by
 * fab_pool_get_promised(), for its Reply to a Call. */
#define RT_CALL_PROMISED 2
/* Pieces in one payload stream; longer lists are refused with -E2BIG. */
#define RT_MAX_PIECES 64
/* Chunks of one kind in one header that this implementation can be set to. */
#define RT_MAX_CHUNKS 16
/* Segments in one header, likewise. */
#define RT_MAX_SEGMENTS 64

/* Transmissions of one message of rtrext, likewise. */
#define RT_TRANSMISSIONS_MAX 16

/* A stretch of a payload stream. @mr: NULL if not registered. */
struct rt_piece {
	void *addr;
	size_t len;
	struct fab_mr *mr;
};

/* The same as ulb takes them; @iov has room for all. Their number. */
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
 * the transport: @length octets at @position of the unreduced stream. Results
 * that are absent (present false) keep their place in the pairing with Write
 * chunks. Arguments must be present. @origin, of a result: where the operation
 * begins in the Call's stream, 0 if that is not known (rtrext, 7.4).
 */
struct rt_item {
	uint32_t position;
	uint32_t length;
	bool present;
	uint32_t origin;
};

enum rt_call_format {
	RT_FORMAT_AUTO = 0, /* [D8] */
	RT_FORMAT_CONTINUED, /* never Special, nor a Reply chunk */
	RT_FORMAT_SPECIAL, /* Special whenever it does not fit inline */
};

/* What rt_config_check() lets through; readers of settings use the same. */
#define RT_CREDITS_MAX 4096
/* Messages beyond the limit that are borne, and Receives for them: who reads
 * "is greater than" in 4.2.1 as it stands sends one more ([A2]), and there is
 * the GRANT of 4.2.1.1. */
#define RT_CREDIT_BEYOND 2
/* Of max_memory this part is not for Receives, chunks and reassembly. */
#define RT_POOL_RESERVE 16
/* With fewer a peer would have to choose between a GRANT and a message of its own,
 * and lose either way: at least two credits are advertised. */
#define RT_CREDIT_MIN 2
/* rtrext, our Receives: the plain segment, and each target segment. */
#define RT_RTR_HEAD 4096u
#define RT_RTR_SEGMENT 4096u
/* A page of data, such as a WRITE's, and what is before and behind it. */
#define RT_RECV_DEFAULT 4608u
#define RT_SEND_MIN 1024 /* of recv_size and send_size, which are */
#define RT_SEND_MAX 262144 /* multiples of four */
#define RT_SEGMENT_MIN 4096
#define RT_SEGMENT_MAX (1u << 30)
#define RT_MESSAGE_MIN 65536
/* Data of 4 MiB, the longest that Linux asks for, and what is around them. */
#define RT_MESSAGE_MAX (FAB_POOL_MAX_BUF + (128u << 10))
#define RT_MEMORY_MIN ((size_t)16 << 20)
#define RT_CONNECTIONS_MAX 65536
#define RT_SHARED_MAX (1u << 20)
#define RT_REVERSE_CREDITS_MAX 1024
#define RT_AUTH_SECONDS 30 /* the default */
#define RT_AUTH_SECONDS_MAX 3600

/* rt_config.placement_size: a Receive is a page longer. */
#define RT_PLACEMENT_MAX (RT_SEND_MAX - 4096)

/* rt_config.extensions; what they are is in docs/protocol.md. */
#define RT_EXT_XCHAR 1u /* transport characteristics, [M1] */
#define RT_EXT_RTR 2u /* round-trip reduction */

/* Zero means the default, which rt_config_defaults() fills in. */
struct rt_config {
	/* Versions spoken, 1 << number each; both. A client begins with the
	 * highest and falls back, 4.3.2. */
	unsigned int versions;
	unsigned int extensions; /* RT_EXT_*; none */
	/* rtrext: octets of target segments in each Receive, which then has
	 * that and a page whatever recv_size says; 61440. None at all. */
	uint32_t placement_size;
	bool no_placement;
	unsigned int max_transmissions; /* rtrext: of a message; 4 */
	/* Server: messages that are wrong, of one connection at once; 4. */
	unsigned int max_wrong;
	unsigned int credits; /* most Advertised credits; 64; at least 2 are
			       * advertised in version 2 */
	uint32_t recv_size; /* Receive Buffer Size announced; 4608 */
	uint32_t send_size; /* largest Send; 65536 */
	uint32_t max_segment_size; /* announced RSSIZ; 1 MiB */
	unsigned int max_segments; /* announced RCSIZ; 16 */
	unsigned int max_read_chunks; /* data item chunks of a Call; 8 */
	unsigned int max_write_chunks; /* 8 */
	size_t max_message; /* longest payload stream; 1 MiB + 64 KiB */
	size_t max_conn_memory; /* chunk and reassembly buffers of one
				 * connection, counted whole; a lone message
				 * has what it needs; 64 MiB */
	unsigned int call_read_chunks; /* used in one Call at most; 1 [H2] */
	unsigned int call_write_chunks; /* likewise; 1 */
	unsigned int max_fragments; /* of a Call, before Special; 8 */
	enum rt_call_format call_format;
	unsigned int reverse; /* enum wire_reverse, client: announced */
	unsigned int reverse_credits; /* reverse Calls outstanding; 16 */
	unsigned int reverse_ms; /* server: until each is answered; 60000 */
	bool no_remote_invalidation;
	bool no_continuation; /* Replies: Special or REPLY_RESOURCE only */
	unsigned int first_message_ms; /* 10000 [B6] */
	unsigned int version1_ms; /* how long a server that did not answer
				   * version 2 is met with version 1; 600000 */
	unsigned int continuation_ms; /* 60000 [D6] */
	unsigned int memory_wait_ms; /* a Call, for memory of chunks; 30000 */
	unsigned int idle_ms; /* server: end idle connections; 0: never */
	unsigned int drain_ms; /* 5000 */
	/* xcharext. Receives of a busy connection are raised to this, and at
	 * most to this if the peer asks; 16384. A peer that is idle so long
	 * is asked to lower its own to that; 4608, 60000. */
	uint32_t busy_recv_size;
	uint32_t idle_recv_size;
	unsigned int idle_recv_ms;
	unsigned int busy_poll_us; /* rt_run() polls so long before it sleeps,
				    * while that is of use; 0: never */
	unsigned int max_connections; /* not yet ended; 1024 */
	/* Server: of one host's address. A quarter of max_connections, but
	 * not under 64; a quarter of max_memory, but not under max_message. */
	unsigned int max_host_connections;
	size_t max_host_memory;
	size_t max_memory; /* of the pool; 1 GiB */
	bool huge_pages;
	/* One Receive queue for the connections of a device, where it has one,
	 * with Receives for all that they are granted, or with so many at most:
	 * see fab_share. */
	bool share_receives;
	unsigned int max_shared_receives;
	/* Of the peer's host; rt_params.auth must be set for it. */
	enum rt_auth_policy auth;
	unsigned int auth_ms; /* the whole exchange; 30000 */
	/* Octets that each rt_call carries for the upper layer. */
	size_t call_user_size;
	/* Octets that each rt_request carries for the upper layer. */
	size_t request_user_size;
};

void rt_config_defaults(struct rt_config *cfg);
/* NULL if sound; otherwise what is wrong, as one static line. */
const char *rt_config_check(const struct rt_config *cfg);
/* With the defaults for what is 0: octets of a connection's Receives at first, and
 * of all of them together. A client takes reverse Calls with Receives of their own. */
size_t rt_config_receive(const struct rt_config *cfg);
size_t rt_config_receives(const struct rt_config *cfg, bool client);

/* ---- Statistics ------------------------------------------------------- */

/* X(name, help) for each counter, so that printers need no second list. */
#define RT_STATS(X)                                                    \
	X(calls_sent, "Calls sent")                                    \
	X(calls_received, "Calls received")                            \
	X(calls_denied, "Calls whose RPC header was refused")          \
	X(replies_sent, "Replies sent")                                \
	X(replies_received, "Replies received")                        \
	X(reverse_calls_sent, "reverse-direction Calls sent")          \
	X(reverse_calls_received, "reverse-direction Calls received")  \
	X(inline_sent, "messages sent in Simple format")               \
	X(inline_received, "messages received in Simple format")       \
	X(continued_sent, "messages sent in Continued format")         \
	X(continued_received, "messages received in Continued format") \
	X(fragments_sent, "MIDDLE fragments sent")                     \
	X(fragments_received, "MIDDLE fragments received")             \
	X(special_sent, "messages sent in Special format")             \
	X(special_received, "messages received in Special format")     \
	X(inline_bytes_sent, "payload octets sent inline")             \
	X(inline_bytes_received, "payload octets received inline")     \
	X(continued_bytes_sent, "of these in Continued format")        \
	X(continued_bytes_received, "of these in Continued format")    \
	X(read_chunks, "Read and Call chunks handled")                 \
	X(read_bytes, "octets by RDMA Read")                           \
	X(write_chunks, "Write chunks filled")                         \
	X(reply_chunks, "Reply chunks filled")                         \
	X(write_bytes, "octets by RDMA Write")                         \
	X(invalidations_sent, "Replies sent with invalidate")          \
	X(invalidations_received, "handles invalidated by the peer")   \
	X(grants_sent, "GRANTs sent")                                  \
	X(grants_received, "GRANTs received")                          \
	X(errors_sent, "ERRORs sent")                                  \
	X(errors_received, "ERRORs received")                          \
	X(dropped, "messages dropped")                                 \
	X(auth_passed, "peers known by host authentication")           \
	X(auth_failed, "peers refused by host authentication")         \
	X(surplus, "messages with octets after the header")            \
	X(xchar_requests_sent, "xcharext: changes asked for")          \
	X(xchar_requests_received, "xcharext: changes asked for here") \
	X(xchar_updates_sent, "xcharext: changes told")                \
	X(xchar_updates_received, "xcharext: changes of the peer's")   \
	X(xmt_calls_sent, "Calls sent by XMTREQ")                      \
	X(xmt_calls_received, "Calls received by XMTREQ")              \
	X(placed_bytes_sent, "octets sent to target segments")         \
	X(placed_bytes_received, "octets received in target segments") \
	X(repterrs_sent, "REPTERRs sent")                              \
	X(repterrs_received, "REPTERRs received")                      \
	X(xmt_fallbacks, "Calls sent again without XMTREQ")            \
	X(credit_waits, "times a message waited for a credit")         \
	X(reply_waits, "times a Call waited for Replies to be taken")  \
	X(shortages, "times memory or a device was short")             \
	X(copied_bytes, "payload octets copied by the transport")

struct rt_stats {
#define RT_STATS_FIELD(name, help) uint64_t name;
	RT_STATS(RT_STATS_FIELD)
#undef RT_STATS_FIELD
};

/* How long Calls were in each stage, by enum rt_stage. */
struct rt_stages {
	struct rt_histogram stage[RT_NSTAGES];
};

/* Properties, as announced by one side (defaults where nothing came). */
enum rt_invalidate {
	RT_INVALIDATE_UNKNOWN = 0, /* each Call says for itself */
	RT_INVALIDATE_NO,
	RT_INVALIDATE_YES,
};

struct rt_properties {
	uint32_t send_size; /* 0: not announced */
	uint32_t recv_size;
	uint32_t segment_size;
	uint32_t segments;
	uint32_t reverse;
	uint32_t xchar; /* xcharext: XCHSUPP_* */
	enum rt_invalidate invalidate; /* xcharext: remote invalidation */
	bool complete; /* its CONNPROP_FINAL has come (gone) */
};

struct rt_conn_info {
	uint64_t id; /* unique in the instance */
	bool server;
	unsigned int poller; /* that runs it */
	const char *state;
	unsigned int version; /* 0: not yet decided */
	unsigned int extensions; /* RT_EXT_* that both ends have */
	struct sockaddr_storage local, peer;
	char peer_name[64]; /* "192.0.2.1:1234", "[2001:db8::1]:1234" */
	bool crc; /* of the fabric's own, such as iWARP's */
	struct rt_properties ours, theirs;
	uint32_t sent, received; /* message counts, 4.2.1 */
	uint32_t credit_limit; /* Received credits */
	uint32_t advertised; /* Advertised credits */
	uint32_t call_inline, reply_inline; /* thresholds */
	unsigned int calls_in_progress, requests_outstanding;
	/* Delivered, but the peer has not got a Reply. After the end as well: what
	 * the peer may send again on another connection. */
	unsigned int calls_unanswered;
	char auth_peer[RT_AUTH_TEXT]; /* by host authentication; or "" */
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;
};

/* ---- Instance --------------------------------------------------------- */

/* A Call before its data items are read. */
struct rt_vet {
	/* Its stream without them: what is before the first is also how the whole
	 * begins. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	/* So many Read chunks, and the first of them, in order. */
	unsigned int total, nreads;
	struct rt_vet_read {
		uint32_t position;
		uint32_t length;
	} reads[RT_MAX_CHUNKS];
	/* Positions are beyond the end of the stream; or the upper layer says
	 * so of chunks that do not go with it. If that is all that is wrong,
	 * the Call is delivered as a torn one. */
	bool torn;
	/* rt_call_user() of the Call: what is left here is there when it is
	 * delivered (rt_call.vetted). */
	void *user;
};

/*
 * What the upper layer supplies. Every operation is called in the strand (or,
 * open, by the poller thread before there is anything to run).
 */
struct rt_ops {
	/*
	 * Server: a connection has been accepted. Returns the upper layer's
	 * own pointer for rt_conn_user(); sets *@refuse to turn it away.
	 */
	void *(*open)(struct rt_conn *c, void *ctx, bool *refuse);
	/*
	 * The version is settled and the peer's properties are known, or it
	 * goes on without them: a server's first Call has come before its
	 * client's properties, or a client has waited for them in vain. Once,
	 * and before any Call is delivered; never, if the connection ends
	 * before.
	 */
	void (*established)(struct rt_conn *c);
	/*
	 * A Call with data item Read chunks is here, these are not yet read.
	 * Returns 0; RDMA2_ERR_READ_CHUNKS and sets *@max (E3); or another
	 * error. NULL: all are taken, but no torn Calls.
	 */
	uint32_t (*vet)(struct rt_conn *c, struct rt_vet *v, uint32_t *max);
	/* A whole Call: the upper layer owns it now. NULL: no Responder role,
	 * Calls get RDMA2_ERR_SYSTEM. */
	void (*call)(struct rt_conn *c, struct rt_call *call);
	/* One that was given to rt_call_wait() may go on, or not: see
	 * rt_conn_over(). NULL: none ever is. */
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
	/* closed() writes a line of its own to the log, by rt_log(). */
	bool tells_end;
};

struct rt_params {
	const struct fab_ops *provider;
	struct fab_domain_params domain;
	/* A domain to share instead of opening one (tests with loop). */
	struct fab_domain *shared_domain;
	unsigned int pollers; /* 0: 1 */
	/*
	 * Threads that may not use a device call the functions that are for
	 * any thread (fabric.h, FAB_CAP_BOUND). With a provider that minds
	 * (rt_instance_bound()) connections are then run within rt_run() alone,
	 * to which all other threads hand over. For its own threads there remain
	 * the instance, rt_run(), rt_listen(), rt_connect(), the listeners'
	 * end and rt_instance_shutdown().
	 */
	bool foreign_threads;
	struct rt_config config;
	/* Unless the policy is RT_AUTH_NONE. */
	const struct rt_auth_ops *auth;
	void *auth_ctx; /* stays until rt_instance_destroy() has returned */
	base_log_fn log;
	void *log_ctx;
};

/*
 * 0; -EINVAL: rt_config_check() does not like the settings; -ENOMEM, or what
 * the provider says (fab_domain_open(), fab_poller_create()).
 */
int rt_instance_create(const struct rt_params *p, struct rt_instance **inst);
/*
 * Listeners must be closed, connections ended, requests freed;
 * rt_instance_shutdown() helps. Nobody may be in rt_run(). Waits for a step of
 * host authentication that is being made.
 *
 * A connection that has ended may still be referenced, and a Call of it still
 * be in the upper layer's hands. They keep what they use of the instance (the
 * pool, the domain, the settings), which is freed with the last of them.
 * Until then rt_conn_*(), rt_reply() and rt_call_drop() may be called as
 * before. A @shared_domain must stay as long.
 */
void rt_instance_destroy(struct rt_instance *inst);
/* Would rt_instance_destroy() leave something to a last one? Any thread; once
 * false after rt_instance_shutdown() it stays so. */
bool rt_instance_held(const struct rt_instance *inst);
/*
 * Close the listeners and drain every connection; wait up to @ms for them to
 * end while other threads run the pollers (or, @run true, by running them
 * here). Those that have not ended then are aborted, and waited for a moment
 * more; with @ms 0 nothing is waited for and nothing aborted. Connections that
 * have ended do not count, also if they are still referenced. Returns how many
 * have not ended.
 */
unsigned int rt_instance_shutdown(struct rt_instance *inst, unsigned int ms,
				  bool run);
struct fab_pool *rt_instance_pool(struct rt_instance *inst);
/* Of Receives that are shared; zeros if none are. Any thread. */
void rt_share_stats(struct rt_instance *inst, struct fab_share_stats *out);
const struct rt_config *rt_instance_config(const struct rt_instance *inst);
unsigned int rt_instance_pollers(const struct rt_instance *inst);
/* Are there things that foreign threads must not do? */
bool rt_instance_bound(const struct rt_instance *inst);

/* Without busy polling, until an event or the next timer. */
#define RT_SLEEP (-2)
/*
 * Run poller @n once: wait up to @timeout_ms (-1: until an event or the next
 * timer; or RT_SLEEP), handle what is ready. One thread at a time per poller. Returns the
 * number of events.
 */
int rt_run(struct rt_instance *inst, unsigned int n, int timeout_ms);
/* Make rt_run of poller @n return soon. Any thread. */
void rt_wake(struct rt_instance *inst, unsigned int n);

/* Of all connections, ended ones included. */
struct rt_totals {
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;
	/* That there are; as for Max_Connections, those that have ended do not
	 * count. */
	unsigned int connections;
	uint64_t accepted;
	uint64_t refused; /* at their start, or for their version */
	/* Ended before they were any: who came was no RDMA client, too slow, or
	 * one of too many at once. */
	uint64_t failed_starts;
};
/* Any thread. */
void rt_totals(struct rt_instance *inst, struct rt_totals *out);
/* Call @fn for each connection, under the instance's connection lock. */
void rt_for_each_conn(struct rt_instance *inst,
		      void (*fn)(const struct rt_conn_info *info, void *arg),
		      void *arg);
/* Any thread; a snapshot that may be torn between fields. */
void rt_conn_info(struct rt_conn *c, struct rt_conn_info *info);

/* ---- Connections ------------------------------------------------------ */

/*
 * 0; -ENOMEM, or an error of fab_listen(). The operations' open is called by
 * one poller's thread; the connections go to all pollers in turn, where the
 * provider can do that.
 */
int rt_listen(struct rt_instance *inst, const struct sockaddr *addr,
	      socklen_t addrlen, const struct rt_ops *ops, void *ctx,
	      struct rt_listener **l);
void rt_listener_addr(const struct rt_listener *l,
		      struct sockaddr_storage *addr);
/* Could anybody reach it now? As fab_listener_up(). */
bool rt_listener_up(struct rt_listener *l);
void rt_listener_close(struct rt_listener *l);

/*
 * Connect; established or closed follows. The caller gets a reference.
 * Any thread. -ENOMEM, or an error of fab_conn_create() or fab_connect(): then
 * there is no connection, and nothing follows.
 */
int rt_connect(struct rt_instance *inst, unsigned int poller,
	       const struct sockaddr *addr, socklen_t addrlen,
	       const struct rt_ops *ops, void *user, struct rt_conn **c);
void *rt_conn_user(struct rt_conn *c);
struct rt_instance *rt_conn_instance(struct rt_conn *c);
uint64_t rt_conn_id(const struct rt_conn *c);
/* "192.0.2.1:1234#7" for log lines; lives as long as the connection. Any thread. */
const char *rt_conn_name(const struct rt_conn *c);
/* Write a line about the connection to the instance's log, as often as its host may
 * (base/log.h). Context: any thread. */
void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_get(struct rt_conn *c);
void rt_conn_put(struct rt_conn *c);
/*
 * End the connection. Without @abort in order: no new Calls are taken, those
 * in progress are answered and Replies sent (drain_ms at most), then it
 * closes. Any thread; harmless when repeated.
 */
void rt_conn_close(struct rt_conn *c, bool abort);
/*
 * Server, of whoever is about to execute a Call of it: more Replies wait for
 * the connections of this one's host than they may, and some of them for this
 * one, or another Call of it is being executed. Then this one better waits:
 * rt_call_wait(). Any thread.
 */
bool rt_conn_replies_full(struct rt_conn *c);
/* Has it ended, or is it about to? Then a Reply would be dropped, and the peer
 * sends its Calls again elsewhere. Any thread. */
bool rt_conn_over(struct rt_conn *c);
/* Server: the peer's host, as Max_Host_Connections counts. Any thread. */
void rt_conn_host(const struct rt_conn *c, struct in6_addr *host);
/*
 * May this end send a Call now? Server: the client has announced
 * reverse-direction support and taken part in the property exchange. In
 * version 1 nothing announces it. The upper layer's own signal is the upper
 * layer's to know (4.6.3 [F4], [G5]). Any thread.
 */
bool rt_conn_can_call(struct rt_conn *c);
/*
 * May a Call of the peer's that is here have this XID? An ERROR tells an XID
 * and no direction, so a server takes others for its reverse Calls [E1]. Any
 * thread; true also for some that are not in use.
 */
bool rt_conn_xid_busy(struct rt_conn *c, uint32_t xid);

/* ---- Responder -------------------------------------------------------- */

/*
 * One RPC Call received. Read-only for the upper layer but for its own area and
 * op_class; and it may shorten the stream.
 * The pieces are the whole, unreduced Payload stream, in order; read chunks
 * and their roundup are in place. They stay until the call is given back.
 */
struct rt_call {
	struct rt_conn *conn;
	uint32_t xid;
	bool reverse; /* came in the reverse direction */
	unsigned int npieces;
	struct rt_piece pieces[RT_MAX_PIECES];
	size_t len;
	/* Write chunks offered, in order: their lengths, 0 for empty. */
	unsigned int nwrites;
	uint32_t writes[RT_MAX_CHUNKS];
	bool has_reply_chunk;
	unsigned int op_class; /* set by the upper layer, opclass.h */
	/* rtrext: that is for the results of some operations only, so the
	 * items of the Reply should say their origin. */
	bool ranged;
	/* Its data items are not in the stream, because the Positions of some
	 * are beyond its end, or vet() has said that they do not go with it:
	 * arguments that cannot be read (7.2). */
	bool torn;
	bool vetted; /* vet() has seen it, and its area is as that has left it */
};

/*
 * Its execution begins; what has passed since it was delivered was waiting for
 * a thread. Once, by any thread that has the call. Where nobody says so, all
 * of that counts as execution.
 */
void rt_call_begin(struct rt_call *call);
/* The call_user_size octets. What is in them when a Call is delivered that has not
 * been vetted is left over from others. */
void *rt_call_user(struct rt_call *call);

/*
 * A Reply. @pieces is the unreduced payload stream (a multiple of four octets
 * long); @items its DDP-eligible results in operation order. All of it, the
 * arrays too, must stay until @done is called (strand; any thread, also
 * before rt_reply() returns), which must not block.
 */
struct rt_reply {
	const struct rt_piece *pieces;
	unsigned int npieces;
	const struct rt_item *items;
	unsigned int nitems;
	/* MSG_DENIED, as no client may send that header: a wrong message */
	bool denial;
	void (*done)(void *arg);
	void *arg;
};

/*
 * Answer: pairs items with Write chunks and chooses the format by D7. Any
 * thread, never blocks. The call is given back. After the end of the
 * connection the Reply is dropped (done is still called).
 * Returns 0; -ENOTCONN, if it is known already that it will be dropped; -E2BIG
 * (more than RT_MAX_PIECES) or -EINVAL (a length under 4 or not a multiple of 4)
 * for an impossible Reply: then the peer gets RDMA2_ERR_SYSTEM, the call is
 * given back all the same, done is called. The same happens, unseen by the
 * caller, if items lie outside or over each other.
 */
int rt_reply(struct rt_call *call, const struct rt_reply *reply);
/*
 * Answer with an ERROR what is no RPC Call, so that no Reply can be made. In
 * version 1 every @code is ERR_CHUNK. Counted. Any thread, as rt_reply().
 */
void rt_call_refuse(struct rt_call *call, uint32_t code);
/* No answer; the credit goes back to the peer. Any thread. */
void rt_call_drop(struct rt_call *call);
/*
 * Not now: the operations' resume, which must be there, comes for it when
 * rt_conn_replies_full() no longer holds or the connection has ended; perhaps
 * before this returns. The call stays the upper layer's. Any thread, never blocks.
 */
void rt_call_wait(struct rt_call *call);

/* ---- Requester -------------------------------------------------------- */

/* Where a DDP-eligible result may be placed: one Write chunk. */
struct rt_sink {
	void *addr; /* NULL: an empty chunk, the item comes inline */
	size_t len;
	struct fab_mr *mr;
	/* If it does not lie in one stretch: all of them, of @len octets. */
	const struct rt_piece *pieces;
	unsigned int npieces;
	size_t used; /* set: octets returned */
	bool in_stream; /* set: the result is in the Reply instead */
};

struct rt_request {
	/* Set by the upper layer before submit; kept until done. */
	uint32_t xid; /* also the first word of the payload */
	const struct rt_piece *pieces;
	unsigned int npieces;
	const struct rt_item *items; /* eligible arguments to reduce */
	unsigned int nitems;
	struct rt_sink *sinks; /* one per eligible result, in order */
	unsigned int nsinks;
	size_t reply_max; /* largest reduced Reply; 0: unknown, which costs
			   * version 1 a Reply chunk of the longest message
			   * and those below one of 128 KiB */
	bool once; /* executing it twice would not do: if the Reply may not
		    * fit inline there is a Reply chunk, always [D8] */
	/* Reverse direction: the longest Call that the client's upper layer
	 * accepts. Chunks are used only if it exceeds the threshold [F4]. */
	uint32_t call_max;
	unsigned int op_class; /* opclass.h */
	bool call_only; /* no Reply will come (4.7); version 2 only */
	void (*done)(struct rt_request *rq); /* strand */

	/*
	 * Set when done is called. status 0: the (reduced) Reply is in reply
	 * until rt_request_reset/free; results may have come inline although
	 * there was a sink. -EREMOTEIO: the peer answered with RDMA2_ERROR, in
	 * error. -ECONNRESET: the connection ended and the Call may or may not
	 * have been executed. -EPROTO: the Reply was malformed or refused.
	 * All others: the Call was not sent. -ENOTCONN: the connection is
	 * ending. -EOPNOTSUPP: the client takes no reverse Calls. -EEXIST:
	 * one of this XID is outstanding.
	 * -E2BIG: too large, or in too many pieces, for any format that the
	 * peer takes. -EPROTONOSUPPORT: it has refused all that could be sent,
	 * 7.1.3. -EINVAL: a payload under 4 octets, items outside or over
	 * each other, a sink without registration. -ENOMEM.
	 */
	int status;
	struct wire_error error;
	unsigned int nreply;
	struct rt_piece reply[RT_MAX_PIECES];
	size_t reply_len;
};

/* From the instance's free list; NULL: no memory. Any thread. */
struct rt_request *rt_request_alloc(struct rt_instance *inst);
/* The request_user_size octets; zeroed by rt_request_alloc(). */
void *rt_request_user(struct rt_request *rq);
/* Give back the Reply's buffers. Any thread. */
void rt_request_reset(struct rt_request *rq);
void rt_request_free(struct rt_request *rq);
/* Is what has come an RPC Reply to @rq? If not, the peer is told (7.2.1, [E8]),
 * and the request is the upper layer's to end. Strand, in done with status 0. */
bool rt_response_is_reply(struct rt_conn *c, const struct rt_request *rq);
/* Send. Any thread; done is called exactly once, perhaps before return. */
void rt_request_submit(struct rt_conn *c, struct rt_request *rq);
/*
 * Hold the strand, so that what is submitted from here on is sent together
 * by rt_conn_unhold(). False: another thread has it, which sends as it sees
 * fit; then there is nothing to give back. Any thread, but not from an operation,
 * and not for longer than it takes to submit what is at hand.
 */
bool rt_conn_hold(struct rt_conn *c);
void rt_conn_unhold(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_H */
