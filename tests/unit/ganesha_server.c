/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a server ends: in order, each part once. And if a worker does not return
 * from a request, nothing that it may still use is taken away, however often it is
 * asked for. What the server is made of is stood in for here.
 */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "ganesha/serve/server.h"
#include "ganesha/serve/stats_dbus.h"
#include "gss/gss.h"
#include "ntirpc/read_buffer.h"
#include "unit.h"

/* One of each, never looked into. */
static char inst, clnts, auth, stats;
static bool workers_end, busy, held;
static int begins; /* 0, or how it does not */
static const char *begins_not; /* its own words for that */
static unsigned int lent; /* buffers of READs that Ganesha has */
static unsigned int left; /* connections that do not end by themselves */
static unsigned int most_hosts;
static char did[256];

static void note(const char *what)
{
	strcat(did, what);
	strcat(did, " ");
}

void gr_stats_dbus_stop(void)
{
	note("dbus");
}

void gr_liveness_set(struct gr_liveness *l, struct rt_instance *i,
		     struct gr_watchdog *w)
{
	(void)l;
	(void)i;
	(void)w;
}

void gr_admin_stop(struct gr_admin *a)
{
}

void gr_accounting_look(struct gr_accounting *a, uint64_t now, bool last)
{
	CU_ASSERT_TRUE(last);
	note("account");
}

void nrt_names_init(struct nrt_names *names)
{
}

void stats_socket_stop(struct stats_socket *s)
{
	note("stats");
}

void bc_server_close(struct bc_server *n)
{
	note("close");
}

unsigned int nrt_read_count(void)
{
	return lent;
}

bool bc_server_busy(struct bc_server *n)
{
	return busy;
}

void bc_server_destroy(struct bc_server *n)
{
	note("clnts");
}

unsigned int rt_instance_shutdown(struct rt_instance *i, unsigned int ms,
				  bool abort)
{
	note(abort ? "abort" : "drain");
	return abort ? 0 : left;
}

bool rt_instance_held(const struct rt_instance *i)
{
	return held;
}

void rt_instance_destroy(struct rt_instance *i)
{
	note("instance");
}

bool gr_workers_stop(struct gr_workers *w, unsigned int ms)
{
	note("stop");
	return workers_end;
}

void gr_workers_free(struct gr_workers *w)
{
	note("workers");
}

void auth_gss_destroy(struct auth_gss *g)
{
	note("auth");
}

void gr_hosts_init(struct gr_hosts *g, unsigned int max_connections,
		   void (*submit)(struct gr_hosts *g, struct svc_req *req))
{
	most_hosts = max_connections;
}

void gr_server_resume(struct gr_hosts *g, struct svc_req *req)
{
}

int gr_server_begin(struct gr_server *s, char *fault)
{
	if (begins) {
		strcpy(fault, begins_not);
		return begins;
	}
	s->inst = (struct rt_instance *)(void *)&inst;
	s->back = (struct bc_server *)(void *)&clnts;
	s->auth = (struct auth_gss *)(void *)&auth;
	s->stats = (struct stats_socket *)(void *)&stats;
	return 0;
}

static char logged[128];

static void keep(int component, const char *file, int line,
		 const char *function, int level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(logged, sizeof(logged), format, args);
	va_end(args);
}

static const struct gsh gsh = { .log = keep };
static struct gr_server server;
static SVCXPRT parent;

static void begin(void)
{
	memset(&server, 0, sizeof(server));
	memset(&parent, 0, sizeof(parent));
	server.gsh = &gsh;
	parent.xp_fd = -1;
	parent.xp_refcnt = 1;
	server.cfg.rt.max_connections = 4096;
	*did = *logged = '\0';
	workers_end = true;
	busy = held = false;
	lent = 0;
	left = 0;
	CU_ASSERT_TRUE_FATAL(gr_server_start(&server, &parent));
	CU_ASSERT_EQUAL(parent.xp_refcnt, 2);
	CU_ASSERT_EQUAL(most_hosts, 4096);
	CU_ASSERT_TRUE(server.control.running);
}

/* In two steps, as by Ganesha's shutdown. */
static void end(const char *drained, const char *freed)
{
	gr_server_drain(&server);
	CU_ASSERT_STRING_EQUAL(did, drained);
	*did = '\0';
	gr_server_free(&server);
	CU_ASSERT_STRING_EQUAL(did, freed);
	CU_ASSERT_FALSE(server.control.running);
}

#define FREED "abort workers clnts instance auth "

static void ends(void)
{
	begin();
	end("dbus stats close drain stop account ", FREED);
	CU_ASSERT_EQUAL(parent.xp_refcnt, 1);
	CU_ASSERT_PTR_NULL(server.inst);
	/* One that had to be helped. */
	begin();
	left = 1;
	end("dbus stats close drain stop abort account ", FREED);
	CU_ASSERT_EQUAL(parent.xp_refcnt, 1);
}

/* Somebody else may let go of it at any time. */
static void kept(void)
{
	begin();
	held = true;
	end("dbus stats close drain stop account ", "abort workers ");
	begin();
	busy = true;
	end("dbus stats close drain stop account ", "abort workers ");
	begin();
	lent = 1;
	end("dbus stats close drain stop account ", "abort workers ");
}

static void abandoned(void)
{
	begin();
	workers_end = false;
	left = 1;
	end("dbus stats close drain stop ", "");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(logged, "a worker does not return from a request"));
	/* Ganesha's listener is the model of what the worker may have to do with,
	 * and it answers by the instance. */
	CU_ASSERT_EQUAL(parent.xp_refcnt, 2);
	CU_ASSERT_PTR_EQUAL((void *)server.inst, (void *)&inst);
	CU_ASSERT_PTR_EQUAL((void *)server.back, (void *)&clnts);
	gr_server_free(&server);
	CU_ASSERT_STRING_EQUAL(did, "");
}

/* What is wrong is told in its own words, where it has some. */
static void fails(void)
{
	static const char *const texts[][2] = {
		{ "no such device", "no such device" },
		{ "", "cannot start: No such device" },
	};

	for (unsigned int i = 0; i < 2; i++) {
		memset(&server, 0, sizeof(server));
		memset(&parent, 0, sizeof(parent));
		server.gsh = &gsh;
		parent.xp_fd = -1;
		parent.xp_refcnt = 1;
		*did = *logged = '\0';
		begins = -ENODEV;
		begins_not = texts[i][0];
		CU_ASSERT_FALSE(gr_server_start(&server, &parent));
		begins = 0;
		CU_ASSERT_STRING_EQUAL(server.fault, texts[i][1]);
		CU_ASSERT_PTR_NOT_NULL(strstr(logged, texts[i][1]));
		CU_ASSERT_EQUAL(parent.xp_refcnt, 1);
		CU_ASSERT_FALSE(server.control.running);
	}
}

static const struct unit_test tests[] = {
	{ "ends", ends },
	{ "kept", kept },
	{ "a worker that does not return", abandoned },
	{ "does not start", fails },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-server", tests)
