/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * accept - listening sockets, and new TCP clients: accept.h
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include "base/addr.h"
#include "base/clock.h"
#include "gateway/accept.h"
#include "gateway/client.h"

/* A shortage is logged again after so long without one, ns. */
#define SHORT_AGAIN 10000000000ull

void gw_accept_init(struct gw_accept *a, struct gateway *gw)
{
	memset(a, 0, sizeof(*a));
	a->gw = gw;
	for (unsigned int i = 0; i < GW_MAX_LISTEN; i++)
		a->fd[i] = -1;
}

static int tcp_listen(const struct arg_addr *a)
{
	int one = 1, rc;
	int fd = socket(a->addr.ss_family,
			SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (const struct sockaddr *)&a->addr, a->len) ||
	    listen(fd, 128)) {
		rc = -errno;
		close(fd);
		return rc;
	}
	return fd;
}

int gw_accept_start(struct gw_accept *a, struct stats_source *stats)
{
	struct gateway *gw = a->gw;
	char name[64];

	for (unsigned int i = 0; i < gw->opt.nlisten; i++) {
		struct sockaddr_storage addr = { 0 };
		socklen_t len = sizeof(addr);

		base_addr_name((struct sockaddr *)&gw->opt.listen[i].addr, name,
			       sizeof(name));
		a->fd[i] = tcp_listen(&gw->opt.listen[i]);
		if (a->fd[i] < 0) {
			gw_log(gw, LOG_ERR, "--listen %s: %s", name,
			       strerror(-a->fd[i]));
			return a->fd[i];
		}
		if (!base_addr_is_loopback(&gw->opt.listen[i].addr))
			gw_log(gw, LOG_WARNING,
			       "--listen %s is not loopback: whoever reaches it can act as any user",
			       name);
		getsockname(a->fd[i], (struct sockaddr *)&addr, &len);
		base_addr_name((struct sockaddr *)&addr,
			       stats->listener[stats->nlisteners++],
			       sizeof(stats->listener[0]));
	}
	return 0;
}

void gw_accept_stop(struct gw_accept *a)
{
	for (unsigned int i = 0; i < GW_MAX_LISTEN; i++) {
		if (a->fd[i] >= 0)
			close(a->fd[i]);
		a->fd[i] = -1;
	}
}

static void __attribute__((format(printf, 3, 4)))
log_refused(struct gateway *gw, const struct sockaddr_storage *from,
	    const char *fmt, ...)
{
	const struct sockaddr *sa = (const struct sockaddr *)from;
	struct in6_addr host = base_addr_host(sa);
	char name[64];
	va_list ap;

	base_addr_name(sa, name, sizeof(name));
	va_start(ap, fmt);
	base_log_vput(gw->log, &host, name, LOG_WARNING, fmt, ap);
	va_end(ap);
}

/* There is no descriptor, or no memory in the kernel, for another client: one that is
 * idle makes way, and the new ones wait for a moment. */
static void out_of_descriptors(struct gw_accept *a, int err)
{
	uint64_t now = base_now_ns();

	if (!a->short_at || now - a->short_at > SHORT_AGAIN)
		base_log_put(
			a->gw->log, NULL, NULL, LOG_ERR,
			"accept: %s: new clients wait, idle or stuck ones are disconnected",
			strerror(err));
	a->short_at = now;
	a->paused = true;
	gw_disconnect_for_descriptor(a->gw, NULL);
}

void gw_accept_clients(struct gw_accept *a, int lfd)
{
	struct gateway *gw = a->gw;

	for (;;) {
		struct sockaddr_storage from = { 0 };
		struct in6_addr host;
		bool user; /* not root, for all we know */
		socklen_t len = sizeof(from);
		int fd = accept4(lfd, (struct sockaddr *)&from, &len,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd < 0) {
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				return;
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			out_of_descriptors(a, errno);
			return;
		}
		user = gw->opt.reserved_ports &&
		       base_addr_port(&from) >= IPPORT_RESERVED;
		host = user ? gw_user_host(fd) :
			      base_addr_host((const struct sockaddr *)&from);
		if (!gw_disconnect_for_place(gw, user ? &gw->users : &gw->hosts,
					     &host)) {
			log_refused(
				gw, &from,
				"a client was refused: --max-clients %u%s, "
				"and none can be disconnected for it",
				gw->opt.max_clients,
				user ? ", and the part of ports that are not below 1024" :
				       "");
			close(fd);
			continue;
		}
		gw_client_new(gw, fd, &host, user);
	}
}
