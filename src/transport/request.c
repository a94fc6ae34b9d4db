/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * request - the Requester sends a Call
 *
 * rt_request_alloc/reset/free/submit may be called by any thread; the rest is
 * the runner's. A request is on conn->requests from submit to done, on
 * conn->calls_out until its first message is posted, and found by XID in
 * conn->hash. Format: [D8].
 *
 * Locks: the instance's request_lock is a leaf around the free list.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "transport/internal.h"

/* ---- Free list -------------------------------------------------------- */

struct rt_request *rt_request_alloc(struct rt_instance *inst)
{
	size_t user = inst->cfg.request_user_size;
	struct rt_request_priv *rq;

	pthread_mutex_lock(&inst->request_lock);
	rq = inst->free_requests;
	if (rq)
		inst->free_requests = rq->next_free;
	pthread_mutex_unlock(&inst->request_lock);
	if (!rq) {
		rq = calloc(1, sizeof(*rq) + user);
		if (!rq)
			return NULL;
		rq->inst = inst;
	} else {
		memset(&rq->pub, 0, offsetof(struct rt_request, reply));
		rq->pub.reply_len = 0;
		memset(rq->user, 0, user);
	}
	return &rq->pub;
}

void *rt_request_user(struct rt_request *rq)
{
	return caa_container_of(rq, struct rt_request_priv, pub)->user;
}

void rt_request_reset(struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);

	rt_bufs_put(&rq->bufs);
	fab_pool_put(rq->reply_buf);
	rq->reply_buf = NULL;
	pub->nreply = 0;
	pub->reply_len = 0;
}

void rt_request_free(struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);
	struct rt_instance *inst = rq->inst;

	rt_request_reset(pub);
	pthread_mutex_lock(&inst->request_lock);
	rq->next_free = inst->free_requests;
	inst->free_requests = rq;
	pthread_mutex_unlock(&inst->request_lock);
}

/* ---- Finding and finishing -------------------------------------------- */

static struct rt_request_priv **bucket(struct rt_conn *c, uint32_t xid)
{
	/* XIDs are often counted up: the low octet spreads well enough. */
	return &c->hash[(xid ^ xid >> 8) % RT_HASH];
}

struct rt_request_priv *rt_request_find(struct rt_conn *c, uint32_t xid)
{
	struct rt_request_priv *rq;

	for (rq = *bucket(c, xid); rq; rq = rq->hash_next)
		if (rq->pub.xid == xid)
			return rq;
	return NULL;
}

static void unhash(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_request_priv **p = bucket(c, rq->pub.xid);

	while (*p != rq)
		p = &(*p)->hash_next;
	*p = rq->hash_next;
	rq->hashed = false;
}

static void unexpose_all(struct rt_conn *c, struct rt_request_priv *rq)
{
	for (unsigned int i = 0; i < rq->nsegs; i++)
		fab_unexpose(c->fab, rq->seg[i].handle);
	for (unsigned int i = 0; i < rq->nrsegs; i++)
		fab_unexpose(c->fab, rq->rseg[i].target.handle);
	rq->nsegs = 0;
	rq->nrsegs = 0;
}

static void complete(struct rt_conn *c, struct rt_request_priv *rq)
{
	cds_list_del(&rq->link);
	rq->pub.done(&rq->pub);
}

/*
 * The outcome is known. Memory is closed to the peer at once; done is called
 * when the fabric has let go of the Call's own octets too.
 */
void rt_request_finish(struct rt_conn *c, struct rt_request_priv *rq,
		       int status)
{
	if (rq->finished)
		return;
	rq->finished = true;
	rq->pub.status = status;
	unhash(c, rq);
	unexpose_all(c, rq);
	if (!cds_list_empty(&rq->queue))
		cds_list_del_init(&rq->queue);
	if (c->cont_call == rq)
		c->cont_call = NULL;
	c->requests_all--;
	if (rq->posted) {
		c->requests_out--;
		if (c->server)
			c->credit.reverse--;
		else
			c->credit.forward--;
	}
	if (!rq->sends_pending)
		complete(c, rq);
}

void rt_request_sent(struct rt_conn *c, struct rt_request_priv *rq)
{
	rq->sends_pending--;
	if (rq->sends_pending)
		return;
	if (rq->finished)
		complete(c, rq);
	else if (rq->pub.call_only && rq->out.off == rq->out.len)
		rt_request_finish(c, rq, 0);
}

