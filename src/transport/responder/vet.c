/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vet - may the data items of a Call be read?
 *
 * Runner only.
 */
#include <sys/param.h>

#include "transport/responder/responder.h"

/* Positions that cannot be reached. */
static bool beyond(const struct rt_call_priv *call)
{
	size_t base = 0, before = 0;

	for (unsigned int i = 0; i < call->nbase; i++)
		base += call->base[i].len;
	for (unsigned int i = 0; i < call->nreads; i++) {
		if (call->read[i].position > base + before)
			return true;
		before += rt_round4(call->read[i].length);
	}
	return false;
}

/* What the upper layer says of its data items; 0, or the ERROR's code. */
static uint32_t vet(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		    uint32_t *max)
{
	struct rt_vet v = {
		.pieces = call->base,
		.npieces = call->nbase,
		.total = call->nreads_all,
		.nreads = call->nreads,
		.torn = *torn,
		.user = call->user,
	};
	uint32_t code;

	if (!c->ops->vet)
		return *torn ? RDMA2_ERR_BAD_XDR : 0;
	for (unsigned int i = 0; i < v.nreads; i++)
		v.reads[i] = (struct rt_vet_read){ call->read[i].position,
						   call->read[i].length };
	code = c->ops->vet(c, &v, max);
	call->pub.vetted = true;
	*torn = v.torn;
	return code;
}

bool rt_call_may_read(struct rt_conn *c, struct rt_call_priv *call, bool *torn,
		      struct wire_error *err)
{
	uint32_t most = c->inst->cfg.max_read_chunks, max = most;
	bool many = call->nreads_all > call->nreads;

	rt_assert_strand(c);
	*torn = beyond(call);
	if (!call->nreads_all)
		return true;
	err->code = vet(c, call, torn, &max);
	/* 7.3.1: as many as there may be for this Call. */
	err->max_chunks = MIN(max, most);
	if (many && err->code != RDMA2_ERR_READ_CHUNKS)
		*err = (struct wire_error){ .code = RDMA2_ERR_READ_CHUNKS,
					    .max_chunks = most };
	/* [R9] */
	else if (!err->code && *torn && call->format != &rt_reply_base)
		err->code = RDMA2_ERR_BAD_XDR;
	return !err->code;
}
