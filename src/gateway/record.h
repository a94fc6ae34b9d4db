/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - records in receive buffers, and memory for them
 *
 * Pool buffers are counted in the share of the client that has them, by their
 * real size. A record belongs to one thread at a time; the buffers' reference
 * counts are atomic, because the records of one buffer end in any thread.
 */
#ifndef RPCRDMA_GATEWAY_RECORD_H
#define RPCRDMA_GATEWAY_RECORD_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rpcrdma/transport.h"

/* Stretches of receive buffers in one record before it is made flat. */
#define GW_PIECES 40

struct gw_client;

static inline size_t gw_round4(size_t n)
{
	return (n + 3) & ~(size_t)3;
}

struct gw_buf {
	atomic_uint refs;
	size_t cap; /* octets of data to be used */
	struct gw_client *c; /* in whose share it is; a reference */
	struct fab_buf *fab;
	_Alignas(64) uint8_t data[];
};

/* One record; @hold are references to the buffers that its pieces are in. */
struct gw_record {
	size_t len;
	unsigned int npieces, nhold;
	bool flat; /* pieces are copied into the one buffer held */
	struct rt_piece piece[GW_PIECES];
	struct gw_buf *hold[GW_PIECES];
};

/*
 * Pool buffers for the gateway's own use, which is half of the memory at most:
 * with the rest the transport can bring what is under way to its end. They are
 * in the client's share.
 */
enum gw_mem {
	GW_MEM_RECORD, /* not yet a Call; worker */
	GW_MEM_CALL, /* worker */
	GW_MEM_MUST, /* what has begun is to be ended, whoever waits */
	GW_MEM_LESS, /* in the place of something larger */
};
struct fab_buf *gw_mem_get(struct gw_client *c, size_t size, enum gw_mem what);
void gw_mem_put(struct gw_client *c, struct fab_buf *buf);
/* Worker. */
struct gw_buf *gw_buf_get(struct gw_client *c, size_t room, enum gw_mem what);
void gw_buf_put(struct gw_buf *b);
/* Append octets that are in @b. False: no memory; nothing has changed. */
bool gw_record_add(struct gw_record *r, struct gw_client *c, struct gw_buf *b,
		   uint8_t *p, size_t n);
/* Copy the first @n octets, which the record must have, to @out. */
void gw_record_peek(const struct gw_record *r, void *out, size_t n);
/* Write a word over the four octets at @at, which the record must have. */
void gw_record_poke(struct gw_record *r, size_t at, uint32_t value);
/* Take out the @n octets from @from on, which the record must have. */
void gw_record_cut(struct gw_record *r, size_t from, size_t n);
/* The memory of the record and of the buffer that is received into. */
size_t gw_record_held(const struct gw_record *r, const struct gw_buf *rx);
/* Give @from's pieces and references to @to; @from is empty then. */
void gw_record_move(struct gw_record *to, struct gw_record *from);
void gw_record_release(struct gw_record *r);

#endif /* RPCRDMA_GATEWAY_RECORD_H */
