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

/* While @serving; at Ganesha's end a thread wants none. */
void gr_context_serve(bool serving);
/* Before a Call of Ganesha's is made, by whichever transport: who calls its
 * cc_process_cb, when it is answered, has a context then. */
void gr_context_call(struct clnt_req *cc);

#endif /* RPCRDMA_GANESHA_CONTEXT_H */
