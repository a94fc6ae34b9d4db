/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/port_watch.h"

#include <inttypes.h>
#include <string.h>

struct look {
	struct gr_port_watch *w;
	const struct gsh *gsh;
	uint64_t now;
};

/* Returns NULL if there are too many. Sets *@added if it was not watched before. */
static struct gr_watched_port *
find_port(struct gr_port_watch *w, const struct fab_port *port, bool *added)
{
	for (unsigned int i = 0; i < w->n; i++)
		if (w->port[i].from.port == port->port &&
		    !strcmp(w->port[i].from.device, port->device))
			return &w->port[i];
	if (w->n == GR_PORTS)
		return NULL;
	*added = true;
	w->port[w->n].told = 0;
	return &w->port[w->n++];
}

static void compare_from(struct gr_watched_port *p, const struct fab_port *port,
			 uint64_t now)
{
	p->from = *port;
	p->since = now;
}

/* Counters start at 0 again when a driver is loaded again. */
static bool is_reset(const struct fab_port *from, const struct fab_port *to)
{
	for (unsigned int i = 0; i < FAB_NPORT_COUNTERS; i++)
		if (to->count[i] < from->count[i])
			return true;
	return false;
}

static void look_at_port(const struct fab_port *port, void *arg)
{
	const struct look *k = arg;
	bool added = false;
	struct gr_watched_port *p = find_port(k->w, port, &added);
	uint64_t again, timeouts, order;

	if (!p)
		return;
	if (added || is_reset(&p->from, port)) {
		compare_from(p, port, k->now);
		return;
	}
#define SINCE(kind) (port->count[kind] - p->from.count[kind])
	again = SINCE(FAB_PORT_retransmitted) + SINCE(FAB_PORT_duplicates);
	timeouts = SINCE(FAB_PORT_timeouts);
	order = SINCE(FAB_PORT_out_of_sequence);
#undef SINCE
	if (again + timeouts + order < GR_PORT_ERRORS) {
		compare_from(p, port, k->now);
		return;
	}
	if (p->told && k->now - p->told < GR_PORT_QUIET_MS)
		return;
	gsh_log(k->gsh, GSH_WARN,
		"RDMA device %s, port %u: in %" PRIu64 " s %" PRIu64
		" packets were sent again, %" PRIu64
		" acknowledgements came too late, %" PRIu64
		" packets were out of sequence: the network loses or reorders packets, which makes RDMA slow: check cables, MTU and flow control (rpcrdma-stat shows all counters)",
		port->device, port->port, (k->now - p->since) / 1000, again,
		timeouts, order);
	p->told = k->now;
	compare_from(p, port, k->now);
}

void gr_port_watch_look(struct gr_port_watch *w, const struct gsh *g,
			struct rt_instance *inst, uint64_t now)
{
	struct look k = { .w = w, .gsh = g, .now = now };

	if (w->looked && now - w->looked < GR_PORT_LOOK_MS)
		return;
	w->looked = now;
	rt_for_each_port(inst, look_at_port, &k);
}
