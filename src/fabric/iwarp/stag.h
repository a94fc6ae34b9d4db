/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * stag - the exposed regions of one connection
 *
 * Each connection has a table of its own: what is not in it does not belong
 * to the peer, so that ownership needs no check and no lock.
 *
 * Threads: the runner of the connection.
 */
#ifndef RPCRDMA_IWARP_STAG_H
#define RPCRDMA_IWARP_STAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Low bits of an STag: index into the table. The rest is random. */
#define STAG_INDEX_BITS 14u
#define STAG_MAX (1u << STAG_INDEX_BITS)

struct stag_entry {
	uint32_t stag; /* 0: free */
	uint32_t last; /* the one before */
	uint32_t next_free;
	unsigned int access; /* enum fab_access */
	uint8_t *addr;
	size_t len;
	uint64_t base; /* tagged offset of the first octet */
	size_t top; /* behind this the peer has written nothing */
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
/* 0, -ENOSPC, -ENOMEM. Grows the table when it has to, never shrinks it. */
int iw_stag_add(struct stag_table *t, void *addr, size_t len,
		unsigned int access, uint32_t *stag, uint64_t *base);
/* False if there is no such STag. */
bool iw_stag_del(struct stag_table *t, uint32_t stag);

/* A random number for the internal STags of RDMA Read sinks: index 0, which
 * no exposed region has, and never 0. */
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

/* May @len octets be touched at tagged offset @to? On STAG_OK sets *addr. */
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
