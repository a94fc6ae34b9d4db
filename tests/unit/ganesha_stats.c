/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of a real pair of instances, as JSON and by the methods of the
 * object on D-Bus. The bus itself is not here: what Ganesha registers is taken
 * down, and its methods are called as Ganesha does, with libdbus' messages.
 */
#include "ganesha/serve/stats_dbus.h"

#include <dbus/dbus.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "rt_pair.h"
#include "rpcrdma/nfs.h"
#include "unit.h"

static const struct rt_config with_user = {
	.request_user_size = sizeof(void *),
};

/* ---- What the object calls, stood in for --------------------------------- */

static char asked[128];
static bool refuses;
static unsigned int changes;

static bool asks(char text[GR_ADMIN_ROOM])
{
	snprintf(text, GR_ADMIN_ROOM, "%s: %s", refuses ? "no" : "done", asked);
	return !refuses;
}

bool gr_admin_evict(struct gr_admin *a, const char *who, unsigned int seconds,
		    char text[GR_ADMIN_ROOM])
{
	snprintf(asked, sizeof(asked), "evict %s %u", who, seconds);
	return asks(text);
}

bool gr_admin_drain(struct gr_admin *a, unsigned int seconds,
		    char text[GR_ADMIN_ROOM])
{
	snprintf(asked, sizeof(asked), "drain %u", seconds);
	return asks(text);
}

bool gr_admin_undrain(struct gr_admin *a, char text[GR_ADMIN_ROOM])
{
	snprintf(asked, sizeof(asked), "undrain");
	return asks(text);
}

bool gr_admin_set(struct gr_admin *a, const char *name, const char *value,
		  char text[GR_ADMIN_ROOM])
{
	snprintf(asked, sizeof(asked), "set %s %s", name, value);
	return asks(text);
}

static void changed(void)
{
	changes++;
}

/* ---- The object ----------------------------------------------------------- */

static const struct gsh_dbus_interface *const *registered;
static const char *registered_name;
static int32_t register_answer = 1;

static int32_t take_down(const char *name,
			 const struct gsh_dbus_interface *const *interfaces)
{
	registered_name = name;
	registered = interfaces;
	return register_answer;
}

static const struct gsh with_dbus = { .dbus_register_path = take_down };

static const struct gsh_dbus_method *find(const char *method)
{
	const struct gsh_dbus_method *const *m = registered[0]->methods;

	while (*m && strcmp((*m)->name, method) != 0)
		m++;
	CU_ASSERT_PTR_NOT_NULL_FATAL(*m);
	return *m;
}

/* Call @method of what was registered last. */
static DBusMessage *call(const char *method, DBusError *error)
{
	const struct gsh_dbus_method *m = find(method);
	DBusMessage *reply = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN);
	bool done;

	dbus_error_init(error);
	done = m->method(NULL, reply, error);
	CU_ASSERT_EQUAL(done, !dbus_error_is_set(error));
	if (done) {
		CU_ASSERT_STRING_EQUAL(m->args[0].direction, "out");
		CU_ASSERT_STRING_EQUAL(m->args[0].type,
				       dbus_message_get_signature(reply));
		CU_ASSERT_PTR_NULL(m->args[1].name);
	}
	return reply;
}

static void refused(const char *method, const char *name)
{
	DBusError error;

	dbus_message_unref(call(method, &error));
	CU_ASSERT_TRUE(dbus_error_has_name(&error, name));
	dbus_error_free(&error);
}

static void open_pair(struct rt_pair *p, struct stats_source *src)
{
	CU_ASSERT_TRUE_FATAL(rt_pair_open(p, &with_user, &with_user, NULL));
	p->op_class = ULB_CLASS_commit;
	for (uint32_t i = 0; i < 20; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(p, p->client, 100 + i, i, false,
					   8 + i * 4, 0, 0, 0, 0));
	*src = (struct stats_source){ .inst = p->server_inst,
				      .program = "unit",
				      .provider = "loop" };
}

