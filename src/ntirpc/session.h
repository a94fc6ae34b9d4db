/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * session - what the Replies to NFSv4.1 Calls say of sessions
 *
 * Ganesha keeps its sessions to itself. What must be known of them stands in
 * the Replies: which session a CLIENT was made for, which connection the client
 * has bound to a back channel, which session is no more; and a Reply is where
 * the client learns that it has to bind another connection. A Reply is read as
 * soon as its results are encoded, before RPCSEC_GSS covers them.
 */
#ifndef RPCRDMA_NTIRPC_SESSION_H
#define RPCRDMA_NTIRPC_SESSION_H

#include <rpc/xdr.h>

#include "rpcrdma/nfs.h"

struct nrt_call;

/* Is anything to be seen in the results of @nc? Most Calls have nothing. */
bool nrt_session_looks(const struct nrt_call *nc);
/*
 * An xdrproc_t: encode the results of a struct nrt_results, note in nc->news
 * what they say, and correct them (sr_status_flags, bctsr_dir) by what is known
 * of the session's back channel.
 */
bool nrt_session_encode(XDR *xdrs, void *results);

#endif /* RPCRDMA_NTIRPC_SESSION_H */
