/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw - the parts of rpcrdma-gateway
 *
 * A gateway takes record-marked RPC over TCP and carries it over RPC-over-RDMA,
 * one RDMA connection for each TCP connection, called "client" here.
 *
 * Threads
 *
 *   main      options, signals, accepting (gateway.c)
 *   workers   each owns the TCP sockets given to it: reads them, assembles
 *             Calls, submits all requests (also again), connects (gw_worker.c)
 *   pollers   one for each poller of the transport, in rt_run()
 *   readers   of statistics have a thread (stats/socket.h)
 *
 *   A client belongs to one worker. Operations of the transport ("strand")
 *   come in poller threads or inside rt_request_submit(); they never block:
 *   they take the client's lock, write to the socket without waiting, and
 *   leave everything else to the worker by gw_kick().
 *
 * Locks
 *
 *   gateway.lock > client.lock > worker.kick_lock, and gateway.shares.lock >
 *   worker.kick_lock. No lock is held across a call into the transport, nor
 *   across a system call on a socket.
 *
 * Memory
 *
 *   Records are received straight into registered pool buffers (struct
 *   gw_buf), which count the records that have octets in them. The area of
 *   struct rt_request holds all there is of a Call (struct gw_call), so that a
 *   Call costs no allocation. A client stops being read when it has too many
 *   Calls outstanding or too many octets held; a Call is outstanding until its
 *   Reply has been written to the socket, so that a slow reader stops itself.
 *   What all clients together have is shared out by gw_share.h. A Call that
 *   brings or asks for more than can be carried is done in part (gw_fit.c), so
 *   that the octets of a WRITE beyond that are never held.
 */
#ifndef RPCRDMA_TOOLS_GW_H
#define RPCRDMA_TOOLS_GW_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#include "base/log.h"
#include "tools/args.h"
#include "tools/conf.h"
#include "gateway/gw_share.h"
#include "tools/hostauth.h"
#include "tools/record.h"
#include "tools/rpcmsg.h"
#include "rpcrdma/transport.h"
#include "rpcrdma/nfs.h"

/* Stretches of receive buffers in one record before it is made flat. */
#define GW_PIECES 40
#define GW_HASH 128
/* Sinks of one Call, in octets, and the stretches that they are in. */
#define GW_SINKS_MAX ((size_t)16 << 20)
#define GW_SINK_PIECES (GW_SINKS_MAX / FAB_POOL_MAX_BUF + ULB_MAX_ITEMS)
/* The Reply's pieces, cut once for each item, with the items and pads. */
#define GW_REPLY_IOV (1 + RT_MAX_PIECES + 2 * ULB_MAX_ITEMS + GW_SINK_PIECES)

struct gateway;
struct gw_worker;
struct gw_client;

/* ---- Statistics --------------------------------------------------------- */

#define GW_STATS(X)                                                       \
	X(tcp_calls, "Calls received by TCP")                             \
	X(tcp_replies, "Replies written to TCP")                          \
	X(tcp_bytes_in, "octets received by TCP")                         \
	X(tcp_bytes_out, "octets written to TCP")                         \
	X(arguments_reduced, "arguments sent as Read chunks")             \
	X(results_reduced, "results placed through Write chunks")         \
	X(duplicates, "Calls dropped, their XID being outstanding")       \
	X(counts_lowered, "READs and READDIRs asked for in part")         \
	X(writes_shortened, "WRITEs passed on in part")                   \
	X(retransmits, "Calls sent again on a new RDMA connection")       \
	X(renewals, "TCP connections ended so that Calls come anew")      \
	X(reconnects, "RDMA connections made again")                      \
	X(resource_retries, "Calls sent again with larger chunks")        \
	X(errors_answered, "Calls answered with RPC SYSTEM_ERR")          \
	X(reverse_calls, "reverse-direction Calls carried to TCP")        \
	X(reverse_replies, "their Replies carried back")                  \
	X(memory_waits, "times a client was not read for want of memory") \
	X(pauses, "times a client was not read, being at its limit")      \
	X(records_refused, "records that ended a TCP connection")         \
	X(overdue, "clients ended that neither took nor sent octets")     \
	X(evictions, "clients ended for the memory that they held")       \
	X(gave_way, "idle clients ended so that new ones have room")

struct gw_stats {
#define GW_STATS_FIELD(name, help) uint64_t name;
	GW_STATS(GW_STATS_FIELD)
#undef GW_STATS_FIELD
};

/* ---- Records ------------------------------------------------------------ */

struct gw_buf {
	atomic_uint refs;
	size_t cap; /* octets of data to be used */
	struct gw_client *c; /* in whose share it is; a reference */
	struct fab_buf *fab;
	_Alignas(64) uint8_t data[];
};

