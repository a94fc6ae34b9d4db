/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal - what the files of the transport share
 *
 * Reading order: credit.h and credit1.h (flow control), message.h (what is
 * held of messages), part.h and assembly.c (what a connection is made of),
 * state.c (the table), conn.c (life of a connection and its strand), version.c
 * (which version it is), v1.c and v2.c (what differs between them), recv.c
 * (version 2 messages that come in), connprop.c, auth_state.h and auth.c (host
 * authentication), call.c and call_read.c (Responder: taking and assembling a
 * Call), reply.c (Responder: sending the Reply), responder.c, format.c and
 * request.c (Requester: sending a Call), response.c (Requester: taking the
 * Reply), send.c (queues, credits and posting), work.c (work requests and
 * buffers), rtr_state.h, rtr.c, rtr_place.c, rtr_call.c and rtr_request.c (the
 * extension rtrext), ended.c (what is given back at the end), host.c (accounts
 * of hosts), wrong.c (how much may be wrong), reserve.c (what a connection has
 * of its own), config.c, listen.c, log.c, instance.c, totals.c, shutdown.c and
 * run.c.
 * stage.h and probe.h tell others what happens.
 *
 * Unless a comment says otherwise every function takes a connection whose
 * strand the calling thread holds.
 */
#ifndef RPCRDMA_TRANSPORT_INTERNAL_H
#define RPCRDMA_TRANSPORT_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <syslog.h>
#include <urcu/list.h>

#include "base/log.h"
#include "transport/ext/auth/auth_state.h"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"
#include "transport/message/message.h"
#include "transport/core/part.h"
#include "transport/core/probe.h"
#include "transport/ext/rtr/rtr_state.h"
#include "rpcrdma/transport.h"
#include "transport/ext/xchar/xchar_state.h"

struct wire_xchar;

/* ERRORs waiting for credits beyond the Advertised credits, [E6]. */
#define RT_ERROR_SLACK 8
/* Messages of unsupported versions in a row, [B2]. */
#define RT_BAD_VERSIONS 8
/* Completions handled before other connections get a turn. */
#define RT_BUDGET 128
/* So long a turn of one connection may last, ms; and a thread other than the
 * poller's goes on with it for so long, and so many turns. */
#define RT_TURN_MS 20
#define RT_TURNS 16
/* When a connection has had max_wrong, it may have one that is wrong in so many
 * ms. They are looked at together, each RT_TICK_MS. */
#define RT_WRONG_MS 10
/* Servers remembered for version 1, [B6]. */
#define RT_OLD_SERVERS 64
/* A Reply of unknown length: ACLs and extended attributes have 64 KiB. */
#define RT_UNKNOWN_REPLY (128u << 10)
/* Of max_memory this part is not for chunks and reassembly. */
#define RT_POOL_RESERVE 16
/* A host's share of Replies is so much less where there are many hosts. */
#define RT_MANY_HOSTS 16
/* When nothing has been done for so long, ms, free lists are shortened: that of
 * Calls alone is 20 KiB for each that there were at once. */
#define RT_REST_MS 1000
/* Deadlines are looked at in steps of this, so that those of many connections
 * wake the poller together. */
#define RT_TICK_MS 100
/* How soon it is told how many lines of the log were left out. */
#define RT_COUNTS_MS 1000
/* A server leaves the extra Receive to the client's GRANTs for this long. */
#define RT_RESERVE_MS 200
/* A client waits this long for CONNPROP_FINAL after the first answer; a server
 * that has answered so for the second message before it sends one [A9]. */
#define RT_SETTLE_MS 1000
/* Of its own a connection has headers for so many Sends (reserve.c). */
#define RT_OWN_SENDS 2
/* What must be copied to be sent goes in pieces of this if memory is short. */
#define RT_BOUNCE_MIN ((size_t)64 << 10)
/* What a shutdown has aborted may take this long to be gone. */
#define RT_ABORT_MS 1000

/* See state.c for what each means. */
enum rt_state {
	RT_CONNECTING,
	RT_ACCEPTING,
	RT_GREETING,
	RT_AWAITING,
	RT_ANSWERED,
	RT_OPEN,
	RT_DRAINING,
	RT_CLOSING,
	RT_CLOSED,
	RT_NSTATES
};

enum rt_event {
	EV_UP, /* the fabric is established */
	EV_VERSION1, /* version 1 is settled: by the first message (server),
		      * by choice or by ERR_VERS (client) */
	EV_DOWN, /* the fabric has ended */
	EV_MSG_ERROR, /* messages, by header type */
	EV_MSG_GRANT,
	EV_MSG_PROPS,
	EV_MSG_CALL,
	EV_MSG_REPLY,
	EV_MSG_EXT, /* of an extension that is on here */
	EV_MSG_VERSION, /* of a version we do not support */
	EV_MSG_BAD, /* of our version, with an error to answer */
	EV_CLOSE, /* the upper layer wants an orderly end */
	EV_ABORT, /* an immediate end */
	EV_VIOLATION, /* an end after what is posted has gone out */
	EV_DRAINED, /* nothing is in progress any more */
	EV_TIMEOUT, /* the state's deadline has passed */
	EV_SETTLED, /* server: its first message must have come by now */
	EV_COUNT
};

#define RT_HASH 256
/* XIDs of the peer's Calls here are counted by their low bits. */
#define RT_XIDS 1024

/* What goes out, as flow control sees it. */
enum rt_out_kind {
	RT_OUT_CALL,
	RT_OUT_REPLY,
	RT_OUT_CONTROL,
};

/* What differs between the versions, above the codec. */
struct rt_version {
	unsigned int number;
	/* Messages of several fragments; GRANT and CONNPROP. */
	bool continuation;
	/* A malformed Reply is answered with an error. */
	bool answers_replies;

