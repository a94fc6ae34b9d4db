/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context - what Ganesha 4.3 works in, for those who have nothing of the kind
 *
 * Ganesha frees the state of a client by the export in its thread's context
 * (op_ctx), and looks neither whether there is a context nor whether it has an
 * export. Whoever has the last reference to state without one ends Ganesha by a
 * segmentation fault, over TCP as over RDMA:
 *
 *   a Call that names state and no file (TEST_STATEID, FREE_STATEID,
 *   RELEASE_LOCKOWNER), when something else just ends that state: a CLOSE or
 *   DELEGRETURN, a LOCK or OPEN that is refused when it has made some, the return of
 *   its client with another verifier, Ganesha that takes a delegation back. This is
 *   Ganesha's issue 904
 *
 *   the thread that takes a client's answer to a recall, and that which recalls once
 *   more, a second later, when the client gives the delegation or layout back
 *
 * So they get an export that knows one thing, how to free state: by free(), which is
 * all that an FSAL of this release does. It has no file system, and Ganesha looks at
 * nothing else of it: where it works with files, it sets an export or makes a context
 * first. A Call gets it with the first thing that it looks up (by then Ganesha has
 * asked whether there is an export, since without one it squashes nobody), which is
 * before it has any reference to state.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GANESHA_CONTEXT_H
#define RPCRDMA_GANESHA_CONTEXT_H

#include <rpc/clnt.h>

/* While @serving; at Ganesha's end a thread wants none. */
void gr_context_serve(bool serving);
/* Before a Call of Ganesha's is made, by whichever transport: who calls its
 * cc_process_cb, when it is answered, has a context then. */
void gr_context_call(struct clnt_req *cc);

#endif /* RPCRDMA_GANESHA_CONTEXT_H */
