/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ulb_reply - the scan of a Reply for its DDP-eligible items
 *
 * Input: what was called (an octet), how many Write chunks came back (an
 * octet) and their lengths, the cut (cut.h), then the Reply.
 */
#include <errno.h>

#include "cut.h"
#include "rpcrdma/nfs.h"

#define CHUNKS 4

/* The same octets as a COMPOUND's results. */
static void check_session(const struct ulb_call *c, const struct iovec *iov,
			  unsigned int n)
{
	uint64_t len = fuzz_cut_len(iov, n);
	struct ulb_session s;
	int rc = ulb_read_session(c, iov, n, iov, n, &s);
	uint32_t status;
	int rc_callback = ulb_read_callback(iov, n, &status);

	FUZZ_CHECK(rc_callback == 0 || rc_callback == -EBADMSG);
	FUZZ_CHECK(rc == 0 || rc == -EBADMSG);
	if (rc)
		return;
	FUZZ_CHECK(!s.sequence || s.flags_at + 4ull <= len);
	FUZZ_CHECK(!s.given || s.given_at + 4ull <= len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t procs[] = { 6, 5, 7, 10, 1, 16, 17, 0 };
	struct fuzz_in in = { data, size };
	struct ulb_item items[ULB_MAX_ITEMS];
	struct iovec iov[CUT_MAX];
	struct ulb_call c = { .prog = ULB_PROG_NFS, .ddp = true, .nfs = true };
	uint32_t chunk[CHUNKS];
	unsigned int n, nchunk, max, nitems = 0;
	uint64_t len, end = 0;
	uint8_t kind = fuzz_u8(&in);
	int rc;

	c.vers = kind & 1 ? 4 : 3;
	c.proc = kind & 1 ? 1 : procs[kind / 2 % 8];
	max = kind & 0x80 ? 1 + kind % ULB_MAX_ITEMS : ULB_MAX_ITEMS;
	nchunk = fuzz_u8(&in) % (CHUNKS + 2);
	for (unsigned int i = 0; i < CHUNKS && i < nchunk; i++) {
		uint8_t k = fuzz_u8(&in);

		chunk[i] = k == 255 ? UINT32_MAX :
			   k > 250  ? fuzz_u32(&in) :
				      k * 4u;
	}
	n = fuzz_cut(&in, iov);
	len = fuzz_cut_len(iov, n);
	if (nchunk > CHUNKS)
		nchunk = 0;
	for (unsigned int i = 0; i < nchunk; i++)
		if (chunk[i] != UINT32_MAX)
			len += (chunk[i] + 3ull) & ~3ull;
	rc = ulb_scan_reply(&c, iov, n, nchunk ? chunk : NULL, nchunk, items,
			    max, &nitems);
	FUZZ_CHECK(rc == 0 || rc == -EBADMSG);
	if (!rc) {
		FUZZ_CHECK(nitems <= max);
		for (unsigned int i = 0; i < nitems; i++) {
			if (!items[i].present)
				continue;
			FUZZ_CHECK(items[i].position >= end);
			end = (uint64_t)items[i].position + items[i].length;
			FUZZ_CHECK(end <= len);
		}
	}
	check_session(&c, iov, n);
	fuzz_cut_free(iov, n);
	return 0;
}
