/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net - see net.h
 */
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net.h"
#include "simulate.h"

#define FIRST 1000
#define FDS 128
#define ITEMS 128
#define BACKLOG 16

/* Octets in a row: what was taken is in front of @from. */
struct fifo {
	uint8_t *buf;
	size_t from, to, size;
};

struct net_conn {
	struct sockaddr_in addr;
	struct fifo up, down; /* to the gateway, and from it */
	size_t arrived; /* of @up */
	size_t window; /* of @down */
	bool shut; /* behind @up is its end */
	bool fin; /* which has arrived */
	bool reset;
	bool full; /* a sender has met a full socket */
	bool ended; /* the gateway has */
	bool accepted, closed;
	bool forgotten; /* by this end */
	int fd;
};

enum kind { FREE, LISTENER, CONN, EVENT, SIGNAL, EPOLL };

struct item {
	int fd;
	struct epoll_event ev;
	bool ready;
};

struct object {
	enum kind kind;
	struct net_conn *conn;
	uint64_t count; /* of an eventfd, or a signal */
	unsigned int nitems;
	struct item item[ITEMS];
};

static struct {
	struct object fd[FDS];
	struct net_conn *pending[BACKLOG];
	unsigned int npending;
	bool listens;
	unsigned int short_every;
} net;

uint64_t net_progress;

/* ---- Octets ---------------------------------------------------------------- */

static size_t held(const struct fifo *f)
{
	return f->to - f->from;
}

static void put(struct fifo *f, const void *p, size_t n)
{
	if (f->to + n > f->size) {
		size_t size = 2 * (held(f) + n);
		uint8_t *buf = sim_alloc(size);

		if (f->buf)
			memcpy(buf, f->buf + f->from, held(f));
		sim_free(f->buf);
		f->to -= f->from;
		f->from = 0;
		f->buf = buf;
		f->size = size;
	}
	memcpy(f->buf + f->to, p, n);
	f->to += n;
}

static size_t take(struct fifo *f, void *p, size_t n)
{
	n = MIN(n, held(f));
	memcpy(p, f->buf + f->from, n);
	f->from += n;
	return n;
}

/* ---- Descriptors ----------------------------------------------------------- */

static bool is_ours(int fd)
{
	return fd >= FIRST && fd < FIRST + FDS;
}

static struct object *object(int fd)
{
	struct object *o = &net.fd[fd - FIRST];

	if (!is_ours(fd) || o->kind == FREE)
		sim_fail("descriptor: %d is used, and is closed", fd);
	return o;
}

static struct net_conn *conn_of(int fd)
{
	struct object *o = object(fd);

	if (o->kind != CONN)
		sim_fail("descriptor: %d is no connection", fd);
	return o->conn;
}

static int new_fd(enum kind kind)
{
	for (int i = 0; i < FDS; i++) {
		if (net.fd[i].kind != FREE)
			continue;
		net.fd[i] = (struct object){ .kind = kind };
		return FIRST + i;
	}
	errno = EMFILE;
	return -1;
}

/* As much as a segment, and no less than a third. */
static bool has_room(const struct net_conn *c)
{
	size_t used = held(&c->down);

	return used < c->window && c->window - used >= used / 2;
}

static uint32_t ready(const struct object *o)
{
	const struct net_conn *c = o->conn;
	uint32_t ev = 0;

	switch (o->kind) {
	case LISTENER:
		return net.npending ? EPOLLIN : 0;
	case EVENT:
	case SIGNAL:
		return o->count ? EPOLLIN : 0;
	case CONN:
		if (c->arrived || c->fin || c->reset)
			ev |= EPOLLIN;
		if (c->fin || c->reset)
			ev |= EPOLLRDHUP;
		if (c->reset)
			ev |= EPOLLERR | EPOLLHUP;
		if (c->ended && c->fin)
			ev |= EPOLLHUP;
		if (has_room(c) || c->reset)
			ev |= EPOLLOUT;
		return ev;
	default:
		return 0;
	}
}

static void wake(int fd)
{
	net_progress++;
	for (unsigned int i = 0; i < FDS; i++) {
		struct object *o = &net.fd[i];

		for (unsigned int k = 0; o->kind == EPOLL && k < o->nitems; k++)
			if (o->item[k].fd == fd)
				o->item[k].ready = true;
	}
}

