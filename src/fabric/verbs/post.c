/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * post - posting work requests to the device
 *
 * Requests go through c->sq, from which a batch of up to 32 goes to the device
 * as its send queue has room. Each takes a slot until a completion shows that
 * it is done. Requests without FAB_F_SIGNALED complete with a later one; one in
 * every quarter of the queue is signaled anyway, so that slots always come
 * back.
 *
 * The device may lack room for other reasons (ENOMEM). The rest of a batch is
 * then held, with its slots, and nothing passes it; a Read for which no key can
 * be registered waits with those beyond the depth. Both are tried again after a
 * completion, and while the connection is open after VB_SHORT_MS. When it is
 * closing, its timer limits the closing.
 *
 * Receives beyond the depth of the queue wait in c->rq. If the device lacks room for one, the
 * last ones of the chain are not taken, and their number is returned.
 *
 * RDMA Reads beyond the agreed depth wait here and not in the device, where
 * they would hold up later requests.
 *
 * Context: the runner of the connection.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "device.h"
#include "srq.h"
#include "vb.h"
#include "window.h"

struct vb_batch {
	unsigned int n, nsge;
	unsigned int at; /* the first not yet taken by the device */
	struct ibv_send_wr wr[VB_BATCH];
	struct ibv_sge sge[VB_BATCH * VB_MAX_SGE];
};

static unsigned int sq_room(const struct vb_conn *c)
{
	return c->sq_depth - (unsigned int)(c->sq_head - c->sq_tail);
}

/* Work requests that one of ours becomes: for a Read some devices take fewer
 * elements, iWARP one. */
static unsigned int read_parts(const struct vb_conn *c, const struct fab_wr *wr)
{
	unsigned int n = 0;

	if (wr->op != FAB_READ)
		return 1;
	for (unsigned int i = 0; i < wr->nsge; i++)
		n += wr->sge[i].len > 0;
	n = (n + c->dev->max_sge_rd - 1) / c->dev->max_sge_rd;
	return n ? n : 1;
}

/* Dequeue the next request that fits. */
static struct fab_wr *next_request(struct vb_conn *c, unsigned int room)
{
	bool read_allowed = c->reads_out < c->ev.ord;
	struct fab_wr *wr = c->reads.head;

	if (wr && read_allowed)
		return read_parts(c, wr) <= room ? wr_take(&c->reads) : NULL;
	while ((wr = c->sq.head) && wr->op == FAB_READ && !read_allowed)
		wr_append(&c->reads, wr_take(&c->sq));
	return wr && read_parts(c, wr) <= room ? wr_take(&c->sq) : NULL;
}

static struct ibv_send_wr *add_slot(struct vb_conn *c, struct vb_batch *b,
				    struct fab_wr *wr, bool signaled, bool last)
{
	struct vb_slot *slot = &c->slot[c->sq_head % c->sq_depth];
	struct ibv_send_wr *w = &b->wr[b->n];

	if (!signaled &&
	    (c->signal_all || ++c->sq_unsignaled >= c->sq_depth / 4))
		signaled = true;
	if (signaled)
		c->sq_unsignaled = 0;
	*slot = (struct vb_slot){
		.wr = wr,
		.signaled = signaled,
		.read = wr->op == FAB_READ,
		.last = last,
	};
	memset(w, 0, sizeof(*w));
	w->wr_id = c->sq_head++;
	w->send_flags = signaled ? IBV_SEND_SIGNALED : 0;
	w->sg_list = &b->sge[b->nsge];
	if (b->n)
		b->wr[b->n - 1].next = w;
	b->n++;
	return w;
}

/* Reserve an element of zeros that num_sge does not count: some libraries read the first element
 * even if there is none. */
static void add_no_sge(struct vb_batch *b)
{
	b->sge[b->nsge++] = (struct ibv_sge){ 0 };
}

