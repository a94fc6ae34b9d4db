/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completions - what a connection has to tell the layer above
 *
 * In this order: that it is established, the work that is complete, and the end,
 * which is told once. Work is complete when the provider says so; it lies here,
 * linked by its own links, until it is polled for.
 *
 * Threads: the runner.
 */
#ifndef RPCRDMA_FABRIC_COMPLETIONS_H
#define RPCRDMA_FABRIC_COMPLETIONS_H

#include "fabric/provider/wr_list.h"

/* Use of fab_wr.priv while a request is lent. */
enum {
	WR_OWN, /* the provider's, as it likes */
	WR_LEN, /* octets in all; of a Receive: received */
	WR_DONE, /* status, WRD_INVALIDATED */
	WR_INV, /* handle invalidated */
	WR_MEMORY, /* of a Receive that brought none */
};
#define WRD_STATUS 0xffu
#define WRD_INVALIDATED 0x100u

struct fab_completions {
	struct wr_list work;
	bool established; /* it is to be told, with these */
	const uint8_t *priv;
	size_t priv_len;
	bool ended, end_told;
	int error;
	const char *reason;
};

void fab_complete(struct fab_completions *done, struct fab_wr *wr,
		  enum fab_status status);
void fab_complete_list(struct fab_completions *done, struct wr_list *list,
		       enum fab_status status);
/* Sets WR_LEN of what is to be sent, written or read. */
static inline void fab_wr_measure(struct fab_wr *wr)
{
	wr->priv[WR_LEN] = 0;
	for (unsigned int i = 0; i < wr->nsge; i++)
		wr->priv[WR_LEN] += wr->sge[i].len;
}

/* A message of @len octets has come; @inv: the handle that it invalidates, or
 * NULL. */
void fab_complete_message(struct fab_completions *done, struct fab_wr *wr,
			  size_t len, const uint32_t *inv);
/* Is there anything to take? A connection is polled until there is not. */
static inline bool fab_completions_any(const struct fab_completions *done)
{
	return done->work.head || done->established ||
	       (done->ended && !done->end_told);
}

/* Take up to @n of what is before the end; and that. How many. */
int fab_completions_take(struct fab_completions *done, struct fab_wc *wc,
			 int n);
int fab_completions_end(struct fab_completions *done, struct fab_wc *wc, int n);

#endif /* RPCRDMA_FABRIC_COMPLETIONS_H */
