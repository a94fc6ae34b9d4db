/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addr - socket addresses: text, comparison, ports, and the host as limits count it
 *
 * Context: any thread.
 */
#ifndef RPCRDMA_BASE_ADDR_H
#define RPCRDMA_BASE_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Room for any address with its interface and a NUL. */
#define BASE_ADDR_TEXT (INET6_ADDRSTRLEN + IF_NAMESIZE)

/* Format the address without its port: "192.0.2.1", "2001:db8::1", "fe80::1%eth0" if it is
 * link-local, or "?" for another family. The text is cut off at @size. */
void base_addr_text(const struct sockaddr *addr, char *buf, size_t size);

/* Format the address with its port: "192.0.2.1:1234" or "[2001:db8::1]:1234". 64 octets are
 * enough for any, as link-local addresses are short. */
void base_addr_name(const struct sockaddr *addr, char *buf, size_t size);

/* Returns the host as limits count it: an IPv4 address, mapped to IPv6, or the /64 of an
 * IPv6 address, because its owner has all addresses in that for nothing. Zero for other
 * families. */
struct in6_addr base_addr_host(const struct sockaddr *addr);

/* Format such a host: "192.0.2.1", or "2001:db8::/64". */
#define BASE_HOST_TEXT (INET6_ADDRSTRLEN + 4)
void base_addr_host_text(const struct in6_addr *host, char *buf, size_t size);

/* Returns a random key for base_addr_sum(). */
uint64_t base_addr_key(void);
/* Returns a hash of @host, never 0. Nobody can find another host with the same hash
 * without @key. */
uint64_t base_addr_sum(uint64_t key, const struct in6_addr *host);

/* Compare addresses, with their scope but without their ports. */
bool base_addr_same(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b);

/* Compare addresses with their ports. Two of family 0, which are none, are equal. */
bool base_addr_equal(const struct sockaddr_storage *a,
		     const struct sockaddr_storage *b);

/* Returns true for 0.0.0.0 and ::. */
bool base_addr_is_any(const struct sockaddr_storage *ss);

/* Returns true for 127.0.0.0/8, also mapped, and ::1. */
bool base_addr_is_loopback(const struct sockaddr_storage *ss);

/* Turn an IPv4 address into an IPv4-mapped one, with its port. Others stay as they are. */
void base_addr_map(struct sockaddr_storage *ss);

/* Returns the size of a sockaddr_in6 for IPv6, else that of a sockaddr_in. */
socklen_t base_addr_len(const struct sockaddr_storage *ss);

/* The port in host order. Other families have port 0, which cannot be set. */
uint16_t base_addr_port(const struct sockaddr_storage *ss);
void base_addr_set_port(struct sockaddr_storage *ss, uint16_t port);

#endif /* RPCRDMA_BASE_ADDR_H */
