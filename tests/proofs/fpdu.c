/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fpdu - fabric/iwarp takes any octets as FPDUs
 *
 * The header of an FPDU, and what DDP and RDMAP let it do, for any octets, any
 * registered region and any posted Receive: an access of the peer lies within a region
 * that is open to it, or within the Receive. The CRC is not looked at: it is any value.
 */
#include "fabric/iwarp/ddp.c"
#include "fabric/iwarp/fpdu_rx.c"

#include "proof.h"

unsigned int crc32_iscsi(unsigned char *p, int len, unsigned int crc)
{
	PROVE(__CPROVER_r_ok(p, len));
	return nondet_u32();
}

void iw_tx_terminate(struct iw_conn *c, unsigned int cause, const uint8_t *bad)
{
	/* The message quotes the DDP header. */
	PROVE(!bad || __CPROVER_r_ok(bad, bad[OFF_DDP_CTRL] & DDP_TAGGED ?
						  OFF_TAGGED_PAYLOAD :
						  OFF_UNTAGGED_PAYLOAD));
	c->state = IW_ST_TERMINATING;
}

void fab_ev_conn_set_end(struct fab_ev_conn *c, int error, const char *reason)
{
}

void fab_complete(struct fab_completions *done, struct fab_wr *wr,
		  enum fab_status status)
{
}

/* What has come of a header. */
void fpdu_header(void)
{
	static struct iw_conn c;
	uint8_t array[OFF_RREQ_END + 8];
	size_t avail = any_below(sizeof(array) + 1);
	const uint8_t *p = LAST(array, avail);
	struct iw_rx *rx = &c.rx;

	c.state = IW_ST_OPEN;
	if (!parse_header(&c, p, avail))
		return;
	PROVE(c.state == IW_ST_OPEN);
	PROVE(rx->hdr_len <= avail && rx->hdr_len <= sizeof(rx->hdr));
	PROVE(rx->hdr_len + rx->payload == MPA_LEN_SIZE + rx->ulpdu);
	PROVE(rx->payload <= MPA_MAX_ULPDU && !rx->placed);
	PROVE((MPA_LEN_SIZE + rx->ulpdu + rx->pad) % 4 == 0 && rx->pad < 4);
	PROVE(rx->opcode != RDMAP_TERMINATE || rx->hdr[OFF_DDP_CTRL] ||
	      p[OFF_DDP_CTRL] & DDP_TAGGED || rx->ulpdu <= RDMAP_TERM_MAX);
}

/* What the header of an FPDU lets it do. */
void fpdu_place(void)
{
	static struct iw_conn c;
	static uint8_t region[64], receive[64];
	static struct stag_entry e[3];
	static struct fab_wr wr;
	static struct fab_sge sge;
	struct iw_rx *rx = &c.rx;
	uint32_t got = nondet_u32();
	unsigned int access = nondet_u32();

	for (unsigned int i = 0; i < sizeof(rx->hdr); i++)
		rx->hdr[i] = nondet_u8();
	c.state = IW_ST_OPEN;
	ASSUME(parse_header(&c, rx->hdr, sizeof(rx->hdr)));
	/* An open region, of which the peer may have written a part. */
	e[1].stag = nondet_u32();
	e[1].access = access;
	e[1].addr = region;
	e[1].len = any_below(sizeof(region) + 1);
	e[1].base = nondet_u64();
	ASSUME(e[1].base <= UINT64_MAX >> 1);
	e[1].top = any_below(e[1].len + 1);
	c.stags.e = e;
	c.stags.size = 2;
	/* A Receive, or none, of which a Send may have filled a part. */
	sge.addr = receive;
	sge.len = any_below(sizeof(receive) + 1);
	wr.sge = &sge;
	wr.nsge = 1;
	c.rq.head = nondet_bool() ? &wr : NULL;
	ASSUME(got <= sge.len);
	rx->send_got = got;
	rx->send_op = nondet_u32();
	rx->msn[DDP_QN_SEND] = nondet_u32();
	ASSUME(rx->opcode != RDMAP_READ_RESP && rx->opcode != RDMAP_READ_REQ);
	if (iw_ddp_check(&c) || !rx->payload || rx->opcode == RDMAP_TERMINATE)
		return;
	PROVE(__CPROVER_w_ok(rx->dest, rx->payload));
	if (rx->opcode == RDMAP_WRITE) {
		PROVE(access & FAB_REMOTE_WRITE);
		PROVE(rx->dest >= region);
		PROVE((size_t)(rx->dest - region) + rx->payload <= e[1].len);
		PROVE(e[1].top >= (size_t)(rx->dest - region) + rx->payload);
		PROVE(e[1].top <= e[1].len);
	} else {
		PROVE(rx->dest == receive + got);
		PROVE(got + rx->payload <= sge.len);
	}
}
