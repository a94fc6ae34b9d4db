/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * read - the socket of a TCP client
 *
 * Context: the client's worker.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>

#include "base/clock.h"
#include "gateway/client.h"

/* Receives before other clients get a turn. */
#define RX_BUDGET 16

void gw_rx_eof(struct gw_client *c)
{
	bool over;

	c->rx.eof = true;
	if (rec_inside(&c->rx.rec)) {
		gw_client_kill(c, LOG_INFO, "ended inside a record");
		return;
	}
	pthread_mutex_lock(&c->lock);
	over = !gw_calls_outstanding(&c->calls) ||
	       gw_reverse_count(&c->reverse);
	gw_calls_end(&c->calls);
	pthread_mutex_unlock(&c->lock);
	if (over)
		gw_client_kill(c, LOG_INFO, "closed");
}

/*
 * Returns true if the client is not to be read because the server has never accepted
 * it: it would hold memory for Calls that nobody executes. Its end is noticed
 * nevertheless.
 */
static bool is_unread(struct gw_client *c)
{
	uint8_t octet;
	ssize_t n;

	if (gw_link_was_up(&c->link))
		return false;
	n = recv(c->fd, &octet, 1, MSG_PEEK | MSG_DONTWAIT);
	if (!n) {
		gw_rx_eof(c);
	} else if (n > 0) {
		pthread_mutex_lock(&c->lock);
		gw_link_set_early(&c->link, !c->rx.hangup);
		pthread_mutex_unlock(&c->lock);
		gw_link_start(c);
	}
	return true;
}

void gw_rx_read(struct gw_client *c)
{
	unsigned int budget = RX_BUDGET;

	if (c->gone || c->rx.eof || is_unread(c) || !gw_rx_parse(c))
		return;
	while (budget--) {
		size_t room;
		ssize_t n;

		room = gw_rx_room(c);
		if (!room) {
			gw_disconnect_wait_memory(c);
			return;
		}
		gw_account_stop_waiting(&c->account);
		n = recv(c->fd, c->rx.buf->data + c->rx.fill, room,
			 MSG_DONTWAIT);
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			goto empty;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			gw_client_kill(c, LOG_INFO, strerror(errno));
			return;
		}
		if (!n) {
			gw_rx_eof(c);
			return;
		}
		c->rx.fill += (size_t)n;
		gw_progress_add(&c->progress,
				rec_inside(&c->rx.rec) ? (size_t)n :
							 GW_PROGRESS,
				base_now_ns());
		pthread_mutex_lock(&c->lock);
		c->stats.tcp_bytes_in += (uint64_t)n;
		pthread_mutex_unlock(&c->lock);
		if (!gw_rx_parse(c))
			return;
		/* Less than asked for: the next edge tells of more, epoll(7);
		 * the end of the stream has an edge of its own. */
		if ((size_t)n < room && !c->rx.hangup)
			goto empty;
	}
	gw_worker_timer(c, GW_TIMER_READ, 1);
	return;
empty:
	gw_progress_in_record(&c->progress, rec_inside(&c->rx.rec));
	gw_rx_release(c);
}
