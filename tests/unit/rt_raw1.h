/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rt_raw1 - a raw peer of version 1
 *
 * What rt_raw.h has for version 2: messages as the kernel's client and server
 * lay them out (RFC 8166), private data of RFC 8797, and what should come back.
 */
#ifndef RPCRDMA_RT_RAW1_H
#define RPCRDMA_RT_RAW1_H

#include "rt_raw.h"

extern const struct rt_config rt_only1, rt_only2;

/* The eight octets of RFC 8797. */
const void *rt_raw1_private(bool r, uint32_t send, uint32_t recv);

/*
 * A Call of these lists, with a credit request. @payload NULL: one of rt_pair's
 * that asks for a Reply of @len octets (none with a Call chunk).
 */
void rt_raw1_call(struct rt_raw *r, uint32_t xid, uint32_t credit,
		  const struct wire_call_desc *d, const void *payload,
		  size_t len);
/* A Reply; @payload NULL: 12 octets (none with a Reply chunk). */
void rt_raw1_reply(struct rt_raw *r, uint32_t xid, uint32_t credit,
		   const struct wire_reply_desc *d, const void *payload,
		   size_t len);
void rt_raw1_error(struct rt_raw *r, uint32_t xid, uint32_t credit);
/* Words behind a prefix of version 1. */
void rt_raw1_words(struct rt_raw *r, uint32_t xid, uint32_t proc,
		   const uint32_t *w, size_t n);
/* ERR_VERS of this range, its version word @vers. */
void rt_raw1_err_vers(struct rt_raw *r, uint32_t xid, uint32_t vers,
		      uint32_t low, uint32_t high);

/* Is the next message an RDMA_ERROR with ERR_CHUNK about @xid? */
bool rt_raw1_is_refused(struct rt_raw *r, uint32_t xid);
/* Is it an inline Reply (RDMA_MSG) of @xid? */
bool rt_raw1_is_reply(struct rt_raw *r, uint32_t xid);
/* Is it a Reply in its chunk (RDMA_NOMSG)? */
bool rt_raw1_is_external(struct rt_raw *r, uint32_t xid);
/* Is it a Call, of either kind? */
bool rt_raw1_is_call(struct rt_raw *r, uint32_t xid);
/* Is it the image of ERR_VERS that all versions share? */
bool rt_raw1_is_err_vers(struct rt_raw *r, uint32_t xid, uint32_t vers,
			 uint32_t low, uint32_t high);

#endif /* RPCRDMA_RT_RAW1_H */
