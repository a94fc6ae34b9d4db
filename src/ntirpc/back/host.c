/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host - how many back channels one host may have. back.h tells of threads and locks.
 *
 * A session outlives its connection, so a bound on connections is none on
 * sessions: whoever makes one, ends its connection and begins anew would have
 * the server keep more and more. A host that comes to its bound loses what is of
 * least use to it: the oldest whose connection has ended, or that has no CLIENT
 * any more. Where all are in use, a new session is made without a back channel.
 */
#include "ntirpc/back/back.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct cds_list_head *bucket_of(struct nrt_clnts *n,
				       const struct in6_addr *addr)
{
	uint32_t sum = 0;

	for (unsigned int i = 0; i < sizeof(addr->s6_addr); i++)
		sum = sum * 31 + addr->s6_addr[i];
	return &n->hosts[(sum ^ sum >> 8) % NRT_BUCKETS];
}

static struct nrt_host *find(struct nrt_clnts *n, const struct in6_addr *addr)
{
	struct nrt_host *h;

	cds_list_for_each_entry(h, bucket_of(n, addr), link)
	{
		if (!memcmp(&h->addr, addr, sizeof(*addr)))
			return h;
	}
	return NULL;
}

static bool make_room(struct nrt_clnts *n, struct nrt_host *h,
		      nrt_give_way_fn give_way)
{
	struct nrt_back *b;

	cds_list_for_each_entry(b, &h->backs, sibling)
	{
		/* Then @b is no longer there, and perhaps @h neither. */
		if (give_way(n, b))
			return true;
	}
	return false;
}

int nrt_host_join(struct nrt_clnts *n, struct nrt_back *b,
		  const struct in6_addr *addr, nrt_give_way_fn give_way)
{
	struct nrt_host *h = find(n, addr);

	while (h && h->nbacks >= n->host_most) {
		if (!make_room(n, h, give_way))
			return -EUSERS;
		h = find(n, addr);
	}
	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return -ENOMEM;
		h->addr = *addr;
		CDS_INIT_LIST_HEAD(&h->backs);
		cds_list_add(&h->link, bucket_of(n, addr));
	}
	cds_list_add_tail(&b->sibling, &h->backs);
	h->nbacks++;
	b->host = h;
	return 0;
}

void nrt_host_leave(struct nrt_back *b)
{
	struct nrt_host *h = b->host;

	b->host = NULL;
	cds_list_del(&b->sibling);
	if (--h->nbacks)
		return;
	cds_list_del(&h->link);
	free(h);
}