	/* Flow control: Receives to post, rdma_credit of a message about to be
	 * posted, whether it may be, that it has been. */
	uint32_t (*receives)(const struct rt_conn *c);
	uint32_t (*credit_word)(const struct rt_conn *c, enum rt_out_kind kind);
	bool (*may_send)(const struct rt_conn *c, enum rt_out_kind kind);
	void (*posted)(struct rt_conn *c);
	bool (*grant_due)(struct rt_conn *c); /* and may go */
	void (*tell)(const struct rt_conn *c, struct rt_conn_info *info);

	/* The codec; as the functions of wire.h. */
	size_t (*call_len)(bool external, const struct wire_call_desc *d);
	size_t (*reply_len)(bool external, const struct wire_reply_desc *d);
	size_t (*encode_call)(void *buf, size_t size, uint32_t xid,
			      uint32_t credit, bool external,
			      const struct wire_call_desc *d);
	size_t (*encode_reply)(void *buf, size_t size, uint32_t xid,
			       uint32_t credit, bool external,
			       const struct wire_reply_desc *d);
	size_t (*encode_error)(void *buf, size_t size, uint32_t xid,
			       uint32_t vers, uint32_t credit,
			       const struct wire_error *err);

	/* A message of this version, the connection's. */
	void (*receive)(struct rt_conn *c, struct rt_work *w,
			const struct rt_in *in);
	/* Cannot take a Call now that another time could be taken. */
	void (*turn_away)(struct rt_conn *c, uint32_t xid);

	/* Remote invalidation. Requester: the handle for the header, and
	 * whether a Reply may have invalidated @handle. Responder: the handle
	 * that the Reply may invalidate, where the header said @said. */
	uint32_t (*inv_offer)(const struct rt_conn *c,
			      const struct rt_request_priv *rq);
	bool (*inv_offered)(const struct rt_conn *c,
			    const struct rt_request_priv *rq, uint32_t handle);
	uint32_t (*inv_take)(struct rt_conn *c, const struct rt_call_priv *call,
			     uint32_t said);
};

extern const struct rt_version rt_version1, rt_version2;

struct rt_conn {
	struct rt_instance *inst;
	const struct rt_ops *ops;
	void *user;
	uint64_t id;
	bool server;
	unsigned int poller;
	char name[96];
	char peer_name[64];
	struct in6_addr log_host;
	struct fab_log_budget log_budget;
	atomic_long refs;

	/* The strand. */
	_Atomic uint32_t pending;
	_Atomic(struct rt_mail *) inbox; /* newest first */
	struct rt_conn *handed_next; /* in its poller's queue */
	_Atomic int close_wanted; /* 1 in order, 2 abort */
	atomic_bool shut; /* rt_instance_shutdown() has aborted it */
	struct fab_timer alarm; /* of its poller; see run.c */
	struct cds_list_head inst_link; /* inst->conns, under its lock */

	/* Calls here by XID, written by the runner; rt_conn_xid_busy(). */
	_Atomic uint16_t xids[RT_XIDS];

	/* For rt_conn_info(), written by the runner. */
	pthread_mutex_t info_lock;
	struct rt_conn_info info;
	atomic_bool can_call;
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;

	/* Runner only, from here on. */
	struct fab_conn *fab;
	enum rt_state state;
	atomic_bool over; /* it is RT_CLOSING or RT_CLOSED; any thread */
	atomic_bool fabric_gone; /* ... of one that was never started */
	bool calls_back; /* it has ended, and the last of its Calls too */
	unsigned int version; /* 0: not yet settled */
	/* Settled, or the one that is tried first. */
	const struct rt_version *v;
	struct rt_credit credit; /* version 2 */
	struct rt_credit1 credit1; /* version 1 */
	struct wire_cm_private private; /* the peer's, or the defaults */
	bool remote_invalidation; /* version 1: both sides do [P4] */
	struct rt_properties ours, theirs;
	uint32_t values; /* how often they have changed */
	uint32_t to_peer; /* inline threshold towards the peer */
	uint32_t from_peer; /* and the other way */
	uint32_t messages; /* valid messages from the peer */
	unsigned int bad_versions;
	uint64_t wrong_until; /* by then what was wrong is made up for */
	/* Client: no answer to version 2 yet, or none after ERR_VERS [B6]. */
	bool unanswered;
	bool ended_here; /* the upper layer has asked for the end */
	struct sockaddr_storage server_addr; /* client */
	bool reply_refused; /* Requester: REPLY_RESOURCE has come */
	uint32_t refused; /* Requester: header types, 1 << rdma_htype, 7.1.3 */
	bool established; /* the upper layer has been told */
	bool vouched; /* server: a Call has had its Reply */
	bool props_due; /* our CONNPROP_FINAL has to go */
	bool props_sent;
	bool values_sent; /* in it, or in a MIDDLE before it */
	bool props_open; /* between the peer's MIDDLE and FINAL */
	bool first_sent; /* server: its first message is out */
	bool one_only; /* server: the client has not sent its second [A7] */
	uint32_t props_xid; /* of all our CONNPROP messages */
	struct rt_auth auth;
	struct rt_xchar xchar;
	struct rt_rtr rtr;
	uint32_t next_xid;
	uint64_t state_deadline;
	uint64_t credit_deadline; /* of a Reply that waits for a credit */
	uint64_t memory_deadline; /* of a Reply that waits for memory */
	uint64_t reserve_deadline; /* a GRANT may then use the extra Receive */
	uint64_t last_active;
	bool restless; /* something has come since it was last at rest */
	size_t memory; /* chunk and reassembly octets held */
	struct rt_host *host; /* server */
	/* Why it counts as one of its host's, under inst->lock: it has not
	 * ended, not all its Calls are back. */
	unsigned int host_holds;
	atomic_size_t reply_octets; /* of Replies that have not gone */
	int end_error;
	const char *end_reason;
	char end_text[160];

