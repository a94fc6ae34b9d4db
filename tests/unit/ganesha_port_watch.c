/* SPDX-License-Identifier: BSD-3-Clause */
/* Ports that count errors: which of it the log gets, and how often. */
#include <stdarg.h>
#include <string.h>

#include "ganesha/serve/port_watch.h"
#include "unit.h"

static struct fab_port ports[2 * GR_PORTS];
static unsigned int nports, looks;

void rt_for_each_port(struct rt_instance *inst, fab_port_fn fn, void *arg)
{
	looks++;
	for (unsigned int i = 0; i < nports; i++)
		fn(&ports[i], arg);
}

static char logged[4096];
static unsigned int nlogged;

static void keep(int component, const char *file, int line,
		 const char *function, int level, const char *format, ...)
{
	va_list args;

	CU_ASSERT_EQUAL(level, GSH_WARN);
	va_start(args, format);
	vsnprintf(logged, sizeof(logged), format, args);
	va_end(args);
	nlogged++;
}

static const struct gsh gsh = { .log = keep };
static struct gr_port_watch w;
static uint64_t now;

static void begin(unsigned int n)
{
	memset(&w, 0, sizeof(w));
	memset(ports, 0, sizeof(ports));
	nports = n;
	for (unsigned int i = 0; i < n; i++) {
		snprintf(ports[i].device, sizeof(ports[i].device), "mlx5_%u",
			 i / 2);
		ports[i].port = 1 + i % 2;
	}
	now = 1000;
	looks = 0;
}

/* Returns how many lines there were at the next look. */
static unsigned int look(void)
{
	*logged = '\0';
	nlogged = 0;
	gr_port_watch_look(&w, &gsh, NULL, now);
	now += GR_PORT_LOOK_MS;
	return nlogged;
}

static void climb(void)
{
	begin(2);
	/* What was counted before the server does not concern it. */
	ports[0].count[FAB_PORT_retransmitted] = 1000000;
	CU_ASSERT_EQUAL(look(), 0);
	CU_ASSERT_EQUAL(look(), 0);
	ports[0].count[FAB_PORT_retransmitted] += 4;
	ports[0].count[FAB_PORT_duplicates] += 3;
	ports[0].count[FAB_PORT_timeouts] += 2;
	ports[0].count[FAB_PORT_out_of_sequence] += 1;
	CU_ASSERT_EQUAL(look(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		logged,
		"rpcrdma: RDMA device mlx5_0, port 1: in 30 s 7 packets were sent "
		"again, 2 acknowledgements came too late, 1 packets were out of "
		"sequence: the network loses or reorders packets"));
}

/* One in a while, and what does not come from the network. */
static void few(void)
{
	begin(1);
	CU_ASSERT_EQUAL(look(), 0);
	for (unsigned int i = 0; i < 20; i++) {
		ports[0].count[FAB_PORT_timeouts] += GR_PORT_ERRORS - 1;
		ports[0].count[FAB_PORT_rnr] += 1000;
		ports[0].count[FAB_PORT_congestion] += 1000;
		CU_ASSERT_EQUAL(look(), 0);
	}
}

static void quiet(void)
{
	unsigned int lines = 0;

	begin(2);
	look();
	for (uint64_t end = now + 3 * GR_PORT_QUIET_MS - 2 * GR_PORT_LOOK_MS;
	     now < end;) {
		ports[1].count[FAB_PORT_timeouts] += 10;
		lines += look();
	}
	CU_ASSERT_EQUAL(lines, 3);
	/* The other port has lines of its own. */
	ports[0].count[FAB_PORT_timeouts] += 10;
	CU_ASSERT_EQUAL(look(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(logged, "mlx5_0, port 1: in 30 s"));
	/* The next line covers all since the one before. */
	while (!look() || !strstr(logged, "port 2"))
		ports[1].count[FAB_PORT_timeouts] += 10;
	CU_ASSERT_PTR_NOT_NULL(strstr(
		logged, "port 2: in 600 s 0 packets were sent again, 1"));
}

static void reset(void)
{
	begin(1);
	ports[0].count[FAB_PORT_timeouts] = 500;
	ports[0].count[FAB_PORT_out_of_sequence] = 5;
	look();
	ports[0].count[FAB_PORT_timeouts] = 3;
	ports[0].count[FAB_PORT_out_of_sequence] = 500;
	CU_ASSERT_EQUAL(look(), 0);
	ports[0].count[FAB_PORT_timeouts] = 13;
	CU_ASSERT_EQUAL(look(), 1);
}

static void interval(void)
{
	begin(1);
	look();
	now -= 1;
	look();
	CU_ASSERT_EQUAL(looks, 1);
	look();
	CU_ASSERT_EQUAL(looks, 2);
}

static void many(void)
{
	begin(2 * GR_PORTS);
	look();
	CU_ASSERT_EQUAL(w.n, GR_PORTS);
	for (unsigned int i = 0; i < nports; i++)
		ports[i].count[FAB_PORT_timeouts] = 10;
	CU_ASSERT_EQUAL(look(), GR_PORTS);
}

static const struct unit_test tests[] = {
	{ "climb", climb }, { "few", few },	      { "quiet", quiet },
	{ "reset", reset }, { "interval", interval }, { "many", many },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-port-watch", tests)
