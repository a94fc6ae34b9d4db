/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet - telling Ganesha of a connection before its first Call
 *
 * From release 6 on Ganesha is asked whether a client may be served. It may take
 * its time for the answer, as long as other servers let go of the client. So
 * one worker asks, and the other Calls of the connection wait in the queue of a
 * gate without any. The gate is the host's: for its other connections Ganesha
 * would have to wait as long, and each would take a worker.
 *
 * Threads: the workers that have the Calls; nothing is locked while Ganesha is
 * asked.
 */
#ifndef RPCRDMA_GANESHA_GREET_H
#define RPCRDMA_GANESHA_GREET_H

#include "ganesha/serve/gate.h"

enum gr_greeting {
	GREET_NOT_YET,
	GREET_WELCOME,
	GREET_DECLINED, /* or its connection has ended */
	GREET_WAITS, /* as GR_WAITS */
};

/*
 * May the Call @req of @xprt be executed? @known: what is known of its connection,
 * GREET_NOT_YET at first; @p to @ended: as for gr_gate_enter(). The Call is in no
 * gate afterwards, unless it waits.
 */
enum gr_greeting gr_greet(SVCXPRT *xprt, atomic_int *known,
			  struct gr_gate *gate, struct gr_pass *p,
			  struct svc_req *req, const atomic_bool *ended,
			  enum xprt_stat (*ask)(SVCXPRT *xprt));

#endif /* RPCRDMA_GANESHA_GREET_H */
