/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - Calls of a client that may not be executed at the same time
 */
#include "ganesha/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ntirpc/call.h"

/* ---- One gate --------------------------------------------------------- */

/* Lock held, as in the next ones. */
static bool has_room(const struct gr_gate *gate, const struct gr_pass *p)
{
	return !gate->inside || (gate->kind == p->kind && p->kind != GR_ALONE);
}

static void let_in(struct gr_gate *gate, struct gr_pass *p)
{
	gate->inside++;
	gate->kind = p->kind;
	p->inside = true;
	p->since = fab_now_ms();
	cds_list_add_tail(&p->beside, &gate->in);
}

/* In the gate of all clients one of those who are inside hangs. */
static bool hangs(struct gr_gate *gate)
{
	const struct gr_pass *first;

	if (gate != &gate->gates->all || cds_list_empty(&gate->in))
		return false;
	first = cds_list_first_entry(&gate->in, struct gr_pass, beside);
	return fab_now_ms() - first->since > GR_ALL_MS;
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
			    struct svc_req *req, enum gr_kind kind,
			    const void *of, const atomic_bool *ended)
{
	enum gr_entry is = GR_INSIDE;

	pthread_mutex_lock(&gate->lock);
	if (atomic_load(ended)) {
		is = GR_TOO_LATE;
	} else if (p->gate != gate || !p->inside) {
		p->gate = gate;
		p->req = req;
		p->kind = kind;
		p->of = of;
		/* Behind those that wait, or one that wants to be alone might
		 * never be. */
		if (has_room(gate, p) &&
		    (cds_list_empty(&gate->queue) || hangs(gate))) {
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
	bool keeps = p->keeps;

	if (!gate || !p->inside)
		return;
	CDS_INIT_LIST_HEAD(&go);
	p->gate = NULL;
	p->inside = false;
	p->keeps = false;
	pthread_mutex_lock(&gate->lock);
	cds_list_del(&p->beside);
	gate->inside--;
	admit(gate, &go);
	pthread_mutex_unlock(&gate->lock);
	go_on(gate->gates, &go);
	if (keeps)
		gr_gate_put(gate);
}

/* Those that may go on join @go. Returns how many of the others kept the gate. */
static unsigned int expel(struct gr_gate *gate, const void *of,
			  struct cds_list_head *go)
{
	struct gr_pass *p, *tmp;
	unsigned int n = 0;

	pthread_mutex_lock(&gate->lock);
	cds_list_for_each_entry_safe(p, tmp, &gate->queue, link)
	{
		if (p->of != of)
			continue;
		n += p->keeps;
		p->keeps = false;
		p->gate = NULL;
		cds_list_del(&p->link);
		cds_list_add_tail(&p->link, go);
	}
	/* Of those behind one that is there no more. */
	admit(gate, go);
	pthread_mutex_unlock(&gate->lock);
	return n;
}

void gr_gate_expel(struct gr_gate *gate, const void *of)
{
	struct cds_list_head go;

	CDS_INIT_LIST_HEAD(&go);
	(void)expel(gate, of, &go);
	go_on(gate->gates, &go);
}

/* ---- Whose they are --------------------------------------------------- */

static void init(struct gr_gate *gate, struct gr_gates *g)
{
	memset(gate, 0, sizeof(*gate));
	gate->gates = g;
	pthread_mutex_init(&gate->lock, NULL);
	CDS_INIT_LIST_HEAD(&gate->queue);
	CDS_INIT_LIST_HEAD(&gate->in);
}

void gr_gates_init(struct gr_gates *g,
		   void (*submit)(struct gr_gates *g, struct svc_req *req))
{
	pthread_mutex_init(&g->lock, NULL);
	for (unsigned int i = 0; i < GR_GATE_BUCKETS; i++) {
		CDS_INIT_LIST_HEAD(&g->hosts[i]);
		CDS_INIT_LIST_HEAD(&g->clients[i]);
	}
	g->submit = submit;
	init(&g->all, g);
}

/* A reference to the one that @key has in @table; NULL: no memory. */
static struct gr_gate *get(struct gr_gates *g, struct cds_list_head *table,
			   const struct gr_gate_key *key)
{
	struct cds_list_head *bucket;
	struct gr_gate *gate;

	bucket = &table[nrt_checksum(key, sizeof(*key)) % GR_GATE_BUCKETS];
	pthread_mutex_lock(&g->lock);
	cds_list_for_each_entry(gate, bucket, link)
	{
		if (!memcmp(&gate->key, key, sizeof(*key)))
			goto found;
	}
	gate = calloc(1, sizeof(*gate));
	if (!gate)
		goto out;
	init(gate, g);
	gate->key = *key;
	cds_list_add(&gate->link, bucket);
found:
	gate->refs++;
out:
	pthread_mutex_unlock(&g->lock);
	return gate;
}

/* gates->lock held. */
static void put(struct gr_gate *gate, unsigned int n)
{
	gate->refs -= n;
	if (gate->refs)
		return;
	cds_list_del(&gate->link);
	pthread_mutex_destroy(&gate->lock);
	free(gate);
}

void gr_gate_put(struct gr_gate *gate)
{
	struct gr_gates *g = gate->gates;

	pthread_mutex_lock(&g->lock);
	put(gate, 1);
	pthread_mutex_unlock(&g->lock);
}

struct gr_gate *gr_gate_of_host(struct gr_gates *g,
				const struct sockaddr_storage *peer)
{
	struct gr_gate_key key = { .host = fab_addr_host(
					   (const struct sockaddr *)peer) };

	return get(g, g->hosts, &key);
}

enum gr_entry gr_client_enter(struct gr_gates *g, uint64_t client,
			      struct gr_pass *p, struct svc_req *req,
			      enum gr_kind kind, const void *of,
			      const atomic_bool *ended)
{
	struct gr_gate_key key = { .client = client };
	struct gr_gate *gate = p->gate;
	enum gr_entry is;

	/* It has waited, and keeps the gate. */
	if (gate)
		return gr_gate_enter(gate, p, req, kind, of, ended);
	gate = get(g, g->clients, &key);
	if (!gate)
		return GR_TOO_LATE;
	p->keeps = true;
	is = gr_gate_enter(gate, p, req, kind, of, ended);
	if (is == GR_TOO_LATE) {
		p->keeps = false;
		gr_gate_put(gate);
	}
	return is;
}

void gr_clients_expel(struct gr_gates *g, const void *of)
{
	struct gr_gate *gate, *tmp;
	struct cds_list_head go;

	CDS_INIT_LIST_HEAD(&go);
	pthread_mutex_lock(&g->lock);
	for (unsigned int i = 0; i < GR_GATE_BUCKETS; i++)
		cds_list_for_each_entry_safe(gate, tmp, &g->clients[i], link)
			put(gate, expel(gate, of, &go));
	pthread_mutex_unlock(&g->lock);
	(void)expel(&g->all, of, &go);
	go_on(g, &go);
}
