/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * preload - environment variables by which the launcher controls this library
 */
#ifndef RPCRDMA_GANESHA_PRELOAD_H
#define RPCRDMA_GANESHA_PRELOAD_H

/* LD_PRELOAD as it was before the launcher; "": it was not set. The library restores it. */
#define GR_ENV_PRELOAD "RPCRDMA_LD_PRELOAD"
/* If set, a file descriptor: the library exits as soon as it is loaded, with GR_PROBED if it
 * fits this Ganesha, else with GR_PROBED_UNFIT after writing the reason to the descriptor. */
#define GR_ENV_PROBE "RPCRDMA_PROBE"
#define GR_PROBED 86
#define GR_PROBED_UNFIT 87
/* "1" or "strict": once the file is parsed, check it as --check-config documents, and
 * exit with one of enum gr_checked. */
#define GR_ENV_CHECK "RPCRDMA_CHECK"

enum gr_checked {
	GR_CHECKED_SERVED,
	GR_CHECKED_NOT_SERVED, /* RDMA is not, NFS over TCP is */
	GR_CHECKED_NO_SERVER, /* Ganesha cannot read the file */
	GR_CHECKED_REFUSED, /* for a syntax error elsewhere, or by --strict */
};

#endif /* RPCRDMA_GANESHA_PRELOAD_H */
