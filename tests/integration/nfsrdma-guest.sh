#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# nfsrdma-guest.sh - the part of nfsrdma.test that runs in the guest
#
#	nfsrdma-guest.sh rxe '' [PART...]	client and server on an rxe each
#	nfsrdma-guest.sh siw MODULE [PART...]	client on siw, server on iwarp
#
# PART: versions, many, capture, random, restart, delegation, trunk; without any, all. Or
# brief, for the least of each version (RPCRDMA_VERSIONS, if not all of them); or
# workloads, for workloads.sh alone.
#
# The client is the guest itself, with a device on d0 (10.9.1.1), for devices
# serve the first network namespace only. The server is at the other end of
# that link, 10.9.1.2 and 10.9.2.1 to 10.9.2.16: with iwarp in namespace
# "peer"; with rxe in the same namespace, where rules of routing keep the two
# apart. A second client, in namespace "two", comes to the same server by TCP.

RPCRDMA_ISOLATED=1 # the guest is for this alone
export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"
kind=$1
module=${2:-}
parts=" ${*:3} "
[ $# -gt 2 ] || parts=" versions many capture random restart delegation trunk "
wanted() { [[ $parts == *" $1 "* ]]; }

# ---- Network ---------------------------------------------------------------

iwarp_server() {
	ip netns add peer
	ip link add d0 type veth peer name d1 netns peer
	ip address add 10.9.1.1/24 dev d0
	ip -n peer link set lo up
	ip -n peer address add 10.9.1.2/24 dev d1
	for ((i = 1; i <= 16; i++)); do
		echo "address add 10.9.2.$i/32 dev d1"
	done | ip -n peer -batch -
	ip -n peer link set d1 mtu 9000 up
	ip link set d0 mtu 9000 up
	ip route add 10.9.2.0/24 dev d0 src 10.9.1.1
	# Ganesha takes addresses for those of one server if the last 32 bits are the same,
	# but all of a client for different ones.
	ip address add fd09:1::1/64 dev d0 nodad
	ip -n peer address add fd09:1::2/64 dev d1 nodad
	ip -n peer address add fd09:2::2/128 dev d1 nodad
	ip route add fd09:2::2 dev d0 src fd09:1::1
	ip link add two0 netns two type veth peer name two1 netns peer
	ip -n peer address add 10.9.3.2/24 dev two1
	ip -n peer link set two1 up
	GANESHA_WRAP="nsenter --net=/run/netns/peer ${GANESHA_WRAP:-}"
}

rxe_server() {
	local addresses=(10.9.1.2) dev mac
	for ((i = 1; i <= 16; i++)); do addresses+=("10.9.2.$i"); done
	ip link add d0 type veth peer name d1
	ip address add 10.9.1.1/32 dev d0
	for dev in all d0 d1; do
		echo 1 >/proc/sys/net/ipv4/conf/$dev/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/$dev/rp_filter
	done
	# A packet is taken in on the processor that sent it. rxe sends those of
	# a queue pair on any, and takes one overtaken for lost; to repeat may
	# end a connection of Linux' client, or hold a Call up for a minute. So
	# each end takes in on one.
	echo 1 >/sys/class/net/d0/queues/rx-0/rps_cpus
	echo $(($(nproc) > 1 ? 2 : 1)) >/sys/class/net/d1/queues/rx-0/rps_cpus
	ip link set d0 mtu 9000 up
	ip link set d1 mtu 9000 up
	ip address add 10.9.1.2/32 dev d1
	ip route add 10.9.1.1 dev d1 src 10.9.1.2 table 101
	ip neighbour replace 10.9.1.1 dev d1 nud permanent \
		lladdr "$(cat /sys/class/net/d0/address)"
	# What comes in at one end is for it; the way to the other is the link.
	ip rule add pref 11 iif d1 to 10.9.0.0/16 lookup local
	ip rule add pref 13 iif d0 to 10.9.1.1 lookup local
	ip rule add pref 21 to 10.9.1.1 lookup 101
	mac=$(cat /sys/class/net/d1/address)
	for i in "${addresses[@]}"; do
		echo "address replace $i/32 dev d1"
		echo "route add $i dev d0 src 10.9.1.1 table 100"
		echo "neighbour replace $i dev d0 nud permanent lladdr $mac"
		echo "rule add pref 20 to $i lookup 100"
	done | ip -batch -
	ip rule add pref 100 lookup local
	ip rule del pref 0
	ip link add two0 netns two type veth peer name two1
	ip address add 10.9.3.2/24 dev two1
	ip link set two1 up
	rdma link add rxe1 type rxe netdev d1
}

network() {
	for m in rdma_cm iw_cm ib_uverbs libcrc32c veth; do modprobe -q "$m"; done
	ip netns add two
	ip -n two link set lo up
	case $kind in
	siw)
		modprobe -q siw || insmod "$module" || return
		iwarp_server || return
		PROVIDER=iwarp
		;;
	rxe)
		modprobe rdma_rxe && modprobe rdma_ucm && modprobe ib_uverbs || return
		rxe_server || return
		PROVIDER=verbs
		ulimit -l unlimited
		;;
	esac
	ip -n two address add 10.9.3.1/24 dev two0
	ip -n two link set two0 up
	rdma link add "${kind}0" type "$kind" netdev d0 || return
	await 10 bash -c "rdma link show ${kind}0/1 | grep -q ACTIVE"
}

