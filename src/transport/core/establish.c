/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * establish - listeners, and the establishment of connections on both sides
 *
 * Context: any thread; the poller calls on_request(). inst->lock guards the lists of
 * connections and listeners.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "transport/core/core.h"

static void unstarted_fabric_gone(void *user)
{
	struct rt_conn *c = user;

	/* Another thread may have its strand. */
	atomic_store(&c->fabric_gone, true);
	rt_strand_run(c);
	rt_instance_remove_conn(c);
	rt_conn_put(c);
}

/* Returns the number of the poller that runs @f. */
static unsigned int poller_of(const struct rt_instance *inst,
			      const struct fab_conn *f)
{
	unsigned int n = 0;

	while (inst->pollers[n] != fab_conn_poller(f))
		n++;
	return n;
}

static void gather_private_data(struct rt_conn *c,
				uint8_t data[RT_PRIVATE_DATA_MAX],
				struct fab_conn_params *params)
{
	params->priv = data;
	for (const struct rt_part *const *p = c->inst->parts; *p; p++)
		if ((*p)->private_data)
			params->priv_len +=
				(*p)->private_data(c, data + params->priv_len);
}

/* Log a line about a connection request, for which there is no connection yet. */
static void log_refused(struct rt_instance *inst, const struct fab_conn *f,
			const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void log_refused(struct rt_instance *inst, const struct fab_conn *f,
			const char *fmt, ...)
{
	struct fab_conn_info fi;
	struct in6_addr host;
	char name[64];
	va_list ap;

	fab_conn_info(f, &fi);
	host = base_addr_host((struct sockaddr *)&fi.peer);
	base_addr_name((struct sockaddr *)&fi.peer, name, sizeof(name));
	va_start(ap, fmt);
	base_log_vput(inst->log, &host, name, LOG_WARNING, fmt, ap);
	va_end(ap);
}

static void on_request(struct fab_listener *fl, struct fab_conn *f,
		       const void *priv, size_t priv_len, void *user)
{
	struct rt_listener *l = user;
	struct rt_instance *inst = l->inst;
	struct fab_conn_params params = { 0 };
	struct fab_conn_info fi;
	struct rt_conn *c;
	uint8_t data[RT_PRIVATE_DATA_MAX];
	enum rt_refusal why = RT_REFUSED_other;
	bool refuse = false, full;
	int rc;

	pthread_mutex_lock(&inst->lock);
	full = inst->nconns >= RT_CURRENT(inst, max_connections);
	pthread_mutex_unlock(&inst->lock);
	fab_conn_info(f, &fi);
	if (full) {
		log_refused(
			inst, f,
			"connection refused: the limit of connections is reached (%u)",
			RT_CURRENT(inst, max_connections));
		why = RT_REFUSED_connections;
		goto reject;
	}
	rc = rt_conn_new(inst, poller_of(inst, f), true, l->ops, NULL, 0, &c);
	if (rc) {
		log_refused(inst, f, "connection refused: %s", strerror(-rc));
		goto reject;
	}
	rt_alarm_init(c);
	rt_conn_set_name(c, (struct sockaddr *)&fi.peer);
	pthread_mutex_lock(&c->info_lock);
	c->info.local = fi.local;
	c->info.peer = fi.peer;
	c->info.crc = fi.crc;
	pthread_mutex_unlock(&c->info_lock);
	/* The answer may have changed since the fabric asked. */
	why = rt_admission_check(inst, &fi.peer, true);
	rc = why == RT_NREFUSALS ? RT_TRY_PARTS(inst, admit, c, &fi.peer) :
				   -EACCES;
	if (rc) {
		if (why == RT_NREFUSALS)
			why = rc == -EUSERS ? RT_REFUSED_host_connections :
			      rc == -EDQUOT ? RT_REFUSED_host_memory :
					      RT_REFUSED_other;
		rt_conn_put(c);
		goto reject;
	}
	pthread_mutex_lock(&inst->lock);
	inst->totals.accepted++;
	pthread_mutex_unlock(&inst->lock);
	c->fab = f;
	fab_conn_set_ready(f, rt_conn_ready, c);
	rt_conn_publish(c);
	/* One reference is this function's, since another thread may run the poller; one
	 * is the upper layer's. */
	rt_conn_get(c);
	rt_conn_get(c);
	if (l->ops->open)
		c->who.user = l->ops->open(c, l->ctx, &refuse);
	else
		c->who.user = l->ctx;
	gather_private_data(c, data, &params);
	RT_EACH_PART(inst, peer_private_data, c, priv, priv_len);
	/* Post Receives before the peer can send. */
	rc = refuse ? -EPERM : RT_TRY_PARTS(inst, open, c);
	if (!rc)
		rc = fab_accept(f, &params);
	if (rc) {
		rt_count_refused(inst, RT_REFUSED_other, &fi.peer);
		if (!refuse)
			rt_log(c, LOG_WARNING, "not accepted: %s",
			       strerror(-rc));
		if (!refuse && l->ops->closed)
			l->ops->closed(c, rc, "not accepted");
		if (refuse)
			rt_conn_put(c);
		c->state = RT_CLOSED;
		c->fab = NULL;
		fab_reject(f, NULL, 0);
		fab_conn_destroy_deferred(f, unstarted_fabric_gone, c);
	} else {
		RT_EACH_PART(inst, accepted, c);
	}
	rt_strand_release(c);
	rt_conn_put(c);
	return;
reject:
	rt_count_refused(inst, why, &fi.peer);
	fab_reject(f, NULL, 0);
	fab_conn_destroy_deferred(f, NULL, NULL);
}

int rt_listen(struct rt_instance *inst, const struct sockaddr *addr,
	      socklen_t addrlen, const struct rt_ops *ops, void *ctx,
	      struct rt_listener **out)
{
	struct rt_listener *l = calloc(1, sizeof(*l));
	int rc;

	if (!l)
		return -ENOMEM;
	l->inst = inst;
	l->ops = ops;
	l->ctx = ctx;
	pthread_mutex_lock(&inst->lock);
	l->poller = inst->next_poller++ % inst->npollers;
	cds_list_add_tail(&l->link, &inst->listeners);
	pthread_mutex_unlock(&inst->lock);
	rc = fab_listen(inst->pollers[l->poller], addr, addrlen, on_request, l,
			&l->fab);
	if (!rc) {
		rc = fab_listener_spread(l->fab, inst->pollers, inst->npollers);
		if (rc)
			fab_listener_close(l->fab);
	}
	if (rc) {
		pthread_mutex_lock(&inst->lock);
		cds_list_del(&l->link);
		pthread_mutex_unlock(&inst->lock);
		free(l);
		return rc;
	}
	*out = l;
	return 0;
}

void rt_listener_addr(const struct rt_listener *l,
		      struct sockaddr_storage *addr)
{
	fab_listener_addr(l->fab, addr);
}

bool rt_listener_up(struct rt_listener *l)
{
	return fab_listener_up(l->fab);
}

void rt_listener_close(struct rt_listener *l)
{
	struct rt_instance *inst = l->inst;

	fab_listener_close(l->fab);
	pthread_mutex_lock(&inst->lock);
	cds_list_del(&l->link);
	pthread_mutex_unlock(&inst->lock);
	free(l);
}

int rt_connect(struct rt_instance *inst, unsigned int poller,
	       const struct sockaddr *addr, socklen_t addrlen,
	       const struct rt_ops *ops, void *user, struct rt_conn **out)
{
	struct fab_conn_params params = { 0 };
	uint8_t data[RT_PRIVATE_DATA_MAX];
	struct rt_conn *c;
	int rc;

	rc = rt_conn_new(inst, poller, false, ops, addr, addrlen, &c);
	if (rc)
		return rc;
	rt_alarm_init(c);
	c->who.user = user;
	rt_conn_set_name(c, addr);
	rc = fab_conn_create(inst->pollers[poller], rt_conn_ready, c, &c->fab);
	if (rc) {
		rt_conn_put(c);
		return rc;
	}
	rc = RT_TRY_PARTS(inst, admit, c, NULL);
	if (!rc)
		rc = RT_TRY_PARTS(inst, open, c);
	if (!rc) {
		gather_private_data(c, data, &params);
		rc = fab_connect(c->fab, addr, addrlen, &params);
	}
	if (rc) {
		struct fab_conn *f = c->fab;

		c->fab = NULL;
		c->state = RT_CLOSED;
		/* The poller may drop the fabric's reference at once. */
		rt_conn_get(c);
		fab_conn_destroy_deferred(f, unstarted_fabric_gone, c);
		rt_strand_release(c);
		rt_conn_put(c);
		return rc;
	}
	rt_conn_get(c);
	*out = c;
	rt_strand_release(c);
	return 0;
}
