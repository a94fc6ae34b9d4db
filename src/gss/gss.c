/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss - names, keys and tickets for host authentication
 *
 * A struct auth_gss does not change once it is made. A server's credentials
 * are a keytab, which is read again for each context, so that keys may be
 * renewed. A client's are made anew for each exchange; with a keytab the
 * library gets tickets into a cache in memory when there are none or they have
 * run out.
 */
#include "gss/gss.h"

#include <errno.h>
#include <fnmatch.h>
#include <krb5.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gss/gss_internal.h"

/* Where systemd puts what LoadCredential names. */
#define CREDENTIALS "/run/credentials/"
#define KEYTAB_NAME 256

/* Kerberos and nothing else: no negotiation of mechanisms. */
static gss_OID_set_desc mechs(void)
{
	return (gss_OID_set_desc){ 1, (gss_OID)(uintptr_t)gss_mech_krb5 };
}

static size_t add_status(OM_uint32 code, int type, char *to, size_t size)
{
	gss_OID_set_desc set = mechs();
	gss_buffer_desc b = GSS_C_EMPTY_BUFFER;
	OM_uint32 min, context = 0;
	size_t n = 0;

	*to = 0;

	if (!GSS_ERROR(gss_display_status(&min, code, type, set.elements,
					  &context, &b)))
		n = (size_t)snprintf(to, size, "%.*s", (int)b.length,
				     (char *)b.value);
	gss_release_buffer(&min, &b);
	return n < size ? n : size - 1;
}

void auth_gss_text(OM_uint32 maj, OM_uint32 min, char *to, size_t size)
{
	/* The mechanism's text says what is wrong, the other only of what kind
	 * it is. */
	if (!min || !add_status(min, GSS_C_MECH_CODE, to, size))
		add_status(maj, GSS_C_GSS_CODE, to, size);
	for (; *to; to++)
		if ((unsigned char)*to < ' ')
			*to = ' ';
}

static OM_uint32 import_name(const char *text, gss_name_t *name, OM_uint32 *min)
{
	gss_buffer_desc b = { strlen(text), (void *)(uintptr_t)text };
	gss_name_t whole = GSS_C_NO_NAME;
	OM_uint32 maj, other;

	if (!strchr(text, '/'))
		return gss_import_name(min, &b, GSS_C_NT_HOSTBASED_SERVICE,
				       name);
	maj = gss_import_name(
		min, &b, (gss_OID)(uintptr_t)GSS_KRB5_NT_PRINCIPAL_NAME, name);
	/* gss_canonicalize_name() checks the name. */
	if (!GSS_ERROR(maj))
		maj = gss_canonicalize_name(
			min, *name, (gss_OID)(uintptr_t)gss_mech_krb5, &whole);
	gss_release_name(&other, &whole);
	return maj;
}

OM_uint32 auth_gss_credentials(struct auth_gss *g, gss_cred_id_t *cred,
			       OM_uint32 *min)
{
	gss_key_value_element_desc pair[] = {
		{ "client_keytab", g->keytab },
		{ "ccache", g->cache },
	};
	gss_key_value_set_desc store = { 2, pair };
	gss_OID_set_desc set = mechs();

	return gss_acquire_cred_from(min, g->own, GSS_C_INDEFINITE, &set,
				     GSS_C_INITIATE, g->keytab ? &store : NULL,
				     cred, NULL, NULL);
}

static OM_uint32 acquire_acceptor(const struct auth_gss *g, gss_cred_id_t *cred,
				  OM_uint32 *min)
{
	gss_key_value_element_desc pair = { "keytab", g->keytab };
	gss_key_value_set_desc store = { 1, &pair };
	gss_OID_set_desc set = mechs();

	return gss_acquire_cred_from(min, g->own, GSS_C_INDEFINITE, &set,
				     GSS_C_ACCEPT, g->keytab ? &store : NULL,
				     cred, NULL, NULL);
}

