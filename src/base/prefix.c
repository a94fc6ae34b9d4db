/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/prefix.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/addr.h"

/* The length of the prefix of all IPv4 addresses. */
#define MAPPED_BITS 96u

/* Returns an address of which only the first @bits are those of @a. */
static struct in6_addr first_bits(const struct in6_addr *a, unsigned int bits)
{
	struct in6_addr out = { 0 };

	memcpy(out.s6_addr, a->s6_addr, bits / 8);
	if (bits % 8)
		out.s6_addr[bits / 8] = a->s6_addr[bits / 8] &
					(uint8_t)(0xff00 >> bits % 8);
	return out;
}

const char *base_prefix_parse(const char *text, struct base_prefix *p)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned int bits = 128, first = 0;
	struct sockaddr_storage ss = { 0 };
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&ss;
	char host[INET6_ADDRSTRLEN] = "";
	struct in6_addr masked;

	if (len < sizeof(host))
		memcpy(host, text, len);
	if (inet_pton(AF_INET, host, &((struct sockaddr_in *)&ss)->sin_addr) ==
	    1) {
		ss.ss_family = AF_INET;
		base_addr_map(&ss);
		first = MAPPED_BITS;
	} else if (inet_pton(AF_INET6, host, &in6->sin6_addr) != 1) {
		return "is not an IP address, nor a prefix such as 10.1.0.0/16 or fd00::/8";
	}
	if (slash) {
		const char *digits = slash + 1;
		size_t n = strlen(digits);

		if (!n || n > 3 || strspn(digits, "0123456789") != n)
			return "has no number of bits after the /";
		bits = first + (unsigned int)strtoul(digits, NULL, 10);
		if (bits > 128)
			return "has more bits after the / than an address";
	}
	masked = first_bits(&in6->sin6_addr, bits);
	if (!IN6_ARE_ADDR_EQUAL(&masked, &in6->sin6_addr))
		return "has an address with more bits than it says after the /";
	p->addr = masked;
	p->bits = (uint8_t)bits;
	return NULL;
}

void base_prefix_text(const struct base_prefix *p, char *buf, size_t size)
{
	bool four = p->bits >= MAPPED_BITS && IN6_IS_ADDR_V4MAPPED(&p->addr);
	char host[INET6_ADDRSTRLEN];

	inet_ntop(four ? AF_INET : AF_INET6,
		  four ? (const void *)&p->addr.s6_addr[12] :
			 (const void *)&p->addr,
		  host, sizeof(host));
	if (p->bits == 128)
		snprintf(buf, size, "%s", host);
	else
		snprintf(buf, size, "%s/%u", host,
			 p->bits - (four ? MAPPED_BITS : 0));
}

bool base_prefix_has(const struct base_prefix *p,
		     const struct sockaddr_storage *given)
{
	struct sockaddr_storage ss = *given;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&ss;
	struct in6_addr masked;

	base_addr_map(&ss);
	if (ss.ss_family != AF_INET6 ||
	    (p->bits < MAPPED_BITS && IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)))
		return false;
	masked = first_bits(&in6->sin6_addr, p->bits);
	return IN6_ARE_ADDR_EQUAL(&masked, &p->addr);
}