	struct cds_list_head lent; /* Receives posted */
	unsigned int recvs_posted;
	bool memory_told; /* that there was none */
	unsigned int recvs_lacking; /* that have not come back since */
	size_t recv_octets; /* of its own Receives, as its host's account has */
	unsigned int promised; /* buffers of the pool */
	unsigned int sends_inflight;
	unsigned int works_inflight;
	struct rt_work *free_sends, *free_works;
	struct fab_buf *free_recv;
	struct fab_wr *chain, **chain_tail;
	struct rt_call_priv *posting; /* whose Replies end in the chain */
	bool posted;

	struct rt_sequence seq;
	/* A broken sequence and the one that broke it, [D3], 7.1.4. */
	struct rt_discard discard[2];
	struct cds_list_head calls; /* every rt_call_priv in use */
	struct rt_call_priv *free_calls;
	unsigned int calls_all; /* until the last Send of the Reply is done */
	unsigned int calls_upper; /* the upper layer has or had them */
	/* Those without a Reply yet, but for those in `waiting`; any thread. */
	atomic_uint calls_executing;
	unsigned int calls_reverse; /* client: of the reverse direction */

	struct cds_list_head starved; /* Calls that wait for memory */
	uint64_t starved_deadline;
	unsigned int calls_reading; /* with Reads pending */
	struct cds_list_head waiting; /* ... for Replies to be taken */
	bool replies_told; /* that some have waited */
	struct cds_list_head replies; /* ready to be sent, in order */
	struct cds_list_head calls_out; /* Calls not yet (wholly) sent */
	struct cds_list_head requests; /* all submitted and not done */
	struct rt_request_priv *hash[RT_HASH];
	unsigned int requests_out; /* posted, Reply awaited */
	/* The message whose fragments are under way: one of them or none. */
	struct rt_call_priv *cont_reply;
	struct rt_request_priv *cont_call;

	unsigned int nerrors, errors_at;
	struct rt_error_out *errors; /* ring of max_errors */
	unsigned int max_errors;
};

struct rt_listener {
	struct rt_instance *inst;
	struct fab_listener *fab;
	unsigned int poller;
	const struct rt_ops *ops;
	void *ctx;
	struct cds_list_head link;
};

/* Of the thread that runs the poller, but for what is said to be others'. */
struct rt_turn {
	struct rt_instance *inst;
	unsigned int hot; /* busy polling has been of use lately */
	struct fab_timer counts; /* of lines left out, to be told */
	atomic_bool woken; /* by rt_wake(), which must not go unnoticed */

	/* If the instance is bound; any thread. */
	_Atomic(pthread_t) runner; /* who is in rt_run(), or 0 */
	pthread_mutex_t lock;
	struct rt_conn *handed, **handed_tail; /* under the lock */
	atomic_bool any_handed;

	/* Steps of host authentication that have been made; by any thread. */
	_Atomic(struct rt_auth_job *) auth_done;
};

struct rt_instance {
	const struct rt_part *const *parts;
	const struct fab_ops *provider;
	struct fab_domain *dom;
	bool own_domain;
	bool bound; /* connections are run within rt_run() alone */
	bool shares; /* Receives bring no memory */
	struct fab_pool *pool;
	atomic_size_t memory; /* chunks and reassembly of all connections */
	atomic_size_t replies; /* octets that have not gone */
	struct fab_buf *zeros; /* rtrext: never written to */
	const struct fab_limits *limits;
	struct rt_config cfg;
	/* The owner's and one of each connection, ended ones included. */
	atomic_long refs;
	unsigned int npollers;
	struct fab_poller **pollers;
	struct rt_turn *turns; /* one for each poller */
	struct fab_log *log;

	/* Lock order: lock, then a connection's info_lock. */
	pthread_mutex_t lock;
	/* Until the fabric has let go of them. */
	struct cds_list_head conns;
	struct cds_list_head hosts; /* host.c */
	struct cds_list_head crowd; /* auth_crowd.c, oldest first */
	unsigned int ncrowd;
	unsigned int nconns;
	struct cds_list_head listeners;
	unsigned int next_poller;
	uint64_t next_id;
	uint64_t accepted, refused;
	/* Totals of connections that are gone. */
	struct rt_stats ended;
	struct rt_stages ended_stages;
	struct rt_classes ended_classes;
	/* Servers met with version 1 for a time [B6]. */
	struct rt_old_server {
		struct sockaddr_storage addr;
		uint64_t until;
	} old[RT_OLD_SERVERS];

	pthread_mutex_t request_lock;
	struct rt_request_priv *free_requests;

	struct rt_auth_pool auth;
};

/* Counters are written by the runner alone and read by anybody. */
#define RT_COUNT(c, field, n)                                       \
	__atomic_store_n(&(c)->stats.field, (c)->stats.field + (n), \
			 __ATOMIC_RELAXED)

/* The runner alone writes. */
static inline void rt_executing_add(struct rt_conn *c, int n)
{
	unsigned int was =
		atomic_load_explicit(&c->calls_executing, memory_order_relaxed);

	atomic_store_explicit(&c->calls_executing, was + (unsigned int)n,
			      memory_order_relaxed);
}

