/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core - a connection's states, turns, deadlines and work requests; the instance
 *
 * Reading order: state_table.h and state_table.c; part.h (the hooks of what is above);
 * connection.h; strand.c (who runs a connection); turn.c (what a run does); work.c (work
 * requests); poller_run.c (a run of the poller); connection.c, establish.c, admission.c,
 * instance.c, info.c, maintenance.c, shutdown.c, settings.c.
 *
 * Context: the caller is the runner, unless a comment says otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_CORE_H
#define RPCRDMA_TRANSPORT_CORE_H

#include <stdarg.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/turn.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "transport/core/connection.h"

/*
 * A USDT probe of provider "rpcrdma": one no-op instruction until a tracer attaches. Its
 * arguments must be values that are at hand, since the object file says where each is.
 * The first is always the connection's number. docs/operations.md describes the probes,
 * which users' scripts rely on.
 */
#ifdef RPCRDMA_PROBES
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define RT_PROBE(name, c, ...) \
	STAP_PROBEV(rpcrdma, name, (c)->who.id, __VA_ARGS__)
#else
#define RT_PROBE(name, c, ...) ((void)0)
#endif

/* A thread other than the poller's has its own work to do: it runs a connection for so
 * many turns, or for BASE_TURN_MS, and then hands it over. */
#define RT_TURNS 16
/* ns: the longest turn of a connection that keeps receiving, about a MiB with iWARP. New
 * connections and other hosts' Calls wait for one such turn of each. */
#define RT_TURN_NS 500000
/* ms: a connection that has been idle for so long frees memory, such as 20 KiB for each
 * Call that it had at once. One that is in use frees what it has not used for as long. */
#define RT_IDLE_MS 1000
/* ms: deadlines are rounded up to multiples of this, so that those of many connections
 * wake the poller together. */
#define RT_TICK_MS 100
/* ms: until the log says how many lines were left out. */
#define RT_LOG_TICK_MS 1000
/* ms: a client waits so long for CONNPROP_FINAL after the first answer; a server that
 * has answered, for the second message before it sends its own [A9]. */
#define RT_SETTLE_MS 1000
/* What is reserved for each connection (receives.c): header buffers of Sends; on a server
 * also promised buffers of the pool, for a Reply, for one copy of what the device cannot
 * send, and for the Receive of a reverse Call's Reply. */
#define RT_RESERVED_SENDS 2
#define RT_PROMISED (RT_CALL_PROMISED + 2)
/* ms: how long a shutdown waits for connections that it has aborted. */
#define RT_ABORT_MS 1000

/* The runner alone writes counters. Any thread reads them. */
#define RT_COUNT(c, field, n)                                       \
	__atomic_store_n(&(c)->stats.field, (c)->stats.field + (n), \
			 __ATOMIC_RELAXED)

/* Returns a setting of struct rt_current. Any thread. */
#define RT_CURRENT(inst, field) \
	__atomic_load_n(&(inst)->current.field, __ATOMIC_RELAXED)

