/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addresses - the server's addresses, and which of them a client tries: addresses.h
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "base/addr.h"
#include "base/clock.h"
#include "gateway/client.h"
#include "rpcrdma/nfs.h"
#include "tools/rpc_tcp.h"

/* Shared by main and the thread that looks up: the thread's until @done, then
 * main's. If the process ends before it is done nobody frees it. */
struct gw_lookup {
	struct arg_addrs found;
	bool good;
	atomic_bool done;
	char servers[]; /* as --server has them, one behind the other, and "" */
};

void gw_server_pick(struct gateway *gw, struct gw_round *r)
{
	const struct gw_server *s = &gw->server;

	pthread_mutex_lock(&gw->lock);
	if (!r->failed)
		r->first = s->first;
	r->of = s->addrs.n;
	r->index = (r->first + r->failed) % r->of;
	r->addr = s->addrs.at[r->index];
	pthread_mutex_unlock(&gw->lock);
}

bool gw_server_failed(struct gateway *gw, struct gw_round *r, int error)
{
	switch (error) {
	case -EAGAIN: /* the same again, with another version */
	case -EMFILE: /* it is this end that is short */
	case -ENFILE:
	case -ENOMEM:
		return false;
	}
	if (++r->failed < r->of)
		return true;
	gw_server_lost(gw, r);
	return false;
}

/* Index of the address @a, or @n. Caller holds gateway.lock, or owns @in. */
static unsigned int find(const struct arg_addrs *in, const struct arg_addr *a)
{
	unsigned int i = 0;

	while (i < in->n && !arg_addr_same(&in->at[i], a))
		i++;
	return i;
}

void gw_server_took(struct gateway *gw, const struct gw_round *r)
{
	struct gw_server *s = &gw->server;
	unsigned int i;

	pthread_mutex_lock(&gw->lock);
	i = find(&s->addrs, &r->addr);
	if (i < s->addrs.n)
		s->first = i;
	if (!s->since || !arg_addr_same(&s->took, &r->addr)) {
		s->took = r->addr;
		s->since = base_now_ns();
	}
	pthread_mutex_unlock(&gw->lock);
}

uint64_t gw_server_current(struct gateway *gw, char name[64])
{
	const struct gw_server *s = &gw->server;
	uint64_t since;

	pthread_mutex_lock(&gw->lock);
	since = s->since;
	if (since)
		base_addr_name((const struct sockaddr *)&s->took.addr, name,
			       64);
	pthread_mutex_unlock(&gw->lock);
	return since;
}

void gw_server_lost(struct gateway *gw, struct gw_round *r)
{
	r->failed = 0;
	atomic_store(&gw->server.renew, true);
}

void gw_server_silent(struct gateway *gw, struct gw_round *r,
		      const struct arg_addr *a)
{
	struct gw_server *s = &gw->server;

	pthread_mutex_lock(&gw->lock);
	if (arg_addr_same(&s->addrs.at[s->first], a))
		s->first = (s->first + 1) % s->addrs.n;
	pthread_mutex_unlock(&gw->lock);
	gw_server_lost(gw, r);
}

/* The name, if there is one that has them all, and the addresses. */
static void names(const struct gateway *gw, const struct arg_addrs *a,
		  char out[GW_SERVER_NAMES])
{
	bool named = a->n > 1 && gw->opt.nservers == 1;
	char addr[64];
	int n = 0;

	if (named)
		n = snprintf(out, GW_SERVER_NAMES, "%.100s (",
			     gw->opt.server[0]);
	for (unsigned int i = 0; i < a->n && n < GW_SERVER_NAMES; i++) {
		base_addr_name((const struct sockaddr *)&a->at[i].addr, addr,
			       sizeof(addr));
		n += snprintf(out + n, (size_t)(GW_SERVER_NAMES - n), "%s%s",
			      i ? ", " : "", addr);
	}
	if (n >= GW_SERVER_NAMES - (int)named)
		memcpy(out + GW_SERVER_NAMES - 5, named ? "...)" : " ...", 5);
	else if (named)
		memcpy(out + n, ")", 2);
}

void gw_server_names(struct gateway *gw, char out[GW_SERVER_NAMES])
{
	pthread_mutex_lock(&gw->lock);
	names(gw, &gw->server.addrs, out);
	pthread_mutex_unlock(&gw->lock);
}

