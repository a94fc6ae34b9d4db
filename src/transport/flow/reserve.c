/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reserve - what a connection has of its own from its start to its end
 *
 * Once admitted a connection must get on within its credits, however full the
 * memory is. So it is admitted only with
 *
 *   - a buffer for each Receive that flow control wants at first (N),
 *   - the headers of RT_OWN_SENDS Sends,
 *   - the promise of RT_CALL_PROMISED buffers of the pool for a Reply, of one to
 *     copy into what the device cannot send as it is, and of a Receive for the
 *     Reply to one reverse Call,
 *
 * and what is beyond that comes from what is to spare (fab_pool_get_spare()),
 * which neither admission nor traffic takes below what has been promised.
 * What holds until the end of the connection:
 *
 *   1. Receives posted or free, and those that Calls keep, are N or more: one
 *      comes back to its connection as long as Receives are lacking
 *      (rt_receive_back()), and another size is taken only when all N of that
 *      size are there (rt_reserve_resize()).
 *   2. No credit is told without its Receive (credit.h, credit1.h). A Call that
 *      keeps its Receive uses its credit up until there is a Receive again: so
 *      further Calls wait at the peer, and nothing ends.
 *   3. Headers free or posted are RT_OWN_SENDS or more, so that whoever finds
 *      none waits for a completion that comes.
 *      The same is true of a Call of ours, and the Receive for its Reply.
 *   4. While the pool is short of memory one Call at a time is executed for a
 *      connection (call_stages.c), and its Reply has what was promised. However long
 *      it is, it is copied and goes part by part (reply.c).
 *
 * The N Receives of a host's connections have a share of the memory (account.c).
 *
 * Shared Receives have their memory from the domain's queue: of them only 3 and
 * 4 hold. A client has no promise, and no host.
 *
 * Runner only, or before it runs.
 */
#include <errno.h>

#include "transport/flow/flow.h"

/* Buffers of @size octets in front of @list, and what they come to. */
static bool take(struct rt_conn *c, uint32_t n, size_t size,
		 struct fab_buf **list)
{
	while (n--) {
		struct fab_buf *b = fab_pool_get_spare(c->inst->pool, size);

		if (!b)
			return false;
		rt_bufs_add(list, b);
	}
	return true;
}

static int reserve(struct rt_conn *c)
{
	uint32_t n = c->inst->shares ? 0 : c->v->receives(c);
	size_t size = c->recv_size;

	if (!rt_host_receives(c, n * size))
		return -EDQUOT;
	if (c->server) {
		if (!fab_pool_promise(c->inst->pool, RT_PROMISED))
			return -ENOMEM;
		c->flow.promised = RT_PROMISED;
	}
	if (!take(c, n, size, &c->flow.free_recv))
		return -ENOMEM;
	return rt_sends_own(c, RT_OWN_SENDS);
}

int rt_reserve(struct rt_conn *c)
{
	int rc = reserve(c);

	rt_assert_strand(c);
	if (rc && c->server)
		rt_log(c, LOG_WARNING, "connection refused: %s",
		       rc == -EDQUOT ?
			       "its host has used up its share of memory for Receives" :
			       "no memory for Receives");
	return rc;
}

void rt_reserve_end(struct rt_conn *c)
{
	rt_assert_strand(c);
	rt_bufs_put(&c->flow.free_recv);
	fab_pool_release(c->inst->pool, c->flow.promised);
	c->flow.promised = 0;
	(void)rt_host_receives(c, 0);
}

int rt_reserve_reverse(struct rt_conn *c)
{
	uint32_t was = c->credit.lacking;
	struct fab_buf *b;
	int rc = rt_post_receives(c);

	rt_assert_strand(c);
	if (rc || c->credit.lacking <= was)
		return rc;
	/* What Calls here wait for may be just this one. */
	if (c->requests_out > 1 ||
	    c->recv_size > fab_pool_promised(c->inst->pool))
		return -EAGAIN;
	b = fab_pool_get_promised(c->inst->pool);
	if (!b)
		return -EAGAIN;
	rt_bufs_add(&c->flow.free_recv, b);
	return rt_post_receives(c);
}

void rt_reserve_shorten(struct rt_conn *c)
{
	struct fab_buf *b, *list = c->flow.free_recv;
	size_t n = c->inst->shares ? 0 : c->v->receives(c);

	rt_assert_strand(c);
	(void)rt_host_receives(c, n * c->recv_size);
	c->flow.free_recv = NULL;
	while ((b = list)) {
		list = b->next;
		rt_receive_put(c, b);
	}
}

bool rt_reserve_resize(struct rt_conn *c, size_t size)
{
	uint32_t n = c->inst->shares ? 0 : c->v->receives(c);
	struct fab_buf *list = NULL;
	size_t was = c->flow.recv_octets;

	rt_assert_strand(c);
	if (!rt_host_receives(c, n * size))
		return false;
	if (!take(c, n, size, &list)) {
		rt_bufs_put(&list);
		(void)rt_host_receives(c, was);
		return false;
	}
	rt_bufs_put(&c->flow.free_recv);
	c->flow.free_recv = list;
	return true;
}

/* Is it as long as a buffer for @size octets is, or up to @times as long? */
static bool fits(const struct fab_buf *b, size_t size, unsigned int times)
{
	return b->size >= size &&
	       b->size <= times * fab_pool_size(b->pool, size);
}

void rt_receive_put(struct rt_conn *c, struct fab_buf *b)
{
	size_t size = c->recv_size;

	rt_assert_strand(c);
	if (c->inst->shares || b->size < size) {
		/* Longer ones are here already. */
		fab_pool_put(b);
		return;
	}
	if (!fits(b, size, 1)) {
		struct fab_buf *shorter =
			fab_pool_get_spare(c->inst->pool, size);

		/* Without, it is long enough all the same. */
		if (shorter) {
			fab_pool_put(b);
			b = shorter;
		}
	}
	rt_bufs_add(&c->flow.free_recv, b);
}

void rt_receive_back(struct rt_conn *c, struct fab_buf **list)
{
	size_t size = c->recv_size;

	rt_assert_strand(c);
	while (*list) {
		struct fab_buf *b = *list;

		*list = b->next;
		/* They may have been longer when it was posted. */
		if (c->recvs_lacking && c->state < RT_CLOSING &&
		    fits(b, size, 4)) {
			c->recvs_lacking--;
			rt_bufs_add(&c->flow.free_recv, b);
		} else {
			fab_pool_put(b);
		}
	}
}
