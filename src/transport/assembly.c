/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assembly - the parts of a connection, and its extensions
 *
 * The order matters. In a turn, flow control is last and sends what the others have queued;
 * host authentication is first and decides what the properties have to wait for. A
 * connection is released from the last part to the first (part.h).
 */
#include "transport/core/core.h"
#include "transport/flow/flow.h"
#include "transport/message/message.h"
#include "transport/requester/requester.h"
#include "transport/responder/responder.h"
#ifdef RT_WITH_AUTH
#include "transport/ext/auth/auth.h"
#endif
#ifdef RT_WITH_XCHAR
#include "transport/ext/xchar/xchar.h"
#endif
#ifdef RT_WITH_RTR
#include "transport/ext/rtr/rtr.h"
#endif

static const struct rt_part *const parts[] = {
#ifdef RT_WITH_AUTH
	&rt_part_auth,
#endif
	&rt_part_sequence,  &rt_part_message,
	&rt_part_error,	    &rt_part_responder,
	&rt_part_requester, &rt_part_response,
#ifdef RT_WITH_XCHAR
	&rt_part_xchar,
#endif
#ifdef RT_WITH_RTR
	&rt_part_rtr,
#endif
	&rt_part_flow,	    NULL,
};

_Static_assert(sizeof(parts) / sizeof(*parts) <= RT_PARTS + 1,
	       "each has a bit of rt_strand.parts_on");

/* Messages have their properties in this order. */
static const struct rt_ext *const exts[] = {
#ifdef RT_WITH_XCHAR
	&rt_ext_xchar,
#endif
#ifdef RT_WITH_RTR
	&rt_ext_rtr,
#endif
#ifdef RT_WITH_AUTH
	&rt_ext_auth,
#endif
	NULL,
};

int rt_instance_create(const struct rt_params *p, struct rt_instance **out)
{
	return rt_instance_new(p, parts, exts, out);
}
