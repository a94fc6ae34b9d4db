/* SPDX-License-Identifier: BSD-3-Clause */
/* gss_internal - what the files of host authentication by Kerberos share */
#ifndef RPCRDMA_GSS_INTERNAL_H
#define RPCRDMA_GSS_INTERNAL_H

#include <gssapi/gssapi.h>
#include <gssapi/gssapi_ext.h>
#include <gssapi/gssapi_krb5.h>
#include <pthread.h>

#include "gss/gss.h"

struct auth_gss {
	bool client;
	char *keytab, *allow;
	char cache[64]; /* client with a keytab: its ticket cache, in memory */
	gss_name_t own; /* or GSS_C_NO_NAME */
	gss_name_t server; /* client */
	gss_cred_id_t cred; /* server */
	pthread_mutex_t client_lock;
	uint64_t forgotten_ms; /* time of the last auth_gss_forget() of a failed exchange, or 0 */
};

/* Lock held. Get a client's credentials, for each exchange: tickets expire. */
OM_uint32 auth_gss_credentials(struct auth_gss *g, gss_cred_id_t *cred,
			       OM_uint32 *min);
/* Lock held, or @g not shared. Drop the tickets of a client with a keytab,
 * which the library would keep until they expire. */
void auth_gss_forget(struct auth_gss *g);
/* Format the error in one line. */
void auth_gss_text(OM_uint32 maj, OM_uint32 min, char *to, size_t size);

#endif /* RPCRDMA_GSS_INTERNAL_H */
