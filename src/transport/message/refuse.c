/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * refuse - what comes for a Call of ours, and cannot be taken
 *
 * Runner only.
 */
#include <errno.h>

#include "transport/message/message.h"

void rt_refuse_reply(struct rt_conn *c, uint32_t xid)
{
	struct rt_own *own = rt_xid_find(c, xid);

	rt_assert_strand(c);
	if (own)
		c->requester->unusable(c, own);
}

bool rt_invalidation_ok(struct rt_conn *c, const struct rt_in *in, bool reply)
{
	struct rt_own *own = rt_xid_find(c, in->p.xid);

	rt_assert_strand(c);
	RT_COUNT(c, invalidations_received, 1);
	if (reply && own && own->posted &&
	    c->requester->offered(c, own, in->inv_handle))
		return true;
	rt_conn_fail(c, -EPROTO,
		     "message type %u of %08x invalidated a handle not offered",
		     in->p.htype, in->p.xid);
	if (reply)
		rt_refuse_reply(c, in->p.xid);
	rt_event(c, EV_ABORT);
	return false;
}

/*
 * An ERROR tells an XID and no direction (7). Those of any receiver may be about a Reply
 * of ours as well as about a Call with the same XID [E1]; which of them it is nothing
 * tells.
 */
static bool ambiguous(const struct rt_conn *c, const struct rt_own *own,
		      const struct wire_error *err)
{
	return own->posted && c->v->answers_replies &&
	       (err->code == RDMA2_ERR_INVAL_HTYPE ||
		err->code == RDMA2_ERR_BAD_XDR ||
		err->code == RDMA2_ERR_INVAL_CONT) &&
	       rt_xids_have(&c->msg.replied, own->xid);
}

void rt_error_received(struct rt_conn *c, uint32_t xid,
		       const struct wire_error *err)
{
	struct rt_own *own = rt_xid_find(c, xid);

	rt_assert_strand(c);
	rt_log(c, LOG_NOTICE, "ERROR %s received for xid %08x",
	       wire_errcode_name(err->code), xid);
	if (own && ambiguous(c, own, err)) {
		/* No Call may end as another has: all of them are repeated. */
		rt_conn_stop(c, EV_ABORT, -ECONNRESET,
			     "ERROR %s for xid %08x: of a Call, or of a Reply?",
			     wire_errcode_name(err->code), xid);
		return;
	}
	if (own && c->requester->error(c, own, err))
		return;
	if (c->values_sent && xid == c->msg.props_xid) {
		rt_connprop_refused(c);
		return;
	}
	for (const struct rt_ext *const *x = c->inst->exts; *x; x++)
		if ((*x)->error && (*x)->error(c, xid, err))
			return;
	rt_wrong(c);
	RT_COUNT(c, dropped, 1);
}
