/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * iwarp_mpa - the decoder of MPA start-up frames, as the octets come in
 *
 * Input: bit 0 of an octet for request or reply, bit 1 to put the right key
 * before the rest, then the frame.
 */
#include <errno.h>

#include "fabric/iwarp/mpa.h"
#include "fuzz.h"

static void again(const struct mpa_frame *f, const uint8_t *frame, size_t len)
{
	struct mpa_frame g;
	uint8_t buf[MPA_FRAME_MAX];
	size_t need = 0;
	int n = iw_mpa_encode(buf, f);

	FUZZ_CHECK(n == (int)len);
	FUZZ_CHECK(iw_mpa_decode(buf, len, f->reply, &g, &need) == n);
	FUZZ_CHECK(g.rev == f->rev && g.ird == f->ird && g.ord == f->ord);
	FUZZ_CHECK(g.enhanced == f->enhanced && g.reject == f->reject);
	FUZZ_CHECK(g.priv_len == f->priv_len &&
		   !memcmp(g.priv, f->priv, f->priv_len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t kind = fuzz_u8(&in), buf[2048];
	bool reply = kind & 1;
	size_t len = 0, need = 0;

	if (kind & 2) {
		memcpy(buf, reply ? "MPA ID Rep Frame" : "MPA ID Req Frame",
		       16);
		len = 16;
	}
	if (in.left > sizeof(buf) - len)
		in.left = sizeof(buf) - len;
	memcpy(buf + len, in.p, in.left);
	len += in.left;
	/* What is not a frame shows early, and stays so. */
	for (size_t n = 1; n <= len; n++) {
		uint8_t *part = fuzz_exact(buf, n);
		struct mpa_frame f;
		int rc = iw_mpa_decode(part, n, reply, &f, &need);

		FUZZ_CHECK(rc >= 0 || rc == -EPROTO);
		if (!rc)
			FUZZ_CHECK(need > n && need <= MPA_FRAME_MAX);
		if (rc > 0) {
			FUZZ_CHECK((size_t)rc <= n);
			FUZZ_CHECK(f.priv >= part &&
				   f.priv + f.priv_len == part + rc);
			if (f.rev < 3)
				again(&f, part, (size_t)rc);
		}
		fuzz_exact_free(part, n);
		if (rc)
			break;
	}
	return 0;
}