/* Some devices take an empty element for 2 GiB: add none. */
static void add_sge(const struct vb_conn *c, struct vb_batch *b,
		    struct ibv_send_wr *w, const struct fab_sge *sge,
		    const struct ibv_mr *mr)
{
	b->sge[b->nsge++] = (struct ibv_sge){
		.addr = (uintptr_t)sge->addr,
		.length = (uint32_t)sge->len,
		.lkey = mr ? mr->lkey : vb_lkey_of(c, sge->mr),
	};
	w->num_sge++;
}

/* A part got no key: remove the parts before it, and requeue the Read as the
 * first. */
static void undo_read(struct vb_conn *c, struct vb_batch *b, struct fab_wr *wr,
		      unsigned int n, unsigned int nsge)
{
	for (; b->n > n; b->n--) {
		struct vb_slot *slot = &c->slot[--c->sq_head % c->sq_depth];

		if (slot->sink &&
		    vb_device_keeps(c->dev, vb_deregister(c->dev, slot->sink)))
			vb_conn_fail(
				c, -EIO,
				"the key of an RDMA Read cannot be closed");
	}
	if (n)
		b->wr[n - 1].next = NULL;
	b->nsge = nsge;
	c->reads_out--;
	wr_put_back(&c->reads, wr);
}

static int build_read(struct vb_conn *c, struct vb_batch *b, struct fab_wr *wr)
{
	unsigned int left = read_parts(c, wr), i = 0, was = b->n,
		     nsge = b->nsge;
	uint64_t offset = wr->offset;
	int err = 0;

	c->reads_out++;
	for (; left; left--) {
		struct vb_slot *slot = &c->slot[c->sq_head % c->sq_depth];
		struct ibv_send_wr *w = add_slot(c, b, wr, true, left == 1);

		w->opcode = IBV_WR_RDMA_READ;
		w->wr.rdma.rkey = wr->handle;
		w->wr.rdma.remote_addr = offset;
		for (; i < wr->nsge &&
		       (unsigned int)w->num_sge < c->dev->max_sge_rd;
		     i++) {
			const struct fab_sge *sge = &wr->sge[i];

			if (!sge->len)
				continue;
			if (c->dev->sink_rights) {
				/* max_sge_rd is 1 then (device_caps.c): one key for each slot. */
				slot->sink_of = sge->mr;
				slot->sink = vb_register(
					c->dev, sge->addr, sge->len,
					IBV_ACCESS_LOCAL_WRITE |
						IBV_ACCESS_REMOTE_WRITE,
					&c->ev.peer, &err);
				if (!slot->sink) {
					undo_read(c, b, wr, was, nsge);
					return -err;
				}
			}
			add_sge(c, b, w, sge, slot->sink);
			offset += sge->len;
		}
		if (!w->num_sge) {
			add_no_sge(b);
			w->num_sge = c->dev->siw; /* see device_caps.c */
		}
	}
	c->ev.count.reads += wr->priv[WR_KIND] == KIND_USER;
	c->ev.count.read_bytes += wr->priv[WR_LEN];
	return 0;
}

static void build_bind(struct vb_conn *c, struct vb_batch *b, struct fab_wr *wr)
{
	struct vb_window *win = container_of(wr, struct vb_window, wr);
	struct ibv_send_wr *w;

	win->seq = c->sq_head;
	win->state = WIN_POSTED;
	w = add_slot(c, b, wr, false, true);
	add_no_sge(b);
	w->opcode = IBV_WR_BIND_MW;
	w->bind_mw.mw = win->mw;
	w->bind_mw.rkey = win->handle;
	w->bind_mw.bind_info.mr = win->bind_mr;
	w->bind_mw.bind_info.addr = win->addr;
	w->bind_mw.bind_info.length = win->len;
	w->bind_mw.bind_info.mw_access_flags = win->access;
}

