/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of rpcrdma-gateway: each option changes what it names, and
 * nothing else; what is refused is refused with one line.
 */
#include <arpa/inet.h>
#include <syslog.h>

#include "gateway/options.h"
#include "said.h"

#define MOST_ARGS 24
#define SERVER "--server", "127.0.0.1"

/* All that an option may change. */
#define FIELDS(X)                             \
	X(nlisten)                            \
	X(rdma.hostauth.keytab)               \
	X(rdma.hostauth.principal)            \
	X(rdma.hostauth.server_principal)     \
	X(rdma.hostauth.timeout)              \
	X(rdma.provider)                      \
	X(rdma.config.versions)               \
	X(rdma.config.extensions)             \
	X(rdma.config.placement_size)         \
	X(rdma.config.no_placement)           \
	X(rdma.config.credits)                \
	X(rdma.config.recv_size)              \
	X(rdma.config.send_size)              \
	X(rdma.config.max_segment_size)       \
	X(rdma.config.max_message)            \
	X(rdma.config.max_connections)        \
	X(rdma.config.max_memory)             \
	X(rdma.config.call_read_chunks)       \
	X(rdma.config.call_write_chunks)      \
	X(rdma.config.call_format)            \
	X(rdma.config.reverse)                \
	X(rdma.config.no_remote_invalidation) \
	X(rdma.config.auth)                   \
	X(rdma.config.auth_ms)                \
	X(rdma.domain.crc)                    \
	X(rdma.domain.service_type_given)     \
	X(rdma.domain.service_type)           \
	X(threads)                            \
	X(max_clients)                        \
	X(max_calls)                          \
	X(max_record)                         \
	X(reduce_min)                         \
	X(retry_seconds)                      \
	X(stats_socket)                       \
	X(stats_file)                         \
	X(stats)                              \
	X(reserved_ports)                     \
	X(log_level)

static int status;

