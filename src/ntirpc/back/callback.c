/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * callback - one callback from its submission to its end, and the timer thread
 *
 * channel.h explains states, context and the lock.
 */
#include "ntirpc/back/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/thread.h"

static struct timespec to_timespec(int64_t ms)
{
	return (struct timespec){
		.tv_sec = ms / 1000,
		.tv_nsec = ms % 1000 * 1000000,
	};
}

/* ---- Results (worker) ----------------------------------------------------- */

/* Returns what ntirpc's own CLIENT would. */
static enum clnt_stat status_to_stat(int status)
{
	switch (status) {
	case 0:
		return RPC_SUCCESS;
	case -ENOTCONN:
	case -EOPNOTSUPP:
		return RPC_CANTSEND;
	case -E2BIG:
	case -EINVAL:
		return RPC_CANTENCODEARGS;
	case -EPROTO:
		return RPC_CANTDECODERES;
	case -ECONNRESET:
		return RPC_CANTRECV;
	default:
		return RPC_FAILED;
	}
}

/* RFC 5531, 9. */
static enum clnt_stat reply_to_stat(const struct reply_body *reply)
{
	static const enum clnt_stat accepted[] = {
		[SUCCESS] = RPC_SUCCESS,
		[PROG_UNAVAIL] = RPC_PROGUNAVAIL,
		[PROG_MISMATCH] = RPC_PROGVERSMISMATCH,
		[PROC_UNAVAIL] = RPC_PROCUNAVAIL,
		[GARBAGE_ARGS] = RPC_CANTDECODEARGS,
		[SYSTEM_ERR] = RPC_SYSTEMERROR,
	};

	if (reply->rp_stat != MSG_ACCEPTED)
		return reply->ru.RP_dr.rj_stat == AUTH_ERROR ? RPC_AUTHERROR :
							       RPC_VERSMISMATCH;
	return reply->ru.RP_ar.ar_stat <= SYSTEM_ERR ?
		       accepted[reply->ru.RP_ar.ar_stat] :
		       RPC_FAILED;
}

static void decode_reply(struct clnt_req *cc, const struct rt_request *rq)
{
	struct xs_decode in;
	struct rpc_msg msg;

	xs_decode_init(&in, rq->reply, rq->nreply, NULL);
	memset(&msg, 0, sizeof(msg));
	xs_msg_init(&msg);
	if (!xdr_dplx_decode(&in.xdrs, &msg) || msg.rm_direction != REPLY ||
	    msg.rm_xid != rq->xid) {
		cc->cc_error.re_status = RPC_CANTDECODERES;
		return;
	}
	cc->cc_error.re_status = reply_to_stat(&msg.rm_reply);
	if (cc->cc_error.re_status != RPC_SUCCESS)
		return;
	if (!AUTH_VALIDATE(cc->cc_auth, &cc->cc_verf))
		cc->cc_error.re_status = RPC_AUTHERROR;
	else if (cc->cc_reply.proc &&
		 !AUTH_UNWRAP(cc->cc_auth, &in.xdrs, cc->cc_reply.proc,
			      cc->cc_reply.where))
		cc->cc_error.re_status = RPC_CANTDECODERES;
	cc->cc_refreshes = 0;
}

/* ---- Ends ------------------------------------------------------------------ */

static void callback_put(struct bc_callback *c)
{
	struct bc_client *client = c->client;

	if (__atomic_sub_fetch(&c->refs, 1, __ATOMIC_ACQ_REL))
		return;
	xs_encode_release(&c->out);
	if (c->auth)
		AUTH_DESTROY(c->auth);
	rt_request_free(c->rq); /* and @c */
	atomic_fetch_sub(&client->server->ncallbacks, 1);
	CLNT_RELEASE(&client->clnt, CLNT_RELEASE_FLAG_NONE);
}

static void set_result(struct clnt_req *cc, const struct bc_callback *c)
{
	if (c->late) {
		cc->cc_error.re_status = RPC_TIMEDOUT;
		return;
	}
	cc->cc_error.re_status = status_to_stat(c->rq->status);
	cc->cc_error.re_errno = -c->rq->status;
	if (!c->rq->status)
		decode_reply(cc, c->rq);
}

static enum xprt_stat callback_finish(struct svc_req *req)
{
	struct bc_callback *c = req->rq_u1;
	struct clnt_req *cc = c->claimed;
	AUTH *auth = c->auth;