static void answers(void)
{
	struct stats_source src;
	const char *text;
	struct rt_pair p;
	DBusMessage *m;
	DBusError error;

	open_pair(&p, &src);
	CU_ASSERT_PTR_NULL(gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	CU_ASSERT_STRING_EQUAL(registered_name, "rdma");
	CU_ASSERT_STRING_EQUAL(registered[0]->name, "org.ganesha.nfsd.rdma");
	CU_ASSERT_PTR_NULL(registered[1]);

	m = call("GetStatistics", &error);
	CU_ASSERT_TRUE_FATAL(dbus_message_get_args(m, &error, DBUS_TYPE_STRING,
						   &text, DBUS_TYPE_INVALID));
	CU_ASSERT_PTR_EQUAL(strstr(text, "{\"program\": \"unit\", "
					 "\"version\": "),
			    text);
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"calls_received\": 20, "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "\"role\": \"server\""));
	dbus_message_unref(m);

	/* One of others has a version of its own. */
	src.program_version = "4.3";
	m = call("GetStatistics", &error);
	CU_ASSERT_TRUE_FATAL(dbus_message_get_args(m, &error, DBUS_TYPE_STRING,
						   &text, DBUS_TYPE_INVALID));
	CU_ASSERT_PTR_EQUAL(strstr(text, "{\"program\": \"unit\", "
					 "\"program_version\": \"4.3\", "
					 "\"version\": "),
			    text);
	dbus_message_unref(m);

	gr_stats_dbus_stop();
	rt_pair_close(&p);
}

static void no_object(void)
{
	static const struct gsh without = { .dbus_register_path = NULL };
	struct stats_source src;
	struct rt_pair p;

	open_pair(&p, &src);
	CU_ASSERT_PTR_NOT_NULL(gr_stats_dbus_start(&without, &src, NULL, NULL));
	register_answer = 0;
	CU_ASSERT_PTR_NOT_NULL(
		gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	register_answer = 1;
	refused("GetStatistics", "org.ganesha.nfsd.rdma.Error.NotServing");

	/* Ganesha keeps the object when RDMA has ended. */
	CU_ASSERT_PTR_NULL(gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	gr_stats_dbus_stop();
	gr_stats_dbus_stop();
	rt_pair_close(&p);
	refused("GetStatistics", "org.ganesha.nfsd.rdma.Error.NotServing");
}

/* Call @method with the arguments, strings or, if @text2 is NULL and @number is not 0, a number
 * behind the first. Returns the answer, or the name of the error, until the next call. */
static const char *request(const char *method, const char *text1,
			   const char *text2, const uint32_t *number)
{
	DBusMessage *in = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_CALL);
	DBusMessage *reply = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN);
	DBusMessageIter out, args;
	static char answer[512];
	const char *text = "";
	DBusError error;

	dbus_message_iter_init_append(in, &out);
	if (text1)
		dbus_message_iter_append_basic(&out, DBUS_TYPE_STRING, &text1);
	if (text2)
		dbus_message_iter_append_basic(&out, DBUS_TYPE_STRING, &text2);
	if (number)
		dbus_message_iter_append_basic(&out, DBUS_TYPE_UINT32, number);
	dbus_error_init(&error);
	/* As Ganesha does: NULL if there are none. */
	if (find(method)->method(dbus_message_iter_init(in, &args) ? &args :
								     NULL,
				 reply, &error))
		CU_ASSERT_TRUE(dbus_message_get_args(reply, NULL,
						     DBUS_TYPE_STRING, &text,
						     DBUS_TYPE_INVALID));
	snprintf(answer, sizeof(answer), "%s%s%s",
		 error.name ? error.name : text, error.name ? " " : "",
		 error.name ? error.message : "");
	dbus_error_free(&error);
	dbus_message_unref(reply);
	dbus_message_unref(in);
	return answer;
}

