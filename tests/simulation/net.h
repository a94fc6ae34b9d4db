/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * net - TCP, as rpcrdma-gateway's system calls see it
 *
 * The linker puts these in the place of the system's (--wrap). What one end sends
 * is on its way until a step has it arrive: in pieces of any size, delayed as long as
 * the step likes, or never. Descriptors are numbers that no real one has, the lowest
 * that is free, so that whoever uses one after its end meets another's socket, or
 * ends the world.
 *
 * Readiness is told as Linux does: edge-triggered sockets once each time when octets,
 * their end or a reset arrive, and when there is room again for a sender who has met
 * a full socket.
 *
 * Threads: one.
 */
#ifndef RPCRDMA_SIMULATE_NET_H
#define RPCRDMA_SIMULATE_NET_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_conn;

void net_begin(void);
/* Everything must be closed. */
void net_end(void);

/* What has happened to somebody, so that others may go on: rises. */
extern uint64_t net_progress;

/* A connection to the listener, from @from; the gateway's socket holds @window octets
 * that were not taken here. NULL: nobody listens, or too many wait to be accepted. */
struct net_conn *net_connect(const struct sockaddr_in *from, size_t window);
void net_send(struct net_conn *c, const void *p, size_t n);
/* How many are on their way, and have so many arrive, at most. */
size_t net_in_flight(const struct net_conn *c);
void net_arrive(struct net_conn *c, size_t n);
/* No more is sent: arrives with the last octet. */
void net_shut(struct net_conn *c);
void net_reset(struct net_conn *c);
/* What the gateway has sent, @n octets at most. */
size_t net_take(struct net_conn *c, void *p, size_t n);
size_t net_waiting(const struct net_conn *c);
/* The gateway has ended it, and nothing more will come. */
bool net_over(const struct net_conn *c);
/* This end forgets it. */
void net_free(struct net_conn *c);

/* Each n-th accept4() from now on has no descriptor; 0: all have. */
void net_short_of_descriptors(unsigned int n);
/* The gateway gets a signal. */
void net_signal(int sig);

#endif /* RPCRDMA_SIMULATE_NET_H */