static void unwatch(struct object *o, int fd)
{
	for (unsigned int k = 0; k < o->nitems; k++)
		if (o->item[k].fd == fd)
			o->item[k--] = o->item[--o->nitems];
}

/* ---- The world's side ------------------------------------------------------ */

void net_begin(void)
{
	memset(&net, 0, sizeof(net));
	net_progress = 0;
}

void net_end(void)
{
	for (unsigned int i = 0; i < FDS; i++)
		if (net.fd[i].kind != FREE)
			sim_fail("leak: descriptor %u is not closed",
				 FIRST + i);
}

static void destroy(struct net_conn *c)
{
	sim_free(c->up.buf);
	sim_free(c->down.buf);
	sim_free(c);
}

struct net_conn *net_connect(const struct sockaddr_in *from, size_t window)
{
	struct net_conn *c;

	if (!net.listens || net.npending == BACKLOG)
		return NULL;
	c = sim_alloc(sizeof(*c));
	c->addr = *from;
	c->window = window;
	c->fd = -1;
	net.pending[net.npending++] = c;
	net_progress++;
	return c;
}

static void touched(struct net_conn *c)
{
	net_progress++;
	if (c->fd >= 0)
		wake(c->fd);
}

void net_send(struct net_conn *c, const void *p, size_t n)
{
	put(&c->up, p, n);
}

size_t net_in_flight(const struct net_conn *c)
{
	return held(&c->up) - c->arrived;
}

void net_arrive(struct net_conn *c, size_t n)
{
	bool end;

	n = MIN(n, net_in_flight(c));
	c->arrived += n;
	end = c->shut && !c->fin && !net_in_flight(c);
	c->fin |= end;
	if (n || end)
		touched(c);
}

void net_shut(struct net_conn *c)
{
	c->shut = true;
	if (!net_in_flight(c))
		net_arrive(c, 0);
}

void net_reset(struct net_conn *c)
{
	if (c->reset || c->closed)
		return;
	c->reset = true;
	c->up.from = c->up.to;
	c->down.from = c->down.to;
	c->arrived = 0;
	touched(c);
}

size_t net_take(struct net_conn *c, void *p, size_t n)
{
	n = take(&c->down, p, n);
	if (n && c->full && has_room(c)) {
		c->full = false;
		touched(c);
	}
	return n;
}

size_t net_waiting(const struct net_conn *c)
{
	return held(&c->down);
}

bool net_over(const struct net_conn *c)
{
	return c->reset || (c->ended && !held(&c->down));
}

/* Both ends must be through with it. */
static void let_go(struct net_conn *c)
{
	if (c->forgotten && (c->closed || !c->accepted))
		destroy(c);
}

void net_free(struct net_conn *c)
{
	for (unsigned int i = 0; i < net.npending; i++)
		if (net.pending[i] == c) {
			memmove(&net.pending[i], &net.pending[i + 1],
				(net.npending - i - 1) *
					sizeof(net.pending[0]));
			net.npending--;
			break;
		}
	net_reset(c);
	c->forgotten = true;
	let_go(c);
}

void net_short_of_descriptors(unsigned int n)
{
	net.short_every = n;
}

void net_signal(int sig)
{
	for (unsigned int i = 0; i < FDS; i++)
		if (net.fd[i].kind == SIGNAL) {
			net.fd[i].count = (uint64_t)sig;
			wake(FIRST + (int)i);
		}
}

/* ---- Sockets --------------------------------------------------------------- */

int __wrap_socket(int family, int type, int protocol);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_listen(int fd, int backlog);
int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *len);
int __wrap_getpeername(int fd, struct sockaddr *addr, socklen_t *len);
int __wrap_setsockopt(int fd, int level, int name, const void *v,
		      socklen_t len);
int __wrap_getsockopt(int fd, int level, int name, void *v, socklen_t *len);
ssize_t __wrap_recv(int fd, void *p, size_t n, int flags);
ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags);
int __wrap_shutdown(int fd, int how);
int __wrap_ioctl(int fd, unsigned long what, int *v);

int __wrap_socket(int family, int type, int protocol)
{
	return new_fd(LISTENER);
}

int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
	return 0;
}

int __wrap_listen(int fd, int backlog)
{
	net.listens = true;
	return 0;
}

