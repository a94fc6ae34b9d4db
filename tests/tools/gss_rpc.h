/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gss_rpc - RPC over TCP with RPCSEC_GSS (RFC 2203), from the RFC
 *
 * libtirpc cannot send more than 64 KiB under integrity or privacy; this can.
 * The GSS-API does the cryptography. One thread for each struct.
 */
#ifndef RPCRDMA_TESTS_GSS_RPC_H
#define RPCRDMA_TESTS_GSS_RPC_H

#include <rpc/rpc.h>
#include <rpc/auth_gss.h>
#include <stdbool.h>
#include <stdint.h>

struct gss_rpc;

/* On the connected socket @fd, which it takes. NULL: said why on stderr. */
struct gss_rpc *gss_rpc_open(int fd, uint32_t prog, uint32_t vers,
			     rpc_gss_svc_t service, const char *target);
/* False: said why on stderr. Verifier and checksum of the Reply are checked. */
bool gss_rpc_call(struct gss_rpc *r, uint32_t proc,
		  bool_t (*args)(XDR *, void *),
		  bool_t (*results)(XDR *, void *), void *arg);
/* Send only; there will be no Reply. */
bool gss_rpc_send(struct gss_rpc *r, uint32_t proc,
		  bool_t (*args)(XDR *, void *), void *arg);
/* Wait for the end of the connection; false if anything else comes. */
bool gss_rpc_ended(struct gss_rpc *r);
/* The sequence number of the next Call. */
void gss_rpc_set_seq(struct gss_rpc *r, uint32_t seq);
uint32_t gss_rpc_seq(const struct gss_rpc *r);
/* Change an octet of what the next Call protects, after it is protected. */
void gss_rpc_tamper(struct gss_rpc *r);
/* Ends the context (RFC 2203, 5.4) if @orderly. */
void gss_rpc_close(struct gss_rpc *r, bool orderly);

#endif /* RPCRDMA_TESTS_GSS_RPC_H */