static void build_send(struct vb_conn *c, struct vb_batch *b, struct fab_wr *wr)
{
	bool signaled = (wr->flags & FAB_F_SIGNALED) ||
			wr->priv[WR_KIND] == KIND_PROBE;
	struct ibv_send_wr *w = add_slot(c, b, wr, signaled, true);

	for (unsigned int i = 0; i < wr->nsge; i++)
		if (wr->sge[i].len)
			add_sge(c, b, w, &wr->sge[i], NULL);
	if (!w->num_sge)
		add_no_sge(b);
	if (w->num_sge && wr->priv[WR_LEN] <= c->max_inline &&
	    (wr->op != FAB_SEND_INV || !c->dev->siw))
		w->send_flags |= IBV_SEND_INLINE;
	if (wr->op == FAB_WRITE) {
		w->opcode = IBV_WR_RDMA_WRITE;
		w->wr.rdma.rkey = wr->handle;
		w->wr.rdma.remote_addr = wr->offset;
		c->ev.count.writes += wr->priv[WR_KIND] == KIND_USER;
		c->ev.count.write_bytes += wr->priv[WR_LEN];
		return;
	}
	w->opcode = IBV_WR_SEND;
	if (wr->flags & FAB_F_SOLICITED)
		w->send_flags |= IBV_SEND_SOLICITED;
	if (wr->op == FAB_SEND_INV) {
		w->opcode = IBV_WR_SEND_WITH_INV;
		w->invalidate_rkey = wr->handle;
		/* siw looks for it here. */
		w->wr.rdma.rkey = wr->handle;
		c->ev.count.sends_inv++;
	}
	c->ev.count.sends++;
	c->ev.count.send_bytes += wr->priv[WR_LEN];
}

/* Returns 0, or -errno if a Read has to wait. */
static int build_batch(struct vb_conn *c, struct vb_batch *b)
{
	struct fab_wr *wr;
	unsigned int room;
	int rc;

	b->n = b->nsge = b->at = 0;
	for (;;) {
		room = VB_BATCH - b->n;
		if (room > sq_room(c))
			room = sq_room(c);
		wr = next_request(c, room);
		if (!wr)
			return 0;
		if (wr->op == FAB_READ) {
			rc = build_read(c, b, wr);
			if (rc)
				return rc;
		} else if (wr->priv[WR_KIND] == KIND_BIND) {
			build_bind(c, b, wr);
		} else {
			build_send(c, b, wr);
		}
	}
}

/* The device refuses a request. It is an orderly end if the peer has closed. Before the
 * connection manager reports the close, drivers return EINVAL for it. */
static void post_refused(struct vb_conn *c, int rc, const char *reason)
{
	if (atomic_load(&c->ev.events) & VB_EV_DOWN)
		vb_conn_end(c, 0, "closed by the peer");
	else
		vb_conn_end(c, rc == -EINVAL ? -ECONNRESET : rc, reason);
}

/* Does the device lack room only for now? */
static bool is_shortage(int err)
{
	return err == ENOMEM || err == EAGAIN;
}

/* Post @b from b->at on. Returns 0 if all was taken; -EAGAIN if the device
 * lacks room for the rest, from b->at on; any other error ends the
 * connection. */
static int post_batch(struct vb_conn *c, struct vb_batch *b)
{
	struct ibv_send_wr *bad = NULL;
	unsigned int from = b->at;
	int rc = ibv_post_send(c->id->qp, &b->wr[from], &bad);

	b->at = b->n;
	if (rc && bad >= &b->wr[from] && bad < &b->wr[b->n])
		b->at = (unsigned int)(bad - b->wr);
	/* ibv_post_send() leaves this to the caller for windows of type 2. */
	for (unsigned int i = from; i < b->at; i++)
		if (b->wr[i].opcode == IBV_WR_BIND_MW)
			b->wr[i].bind_mw.mw->rkey = b->wr[i].bind_mw.rkey;
	if (!rc) {
		c->ev.count.posts++;
		return 0;
	}
	rc = rc < 0 ? -rc : rc;
	return is_shortage(rc) && b->at < b->n ? -EAGAIN : -rc;
}