static void set_addr(const struct sockaddr_in *in, struct sockaddr *addr,
		     socklen_t *len)
{
	memcpy(addr, in, MIN(*len, sizeof(*in)));
	*len = sizeof(*in);
}

static bool is_short(void)
{
	static unsigned int n;

	return net.short_every && !(n++ % net.short_every);
}

int __wrap_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct net_conn *c;
	int made;

	platform_may_switch();
	if (object(fd)->kind != LISTENER || !net.npending) {
		errno = EAGAIN;
		return -1;
	}
	made = is_short() ? -1 : new_fd(CONN);
	if (made < 0) {
		errno = EMFILE;
		return -1;
	}
	net_progress++;
	c = net.pending[0];
	memmove(&net.pending[0], &net.pending[1],
		--net.npending * sizeof(net.pending[0]));
	c->accepted = true;
	c->fd = made;
	object(made)->conn = c;
	set_addr(&c->addr, addr, len);
	return made;
}

int __wrap_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
				  .sin_port = htons(20050),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	set_addr(&in, addr, len);
	return 0;
}

int __wrap_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
	set_addr(&conn_of(fd)->addr, addr, len);
	return 0;
}

int __wrap_setsockopt(int fd, int level, int name, const void *v, socklen_t len)
{
	object(fd);
	return 0;
}

int __wrap_getsockopt(int fd, int level, int name, void *v, socklen_t *len)
{
	struct tcp_info *info = v;

	if (level != IPPROTO_TCP || name != TCP_INFO)
		sim_fail("model: getsockopt() of %d, %d", level, name);
	memset(info, 0, *len);
	info->tcpi_state = conn_of(fd)->reset ? TCP_CLOSE : TCP_ESTABLISHED;
	return 0;
}

ssize_t __wrap_recv(int fd, void *p, size_t n, int flags)
{
	struct net_conn *c;

	platform_may_switch();
	c = conn_of(fd);
	if (c->reset) {
		errno = ECONNRESET;
		return -1;
	}
	if (!c->arrived && c->fin)
		return 0;
	if (!c->arrived) {
		errno = EAGAIN;
		return -1;
	}
	n = MIN(n, c->arrived);
	if (flags & MSG_PEEK) {
		memcpy(p, c->up.buf + c->up.from, n);
		return (ssize_t)n;
	}
	net_progress++;
	c->arrived -= n;
	return (ssize_t)take(&c->up, p, n);
}

ssize_t __wrap_sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct net_conn *c;
	size_t sent = 0;

	platform_may_switch();
	c = conn_of(fd);
	if (c->reset || c->ended) {
		errno = c->reset ? ECONNRESET : EPIPE;
		return -1;
	}
	for (size_t i = 0; i < m->msg_iovlen; i++) {
		const struct iovec *v = &m->msg_iov[i];
		size_t n = MIN(v->iov_len, c->window - held(&c->down));

		put(&c->down, v->iov_base, n);
		sent += n;
		if (n < v->iov_len) {
			c->full = true;
			break;
		}
	}
	net_progress += sent > 0;
	if (!sent && c->full) {
		/* There may be room before it comes back to say so. */
		errno = EAGAIN;
		platform_may_switch();
		return -1;
	}
	return (ssize_t)sent;
}

int __wrap_shutdown(int fd, int how)
{
	struct net_conn *c = conn_of(fd);

	net_progress++;
	c->ended = true;
	return 0;
}

int __wrap_ioctl(int fd, unsigned long what, int *v)
{
	if (what != SIOCOUTQ)
		sim_fail("model: ioctl() %lx", what);
	*v = (int)held(&conn_of(fd)->down);
	return 0;
}

/* ---- Descriptors of other kinds ------------------------------------------- */

int __real_close(int fd);
ssize_t __real_read(int fd, void *p, size_t n);
ssize_t __real_write(int fd, const void *p, size_t n);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *p, size_t n);
ssize_t __wrap_write(int fd, const void *p, size_t n);
int __wrap_eventfd(unsigned int count, int flags);
int __wrap_signalfd(int fd, const sigset_t *set, int flags);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old);
int __wrap_setrlimit(int what, const struct rlimit *r);

