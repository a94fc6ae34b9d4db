/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session_reply - read and correct what Replies to NFSv4.1 Calls say about sessions
 *
 * The back channels must know Ganesha's sessions (ntirpc/back/back.h), which Ganesha does not
 * export. So Replies are read as soon as their results are encoded, before RPCSEC_GSS protects
 * them: they name the session that a CLIENT was created for, the connection that the client has
 * bound to a back channel, and the session that is destroyed. Flags are added that tell the
 * client to bind another connection.
 *
 * Context: the worker that runs the Call.
 */
#ifndef RPCRDMA_NTIRPC_SESSION_REPLY_H
#define RPCRDMA_NTIRPC_SESSION_REPLY_H

#include <rpc/xdr.h>

#include "ntirpc/back/back.h"

struct nrt_call;

/* Returns true if the results of @nc must be read, or perhaps changed. */
bool nrt_session_concerns(const struct nrt_call *nc);
/* An xdrproc_t: encode the results of a struct nrt_results, correct sr_status_flags and
 * bctsr_dir, let the quirks make their corrections, and set nc->news. */
bool nrt_session_encode(XDR *xdrs, void *results);

/* What a Reply says. The Call is freed while this is in use. */
struct nrt_session_news {
	struct bc_server *back;
	struct rt_conn *conn; /* a reference; NULL: it says nothing */
	struct bc_reply reply;
};

/* Call this before the Reply to @nc is sent, or the Call dropped, */
void nrt_session_begin(const struct nrt_call *nc,
		       struct nrt_session_news *news);
/* and this afterwards, so that callbacks follow the Reply. */
void nrt_session_end(const struct nrt_session_news *news);

#endif /* RPCRDMA_NTIRPC_SESSION_REPLY_H */
