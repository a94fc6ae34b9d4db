/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_error - the ERROR messages of both versions
 *
 * Input: version (an octet), then what follows the four words that all
 * messages have.
 */
#include "fuzz.h"
#include "rpcrdma/wire.h"

static void version_2(const uint8_t *msg, size_t len, uint8_t vers)
{
	struct wire_error e, again;
	uint8_t buf[64];
	size_t n;

	if (!wire_error_decode(msg, len, &e)) {
		FUZZ_CHECK(wire_errcode_name(e.code));
		return;
	}
	n = wire_encode_error(buf, sizeof(buf), 1, vers, 2, &e);
	/* Numbers that only advise may be missing; then they read as 0. */
	FUZZ_CHECK(n && (n > len || !memcmp(buf, msg, n)));
	FUZZ_CHECK(wire_error_decode(buf, n, &again));
	FUZZ_CHECK(!memcmp(&e, &again, sizeof(e)));
	FUZZ_CHECK(!wire_error_decode(buf, 19, &again));
}

static void version_1(const uint8_t *msg, size_t len)
{
	uint8_t buf[64];
	struct wire_msg m;
	size_t n;

	if (wire1_decode(msg, len, &m) != WIRE_OK)
		return;
	FUZZ_CHECK(m.error.code == RDMA2_ERR_VERS ||
		   m.error.code == RDMA1_ERR_CHUNK);
	n = wire1_encode_error(buf, sizeof(buf), 1, 1, 2, &m.error);
	FUZZ_CHECK(n && n <= len && !memcmp(buf, msg, n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_in in = { data, size };
	uint8_t vers = fuzz_u8(&in);
	size_t len = WIRE_PREFIX_LEN + in.left;
	uint8_t *msg = malloc(len);

	FUZZ_CHECK(msg);
	fuzz_put32(msg, 1);
	fuzz_put32(msg + 4, vers);
	fuzz_put32(msg + 8, 2);
	fuzz_put32(msg + 12, RDMA2_ERROR);
	if (in.left)
		memcpy(msg + WIRE_PREFIX_LEN, in.p, in.left);
	version_2(msg, len, vers);
	if (vers == WIRE_VERS1)
		version_1(msg, len);
	free(msg);
	return 0;
}
