/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gate - keeps apart what Ganesha 4.3 cannot execute at the same time
 */
#include "ganesha/gate.h"

#include <netinet/in.h>
#include <time.h>

#include "ntirpc/call.h"

void gr_gates_init(struct gr_gates *g)
{
	pthread_rwlockattr_t attr;

	pthread_rwlockattr_init(&attr);
	/* However many files are being closed, the other kind has its turn. */
	pthread_rwlockattr_setkind_np(
		&attr, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
	for (unsigned int i = 0; i < GR_GATES; i++)
		pthread_rwlock_init(&g->gate[i], &attr);
	pthread_rwlockattr_destroy(&attr);
}

void gr_gates_destroy(struct gr_gates *g)
{
	for (unsigned int i = 0; i < GR_GATES; i++)
		pthread_rwlock_destroy(&g->gate[i]);
}

pthread_rwlock_t *gr_gate_of(struct gr_gates *g,
			     const struct sockaddr_storage *peer)
{
	const struct sockaddr_in6 *in6 = (const void *)peer;
	const struct sockaddr_in *in = (const void *)peer;
	uint64_t sum;

	if (peer->ss_family == AF_INET6)
		sum = nrt_checksum(&in6->sin6_addr, sizeof(in6->sin6_addr));
	else
		sum = nrt_checksum(&in->sin_addr, sizeof(in->sin_addr));
	return &g->gate[sum % GR_GATES];
}

pthread_rwlock_t *gr_gate_enter(pthread_rwlock_t *gate,
				const struct ulb_call *head)
{
	struct timespec until;
	int err;

	if (!head->names_state && !head->ends_state)
		return NULL;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += GR_GATE_SECONDS;
	if (head->names_state)
		err = pthread_rwlock_clockwrlock(gate, CLOCK_MONOTONIC, &until);
	else
		err = pthread_rwlock_clockrdlock(gate, CLOCK_MONOTONIC, &until);
	return err ? NULL : gate;
}

void gr_gate_leave(pthread_rwlock_t *entered)
{
	if (entered)
		pthread_rwlock_unlock(entered);
}
