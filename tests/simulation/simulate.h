/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulate - the transport as a whole, in one thread, from one number
 *
 * A world is some nodes over one domain of the loop provider. A node is a whole
 * instance of the transport with its pool and its poller: a server, which listens,
 * or a client. An end is one connection of a node, with its upper layer: it calls,
 * answers, and calls back. All of it runs in one thread, and whatever it takes from
 * the system comes from platform.c: time stands still unless a step lets it pass,
 * random numbers come from the seed, and the threads of the transport's own run when
 * a step resumes them.
 *
 * The seed decides the settings of the world once: versions, extensions, host
 * authentication, credits, sizes, limits, what the fabric can do, and which kinds of
 * steps there are. Then come steps (steps.c). Each has its own numbers, drawn from the
 * seed and its place, so that leaving out one leaves the others as they were. A step
 * runs a poller or a thread, lets time pass, connects, calls, answers, drops, closes,
 * breaks, runs out of memory or of a device's resources, has a Send changed on its
 * way, or ends an instance and starts it anew. Messages are delayed and reordered, as
 * far as a fabric may, by the loop provider, and by pollers that do not run.
 *
 * After each step the invariants (invariants.c) must hold, and at the end, when nothing
 * goes wrong any more and everybody gets to run, nobody may be left waiting, and
 * nothing may be left over. In a calm world nothing goes wrong at all, and time
 * passes only when nothing else can happen: there every Call must get its Reply and no
 * connection may end by itself.
 *
 * An end is spoiled when one of its messages has been changed on its way: what it
 * gets, and how its Calls end, is then the attacker's choice; that they end, and what
 * they may take, is not.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_SIMULATE_H
#define RPCRDMA_SIMULATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/loop.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"
#include "rt_watch.h"
#include "transport/core/state_table.h"

/* ---- Drawing ------------------------------------------------------------- */

struct draw {
	uint64_t state;
};

static inline uint64_t draw_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline struct draw draw_from(uint64_t seed, uint64_t stream)
{
	return (struct draw){ draw_mix(seed ^ draw_mix(stream)) };
}

static inline uint64_t draw(struct draw *d)
{
	d->state += 0x9e3779b97f4a7c15ull;
	return draw_mix(d->state);
}

/* 0 to @n - 1. */
static inline uint32_t draw_below(struct draw *d, uint32_t n)
{
	return (uint32_t)((draw(d) >> 32) * n >> 32);
}

static inline uint32_t draw_range(struct draw *d, uint32_t min, uint32_t max)
{
	return min + draw_below(d, max - min + 1);
}

/* True once in @n. */
static inline bool draw_one_in(struct draw *d, uint32_t n)
{
	return !draw_below(d, n);
}

#define DRAW_OF(d, array) \
	((array)[draw_below(d, sizeof(array) / sizeof(*(array)))])

/* ---- The world ------------------------------------------------------------ */

#define TICK_MS 100
#define SIM_NODES 4
#define SIM_ENDS 64
#define SIM_RPCS 1024
#define SIM_HELD 512
#define SIM_ITEMS 4

enum sim_fate { SIM_ANSWER, SIM_DROP, SIM_REFUSE };

/* One RPC, as the model has it. */
struct sim_rpc {
	struct rt_request *rq;
	struct sim_end *from;
	uint32_t xid, id;
	uint64_t salt; /* of its octets */
	uint64_t submitted, taken; /* ms */
	bool busy, call_only, spoiled;
	bool rq_made; /* it has been submitted */
	bool orphan; /* it is over for its Requester, and may still come */
	bool refused; /* it ended with an ERROR */
	bool finished; /* its upper layer has dealt with it */
	unsigned int nargs;
	unsigned int delivered, done;
	enum sim_fate fate;
	/* The Call: unreduced. */
	struct fab_buf *call_buf;
	size_t call_len;
	struct rt_piece piece[4];
	struct rt_item args[SIM_ITEMS];
	/* The Reply: unreduced, with the results in it. */
	size_t reply_len;
	unsigned int nresults;
	struct rt_item result[SIM_ITEMS];
	unsigned int nsinks;
	struct rt_sink sink[SIM_ITEMS];
	struct rt_piece sink_piece[SIM_ITEMS][2];
	struct fab_buf *sink_buf[SIM_ITEMS];
	bool small_sink;
};

