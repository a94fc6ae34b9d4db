# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# ceph.sh - a Ceph cluster for a test: a monitor, an OSD in memory and an MDS
#
#	. "$(dirname "$0")/lib.sh"
#	. "$(dirname "$0")/ceph.sh"
#	isolate "$@"
#	start_ceph DIR [ADDRESS]	its file system is "site"; sets CEPH_CONF, and
#				CEPH_OSD and CEPH_MDS, process ids
#
# There are no keys. Who can reach its ports can do anything with it, so only a
# network of the test's own may have it. A test may stop an OSD for longer than 16
# seconds: beyond its heartbeat's grace it would answer nothing that had come before.

start_ceph() {
	local dir=$1 address=${2:-127.0.0.1} fsid osd

	mkdir -p "$dir/mon" "$dir/osd" "$dir/mds" || return
	fsid=$(cat /proc/sys/kernel/random/uuid)
	osd=$(cat /proc/sys/kernel/random/uuid)
	export CEPH_CONF=$dir/ceph.conf
	cat >"$CEPH_CONF" <<-END
	[global]
	fsid = $fsid
	mon_host = v2:$address:3300
	public_addr = $address
	cluster_addr = $address
	auth_cluster_required = none
	auth_service_required = none
	auth_client_required = none
	mon_data = $dir/mon
	mon_cluster_log_file = $dir/cluster.log
	mon_allow_pool_size_one = true
	osd_data = $dir/osd
	osd_heartbeat_grace = 3600
	osd_objectstore = memstore
	osd_crush_initial_weight = 1
	osd_crush_chooseleaf_type = 0
	osd_pool_default_size = 1
	osd_pool_default_pg_autoscale_mode = off
	mds_data = $dir/mds
	run_dir = $dir
	crash_dir = $dir
	admin_socket = $dir/\$name.\$pid.asok
	log_file = $dir/\$name.log
	END
	monmaptool --create --fsid "$fsid" --addv a "[v2:$address:3300]" "$dir/monmap" &&
		ceph-mon -i a --mkfs --monmap "$dir/monmap" || return
	start_bg ceph-mon -i a -f
	ceph --connect-timeout 60 osd new "$osd" &&
		ceph-osd -i 0 --mkfs --osd-uuid "$osd" || return
	start_bg ceph-osd -i 0 -f
	CEPH_OSD=$BG_PID
	start_bg ceph-mds -i a -f
	CEPH_MDS=$BG_PID
	ceph osd pool create meta 8 && ceph osd pool create data 8 &&
		ceph fs new site meta data &&
		await 60 mds_active
}
mds_active() { ceph mds stat | grep -q 'up:active'; }
