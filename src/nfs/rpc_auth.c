/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpc_auth - Calls that are denied before a server sees them
 *
 * A server trusts the lengths in the head of a Call too much: ntirpc reads a
 * context handle of two pointers from any credential of RPCSEC_GSS, and
 * allocates as much as a handle or a token claims to have. So credential and
 * verifier are checked against RFC 5531 and RFC 2203 here.
 */
#include "nfs/ulb.h"

/* RFC 5531, 8.2; RFC 9289, 4.1 */
enum { FLAVOR_NONE = 0, FLAVOR_SYS = 1, FLAVOR_TLS = 7 };

/* auth_stat: RFC 5531, 9; RFC 2203, 5.3.3.3 */
enum {
	STAT_BADCRED = 1,
	STAT_REJECTEDCRED = 2,
	STAT_BADVERF = 3,
	STAT_GSS_CREDPROBLEM = 13,
};

/* RFC 5531, appendix A */
#define SYS_NAME_MAX 255
#define SYS_GIDS_MAX 16

/* RFC 2203, 5 */
#define GSS_VERSION 1
#define GSS_PROC_INIT 1
#define GSS_PROC_DESTROY 3
#define GSS_SERVICE_PRIVACY 3

struct auth {
	uint32_t flavor, len;
	struct ulb_cur body; /* where it begins */
};

/* Returns 0, -E2BIG if it is too long, or -EBADMSG. */
static int get_auth(struct ulb_cur *cur, struct auth *a)
{
	if (ulb_get32(cur, &a->flavor) || ulb_get32(cur, &a->len))
		return -EBADMSG;
	if (a->len > RPC_AUTH_MAX)
		return -E2BIG;
	a->body = *cur;
	return ulb_skip(cur, ulb_roundup(a->len));
}

static bool deny(struct ulb_denial *d, bool malformed, uint32_t auth_stat,
		 const char *why)
{
	*d = (struct ulb_denial){ .why = why,
				  .auth_stat = auth_stat,
				  .malformed = malformed };
	return true;
}

/* Octets behind the fields are ignored, as by other servers. */
static bool is_sys(struct auth a)
{
	uint64_t end = a.body.pos + a.len;
	uint32_t name, gids;

	return !ulb_skip(&a.body, 4) && !ulb_get32(&a.body, &name) &&
	       name <= SYS_NAME_MAX &&
	       !ulb_skip(&a.body, ulb_roundup(name) + 8) &&
	       !ulb_get32(&a.body, &gids) && gids <= SYS_GIDS_MAX &&
	       !ulb_skip(&a.body, 4 * gids) && a.body.pos <= end;
}

struct gss_cred {
	uint32_t version, proc, seq, service, handle;
};

static bool get_gss_cred(struct auth a, struct gss_cred *g)
{
	uint64_t end = a.body.pos + a.len;

	return !ulb_get32(&a.body, &g->version) &&
	       !ulb_get32(&a.body, &g->proc) && !ulb_get32(&a.body, &g->seq) &&
	       !ulb_get32(&a.body, &g->service) &&
	       !ulb_get32(&a.body, &g->handle) &&
	       !ulb_skip(&a.body, ulb_roundup(g->handle)) && a.body.pos <= end;
}

/* @args: the token of an INIT or CONTINUE_INIT. */
static bool deny_gss_cred(const struct auth *cred, const struct auth *verf,
			  uint32_t proc, struct ulb_cur args, uint32_t handle,
			  struct ulb_denial *d)
{
	struct gss_cred g;
	bool control, in_context;

	if (!get_gss_cred(*cred, &g) || g.version != GSS_VERSION ||
	    g.proc > GSS_PROC_DESTROY)
		return deny(d, true, STAT_BADCRED,
			    "a credential of RPCSEC_GSS that cannot be read");
	control = g.proc != GSS_PROC_DATA;
	in_context = !control || g.proc == GSS_PROC_DESTROY;
	if (control && proc)
		return deny(d, true, STAT_BADCRED,
			    "control of a context with another procedure");
	/* 5.2.2: what creates a context ignores service and sequence number. */
	if (!in_context) {
		if (g.proc == GSS_PROC_INIT && g.handle)
			return deny(d, true, STAT_BADCRED,
				    "a new context with a handle");
		if (verf->flavor != FLAVOR_NONE || verf->len)
			return deny(d, true, STAT_BADVERF,
				    "a new context with a verifier");
		if (ulb_skip_opaque(&args))
			return deny(d, true, STAT_BADCRED,
				    "the token of a context cannot be read");
		return false;
	}
	if (g.service < GSS_SERVICE_NONE || g.service > GSS_SERVICE_PRIVACY)
		return deny(d, true, STAT_BADCRED,
			    "a service that RPCSEC_GSS does not have");
	if (verf->flavor != RPC_FLAVOR_GSS)
		return deny(d, true, STAT_BADVERF,
			    "RPCSEC_GSS without its verifier");
	if (handle && g.handle != handle)
		return deny(d, false, STAT_GSS_CREDPROBLEM,
			    "a context that is not known");
	return false;
}

bool ulb_deny(const struct iovec *iov, unsigned int niov, uint32_t handle,
	      struct ulb_denial *d)
{
	struct ulb_cur cur;
	struct auth cred, verf;
	uint32_t type, version, proc;
	int rc;

	ulb_cur_init(&cur, iov, niov);
	if (ulb_skip(&cur, 4) || ulb_get32(&cur, &type) || type != RPC_CALL ||
	    ulb_get32(&cur, &version))
		return false;
	if (version != RPC_VERSION)
		return deny(d, true, 0, "another version of RPC");
	if (ulb_skip(&cur, 8) || ulb_get32(&cur, &proc))
		return false;
	rc = get_auth(&cur, &cred);
	if (rc == -E2BIG)
		return deny(d, true, STAT_BADCRED,
			    "a credential that is too long");
	if (!rc)
		rc = get_auth(&cur, &verf);
	if (rc == -E2BIG)
		return deny(d, true, STAT_BADVERF,
			    "a verifier that is too long");
	if (rc)
		return false;
	switch (cred.flavor) {
	case FLAVOR_NONE:
		return false;
	case FLAVOR_SYS:
		return !is_sys(cred) &&
		       deny(d, true, STAT_BADCRED,
			    "a credential of AUTH_SYS that cannot be read");
	case RPC_FLAVOR_GSS:
		return deny_gss_cred(&cred, &verf, proc, cur, handle, d);
	case FLAVOR_TLS:
		return deny(d, false, STAT_REJECTEDCRED, "no TLS over RDMA");
	default:
		return deny(d, false, STAT_REJECTEDCRED,
			    "a flavor that is not known");
	}
}
