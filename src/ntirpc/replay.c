/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table is set-associative: the hash of a Call chooses the set.
 */
#include "ntirpc/replay.h"

#include <stdlib.h>

struct nrt_replay_call {
	uint64_t sum;
	uint64_t conn; /* 0: free */
	uint64_t added; /* nrt_replay.clock */
	bool shared; /* it has come on another connection as well */
};

void nrt_replay_init(struct nrt_replay *r)
{
	*r = (struct nrt_replay){ .lock = PTHREAD_MUTEX_INITIALIZER };
}

void nrt_replay_destroy(struct nrt_replay *r)
{
	free(r->calls);
	pthread_mutex_destroy(&r->lock);
}

/* Returns the entry of @sum, or the one that it replaces. Caller holds the lock. */
static struct nrt_replay_call *entry_of(struct nrt_replay *r, uint64_t sum)
{
	struct nrt_replay_call *set =
		&r->calls[sum % NRT_REPLAY_SETS * NRT_REPLAY_WAYS];
	struct nrt_replay_call *oldest = set;

	for (unsigned int i = 0; i < NRT_REPLAY_WAYS; i++) {
		if (set[i].conn && set[i].sum == sum)
			return &set[i];
		if (set[i].added < oldest->added)
			oldest = &set[i];
	}
	return oldest;
}

uint64_t nrt_replay_conn(struct nrt_replay *r, uint64_t sum, uint64_t conn)
{
	struct nrt_replay_call *e;

	pthread_mutex_lock(&r->lock);
	if (!r->calls)
		r->calls = calloc(NRT_REPLAY_SETS * NRT_REPLAY_WAYS,
				  sizeof(*r->calls));
	/* Without memory, retransmissions on other connections are not recognized. */
	if (!r->calls)
		goto out;
	e = entry_of(r, sum);
	if (e->conn && e->sum == sum) {
		e->shared |= e->conn != conn;
		conn = e->conn;
		goto out;
	}
	r->used += !e->conn;
	*e = (struct nrt_replay_call){ .sum = sum,
				       .conn = conn,
				       .added = ++r->clock };
out:
	pthread_mutex_unlock(&r->lock);
	return conn;
}

void nrt_replay_close(struct nrt_replay *r, uint64_t conn)
{
	pthread_mutex_lock(&r->lock);
	for (unsigned int i = 0;
	     r->used && i < NRT_REPLAY_SETS * NRT_REPLAY_WAYS; i++) {
		struct nrt_replay_call *e = &r->calls[i];

		if (e->conn != conn || e->shared)
			continue;
		*e = (struct nrt_replay_call){ 0 };
		r->used--;
	}
	pthread_mutex_unlock(&r->lock);
}

bool nrt_replay_empty(struct nrt_replay *r)
{
	bool empty;

	pthread_mutex_lock(&r->lock);
	empty = !r->used;
	pthread_mutex_unlock(&r->lock);
	return empty;
}
