/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reverse - reverse-direction Calls, carried to the TCP client and back: reverse.h
 */
#include "gateway/client.h"

#include <string.h>
#include <syslog.h>

/* Lock held. */
static void reverse_unlink(struct gw_client *c, struct gw_reverse *r)
{
	struct gw_reverse **p = &c->reverse.first;

	while (*p != r)
		p = &(*p)->next;
	*p = r->next;
	c->reverse.n--;
}

static void reverse_drop(struct gw_client *c, struct gw_reverse *r)
{
	rt_call_drop(r->call);
	gw_client_put(c);
}

static void reverse_replied(void *arg)
{
	struct gw_reverse *r = arg;

	/* Its buffers keep the client, whose they are. */
	gw_record_release(&r->rec);
}

/* The Reply is in r->rec, and nothing else knows of @r any more. */
static void reverse_answer(struct gw_client *c, struct gw_reverse *r)
{
	r->reply = (struct rt_reply){ .pieces = r->rec.piece,
				      .npieces = r->rec.npieces,
				      .done = reverse_replied,
				      .arg = r };
	rt_reply(r->call, &r->reply);
	gw_client_put(c);
}

static void reverse_sent(struct gw_client *c, struct gw_send *o, bool written)
{
	struct gw_reverse *r = (struct gw_reverse *)o;
	bool drop, answered;

	pthread_mutex_lock(&c->lock);
	r->written = true;
	answered = r->answered;
	drop = !answered && (r->orphan || !written);
	if (drop)
		reverse_unlink(c, r);
	pthread_mutex_unlock(&c->lock);
	if (answered)
		reverse_answer(c, r);
	else if (drop)
		reverse_drop(c, r);
}

uint32_t gw_reverse_vet(struct rt_conn *rc, struct rt_vet *v, uint32_t *max)
{
	/* No callback has an eligible argument [H1]; it has no Read chunk. */
	*max = 0;
	return RDMA2_ERR_READ_CHUNKS;
}

void gw_reverse_call(struct rt_conn *rc, struct rt_call *call)
{
	struct gw_client *c = gw_link_client(rc);
	struct gw_reverse *r = rt_call_user(call);

	memset(r, 0, sizeof(*r));
	call->op_class = ULB_CLASS_callback;
	r->call = call;
	r->xid = call->xid;
	r->send.done = reverse_sent;
	r->send.iov = r->iov;
	rec_mark(r->mark, call->len);
	r->iov[r->send.niov++] = (struct iovec){ r->mark, REC_MARK_LEN };
	for (unsigned int i = 0; i < call->npieces; i++)
		if (call->pieces[i].len)
			r->iov[r->send.niov++] =
				(struct iovec){ call->pieces[i].addr,
						call->pieces[i].len };
	gw_client_get(c);
	pthread_mutex_lock(&c->lock);
	r->next = c->reverse.first;
	c->reverse.first = r;
	c->reverse.n++;
	c->stats.reverse_calls++;
	pthread_mutex_unlock(&c->lock);
	/* Calls may be let through now that were held back. */
	gw_wakeup(c, GW_EV_ROOM);
	gw_send_queue_push(c, &r->send);
}

void gw_reverse_reply(struct gw_client *c, struct gw_record *rec, uint32_t xid)
{
	struct gw_reverse *r;
	bool now = false;

	pthread_mutex_lock(&c->lock);
	for (r = c->reverse.first; r && r->xid != xid;)
		r = r->next;
	if (r) {
		reverse_unlink(c, r);
		c->stats.reverse_replies++;
		gw_record_move(&r->rec, rec);
		/* The answer can be here before the writer knows that the Call
		 * is out: then reverse_sent() goes on with it. */
		r->answered = true;
		now = r->written;
	}
	pthread_mutex_unlock(&c->lock);
	if (now)
		reverse_answer(c, r);
	if (r)
		return;
	gw_client_log(c, LOG_INFO, "Reply %08x to no Call: dropped", xid);
	gw_record_release(rec);
}

void gw_reverse_orphan(struct gw_client *c)
{
	struct gw_reverse *drop = NULL, **p, *r;

	pthread_mutex_lock(&c->lock);
	for (p = &c->reverse.first; (r = *p);) {
		if (!r->written) {
			r->orphan = true;
			p = &r->next;
			continue;
		}
		*p = r->next;
		c->reverse.n--;
		r->next = drop;
		drop = r;
	}
	pthread_mutex_unlock(&c->lock);
	while ((r = drop)) {
		drop = r->next;
		reverse_drop(c, r);
	}
}
