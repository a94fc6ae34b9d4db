/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * vdev - RDMA devices in the process, that behave as those of others
 *
 * A shared library that stands in for libibverbs and librdmacm: preloaded, or
 * linked before them. It has exactly the functions that src/fabric/verbs and
 * its tests call (the test unit-vdev-calls compares), and no kernel device,
 * socket or privilege behind it. All ends are of one process.
 *
 * The environment names the devices and where their choices begin:
 *
 *	VDEV		profiles of profile.c, separated by commas (mlx5)
 *	VDEV_SEED	a number (1)
 *
 * Device n has the addresses 198.51.100.(n + 1) and 2001:db8::(n + 1), and is
 * named for its profile: mlx5_0. From the seed come the order in which queue
 * pairs take turns, when errors are told and in which order, how much is
 * flushed before the queue pair is destroyed, when a post finds no room, and
 * the keys. A thread of its own performs what is posted, so two runs with one
 * seed need not be the same; they make the same kind of choices.
 *
 * It is strict: at the end of the program a line on standard error names the
 * objects that are left, and so does one for each call that breaks a rule of
 * the verbs; the exit status is then 99.
 *
 * Context: any thread. One lock protects everything.
 */
#ifndef VDEV_H
#define VDEV_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>

/* For tests that make things happen; they link this library. Device numbers
 * are those of the addresses. */

/* Replace all devices: no context is open, or each has been removed. */
void vdev_setup(const char *profiles, unsigned int seed);
/* As a driver that is unloaded, or a card that is pulled: all of its users are
 * told, and nothing works any more. Later it may be there again. */
void vdev_remove(unsigned int n);
void vdev_add(unsigned int n);
/* The link of its port. */
void vdev_link(unsigned int n, bool up);
/* An event of the port or the device, which changes nothing. */
void vdev_event(unsigned int n, enum ibv_event_type type);
/* The device breaks a queue pair or queue, and tells. */
void vdev_break_qp(struct ibv_qp *qp, enum ibv_event_type type);
void vdev_break_cq(struct ibv_cq *cq);
void vdev_break_srq(struct ibv_srq *srq);
/* What an id was given for option @name (RDMA_OPTION_ID_*), or -1. */
int vdev_option(struct rdma_cm_id *id, int name);
/* Nothing is performed until it is called again with false. */
void vdev_hold(bool hold);
/* Each command takes so long; the profile's time otherwise. */
void vdev_slow(unsigned int us);
/* Instead, each command calls @fn in its thread; NULL: no longer. */
void vdev_on_command(void (*fn)(void));
/* How many objects there are, and how often a rule was broken. */
unsigned int vdev_objects(void);
unsigned int vdev_broken_rules(void);

#endif /* VDEV_H */
