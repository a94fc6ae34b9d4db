/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop - two endpoints in one process, for tests
 *
 * Both sides share one domain. A listener's name is its port; nothing of the
 * host's network is used. All work goes by memory copies, under the rules of
 * fabric.h taken strictly, and what a caller may not do at all (freeing a
 * connection that has not ended, closing a domain in use, ...) aborts.
 *
 * Order of things, unless faults change it: Sends and Writes are performed
 * within fab_post(). RDMA Reads are performed by the next fab_poll() of either
 * side. The passive side's fab_accept() establishes both sides. A post before
 * the poster has been given FAB_WC_ESTABLISHED is refused (-ENOTCONN).
 *
 * Not modelled: fab_domain_params.max_startup, since nothing here is ever half
 * open before it asks.
 */
#ifndef RPCRDMA_TEST_LOOP_H
#define RPCRDMA_TEST_LOOP_H

#include "rpcrdma/fabric.h"

extern const struct fab_ops fab_loop_ops;

/* ---- Settings -------------------------------------------------------- */

/*
 * What the domain offers. Change it before anything else is made of the
 * domain.
 *
 * Without FAB_CAP_ANY_LOCAL, a post whose sge is not inside its mr gives
 * -EINVAL. Without FAB_CAP_SEND_INV, FAB_SEND_INV does. Without
 * FAB_CAP_EXPOSE, fab_expose() returns the one handle of the mr: from then on
 * it stands for the whole mr, both rights, on every connection of the domain,
 * until fab_dereg(); it cannot be invalidated, and trying to ends the
 * connection. With FAB_CAP_BOUND, a foreign thread's call aborts (loop_make_foreign()).
 */
struct loop_settings {
	struct fab_limits limits;
	unsigned int max_exposed; /* handles open per connection */
};
void loop_get_settings(struct fab_domain *dom, struct loop_settings *s);
void loop_set_settings(struct fab_domain *dom, const struct loop_settings *s);

/*
 * The calling thread is no longer one of any domain's threads, as if it had
 * changed its credentials.
 */
void loop_make_foreign(void);

/* ---- Faults ---------------------------------------------------------- */

/* A Send on its way. The octets may be changed, and @len up to @cap. */
struct loop_message {
	unsigned long n; /* the how manieth of this end, from 1 */
	uint8_t *data;
	size_t len, cap;
	bool invalidate; /* whether it invalidates @inv_handle at the peer */
	uint32_t inv_handle;
};

/*
 * Faults of one end of a connection. Zero, or NULL, is no fault. Numbers count
 * from 1 and from the start of the connection.
 */
struct loop_faults {
	/* This fab_post() call takes nothing and returns refuse_error. */
	unsigned long refuse_post;
	int refuse_error;
	/* This request of fab_post() is not performed: FAB_ERROR, the end. */
	unsigned long fail_request;
	/* The connection breaks when this end has sent so many messages... */
	unsigned long break_after_messages;
	/* ...or octets in all. A Write or a Read response is cut there; of a
	 * Send nothing arrives. */
	uint64_t break_after_octets;
	/* Work of both directions is performed in an order, and at moments,
	 * drawn from this seed (the active end's counts). */
	uint32_t order_seed;
	/* A completion is returned only by the Nth fab_poll() after it. */
	unsigned int delay_polls;
	/* Sends arrive, but their completions wait until this is no more, or
	 * for the end: a peer that does not acknowledge. */
	bool keep_sends;
	/* Active end: the start-up is refused, or never answered. */
	bool reject_connects, ignore_connects;
	/* Called for each Send; may change it. Under the connection's lock. */
	void (*tamper)(void *ctx, struct loop_message *m);
	void *tamper_ctx;
};

/* What the device has run out of: so many of these are refused from now on, of all
 * connections and pools of the domain. */
struct loop_shortage {
	atomic_uint regs; /* fab_reg() */
	atomic_uint windows; /* fab_expose() */
	atomic_uint recvs; /* Receives */
};
struct loop_shortage *loop_shortage(struct fab_domain *dom);

enum loop_side {
	LOOP_ACTIVE = 1 << 0,
	LOOP_PASSIVE = 1 << 1,
};

/* Faults of connections made later, by their sides. NULL: none. */
void loop_set_faults(struct fab_domain *dom, unsigned int sides,
		     const struct loop_faults *faults);
/* Faults of this end from now on; what was counted stays. Any thread. */
void loop_set_conn_faults(struct fab_conn *c, const struct loop_faults *faults);
/* Break the connection now; both ends see @error. Any thread. */
void loop_break(struct fab_conn *c, int error);

/* ---- Observer -------------------------------------------------------- */

enum loop_event_kind {
	LOOP_EV_CONNECT, /* data: private data */
	LOOP_EV_ACCEPT,
	LOOP_EV_REJECT,
	LOOP_EV_SEND,
	LOOP_EV_SEND_INV,
	LOOP_EV_WRITE,
	LOOP_EV_READ_REQUEST,
	LOOP_EV_READ_RESPONSE, /* from: who gives the data */
	LOOP_EV_END, /* once a connection; from: who caused it, or NULL */
};

/* Something on the wire, as it arrives. */
struct loop_event {
	enum loop_event_kind kind;
	const struct fab_conn *from, *to; /* ends; NULL where there is none */
	bool from_active;
	uint32_t handle; /* SEND_INV, WRITE, READ_* */
	uint64_t offset; /* WRITE, READ_* */
	size_t len; /* of the operation */
	const uint8_t *data; /* all of it; NULL for READ_REQUEST and END */
	/* SEND*: Receives that stood at the target, this one's included. */
	size_t recvs_posted;
	/* READ_REQUEST: how many are under way, this one included. */
	unsigned int reads_out;
	int error; /* END */
	const char *reason; /* END */
};

/*
 * One for the domain; calls never overlap, and come in the order of each
 * connection's wire. It runs under locks: it must not call the fabric.
 */
typedef void (*loop_observer_fn)(void *ctx, const struct loop_event *ev);
void loop_set_observer(struct fab_domain *dom, loop_observer_fn fn, void *ctx);

/* The other end, for a test that puts itself between that and its owner; NULL: it is
 * not there any more, or not yet. */
struct fab_conn *loop_peer(struct fab_conn *c);
/* Receives posted and not yet used, handles open. Any thread. */
size_t loop_recvs_posted(struct fab_conn *c);
size_t loop_exposed(struct fab_conn *c);

#endif /* RPCRDMA_TEST_LOOP_H */
