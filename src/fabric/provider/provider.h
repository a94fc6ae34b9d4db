/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * provider - what every provider needs: logging, memory that is in quarantine
 *
 * This room is what the providers have in common; it knows none of them. Prefix:
 * fab_, as in fabric.h, and fab_ev_ for the event loop and what it calls.
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_FABRIC_PROVIDER_H
#define RPCRDMA_FABRIC_PROVIDER_H

#include "rpcrdma/fabric.h"

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Log to the domain's log, if it has one. */
void fab_domain_log(const struct fab_domain *d, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Log what @peer has caused. The line is charged to the budget of its host
 * (base/log.h), so that it suppresses no line about others. @peer may be NULL. */
void fab_domain_log_peer(const struct fab_domain *d,
			 const struct sockaddr_storage *peer, int level,
			 const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Returns true if @peer may connect, see fab_domain_params.admit. */
bool fab_domain_admits(const struct fab_domain *d,
		       const struct sockaddr_storage *peer, bool chosen);

/* @mr is about to be deregistered: free the records of fab_mr_quarantine(). */
void fab_mr_unquarantine(struct fab_mr *mr);

#endif /* RPCRDMA_FABRIC_PROVIDER_H */
