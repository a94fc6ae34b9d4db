/* SPDX-License-Identifier: BSD-3-Clause */
#include "ganesha/serve/accounting.h"

#include <inttypes.h>

#include "base/addr.h"
#include "base/text.h"
#include "rpcrdma/stats.h"

/* It may be called a little early. */
#define EARLY_MS 500
/* Ganesha cuts a line off at 2048 octets. */
#define LINE 1800

/* Context: the instance's lock is held. */
static void add_host(const struct rt_account *x, void *arg)
{
	char *line = arg, host[BASE_HOST_TEXT];

	base_addr_host_text(&x->addr, host, sizeof(host));
	base_append(line, LINE, "%s%s %u", *line ? ", " : "", host,
		    x->connections);
	if (x->opened)
		base_append(line, LINE, " +%u", x->opened);
	if (x->closed)
		base_append(line, LINE, " -%u", x->closed);
	if (x->refused)
		base_append(line, LINE, " refused %u", x->refused);
}

/* Take up to a line of hosts. Returns how many have connections. */
static unsigned int take_line(struct gr_accounting *a, bool all,
			      char line[LINE], unsigned int *left)
{
	*line = '\0';
	return rt_accounts_take(a->inst, all, GR_ACCOUNTING_HOSTS, add_host,
				line, left);
}

/* Set @a to the totals of @now, and @since to the differences, where connections are those that
 * were closed. */
static void take_totals(struct gr_accounting *a, uint64_t now,
			struct gr_accounting *since)
{
	struct rt_totals t;
	uint64_t refused = 0, all;

	rt_totals(a->inst, &t);
	for (unsigned int i = 0; i < RT_NREFUSALS; i++)
		refused += t.refused[i];
	since->looked = now - a->looked;
	since->accepted = t.accepted - a->accepted;
	since->refused = refused - a->refused;
	all = a->connections + since->accepted;
	/* One that is being accepted may be among the connections alone. */
	since->connections =
		all > t.connections ? (unsigned int)all - t.connections : 0;
	a->looked = now;
	a->accepted = t.accepted;
	a->refused = refused;
	a->connections = t.connections;
}

void gr_accounting_start(struct gr_accounting *a, const struct gsh *g,
			 struct rt_instance *inst, uint64_t now)
{
	struct gr_accounting since;
	unsigned int left;

	*a = (struct gr_accounting){ .gsh = g,
				     .inst = inst,
				     .looked_at_all = now };
	take_totals(a, now, &since);
	rt_accounts_take(inst, false, 0, add_host, NULL, &left);
}

void gr_accounting_look(struct gr_accounting *a, uint64_t now, bool last)
{
	bool all = now - a->looked_at_all >= GR_ACCOUNTING_ALL_MS;
	struct gr_accounting since;
	unsigned int hosts, left;
	char line[LINE];

	if (!a->inst ||
	    (!last && now + EARLY_MS - a->looked < GR_ACCOUNTING_MS))
		return;
	if (all)
		a->looked_at_all = now;
	take_totals(a, now, &since);
	hosts = take_line(a, all, line, &left);
	if (!*line && !since.accepted && !since.connections && !since.refused)
		return;
	gsh_log(a->gsh, GSH_EVENT,
		"accounting: %u host%s with %u connection%s; in %" PRIu64
		" s %" PRIu64 " opened, %u closed, %" PRIu64 " refused%s%s",
		hosts, hosts == 1 ? "" : "s", a->connections,
		a->connections == 1 ? "" : "s", (since.looked + 500) / 1000,
		since.accepted, since.connections, since.refused,
		*line ? ": " : "", line);
	for (unsigned int i = 1; left && (last || i < GR_ACCOUNTING_LINES);
	     i++) {
		(void)take_line(a, false, line, &left);
		gsh_log(a->gsh, GSH_EVENT, "accounting: %s", line);
	}
	if (left)
		gsh_log(a->gsh, GSH_EVENT,
			"accounting: %u more hosts follow in a minute", left);
}
