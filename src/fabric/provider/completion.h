/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * completion - what fab_poll() returns: established, completed work, the end
 *
 * Completed requests wait here, linked by their own links. The end is returned
 * once, and last.
 *
 * Context: the runner.
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

/* Make @wr the next that wr_take() returns. */
static inline void wr_put_back(struct wr_list *l, struct fab_wr *wr)
{
	wr->next = l->head;
	l->head = wr;
	if (!l->tail)
		l->tail = wr;
}

/* Remove all but the first @n. The removed ones are not touched. */
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

/* Use of fab_wr.priv while a request is lent to the provider. */
enum {
	WR_OWN, /* free for the provider */
	WR_LEN, /* length of the request; of a completed Receive: of the message */
	WR_DONE, /* enum fab_status, WRD_INVALIDATED */
	WR_INV, /* the handle invalidated */
	WR_MEMORY, /* of a shared Receive */
};
#define WRD_STATUS 0xffu
#define WRD_INVALIDATED 0x100u

struct fab_completions {
	struct wr_list work;
	bool established; /* to be returned, with these */
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
/* Set WR_LEN. */
static inline void fab_wr_measure(struct fab_wr *wr)
{
	wr->priv[WR_LEN] = 0;
	for (unsigned int i = 0; i < wr->nsge; i++)
		wr->priv[WR_LEN] += wr->sge[i].len;
}

/* Complete a Receive with a message of @len octets that has invalidated *@inv
 * (NULL: nothing). */
void fab_complete_message(struct fab_completions *done, struct fab_wr *wr,
			  size_t len, const uint32_t *inv);
/* Returns true if fab_completions_take() or _end() has something to return. */
static inline bool fab_completions_any(const struct fab_completions *done)
{
	return done->work.head || done->established ||
	       (done->ended && !done->end_told);
}

/* Return up to @n completions, without or with the end only. Returns how many. */
int fab_completions_take(struct fab_completions *done, struct fab_wc *wc,
			 int n);
int fab_completions_end(struct fab_completions *done, struct fab_wc *wc, int n);

#endif /* RPCRDMA_FABRIC_COMPLETION_H */
