/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rtr - the octets of draft-dnoveck-nfsv4-rpcrdma-rtrext-03 on version 2
 *
 * Four header types and four properties, with the code points of [M1] and the corrected
 * XDR of [M6]. As in wire.h, the functions are pure, decoded messages are views into the
 * octets, iterators go over validated lists, and encoders check nothing. wire_decode()
 * does not know these types.
 *
 * Section numbers are those of that draft. Positions ("displacements") count the octets
 * of the whole RPC message.
 */
#ifndef RPCRDMA_WIRE_RTR_H
#define RPCRDMA_WIRE_RTR_H

#include "wire.h"

/* Header types [M1]. */
#define RDMA2_X_XMTREQ 0xffffff15u /* Transmit Request, 9.2 */
#define RDMA2_X_XMTRESP 0xffffff16u /* Transmit Response, 9.3 */
#define RDMA2_X_XMTCONT 0xffffff17u /* Transmit Continue, 9.4 */
#define RDMA2_X_REPTERR 0xffffff18u /* Report Error, 9.5 */

/* Properties [M1]. */
#define RDMA2_PROPID_X_RTRSUPP 0xffffff13u /* RTR Support, 8.2 */
#define RDMA2_PROPID_X_RBSTRUCT 0xffffff14u /* Receive Buffer Structure, 8.3 */
#define RDMA2_PROPID_X_REQRXLIM 0xffffff15u /* Request Receive Limit, 8.4 */
#define RDMA2_PROPID_X_RESPSXLIM 0xffffff16u /* Response Send Limit, 8.5 */

/* Bits of RTR Support, 8.2. */
#define RTRS_XREQ 1u
#define RTRS_XRESP 2u
#define RTRS_XCONT 4u

/* A buffer segment that may be a target of placement, 7.2. */
#define XMRSFLAG_PLT 1u

/* How an item is placed, or is to be, 6.2. */
enum wire_xmptype {
	XMPTYPE_EXRW = 1, /* by explicit RDMA Reads and Writes */
	XMPTYPE_TBSN = 2, /* in target buffer segments */
	XMPTYPE_CHOICE = 3, /* either, as the Responder likes */
	XMPTYPE_BYSIZE = 4, /* either, by its length */
	XMPTYPE_TOOSHORT = 5, /* in the stream, since it is short */
	XMPTYPE_NOITEM = 6, /* there is none */
};

/* optr_err, 9.5. */
enum wire_optrerr {
	OPTRERR_BADHMT = 1,
	OPTRERR_BADOMT = 2,
	OPTRERR_BADCONT = 3,
	OPTRERR_BADSEQ = 4,
	OPTRERR_BADXID = 5,
	OPTRERR_BADOFF = 6,
	OPTRERR_BADTBSN = 7,
	OPTRERR_BADPL = 8,
};

/* msg_type of RFC 5531, in xmsi_dir. */
#define XMSI_CALL 0u
#define XMSI_REPLY 1u

/* ---- Views ------------------------------------------------------------ */

/* xmdp_mitem, 7.3: where one item of the message itself is. */
struct wire_xitem {
	uint32_t disp;
	uint32_t length;
	uint32_t type; /* EXRW, TBSN, TOOSHORT, NOITEM */
	struct wire_list seg; /* EXRW; for wire_segment_next() */
	uint32_t offset; /* TBSN: into the first buffer segment */
	uint32_t nbsnum; /* TBSN: for wire_bsnum() */
	const uint8_t *bsnum;
};

/* xmdp_rsdset, 7.4. @items: for wire_rsditem_next(). */
struct wire_rsdset {
	uint32_t begin, end; /* in the Call's stream, [begin, end) */
	struct wire_list items;
};

/* xmdp_rsditem, 7.4: where one item of the response is to go. */
struct wire_rsditem {
	uint32_t minlen;
	uint32_t type; /* EXRW, TBSN, CHOICE, BYSIZE */
	uint32_t threshold; /* BYSIZE: from this length on EXRW [R8] */
	struct wire_list seg; /* all but TBSN */
};

/* XMTREQ, XMTRESP or XMTCONT; the fields that the type has. */
struct wire_xmt {
	struct wire_prefix p;
	struct wire_list items; /* count of xmdp_mitems */
	struct wire_list rsd; /* XMTREQ: count of xmdp_rsdsets */
	uint32_t nrsditems; /* in all of them */
	uint32_t count; /* transmissions of the group */
	uint32_t rsbuf; /* XMTREQ: transmissions of the response */
	uint32_t xnum; /* XMTCONT */
	uint32_t itype; /* XMTCONT */
	uint32_t pslen;
	size_t header_len; /* what follows: payload, padding, items */
};

/* xms_id, 6.1. */
struct wire_xmsid {
	uint32_t xid;
	uint32_t dir; /* XMSI_CALL, XMSI_REPLY */
	uint32_t seq;
};