#define RT_STAGE(c, name, from, to) \
	rt_histogram_add(&(c)->stages.stage[RT_STAGE_##name], (to) - (from))

/* @op_class comes from the upper layer, and may be any number. */
static inline struct rt_class *rt_class_of(struct rt_conn *c,
					   unsigned int op_class)
{
	return &c->classes.of[op_class < RT_CLASSES ? op_class : 0];
}

static inline size_t rt_round8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static inline size_t rt_round4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

static inline uint64_t rt_now_ms(void)
{
	return base_now_ms();
}

/* Returns the earlier of two times, of which 0 is none. */
static inline uint64_t rt_earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Returns true while rt_delay_poll() keeps the fabric from being polled. It does not
 * delay the end of a connection. */
static inline bool rt_poll_delayed(const struct rt_conn *c)
{
	return c->strand.poll_not_before && c->state < RT_DRAINING &&
	       c->strand.poll_not_before > rt_now_ms();
}

/* Returns how long a connection may take to drain, in ms. Any thread. */
static inline unsigned int rt_drain_ms(const struct rt_instance *inst)
{
	unsigned int ms = atomic_load(&inst->admission.draining_ms);

	return ms ? ms : inst->cfg.drain_ms;
}

/* Do not poll the fabric until @ms, or up to RT_TICK_MS later. A time before the one that
 * is set is ignored. */
static inline void rt_delay_poll(struct rt_conn *c, uint64_t ms)
{
	c->strand.poll_not_before = MAX(c->strand.poll_not_before, ms);
}

/* ---- connection.c ---- */

/* Switch an optional part on or off for @c. A call from one of its hooks takes effect in
 * the next turn. */
void rt_part_set(struct rt_conn *c, unsigned int slot, bool on);
/* Make a connection, whose strand the caller has until rt_strand_release(). A client
 * connects to @to; a server passes NULL. Returns 0 or -errno. */
int rt_conn_new(struct rt_instance *inst, unsigned int poller, bool server,
		const struct rt_ops *ops, const struct sockaddr *to,
		socklen_t to_len, struct rt_conn **out);
void rt_conn_set_name(struct rt_conn *c, const struct sockaddr *peer);
/* Free what a connection that is RT_CLOSED has. Harmless if repeated. */
void rt_conn_release(struct rt_conn *c);
/* Take a reference, unless the last one is gone. Returns whether it did. Any thread. */
bool rt_conn_try_get(struct rt_conn *c);
/* Note why the connection will end, unless a reason has been noted before. */
void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_vfail(struct rt_conn *c, int error, const char *fmt, va_list ap);

/* ---- info.c ---- */

/* Call the established operation, unless it has been called: the upper layer may use the
 * connection from now on. */
void rt_conn_notify_established(struct rt_conn *c);
/* Update what rt_conn_info() returns. */
void rt_conn_publish(struct rt_conn *c);
/* Call @fn for each connection of @inst, whose lock is held. */
void rt_each_conn(struct rt_instance *inst,
		  void (*fn)(struct rt_conn *c, void *arg), void *arg);
/* Add the connection's counters to the totals. inst->lock is held. */
void rt_totals_add(struct rt_conn *c);
/* Count a connection of @peer that was refused. Any thread. */
void rt_count_refused(struct rt_instance *inst, enum rt_refusal why,
		      const struct sockaddr_storage *peer);

/* ---- strand.c ---- */

/* Note a reason to run the connection. Run it, or hand it over, unless another thread has
 * the strand. Any thread. */
void rt_strand_run(struct rt_conn *c);
/* Run the connection and release its strand, which this thread has. Any thread that has
 * it. */
void rt_strand_release(struct rt_conn *c);
/* The same, but this thread leaves it to the poller. Any thread. */
void rt_strand_defer(struct rt_conn *c);
/* The fabric's callback: rt_strand_run(). Any thread. */
void rt_conn_ready(struct fab_conn *f, void *user);
/* Have the runner call @run, which drops the reference that the mail holds. Any
 * thread. */
void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m));
/* The same, but this thread runs the connection only if it has ended; otherwise the
 * poller does. Any thread. */
void rt_inbox_put_deferred(struct rt_conn *c, struct rt_mail *mail,
			   void (*run)(struct rt_conn *c, struct rt_mail *m));
/* Run all mail of the inbox. */
void rt_inbox_take(struct rt_conn *c);
/* Run the connections that were handed over to a poller. Returns how many. For rt_run()
 * alone. */
int rt_strand_run_handed(struct rt_poller_state *t);

/* ---- turn.c ---- */

/* Take one turn, for @n reasons of c->strand.pending, at the time @now (ms). */
void rt_turn_run(struct rt_conn *c, uint32_t n, uint64_t now);
/* rt_alarm_set() has the strand run at @d (ms, 0 for no deadline) or earlier. Without the
 * fabric it does nothing. rt_alarm_stop() must be called while c->fab and the poller
 * exist. */
void rt_alarm_init(struct rt_conn *c);
void rt_alarm_set(struct rt_conn *c, uint64_t d);
void rt_alarm_stop(struct rt_conn *c);
/* End the connection, for the reason @why, if the deadline @at (0 for none) has
 * passed. */
void rt_end_if_late(struct rt_conn *c, uint64_t at, uint64_t now,
		    const char *why);
/* Apply an event by the table of states. Returns true if the message that caused it is to
 * be processed. */
