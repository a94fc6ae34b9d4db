/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway - rpcrdma-gateway, and what all its parts share
 *
 * All names of this room, and of those in it, begin with gw_.
 *
 * A gateway takes record-marked RPC over TCP and carries it over RPC-over-RDMA,
 * one RDMA connection for each TCP connection, called "client" here.
 *
 * Threads
 *
 *   main      options, signals, accepting (gateway.c, accept.c)
 *   workers   each owns the TCP sockets given to it: reads them, assembles
 *             Calls, submits all requests (also again), connects (loop/worker.c)
 *   pollers   one for each poller of the transport, in rt_run()
 *   readers   of statistics have a thread (stats/socket.h)
 *   look-ups  of the server's name, one at a time (client/addresses.c)
 *
 *   A client belongs to one worker. Operations of the transport ("strand")
 *   come in poller threads or inside rt_request_submit(); they never block:
 *   they take the client's lock, write to the socket without waiting, and
 *   leave everything else to the worker by gw_wakeup().
 *
 * Locks
 *
 *   gateway.lock > client.lock > gw_wakeups.lock. No lock is held across a
 *   call into the transport, nor across a system call on a socket.
 *
 * Memory
 *
 *   Records are received straight into registered pool buffers (struct
 *   gw_buf), which count the records that have octets in them. The area of
 *   struct rt_request holds all there is of a Call (struct gw_call), so that a
 *   Call costs no allocation. A client stops being read when it has too many
 *   Calls outstanding or too many octets held; a Call is outstanding until its
 *   Reply has been written to the socket, so that a slow reader stops itself.
 *   policy/memory.h says how much memory each client may have, and
 *   client/disconnect.h who is disconnected. A Call that brings
 *   or asks for more than can be carried is done in part (call/shorten.h), so that
 *   the octets of a WRITE beyond that are never held.
 */
#ifndef RPCRDMA_GATEWAY_GATEWAY_H
#define RPCRDMA_GATEWAY_GATEWAY_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/log.h"
#include "gateway/options.h"
#include "gateway/policy/hosts.h"
#include "gateway/policy/memory.h"
#include "gateway/client/addresses.h"
#include "gateway/counters.h"
#include "rpcrdma/call.h"
#include "rpcrdma/request.h"
#include "rpcrdma/stats.h"

struct gw_client;
struct gw_worker;

struct gateway {
	struct gw_options opt;
	struct base_log *log; /* of what TCP clients can cause */
	struct auth_gss *auth;
	struct rt_instance *inst;
	struct fab_pool *pool;
	struct rt_ops ops;
	struct gw_server server;
	struct gw_probe probe; /* of the server's port */
	unsigned int nworkers;
	struct gw_worker *workers;
	atomic_uint nclients;
	struct gw_memory memory;
	/* The longest Reply under integrity or privacy that found no room. */
	atomic_size_t gss_reply_max;
	pthread_key_t batch_key; /* the thread's struct gw_batch, or NULL */
	pthread_mutex_t lock; /* clients, hosts, server, ended, accepted */
	struct gw_client *clients;
	struct gw_places hosts, users;
	uint64_t evict_at; /* ns; not before another client is evicted */
	struct gw_stats ended; /* of clients that are gone */
	uint64_t accepted;
};

/* loop/stderr_log.c. */
void gw_log(struct gateway *gw, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* For other logs; @ctx is the gateway. */
void gw_log_text(void *ctx, int level, const char *text);

#endif /* RPCRDMA_GATEWAY_GATEWAY_H */
