/* SPDX-License-Identifier: BSD-3-Clause */
/* What is reported of devices that nobody here has, by made facts and trees. */
#include <arpa/inet.h>
#include <net/if.h>

#include "fabric/verbs/report.h"
#include "sysfs_tree.h"
#include "unit.h"

static struct vb_report_host host;
static struct vb_report_device dev;
static char said[16384];

static void add_addr(const char *text, const char *interface, unsigned int port)
{
	struct vb_report_addr *a = &host.addr[host.naddrs++];
	struct sockaddr_in in = { .sin_family = AF_INET };

	CU_ASSERT_EQUAL_FATAL(inet_pton(AF_INET, text, &in.sin_addr), 1);
	memcpy(&a->addr, &in, sizeof(in));
	snprintf(a->device, sizeof(a->device), "%s", dev.name);
	snprintf(a->interface, sizeof(a->interface), "%s", interface);
	a->port = port;
}

static void add_mtu(const char *interface, const char *mtu)
{
	char name[128];

	snprintf(name, sizeof(name), "class/net/%s/mtu", interface);
	tree_put(name, mtu);
}

/* A good RoCE device with one port. */
static void begin(void)
{
	tree_begin();
	memset(&host, 0, sizeof(host));
	memset(&dev, 0, sizeof(dev));
	host.sys = tree;
	host.conn_memory = 304128;
	dev.name = "mlx5_0";
	strcpy(dev.library, "libmlx5.so.1.24.44.0");
	dev.node = IBV_NODE_CA;
	dev.transport = IBV_TRANSPORT_IB;
	strcpy(dev.attr.fw_ver, "16.35.4030");
	dev.attr.vendor_id = 0x2c9;
	dev.attr.vendor_part_id = 4119;
	dev.attr.max_qp = 131072;
	dev.attr.max_cq = 65536;
	dev.attr.max_mw = 1000;
	dev.attr.device_cap_flags = IBV_DEVICE_MEM_MGT_EXTENSIONS |
				    IBV_DEVICE_MEM_WINDOW |
				    IBV_DEVICE_MEM_WINDOW_TYPE_2B;
	dev.odp = IBV_ODP_SUPPORT;
	dev.vectors = 8;
	dev.nports = 1;
	dev.port[0].state = IBV_PORT_ACTIVE;
	dev.port[0].phys_state = 5;
	dev.port[0].link_layer = IBV_LINK_LAYER_ETHERNET;
	dev.port[0].max_mtu = dev.port[0].active_mtu = IBV_MTU_4096;
	dev.inline_size = VB_INLINE;
	dev.limits.caps = FAB_CAP_SEND_INV | FAB_CAP_EXPOSE | FAB_CAP_BOUND;
	dev.limits.max_sge = 16;
	dev.limits.max_read_depth = 16;
	dev.caps.max_srq_wr = 32767;
	dev.caps.out_depth = dev.caps.in_depth = 16;
	add_addr("192.0.2.1", "eth0", 1);
	add_mtu("eth0", "9000\n");
	tree_link("class/infiniband/mlx5_0/device/driver",
		  "../../../bus/pci/drivers/mlx5_core");
	tree_put("class/infiniband/mlx5_0/device/numa_node", "1\n");
	tree_put("class/infiniband/mlx5_0/ports/1/rate",
		 "100 Gb/sec (4X EDR)\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gids/0",
		 "fe80:0000:0000:0000:0202:03ff:fe04:0506\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gid_attrs/types/0",
		 "IB/RoCE v1\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gids/1",
		 "0000:0000:0000:0000:0000:ffff:c000:0201\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gid_attrs/types/1",
		 "RoCE v2\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gid_attrs/ndevs/1", "eth0\n");
	tree_put("class/infiniband/mlx5_0/ports/1/gids/2",
		 "0000:0000:0000:0000:0000:0000:0000:0000\n");
	tree_put("class/infiniband/mlx5_0/ports/1/pkeys/0", "0xffff\n");
	tree_put("class/infiniband/mlx5_0/ports/1/pkeys/1", "0x8001\n");
	tree_put("class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence",
		 "12\n");
}

static void print(void (*fn)(FILE *, const struct vb_report_device *,
			     const struct vb_report_host *))
{
	FILE *f = fmemopen(said, sizeof(said), "w");

	fn(f, &dev, &host);
	fclose(f);
}

static bool says(const char *text)
{
	bool found = strstr(said, text);

	if (!found)
		fprintf(stderr, "no '%s' in:\n%s\n", text, said);
	return found;
}

static unsigned int warnings(void)
{
	unsigned int n = 0;

	for (const char *at = said; (at = strstr(at, "warning: ")); at++)
		n++;
	return n;
}