if ! network >"$WORK/network" 2>&1; then
	skip "nfsrdma-$kind" "no device: $(tail -n 1 "$WORK/network")"
	finish
fi

# mounted VERS [ADDRESS [WHERE [OPTIONS]]]
mounted() {
	local options=vers=$1,proto=rdma,port=$RDMA_PORT${4:+,$4}
	[ "$1" != 3 ] || options+=,nolock,mountproto=tcp,mountport=$MNT_PORT
	[[ ${2:-} != *:* ]] || options+=,proto=rdma6
	within 400 mount -t nfs -o "$options" "${2:-10.9.1.2}:/export" "${3:-$MNT}"
}
# by_rdma [NUMBER]: each of its transports, of which it has so many
by_rdma() {
	awk -v at="$MNT" -v wanted="${1:-1}" '$1 == "device" { here = $5 == at }
		here && $1 == "xprt:" { if ($2 == "rdma") n++; else others++ }
		END { if (n != wanted || others) { print n " by RDMA"; exit 1 } }' \
		/proc/self/mountstats
}

GANESHA_BIND=0.0.0.0
if ! start_ganesha "$WORK/ganesha" "$DATA" "Provider = $PROVIDER;"; then
	not_ok "$kind-start" "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	finish
fi
SECOND_MOUNT="proto=tcp,port=$NFS_PORT 10.9.3.2:/export"
# by_tcp COMMAND...: one by which the second client comes. What newer kernels ask
# for, and Ganesha gets wrong, is put right for RDMA alone (src/ntirpc/quirks/withheld.h):
# so neither may ask for delegations of directories meanwhile, and the second does
# not come by NFSv4.2 to read what is there, which is done by READ_PLUS.
by_tcp() {
	local asks=/sys/module/nfsv4/parameters/directory_delegations status=0
	[ ! -e "$asks" ] || echo N >"$asks"
	"$@" || status=$?
	[ ! -e "$asks" ] || echo Y >"$asks"
	return "$status"
}
make_patterns
resident
if [ "$kind" = rxe ]; then
	# FSAL_VFS lends its workers to users; the device is then closed to them.
	check rxe-own-threads grep 'each poller has a thread of its own' "$GANESHA_LOG"
fi

# A mount waits for ever for a server that has died: say how it did, and end.
# Where it did, the kernel says; and gdb, if it is here.
ulimit -c unlimited
echo "$WORK/core" >/proc/sys/kernel/core_pattern
echo 0 >/proc/sys/kernel/core_uses_pid
still_serving() {
	local status
	kill -0 "$GANESHA_PID" 2>/dev/null && return
	wait "$GANESHA_PID"
	status=$?
	if [ -e "$WORK/core" ] && command -v gdb >/dev/null; then
		timeout 300 gdb -batch -ex bt "$GANESHA_BIN" "$WORK/core" 2>/dev/null |
			grep -E '^#' | sed 's/^/# /'
	fi
	not_ok "$kind-server-v$1" "ended with status $status: $(dmesg |
		grep -E 'segfault|traps:|Code:' | tail -n 3 | tr '\n' ' ') $(tail -q -n 3 \
		"$WORK/ganesha/stderr" "$GANESHA_LOG" | tr '\n' ' ')"
	umount -lf "$MNT"
	finish
}

