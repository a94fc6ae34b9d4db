/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hostauth - host authentication of the programs that are clients
 *
 * Called by main, before there are threads and after there are any.
 */
#ifndef RPCRDMA_TOOLS_HOSTAUTH_H
#define RPCRDMA_TOOLS_HOSTAUTH_H

#include "gss/gss.h"
#include "tools/args.h"
#include "rpcrdma/transport.h"

/* Options, as on the command line; all may be NULL. */
struct hostauth {
	const char *server; /* as --server has it */
	const char *keytab, *principal, *server_principal;
	uint64_t timeout; /* seconds; 0: not given */
};

/* "none", "optional" or "required"; sets rt_config.auth. */
const char *hostauth_policy(const char *s, enum rt_auth_policy *out,
			    struct arg_err *err);
/* In seconds; sets rt_config.auth_ms. */
const char *hostauth_timeout(const char *s, struct hostauth *o,
			     struct rt_config *config, struct arg_err *err);
/* Returns NULL, or what is missing, or needs --host-auth. */
const char *hostauth_check(const struct hostauth *o,
			   enum rt_auth_policy policy);
/*
 * Fill in @params. *@g is freed by auth_gss_destroy() after the instance.
 * Returns 0, -ENOMEM, or -EINVAL with the reason in @fault.
 */
int hostauth_start(const struct hostauth *o, struct rt_params *params,
		   struct auth_gss **g, char fault[RT_AUTH_TEXT]);

#endif /* RPCRDMA_TOOLS_HOSTAUTH_H */
