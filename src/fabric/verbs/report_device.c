/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/param.h>

#include "port_counters.h"
#include "sysfs.h"

/* What RoCE v2 adds to a packet, at most, with the checksum. */
#define ROCE_HEADERS 96u
#define GIDS 1024u
#define PKEYS 256u

/* ---- Words ---------------------------------------------------------------- */

static const char *word(const char *const *words, size_t n, unsigned int i)
{
	return i < n && words[i] ? words[i] : "unknown";
}
#define WORD(words, i) word(words, sizeof(words) / sizeof(words[0]), i)

static const char *state_text(const struct ibv_port_attr *p)
{
	static const char *const words[] = {
		[IBV_PORT_DOWN] = "DOWN",
		[IBV_PORT_INIT] = "INIT",
		[IBV_PORT_ARMED] = "ARMED",
		[IBV_PORT_ACTIVE] = "ACTIVE",
		[IBV_PORT_ACTIVE_DEFER] = "ACTIVE_DEFER",
	};

	return WORD(words, p->state);
}

/* InfiniBand 1.4, 14.2.5.6. */
static const char *physical_text(const struct ibv_port_attr *p)
{
	static const char *const words[] = {
		[1] = "Sleep",	  [2] = "Polling", [3] = "Disabled",
		[4] = "Training", [5] = "LinkUp",  [6] = "LinkErrorRecovery",
		[7] = "PhyTest",
	};

	return WORD(words, p->phys_state);
}

static const char *transport_text(const struct vb_report_device *d)
{
	if (d->transport == IBV_TRANSPORT_IWARP)
		return "iWARP";
	if (d->transport != IBV_TRANSPORT_IB)
		return "neither InfiniBand, RoCE nor iWARP";
	return d->nports && d->port[0].link_layer == IBV_LINK_LAYER_ETHERNET ?
		       "RoCE" :
		       "InfiniBand";
}

static bool is_roce(const struct vb_report_device *d,
		    const struct ibv_port_attr *p)
{
	return d->transport == IBV_TRANSPORT_IB &&
	       p->link_layer == IBV_LINK_LAYER_ETHERNET;
}

static unsigned int mtu_octets(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128u << mtu : 0;
}

/* ---- Addresses and interfaces ------------------------------------------- */

/* Returns the next address of the port after @a, or the first for NULL; NULL if
 * there are no more. */
static const struct vb_report_addr *next_addr(const struct vb_report_device *d,
					      const struct vb_report_host *h,
					      unsigned int port,
					      const struct vb_report_addr *a)
{
	for (a = a ? a + 1 : h->addr; a < h->addr + h->naddrs; a++)
		if (a->port == port && !strcmp(a->device, d->name))
			return a;
	return NULL;
}

/* Set @mtu to the smallest of the port's interfaces, and @name to that. Returns
 * false if none is known. */
static bool interface_mtu(const struct vb_report_device *d,
			  const struct vb_report_host *h, unsigned int port,
			  uint64_t *mtu, const char **name)
{
	const struct vb_report_addr *a = NULL;
	uint64_t m;

	*mtu = UINT64_MAX;
	while ((a = next_addr(d, h, port, a))) {
		if (!vb_sysfs_number(&m, "%s/class/net/%s/mtu", h->sys,
				     a->interface) ||
		    m >= *mtu)
			continue;
		*mtu = m;
		*name = a->interface;
	}
	return *mtu != UINT64_MAX;
}

/* ---- GIDs and P_Keys ------------------------------------------------------ */

static bool is_zero_gid(const char *gid)
{
	return strspn(gid, "0:") == strlen(gid);
}

/* Print the port's GIDs, unless @out is NULL. Returns true if there are some, and
 * none is of RoCE v2. */
