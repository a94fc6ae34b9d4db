/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * replay - recognize retransmissions of a host's Calls on other connections
 *
 * RDMA clients do not keep their ports. So Ganesha's duplicate request cache looks up a Call
 * by XID and checksum among all from its address. A client may retransmit a Call on any
 * connection. But after it has closed a connection in order, with all Replies, a Call that
 * looks like one of that connection is a new one. So each Call belongs to the connection on
 * which it came first, and its checksum covers that connection. An orderly end forgets the
 * Calls of a connection.
 *
 * The table of a host has room for as many Calls as Ganesha keeps by default. New ones
 * replace the oldest.
 *
 * Context: any thread. The lock is a leaf.
 */
#ifndef RPCRDMA_NTIRPC_REPLAY_H
#define RPCRDMA_NTIRPC_REPLAY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define NRT_REPLAY_SETS 128u
#define NRT_REPLAY_WAYS 8u

struct nrt_replay {
	pthread_mutex_t lock;
	struct nrt_replay_call *calls; /* NULL before the first */
	unsigned int used; /* entries of calls */
	uint64_t clock; /* counts the Calls that were added */
};

void nrt_replay_init(struct nrt_replay *r);
void nrt_replay_destroy(struct nrt_replay *r);

/*
 * Returns the connection that the Call belongs to: @conn, unless it came on another one
 * before. @sum is a hash of what a retransmission has in common with its Call. @conn is not
 * 0, and no number is ever used twice.
 */
uint64_t nrt_replay_conn(struct nrt_replay *r, uint64_t sum, uint64_t conn);
/* The client has closed @conn in order, with every Reply: no Call that came only on it
 * will come again. */
void nrt_replay_close(struct nrt_replay *r, uint64_t conn);
/* Returns true if no Call is known that may come again. */
bool nrt_replay_empty(struct nrt_replay *r);

#endif /* RPCRDMA_NTIRPC_REPLAY_H */
