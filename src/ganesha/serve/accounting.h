/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accounting - log whose connections there are and were
 *
 * The log has no line for each connection when there are many (base/log.h). So once a minute a
 * line says how many hosts and connections there are, how many connections were opened, closed
 * and refused since the last line, and by which hosts:
 *
 *   accounting: 2 hosts with 3 connections; in 60 s 3 opened, 1 closed, 1 refused:
 *   192.0.2.1 2 +2 -1, 192.0.2.7 1 +1, 192.0.2.9 0 refused 1
 *
 * A host has the number of its connections, and how many it has opened (+) and closed (-). More
 * lines follow for more hosts, up to GR_ACCOUNTING_LINES at a time; the others follow a minute
 * later, or when the server ends. If nothing has happened, there is no line. Once a day all hosts with connections are
 * named, so that the log of any day has each of them.
 *
 * Context: the control thread.
 */
#ifndef RPCRDMA_GANESHA_ACCOUNTING_H
#define RPCRDMA_GANESHA_ACCOUNTING_H

#include "ganesha/bind/gsh.h"
#include "rpcrdma/transport.h"

#define GR_ACCOUNTING_MS 60000
#define GR_ACCOUNTING_ALL_MS (24u * 3600 * 1000)
#define GR_ACCOUNTING_LINES 20
#define GR_ACCOUNTING_HOSTS 20 /* in a line */

struct gr_accounting {
	const struct gsh *gsh;
	struct rt_instance *inst;
	/* base_now_ms() of the last look, and of the last one at all hosts. */
	uint64_t looked, looked_at_all;
	/* rt_totals() of that time. */
	uint64_t accepted, refused;
	unsigned int connections;
};

/* Begin at @now, from base_now_ms(). */
void gr_accounting_start(struct gr_accounting *a, const struct gsh *g,
			 struct rt_instance *inst, uint64_t now);
/* Log what has happened, if the last look is GR_ACCOUNTING_MS ago; with @last, before the server
 * ends, all of it. */
void gr_accounting_look(struct gr_accounting *a, uint64_t now, bool last);

#endif /* RPCRDMA_GANESHA_ACCOUNTING_H */
