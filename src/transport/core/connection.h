/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * connection - the structures of a connection, a listener and an instance
 */
#ifndef RPCRDMA_TRANSPORT_CONNECTION_H
#define RPCRDMA_TRANSPORT_CONNECTION_H

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
#include "transport/core/room_state.h"

/* Servers that are known to speak version 1 alone, [B6]. */
#define RT_VERSION1_SERVERS 64
#define RT_HOST_BUCKETS 256

/* The names of a connection, for the upper layer and the log, and its references. */
struct rt_identity {
	void *user;
	uint64_t id;
	char name[96];
	char peer_name[64]; /* under info_lock */
	struct in6_addr log_host;
	uint64_t since; /* ms */
	atomic_long refs;
};

/* See strand.c and turn.c. */
struct rt_strand {
	unsigned int poller;
	_Atomic uint32_t pending;
	uint32_t parts_on; /* 1 << index in inst->parts */
	_Atomic(pthread_t) runner; /* for rt_assert_strand() alone */
	struct base_stack inbox; /* of struct rt_mail */
	struct rt_conn *handed_next; /* in the queue of its poller */
	_Atomic int close_wanted; /* 1 orderly, 2 at once */
	atomic_bool drain_again; /* with the time of rt_instance_drain() */
	atomic_bool shutdown_aborted; /* by rt_instance_shutdown() */
	atomic_bool is_closing; /* RT_CLOSING or RT_CLOSED; any thread reads it */
	atomic_bool can_call; /* rt_conn_can_call(); any thread reads it */
	struct base_timer alarm;
	uint64_t deadline; /* ms; the next call of handle_deadlines(), 0 for never */
	uint64_t deadline_set; /* ms; when `deadline` was worked out */
	unsigned int deferred_turns; /* that left deadlines to the next one */
	uint64_t trim_at; /* ms; 0 for never */
	uint64_t poll_not_before; /* ms; see rt_delay_poll() */
	bool poll_paused; /* fab_conn_mask() is on */
	struct cds_list_head inst_link; /* inst->conns, under its lock */
	/* Server: one message may be sent, and no more until the client's second one has
	 * been received [A7]. */
	bool awaits_second;
};

/* See work.c. */
struct rt_works {
	struct rt_work *free_sends, *free_works;
	struct fab_wr *chain, **chain_tail;
	bool posted; /* the chain has been posted in this turn */
	bool bounce_in_use; /* the buffer that is reserved for copies */
};

/*
 * The structures of room_state.h are used by one room each. The other members are used by
 * several; tests/architecture/members says which rooms set each of them.
 */
struct rt_conn {
	struct rt_instance *inst;
	const struct rt_ops *ops;
	bool server;
	struct rt_identity who;
	struct rt_strand strand;
	struct rt_works work;

	/* What rt_conn_info() returns. The runner writes it. */
	pthread_mutex_t info_lock;
	struct rt_conn_info info;
	struct rt_stats stats;
	struct rt_stages stages;
	struct rt_classes classes;

	/* All that follows belongs to the runner. The core: */
	struct fab_conn *fab; /* NULL once the fabric has ended */
	enum rt_state state;
	atomic_bool fabric_gone; /* of a connection that was never started */
	struct sockaddr_storage server_addr; /* client */
	bool established; /* the upper layer has been told */
	bool closed_locally; /* the upper layer has closed it */
	bool first_sent; /* server: its first message has been posted */
	bool used_since_idle;
	uint64_t last_active; /* ms */
	uint64_t state_deadline; /* ms */
	unsigned int sends_inflight;
	uint64_t works_inflight;
	/* Called once when the chain has been posted, if set. */
	void (*chain_posted)(struct rt_conn *c);
	int end_error;
	const char *end_reason;
	char end_text[RT_AUTH_TEXT + 64];

