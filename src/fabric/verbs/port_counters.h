/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_counters - errors that devices count at their ports
 *
 * Each driver has names of its own for what it counts. A table maps them to the
 * kinds of FAB_PORT_COUNTERS.
 */
#ifndef RPCRDMA_VERBS_PORT_COUNTERS_H
#define RPCRDMA_VERBS_PORT_COUNTERS_H

#include "rpcrdma/fabric.h"

/*
 * Set @out to the counters of @port, from 1, of @device below @root, which is
 * /sys/class/infiniband but for tests. Returns false if there is no such port.
 * Context: any thread. The kernel may ask the device's firmware.
 */
bool vb_port_counters_read(const char *root, const char *device,
			   unsigned int port, struct fab_port *out);
/* For fab_ops: each port of the devices that the domain has used. */
void vb_for_each_port(struct fab_domain *d, fab_port_fn fn, void *arg);

#endif /* RPCRDMA_VERBS_PORT_COUNTERS_H */
