/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * util - small things that every provider needs
 *
 * Threads: any.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/addr.h"
#include "fabric/provider/util.h"

void fab_domain_log(const struct fab_domain *d, int level, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	if (!d->params.log)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	d->params.log(d->params.log_ctx, level, text);
}

void fab_domain_log_peer(const struct fab_domain *d,
			 const struct sockaddr_storage *peer, int level,
			 const char *fmt, ...)
{
	struct in6_addr host;
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (!peer || !d->params.log_host) {
		fab_domain_log(d, level, "%s", text);
		return;
	}
	host = base_addr_host((const struct sockaddr *)peer);
	d->params.log_host(d->params.log_ctx, &host, level, text);
}
