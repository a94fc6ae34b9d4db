/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a client that may not be executed at the same time
 */
#include "ganesha/gate.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "ntirpc/call.h"

/* ---- One gate --------------------------------------------------------- */

static void gate_init(struct gr_gate *gate, struct gr_gates *g)
{
	memset(gate, 0, sizeof(*gate));
	gate->gates = g;
	pthread_mutex_init(&gate->lock, NULL);
	CDS_INIT_LIST_HEAD(&gate->queue);
}

/* Lock held, as in the next ones. */
static bool has_room(const struct gr_gate *gate, const struct gr_pass *p)
{
	return !gate->inside || (!gate->alone && !p->alone);
}

static void let_in(struct gr_gate *gate, struct gr_pass *p)
{
	gate->inside++;
	gate->alone = p->alone;
	p->inside = true;
}

/* Those whose turn it is. */
static void admit(struct gr_gate *gate, struct cds_list_head *go)
{
	struct gr_pass *p, *tmp;

	cds_list_for_each_entry_safe(p, tmp, &gate->queue, link)
	{
		if (!has_room(gate, p))
			break;
		let_in(gate, p);
		cds_list_del(&p->link);
		cds_list_add_tail(&p->link, go);
	}
}

/* Not held: each may be gone as soon as it has been submitted, and the last one
 * of them the gate with it. */
static void go_on(struct gr_gates *g, struct cds_list_head *go)
{
	struct gr_pass *p, *tmp;

	cds_list_for_each_entry_safe(p, tmp, go, link) g->submit(g, p->req);
}

enum gr_entry gr_gate_enter(struct gr_gate *gate, struct gr_pass *p,
			    struct svc_req *req, bool alone, const void *of,
			    const atomic_bool *ended)
{
	enum gr_entry is = GR_INSIDE;

	pthread_mutex_lock(&gate->lock);
	if (atomic_load(ended)) {
		is = GR_TOO_LATE;
	} else if (p->gate != gate || !p->inside) {
		p->gate = gate;
		p->req = req;
		p->alone = alone;
		p->of = of;
		/* Behind those that wait, or one that wants to be alone might
		 * never be. */
		if (cds_list_empty(&gate->queue) && has_room(gate, p)) {
			let_in(gate, p);
		} else {
			cds_list_add_tail(&p->link, &gate->queue);
			is = GR_WAITS;
		}
	}
	pthread_mutex_unlock(&gate->lock);
	return is;
}

void gr_gate_leave(struct gr_pass *p)
{
	struct gr_gate *gate = p->gate;
	struct cds_list_head go;
	struct gr_gates *g;

	if (!gate || !p->inside)
		return;
	CDS_INIT_LIST_HEAD(&go);
	p->gate = NULL;
	p->inside = false;
	g = gate->gates;
	pthread_mutex_lock(&gate->lock);
	if (!--gate->inside)
		gate->alone = false;
	admit(gate, &go);
	pthread_mutex_unlock(&gate->lock);
	go_on(g, &go);
}

void gr_gate_expel(struct gr_gate *gate, const void *of)
{
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
	/* Of those behind one that is there no more. */
	admit(gate, &go);
	pthread_mutex_unlock(&gate->lock);
	go_on(gate->gates, &go);
}

/* ---- Whose they are --------------------------------------------------- */

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req))
{
	pthread_mutex_init(&g->lock, NULL);
	for (unsigned int i = 0; i < GR_HOST_BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&g->bucket[i]);
	g->submit = submit;
}

/* The address without a port, and what of it to compare. */
static size_t address_of(const struct sockaddr_storage *peer,
			 struct sockaddr_storage *addr)
{
	const struct sockaddr_in6 *from6 = (const void *)peer;
	const struct sockaddr_in *from = (const void *)peer;
	struct sockaddr_in6 *to6 = (void *)addr;
	struct sockaddr_in *to = (void *)addr;

	memset(addr, 0, sizeof(*addr));
	addr->ss_family = peer->ss_family;
	if (peer->ss_family == AF_INET6) {
		to6->sin6_addr = from6->sin6_addr;
		to6->sin6_scope_id = from6->sin6_scope_id;
		return sizeof(*to6);
	}
	to->sin_addr = from->sin_addr;
	return sizeof(*to);
}

struct gr_host *gr_host_get(struct gr_gates *g,
			    const struct sockaddr_storage *peer)
{
	struct cds_list_head *bucket;
	struct sockaddr_storage addr;
	struct gr_host *h;
	size_t len;

	len = address_of(peer, &addr);
	bucket = &g->bucket[nrt_checksum(&addr, len) % GR_HOST_BUCKETS];
	pthread_mutex_lock(&g->lock);
	cds_list_for_each_entry(h, bucket, link)
	{
		if (!memcmp(&h->addr, &addr, len))
			goto found;
	}
	h = calloc(1, sizeof(*h));
	if (!h)
		goto out;
	h->addr = addr;
	gate_init(&h->state, g);
	gate_init(&h->greeting, g);
	cds_list_add(&h->link, bucket);
found:
	h->refs++;
out:
	pthread_mutex_unlock(&g->lock);
	return h;
}

void gr_host_put(struct gr_gates *g, struct gr_host *h)
{
	pthread_mutex_lock(&g->lock);
	if (!--h->refs)
		cds_list_del(&h->link);
	else
		h = NULL;
	pthread_mutex_unlock(&g->lock);
	if (!h)
		return;
	pthread_mutex_destroy(&h->state.lock);
	pthread_mutex_destroy(&h->greeting.lock);
	free(h);
}
