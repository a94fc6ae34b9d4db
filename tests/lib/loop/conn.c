/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * conn - listeners, and connections from start-up to their end
 *
 * A pair is made with its active end and gets the passive one when that end
 * connects. Locks as in loop_priv.h: domain, then pair, then poller.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "loop/loop_priv.h"

/* ---- Addresses ------------------------------------------------------- */

/* The port, which is the whole name; -1 for another family. */
static int addr_port(const struct sockaddr *addr, socklen_t len)
{
	struct sockaddr_in sin;
	struct sockaddr_in6 sin6;

	if (addr->sa_family == AF_INET && len >= sizeof(sin)) {
		memcpy(&sin, addr, sizeof(sin));
		return ntohs(sin.sin_port);
	}
	if (addr->sa_family == AF_INET6 && len >= sizeof(sin6)) {
		memcpy(&sin6, addr, sizeof(sin6));
		return ntohs(sin6.sin6_port);
	}
	return -1;
}

static void loopback_addr(struct sockaddr_storage *ss, uint16_t port)
{
	struct sockaddr_in sin = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &sin, sizeof(sin));
}

/* Domain lock held. */
static struct loop_listener *find_listener(struct loop_domain *dom, int port)
{
	struct loop_listener *l = dom->listeners;

	while (l && l->port != port)
		l = l->next;
	return l;
}

/* ---- Listeners ------------------------------------------------------- */

int loop_listen(struct fab_poller *fp, const struct sockaddr *addr,
		socklen_t addrlen, fab_request_fn fn, void *user,
		struct fab_listener **out)
{
	struct loop_poller *p = (struct loop_poller *)fp;
	struct loop_domain *dom = (struct loop_domain *)fp->dom;
	int port = addr_port(addr, addrlen);
	struct loop_listener *l;

	LOOP_FAMILY(fp->dom);
	if (port < 0)
		return -EAFNOSUPPORT;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->base.ops = fp->ops;
	l->base.poller = fp;
	l->fn = fn;
	l->user = user;
	l->pending_tail = &l->pending;

	pthread_mutex_lock(&dom->lock);
	if (port && find_listener(dom, port)) {
		pthread_mutex_unlock(&dom->lock);
		free(l);
		return -EADDRINUSE;
	}
	while (!port) {
		port = dom->next_port++;
		if (find_listener(dom, port))
			port = 0;
	}
	l->port = (uint16_t)port;
	loopback_addr(&l->addr, l->port);
	l->next = dom->listeners;
	dom->listeners = l;
	pthread_mutex_lock(&p->lock);
	l->poller_next = p->listeners;
	p->listeners = l;
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_unlock(&dom->lock);
	atomic_fetch_add(&dom->users, 1);
	atomic_fetch_add(&p->users, 1);
	*out = &l->base;
	return 0;
}

void loop_listener_addr(const struct fab_listener *fl,
			struct sockaddr_storage *addr)
{
	*addr = ((const struct loop_listener *)fl)->addr;
}

void loop_listener_close(struct fab_listener *fl)
{
	struct loop_listener *l = (struct loop_listener *)fl, **link;
	struct loop_poller *p = (struct loop_poller *)fl->poller;
	struct loop_domain *dom = (struct loop_domain *)fl->poller->dom;
	struct loop_conn *pending, *c;

	LOOP_FAMILY(fl->poller->dom);
	pthread_mutex_lock(&dom->lock);
	for (link = &dom->listeners; *link != l; link = &(*link)->next)
		;
	*link = l->next;
	pthread_mutex_unlock(&dom->lock);

	pthread_mutex_lock(&p->lock);
	pending = l->pending;
	l->pending = NULL;
	while (l->in_callback)
		pthread_cond_wait(&p->cond, &p->lock);
	for (link = &p->listeners; *link != l; link = &(*link)->poller_next)
		;
	*link = l->poller_next;
	pthread_mutex_unlock(&p->lock);

	while ((c = pending)) {
		pending = c->queue_next;
		loop_reject(&c->base, NULL, 0);
		c->free(c);
	}
	free(l);
	atomic_fetch_sub(&p->users, 1);
	atomic_fetch_sub(&dom->users, 1);
}

