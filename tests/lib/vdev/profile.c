/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * profile - what differs between devices, and their libraries and drivers
 *
 * The families come first. What is said of one comes from reading its driver
 * in Linux and its library in rdma-core; where a family has many devices, the
 * row is one that asks the most of who uses it. Nothing of it was seen on
 * hardware. Those behind are of no family: each lacks one thing.
 */
#include <errno.h>

#include "profile.h"

/* A row is its base, and what differs. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define MANY                                                                 \
	.max_qp = 4096, .max_cq = 4096, .max_qp_wr = 8192, .max_cqe = 65536, \
	.max_srq_wr = 16384, .rd_atom = 16, .inline_error = EINVAL

#define SOUND                                                             \
	MANY, .vendor = 0x02c9, .windows = WINDOWS_2B, .sends_inv = true, \
	      .max_sge = 30, .max_sge_rd = 30, .max_inline = 512

const struct vdev_profile vdev_profiles[] = {
	/* An element of no octets stands for 2 GiB. */
	{ .name = "mlx5", SOUND, .zero_is_2gib = true },
	/* The driver has windows and Send with Invalidate, the library neither;
	 * little inline data; six elements. */
	{ .name = "bnxt_re",
	  MANY,
	  .vendor = 0x14e4,
	  .sends_inv = true,
	  .windows = WINDOWS_CLAIMED,
	  .max_sge = 6,
	  .max_sge_rd = 6,
	  .max_inline = 96,
	  .flush = FLUSH_SENDS },
	/* iWARP; older ones claim windows of type 1 alone. No shared queues.
	 * A Send may have to wait for the next page of its queue. */
	{ .name = "irdma",
	  MANY,
	  .vendor = 0x8086,
	  .iwarp = true,
	  .windows = WINDOWS_2B,
	  .sends_inv = true,
	  .max_sge = 13,
	  .max_sge_rd = 13,
	  .max_inline = 101,
	  .max_srq_wr = 0,
	  .sink_rights = true,
	  .flush = FLUSH_SENDS,
	  .short_sends = 1 },
	/* iWARP; four elements, one for a Read; its library flushes, Receives
	 * first, and refuses what is posted after an error. */
	{ .name = "cxgb4",
	  MANY,
	  .vendor = 0x1425,
	  .iwarp = true,
	  .windows = WINDOWS_TYPE_1,
	  .sends_inv = true,
	  .max_sge = 4,
	  .max_sge_rd = 1,
	  .max_inline = 64,
	  .sink_rights = true,
	  .max_srq_wr = 0,
	  .rd_atom = 32,
	  .flush = FLUSH_RECVS,
	  .refuses_late = true },
	/* No windows; its library follows a completion to its queue pair. */
	{ .name = "qedr",
	  MANY,
	  .vendor = 0x1077,
	  .windows = WINDOWS_NONE,
	  .sends_inv = true,
	  .max_sge = 4,
	  .max_sge_rd = 4,
	  .max_inline = 256,
	  .rd_atom = 32,
	  .flush = FLUSH_ANY,
	  .poll_names_qp = true },
	/* One element for a Read. */
	{ .name = "hns",
	  MANY,
	  .vendor = 0x19e5,
	  .windows = WINDOWS_NONE,
	  .sends_inv = true,
	  .max_sge = 64,
	  .max_sge_rd = 1,
	  .max_inline = 1024,
	  .rd_atom = 128,
	  .flush = FLUSH_ANY },
	{ .name = "rxe",
	  MANY,
	  .vendor = 0xffffff,
	  .windows = WINDOWS_2,
	  .sends_inv = true,
	  .max_sge = 32,
	  .max_sge_rd = 32,
	  .max_inline = 480,
	  .rd_atom = 128,
	  .flush = FLUSH_SENDS,
	  .rxe = true },
	{ .name = "siw",
	  MANY,
	  .vendor = 0x626d74,
	  .iwarp = true,
	  .windows = WINDOWS_NONE,
	  .sends_inv = true,
	  .max_sge = 6,
	  .max_sge_rd = 1,
	  .max_inline = 72,
	  .rd_atom = 128,
	  .max_cqe = 1 << 20,
	  .flush = FLUSH_SENDS,
	  .siw = true },

	/* InfiniBand without windows, with those of type 1, without Send with
	 * Invalidate. */
	{ .name = "no-windows", SOUND, .windows = WINDOWS_NONE },
	{ .name = "type-1", SOUND, .windows = WINDOWS_TYPE_1 },
	{ .name = "no-invalidate", SOUND, .sends_inv = false },
	{ .name = "no-inline", SOUND, .max_inline = 0 },
	/* It says that there is no memory, where others call it invalid. */
	{ .name = "no-inline-room",
	  SOUND,
	  .max_inline = 0,
	  .inline_error = ENOMEM },
	{ .name = "one-read", SOUND, .rd_atom = 1 },
	{ .name = "no-srq", SOUND, .max_srq_wr = 0 },
	/* Nothing is flushed. */
	{ .name = "no-flush", SOUND, .flush = FLUSH_NONE },
	/* Queues that are full at times that nobody can know. */
	{ .name = "full", SOUND, .short_sends = 3 },
	{ .name = "full-recvs", SOUND, .short_sends = 3, .short_recvs = 3 },
	/* Firmware that takes a millisecond. */
	{ .name = "slow", SOUND, .command_us = 1000 },
	/* An operation of no octets is an error. */
	{ .name = "empty-invalid",
	  SOUND,
	  .empty_error = IBV_WC_REM_INV_REQ_ERR },
	{ .name = "empty-access", SOUND, .empty_error = IBV_WC_REM_ACCESS_ERR },
	{ .name = "empty-fails", SOUND, .empty_error = IBV_WC_REM_OP_ERR },
	/* What is of no use here. */
	{ .name = "three-sge", SOUND, .max_sge = 3, .max_sge_rd = 3 },
	{ .name = "no-reads", SOUND, .rd_atom = 0 },
	{ .name = "few-pairs", SOUND, .max_qp = 3, .max_cq = 3 },
	{ .name = NULL },
};
