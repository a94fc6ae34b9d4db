/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint - one end of a connection, and all that it was told
 *
 * Threads: one.
 */
#ifndef RPCRDMA_TEST_ENDPOINT_H
#define RPCRDMA_TEST_ENDPOINT_H

#include <stdint.h>
#include <time.h>

#include "rpcrdma/fabric.h"
#include "unit.h"

#ifndef EP_MAX_WC
#define EP_MAX_WC 8192
#endif

struct ep {
	struct fab_conn *c;
	struct fab_mr *mr; /* provider_util.h: the arena's, in its domain */
	bool ready, established, disconnected;
	int gone;
	int closed; /* handles, late, and whose it was last */
	void *closed_user;
	int error;
	char reason[128];
	uint8_t priv[512];
	size_t priv_len;
	struct fab_wc wc[EP_MAX_WC];
	int nwc;
	/* Sees each completion of work first; or NULL. */
	void (*done)(const struct fab_wc *wc);
};

/* For hangs: goes on when a test holds its clock (test_clock.h). */
static inline uint64_t util_ms(void)
{
	struct timespec ts;

	timespec_get(&ts, TIME_UTC);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline void ep_ready(struct fab_conn *c, void *user)
{
	((struct ep *)user)->ready = true;
}

static inline void ep_gone(void *user)
{
	((struct ep *)user)->gone++;
}

/* Poll until nothing is left. */
static inline void ep_poll(struct ep *e)
{
	struct fab_wc wc[7];
	int n;

	if (!e->c)
		return;
	e->ready = false;
	while ((n = fab_poll(e->c, wc, 7)) > 0) {
		for (int i = 0; i < n; i++) {
			CU_ASSERT_FALSE(e->disconnected);
			switch (wc[i].kind) {
			case FAB_WC_ESTABLISHED:
				CU_ASSERT_FALSE(e->established);
				CU_ASSERT_EQUAL(e->nwc, 0);
				e->established = true;
				e->priv_len = wc[i].priv_len;
				if (wc[i].priv_len)
					memcpy(e->priv, wc[i].priv,
					       wc[i].priv_len);
				break;
			case FAB_WC_CLOSED:
				e->closed++;
				e->closed_user = wc[i].user;
				break;
			case FAB_WC_DISCONNECTED:
				e->disconnected = true;
				e->error = wc[i].error;
				snprintf(e->reason, sizeof(e->reason), "%s",
					 wc[i].reason ? wc[i].reason : "");
				CU_ASSERT_STRING_NOT_EQUAL(e->reason, "");
				break;
			case FAB_WC_WORK:
				if (e->done)
					e->done(&wc[i]);
				CU_ASSERT_TRUE(e->nwc < EP_MAX_WC);
				if (e->nwc < EP_MAX_WC)
					e->wc[e->nwc++] = wc[i];
				break;
			}
		}
	}
}

/* The completion of @wr, or NULL. */
static inline const struct fab_wc *ep_find(const struct ep *e,
					   const struct fab_wr *wr)
{
	for (int i = 0; i < e->nwc; i++)
		if (e->wc[i].wr == wr)
			return &e->wc[i];
	return NULL;
}

UNIT_UNWATCHED
static inline void fill_random(void *p, size_t len, uint32_t seed)
{
	uint8_t *b = p;
	uint32_t x = seed * 2654435761u + 1;

	for (size_t i = 0; i < len; i++) {
		x = x * 1664525u + 1013904223u;
		b[i] = (uint8_t)(x >> 24);
	}
}

#endif /* RPCRDMA_TEST_ENDPOINT_H */
