/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core - the life of a connection: its strand, its deadlines, its work requests
 *
 * Reading order: state.h and state.c (the table), part.h (what a connection is
 * made of), conn.h, strand.c (a turn of it), work.c (work requests), run.c (a turn
 * of the poller), conn.c, listen.c, instance.c, info.c, shutdown.c, config.c.
 *
 * Context: the caller holds the connection's strand, unless a comment says
 * otherwise.
 */
#ifndef RPCRDMA_TRANSPORT_CORE_H
#define RPCRDMA_TRANSPORT_CORE_H

#include <stdarg.h>
#include <sys/param.h>
#include <syslog.h>

#include "base/turn.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "transport/core/conn.h"

/*
 * A USDT probe of provider "rpcrdma": one no-op instruction until a tracer attaches.
 * Its arguments are noted in the object file, so they are values that are at hand. The
 * first is always the connection's number. docs/operations.md describes them; they
 * are an interface to users' scripts.
 */
#ifdef RPCRDMA_PROBES
#define SDT_USE_VARIADIC
#include <sys/sdt.h>
#define RT_PROBE(name, c, ...) \
	STAP_PROBEV(rpcrdma, name, (c)->who.id, __VA_ARGS__)
#else
#define RT_PROBE(name, c, ...) ((void)0)
#endif

/* A thread that is not the poller's has other work to do: it runs a connection for so
 * many turns, or for BASE_TURN_MS, and then hands it over. */
#define RT_TURNS 16
/* ns: a turn of a connection whose data go on and on, about a MiB with iWARP. New
 * connections and other hosts' Calls wait for such a turn of each of them. */
#define RT_TURN_NS 500000
/* ms: a connection that has been idle for so long frees what it needs no more, such as
 * 20 KiB for each Call that there was at once. One that is in use frees what it has not
 * used for as long. */
#define RT_IDLE_MS 1000
/* ms: deadlines are rounded up to these, so that those of many connections wake the
 * poller together. */
#define RT_TICK_MS 100
/* ms: until the log says how many lines were left out. */
#define RT_COUNTS_MS 1000
/* ms: a client waits so long for CONNPROP_FINAL after the first answer; a server that
 * has answered, for the second message before it sends its own [A9]. */
#define RT_SETTLE_MS 1000
/* What a connection has of its own (receives.c): headers of Sends; a server also the
 * promise of buffers of the pool, for a Reply, for a copy of what the device cannot
 * send, and for the Receive of a reverse Call's Reply. */
#define RT_OWN_SENDS 2
#define RT_PROMISED (RT_CALL_PROMISED + 2)
/* ms: until the connections are gone that a shutdown has aborted. */
#define RT_ABORT_MS 1000

/* The runner alone writes counters. Any thread reads them. */
#define RT_COUNT(c, field, n)                                       \
	__atomic_store_n(&(c)->stats.field, (c)->stats.field + (n), \
			 __ATOMIC_RELAXED)

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

/* Returns true while the fabric is not to be polled, because of rt_delay_poll(). The end
 * of a connection is not delayed. */
static inline bool rt_poll_delayed(const struct rt_conn *c)
{
	return c->strand.poll_from && c->state < RT_DRAINING &&
	       c->strand.poll_from > rt_now_ms();
}

/* Do not poll the fabric before @ms, or RT_TICK_MS later. It only moves later. */
static inline void rt_delay_poll(struct rt_conn *c, uint64_t ms)
{
	c->strand.poll_from = MAX(c->strand.poll_from, ms);
}

/* conn.c */
/* Switch an optional part on or off for @c. It changes from the next turn on, if this
 * is called by one of its hooks. */
void rt_part_set(struct rt_conn *c, unsigned int slot, bool on);
/* A connection of the caller, who holds its strand until rt_strand_release(). @to is
 * the address that a client connects to. Returns 0 or -errno. */
int rt_conn_new(struct rt_instance *inst, unsigned int poller, bool server,
		const struct rt_ops *ops, const struct sockaddr *to,
		socklen_t to_len, struct rt_conn **out);
void rt_conn_set_name(struct rt_conn *c, const struct sockaddr *peer);
/* The connection is RT_CLOSED: free what it has. Harmless if repeated. */
void rt_conn_ended(struct rt_conn *c);
/* Returns true with a reference, unless the last one has gone. Any thread. */
bool rt_conn_try_get(struct rt_conn *c);
/* Note why the connection will end. The first reason stays. */
void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_vfail(struct rt_conn *c, int error, const char *fmt, va_list ap);

/* info.c */
/* The upper layer may use the connection from now on: tell it, once. */
void rt_conn_tell_established(struct rt_conn *c);
/* Make what rt_conn_info() returns current. */
void rt_conn_publish(struct rt_conn *c);
/* Add the connection's counters to the totals. inst->lock is held. */
void rt_totals_keep(struct rt_conn *c);
/* Count a connection that was refused. Any thread. */
void rt_count_refused(struct rt_instance *inst);

