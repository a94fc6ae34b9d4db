/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - what is known of the devices of this host, and what follows
 *
 * report.c asks libraries and the kernel. report_device.c prints what they said
 * of one device; which features are off is decided in device_caps.c.
 */
#ifndef RPCRDMA_VERBS_REPORT_H
#define RPCRDMA_VERBS_REPORT_H

#include <net/if.h>
#include <stdio.h>

#include "base/addr.h"
#include "vb.h"

#define VB_REPORT_PORTS 16
#define VB_REPORT_ADDRS 128

/* An address of this host that belongs to a device. */
struct vb_report_addr {
	struct sockaddr_storage addr;
	char device[64];
	unsigned int port;
	char interface[IF_NAMESIZE];
};

struct vb_report_host {
	const char *sys; /* "/sys", but for tests */
	bool iwpmd; /* runs */
	bool memlock; /* locked memory is limited to: */
	unsigned long long memlock_kib;
	size_t conn_memory; /* see struct fab_report */
	unsigned int naddrs;
	struct vb_report_addr addr[VB_REPORT_ADDRS];
};

struct vb_report_device {
	const char *name;
	char library[64]; /* the file of the provider in rdma-core */
	enum ibv_node_type node;
	enum ibv_transport_type transport;
	struct ibv_device_attr attr;
	uint64_t odp; /* enum ibv_odp_general_caps */
	int vectors;
	unsigned int nports;
	struct ibv_port_attr port[VB_REPORT_PORTS];
	int inline_size; /* that a queue pair got; -1: not known */
	/* vb_device_limits() and vb_device_read_caps() */
	int unfit;
	struct fab_limits limits;
	struct vb_device caps;
};

/* Print all of it, or a line or two that begin with "# ". */
void vb_report_device(FILE *out, const struct vb_report_device *d,
		      const struct vb_report_host *h);
void vb_report_brief(FILE *out, const struct vb_report_device *d,
		     const struct vb_report_host *h);
/* For fab_ops. */
int vb_report(FILE *out, const struct fab_report *how);

#endif /* RPCRDMA_VERBS_REPORT_H */