struct sim_held {
	struct rt_call *call;
	struct sim_end *end;
	struct sim_rpc *rpc; /* NULL: it is not one that the model knows */
	bool call_only;
};

struct sim_end {
	bool busy; /* it stands for a connection, until that is closed and put */
	struct sim_node *node;
	struct sim_end *peer;
	struct rt_conn *conn; /* until it is closed */
	struct fab_conn *fab; /* to be compared with alone */
	bool server, established, closed;
	bool asked; /* its upper layer, or that of its peer, wants its end */
	bool over; /* so is its fabric; it may not yet know */
	bool spoiled;
	bool peer_slow; /* its upper layer has kept a Call for a tick */
	bool holds; /* its upper layer is slow */
	bool draining;
	unsigned int drain_calls; /* Calls that it had when it was last seen so */
	struct loop_faults faults;
	bool tampers; /* what it sends has been changed: it is the hostile one */
	unsigned int tamper; /* Sends that may be changed from now on */
	struct draw tamper_draw;
	uint32_t next_xid;
	unsigned int calls_out; /* submitted and not done */
	unsigned int held; /* Calls that its upper layer has */
};

struct sim_auth {
	unsigned int rounds, len;
	bool refuses;
	struct sim_world *world;
	bool client;
};

struct sim_node {
	unsigned int index;
	bool server;
	struct rt_instance *inst;
	struct rt_listener *listener;
	struct rt_config cfg;
	struct sim_auth auth;
	unsigned int lives; /* instances so far */
};

struct sim_options {
	uint64_t seed;
	unsigned int steps;
	const bool *left_out; /* one for each step, or NULL */
	bool log;
};

struct sim_world {
	struct sim_options opt;
	struct draw draw; /* of settings */
	bool calm;
	bool shared_receives;
	bool xids_meet; /* both ends of a connection take the same */
	uint32_t refuse_in; /* one of so many Calls is refused */
	struct loop_faults faults; /* of all ends, from their start */
	uint32_t kinds; /* of steps that there are */
	unsigned int step;
	const char *doing;
	uint64_t hash; /* of all that has happened */
	struct fab_domain *dom;
	struct fab_pool *pool; /* for shared Receives */
	struct rt_watch watch;
	unsigned int nnodes;
	struct sim_node node[SIM_NODES];
	unsigned int nends; /* used so far; what is beyond is free */
	struct sim_end end[SIM_ENDS];
	struct sim_rpc rpc[SIM_RPCS];
	uint32_t next_rpc;
	unsigned int nheld;
	struct sim_held held[SIM_HELD];
	unsigned int answers, answers_gone;
	bool short_of; /* memory or a device's resources were refused */
	bool lacks_receives; /* among them Receives */
	bool ending; /* nothing goes wrong any more */
	unsigned int exchanges; /* of host authentication */
	/* For the report. */
	uint64_t rpcs_submitted, rpcs_done, rpcs_right, messages, conns;
};

/* There is one at a time. */
extern struct sim_world *sim;

/* What does not hold. Does not return. The text begins with the name of what it is. */
void sim_fail(const char *fmt, ...)
	__attribute__((format(printf, 1, 2), noreturn));
