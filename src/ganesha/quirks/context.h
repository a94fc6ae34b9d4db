/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context - an op_ctx and export for threads of Ganesha 4.3 that free state without one
 *
 * Ganesha frees the state of a client through the export in its thread's context (op_ctx),
 * and checks neither that there is a context nor that it has an export. A thread that drops
 * the last reference to state without one crashes, over TCP as over RDMA:
 *
 *   - A Call that names state and no file (TEST_STATEID, FREE_STATEID, RELEASE_LOCKOWNER),
 *     while something else ends that state: a CLOSE or DELEGRETURN, a LOCK or OPEN that is
 *     refused after it has created some, the return of its client with another verifier, or
 *     a delegation that Ganesha revokes. This is Ganesha's issue 904.
 *   - The thread that receives a client's answer to a recall, and the one that repeats the
 *     recall a second later, when the client returns the delegation or layout.
 *
 * So these threads get a stand-in export, which can only free state: by free(), as all FSALs
 * of this release do. Ganesha uses nothing else of it, because it sets an export or creates a
 * context before it works with files. A Call gets the export at its first look-up, before
 * it has a reference to state, and after Ganesha has checked for an export (without one it
 * squashes nobody).
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_GANESHA_CONTEXT_H
#define RPCRDMA_GANESHA_CONTEXT_H

#include <rpc/clnt.h>

/* Do so while @serving. When Ganesha ends, some threads must have no context. */
void gr_context_serve(bool serving);
/* Let the cc_process_cb of @cc run with a context. Call this before Ganesha's Call is sent, by
 * whichever transport. */
void gr_context_call(struct clnt_req *cc);

#endif /* RPCRDMA_GANESHA_CONTEXT_H */