static void administers(void)
{
	static const uint32_t seven = 7;
	struct gr_admin admin = { .gsh = NULL };
	struct stats_source src;
	struct rt_pair p;

	open_pair(&p, &src);
	CU_ASSERT_PTR_NULL(
		gr_stats_dbus_start(&with_dbus, &src, &admin, changed));
	CU_ASSERT_STRING_EQUAL(request("Evict", "192.0.2.1", NULL, &seven),
			       "done: evict 192.0.2.1 7");
	CU_ASSERT_STRING_EQUAL(request("Set", "Allow", "10.0.0.0/8", NULL),
			       "done: set Allow 10.0.0.0/8");
	CU_ASSERT_EQUAL(changes, 0);
	CU_ASSERT_STRING_EQUAL(request("Drain", NULL, NULL, &seven),
			       "done: drain 7");
	CU_ASSERT_EQUAL(changes, 1);
	CU_ASSERT_STRING_EQUAL(request("Undrain", NULL, NULL, NULL),
			       "done: undrain");
	CU_ASSERT_EQUAL(changes, 2);
	refuses = true;
	CU_ASSERT_STRING_EQUAL(
		request("Drain", NULL, NULL, &seven),
		"org.ganesha.nfsd.rdma.Error.Refused no: drain 7");
	CU_ASSERT_EQUAL(changes, 2);
	refuses = false;

	/* Arguments that are missing, of another type, or too many. */
	*asked = '\0';
	for (unsigned int i = 0; i < 7; i++) {
		const char *is =
			i == 0 ? request("Evict", NULL, NULL, NULL) :
			i == 1 ? request("Evict", "x", NULL, NULL) :
			i == 2 ? request("Evict", "x", "y", NULL) :
			i == 3 ? request("Drain", "x", NULL, NULL) :
			i == 4 ? request("Undrain", NULL, NULL, &seven) :
			i == 5 ? request("Set", "x", "y", &seven) :
				 request("Set", "x", NULL, &seven);

		CU_ASSERT_PTR_EQUAL(strstr(is, DBUS_ERROR_INVALID_ARGS), is);
	}
	CU_ASSERT_STRING_EQUAL(asked, "");
	gr_stats_dbus_stop();
	CU_ASSERT_PTR_NOT_NULL(strstr(request("Undrain", NULL, NULL, NULL),
				      "no longer served"));
	CU_ASSERT_STRING_EQUAL(asked, "");
	rt_pair_close(&p);
}