if wanted workloads; then
	# shellcheck source=tests/integration/workloads.sh
	. "$HERE/workloads.sh"
	finish
fi

# ---- What a third party reads of it ------------------------------------------

# All versions are captured, if they are tested, else two of them. It is read outside
# (nfsrdma_capture.py), where that is faster: /host has the capture, and beside it
# what the server has counted meanwhile.
totals() {
	python3 - "$GANESHA_STATS" <<-'END'
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(60)
	s.connect(sys.argv[1])
	with s.makefile() as f:
	    print(json.dumps(json.load(f)))
	END
}
capture_begins() {
	totals >"$WORK/before" || return 1
	dumpcap -q -P -i d0 -f "tcp port $RDMA_PORT" -B 64 -w "$WORK/capture" \
		2>"$WORK/dumpcap" &
	dumpcap=$!
	CLEANUP_PIDS+=("$dumpcap")
	await 200 test -s "$WORK/capture" || {
		cat "$WORK/dumpcap"
		return 2
	}
}
capture_ends() {
	await 150 stats "$GANESHA_STATS" 'connections_now == 0' || return 7
	captured_all "$WORK/capture"
	end_pid "$dumpcap"
	grep dropped "$WORK/dumpcap"
	totals >"$WORK/after" || return 8
}
captured_once() {
	local vers
	capture_begins || return
	for vers in 3 4.1; do
		mounted $vers || return 3
		files_in && uncached && files_out || return 4
		tree && large_directory && odd_direct && names || return 5
		emptied && within 200 umount "$MNT" || return 6
	done
	capture_ends
}
# What dumpcap has dropped under load nobody can read: then it is done again.
captured() {
	local try
	for try in 1 2 3; do
		if [ "$try$capturing" = 11 ]; then
			capture_ends || return
		else
			captured_once || return
		fi
		! grep -q "dropped on.*: [0-9]*/[1-9]" "$WORK/dumpcap" || continue
		python3 - "$WORK/before" "$WORK/after" >/host/capture.json <<-'END' || return 9
		import json, sys
		before, after = (json.load(open(path))["totals"] for path in sys.argv[1:])
		print(json.dumps({"totals": {k: after[k] - before[k] for k in after}}))
		END
		cp "$WORK/capture" /host/capture
		return
	done
	return 10
}
capturing= # 1: it has begun, 0: it is to begin
if [ "$kind" != siw ] || ! wanted capture || ! grep -q ' /host ' /proc/self/mounts; then
	:
elif ! command -v dumpcap >/dev/null; then
	skip "$kind-capture" "dumpcap is not installed"
elif wanted versions && capture_begins >"$WORK/begins" 2>&1; then
	capturing=1
else
	capturing=0
fi

# ---- Each version ------------------------------------------------------------

for vers in ${RPCRDMA_VERSIONS:-3 4.0 4.1 4.2}; do
	wanted versions || wanted brief || break
	if ! mounted $vers >"$WORK/why" 2>&1; then
		not_ok "$kind-mount-v$vers" "$(tail -n 1 "$WORK/why")"
		continue
	fi
	ok "$kind-mount-v$vers"
	check "$kind-by-rdma-v$vers" by_rdma
	check "$kind-in-v$vers" files_in
	check "$kind-out-v$vers" files_out
	if wanted versions; then
		check "$kind-direct-v$vers" direct
		check "$kind-direct-odd-v$vers" odd_direct
		check "$kind-mapped-v$vers" mapped
		check "$kind-tree-v$vers" tree
		check "$kind-large-directory-v$vers" large_directory
		check "$kind-names-v$vers" names
		if [ $vers != 3 ]; then check "$kind-two-clients-v$vers" by_tcp two_clients "$vers" "${vers/4.2/4.1}"; fi
		still_serving $vers
		if [ $vers = 4.2 ]; then check "$kind-allocate-v4.2" sparse; fi
	fi
	# To free a lock is another operation in 4.0 than since. Of Ganesha 6.5 a
	# client of 4.0 must not wait for one: it ends the server. One of 4.1 is
	# called back, but not always so soon that it does not wait for long.
	if [ $vers = 4.0 ] || [ $vers = 4.1 ]; then
		alone=8
		! ganesha_at_least 6.5 || alone=70
		! ganesha_at_least 6.5 || [ $vers != 4.0 ] || alone=0
		check "$kind-locks-v$vers" kernel_io locks "$MNT/count" 70 $alone
		still_serving $vers
	fi
	# All of it by version 1, and nobody has complained.
	check "$kind-statistics-v$vers" stats "$GANESHA_STATS" \
		'connections_now > 0' 'all(c["version"] == 1 for c in connections)' \
		'totals["read_bytes"] > 3000000' 'totals["write_bytes"] > 3000000' \
		'totals["invalidations_sent"] > 0' 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] == 0'
	# A Ganesha with RDMA of its own reads into memory that a device can send from.
	case $kind-${GANESHA_RELEASE:-} in
	rxe-*+rdma)
		check "$kind-not-copied-v$vers" stats "$GANESHA_STATS" \
			'totals["copied_bytes"] < 100000'
		;;
	esac
	check "$kind-remove-v$vers" emptied
	check "$kind-unmount-v$vers" within 200 umount "$MNT"
	wanted versions || continue
	check "$kind-mount-again-v$vers" mounted $vers
	check "$kind-empty-again-v$vers" test -z "$(ls "$MNT")"
	check "$kind-unmount-again-v$vers" within 200 umount "$MNT"
