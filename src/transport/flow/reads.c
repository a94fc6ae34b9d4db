/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reads - a limit on the RDMA Reads under way
 *
 * Octets are under way from when an RDMA Read of them is posted until a thread of the upper
 * layer takes the Call (rt_call_begin()), or the Call ends. Data that arrive long before a
 * thread takes them fill memory and displace others from the caches. So a Call waits while
 * its host has enough under way:
 *
 *   - One host alone may have the limit: what the Calls had that were lately answered in
 *     READS_MS, but at least READS_MIN, and at most an eighth of max_memory.
 *   - With others each may have twice the limit less what all of them have: k hosts
 *     2/(k + 1) of the limit each, so all together less than a quarter of max_memory.
 *   - A host that has nothing under way may always begin a Call. So no host waits for
 *     another, however slowly that one sends or its Calls are taken.
 *
 * Reads that have not completed in a second do not count, nor do Calls that wait for Replies
 * to be taken (call_stages.c), and until another Read completes the connection begins no
 * more. So one that stands still does not stop others of its host.
 *
 * A Call that holds memory does not wait: its first chunk has been read, or it came in
 * fragments. So no Call that has what others need waits here, and those that a Call waits for
 * are being read or wait for a thread. Nor does one that has waited for memory: it does not
 * count then, and connections that are out of memory would wake each other for ever.
 *
 * The connections of a host that have Calls waiting take turns. Whenever the host begins or
 * ends Reads, the poller runs the first one, if its Call may begin. Since it may also begin
 * when other hosts have fewer Reads, the Responder looks again every RT_TICK_MS.
 *
 * Context: the runner; rt_reads_end() any thread. inst->reads.lock is a leaf.
 */
#include "transport/flow/host.h"

#define READS_MIN ((size_t)8 << 20)
/* A path that takes longer gets less than it could carry. */
#define READS_MS 10

static size_t limit(const struct rt_instance *inst)
{
	return MIN(MAX(inst->reads.lately, inst->reads.least),
		   inst->cfg.max_memory / 8);
}

/* Caller holds reads.lock, as of all below. */
static bool has_room(const struct rt_instance *inst, const struct rt_host *h,
		     size_t n)
{
	return !h->reads ||
	       inst->reads.octets + h->reads + n <= 2 * limit(inst);
}

/* Returns the connection whose turn it is, with a reference, if its Call may begin. */
static struct rt_conn *next_to_begin(struct rt_instance *inst,
				     struct rt_host *h)
{
	struct rt_conn *c;

	if (cds_list_empty(&h->reads_waiting))
		return NULL;
	c = cds_list_first_entry(&h->reads_waiting, struct rt_conn,
				 flow.reads_link);
	if (!has_room(inst, h, c->flow.reads_wanted))
		return NULL;
	rt_conn_get(c);
	return c;
}

static void stop_waiting(struct rt_conn *c)
{
	if (c->flow.reads_wanted)
		cds_list_del(&c->flow.reads_link);
	c->flow.reads_wanted = 0;
}

/* Releases reads.lock, and drops the reference to @next. */
static void unlock_and_wake(struct rt_instance *inst, struct rt_conn *next)
{
	pthread_mutex_unlock(&inst->reads.lock);
	if (!next)
		return;
	rt_strand_defer(next);
	rt_conn_put(next);
}

void rt_reads_init(struct rt_instance *inst)
{
	pthread_mutex_init(&inst->reads.lock, NULL);
	inst->reads.least = READS_MIN;
	inst->reads.since = rt_now_ms();
}

void rt_reads_destroy(struct rt_instance *inst)
{
	assert(!inst->reads.octets);
	pthread_mutex_destroy(&inst->reads.lock);
}

bool rt_reads_begin(struct rt_conn *c, size_t n, bool must)
{
	struct rt_instance *inst = c->inst;
	struct rt_host *h = c->flow.host;
	bool first, may;

	rt_assert_strand(c);
	if (!h)
		return true;
	pthread_mutex_lock(&inst->reads.lock);
	first = cds_list_empty(&h->reads_waiting) ||
		h->reads_waiting.next == &c->flow.reads_link;
	may = must || (first && has_room(inst, h, n));
	if (may) {
		h->reads += n;
		inst->reads.octets += n;
		if (!must)
			stop_waiting(c);
	} else if (!c->flow.reads_wanted) {
		c->flow.reads_wanted = n;
		cds_list_add_tail(&c->flow.reads_link, &h->reads_waiting);
	}
	unlock_and_wake(inst, next_to_begin(inst, h));
	return may;
}

void rt_reads_end(struct rt_conn *c, size_t n)
{
	struct rt_instance *inst = c->inst;
	struct rt_host *h = c->flow.host;

	if (!h || !n)
		return;
	pthread_mutex_lock(&inst->reads.lock);
	assert(h->reads >= n && inst->reads.octets >= n);
	h->reads -= n;
	inst->reads.octets -= n;
	unlock_and_wake(inst, next_to_begin(inst, h));
}

void rt_reads_answered(struct rt_conn *c, size_t n)
{
	struct rt_reads *r = &c->inst->reads;
	uint64_t now = rt_now_ms(), took;

	rt_assert_strand(c);
	pthread_mutex_lock(&r->lock);
	r->answered += n;
	took = now - r->since;
	if (took >= READS_MS) {
		r->lately = r->answered * READS_MS / took;
		r->answered = 0;
		r->since = now;
	}
	pthread_mutex_unlock(&r->lock);
}

void rt_reads_cancel(struct rt_conn *c)
{
	struct rt_instance *inst = c->inst;

	rt_assert_strand(c);
	if (!c->flow.reads_wanted)
		return;
	pthread_mutex_lock(&inst->reads.lock);
	stop_waiting(c);
	unlock_and_wake(inst, next_to_begin(inst, c->flow.host));
}