	/* Flow control. Each role counts its own messages. */
	struct rt_flow flow;
	struct rt_credit credit; /* version 2 */
	struct rt_credit1 credit1; /* version 1 */
	const struct rt_traffic *traffic;
	const struct rt_sender
		*sender; /* of an extension that is in use, or NULL */
	struct cds_list_head
		reply_queue; /* of struct rt_outgoing, first come first served */
	struct cds_list_head call_queue;
	struct rt_outgoing *sending; /* its fragments are being sent, or NULL */
	unsigned int nerrors; /* ERRORs that wait for a credit */
	unsigned int calls_all; /* until the last Send of the Reply completes */
	unsigned int calls_upper; /* of these, delivered to the upper layer */
	unsigned int calls_reverse; /* client: of the reverse direction */
	unsigned int requests_out; /* posted, without a Reply */
	uint64_t reserve_deadline; /* ms; then a GRANT may use the extra Receive */
	uint32_t recv_size; /* octets of the Receives that are posted now */
	uint32_t recv_target; /* the size that they are being raised to, or 0 */
	unsigned int
		recvs_shorter; /* posted ones that are shorter than recv_target */
	unsigned int recvs_lacking; /* not posted for lack of memory */
	atomic_bool
		evicted; /* by a newer connection that is not authenticated either */

	/* Messages. @v is the version: settled, or the first to be tried. */
	struct rt_messages msg;
	const struct rt_version *v;
	/* Client: no message has answered ours of version 2 (or, after an ERR_VERS, of
	 * version 1) [B6]. */
	bool unanswered;
	bool remote_invalidation; /* version 1: both ends support it [P4] */
	struct rt_properties ours, theirs;
	uint32_t props_generation; /* changes with each change of a property */
	uint32_t send_threshold; /* inline threshold towards the peer */
	uint32_t recv_threshold; /* inline threshold towards this end */
	bool props_due; /* our CONNPROP_FINAL is to be sent */
	bool props_sent; /* it has been sent */
	bool values_sent; /* our values have been sent, in it or in a MIDDLE before it */
	unsigned int max_errors;
	const struct rt_responder_ops *responder;
	const struct rt_requester_ops *requester;

	struct rt_responding resp;
	struct rt_requesting req;

	/* Extensions: the state of each (slots of parts), and what they set for
	 * others. */
	void *ext[RT_SLOTS];
	bool token_due; /* a part of a token is to be sent */
	bool token_begun; /* the first part of a token has been sent, and not the last */
	bool token_pending; /* a token is being made */
	bool props_held; /* our CONNPROP_FINAL waits for the tokens */
	const struct rt_ext
		*gate; /* decides which messages are accepted, or NULL */
	bool (*in_order)(struct rt_conn *c, const struct wire_prefix *p);
	const struct rt_request_format
		*ext_format; /* besides base messages, or NULL */
	bool receiving_group; /* the peer has begun a message of several transmissions */
	bool recv_fixed,
		peer_recv_fixed; /* the size of the Receives cannot change */
	uint32_t send_limit; /* octets of our messages; 0: no limit but the others */
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

/* What the transport has for each poller. It belongs to the thread in rt_run(), but for
 * what comments give to any thread. */
struct rt_poller_state {
	struct rt_instance *inst;
	unsigned int
		spins_left; /* vain rounds of busy polling before it sleeps at once */
	/* After so many events soon after it fell asleep it spins again; so many there have
	 * been. */
	unsigned int spin_debt, spin_paid;
	struct base_timer log_timer; /* to log how many lines were left out */
	atomic_bool woken; /* by rt_wake(), which must not go unnoticed */
	/* Any thread: the long RDMA Reads under way, and until when (ns) the poller naps
	 * while their parts arrive. */
	atomic_uint long_reads;
	_Atomic(uint64_t) naps_until;