/* Hold the rest of @b in c->held. Returns false without memory. */
static bool hold_batch(struct vb_conn *c, const struct vb_batch *b)
{
	struct vb_batch *h = malloc(sizeof(*h));

	if (!h)
		return false;
	*h = *b;
	for (unsigned int i = b->at; i < b->n; i++) {
		h->wr[i].sg_list = &h->sge[b->wr[i].sg_list - b->sge];
		if (i + 1 < b->n)
			h->wr[i].next = &h->wr[i + 1];
	}
	c->held = h;
	return true;
}

/* Returns false if some of it still waits, or the connection ends. */
static bool post_held(struct vb_conn *c)
{
	int rc = post_batch(c, c->held);

	if (rc == -EAGAIN) {
		vb_conn_retry_later(c);
		return false;
	}
	free(c->held);
	c->held = NULL;
	if (rc)
		post_refused(c, rc, "the device takes no work request");
	return !rc;
}

void vb_post_sends(struct vb_conn *c)
{
	struct vb_batch b;
	int rc;

	while (c->state == VB_ST_OPEN || c->state == VB_ST_CLOSING) {
		if (c->held && !post_held(c))
			return;
		if (!c->sq.head && !c->reads.head)
			return;
		rc = build_batch(c, &b);
		if (b.n) {
			int err = post_batch(c, &b);

			if (err == -EAGAIN && hold_batch(c, &b)) {
				vb_conn_retry_later(c);
				return;
			}
			if (err) {
				post_refused(
					c, err == -EAGAIN ? -ENOMEM : err,
					"the device takes no work request");
				return;
			}
		}
		if (rc) {
			/* A Read waits for its key. */
			vb_conn_retry_later(c);
			return;
		}
		if (!b.n)
			return;
	}
}

bool vb_post_last_signaled(const struct vb_conn *c)
{
	return c->sq_head == c->sq_tail ||
	       c->slot[(c->sq_head - 1) % c->sq_depth].signaled;
}

void vb_post_probe(struct vb_conn *c)
{
	struct fab_wr *wr = &c->probe;

	if (c->probe_out)
		return;
	c->probe_out = true;
	c->probed_at = base_now_ms();
	*wr = (struct fab_wr){ .op = FAB_WRITE };
	/* iWARP has no acknowledgements: only a Read is answered. The key of an
	 * empty operation is not checked (RFC 5040 section 5.2.1, RFC 5041
	 * section 5.2; IB 1.4, C9-88). */
	if (c->dev->iwarp && c->ev.ord)
		wr->op = FAB_READ;
	wr->priv[WR_KIND] = KIND_PROBE;
	wr->priv[WR_LEN] = 0;
	wr_append(&c->sq, wr);
	vb_post_sends(c);
}

int vb_post_chain(struct vb_conn *c, struct fab_wr *chain)
{
	struct fab_wr *next;

	if (c->state != VB_ST_OPEN)
		return -ENOTCONN;
	for (struct fab_wr *wr = chain; wr; wr = wr->next)
		if (wr->op == FAB_READ && !c->ev.ord)
			return -EINVAL;
	for (struct fab_wr *wr = chain; wr; wr = next) {
		next = wr->next;
		wr->priv[WR_KIND] = KIND_USER;
		fab_wr_measure(wr);
		wr_append(&c->sq, wr);
	}
	vb_post_sends(c);
	return 0;
}

/* ---- Receives -------------------------------------------------------- */

/* Get memory for the message of @wr, which brings none once fab_srq_enable() has been called, even
 * if the device has no shared queue. Returns false if there is none. */
static bool recv_memory(struct vb_conn *c, struct fab_wr *wr,
			struct fab_sge *to)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;
	void *memory;

	*to = *wr->sge;
	if (!share->alloc)
		return true;
	memory = share->alloc(share->ctx, to);
	wr->priv[WR_MEMORY] = (uintptr_t)memory;
	to->len = wr->sge->len;
	return memory;
}

/* Take back the last Receive, and requeue it as the first. */
static void unpost_recv(struct vb_conn *c)
{
	const struct fab_srq_params *share = &vb_conn_domain(c)->fab.srq;
	struct fab_wr *wr = c->rslot[--c->rq_head % c->rq_depth];

	if (wr->priv[WR_MEMORY])
		share->free(share->ctx, (void *)(uintptr_t)wr->priv[WR_MEMORY]);
	wr->priv[WR_MEMORY] = 0;
	wr_put_back(&c->rq, wr);
}

