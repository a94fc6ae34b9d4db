/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addr - what several layers say of addresses
 *
 * Threads: pure functions.
 */
#ifndef RPCRDMA_BASE_ADDR_H
#define RPCRDMA_BASE_ADDR_H

#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* As many hold any address with its interface, and its end. */
#define BASE_ADDR_TEXT (INET6_ADDRSTRLEN + IF_NAMESIZE)

/*
 * "192.0.2.1", "2001:db8::1" or, where it is of one link, "fe80::1%eth0"; "?"
 * for other families; at most @size octets with the end.
 */
void base_addr_text(const struct sockaddr *addr, char *buf, size_t size);

/*
 * The same with its port: "192.0.2.1:1234" or "[2001:db8::1]:1234". 64 hold
 * any, since only short addresses are of one link.
 */
void base_addr_name(const struct sockaddr *addr, char *buf, size_t size);

/*
 * The host at @addr, as limits count hosts: an IPv4 address (as IPv6 maps it),
 * or the /64 of an IPv6 address, since addresses inside of that cost their
 * owner nothing. Zero for other families.
 */
struct in6_addr base_addr_host(const struct sockaddr *addr);

/* A random one, for the next. */
uint64_t base_addr_key(void);
/* The same for the same host, never 0; which others have it, only who knows @key
 * can tell. */
uint64_t base_addr_sum(uint64_t key, const struct in6_addr *host);

/* The same address, of the same link where that counts, whatever the ports. */
bool base_addr_same(const struct sockaddr_storage *a,
		    const struct sockaddr_storage *b);

/* 0.0.0.0 or ::, whatever the port. */
bool base_addr_is_any(const struct sockaddr_storage *ss);

/* 127.0.0.0/8 or ::1: nobody else reaches it. */
bool base_addr_is_loopback(const struct sockaddr_storage *ss);

/* An IPv4 address as IPv6 maps it, with its port; others stay as they are. */
void base_addr_map(struct sockaddr_storage *ss);

/* Octets of an address of IPv6, else of IPv4. */
socklen_t base_addr_len(const struct sockaddr_storage *ss);

/* In host order; 0 for other families, of which none is set. */
uint16_t base_addr_port(const struct sockaddr_storage *ss);
void base_addr_set_port(struct sockaddr_storage *ss, uint16_t port);

#endif /* RPCRDMA_BASE_ADDR_H */
