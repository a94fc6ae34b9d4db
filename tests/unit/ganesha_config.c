/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The blocks RDMA { } and RDMA_Debug { }, read by the parser of the installed Ganesha: the least
 * and the largest value of every item are taken, by the parser and by the
 * transport; one beyond each is refused, with file and line.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ganesha/config/config.h"
#include "ganesha/config/exports.h"
#include "rpcrdma/config.h"
#include "unit.h"

/* Ganesha's parser does not free all it allocates. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libganesha_nfsd.so";
}

/* Texts that have been copied and not freed. The sanitizer knows those that Ganesha's
 * parser hands to us as its own. */
static const void *texts[1024];

static unsigned int texts_left(void)
{
	unsigned int n = 0;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		n += texts[i] != NULL;
	return n;
}

static void text_swap(const void *from, const void *to)
{
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		if (texts[i] == from) {
			texts[i] = to;
			return;
		}
}

char *__real_strdup(const char *s);
char *__wrap_strdup(const char *s);
char *__wrap_strdup(const char *s)
{
	char *copy = __real_strdup(s);

	text_swap(NULL, copy);
	return copy;
}

void __real_free(void *p);
void __wrap_free(void *p);
void __wrap_free(void *p)
{
	if (p)
		text_swap(p, NULL);
	__real_free(p);
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

/* These blocks; the first line of RDMA is line 3 of the file. */
static enum gr_config_result load_both(const char *text, const char *debug,
				       struct gr_config *cfg)
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
	if (debug)
		fprintf(f, "RDMA_Debug {\n%s\n}\n", debug);
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

static enum gr_config_result load(const char *text, struct gr_config *cfg)
{
	return load_both(text, NULL, cfg);
}

#define KB 1024ull
#define MB (1024 * KB)
#define GB (1024 * MB)

/* What a setting's row says of a number. */
struct range {
	const struct gr_setting *row;
	const char *name;
	bool debug; /* of the RDMA_Debug block */
	uint64_t min, max;
	unsigned int step;
	const char *with_min; /* so that values go together */
};

/* Returns false if the setting is no number. */
static bool range_of(const struct gr_setting *s, struct range *r)
{
	const struct gsh_config_item *item = &s->item;

	*r = (struct range){ .row = s,
			     .name = item->name,
			     .debug = s->block == GR_RDMA_DEBUG,
			     .min = s->min,
			     .max = s->max,
			     .step = s->step ? s->step : 1,
			     .with_min = "" };
	if (!strcmp(r->name, "Max_Connection_Memory"))
		r->with_min = "Max_Message = 65536;";
	if (item->type == GSH_CONFIG_UINT16) {
		r->min = item->u.u16.min;
		r->max = item->u.u16.max;
	} else if (item->type == GSH_CONFIG_UINT32) {
		r->min = item->u.u32.min;
		r->max = item->u.u32.max;
	}
	return s->block != GR_OLD && r->max;
}

static uint64_t value_of(const struct gr_config *cfg, const struct range *r)
{
	const void *value = gr_setting_value(r->row, cfg);

	return r->row->width == 2 ? *(const uint16_t *)value :
				    gr_size_value(value, r->row->width);
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

static enum gr_config_result load_range(const struct range *r, uint64_t value,
					const char *with, bool old,
					struct gr_config *cfg)
{
	char text[256];

	snprintf(text, sizeof(text), "%s = %llu;%s%s", r->name,
		 (unsigned long long)value, old ? "\n" : "", with);
	return !r->debug || old ? load(text, cfg) : load_both("", text, cfg);
}

static void taken(const struct range *r, uint64_t value, const char *with)
{
	struct gr_config cfg;
	char text[64];

	snprintf(text, sizeof(text), "%s = %llu;", r->name,
		 (unsigned long long)value);
	/* Version 0.1 had it in the RDMA block: so it still works, with a warning. */
	if (r->debug &&
	    (load_range(r, value, with, true, &cfg) != GR_CONFIG_GOOD ||
	     value_of(&cfg, r) != value || !strstr(said, r->name) ||
	     !strstr(said, ":3): ") ||
	     !strstr(said, "is a setting of version 0.1"))) {
		printf("\n%s\n%s", text, said);
		CU_FAIL("not taken as in version 0.1");
	}
	if (load_range(r, value, with, false, &cfg) != GR_CONFIG_GOOD ||
	    value_of(&cfg, r) != value || *said) {
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

	if (load_range(r, value, with, true, &cfg) != GR_CONFIG_BAD ||
	    !strstr(said, line) || !strstr(said, r->name) ||
	    !strstr(said, "/tmp/rpcrdma-config-")) {
		printf("\n%s = %llu\n%s", r->name, (unsigned long long)value,
		       said);
		CU_FAIL("not refused as it should be");
	}
}

static void every_range(void)
{
	unsigned int n = 0;

	for (const struct gr_setting *s = gr_settings; s->item.name; s++) {
		struct range r;

		if (!range_of(s, &r))
			continue;
		taken(&r, r.min, r.with_min);
		taken(&r, r.max, "");
		if (r.min)
			refused(&r, r.min - 1, r.with_min, ":3)");
		refused(&r, r.max + 1, "", ":3)");
		if (r.step > 1)
			refused(&r, r.min + 1, r.with_min, ":3)");
		n++;
	}
	CU_ASSERT_TRUE(n >= 27);
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
	CU_ASSERT_EQUAL(rt.recv_size, 4608);
	CU_ASSERT_EQUAL(rt.idle_recv_size, 4608);
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
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, "Host_Authentication needs version 2"));
	/* 64 and 16 credits, and four. */
	CU_ASSERT_EQUAL(load("Shared_Receives = 83;", &cfg), GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Shared_Receives = 83"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "at least 84"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, ":2)"));
	CU_ASSERT_EQUAL(load("Shared_Receives = 84;", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_EQUAL(load("Max_Shared_Receives = 83;", &cfg), GR_CONFIG_BAD);
	CU_ASSERT_EQUAL(load_both("", "Max_Host_Memory = 4096;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Max_Host_Memory must hold"));
	/* 4098 Receives of 64 KiB, and what is not for connections. */
	CU_ASSERT_EQUAL(load("Max_Memory = \"16M\";\nCredits = 4096;\n"
			     "Recv_Size = \"64K\";",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		said, ":2): no connection fits into Max_Memory = 16M: each "
		      "needs 257 MiB for its Credits: raise Max_Memory or "
		      "lower Credits or Recv_Size"));
	CU_ASSERT_EQUAL(load("Max_Memory = \"16M\";\nCredits = 3412;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_EQUAL(load("Max_Memory = \"16M\";\nCredits = 3411;", &cfg),
			GR_CONFIG_GOOD);
	CU_ASSERT_EQUAL(load("Max_Memory = \"16M\";\nCredits = 256;\n"
			     "Extensions = rtrext;",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "or lower Credits\n"));
	CU_ASSERT_EQUAL(load("Max_Memory = \"16M\";\nCredits = 4096;\n"
			     "Provider = verbs;",
			     &cfg),
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
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Extensions needs version 2"));
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
		"Allow = \"\";",
		"Allow = 10.1.0.0/16, fd00::/8;",
		"Allow = 192.0.2.1, 2001:db8::1, \"::ffff:10.0.0.0/104\";",
		"Allow = 0.0.0.0/0, \"::/0\";",
		"Bind_Addr = 127.0.0.1, ::1;",
		"Bind_Addr = ::, 2001:db8:1:2:3:4:5:6;",
		"Bind_Addr = \"fe80::1%lo\";",
		"Bind_Addr = \"fe80::1%lo\", \"fe80::2%1\", 192.0.2.1;",
		"Device = mlx5_0;",
		"Device = mlx5_0, mlx5_bond_0, \"bnxt_re-eth0\";",
		"Device = \"0M\", \"1\", \"true\";",
		"Enable = false;",
		"Required = true;",
		"Worker_Polling = false;",
		"Remote_Invalidation = false;",
		"Continued_Replies = false;",
		"Reverse_Direction = false;",
		"CRC = false;",
		"Service_Type = 0;",
		"Service_Type = 255;",
		"Ack_Timeout = 31;",
		"Keepalive = 0;",
		"Huge_Pages = true;",
		"Shared_Receives = false;",
		"Shared_Receives = true;",
		"Shared_Receives = 13;\nCredits = 8;\nReverse_Credits = 1;",
		"Max_Shared_Receives = 13;\nCredits = 8;\nReverse_Credits = 1;",
		"Recv_Size = \"4K\";\nMax_Memory = '1g';",
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
		"Allow = 10.1.0.0/33;",
		"Allow = 10.1.2.3/16;",
		"Allow = 10.1.0.0/16, nowhere;",
		"Allow = \"10.1.0.0/16, fd00::/8\";",
		"Allow = \"fe80::1%lo\";",
		"Device = \"a b\";",
		"Device = \"mlx5_0, mlx5_1\";",
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
		"Service_Type = 256;",
		"Service_Type = AF11;",
		"Ack_Timeout = 32;",
		"Keepalive = never;",
		"Stats_DBus = 2;",
		"Rpcbind = rdma;",
		"Recv_Size = \"4T\";",
		"Recv_Size = \"4KB\";",
		"Recv_Size = \"K\";",
		"Recv_Size = \"-4K\";",
		"Recv_Size = -4096;",
		"Shared_Receives = -100;",
		"Recv_Size = \"\";",
		"Max_Memory = \"1048577G\";",
		"Max_Memory = \"18446744073709551615K\";",
		"Max_Memory = \"17179869185G\";",
		"Shared_Receives = 0;",
		"Shared_Receives = some;",
		"Max_Host_Share = 0;",
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

static void units(void)
{
	static const struct {
		const char *text;
		uint64_t memory;
	} rows[] = {
		{ "Max_Memory = 16777216;", 16 * MB },
		{ "Max_Memory = \"16777216\";", 16 * MB },
		{ "Max_Memory = \"16384K\";", 16 * MB },
		{ "Max_Memory = \"64m\";", 64 * MB },
		{ "Max_Memory = '3G';", 3 * GB },
		{ "Max_Memory = \"1024G\";", 1024 * GB },
	};
	static const char *const bad[] = {
		"Max_Memory = \"16777216X\";",
		"Max_Memory = \"16777216KB\";",
		"Max_Memory = \"16777216 K\";",
		"Max_Memory = \" 16777216\";",
		"Max_Memory = \"+16777216\";",
		"Max_Memory = \"99999999999999999999\";",
		"Max_Memory = \"18014398526259200K\";",
	};
	struct gr_config cfg;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CU_ASSERT_EQUAL(load(rows[i].text, &cfg), GR_CONFIG_GOOD);
		CU_ASSERT_EQUAL(cfg.rt.max_memory, rows[i].memory);
		CU_ASSERT_STRING_EQUAL(said, "");
	}
	/* The number alone would be one that is taken. */
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CU_ASSERT_EQUAL(load(bad[i], &cfg), GR_CONFIG_BAD);
		CU_ASSERT_PTR_NOT_NULL(strstr(said, "is not a size"));
	}
}

static void shares(void)
{
	struct gr_config cfg;
	struct rt_config rt;

	CU_ASSERT_EQUAL(load("", &cfg), GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.max_host_connections, 256);
	CU_ASSERT_EQUAL(rt.max_host_memory, 256 * MB);
	/* A quarter leaves 64 connections, what is said is done. */
	CU_ASSERT_EQUAL(load("Max_Connections = 100;", &cfg), GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.max_host_connections, 64);
	CU_ASSERT_EQUAL(load("Max_Connections = 100;\nMax_Host_Share = 25;",
			     &cfg),
			GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.max_host_connections, 25);
	CU_ASSERT_EQUAL(load("Max_Connections = 10;\nMax_Host_Share = 1;\n"
			     "Max_Memory = '16M';",
			     &cfg),
			GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.max_host_connections, 1);
	CU_ASSERT_EQUAL(rt.max_host_memory, rt.max_message);
	/* What version 0.1 had comes before it. */
	CU_ASSERT_EQUAL(load("Max_Host_Share = 10;\nMax_Host_Connections = 7;",
			     &cfg),
			GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_EQUAL(rt.max_host_connections, 7);
	CU_ASSERT_EQUAL(rt.max_host_memory, GB / 100 * 10 + 2);
	/* 0 is given, too. */
	CU_ASSERT_EQUAL(load("", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_FALSE(cfg.service_type_given);
	CU_ASSERT(cfg.keepalive == 20 && !cfg.ack_timeout);
	CU_ASSERT_EQUAL(load("Service_Type = 0;", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT(cfg.service_type_given && !cfg.service_type);
	CU_ASSERT_EQUAL(load("Shared_Receives = 100;", &cfg), GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_TRUE(rt.share_receives && rt.max_shared_receives == 100);
	CU_ASSERT_EQUAL(load("Max_Shared_Receives = 101;", &cfg),
			GR_CONFIG_GOOD);
	gr_config_transport(&cfg, &rt);
	CU_ASSERT_TRUE(rt.share_receives && rt.max_shared_receives == 101);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(said, "give this number to Shared_Receives"));
}

/* Which of two blocks counts, and what is printed can be read again. */
static void debug_block(void)
{
	char *out = NULL;
	size_t len = 0;
	struct gr_config cfg;
	FILE *f = open_memstream(&out, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(load_both("Busy_Poll = 7;\nDrain_Timeout = 8;\n"
				  "Stats_DBus = false;",
				  "Busy_Poll = 9;\nSend_Size = \"8K\";\n"
				  "Huge_Pages = true;\nKeepalive = 0;",
				  &cfg),
			GR_CONFIG_GOOD);
	CU_ASSERT_EQUAL(cfg.rt.busy_poll_us, 9);
	CU_ASSERT_EQUAL(cfg.drain_timeout, 8);
	CU_ASSERT_EQUAL(cfg.rt.send_size, 8 * KB);
	CU_ASSERT_TRUE(cfg.rt.huge_pages && !cfg.stats_dbus);
	CU_ASSERT_TRUE(cfg.worker_polling && cfg.enable);
	gr_config_print(f, &cfg);
	fclose(f);
	CU_ASSERT_PTR_NOT_NULL(strstr(
		out,
		"\n# No Max_Host_Share: 25 %, but at least 64 connections if its share of Max_Memory holds them.\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		out,
		"RDMA_Debug {\n\tSend_Size = \"8K\";\n"
		"\tBusy_Poll = 9;\n\tKeepalive = 0;\n\tDrain_Timeout = 8;\n"
		"\tHuge_Pages = true;\n\tStats_DBus = false;\n}\n"));
	free(out);
	/* An item of one block is unknown in the other. */
	CU_ASSERT_EQUAL(load_both("", "Port = 7;", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_EQUAL(cfg.port, 20049);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Unknown parameter (Port)"));
	CU_ASSERT_EQUAL(load_both("", "Busy_Poll = no;", &cfg), GR_CONFIG_BAD);
}

/* What --check-config prints of a block, to be freed. */
static char *printed(const char *given)
{
	struct gr_config cfg;
	char *out = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&out, &len);

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	CU_ASSERT_EQUAL(load(given, &cfg), GR_CONFIG_GOOD);
	gr_config_print(f, &cfg);
	fclose(f);
	return out;
}

/* What else follows from the settings. */
static void consequences(void)
{
	char *out = printed("Host_Authentication = required;");

	CU_ASSERT_PTR_NOT_NULL(strstr(out, "version 1 is refused."));
	free(out);
	out = printed("Host_Authentication = required;\nVersions = 2;");
	CU_ASSERT_PTR_NULL(strstr(out, "version 1 is refused."));
	free(out);
	/* The least, which one host may have whole, and so it may up to 64. */
	out = printed("Max_Connections = 1;");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "\n# No Max_Host_Share: 25 % of Max_Memory; "
			    "Max_Connections is too small to share.\n"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "\n# One client host may have 1 connection and "));
	free(out);
	out = printed("Max_Connections = 64;");
	CU_ASSERT_PTR_NOT_NULL(strstr(out, "too small to share."));
	free(out);
	out = printed("Max_Connections = 65;");
	CU_ASSERT_PTR_NOT_NULL(strstr(
		out,
		"25 %, but at least 64 connections if its share of Max_Memory holds them."));
	free(out);
	/* What connections take, and that Max_Memory is not enough for all. */
	out = printed("Max_Connections = 60;");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "host may have 60 connections and "));
	CU_ASSERT_PTR_NOT_NULL(strstr(
		out,
		"connection needs 297 KiB of receive buffers, and 60 of them 17 MiB."));
	CU_ASSERT_PTR_NULL(strstr(out, "is enough for"));
	free(out);
	out = printed("Max_Connections = 60;\nMax_Memory = \"16M\";");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "is enough for at most 51 connections at once."));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "host may have 14 connections and 4224 KiB."));
	free(out);
	/* One host has no more than there is for all. */
	out = printed("Max_Connections = 60;\nMax_Memory = \"16M\";\n"
		      "Max_Host_Share = 100;");
	CU_ASSERT_PTR_NOT_NULL(
		strstr(out, "host may have 51 connections and 16 MiB."));
	free(out);
}

/* What a reload says: each item once, by its name, whichever block has it. */
static void differences(void)
{
	static const struct {
		const char *was, *is, *debug, *names;
		unsigned int n;
	} rows[] = {
		{ "", "", NULL, "", 0 },
		{ "Recv_Size = 8192;", "Recv_Size = \"8K\";", NULL, "", 0 },
		{ "", "Required = true;", NULL, "Required", 1 },
		{ "Recv_Size = 8192;", "Max_Connections = 7;", NULL,
		  "Recv_Size, Max_Connections", 2 },
		{ "", "Bind_Addr = 127.0.0.1, ::1;", NULL, "Bind_Addr", 1 },
		{ "Bind_Addr = 127.0.0.1;", "Bind_Addr = ::1;", NULL,
		  "Bind_Addr", 1 },
		{ "", "Allow = 10.0.0.0/8;", NULL, "Allow", 1 },
		{ "Allow = 10.0.0.0/8;", "Allow = 10.0.0.0/9;", NULL, "Allow",
		  1 },
		{ "Allow = 10.0.0.1;", "Allow = 10.0.0.1/32;", NULL, "", 0 },
		{ "CRC = true;", "CRC = auto;", NULL, "CRC", 1 },
		{ "", "Shared_Receives = 100;", NULL, "Shared_Receives", 1 },
		{ "Host_Authentication_Allow = a;",
		  "Host_Authentication_Allow = b;", NULL,
		  "Host_Authentication_Allow", 1 },
		/* The default is another thing than a quarter for all. */
		{ "", "Max_Host_Share = 25;", NULL, "Max_Host_Share", 1 },
		{ "Max_Host_Share = 9;", "Max_Host_Share = 10;", NULL,
		  "Max_Host_Share", 1 },
		{ "", "Service_Type = 0;", NULL, "Service_Type", 1 },
		{ "Service_Type = 8;", "Service_Type = 16;", NULL,
		  "Service_Type", 1 },
		{ "Busy_Poll = 7;", "", "Busy_Poll = 7;", "", 0 },
		{ "Busy_Poll = 7;", "", "Busy_Poll = 8;", "Busy_Poll", 1 },
		{ "", "Enable = false;", NULL, "Enable", 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct gr_config was, is;
		char *names = NULL;
		size_t len = 0;
		FILE *f = open_memstream(&names, &len);
		unsigned int n;

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		CU_ASSERT_EQUAL(load(rows[i].was, &was), GR_CONFIG_GOOD);
		CU_ASSERT_EQUAL(load_both(rows[i].is, rows[i].debug, &is),
				GR_CONFIG_GOOD);
		n = gr_config_differences(f, &was, &is);
		fclose(f);
		if (n != rows[i].n || strcmp(names, rows[i].names)) {
			printf("\n%s, then %s: %s\n", rows[i].was, rows[i].is,
			       names);
			CU_FAIL("other differences");
		}
		free(names);
	}
}

static unsigned int lines(void)
{
	unsigned int n = 0;

	for (const char *s = said; *s; s++)
		n += *s == '\n';
	return n;
}

/* All that is wrong is told, whatever else is. */
static void all_faults(void)
{
	static const char *const told[] = {
		":3): Recv_Size: (4098) is not a multiple of 4",
		":4): (0) is out of range; Credits is a number from 1 to 4096",
		":5): Max_Memory: (12) is not a size from",
		":6): Bind_Addr: (nowhere) is not an IP address",
		":6): Bind_Addr: (else) is not an IP address",
		":2): Extensions needs version 2 among Versions",
		":2): Host_Authentication needs version 2 among Versions",
		":12): Expected boolean (true/false) got (5); Huge_Pages is",
		":13): Send_Size: (9) is not a size",
	};
	struct gr_config cfg;

	CU_ASSERT_EQUAL(
		load_both("Recv_Size = 4098;\nCredits = 0;\n"
			  "Max_Memory = 12;\nBind_Addr = nowhere, else;\n"
			  "Versions = 1;\nExtensions = rtrext;\n"
			  "Host_Authentication = optional;",
			  "Huge_Pages = 5;\nSend_Size = 9;", &cfg),
		GR_CONFIG_BAD);
	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++)
		if (!strstr(said, told[i])) {
			printf("\n%s: not in\n%s", told[i], said);
			CU_FAIL("not told");
		}
	CU_ASSERT_EQUAL(lines(), sizeof(told) / sizeof(told[0]));
	/* Without the words around its place. */
	CU_ASSERT_PTR_NOT_NULL(strstr(
		cfg.fault, ":3: Recv_Size: (4098) is not a multiple of 4"));
	CU_ASSERT_EQUAL(strncmp(cfg.fault, "/tmp/rpcrdma-config-", 20), 0);
	CU_ASSERT_EQUAL(load("Credits = 0;\nCredit = 5;", &cfg), GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(cfg.fault, ":3: (0) is out of range; "
						 "Credits is a number"));
	CU_ASSERT_EQUAL(load("Busy_Poll = 7;\nVersions = 1;\n"
			     "Extensions = rtrext;",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(cfg.fault, ":2: Extensions needs"));
	CU_ASSERT_EQUAL(load_both("", "Send_Size = 9;", &cfg), GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(cfg.fault, ":6: Send_Size: (9)"));
	CU_ASSERT_EQUAL(load("Busy_Poll = 7;", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_STRING_EQUAL(cfg.fault, "");
	/* It decides also where something else is wrong. */
	CU_ASSERT_EQUAL(load("Credits = 0;\nRequired = true;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_TRUE(cfg.required);
	CU_ASSERT_EQUAL(load("Versions = 1;\nExtensions = rtrext;\n"
			     "Required = true;",
			     &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_TRUE(cfg.required);
	/* What is of no item is told as well. */
	CU_ASSERT_EQUAL(load("Credits = 0;\nNonsense = 1;", &cfg),
			GR_CONFIG_BAD);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Credits is a number from 1"));
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "Unknown parameter (Nonsense)"));
	CU_ASSERT_EQUAL(lines(), 2);
	/* What is of version 0.1 says so, and no more. */
	CU_ASSERT_EQUAL(load("Enable = false;", &cfg), GR_CONFIG_GOOD);
	CU_ASSERT_TRUE(!cfg.enable && lines() == 1);
	CU_ASSERT_EQUAL(texts_left(), 0);
}

/* Sizes as they are printed: the largest unit that leaves nothing over. */
static void size_text(void)
{
	static const struct {
		uint64_t size;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ 1023, "1023" },
		{ 1024, "1K" },
		{ 1025, "1025" },
		{ 1536, "1536" },
		{ 1u << 20, "1M" },
		{ 3u << 19, "1536K" },
		{ 1u << 30, "1G" },
		{ 1ull << 40, "1024G" },
	};
	char text[24];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		gr_size_text(rows[i].size, text, sizeof(text));
		CU_ASSERT_STRING_EQUAL(text, rows[i].text);
	}
}

/* Good ones and others. */
static void blocks(void)
{
	static const char text[] =
		"EXPORT { Export_Id = 1; FSAL { Name = VFS; } }\n"
		"export { Export_Id = 1; CLIENT { } CLIENT { } }\n"
		"RDMA { Export_Id = 7; }\nEXPORT { }\n";
	char path[] = "/tmp/rpcrdma-config-XXXXXX";
	struct gsh_config_errors e;
	struct gsh_config *tree;
	struct gr_exports x;
	int fd = mkstemp(path);

	CU_ASSERT_EQUAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	said[0] = '\0';
	CU_ASSERT_TRUE_FATAL(gsh.init_error_type(&e));
	tree = parse(path, &e);
	gr_exports_count(&gsh, tree, &x);
	CU_ASSERT_EQUAL(x.blocks, 3);
	CU_ASSERT_EQUAL(x.served, 0); /* there is no server */
	gr_exports_count(&gsh, NULL, &x);
	CU_ASSERT_EQUAL(x.blocks, 0);
	CU_ASSERT_STRING_EQUAL(said, "");
	release(tree);
	gsh.report_config_errors(&e, NULL, listen_to);
	unlink(path);
}

static void found(void)
{
	CU_ASSERT_TRUE_FATAL(bind_ganesha());
}

static const struct unit_test tests[] = {
	{ "found", found },
	{ "blocks", blocks },
	{ "defaults", defaults },
	{ "every range", every_range },
	{ "not together", not_together },
	{ "extensions", extensions },
	{ "other items", other_items },
	{ "units", units },
	{ "shares", shares },
	{ "block RDMA_Debug", debug_block },
	{ "consequences", consequences },
	{ "differences", differences },
	{ "all faults", all_faults },
	{ "text of a size", size_text },
	{ NULL, NULL },
};

UNIT_MAIN("ganesha-config", tests)
