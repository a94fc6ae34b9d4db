/* SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"

#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <ifaddrs.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memlock.h"
#include "device.h"
#include "sysfs.h"

/* Room for one entry of each kind: it is never used. */
#define TRIAL_DEPTH 16

/* ---- Addresses of devices --------------------------------------------------- */

/* Returns an id that is bound to @addr, or NULL. */
static struct rdma_cm_id *bind_id(struct rdma_event_channel *channel,
				  const struct sockaddr *addr)
{
	struct sockaddr_storage at = { 0 };
	struct rdma_cm_id *id = NULL;

	vb_copy_addr(&at, addr);
	base_addr_set_port(&at, 0);
	if (rdma_create_id(channel, &id, NULL, RDMA_PS_TCP))
		return NULL;
	if (!rdma_bind_addr(id, (struct sockaddr *)&at) && id->verbs)
		return id;
	rdma_destroy_id(id);
	return NULL;
}

static bool is_ip(const struct ifaddrs *a)
{
	return a->ifa_addr && (a->ifa_addr->sa_family == AF_INET ||
			       a->ifa_addr->sa_family == AF_INET6);
}

/* Ask the connection manager, which knows VLANs and bonds, of which device each
 * address of this host is. */
static void find_addrs(struct rdma_event_channel *channel,
		       struct vb_report_host *h)
{
	struct ifaddrs *all;

	if (getifaddrs(&all))
		return;
	for (struct ifaddrs *a = all; a && h->naddrs < VB_REPORT_ADDRS;
	     a = a->ifa_next) {
		struct vb_report_addr *to = &h->addr[h->naddrs];
		struct rdma_cm_id *id =
			is_ip(a) ? bind_id(channel, a->ifa_addr) : NULL;

		if (!id)
			continue;
		h->naddrs++;
		vb_copy_addr(&to->addr, a->ifa_addr);
		snprintf(to->device, sizeof(to->device), "%s",
			 ibv_get_device_name(id->verbs->device));
		to->port = id->port_num;
		snprintf(to->interface, sizeof(to->interface), "%s",
			 a->ifa_name);
		rdma_destroy_id(id);
	}
	freeifaddrs(all);
}

/* ---- One device ----------------------------------------------------------- */

/* Returns how much inline data a queue pair at @id gets, or -1. */
static int try_inline(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = TRIAL_DEPTH,
			 .max_recv_wr = TRIAL_DEPTH,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = VB_INLINE },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);
	struct ibv_cq *cq =
		pd ? ibv_create_cq(id->verbs, 2 * TRIAL_DEPTH, NULL, NULL, 0) :
		     NULL;
	int size = -1;

	attr.send_cq = attr.recv_cq = cq;
	/* As the provider does. */
	while (cq && rdma_create_qp(id, pd, &attr) && attr.cap.max_inline_data)
		attr.cap.max_inline_data =
			vb_less_inline(attr.cap.max_inline_data);
	if (id->qp) {
		size = (int)attr.cap.max_inline_data;
		ibv_destroy_qp(id->qp);
		id->qp = NULL;
	} else if (cq) {
		size = 0;
	}
	if (cq)
		ibv_destroy_cq(cq);
	if (pd)
		ibv_dealloc_pd(pd);
	return size;
}

static int inline_size(struct rdma_event_channel *channel,
		       const struct vb_report_host *h, const char *name)
{
	int size = -1;

	for (unsigned int i = 0; channel && i < h->naddrs && size < 0; i++) {
		struct rdma_cm_id *id;

		if (strcmp(h->addr[i].device, name))
			continue;
		id = bind_id(channel,
			     (const struct sockaddr *)&h->addr[i].addr);
		if (!id)
			continue;
		size = try_inline(id);
		rdma_destroy_id(id);
	}
	return size;
}

/* Returns the name of the file that has @function, such as
 * libibverbs.so.1.14.44.0 of rdma-core 44.0, in @path. */
