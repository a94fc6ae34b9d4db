/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RDMA { } block, read by the parser of the installed Ganesha: the least
 * and the largest value of every item are taken, by the parser and by the
 * transport; one beyond each is refused, with file and line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ganesha/config.h"
#include "rpcrdma/transport.h"
#include "unit.h"

/* Ganesha's parser does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

static struct gsh gsh;
static struct gsh_config *(*parse)(const char *path,
				   struct gsh_config_errors *e);
static void (*release)(struct gsh_config *tree);

/* What the parser had to say. */
static char said[8192];

static void listen_to(char *msg, void *dest, struct gsh_config_errors *e)
{
	size_t n = strlen(said);

	(void)dest;
	(void)e;
	snprintf(said + n, sizeof(said) - n, "%s\n", msg);
}

static bool bind_ganesha(void)
{
	void *lib = dlopen(GANESHA_NFSD, RTLD_NOW | RTLD_GLOBAL);

	if (!lib)
		return false;
	*(void **)&parse = dlsym(lib, "config_ParseFile");
	*(void **)&release = dlsym(lib, "config_Free");
	*(void **)&gsh.init_error_type = dlsym(lib, "init_error_type");
	*(void **)&gsh.report_config_errors =
		dlsym(lib, "report_config_errors");
	*(void **)&gsh.load_config_from_parse =
		dlsym(lib, "load_config_from_parse");
	gsh.config_errs_to_log = listen_to;
	return parse && release && gsh.init_error_type &&
	       gsh.report_config_errors && gsh.load_config_from_parse;
}

/* A block of these lines, the first of which is line 3 of the file. */
static enum gr_config_result load(const char *text, struct gr_config *cfg)
{
	char path[] = "/tmp/rpcrdma-config-XXXXXX";
	enum gr_config_result res = GR_CONFIG_BAD;
	struct gsh_config_errors e;
	struct gsh_config *tree;
	int fd = mkstemp(path);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "w");

	said[0] = '\0';
	memset(cfg, 0, sizeof(*cfg));
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fprintf(f, "# a comment\nRDMA {\n%s\n}\n", text);
	fclose(f);
	CU_ASSERT_TRUE_FATAL(gsh.init_error_type(&e));
	tree = parse(path, &e);
	CU_ASSERT_PTR_NOT_NULL(tree);
	if (tree) {
		res = gr_config_load(&gsh, tree, cfg);
		release(tree);
	}
	gsh.report_config_errors(&e, NULL, listen_to);
	unlink(path);
	return res;
}

struct range {
	const char *name;
	uint64_t min, max;
	unsigned int step;
	size_t off, size; /* in struct gr_config */
	const char *with_min, *with_max; /* so that values go together */
};

#define R(name, member, min, max, step, with_min, with_max)                \
	{                                                                  \
		name, min, max, step, offsetof(struct gr_config, member),  \
			sizeof(((struct gr_config *)0)->member), with_min, \
			with_max                                           \
	}
#define KB 1024ull
#define MB (1024 * KB)
#define GB (1024 * MB)

static const struct range ranges[] = {
	R("Port", port, 1, 65535, 1, "", ""),
	R("Pollers", pollers, 1, 64, 1, "", ""),
	R("Credits", credits, 1, 4096, 1, "", ""),
	R("Recv_Size", recv_size, 1024, 256 * KB, 4, "", ""),
	R("Busy_Receive_Size", busy_recv_size, 1024, 256 * KB, 4, "", ""),
	R("Idle_Receive_Size", idle_recv_size, 1024, 256 * KB, 4, "", ""),
	R("Idle_After", idle_after, 1, 86400, 1, "", ""),
	R("Send_Size", send_size, 1024, 256 * KB, 4, "", ""),
	R("Placement_Size", placement_size, 0, 252 * KB, 4096, "", ""),
	R("Max_Transmissions", max_transmissions, 1, 16, 1, "", ""),
	R("Max_Segment_Size", max_segment_size, 4096, GB, 1, "", ""),
	R("Max_Segments", max_segments, 1, 64, 1, "", ""),
	R("Max_Read_Chunks", max_read_chunks, 1, 16, 1, "", ""),
	R("Max_Write_Chunks", max_write_chunks, 1, 16, 1, "", ""),
	R("Max_Message", max_message, 64 * KB, 4 * MB, 1, "", ""),
	R("Max_Connection_Memory", max_conn_memory, MB, 64 * GB, 1,
	  "Max_Message = 65536;", ""),
	R("Max_Memory", max_memory, 16 * MB, 1024 * GB, 1, "", ""),
	R("Max_Connections", max_connections, 1, 65536, 1, "", ""),
	R("Max_Host_Connections", max_host_connections, 0, 65536, 1, "", ""),
	R("Max_Host_Memory", max_host_memory, 0, 1024 * GB, 4 * MB, "", ""),
	R("Reverse_Credits", reverse_credits, 1, 1024, 1, "", ""),
	R("Max_Shared_Receives", max_shared_receives, 0, 1048576, 1, "", ""),
	R("Busy_Poll", busy_poll, 0, 1000, 1, "", ""),
	R("Idle_Timeout", idle_timeout, 0, 86400, 1, "", ""),
	R("Startup_Timeout", startup_timeout, 1, 3600, 1, "", ""),
	R("Drain_Timeout", drain_timeout, 0, 600, 1, "", ""),
	R("Host_Authentication_Timeout", auth_timeout, 1, 3600, 1, "",
	  "Host_Authentication = required;"),
};

