/* SPDX-License-Identifier: BSD-3-Clause */
/* Host authentication by Kerberos without a KDC: names, keytabs that are not
 * there, tokens that make no sense. integration/hostauth.test has the rest. */
#include <errno.h>
#include <krb5.h>
#include <unistd.h>

#include "gss/gss.h"
#include "unit.h"

/* What libgssapi_krb5 loses when it refuses a name of which the keytab has no key. */
__attribute__((visibility("default"))) const char *
__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:krb5_copy_principal\n";
}

static void allowed(void)
{
	static const char host[] = "host/a.example.com@EXAMPLE.COM";

	CU_ASSERT_TRUE(auth_gss_allowed(AUTH_GSS_ALLOW, host));
	CU_ASSERT_TRUE(auth_gss_allowed(AUTH_GSS_ALLOW, "nfs/a@B"));
	CU_ASSERT_FALSE(auth_gss_allowed(AUTH_GSS_ALLOW, "root@EXAMPLE.COM"));
	CU_ASSERT_FALSE(auth_gss_allowed(AUTH_GSS_ALLOW, "xhost/a@B"));
	CU_ASSERT_FALSE(auth_gss_allowed(AUTH_GSS_ALLOW, ""));
	CU_ASSERT_TRUE(auth_gss_allowed("x ,\t,host/a.*@EXAMPLE.COM", host));
	CU_ASSERT_TRUE(auth_gss_allowed(host, host));
	CU_ASSERT_FALSE(auth_gss_allowed("host/a.example.com", host));
	CU_ASSERT_FALSE(auth_gss_allowed("host/*@OTHER", host));
	CU_ASSERT_FALSE(auth_gss_allowed("HOST/*", host));
	CU_ASSERT_FALSE(auth_gss_allowed("", host));
	CU_ASSERT_FALSE(auth_gss_allowed(" , ", host));
	/* A pattern too long to be one. */
	{
		char list[600];

		memset(list, '*', sizeof(list) - 1);
		list[sizeof(list) - 1] = 0;
		CU_ASSERT_FALSE(auth_gss_allowed(list, host));
	}
}

static void no_realm(void)
{
	char pattern[RT_AUTH_TEXT];
	const char *rest;

	CU_ASSERT_PTR_NULL(auth_gss_no_realm(AUTH_GSS_ALLOW, pattern));
	CU_ASSERT_PTR_NULL(auth_gss_no_realm("", pattern));
	CU_ASSERT_PTR_NULL(auth_gss_no_realm("host/a@B, host/c.*", pattern));
	CU_ASSERT_PTR_NULL(auth_gss_no_realm("*, host/*.c@B", pattern));
	CU_ASSERT_PTR_NULL(auth_gss_no_realm("host/a[@]B", pattern));
	CU_ASSERT_PTR_NOT_NULL(auth_gss_no_realm("host/*.c", pattern));
	CU_ASSERT_STRING_EQUAL(pattern, "host/*.c");
	CU_ASSERT_PTR_NOT_NULL(auth_gss_no_realm("*.c", pattern));
	CU_ASSERT_PTR_NOT_NULL(auth_gss_no_realm("host/a?B", pattern));
	/* Each of them. */
	rest = auth_gss_no_realm("host/a@B,host/b.c host/*.d, host/e*",
				 pattern);
	CU_ASSERT_STRING_EQUAL(pattern, "host/b.c");
	CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
	rest = auth_gss_no_realm(rest, pattern);
	CU_ASSERT_STRING_EQUAL(pattern, "host/*.d");
	CU_ASSERT_PTR_NOT_NULL_FATAL(rest);
	CU_ASSERT_PTR_NULL(auth_gss_no_realm(rest, pattern));
}

static int make(const struct auth_gss_params *p, char *fault)
{
	struct auth_gss *g = NULL;
	int rc = auth_gss_create(p, &g, fault);

	if (!rc)
		auth_gss_destroy(g);
	return rc;
}

static void faults(void)
{
	struct auth_gss_params server = { .keytab = "FILE:/nonexistent/kt" };
	struct auth_gss_params client = { .client = true,
					  .keytab = "/nonexistent/kt",
					  .peer = "nfs@a.example" };
	char fault[RT_AUTH_TEXT];

	CU_ASSERT_EQUAL(make(&server, fault), -EINVAL);
	CU_ASSERT_STRING_EQUAL(fault, "keytab /nonexistent/kt does not exist");
	CU_ASSERT_EQUAL(make(&client, fault), -EINVAL);
	CU_ASSERT_STRING_EQUAL(fault, "keytab /nonexistent/kt does not exist");
	client.keytab = "FILE:/run/credentials/nonexistent.service/kt";
	CU_ASSERT_EQUAL(make(&client, fault), -EINVAL);
	CU_ASSERT_STRING_EQUAL(
		fault,
		"keytab /run/credentials/nonexistent.service/kt does not exist: "
		"LoadCredential in the service's unit has to name it");
	client.keytab = "NOSUCHTYPE:x";
	CU_ASSERT_EQUAL(make(&client, fault), -EINVAL);
	client.keytab = NULL;
	client.peer = "nfs/a@B@C";
	CU_ASSERT_EQUAL(make(&client, fault), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(fault, "nfs/a@B@C"));
	client.peer = "nfs@a.example";
	CU_ASSERT_EQUAL(make(&client, fault), 0);
}

