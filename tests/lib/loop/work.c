/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * work - posting and completing, and the end, which completes all there is
 *
 * Everything below the public operations runs under pair->lock, in the thread
 * of either runner.
 */
#include <errno.h>

#include "loop/loop_priv.h"

/* ---- Queues and notice ----------------------------------------------- */

void loop_push(struct loop_queue *q, struct fab_wr *wr)
{
	wr->next = NULL;
	*q->tail = wr;
	q->tail = &wr->next;
	q->n++;
}

struct fab_wr *loop_pop(struct loop_queue *q)
{
	struct fab_wr *wr = q->head;

	if (wr) {
		q->head = wr->next;
		if (!q->head)
			q->tail = &q->head;
		q->n--;
		wr->next = NULL;
	}
	return wr;
}

void loop_notify(struct loop_conn *c)
{
	if (c->in_call || !c->armed)
		return;
	c->armed = false;
	loop_queue_ready(c);
}

void loop_complete(struct loop_conn *c, struct fab_wr *wr,
		   enum fab_status status, size_t len, uint64_t inv)
{
	wr->priv[WR_STATUS] = status;
	wr->priv[WR_LEN] = len;
	wr->priv[WR_INV] = inv;
	wr->priv[WR_DUE] = c->polls + c->faults.delay_polls;
	if (c->faults.keep_sends && status == FAB_OK &&
	    (wr->op == FAB_SEND || wr->op == FAB_SEND_INV)) {
		loop_push(&c->kept, wr);
		return;
	}
	loop_push(&c->cq, wr);
	loop_notify(c);
}

void loop_unkeep(struct loop_conn *c)
{
	struct fab_wr *wr;

	while ((wr = loop_pop(&c->kept)))
		loop_push(&c->cq, wr);
	loop_notify(c);
}

/* ---- End of the connection ------------------------------------------- */

static void flush(struct loop_conn *c, struct loop_queue *q)
{
	struct fab_wr *wr;

	while ((wr = loop_pop(q)))
		loop_complete(c, wr, FAB_FLUSHED, 0, 0);
}

static void end_one(struct loop_conn *c, int error, const char *reason)
{
	if (!c || c->state == LOOP_IDLE || c->state == LOOP_DEAD || c->gone)
		return;
	c->error = error;
	c->reason = reason;
	if (c->state == LOOP_REQUESTED) {
		c->gone = true; /* told when it is accepted */
		return;
	}
	if (c->state == LOOP_CONNECTING)
		loop_timer_stop(c);
	c->state = LOOP_DEAD;
	loop_unkeep(c);
	flush(c, &c->sq);
	flush(c, &c->reads);
	c->reads_issued = 0;
	flush(c, &c->rq);
	c->end_due = true;
	loop_notify(c);
}

void loop_end(struct loop_pair *pair, struct loop_conn *from, int own,
	      int other, const char *reason)
{
	for (int i = 0; i < 2; i++)
		end_one(pair->end[i], pair->end[i] == from ? own : other,
			reason);
	if (pair->over)
		return;
	pair->over = true;
	loop_observe(pair->dom, &(struct loop_event){
					.kind = LOOP_EV_END,
					.from = from ? &from->base : NULL,
					.from_active = from && !from->side,
					.error = from ? own : other,
					.reason = reason,
				});
}

void loop_try_close(struct loop_pair *pair)
{
	for (int i = 0; i < 2; i++) {
		struct loop_conn *c = pair->end[i];

		if (c && c->state == LOOP_CLOSING && !c->sq.n && !c->reads.n)
			loop_end(pair, c, 0, 0, "closed");
	}
}

/* ---- Posting and polling --------------------------------------------- */

int loop_post(struct fab_conn *fc, struct fab_wr *chain)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;
	struct fab_wr *wr, *next;
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	c->posts++;
	if (c->state != LOOP_ESTABLISHED || !c->established)
		rc = -ENOTCONN;
	else if (c->faults.refuse_post && c->posts == c->faults.refuse_post)
		rc = c->faults.refuse_error ? c->faults.refuse_error : -ENOMEM;
	for (wr = chain; wr && !rc; wr = wr->next)
		if (wr->op == FAB_READ && !c->read_depth)
			rc = -EINVAL;
	if (rc)
		goto out;
	c->counters.posts++;
	for (wr = chain; wr; wr = next) {
		next = wr->next;
		wr->priv[WR_NUMBER] = ++c->requests;
		loop_push(&c->sq, wr);
	}
	c->in_call = true;
	loop_progress(pair, false);
	c->in_call = false;
	if (loop_undone(pair))
		loop_notify(c); /* so that someone polls and moves it on */
out:
	pthread_mutex_unlock(&pair->lock);
	return rc;
}

int loop_post_recv(struct fab_conn *fc, struct fab_wr *chain)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct fab_wr *next;
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&c->pair->lock);
	if (c->state == LOOP_DEAD) {
		rc = -ENOTCONN;
		chain = NULL;
	}
	for (; chain && !rc; chain = next) {
		next = chain->next;
		if (loop_refuses(&loop_domain_of(c)->shortage.recvs))
			break;
		loop_push(&c->rq, chain);
	}
	for (; chain; chain = chain->next)
		rc++;
	pthread_mutex_unlock(&c->pair->lock);
	return rc;
}

static void work_event(struct fab_wc *wc, struct fab_wr *wr)
{
	*wc = (struct fab_wc){
		.kind = FAB_WC_WORK,
		.status = (enum fab_status)wr->priv[WR_STATUS],
		.wr = wr,
		.len = (size_t)wr->priv[WR_LEN],
		.invalidated = wr->priv[WR_INV] & WR_INVALIDATED,
		.inv_handle = (uint32_t)wr->priv[WR_INV],
	};
	if (wr->op == FAB_RECV && wc->status == FAB_OK)
		wc->memory = (void *)(uintptr_t)wr->priv[WR_MEMORY];
}

/* The next event of @c, if one is due. */
static bool next_event(struct loop_conn *c, struct fab_wc *wc)
{
	if (c->established_due) {
		c->established_due = false;
		c->established = true;
		*wc = (struct fab_wc){
			.kind = FAB_WC_ESTABLISHED,
			.priv = c->side ? NULL : c->priv,
			.priv_len = c->side ? 0 : c->priv_len,
		};
		return true;
	}
	if (c->cq.n) {
		if (c->cq.head->priv[WR_DUE] > c->polls)
			return false;
		work_event(wc, loop_pop(&c->cq));
		return true;
	}
	if (c->end_due) {
		c->end_due = false;
		c->ended = true;
		*wc = (struct fab_wc){
			.kind = FAB_WC_DISCONNECTED,
			.error = c->error,
			.reason = c->reason,
		};
		return true;
	}
	return false;
}

int loop_poll(struct fab_conn *fc, struct fab_wc *wc, int n)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;
	int got = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	c->polls++;
	c->in_call = true;
	loop_progress(pair, true);
	while (got < n && next_event(c, &wc[got]))
		got++;
	c->in_call = false;
	if (!got) {
		c->armed = true;
		if (c->cq.n || loop_undone(pair))
			loop_notify(c);
	}
	pthread_mutex_unlock(&pair->lock);
	return got;
}
