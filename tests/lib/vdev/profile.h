/* SPDX-License-Identifier: BSD-3-Clause */
/* profile - what differs between devices, and their libraries and drivers */
#ifndef VDEV_PROFILE_H
#define VDEV_PROFILE_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

/* What kind of memory windows there is. */
enum vdev_windows {
	WINDOWS_NONE,
	WINDOWS_TYPE_1, /* the flag of type 1 alone */
	WINDOWS_2B,
	WINDOWS_2, /* 2A and 2B */
	WINDOWS_CLAIMED, /* 2B says the driver, but the library has none */
};

/* When the queues are emptied after an error. */
enum vdev_flush {
	FLUSH_ANY, /* seed: in either order, mixed, or not all of it */
	FLUSH_SENDS, /* the send queue first */
	FLUSH_RECVS, /* the receive queue first */
	FLUSH_NONE, /* never: who destroys the queue pair has all back */
};

struct vdev_profile {
	const char *name;
	uint32_t vendor;
	bool iwarp;
	enum vdev_windows windows;
	bool sends_inv;
	int max_sge, max_sge_rd;
	unsigned int max_inline;
	int rd_atom; /* RDMA Reads at once, in either direction */
	int max_qp, max_cq, max_qp_wr, max_cqe, max_srq_wr;
	enum vdev_flush flush;
	int inline_error; /* creating a queue pair with more */
	/* How it refuses a peer's operation of no octets; 0: it takes it. */
	enum ibv_wc_status empty_error;
	/* After an error posts are refused (EINVAL), not flushed. */
	bool refuses_late;
	/* A Read needs remote rights at its sink (RFC 5040, 5.2.2). */
	bool sink_rights;
	/* An element of no octets is one of 2 GiB. */
	bool zero_is_2gib;
	/* A queue pair is asked for after it is destroyed, when its completions
	 * are polled. */
	bool poll_names_qp;
	/* Of ten Sends or Receives so many find no room though there is. */
	unsigned int short_sends, short_recvs;
	unsigned int command_us;
	/* Linux' rxe: flag and status that only it has. */
	bool rxe;
	/* Linux' siw: see src/fabric/verbs/device_caps.c. */
	bool siw;
};

/* Ends with one without a name. */
extern const struct vdev_profile vdev_profiles[];

#endif /* VDEV_PROFILE_H */
