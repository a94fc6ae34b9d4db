/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * timer - the end of each Call: by its Reply or in time; and the thread for it
 *
 * back.h tells of threads and locks.
 */
#include "ntirpc/back/back.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/param.h>

#include "base/thread.h"

/* ---- Finishing -------------------------------------------------------- */

static enum xprt_stat worker(struct svc_req *req)
{
	struct rcall *c = req->rq_u1;
	struct clnt_req *cc = c->mine;
	AUTH *auth = c->auth;

	c->auth = NULL;
	nrt_rcall_finish(cc, c);
	/* The callback may release cc, or send it once more. */
	nrt_rcall_put(c);
	cc->cc_process_cb(cc);
	AUTH_DESTROY(auth);
	return XPRT_SUSPEND;
}

static void to_worker(struct rcall *c, struct clnt_req *cc)
{
	c->mine = cc;
	c->hop.rq_u1 = c;
	c->hop.rq_resume_cb = worker;
	c->client->n->resume(&c->hop);
}

/* What the client says of the slot; 0 also where it says nothing. */
static uint32_t sequence_status(const struct rt_request *rq)
{
	struct iovec iov[RT_MAX_PIECES];
	uint32_t status;
	unsigned int n;

	if (rq->status)
		return 0;
	n = rt_to_iov(rq->reply, rq->nreply, iov);
	return ulb_read_callback(iov, n, &status) ? 0 : status;
}

void nrt_rcall_done(struct rt_request *rq)
{
	struct rcall *c = rt_request_user(rq);
	struct nrt_clnts *n = c->client->n;
	struct rt_conn *conn = c->on;
	struct clnt_req *cc = NULL;
	uint32_t sequence;
	bool parked;

	if (!rq->status && !rt_response_is_reply(conn, rq))
		rq->status = -EPROTO;
	sequence = sequence_status(rq);
	pthread_mutex_lock(&n->lock);
	parked = nrt_follow_done(c, rq->status, sequence);
	if (!parked)
		cc = nrt_rcall_claim(c);
	if (cc && c->waited) {
		c->finished = true;
		pthread_cond_broadcast(&n->finished);
		cc = NULL;
	}
	nrt_back_unlock(n);
	rt_conn_put(conn);
	/* A parked one may be gone. */
	if (parked)
		return;
	if (cc)
		to_worker(c, cc); /* with the transport's reference */
	else
		nrt_rcall_put(c);
}

/* ---- Timer ------------------------------------------------------------ */

static struct rcall *first(struct cds_list_head *l)
{
	return cds_list_empty(l) ? NULL :
				   cds_list_first_entry(l, struct rcall, due);
}

/* The next that is due. */
static struct rcall *next_timed(struct nrt_clnts *n)
{
	struct rcall *c = first(&n->calls), *p = first(&n->parkings);

	return !c || (p && p->deadline < c->deadline) ? p : c;
}

static void *timer_main(void *arg)
{
	struct nrt_clnts *n = arg;

	pthread_mutex_lock(&n->lock);
	while (!n->stop || !cds_list_empty(&n->parkings)) {
		int64_t until = nrt_follow_wake(n), sweep = nrt_back_sweep(n);
		struct rcall *c = next_timed(n);
		struct clnt_req *cc;
		struct timespec ts;
		bool gone = false;

		if (n->resend) {
			nrt_follow_resend(n);
			continue;
		}
		if (c && c->deadline < until)
			until = c->deadline;
		until = MIN(until, sweep);
		if (!cds_list_empty(&n->gone)) {
			/* What is due may be another by then. */
			nrt_back_unlock(n);
			pthread_mutex_lock(&n->lock);
			continue;
		}
		if (until == INT64_MAX) {
			pthread_cond_wait(&n->timer, &n->lock);
			continue;
		}
		if (!c || c->deadline > now_ms()) {
			ts = to_timespec(until);
			pthread_cond_timedwait(&n->timer, &n->lock, &ts);
			continue;
		}
		cc = nrt_rcall_claim(c);
		if (cc) {
			c->late = true;
			__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
		}
		if (c->parked)
			gone = nrt_follow_expire(c, cc);
		pthread_mutex_unlock(&n->lock);
		if (cc)
			to_worker(c, cc);
		if (gone)
			nrt_rcall_put(c);
		pthread_mutex_lock(&n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

int nrt_clnts_start(struct nrt_clnts *n)
{
	int err = 0;

	pthread_mutex_lock(&n->lock);
	if (!n->running) {
		err = base_thread_start(&n->thread, NULL, timer_main, n);
		n->running = !err;
	}
	pthread_mutex_unlock(&n->lock);
	return err;
}

bool nrt_clnts_busy(struct nrt_clnts *n)
{
	return atomic_load(&n->nrcalls);
}

size_t nrt_clnt_request_size(void)
{
	return sizeof(struct rcall);
}

int nrt_clnts_create(struct rt_instance *inst,
		     void (*resume)(struct svc_req *req),
		     struct nrt_clnts **out)
{
	struct nrt_clnts *n = calloc(1, sizeof(*n));
	pthread_condattr_t attr;

	if (!n)
		return -ENOMEM;
	n->inst = inst;
	n->resume = resume ? resume : svc_resume;
	/* Not the same after a restart, for the peer's sake; and it tells
	 * nothing of this host to whoever has made a session. */
	n->xid = arc4random();
	n->host_most =
		NRT_HOST_EACH * rt_instance_config(inst)->max_host_connections;
	n->host_most = MAX(n->host_most, NRT_HOST_LEAST);
	CDS_INIT_LIST_HEAD(&n->calls);
	CDS_INIT_LIST_HEAD(&n->parkings);
	nrt_back_init(n);
	pthread_mutex_init(&n->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->finished, &attr);
	pthread_cond_init(&n->timer, &attr);
	pthread_condattr_destroy(&attr);
	*out = n;
	return 0;
}

void nrt_clnts_destroy(struct nrt_clnts *n)
{
	if (!n)
		return;
	/* Calls that somebody was told the end of may still be parked. */
	nrt_clnts_close(n);
	pthread_mutex_lock(&n->lock);
	n->stop = true;
	pthread_cond_signal(&n->timer);
	pthread_mutex_unlock(&n->lock);
	if (n->running)
		pthread_join(n->thread, NULL);
	nrt_back_fini(n);
	pthread_cond_destroy(&n->timer);
	pthread_cond_destroy(&n->finished);
	pthread_mutex_destroy(&n->lock);
	free(n);
}
