/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/host.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "base/addr.h"
#include "base/clock.h"
#include "ntirpc/svc_call.h"

/* ---- Calls one at a time ------------------------------------------------ */

/* Returns the first Call that waits, which has now entered, or NULL. Caller holds host->lock. */
static struct gr_waiter *admit_next(struct gr_host *host)
{
	struct gr_waiter *w;

	if (host->busy || cds_list_empty(&host->queue))
		return NULL;
	w = cds_list_first_entry(&host->queue, struct gr_waiter, link);
	cds_list_del(&w->link);
	w->entered = true;
	host->busy = true;
	return w;
}

enum gr_entry gr_host_enter(struct gr_host *host, struct gr_waiter *w,
			    struct svc_req *req, const void *conn,
			    const atomic_bool *ended)
{
	enum gr_entry is = GR_ENTERED;

	pthread_mutex_lock(&host->lock);
	if (atomic_load(ended)) {
		is = GR_CLOSED;
	} else if (!w->entered) {
		w->host = host;
		w->req = req;
		w->conn = conn;
		if (host->busy) {
			cds_list_add_tail(&w->link, &host->queue);
			is = GR_QUEUED;
		} else {
			w->entered = true;
			host->busy = true;
		}
	}
	pthread_mutex_unlock(&host->lock);
	return is;
}

void gr_host_leave(struct gr_waiter *w)
{
	struct gr_host *host = w->host;
	struct gr_waiter *next;

	if (!host || !w->entered)
		return;
	w->host = NULL;
	w->entered = false;
	pthread_mutex_lock(&host->lock);
	host->busy = false;
	next = admit_next(host);
	pthread_mutex_unlock(&host->lock);
	/* It may be freed as soon as it has been submitted. */
	if (next)
		host->hosts->submit(host->hosts, next->req);
}

void gr_host_flush(struct gr_host *host, const void *conn)
{
	struct gr_hosts *hosts = host->hosts;
	struct gr_waiter *w, *tmp;
	struct cds_list_head go;

	CDS_INIT_LIST_HEAD(&go);
	pthread_mutex_lock(&host->lock);
	cds_list_for_each_entry_safe(w, tmp, &host->queue, link)
	{
		if (w->conn != conn)
			continue;
		w->host = NULL;
		cds_list_del(&w->link);
		cds_list_add_tail(&w->link, &go);
	}
	pthread_mutex_unlock(&host->lock);
	/* Each may be freed as soon as it has been submitted, and the host with the last
	 * of them. */
	cds_list_for_each_entry_safe(w, tmp, &go, link)
		hosts->submit(hosts, w->req);
}

enum gr_admission gr_host_admit(SVCXPRT *xprt, atomic_int *known,
				struct gr_host *host, struct gr_waiter *w,
				struct svc_req *req, const atomic_bool *ended,
				enum xprt_stat (*ask)(SVCXPRT *xprt))
{
	int is = atomic_load_explicit(known, memory_order_acquire);

	/* A Call that has waited has entered, and must leave. */
	if (is != GR_NOT_ASKED)
		goto out;
	switch (gr_host_enter(host, w, req, xprt, ended)) {
	case GR_QUEUED:
		return GR_PENDING;
	case GR_CLOSED:
		is = GR_DECLINED;
		goto out;
	case GR_ENTERED:
		break;
	}
	is = atomic_load(known);
	if (is == GR_NOT_ASKED) {
		is = ask(xprt) == XPRT_IDLE ? GR_ADMITTED : GR_DECLINED;
		atomic_store(known, is);
	}
out:
	gr_host_leave(w);
	return is;
}

/* ---- The table of hosts ------------------------------------------------- */

void gr_hosts_init(struct gr_hosts *hosts, unsigned int max_connections,
		   void (*submit)(struct gr_hosts *hosts, struct svc_req *req))
{
	pthread_mutex_init(&hosts->lock, NULL);
	for (unsigned int i = 0; i < GR_HOST_BUCKETS; i++)
		CDS_INIT_LIST_HEAD(&hosts->buckets[i]);
	CDS_INIT_LIST_HEAD(&hosts->kept);
	hosts->nkept = 0;
	hosts->most_kept = MAX(GR_HOSTS_KEPT, max_connections);
	hosts->submit = submit;
}

/* Caller holds hosts->lock. */
static void host_free(struct gr_host *host)
{
	cds_list_del(&host->link);
	nrt_replay_destroy(&host->replay);
	pthread_mutex_destroy(&host->lock);
	free(host);
}

/* Free hosts that have been kept for too long, or that are too many. Caller holds hosts->lock. */
static void expire_kept(struct gr_hosts *hosts, uint64_t now)
{
	struct gr_host *host, *tmp;

	cds_list_for_each_entry_safe(host, tmp, &hosts->kept, kept)
	{
		if (hosts->nkept <= hosts->most_kept &&
		    now - host->kept_since < GR_HOST_KEEP_MS)
			return;
		cds_list_del(&host->kept);
		hosts->nkept--;
		host_free(host);
	}
}

struct gr_host *gr_host_get(struct gr_hosts *hosts,
			    const struct sockaddr_storage *peer)
{
	struct in6_addr addr = base_addr_host((const struct sockaddr *)peer);
	struct cds_list_head *bucket;
	struct gr_host *host;

	bucket = &hosts->buckets[nrt_checksum(&addr, sizeof(addr)) %
				 GR_HOST_BUCKETS];
	pthread_mutex_lock(&hosts->lock);
	expire_kept(hosts, base_now_ms());
	cds_list_for_each_entry(host, bucket, link)
	{
		if (!memcmp(&host->addr, &addr, sizeof(addr)))
			goto found;
	}
	host = calloc(1, sizeof(*host));
	if (!host)
		goto out;
	host->hosts = hosts;
	host->addr = addr;
	pthread_mutex_init(&host->lock, NULL);
	CDS_INIT_LIST_HEAD(&host->queue);
	nrt_replay_init(&host->replay);
	cds_list_add(&host->link, bucket);
found:
	if (host->kept_since) {
		cds_list_del(&host->kept);
		hosts->nkept--;
		host->kept_since = 0;
	}
	host->refs++;
out:
	pthread_mutex_unlock(&hosts->lock);
	return host;
}

void gr_host_put(struct gr_host *host)
{
	struct gr_hosts *hosts = host->hosts;

	pthread_mutex_lock(&hosts->lock);
	if (!--host->refs) {
		if (nrt_replay_empty(&host->replay)) {
			host_free(host);
		} else {
			host->kept_since = base_now_ms();
			cds_list_add_tail(&host->kept, &hosts->kept);
			hosts->nkept++;
			expire_kept(hosts, host->kept_since);
		}
	}
	pthread_mutex_unlock(&hosts->lock);
}