bool rt_event(struct rt_conn *c, enum rt_event ev);
/* Call rt_conn_fail(), then apply an event that ends the connection. */
void rt_conn_stop(struct rt_conn *c, enum rt_event ev, int error,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Returns true if an ordinary message may be sent in this state (4.3). */
bool rt_state_may_send(const struct rt_conn *c);
/* Post the chain, if it is not empty. The connection ends if the fabric refuses it. */
void rt_chain_post(struct rt_conn *c);

/* ---- poller_run.c ---- */

/* Note that an RDMA Read that arrives in many parts begins, or has ended. */
void rt_long_read(struct rt_conn *c, bool begins);

/* ---- admission.c ---- */

/* Returns the reason to refuse a connection of @peer, after logging it, or RT_NREFUSALS. @chosen:
 * as in fab_domain_params.admit. Any thread. */
enum rt_refusal rt_admission_check(struct rt_instance *inst,
				   const struct sockaddr_storage *peer,
				   bool chosen);
/* Refuse @who until @until (ms). Returns 0, or -ENOSPC if there are RT_EVICTIONS_MAX others. Any
 * thread. */
int rt_refuse_until(struct rt_instance *inst, const struct base_prefix *who,
		    uint64_t until);
/* fab_domain_params.admit; @inst is a struct rt_instance. */
bool rt_admission_early(void *inst, const struct sockaddr_storage *peer,
			bool chosen);

/* ---- instance.c ---- */

/* rt_instance_create() with these parts and extensions. */
int rt_instance_new(const struct rt_params *p,
		    const struct rt_part *const *parts,
		    const struct rt_ext *const *exts, struct rt_instance **out);
/* Take @c, whose fabric has ended, out of the list of connections. Harmless if repeated.
 * Any thread. */
void rt_instance_remove_conn(struct rt_conn *c);
void rt_instance_put(struct rt_instance *inst);

/* ---- settings.c ---- */

/* Set @now to the settings of @cfg. Caller holds inst->lock, or nobody else has the instance. */
void rt_current_set(struct rt_current *now, const struct rt_config *cfg);
/* Returns the most Receives that one connection ever has posted. */
unsigned int rt_most_receives(const struct rt_config *cfg);

/* ---- work.c ---- */

/*
 * Get a work request, or one for a Send with a buffer for its header. Returns NULL if
 * there is no memory. @done is called when the request completes; that of a Send only
 * calls rt_work_put(), unless the caller sets another.
 */
struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done);
struct rt_work *rt_send_get(struct rt_conn *c);
/* Put @n new Sends on the free list. Returns 0 or -ENOMEM. */
int rt_sends_preallocate(struct rt_conn *c, unsigned int n);
/* Complete a work request that the fabric has returned, or, with @wc NULL, refused. */
static inline void rt_work_complete(struct rt_conn *c, struct rt_work *w,
				    const struct fab_wc *wc)
{
	assert(c->works_inflight && (!w->is_send || c->sends_inflight));
	c->works_inflight--;
	if (w->is_send)
		c->sends_inflight--;
	/* A Write completes only when flushed, and is freed with its Send. */
	if (w->done)
		w->done(c, w, wc);
}
void rt_work_put(struct rt_conn *c, struct rt_work *w);
/* Server: give @w the buffer that is reserved for copies, until rt_work_put(). Returns
 * false if it is in use, or shorter than @n octets. */
bool rt_work_get_bounce(struct rt_conn *c, struct rt_work *w, size_t n);
/* Put all buffers of a list back; add one to it. Any thread. */
void rt_bufs_put(struct fab_buf **list);
void rt_bufs_add(struct fab_buf **list, struct fab_buf *b);
/* Append to the chain that rt_chain_post() posts. */
void rt_chain_add(struct rt_conn *c, struct rt_work *w);
/* rt_chain_cut() takes the RDMA Writes out of the chain that were added since the mark.
 * They remain with their Send. */
struct rt_mark rt_chain_mark(const struct rt_conn *c);
void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m);
/* Returns the chain, which is empty afterwards. */
struct fab_wr *rt_chain_take(struct rt_conn *c);
/* Complete the work requests of @chain, which the fabric has refused. */
void rt_chain_refused(struct rt_conn *c, struct fab_wr *chain);
/* Free the work requests of the free lists: all but RT_RESERVED_SENDS each; of those the
 * ones that were not used since the last call, returning true if there were any; all. */
void rt_works_shrink(struct rt_conn *c);
bool rt_works_trim(struct rt_conn *c);
void rt_works_free(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_CORE_H */