/* One record; @hold are references to the buffers that its pieces are in. */
struct gw_record {
	size_t len;
	unsigned int npieces, nhold;
	bool flat; /* pieces are copied into the one buffer held */
	struct rt_piece piece[GW_PIECES];
	struct gw_buf *hold[GW_PIECES];
};

/*
 * Pool buffers for the gateway's own use, which is half of the memory at most:
 * with the rest the transport can bring what is under way to its end. They are
 * in the client's share.
 */
enum gw_mem {
	GW_MEM_RECORD, /* not yet a Call; worker */
	GW_MEM_CALL, /* worker */
	GW_MEM_MUST, /* what has begun is to be ended, whoever waits */
	GW_MEM_LESS, /* in the place of something larger */
};
/* How large the pool's buffer for @size octets is. */
size_t gw_mem_size(size_t size);
struct fab_buf *gw_mem_get(struct gw_client *c, size_t size, enum gw_mem what);
void gw_mem_put(struct gw_client *c, struct fab_buf *buf);
/* Worker. */
struct gw_buf *gw_buf_get(struct gw_client *c, size_t room, enum gw_mem what);
void gw_buf_ref(struct gw_buf *b);
void gw_buf_put(struct gw_buf *b);
/* Append octets that are in @b. False: no memory; nothing has changed. */
bool gw_record_add(struct gw_record *r, struct gw_client *c, struct gw_buf *b,
		   uint8_t *p, size_t n);
/* Copy the first @n octets, which the record must have, to @out. */
void gw_record_peek(const struct gw_record *r, void *out, size_t n);
/* Write a word over the four octets at @at, which the record must have. */
void gw_record_poke(struct gw_record *r, size_t at, uint32_t value);
/* Take out the @n octets from @from on, which the record must have. */
void gw_record_cut(struct gw_record *r, size_t from, size_t n);
/* The memory of the record and of the buffer that is received into. */
size_t gw_record_held(const struct gw_record *r, const struct gw_buf *rx);
/* Give @from's pieces and references to @to; @from is empty then. */
void gw_record_move(struct gw_record *to, struct gw_record *from);
void gw_record_release(struct gw_record *r);

/* ---- Output ------------------------------------------------------------- */

/* One record on its way to the socket. */
struct gw_out {
	struct gw_out *next;
	struct iovec *iov;
	unsigned int niov, at;
	/* Written, or the client is gone. Any thread, no lock held. */
	void (*fin)(struct gw_client *c, struct gw_out *o, bool written);
};

/* Clients that a thread has Replies for, to be written together. */
struct gw_batch {
	struct gw_client *first;
};

/* From now on what the calling thread pushes may wait for gw_batch_flush(). */
void gw_batch_open(struct gateway *gw, struct gw_batch *b);
void gw_batch_flush(struct gw_batch *b);
/* Write as far as the socket takes it, the rest when it is writable. */
void gw_out_push(struct gw_client *c, struct gw_out *o);
/* The socket has become writable (worker). */
void gw_out_ready(struct gw_client *c);

/* ---- Clients ------------------------------------------------------------ */

struct gw_call {
	struct gw_out out; /* first: out and call have one address */
	struct gw_call *next, *prev; /* c->calls, in the order they came */
	struct gw_call *hnext; /* c->hash */
	struct gw_call *snext; /* list being submitted */
	struct gw_client *c;
	struct rt_request *rq;
	uint64_t lost_since; /* ns; 0: never interrupted */
	unsigned int gen; /* of the RDMA connection last submitted to */
	bool submitted;
	bool plain; /* nothing is reduced: too many chunks otherwise */
	bool write_retry, reply_retry; /* done once each [E5] */
	size_t cost; /* octets counted in c->held */
	size_t charge; /* of the share, beside the buffers */
	struct gw_record rec;
	struct ulb_call head;
	struct ulb_scan scan;
	struct rt_item items[ULB_MAX_ITEMS];
	struct rt_sink sinks[ULB_MAX_ITEMS];
	struct fab_buf *sink_buf[ULB_MAX_ITEMS]; /* each the first of a chain */
	struct rt_piece sink_piece[GW_SINK_PIECES];
	unsigned int nsink_pieces;
	uint8_t mark[REC_MARK_LEN + RPC_REPLY_HEAD];
	struct iovec iov[GW_REPLY_IOV];
};

/* A reverse-direction Call that the TCP client is to answer: its area. */
struct gw_reverse {
	struct gw_out out; /* first */
	struct gw_reverse *next; /* c->reverse */
	struct rt_call *call;
	uint32_t xid;
	bool written; /* out of the output queue */
	bool answered; /* rec is the Reply; no longer in c->reverse */
	bool orphan; /* its RDMA connection has ended */
	uint8_t mark[REC_MARK_LEN];
	struct iovec iov[1 + RT_MAX_PIECES];
	struct gw_record rec; /* the Reply */
	struct rt_reply reply;
};

