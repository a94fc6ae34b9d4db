/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * tcp_client - how a TCP client begins and ends
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/clock.h"
#include "gateway/client.h"

/*
 * Keepalive finds an idle host that is gone in two minutes; disconnect.h one that is
 * gone with Replies due. TCP_USER_TIMEOUT would also end a client that reads slowly:
 * Linux counts a window that is smaller than the next segment as shut.
 */
#define KEEP_IDLE 60
#define KEEP_INTERVAL 10
#define KEEP_COUNT 6

static void set_options(int fd)
{
	int one = 1, idle = KEEP_IDLE, interval = KEEP_INTERVAL;
	int count = KEEP_COUNT;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int gw_client_new(struct gateway *gw, int fd, const struct in6_addr *host,
		  bool only_gss)
{
	struct gw_client *c = calloc(1, sizeof(*c));
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!c) {
		close(fd);
		return -ENOMEM;
	}
	c->gw = gw;
	c->fd = fd;
	c->only_gss = only_gss;
	gw_send_queue_init(&c->sendq);
	atomic_init(&c->refs, 1); /* the worker's */
	gw_rx_init(&c->rx);
	pthread_mutex_init(&c->lock, NULL);
	getpeername(fd, (struct sockaddr *)&peer, &len);
	base_addr_name((struct sockaddr *)&peer, c->name, sizeof(c->name));
	c->addr = base_addr_host((struct sockaddr *)&peer);
	pthread_mutex_lock(&gw->lock);
	c->places = only_gss ? &gw->users : &gw->hosts;
	c->host = gw_place_take(c->places, host);
	pthread_mutex_unlock(&gw->lock);
	if (!c->host) {
		pthread_mutex_destroy(&c->lock);
		free(c);
		close(fd);
		return -ENOMEM;
	}
	set_options(fd);
	gw_progress(&c->progress, base_now_ns());
	gw_account_open(&c->account, &gw->memory);

	atomic_fetch_add(&gw->nclients, 1);
	pthread_mutex_lock(&gw->lock);
	c->w = &gw->workers[gw->accepted++ % gw->nworkers];
	c->all_next = gw->clients;
	c->all_prev = &gw->clients;
	if (c->all_next)
		c->all_next->all_prev = &c->all_next;
	gw->clients = c;
	pthread_mutex_unlock(&gw->lock);
	gw_wakeup(c, GW_EV_NEW);
	return 0;
}

void gw_client_uncount(struct gw_client *c)
{
	if (c->host)
		gw_place_give(c->places, c->host);
	c->host = NULL;
}

/*
 * Returns true if the client has no reason to resend what the server has seen: all
 * Calls are answered, and its TCP has acknowledged the Replies and was not reset. A
 * client that has read all that came sends no reset.
 */
static bool has_all(struct gw_client *c)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);
	bool waits;
	int left;

	pthread_mutex_lock(&c->lock);
	waits = gw_calls_asked(&c->calls) || gw_send_queue_waits(&c->sendq);
	pthread_mutex_unlock(&c->lock);
	return !waits &&
	       !getsockopt(c->fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	       info.tcpi_state != TCP_CLOSE && !ioctl(c->fd, SIOCOUTQ, &left) &&
	       !left;
}

void gw_client_kill(struct gw_client *c, int level, const char *why)
{
	bool in_order;

	if (c->gone)
		return;
	if (why)
		gw_client_log(c, level, "%s", why);
	in_order = has_all(c);
	pthread_mutex_lock(&c->lock);
	c->dead = true;
	pthread_mutex_unlock(&c->lock);
	pthread_mutex_lock(&c->gw->lock);
	gw_client_uncount(c);
	pthread_mutex_unlock(&c->gw->lock);
	gw_worker_forget(c);
	gw_account_stop_waiting(&c->account);
	gw_account_break_promise(&c->account);
	/* Closed with the last reference: until then a thread may be writing. */
	shutdown(c->fd, SHUT_RDWR);
	gw_send_queue_drop(c);
	gw_rx_end(&c->rx);
	gw_reverse_orphan(c);
	gw_calls_abandon(c);
	gw_link_end(&c->link, in_order);
	c->gone = true;
	gw_client_put(c);
}
