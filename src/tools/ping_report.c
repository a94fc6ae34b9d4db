/* SPDX-License-Identifier: BSD-3-Clause */
/* ping_report - what rpcrdma-ping prints about a connection and its Calls */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "stats/json.h"
#include "tools/ping.h"

static double us(uint64_t ns)
{
	return (double)ns / 1000;
}

/* Drop quotes and control characters, which these texts do not have. */
static void print_text(FILE *f, const char *name, const char *text)
{
	fprintf(f, ",\n \"%s\": \"", name);
	for (; *text; text++)
		if (*text >= ' ' && *text != '"' && *text != '\\')
			putc(*text, f);
	putc('"', f);
}

void ping_report_json(const struct ping *p, uint64_t took)
{
	const struct stats_source src = { .inst = p->inst,
					  .program = "rpcrdma-ping",
					  .provider = p->o.rdma.provider,
					  .started = p->started };
	const struct latency *l = &p->lat;
	char server[64], *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		return;
	base_addr_name((const struct sockaddr *)&ping_address(p)->addr, server,
		       sizeof(server));
	fprintf(f,
		"{\"server\": \"%s\", \"provider\": \"%s\", \"program\": %u"
		", \"version\": %u, \"procedure\": %u, \"connected\": %s"
		",\n \"calls\": %" PRIu64 ", \"answered\": %" PRIu64
		", \"failed\": %" PRIu64 ", \"lost\": %" PRIu64
		", \"seconds\": %.6f",
		server, p->o.rdma.provider, p->o.program, p->o.version,
		p->o.proc, p->up ? "true" : "false", p->sent, p->answered,
		p->failed, p->sent - p->answered - p->failed, us(took) / 1e6);
	if (p->reason[0])
		print_text(f, "error", p->reason);
	if (p->failed)
		print_text(f, "failure", p->first_failure);
	if (l->count)
		fprintf(f,
			",\n \"latency_us\": {\"min\": %.1f, \"avg\": %.1f"
			", \"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f"
			", \"p999\": %.1f, \"max\": %.1f}",
			us(l->min), us(lat_avg(l)), us(lat_at(l, 500)),
			us(lat_at(l, 900)), us(lat_at(l, 990)),
			us(lat_at(l, 999)), us(l->max));
	if (p->inst) {
		fputs(",\n \"transport\":\n", f);
		stats_json(f, &src);
	}
	fputs("}\n", f);
	if (!fclose(f))
		fputs(text, stdout);
	free(text);
}

static void print_properties(const char *whose, const struct rt_properties *q)
{
	static const char *const reverse[] = { "none", "simple", "continued",
					       "general" };
	char send[16] = "default";

	if (q->send_size)
		snprintf(send, sizeof(send), "%u", q->send_size);
	printf("%s: send size %s, receive buffer %u, segment size %u, segments %u, reverse direction %s\n",
	       whose, send, q->recv_size, q->segment_size, q->segments,
	       q->reverse < 4 ? reverse[q->reverse] : "unknown");
}

void ping_report_connection(const struct ping *p)
{
	const struct rt_conn_info *i = &p->info;

	printf("%s: RPC-over-RDMA version %u over %s%s, credit limit %u, advertised %u\n",
	       i->peer_name, i->version, p->o.rdma.provider,
	       i->crc ? " with CRC" : "", i->credit_limit, i->advertised);
	if (*i->auth_peer)
		printf("the server is %s\n", i->auth_peer);
	printf("inline thresholds: Calls %u, Replies %u\n", i->call_inline,
	       i->reply_inline);
	print_properties("client", &i->ours);
	print_properties("server", &i->theirs);
}

void ping_report_summary(const struct ping *p, uint64_t took)
{
	const struct latency *l = &p->lat;

	printf("%" PRIu64 " Calls, %" PRIu64 " answered, %" PRIu64
	       " failed, %" PRIu64 " lost in %.3f s, %.0f Calls/s\n",
	       p->sent, p->answered, p->failed,
	       p->sent - p->answered - p->failed, us(took) / 1e6,
	       took ? (double)p->answered * 1e9 / (double)took : 0.0);
	if (l->count)
		printf("latency us: min %.1f avg %.1f p50 %.1f p90 %.1f p99 %.1f p999 %.1f max %.1f\n",
		       us(l->min), us(lat_avg(l)), us(lat_at(l, 500)),
		       us(lat_at(l, 900)), us(lat_at(l, 990)),
		       us(lat_at(l, 999)), us(l->max));
	if (p->failed)
		printf("first failure: %s\n", p->first_failure);
}