/* What a strand leaves to the worker. */
enum gw_event {
	GW_EV_NEW = 1 << 0,
	GW_EV_UP = 1 << 1,
	GW_EV_DOWN = 1 << 2,
	GW_EV_ROOM = 1 << 3, /* below the limits again */
	GW_EV_RESEND = 1 << 4,
	GW_EV_IDLE = 1 << 5, /* nothing outstanding any more */
	GW_EV_BROKEN = 1 << 6, /* the socket refuses output */
	GW_EV_RENEW = 1 << 7, /* a Call that only the client can send again */
	GW_EV_WATCH = 1 << 8, /* Replies are not taken */
	GW_EV_EVICT = 1 << 9, /* others need what it holds */
	GW_EV_LEAVE = 1 << 10, /* it has been idle, and others want in */
};

enum gw_link {
	GW_LINK_DOWN,
	GW_LINK_CONNECTING,
	GW_LINK_UP,
};

struct gw_client {
	struct gateway *gw;
	struct gw_worker *w;
	int fd;
	char name[64];
	struct in6_addr host;
	struct fab_log_budget log;
	atomic_uint refs;
	atomic_uint events;
	struct gw_client *kick_next; /* w->kicked */
	struct gw_client *batch_next; /* of the thread that is the writer */
	struct gw_client *all_next, **all_prev; /* gw->clients */
	struct gw_share share;

	/* Worker only. */
	struct gw_client *w_next, **w_prev; /* w->clients */
	struct gw_client *t_next, **t_prev; /* w->timers */
	struct gw_buf *rx;
	size_t rx_pos, rx_fill; /* parsed, received */
	struct rec rec;
	struct gw_record acc;
	bool have_record; /* acc is complete but could not be taken yet */
	bool eof; /* read to the end */
	bool hangup; /* the end of the stream is in the socket */
	bool gone; /* gw_client_kill() was here */
	bool watched; /* counted in w->nwatched */
	uint64_t out_acked; /* octets, when the share's clock was set back */
	uint64_t stalled_since; /* ns; waiting for memory */
	uint64_t read_at, connect_at; /* ns; 0: no timer */
	struct rt_conn *rc;
	unsigned int backoff_ms;
	bool connected_once;
	bool no_chunks; /* the server takes no segments */
	unsigned int segments; /* that it takes in a header */
	uint32_t segment_size;
	bool judged; /* acc is too long, and may be fitted */
	/* gw_fit.c: of the data that come, octets to be kept, and then not. */
	size_t until, drop;

	pthread_mutex_t lock; /* for all below */
	bool dead; /* no more output; what comes back is freed */
	enum gw_link link; /* changed by the worker */
	unsigned int gen;
	int down_error;
	char down_reason[96];
	uint64_t lost_since; /* ns; 0: the server answers */
	struct gw_call *calls, *calls_last;
	struct gw_call *hash[GW_HASH];
	unsigned int outstanding;
	size_t held;
	bool paused;
	bool idle_wanted; /* tell when nothing is outstanding */
	bool leaving; /* counted in gw->leaving */
	bool early; /* has sent something, and the server never took it */
	uint64_t active_at; /* ns; octets came, or the last Reply went */
	struct gw_out *outq, **outq_tail;
	bool writing; /* somebody is in gw_out's loop */
	bool writable; /* became so meanwhile */
	struct gw_reverse *reverse;
	unsigned int nreverse;
	struct gw_stats stats;
};

void gw_client_get(struct gw_client *c);
void gw_client_put(struct gw_client *c);
/* Any thread. */
void gw_kick(struct gw_client *c, unsigned int events);
/* Take the accepted socket; closes it on failure. Main thread. */
int gw_client_new(struct gateway *gw, int fd);

/* gw_call.c. Worker: */
enum gw_take {
	GW_TAKEN,
	GW_PAUSE, /* at the limit; GW_EV_ROOM will follow */
	GW_NO_MEMORY, /* try again later */
	GW_NEVER, /* no memory is enough */
};
enum gw_take gw_call_take(struct gw_client *c, uint32_t xid);
/* Submit what is not submitted, in the order it came. */
void gw_calls_submit(struct gw_client *c);
/* The client is dead: give up what is not with the transport. */
void gw_calls_abandon(struct gw_client *c);

/*
 * gw_layout.c: lay out call->iov as mark, Reply, and at their positions the
 * items that have come through Write chunks, @placed of them. -EBADMSG if the
 * Reply does not agree with them, -EPROTO if it is none.
 */
