/* SPDX-License-Identifier: BSD-3-Clause */
/* What drivers count at their ports, in trees that have the files of each. */
#include "fabric/verbs/port_counters.h"
#include "fabric/verbs/sysfs.h"
#include "sysfs_tree.h"
#include "unit.h"

static struct fab_port port;

static bool look(const char *device, unsigned int n)
{
	return vb_port_counters_read(tree, device, n, &port);
}

#define HAS(kind) (port.has >> FAB_PORT_##kind & 1)
#define COUNT(kind) port.count[FAB_PORT_##kind]

static void mlx5(void)
{
	tree_begin();
	tree_put("mlx5_0/ports/1/hw_counters/packet_seq_err", "3\n");
	tree_put("mlx5_0/ports/1/hw_counters/roce_adp_retrans", "40\n");
	tree_put("mlx5_0/ports/1/hw_counters/local_ack_timeout_err", "5\n");
	tree_put("mlx5_0/ports/1/hw_counters/duplicate_request", "6\n");
	tree_put("mlx5_0/ports/1/hw_counters/rnr_nak_retry_err", "7\n");
	tree_put("mlx5_0/ports/1/hw_counters/out_of_buffer", "80\n");
	tree_put("mlx5_0/ports/1/hw_counters/out_of_sequence", "9\n");
	tree_put("mlx5_0/ports/1/hw_counters/np_cnp_sent", "10\n");
	tree_put("mlx5_0/ports/1/hw_counters/rp_cnp_handled", "100\n");
	tree_put("mlx5_0/ports/1/counters/port_xmit_discards", "11\n");
	tree_put("mlx5_0/ports/1/hw_counters/rx_read_requests", "12345\n");
	tree_put("mlx5_0/ports/2/state", "1: DOWN\n");
	CU_ASSERT_TRUE(look("mlx5_0", 1));
	CU_ASSERT_STRING_EQUAL(port.device, "mlx5_0");
	CU_ASSERT_EQUAL(port.port, 1);
	CU_ASSERT_EQUAL(port.has, (1u << FAB_NPORT_COUNTERS) - 1);
	CU_ASSERT_EQUAL(COUNT(retransmitted), 43);
	CU_ASSERT_EQUAL(COUNT(timeouts), 5);
	CU_ASSERT_EQUAL(COUNT(duplicates), 6);
	CU_ASSERT_EQUAL(COUNT(rnr), 87);
	CU_ASSERT_EQUAL(COUNT(out_of_sequence), 9);
	CU_ASSERT_EQUAL(COUNT(congestion), 110);
	CU_ASSERT_EQUAL(COUNT(discarded), 11);
	/* One that counts nothing, and one that is not there. */
	CU_ASSERT_TRUE(look("mlx5_0", 2));
	CU_ASSERT_EQUAL(port.has, 0);
	CU_ASSERT_FALSE(look("mlx5_0", 3));
	CU_ASSERT_FALSE(look("mlx5_1", 1));
	tree_end();
}

