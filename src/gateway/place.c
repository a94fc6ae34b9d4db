/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * place - how many clients each host has, and whose place a new one may take
 *
 * Policy and locks: place.h.
 */
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"
#include "gateway/place.h"

void gw_places_init(struct gw_places *p)
{
	memset(p, 0, sizeof(*p));
	p->key = base_addr_key();
}

static struct gw_place **find(struct gw_places *p, const struct in6_addr *host)
{
	struct gw_place **at =
		&p->slot[base_addr_sum(p->key, host) % GW_PLACE_SLOTS];

	while (*at && memcmp(&(*at)->host, host, sizeof(*host)))
		at = &(*at)->next;
	return at;
}

struct gw_place *gw_place_get(struct gw_places *p, const struct in6_addr *host)
{
	struct gw_place **at = find(p, host), *h = *at;

	if (!h) {
		h = calloc(1, sizeof(*h));
		if (!h)
			return NULL;
		h->host = *host;
		*at = h;
	}
	h->clients++;
	h->stay++;
	return h;
}

unsigned int gw_place_users(const struct gw_places *p)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < GW_PLACE_SLOTS; i++)
		for (const struct gw_place *h = p->slot[i]; h; h = h->next)
			n += gw_place_is_user(&h->host) ? h->stay : 0;
	return n;
}

void gw_place_put(struct gw_places *p, struct gw_place *h)
{
	if (--h->clients)
		return;
	*find(p, &h->host) = h->next;
	free(h);
}

void gw_wish_init(struct gw_wish *w, const struct gw_places *p,
		  const struct in6_addr *host, bool counted)
{
	unsigned int most = 0, has = 0;

	memset(w, 0, sizeof(*w));
	w->users = host && (gw_place_is_user(host) || gw_place_users(p));
	if (w->users && !gw_place_is_user(host)) {
		w->due = true;
		w->least = 1;
		return;
	}
	for (unsigned int i = 0; i < GW_PLACE_SLOTS; i++) {
		for (const struct gw_place *h = p->slot[i]; h; h = h->next) {
			if (h->stay > most &&
			    (!w->users || gw_place_is_user(&h->host)))
				most = h->stay;
			if (!host || memcmp(&h->host, host, sizeof(*host)))
				continue;
			w->own = h;
			has = h->stay - (counted && h->stay);
		}
	}
	w->due = host && has + 1 < most;
	w->least = !host || w->due ? most : has + 1;
}

bool gw_wish_takes(const struct gw_wish *w, const struct gw_place *h)
{
	if (w->users && !gw_place_is_user(&h->host))
		return false;
	return h->stay >= w->least || (!w->due && h == w->own);
}
