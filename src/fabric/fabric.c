/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric - dispatch to the providers
 *
 * Checks what every provider would have to check: chains of work requests,
 * ranges, addresses, private data, defaults. No state, no locks, no allocation.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "rpcrdma/fabric.h"
#include "fabric/provider/provider.h"

#define FAB_DEFAULT_STARTUP_MS 10000
#define FAB_DEFAULT_MAX_STARTUP 256

static const struct fab_ops *const providers[] = {
#ifdef FAB_HAVE_IWARP
	&fab_iwarp_ops,
#endif
#ifdef FAB_HAVE_VERBS
	&fab_verbs_ops,
#endif
	NULL
};

const struct fab_ops *fab_provider(const char *name)
{
	for (const struct fab_ops *const *p = providers; name && *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}

bool fab_provider_owns(const struct fab_ops *ops, const struct sockaddr *addr,
		       const char *devices)
{
	return !ops->owns || ops->owns(addr, devices);
}

/* ---- Domain ---------------------------------------------------------- */

int fab_domain_open(const struct fab_ops *ops,
		    const struct fab_domain_params *params,
		    struct fab_domain **dom)
{
	struct fab_domain_params p = { .crc = FAB_CRC_AUTO };
	int rc;

	if (!ops || !dom)
		return -EINVAL;
	*dom = NULL;
	if (params)
		p = *params;
	if (!p.startup_timeout_ms)
		p.startup_timeout_ms = FAB_DEFAULT_STARTUP_MS;
	if (!p.max_startup)
		p.max_startup = FAB_DEFAULT_MAX_STARTUP;
	rc = ops->domain_open(&p, dom);
	if (!rc) {
		(*dom)->ops = ops;
		(*dom)->known.key = base_addr_key();
	}
	return rc;
}

void fab_domain_close(struct fab_domain *dom)
{
	if (dom)
		dom->ops->domain_close(dom);
}

const struct fab_limits *fab_domain_limits(const struct fab_domain *dom)
{
	return &dom->limits;
}

const struct fab_limits *fab_conn_limits(const struct fab_conn *c)
{
	return c->limits ? c->limits : &c->poller->dom->limits;
}

int fab_srq_enable(struct fab_domain *dom, const struct fab_srq_params *share)
{
	if (!dom || !share || !share->size || !share->each || !share->alloc ||
	    !share->free || share->size > dom->limits.max_message)
		return -EINVAL;
	if (!dom->ops->srq_stats)
		return -EOPNOTSUPP;
	if (dom->srq.alloc)
		return -EBUSY;
	dom->srq = *share;
	return 0;
}

void fab_srq_stats(struct fab_domain *dom, struct fab_srq_stats *out)
{
	memset(out, 0, sizeof(*out));
	if (dom->srq.alloc)
		dom->ops->srq_stats(dom, out);
}

void fab_for_each_port(struct fab_domain *dom, fab_port_fn fn, void *arg)
{
	if (dom->ops->for_each_port)
		dom->ops->for_each_port(dom, fn, arg);
}

void fab_for_each_device(struct fab_domain *dom, fab_device_fn fn, void *arg)
{
	if (dom->ops->for_each_device)
		dom->ops->for_each_device(dom, fn, arg);
}

int fab_report(const struct fab_ops *ops, FILE *out,
	       const struct fab_report *how)
{
	return ops->report ? ops->report(out, how) : -EOPNOTSUPP;
}

/* ---- Poller ---------------------------------------------------------- */

int fab_poller_create(struct fab_domain *dom, struct fab_poller **p)
{
	int rc;

	if (!dom || !p)
		return -EINVAL;
	*p = NULL;
	rc = dom->ops->poller_create(dom, p);
	if (!rc) {
		(*p)->ops = dom->ops;
		(*p)->dom = dom;
	}
	return rc;
}

void fab_poller_destroy(struct fab_poller *p)
{
	if (p)
		p->ops->poller_destroy(p);
}

int fab_poller_run(struct fab_poller *p, int timeout_ms)
{
	return p->ops->poller_run(p, timeout_ms);
}

void fab_poller_wake(struct fab_poller *p)
{
	p->ops->poller_wake(p);
}

struct base_timers *fab_poller_timers(struct fab_poller *p)
{
	return &p->timers;
}

/* ---- Memory ---------------------------------------------------------- */

static bool mr_covers(const struct fab_mr *mr, const void *addr, size_t len)
{
	uintptr_t base = (uintptr_t)mr->addr, a = (uintptr_t)addr;

	return a >= base && a - base <= mr->len && len <= mr->len - (a - base);
}

int fab_reg(struct fab_domain *dom, void *addr, size_t len, struct fab_mr **mr)
{
	if (!dom || !mr)
		return -EINVAL;
	*mr = NULL;
	if (!addr || !len || len > UINTPTR_MAX - (uintptr_t)addr)
		return -EINVAL;
	return dom->ops->reg(dom, addr, len, mr);
}

bool fab_dereg(struct fab_mr *mr)
{
	if (!mr)
		return true;
	fab_mr_unquarantine(mr);
	return mr->dom->ops->dereg(mr);
}

int fab_expose(struct fab_conn *c, struct fab_mr *mr, void *addr, size_t len,
	       unsigned int access, uint32_t *handle, uint64_t *offset)
{
	if (!mr || !handle || !offset || !len)
		return -EINVAL;
	if (!access || (access & ~(FAB_REMOTE_READ | FAB_REMOTE_WRITE)))
		return -EINVAL;
	if (mr->dom != c->poller->dom || !mr_covers(mr, addr, len))
		return -EINVAL;
	return c->ops->expose(c, mr, addr, len, access, handle, offset);
}

bool fab_unexpose(struct fab_conn *c, uint32_t handle, void *user)
{
	return c->ops->unexpose(c, handle, user);
}

/* ---- Work requests --------------------------------------------------- */

static bool sge_valid(const struct fab_domain *dom, const struct fab_sge *sge)
{
	if (!sge->addr && sge->len)
		return false;
	if (!sge->mr)
		return !sge->len || (dom->limits.caps & FAB_CAP_ANY_LOCAL);
	return sge->mr->dom == dom &&
	       (!sge->len || mr_covers(sge->mr, sge->addr, sge->len));
}

static bool wr_valid(const struct fab_conn *c, const struct fab_wr *wr)
{
	const struct fab_limits *limits = fab_conn_limits(c);
	size_t left = limits->max_message;

	if (wr->nsge > limits->max_sge || (wr->nsge && !wr->sge))
		return false;
	for (unsigned int i = 0; i < wr->nsge; i++) {
		if (!sge_valid(c->poller->dom, &wr->sge[i]) ||
		    wr->sge[i].len > left)
			return false;
		left -= wr->sge[i].len;
	}
	return true;
}

static bool op_valid(const struct fab_conn *c, const struct fab_wr *wr)
{
	switch (wr->op) {
	case FAB_SEND:
	case FAB_WRITE:
	case FAB_READ:
		return true;
	case FAB_SEND_INV:
		return fab_conn_limits(c)->caps & FAB_CAP_SEND_INV;
	case FAB_RECV:
		break;
	}
	return false;
}

int fab_post(struct fab_conn *c, struct fab_wr *chain)
{
	if (!chain)
		return -EINVAL;
	for (const struct fab_wr *wr = chain; wr; wr = wr->next)
		if (!op_valid(c, wr) || !wr_valid(c, wr))
			return -EINVAL;
	return c->ops->post(c, chain);
}

/* One sge: with memory, or without if the domain has an SRQ. */
static bool recv_valid(const struct fab_conn *c, const struct fab_wr *wr)
{
	const struct fab_domain *dom = c->poller->dom;

	if (wr->op != FAB_RECV || wr->nsge != 1 || !wr->sge)
		return false;
	if (dom->srq.alloc)
		return !wr->sge->addr && !wr->sge->mr &&
		       wr->sge->len <= dom->srq.size;
	return wr_valid(c, wr);
}

int fab_post_recv(struct fab_conn *c, struct fab_wr *chain)
{
	if (!chain)
		return -EINVAL;
	for (const struct fab_wr *wr = chain; wr; wr = wr->next)
		if (!recv_valid(c, wr))
			return -EINVAL;
	return c->ops->post_recv(c, chain);
}

int fab_poll(struct fab_conn *c, struct fab_wc *wc, int n)
{
	if (n <= 0)
		return 0;
	return c->ops->poll(c, wc, n);
}

void fab_conn_schedule(struct fab_conn *c)
{
	c->ops->schedule(c);
}

void fab_conn_mask(struct fab_conn *c, bool mask)
{
	if (c->ops->mask)
		c->ops->mask(c, mask);
}

void fab_conn_trim(struct fab_conn *c)
{
	if (c->ops->trim)
		c->ops->trim(c);
}

void fab_conn_vouch(struct fab_conn *c)
{
	struct fab_conn_info info;
	struct in6_addr host;

	c->ops->conn_info(c, &info);
	host = base_addr_host((struct sockaddr *)&info.peer);
	base_known_put(&c->poller->dom->known, &host);
}

unsigned int fab_conn_silent_ms(struct fab_conn *c)
{
	return c->ops->silent_ms ? c->ops->silent_ms(c) : 0;
}

/* ---- Connections ----------------------------------------------------- */

static bool params_valid(const struct fab_conn_params *params)
{
	return !params || (params->priv_len <= FAB_MAX_PRIV &&
			   (params->priv || !params->priv_len));
}

static int addr_check(const struct sockaddr *addr, socklen_t len)
{
	if (!addr || len < sizeof(struct sockaddr_in) ||
	    len > sizeof(struct sockaddr_storage))
		return -EINVAL;
	switch (addr->sa_family) {
	case AF_INET:
		return 0;
	case AF_INET6:
		return len < sizeof(struct sockaddr_in6) ? -EINVAL : 0;
	default:
		return -EAFNOSUPPORT;
	}
}

int fab_listen(struct fab_poller *p, const struct sockaddr *addr,
	       socklen_t addrlen, fab_request_fn fn, void *user,
	       struct fab_listener **l)
{
	int rc = addr_check(addr, addrlen);

	if (!p || !fn || !l)
		return -EINVAL;
	*l = NULL;
	if (rc)
		return rc;
	return p->ops->listen(p, addr, addrlen, fn, user, l);
}

void fab_listener_addr(const struct fab_listener *l,
		       struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	l->ops->listener_addr(l, addr);
}

int fab_listener_spread(struct fab_listener *l, struct fab_poller *const *p,
			unsigned int n)
{
	if (!l || !p || !n)
		return -EINVAL;
	for (unsigned int i = 0; i < n; i++)
		if (p[i]->dom != l->poller->dom)
			return -EINVAL;
	return l->ops->listener_spread ? l->ops->listener_spread(l, p, n) : 0;
}

struct fab_poller *fab_conn_poller(const struct fab_conn *c)
{
	return c->poller;
}

bool fab_listener_up(struct fab_listener *l)
{
	return !l->ops->listener_up || l->ops->listener_up(l);
}

void fab_listener_close(struct fab_listener *l)
{
	if (l)
		l->ops->listener_close(l);
}

int fab_conn_create(struct fab_poller *p, fab_ready_fn ready, void *user,
		    struct fab_conn **c)
{
	if (!p || !ready || !c)
		return -EINVAL;
	*c = NULL;
	return p->ops->conn_create(p, ready, user, c);
}

void fab_conn_set_ready(struct fab_conn *c, fab_ready_fn ready, void *user)
{
	c->ops->conn_set_ready(c, ready, user);
}

int fab_connect(struct fab_conn *c, const struct sockaddr *addr,
		socklen_t addrlen, const struct fab_conn_params *params)
{
	static const struct fab_conn_params none;
	int rc = addr_check(addr, addrlen);

	if (rc)
		return rc;
	if (!params_valid(params))
		return -EINVAL;
	return c->ops->connect(c, addr, addrlen, params ? params : &none);
}

int fab_accept(struct fab_conn *c, const struct fab_conn_params *params)
{
	static const struct fab_conn_params none;

	if (!params_valid(params))
		return -EINVAL;
	return c->ops->accept(c, params ? params : &none);
}

void fab_reject(struct fab_conn *c, const void *priv, size_t priv_len)
{
	if (!priv || priv_len > FAB_MAX_PRIV)
		priv_len = 0;
	c->ops->reject(c, priv, priv_len);
}

void fab_disconnect(struct fab_conn *c, bool abort)
{
	c->ops->disconnect(c, abort);
}

void fab_conn_destroy_deferred(struct fab_conn *c, void (*done)(void *user),
			       void *user)
{
	c->ops->conn_destroy_deferred(c, done, user);
}

void fab_conn_info(const struct fab_conn *c, struct fab_conn_info *info)
{
	memset(info, 0, sizeof(*info));
	c->ops->conn_info(c, info);
}

void fab_conn_counters(const struct fab_conn *c, struct fab_counters *out)
{
	memset(out, 0, sizeof(*out));
	c->ops->conn_counters(c, out);
}