done

if [ -n "$capturing" ]; then check "$kind-capture" captured; fi

# ---- At random, against a model ----------------------------------------------------

# Two hosts, by their names: each has a client's identity and a cache of its own.
second_mounted() { # VERS
	unshare --uts bash -c "echo second >/proc/sys/kernel/hostname && $(declare -f within mounted)
		RDMA_PORT=$RDMA_PORT MNT_PORT=$MNT_PORT mounted $1 10.9.2.1 '$SECOND'"
}
for vers in ${RPCRDMA_VERSIONS:-3 4.0 4.1 4.2}; do
	wanted random || break
	check "$kind-random-mount-v$vers" mounted $vers
	check "$kind-random-second-mount-v$vers" second_mounted $vers
	check "$kind-random-v$vers" random $vers
	still_serving $vers
	check "$kind-random-statistics-v$vers" stats "$GANESHA_STATS" \
		'connections_now > 1' 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] == 0'
	check "$kind-random-remove-v$vers" emptied
	check "$kind-random-unmount-v$vers" within 200 umount "$MNT" "$SECOND"
done

# ---- 16 mounts at once ---------------------------------------------------------

# By NFSv3 each address has a connection of its own.
one_of_many() { # NUMBER
	local vers=3 at=$WORK/many/$1
	case $1 in
	1 | 2) vers=4.0 ;;
	3 | 4) vers=4.1 ;;
	5 | 6) vers=4.2 ;;
	esac
	mkdir -p "$at"
	mounted $vers "10.9.2.$1" "$at" && within 400 cp "$LOCAL/65537" "$at/many-$1" &&
		: >"$WORK/many/$1.written"
}
many() {
	local i pids=() status=0
	for ((i = 1; i <= 16; i++)); do
		one_of_many $i >"$WORK/many-$i" 2>&1 &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || status=1; done
	for ((i = 1; i <= 16; i++)); do
		if [ ! -e "$WORK/many/$i.written" ]; then
			echo "mount $i: $(tail -n 1 "$WORK/many-$i")"
			status=2
		fi
	done
	stats "$GANESHA_STATS" 'connections_now >= 13' "$@" || status=3
	uncached
	for ((i = 1; i <= 16; i++)); do
		cmp "$LOCAL/65537" "$DATA/many-$i" &&
			within 400 cmp "$LOCAL/65537" "$WORK/many/$i/many-$i" || status=4
	done
	for ((i = 1; i <= 16; i++)); do within 400 umount "$WORK/many/$i" || status=5; done
	rm -f "$DATA"/many-*
	return $status
}
# On rxe with far fewer Receives for all of them than each has credits for: what
# finds none is sent again.
few_receives() {
	stop_ganesha || return 1
	sed -i 's/Provider = verbs;/& Shared_Receives = 100;/' \
		"$WORK/ganesha/ganesha.conf"
	run_ganesha "$WORK/ganesha" || return 2
	many 'shared_receives["promised"] > 13 * 64' \
		'100 <= shared_receives["posted"] < 150' || return 3
	sed -i 's/Shared_Receives = 100;//' "$WORK/ganesha/ganesha.conf"
}
if wanted many; then
	case $kind in
	siw) check "$kind-16-mounts" many ;;
	rxe) check "$kind-16-mounts" few_receives ;;
	esac