/* ---- Look-ups ----------------------------------------------------------- */

static void *look_up(void *arg)
{
	struct gw_lookup *l = arg;
	struct arg_addrs one;
	struct arg_err err;

	l->good = true;
	for (const char *s = l->servers; *s && l->good; s += strlen(s) + 1)
		l->good = !arg_addrs(s, RDMA_SERVER_PORT, &one, &err) &&
			  arg_addrs_add(&l->found, &one);
	atomic_store(&l->done, true);
	return NULL;
}

static void start(struct gateway *gw)
{
	const struct gw_options *o = &gw->opt;
	struct gw_lookup *l;
	pthread_t thread;
	size_t size = 1;
	char *to;

	for (unsigned int i = 0; i < o->nservers; i++)
		size += strlen(o->server[i]) + 1;
	l = calloc(1, sizeof(*l) + size);
	if (!l)
		return;
	to = l->servers;
	for (unsigned int i = 0; i < o->nservers; i++)
		to = stpcpy(to, o->server[i]) + 1;
	if (pthread_create(&thread, NULL, look_up, l)) {
		free(l);
		return;
	}
	pthread_detach(thread);
	gw->server.lookup = l;
}

/* The same addresses in another order are no news: a name server takes turns. */
static void take(struct gateway *gw, const struct arg_addrs *found)
{
	struct gw_server *s = &gw->server;
	char text[GW_SERVER_NAMES];
	unsigned int same = 0, first;

	/* Nobody else changes them. */
	while (same < found->n &&
	       find(&s->addrs, &found->at[same]) < s->addrs.n)
		same++;
	if (same == s->addrs.n && same == found->n)
		return;
	pthread_mutex_lock(&gw->lock);
	first = find(found, &s->addrs.at[s->first]);
	s->addrs = *found;
	s->first = first < found->n ? first : 0;
	pthread_mutex_unlock(&gw->lock);
	names(gw, found, text);
	gw_log(gw, LOG_NOTICE, "server %s: its addresses have changed", text);
}

void gw_server_look(struct gateway *gw)
{
	struct gw_server *s = &gw->server;

	if (s->lookup && atomic_load(&s->lookup->done)) {
		if (s->lookup->good)
			take(gw, &s->lookup->found);
		free(s->lookup);
		s->lookup = NULL;
	}
	if (!s->lookup && atomic_exchange(&s->renew, false) && s->addrs.is_name)
		start(gw);
}

void gw_server_end(struct gateway *gw)
{
	struct gw_lookup *l = gw->server.lookup;

	if (l && atomic_load(&l->done))
		free(l);
}

/* ---- Is it the port of NFS over TCP? ------------------------------------ */

#define ANSWER_MS 2000
#define NFS_VERSION 3

/* FAILED and above: FAILED + index of the address. */
enum state { NOTHING, LOOKED, FAILED };

void gw_probe_failed(struct gw_probe *p, unsigned int index, int error)
{
	int nothing = NOTHING;

	switch (error) {
	case -ECONNREFUSED: /* nobody listens there, for TCP either */
	case -EPERM: /* rejected, by RDMA */
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return;
	default:
		atomic_compare_exchange_strong(&p->state, &nothing,
					       FAILED + (int)index);
	}
}

void gw_probe_good(struct gw_probe *p)
{
	atomic_store(&p->state, NOTHING);
}

void gw_probe_run(struct gw_probe *p, struct gateway *gw)
{
	/* Nobody but this thread changes them. */
	const struct arg_addrs *server = &gw->server.addrs;
	int state = atomic_load(&p->state), i = state - FAILED;
	const struct sockaddr *addr;
	char name[64];

	if (i < 0 || i >= (int)server->n ||
	    !atomic_compare_exchange_strong(&p->state, &state, LOOKED))
		return;
	addr = (const struct sockaddr *)&server->at[i].addr;
	if (!rpc_tcp_answers(addr, server->at[i].len, ULB_PROG_NFS, NFS_VERSION,
			     ANSWER_MS))
		return;
	base_addr_name(addr, name, sizeof(name));
	gw_log(gw, LOG_ERR,
	       "server %s: this is a port of RPC over TCP, such as NFS; that of RPC-over-RDMA is 20049 by default",
	       name);
}
