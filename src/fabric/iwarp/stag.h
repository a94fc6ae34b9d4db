/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stag - the exposed regions of one connection
 *
 * Each connection has a table of its own, so that a peer cannot name the
 * regions of others and no lock is needed.
 *
 * Context: the runner of the connection.
 */
#ifndef RPCRDMA_IWARP_STAG_H
#define RPCRDMA_IWARP_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The index into the table; the other bits are random. */
#define STAG_INDEX_BITS 14u
#define STAG_MAX (1u << STAG_INDEX_BITS)

struct stag_entry {
	uint32_t stag; /* 0: free */
	uint32_t last; /* its value before */
	uint32_t next_free;
	unsigned int access; /* enum fab_access */
	uint8_t *addr;
	size_t len;
	uint64_t base; /* tagged offset of the first octet */
	size_t top; /* the peer has written nothing from here on */
};

struct stag_random {
	uint32_t stag;
	uint64_t base;
};

struct stag_table {
	struct stag_entry *e;
	uint32_t size, free_head;
	struct stag_random rnd[42];
	unsigned int rnd_left;
};

void iw_stag_init(struct stag_table *t);
void iw_stag_fini(struct stag_table *t);
/* Returns 0, -ENOSPC or -ENOMEM. The table never shrinks. */
int iw_stag_add(struct stag_table *t, void *addr, size_t len,
		unsigned int access, uint32_t *stag, uint64_t *base);
/* Returns false if there is no such STag. */
bool iw_stag_del(struct stag_table *t, uint32_t stag);

/* Returns an STag for the sink of an RDMA Read. Its index is 0, which no
 * exposed region has. */
uint32_t iw_stag_sink(struct stag_table *t);

static inline const struct stag_entry *iw_stag_find(const struct stag_table *t,
						    uint32_t stag)
{
	uint32_t i = stag & (STAG_MAX - 1u);

	if (!i || i >= t->size || t->e[i].stag != stag)
		return NULL;
	return &t->e[i];
}

enum stag_check { STAG_OK, STAG_WRAP, STAG_BOUNDS };

/* Returns STAG_OK and sets *@addr if @len octets at tagged offset @to are
 * inside. */
static inline enum stag_check iw_stag_range(const struct stag_entry *e,
					    uint64_t to, uint64_t len,
					    uint8_t **addr)
{
	uint64_t off;

	if (len && to + (len - 1) < to)
		return STAG_WRAP;
	if (to < e->base)
		return STAG_BOUNDS;
	off = to - e->base;
	if (off > e->len || len > e->len - off)
		return STAG_BOUNDS;
	*addr = e->addr + off;
	return STAG_OK;
}

#endif /* RPCRDMA_IWARP_STAG_H */
