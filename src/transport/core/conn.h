/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - what a connection and an instance are made of
 */
#ifndef RPCRDMA_TRANSPORT_CONN_H
#define RPCRDMA_TRANSPORT_CONN_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <urcu/list.h>

#include "base/clock.h"
#include "base/log.h"
#include "rpcrdma/stats.h"
#include "rpcrdma/transport.h"
#include "transport/core/part.h"
#include "transport/core/work.h"
#include "transport/core/own.h"

/* Servers remembered for version 1, [B6]. */
#define RT_OLD_SERVERS 64
#define RT_HOST_BUCKETS 256

/* Names of a connection, for the upper layer and the log, and its references. */
struct rt_identity {
	void *user;
	uint64_t id;
	char name[96];
	char peer_name[64]; /* under the info_lock */
	struct in6_addr log_host;
	atomic_long refs;
};

/* See strand.c. */
struct rt_strand {
	unsigned int poller;
	_Atomic uint32_t pending;
	uint32_t parts_on; /* 1 << index in inst->parts */
	_Atomic(pthread_t) runner; /* for rt_assert_strand() alone */
	struct base_stack inbox; /* of struct rt_mail */
	struct rt_conn *handed_next; /* in its poller's queue */
	_Atomic int close_wanted; /* 1 orderly, 2 at once */
	atomic_bool shut; /* rt_instance_shutdown() has aborted it */
	atomic_bool over; /* RT_CLOSING or RT_CLOSED; any thread reads it */
	atomic_bool can_call; /* rt_conn_can_call(); any thread reads it */
	struct base_timer alarm;
	/* ms: when expire() is wanted, 0 for never; when that was set */
	uint64_t deadline, settled;
	unsigned int unread; /* rounds that have not read all there was */
	uint64_t trim_at; /* ms, 0 for never */
	uint64_t poll_from; /* ms, see rt_delay_poll() */
	bool quiet; /* fab_quiet() is on */
	struct cds_list_head inst_link; /* inst->conns, under its lock */
	bool one_only; /* server: one message, until the client's second [A7] */
};

/* See work.c. */
struct rt_works {
	struct rt_work *free_sends, *free_works;
	struct fab_wr *chain, **chain_tail;
	bool posted; /* in this turn */
	bool copying; /* the reserved buffer for copies is in use */
};

/*
 * A structure of own.h is looked into by its room alone. Several rooms read the other
 * members; tests/architecture/members says which of them set each.
 */
struct rt_conn {
	struct rt_instance *inst;
	const struct rt_ops *ops;
	bool server;
	struct rt_identity who;
	struct rt_strand strand;
	struct rt_works work;

	/* For rt_conn_info(). The runner writes it. */
	pthread_mutex_t info_lock;
	struct rt_conn_info info;
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;

	/* From here on the runner's. The core: */
	struct fab_conn *fab;
	enum rt_state state;
	atomic_bool fabric_gone; /* ... of one that was never started */
	struct sockaddr_storage server_addr; /* client */
	bool established; /* the upper layer has been told */
	bool ended_here; /* by the upper layer */
	bool first_sent; /* server: its first message is out */
	bool used; /* since it was last idle */
	uint64_t last_active;
	uint64_t state_deadline;
	unsigned int sends_inflight;
	uint64_t works_inflight;
	/* Called once when the chain has been posted, if set. */
	void (*chain_posted)(struct rt_conn *c);
	int end_error;
	const char *end_reason;
	char end_text[RT_AUTH_TEXT + 64];

	/* Flow control. Each role counts its messages. */
	struct rt_flow flow;
	struct rt_credit credit; /* version 2 */
	struct rt_credit1 credit1; /* version 1 */
	const struct rt_traffic *traffic;
	const struct rt_sender *sender; /* an extension's, while it is in use */
	struct cds_list_head replies; /* that wait, in order */
	struct cds_list_head calls_out; /* that wait, in order */
	/* The message whose fragments are under way, or NULL. */
	struct rt_outgoing *cont;
	unsigned int nerrors; /* ERRORs that wait */
	unsigned int calls_all; /* until the last Send of the Reply completes */
	unsigned int calls_upper; /* of these, delivered to the upper layer */
	unsigned int calls_reverse; /* client: of the reverse direction */
	unsigned int requests_out; /* posted, without a Reply */
	uint64_t reserve_deadline; /* ms; then a GRANT may use the extra Receive */
	/* Receives: octets of those posted now; what they are being raised to, 0 if
	 * they are not; how many posted ones are shorter than that; how many there
	 * was no memory for. */
	uint32_t recv_size, recv_target;
	unsigned int recvs_shorter, recvs_lacking;
	atomic_bool gives_way; /* to newer unproved connections */

