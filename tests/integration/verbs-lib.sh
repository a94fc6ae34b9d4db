# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# verbs-lib.sh - hosts and software devices for the tests in a guest
#
#	. "$(dirname "$0")/verbs-lib.sh"
#	setup				wants $kind (rxe, siw) and $module
#
# One host is the guest itself, with a device on d0 (10.9.0.1 and 10.9.1.1)
# and another on o0 (10.9.2.1), which reaches nobody else.
# The other, 10.9.1.2, is behind a veth pair: with siw, whose $module is a
# file (or empty), a network namespace that has the iwarp provider. rxe knows
# one namespace only, so there it is a second device, and rules of routing
# that keep the two apart.

namespace_peer() {
	ip netns add peer
	ip link add d0 type veth peer name d1 netns peer
	ip -n peer link set lo up
	ip -n peer address add 10.9.1.2/24 dev d1
	ip -n peer link set d1 mtu 9000 up
	ip address add 10.9.1.1/24 dev d0
}
device_peer() {
	ip link add d0 type veth peer name d1
	ip address add 10.9.1.1/32 dev d0
	ip address add 10.9.1.2/32 dev d1
	ip link set d1 mtu 9000 up
	for dev in all d0 d1; do
		echo 1 >/proc/sys/net/ipv4/conf/$dev/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$dev/rp_filter
	done
	ip link set d0 mtu 9000 up
	ip route add 10.9.1.2 dev d0 src 10.9.1.1 table 100
	ip route add 10.9.1.1 dev d1 src 10.9.1.2 table 101
	ip neighbour replace 10.9.1.2 dev d0 nud permanent \
		lladdr "$(cat /sys/class/net/d1/address)"
	ip neighbour replace 10.9.1.1 dev d1 nud permanent \
		lladdr "$(cat /sys/class/net/d0/address)"
	# What comes in at one is for it; the way to each is through the other.
	ip rule add pref 10 iif d0 to 10.9.1.2 lookup 100
	ip rule add pref 11 iif d1 to 10.9.1.1 lookup 101
	ip rule add pref 12 iif d0 lookup local
	ip rule add pref 13 iif d1 lookup local
	ip rule add pref 20 to 10.9.1.2 lookup 100
	ip rule add pref 21 to 10.9.1.1 lookup 101
	ip rule add pref 100 lookup local
	ip rule del pref 0
}

# An address with two ways to the net; only one is used at a time.
bond() {
	modprobe bonding max_bonds=0
	ip link add b0 type bond mode active-backup fail_over_mac active
	for dev in b1 b2; do
		ip link add "$dev" type dummy
		ip link set "$dev" master b0
	done
	ip address add 10.9.3.1/24 dev b0
	ip link set b0 mtu 9000 up
	ip link set b0 type bond active_slave b1
	rdma link add rxe3 type rxe netdev b0 || return
	export RPCRDMA_VERBS_BOND=10.9.3.1
	export RPCRDMA_VERBS_MOVE="ip link set b0 type bond active_slave b2"
}

setup() {
	# The connection manager hears of a device's removal before the rest
	# does only if it came later.
	for m in ib_uverbs rdma_ucm iw_cm libcrc32c veth dummy sch_netem \
		sch_ingress cls_u32 act_gact; do
		modprobe -q "$m"
	done
	case $kind in
	rxe)
		modprobe rdma_rxe || return
		device_peer
		rdma link add rxe1 type rxe netdev d1 || return
		bond
		;;
	siw)
		modprobe -q siw || insmod "$module" || return
		namespace_peer
		rdma link add siw1 type siw netdev lo || return
		;;
	esac
	ip link add o0 type dummy
	ip address add 10.9.2.1/24 dev o0
	ip link set o0 mtu 9000 up
	rdma link add "${kind}2" type "$kind" netdev o0 || return
	ip address add 10.9.0.1/24 dev d0
	ip address add fd09::1/64 dev d0 nodad
	ip link set d0 mtu 9000 up
	ulimit -l unlimited
	rdma link add "${kind}0" type "$kind" netdev d0 || return
	for ((i = 0; i < 50; i++)); do
		if rdma link show "${kind}0/1" | grep -q ACTIVE; then return; fi
		sleep 0.2
	done
	return 1
}