	c->auth = NULL;
	set_result(cc, c);
	/* cc_process_cb may release cc, or submit it once more. */
	callback_put(c);
	cc->cc_process_cb(cc);
	AUTH_DESTROY(auth);
	/* ntirpc does not touch the svc_req any more. */
	return XPRT_SUSPEND;
}

/* Passes a reference to @c on. */
static void callback_to_worker(struct bc_callback *c, struct clnt_req *cc)
{
	c->claimed = cc;
	c->hop.rq_u1 = c;
	c->hop.rq_resume_cb = callback_finish;
	c->server->resume(&c->hop);
}

/* ---- Deadlines (lock held) ------------------------------------------------- */

static void callback_cancel_timer(struct bc_callback *c)
{
	if (c->timed)
		cds_list_del(&c->due);
	c->timed = false;
}

static void callback_set_timer(struct bc_callback *c, int64_t deadline)
{
	struct bc_server *s = c->server;
	struct cds_list_head *after;

	callback_cancel_timer(c);
	if (!c->cc || deadline == INT64_MAX)
		return;
	c->deadline = deadline;
	c->timed = true;
	/* Time-outs are alike, so this is nearly always the end. */
	after = s->due.prev;
	while (after != &s->due &&
	       cds_list_entry(after, struct bc_callback, due)->deadline >
		       deadline)
		after = after->prev;
	cds_list_add(&c->due, after);
	if (after == &s->due)
		pthread_cond_signal(&s->changed);
}

struct clnt_req *bc_callback_claim(struct bc_callback *c)
{
	struct clnt_req *cc = c->cc;

	c->cc = NULL;
	callback_cancel_timer(c);
	return cc;
}

/* ---- Sending and waiting --------------------------------------------------- */

/* A callback of a session is timed out when it has waited for reverse_ms in all. Another one has
 * its own timeout. */
static void callback_wait(struct bc_channel *ch, struct bc_callback *c)
{
	int64_t now = bc_now_ms();

	bc_channel_enqueue(ch, c);
	if (!c->give_up)
		c->give_up =
			now + rt_instance_config(c->server->inst)->reverse_ms;
	callback_set_timer(c, ch->named || !c->timeout ? c->give_up :
							 now + c->timeout);
	/* It may wait for the end of a pause. */
	pthread_cond_signal(&c->server->changed);
}

/* Returns the connection that the caller must submit c->rq to, and put. */
static struct rt_conn *callback_begin(struct bc_channel *ch,
				      struct bc_callback *c)
{
	rt_conn_get(ch->conn); /* c's */
	rt_conn_get(ch->conn); /* the caller's */
	c->conn = ch->conn;
	c->rq->call_max = ch->call_max;
	c->tries++;
	cds_list_add_tail(&c->link, &ch->sent);
	callback_set_timer(c,
			   c->timeout ? bc_now_ms() + c->timeout : INT64_MAX);
	return ch->conn;
}

/* Returns true if callbacks cannot be sent now, but perhaps later. */
static bool callback_must_wait(struct bc_server *s, struct bc_channel *ch)
{
	bool ready = bc_channel_ready(s, ch);
	bool may_wait = bc_channel_may_wait(s, ch);

	if (s->closed)
		return false;
	if (ch->nwaiting || ch->sending)
		return may_wait || ch->conn;
	return may_wait && !ready;
}

enum clnt_stat bc_callback_submit(struct bc_callback *c)
{
	struct bc_server *s = c->server;
	struct rt_conn *conn = NULL;
	struct bc_channel *ch;
	bool waits = false;

	pthread_mutex_lock(&s->lock);
	ch = c->channel = c->client->channel;
	c->order = ++s->order;
	if (ch && callback_must_wait(s, ch) && !c->probe) {
		waits = !bc_channel_full(s, ch);
		if (waits)
			callback_wait(ch, c);
		else
			bc_channel_fault(s, ch);
	} else if (ch && ch->conn) {
		conn = callback_begin(ch, c);
	}
	if (waits || conn)
		ch->refs++;
	else
		bc_callback_claim(c);
	pthread_mutex_unlock(&s->lock);
	/* If it waits, it may have been freed. */
	if (waits)
		return RPC_SUCCESS;
	if (!conn) {
		callback_put(c);
		return RPC_CANTSEND;
	}
	rt_request_submit(conn, c->rq);
	rt_conn_put(conn);
	return RPC_SUCCESS;
}