fi
check "$kind-quiet" await 150 stats "$GANESHA_STATS" 'connections_now == 0' \
	'pool["bytes_in_use"] == 0'

# ---- The server goes and comes back ----------------------------------------

# Open files of NFSv4 are reclaimed within the grace period.
sed -i 's/Graceless = true/Graceless = false; Grace_Period = 8; Lease_Lifetime = 8/' \
	"$WORK/ganesha/ganesha.conf"

more_records() { # NUMBER
	[ "$(wc -l <"$WORK/log")" -ge "$1" ]
}
restarted() {
	local writer
	rm -f "$WORK/log" "$WORK/log.stop"
	: >"$WORK/log"
	within 200 cp "$LOCAL/3000001" "$MNT/before" || return 1
	kernel_io records "$MNT/records" "$WORK/log" &
	writer=$!
	CLEANUP_PIDS+=("$writer")
	await 120 more_records 30 || return 2
	kill -KILL "$GANESHA_PID"
	wait "$GANESHA_PID" 2>/dev/null
	run_ganesha "$WORK/ganesha" || return 3
	await 300 more_records $(($(wc -l <"$WORK/log") + 30)) || return 4
	: >"$WORK/log.stop"
	wait "$writer" || return 5
	uncached
	kernel_io recorded "$DATA/records" "$WORK/log" &&
		kernel_io recorded "$MNT/records" "$WORK/log" &&
		within 400 cmp "$MNT/before" "$LOCAL/3000001" &&
		within 200 cp "$LOCAL/65537" "$MNT/after" &&
		cmp "$LOCAL/65537" "$DATA/after"
}
# NFSv4.1 has state to reclaim, NFSv3 has none.
for vers in 3 4.1; do
	wanted restart || break
	if mounted $vers >"$WORK/why" 2>&1; then
		check "$kind-restart-v$vers" restarted
		check "$kind-restart-remove-v$vers" emptied
		check "$kind-restart-unmount-v$vers" within 200 umount "$MNT"
	else
		not_ok "$kind-restart-v$vers" "$(tail -n 1 "$WORK/why")"
	fi
done

# ---- A delegation is recalled ------------------------------------------------

check "$kind-server-end-first" stop_ganesha
the_end() {
	if dmesg | grep -E 'changed security contexts|BUG:|Oops|general protection|refcount_t:|rpcrdma:' \
		>"$WORK/kernel"; then
		not_ok "$kind-kernel" "$(head -n 1 "$WORK/kernel")"
	else
		ok "$kind-kernel"
	fi
	finish
}
if ! wanted delegation && ! wanted trunk; then the_end; fi

LEASE=$RPCRDMA_BUILD/tests/tools/librpcrdma-test-lease.so
sed -i -e 's/Graceless = false.*;/Graceless = true; Delegations = true;/' \
	-e 's/Squash = none;/Squash = none; Delegations = RW;/' "$WORK/ganesha/ganesha.conf"
GANESHA_WRAP+=" env LD_PRELOAD=$(bare "$LEASE")"

# The client has the file open, and the other writes to it: it has to wait
# until the delegation is given back, which the server asks for by a reverse
# Call. Then the first sees what was written.
recalled() { # VERS [COMMAND...], which is run when it has been given
	local name=delegated-$SECONDS
	local file=$MNT/$name
	echo first >"$DATA/$name"
	exec 8<"$file" || return 1
	[ "$(cat <&8)" = first ] || return 2
	"${@:2}" || return 5
	within 400 ip netns exec two bash -c "
		mount -t nfs -o vers=$1,$SECOND_MOUNT $MNT &&
		echo second >$file && umount $MNT" || return 3
	exec 8<&-
	[ "$(within 200 cat "$file")" = second ] && [ "$(cat "$DATA/$name")" = second ]
}

# ---- Several connections -----------------------------------------------------