/* As the program would be called with @args, NULL at the end. */
static int parse(struct gw_options *o, const char *const *args)
{
	char *argv[MOST_ARGS + 2] = { (char[]){ "rpcrdma-gateway" } };
	int argc = 1, err;

	while (*args)
		argv[argc++] = (char *)(uintptr_t)*args++;
	status = -1;
	said_begin();
	err = gw_options_parse(o, argc, argv, &status);
	said_end();
	return err;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

/* The text of the first field that differs, or NULL. */
static const char *differs(const struct gw_options *a,
			   const struct gw_options *b)
{
#define TEXT(f)                                            \
	(strstr(#f, "provider") || strstr(#f, "stats_") || \
	 strstr(#f, "hostauth.k") || strstr(#f, "principal"))
#define COMPARE(f)                                                \
	if (TEXT(f) ? !same_text((const char *)(uintptr_t)a->f,   \
				 (const char *)(uintptr_t)b->f) : \
		      a->f != b->f)                               \
		return #f;
	FIELDS(COMPARE)
#undef COMPARE
#undef TEXT
	return NULL;
}

static void defaults(struct gw_options *o)
{
	CU_ASSERT_EQUAL_FATAL(parse(o, (const char *[]){ SERVER, NULL }), 0);
	CU_ASSERT_STRING_EQUAL(said, "");
}

static uint16_t port(const struct arg_addr *a)
{
	return ntohs(((const struct sockaddr_in *)&a->addr)->sin_port);
}

static void test_defaults(void)
{
	struct gw_options o;

	defaults(&o);
	CU_ASSERT_EQUAL(port(&o.rdma.server.at[0]), 20049);
	CU_ASSERT_EQUAL(o.nlisten, 1);
	CU_ASSERT_EQUAL(port(&o.listen[0]), 20050);
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.server, "127.0.0.1");
	CU_ASSERT_STRING_EQUAL(o.rdma.provider, "iwarp");
	CU_ASSERT_EQUAL(o.rdma.domain.crc, FAB_CRC_AUTO);
	CU_ASSERT_EQUAL(o.threads, 1);
	CU_ASSERT_EQUAL(o.max_clients, 256);
	CU_ASSERT_EQUAL(o.max_calls, 128);
	CU_ASSERT_EQUAL(o.max_record, 2176u << 10);
	CU_ASSERT_EQUAL(o.rdma.config.max_message, 2176u << 10);
	CU_ASSERT_EQUAL(o.rdma.config.busy_recv_size, 65536);
	CU_ASSERT_EQUAL(o.reduce_min, 1024);
	CU_ASSERT_EQUAL(o.retry_seconds, 60);
	CU_ASSERT_EQUAL(o.log_level, LOG_NOTICE);
	CU_ASSERT_EQUAL(o.rdma.config.reverse, RDMA2_RVRSDIR_CONT);
	CU_ASSERT_FALSE(o.stats);
	CU_ASSERT_FALSE(o.reserved_ports);
	gw_options_free(&o);
}

/* After each, the fields named are as given, and no other has changed. */
static void test_each(void)
{
#define OPT(...)                          \
	(const char *const[])             \
	{                                 \
		SERVER, __VA_ARGS__, NULL \
	}
#define CASE(expect, ...)                                                \
	do {                                                             \
		const char *other;                                       \
		defaults(&want);                                         \
		expect;                                                  \
		CU_ASSERT_EQUAL_FATAL(parse(&o, OPT(__VA_ARGS__)), 0);   \
		other = differs(&o, &want);                              \
		if (other)                                               \
			printf("%s: %s differs\n", #__VA_ARGS__, other); \
		CU_ASSERT_PTR_NULL(other);                               \
		gw_options_free(&o);                                     \
	} while (0)
	struct gw_options o, want;

	CASE(want.rdma.provider = "iwarp", "--provider", "iwarp");
	CASE(want.threads = 3, "--threads", "3");
	CASE(want.reserved_ports = true, "--reserved-ports");
	CASE(want.max_clients = 5, "--max-clients", "5");
	CASE(want.max_clients = want.rdma.config.max_connections = 4096,
	     "--max-clients", "4096");
	CASE(want.max_calls = 7, "--max-calls", "7");
	CASE(want.max_record = 8192;
	     want.rdma.config.max_message = (1u << 20) + (64u << 10),
	     "--max-record", "8192");
	CASE(want.max_record = want.rdma.config.max_message = 3u << 20,
	     "--max-record", "3M");
	CASE(want.rdma.config.max_memory = 64u << 20, "--max-memory", "64M");
	CASE(want.retry_seconds = 9, "--retry-seconds", "9");
	CASE(want.rdma.config.versions = 2, "--version-rdma", "1");
	CASE(want.rdma.config.extensions = RT_EXT_XCHAR, "--extensions",
	     "xcharext");
	CASE(want.rdma.config.credits = 11, "--credits", "11");
	CASE(want.rdma.config.recv_size = 8192, "--recv-size", "8192");
	CASE(want.rdma.config.reverse = 0, "--reverse", "none");
	CASE(want.rdma.config.reverse = 1, "--reverse", "simple");
	CASE(want.rdma.config.reverse = 3, "--reverse", "general");
	CASE(want.rdma.domain.crc = FAB_CRC_ON, "--crc", "on");
	CASE(want.rdma.domain.service_type_given = true, "--service-type", "0");
	CASE(want.rdma.domain.service_type_given = true;
	     want.rdma.domain.service_type = 255, "--service-type", "255");
	CASE(want.rdma.config.auth = RT_AUTH_OPTIONAL;
	     want.rdma.hostauth.server_principal = "s", "--host-auth",
	     "optional", "--server-principal", "s");
	CASE(want.rdma.config.auth = RT_AUTH_REQUIRED;
	     want.rdma.hostauth.keytab = "k";
	     want.rdma.hostauth.principal = "p";
	     want.rdma.hostauth.server_principal = "s";
	     want.rdma.hostauth.timeout = 4;
	     want.rdma.config.auth_ms = 4000, "--host-auth", "required",
	     "--keytab", "k", "--principal", "p", "--server-principal", "s",
	     "--host-auth-timeout", "4");
	/* The same the other way round: each is taken by one only. */
	CASE(want.rdma.config.auth = RT_AUTH_REQUIRED;
	     want.rdma.hostauth.keytab = "k";
	     want.rdma.hostauth.principal = "p";
	     want.rdma.hostauth.server_principal = "s", "--server-principal",
	     "s", "--principal", "p", "--keytab", "k", "--host-auth",
	     "required");
	CASE(want.stats = true, "--stats");
	CASE(want.stats_file = "f", "--stats-file", "f");
	CASE(want.stats_socket = "u", "--stats-socket", "u");
	CASE(want.log_level = LOG_ERR, "--quiet");
	CASE(want.log_level = LOG_DEBUG, "--verbose");
	CASE(want.rdma.config.send_size = 8192, "--debug", "send-size=8192");
	CASE(want.rdma.config.placement_size = 8192, "--debug",
	     "placement-size=8192");
	CASE(want.rdma.config.no_placement = true, "--debug",
	     "placement-size=0");
	CASE(want.rdma.config.max_segment_size = 65536, "--debug",
	     "max-segment-size=65536");
	CASE(want.rdma.config.call_format = RT_FORMAT_CONTINUED, "--debug",
	     "call-format=continued");
	CASE(want.rdma.config.call_format = RT_FORMAT_SPECIAL, "--debug",
	     "call-format=special");
	CASE(want.rdma.config.call_read_chunks =
		     want.rdma.config.call_write_chunks = 3,
	     "--debug", "chunks=3");
	CASE(want.reduce_min = 77, "--debug", "reduce-min=77");
	CASE(want.rdma.config.no_remote_invalidation = true, "--debug",
	     "no-invalidate");
	CU_ASSERT_STRING_EQUAL(said, "");
	/* Those of version 0.1 do what they did, and say so. */
	CASE(want.reduce_min = 77, "--reduce-min", "77");
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "--debug reduce-min=VALUE\n"));
	CASE(want.rdma.config.no_remote_invalidation = true, "--no-invalidate");
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "--debug no-invalidate\n"));
#undef CASE
}

