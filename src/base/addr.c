/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void base_addr_text(const struct sockaddr *addr, char *buf, size_t size)
{
	char host[INET6_ADDRSTRLEN] = "?", zone[IF_NAMESIZE];
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	switch (addr->sa_family) {
	case AF_INET:
		memcpy(&in, addr, sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, host, sizeof(host));
		break;
	case AF_INET6:
		memcpy(&in6, addr, sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, host, sizeof(host));
		if (!in6.sin6_scope_id)
			break;
		/* A removed interface has no name. */
		if (!if_indextoname(in6.sin6_scope_id, zone))
			snprintf(zone, sizeof(zone), "%u", in6.sin6_scope_id);
		snprintf(buf, size, "%s%%%s", host, zone);
		return;
	}
	snprintf(buf, size, "%s", host);
}

void base_addr_name(const struct sockaddr *addr, char *buf, size_t size)
{
	bool six = addr->sa_family == AF_INET6;
	char host[BASE_ADDR_TEXT];
	struct sockaddr_in in;

	if (addr->sa_family != AF_INET && !six) {
		snprintf(buf, size, "?");
		return;
	}
	base_addr_text(addr, host, sizeof(host));
	/* The port is at the same place in both. */
	memcpy(&in, addr, sizeof(in));
	snprintf(buf, size, "%s%s%s:%u", six ? "[" : "", host, six ? "]" : "",
		 ntohs(in.sin_port));
}

struct in6_addr base_addr_host(const struct sockaddr *addr)
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

void base_addr_host_text(const struct in6_addr *host, char *buf, size_t size)
{
	bool four = IN6_IS_ADDR_V4MAPPED(host);
	char text[INET6_ADDRSTRLEN] = "?";

	inet_ntop(four ? AF_INET : AF_INET6, &host->s6_addr[four ? 12 : 0],
		  text, sizeof(text));
	snprintf(buf, size, "%s%s", text, four ? "" : "/64");
}

uint64_t base_addr_key(void)
{
	uint64_t key;

	arc4random_buf(&key, sizeof(key));
	return key;
}

/* FNV-1a with a secret start value. The high bits are folded into the low ones, which the
 * callers use. */
uint64_t base_addr_sum(uint64_t key, const struct in6_addr *host)
{
	uint64_t sum = key;

	for (unsigned int i = 0; i < sizeof(host->s6_addr); i++)
		sum = (sum ^ host->s6_addr[i]) * 1099511628211u;
	sum ^= sum >> 32;
	return sum ? sum : 1;
}

bool base_addr_same(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b)
{
	const struct sockaddr_in *a4 = (const struct sockaddr_in *)a;
	const struct sockaddr_in *b4 = (const struct sockaddr_in *)b;
	const struct sockaddr_in6 *a6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in6 *b6 = (const struct sockaddr_in6 *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return a4->sin_addr.s_addr == b4->sin_addr.s_addr;
	return a->ss_family == AF_INET6 &&
	       IN6_ARE_ADDR_EQUAL(&a6->sin6_addr, &b6->sin6_addr) &&
	       a6->sin6_scope_id == b6->sin6_scope_id;
}

bool base_addr_equal(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *b)
{
	if (!a->ss_family)
		return !b->ss_family;
	return base_addr_same(a, b) && base_addr_port(a) == base_addr_port(b);
}

bool base_addr_is_any(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

	if (ss->ss_family == AF_INET)
		return in->sin_addr.s_addr == htonl(INADDR_ANY);
	return ss->ss_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&in6->sin6_addr);
}

bool base_addr_is_loopback(const struct sockaddr_storage *ss)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)ss;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)ss;

	if (ss->ss_family == AF_INET)
		return ntohl(in->sin_addr.s_addr) >> IN_CLASSA_NSHIFT ==
		       IN_LOOPBACKNET;
	return ss->ss_family == AF_INET6 &&
	       (IN6_IS_ADDR_LOOPBACK(&in6->sin6_addr) ||
		(IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr) &&
		 in6->sin6_addr.s6_addr[12] == IN_LOOPBACKNET));
}

void base_addr_map(struct sockaddr_storage *ss)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6 };
	struct sockaddr_in in;

	if (ss->ss_family != AF_INET)
		return;
	memcpy(&in, ss, sizeof(in));
	in6.sin6_port = in.sin_port;
	in6.sin6_addr = base_addr_host((struct sockaddr *)ss);
	memset(ss, 0, sizeof(*ss));
	memcpy(ss, &in6, sizeof(in6));
}

socklen_t base_addr_len(const struct sockaddr_storage *ss)
{
	return ss->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					   sizeof(struct sockaddr_in);
}

uint16_t base_addr_port(const struct sockaddr_storage *ss)
{
	if (ss->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)ss)->sin6_port);
	return ss->ss_family == AF_INET ?
		       ntohs(((const struct sockaddr_in *)ss)->sin_port) :
		       0;
}

void base_addr_set_port(struct sockaddr_storage *ss, uint16_t port)
{
	if (ss->ss_family == AF_INET6)
		((struct sockaddr_in6 *)ss)->sin6_port = htons(port);
	else if (ss->ss_family == AF_INET)
		((struct sockaddr_in *)ss)->sin_port = htons(port);
}
