/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * prefix - address prefixes such as 10.1.0.0/16, and which addresses are within
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_PREFIX_H
#define RPCRDMA_BASE_PREFIX_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Room for any prefix and a NUL. */
#define BASE_PREFIX_TEXT (INET6_ADDRSTRLEN + 4)

struct base_prefix {
	struct in6_addr addr; /* an IPv4 address is mapped to IPv6 */
	uint8_t bits; /* of these 128; all others are 0 */
};

/*
 * Parse "192.0.2.1", "10.1.0.0/16", "2001:db8::1" or "fd00::/8". An IPv4-mapped IPv6 address is
 * the IPv4 address. Returns NULL, or what is wrong with @text, static.
 */
const char *base_prefix_parse(const char *text, struct base_prefix *p);

/* Format it as base_prefix_parse() takes it, without the length if that is a whole address. The
 * text is cut off at @size. */
void base_prefix_text(const struct base_prefix *p, char *buf, size_t size);

/* Returns true if the address, without its scope and port, is within @p. IPv4 addresses, also
 * mapped ones, are within no prefix of IPv6: ::/0 has none of them. */
bool base_prefix_has(const struct base_prefix *p,
		     const struct sockaddr_storage *ss);

#endif /* RPCRDMA_BASE_PREFIX_H */
