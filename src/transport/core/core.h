/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core - the life of a connection: its strand, its deadlines, its work requests
 *
 * Reading order: state.h and state.c (the table), part.h (what a connection is
 * made of), conn.h, strand.c (a turn of it), work.c (work requests), run.c (a turn
 * of the poller), conn.c, listen.c, instance.c, info.c, shutdown.c, config.c.
 *
 * Unless a comment says otherwise every function takes a connection whose
 * strand the calling thread holds.
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

/* A thread other than the poller's has work of its own: it goes on with a
 * connection for so many turns, or for BASE_TURN_MS. */
#define RT_TURNS 16
/* A connection whose data go on and on is looked at again after this, ns: with iWARP a
 * MiB. A new one, or another host's Call, waits for a turn of each of them. */
#define RT_TURN_NS 500000
/* When nothing has been done for so long, ms, free lists are shortened: that of
 * Calls alone is 20 KiB for each that there were at once. Of a connection that goes
 * on working, what it has done without for as long is given back. */
#define RT_REST_MS 1000
/* Deadlines are looked at in steps of this, so that those of many connections
 * wake the poller together. */
#define RT_TICK_MS 100
/* How soon it is told how many lines of the log were left out. */
#define RT_COUNTS_MS 1000
/* A client waits this long for CONNPROP_FINAL after the first answer; a server
 * that has answered so for the second message before it sends one [A9]. */
#define RT_SETTLE_MS 1000
/* Of its own a connection has headers for so many Sends (receives.c). */
#define RT_OWN_SENDS 2
/* And a server's the promise of so many buffers of the pool: for a Reply, for what
 * of it has to be copied, and for the Receive of a reverse Call's Reply. */
#define RT_PROMISED (RT_CALL_PROMISED + 2)
/* What a shutdown has aborted may take this long to be gone. */
#define RT_ABORT_MS 1000

/* Counters are written by the runner alone and read by anybody. */
#define RT_COUNT(c, field, n)                                       \
	__atomic_store_n(&(c)->stats.field, (c)->stats.field + (n), \
			 __ATOMIC_RELAXED)

#define RT_STAGE(c, name, from, to) \
	rt_histogram_add(&(c)->stages.stage[RT_STAGE_##name], (to) - (from))

/* Whatever number the upper layer has given. */
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

/* Of two times, of which 0 is none. */
static inline uint64_t rt_earlier(uint64_t a, uint64_t b)
{
	return a && (!b || a < b) ? a : b;
}

/* Is it not yet time to look at what has come? An end is not put off. */
static inline bool rt_looks_later(const struct rt_conn *c)
{
	return c->strand.look_from && c->state < RT_DRAINING &&
	       c->strand.look_from > rt_now_ms();
}

/* What comes is not looked at before @ms, nor before a later time that was said
 * already. Deadlines ring by ticks, so it may be RT_TICK_MS later. */
static inline void rt_look_from(struct rt_conn *c, uint64_t ms)
{
	c->strand.look_from = MAX(c->strand.look_from, ms);
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
/* It is RT_CLOSED: give back what it has and nobody else has. */
void rt_conn_ended(struct rt_conn *c);
/* A reference, unless the last one has just gone. Any thread. */
bool rt_conn_try_get(struct rt_conn *c);
/* Remember why the connection ends, be it later; the first reason stays. */
void rt_conn_fail(struct rt_conn *c, int error, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void rt_conn_vfail(struct rt_conn *c, int error, const char *fmt, va_list ap);

/* info.c */
void rt_conn_tell_established(struct rt_conn *c);
void rt_conn_publish(struct rt_conn *c);

/* info.c, of an instance */
/* It no longer counts; inst->lock is held. */
void rt_totals_keep(struct rt_conn *c);
/* A connection was refused. */
void rt_count_refused(struct rt_instance *inst);

/* strand.c */
void rt_alarm_init(struct rt_conn *c);
/*
 * The strand runs at @d (ms), or earlier; 0: it need not. Once the connection
 * has no fabric any more that does nothing; before, rt_alarm_stop() must be
 * called, while the poller is still there.
 */
void rt_alarm_set(struct rt_conn *c, uint64_t d);
void rt_alarm_stop(struct rt_conn *c);
/* There is a reason to run it. Any thread. */
void rt_strand_run(struct rt_conn *c);
/* Run it, and let go of its strand. A new connection's maker holds that until
 * this. Any thread that has it. */
void rt_strand_release(struct rt_conn *c);
void rt_conn_ready(struct fab_conn *f, void *user);
/* Any thread: have @run called in the strand. A reference to @c that goes with
 * the mail is dropped there. */
void rt_inbox_put(struct rt_conn *c, struct rt_mail *mail,
		  void (*run)(struct rt_conn *c, struct rt_mail *m));
/* The same, also any thread: but it does not run the connection unless that has
 * ended, its poller does. */
void rt_inbox_leave(struct rt_conn *c, struct rt_mail *mail,
		    void (*run)(struct rt_conn *c, struct rt_mail *m));
/* What the peer had to do by @at, unless that is 0; if not, the connection
 * ends. */
void rt_give_up(struct rt_conn *c, uint64_t at, uint64_t now, const char *why);
/*
 * Feed one event to the table. Returns whether what came with it (a message)
 * is to be processed.
 */
bool rt_event(struct rt_conn *c, enum rt_event ev);
/* The same with an event that ends it, and why: as rt_conn_fail(). */
void rt_conn_stop(struct rt_conn *c, enum rt_event ev, int error,
		  const char *fmt, ...) __attribute__((format(printf, 4, 5)));
/* Does the state let an ordinary message out (4.3)? */
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
/* With these parts and extensions; as rt_instance_create(). */
int rt_instance_new(const struct rt_params *p,
		    const struct rt_part *const *parts,
		    const struct rt_ext *const *exts, struct rt_instance **out);
/* It has ended, the fabric too, and no longer counts. Any thread, harmless
 * when repeated. */
void rt_instance_forget(struct rt_conn *c);
void rt_instance_put(struct rt_instance *inst);

/* config.c */
/* Receives that one connection ever has posted. */
unsigned int rt_most_receives(const struct rt_config *cfg);

/* work.c */
/* One that is no Send, and one that is, with room for its header. When it comes
 * back, @done is called; a Send is only put back unless its poster sets
 * another. */
struct rt_work *rt_work_get(struct rt_conn *c, rt_work_fn done);
struct rt_work *rt_send_get(struct rt_conn *c);
/* So many of these are there from now on: 0 or -ENOMEM. */
int rt_sends_own(struct rt_conn *c, unsigned int n);
/* Something has come of it: have it done. */
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
/* Server: have @w copy @n octets into what is reserved for that, until
 * rt_work_put(). False: it is in use, or less. */
bool rt_work_copy(struct rt_conn *c, struct rt_work *w, size_t n);
void rt_bufs_put(struct fab_buf **list);
void rt_bufs_add(struct fab_buf **list, struct fab_buf *b);
struct rt_mark rt_chain_mark(const struct rt_conn *c);
/* Take RDMA Writes that were added since out of it; they hang on their Send. */
void rt_chain_cut(struct rt_conn *c, const struct rt_mark *m);
/* Append to the chain that rt_chain_post() posts in one go. */
void rt_chain_add(struct rt_conn *c, struct rt_work *w);
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