/* The fabric has ended: nothing is lent any more. */
void rt_requests_fail_all(struct rt_conn *c, int status)
{
	struct rt_request_priv *rq, *tmp;

	cds_list_for_each_entry_safe(rq, tmp, &c->requests, link)
	{
		rq->sends_pending = 0;
		if (rq->finished)
			complete(c, rq);
		else
			rt_request_finish(c, rq, status);
	}
}

/* ---- Preparing a Call ------------------------------------------------- */

/* What the peer takes from us in this direction. */
static bool may_use_chunks(const struct rt_conn *c,
			   const struct rt_request_priv *rq)
{
	if (rq->pub.call_only) /* 4.7 */
		return false;
	if (c->server && c->theirs.reverse != RDMA2_RVRSDIR_GENL)
		return false;
	return c->theirs.segments && c->theirs.segment_size;
}

static bool may_continue(const struct rt_conn *c)
{
	if (!c->v->continuation)
		return false;
	return !c->server || c->theirs.reverse >= RDMA2_RVRSDIR_CONT;
}

/*
 * Segments still allowed in this header: by the peer's count [E4], and by what
 * one message holds beside the prefix, the ends of the lists, a count for each
 * chunk and the first word of the payload.
 */
static unsigned int segments_left(const struct rt_conn *c,
				  const struct rt_request_priv *rq)
{
	unsigned int used = rq->nsegs + rq->nrsegs;
	unsigned int max = RT_MAX_SEGMENTS;
	size_t words = 36 + 8 * (RT_MAX_CHUNKS + 1);

	if (max > c->theirs.segments)
		max = c->theirs.segments;
	/* Read segments are the longest. */
	if (max > (c->to_peer - words) / 24)
		max = (unsigned int)((c->to_peer - words) / 24);
	return max > used ? max - used : 0;
}

/* Open one stretch of memory, in pieces no longer than the peer takes. */
static int expose(struct rt_conn *c, struct rt_request_priv *rq, void *addr,
		  size_t len, struct fab_mr *mr, bool write, uint32_t position)
{
	size_t room = c->theirs.segment_size;
	uint8_t *p = addr;

	if (!mr)
		return -EINVAL;
	do {
		struct wire_segment s = {
			.length = (uint32_t)(len < room ? len : room)
		};
		int rc;

		if (!segments_left(c, rq))
			return -E2BIG;
		rc = fab_expose(c->fab, mr, p, s.length,
				write ? FAB_REMOTE_WRITE : FAB_REMOTE_READ,
				&s.handle, &s.offset);
		if (rc)
			return rc;
		if (write) {
			rq->seg[rq->nsegs++] = s;
		} else {
			rq->rseg[rq->nrsegs].position = position;
			rq->rseg[rq->nrsegs++].target = s;
		}
		p += s.length;
		len -= s.length;
	} while (len);
	return 0;
}

/* Close again what was opened beyond these counts. */
static void rollback(struct rt_conn *c, struct rt_request_priv *rq,
		     unsigned int nsegs, unsigned int nrsegs)
{
	while (rq->nsegs > nsegs)
		fab_unexpose(c->fab, rq->seg[--rq->nsegs].handle);
	while (rq->nrsegs > nrsegs)
		fab_unexpose(c->fab, rq->rseg[--rq->nrsegs].target.handle);
}

/* The peer, or the fabric, takes no more segments: do without this chunk. */
static bool no_room(int rc)
{
	return rc == -E2BIG || rc == -ENOSPC;
}

static int offer_writes(struct rt_conn *c, struct rt_request_priv *rq)
{
	rq->nwrites = rq->pub.nsinks;
	if (rq->nwrites > c->inst->cfg.call_write_chunks)
		rq->nwrites = c->inst->cfg.call_write_chunks;
	for (unsigned int i = 0; i < rq->nwrites; i++) {
		struct rt_sink *s = &rq->pub.sinks[i];
		unsigned int first = rq->nsegs;
		int rc = 0;

		if (s->addr)
			rc = expose(c, rq, s->addr, s->len, s->mr, true, 0);
		if (no_room(rc))
			/* An empty chunk: the result comes inline. */
			rollback(c, rq, first, rq->nrsegs);
		else if (rc)
			return rc;
		rq->write[i].seg = &rq->seg[first];
		rq->write[i].count = rq->nsegs - first;
	}
	return 0;
}

/*
 * Is a Reply that does not fit inline left to continuation? The peer need not
 * know how to, and when it says so the Call has been executed [D8].
 */
static bool trusts_continuation(const struct rt_conn *c,
				const struct rt_request_priv *rq)
{
	return may_continue(c) && !rq->pub.once && !c->reply_refused;
}