/* strand.c, which explains all of these */
void rt_alarm_init(struct rt_conn *c);
/* Have the strand run at @d (ms) or earlier, 0 for no deadline. Without the fabric it
 * does nothing. Before that rt_alarm_stop() must be called, while the poller exists. */
void rt_alarm_set(struct rt_conn *c, uint64_t d);
void rt_alarm_stop(struct rt_conn *c);
/* There is a reason to run the connection. Any thread. */
void rt_strand_run(struct rt_conn *c);
/* Run the connection, whose strand this thread holds, and release the strand. Any thread
 * that holds it. */
void rt_strand_release(struct rt_conn *c);
/* The fabric's callback: rt_strand_run(). Any thread. */
void rt_conn_ready(struct fab_conn *f, void *user);
/* Have @run called in the strand. It drops the reference that goes with the mail. Any
 * thread. */
void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m));
/* The same, but the poller runs the connection, and this thread only if it has ended.
 * Any thread. */
void rt_inbox_leave(struct rt_conn *c, struct rt_mail *mail,
		    void (*run)(struct rt_conn *c, struct rt_mail *m));
/* End the connection if the peer has not done by @at (0 for no deadline) what it had
 * to. */
void rt_end_if_late(struct rt_conn *c, uint64_t at, uint64_t now,
		    const char *why);
/* Feed an event to the table. Returns true if the message that came with it is to be
 * processed. */
bool rt_event(struct rt_conn *c, enum rt_event ev);
/* Note why, as rt_conn_fail(), and feed an event that ends the connection. */
void rt_conn_stop(struct rt_conn *c, enum rt_event ev, int error,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Returns true if the state lets an ordinary message out (4.3). */
bool rt_state_may_send(const struct rt_conn *c);
/* Run the connections that were handed over to a poller. Returns how many. For
 * rt_run() alone. */
int rt_strand_run_handed(struct rt_turn *t);
/* Post the chain, if there is one. The connection ends if the fabric refuses it. */
void rt_chain_post(struct rt_conn *c);

/* run.c */
/* An RDMA Read that comes in many parts begins, or has ended. */
void rt_long_read(struct rt_conn *c, bool begins);

/* instance.c */
/* rt_instance_create() with these parts and extensions. */
int rt_instance_new(const struct rt_params *p,
		    const struct rt_part *const *parts,
		    const struct rt_ext *const *exts, struct rt_instance **out);
/* The fabric has ended: @c is none of the instance's connections any more. Any thread;
 * harmless if repeated. */
void rt_instance_forget(struct rt_conn *c);
void rt_instance_put(struct rt_instance *inst);

/* config.c */
/* Receives that one connection ever has posted. */
unsigned int rt_most_receives(const struct rt_config *cfg);

/* work.c */
/*
 * A work request, and one for a Send with a buffer for its header; NULL if there is no
 * memory. @done is called when it completes. A Send is only put back then, unless its
 * poster sets another.
 */
struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done);
struct rt_work *rt_send_get(struct rt_conn *c);
/* Allocate @n Sends ahead. Returns 0 or -ENOMEM. */
int rt_sends_own(struct rt_conn *c, unsigned int n);
/* A work request has completed, or the fabric has refused it (@wc is NULL). */
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
/* Server: give @w the buffer to copy into that the connection has of its own, until
 * rt_work_put(). Returns false if it is in use, or shorter than @n octets. */
bool rt_work_copy(struct rt_conn *c, struct rt_work *w, size_t n);
/* Lists of buffers. Any thread. */
void rt_bufs_put(struct fab_buf **list);
void rt_bufs_add(struct fab_buf **list, struct fab_buf *b);
/* Append to the chain that rt_chain_post() posts. */
void rt_chain_add(struct rt_conn *c, struct rt_work *w);
/* Take out of the chain the RDMA Writes that were added since the mark. They remain with
 * their Send. */
struct rt_mark rt_chain_mark(const struct rt_conn *c);
void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m);
/* Take the chain out, to be posted. */
struct fab_wr *rt_chain_take(struct rt_conn *c);
/* The fabric has not taken @chain: complete its work requests here. */
void rt_chain_refused(struct rt_conn *c, struct fab_wr *chain);
/* Free work requests: all but a few that are free; those that have not been used
 * since the last call (returns true if there were any); all. */
void rt_works_shrink(struct rt_conn *c);
bool rt_works_trim(struct rt_conn *c);
void rt_works_free(struct rt_conn *c);

#endif /* RPCRDMA_TRANSPORT_CORE_H */