kernel_at_least() { printf '%s\n' "$1" "$(uname -r)" | sort -VC; }
connections() { await 100 stats "$GANESHA_STATS" "connections_now == $1" "${@:2}"; }
several() { # TRANSPORTS [CONNECTIONS]: of the mount, and of all; all are used
	within 200 bash -c "for i in 1 2 3; do cp '$LOCAL/1048577' '$MNT/one-'\$i & done; wait" &&
		files_in && uncached && files_out && by_rdma "$1" || return 1
	connections "${2:-$1}" 'totals["errors_sent"] == 0' 'totals["dropped"] == 0' \
		"all(c['stats']['calls_received'] > 5 for c in connections)"
}
# One ends, the others go on: that which has carried callbacks, or (not) another.
evicted() { # ''|not
	local peer
	peer=$(python3 - "$GANESHA_STATS" "$1" <<-'END'
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.connect(sys.argv[1])
	print(next(c["peer"] for c in json.load(s.makefile())["connections"]
	           if (c["stats"]["reverse_calls_sent"] > 0) != (sys.argv[2] == "not")))
	END
	) && "$RPCRDMA_BUILD/bin/rpcrdma-ctl" evict "$peer"
}
# The client goes on working meanwhile: only then SEQUENCE tells it soon.
working() { # COMMAND...
	local worker status=0
	rm -f "$WORK/rest"
	( until [ -e "$WORK/rest" ]; do stat -f "$MNT" >/dev/null; sleep 0.2; done ) &
	worker=$!
	CLEANUP_PIDS+=("$worker")
	"$@" || status=$?
	: >"$WORK/rest"
	wait "$worker"
	return "$status"
}
# called_back NAME CONNECTIONS: with all of them; when one has ended; when that has which
# carried the callbacks, and the client has bound another one
called_back() {
	check "$kind-$1" several "$2"
	check "$kind-$1-recall" by_tcp working recalled 4.1
	[ "$2" = 1 ] || check "$kind-$1-recall-another" by_tcp working recalled 4.1 evicted not
	check "$kind-$1-recall-ended" by_tcp working recalled 4.1 evicted ''
	check "$kind-$1-by-another" stats "$GANESHA_STATS" \
		'any(c["stats"]["reverse_calls_sent"] for c in connections)'
	still_serving 4.1
	check "$kind-$1-again" several "$2"
	check "$kind-$1-not-revoked" bash -c "! grep -E 'Revoking|CB channel down' '$GANESHA_LOG'"
	check "$kind-$1-remove" emptied
}
unmounted() { # WHERE...: no connection stays
	within 200 umount "$@" && connections 0
}
trunked() {
	local also=$WORK/also n
	mkdir -p "$also"
	check "$kind-addresses-mount" mounted 4.1 10.9.1.2 "$MNT" max_connect=4,trunkdiscovery
	check "$kind-addresses-second" mounted 4.1 10.9.2.1 "$also" max_connect=4,trunkdiscovery
	check "$kind-addresses" several 1 2
	check "$kind-addresses-unmount" unmounted "$also" "$MNT"
	if [ "$kind" = siw ]; then
		check "$kind-trunk-mount" mounted 4.1 [fd09:1::2] "$MNT" max_connect=4,trunkdiscovery
		check "$kind-trunk-second" mounted 4.1 [fd09:2::2] "$also" max_connect=4,trunkdiscovery
		called_back trunk 2
		check "$kind-trunk-unmount" unmounted "$also" "$MNT"
	fi
	check "$kind-nconnect-mount-v3" mounted 3 10.9.1.2 "$MNT" nconnect=4
	check "$kind-nconnect-v3" several 4
	check "$kind-nconnect-remove-v3" emptied
	check "$kind-nconnect-unmount-v3" unmounted "$MNT"
	# Before 6.9 Linux has one connection of NFSv4 over RDMA, whatever it is told.
	n=1
	! kernel_at_least 6.9 || n=4
	check "$kind-nconnect-mount" mounted 4.1 10.9.1.2 "$MNT" nconnect=4
	called_back nconnect $n
	check "$kind-nconnect-unmount" unmounted "$MNT"
}