/*
 * How long the Reply may be; where it is not to be continued, what finds no
 * Write chunk in the end comes on top. If that is not known: version 1, where
 * there is no other way for a long Reply, provides for the longest; else for
 * what attributes can come to.
 */
static size_t reply_max(const struct rt_conn *c,
			const struct rt_request_priv *rq)
{
	size_t max = rq->pub.reply_max;

	if (trusts_continuation(c, rq))
		return rt_round4(max);
	if (!max)
		return may_continue(c) ? RT_UNKNOWN_REPLY :
					 c->inst->cfg.max_message;
	for (unsigned int i = 0; i < rq->pub.nsinks; i++)
		if (rq->pub.sinks[i].addr &&
		    (i >= rq->nwrites || !rq->write[i].count))
			max += rt_round4(rq->pub.sinks[i].len);
	return rt_round4(max);
}

/* A Reply chunk, if the Reply may need more than a few fragments [D8]. */
static int offer_reply(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_config *cfg = &c->inst->cfg;
	struct wire_reply_desc d = { .writes = rq->write,
				     .nwrites = rq->nwrites };
	size_t head = c->v->reply_len(false, &d);
	size_t max = reply_max(c, rq);
	size_t room = c->from_peer;
	unsigned int first = rq->nsegs;
	int rc;

	if (max + head <= room)
		return 0;
	if (cfg->call_format == RT_FORMAT_CONTINUED && may_continue(c))
		return 0;
	if (cfg->call_format == RT_FORMAT_AUTO && trusts_continuation(c, rq) &&
	    max <= (size_t)cfg->max_fragments * (room - 20))
		return 0;
	if (max > FAB_POOL_MAX_BUF)
		max = FAB_POOL_MAX_BUF;
	if (max > cfg->max_message)
		max = cfg->max_message & ~(size_t)3;
	rq->reply_buf = fab_pool_get(c->inst->pool, max);
	if (!rq->reply_buf)
		return 0; /* continuation will do */
	rc = expose(c, rq, rq->reply_buf->addr, max, rq->reply_buf->mr, true,
		    0);
	if (no_room(rc)) {
		rollback(c, rq, first, rq->nrsegs);
		fab_pool_put(rq->reply_buf);
		rq->reply_buf = NULL;
		return 0;
	}
	if (rc)
		return rc;
	rq->reply_chunk.seg = &rq->seg[first];
	rq->reply_chunk.count = rq->nsegs - first;
	return 0;
}

static void describe(const struct rt_request_priv *rq, struct wire_call_desc *d)
{
	*d = (struct wire_call_desc){
		.inv_handle = rq->inv_handle,
		.call = rq->rseg,
		.ncall = rq->nbody,
		.reads = rq->rseg + rq->nbody,
		.nreads = rq->nrsegs - rq->nbody,
		.writes = rq->write,
		.nwrites = rq->nwrites,
		.reply = rq->reply_chunk.count ? &rq->reply_chunk : NULL,
	};
}

static size_t header_len(const struct rt_conn *c,
			 const struct rt_request_priv *rq, bool external)
{
	struct wire_call_desc d;

	describe(rq, &d);
	return c->v->call_len(external, &d);
}

/* Take the eligible arguments out, as far as the peer's limits go. */
static int reduce(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_item items[RT_MAX_CHUNKS];
	unsigned int n = 0;

	for (unsigned int i = 0;
	     i < rq->pub.nitems && n < c->inst->cfg.call_read_chunks &&
	     n < RT_MAX_CHUNKS;
	     i++)
		if (rq->pub.items[i].present && rq->pub.items[i].length)
			items[n++] = rq->pub.items[i];
	return rt_reduce(rq->pub.pieces, rq->pub.npieces, items, n, &rq->out,
			 &rq->cuts);
}

static int expose_cuts(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_cuts *k = &rq->cuts;

	for (unsigned int i = 0; i < k->count; i++)
		for (unsigned int j = 0; j < k->cut[i].npieces; j++) {
			const struct rt_piece *p =
				&k->piece[k->cut[i].first + j];
			int rc = expose(c, rq, p->addr, p->len, p->mr, false,
					k->cut[i].position);

			if (rc)
				return rc;
		}
	return 0;
}

