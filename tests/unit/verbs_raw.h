/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * verbs_raw - peers that use librdmacm and libibverbs by themselves, and post
 * what the provider never would
 */
#ifndef RPCRDMA_TEST_VERBS_RAW_H
#define RPCRDMA_TEST_VERBS_RAW_H

#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/socket.h>

#define RAW_MOST 65536u

/* Connects, and posts one request when it is told to. */
struct raw_peer {
	struct sockaddr *to;
	enum ibv_wr_opcode opcode;
	uint32_t length, handle; /* @length octets at most RAW_MOST */
	uint64_t offset;
	atomic_bool go, over; /* now; and it may end */
	bool right; /* posted */
};
/* A thread; @arg is such. */
void *raw_peer_main(void *arg);

/*
 * Serve one client for as long as it stays. When its first message is there,
 * complete one of its Receives by an RDMA Write with Immediate: into the Write
 * chunk, if that message is a Call of version 1 that offers one first, or of no
 * octets, which needs no memory. The exit status.
 */
int raw_server(const char *addr, const char *port);

#endif /* RPCRDMA_TEST_VERBS_RAW_H */
