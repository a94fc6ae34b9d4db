/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * assembly - what a connection is made of
 *
 * The order counts in a turn: what the others want sent is sent by flow control,
 * last.
 */
#include "transport/internal.h"

const struct rt_part *const rt_parts[] = {
	&rt_part_message, &rt_part_responder, &rt_part_requester, &rt_part_auth,
	&rt_part_xchar,	  &rt_part_rtr,	      &rt_part_flow,	  NULL,
};