/* The stream as a Call chunk: in place if it can be, else from a copy. */
static int expose_body(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct wire_read_segment items[RT_MAX_SEGMENTS];
	unsigned int nitems = rq->nrsegs;
	struct rt_out *out = &rq->out;
	bool in_place = out->npieces <= segments_left(c, rq) / 2;
	int rc = 0;

	/* rdma_call comes before rdma_reads in rseg. */
	memcpy(items, rq->rseg, nitems * sizeof(*items));
	for (unsigned int i = 0; i < out->npieces; i++)
		in_place &= out->piece[i].mr != NULL;
	if (!in_place) {
		struct fab_buf *b = fab_pool_get(c->inst->pool, out->len);
		size_t at = 0;

		if (!b)
			return -E2BIG;
		for (unsigned int i = 0; i < out->npieces; i++) {
			memcpy((uint8_t *)b->addr + at, out->piece[i].addr,
			       out->piece[i].len);
			at += out->piece[i].len;
		}
		RT_COUNT(c, copied_bytes, at);
		rt_bufs_add(&rq->bufs, b);
		rt_out_init(out);
		rt_out_add(out, b->addr, at, b->mr);
	}
	for (unsigned int i = 0; i < out->npieces && !rc; i++)
		rc = expose(c, rq, out->piece[i].addr, out->piece[i].len,
			    out->piece[i].mr, false, 0);
	if (rc)
		return rc;
	rq->nbody = rq->nrsegs - nitems;
	memmove(rq->rseg, rq->rseg + nitems, rq->nbody * sizeof(*rq->rseg));
	memcpy(rq->rseg + rq->nbody, items, nitems * sizeof(*items));
	return 0;
}

static size_t fragments(const struct rt_conn *c, size_t len)
{
	size_t room = (c->to_peer - 20) & ~(size_t)3;

	return (len + room - 1) / room;
}

/* Choose the format and open the memory. 0 or -errno. */
static int prepare(struct rt_conn *c, struct rt_request_priv *rq)
{
	const struct rt_config *cfg = &c->inst->cfg;
	bool chunks = may_use_chunks(c, rq);
	bool special = chunks && (cfg->call_format != RT_FORMAT_CONTINUED ||
				  !c->v->continuation);
	int rc;

	rq->nsegs = rq->nrsegs = rq->nbody = rq->nwrites = 0;
	rq->reply_chunk = (struct wire_chunk_desc){ 0 };
	rq->external = false;
	/* Only a Reply gives a credit of version 1 back (RFC 8166 3.3.1). */
	if (rq->pub.call_only && c->version == WIRE_VERS1)
		return -EOPNOTSUPP;
	if (chunks) {
		rc = offer_writes(c, rq);
		if (!rc)
			rc = offer_reply(c, rq);
		if (rc)
			return rc;
	}
	if (rq->pub.npieces > RT_MAX_PIECES)
		return -E2BIG;
	/* As it is, if that fits. */
	rc = rt_reduce(rq->pub.pieces, rq->pub.npieces, NULL, 0, &rq->out,
		       &rq->cuts);
	if (rc)
		return rc;
	if (rq->out.len < 4)
		return -EINVAL;
	if (header_len(c, rq, false) + rq->out.len <= c->to_peer)
		goto fits;
	if (chunks && rq->pub.nitems) {
		rc = reduce(c, rq);
		if (!rc)
			rc = expose_cuts(c, rq);
		if (no_room(rc)) {
			rollback(c, rq, rq->nsegs, 0);
			rc = rt_reduce(rq->pub.pieces, rq->pub.npieces, NULL, 0,
				       &rq->out, &rq->cuts);
		}
		if (rc)
			return rc;
		if (header_len(c, rq, false) + rq->out.len <= c->to_peer)
			goto fits;
	}
	if (rq->out.len > cfg->max_message)
		return -E2BIG;
	if (may_continue(c) && cfg->call_format != RT_FORMAT_SPECIAL &&
	    (!special || fragments(c, rq->out.len) <= cfg->max_fragments))
		goto fits;
	if (special && rq->out.len <= FAB_POOL_MAX_BUF) {
		unsigned int nrsegs = rq->nrsegs;

		rc = expose_body(c, rq);
		if (!rc) {
			rq->external = true;
			goto fits;
		}
		if (!no_room(rc))
			return rc;
		rollback(c, rq, rq->nsegs, nrsegs);
	}
	if (!may_continue(c))
		return -E2BIG;
fits:
	rq->inv_handle = c->v->inv_offer(c, rq);
	if (header_len(c, rq, rq->external) > c->to_peer - 4)
		return -E2BIG;
	return 0;
}

/* ---- Sending ---------------------------------------------------------- */

