/* SPDX-License-Identifier: BSD-3-Clause */
/* running.h says what this is. */
#include "ganesha/running.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/local.h"

/* Of thousands of connections. */
#define MOST (16u << 20)
/* The launcher's default, of -f. */
#define CONFIG_DEFAULT "/etc/ganesha/ganesha.conf"

/* All that comes until the end. */
static char *read_all(int fd)
{
	uint64_t until = fab_now_ms() + GR_RUNNING_MS;
	size_t len = 0, room = 0;
	char *text = NULL;

	for (;;) {
		ssize_t n;

		if (len + 1 >= room) {
			char *more = realloc(text, room ? 2 * room : 65536);

			if (!more || room >= MOST) {
				free(more ? more : text);
				return NULL;
			}
			text = more;
			room = room ? 2 * room : 65536;
		}
		n = read(fd, text + len, room - 1 - len);
		if (!n) {
			text[len] = '\0';
			return text;
		}
		if (n > 0)
			len += (size_t)n;
		if ((n < 0 && errno != EINTR) || fab_now_ms() >= until) {
			free(text);
			return NULL;
		}
	}
}

static void ask(struct gr_running *r, const char *path)
{
	struct ucred who = { 0 };
	socklen_t len = sizeof(who);
	int fd = fab_local_connect(path, GR_RUNNING_MS);

	r->how = fd == -ENOENT || fd == -ECONNREFUSED ? GR_RUNS_NONE :
							GR_RUNS_UNKNOWN;
	if (fd < 0)
		return;
	r->text = read_all(fd);
	if (r->text)
		r->how = GR_RUNS;
	if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) && who.pid > 0)
		r->pid = who.pid;
	close(fd);
}

bool gr_running_reads(const char *args, size_t n, const char *file)
{
	const char *reads = CONFIG_DEFAULT, *end = args + n;
	struct stat theirs, ours;

	for (const char *at = args; at < end; at += strlen(at) + 1) {
		/* Options without a value may stand before it: -Ff FILE. */
		size_t f = *at == '-' ? 1 + strspn(at + 1, "FCT") : 0;

		if (!f || at[f] != 'f')
			continue;
		reads = at + f + 1;
		if (!*reads)
			reads++;
		if (reads >= end)
			return true;
		at = reads;
	}
	/* A daemon's is not relative to where it is now. */
	return *reads != '/' || stat(file, &ours) || stat(reads, &theirs) ||
	       (ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino);
}

static bool has_file(pid_t pid, const char *file)
{
	char name[32], args[4096];
	ssize_t n = -1;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/cmdline", (int)pid);
	fd = pid > 0 && file ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	if (fd >= 0) {
		n = read(fd, args, sizeof(args) - 1);
		close(fd);
	}
	if (n <= 0)
		return true;
	args[n] = '\0';
	return gr_running_reads(args, (size_t)n, file);
}

bool gr_running_is(pid_t pid, const char *name, const char *file)
{
	return !strncmp(name, "ganesha", 7) && has_file(pid, file);
}

void gr_running_ask(struct gr_running *r, const char *path, const char *other,
		    const char *file)
{
	bool told = path && *path;

	*r = (struct gr_running){ .how = GR_RUNS_NONE };
	if (told)
		ask(r, path);
	if (r->how == GR_RUNS_NONE && other && *other &&
	    !(told && !strcmp(path, other))) {
		ask(r, other);
		if (r->how == GR_RUNS && !has_file(r->pid, file)) {
			gr_running_free(r);
			r->how = GR_RUNS_NONE;
		}
	}
	/* Without a socket it may run all the same. */
	if (r->how == GR_RUNS_NONE && !told)
		r->how = GR_RUNS_UNKNOWN;
}

static bool is_any(const char *host, size_t len)
{
	return (len == 7 && !memcmp(host, "0.0.0.0", 7)) ||
	       (len == 4 && !memcmp(host, "[::]", 4));
}

/* HOST:PORT each. */
static bool collide(const char *a, size_t alen, const char *b)
{
	const char *aport = memrchr(a, ':', alen), *bport = strrchr(b, ':');
	size_t n;

	if (!aport || !bport)
		return false;
	n = (size_t)(aport - a);
	return alen - n == strlen(bport) && !memcmp(aport, bport, alen - n) &&
	       (is_any(a, n) || is_any(b, (size_t)(bport - b)) ||
		(n == (size_t)(bport - b) && !memcmp(a, b, n)));
}

bool gr_running_has(const struct gr_running *r, const char *addr)
{
	static const char array[] = "\"listeners\": [";
	const char *p = r->text ? strstr(r->text, array) : NULL;
	const char *end;

	if (!p)
		return false;
	p += sizeof(array) - 1;
	/* Strings, until what is none. */
	while (*p == '"') {
		end = strchr(++p, '"');
		if (!end)
			return false;
		if (collide(p, (size_t)(end - p), addr))
			return true;
		p = end + 1;
		p += strspn(p, ", ");
	}
	return false;
}

void gr_running_free(struct gr_running *r)
{
	free(r->text);
	r->text = NULL;
}