	/* Connections handed over. Any thread. */
	_Atomic(pthread_t) runner; /* the thread in rt_run(), or 0 */
	_Atomic(uint64_t) turns; /* rt_turns() */
	_Atomic(pthread_t) returning; /* rt_run_later(); written under the lock */
	pthread_mutex_t lock;
	struct rt_conn *handed, **handed_tail; /* under the lock */
	atomic_bool any_handed;
};

/* The settings that rt_instance_configure() changes: use these, and not those of the start in
 * rt_instance.cfg. RT_CURRENT() reads them; inst->lock guards allow. */
struct rt_current {
#define RT_CURRENT_FIELD(field) \
	__typeof__(((struct rt_config *)0)->field) field;
	RT_CHANGEABLE(RT_CURRENT_FIELD)
#undef RT_CURRENT_FIELD
	struct rt_allow allow;
};

/* Whom a server accepts, see admission.c. inst->lock guards the evictions. */
struct rt_admission {
	atomic_uint draining_ms; /* 0: the server is not being drained */
	struct rt_eviction {
		struct base_prefix who;
		uint64_t until; /* ms */
	} evicted[RT_EVICTIONS_MAX];
};

/* RDMA Reads under way, see flow/reads.c. */
struct rt_reads {
	pthread_mutex_t lock; /* protects all below, and what hosts have of it */
	size_t octets;
	size_t least; /* of the limit; tests lower it */
	/* Octets of the Calls answered since @since (ms); in READS_MS before that. */
	size_t answered, lately;
	uint64_t since;
};

struct rt_instance {
	const struct rt_part *const *parts;
	struct rt_hooks hooks;
	const struct rt_ext *const *exts;
	void *ext[RT_SLOTS];
	/* Why version 1 is not spoken although config.versions has it; or NULL. */
	const char *no_version1;
	size_t call_room,
		request_room; /* octets of an extension in each Call, request */
	struct fab_domain *dom;
	bool own_domain;
	bool bound; /* connections run within rt_run() alone */
	bool shared_receives; /* the domain has the buffers of Receives */
	struct fab_pool *pool;
	atomic_size_t memory; /* chunks and reassembly of all connections */
	atomic_size_t reply_octets; /* of Replies that have not been sent */
	struct rt_reads reads;
	struct fab_buf *zeros; /* rtrext: never written to */
	const struct fab_limits *limits;
	struct rt_config cfg; /* does not change after the start */
	struct rt_current current;
	struct rt_admission admission;
	/* One of the owner, and one of each connection, also of those that have ended. */
	atomic_long refs;
	unsigned int npollers;
	struct fab_poller **pollers;
	struct rt_poller_state *poller_states;
	struct base_log *log;

	/* Lock order: lock, then a connection's info_lock. */
	pthread_mutex_t lock;
	struct cds_list_head conns; /* until the fabric has released them */
	struct cds_list_head hosts[RT_HOST_BUCKETS]; /* account.c */
	uint64_t hosts_key; /* random */
	struct cds_list_head unauthenticated; /* account.c, oldest first */
	unsigned int nunauthenticated;
	bool keeps_accounts; /* rt_accounts_take() has been called */
	unsigned int accounts_at; /* the bucket to begin with */
	unsigned int nhosts_due; /* that have no connection, and wait for it */
	unsigned int nconns;
	struct cds_list_head listeners;
	unsigned int next_poller;
	uint64_t next_id;
	struct rt_totals totals; /* of connections that are gone; info.c */
	/* Servers that version 1 is used with until a certain time [B6]. */
	struct rt_version1_server {
		struct sockaddr_storage addr;
		uint64_t until; /* ms */
	} version1_servers[RT_VERSION1_SERVERS];

	pthread_mutex_t request_lock;
	struct rt_request_priv *free_requests;
};

/* Note that @thread has the strand, or with 0 that nobody has. Any thread. */
static inline void rt_strand_set_runner(struct rt_conn *c, pthread_t thread)
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

#endif /* RPCRDMA_TRANSPORT_CONNECTION_H */
