/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rpcmsg - the heads of ONC RPC messages (RFC 5531, section 9)
 *
 * Pure functions over bounded buffers.
 */
#ifndef RPCRDMA_TOOLS_RPCMSG_H
#define RPCRDMA_TOOLS_RPCMSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RPC_CALL 0
#define RPC_REPLY 1
#define RPC_ACCEPT_SUCCESS 0
#define RPC_ACCEPT_PROG_UNAVAIL 1
#define RPC_ACCEPT_PROG_MISMATCH 2
#define RPC_ACCEPT_PROC_UNAVAIL 3
#define RPC_ACCEPT_GARBAGE_ARGS 4
#define RPC_ACCEPT_SYSTEM_ERR 5

#define RPC_REPLY_HEAD 24 /* accepted, AUTH_NONE verifier; a denial fits too */
#define RPC_AUTH_TOOWEAK 5
#define RPC_AUTH_FAILED 7
#define RPC_FLAVOR_GSS 6

/* An XDR writer, which remembers lack of room. */
struct xw {
	uint8_t *buf;
	size_t size, len;
	bool overflow;
};
/* An XDR reader; past the end everything reads as zero. */
struct xr {
	const uint8_t *buf;
	size_t size, at;
	bool bad;
};

void xw_init(struct xw *w, void *buf, size_t size);
void xw_u32(struct xw *w, uint32_t v);
void xr_init(struct xr *r, const void *buf, size_t size);
uint32_t xr_u32(struct xr *r);
/* Returns the octets of an opaque of at most @max, and sets *@n to its length. */
const uint8_t *xr_opaque(struct xr *r, size_t max, size_t *n);

/* Call head with AUTH_NONE, or AUTH_SYS of uid and gid 0 if @sys. */
void rpc_call_head(struct xw *w, uint32_t xid, uint32_t prog, uint32_t vers,
		   uint32_t proc, bool sys);
/* Accepted Reply head with an AUTH_NONE verifier. */
void rpc_reply_head(struct xw *w, uint32_t xid, uint32_t accept_stat);
/* Denied: AUTH_ERROR with the reason @why, or RPC_MISMATCH with 0. */
void rpc_denial(struct xw *w, uint32_t xid, uint32_t why);

struct rpc_reply {
	uint32_t xid;
	bool denied;
	uint32_t stat; /* accept_stat or reject_stat */
	uint32_t low, high; /* of PROG_MISMATCH or RPC_MISMATCH */
	size_t body; /* where the results begin */
};
/* Returns 0 or -EBADMSG. */
int rpc_reply_decode(const void *buf, size_t len, struct rpc_reply *out);
/* "success", "program unavailable", ... */
const char *rpc_reply_text(const struct rpc_reply *r);

#endif /* RPCRDMA_TOOLS_RPCMSG_H */
