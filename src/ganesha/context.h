/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * context - what Ganesha 4.3 works in, for threads that have nothing of the kind
 *
 * Ganesha frees the state of a client by the export in its thread's context
 * (op_ctx), and looks neither whether there is a context nor whether it has an
 * export. Two kinds of threads have none: that which takes a client's answer to a
 * recall, and that which recalls once more, a second later. When the client gives
 * the delegation or layout back just then, they have the last reference to its
 * state, and Ganesha ends by a segmentation fault: by TCP within seconds, if a
 * client tries. (Issue 904, which gate.h is for, is another way to the same place.)
 *
 * So such threads get a context with an export that knows one thing, how to free
 * state: by free(), which is all that an FSAL of this release does. It has no file
 * system, and Ganesha looks at nothing else of it: where it works with files, it
 * makes a context of its own first, and comes back to this one afterwards.
 * Threads that execute Calls are left alone.
 *
 * Threads: any.
 */
#ifndef RPCRDMA_GANESHA_CONTEXT_H
#define RPCRDMA_GANESHA_CONTEXT_H

#include <rpc/clnt.h>

typedef void gr_process_fn(struct clnt_req *cc);

/* From true to false a thread gets one. (False: at Ganesha's end it wants none.) */
void gr_context_serve(bool serving);
/* Call @process with one, if this thread has none. */
void gr_context_process(gr_process_fn *process, struct clnt_req *cc);
/* cc->cc_process_cb, as it is. */
void gr_context_answered(struct clnt_req *cc);
/* Before a Call of a CLIENT of ntirpc's is made: its cc_process_cb will be called so. */
void gr_context_call(struct clnt_req *cc);

#endif /* RPCRDMA_GANESHA_CONTEXT_H */
