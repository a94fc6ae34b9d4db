/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completion - what a connection has to tell the layer above
 *
 * In this order: that it is established, the work that is complete, and the end,
 * which is told once. Work is complete when the provider says so; it lies here,
 * linked by its own links, until it is polled for.
 *
 * Threads: the runner.
 */
#ifndef RPCRDMA_FABRIC_COMPLETION_H
#define RPCRDMA_FABRIC_COMPLETION_H

#include "fabric/provider/provider.h"

/* A queue of work requests, linked by their own links. */
struct wr_list {
	struct fab_wr *head, *tail;
};

static inline void wr_append(struct wr_list *l, struct fab_wr *wr)
{
	wr->next = NULL;
	if (l->tail)
		l->tail->next = wr;
	else
		l->head = wr;
	l->tail = wr;
}

/* Back to where wr_take() takes it. */
static inline void wr_put_back(struct wr_list *l, struct fab_wr *wr)
{
	wr->next = l->head;
	l->head = wr;
	if (!l->tail)
		l->tail = wr;
}

/* All but the first @n; they are not touched. */
static inline void wr_cut(struct wr_list *l, unsigned int n)
{
	struct fab_wr *last = NULL;

	for (struct fab_wr *wr = l->head; wr && n; wr = wr->next, n--)
		last = wr;
	l->tail = last;
	if (last)
		last->next = NULL;
	else
		l->head = NULL;
}

static inline struct fab_wr *wr_take(struct wr_list *l)
{
	struct fab_wr *wr = l->head;

	if (wr) {
		l->head = wr->next;
		if (!l->head)
			l->tail = NULL;
		wr->next = NULL;
	}
	return wr;
}

static inline unsigned int wr_count(const struct wr_list *l)
{
	unsigned int n = 0;

	for (const struct fab_wr *wr = l->head; wr; wr = wr->next)
		n++;
	return n;
}

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

#endif /* RPCRDMA_FABRIC_COMPLETION_H */