serve_delegations() {
	run_ganesha "$WORK/ganesha" && return
	not_ok "$kind-delegation-start" "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	finish
}
if wanted trunk; then
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$WORK/bus
	start_bg dbus-daemon --config-file=/usr/share/dbus-1/system.conf --nofork \
		--nopidfile --nosyslog "--address=$DBUS_SYSTEM_BUS_ADDRESS" 2>"$WORK/bus.log"
	await 100 test -S "$WORK/bus"
	[ "$kind" != siw ] || sed -i.one \
		"s/Provider = iwarp;/& Bind_Addr = 10.9.1.2, 10.9.2.1, \"fd09:1::2\", \"fd09:2::2\";/" \
		"$WORK/ganesha/ganesha.conf"
	serve_delegations
	trunked
	[ "$kind" != siw ] || mv "$WORK/ganesha/ganesha.conf.one" "$WORK/ganesha/ganesha.conf"
	check "$kind-server-end-trunk" stop_ganesha
fi
if ! wanted delegation; then the_end; fi
serve_delegations
calls=0
versions=(4.1)
[ "$kind" = rxe ] || versions+=(4.2)
for vers in "${versions[@]}"; do
	check "$kind-delegation-mount-v$vers" mounted $vers
	check "$kind-delegation-v$vers" by_tcp recalled $vers
	still_serving "$vers"
	calls=$((calls + 1))
	check "$kind-called-back-v$vers" stats "$GANESHA_STATS" \
		'all(c["version"] == 1 for c in connections)' \
		"totals['reverse_calls_sent'] == $calls" 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] == 0'
	check "$kind-delegation-remove-v$vers" emptied
	check "$kind-delegation-unmount-v$vers" within 200 umount "$MNT"
done
# A client of NFSv4.0 by RDMA names no address that Ganesha could call: it
# gets no delegation, and nobody waits for one.
check "$kind-delegation-mount-v4.0" mounted 4.0
check "$kind-no-delegation-v4.0" by_tcp recalled 4.0
still_serving 4.0
check "$kind-not-called-back-v4.0" stats "$GANESHA_STATS" \
	"totals['reverse_calls_sent'] == $calls"
check "$kind-delegation-unmount-v4.0" within 200 umount "$MNT"

# The connection by which a delegation came has ended, for it was idle. The
# client has another one as soon as it renews its lease, hears that it has no
# back channel, binds this one to its session, and is called back by it.
followed() { # VERS
	local file=$MNT/followed-$1 held=$WORK/held
	rm -f "$held"
	echo first >"$DATA/followed-$1"
	# Not this shell: it would hang with the file.
	(
		exec 8<"$file"
		cat <&8 >"$held"
		exec sleep 600
	) &
	local holder=$!
	CLEANUP_PIDS+=("$holder")
	await 200 test -s "$held" || return 1
	[ "$(cat "$held")" = first ] || return 2
	await 200 stats "$GANESHA_STATS" 'connections_now == 0' || return 3
	within 400 ip netns exec two bash -c "
		mount -t nfs -o vers=$1,$SECOND_MOUNT $MNT &&
		echo second >$MNT/followed-$1 && umount $MNT" || return 4
	kill "$holder"
	wait "$holder" 2>/dev/null
	[ "$(within 200 cat "$file")" = second ] || return 5
	! grep -E 'evok|CB channel down' "$GANESHA_LOG"
}
if stop_ganesha; then ok "$kind-server-end-again"; else not_ok "$kind-server-end-again" "status $?"; fi
sed -i -e 's/Graceless = true;/& Lease_Lifetime = 40;/' \
	-e "s/Provider = $PROVIDER;/& Idle_Timeout = 5;/" "$WORK/ganesha/ganesha.conf"
if ! run_ganesha "$WORK/ganesha"; then
	not_ok "$kind-delegation-start-again" "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	finish
fi
calls=0
for vers in "${versions[@]}"; do
	check "$kind-followed-mount-v$vers" mounted $vers
	check "$kind-followed-v$vers" by_tcp followed $vers
	still_serving "$vers"
	calls=$((calls + 1))
	# More than one if the client was still busy with binding. A Call that comes
	# just when its connection has been idle for too long is dropped, and sent
	# again: not one of each connection.
	check "$kind-followed-calls-v$vers" stats "$GANESHA_STATS" \
		"totals['reverse_calls_sent'] >= $calls" 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] < connections_accepted'
	check "$kind-followed-unmount-v$vers" within 200 umount "$MNT"
done

if stop_ganesha; then ok "$kind-server-end"; else not_ok "$kind-server-end" "status $?"; fi
the_end
