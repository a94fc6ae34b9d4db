/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timed - Calls by their deadlines, and who has claimed each
 *
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <stdlib.h>

void nrt_rcall_enlist(struct nrt_clnts *n, struct rcall *c, int64_t deadline)
{
	struct cds_list_head *l = c->parked ? &n->parkings : &n->calls;
	struct cds_list_head *after = l->prev;

	c->deadline = deadline;
	c->timed = true;
	/* Time-outs are alike, so this is nearly always the end. */
	while (after != l &&
	       cds_list_entry(after, struct rcall, due)->deadline > deadline)
		after = after->prev;
	cds_list_add(&c->due, after);
	if (after == l)
		pthread_cond_signal(&n->timer);
}

void nrt_rcall_delist(struct rcall *c)
{
	if (c->timed)
		cds_list_del(&c->due);
	c->timed = false;
}

struct clnt_req *nrt_rcall_claim(struct rcall *c)
{
	struct clnt_req *cc = c->cc;

	c->cc = NULL;
	if (cc && !c->parked)
		nrt_rcall_delist(c);
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
