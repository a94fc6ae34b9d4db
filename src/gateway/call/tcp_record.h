/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_record - records in receive buffers, and pool buffers on a client's account
 *
 * A record belongs to one thread at a time. A buffer counts the records that have
 * octets in it; these end in any thread.
 */
#ifndef RPCRDMA_GATEWAY_CALL_TCP_RECORD_H
#define RPCRDMA_GATEWAY_CALL_TCP_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/transport.h"

/* Receive buffers that one record may be in. */
#define GW_PIECES 40

struct gw_client;

static inline size_t gw_round4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

struct gw_buf {
	atomic_uint refs;
	size_t cap; /* octets of data to be used */
	struct gw_client *c; /* on whose account it is; a reference */
	struct fab_buf *fab;
	_Alignas(64) uint8_t data[];
};

/* One record: one piece in each buffer, and a reference to each in hold. */
struct gw_record {
	size_t len;
	unsigned int npieces, nhold;
	struct rt_piece piece[GW_PIECES];
	struct gw_buf *hold[GW_PIECES];
};

/* Take a pool buffer of at least @size octets on the client's account;
 * @all as in gw_account_take(). Returns NULL without memory. What counts is the size
 * that such a buffer has, though the pool may have none that is so small. Worker. */
struct fab_buf *gw_mem_get(struct gw_client *c, size_t size, size_t all);
/* The same though the account may not have it. Any thread. */
struct fab_buf *gw_mem_force(struct gw_client *c, size_t size);
/* Give back what was taken for @size octets. Any thread. */
void gw_mem_put(struct gw_client *c, struct fab_buf *buf, size_t size);
/* A receive buffer with @room for octets; @all likewise. Worker. */
struct gw_buf *gw_buf_get(struct gw_client *c, size_t room, size_t all);
void gw_buf_put(struct gw_buf *b);
/*
 * Append the @n octets at @p, which are in @b behind those of the record that are
 * there already: marks between them are closed up. Returns false if the record is
 * in too many buffers.
 */
bool gw_record_add(struct gw_record *r, struct gw_buf *b, uint8_t *p, size_t n);
/* Copy the first @n octets, which the record must have, to @out. */
void gw_record_peek(const struct gw_record *r, void *out, size_t n);
/* Write a word over the four octets at @at, which the record must have. */
void gw_record_poke(struct gw_record *r, size_t at, uint32_t value);
/* Take out the @n octets from @from on, which the record must have. */
void gw_record_cut(struct gw_record *r, size_t from, size_t n);
/* Give @from's pieces and references to @to; @from is empty then. */
void gw_record_move(struct gw_record *to, struct gw_record *from);
void gw_record_release(struct gw_record *r);

#endif /* RPCRDMA_GATEWAY_CALL_TCP_RECORD_H */
