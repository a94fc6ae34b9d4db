/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sent - XIDs of the last Replies, or messages of an extension, that have gone, so
 * that an ERROR can be told that is about one of them
 *
 * Of the runner. Those of Calls are not among them while the Call is there.
 */
#ifndef RPCRDMA_TRANSPORT_SENT_H
#define RPCRDMA_TRANSPORT_SENT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/param.h>

/* More than can be on their way with the usual credits; an ERROR about one that
 * is older is told by the next. */
#define RT_XIDS_KEPT 128

struct rt_xids {
	unsigned int n; /* all that there have been */
	uint32_t xid[RT_XIDS_KEPT];
};

static inline void rt_xids_add(struct rt_xids *s, uint32_t xid)
{
	s->xid[s->n++ % RT_XIDS_KEPT] = xid;
}

static inline bool rt_xids_have(const struct rt_xids *s, uint32_t xid)
{
	unsigned int n = MIN(s->n, RT_XIDS_KEPT);

	for (unsigned int i = 0; i < n; i++)
		if (s->xid[i] == xid)
			return true;
	return false;
}

#endif /* RPCRDMA_TRANSPORT_SENT_H */