/* What the mechanism says, first and to its end, and not what GSSAPI calls such
 * things. */
static void fault_texts(void)
{
	char place[] = "FILE:/tmp/of-some-length-as-these-names-are-rpcrdma."
		       "keytab.XXXXXX";
	struct auth_gss_params server = { .keytab = place };
	char fault[RT_AUTH_TEXT], want[RT_AUTH_TEXT];
	int fd = mkstemp(place + 5);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	snprintf(want, sizeof(want),
		 "no key for host authentication in keytab %s: Keytab %s is "
		 "nonexistent or empty",
		 place, place);
	CU_ASSERT_EQUAL(make(&server, fault), -EINVAL);
	CU_ASSERT_STRING_EQUAL(fault, want);
	unlink(place + 5);
}

static enum rt_auth_status step(void *exchange, uint32_t kind,
				const void *token, size_t len,
				struct rt_auth_step *s)
{
	static const uint8_t announced[40];
	enum rt_auth_status status;

	*s = (struct rt_auth_step){ .kind = kind, .token = token, .len = len };
	if (token) {
		s->announced = announced;
		s->announced_len = sizeof(announced);
	}
	status = auth_gss_ops.step(exchange, s);
	free(s->out);
	return status;
}

/* A client without a ticket; whatever comes then is refused in order. */
static void no_ticket(void)
{
	struct auth_gss_params p = { .client = true, .peer = "nfs@a.example" };
	char fault[RT_AUTH_TEXT];
	struct rt_auth_step s;
	struct auth_gss *g;
	void *e;

	CU_ASSERT_EQUAL_FATAL(auth_gss_create(&p, &g, fault), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(fault, "no ticket yet, and no keytab"));
	e = auth_gss_ops.start(g, true);
	CU_ASSERT_PTR_NOT_NULL_FATAL(e);
	CU_ASSERT_EQUAL(step(e, 0, NULL, 0, &s), RT_AUTH_FAILED);
	CU_ASSERT_PTR_NOT_NULL(strstr(s.text, "no ticket"));
	for (uint32_t kind = 0; kind < 5; kind++) {
		CU_ASSERT_EQUAL(step(e, kind, "abc", 3, &s), RT_AUTH_FAILED);
		CU_ASSERT_NOT_EQUAL(*s.text, 0);
		CU_ASSERT_EQUAL(step(e, kind, "", 0, &s), RT_AUTH_FAILED);
	}
	auth_gss_ops.end(e);
	/* One that has had no step at all. */
	e = auth_gss_ops.start(g, true);
	auth_gss_ops.end(e);
	auth_gss_destroy(g);
	auth_gss_destroy(NULL);
}

/* A file with one key of @principal's, which nobody else knows. */
static void make_keytab(krb5_context ctx, const char *name,
			const char *principal)
{
	static krb5_octet key[16];
	krb5_keytab_entry e = {
		.vno = 1,
		.key = { .enctype = ENCTYPE_AES128_CTS_HMAC_SHA1_96,
			 .length = sizeof(key),
			 .contents = key }
	};
	krb5_keytab kt;

	CU_ASSERT_EQUAL_FATAL(krb5_parse_name(ctx, principal, &e.principal), 0);
	CU_ASSERT_EQUAL_FATAL(krb5_kt_resolve(ctx, name, &kt), 0);
	CU_ASSERT_EQUAL_FATAL(krb5_kt_add_entry(ctx, kt, &e), 0);
	krb5_kt_close(ctx, kt);
	krb5_free_principal(ctx, e.principal);
}

/* A name for a keytab that is not there yet. */
static void name_keytab(char *path, char keytab[64])
{
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	close(fd);
	unlink(path);
	snprintf(keytab, 64, "FILE:%s", path);
}

