/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gw_client - what the worker's loop and its clients have in common
 */
#ifndef RPCRDMA_TOOLS_GW_CLIENT_H
#define RPCRDMA_TOOLS_GW_CLIENT_H

#include "gateway/gw.h"

/* gw_client.c, for the loop. Worker. */
void gw_client_kill(struct gw_client *c, int level, const char *why);
void gw_client_read(struct gw_client *c);
void gw_client_epoll(struct gw_client *c, uint32_t events);
void gw_client_events(struct gw_client *c, unsigned int events);
void gw_client_tick(struct gw_client *c, uint64_t now);

/* gw_watch.c: how gw_share.h's policy is applied. */
void gw_watch_socket(int fd);
/* It waits for octets of the client, or is about to. Worker. */
void gw_watch_in(struct gw_client *c, uint64_t now);
/* GW_EV_WATCH, GW_EV_EVICT and GW_EV_LEAVE; it may be gone then. Worker. */
void gw_watch_events(struct gw_client *c, unsigned int events);
/* Now and then: is there what its TCP has not taken? Worker. */
void gw_watch_look(struct gw_client *c, uint64_t now);
/* Once in a second while it is watched. Worker. */
void gw_watch_sweep(struct gw_client *c, uint64_t now);
/* For gw_share_press(). */
void gw_watch_evict(struct gw_share *victim);
/* Have one that can best do without its connection end it, for a new one's
 * sake; false if there is none such. No lock held. */
bool gw_watch_give_way(struct gateway *gw);

/* The operations that its RDMA connections have. */
void gw_client_ops(struct rt_ops *ops, bool reverse);

/* gw_worker.c, for the clients. Worker. */
void gw_worker_adopt(struct gw_worker *w, struct gw_client *c);
void gw_worker_forget(struct gw_worker *w, struct gw_client *c);
/* Look at its timers in time. */
void gw_worker_timer(struct gw_worker *w, struct gw_client *c);
/* Sweep it until gw_watch_sweep() finds nothing to watch. */
void gw_worker_watch(struct gw_worker *w, struct gw_client *c);

#endif /* RPCRDMA_TOOLS_GW_CLIENT_H */
