/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - what a connection and an instance are made of
 */
#ifndef RPCRDMA_TRANSPORT_CONN_H
#define RPCRDMA_TRANSPORT_CONN_H

#include <pthread.h>
#include <stdatomic.h>
#include <urcu/list.h>

#include "base/log.h"
#include "rpcrdma/transport.h"
#include "transport/core/part.h"
#include "transport/core/work.h"
#include "transport/flow/credit.h"
#include "transport/flow/credit1.h"
#include "transport/message/inbound.h"

/* Servers remembered for version 1, [B6]. */
#define RT_OLD_SERVERS 64
#define RT_HASH 256
/* XIDs of the peer's Calls here are counted by their low bits. */
#define RT_XIDS 1024

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
	void *ext[RT_SLOTS]; /* each extension's own */
	const struct rt_traffic *traffic;
	const struct rt_sender *sender;
	const struct rt_responder_ops *responder;
	const struct rt_requester_ops *requester;
	const struct rt_ext *gate;
	const struct rt_request_format *other_format;
	bool (*in_order)(struct rt_conn *c, const struct wire_prefix *p);
	bool part_due, part_inside, part_made, props_held;
	bool partial, offers, recv_fixed, theirs_fixed;
	uint32_t reverse_most, send_limit, extensions;
	uint32_t recv_size, recv_target;
	unsigned int recvs_shorter;
	uint64_t look_from;
	struct cds_list_head crowd_link; /* inst->lock */
	atomic_bool gives_way; /* to others, and so ends */
	void (*chain_told)(struct rt_conn *c);
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
	struct rt_own *own[RT_HASH];
	unsigned int requests_out; /* posted, Reply awaited */
	/* The message whose fragments are under way, if there is one. */
	struct rt_outgoing *cont;

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
};

struct rt_instance {
	const struct rt_part *const *parts;
	const struct rt_ext *const *exts;
	void *ext[RT_SLOTS];
	const char *no_version1; /* why it is not spoken, though it was set */
	atomic_bool no_version1_said;
	size_t call_room, request_room;
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
};

#endif /* RPCRDMA_TRANSPORT_CONN_H */
