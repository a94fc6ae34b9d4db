/* SPDX-License-Identifier: BSD-3-Clause */
#include "port_counters.h"

#include <stdio.h>
#include <string.h>

#include "device.h"
#include "sysfs.h"

#define ROOT "/sys/class/infiniband"

/*
 * As Linux' drivers name them. Where a driver counts one event in two places, such
 * as rxe the sequence errors that it is told of and the repetitions that follow,
 * only one of them stands here. No name means different things in two families.
 */
static const struct {
	const char *name; /* below ports/N, or below the device for all ports */
	enum fab_port_counter kind;
} counters[] = {
	/* mlx5; several also in later bnxt_re, and with rxe */
	{ "hw_counters/packet_seq_err", FAB_PORT_retransmitted },
	{ "hw_counters/implied_nak_seq_err", FAB_PORT_retransmitted },
	{ "hw_counters/roce_adp_retrans", FAB_PORT_retransmitted },
	{ "hw_counters/local_ack_timeout_err", FAB_PORT_timeouts },
	{ "hw_counters/roce_adp_retrans_to", FAB_PORT_timeouts },
	{ "hw_counters/duplicate_request", FAB_PORT_duplicates },
	{ "hw_counters/rnr_nak_retry_err", FAB_PORT_rnr },
	{ "hw_counters/out_of_buffer", FAB_PORT_rnr },
	{ "hw_counters/out_of_sequence", FAB_PORT_out_of_sequence },
	{ "hw_counters/rp_cnp_handled", FAB_PORT_congestion },
	{ "hw_counters/np_cnp_sent", FAB_PORT_congestion },
	{ "hw_counters/rx_icrc_encapsulated", FAB_PORT_discarded },
	/* mlx4 */
	{ "hw_counters/sq_num_oos", FAB_PORT_retransmitted },
	{ "hw_counters/sq_num_to", FAB_PORT_timeouts },
	{ "hw_counters/rq_num_dup", FAB_PORT_duplicates },
	{ "hw_counters/sq_num_rnr", FAB_PORT_rnr },
	{ "hw_counters/rq_num_rnr", FAB_PORT_rnr },
	{ "hw_counters/rq_num_oos", FAB_PORT_out_of_sequence },
	/* bnxt_re */
	{ "hw_counters/seq_err_naks_rcvd", FAB_PORT_retransmitted },
	{ "hw_counters/to_retransmits", FAB_PORT_timeouts },
	{ "hw_counters/dup_req", FAB_PORT_duplicates },
	{ "hw_counters/rnr_naks_rcvd", FAB_PORT_rnr },
	{ "hw_counters/rx_out_of_buffer", FAB_PORT_rnr },
	{ "hw_counters/oos_drop_count", FAB_PORT_out_of_sequence },
	{ "hw_counters/rx_cnp_pkts", FAB_PORT_congestion },
	{ "hw_counters/tx_cnp_pkts", FAB_PORT_congestion },
	{ "hw_counters/np_cnp_pkts", FAB_PORT_congestion },
	{ "hw_counters/rx_roce_discards", FAB_PORT_discarded },
	{ "hw_counters/rx_roce_errors", FAB_PORT_discarded },
	/* irdma */
	{ "hw_counters/tcpRetransSegs", FAB_PORT_retransmitted },
	{ "hw_counters/RetransSegs", FAB_PORT_retransmitted },
	{ "hw_counters/Nak Sequence Error", FAB_PORT_retransmitted },
	{ "hw_counters/Nak Sequence Error Implied", FAB_PORT_retransmitted },
	{ "hw_counters/RTO", FAB_PORT_timeouts },
	{ "hw_counters/RNR sent", FAB_PORT_rnr },
	{ "hw_counters/RNR received", FAB_PORT_rnr },
	{ "hw_counters/Rcvd Out of order packets", FAB_PORT_out_of_sequence },
	{ "hw_counters/cnpHandled", FAB_PORT_congestion },
	{ "hw_counters/cnpSent", FAB_PORT_congestion },
	{ "hw_counters/ip4InDiscards", FAB_PORT_discarded },
	{ "hw_counters/ip6InDiscards", FAB_PORT_discarded },
	{ "hw_counters/CRC errors", FAB_PORT_discarded },
	/* cxgb4, for the whole device */
	{ "hw_counters/ip4RetransSegs", FAB_PORT_retransmitted },
	{ "hw_counters/ip6RetransSegs", FAB_PORT_retransmitted },
	/* hns */
	{ "hw_counters/rx_cnp_pkt", FAB_PORT_congestion },
	{ "hw_counters/tx_cnp_pkt", FAB_PORT_congestion },
	{ "hw_counters/rx_err_pkt", FAB_PORT_discarded },
	/* rxe */
	{ "hw_counters/completer_retry_err", FAB_PORT_retransmitted },
	{ "hw_counters/send_rnr_err", FAB_PORT_rnr },
	{ "hw_counters/rcvd_rnr_err", FAB_PORT_rnr },
	{ "hw_counters/out_of_seq_request", FAB_PORT_out_of_sequence },
	/* InfiniBand 1.4, 16.1.3.5, which other links have too */
	{ "counters/port_rcv_errors", FAB_PORT_discarded },
	{ "counters/port_xmit_discards", FAB_PORT_discarded },
};

bool vb_port_counters_read(const char *root, const char *device,
			   unsigned int port, struct fab_port *out)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->device, sizeof(out->device), "%s", device);
	out->port = port;
	if (!vb_sysfs_exists("%s/%s/ports/%u", root, device, port))
		return false;
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		enum fab_port_counter kind = counters[i].kind;
		uint64_t value;

		/* What is counted for all ports counts at the first. */
		if (!vb_sysfs_number(&value, "%s/%s/ports/%u/%s", root, device,
				     port, counters[i].name) &&
		    (port > 1 || !vb_sysfs_number(&value, "%s/%s/%s", root,
						  device, counters[i].name)))
			continue;
		out->has |= 1u << kind;
		out->count[kind] += value;
	}
	return true;
}

static void each_port_of(const char *device, fab_port_fn fn, void *arg)
{
	struct fab_port port;

	for (unsigned int n = 1; vb_port_counters_read(ROOT, device, n, &port);
	     n++)
		fn(&port, arg);
}

/* Returns the device in use with this name, or NULL. */
static const struct vb_device *in_use(struct vb_domain *d, const char *name)
{
	for (unsigned int i = 0; i < VB_MAX_DEVICES; i++) {
		const struct vb_device *dev = atomic_load(&d->dev[i]);

		if (!dev)
			break;
		if (!atomic_load(&dev->gone) && !strcmp(dev->name, name))
			return dev;
	}
	return NULL;
}

void vb_for_each_port(struct fab_domain *fd, fab_port_fn fn, void *arg)
{
	struct vb_domain *d = vb_domain(fd);
	struct ibv_device **list = ibv_get_device_list(NULL);

	for (int i = 0; list && list[i]; i++) {
		const char *name = ibv_get_device_name(list[i]);

		if (in_use(d, name) || (atomic_load(&d->listens_any) &&
					vb_device_is_chosen(d->devices, name)))
			each_port_of(name, fn, arg);
	}
	if (list)
		ibv_free_device_list(list);
}