#define RT_STAGE(c, name, from, to) \
	rt_histogram_add(&(c)->stages.stage[RT_STAGE_##name], (to) - (from))

/* Whatever number the upper layer has given. */
static inline struct rt_class *rt_class_of(struct rt_conn *c,
					   unsigned int op_class)
{
	return &c->classes.of[op_class < RT_CLASSES ? op_class : 0];
}

/*
 * So many Replies, and as many Sends, may be posted that the peer has yet to
 * take. One that keeps to its credits comes nowhere near: a Send is done before
 * what is sent because of it comes, or soon after.
 */
static inline unsigned int rt_conn_most(const struct rt_conn *c)
{
	return 4 * c->inst->cfg.credits + 64;
}

static inline size_t rt_round4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

uint64_t rt_now_ms(void);
void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* It has said why it ended: how much it has not said. */
void rt_log_ended(struct rt_conn *c);

/* A reference, unless the last one has just gone. */
bool rt_conn_try_get(struct rt_conn *c);

/* conn.c */
int rt_conn_new(struct rt_instance *inst, unsigned int poller, bool server,
		const struct rt_ops *ops, struct rt_conn **out);
void rt_conn_set_name(struct rt_conn *c, const struct sockaddr *peer);
void rt_strand_run(struct rt_conn *c);
/* A new connection's strand is held by its maker until this. */
void rt_strand_release(struct rt_conn *c);
void rt_conn_ready(struct fab_conn *f, void *user);

/* Any thread: have @run called in the strand. A reference to @c that goes with
 * the mail is dropped there. */
void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m));
/* Of two times, of which 0 is none. */
static inline uint64_t rt_earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* What the peer had to do by @at, unless that is 0; if not, the connection
 * ends. */
void rt_give_up(struct rt_conn *c, uint64_t at, uint64_t now, const char *why);
/* Remember why the connection ends; the first reason stays. */
void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_tell_established(struct rt_conn *c);
void rt_conn_publish(struct rt_conn *c);

/* ended.c */
/* It is RT_CLOSED: give back what it has and nobody else has. */
void rt_conn_ended(struct rt_conn *c);

/* assembly.c */
extern const struct rt_part rt_part_message, rt_part_responder,
	rt_part_requester, rt_part_auth, rt_part_xchar, rt_part_rtr,
	rt_part_flow;

/* run.c */
/*
 * The strand runs at @d (ms), or earlier; 0: it need not. Once the connection
 * has no fabric any more that does nothing; before, rt_alarm_stop() must be
 * called, while the poller is still there.
 */
void rt_alarm_init(struct rt_conn *c);
void rt_alarm_set(struct rt_conn *c, uint64_t d);
void rt_alarm_stop(struct rt_conn *c);
int rt_turns_create(struct rt_instance *inst);
/* Before the poller is destroyed. */
void rt_turns_stop(struct rt_instance *inst, unsigned int n);
void rt_turns_free(struct rt_instance *inst);
/*
 * Unless this is the poller's thread: have that run the connection, whose
 * strand this one holds, soon. False: it has to go on itself.
 */
bool rt_hand_over(struct rt_conn *c);

/* state.c */
extern const char *const rt_state_names[RT_NSTATES];
/*
 * Feed one event to the table. Returns whether what came with it (a message)
 * is to be processed.
 */
bool rt_event(struct rt_conn *c, enum rt_event ev);
/* Does the state let an ordinary message out (4.3)? */
bool rt_state_may_send(const struct rt_conn *c);

/* instance.c */
/* With these parts; as rt_instance_create(). */
int rt_instance_new(const struct rt_params *p,
		    const struct rt_part *const *parts,
		    struct rt_instance **out);
/* It has ended, the fabric too, and no longer counts. Any thread, harmless
 * when repeated. */
void rt_instance_forget(struct rt_conn *c);
void rt_instance_put(struct rt_instance *inst);

/* totals.c */
/* It no longer counts; inst->lock is held. */
void rt_totals_keep(struct rt_conn *c);

/* receives.c */
/* Receives that one connection ever has posted. */
unsigned int rt_most_receives(const struct rt_config *cfg);
/* Before the first connection: do as the settings say. 0 or -errno. */
int rt_share_receives(struct rt_instance *inst);
/* Post Receives up to what flow control calls for; 0 or -errno. */
int rt_post_receives(struct rt_conn *c);
/* Of a connection that was never started; the fabric has let go of them. */
void rt_reclaim_receives(struct rt_conn *c);

/* work.c */
/* One that is no Send, and one that is, with room for its header. When it comes
 * back, @done is called; of a Send, rt_work_done() unless its poster sets
 * another. */
struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done);
struct rt_work *rt_send_get(struct rt_conn *c);
/* Put it back, and no more. */
void rt_work_done(struct rt_conn *c, struct rt_work *w,
		  const struct fab_wc *wc);
/* Something has come of it: have it done. */
void rt_work_complete(struct rt_conn *c, struct rt_work *w,
		      const struct fab_wc *wc);
void rt_work_put(struct rt_conn *c, struct rt_work *w);
void rt_works_free(struct rt_conn *c);
/* Keep what the connection has of its own. */
void rt_works_rest(struct rt_conn *c);
void rt_bufs_put(struct fab_buf **list);
void rt_bufs_add(struct fab_buf **list, struct fab_buf *b);
/* The end of the chain, and the counts of what is in it. */
struct rt_mark {
	struct fab_wr **tail;
	uint64_t writes, copied, chunks;
};
struct rt_mark rt_chain_mark(const struct rt_conn *c);
/* Take RDMA Writes that were added since out of it; they hang on their Send. */
void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m);
/* Append to the chain that rt_chain_post() posts in one go. */
void rt_chain_add(struct rt_conn *c, struct rt_work *w);
void rt_chain_post(struct rt_conn *c);
/* The end came before the chain was posted. */
void rt_chain_drop(struct rt_conn *c);
/* Fill @w's gather list from @n octets of @out at its present place. */
int rt_gather(struct rt_conn *c, struct rt_work *w, struct rt_out *out,
	      size_t n);