static bool put_gids(FILE *out, const struct vb_report_device *d,
		     const struct vb_report_host *h, unsigned int port)
{
	char gid[VB_SYSFS_LINE], type[VB_SYSFS_LINE], dev[VB_SYSFS_LINE];
	unsigned int all = 0, v2 = 0;

	for (unsigned int i = 0; i < GIDS; i++) {
		if (!vb_sysfs_line(gid, sizeof(gid),
				   "%s/class/infiniband/%s/ports/%u/gids/%u",
				   h->sys, d->name, port, i))
			break;
		if (is_zero_gid(gid))
			continue;
		/* Linux has no type for these, and names them IB/RoCE v1. */
		if (d->transport == IBV_TRANSPORT_IWARP)
			strcpy(type, "iWARP");
		else
			vb_sysfs_line(
				type, sizeof(type),
				"%s/class/infiniband/%s/ports/%u/gid_attrs/types/%u",
				h->sys, d->name, port, i);
		vb_sysfs_line(
			dev, sizeof(dev),
			"%s/class/infiniband/%s/ports/%u/gid_attrs/ndevs/%u",
			h->sys, d->name, port, i);
		all++;
		v2 += !strcmp(type, "RoCE v2");
		if (out)
			fprintf(out, "    GID %u: %s, %s%s%s\n", i, gid,
				*type ? type : "type unknown",
				*dev ? ", interface " : "", dev);
	}
	return all && !v2;
}

