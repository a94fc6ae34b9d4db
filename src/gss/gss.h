/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss - host authentication by Kerberos
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

/* Who may be a client, unless said otherwise. */
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

/* 0; otherwise -ENOMEM, or -EINVAL and in @fault what to do about it. With 0 @fault
 * is empty, or says what a client still needs. */
int auth_gss_create(const struct auth_gss_params *p, struct auth_gss **g,
		    char fault[RT_AUTH_TEXT]);
void auth_gss_destroy(struct auth_gss *g);

/* The context is a struct auth_gss. */
extern const struct rt_auth_ops auth_gss_ops;

/* Is @name one of the list? */
bool auth_gss_allowed(const char *list, const char *name);
/*
 * Its first pattern that has no "@" and does not end in "*": names end with "@" and a
 * realm, so it matches none, or none that it is meant for. The rest of the list, or
 * NULL: there is no such pattern.
 */
const char *auth_gss_no_realm(const char *list, char pattern[RT_AUTH_TEXT]);

#endif /* RPCRDMA_GSS_H */