	/* Messages. @v is the version, settled or the first to be tried. */
	struct rt_messages msg;
	const struct rt_version *v;
	/* Client: version 2 has not been answered, or not since ERR_VERS [B6]. */
	bool unanswered;
	bool remote_invalidation; /* version 1: both sides do [P4] */
	struct rt_properties ours, theirs;
	uint32_t values; /* how often they have changed */
	uint32_t to_peer; /* inline threshold towards the peer */
	uint32_t from_peer; /* and the other way */
	bool props_due; /* our CONNPROP_FINAL has to go */
	bool props_sent;
	bool values_sent; /* in it, or in a MIDDLE before it */
	unsigned int max_errors;
	const struct rt_responder_ops *responder;
	const struct rt_requester_ops *requester;

	struct rt_responding resp;
	struct rt_requesting req;

	/* Extensions: what each has of its own, and what they set for others.
	 * Parts of tokens: one is due; its beginning has gone, but not its end;
	 * one is being made; our FINAL waits for them. */
	void *ext[RT_SLOTS];
	bool part_due, part_inside, part_made, props_held;
	const struct rt_ext *gate; /* messages pass only by its leave */
	bool (*in_order)(struct rt_conn *c, const struct wire_prefix *p);
	const struct rt_request_format *other_format;
	bool partial; /* the peer is amid a message of several */
	bool recv_fixed, theirs_fixed; /* Receives can have no other size */
	uint32_t send_limit; /* octets of our Sends; 0: none but the others */
	uint32_t extensions; /* RT_EXT_* in use with this peer */
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
	struct base_timer counts; /* of lines left out, to be told */
	atomic_bool woken; /* by rt_wake(), which must not go unnoticed */
	/* RDMA Reads that come in many parts, under way, and until when the poller
	 * naps for them, ns. Any thread. */
	atomic_uint long_reads;
	_Atomic(uint64_t) naps_until;

	/* If the instance is bound; any thread. */
	_Atomic(pthread_t) runner; /* who is in rt_run(), or 0 */
	pthread_mutex_t lock;
	struct rt_conn *handed, **handed_tail; /* under the lock */
	atomic_bool any_handed;
};

struct rt_instance {
	const struct rt_part *const *parts;
	struct rt_hooks hooks;
	const struct rt_ext *const *exts;
	void *ext[RT_SLOTS];
	/* Why version 1 is not spoken although config.versions has it; or NULL. */
	const char *no_version1;
	size_t call_room, request_room;
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
	struct base_log *log;

	/* Lock order: lock, then a connection's info_lock. */
	pthread_mutex_t lock;
	/* Until the fabric has let go of them. */
	struct cds_list_head conns;
	struct cds_list_head hosts[RT_HOST_BUCKETS]; /* account.c */
	uint64_t hosts_key; /* random */
	struct cds_list_head unproved; /* account.c, oldest first */
	unsigned int nunproved;
	unsigned int nconns;
	struct cds_list_head listeners;
	unsigned int next_poller;
	uint64_t next_id;
	struct rt_totals totals; /* of those that are gone; info.c */
	/* Servers met with version 1 for a time [B6]. */
	struct rt_old_server {
		struct sockaddr_storage addr;
		uint64_t until;
	} old[RT_OLD_SERVERS];

	pthread_mutex_t request_lock;
	struct rt_request_priv *free_requests;
};

/*
 * This thread has the strand, or is about to let go of it. In release builds
 * nobody asks.
 */
static inline void rt_strand_is(struct rt_conn *c, pthread_t thread)
{
#ifndef NDEBUG
	atomic_store_explicit(&c->strand.runner, thread, memory_order_relaxed);
#endif
}

static inline void rt_assert_strand(const struct rt_conn *c)
{
	assert(atomic_load_explicit(&c->strand.runner, memory_order_relaxed) ==
	       pthread_self());
}

#endif /* RPCRDMA_TRANSPORT_CONN_H */
