/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Responder's side of the transport, reduced to its contract: rt_reply(),
 * rt_call_refuse(), rt_call_drop() and rt_conn_close() note what they are given.
 * A struct rt_call is filled by hand. So is what there is to know of sessions: fake_sessions tells, and notes
 * what it is told. Included by one file of a program, which thereby does not
 * take these functions from where they are.
 */
#ifndef RPCRDMA_NTIRPC_FAKE_H
#define RPCRDMA_NTIRPC_FAKE_H

#include "ntirpc/svc_call.h"

#include "ntirpc_util.h"

struct fake_call {
	struct rt_call pub;
	struct nrt_call user;
	int replies, drops, dones, refusals;
	uint32_t refuse_code;
	bool denial;
	uint8_t *bytes; /* of the Reply, joined */
	size_t len;
	unsigned int nitems, npieces;
	unsigned int unregistered; /* of these pieces */
	struct rt_item items[ULB_MAX_ITEMS];
};

static inline struct fake_call *fake_of(struct rt_call *call)
{
	return (struct fake_call *)(void *)call;
}

void *rt_call_user(struct rt_call *call)
{
	return &fake_of(call)->user;
}

int rt_reply(struct rt_call *call, const struct rt_reply *reply)
{
	struct fake_call *f = fake_of(call);

	f->replies++;
	f->denial = reply->denial;
	f->npieces = reply->npieces;
	for (unsigned int i = 0; i < reply->npieces; i++)
		f->unregistered += !reply->pieces[i].mr;
	free(f->bytes);
	f->bytes = util_join(reply->pieces, reply->npieces, &f->len);
	f->nitems = reply->nitems;
	for (unsigned int i = 0; i < reply->nitems; i++)
		f->items[i] = reply->items[i];
	reply->done(reply->arg);
	f->dones++;
	/* The Call and all that was in it is gone. */
	memset(&f->user, 0x5a, sizeof(f->user));
	util_free_pieces(call->pieces, call->npieces);
	call->npieces = 0;
	return 0;
}

void rt_call_refuse(struct rt_call *call, uint32_t code)
{
	struct fake_call *f = fake_of(call);

	f->refusals++;
	f->refuse_code = code;
	memset(&f->user, 0x5a, sizeof(f->user));
	util_free_pieces(call->pieces, call->npieces);
	call->npieces = 0;
}

void rt_call_drop(struct rt_call *call)
{
	struct fake_call *f = fake_of(call);

	f->drops++;
	memset(&f->user, 0x5a, sizeof(f->user));
	util_free_pieces(call->pieces, call->npieces);
	call->npieces = 0;
}

static struct {
	const struct rt_conn *conn;
	int closes, aborts;
	int drops; /* of the Call, when that came */
} fake_closed;

void rt_conn_close(struct rt_conn *c, bool abort)
{
	fake_closed.conn = c;
	fake_closed.closes++;
	fake_closed.aborts += abort;
	fake_closed.drops = fake_of((void *)c)->drops;
}

void rt_log(struct rt_conn *c, int level, const char *fmt, ...)
{
}

void rt_conn_get(struct rt_conn *c)
{
}

void rt_conn_put(struct rt_conn *c)
{
}

static struct {
	bool can_back;
	uint32_t flags; /* of session in_trouble */
	uint8_t in_trouble[ULB_SESSION_ID];
	bool fresh; /* something is to be settled */
	int backs, ends, nones;
	int prepared; /* of these, so many before */
	struct bc_channel *channel; /* and then it was this */
	int strange; /* what was not prepared so */
	int replies_prepared; /* of the Call, when that was told */
	int replies_before; /* ... and when the other was */
	uint8_t id[ULB_SESSION_ID];
	uint32_t call_max;
	const struct rt_conn *conn;
	const struct fake_call *call;
} fake_sessions;

void bc_reply_begin(struct bc_server *n, struct bc_reply *reply,
		    struct rt_conn *c)
{
	reply->channel = fake_sessions.channel = (void *)&fake_sessions;
	fake_sessions.prepared++;
	if (fake_sessions.call)
		fake_sessions.replies_prepared = fake_sessions.call->replies;
}

void bc_reply_sent(struct bc_server *n, const struct bc_reply *reply,
		   const struct rt_conn *c)
{
	if (reply->channel != fake_sessions.channel)
		fake_sessions.strange++;
	if (reply->event == ULB_SESSION_NONE)
		fake_sessions.nones++;
	else if (reply->event == ULB_SESSION_BACK)
		fake_sessions.backs++;
	else
		fake_sessions.ends++;
	memcpy(fake_sessions.id, reply->id, ULB_SESSION_ID);
	fake_sessions.call_max = reply->call_max;
	fake_sessions.conn = c;
	if (fake_sessions.call)
		fake_sessions.replies_before = fake_sessions.call->replies;
}

bool bc_reply_expected(const struct bc_server *n)
{
	return fake_sessions.fresh;
}

bool bc_can_bind(struct bc_server *n, const uint8_t id[ULB_SESSION_ID],
		 struct rt_conn *c)
{
	return fake_sessions.can_back;
}

bool bc_has_flags(const struct bc_server *n)
{
	return fake_sessions.flags;
}

uint32_t bc_session_flags(struct bc_server *n, const uint8_t id[ULB_SESSION_ID])
{
	return memcmp(id, fake_sessions.in_trouble, ULB_SESSION_ID) ?
		       0 :
		       fake_sessions.flags;
}

/* A Call of @len octets at @mem, cut at @ncuts positions. */
static inline struct fake_call *fake_new(const uint8_t *mem, size_t len,
					 const size_t *cuts, unsigned int ncuts)
{
	struct fake_call *f = calloc(1, sizeof(*f));

	f->pub.npieces = util_cut(mem, len, cuts, ncuts, f->pub.pieces);
	f->pub.len = len;
	f->pub.conn = (void *)f; /* nobody looks into it */
	memcpy(&f->pub.xid, mem, sizeof(f->pub.xid));
	f->pub.xid = ntohl(f->pub.xid);
	return f;
}

static inline void fake_free(struct fake_call *f)
{
	util_free_pieces(f->pub.pieces, f->pub.npieces);
	free(f->bytes);
	free(f);
}

#endif /* RPCRDMA_NTIRPC_FAKE_H */
