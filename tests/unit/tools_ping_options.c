/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The command line of rpcrdma-ping: what each option sets, the least and the
 * most that it takes, and what is refused.
 */
#include <arpa/inet.h>
#include <getopt.h>

#include "said.h"
#include "tools/ping.h"

#define MOST_ARGS 16
#define SERVER "192.0.2.1"
#define ARGS(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static struct ping_options o;

/* As the program would be called with @args, NULL at the end. */
static int parse(const char *const *args)
{
	char *argv[MOST_ARGS + 2] = { (char[]){ "rpcrdma-ping" } };
	int argc = 1, status;

	while (*args)
		argv[argc++] = (char *)(uintptr_t)*args++;
	memset(&o, 0, sizeof(o));
	optind = 0;
	said_begin();
	status = ping_options(&o, argc, argv);
	said_end();
	return status;
}

static bool good(const char *const *args)
{
	return parse(args) < 0 && !*said;
}

static uint16_t port(void)
{
	return ntohs(((const struct sockaddr_in *)&o.rdma.server.at[0].addr)
			     ->sin_port);
}

static void test_defaults(void)
{
	struct rt_config c = { 0 };

	rt_config_defaults(&c);
	CU_ASSERT_TRUE_FATAL(good(ARGS(SERVER)));
	CU_ASSERT_EQUAL(port(), 20049);
	CU_ASSERT_STRING_EQUAL(o.rdma.provider, "iwarp");
	CU_ASSERT(o.program == 100003 && o.version == 3 && o.proc == 0);
	CU_ASSERT(o.count == 5 && o.interval_ms == 1000 &&
		  o.timeout_ms == 5000 && o.depth == 1);
	CU_ASSERT_FALSE(o.flood || o.json || o.quiet || o.verbose);
	CU_ASSERT_EQUAL(o.rdma.domain.crc, FAB_CRC_AUTO);
	CU_ASSERT(o.rdma.config.versions == c.versions &&
		  o.rdma.config.credits == c.credits &&
		  o.rdma.config.recv_size == c.recv_size &&
		  o.rdma.config.auth == RT_AUTH_NONE);
}

static void test_each(void)
{
	CU_ASSERT_TRUE(good(ARGS("--server", "192.0.2.1:7")));
	CU_ASSERT_EQUAL(port(), 7);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--program", "4", "--version", "6",
				 "--proc", "8")));
	CU_ASSERT(o.program == 4 && o.version == 6 && o.proc == 8);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--flood", "--depth", "9")));
	CU_ASSERT(o.flood && o.depth == 9 && !o.json);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--json")));
	CU_ASSERT(o.json && !o.quiet && !o.verbose && !o.flood);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--quiet")));
	CU_ASSERT(!o.json && o.quiet && !o.verbose);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--verbose")));
	CU_ASSERT(!o.json && !o.quiet && o.verbose);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--version-rdma", "1")));
	CU_ASSERT_EQUAL(o.rdma.config.versions, 2);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--extensions", "rtrext")));
	CU_ASSERT_EQUAL(o.rdma.config.extensions, RT_EXT_RTR);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--crc", "on")));
	CU_ASSERT_EQUAL(o.rdma.domain.crc, FAB_CRC_ON);
	CU_ASSERT_FALSE(o.rdma.domain.service_type_given);
	CU_ASSERT_TRUE(good(ARGS(SERVER, "--service-type", "184")));
	CU_ASSERT(o.rdma.domain.service_type_given &&
		  o.rdma.domain.service_type == 184);
	CU_ASSERT_TRUE(
		good(ARGS(SERVER, "--server-principal", "s", "--principal", "p",
			  "--keytab", "k", "--host-auth-timeout", "2",
			  "--host-auth", "required")));
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.server, SERVER);
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.server_principal, "s");
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.principal, "p");
	CU_ASSERT_STRING_EQUAL(o.rdma.hostauth.keytab, "k");
	CU_ASSERT_EQUAL(o.rdma.config.auth_ms, 2000);
	CU_ASSERT_EQUAL(o.rdma.config.auth, RT_AUTH_REQUIRED);
}

/* The least and the most, and one beyond each. */
static void test_ranges(void)
{
	static const struct {
		const char *option, *below, *least, *most, *above;
	} rows[] = {
		{ "--program", NULL, "0", "4294967295", "4294967296" },
		{ "--version", NULL, "0", "4294967295", "4294967296" },
		{ "--proc", NULL, "0", "4294967295", "4294967296" },
		{ "--count", NULL, "0", "18446744073709551615",
		  "18446744073709551616" },
		{ "--interval", NULL, "0", "3600000", "3600001" },
		{ "--timeout", "0", "1", "3600000", "3600001" },
		{ "--depth", "0", "1", "4096", "4097" },
		{ "--credits", "0", "1", NULL, "4294967296" },
		{ "--service-type", NULL, "0", "255", "256" },
		{ "--recv-size", "1020", "1024", "262144", "262148" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *text[] = { rows[i].least, rows[i].most,
				       rows[i].below, rows[i].above };

		for (unsigned int k = 0; k < 4; k++) {
			if (!text[k])
				continue;
			CU_ASSERT_EQUAL(good(ARGS(SERVER, "--flood",
						  rows[i].option, text[k])),
					k < 2);
			if (k < 2)
				continue;
			CU_ASSERT_TRUE(said_has(rows[i].option, i));
			CU_ASSERT_EQUAL(said_lines(), 1);
		}
	}
}

static void test_refused(void)
{
	static const struct {
		const char *args[4], *says;
	} bad[] = {
		{ { NULL }, "of the server is needed" },
		{ { "" }, "'' is not an address" },
		{ { SERVER, SERVER }, "takes one server" },
		{ { "--server", SERVER, SERVER }, "takes one server" },
		{ { SERVER, "--depth", "2" }, "--depth is for --flood" },
		{ { SERVER, "--provider", "nobody" }, "'nobody' is not" },
		{ { SERVER, "--keytab", "k" }, "need --host-auth" },
		{ { SERVER, "--host-auth", "required" }, "nfs@HOST" },
		{ { SERVER, "--recv-size", "1026" }, "rpcrdma-ping: " },
		{ { SERVER, "--nothing" }, "--nothing" },
		{ { "--report" }, "--report is for --provider verbs" },
		{ { "--report", "--provider", "verbs", "--json" },
		  "--report takes neither --json nor ADDR" },
		{ { "--report", "--provider", "verbs", SERVER },
		  "--report takes neither --json nor ADDR" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		const char *args[5] = { NULL };

		memcpy(args, bad[i].args, sizeof(bad[i].args));
		CU_ASSERT_EQUAL(parse(args), EXIT_USAGE);
		CU_ASSERT_TRUE(said_has(bad[i].says, i));
		CU_ASSERT_EQUAL(said_lines(), 1);
	}
}

static const struct unit_test tests[] = {
	{ "defaults", test_defaults },
	{ "each", test_each },
	{ "ranges", test_ranges },
	{ "refused", test_refused },
	{ NULL, NULL },
};

UNIT_MAIN("tools-ping-options", tests)
