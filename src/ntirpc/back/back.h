/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * back - back channels: callbacks to NFSv4.1 clients over RDMA connections
 *
 * Prefix: bc_, back channel. It replaces ntirpc's CLIENT and clnt_req for connections of ours.
 * NFSv4.0 callbacks go over TCP, and do not come here.
 *
 * Ganesha sends a callback once. The rest, which the kernel's RPC client and callback service
 * do for svcrdma, is done here:
 *
 * - The client chooses the connection of a session's back channel: by
 *   CREATE_SESSION, later by BIND_CONN_TO_SESSION (RFC 8881, 2.10.3.1). Ganesha
 *   does not export its sessions, so the Replies to these are read
 *   (ntirpc/session_reply.h): struct bc_reply, bc_reply_begin(), bc_reply_sent().
 * - A callback that cannot be sent, or has no Reply when its connection ends,
 *   waits for the next connection of its session. There it is sent unchanged, in
 *   order and with its XID (RFC 8167, 5.4). Its slot accepts no other one before
 *   (RFC 8881, 2.10.6.1), so it waits even after Ganesha has been told RPC_TIMEDOUT.
 * - SEQUENCE tells the client when its session needs a connection, or has lost
 *   a callback for good: bc_session_flags().
 * - The channels and waiting callbacks of a host are limited.
 *
 * The bc_req_ functions replace ntirpc's clnt_req_ functions of the same name,
 * for a clnt_req whose cc_clnt is ours (bc_is_client()).
 */
#ifndef RPCRDMA_NTIRPC_BACK_BACK_H
#define RPCRDMA_NTIRPC_BACK_BACK_H

#include <rpc/rpc.h>
#include <rpc/clnt.h>
#include <rpc/svc.h>

#include "rpcrdma/nfs.h"
#include "rpcrdma/request.h"

/* All back channels of an instance of the transport. */
struct bc_server;
struct bc_channel;

/* ---- Server ------------------------------------------------------------- */

/* Returns the least rt_config.request_user_size. */
size_t bc_request_size(void);
/*
 * @resume has a worker call a svc_req's rq_resume_cb; NULL: ntirpc's
 * svc_resume(). No thread is started before the first CLIENT, so a fork may
 * follow. Returns 0 or -ENOMEM.
 */
int bc_server_create(struct rt_instance *inst,
		     void (*resume)(struct svc_req *req),
		     struct bc_server **out);
/* From now on no callback waits. Context: any thread. */
void bc_server_close(struct bc_server *s);
/* Returns true while callbacks hold requests of the instance. After bc_server_close() and the
 * end of all connections it becomes false for good. */
bool bc_server_busy(struct bc_server *s);
/* Every CLIENT has been destroyed and every connection has ended. @s may be NULL. */
void bc_server_destroy(struct bc_server *s);

/* ---- CLIENT and clnt_req ------------------------------------------------ */

/*
 * Create the CLIENT of a session. This thread executes a Call of @conn (NULL: it has ended), and
 * callbacks wait until that has been answered. The CLIENT has one reference, for the caller, and
 * holds one to @xprt.
 *
 * Returns NULL without memory. Any other failure is in cl_error: RPC_CANTSEND
 * (EOPNOTSUPP) if @conn cannot carry Calls; RPC_SYSTEMERROR, with EAGAIN if no
 * thread can be started, EUSERS if the host has too many channels in use.
 */
CLIENT *bc_client_create(struct bc_server *s, struct rt_conn *conn,
			 SVCXPRT *xprt, rpcprog_t prog, rpcvers_t vers);
/* Returns the @xprt that @clnt was made with; NULL if that failed. */
SVCXPRT *bc_client_xprt(const CLIENT *clnt);
/* @clnt may be NULL. */
bool bc_is_client(const CLIENT *clnt);

enum clnt_stat bc_req_setup(struct clnt_req *cc, struct timespec timeout);
/*
 * Returns RPC_SUCCESS: cc_process_cb will be called, by a worker. Otherwise
 * nothing was sent: RPC_CANTSEND (no connection, and the callback may not wait
 * for one), RPC_CANTENCODEARGS, RPC_SYSTEMERROR (no memory, no cc_process_cb).
 *
 * Later, in cc_error: RPC_TIMEDOUT; RPC_CANTSEND; RPC_CANTENCODEARGS (too long
 * for the peer); RPC_CANTRECV (the connection has ended); RPC_CANTDECODERES;
 * RPC_FAILED (the transport's error); or what the Reply says. re_errno is the
 * negated rt_request.status.
 */
enum clnt_stat bc_req_callback(struct clnt_req *cc);
enum clnt_stat bc_req_refresh(struct clnt_req *cc);
void bc_req_reset(struct clnt_req *cc);
/* Send at once, and wait: since 9.14 Ganesha tries a new channel by CB_NULL.
 * Returns what is in cc_error. */
enum clnt_stat bc_req_wait_reply(struct clnt_req *cc);
/* cc_clnt may be NULL. */
int bc_req_release(struct clnt_req *cc);

/* ---- Sessions ----------------------------------------------------------- */

/* What a Reply says about a session. */
struct bc_reply {
	/*
	 * ULB_SESSION_BACK: the connection carries the session's back channel.
	 * ULB_SESSION_ENDED: the session is destroyed.
	 * ULB_SESSION_NONE: nothing; a CLIENT that was made for the Call has no
	 * session, and its callbacks wait for no other connection.
	 */
	enum ulb_session_event event;
	uint8_t id[ULB_SESSION_ID]; /* unless ULB_SESSION_NONE */
	uint32_t call_max; /* ca_maxrequestsize; 0: as before */
	struct bc_channel *channel; /* set by bc_reply_begin() */
};

/*
 * A Call of @conn is about to be answered. From now on @conn is the session's,
 * for bc_session_flags() too: the client may have the Reply before
 * bc_reply_sent() is called. Context: the thread that executed the Call.
 */
void bc_reply_begin(struct bc_server *s, struct bc_reply *reply,
		    struct rt_conn *conn);
/* The Reply has been sent, or could not be: callbacks may follow. Context: the
 * same thread. */
void bc_reply_sent(struct bc_server *s, const struct bc_reply *reply,
		   const struct rt_conn *conn);
/* Returns true if a Reply with ULB_SESSION_NONE may matter. */
bool bc_reply_expected(const struct bc_server *s);
/*
 * Returns true if ULB_SESSION_BACK would have an effect. If not, a session that
 * once had a CLIENT will have none again, and bc_session_flags() says so.
 * Context: the thread that executes the Call.
 */
bool bc_can_bind(struct bc_server *s, const uint8_t id[ULB_SESSION_ID],
		 struct rt_conn *conn);
/*
 * Returns flags for sr_status_flags: ULB_SEQ_CB_PATH_DOWN_SESSION while the
 * session has a CLIENT and no connection, ULB_SEQ_BACKCHANNEL_FAULT after a
 * callback was lost for good. Context: any thread; takes no lock unless
 * bc_has_flags().
 */
uint32_t bc_session_flags(struct bc_server *s,
			  const uint8_t id[ULB_SESSION_ID]);
/* Returns true if some session has flags. */
bool bc_has_flags(const struct bc_server *s);
/* The connection has ended, and loses its upper layer's reference after this.
 * Context: its strand. */
void bc_conn_closed(struct bc_server *s, const struct rt_conn *conn);

#endif /* RPCRDMA_NTIRPC_BACK_BACK_H */