/* Our own principal has to be in the keytab, at either end. */
static void own_principal(void)
{
	char path[] = "/tmp/auth-gss.XXXXXX", keytab[64];
	struct auth_gss_params p = { .peer = "nfs@a.example",
				     .keytab = keytab };
	char fault[RT_AUTH_TEXT], want[RT_AUTH_TEXT];
	krb5_context ctx;

	name_keytab(path, keytab);
	snprintf(want, sizeof(want),
		 "keytab %s: no key of host/wrong.example@B: ", keytab);
	CU_ASSERT_EQUAL_FATAL(krb5_init_context(&ctx), 0);
	make_keytab(ctx, keytab, "host/a.example@B");
	for (unsigned int client = 0; client < 2; client++) {
		p.client = client;
		p.principal = NULL;
		CU_ASSERT_EQUAL(make(&p, fault), 0);
		p.principal = "host/a.example@B";
		CU_ASSERT_EQUAL(make(&p, fault), 0);
		CU_ASSERT_STRING_EQUAL(fault, "");
		p.principal = "host/wrong.example@B";
		CU_ASSERT_EQUAL(make(&p, fault), -EINVAL);
		CU_ASSERT_NSTRING_EQUAL(fault, want, strlen(want));
	}
	unlink(path);
	krb5_free_context(ctx);
}

static void make_tickets(krb5_context ctx, const char *cache)
{
	krb5_principal who;
	krb5_ccache cc;

	CU_ASSERT_EQUAL_FATAL(krb5_parse_name(ctx, "a@B", &who), 0);
	CU_ASSERT_EQUAL_FATAL(krb5_cc_resolve(ctx, cache, &cc), 0);
	CU_ASSERT_EQUAL(krb5_cc_initialize(ctx, cc, who), 0);
	krb5_free_principal(ctx, who);
	krb5_cc_close(ctx, cc);
}

static bool has_tickets(krb5_context ctx, const char *cache)
{
	krb5_principal who;
	krb5_ccache cc;
	bool has;

	CU_ASSERT_EQUAL_FATAL(krb5_cc_resolve(ctx, cache, &cc), 0);
	has = !krb5_cc_get_principal(ctx, cc, &who);
	if (has)
		krb5_free_principal(ctx, who);
	krb5_cc_close(ctx, cc);
	return has;
}

/* Tickets that were got by a keytab go with what they were got for. */
static void tickets_forgotten(void)
{
	char path[] = "/tmp/auth-gss.XXXXXX", keytab[64], cache[80];
	struct auth_gss_params p = { .client = true,
				     .peer = "nfs@a.example",
				     .keytab = keytab };
	static const uint8_t octets[8];
	struct rt_auth_step first = { 0 }, refusal = { .kind = RT_AUTH_REFUSAL,
						       .token = octets,
						       .len = sizeof(octets) };
	char fault[RT_AUTH_TEXT];
	struct auth_gss *g;
	krb5_context ctx;
	void *e;

	name_keytab(path, keytab);
	CU_ASSERT_EQUAL_FATAL(krb5_init_context(&ctx), 0);
	make_keytab(ctx, keytab, "a@B");
	CU_ASSERT_EQUAL_FATAL(auth_gss_create(&p, &g, fault), 0);
	unlink(path);
	snprintf(cache, sizeof(cache), "MEMORY:rpcrdma-%ld-%p", (long)getpid(),
		 (void *)g);
	make_tickets(ctx, cache);
	CU_ASSERT_TRUE(has_tickets(ctx, cache));
	/* Without a token, the server has not refused them. */
	e = auth_gss_ops.start(g, true);
	CU_ASSERT_EQUAL(auth_gss_ops.step(e, &first), RT_AUTH_FAILED);
	CU_ASSERT_TRUE(has_tickets(ctx, cache));
	CU_ASSERT_EQUAL(auth_gss_ops.step(e, &refusal), RT_AUTH_FAILED);
	CU_ASSERT_FALSE(has_tickets(ctx, cache));
	auth_gss_ops.end(e);
	make_tickets(ctx, cache);
	auth_gss_destroy(g);
	CU_ASSERT_FALSE(has_tickets(ctx, cache));
	krb5_free_context(ctx);
}

static const struct unit_test tests[] = {
	{ "allowed", allowed },
	{ "no_realm", no_realm },
	{ "faults", faults },
	{ "fault texts", fault_texts },
	{ "no ticket", no_ticket },
	{ "own principal", own_principal },
	{ "tickets forgotten", tickets_forgotten },
	{ NULL, NULL },
};

int main(int argc, char **argv)
{
	/* Nothing of this machine, and no name looked up. */
	setenv("KRB5_CONFIG", "/dev/null", 1);
	setenv("KRB5CCNAME", "MEMORY:none", 1);
	setenv("KRB5_CLIENT_KTNAME", "MEMORY:none", 1);
	return unit_run("auth-gss", tests, argc, argv);
}
