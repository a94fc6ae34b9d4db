/* SPDX-License-Identifier: BSD-3-Clause */
/* terminate - encoding and names of Terminate messages */
#include <string.h>

#include "terminate.h"

/* Bits of the control word. */
#define TERM_M (1u << 15) /* length of the DDP segment */
#define TERM_D (1u << 14) /* its DDP header */
#define TERM_R (1u << 13) /* its Read Request header */

static const struct {
	unsigned int cause;
	const char *text;
} names[] = {
	{ TERM_RDMAP_STAG, "invalid STag (RDMAP)" },
	{ TERM_RDMAP_BOUNDS, "base or bounds violation (RDMAP)" },
	{ TERM_RDMAP_ACCESS, "access rights violation" },
	{ TERM_RDMAP_WRAP, "tagged offset wrap (RDMAP)" },
	{ TERM_RDMAP_NO_INVALIDATE, "STag cannot be invalidated" },
	{ TERM_RDMAP_VERSION, "unknown RDMAP version" },
	{ TERM_RDMAP_OPCODE, "unexpected RDMAP opcode" },
	{ TERM_RDMAP_STREAM, "catastrophic error of the RDMAP stream" },
	{ TERM_DDP_CATASTROPHIC, "catastrophic error of the DDP stream" },
	{ TERM_DDP_STAG, "invalid STag (DDP)" },
	{ TERM_DDP_BOUNDS, "base or bounds violation (DDP)" },
	{ TERM_DDP_WRAP, "tagged offset wrap (DDP)" },
	{ TERM_DDP_TAGGED_VERSION, "unknown DDP version, tagged" },
	{ TERM_DDP_QN, "invalid queue number" },
	{ TERM_DDP_NO_BUFFER, "no buffer available" },
	{ TERM_DDP_MSN, "message sequence number out of range" },
	{ TERM_DDP_MO, "invalid message offset" },
	{ TERM_DDP_TOO_LONG, "message too long for its buffer" },
	{ TERM_DDP_UNTAGGED_VERSION, "unknown DDP version, untagged" },
	{ TERM_MPA_CRC, "CRC mismatch" },
	{ TERM_MPA_IRD, "read depth insufficient" },
};

const char *iw_term_text(unsigned int cause)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].cause == cause)
			return names[i].text;
	return "other cause";
}

unsigned int iw_term_cause(uint32_t ctrl)
{
	return ctrl >> 16;
}

/*
 * RFC 5040 section 4.8: errors of the LLP and catastrophic ones quote no
 * headers; those of an inbound Read Request quote its RDMAP header too.
 */
static unsigned int headers_wanted(unsigned int cause, const uint8_t *bad)
{
	unsigned int layer = cause >> 12, etype = (cause >> 8) & 0xfu;
	unsigned int opcode;

	if (!bad || layer == TERM_LLP || etype == 0)
		return 0;
	opcode = bad[OFF_RDMAP_CTRL] & RDMAP_OPCODE_MASK;
	if (layer == TERM_RDMAP && opcode == RDMAP_READ_REQ &&
	    !(bad[OFF_DDP_CTRL] & DDP_TAGGED) && etype == 1)
		return TERM_M | TERM_D | TERM_R;
	return TERM_M | TERM_D;
}

size_t iw_term_encode(uint8_t *buf, unsigned int cause, const uint8_t *bad)
{
	unsigned int hdrct = headers_wanted(cause, bad);
	uint8_t *p = buf + OFF_UNTAGGED_PAYLOAD;
	size_t hlen;

	be32_put(p, cause << 16 | hdrct);
	p += RDMAP_TERM_CTRL_SIZE;
	if (hdrct & TERM_M) {
		memcpy(p, bad, MPA_LEN_SIZE);
		p += MPA_LEN_SIZE;
	}
	if (hdrct & TERM_D) {
		hlen = bad[OFF_DDP_CTRL] & DDP_TAGGED ? DDP_TAGGED_SIZE :
							DDP_UNTAGGED_SIZE;
		memcpy(p, bad + MPA_LEN_SIZE, hlen);
		p += hlen;
	}
	if (hdrct & TERM_R) {
		memcpy(p, bad + OFF_RREQ_SINK_STAG, RDMAP_READ_REQ_SIZE);
		p += RDMAP_READ_REQ_SIZE;
	}
	/* The Terminate queue has one message in each direction. */
	ddp_put_ctrl(buf, (uint16_t)((size_t)(p - buf) - MPA_LEN_SIZE), false,
		     true, RDMAP_TERMINATE);
	ddp_put_untagged(buf, 0, DDP_QN_TERMINATE, 1, 0);
	return (size_t)(p - buf);
}
