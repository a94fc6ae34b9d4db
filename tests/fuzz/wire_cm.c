/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wire_cm - the private data of RFC 8797, at any place among other octets
 *
 * Input: the private data.
 */
#include "fuzz.h"
#include "rpcrdma/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *priv = fuzz_exact(data, size), out[WIRE_CM_LEN];
	struct wire_cm_private p, again;

	if (wire_cm_decode(priv, size, &p)) {
		FUZZ_CHECK(size >= WIRE_CM_LEN);
		FUZZ_CHECK(p.send_size >= 1024 && p.send_size <= 262144);
		FUZZ_CHECK(p.recv_size >= 1024 && p.recv_size <= 262144);
		wire_cm_encode(out, &p);
		FUZZ_CHECK(wire_cm_decode(out, sizeof(out), &again));
		FUZZ_CHECK(again.send_size == p.send_size &&
			   again.recv_size == p.recv_size &&
			   again.remote_invalidation == p.remote_invalidation);
	}
	fuzz_exact_free(priv, size);
	return 0;
}