void rt_request_queue(struct rt_conn *c, struct rt_request_priv *rq)
{
	int status = 0;

	rq->finished = false;
	rq->posted = false;
	rq->prepared = false;
	rq->sends_pending = 0;
	rq->nsegs = rq->nrsegs = 0;
	rq->inv_handle = 0;
	CDS_INIT_LIST_HEAD(&rq->queue);
	rt_out_init(&rq->out);
	for (unsigned int i = 0; i < rq->pub.nsinks; i++)
		rq->pub.sinks[i].used = 0;
	if (c->state >= RT_DRAINING)
		status = -ENOTCONN;
	else if (c->server && (!c->theirs.complete || !c->theirs.reverse))
		status = -EOPNOTSUPP;
	else if (rt_request_find(c, rq->pub.xid))
		status = -EEXIST;
	else if (c->server && c->requests_all >= c->inst->cfg.reverse_credits)
		status = -EAGAIN;
	if (status) {
		rq->pub.status = status;
		rq->finished = true;
		rq->pub.done(&rq->pub);
		return;
	}
	rq->hash_next = *bucket(c, rq->pub.xid);
	*bucket(c, rq->pub.xid) = rq;
	rq->hashed = true;
	cds_list_add_tail(&rq->link, &c->requests);
	cds_list_add_tail(&rq->queue, &c->calls_out);
	c->requests_all++;
}

bool rt_request_send(struct rt_conn *c, struct rt_request_priv *rq)
{
	struct rt_out *out = &rq->out;
	struct wire_call_desc d;
	bool begun = rq->posted;
	struct rt_work *w;
	size_t hlen, left, n;
	bool last;
	int rc;

	if (!rq->prepared) {
		rc = prepare(c, rq);
		if (rc) {
			rt_request_finish(c, rq, rc);
			return true;
		}
		rq->prepared = true;
	}
	w = rt_work_get(c, RT_WORK_SEND);
	rc = -ENOMEM;
	if (!w)
		goto fail;
	if (!rq->posted) {
		rq->posted = true;
		cds_list_del_init(&rq->queue);
		c->requests_out++;
		if (c->server) {
			/* [G3] rule 1: already in this header. */
			c->credit.reverse++;
			RT_COUNT(c, reverse_calls_sent, 1);
			rc = rt_post_receives(c);
			if (rc)
				goto end;
		} else {
			c->credit.forward++;
			RT_COUNT(c, calls_sent, 1);
		}
	}
	hlen = header_len(c, rq, rq->external);
	left = out->len - out->off;
	last = rq->external || hlen + left <= c->to_peer;
	n = rq->external ? 0 : left;
	/* Properties that shrink in the middle of a Call. */
	rc = -EMSGSIZE;
	if (!last && hlen + 4 > c->to_peer)
		goto fail;
	if (!last) {
		n = (c->to_peer - 20) & ~(size_t)3;
		if (n > left - 4)
			n = left - 4;
		c->cont_call = rq;
	} else {
		if (c->cont_call)
			RT_COUNT(c, continued_sent, 1);
		else if (rq->external)
			RT_COUNT(c, special_sent, 1);
		else
			RT_COUNT(c, inline_sent, 1);
		c->cont_call = NULL;
	}
	w->wr.op = FAB_SEND;
	w->wr.nsge = 1;
	if (n) {
		rc = rt_gather(c, w, out, n);
		if (rc)
			goto fail;
		RT_COUNT(c, inline_bytes_sent, n);
	} else {
		out->off = out->len;
	}
	if (last) {
		describe(rq, &d);
		hlen = c->v->encode_call(w->buf->addr, RT_HEADER_ROOM,
					 rq->pub.xid,
					 c->v->credit_word(c, RT_OUT_CALL),
					 rq->external, &d);
	} else {
		hlen = wire_encode_middle(w->buf->addr, RT_HEADER_ROOM,
					  rq->pub.xid,
					  c->v->credit_word(c, RT_OUT_CALL),
					  false, (uint32_t)(left - n));
		RT_COUNT(c, fragments_sent, 1);
	}
	w->req = rq;
	rq->sends_pending++;
	rt_send_work(c, w, hlen);
	return true;
fail:
	if (!begun) {
		/* Nothing of it has gone out: it fails alone. */
		if (w)
			rt_work_put(c, w);
		rt_request_finish(c, rq, rc);
		return true;
	}
end:
	rt_conn_fail(c, rc, "sending a Call: %s", strerror(-rc));
	rt_event(c, EV_ABORT);
	rt_chain_post(c);
	if (w)
		rt_work_put(c, w);
	return false;
}

void rt_request_submit(struct rt_conn *c, struct rt_request *pub)
{
	struct rt_request_priv *rq =
		caa_container_of(pub, struct rt_request_priv, pub);

	pub->status = 0;
	rt_request_reset(pub);
	rt_conn_get(c);
	rt_inbox_put(c, &rq->mail, RT_MAIL_REQUEST);
}
