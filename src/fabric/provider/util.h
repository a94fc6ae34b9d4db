/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * util - small things that every provider needs
 *
 * Threads: any.
 */
#ifndef RPCRDMA_FABRIC_PROVIDER_UTIL_H
#define RPCRDMA_FABRIC_PROVIDER_UTIL_H

#include "rpcrdma/fabric.h"

#define container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* To the domain's log, if it has one. */
void fab_domain_log(const struct fab_domain *d, int level, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The same of what @peer (NULL: nobody) has caused: it counts for its host
 * (base/log.h), so that it hides nothing of others. */
void fab_domain_log_peer(const struct fab_domain *d,
			 const struct sockaddr_storage *peer, int level,
			 const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif /* RPCRDMA_FABRIC_PROVIDER_UTIL_H */
