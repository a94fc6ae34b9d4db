/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wr_list - a provider's queues of work requests, by their own links
 *
 * Threads: whoever owns the list.
 */
#ifndef RPCRDMA_FABRIC_WR_LIST_H
#define RPCRDMA_FABRIC_WR_LIST_H

#include "rpcrdma/fabric.h"

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

#endif /* RPCRDMA_FABRIC_WR_LIST_H */
