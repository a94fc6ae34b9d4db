/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * xchar - the octets of draft-dnoveck-nfsv4-rpcrdma-xcharext-02 on version 2
 *
 * Four header types and two properties, with the code points of [M1] and the corrected
 * XDR of [M6]. As in wire.h, the functions are pure, decoded messages are views into the
 * octets, and encoders check nothing. wire_decode() does not know these types. The
 * draft's xcharval is a property, with the identifiers of version 2 [M3].
 *
 * Section numbers are those of that draft.
 */
#ifndef RPCRDMA_WIRE_XCHAR_H
#define RPCRDMA_WIRE_XCHAR_H

#include "wire.h"

/* Header types [M1]. */
#define RDMA2_X_INITXCH 0xffffff01u /* Specify Initial Characteristics, 4.1 */
#define RDMA2_X_REQXCH 0xffffff02u /* Request Modification, 4.2 */
#define RDMA2_X_RESPXCH 0xffffff03u /* Respond to Request to Modify, 4.3 */
#define RDMA2_X_UPDXCH 0xffffff04u /* Update Characteristics, 4.4 */

/* Properties [M1]. */
#define RDMA2_PROPID_X_XCHSUPP 0xffffff00u /* Which of these are understood */
#define RDMA2_PROPID_X_REQREMINV 0xffffff02u /* Remote Invalidation, 3.2 */

/* Bits of X_XCHSUPP: header types that are received and processed. */
#define XCHSUPP_INIT 1u
#define XCHSUPP_REQ 2u
#define XCHSUPP_RESP 4u
#define XCHSUPP_UPD 8u
#define XCHSUPP_ALL 15u

/* xcharsubset, 2.1: a view for wire_subset_test(). */
struct wire_subset {
	const uint8_t *words;
	uint32_t nwords;
};

/* A decoded message, with the fields of its type. */
struct wire_xchar {
	struct wire_prefix p;
	struct wire_list props; /* INITXCH, REQXCH; UPDXCH: one */
	struct wire_subset nochg; /* INITXCH */
	struct wire_subset done, rej, pend; /* RESPXCH */
	bool pendclr; /* UPDXCH */
	size_t surplus; /* octets after it, ignored [C6] */
};

/*
 * Returns WIRE_BAD_HTYPE for a type that is none of the four; WIRE_BAD_PROPVAL for a
 * value that does not fit its property; WIRE_BAD_XDR for all other faults [X4], [E2].
 * x->p is valid unless it returns WIRE_SHORT; everything else is zero unless it returns
 * WIRE_OK.
 */
enum wire_status wire_xchar_decode(const void *buf, size_t len,
				   struct wire_xchar *x);

/* Returns false if the property is X_XCHSUPP or X_REQREMINV and its value does not
 * fit. */
bool wire_xchar_prop_ok(const struct wire_prop *p);

struct wire_subset_desc {
	const uint32_t *words;
	uint32_t nwords;
};

/* Encode a message. Return its length, or 0 if it does not fit. */
size_t wire_encode_initxch(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_prop *start,
			   uint32_t count,
			   const struct wire_subset_desc *nochg);
size_t wire_encode_reqxch(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_prop *want, uint32_t count);
size_t wire_encode_respxch(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_subset_desc *done,
			   const struct wire_subset_desc *rej,
			   const struct wire_subset_desc *pend);
size_t wire_encode_updxch(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_prop *now, bool pendclr);

#endif /* RPCRDMA_WIRE_XCHAR_H */