/* For any file that cannot be read the library says that it does not exist. */
static bool is_unreadable(const char *keytab, char fault[RT_AUTH_TEXT])
{
	const char *path = strncmp(keytab, "FILE:", 5) ? keytab : keytab + 5;
	bool given = !strncmp(path, CREDENTIALS, sizeof(CREDENTIALS) - 1);
	int found;

	if (*path != '/' || !access(path, R_OK))
		return false;
	found = access(path, F_OK) ? errno : 0;
	/* The directory is closed to a service without credentials. */
	if (found && given)
		snprintf(
			fault, RT_AUTH_TEXT,
			"keytab %.200s does not exist: LoadCredential in the service's unit has to name it",
			path);
	else if (found == ENOENT)
		snprintf(fault, RT_AUTH_TEXT, "keytab %.200s does not exist",
			 path);
	else if (found == EACCES)
		snprintf(
			fault, RT_AUTH_TEXT,
			"keytab %.200s: this user may not look into its directory",
			path);
	else if (!found)
		snprintf(fault, RT_AUTH_TEXT,
			 "keytab %.200s: this user may not read it", path);
	else
		return false;
	return true;
}

/* Otherwise the library would look at the first exchange only. */
static bool keytab_is_empty(const struct auth_gss *g, char fault[RT_AUTH_TEXT])
{
	krb5_context ctx;
	krb5_keytab kt;
	krb5_error_code rc;

	if (krb5_init_context(&ctx)) {
		snprintf(fault, RT_AUTH_TEXT,
			 "Kerberos cannot be used: look at krb5.conf");
		return true;
	}
	rc = krb5_kt_resolve(ctx, g->keytab, &kt);
	if (!rc) {
		rc = krb5_kt_have_content(ctx, kt);
		krb5_kt_close(ctx, kt);
	}
	if (rc) {
		const char *why = krb5_get_error_message(ctx, rc);

		snprintf(fault, RT_AUTH_TEXT,
			 "keytab %.100s cannot be used: %.240s", g->keytab,
			 why);
		krb5_free_error_message(ctx, why);
	}
	krb5_free_context(ctx);
	return rc;
}

/* The keytab that Kerberos uses by default. */
static const char *default_keytab(char to[KEYTAB_NAME])
{
	krb5_context ctx;

	snprintf(to, KEYTAB_NAME, "(the default)");
	if (krb5_init_context(&ctx))
		return to;
	(void)krb5_kt_default_name(ctx, to, KEYTAB_NAME);
	krb5_free_context(ctx);
	return to;
}

/*
 * Is there a key of our principal, or any key without one? A server keeps the
 * credentials. A client only looks, since its library would not before the
 * first exchange; without a name it uses the first key.
 */
static int check_keytab(struct auth_gss *g, const char *principal,
			char fault[RT_AUTH_TEXT])
{
	char text[230], room[KEYTAB_NAME];
	const char *keytab = g->keytab ? g->keytab : default_keytab(room);
	gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
	bool named = g->own != GSS_C_NO_NAME;
	OM_uint32 maj, min, other;

	if (g->client &&
	    (is_unreadable(keytab, fault) || keytab_is_empty(g, fault)))
		return -EINVAL;
	if (g->client && !named)
		return 0;
	maj = acquire_acceptor(g, g->client ? &cred : &g->cred, &min);
	gss_release_cred(&other, &cred);
	if (!GSS_ERROR(maj))
		return 0;
	auth_gss_text(maj, min, text, sizeof(text));
	if (is_unreadable(keytab, fault))
		return -EINVAL;
	if (named)
		snprintf(fault, RT_AUTH_TEXT,
			 "keytab %.100s: no key of %.60s: %.200s", keytab,
			 principal, text);
	else
		snprintf(fault, RT_AUTH_TEXT,
			 "no key for host authentication in keytab %.100s: %s",
			 keytab, text);
	return -EINVAL;
}

/* Is there a ticket, or a key for one, by default? */
static void look_for_tickets(struct auth_gss *g, char fault[RT_AUTH_TEXT])
{
	gss_cred_id_t cred = GSS_C_NO_CREDENTIAL;
	OM_uint32 maj, min;
	char text[200];

	pthread_mutex_lock(&g->client_lock);
	maj = auth_gss_credentials(g, &cred, &min);
	pthread_mutex_unlock(&g->client_lock);
	if (GSS_ERROR(maj)) {
		auth_gss_text(maj, min, text, sizeof(text));
		snprintf(fault, RT_AUTH_TEXT,
			 "no ticket yet, and no keytab is set: %s", text);
	}
	gss_release_cred(&min, &cred);
}