/* ---- Making and freeing ends ----------------------------------------- */

static void queue_init(struct loop_queue *q)
{
	q->head = NULL;
	q->tail = &q->head;
	q->n = 0;
}

static void conn_free(struct loop_conn *c)
{
	struct loop_pair *pair = c->pair;
	struct loop_domain *dom = loop_domain_of(c);
	struct loop_poller *p = loop_poller_of(c);
	bool last;

	pthread_mutex_lock(&pair->lock);
	pair->end[c->side] = NULL;
	last = !--pair->refs;
	pthread_mutex_unlock(&pair->lock);
	if (last) {
		pthread_mutex_destroy(&pair->lock);
		free(pair);
	}
	free(c);
	atomic_fetch_sub(&p->users, 1);
	atomic_fetch_sub(&dom->users, 1);
}

static struct loop_conn *conn_new(struct fab_poller *fp, int side)
{
	struct loop_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base.ops = fp->ops;
	c->base.poller = fp;
	c->side = side;
	c->armed = true;
	c->free = conn_free;
	base_timer_init(&c->timer, loop_startup_expired);
	queue_init(&c->sq);
	queue_init(&c->reads);
	queue_init(&c->rq);
	queue_init(&c->cq);
	queue_init(&c->kept);
	atomic_fetch_add(&((struct loop_domain *)fp->dom)->users, 1);
	atomic_fetch_add(&((struct loop_poller *)fp)->users, 1);
	return c;
}

int loop_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		     struct fab_conn **out)
{
	struct loop_domain *dom = (struct loop_domain *)p->dom;
	struct loop_pair *pair = calloc(1, sizeof(*pair));
	struct loop_conn *c = pair ? conn_new(p, 0) : NULL;

	LOOP_FAMILY(p->dom);
	if (!c) {
		free(pair);
		return -ENOMEM;
	}
	pthread_mutex_init(&pair->lock, NULL);
	pair->dom = dom;
	pair->end[0] = c;
	pair->refs = 1;
	c->pair = pair;
	c->ready = ready;
	c->user = user;
	pthread_mutex_lock(&dom->lock);
	c->faults = dom->faults[0];
	pthread_mutex_unlock(&dom->lock);
	*out = &c->base;
	return 0;
}

/*
 * The last that its owner does: closes its handles, refuses a peer that waits.
 * False if the connection has not ended.
 */
static bool retire(struct loop_conn *c)
{
	struct loop_pair *pair = c->pair;
	bool may;

	loop_reject(&c->base, NULL, 0);
	pthread_mutex_lock(&pair->lock);
	may = c->state == LOOP_IDLE || (c->state == LOOP_DEAD && c->ended);
	if (may)
		loop_unexpose_all(c);
	pthread_mutex_unlock(&pair->lock);
	return may;
}

void loop_conn_destroy_deferred(struct fab_conn *fc, void (*done)(void *user),
				void *user)
{
	struct loop_conn *c = loop_conn_of(fc);

	LOOP_FAMILY(fc->poller->dom);
	LOOP_CHECK(retire(c), "the connection has not ended");
	loop_poller_retire(c, done, user);
}

/* ---- Start-up -------------------------------------------------------- */

static unsigned int depth_asked(const struct loop_conn *c,
				const struct fab_conn_params *params)
{
	unsigned int most = c->base.poller->dom->limits.max_read_depth;

	if (!params->read_depth || params->read_depth > most)
		return most;
	return params->read_depth;
}

/* Domain and pair lock held. */
static int ask(struct loop_conn *c, struct loop_listener *l,
	       const struct fab_conn_params *params)
{
	struct loop_poller *p = (struct loop_poller *)l->base.poller;
	struct loop_pair *pair = c->pair;
	struct loop_conn *passive = conn_new(l->base.poller, 1);

	if (!passive)
		return -ENOMEM;
	passive->pair = pair;
	passive->state = LOOP_REQUESTED;
	passive->faults = pair->dom->faults[1];
	passive->local = l->addr;
	passive->remote = c->local;
	passive->priv_len = params->priv_len;
	if (params->priv_len)
		memcpy(passive->priv, params->priv, params->priv_len);
	pair->end[1] = passive;
	pair->refs++;

	pthread_mutex_lock(&p->lock);
	*l->pending_tail = passive;
	l->pending_tail = &passive->queue_next;
	pthread_cond_broadcast(&p->cond);
	pthread_mutex_unlock(&p->lock);
	return 0;
}