static uint64_t value_of(const struct gr_config *cfg, const struct range *r)
{
	const uint8_t *at = (const uint8_t *)cfg + r->off;
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (r->size) {
	case 2:
		memcpy(&v16, at, 2);
		return v16;
	case 4:
		memcpy(&v32, at, 4);
		return v32;
	default:
		memcpy(&v64, at, 8);
		return v64;
	}
}

static bool transport_takes(const struct gr_config *cfg)
{
	struct rt_config rt;
	const char *wrong;

	gr_config_transport(cfg, &rt);
	wrong = rt_config_check(&rt);
	if (wrong)
		printf("\n%s\n", wrong);
	return !wrong;
}

static void taken(const struct range *r, uint64_t value, const char *with)
{
	struct gr_config cfg;
	char text[256];

	snprintf(text, sizeof(text), "%s = %llu;\n%s", r->name,
		 (unsigned long long)value, with);
	if (load(text, &cfg) != GR_CONFIG_GOOD || value_of(&cfg, r) != value) {
		printf("\n%s%s", text, said);
		CU_FAIL("not taken");
		return;
	}
	CU_ASSERT_TRUE(transport_takes(&cfg));
}

static void refused(const struct range *r, uint64_t value, const char *with,
		    const char *line)
{
	struct gr_config cfg;
	char text[256];

	snprintf(text, sizeof(text), "%s = %llu;\n%s", r->name,
		 (unsigned long long)value, with);
	if (load(text, &cfg) != GR_CONFIG_BAD || !strstr(said, line) ||
	    !strstr(said, "/tmp/rpcrdma-config-")) {
		printf("\n%s%s", text, said);
		CU_FAIL("not refused as it should be");
	}
}

static void every_range(void)
{
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		const struct range *r = &ranges[i];

		taken(r, r->min, r->with_min);
		taken(r, r->max, r->with_max);
		if (r->min)
			refused(r, r->min - 1, r->with_min, ":3)");
		refused(r, r->max + 1, r->with_max, ":3)");
		/* What only the transport knows: the block's line. */
		if (r->step > 1)
			refused(r, r->min + 1, r->with_min, ":2)");
	}
}

