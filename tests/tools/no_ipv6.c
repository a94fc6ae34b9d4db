/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * no_ipv6 - a machine whose kernel has no IPv6, for Ganesha alone
 *
 * Ganesha serves by IPv4 where it gets no socket of IPv6. This library,
 * preloaded into the server by a test, sees to that. Ganesha names the protocol
 * of its sockets; others do not, and get theirs.
 */
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>

typedef int (*socket_fn)(int domain, int type, int protocol);

__attribute__((visibility("default"))) int socket(int domain, int type,
						  int protocol)
{
	socket_fn next = (socket_fn)dlsym(RTLD_NEXT, "socket");

	if (domain == AF_INET6 &&
	    (protocol == IPPROTO_TCP || protocol == IPPROTO_UDP)) {
		errno = EAFNOSUPPORT;
		return -1;
	}
	return next(domain, type, protocol);
}