int __wrap_close(int fd)
{
	struct net_conn *c;
	struct object *o;

	if (!is_ours(fd))
		return __real_close(fd);
	o = object(fd);
	for (unsigned int i = 0; i < FDS; i++)
		if (net.fd[i].kind == EPOLL)
			unwatch(&net.fd[i], fd);
	if (o->kind == LISTENER) {
		net.listens = false;
		while (net.npending) {
			c = net.pending[--net.npending];
			c->reset = c->closed = true;
			let_go(c);
		}
	}
	if (o->kind == CONN) {
		c = o->conn;
		c->ended = c->closed = true;
		/* What has not been read is answered by a reset. */
		if (held(&c->up) && !c->reset) {
			c->reset = true;
			c->down.from = c->down.to;
		}
		c->fd = -1;
		let_go(c);
	}
	o->kind = FREE;
	net_progress++;
	return 0;
}

ssize_t __wrap_read(int fd, void *p, size_t n)
{
	struct object *o;

	if (!is_ours(fd))
		return __real_read(fd, p, n);
	o = object(fd);
	if (!o->count) {
		errno = EAGAIN;
		return -1;
	}
	memset(p, 0, n);
	if (o->kind == SIGNAL)
		((struct signalfd_siginfo *)p)->ssi_signo = (uint32_t)o->count;
	else
		memcpy(p, &o->count, sizeof(o->count));
	o->count = 0;
	return (ssize_t)n;
}

ssize_t __wrap_write(int fd, const void *p, size_t n)
{
	uint64_t more;

	if (!is_ours(fd))
		return __real_write(fd, p, n);
	memcpy(&more, p, sizeof(more));
	object(fd)->count += more;
	wake(fd);
	return (ssize_t)n;
}

int __wrap_eventfd(unsigned int count, int flags)
{
	return new_fd(EVENT);
}

int __wrap_signalfd(int fd, const sigset_t *set, int flags)
{
	return new_fd(SIGNAL);
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return 0;
}

int __wrap_setrlimit(int what, const struct rlimit *r)
{
	return 0;
}

/* ---- Waiting --------------------------------------------------------------- */

int __wrap_epoll_create1(int flags);
int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev);
int __wrap_epoll_wait(int epfd, struct epoll_event *ev, int most, int ms);
int __wrap_poll(struct pollfd *p, nfds_t n, int ms);

int __wrap_epoll_create1(int flags)
{
	return new_fd(EPOLL);
}

int __wrap_epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	struct object *o = object(epfd), *what = object(fd);

	if (op == EPOLL_CTL_DEL) {
		unwatch(o, fd);
		return 0;
	}
	if (o->nitems == ITEMS) {
		errno = ENOSPC;
		return -1;
	}
	o->item[o->nitems++] = (struct item){
		.fd = fd, .ev = *ev, .ready = ready(what) & ev->events
	};
	return 0;
}

static int ready_items(struct object *o, struct epoll_event *ev, int most)
{
	int n = 0;

	for (unsigned int k = 0; k < o->nitems && n < most; k++) {
		struct item *it = &o->item[k];
		bool edge = it->ev.events & EPOLLET;
		struct object *what = object(it->fd);
		uint32_t now = ready(what);

		now &= it->ev.events | EPOLLERR | EPOLLHUP;
		if (edge && !it->ready)
			continue;
		it->ready = false;
		if (what->kind == CONN && !(now & EPOLLOUT))
			what->conn->full = true;
		if (!now)
			continue;
		ev[n++] = (struct epoll_event){ .events = now,
						.data = it->ev.data };
	}
	return n;
}

static uint64_t until(int ms)
{
	return ms < 0 ? UINT64_MAX : platform_ns() + (uint64_t)ms * 1000000;
}

int __wrap_epoll_wait(int epfd, struct epoll_event *ev, int most, int ms)
{
	uint64_t end = until(ms);
	int n;

	for (;;) {
		n = ready_items(object(epfd), ev, most);
		if (n || platform_ns() >= end)
			break;
		platform_yield();
	}
	/* Something was due. */
	net_progress += n > 0 || ms > 0;
	return n;
}

int __wrap_poll(struct pollfd *p, nfds_t n, int ms)
{
	uint64_t end = until(ms);
	int found = 0;

	for (;;) {
		for (nfds_t i = 0; i < n; i++) {
			p[i].revents =
				ready(object(p[i].fd)) & EPOLLIN ? POLLIN : 0;
			found += p[i].revents != 0;
		}
		if (found || platform_ns() >= end)
			break;
		platform_yield();
	}
	net_progress += found > 0;
	return found;
}