void rt_out_init(struct rt_out *out);
int rt_out_add(struct rt_out *out, void *addr, size_t len, struct fab_mr *mr);
/*
 * Cut @items out of a stream: what stays goes to @out, the items to @cuts.
 * 0, -EINVAL (items outside, unordered or overlapping), -E2BIG.
 */
int rt_reduce(const struct rt_piece *pieces, unsigned int npieces,
	      const struct rt_item *items, unsigned int nitems,
	      struct rt_out *out, struct rt_cuts *cuts);
/* RDMA Writes of the pieces into the segments of a chunk, before @send. */
int rt_write_chunk(struct rt_conn *c, struct rt_work *send,
		   const struct rt_piece *pieces, unsigned int npieces,
		   const struct wire_segment *seg, unsigned int nsegs,
		   struct wire_segment *result);

/* v1.c: the effect of EV_VERSION1. */
void rt_act_version1(struct rt_conn *c);

/* version.c */
/* A new connection: which version is tried, flow control, thresholds. */
void rt_version_init(struct rt_conn *c);
/* A message has come, of whatever version. */
void rt_receive(struct rt_conn *c, struct rt_work *w, size_t len,
		bool invalidated, uint32_t inv_handle);
/* Client, at the end: is the server to be met with version 1 from now on? */
void rt_version_ended(struct rt_conn *c);
/* Client: version 2 has been answered. */
void rt_version_answered(struct rt_conn *c);
/* Our private data, RFC 8797. */
void rt_private_data(const struct rt_instance *inst, bool server,
		     uint8_t out[WIRE_CM_LEN]);
/* The peer's; NULL: none. */
void rt_private_take(struct rt_conn *c, const void *priv, size_t len);
/*
 * A Send with Invalidate must be the end of a Reply and take a handle that its
 * Call offered; otherwise memory of another RPC may be closed. If not, the
 * connection ends. @reply: it is the whole or the last part of a Reply.
 */
bool rt_invalidation_ok(struct rt_conn *c, const struct rt_in *in, bool reply);
/* A Requester that refuses a Reply ends its RPC, [E1] 4, [D3] step 4. */
void rt_refuse_reply(struct rt_conn *c, uint32_t xid);

/* recv.c */
void rt_receive2(struct rt_conn *c, struct rt_work *w, const struct rt_in *in);
void rt_sequence_reset(struct rt_conn *c);
/* Swallow what is still to come of a continued message. */
void rt_sequence_discard(struct rt_conn *c, uint32_t xid, bool reply);
/* Is this of such a message? */
bool rt_sequence_discards(const struct rt_conn *c, const struct wire_prefix *p);

/* connprop.c */
/* Our next CONNPROP message: FINAL, or a MIDDLE with a part of a token. */
size_t rt_connprop_encode(struct rt_conn *c, void *buf, bool final);
enum wire_status rt_connprop_receive(struct rt_conn *c,
				     const struct wire_msg *m);
void rt_connprop_init(struct rt_conn *c);
void rt_connprop_refused(struct rt_conn *c);
/* One value, known or not, into @p; false: it cannot be. */
bool rt_connprop_apply(const struct rt_conn *c, struct rt_properties *p,
		       const struct wire_prop *v);
/* Sizes have changed: how long our messages may be, and the peer's. */
void rt_connprop_threshold(struct rt_conn *c);

/* xchar.c: xcharext */
void rt_xchar_init(struct rt_conn *c);
/* The end of it: of the connection, or because the peer refuses it. */
void rt_xchar_reset(struct rt_conn *c);
/* The peer's CONNPROP_FINAL has come. */
void rt_xchar_begin(struct rt_conn *c);
/* The peer does not want it, or does not know that we have it. */
void rt_xchar_off(struct rt_conn *c);
/* A property; others than its own are left alone. False: it cannot be. */
bool rt_xchar_prop(const struct rt_conn *c, struct rt_properties *p,
		   const struct wire_prop *v);
/* Is this a header type of it, and is it on here? */
bool rt_xchar_mine(const struct rt_conn *c, uint32_t htype);
enum wire_status rt_xchar_check(const struct rt_in *in);
void rt_xchar_receive(struct rt_conn *c, const struct rt_in *in);
/* An ERROR that answers a message of it? */
bool rt_xchar_error(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err);
/* Is there a message of it to be sent? */
bool rt_xchar_due(const struct rt_conn *c);
bool rt_xchar_send(struct rt_conn *c);
/* Tell the peer what a property of ours is now. */
void rt_xchar_update(struct rt_conn *c, uint32_t which);
/* Remote invalidation: does our Requester offer handles; has the peer's said
 * that there must be none, [M4]? */
bool rt_xchar_offers(const struct rt_conn *c);
bool rt_xchar_forbids(const struct rt_conn *c);
/* The reverse direction as far as the peer may still believe in it. */
uint32_t rt_xchar_reverse(const struct rt_conn *c);

/* xchar_resize.c */
/* Octets of a Receive that is posted now. */
uint32_t rt_recv_size(const struct rt_conn *c);
/* A Receive has completed. */
void rt_xchar_received(struct rt_conn *c, const struct rt_work *w);
/* May our Receives have no other size? */
bool rt_xchar_fixed(const struct rt_conn *c);
/* Make them longer. False: that cannot be. */
bool rt_xchar_raise(struct rt_conn *c, uint32_t size);
bool rt_xchar_raised(const struct rt_conn *c);
bool rt_xchar_raise_done(struct rt_conn *c);
/* REQXCH; 0, or how it is refused. */
uint32_t rt_xchar_request(struct rt_conn *c, const struct wire_xchar *m);

/* xchar_policy.c */
/* What is wished for, and what the counts say. */