static void too_long(void)
{
	static char name[9 << 20];
	struct stats_source src;
	struct rt_pair p;

	memset(name, 'n', sizeof(name) - 1);
	open_pair(&p, &src);
	src.program = name;
	CU_ASSERT_PTR_NULL(gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	refused("GetStatistics", DBUS_ERROR_LIMITS_EXCEEDED);
	gr_stats_dbus_stop();
	rt_pair_close(&p);
}

/* A string of the document: JSON must be UTF-8, and D-Bus as well. */
static void text(void)
{
	static const struct {
		const char *in, *out;
	} cases[] = {
		{ "a\"b\\c\n\x01", "a\\\"b\\\\c\\u000a\\u0001" },
		{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "\xef\xbf\xbf\xf4\x8f\xbf\xbf",
		  "\xef\xbf\xbf\xf4\x8f\xbf\xbf" },
		{ "a\xff"
		  "b",
		  "a\\ufffdb" },
		{ "\xc0\x80", "\\ufffd\\ufffd" }, /* longer than needed */
		{ "\xe0\x80\x80", "\\ufffd\\ufffd\\ufffd" },
		{ "\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd" }, /* a surrogate */
		{ "\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd" },
		{ "\xe2\x82", "\\ufffd\\ufffd" }, /* the end comes too soon */
		{ "\xe2\x82z", "\\ufffd\\ufffdz" },
	};
	char want[64], *got = NULL;
	struct stats_source src;
	struct rt_pair p;
	DBusError error;
	size_t len;
	FILE *f;

	open_pair(&p, &src);
	CU_ASSERT_PTR_NULL(gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		src.program = cases[i].in;
		f = open_memstream(&got, &len);
		stats_json(f, &src);
		fclose(f);
		snprintf(want, sizeof(want), "{\"program\": \"%s\", ",
			 cases[i].out);
		CU_ASSERT_EQUAL(strncmp(got, want, strlen(want)), 0);
		/* Stages that nothing went through are left out. */
		CU_ASSERT_PTR_NULL(strstr(got, "\"count\": 0,"));
		free(got);
		dbus_message_unref(call("GetStatistics", &error));
	}
	gr_stats_dbus_stop();
	rt_pair_close(&p);
}

/* How many descriptors there are is told also when there is none left to count them. */
static void descriptors(void)
{
	struct rlimit limit, few;
	struct stats_source src;
	char *got = NULL;
	unsigned int used = 0;
	int first = -1, fd;
	struct rt_pair p;
	char want[64];
	size_t len;
	FILE *f;

	open_pair(&p, &src);
	getrlimit(RLIMIT_NOFILE, &limit);
	few = limit;
	few.rlim_cur = 100;
	setrlimit(RLIMIT_NOFILE, &few);
	while ((fd = dup(0)) >= 0)
		first = first < 0 ? fd : first;
	f = open_memstream(&got, &len);
	stats_json(f, &src);
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		got, "\"descriptors\": {\"used\": 100, \"limit\": 100}"));
	free(got);
	close(99);
	close(98);
	f = open_memstream(&got, &len);
	stats_json(f, &src);
	fclose(f);
	/* Those beyond the limit are inherited. */
	for (fd = 0; fd < 1024; fd++)
		used += fcntl(fd, F_GETFD) >= 0;
	snprintf(want, sizeof(want),
		 "\"descriptors\": {\"used\": %u, \"limit\": 100}", used);
	CU_ASSERT_PTR_NOT_NULL(strstr(got, want));
	free(got);
	while (first < 98)
		close(first++);
	setrlimit(RLIMIT_NOFILE, &limit);
	rt_pair_close(&p);
}

struct asker {
	const struct gsh_dbus_method *method;
	atomic_uint answered;
};

/* CUnit is main's. */
static void *ask(void *arg)
{
	struct asker *a = arg;
	DBusMessage *reply;
	DBusError error;
	bool served;

	do {
		dbus_error_init(&error);
		reply = dbus_message_new(DBUS_MESSAGE_TYPE_METHOD_RETURN);
		served = a->method->method(NULL, reply, &error);
		dbus_message_unref(reply);
		dbus_error_free(&error);
		if (served)
			atomic_fetch_add(&a->answered, 1);
	} while (served);
	return NULL;
}

/* Ganesha's D-Bus thread asks on while RDMA ends. */
static void ending(void)
{
	struct asker a = { .answered = 0 };
	struct stats_source src;
	struct rt_pair p;
	pthread_t t;

	open_pair(&p, &src);
	CU_ASSERT_PTR_NULL(gr_stats_dbus_start(&with_dbus, &src, NULL, NULL));
	a.method = find("GetStatistics");
	CU_ASSERT_EQUAL_FATAL(pthread_create(&t, NULL, ask, &a), 0);
	for (uint32_t i = 0; atomic_load(&a.answered) < 50; i++)
		CU_ASSERT_TRUE(rt_rpc_trip(&p, p.client, 1000 + i, 8, false, 8,
					   0, 0, 0, 0));
	gr_stats_dbus_stop();
	rt_pair_close(&p);
	pthread_join(t, NULL);
}

static const struct unit_test tests[] = {
	{ "answers", answers },
	{ "no object", no_object },
	{ "administers", administers },
	{ "too long", too_long },
	{ "text", text },
	{ "descriptors", descriptors },
	{ "ending", ending },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	/* The library may be called by several threads, and finds no bus. */
	dbus_threads_init_default();
	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere/bus", 1);
	return unit_run("ganesha-stats", tests, argc, argv);
}
