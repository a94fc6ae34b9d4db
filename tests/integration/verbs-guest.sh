#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verbs-guest.sh - the part of verbs.test that runs in the guest
#
#	verbs-guest.sh rxe|siw MODULE [PROGRAM [ARGUMENT...]]
#
# With PROGRAM, of the unit tests, that alone is run, else all.
#
# One host is the guest itself, with a device on d0 (10.9.0.1 and 10.9.1.1).
# The other, 10.9.1.2, is behind a veth pair: with siw, whose MODULE is a
# file (or empty), a network namespace that has the iwarp provider. rxe knows
# one namespace only, so there it is a second device, and rules of routing
# that keep the two apart.

kind=$1
module=${2:-}
only=("${@:3}")
build=${RPCRDMA_BUILD:?}
unit=$build/tests/unit
out=$(mktemp -d)
failed=0

ok() { echo "ok $1"; }
not_ok() { echo "not ok $1 ${*:2}"; failed=1; }

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

setup() {
	# The connection manager hears of a device's removal before the rest
	# does only if it came later.
	for m in ib_uverbs rdma_ucm iw_cm libcrc32c veth; do
		modprobe -q "$m"
	done
	case $kind in
	rxe)
		modprobe rdma_rxe || return
		device_peer
		rdma link add rxe1 type rxe netdev d1 || return
		;;
	siw)
		modprobe -q siw || insmod "$module" || return
		namespace_peer
		rdma link add siw1 type siw netdev lo || return
		;;
	esac
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

# Each test of a CUnit program, under the name PREFIX-test.
run() { # PREFIX PROGRAM ARGUMENT...
	local prefix=$1 log=$out/$1 status
	shift
	ASAN_OPTIONS=${ASAN_OPTIONS:-} timeout 400 "$@" >"$log" 2>&1
	status=$?
	awk -v p="$prefix" '
		/^  Test: / { name = $2; sub(/\.\.\.$/, "", name) }
		/passed$/ && name { print "ok " p "-" name; name = "" }
		/FAILED$/ && name { bad = name; name = "" }
		/^    1\. / && bad { print "not ok " p "-" bad " " $0; bad = "" }
	' "$log"
	if [ "$status" != 0 ]; then
		not_ok "$prefix" "status $status: $(grep -v '^$' "$log" |
			tail -n 12 | tr '\n' ' ' | cut -c1-600)"
	fi
}

if ! setup >"$out/setup" 2>&1; then
	echo "skip verbs-$kind no device: $(tail -n 1 "$out/setup")"
	exit 0
fi

export RPCRDMA_VERBS_ADDR=10.9.1.1 RPCRDMA_VERBS_DEVICE=${kind}0
export RPCRDMA_VERBS_REMOVE="rdma link delete ${kind}0"
export RPCRDMA_VERBS_ADD="rdma link add ${kind}0 type $kind netdev d0"
case $kind in
rxe)
	export RPCRDMA_VERBS_PEER=env RPCRDMA_VERBS_PEER_PROVIDER=verbs
	;;
siw)
	export RPCRDMA_VERBS_PEER="ip netns exec peer"
	export RPCRDMA_VERBS_PEER_PROVIDER=iwarp
	;;
esac
# Both ways, and without telling the sender: rxe would try for ever at once.
cut="root netem loss 100%"
export RPCRDMA_VERBS_CUT="tc qdisc replace dev d0 $cut &&
	$RPCRDMA_VERBS_PEER tc qdisc replace dev d1 $cut"
export RPCRDMA_VERBS_MEND="tc qdisc delete dev d0 root &&
	$RPCRDMA_VERBS_PEER tc qdisc delete dev d1 root"
all() {
	run "verbs-$kind" "$unit/provider_test" --provider verbs --addr 10.9.0.1
	case $kind in
	rxe)
		# Windows as devices have them, but for the flaws of rxe's.
		run verbs-rxe-windows "$unit/provider_test" --provider verbs \
			--addr 10.9.0.1 --windows any
		run verbs-rxe-ipv6 "$unit/provider_test" --provider verbs \
			--addr fd09::1 connect reject listen orderly send write read
		;;
	siw)
		# Two implementations of iWARP that know nothing of each other.
		run verbs-siw-to-iwarp "$unit/provider_test" --provider iwarp \
			--client verbs --addr 10.9.0.1
		run verbs-iwarp-to-siw "$unit/provider_test" --provider verbs \
			--client iwarp --addr 10.9.0.1
		;;
	esac
	run "verbs-$kind-events" "$unit/unit-verbs-events"
}

if [ ${#only[@]} -gt 0 ]; then
	"$unit/${only[0]}" "${only[@]:1}" || failed=1
else
	all
fi
if dmesg | grep -E 'BUG:|Oops|general protection|refcount_t:' >"$out/kernel"; then
	not_ok "verbs-$kind-kernel" "$(head -n 1 "$out/kernel")"
fi
rm -rf "$out"
exit "$failed"
