/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp - start-up frames, tagged offsets and Terminates of fabric/iwarp
 */
#include "fabric/iwarp/mpa.c"
#include "fabric/iwarp/stag.h"
#include "fabric/iwarp/terminate.c"

#include "proof.h"

bool base_addr_is_loopback(const struct sockaddr_storage *a)
{
	return nondet_bool();
}

bool base_addr_same(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b)
{
	return nondet_bool();
}

/* What has come of a frame, however little: no more is read, or asked for. */
void mpa_decode(void)
{
	uint8_t array[40];
	size_t len = any_below(sizeof(array) + 1), need = 0;
	const uint8_t *buf = LAST(array, len);
	struct mpa_frame f;
	int rc = iw_mpa_decode(buf, len, nondet_bool(), &f, &need);

	PROVE(rc == -EPROTO || (rc >= 0 && (size_t)rc <= len));
	PROVE(rc < 0 || (need >= MPA_FRAME_HDR && need <= MPA_FRAME_MAX));
	/* Who waits for more does so for something. */
	PROVE(rc || need > len);
	if (rc <= 0)
		return;
	PROVE((size_t)rc == need && f.priv >= buf);
	PROVE(f.priv + f.priv_len == buf + rc);
}

/* A frame that can be encoded is decoded as what it was, private data included. */
void mpa_same(void)
{
	uint8_t buf[MPA_FRAME_HDR + MPA_V2_CTRL + 16], priv[16];
	struct mpa_frame f = {
		.reply = nondet_bool(),
		.rev = nondet_u8(),
		.markers = nondet_bool(),
		.crc = nondet_bool(),
		.reject = nondet_bool(),
		.enhanced = nondet_bool(),
		.p2p = nondet_bool(),
		.rtr_send = nondet_bool(),
		.rtr_write = nondet_bool(),
		.rtr_read = nondet_bool(),
		.ird = nondet_u16(),
		.ord = nondet_u16(),
		.priv = priv,
		.priv_len = nondet_size(),
	};
	struct mpa_frame g;
	size_t need, at = nondet_size();
	int n;

	ASSUME(f.priv_len <= sizeof(priv) || f.priv_len > MPA_MAX_PD);
	n = iw_mpa_encode(buf, &f);
	PROVE(n == -EINVAL || (n > 0 && n <= (int)MPA_FRAME_MAX));
	if (n < 0)
		return;
	/* The control words are of revision 2. */
	ASSUME(!f.enhanced || f.rev >= 2);
	n = iw_mpa_decode(buf, (size_t)n, f.reply, &g, &need);
	PROVE(n > 0 && (size_t)n == need);
	PROVE(g.reply == f.reply && g.rev == f.rev && g.crc == f.crc);
	PROVE(g.markers == f.markers && g.reject == f.reject);
	PROVE(g.enhanced == f.enhanced && g.priv_len == f.priv_len);
	if (f.enhanced) {
		PROVE(g.ird == f.ird && g.ord == f.ord && g.p2p == f.p2p);
		PROVE(g.rtr_send == f.rtr_send && g.rtr_read == f.rtr_read);
		PROVE(g.rtr_write == f.rtr_write);
	}
	ASSUME(at < f.priv_len);
	PROVE(g.priv[at] == priv[at]);
}

/* A range that is let through lies in the region, for all 64-bit offsets. */
void stag_range(void)
{
	static uint8_t region[64];
	size_t offset = any_below(sizeof(region) + 1);
	struct stag_entry e = {
		.addr = region + offset,
		.len = any_below(sizeof(region) + 1 - offset),
		.base = nondet_u64(),
	};
	uint64_t to = nondet_u64(), len = nondet_u64();
	uint8_t *addr;

	/* As iw_stag_add() chooses it. */
	ASSUME(e.base <= UINT64_MAX >> 1);
	switch (iw_stag_range(&e, to, len, &addr)) {
	case STAG_OK:
		PROVE(to >= e.base && to - e.base <= e.len);
		PROVE(len <= e.len - (to - e.base));
		PROVE(addr == e.addr + (to - e.base));
		PROVE(!len || __CPROVER_w_ok(addr, len));
		break;
	case STAG_WRAP:
		PROVE(len && len - 1 > UINT64_MAX - to);
		break;
	case STAG_BOUNDS:
		PROVE(to < e.base || to - e.base > e.len ||
		      len > e.len - (to - e.base));
		break;
	}
}

/* The Terminate for any header has room, and is an FPDU of the length that it says. */
void terminate(void)
{
	uint8_t buf[TERM_FPDU_MAX], bad[OFF_RREQ_END];
	unsigned int cause = nondet_u16();
	size_t n = iw_term_encode(buf, cause, nondet_bool() ? bad : NULL);
	unsigned int ulpdu = be16_get(buf);

	PROVE(n == ulpdu + MPA_LEN_SIZE && ulpdu <= RDMAP_TERM_MAX);
	PROVE(n + mpa_pad(ulpdu) + MPA_CRC_SIZE <= sizeof(buf));
	PROVE((n + mpa_pad(ulpdu)) % 4 == 0);
	PROVE(iw_term_cause(be32_get(buf + OFF_UNTAGGED_PAYLOAD)) == cause);
}
