/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * heads - how often the head of a Call is decoded
 *
 * Included by one file of a program, which is linked with
 * --wrap=ulb_call_head.
 */
#ifndef RPCRDMA_TEST_HEADS_H
#define RPCRDMA_TEST_HEADS_H

#include "rpcrdma/nfs.h"

static unsigned int heads;

void __real_ulb_call_head(const struct iovec *iov, unsigned int niov,
			  struct ulb_call *c);
void __wrap_ulb_call_head(const struct iovec *iov, unsigned int niov,
			  struct ulb_call *c);

void __wrap_ulb_call_head(const struct iovec *iov, unsigned int niov,
			  struct ulb_call *c)
{
	heads++;
	__real_ulb_call_head(iov, niov, c);
}

#endif /* RPCRDMA_TEST_HEADS_H */