enum clnt_stat bc_callback_call(struct bc_callback *c)
{
	struct bc_server *s = c->server;
	int64_t until = bc_now_ms() + c->timeout;
	struct clnt_req *cc = c->cc;
	struct timespec ts = to_timespec(until);

	c->probe = true;
	c->timeout = 0;
	c->refs++;
	cc->cc_error.re_status = bc_callback_submit(c);
	if (cc->cc_error.re_status == RPC_SUCCESS) {
		pthread_mutex_lock(&s->lock);
		while (!c->answered &&
		       !pthread_cond_timedwait(&s->answered, &s->lock, &ts))
			;
		c->late = bc_callback_claim(c) != NULL;
		pthread_mutex_unlock(&s->lock);
		set_result(cc, c);
	}
	callback_put(c);
	return cc->cc_error.re_status;
}

/* ---- Replies (strand) ------------------------------------------------------ */

/* Returns the status of CB_SEQUENCE; 0 also if the Reply has none. */
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

/*
 * CB_SEQUENCE has failed, so the client has not advanced the slot, but Ganesha does. Repeat the
 * callback after NFS4ERR_DELAY, with which Linux' client answers while it binds a connection.
 * After other errors the slot is lost.
 */
static bool should_repeat(struct bc_server *s, struct bc_channel *ch,
			  struct bc_callback *c, uint32_t sequence)
{
	int64_t now = bc_now_ms();

	if (sequence == ULB_NFS4ERR_RETRY_UNCACHED_REP)
		return false;
	if (sequence != ULB_NFS4ERR_DELAY || (c->give_up && c->give_up < now) ||
	    bc_channel_full(s, ch)) {
		bc_channel_fault(s, ch);
		return false;
	}
	c->tries--; /* it was not accepted */
	c->delayed = true;
	ch->pause_until = now + BC_PAUSE_MS;
	return true;
}

/* The connection has ended, or the transport could not send. */
static bool should_resend(struct bc_server *s, struct bc_channel *ch,
			  struct bc_callback *c, int status)
{
	bool unsent = status == -ENOTCONN || status == -EOPNOTSUPP;
	bool lost = unsent || status == -ECONNRESET;

	c->tries -= unsent;
	if (lost && c->conn == ch->conn)
		bc_channel_detach(s, ch);
	if (lost && ch->named && !s->closed && c->tries < BC_TRIES &&
	    !bc_channel_full(s, ch))
		return true;
	bc_channel_fault(s, ch);
	return false;
}

void bc_callback_done(struct rt_request *rq)
{
	struct bc_callback *c = rt_request_user(rq);
	struct bc_server *s = c->server;
	struct rt_conn *conn = c->conn;
	struct clnt_req *cc = NULL;
	struct bc_channel *ch;
	uint32_t sequence;
	bool again = false;

	if (!rq->status && !rt_response_is_reply(conn, rq))
		rq->status = -EPROTO;
	sequence = sequence_status(rq);
	pthread_mutex_lock(&s->lock);
	ch = c->channel;
	cds_list_del(&c->link);
	/* With -EPROTO the client has executed it, whatever it sent back. */
	if (c->probe)
		again = false;
	else if (rq->status && rq->status != -EPROTO)
		again = should_resend(s, ch, c, rq->status);
	else if (sequence && ch->named && !s->closed)
		again = should_repeat(s, ch, c, sequence);
	if (again) {
		callback_wait(ch, c);
	} else {
		cc = bc_callback_claim(c);
		if (cc && c->probe) {
			c->answered = true;
			pthread_cond_broadcast(&s->answered);
			cc = NULL;
		}
		/* Others may have waited for this one. */
		if (ch->nwaiting)
			pthread_cond_signal(&s->changed);
		bc_channel_put(s, ch);
	}
	pthread_mutex_unlock(&s->lock);
	rt_conn_put(conn);
	/* If it waits, it may have been freed. */
	if (again)
		return;
	if (cc)
		callback_to_worker(c, cc);
	else
		callback_put(c);
}

/* ---- Timer thread (lock held, and released in between) ----------------------- */

static void callback_send(struct bc_server *s, struct bc_channel *ch,
			  struct bc_callback *c)
{
	struct rt_conn *conn;