static const char *library_of(void *function, char path[PATH_MAX])
{
	const char *slash;
	Dl_info info;

	if (!dladdr(function, &info) || !info.dli_fname ||
	    !realpath(info.dli_fname, path))
		return "unknown";
	slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static uint64_t odp_of(struct ibv_context *ctx)
{
	struct ibv_device_attr_ex ex = { 0 };

	return ibv_query_device_ex(ctx, NULL, &ex) ? 0 :
						     ex.odp_caps.general_caps;
}

/* Returns false if the device cannot be asked. */
static bool read_device(struct ibv_device *dev, struct vb_report_device *d)
{
	struct vb_domain dom = { .depth = VB_MAX_DEPTH };
	struct ibv_context *ctx = ibv_open_device(dev);
	char path[PATH_MAX];

	memset(d, 0, sizeof(*d));
	d->name = ibv_get_device_name(dev);
	d->node = dev->node_type;
	d->transport = dev->transport_type;
	if (!ctx)
		return false;
	if (ibv_query_device(ctx, &d->attr)) {
		ibv_close_device(ctx);
		return false;
	}
	snprintf(d->library, sizeof(d->library), "%.63s",
		 library_of((void *)ctx->ops.poll_cq, path));
	d->odp = odp_of(ctx);
	d->vectors = ctx->num_comp_vectors;
	d->nports = MIN(d->attr.phys_port_cnt, VB_REPORT_PORTS);
	for (unsigned int n = 1; n <= d->nports; n++)
		if (ibv_query_port(ctx, (uint8_t)n, &d->port[n - 1]))
			memset(&d->port[n - 1], 0, sizeof(d->port[0]));
	d->unfit = vb_device_limits(&dom, ctx, &d->limits);
	d->caps.dom = &dom;
	d->caps.ctx = ctx;
	d->caps.limits = d->limits;
	vb_device_read_caps(&d->caps, &d->attr);
	d->caps.dom = NULL;
	d->caps.ctx = NULL;
	ibv_close_device(ctx);
	return true;
}

/* ---- The host ------------------------------------------------------------- */

static bool program_runs(const char *name)
{
	char comm[VB_SYSFS_LINE];
	DIR *proc = opendir("/proc");
	struct dirent *e;
	bool found = false;

	while (proc && !found && (e = readdir(proc)))
		found = isdigit((unsigned char)*e->d_name) &&
			vb_sysfs_line(comm, sizeof(comm), "/proc/%.20s/comm",
				      e->d_name) &&
			!strcmp(comm, name);
	if (proc)
		closedir(proc);
	return found;
}

static void put_system(FILE *out)
{
	char line[VB_SYSFS_LINE] = "", name[VB_SYSFS_LINE] = "", mode[8];
	struct utsname u;
	FILE *f = fopen("/etc/os-release", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "PRETTY_NAME=\"%127[^\"]", name) == 1)
			break;
	if (f)
		fclose(f);
	if (!uname(&u))
		fprintf(out, "system: %s %s %s%s%s\n", u.sysname, u.release,
			u.machine, *name ? ", " : "", name);
	if (vb_sysfs_line(mode, sizeof(mode),
			  "/sys/module/ib_core/parameters/netns_mode"))
		fprintf(out, "devices and network namespaces: %s\n",
			*mode == 'Y' ? "shared" : "exclusive");
}

static void put_host(FILE *out, const struct vb_report_host *h, int ndevices)
{
	char path[PATH_MAX];

	fprintf(out, "RDMA report of rpcrdma %s\n", RPCRDMA_VERSION);
	put_system(out);
	fprintf(out, "rdma-core: %s",
		library_of((void *)ibv_get_device_list, path));
	fprintf(out, ", %s\n", library_of((void *)rdma_create_id, path));
	if (h->memlock)
		fprintf(out, "locked memory: at most %llu KiB\n",
			h->memlock_kib);
	else
		fputs("locked memory: no limit for this process\n", out);
	fprintf(out, "receive buffers of a connection: %zu KiB\n",
		h->conn_memory / 1024);
	fprintf(out, "processors: %ld\n", sysconf(_SC_NPROCESSORS_ONLN));
	fprintf(out, "iwpmd: %s\n", h->iwpmd ? "runs" : "not seen");
	fprintf(out, "/dev/infiniband/rdma_cm: %s\n",
		vb_sysfs_exists("/dev/infiniband/rdma_cm") ? "there" :
							     "missing");
	fprintf(out, "devices: %d\n", ndevices);
}

