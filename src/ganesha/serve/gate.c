/* SPDX-License-Identifier: BSD-3-Clause */
/* gate.h says what this is. */
#include "ganesha/serve/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ntirpc/call.h"

/* ---- One gate --------------------------------------------------------- */

/* Let the first Call that waits in, if none is inside. Returns it or NULL. Caller holds gate->lock. */
static struct gr_pass *let_next_in(struct gr_gate *gate)
{
	struct gr_pass *p;

	if (gate->busy || cds_list_empty(&gate->queue))
		return NULL;
	p = cds_list_first_entry(&gate->queue, struct gr_pass, link);
	cds_list_del(&p->link);
	p->inside = true;
	gate->busy = true;
	return p;
}

enum gr_entry gr_gate_enter(struct gr_gate *gate, struct gr_pass *p,
			    struct svc_req *req, const void *of,
			    const atomic_bool *ended)
{
	enum gr_entry is = GR_INSIDE;

	pthread_mutex_lock(&gate->lock);
	if (atomic_load(ended)) {
		is = GR_TOO_LATE;
	} else if (!p->inside) {
		p->gate = gate;
		p->req = req;
		p->of = of;
		if (gate->busy) {
			cds_list_add_tail(&p->link, &gate->queue);
			is = GR_WAITS;
		} else {
			p->inside = true;
			gate->busy = true;
		}
	}
	pthread_mutex_unlock(&gate->lock);
	return is;
}

void gr_gate_leave(struct gr_pass *p)
{
	struct gr_gate *gate = p->gate;
	struct gr_pass *next;

	if (!gate || !p->inside)
		return;
	p->gate = NULL;
	p->inside = false;
	pthread_mutex_lock(&gate->lock);
	gate->busy = false;
	next = let_next_in(gate);
	pthread_mutex_unlock(&gate->lock);
	/* It may be freed as soon as it has been submitted. */
	if (next)
		gate->gates->submit(gate->gates, next->req);
}

void gr_gate_flush(struct gr_gate *gate, const void *of)
{
	struct gr_gates *g = gate->gates;
	struct gr_pass *p, *tmp;
	struct cds_list_head go;

	CDS_INIT_LIST_HEAD(&go);
	pthread_mutex_lock(&gate->lock);
	cds_list_for_each_entry_safe(p, tmp, &gate->queue, link)
	{
		if (p->of != of)
			continue;
		p->gate = NULL;
		cds_list_del(&p->link);
		cds_list_add_tail(&p->link, &go);
	}
	pthread_mutex_unlock(&gate->lock);
	/* Each may be freed as soon as it has been submitted, and the gate with the last
	 * of them. */
	cds_list_for_each_entry_safe(p, tmp, &go, link) g->submit(g, p->req);
}

enum gr_admission gr_gate_admit(SVCXPRT *xprt, atomic_int *known,
				struct gr_gate *gate, struct gr_pass *p,
				struct svc_req *req, const atomic_bool *ended,
				enum xprt_stat (*ask)(SVCXPRT *xprt))
{
	int is = atomic_load_explicit(known, memory_order_acquire);

	/* A Call that has waited and is inside leaves in any case. */
	if (is != GR_NOT_ASKED)
		goto out;
	switch (gr_gate_enter(gate, p, req, xprt, ended)) {
	case GR_WAITS:
		return GR_PENDING;
	case GR_TOO_LATE:
		is = GR_DECLINED;
		goto out;
	case GR_INSIDE:
		break;
	}
	is = atomic_load(known);
	if (is == GR_NOT_ASKED) {
		is = ask(xprt) == XPRT_IDLE ? GR_ADMITTED : GR_DECLINED;
		atomic_store(known, is);
	}
out:
	gr_gate_leave(p);
	return is;
}

/* ---- Gates by host ---------------------------------------------------- */

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req))
{
	pthread_mutex_init(&g->lock, NULL);
	for (unsigned int i = 0; i < GR_GATE_BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&g->hosts[i]);
	CDS_INIT_LIST_HEAD(&g->kept);
	g->nkept = 0;
	g->submit = submit;
}

/* Caller holds g->lock. */
static void gate_free(struct gr_gate *gate)
{
	cds_list_del(&gate->link);
	nrt_replay_destroy(&gate->replay);
	pthread_mutex_destroy(&gate->lock);
	free(gate);
}

/* Free the gates that are kept for too long, or that are too many. Caller holds g->lock. */
static void expire_kept(struct gr_gates *g, uint64_t now)
{
	struct gr_gate *gate, *tmp;

	cds_list_for_each_entry_safe(gate, tmp, &g->kept, kept)
	{
		if (g->nkept <= GR_GATES_KEPT &&
		    now - gate->kept_since < GR_GATE_KEEP_MS)
			return;
		cds_list_del(&gate->kept);
		g->nkept--;
		gate_free(gate);
	}
}

struct gr_gate *gr_gate_of_host(struct gr_gates *g,
				const struct sockaddr_storage *peer)
{
	struct in6_addr host = base_addr_host((const struct sockaddr *)peer);
	struct cds_list_head *bucket;
	struct gr_gate *gate;

	bucket = &g->hosts[nrt_checksum(&host, sizeof(host)) % GR_GATE_BUCKETS];
	pthread_mutex_lock(&g->lock);
	expire_kept(g, base_now_ms());
	cds_list_for_each_entry(gate, bucket, link)
	{
		if (!memcmp(&gate->host, &host, sizeof(host)))
			goto found;
	}
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		goto out;
	gate->gates = g;
	gate->host = host;
	pthread_mutex_init(&gate->lock, NULL);
	CDS_INIT_LIST_HEAD(&gate->queue);
	nrt_replay_init(&gate->replay);
	cds_list_add(&gate->link, bucket);
found:
	if (gate->kept_since) {
		cds_list_del(&gate->kept);
		g->nkept--;
		gate->kept_since = 0;
	}
	gate->refs++;
out:
	pthread_mutex_unlock(&g->lock);
	return gate;
}

void gr_gate_put(struct gr_gate *gate)
{
	struct gr_gates *g = gate->gates;

	pthread_mutex_lock(&g->lock);
	if (!--gate->refs) {
		if (nrt_replay_empty(&gate->replay)) {
			gate_free(gate);
		} else {
			gate->kept_since = base_now_ms();
			cds_list_add_tail(&gate->kept, &g->kept);
			g->nkept++;
			expire_kept(g, gate->kept_since);
		}
	}
	pthread_mutex_unlock(&g->lock);
}
