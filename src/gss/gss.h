/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss - host authentication by Kerberos. Prefix: auth_gss_.
 *
 * The authenticator of rpcrdma/auth.h for the identities that NFS sites
 * have: the client shows a ticket of its host's for the server's service, and
 * the server that it could read it. docs/protocol.md [F5] has the tokens.
 *
 * Threads: create and destroy by one thread, while no instance uses it;
 * auth_gss_ops as auth.h says.
 */
#ifndef RPCRDMA_GSS_H
#define RPCRDMA_GSS_H

#include "rpcrdma/auth.h"

/* Default for auth_gss_params.allow. */
#define AUTH_GSS_ALLOW "host/*, nfs/*"

struct auth_gss;

/*
 * Names: "nfs@server.example.com" is a service of a host, and one with a
 * slash, "nfs/server.example.com@EXAMPLE.COM", a principal.
 */
struct auth_gss_params {
	bool client;
	const char *keytab; /* NULL: Kerberos' default; a client then uses its
			     * default credentials, whatever they are */
	const char *principal; /* our own; NULL: any that there is a key for,
				* for a client the first of the keytab */
	const char *peer; /* client: the server's service */
	const char *allow; /* server: principals that may be clients, with *
			    * and ?, separated by blanks or commas */
};

/* Returns 0, -ENOMEM, or -EINVAL with what to do about it in @fault. With 0
 * @fault is empty, or says what a client still needs. */
int auth_gss_create(const struct auth_gss_params *p, struct auth_gss **g,
		    char fault[RT_AUTH_TEXT]);
void auth_gss_destroy(struct auth_gss *g);

/* The context is a struct auth_gss. */
extern const struct rt_auth_ops auth_gss_ops;

/* Returns true if @name matches a pattern of @list. */
bool auth_gss_allowed(const char *list, const char *name);
/*
 * Get the first pattern of @list without "@" that does not end in "*": names
 * end with "@" and a realm, so it matches none, or none that is meant. Returns
 * the list behind it, or NULL if there is none.
 */
const char *auth_gss_no_realm(const char *list, char pattern[RT_AUTH_TEXT]);

#endif /* RPCRDMA_GSS_H */
