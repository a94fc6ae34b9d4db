/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric/addr.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

void fab_addr_name(const struct sockaddr *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?";
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (addr->sa_family) {
	case AF_INET:
		memcpy(&in, addr, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		snprintf(buf, size, "%s:%u", host, ntohs(in.sin_port));
		break;
	case AF_INET6:
		memcpy(&in6, addr, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		snprintf(buf, size, "[%s]:%u", host, ntohs(in6.sin6_port));
		break;
	default:
		snprintf(buf, size, "?");
	}
}

struct in6_addr fab_addr_host(const struct sockaddr *addr)
{
	struct in6_addr a = { 0 };
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (addr->sa_family == AF_INET) {
		memcpy(&in, addr, sizeof(in));
		a.s6_addr[10] = a.s6_addr[11] = 0xff;
		memcpy(&a.s6_addr[12], &in.sin_addr, 4);
	} else if (addr->sa_family == AF_INET6) {
		memcpy(&in6, addr, sizeof(in6));
		memcpy(a.s6_addr, &in6.sin6_addr, 8);
	}
	return a;
}
