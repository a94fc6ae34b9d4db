/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * own_message - what a connection holds of messages: that room alone looks into it
 */
#ifndef RPCRDMA_TRANSPORT_OWN_MESSAGE_H
#define RPCRDMA_TRANSPORT_OWN_MESSAGE_H

#include <stdatomic.h>

#include "rpcrdma/rtr.h"
#include "rpcrdma/transport.h"
#include "transport/core/sent.h"

#define RT_HASH 256
/* XIDs of the peer's Calls here are counted by their low bits. */
#define RT_XIDS 1024

/* A Call of ours, for what comes with its XID. */
struct rt_own {
	struct rt_own *next;
	uint32_t xid;
	bool posted; /* its first message has been */
	bool reply_chunk; /* it has one */
};

/* An ERROR or other small message that waits for a credit. */
struct rt_error_out {
	uint32_t xid;
	uint32_t vers;
	struct wire_error err;
	struct wire_repterr rep; /* with a code: this instead */
};

/* A continued message being received, 6.6.2. */
struct rt_sequence {
	bool active;
	bool lost; /* refused; it is not kept, but its end matters */
	bool reply;
	uint32_t xid;
	uint32_t remaining; /* as the last MIDDLE said */
	size_t last; /* octets in that */
	/* It can be so that remaining counts these, or that it does not [D1]:
	 * both until they have been told apart. */
	bool with, without;
	size_t len;
	size_t memory; /* of bufs, as accounted for */
	unsigned int npieces;
	struct rt_piece piece[RT_MAX_PIECES];
	struct fab_buf *bufs, *tail;
	size_t tail_used;
	uint64_t deadline;
	uint64_t began; /* CLOCK_MONOTONIC, ns */
};

/* A message that was refused: the rest of its fragments is swallowed. */
struct rt_discard {
	bool on;
	bool reply;
	uint32_t xid;
};

/* A message that came in. */
struct rt_in {
	const uint8_t *buf;
	size_t len;
	struct wire_prefix p;
	bool invalidated;
	uint32_t inv_handle;
};

struct rt_messages {
	unsigned int version; /* 0: not yet settled */
	struct wire_cm_private private; /* the peer's, or the defaults */
	uint32_t messages; /* valid messages from the peer */
	unsigned int bad_versions;
	bool refused; /* with ERR_VERS; the first that was: */
	uint32_t refused_version;
	bool props_open; /* between the peer's MIDDLE and FINAL */
	uint32_t props_xid; /* of all our CONNPROP messages */
	uint32_t next_xid;
	/* Calls here by XID, written by the runner; rt_conn_xid_busy(). */
	_Atomic uint16_t xids[RT_XIDS];
	struct rt_own *own[RT_HASH];
	struct rt_xids replied; /* to the peer's Calls */
	struct rt_sequence seq;
	/* A broken sequence and the one that broke it, [D3], 7.1.4. */
	struct rt_discard discard[2];
	unsigned int errors_at, errors_room;
	struct rt_error_out *errors; /* ring of errors_room */
};

#endif /* RPCRDMA_TRANSPORT_OWN_MESSAGE_H */