static void all(void)
{
	begin();
	print(vb_report_device);
	CU_ASSERT_TRUE(says("\ndevice mlx5_0\n  driver: mlx5_core\n"));
	CU_ASSERT_TRUE(says("  library: libmlx5.so.1.24.44.0\n"));
	CU_ASSERT_TRUE(says("  firmware: 16.35.4030\n"));
	CU_ASSERT_TRUE(says("  vendor 0x0002c9, part 4119, "));
	CU_ASSERT_TRUE(says("  NUMA node: 1\n"));
	CU_ASSERT_TRUE(says("  transport: RoCE, "));
	CU_ASSERT_TRUE(says("  completion vectors: 8\n"));
	CU_ASSERT_TRUE(says("max_qp 131072, "));
	CU_ASSERT_TRUE(says("  inline: 220 of the 220 octets asked for\n"));
	CU_ASSERT_TRUE(
		says(": MEM_MGT_EXTENSIONS MEM_WINDOW MEM_WINDOW_TYPE_2B\n"));
	CU_ASSERT_TRUE(says("  on-demand paging: yes\n"));
	CU_ASSERT_TRUE(says("    state: ACTIVE, physical LinkUp\n"));
	CU_ASSERT_TRUE(says("    link: Ethernet, 100 Gb/sec (4X EDR)\n"));
	CU_ASSERT_TRUE(says("    MTU: active 4096, at most 4096; "));
	CU_ASSERT_TRUE(
		says("    address: 192.0.2.1, interface eth0 with MTU 9000\n"));
	CU_ASSERT_TRUE(says("0506, IB/RoCE v1\n    GID 1: "));
	CU_ASSERT_TRUE(says("c000:0201, RoCE v2, interface eth0\n"));
	CU_ASSERT_PTR_NULL(strstr(said, "GID 2"));
	CU_ASSERT_TRUE(says("    P_Keys besides 0xffff: 0x8001\n"));
	CU_ASSERT_TRUE(says("    counters: out_of_sequence 12\n"));
	CU_ASSERT_TRUE(says("    remote invalidation: on\n"));
	CU_ASSERT_TRUE(says("    memory windows: on\n"));
	CU_ASSERT_TRUE(says("    shared receive queues: on\n"));
	CU_ASSERT_TRUE(says("    connections, by queue pairs: 65536\n"));
	CU_ASSERT_PTR_NULL(strstr(said, "locked"));
	CU_ASSERT_EQUAL(warnings(), 0);
	print(vb_report_brief);
	CU_ASSERT_STRING_EQUAL(
		said,
		"# Device mlx5_0: RoCE, driver mlx5_core, firmware 16.35.4030; port 1 ACTIVE, MTU 4096.\n"
		"#   At most 65536 connections; off: nothing.\n");
	tree_end();
}

static void features(void)
{
	begin();
	dev.limits.caps = FAB_CAP_BOUND;
	dev.caps.max_srq_wr = 0;
	print(vb_report_device);
	CU_ASSERT_TRUE(says(
		"    remote invalidation: off: its library is not known to send it\n"));
	CU_ASSERT_TRUE(says(
		"    memory windows: off: the driver has some of type 2, but "));
	CU_ASSERT_TRUE(
		says("    shared receive queues: off: the device has none\n"));
	dev.attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("off: the device has no memory management ext"));
	CU_ASSERT_TRUE(says(
		"    memory windows: off: the device has none of type 2\n"));
	dev.attr.device_cap_flags = 0;
	print(vb_report_brief);
	CU_ASSERT_TRUE(says(
		"; off: remote invalidation (the device has no memory management extensions), memory windows (the device has none).\n"));
	CU_ASSERT_EQUAL(warnings(), 0);
	tree_end();
}

static void few_sges(void)
{
	begin();
	dev.limits.max_sge = 3;
	dev.unfit = -EOPNOTSUPP;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("    not usable by provider verbs"));
	CU_ASSERT_TRUE(says(
		"  warning: 3 SGEs for a request: provider verbs needs 4\n"));
	CU_ASSERT_PTR_NULL(strstr(said, "memory windows:"));
	print(vb_report_brief);
	CU_ASSERT_TRUE(says("#   warning: 3 SGEs"));
	dev.limits.max_sge = 16;
	dev.unfit = -EOPNOTSUPP;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("    not usable by provider verbs"));
	CU_ASSERT_TRUE(says("warning: provider verbs cannot use it: "));
	tree_end();
}