/* It has happened: goes into the hash, and into the log. */
void sim_note(const char *what, uint64_t a, uint64_t b, uint64_t c);
void sim_log(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What can happen in a step. */
struct sim_action {
	const char *name;
	unsigned int weight;
	void (*make)(struct draw *d);
	bool harsh; /* not in a calm world */
	bool always; /* in every world */
};

/* act.c: step @i is one of @n, drawn from the seed. */
void sim_act(unsigned int i, const struct sim_action *a, unsigned int n);

/* world.c */
/* Its fabric, as drawn, and who watches the wire. */
void sim_open_domain(struct sim_world *w);
void sim_open(struct sim_world *w, const struct sim_options *opt);
void sim_close(struct sim_world *w);
bool sim_node_start(struct sim_node *n);
/* Break all its connections and end its instance, as if the host were gone. */
void sim_node_crash(struct sim_node *n);
struct sim_end *sim_end_new(struct sim_node *n, bool server);
/* The other end; @e itself where that is not known. */
static inline struct sim_end *sim_peer(struct sim_end *e)
{
	return e->peer ? e->peer : e;
}
/* May it be without memory for a long message, though nothing goes wrong? */
static inline bool sim_scarce(const struct sim_node *n)
{
	return n->cfg.max_memory == RT_MIN(max_memory) ||
	       n->cfg.max_conn_memory <= RT_MAX(max_message);
}
/* Of those that are not closed; NULL: none. */
struct sim_end *sim_end_of(const struct fab_conn *f);
struct sim_end *sim_connect(struct sim_node *from, const struct sim_node *to);
/* All pollers and threads, until nothing moves. */
void sim_run_quiet(void);
/* ... but that one's. */
void sim_run_quiet_but(const struct sim_node *late);
/* Nothing goes wrong from now on. Everybody runs, answers, and time passes, until
 * nobody has anything to wait for. */
void sim_settle(void);

/* upper.c */
extern const struct rt_ops sim_server_ops, sim_client_ops;
extern const struct rt_auth_ops sim_auth_ops;
/* A new RPC, submitted; false: there is no memory for its Call. */
bool sim_call(struct sim_end *e, struct draw *d);
/* Deal with a Call that was held: the @i-th. */
void sim_answer(unsigned int i, enum sim_fate fate);

/* steps.c */
void sim_step(unsigned int i);
unsigned int sim_kinds(void);
const char *sim_kind_name(unsigned int kind);

/* The next @n Sends of @e, or some of them, are changed. */
void sim_tamper_from(struct sim_end *e, struct draw *d, unsigned int n);
/* Is there tampering in this world at all? */
bool sim_may_tamper(void);

/* hostile.c */
void sim_tamper(void *ctx, struct loop_message *m);

/* invariants.c */
void sim_check(void);
/* Before that event of @c. */
void sim_check_event(struct rt_conn *c, enum rt_event ev);
/* That end sends a GRANT. */
void sim_check_grant(const struct sim_end *e);
/* When nothing moves. */
void sim_check_quiet(void);
void sim_check_end(struct sim_end *e);

/* What else there is to count, of this kind of world: worlds.h has the names. */
#define SIM_COUNTS 128
extern uint32_t sim_counts[SIM_COUNTS];

/* coverage.c */
extern uint32_t sim_reached[RT_NSTATES][EV_COUNT];
void sim_coverage_print(const uint32_t reached[RT_NSTATES][EV_COUNT]);

/* platform.c: what the system is for the world. */
void platform_begin(uint64_t seed, bool uneven);
uint64_t platform_ms(void);
uint64_t platform_ns(void);
void platform_pass(uint64_t ms);
/* Memory of the transport's and its fabric's that has not been given back. */
long platform_allocated(void);
/* The @n-th allocation, or buffer of a pool, from now on fails; 0: none does. */
void platform_fail_alloc(unsigned int n);
void platform_fail_pool(unsigned int n);
/* Threads that have not ended; resume the @n-th of them, until it waits. */
unsigned int platform_threads(void);
void platform_resume(unsigned int n);
void platform_resume_all(void);
/* In such a thread: let others run. */
void platform_yield(void);
bool platform_in_thread(void);
/*
 * From now on pthread_self() tells threads apart, and they lose the processor once in
 * @one_in of the times when they take or give back a lock (0: never). Returns what it
 * was before.
 */
unsigned int platform_preempt(unsigned int one_in);
/* Such a time. */
void platform_may_switch(void);
/* Has any lost the processor amid something? */
bool platform_amid(void);
/* Of the simulation's own, which never fails and is not counted. */
void *sim_alloc(size_t n);
void sim_free(void *p);
struct fab_buf *sim_buf(struct fab_pool *pool, size_t n);

#endif /* RPCRDMA_SIMULATE_H */