/* auth.c */
/* Client: begin the exchange. False: the policy is to take no part in it. */
bool rt_auth_begin(struct rt_conn *c);
/* Server: the client's first message is here; it should begin soon. */
void rt_auth_heard(struct rt_conn *c);
/* The tokens in a CONNPROP message whose other properties have been taken. */
void rt_auth_receive(struct rt_conn *c, const struct wire_msg *m);
/*
 * May the peer's values become these? Not those that its tokens do not cover,
 * once they cover some. If not, the connection is ending.
 */
bool rt_auth_covers(struct rt_conn *c, const struct rt_properties *next,
		    const struct rt_rtr_peer *rtr);
/* The peer has answered a CONNPROP of ours with an ERROR. */
void rt_auth_refused(struct rt_conn *c);
/* Steps that have been made come by here. */
void rt_auth_result(struct rt_conn *c, struct rt_mail *m);
/* Is the peer known, or not asked who it is? */
bool rt_auth_settled(const struct rt_conn *c);
/* May a Call or Reply that has come be taken? If not, it is to be dropped. */
bool rt_auth_admits(struct rt_conn *c);
/* Must our FINAL wait? */
bool rt_auth_holds(const struct rt_conn *c);
/* Is there a CONNPROP_MIDDLE to be sent? */
bool rt_auth_due(const struct rt_conn *c);
/* Has the beginning of a token been sent, but not the end? */
bool rt_auth_inside(const struct rt_conn *c);
/* Up to @room octets of the token that goes; 0: there is none. */
size_t rt_auth_part(struct rt_conn *c, size_t room, const uint8_t **part);
/* They have been sent. */
void rt_auth_sent(struct rt_conn *c);
/* No part is taken any more: version 1, or the end of the connection. */
void rt_auth_reset(struct rt_conn *c);

/* auth_crowd.c */
/* Server: a connection whose peer may have to show who it is. */
void rt_crowd_join(struct rt_conn *c);
/* That is settled, or it has ended. */
void rt_crowd_leave(struct rt_conn *c);
void rt_crowd_leave_locked(struct rt_conn *c); /* inst->lock held */

/* auth_pool.c */
int rt_auth_pool_prepare(struct rt_instance *inst, const struct rt_params *p);
void rt_auth_pool_destroy(struct rt_instance *inst);
int rt_auth_pool_start(struct rt_instance *inst);
void rt_auth_pool_stop(struct rt_instance *inst);
/* Any thread; the connection is held until the result is in its inbox. */
void rt_auth_pool_submit(struct rt_auth_job *job);
/* True: it will not be run, and is the caller's again. Not in the last
 * reference to its connection. */
bool rt_auth_pool_cancel(struct rt_auth_job *job);
/* Results to the connections of a poller, by its thread. How many. */
int rt_auth_pool_deliver(struct rt_instance *inst, unsigned int poller);

/* call.c */
/*
 * Take a Call whose header is @m. @w's buffer (and a finished sequence's) goes
 * to the call if it is kept.
 */
void rt_call_receive(struct rt_conn *c, const struct wire_msg *m,
		     struct rt_work *w, bool continued);
/*
 * A Call may be taken: a new one, without its lists and stream. @reads, @writes:
 * it has chunks for arguments, for results. NULL: it has been answered or
 * dropped.
 */
struct rt_call_priv *rt_call_admit(struct rt_conn *c, uint32_t xid, bool reads,
				   bool writes);
/* Answer with an ERROR and forget the Call. */
void rt_call_error(struct rt_conn *c, struct rt_call_priv *call,
		   const struct wire_error *err);
void rt_call_free(struct rt_conn *c, struct rt_call_priv *call);
/* Keep but one of those that are free. */
void rt_calls_rest(struct rt_conn *c);

/* call_read.c; each may answer the Call, or free it */
/* Its lists are there, and its stream is in the Call chunk. */
void rt_call_read_body(struct rt_conn *c, struct rt_call_priv *call);
/* Its stream without the data items (@base) and its lists are there. */
void rt_call_proceed(struct rt_conn *c, struct rt_call_priv *call);
void rt_call_read_items(struct rt_conn *c, struct rt_call_priv *call);
/* When the oldest Call that is being read must be here; 0: there is none. */
uint64_t rt_calls_deadline(const struct rt_conn *c);
/* There may be memory for the Calls that wait; @late: for the last time. */
void rt_calls_feed(struct rt_conn *c, bool late);

/* call_wait.c */
/* To the upper layer, for the first time; or it waits. */
void rt_call_hand_up(struct rt_conn *c, struct rt_call_priv *call);
/* Before its items are read. True: they will be later. */
bool rt_call_held_up(struct rt_conn *c, struct rt_call_priv *call);
/* All that need wait no longer. */
void rt_calls_let(struct rt_conn *c);

/* host.c */
/* Count @c among those of its host: 0, -EUSERS: too many, -ENOMEM. */
int rt_host_join(struct rt_conn *c, const struct sockaddr_storage *peer);
/* It has ended, or its last Call is back after that; inst->lock is held. */
void rt_host_ended(struct rt_conn *c);
void rt_host_leave(struct rt_conn *c);
/* Octets of the buffers of chunks and reassembly, whatever is in them, where
 * @mine are the asking message's already; runner. False: not now. */
bool rt_memory_take(struct rt_conn *c, size_t mine, size_t n);
/* Does more than its share wait to be taken by this one's host, and something
 * of that, or one of @others, keep this connection busy? Any thread. */
