/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ended - what a connection gives back at its end
 *
 * Runner only. Others may refer to an ended connection for as long as they
 * like; but all that flow control and its Calls had is given back at once, and
 * what a Call that is still out has, when it comes back. A host whose
 * connections end while their Calls are being executed has not got rid of
 * those: until they are back, its connection counts as one of the host's.
 */
#include <stdlib.h>

#include "transport/internal.h"

void rt_conn_ended(struct rt_conn *c)
{
	/* Nothing of one that never began has been flushed. */
	if (atomic_load(&c->fabric_gone))
		rt_reclaim_receives(c);
	rt_works_free(c);
	RT_EACH_PART(c->inst, ended, c);
	free(c->errors);
	c->errors = NULL;
	c->max_errors = 0;
	if (c->calls_back || !cds_list_empty(&c->calls))
		return;
	c->calls_back = true;
	pthread_mutex_lock(&c->inst->lock);
	rt_host_ended(c);
	pthread_mutex_unlock(&c->inst->lock);
}