static void test_listen(void)
{
	const char *args[MOST_ARGS] = { SERVER };
	struct gw_options o;
	unsigned int n = 2;

	for (unsigned int i = 0; i < GW_MAX_LISTEN; i++) {
		static const char *const at[] = {
			"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3",
			"127.0.0.1:4", "127.0.0.1:5", "127.0.0.1:6",
			"127.0.0.1:7", "127.0.0.1:8",
		};

		args[n++] = "--listen";
		args[n++] = at[i];
		CU_ASSERT_EQUAL_FATAL(parse(&o, args), 0);
		CU_ASSERT_EQUAL(o.nlisten, i + 1);
		CU_ASSERT_EQUAL(port(&o.listen[i]), i + 1);
	}
	args[n++] = "--listen";
	args[n++] = "127.0.0.1:9";
	CU_ASSERT_NOT_EQUAL(parse(&o, args), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "8 times at most"));
}

/* One line, which names the option, and status 2. */
static void test_refused(void)
{
	static const struct {
		const char *args[4], *text;
	} bad[] = {
		{ { NULL }, "--server ADDR[:PORT] is needed\n" },
		{ { SERVER, "more" }, "takes options only" },
		{ { SERVER, "--provider", "nobody" }, "'nobody' is not" },
		{ { SERVER, "--threads", "0" }, "--threads: " },
		{ { SERVER, "--max-record", "4095" }, "from 4096 " },
		{ { SERVER, "--credits", "x" }, "--credits: " },
		{ { SERVER, "--call-format", "x" }, "--call-format: " },
		{ { SERVER, "--reverse", "x" }, "continued" },
		{ { SERVER, "--version-rdma", "3" }, "--version-rdma: " },
		{ { SERVER, "--extensions", "x" }, "--extensions: " },
		{ { SERVER, "--crc", "x" }, "--crc: " },
		{ { SERVER, "--listen", "127.0.0.1" }, "--listen: " },
		{ { SERVER, "--host-auth", "x" }, "--host-auth: " },
		{ { SERVER, "--keytab", "k" }, "--host-auth" },
		{ { SERVER, "--host-auth", "required" }, "nfs@HOST" },
		{ { SERVER, "--debug", "nothing=1" },
		  "'nothing=1' is not a name" },
		{ { SERVER, "--debug", "stats" }, "'stats' is not a name" },
		{ { SERVER, "--debug", "send-siz=1" }, "is not a name" },
		{ { SERVER, "--debug", "send-size" }, "needs a value" },
		{ { SERVER, "--debug", "send-size=" }, "needs a value" },
		{ { SERVER, "--debug", "no-invalidate=1" }, "takes no value" },
		{ { SERVER, "--debug", "chunks=0" }, "--debug: chunks: " },
		{ { SERVER, "--config", "/" }, "--config /: " },
	};
	struct gw_options o;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *args[5] = { NULL };

		memcpy(args, bad[i].args, sizeof(bad[i].args));
		CU_ASSERT_NOT_EQUAL(parse(&o, args), 0);
		CU_ASSERT_EQUAL(status, 2);
		CU_ASSERT_TRUE(said_has(bad[i].text, i));
		/* --call-format is told to be old as well. */
		CU_ASSERT_EQUAL(said_lines(),
				1u + !!strstr(said, "version 0.1"));
		gw_options_free(&o);
	}
}

/* A socket's path: as long as the kernel takes, and no longer. */
static void test_socket_path(void)
{
	char path[109];
	const char *args[] = { SERVER, "--stats-socket", path, NULL };
	struct gw_options o;

	memset(path, 'x', sizeof(path));
	path[107] = 0;
	CU_ASSERT_EQUAL(parse(&o, args), 0);
	path[107] = 'x';
	path[108] = 0;
	CU_ASSERT_NOT_EQUAL(parse(&o, args), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "107 bytes"));
}

/* --config with @text in it. */
static int parse_file(struct gw_options *o, const char *text)
{
	char path[] = "/tmp/gateway-options.XXXXXX";
	int fd = mkstemp(path), err;

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)),
			      (ssize_t)strlen(text));
	close(fd);
	err = parse(o, (const char *[]){ "--config", path, NULL });
	unlink(path);
	return err;
}

