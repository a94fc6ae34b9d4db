/* SPDX-License-Identifier: BSD-3-Clause */
/* holder.h says what this is. */
#include "ganesha/holder.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/addr.h"

#define LISTENS 0x0a /* the kernel's TCP_LISTEN */
/* Of one port, with several addresses. */
#define MOST 64

struct sockets {
	unsigned long inode[MOST];
	unsigned int n;
};

/* Words of the address, as the kernel has them in memory. */
static bool take_address(const char *hex, struct in6_addr *to)
{
	size_t words = strlen(hex) / 8;
	char word[9] = "";

	if (words != 1 && words != 4)
		return false;
	memset(to, 0, sizeof(*to));
	if (words == 1)
		to->s6_addr[10] = to->s6_addr[11] = 0xff;
	for (size_t i = 0; i < words; i++) {
		uint32_t w;

		memcpy(word, hex + 8 * i, 8);
		w = (uint32_t)strtoul(word, NULL, 16);
		memcpy(to->s6_addr + 4 * (words == 1 ? 3 : i), &w, sizeof(w));
	}
	return true;
}

static bool is_any(const struct in6_addr *a)
{
	return IN6_IS_ADDR_UNSPECIFIED(a) ||
	       (IN6_IS_ADDR_V4MAPPED(a) &&
		!memcmp(a->s6_addr + 12, "\0\0\0", 4));
}

static void read_table(const char *path, const struct in6_addr *at,
		       unsigned int port, bool udp, struct sockets *s)
{
	char line[512], address[33];
	FILE *f = fopen(path, "re");
	unsigned int is_port, state;
	struct in6_addr has;
	unsigned long inode;

	if (!f)
		return;
	while (s->n < MOST && fgets(line, sizeof(line), f)) {
		if (sscanf(line,
			   "%*d: %32[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s "
			   "%*s %*u %*d %lu",
			   address, &is_port, &state, &inode) != 4 ||
		    is_port != port || (!udp && state != LISTENS) ||
		    !take_address(address, &has))
			continue;
		if (is_any(at) || is_any(&has) || IN6_ARE_ADDR_EQUAL(at, &has))
			s->inode[s->n++] = inode;
	}
	fclose(f);
}

static bool has_one(const char *fds, const struct sockets *s)
{
	char to[64], name[64];
	struct dirent *d;
	bool has = false;
	DIR *dir = opendir(fds);
	ssize_t n;

	while (dir && !has && (d = readdir(dir))) {
		n = readlinkat(dirfd(dir), d->d_name, to, sizeof(to) - 1);
		to[n > 0 ? n : 0] = '\0';
		for (unsigned int i = 0; i < s->n && !has; i++) {
			snprintf(name, sizeof(name), "socket:[%lu]",
				 s->inode[i]);
			has = !strcmp(to, name);
		}
	}
	if (dir)
		closedir(dir);
	return has;
}

/* Its program, as the file that it is from is called. */
static void take_name(const char *proc, const char *pid, struct gr_holder *h)
{
	char path[PATH_MAX], exe[PATH_MAX];
	const char *slash;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s/exe", proc, pid);
	n = readlink(path, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = '\0';
	slash = strrchr(exe, '/');
	snprintf(h->name, sizeof(h->name), "%.63s", slash ? slash + 1 : "?");
}

void gr_holder_find(const char *proc, const struct sockaddr_storage *at,
		    bool udp, struct gr_holder *h)
{
	struct sockaddr_storage mapped = *at;
	struct sockets s = { .n = 0 };
	char path[PATH_MAX];
	struct in6_addr in6;
	struct dirent *d;
	DIR *dir;

	*h = (struct gr_holder){ .by = GR_HELD_UNKNOWN };
	fab_addr_map(&mapped);
	in6 = ((struct sockaddr_in6 *)&mapped)->sin6_addr;
	for (int six = 0; six < 2; six++) {
		snprintf(path, sizeof(path), "%s/self/net/%s%s", proc,
			 udp ? "udp" : "tcp", six ? "6" : "");
		read_table(path, &in6, fab_addr_port(at), udp, &s);
	}
	dir = s.n ? opendir(proc) : NULL;
	while (dir && h->by != GR_HELD_PROCESS && (d = readdir(dir))) {
		if (!isdigit((unsigned char)*d->d_name))
			continue;
		snprintf(path, sizeof(path), "%s/%s/fd", proc, d->d_name);
		if (!has_one(path, &s))
			continue;
		h->by = GR_HELD_PROCESS;
		h->pid = (pid_t)strtol(d->d_name, NULL, 10);
		take_name(proc, d->d_name, h);
	}
	/* Whoever may look at all of them has found none. */
	if (dir && h->by == GR_HELD_UNKNOWN && !geteuid())
		h->by = GR_HELD_KERNEL;
	if (dir)
		closedir(dir);
}