	bc_channel_dequeue(c);
	conn = callback_begin(ch, c);
	/* Nothing overtakes it. */
	ch->sending = true;
	ch->refs++;
	pthread_mutex_unlock(&s->lock);
	rt_request_submit(conn, c->rq);
	rt_conn_put(conn);
	pthread_mutex_lock(&s->lock);
	ch->sending = false;
	bc_channel_put(s, ch);
}

/* The deadline of @c has passed, or it can never be sent. A callback of a session continues to
 * wait, because of its slot. */
static void callback_expire(struct bc_server *s, struct bc_callback *c)
{
	struct clnt_req *cc = bc_callback_claim(c);
	bool over = false;

	if (cc) {
		c->late = true;
		__atomic_add_fetch(&c->refs, 1, __ATOMIC_RELAXED);
	}
	if (c->waiting) {
		bc_channel_settle(s, c->channel);
		over = !bc_channel_may_wait(s, c->channel);
	}
	if (over) {
		bc_channel_dequeue(c);
		bc_channel_put(s, c->channel);
	}
	pthread_mutex_unlock(&s->lock);
	if (cc)
		callback_to_worker(c, cc);
	if (over)
		callback_put(c);
	pthread_mutex_lock(&s->lock);
}

/* Send or end a callback that waits. Returns false if none can be; then *@until
 * is at most the end of the next pause. */
static bool serve_backlog(struct bc_server *s, int64_t now, int64_t *until)
{
	struct bc_channel *ch;

	cds_list_for_each_entry(ch, &s->backlog, backlog)
	{
		struct bc_callback *c = cds_list_first_entry(
			&ch->waiting, struct bc_callback, link);

		if (bc_channel_ready(s, ch)) {
			callback_send(s, ch, c);
			return true;
		}
		/* Until its deadline, treat one that cannot be sent as one that is not
		 * answered. */
		if (!bc_channel_may_wait(s, ch) &&
		    (s->closed || !ch->listed || !c->cc)) {
			callback_expire(s, c);
			return true;
		}
		if (ch->pause_until > now)
			*until = MIN(*until, ch->pause_until);
	}
	return false;
}

static void *timer_main(void *arg)
{
	struct bc_server *s = arg;

	pthread_mutex_lock(&s->lock);
	while (!s->stop || !cds_list_empty(&s->backlog)) {
		int64_t now = bc_now_ms(), until = bc_channel_sweep(s, now);
		struct bc_callback *c;
		struct timespec ts;

		if (serve_backlog(s, now, &until))
			continue;
		if (!cds_list_empty(&s->due)) {
			c = cds_list_first_entry(&s->due, struct bc_callback,
						 due);
			if (c->deadline <= now) {
				callback_expire(s, c);
				continue;
			}
			until = MIN(until, c->deadline);
		}
		if (until == INT64_MAX) {
			pthread_cond_wait(&s->changed, &s->lock);
			continue;
		}
		ts = to_timespec(until);
		pthread_cond_timedwait(&s->changed, &s->lock, &ts);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

int bc_timer_start(struct bc_server *s)
{
	int err = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->running) {
		err = base_thread_start(&s->timer, NULL, timer_main, s);
		s->running = !err;
	}
	pthread_mutex_unlock(&s->lock);
	return err;
}

/* ---- Server ----------------------------------------------------------------- */

size_t bc_request_size(void)
{
	return sizeof(struct bc_callback);
}

int bc_server_create(struct rt_instance *inst,
		     void (*resume)(struct svc_req *req),
		     struct bc_server **out)
{
	struct bc_server *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return -ENOMEM;
	s->inst = inst;
	s->resume = resume ? resume : svc_resume;
	/* Random, so that it differs after a restart. */
	s->xid = arc4random();
	s->host_max = MAX(
		BC_PER_CONN * rt_instance_config(inst)->max_host_connections,
		BC_HOST_MIN);
	CDS_INIT_LIST_HEAD(&s->due);
	bc_channels_init(s);
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->changed, &attr);
	pthread_cond_init(&s->answered, &attr);
	pthread_condattr_destroy(&attr);
	*out = s;
	return 0;
}

void bc_server_close(struct bc_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->closed = true;
	bc_channels_close(s);
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

bool bc_server_busy(struct bc_server *s)
{
	return atomic_load(&s->ncallbacks);
}

void bc_server_destroy(struct bc_server *s)
{
	if (!s)
		return;
	/* Timed-out callbacks may still wait. */
	bc_server_close(s);
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (s->running)
		pthread_join(s->timer, NULL);
	pthread_cond_destroy(&s->answered);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