/* REPTERR, 9.5. */
struct wire_repterr {
	struct wire_xmsid bad;
	bool has_lead;
	struct wire_xmsid lead;
	uint32_t code; /* enum wire_optrerr */
	uint32_t expect, current; /* BADHMT, BADOMT, BADSEQ, BADXID */
	uint32_t value, min, max; /* BADOFF, BADTBSN, BADPL */
};

/* One xmrbs_group, 7.2. */
struct wire_rbgroup {
	uint32_t count;
	uint32_t length, align, flags;
};

/* xmrbs_buf, 7.2. @groups: for wire_rbgroup_next(). */
struct wire_rbstruct {
	uint32_t length;
	struct wire_list groups;
};

/*
 * wire_xmt_decode - decode and validate an XMTREQ, XMTRESP or XMTCONT
 *
 * Returns WIRE_BAD_XDR for a malformed message (table 1 included), and for one that
 * contradicts itself [R9]: TOOSHORT or NOITEM in a request; items that are out of order,
 * overlap, or have a displacement that is no multiple of four; ranges that end before
 * they begin or do not follow each other. The caller checks what has a code of REPTERR
 * (counts, numbers, offsets, pslen). Returns WIRE_SHORT and WIRE_VERSION as
 * wire_decode(), WIRE_BAD_HTYPE for other types. Unless it returns WIRE_OK, only m->p is
 * set.
 */
enum wire_status wire_xmt_decode(const void *buf, size_t len,
				 struct wire_xmt *m);
/* The same for a REPTERR; WIRE_BAD_XDR also for unknown codes. */
enum wire_status wire_repterr_decode(const void *buf, size_t len,
				     struct wire_repterr *r);
/*
 * Decode the value of X_RBSTRUCT. Returns false if it is malformed or if its length is
 * not the sum of its segments [R10].
 */
bool wire_rbstruct_decode(const void *data, size_t len,
			  struct wire_rbstruct *b);

bool wire_xitem_next(const struct wire_list *items, struct wire_iter *it,
		     struct wire_xitem *item);
/* Returns number @i, less than item->nbsnum, of the item's target buffer segments. */
uint32_t wire_bsnum(const struct wire_xitem *item, uint32_t i);
bool wire_rsdset_next(const struct wire_list *rsd, struct wire_iter *it,
		      struct wire_rsdset *set);
bool wire_rsditem_next(const struct wire_list *items, struct wire_iter *it,
		       struct wire_rsditem *item);
bool wire_rbgroup_next(const struct wire_list *groups, struct wire_iter *it,
		       struct wire_rbgroup *g);

/* ---- Encoding --------------------------------------------------------- */

struct wire_xitem_desc {
	uint32_t disp;
	uint32_t length;
	uint32_t type;
	const struct wire_segment *seg; /* EXRW */
	uint32_t nsegs;
	uint32_t offset; /* TBSN */
	const uint32_t *bsnum;
	uint32_t nbsnum;
};

struct wire_rsditem_desc {
	uint32_t minlen;
	uint32_t type;
	uint32_t threshold; /* BYSIZE */
	const struct wire_segment *seg;
	uint32_t nsegs;
};

struct wire_rsdset_desc {
	uint32_t begin, end;
	const struct wire_rsditem_desc *items;
	uint32_t nitems;
};

struct wire_xmt_desc {
	const struct wire_xitem_desc *items;
	uint32_t nitems;
	const struct wire_rsdset_desc *sets; /* XMTREQ */
	uint32_t nsets;
	uint32_t count;
	uint32_t rsbuf; /* XMTREQ */
	uint32_t pslen;
};

/* Encode a header. Return its length, or 0 if it does not fit. */
size_t wire_encode_xmtreq(void *buf, size_t size, uint32_t xid, uint32_t credit,
			  const struct wire_xmt_desc *d);
size_t wire_encode_xmtresp(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, const struct wire_xmt_desc *d);
size_t wire_encode_xmtcont(void *buf, size_t size, uint32_t xid,
			   uint32_t credit, uint32_t xnum, uint32_t itype,
			   uint32_t pslen);
/* rdma_xid is r->bad.xid. */
size_t wire_encode_repterr(void *buf, size_t size, uint32_t credit,
			   const struct wire_repterr *r);
/* The value alone. */
size_t wire_encode_rbstruct(void *buf, size_t size, uint32_t length,
			    const struct wire_rbgroup *g, uint32_t count);

/* Return what wire_encode_xmtreq() or wire_encode_xmtresp() would. */
size_t wire_xmtreq_len(const struct wire_xmt_desc *d);
size_t wire_xmtresp_len(const struct wire_xmt_desc *d);
#define WIRE_XMTCONT_LEN (WIRE_PREFIX_LEN + 12)

/* Returns a name for logs, "?" for an unknown code. */
const char *wire_optrerr_name(uint32_t code);

#endif /* RPCRDMA_WIRE_RTR_H */