bool rt_replies_wait(struct rt_conn *c, unsigned int others);
/* And for what, for the log. */
const char *rt_replies_why(struct rt_conn *c);
/* A buffer for them, counted so; NULL: not now. */
struct fab_buf *rt_memory_get(struct rt_conn *c, size_t mine, size_t size);
void rt_memory_give(struct rt_conn *c, size_t n);
/* So many octets are its own Receives; false: too many for its host. */
bool rt_host_receives(struct rt_conn *c, size_t n);
/* Octets of Replies; any thread. */
void rt_replies_add(struct rt_conn *c, size_t n);
void rt_replies_sub(struct rt_conn *c, size_t n);

/* reserve.c */
/* Before the first Receive is posted: 0, -ENOMEM, -EDQUOT: its host has had
 * its share. What was taken goes with the works. */
int rt_reserve(struct rt_conn *c);
void rt_reserve_end(struct rt_conn *c);
/* The Receive for the Reply to a reverse Call that is about to be posted, and is
 * counted: 0, -EAGAIN: it waits, or why the connection fails. */
int rt_reserve_reverse(struct rt_conn *c);
/* Receives of another size; false: nothing has changed. */
bool rt_reserve_resize(struct rt_conn *c, size_t size);
/* A Receive's buffer that nobody kept. */
void rt_receive_put(struct rt_conn *c, struct fab_buf *b);
/* What was kept of Receives, and other buffers. */
void rt_receive_back(struct rt_conn *c, struct fab_buf **list);

/* reply.c */
/* May a Reply be longer than one message? */
bool rt_reply_may_continue(const struct rt_conn *c);
/* Post the next Send of a Reply; false when it has to wait. */
bool rt_reply_send(struct rt_conn *c, struct rt_call_priv *call);
/* The chain is with the fabric: count the stages of those it answers. */
void rt_replies_posted(struct rt_conn *c);
void rt_reply_abandon(struct rt_conn *c, struct rt_call_priv *call);

/* request.c */
bool rt_request_send(struct rt_conn *c, struct rt_request_priv *rq);
void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status);
struct rt_request_priv *rt_request_find(struct rt_conn *c, uint32_t xid);
/* Close what has been opened to the peer for it. */
void rt_request_rollback(struct rt_conn *c, struct rt_request_priv *rq);
void rt_request_unexpose(struct rt_conn *c, struct rt_request_priv *rq,
			 uint32_t handle);
/* It has been posted, but not executed: send it once more. */
void rt_request_again(struct rt_conn *c, struct rt_request_priv *rq);
/* An ERROR: it has failed. */
void rt_request_refused(struct rt_conn *c, struct rt_request_priv *rq,
			const struct wire_error *err);

/* format.c */
/* Choose the format and open the memory: 0 or -errno. */
int rt_request_prepare(struct rt_conn *c, struct rt_request_priv *rq);
/* Has something changed since that it was chosen for? */
bool rt_request_outdated(const struct rt_conn *c,
			 const struct rt_request_priv *rq);
/* The header type that its first message has; a base message. */
uint32_t rt_request_htype(const struct rt_conn *c,
			  const struct rt_request_priv *rq);
/* Can it do with fewer chunks than it had, as this ERROR wants? */
bool rt_request_reduce_chunks(struct rt_request_priv *rq,
			      const struct wire_error *err);
/* The last or only header of the Call, and its length. */
void rt_request_describe(const struct rt_request_priv *rq,
			 struct wire_call_desc *d);
size_t rt_request_header_len(const struct rt_conn *c,
			     const struct rt_request_priv *rq, bool external);
/* Cut the eligible arguments out, as far as the settings go. */
int rt_request_reduce(struct rt_conn *c, struct rt_request_priv *rq);
/* Open the sinks, and the arguments that have been cut out. */
int rt_request_offer_writes(struct rt_conn *c, struct rt_request_priv *rq);
int rt_request_expose_cuts(struct rt_conn *c, struct rt_request_priv *rq);

/* response.c */
void rt_response_receive(struct rt_conn *c, const struct wire_msg *m,
			 struct rt_work *w, bool continued);
void rt_response_error(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err);
/* Compare a returned chunk with the offered one; the octets in it. */
bool rt_response_chunk(const struct wire_list *got,
		       const struct wire_chunk_desc *offered, size_t *used);
void rt_response_violation(struct rt_conn *c, struct rt_request_priv *rq,
			   uint32_t xid, const char *what);
/* The Reply is in its place. */
void rt_response_done(struct rt_conn *c, struct rt_request_priv *rq);
/*
 * The request is about to be given back, and its memory closed to the peer:
 * what stands in the Reply chunk can only now be looked at (11.1.3), since
 * before the peer could still have changed it.
 */
void rt_response_closed(struct rt_conn *c, struct rt_request_priv *rq);

/* wrong.c */
/* The peer has sent what is wrong. */
void rt_wrong(struct rt_conn *c);
/* Is it not yet time to look at more of it? */
bool rt_wrong_waits(const struct rt_conn *c);
/* When it is, or 0. */
uint64_t rt_wrong_deadline(const struct rt_conn *c);

/* send.c */
/* Queue an ERROR; closes the connection if too many wait. */
void rt_error_send(struct rt_conn *c, uint32_t xid, uint32_t vers,
		   const struct wire_error *err);
/* The same about a message of the connection's version. */
void rt_error_about(struct rt_conn *c, uint32_t xid,
		    const struct wire_error *err);
void rt_error_code(struct rt_conn *c, uint32_t xid, uint32_t code);
/* The same with a REPTERR. */
void rt_repterr_send(struct rt_conn *c, const struct wire_repterr *err);
/* What goes out now; only ERRORs, when nothing else may any more, unless they
 * would come amid a message of ours. */
void rt_pump(struct rt_conn *c);
void rt_pump_errors(struct rt_conn *c);
/* Post @w as a Send whose header of @hlen octets is in its buffer. */
void rt_send_work(struct rt_conn *c, struct rt_work *w, size_t hlen);