static void others(void)
{
	tree_begin();
	tree_put("bnxt_re0/ports/1/hw_counters/to_retransmits", "1\n");
	tree_put("bnxt_re0/ports/1/hw_counters/oos_drop_count", "2\n");
	tree_put("bnxt_re0/ports/1/hw_counters/rx_cnp_pkts", "3\n");
	CU_ASSERT_TRUE(look("bnxt_re0", 1));
	CU_ASSERT_EQUAL(COUNT(timeouts), 1);
	CU_ASSERT_EQUAL(COUNT(out_of_sequence), 2);
	CU_ASSERT_EQUAL(COUNT(congestion), 3);
	CU_ASSERT_FALSE(HAS(rnr));
	/* Names with blanks. */
	tree_put("irdma0/ports/1/hw_counters/Nak Sequence Error", "4\n");
	tree_put("irdma0/ports/1/hw_counters/RNR sent", "5\n");
	CU_ASSERT_TRUE(look("irdma0", 1));
	CU_ASSERT_EQUAL(COUNT(retransmitted), 4);
	CU_ASSERT_EQUAL(COUNT(rnr), 5);
	/* Counted for the device, and so once for all of its ports. */
	tree_put("cxgb4_0/hw_counters/ip4RetransSegs", "6\n");
	tree_put("cxgb4_0/hw_counters/ip6RetransSegs", "70\n");
	tree_put("cxgb4_0/ports/1/state", "4: ACTIVE\n");
	tree_put("cxgb4_0/ports/2/state", "4: ACTIVE\n");
	CU_ASSERT_TRUE(look("cxgb4_0", 1));
	CU_ASSERT_EQUAL(COUNT(retransmitted), 76);
	CU_ASSERT_TRUE(look("cxgb4_0", 2));
	CU_ASSERT_EQUAL(port.has, 0);
	tree_put("rxe0/ports/1/hw_counters/completer_retry_err", "8\n");
	tree_put("rxe0/ports/1/hw_counters/rcvd_seq_err", "9\n");
	tree_put("rxe0/ports/1/hw_counters/out_of_seq_request", "10\n");
	CU_ASSERT_TRUE(look("rxe0", 1));
	CU_ASSERT_EQUAL(COUNT(retransmitted), 8);
	CU_ASSERT_EQUAL(COUNT(out_of_sequence), 10);
	tree_end();
}

/* A device that is removed meanwhile, and files that are no numbers. */
static void nonsense(void)
{
	static const char *const texts[] = {
		"",    "-1\n", "many\n", "1 2\n",
		"N/A", " 5\n", "0x10\n", "99999999999999999999999\n"
	};

	tree_begin();
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		tree_put("d0/ports/1/hw_counters/RTO", texts[i]);
		CU_ASSERT_TRUE(look("d0", 1));
		CU_ASSERT_FALSE(HAS(timeouts));
	}
	tree_put("d0/ports/1/hw_counters/RTO", "18446744073709551615");
	CU_ASSERT_TRUE(look("d0", 1));
	CU_ASSERT_EQUAL(COUNT(timeouts), UINT64_MAX);
	tree_end();
}

static void files(void)
{
	char text[VB_SYSFS_LINE], longest[VB_SYSFS_PATH + 1];

	tree_begin();
	tree_put("d/line", "one\ttwo\nthree\n");
	CU_ASSERT_TRUE(vb_sysfs_line(text, sizeof(text), "%s/d/line", tree));
	CU_ASSERT_STRING_EQUAL(text, "one two");
	CU_ASSERT_TRUE(vb_sysfs_line(text, 4, "%s/d/line", tree));
	CU_ASSERT_STRING_EQUAL(text, "one");
	CU_ASSERT_FALSE(vb_sysfs_line(text, sizeof(text), "%s/d", tree));
	CU_ASSERT_STRING_EQUAL(text, "");
	tree_link("d/driver", "../../bus/pci/drivers/mlx5_core");
	CU_ASSERT_TRUE(vb_sysfs_link(text, sizeof(text), "%s/d/driver", tree));
	CU_ASSERT_STRING_EQUAL(text, "mlx5_core");
	CU_ASSERT_FALSE(vb_sysfs_link(text, sizeof(text), "%s/d/line", tree));
	memset(longest, 'x', VB_SYSFS_PATH);
	longest[VB_SYSFS_PATH] = '\0';
	CU_ASSERT_FALSE(vb_sysfs_exists("%s", longest));
	CU_ASSERT_TRUE(vb_sysfs_exists("%s/d/line", tree));
	tree_end();
}

static const struct unit_test tests[] = {
	{ "mlx5", mlx5 },   { "others", others }, { "nonsense", nonsense },
	{ "files", files }, { NULL, NULL },
};

UNIT_MAIN("verbs-ports", tests)
