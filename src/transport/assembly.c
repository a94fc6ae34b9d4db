/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assembly - what a connection is made of
 *
 * The order counts in a turn: what the others want sent is sent by flow control,
 * last.
 */
#include "transport/internal.h"

static const struct rt_part *const parts[] = {
	&rt_part_message, &rt_part_responder, &rt_part_requester, &rt_part_auth,
	&rt_part_xchar,	  &rt_part_rtr,	      &rt_part_flow,	  NULL,
};

int rt_instance_create(const struct rt_params *p, struct rt_instance **out)
{
	return rt_instance_new(p, parts, out);
}
