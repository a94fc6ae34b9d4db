/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * nfs4 - the eligible items of NFSv4 COMPOUNDs [H1]
 */
#include "ulb/nfs.h"

/* The last operation of each minor version. */
static const uint32_t last_op[] = { OP_RELEASE_LOCKOWNER, OP_RECLAIM_COMPLETE,
				    OP_LIMIT - 1 };

int ulb_nfs4_scan_call(struct ulb_call *c, struct ulb_walk *w,
		       struct ulb_scan *scan)
{
	uint64_t bound = ULB_REPLY_HEAD + 4 /* status */ + 4 /* count */;
	uint32_t tag, count, op, max;
	uint64_t b, origin;

	if (ulb_get32(&w->cur, &tag) || ulb_skip(&w->cur, ulb_roundup(tag)) ||
	    ulb_get32(&w->cur, &c->minor) || ulb_get32(&w->cur, &count))
		return -EBADMSG;
	/* The tag of a Call returns with its Reply. */
	bound += 4 + ulb_roundup(tag);

	while (count--) {
		origin = w->cur.pos;
		if (ulb_get32(&w->cur, &op))
			return -EBADMSG;
		if (c->minor >= sizeof(last_op) / sizeof(last_op[0]) ||
		    op > last_op[c->minor] || !ulb_nfs4_args[op]) {
			/* Where its arguments end is not known. */
			bound = ULB_UNBOUNDED;
			break;
		}
		b = ulb_nfs4_bound(op, &w->cur);
		if (op == OP_READ || op == OP_READLINK) {
			struct ulb_cur args = w->cur;

			/* READ4args: stateid, offset, count */
			max = ULB_LINK_MAX;
			if (op == OP_READ &&
			    (ulb_skip(&args, 24) || ulb_get32(&args, &max)))
				return -EBADMSG;
			/* What has no place here will not be reduced. */
			if (!ulb_expect(scan, max, origin))
				b += ulb_roundup(max);
		}
		if (b > UINT32_MAX || bound > UINT32_MAX)
			bound = ULB_UNBOUNDED;
		else
			bound += b;
		if (ulb_walk(w, ulb_nfs4_args[op]))
			return -EBADMSG;
	}
	scan->reply_max = ulb_reply_max(bound);
	return 0;
}

int ulb_nfs4_scan_reply(struct ulb_walk *w)
{
	static const struct ulb_arm status_only[] = { DEFAULT(NULL) };
	const struct ulb_arm *arms;
	uint32_t count, op;
	unsigned int n;

	/* status, tag, resarray */
	if (ulb_skip(&w->cur, 4) || ulb_skip_opaque(&w->cur) ||
	    ulb_get32(&w->cur, &count))
		return -EBADMSG;

	while (count--) {
		if (ulb_get32(&w->cur, &op))
			return -EBADMSG;
		if (op == OP_ILLEGAL)
			arms = status_only;
		else if (op >= OP_LIMIT || !ulb_nfs4_res[op])
			/* Nothing after it can be found, nor reduced. */
			return 0;
		else
			arms = ulb_nfs4_res[op];
		n = w->n;
		if (ulb_walk_union(w, arms))
			return -EBADMSG;
		if ((op == OP_READ || op == OP_READLINK) && w->n == n &&
		    ulb_walk_void(w))
			return -EBADMSG;
	}
	return 0;
}
