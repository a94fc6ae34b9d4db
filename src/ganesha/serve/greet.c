/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * greet - telling Ganesha of a connection before its first Call
 */
#include "ganesha/serve/greet.h"

enum gr_greeting gr_greet(SVCXPRT *xprt, atomic_int *known,
			  struct gr_gate *gate, struct gr_pass *p,
			  struct svc_req *req, const atomic_bool *ended,
			  enum xprt_stat (*ask)(SVCXPRT *xprt))
{
	int is = atomic_load_explicit(known, memory_order_acquire);

	/* One that has waited and is inside has to leave in any case. */
	if (is != GREET_NOT_YET)
		goto out;
	switch (gr_gate_enter(gate, p, req, xprt, ended)) {
	case GR_WAITS:
		return GREET_WAITS;
	case GR_TOO_LATE:
		is = GREET_DECLINED;
		goto out;
	case GR_INSIDE:
		break;
	}
	is = atomic_load(known);
	if (is == GREET_NOT_YET) {
		is = ask(xprt) == XPRT_IDLE ? GREET_WELCOME : GREET_DECLINED;
		atomic_store(known, is);
	}
out:
	gr_gate_leave(p);
	return is;
}
