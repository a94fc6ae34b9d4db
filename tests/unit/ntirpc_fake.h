/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Responder's side of the transport, reduced to its contract: rt_reply(),
 * rt_call_refuse() and rt_call_drop() note what they are given. A struct rt_call is filled by
 * hand. Included by one file of a program, which thereby does not take these
 * functions from the transport.
 */
#ifndef RPCRDMA_NTIRPC_FAKE_H
#define RPCRDMA_NTIRPC_FAKE_H

#include "ntirpc/call.h"

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

/* A Call of @len octets at @mem, cut at @ncuts positions. */
static inline struct fake_call *fake_new(const uint8_t *mem, size_t len,
					 const size_t *cuts, unsigned int ncuts)
{
	struct fake_call *f = calloc(1, sizeof(*f));

	f->pub.npieces = util_cut(mem, len, cuts, ncuts, f->pub.pieces);
	f->pub.len = len;
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
