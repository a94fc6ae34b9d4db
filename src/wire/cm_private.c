/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cm_private - RFC 8797 private data of the connection manager
 *
 * It describes version 1 settings only [B7].
 *
 * No state; any thread.
 */
#include <string.h>

#include "rpcrdma/wire.h"

static const uint8_t format_id[4] = { 0xf6, 0xab, 0x0e, 0x18 };

#define CM_VERSION 1
#define CM_FLAG_R 0x01 /* bit 15 of the second word [P1] */
#define CM_UNIT 1024u
#define CM_UNITS_MAX 256u

/* RFC 8797 4.2, with the edges as in [P3]. */
static uint8_t size_code(uint32_t size)
{
	uint32_t units = size / CM_UNIT;

	if (units < 1)
		units = 1;
	if (units > CM_UNITS_MAX)
		units = CM_UNITS_MAX;
	return (uint8_t)(units - 1);
}

static uint32_t code_size(uint8_t code)
{
	return (code + 1u) * CM_UNIT;
}

void wire_cm_encode(uint8_t out[WIRE_CM_LEN], const struct wire_cm_private *p)
{
	memcpy(out, format_id, sizeof(format_id));
	out[4] = CM_VERSION;
	out[5] = p->remote_invalidation ? CM_FLAG_R : 0;
	out[6] = size_code(p->send_size);
	out[7] = size_code(p->recv_size);
}

bool wire_cm_decode(const void *buf, size_t len, struct wire_cm_private *p)
{
	const uint8_t *b = buf;

	/*
	 * RFC 8797 5.2: any offset, since lower layers put data of their own
	 * before ours. An identifier followed by another version may belong to
	 * somebody else, so the search goes on [P2].
	 */
	for (; len >= WIRE_CM_LEN; b++, len--) {
		if (memcmp(b, format_id, sizeof(format_id)) != 0 ||
		    b[4] != CM_VERSION)
			continue;
		p->remote_invalidation = b[5] & CM_FLAG_R;
		p->send_size = code_size(b[6]);
		p->recv_size = code_size(b[7]);
		return true;
	}
	return false;
}
