/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostauth - from options to an authenticator
 *
 * The client asks the KDC for the server's principal, so it is never derived
 * from an address: whoever answers there could claim any name.
 */
#include "tools/hostauth.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

const char *hostauth_policy(const char *s, enum rt_auth_policy *out,
			    struct arg_err *err)
{
	static const char *const names[] = { "none", "optional", "required",
					     NULL };
	unsigned int choice;
	const char *bad = arg_choice(s, names, &choice, err);

	if (!bad)
		*out = (enum rt_auth_policy)choice;
	return bad;
}

const char *hostauth_timeout(const char *s, struct hostauth *o,
			     struct rt_config *config, struct arg_err *err)
{
	const char *bad =
		arg_number(s, 1, RT_MAX(auth_ms) / 1000, &o->timeout, err);

	if (!bad)
		config->auth_ms = (unsigned int)o->timeout * 1000;
	return bad;
}

/* Make nfs@NAME of "NAME:PORT". Returns false if that is an address. */
static bool from_server(const char *server, char *to, size_t size)
{
	size_t n = server ? strcspn(server, ":") : 0;
	struct in_addr in;
	char host[256];

	if (!n || n >= sizeof(host) || strchr(server, '[') ||
	    strchr(server + n, ':') != strrchr(server, ':'))
		return false;
	memcpy(host, server, n);
	host[n] = 0;
	if (inet_pton(AF_INET, host, &in) == 1)
		return false;
	return (size_t)snprintf(to, size, "nfs@%s", host) < size;
}

const char *hostauth_check(const struct hostauth *o, enum rt_auth_policy policy)
{
	char name[264];

	if (policy == RT_AUTH_NONE)
		return o->keytab || o->principal || o->server_principal ||
				       o->timeout ?
			       "--keytab, --principal, --server-principal and "
			       "--host-auth-timeout need --host-auth" :
			       NULL;
	if (!o->server_principal && !from_server(o->server, name, sizeof(name)))
		return "--server is an address: --host-auth needs "
		       "--server-principal nfs@HOST too";
	return NULL;
}

int hostauth_start(const struct hostauth *o, struct rt_params *params,
		   struct auth_gss **g, char fault[RT_AUTH_TEXT])
{
	struct auth_gss_params p = { .client = true,
				     .keytab = o->keytab,
				     .principal = o->principal,
				     .peer = o->server_principal };
	char name[264];
	int rc;

	*g = NULL;
	*fault = 0;
	if (params->config.auth == RT_AUTH_NONE)
		return 0;
	if (!p.peer && from_server(o->server, name, sizeof(name)))
		p.peer = name;
	rc = auth_gss_create(&p, g, fault);
	if (rc)
		return rc;
	params->auth = &auth_gss_ops;
	params->auth_ctx = *g;
	return 0;
}
