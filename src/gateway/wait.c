/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * wait - for memory, which who holds it may have to give up [share.h]
 *
 * Threads: the client's worker.
 */
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"

#define SEC 1000000000ull
#define MSEC 1000000ull
/* While memory is short: how often to look, and how long. */
#define STALL_TICK_MS 10
#define STALL_SECONDS 30

void gw_rx_wait(struct gw_client *c)
{
	uint64_t now = base_now_ns();
	bool lone;

	pthread_mutex_lock(&c->lock);
	if (!c->rx.stalled_since)
		c->stats.memory_waits++;
	lone = !gw_calls_outstanding(&c->calls);
	/* Calls outstanding may all wait for a Reply behind this one. */
	gw_share_set_urgent(&c->share, lone || gw_reverse_count(&c->reverse));
	pthread_mutex_unlock(&c->lock);
	if (!c->rx.stalled_since)
		c->rx.stalled_since = now;
	gw_share_in_stop(&c->share); /* it waits for us */
	gw_share_wait(&c->share, now);
	gw_rx_shrink(c);
	if (lone && now - c->rx.stalled_since > STALL_SECONDS * SEC &&
	    gw_share_alone(&c->share)) {
		gw_client_kill(c, LOG_ERR, GW_TOO_MUCH);
		return;
	}
	gw_share_press(&c->share, now, gw_watch_evict);
	gw_worker_timer(c, GW_TIMER_READ, now + STALL_TICK_MS * MSEC);
}