static void defaults(void)
{
	struct gr_config cfg;
	struct rt_config rt;

	CU_ASSERT_EQUAL(load("", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_TRUE(transport_takes(&cfg));
	CU_ASSERT_EQUAL(cfg.port, 20049);
	CU_ASSERT_TRUE(cfg.enable && !cfg.required);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.drain_ms, 5000);
	CU_ASSERT_EQUAL(rt.idle_ms, 0);
	CU_ASSERT_EQUAL(rt.auth_ms, 30000);
	CU_ASSERT_EQUAL(rt.busy_recv_size, 16384);
	CU_ASSERT_EQUAL(rt.idle_recv_size, 4096);
	CU_ASSERT_EQUAL(rt.idle_recv_ms, 60000);
	CU_ASSERT_EQUAL(rt.versions, 6);
	CU_ASSERT_EQUAL(rt.extensions, 0);
	CU_ASSERT_EQUAL(load("Host_Authentication_Timeout = 7;", &cfg),
			GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.auth_ms, 7000);
	/* No time is not the default time. */
	CU_ASSERT_EQUAL(load("Drain_Timeout = 0;", &cfg), GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.drain_ms, 1);
}

static void not_together(void)
{
	struct gr_config cfg;

	CU_ASSERT_EQUAL(load("Max_Connection_Memory = 1048576;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "must hold one message"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":2)"));
	/* Items of the parser's do not know each other: the block's line. */
	CU_ASSERT_EQUAL(load("Max_Message = 2097152;\n"
			     "Max_Connection_Memory = 2097151;",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":2)"));
	CU_ASSERT_EQUAL(load("Max_Message = 2097152;\n"
			     "Max_Connection_Memory = 2097152;",
			     &cfg),
			GR_CONFIG_GOOD);
	CU_ASSERT_EQUAL(load("Host_Authentication = required;\n"
			     "Versions = 1;",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "needs version 2"));
	/* 64 and 16 credits, and four. */
	CU_ASSERT_EQUAL(load("Max_Shared_Receives = 83;", &cfg), GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "shared Receives"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":2)"));
	CU_ASSERT_EQUAL(load("Max_Shared_Receives = 84;", &cfg),
			GR_CONFIG_GOOD);
	/* The words of a quoted text stay together, commas and all. */
	CU_ASSERT_EQUAL(load("Host_Authentication_Allow = \"a/b, c/d\";", &cfg),
			GR_CONFIG_GOOD);
	CU_ASSERT_STRING_EQUAL(cfg.auth_allow, "a/b, c/d");
}

static void extensions(void)
{
	static const struct {
		const char *text;
		unsigned int bits;
	} rows[] = {
		{ "Extensions = none;", 0 },
		{ "Extensions = xcharext;", RT_EXT_XCHAR },
		{ "Extensions = rtrext;", RT_EXT_RTR },
		{ "Extensions = xcharext, rtrext;", RT_EXT_XCHAR | RT_EXT_RTR },
	};
	struct gr_config cfg;
	struct rt_config rt;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *out = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&out, &len);

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(load(rows[i].text, &cfg), GR_CONFIG_GOOD);
		gr_config_transport(&cfg, &rt);
		CU_ASSERT_EQUAL(rt.extensions, rows[i].bits);
		/* What is printed is what was read. */
		gr_config_print(f, &cfg);
		fclose(f);
		CU_ASSERT_PTR_NOT_NULL(strstr(out, rows[i].text));
		free(out);
	}
	CU_ASSERT_EQUAL(load("Extensions = xcharext;\nVersions = 1;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "extensions need version 2"));
}

static void other_items(void)
{
	static const char *const good[] = {
		"Versions = 1;",
		"Versions = 2;",
		"Versions = 1, 2;",
		"Provider = iwarp;",
		"Provider = verbs;",
		"Provider = auto;",
		"Bind_Addr = 127.0.0.1, ::1;",
		"Bind_Addr = ::, 2001:db8:1:2:3:4:5:6;",
		"Bind_Addr = \"fe80::1%lo\";",
		"Bind_Addr = \"fe80::1%lo\", \"fe80::2%1\", 192.0.2.1;",
		"Enable = false;",
		"Required = true;",
		"Worker_Polling = false;",
		"Remote_Invalidation = false;",
		"Continued_Replies = false;",
		"Reverse_Direction = false;",
		"CRC = false;",
		"Huge_Pages = true;",
		"Shared_Receives = false;",
		"Max_Shared_Receives = 13;\nCredits = 8;\nReverse_Credits = 1;",
		"Stats_Socket = \"\";",
		"Stats_DBus = false;",
		"Rpcbind = false;",
		"Host_Authentication = none;",
		"Host_Authentication = optional;",
		"Host_Authentication = required;",
		"Host_Authentication_Keytab = /etc/krb5.keytab;",
		"Host_Authentication_Principal = \"nfs@a.example\";",
		"Host_Authentication_Allow = \"host/*@A.EXAMPLE, nfs/?\";",
	};
	static const char *const bad[] = {
		"Versions = 3;",
		"Versions = 0;",
		"Extensions = xchar;",
		"Extensions = xcharext, 2;",
		"Extensions = true;",
		"Provider = roce;",
		"Bind_Addr = localhost;",
		"Bind_Addr = \"::g\";",
		"Bind_Addr = \"[::1]\";",
		"Bind_Addr = \"127.0.0.1%lo\";",
		"Bind_Addr = fe80::1;",
		"Bind_Addr = \"fe80::1%nonesuch0\";",
		"Bind_Addr = \"fe80::1%\";",
		"Bind_Addr = \"0000:0000:0000:0000:0000:ffff:255.255.255.255x\";",
		"Enable = perhaps;",
		"CRC = 2;",
		"Stats_DBus = 2;",
		"Rpcbind = rdma;",
		"Credits = many;",
		"Credits = -1;",
		"Port = 4294967297;",
		"Host_Authentication = true;",
	};
	struct gr_config cfg;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CU_ASSERT_EQUAL(load(good[i], &cfg), GR_CONFIG_GOOD);
		CU_ASSERT_TRUE(transport_takes(&cfg));
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (load(bad[i], &cfg) == GR_CONFIG_BAD && strstr(said, ":3)"))
			continue;
		printf("\n%s\n%s", bad[i], said);
		CU_FAIL("not refused as it should be");
	}
}

static void found(void)
{
	CU_ASSERT_TRUE_FATAL(bind_ganesha());
}

static const struct unit_test tests[] = {
	{ "found", found },
	{ "defaults", defaults },
	{ "every range", every_range },
	{ "not together", not_together },
	{ "extensions", extensions },
	{ "other items", other_items },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-config", tests)