static void mtu(void)
{
	static const struct {
		const char *interface;
		enum ibv_mtu active;
		const char *text;
	} rows[] = {
		{ "9000", IBV_MTU_4096, NULL },
		{ "4192", IBV_MTU_4096, NULL },
		{ "4191", IBV_MTU_2048,
		  "active MTU is 2048, because that of interface eth0 is 4191: 4096 needs at least 4192" },
		{ "1500", IBV_MTU_1024, "because that of interface eth0 is" },
		{ "1500", IBV_MTU_4096,
		  "packets of the active MTU, 4096, do not fit" },
		{ "9000", IBV_MTU_1024,
		  "the active MTU is 1024, though the MTU of interface eth0, 9000, has room for 4096" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin();
		add_mtu("eth0", rows[i].interface);
		dev.port[0].active_mtu = rows[i].active;
		print(vb_report_device);
		CU_ASSERT_EQUAL(warnings(), !!rows[i].text);
		CU_ASSERT_TRUE(!rows[i].text || says(rows[i].text));
		/* The smallest one counts, whichever comes first. */
		add_addr("192.0.2.9", "eth0.9", 1);
		add_mtu("eth0.9", "1500");
		print(vb_report_device);
		CU_ASSERT_EQUAL(warnings(), 1);
		CU_ASSERT_TRUE(says(strcmp(rows[i].interface, "1500") ?
					    "interface eth0.9" :
					    "interface eth0"));
		tree_end();
	}
	/* InfiniBand has an MTU of its own. */
	begin();
	add_mtu("eth0", "1500");
	dev.port[0].link_layer = IBV_LINK_LAYER_INFINIBAND;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("transport: InfiniBand"));
	CU_ASSERT_EQUAL(warnings(), 0);
	tree_end();
}

static void ports(void)
{
	begin();
	dev.nports = 2;
	dev.port[1] = dev.port[0];
	dev.port[1].state = IBV_PORT_DOWN;
	dev.port[1].phys_state = 3;
	tree_put("class/infiniband/mlx5_0/ports/2/gids/0",
		 "fe80:0000:0000:0000:0202:03ff:fe04:0507\n");
	tree_put("class/infiniband/mlx5_0/ports/2/gid_attrs/types/0",
		 "IB/RoCE v1\n");
	print(vb_report_device);
	CU_ASSERT_TRUE(says(
		"  warning: port 2 is DOWN (Disabled): nobody can connect by it\n"));
	CU_ASSERT_TRUE(says(
		"warning: port 2: none of its interfaces has an IP address\n"));
	CU_ASSERT_TRUE(says("warning: port 2 has no GID of RoCE v2"));
	CU_ASSERT_EQUAL(warnings(), 3);
	dev.port[1].state = 99;
	dev.port[1].phys_state = 200;
	print(vb_report_brief);
	CU_ASSERT_TRUE(says("port 1 ACTIVE, MTU 4096; port 2 unknown, "));
	tree_end();
}

static void iwarp(void)
{
	begin();
	dev.transport = IBV_TRANSPORT_IWARP;
	dev.caps.iwarp = dev.caps.sink_rights = true;
	dev.caps.max_srq_wr = 0;
	add_mtu("eth0", "1500");
	print(vb_report_device);
	CU_ASSERT_TRUE(says("transport: iWARP"));
	CU_ASSERT_TRUE(says("0506, iWARP\n"));
	CU_ASSERT_TRUE(
		says("shared receive queues: off: iWARP has nothing like RNR"));
	CU_ASSERT_TRUE(says("each part has a registration of its own"));
	CU_ASSERT_TRUE(says("warning: iwpmd does not run"));
	CU_ASSERT_EQUAL(warnings(), 1);
	host.iwpmd = true;
	print(vb_report_device);
	CU_ASSERT_EQUAL(warnings(), 0);
	dev.caps.sink_rights = false;
	dev.caps.siw = true;
	host.iwpmd = false;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("does not check the right to remote reading"));
	CU_ASSERT_EQUAL(warnings(), 1);
	tree_end();
}

static void locked_memory(void)
{
	begin();
	host.memlock = true;
	host.memlock_kib = 8192;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("    connections, by locked memory: 27\n"));
	CU_ASSERT_EQUAL(warnings(), 0);
	host.memlock_kib = 64;
	print(vb_report_device);
	CU_ASSERT_TRUE(says(
		"warning: the limit of locked memory, 64 KiB, is too low"));
	tree_end();
}

/* Nothing but what the library says: as with a driver that has no files. */
static void no_files(void)
{
	begin();
	host.sys = "/nonexistent";
	host.naddrs = 0;
	dev.inline_size = -1;
	print(vb_report_device);
	CU_ASSERT_TRUE(says("  driver: none (a virtual device)\n"));
	CU_ASSERT_TRUE(says("    link: Ethernet, rate unknown\n"));
	CU_ASSERT_TRUE(says("  inline: not known"));
	CU_ASSERT_EQUAL(warnings(), 1);
	tree_end();
}

static const struct unit_test tests[] = {
	{ "all", all },
	{ "features", features },
	{ "few SGEs", few_sges },
	{ "mtu", mtu },
	{ "ports", ports },
	{ "iwarp", iwarp },
	{ "locked memory", locked_memory },
	{ "no files", no_files },
	{ NULL, NULL },
};

UNIT_MAIN("verbs-report", tests)