/* Post one batch to the connection's own queue. Returns 0, -ENOMEM if there is
 * no room for more now, or another -errno. */
static int post_recv_batch(struct vb_conn *c)
{
	struct ibv_recv_wr w[VB_BATCH], *bad = NULL;
	struct ibv_sge sge[VB_BATCH];
	struct fab_sge to;
	unsigned int n, taken;
	bool memory = true;
	int rc;

	for (n = 0; n < VB_BATCH && c->rq.head &&
		    c->rq_head - c->rq_tail < c->rq_depth;
	     n++) {
		struct fab_wr *wr = c->rq.head;

		memory = recv_memory(c, wr, &to);
		if (!memory)
			break;
		c->rslot[c->rq_head % c->rq_depth] = wr_take(&c->rq);
		w[n] = (struct ibv_recv_wr){
			.wr_id = VB_RECV_ID | c->rq_head++,
			.sg_list = &sge[n],
			.num_sge = to.len || c->dev->siw,
		};
		sge[n] = (struct ibv_sge){ 0 };
		if (to.len)
			sge[n] = (struct ibv_sge){
				.addr = (uintptr_t)to.addr,
				.length = (uint32_t)to.len,
				.lkey = vb_lkey_of(c, to.mr),
			};
		if (n)
			w[n - 1].next = &w[n];
	}
	rc = n ? ibv_post_recv(c->id->qp, w, &bad) : 0;
	if (!rc)
		return memory ? 0 : -ENOMEM;
	rc = rc < 0 ? -rc : rc;
	if (!is_shortage(rc) || bad < w || bad >= w + n)
		/* -ENOMEM would tell the caller to try again. */
		return rc == ENOMEM ? -EIO : -rc;
	for (taken = (unsigned int)(bad - w); n > taken; n--)
		unpost_recv(c);
	return -ENOMEM;
}

bool vb_post_receives(struct vb_conn *c)
{
	int rc = 0;

	if (!c->id || !c->id->qp ||
	    c->state > (c->srq ? VB_ST_LINGER : VB_ST_CLOSING))
		return true;
	/* Refill a shared queue even when closing: other connections need what this one
	 * consumed. */
	if (c->srq)
		rc = vb_srq_fill(c);
	while (!rc && !c->srq && c->rq.head &&
	       c->rq_head - c->rq_tail < c->rq_depth)
		rc = post_recv_batch(c);
	if (rc == -ENOMEM) {
		vb_conn_retry_later(c);
		return false;
	}
	if (rc) {
		post_refused(c, rc, "the device takes no Receive");
		return true;
	}
	if (!c->srq && c->rq.head &&
	    !atomic_exchange(&vb_conn_domain(c)->waits_told, true))
		fab_domain_log(
			c->ev.fab.poller->dom, 4,
			"verbs: more Receives posted than a queue of %u holds",
			c->rq_depth);
	return true;
}

int vb_post_recv_chain(struct vb_conn *c, struct fab_wr *chain)
{
	struct fab_wr *next;
	unsigned int n = 0, lacking;

	if (c->state > VB_ST_OPEN)
		return -ENOTCONN;
	for (struct fab_wr *wr = chain; wr; wr = next) {
		next = wr->next;
		wr->priv[WR_MEMORY] = 0;
		wr_append(&c->rq, wr);
		n++;
	}
	if (c->srq)
		vb_srq_promise(c, n);
	if (vb_post_receives(c))
		return 0;
	/* The caller grants no credit for Receives that are not posted. */
	lacking = c->srq ? vb_srq_deficit(c) : wr_count(&c->rq);
	lacking = MIN(lacking, n);
	wr_cut(&c->rq, wr_count(&c->rq) - lacking);
	if (c->srq)
		vb_srq_redeem(c, lacking);
	return (int)lacking;
}
