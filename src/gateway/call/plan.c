/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * plan - which arguments and results of a Call go by chunks, and what that takes
 *
 * Context: the thread that has the Call.
 */
#include <string.h>
#include <sys/param.h>

#include "gateway/client.h"

/* Heap of a Call: its own and the transport's. */
#define CALL_HEAP (sizeof(struct gw_call) + 4096)
/* Room for a Reply of which nothing can be told, from the second on. */
#define GSS_REPLY_LEAST (256u << 10)

bool gw_call_is_gss(const struct gw_call *call)
{
	return call->head.flavor == RPC_FLAVOR_GSS;
}

bool gw_call_plan(struct gw_call *call)
{
	struct gw_client *c = call->c;
	const struct gw_options *o = &c->gw->opt;
	struct rt_request *rq = call->rq;
	struct iovec iov[GW_PIECES];
	size_t sum = 0, inlined = 0, most = gw_sinks_most(c->gw);

	gw_shorten_counts(call);
	/* What cannot be scanned goes as it is, for the server to judge. */
	(void)ulb_scan_call(iov,
			    rt_to_iov(call->rec.piece, call->rec.npieces, iov),
			    &call->head, &call->scan);
	rq->nitems = 0;
	rq->nsinks = 0;
	for (unsigned int i = 0; i < call->scan.nargs && !call->plain; i++) {
		const struct ulb_item *a = &call->scan.args[i];

		if (a->present && a->length >= o->reduce_min &&
		    rq->nitems < o->rdma.config.call_read_chunks)
			call->items[rq->nitems++] =
				(struct rt_item){ .position = a->position,
						  .length = a->length,
						  .present = true };
	}
	for (unsigned int i = 0; i < call->scan.nresults; i++) {
		size_t len = call->scan.results[i];
		bool chunk = !call->plain &&
			     i < o->rdma.config.call_write_chunks &&
			     len >= o->reduce_min && sum + len <= most;

		memset(&call->sinks[i], 0, sizeof(call->sinks[i]));
		if (!chunk) {
			inlined += gw_round4(len);
			continue;
		}
		if (!gw_sink_get(call, i, len, false)) {
			gw_sinks_release(call);
			return false;
		}
		sum += len;
		/* Empty chunks count up to the last real one only [H2]. */
		rq->nsinks = i + 1;
	}
	/* A session executes a Call once and need not keep the Reply. A GSS
	 * sequence number is taken once, the next time dropped in silence. */
	rq->once = gw_call_is_gss(call) ||
		   (call->head.nfs && call->head.vers == 4);
	rq->reply_max = call->scan.reply_max;
	if (gw_call_is_gss(call) && !call->head.ddp)
		rq->reply_max = atomic_load(&c->gw->gss_reply_max);
	if (rq->reply_max)
		rq->reply_max += inlined;
	/* What it may ask for, but cannot get. */
	if (rq->reply_max > o->rdma.config.max_message)
		rq->reply_max = o->rdma.config.max_message & ~(size_t)3;
	return true;
}

bool gw_call_charge(struct gw_call *call)
{
	call->charge = CALL_HEAP + call->rq->reply_max;
	return gw_account_take(&call->c->account, call->charge, call->charge);
}

void gw_call_recharge(struct gw_call *call)
{
	size_t now = CALL_HEAP + call->rq->reply_len;

	if (now > call->charge)
		gw_account_force(&call->c->account, now - call->charge);
	else
		gw_account_give(&call->c->account, call->charge - now);
	call->charge = now;
}

/*
 * What protected Replies need can be learnt only from those that found no
 * room. In steps, so that few clients have to be told to try again.
 */
void gw_plan_expect(struct gateway *gw, size_t len)
{
	size_t old = atomic_load(&gw->gss_reply_max), n = GSS_REPLY_LEAST;

	while (n < len)
		n *= 2;
	n = MIN(n, gw->opt.max_record);
	while (old < n &&
	       !atomic_compare_exchange_weak(&gw->gss_reply_max, &old, n))
		;
}