/* rtr.c */
/* Octets of all our properties of rtrext. */
#define RT_RTR_PROPS 128
void rt_rtr_init(struct rt_conn *c);
/* Our Receives have a structure, which must not be changed. */
bool rt_rtr_structured(const struct rt_conn *c);
/* Our properties into @props, at most 4; their values into @buf, of
 * RT_RTR_PROPS octets. How many; @len: octets that they take in a message. */
unsigned int rt_rtr_props(struct rt_conn *c, struct wire_prop *props, void *buf,
			  size_t *len);
/* One of the peer's into @p; false: BAD_PROPVAL. */
bool rt_rtr_apply(const struct rt_conn *c, struct rt_rtr_peer *p,
		  const struct wire_prop *v);
/* The message that they were in has been taken; the rest of it is @props. */
void rt_rtr_taken(struct rt_conn *c, const struct rt_rtr_peer *p,
		  struct rt_properties *props);
/* The peer's Receives have the size c->theirs.recv_size. It may end the
 * connection. */
void rt_rtr_resized(struct rt_conn *c);
/* Has the peer changed what the plan was made for? */
bool rt_rtr_stale(const struct rt_conn *c, const struct rt_rtr_plan *p);
bool rt_rtr_same_layout(const struct rt_rtr_layout *a,
			const struct rt_rtr_layout *b);
/* The peer's FINAL is here. */
void rt_rtr_settled(struct rt_conn *c);
/* What it has announced has changed since. */
void rt_rtr_use(struct rt_conn *c);
/* The peer does not want it, or does not know that we have it. */
void rt_rtr_off(struct rt_conn *c);
/* A message of rtrext that may come on this connection? */
bool rt_rtr_takes(const struct rt_conn *c, uint32_t htype);
enum rt_event rt_rtr_event(uint32_t htype);
/* Swallow what is still to come of a group that was refused. */
void rt_rtr_discard(struct rt_conn *c, uint32_t xid);
/* Is the message allowed between others? If not, it has been answered. */
bool rt_rtr_in_order(struct rt_conn *c, const struct wire_prefix *p);
void rt_rtr_receive(struct rt_conn *c, struct rt_work *w,
		    const struct rt_in *in);
/* Send a REPTERR about a transmission of a request or response. */
void rt_rtr_report(struct rt_conn *c, struct wire_repterr *err, uint32_t xid,
		   bool reply, uint32_t seq);
void rt_rtr_group_reset(struct rt_conn *c);

/* rtr_place.c */
void rt_rtr_layout_set(struct rt_rtr_layout *l, const struct wire_rbstruct *b);
/*
 * Place @n items of these lengths behind a payload. @room: octets of a
 * transmission; @head: of the first header without the numbers of target
 * segments; @pieces: elements that payload and items have; @max:
 * transmissions. False: they do not fit.
 */
bool rt_rtr_plan(const struct rt_rtr_layout *l, size_t room, size_t head,
		 size_t payload, unsigned int pieces, const uint32_t *length,
		 unsigned int n, unsigned int max, struct rt_rtr_plan *p);
/* What follows the next transmission's header of @head octets, to @to. */
int rt_rtr_fill(struct rt_conn *c, struct rt_rtr_plan *p, struct rt_out *pay,
		const struct rt_cuts *cuts, size_t head, struct rt_out *to,
		size_t *pslen);
/*
 * An item in the group that has come: its pieces, @max at most. 0; a code of
 * REPTERR, with @err; UINT32_MAX: too scattered.
 */
uint32_t rt_rtr_locate(const struct rt_conn *c, const struct wire_xitem *item,
		       struct rt_piece *piece, unsigned int *npieces,
		       unsigned int max, struct wire_repterr *err);

/* rtr_call.c */
/* The group is a whole Call. */
void rt_rtr_call_receive(struct rt_conn *c);
/* How its Reply goes. False: @err has been set. */
bool rt_rtr_reply_plan(struct rt_conn *c, struct rt_call_priv *call,
		       struct wire_error *err);
/* Octets of its results that go by RDMA Write. */
uint64_t rt_rtr_written(const struct rt_call_priv *call);
int rt_rtr_reply_writes(struct rt_conn *c, struct rt_call_priv *call,
			struct rt_work *send);
/* The next transmission into @w. */
int rt_rtr_reply_fill(struct rt_conn *c, struct rt_call_priv *call,
		      struct rt_work *w, size_t *hlen, bool *last);

/* rtr_request.c */
/* Is the Call to go by XMTREQ? Then it is prepared for that. */
bool rt_rtr_prepare(struct rt_conn *c, struct rt_request_priv *rq);
int rt_rtr_call_fill(struct rt_conn *c, struct rt_request_priv *rq,
		     struct rt_work *w, size_t *hlen, bool *last);
/* Is there a Call by XMTREQ that awaits a response of up to @limit? */
bool rt_rtr_response_limit(struct rt_conn *c, uint32_t xid, uint32_t *limit);
/* The group is a whole response. */
void rt_rtr_response_receive(struct rt_conn *c);
bool rt_rtr_inv_offered(const struct rt_request_priv *rq, uint32_t handle);
/* May a base Reply answer it [R11]? */
bool rt_rtr_base_reply_ok(const struct rt_request_priv *rq);
/* A request was refused by REPTERR: send it by base messages. */
void rt_rtr_refused(struct rt_conn *c, uint32_t xid);
/* The same for an ERROR, if that may be so. */
bool rt_rtr_error(struct rt_conn *c, struct rt_request_priv *rq,
		  const struct wire_error *err);
/* Is the ERROR about an XMTRESP or REPTERR of ours? Then it has been heeded. */
bool rt_rtr_sent_error(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err);

#endif /* RPCRDMA_TRANSPORT_INTERNAL_H */
