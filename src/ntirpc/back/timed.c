/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed - Calls by their deadlines, and who has claimed each
 *
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <stdlib.h>

static struct nrt_timed *list_of(struct nrt_clnts *n, const struct rcall *c)
{
	return c->parked ? &n->parkings : &n->calls;
}

void nrt_rcall_enlist(struct nrt_clnts *n, struct rcall *c, int64_t deadline)
{
	struct nrt_timed *l = list_of(n, c);
	struct rcall *before = l->tail;

	c->deadline = deadline;
	c->timed = true;
	/* Time-outs are alike, so this is nearly always the end. */
	while (before && before->deadline > c->deadline)
		before = before->prev;
	c->prev = before;
	c->next = before ? before->next : l->head;
	if (c->next)
		c->next->prev = c;
	else
		l->tail = c;
	if (before) {
		before->next = c;
	} else {
		l->head = c;
		pthread_cond_signal(&n->timer);
	}
}

void nrt_rcall_delist(struct nrt_clnts *n, struct rcall *c)
{
	struct nrt_timed *l = list_of(n, c);

	if (!c->timed)
		return;
	c->timed = false;
	if (c->prev)
		c->prev->next = c->next;
	else
		l->head = c->next;
	if (c->next)
		c->next->prev = c->prev;
	else
		l->tail = c->prev;
}

struct clnt_req *nrt_rcall_claim(struct nrt_clnts *n, struct rcall *c)
{
	struct clnt_req *cc = c->cc;

	c->cc = NULL;
	if (cc && !c->parked)
		nrt_rcall_delist(n, c);
	return cc;
}

void nrt_rcall_put(struct rcall *c)
{
	struct rclient *client = c->client;

	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	nrt_encode_release(&c->out);
	if (c->auth)
		AUTH_DESTROY(c->auth);
	rt_request_free(c->rq);
	atomic_fetch_sub(&client->n->nrcalls, 1);
	CLNT_RELEASE(&client->clnt, CLNT_RELEASE_FLAG_NONE);
}
