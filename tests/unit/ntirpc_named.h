/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * CLIENTs of sessions, and the ends of their connections, over ntirpc_ends.h.
 */
#ifndef RPCRDMA_NTIRPC_NAMED_H
#define RPCRDMA_NTIRPC_NAMED_H

#include <string.h>

#include "ntirpc_ends.h"
#include "unit.h"

static uint8_t session[ULB_SESSION_ID] = "this session..";

/* A Call has been answered. */
static inline void settle(enum ulb_session_event event, const uint8_t *id)
{
	struct bc_reply news = { .event = event };

	if (id)
		memcpy(news.id, id, ULB_SESSION_ID);
	bc_reply_begin(ends.back, &news, ends.server_conn);
	bc_reply_sent(ends.back, &news, ends.server_conn);
}

/* Each test has a session of its own. */
static inline void new_session(void)
{
	session[0]++;
}

static inline CLIENT *named_clnt(void)
{
	CLIENT *clnt = ends_fresh_clnt();

	new_session();
	CU_ASSERT_TRUE_FATAL(CLNT_SUCCESS(clnt));
	settle(ULB_SESSION_BACK, session);
	return clnt;
}

/* The connection ends, by which side does not matter; what the peer held of
 * it is gone. */
static inline void cut(void)
{
	rt_conn_close(ends.server_conn, true);
	ends_wait_for(ends_both_closed);
	ends_answer_held();
	rt_conn_put(ends.client_conn);
	rt_conn_put(ends.server_conn);
}

static inline void come_back(void)
{
	ends_connect();
	settle(ULB_SESSION_BACK, session);
}

static inline uint32_t flags(void)
{
	return bc_session_flags(ends.back, session);
}

#endif /* RPCRDMA_NTIRPC_NAMED_H */
