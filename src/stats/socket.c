/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * socket - the thread behind the socket
 *
 * Threads: everything of struct stats_socket but `quit` belongs to its thread
 * from start to stop. A document is made when its reader connects, into
 * memory, so that no lock of the transport is held while a reader is slow.
 */
#include "stats/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"
#include "base/thread.h"

#define READERS 8
#define PATIENCE_MS 5000 /* for a reader to receive its document */

struct reader {
	int fd; /* -1: free */
	char *text;
	size_t len, done;
	uint64_t until; /* base_now_ms() */
};

struct stats_socket {
	stats_print_fn print;
	void *ctx;
	struct sockaddr_un addr;
	int listener;
	int quit; /* eventfd */
	int spare; /* a descriptor in reserve, or -1 */
	pthread_t thread;
	struct reader reader[READERS];
};

static void reader_end(struct reader *r)
{
	close(r->fd);
	free(r->text);
	r->text = NULL;
	r->fd = -1;
}

/* Send what the socket accepts now. */
static void reader_push(struct reader *r)
{
	while (r->done < r->len) {
		ssize_t n = send(r->fd, r->text + r->done, r->len - r->done,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return;
		if (n <= 0)
			break;
		r->done += (size_t)n;
	}
	reader_end(r);
}

static int accept_reader(struct stats_socket *s)
{
	int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = accept4(s->listener, NULL, NULL, flags);

	/* Whoever wants to know why nothing works shall learn it. */
	if (fd < 0 && errno == EMFILE && s->spare >= 0) {
		close(s->spare);
		s->spare = -1;
		fd = accept4(s->listener, NULL, NULL, flags);
	}
	return fd;
}

static void take_reader(struct stats_socket *s)
{
	int fd = accept_reader(s);
	struct reader *r = NULL;
	FILE *f;

	if (fd < 0) {
		struct pollfd quit = { .fd = s->quit, .events = POLLIN };

		/* The listener stays ready when there are no descriptors. */
		poll(&quit, 1, 200);
		return;
	}
	for (unsigned int i = 0; i < READERS; i++) {
		if (s->reader[i].fd < 0)
			r = &s->reader[i];
	}
	memset(r, 0, sizeof(*r));
	r->fd = fd;
	r->until = base_now_ms() + PATIENCE_MS;
	f = open_memstream(&r->text, &r->len);
	if (!f) {
		reader_end(r);
		return;
	}
	s->print(f, s->ctx);
	if (fclose(f))
		reader_end(r);
	else
		reader_push(r);
}

static void *stats_thread(void *arg)
{
	struct stats_socket *s = arg;

	for (;;) {
		struct pollfd p[2 + READERS];
		struct reader *of[2 + READERS];
		unsigned int n = 2;
		int wait = -1;

		if (s->spare < 0)
			s->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
		p[0] = (struct pollfd){ .fd = s->quit, .events = POLLIN };
		for (unsigned int i = 0; i < READERS; i++) {
			if (s->reader[i].fd < 0)
				continue;
			of[n] = &s->reader[i];
			p[n++] = (struct pollfd){ .fd = s->reader[i].fd,
						  .events = POLLOUT };
			wait = 200;
		}
		/* With all places in use, others wait in the backlog. */
		p[1] = (struct pollfd){ .fd = n == 2 + READERS ? -1 :
								 s->listener,
					.events = POLLIN };
		if (poll(p, n, wait) < 0 && errno != EINTR)
			break;
		if (p[0].revents)
			break;
		for (unsigned int i = 2; i < n; i++) {
			if (p[i].revents)
				reader_push(of[i]);
			else if (base_now_ms() > of[i]->until)
				reader_end(of[i]);
		}
		if (p[1].revents)
			take_reader(s);
	}
	for (unsigned int i = 0; i < READERS; i++)
		if (s->reader[i].fd >= 0)
			reader_end(&s->reader[i]);
	if (s->spare >= 0)
		close(s->spare);
	return NULL;
}

/* Remove a socket that a crash has left. Anything else at that path is not
 * ours. */
static int clear_place(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd;

	if (lstat(addr->sun_path, &st))
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = base_local_connect(addr->sun_path, 0);
	if (fd >= 0) {
		close(fd);
		return -EADDRINUSE;
	}
	if (fd != -ECONNREFUSED)
		return fd;
	return unlink(addr->sun_path) ? -errno : 0;
}

int stats_socket_start_with(const char *path, stats_print_fn print, void *ctx,
			    struct stats_socket **out)
{
	struct stats_socket *s;
	bool bound = false;
	int err;

	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	s->print = print;
	s->ctx = ctx;
	s->listener = -1;
	s->quit = -1;
	s->spare = -1;
	for (unsigned int i = 0; i < READERS; i++)
		s->reader[i].fd = -1;
	s->addr.sun_family = AF_UNIX;
	err = -ENAMETOOLONG;
	if (strlen(path) >= sizeof(s->addr.sun_path))
		goto fail;
	strcpy(s->addr.sun_path, path);
	err = clear_place(&s->addr);
	if (err)
		goto fail;
	s->quit = eventfd(0, EFD_CLOEXEC);
	s->listener =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	err = -errno;
	if (s->quit < 0 || s->listener < 0)
		goto fail;
	/* A socket file gets the mode of its descriptor, so it is never open to
	 * others, whatever the umask. */
	if (fchmod(s->listener, 0600) ||
	    bind(s->listener, (struct sockaddr *)&s->addr, sizeof(s->addr))) {
		err = -errno;
		goto fail;
	}
	bound = true;
	if (chmod(path, 0600) || listen(s->listener, 16)) {
		err = -errno;
		goto fail;
	}
	err = -base_thread_start(&s->thread, "rdma-stats", stats_thread, s);
	if (err)
		goto fail;
	*out = s;
	return 0;

fail:
	if (bound)
		unlink(path);
	if (s->listener >= 0)
		close(s->listener);
	if (s->quit >= 0)
		close(s->quit);
	free(s);
	return err;
}

static void print_source(FILE *f, void *ctx)
{
	stats_json(f, ctx);
}

int stats_socket_start(const char *path, const struct stats_source *src,
		       struct stats_socket **out)
{
	return stats_socket_start_with(path, print_source,
				       (void *)(uintptr_t)src, out);
}

void stats_socket_stop(struct stats_socket *s)
{
	uint64_t one = 1;

	if (!s)
		return;
	while (write(s->quit, &one, sizeof(one)) < 0 && errno == EINTR)
		;
	pthread_join(s->thread, NULL);
	unlink(s->addr.sun_path);
	close(s->listener);
	close(s->quit);
	free(s);
}
