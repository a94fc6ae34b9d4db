/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session - what the Replies to NFSv4.1 Calls say about sessions
 *
 * Ganesha keeps its sessions to itself, and the back channels must know them
 * (ntirpc/back/back.h). So Replies are read as soon as their results are encoded, before
 * RPCSEC_GSS protects them: they say which session a CLIENT was made for, which
 * connection the client has bound to a back channel, and which session is destroyed. In
 * them the client learns that it must bind another connection.
 *
 * Context: the worker that runs the Call.
 */
#ifndef RPCRDMA_NTIRPC_SESSION_H
#define RPCRDMA_NTIRPC_SESSION_H

#include <rpc/xdr.h>

#include "ntirpc/back/back.h"

struct nrt_call;

/* Returns true if the results of @nc must be read, or may have to be changed. */
bool nrt_session_concerns(const struct nrt_call *nc);
/*
 * An xdrproc_t: encode the results of a struct nrt_results, correct sr_status_flags and
 * bctsr_dir, let the quirks correct theirs, and set nc->news.
 */
bool nrt_session_encode(XDR *xdrs, void *results);

/* What a Reply says, while the Call is given back. */
struct nrt_session_news {
	struct bc_server *back;
	struct rt_conn *conn; /* a reference; NULL: it says nothing */
	struct bc_reply reply;
};

/* Call this before the Reply to @nc is sent or the Call dropped, */
void nrt_session_begin(const struct nrt_call *nc,
		       struct nrt_session_news *news);
/* and this afterwards: callbacks follow the Reply that the client waits for. */
void nrt_session_end(const struct nrt_session_news *news);

#endif /* RPCRDMA_NTIRPC_SESSION_H */