int loop_connect(struct fab_conn *fc, const struct sockaddr *addr,
		 socklen_t addrlen, const struct fab_conn_params *params)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_domain *dom = loop_domain_of(c);
	struct loop_pair *pair = c->pair;
	int port = addr_port(addr, addrlen), rc = 0;
	struct loop_listener *l;

	LOOP_FAMILY(fc->poller->dom);
	if (port < 0)
		return -EAFNOSUPPORT;
	pthread_mutex_lock(&dom->lock);
	pthread_mutex_lock(&pair->lock);
	if (c->state != LOOP_IDLE) {
		rc = -EISCONN;
		goto out;
	}
	loop_seed(pair, c->faults.order_seed + dom->npairs,
		  c->faults.order_seed);
	l = find_listener(dom, port);
	loopback_addr(&c->local, dom->next_ephemeral);
	loopback_addr(&c->remote, (uint16_t)port);
	c->read_depth = depth_asked(c, params);
	if (l && !c->faults.ignore_connects && !c->faults.reject_connects)
		rc = ask(c, l, params);
	if (rc)
		goto out;
	dom->npairs++;
	if (!++dom->next_ephemeral)
		dom->next_ephemeral = 40000;
	c->state = LOOP_CONNECTING;
	loop_observe(dom,
		     &(struct loop_event){
			     .kind = LOOP_EV_CONNECT,
			     .from = fc,
			     .to = pair->end[1] ? &pair->end[1]->base : NULL,
			     .from_active = true,
			     .data = params->priv,
			     .len = params->priv_len,
		     });
	if (pair->end[1] || c->faults.ignore_connects)
		loop_timer_start(c, dom->base.params.startup_timeout_ms);
	else
		loop_end(pair, NULL, -ECONNREFUSED, -ECONNREFUSED, "refused");
out:
	pthread_mutex_unlock(&pair->lock);
	pthread_mutex_unlock(&dom->lock);
	return rc;
}

void loop_startup_expired(struct base_timer *t, unsigned int unused)
{
	struct loop_conn *c =
		(struct loop_conn *)((char *)t -
				     offsetof(struct loop_conn, timer));

	pthread_mutex_lock(&c->pair->lock);
	if (c->state == LOOP_CONNECTING)
		loop_end(c->pair, c, -ETIMEDOUT, -ECONNRESET,
			 "start-up took too long");
	pthread_mutex_unlock(&c->pair->lock);
}

int loop_accept(struct fab_conn *fc, const struct fab_conn_params *params)
{
	struct loop_conn *c = loop_conn_of(fc), *peer;
	struct loop_pair *pair = c->pair;
	unsigned int depth = depth_asked(c, params);
	int rc = 0;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	if (c->state != LOOP_REQUESTED) {
		rc = -EINVAL;
		goto out;
	}
	c->state = LOOP_ESTABLISHED;
	if (c->gone) {
		c->gone = false;
		loop_end(pair, NULL, c->error, c->error, c->reason);
		goto out;
	}
	peer = loop_peer_of(c);
	loop_timer_stop(peer);
	if (peer->read_depth < depth)
		depth = peer->read_depth;
	c->read_depth = depth;
	peer->read_depth = depth;
	peer->state = LOOP_ESTABLISHED;
	peer->priv_len = params->priv_len;
	if (params->priv_len)
		memcpy(peer->priv, params->priv, params->priv_len);
	loop_observe(pair->dom, &(struct loop_event){
					.kind = LOOP_EV_ACCEPT,
					.from = fc,
					.to = &peer->base,
					.data = params->priv,
					.len = params->priv_len,
				});
	c->established_due = true;
	peer->established_due = true;
	loop_notify(c);
	loop_notify(peer);
out:
	pthread_mutex_unlock(&pair->lock);
	return rc;
}