static void put_pkeys(FILE *out, const struct vb_report_device *d,
		      const struct vb_report_host *h, unsigned int port)
{
	char key[VB_SYSFS_LINE];
	bool any = false;

	for (unsigned int i = 0; i < PKEYS; i++) {
		if (!vb_sysfs_line(key, sizeof(key),
				   "%s/class/infiniband/%s/ports/%u/pkeys/%u",
				   h->sys, d->name, port, i))
			break;
		if (!strcmp(key, "0x0000") || !strcmp(key, "0xffff"))
			continue;
		fprintf(out, "%s %s",
			any ? "" : "    P_Keys besides 0xffff:", key);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

/* ---- What follows --------------------------------------------------------- */

static const char *invalidate_reason(const struct vb_report_device *d)
{
	return d->attr.device_cap_flags & IBV_DEVICE_MEM_MGT_EXTENSIONS ?
		       "its library is not known to send it" :
		       "the device has no memory management extensions";
}

static const char *windows_reason(const struct vb_report_device *d)
{
	unsigned int flags = d->attr.device_cap_flags;

	if (flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A |
		     IBV_DEVICE_MEM_WINDOW_TYPE_2B) &&
	    d->attr.max_mw > 0)
		return "the driver has some of type 2, but they have flaws, or the library has none";
	return flags & IBV_DEVICE_MEM_WINDOW ? "the device has none of type 2" :
					       "the device has none";
}

/* Queue pairs and completion queues: each connection has one of both. */
static unsigned int most_connections(const struct vb_report_device *d)
{
	int n = MIN(d->attr.max_qp, d->attr.max_cq);

	return n > 0 ? (unsigned int)n : 0;
}

/* Returns how many connections the limit of locked memory allows, or UINT64_MAX. */
static uint64_t most_locked(const struct vb_report_host *h)
{
	return h->memlock && h->conn_memory ?
		       h->memlock_kib * 1024 / h->conn_memory :
		       UINT64_MAX;
}

static bool is_usable(const struct vb_report_device *d)
{
	return !d->unfit;
}

static void put_feature(FILE *out, const char *name, bool on, const char *why)
{
	fprintf(out, "    %s: %s%s\n", name,
		on ? "on" : "off: ", on ? "" : why);
}

static void put_follows(FILE *out, const struct vb_report_device *d,
			const struct vb_report_host *h)
{
	uint64_t locked = most_locked(h);

	fputs("  what follows\n", out);
	if (!is_usable(d)) {
		fputs("    not usable by provider verbs, see the warnings\n",
		      out);
		return;
	}
	put_feature(out, "remote invalidation",
		    d->limits.caps & FAB_CAP_SEND_INV, invalidate_reason(d));
	put_feature(out, "memory windows", d->limits.caps & FAB_CAP_EXPOSE,
		    windows_reason(d));
	put_feature(out, "shared receive queues", d->caps.max_srq_wr,
		    d->caps.iwarp ? "iWARP has nothing like RNR" :
				    "the device has none");
	if (d->caps.sink_rights)
		fputs("    RDMA Reads: each part has a registration of its own, as iWARP needs a key with the right to remote writing\n",
		      out);
	fprintf(out, "    RDMA Reads at once, by the device: %u out, %u in\n",
		MIN(d->limits.max_read_depth, d->caps.out_depth),
		MIN(d->limits.max_read_depth, d->caps.in_depth));
	fprintf(out, "    SGEs of a request: %u\n", d->limits.max_sge);
	fprintf(out, "    connections, by queue pairs: %u\n",
		most_connections(d));
	if (locked != UINT64_MAX)
		fprintf(out, "    connections, by locked memory: %" PRIu64 "\n",
			locked);
}

/* ---- Warnings ------------------------------------------------------------- */

struct warn {
	FILE *out;
	const char *prefix;
	unsigned int n;
};

__attribute__((format(printf, 2, 3))) static void warn(struct warn *w,
						       const char *format, ...)
{
	va_list args;

	fprintf(w->out, "%swarning: ", w->prefix);
	va_start(args, format);
	vfprintf(w->out, format, args);
	va_end(args);
	fputc('\n', w->out);
	w->n++;
}

static void warn_mtu(struct warn *w, const struct vb_report_device *d,
		     const struct vb_report_host *h, unsigned int port)
{
	const struct ibv_port_attr *p = &d->port[port - 1];
	unsigned int active = mtu_octets(p->active_mtu), fits = 256;
	const char *name;
	uint64_t mtu;

	if (!is_roce(d, p) || !interface_mtu(d, h, port, &mtu, &name))
		return;
	while (fits < mtu_octets(p->max_mtu) && 2 * fits + ROCE_HEADERS <= mtu)
		fits *= 2;
	if (active > fits)
		warn(w,
		     "port %u: packets of the active MTU, %u, do not fit into the MTU of interface %s, %" PRIu64,
		     port, active, name, mtu);
	else if (active < fits)
		warn(w,
		     "port %u: the active MTU is %u, though the MTU of interface %s, %" PRIu64
		     ", has room for %u",
		     port, active, name, mtu, fits);
	else if (active < mtu_octets(p->max_mtu))
		warn(w,
		     "port %u: the active MTU is %u, because that of interface %s is %" PRIu64
		     ": %u needs at least %u, at all hosts and switches",
		     port, active, name, mtu, mtu_octets(p->max_mtu),
		     mtu_octets(p->max_mtu) + ROCE_HEADERS);
}

static void warn_port(struct warn *w, const struct vb_report_device *d,
		      const struct vb_report_host *h, unsigned int port)
{
	const struct ibv_port_attr *p = &d->port[port - 1];

	if (p->state != IBV_PORT_ACTIVE)
		warn(w, "port %u is %s (%s): nobody can connect by it", port,
		     state_text(p), physical_text(p));
	if (!next_addr(d, h, port, NULL))
		warn(w, "port %u: none of its interfaces has an IP address",
		     port);
	if (is_roce(d, p) && put_gids(NULL, d, h, port))
		warn(w,
		     "port %u has no GID of RoCE v2: its clients must use RoCE v1, which routers do not forward",
		     port);
	warn_mtu(w, d, h, port);
}

static void put_warnings(struct warn *w, const struct vb_report_device *d,
			 const struct vb_report_host *h)
{
	if (d->limits.max_sge < VB_MIN_SGE)
		warn(w, "%u SGEs for a request: provider verbs needs %u",
		     d->limits.max_sge, VB_MIN_SGE);
	else if (d->unfit)
		warn(w, "provider verbs cannot use it: %s",
		     strerror(-d->unfit));
	for (unsigned int n = 1; n <= d->nports; n++)
		warn_port(w, d, h, n);
	if (d->caps.siw)
		warn(w,
		     "its driver does not check the right to remote reading: use it among trusted hosts, or Provider = iwarp");
	else if (d->caps.iwarp && !h->iwpmd)
		warn(w,
		     "iwpmd does not run: ports of the adapter may collide with those of TCP (package rdma-core or iwpmd; both ends)");
	if (!most_locked(h))
		warn(w,
		     "the limit of locked memory, %llu KiB, is too low for a connection: LimitMEMLOCK=infinity in the unit, or ulimit -l unlimited",
		     h->memlock_kib);
}

/* ---- Printing ----------------------------------------------------------- */

static void put_counters(FILE *out, const struct vb_report_device *d,
			 const struct vb_report_host *h, unsigned int port)
{
	static const char *const names[] = {
#define NAME(name, help) #name,
		FAB_PORT_COUNTERS(NAME)
#undef NAME
	};
	char root[VB_SYSFS_PATH];
	struct fab_port p;

	snprintf(root, sizeof(root), "%s/class/infiniband", h->sys);
	if (!vb_port_counters_read(root, d->name, port, &p) || !p.has)
		return;
	fputs("    counters:", out);
	for (unsigned int i = 0; i < FAB_NPORT_COUNTERS; i++)
		if (p.has >> i & 1)
			fprintf(out, " %s %" PRIu64, names[i], p.count[i]);
	fputc('\n', out);
}

static void put_port(FILE *out, const struct vb_report_device *d,
		     const struct vb_report_host *h, unsigned int port)
{
	const struct ibv_port_attr *p = &d->port[port - 1];
	const struct vb_report_addr *a = NULL;
	char rate[VB_SYSFS_LINE], text[BASE_ADDR_TEXT];
	uint64_t mtu;

	fprintf(out, "  port %u\n    state: %s, physical %s\n", port,
		state_text(p), physical_text(p));
	vb_sysfs_line(rate, sizeof(rate),
		      "%s/class/infiniband/%s/ports/%u/rate", h->sys, d->name,
		      port);
	fprintf(out, "    link: %s, %s\n",
		p->link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" :
							   "InfiniBand",
		*rate ? rate : "rate unknown");
	fprintf(out, "    MTU: active %u, at most %u; longest message %u\n",
		mtu_octets(p->active_mtu), mtu_octets(p->max_mtu),
		p->max_msg_sz);
	while ((a = next_addr(d, h, port, a))) {
		base_addr_text((const struct sockaddr *)&a->addr, text,
			       sizeof(text));
		fprintf(out, "    address: %s, interface %s", text,
			a->interface);
		if (vb_sysfs_number(&mtu, "%s/class/net/%s/mtu", h->sys,
				    a->interface))
			fprintf(out, " with MTU %" PRIu64, mtu);
		fputc('\n', out);
	}
	(void)put_gids(out, d, h, port);
	put_pkeys(out, d, h, port);
	put_counters(out, d, h, port);
}

/* A line with what is known of a file, or none. */
__attribute__((format(printf, 4, 5))) static void
put_file(FILE *out, const char *sys, const char *name, const char *format, ...)
{
	char path[VB_SYSFS_PATH], text[VB_SYSFS_LINE];
	va_list args;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (vb_sysfs_line(text, sizeof(text), "%s/class/infiniband/%s", sys,
			  path))
		fprintf(out, "  %s: %s\n", name, text);
}

/* Returns "a virtual device" for one without. */
static const char *driver_text(const struct vb_report_device *d,
			       const struct vb_report_host *h, char *text,
			       size_t room)
{
	return vb_sysfs_link(text, room, "%s/class/infiniband/%s/device/driver",
			     h->sys, d->name) ?
		       text :
		       "none (a virtual device)";
}

static void put_hardware(FILE *out, const struct vb_report_device *d,
			 const struct vb_report_host *h)
{
	char text[VB_SYSFS_LINE];

	fprintf(out, "  driver: %s\n", driver_text(d, h, text, sizeof(text)));
	fprintf(out, "  library: %s\n", d->library);
	fprintf(out, "  firmware: %.64s\n",
		*d->attr.fw_ver ? d->attr.fw_ver : "-");
	fprintf(out, "  vendor 0x%06x, part %u, hardware version 0x%x\n",
		d->attr.vendor_id, d->attr.vendor_part_id, d->attr.hw_ver);
	put_file(out, h->sys, "type", "%s/hca_type", d->name);
	put_file(out, h->sys, "board", "%s/board_id", d->name);
	if (vb_sysfs_link(text, sizeof(text), "%s/class/infiniband/%s/device",
			  h->sys, d->name))
		fprintf(out, "  bus address: %s\n", text);
	put_file(out, h->sys, "PCI speed", "%s/device/current_link_speed",
		 d->name);
	put_file(out, h->sys, "PCI lanes", "%s/device/current_link_width",
		 d->name);
	put_file(out, h->sys, "NUMA node", "%s/device/numa_node", d->name);
	fprintf(out, "  transport: %s, node type %d\n", transport_text(d),
		(int)d->node);
}

static void put_limits(FILE *out, const struct vb_report_device *d)
{
	const struct ibv_device_attr *a = &d->attr;
	unsigned int flags = a->device_cap_flags;

	fprintf(out, "  completion vectors: %d\n", d->vectors);
	fprintf(out,
		"  limits: max_qp %d, max_qp_wr %d, max_cq %d, max_cqe %d, max_mr %d, max_mr_size %" PRIu64
		", max_pd %d\n",
		a->max_qp, a->max_qp_wr, a->max_cq, a->max_cqe, a->max_mr,
		a->max_mr_size, a->max_pd);
	fprintf(out,
		"  limits: max_sge %d, max_sge_rd %d, max_qp_rd_atom %d, max_qp_init_rd_atom %d, max_res_rd_atom %d\n",
		a->max_sge, a->max_sge_rd, a->max_qp_rd_atom,
		a->max_qp_init_rd_atom, a->max_res_rd_atom);
	fprintf(out,
		"  limits: max_srq %d, max_srq_wr %d, max_srq_sge %d, max_mw %d\n",
		a->max_srq, a->max_srq_wr, a->max_srq_sge, a->max_mw);
	if (d->inline_size < 0)
		fprintf(out, "  inline: not known (no address to try with)\n");
	else
		fprintf(out, "  inline: %d of the %u octets asked for\n",
			d->inline_size, VB_INLINE);
	fprintf(out, "  flags: 0x%x:%s%s%s%s%s\n", flags,
		flags & IBV_DEVICE_MEM_MGT_EXTENSIONS ? " MEM_MGT_EXTENSIONS" :
							"",
		flags & IBV_DEVICE_MEM_WINDOW ? " MEM_WINDOW" : "",
		flags & IBV_DEVICE_MEM_WINDOW_TYPE_2A ? " MEM_WINDOW_TYPE_2A" :
							"",
		flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B ? " MEM_WINDOW_TYPE_2B" :
							"",
		flags & IBV_DEVICE_RC_RNR_NAK_GEN ? " RC_RNR_NAK_GEN" : "");
	fprintf(out, "  on-demand paging: %s\n",
		d->odp & IBV_ODP_SUPPORT ? "yes" : "no");
}

void vb_report_device(FILE *out, const struct vb_report_device *d,
		      const struct vb_report_host *h)
{
	struct warn w = { .out = out, .prefix = "  " };

	fprintf(out, "\ndevice %s\n", d->name);
	put_hardware(out, d, h);
	put_limits(out, d);
	for (unsigned int n = 1; n <= d->nports; n++)
		put_port(out, d, h, n);
	put_follows(out, d, h);
	put_warnings(&w, d, h);
}

void vb_report_brief(FILE *out, const struct vb_report_device *d,
		     const struct vb_report_host *h)
{
	struct warn w = { .out = out, .prefix = "#   " };
	char driver[VB_SYSFS_LINE];
	const char *comma = "";

	fprintf(out, "# Device %s: %s, driver %s, firmware %.64s", d->name,
		transport_text(d), driver_text(d, h, driver, sizeof(driver)),
		*d->attr.fw_ver ? d->attr.fw_ver : "-");
	for (unsigned int n = 1; n <= d->nports; n++)
		fprintf(out, "; port %u %s, MTU %u", n,
			state_text(&d->port[n - 1]),
			mtu_octets(d->port[n - 1].active_mtu));
	fputs(".\n", out);
	if (is_usable(d)) {
		fprintf(out, "#   At most %u connections; off: ",
			most_connections(d));
		if (!(d->limits.caps & FAB_CAP_SEND_INV)) {
			fprintf(out, "remote invalidation (%s)",
				invalidate_reason(d));
			comma = ", ";
		}
		if (!(d->limits.caps & FAB_CAP_EXPOSE)) {
			fprintf(out, "%smemory windows (%s)", comma,
				windows_reason(d));
			comma = ", ";
		}
		fprintf(out, "%s.\n", *comma ? "" : "nothing");
	}
	put_warnings(&w, d, h);
}
