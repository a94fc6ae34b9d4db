/* SPDX-License-Identifier: BSD-3-Clause */
/* provider - logging, admission, and memory that is in quarantine */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/addr.h"
#include "fabric/provider/provider.h"

/* ---- Logging ----------------------------------------------------------- */

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

/* ---- Admission --------------------------------------------------------- */

bool fab_domain_admits(const struct fab_domain *d,
		       const struct sockaddr_storage *peer, bool chosen)
{
	return !d->params.admit ||
	       d->params.admit(d->params.admit_ctx, peer, chosen);
}

/* ---- Quarantine -------------------------------------------------------- */

struct quarantined {
	struct base_stack_node node;
	uintptr_t addr;
	size_t len;
};

void fab_mr_quarantine(struct fab_mr *mr, const void *addr, size_t len)
{
	struct quarantined *k = malloc(sizeof(*k));

	if (!k) {
		/* No memory for a record: quarantine all of @mr. */
		atomic_store(&mr->all_quarantined, true);
		return;
	}
	k->addr = (uintptr_t)addr;
	k->len = len;
	base_stack_push(&mr->quarantine, &k->node);
}

bool fab_mr_quarantined(const struct fab_mr *mr, const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	if (atomic_load_explicit(&mr->all_quarantined, memory_order_relaxed))
		return true;
	for (struct base_stack_node *n = base_stack_look(&mr->quarantine); n;
	     n = n->next) {
		const struct quarantined *k =
			container_of(n, struct quarantined, node);

		if (a < k->addr + k->len && k->addr < a + len)
			return true;
	}
	return false;
}

void fab_mr_unquarantine(struct fab_mr *mr)
{
	struct base_stack_node *n = base_stack_take(&mr->quarantine), *next;

	for (; n; n = next) {
		next = n->next;
		free(container_of(n, struct quarantined, node));
	}
}
