/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - statistics: report.h
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"
#include "gateway/report.h"

void gw_stats_total(struct gateway *gw, struct gw_stats *out)
{
	pthread_mutex_lock(&gw->lock);
	*out = gw->ended;
	for (struct gw_client *c = gw->clients; c; c = c->all_next) {
		pthread_mutex_lock(&c->lock);
		gw_stats_add(out, &c->stats);
		pthread_mutex_unlock(&c->lock);
	}
	pthread_mutex_unlock(&gw->lock);
}

/* One JSON document. Any thread. */
static void stats_print(FILE *f, void *ctx)
{
	struct gw_report *r = ctx;
	struct gateway *gw = r->gw;
	const char *sep = "";
	char server[64];
	struct gw_stats s;
	uint64_t accepted, since;

	gw_stats_total(gw, &s);
	pthread_mutex_lock(&gw->lock);
	accepted = gw->accepted;
	pthread_mutex_unlock(&gw->lock);
	fprintf(f, "{\"clients\": %u, \"clients_accepted\": %" PRIu64 ",\n ",
		atomic_load(&gw->nclients), accepted);
	since = gw_server_current(gw, server);
	if (since)
		fprintf(f,
			"\"server\": \"%s\", \"server_seconds\": %" PRIu64
			",\n ",
			server, (base_now_ns() - since) / 1000000000u);
	fputs("\"gateway\": {", f);
#define PRINT(name, help)                                     \
	fprintf(f, "%s\"" #name "\": %" PRIu64, sep, s.name); \
	sep = ", ";
	GW_STATS(PRINT)
#undef PRINT
	fputs("},\n \"transport\":\n", f);
	stats_json(f, &r->source);
	fputs("}\n", f);
}

void gw_report(struct gw_report *r)
{
	const char *path = r->gw->opt.stats_file;
	FILE *f;
	bool bad;

	if (r->gw->opt.stats) {
		stats_print(stdout, r);
		fflush(stdout);
	}
	if (path) {
		f = fopen(path, "we");
		if (f)
			stats_print(f, r);
		bad = !f || ferror(f);
		if (f && fclose(f))
			bad = true;
		if (bad)
			gw_log(r->gw, LOG_ERR, "--stats-file %s: %s", path,
			       strerror(errno));
	}
}

int gw_report_start(struct gw_report *r)
{
	const char *path = r->gw->opt.stats_socket;
	int rc;

	if (!path)
		return 0;
	rc = stats_socket_start_with(path, stats_print, r, &r->socket);
	if (rc)
		gw_log(r->gw, LOG_ERR, "--stats-socket %s: %s", path,
		       strerror(-rc));
	return rc;
}

void gw_report_stop(struct gw_report *r)
{
	stats_socket_stop(r->socket);
}
