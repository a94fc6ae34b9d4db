/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_watch - report that a device's ports lose packets
 *
 * The commonest cause of slow NFS over RDMA is a network that drops or reorders packets. Nothing
 * fails then: devices repeat. Only their counters say so.
 *
 * A look compares the counters with those of the look before. If a port has counted GR_PORT_ERRORS
 * or more since, there is a line in the log; the next one for that port comes GR_PORT_QUIET_MS later
 * at the earliest, and covers all that was counted until then.
 */
#ifndef RPCRDMA_GANESHA_PORT_WATCH_H
#define RPCRDMA_GANESHA_PORT_WATCH_H

#include "ganesha/bind/gsh.h"
#include "rpcrdma/transport.h"

/* The interval of looks. */
#define GR_PORT_LOOK_MS 30000
#define GR_PORT_QUIET_MS 600000
/* A few are normal, such as when a link comes up. */
#define GR_PORT_ERRORS 10
/* Further ports are not watched. */
#define GR_PORTS 32

struct gr_port_watch {
	uint64_t looked; /* base_now_ms() of the last look, or 0 */
	unsigned int n;
	struct gr_watched_port {
		struct fab_port from; /* what the next line is compared with */
		uint64_t since; /* the time of that */
		uint64_t told; /* the time of the last line, or 0 */
	} port[GR_PORTS];
};

/*
 * Look, if the last look is GR_PORT_LOOK_MS ago at @now, from base_now_ms(). @w was zeroed before the
 * first call. It reads some files of each port, and the kernel may ask firmware. Context: the control
 * thread.
 */
void gr_port_watch_look(struct gr_port_watch *w, const struct gsh *g,
			struct rt_instance *inst, uint64_t now);

#endif /* RPCRDMA_GANESHA_PORT_WATCH_H */