/* Does nothing unless the connection waits for an answer. */
void loop_reject(struct fab_conn *fc, const void *priv, size_t priv_len)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	if (c->state == LOOP_REQUESTED) {
		c->state = LOOP_DEAD;
		c->ended = true;
		if (!c->gone) {
			struct loop_conn *peer = loop_peer_of(c);

			loop_observe(pair->dom, &(struct loop_event){
							.kind = LOOP_EV_REJECT,
							.from = fc,
							.to = &peer->base,
							.data = priv,
							.len = priv_len,
						});
			loop_end(pair, c, 0, -EPERM, "rejected");
		}
	}
	pthread_mutex_unlock(&pair->lock);
}

/* ---- End ------------------------------------------------------------- */

void loop_disconnect(struct fab_conn *fc, bool abort)
{
	struct loop_conn *c = loop_conn_of(fc);
	struct loop_pair *pair = c->pair;

	LOOP_FAMILY(fc->poller->dom);
	pthread_mutex_lock(&pair->lock);
	if (c->state == LOOP_CONNECTING ||
	    (abort &&
	     (c->state == LOOP_ESTABLISHED || c->state == LOOP_CLOSING))) {
		loop_end(pair, c, -ECONNABORTED, -ECONNRESET, "aborted");
	} else if (c->state == LOOP_ESTABLISHED) {
		c->state = LOOP_CLOSING;
		loop_try_close(pair);
		if (loop_undone(pair))
			loop_notify(c);
	}
	pthread_mutex_unlock(&pair->lock);
}

void loop_break(struct fab_conn *fc, int error)
{
	struct loop_conn *c = loop_conn_of(fc);

	pthread_mutex_lock(&c->pair->lock);
	if (c->state != LOOP_IDLE)
		loop_end(c->pair, NULL, error, error, "broken on request");
	pthread_mutex_unlock(&c->pair->lock);
}

void loop_set_conn_faults(struct fab_conn *fc, const struct loop_faults *faults)
{
	static const struct loop_faults none;
	struct loop_conn *c = loop_conn_of(fc);

	pthread_mutex_lock(&c->pair->lock);
	c->faults = faults ? *faults : none;
	if (!c->faults.keep_sends)
		loop_unkeep(c);
	if (!c->side)
		loop_seed(c->pair, c->faults.order_seed, c->faults.order_seed);
	pthread_mutex_unlock(&c->pair->lock);
}

/* ---- Questions ------------------------------------------------------- */

void loop_conn_info(const struct fab_conn *fc, struct fab_conn_info *info)
{
	struct loop_conn *c = loop_conn_of(fc);

	pthread_mutex_lock(&c->pair->lock);
	info->local = c->local;
	info->peer = c->remote;
	info->read_depth = c->read_depth;
	info->provider = c->base.ops->name;
	pthread_mutex_unlock(&c->pair->lock);
}

void loop_conn_counters(const struct fab_conn *fc, struct fab_counters *out)
{
	struct loop_conn *c = loop_conn_of(fc);

	pthread_mutex_lock(&c->pair->lock);
	*out = c->counters;
	pthread_mutex_unlock(&c->pair->lock);
}

size_t loop_recvs_posted(struct fab_conn *fc)
{
	struct loop_conn *c = loop_conn_of(fc);
	size_t n;

	pthread_mutex_lock(&c->pair->lock);
	n = c->rq.n;
	pthread_mutex_unlock(&c->pair->lock);
	return n;
}

struct fab_conn *loop_peer(struct fab_conn *fc)
{
	struct loop_conn *peer = loop_peer_of(loop_conn_of(fc));

	return peer ? &peer->base : NULL;
}

size_t loop_exposed(struct fab_conn *fc)
{
	struct loop_conn *c = loop_conn_of(fc);
	size_t n;

	pthread_mutex_lock(&c->pair->lock);
	n = c->nexposed;
	pthread_mutex_unlock(&c->pair->lock);
	return n;
}