int gw_call_layout(struct gw_call *call, unsigned int *placed);

/* gw_sink.c. Octets of sinks that one Call may have. */
size_t gw_sinks_most(const struct gateway *gw);
/*
 * Memory for the result @i, of @len octets, in stretches as long as the pool has
 * them. False: there is none, and nothing has changed; else what the result had
 * before is given back.
 */
bool gw_sink_get(struct gw_call *call, unsigned int i, size_t len,
		 enum gw_mem what);
void gw_sinks_release(struct gw_call *call);

/*
 * gw_fit.c. c->acc is as long as a record may be, and more is to come. Let less
 * of its WRITEs pass: c->until and c->drop say what becomes of the octets next.
 * False: there is nothing that could be left out.
 */
bool gw_fit_record(struct gw_client *c);
/* Could there be, by its first GW_FIT_HEAD octets? */
bool gw_fit_ever(const struct gw_client *c);
/* The longest head of a Call (RFC 5531, 9) */
#define GW_FIT_HEAD 840
/* Have it ask for no more than can be brought. */
void gw_fit_counts(struct gw_call *call);
/* What the server takes. */
void gw_fit_segments(struct gw_client *c, const struct rt_properties *theirs);

static inline size_t gw_round4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

/* gw_reverse.c */
void gw_reverse_call(struct rt_conn *rc, struct rt_call *call); /* strand */
uint32_t gw_reverse_vet(struct rt_conn *rc, struct rt_vet *v, uint32_t *max);
void gw_reverse_reply(struct gw_client *c, uint32_t xid); /* takes c->acc */
void gw_reverse_orphan(struct gw_client *c);

/* ---- Workers and the whole ---------------------------------------------- */

struct gw_worker {
	struct gateway *gw;
	unsigned int index;
	pthread_t thread;
	bool started;
	int epfd, evfd;
	atomic_bool stop;
	uint64_t stop_at; /* ns; waits for its clients until then */
	struct gw_client *clients, *timers;
	unsigned int nwatched;
	uint64_t sweep_at; /* ns; while there are any */
	uint64_t look_at; /* ns; at all, while there are clients */
	pthread_mutex_t kick_lock;
	struct gw_client *kicked, **kicked_tail;
	struct gw_batch batch;
};

int gw_worker_start(struct gw_worker *w, struct gateway *gw, unsigned int i);
/* End its clients, then itself when all clients of all workers are gone. */
void gw_worker_signal_stop(struct gw_worker *w);
void gw_worker_join(struct gw_worker *w);

#define GW_MAX_LISTEN 8

struct gw_options {
	struct arg_addr listen[GW_MAX_LISTEN];
	unsigned int nlisten;
	struct arg_addr server;
	struct hostauth hostauth;
	const char *provider;
	struct rt_config config;
	enum fab_crc crc;
	unsigned int threads;
	unsigned int max_clients;
	unsigned int max_calls; /* outstanding for each client */
	size_t max_record;
	uint32_t reduce_min; /* shorter data items stay inline */
	unsigned int retry_seconds;
	const char *stats_socket, *stats_file;
	bool stats;
	bool reserved_ports; /* clients must have one */
	int log_level;
	struct conf conf; /* --config's text, which others point into */
};

struct gateway {
	struct gw_options opt;
	struct fab_log *log; /* of what TCP clients can cause */
	struct auth_gss *auth;
	struct rt_instance *inst;
	struct fab_pool *pool;
	struct rt_ops ops;
	unsigned int nworkers;
	struct gw_worker *workers;
	atomic_uint nclients;
	atomic_uint leaving; /* of these, on their way out */
	struct gw_shares shares;
	/* The longest Reply under integrity or privacy that found no room. */
	atomic_size_t gss_reply_max;
	pthread_key_t batch_key; /* the thread's struct gw_batch, or NULL */
	pthread_mutex_t lock; /* clients, ended, accepted */
	struct gw_client *clients;
	struct gw_stats ended; /* of clients that are gone */
	uint64_t accepted;
};

void gw_log(struct gateway *gw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What a client can cause, as far as its budget goes (base/log.h). */
#define gw_client_log(c, level, ...)                                         \
	fab_log_put((c)->gw->log, &(c)->log, &(c)->host, (c)->name, (level), \
		    __VA_ARGS__)
/* One line on stderr for a bad command line; the exit status. */
int gw_options_parse(struct gw_options *o, int argc, char **argv, int *status);
void gw_options_free(struct gw_options *o);
void gw_stats_add(struct gw_stats *to, const struct gw_stats *from);
void gw_stats_total(struct gateway *gw, struct gw_stats *out);

#endif /* RPCRDMA_TOOLS_GW_H */