static void test_file(void)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{ "threads = 2\n", "or a line \"server = ADDR[:PORT]\" in "
				   "/tmp/gateway-options." },
		{ "server = 127.0.0.1\nnothing = 1\n", ":2: nothing: " },
		{ "server 192.0.2.1\n", "\"=\" is missing" },
		{ "server = 192.0.2.1 # ours\n",
		  "a comment must be on a line of its own" },
		{ "server 192.0.2.1\t# ours\n",
		  "a comment must be on a line of its own" },
		{ "stats # for us\n",
		  "a comment must be on a line of its own" },
		{ "help\n", "no such option in a file" },
		{ "version\n", "no such option in a file" },
		{ "config = x\n", "no such option in a file" },
		{ "threads\n", ":1: threads: needs a value" },
		{ "threads =\n", "needs a value" },
		{ "stats = 1\n", "takes no value" },
		{ "threads = 0\n", ":1: threads: " },
		{ "debug = nothing\n", "is not a name" },
	};
	struct gw_options o;

	CU_ASSERT_EQUAL_FATAL(parse_file(&o, "# here\n\nserver = 127.0.0.1:9\n"
					     "threads = 2\nstats\n"
					     "debug = chunks=2\n"
					     "send-size = 8192\n"),
			      0);
	CU_ASSERT_EQUAL(port(&o.rdma.server.at[0]), 9);
	CU_ASSERT_EQUAL(o.threads, 2);
	CU_ASSERT_TRUE(o.stats);
	CU_ASSERT_EQUAL(o.rdma.config.call_read_chunks, 2);
	CU_ASSERT_EQUAL(o.rdma.config.send_size, 8192);
	CU_ASSERT_EQUAL(said_lines(), 1);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "--debug send-size=VALUE"));
	gw_options_free(&o);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_NOT_EQUAL(parse_file(&o, bad[i].text), 0);
		CU_ASSERT_EQUAL(status, 2);
		CU_ASSERT_TRUE(said_has(bad[i].says, i));
		CU_ASSERT_EQUAL(said_lines(), 1);
		gw_options_free(&o);
	}
	CU_ASSERT_NOT_EQUAL(parse(&o, (const char *[]){ SERVER, "--config",
							"/dev/null", "--config",
							"/dev/null", NULL }),
			    0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "given twice"));
	gw_options_free(&o);
}

/* Each adds its addresses, once; those of the command line replace those of a file. */
static void test_servers(void)
{
	struct gw_options o;
	const char *args[2 * (GW_MAX_SERVERS + 1) + 1] = { NULL };
	unsigned int n = 0;

	CU_ASSERT_EQUAL_FATAL(
		parse(&o, (const char *[]){ "--server", "127.0.0.1:1",
					    "--server", "[::1]:2", "--server",
					    "127.0.0.1:1", NULL }),
		0);
	CU_ASSERT_EQUAL(o.nservers, 3);
	CU_ASSERT_STRING_EQUAL(o.server[1], "[::1]:2");
	CU_ASSERT_EQUAL(o.rdma.server.n, 2);
	CU_ASSERT_EQUAL(port(&o.rdma.server.at[0]), 1);
	CU_ASSERT_EQUAL(port(&o.rdma.server.at[1]), 2);
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.server, "127.0.0.1:1");
	CU_ASSERT_FALSE(o.rdma.server.is_name);
	gw_options_free(&o);
	CU_ASSERT_EQUAL_FATAL(parse_file(&o, "server = 127.0.0.1:8\n"
					     "server = 127.0.0.1:9\n"),
			      0);
	CU_ASSERT_EQUAL(o.nservers, 2);
	CU_ASSERT_EQUAL(o.rdma.server.n, 2);
	CU_ASSERT_EQUAL(port(&o.rdma.server.at[1]), 9);
	gw_options_free(&o);
	for (unsigned int i = 0; i <= GW_MAX_SERVERS; i++) {
		args[n++] = "--server";
		args[n++] = "127.0.0.1:1";
	}
	CU_ASSERT_NOT_EQUAL(parse(&o, args), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "8 times at most"));
	/* They have one name for host authentication. */
	CU_ASSERT_NOT_EQUAL(parse(&o, (const char *[]){ "--server", "localhost",
							"--server", "127.0.0.1",
							"--host-auth",
							"required", NULL }),
			    0);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "--server-principal"));
}

static const struct unit_test tests[] = {
	{ "defaults", test_defaults }, { "each", test_each },
	{ "listen", test_listen },     { "servers", test_servers },
	{ "refused", test_refused },   { "socket_path", test_socket_path },
	{ "file", test_file },	       { NULL, NULL },
};

UNIT_MAIN("gateway-options", tests)