static int name_fault(const char *what, const char *name, OM_uint32 maj,
		      OM_uint32 min, char fault[RT_AUTH_TEXT])
{
	char text[200];

	auth_gss_text(maj, min, text, sizeof(text));
	snprintf(fault, RT_AUTH_TEXT,
		 "%s %.60s is not a name like nfs@host or nfs/host@REALM: "
		 "%s",
		 what, name, text);
	return -EINVAL;
}

static int import_names(struct auth_gss *g, const struct auth_gss_params *p,
			char fault[RT_AUTH_TEXT])
{
	OM_uint32 maj, min;

	if (p->principal && *p->principal) {
		maj = import_name(p->principal, &g->own, &min);
		if (GSS_ERROR(maj))
			return name_fault("our principal", p->principal, maj,
					  min, fault);
	}
	if (p->client) {
		maj = import_name(p->peer, &g->server, &min);
		if (GSS_ERROR(maj))
			return name_fault("the server's principal", p->peer,
					  maj, min, fault);
	}
	return 0;
}

int auth_gss_create(const struct auth_gss_params *p, struct auth_gss **out,
		    char fault[RT_AUTH_TEXT])
{
	struct auth_gss *g = calloc(1, sizeof(*g));
	int rc = -ENOMEM;

	if (!g)
		return -ENOMEM;
	*fault = 0;
	g->client = p->client;
	g->own = g->server = GSS_C_NO_NAME;
	g->cred = GSS_C_NO_CREDENTIAL;
	pthread_mutex_init(&g->client_lock, NULL);
	g->allow = strdup(p->allow && *p->allow ? p->allow : AUTH_GSS_ALLOW);
	if (p->keytab && *p->keytab)
		g->keytab = strdup(p->keytab);
	if (!g->allow || (p->keytab && *p->keytab && !g->keytab))
		goto fail;
	snprintf(g->cache, sizeof(g->cache), "MEMORY:rpcrdma-%ld-%p",
		 (long)getpid(), (void *)g);
	rc = import_names(g, p, fault);
	if (!rc && (!p->client || g->keytab))
		rc = check_keytab(g, p->principal, fault);
	if (rc)
		goto fail;
	if (p->client && !g->keytab)
		look_for_tickets(g, fault);
	*out = g;
	return 0;
fail:
	auth_gss_destroy(g);
	return rc;
}

void auth_gss_forget(struct auth_gss *g)
{
	krb5_context ctx;
	krb5_ccache cc;

	if (!g->client || !g->keytab || krb5_init_context(&ctx))
		return;
	if (!krb5_cc_resolve(ctx, g->cache, &cc))
		krb5_cc_destroy(ctx, cc);
	krb5_free_context(ctx);
}

void auth_gss_destroy(struct auth_gss *g)
{
	OM_uint32 min;

	if (!g)
		return;
	auth_gss_forget(g);
	gss_release_name(&min, &g->own);
	gss_release_name(&min, &g->server);
	gss_release_cred(&min, &g->cred);
	pthread_mutex_destroy(&g->client_lock);
	free(g->keytab);
	free(g->allow);
	free(g);
}

/* Get the next pattern of @list. Returns the list behind it, or NULL at the
 * end. A pattern too long for any name is skipped. */
static const char *next_pattern(const char *list, char pattern[RT_AUTH_TEXT])
{
	size_t n;

	do {
		list += strspn(list, " \t,");
		n = strcspn(list, " \t,");
		if (!n)
			return NULL;
		list += n;
	} while (n >= RT_AUTH_TEXT);
	memcpy(pattern, list - n, n);
	pattern[n] = 0;
	return list;
}

bool auth_gss_allowed(const char *list, const char *name)
{
	char pattern[RT_AUTH_TEXT];

	while ((list = next_pattern(list, pattern)))
		if (!fnmatch(pattern, name, 0))
			return true;
	return false;
}

const char *auth_gss_no_realm(const char *list, char pattern[RT_AUTH_TEXT])
{
	while ((list = next_pattern(list, pattern))) {
		if (!strchr(pattern, '@') &&
		    pattern[strlen(pattern) - 1] != '*')
			return list;
	}
	return NULL;
}
