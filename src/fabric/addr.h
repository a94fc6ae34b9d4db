/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * addr - what several layers say of addresses
 *
 * Threads: pure functions.
 */
#ifndef RPCRDMA_FABRIC_ADDR_H
#define RPCRDMA_FABRIC_ADDR_H

#include <netinet/in.h>
#include <stddef.h>
#include <sys/socket.h>

/*
 * "192.0.2.1:1234" or "[2001:db8::1]:1234", "?" for other families; at most
 * @size octets with the end. 64 hold any.
 */
void fab_addr_name(const struct sockaddr *addr, char *buf, size_t size);

/*
 * The host at @addr, as limits count hosts: an IPv4 address (as IPv6 maps it),
 * or the /64 of an IPv6 address, since addresses inside of that cost their
 * owner nothing. Zero for other families.
 */
struct in6_addr fab_addr_host(const struct sockaddr *addr);

#endif /* RPCRDMA_FABRIC_ADDR_H */