static const char advice[] =
	"\nNo RDMA device can be used. What to do:\n"
	"  rdma link                        shows the devices that the kernel has\n"
	"  modprobe -a ib_uverbs rdma_ucm   if /dev/infiniband lacks uverbs0 or rdma_cm\n"
	"  modprobe mlx5_ib                 or bnxt_re, irdma, iw_cxgb4, qedr, hns_roce_hw_v2: the\n"
	"                                   adapter's driver (lspci -k; dmesg says why it has not started)\n"
	"  apt install rdma-core ibverbs-providers     Debian: the adapter's library\n"
	"  dnf install rdma-core libibverbs            Fedora, Enterprise Linux\n"
	"  rdma system                      in a container: \"netns exclusive\" hides devices\n"
	"                                   (--device /dev/infiniband gives them to Docker)\n"
	"  modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0\n"
	"                                   makes a device in software\n";

/* Returns true if @d has one of the addresses in @how. */
static bool is_wanted(const struct fab_report *how,
		      const struct vb_report_host *h, const char *name)
{
	if (!vb_device_is_chosen(how->devices, name))
		return false;
	if (!how->naddrs)
		return true;
	for (unsigned int i = 0; i < how->naddrs; i++) {
		if (base_addr_is_any(&how->addr[i]))
			return true;
		for (unsigned int k = 0; k < h->naddrs; k++)
			if (!strcmp(h->addr[k].device, name) &&
			    base_addr_same(&h->addr[k].addr, &how->addr[i]))
				return true;
	}
	return false;
}

static int compare_names(const void *a, const void *b)
{
	struct ibv_device *const *x = a, *const *y = b;

	return strcmp(ibv_get_device_name(*x), ibv_get_device_name(*y));
}

int vb_report(FILE *out, const struct fab_report *how)
{
	struct vb_report_host *h = calloc(1, sizeof(*h));
	struct vb_report_device *d = calloc(1, sizeof(*d));
	struct rdma_event_channel *channel = NULL;
	struct ibv_device **list = NULL;
	int n = 0, done = 0;

	if (!h || !d) {
		free(h);
		free(d);
		return -ENOMEM;
	}
	list = ibv_get_device_list(&n);
	h->sys = "/sys";
	h->memlock = base_memlock_limit(&h->memlock_kib);
	h->conn_memory = how->conn_memory;
	h->iwpmd = program_runs("iwpmd");
	/* Without a device librdmacm complains. */
	if (list && n) {
		qsort(list, (size_t)n, sizeof(struct ibv_device *),
		      compare_names);
		channel = rdma_create_event_channel();
	}
	if (channel)
		find_addrs(channel, h);
	if (!how->brief)
		put_host(out, h, list ? n : 0);
	for (int i = 0; list && i < n; i++) {
		const char *name = ibv_get_device_name(list[i]);

		if (!is_wanted(how, h, name))
			continue;
		if (!read_device(list[i], d)) {
			fprintf(out, "%s %s: cannot be opened\n",
				how->brief ? "# Device" : "\ndevice", name);
			continue;
		}
		done++;
		if (how->brief) {
			vb_report_brief(out, d, h);
			continue;
		}
		d->inline_size = inline_size(channel, h, name);
		vb_report_device(out, d, h);
	}
	if (!how->brief && !done)
		fputs(advice, out);
	if (list)
		ibv_free_device_list(list);
	if (channel)
		rdma_destroy_event_channel(channel);
	free(h);
	free(d);
	return done;
}
