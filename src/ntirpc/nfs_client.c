/* SPDX-License-Identifier: BSD-3-Clause */
#include "ntirpc/nfs_client.h"

#include <stdio.h>
#include <string.h>

#include "ntirpc/quirks/rewrite.h"
#include "ntirpc/svc_call.h"

void nrt_names_init(struct nrt_names *names)
{
	pthread_mutex_init(&names->lock, NULL);
}

void nrt_client_init(struct nrt_client *c, struct nrt_names *names)
{
	memset(c, 0, sizeof(*c));
	c->names = names;
	pthread_mutex_init(&c->lock, NULL);
}

void nrt_client_destroy(struct nrt_client *c)
{
	pthread_mutex_destroy(&c->lock);
}

static uint64_t sum_of(const uint8_t session[ULB_SESSION_ID])
{
	uint64_t sum = nrt_checksum(session, ULB_SESSION_ID);

	return sum ? sum : 1;
}

bool nrt_client_has(const struct nrt_client *c,
		    const uint8_t session[ULB_SESSION_ID])
{
	return atomic_load_explicit(&c->session, memory_order_relaxed) ==
	       sum_of(session);
}

void nrt_client_call(struct nrt_call *nc, XDR *xdrs, void *what, size_t length)
{
	struct nrt_client *c = nc->client;
	struct iovec iov[RT_MAX_PIECES];
	char owner[RT_CLIENT_TEXT];
	unsigned int n;
	size_t at;

	if (!c || (nc->head.op_class != ULB_CLASS_session &&
		   nc->head.op_class != ULB_CLASS_protected))
		return;
	n = nrt_args_find(nc, xdrs, what, length, iov, &at);
	if (!ulb_client_owner(iov, n, at, owner, sizeof(owner)))
		return;
	pthread_mutex_lock(&c->lock);
	memcpy(c->owner, owner, sizeof(owner));
	pthread_mutex_unlock(&c->lock);
}

/* Tell the name in the latest Call, and keep it as that of client number @client. */
static void tell_name(struct nrt_call *nc, uint64_t client)
{
	struct nrt_client *c = nc->client;
	struct nrt_name *at = &c->names->of[client % NRT_NAMES];
	char name[RT_CLIENT_TEXT];

	pthread_mutex_lock(&c->lock);
	memcpy(name, c->owner, sizeof(name));
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&c->names->lock);
	at->client = client;
	memcpy(at->name, name, sizeof(name));
	pthread_mutex_unlock(&c->names->lock);
	rt_conn_set_client(nc->call->conn, name, NULL);
}

static void tell_session(struct nrt_call *nc, const uint8_t id[ULB_SESSION_ID])
{
	struct nrt_names *names = nc->client->names;
	char name[RT_CLIENT_TEXT] = "", text[2 * ULB_SESSION_ID + 1];
	struct nrt_name *at;
	uint64_t client;

	atomic_store_explicit(&nc->client->session, sum_of(id),
			      memory_order_relaxed);
	/* As Ganesha puts it there. */
	memcpy(&client, id, sizeof(client));
	at = &names->of[client % NRT_NAMES];
	pthread_mutex_lock(&names->lock);
	if (at->client == client)
		memcpy(name, at->name, sizeof(name));
	pthread_mutex_unlock(&names->lock);
	for (unsigned int i = 0; i < ULB_SESSION_ID; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	rt_conn_set_client(nc->call->conn, *name ? name : NULL, text);
}

void nrt_client_reply(struct nrt_call *nc, const struct ulb_session *s)
{
	if (!nc->client)
		return;
	if (s->named)
		tell_name(nc, s->client);
	else if (s->bound && !nrt_client_has(nc->client, s->id))
		tell_session(nc, s->id);
	else if (!s->bound && s->sequence && !nrt_client_has(nc->client, s->of))
		tell_session(nc, s->of);
}
