#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# failover-guest.sh - the part of failover-linux.test that runs in the guest
#
#	failover-guest.sh rxe '' [STANDBY/HOW/ANNOUNCED...]
#	failover-guest.sh siw MODULE [STANDBY/HOW/ANNOUNCED...]
#
# Two hosts, network namespaces on a bridge, serve one address in turn: with siw by the
# provider iwarp, with rxe by verbs, a device for each. They share the export and
# RecoveryRoot. Two clients of NFSv4.1, Linux' own: by RDMA, whose device is on the bridge,
# and by TCP through a gateway. Each holds a lock on a file that it writes to, and asks for
# the other's.
#
# For each argument the server is "killed", or "stopped" and killed by the fence a few
# seconds later; the other host takes over, and says so by ARP ("yes"), or not ("no"). A
# "cold" standby starts its server then, as the same node of RecoveryRoot. A "warm" one has a
# server that listens on the address before it comes; it is another node, and is told by
# D-Bus whose clients may reclaim.
#
# Blocks go on, no lock is granted to the other client, and in the end no acknowledged
# block is missing. Times are printed, and not judged.

RPCRDMA_ISOLATED=1 # the guest is for this alone
export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"
kind=$1
module=$2
WAYS=("${@:3}")
VIP=10.9.1.100
CLIENTS=(linux gateway)
declare -A AT=([linux]=$MNT [gateway]=$SECOND) OTHER=([linux]=gateway [gateway]=linux)
declare -A SERVER HOLD CONTEND

fail() { # NAME WHY
	not_ok "$kind-$1" "${@:2}"
	tail -q -n 5 "$WORK"/[ab].log "$WORK/gateway.log" "$WORK"/*.said 2>/dev/null | sed 's/^/# /'
	dmesg | tail -n 5 | sed 's/^/# /'
	trap - EXIT # some could not be ended, without their server; the guest ends them all
	finish
}
locks() { PYTHONDONTWRITEBYTECODE=1 within 900 python3 -S "$HERE/failover_locks.py" "$@"; }
# in_background COMMAND...: of locks; sets BG_PID
in_background() {
	start_bg env PYTHONDONTWRITEBYTECODE=1 python3 -S "$HERE/failover_locks.py" "$@"
}

# ---- Hosts -------------------------------------------------------------------------

host() { # NAME ADDRESS
	ip netns add "$1" && ip link add "to-$1" type veth peer name eth0 netns "$1" &&
		ip link set "to-$1" master clients up && ip -n "$1" link set lo up &&
		ip -n "$1" address add "$2/24" dev eth0 && ip -n "$1" link set eth0 up &&
		{ [ "$kind" = siw ] || rxe_of "$1"; }
}
rxe_of() { # HOST
	nsenter --net="/run/netns/$1" rdma link add "rxe-$1" type rxe netdev eth0 || return
	# Its port, 4791, is open in that namespace.
	ip netns exec "$1" grep -q ':12B7 ' /proc/net/udp ||
		{ echo "rxe of Linux $(uname -r) serves the first network namespace only" && false; }
}
network() {
	for m in rdma_cm iw_cm ib_uverbs rdma_ucm libcrc32c veth bridge; do modprobe -q "$m"; done
	case $kind in
	siw)
		modprobe -q siw || insmod "$module" || return
		PROVIDER=iwarp
		;;
	rxe)
		modprobe rdma_rxe || return
		PROVIDER=verbs
		ulimit -l unlimited
		;;
	esac
	ip link add clients type bridge && ip link set clients up &&
		ip address add 10.9.1.1/24 dev clients && host a 10.9.1.11 && host b 10.9.1.12 &&
		rdma link add "${kind}0" type "$kind" netdev clients &&
		await 10 bash -c "rdma link show ${kind}0/1 | grep -q ACTIVE" || return
	# Linux believes for 15 to 45 seconds where a neighbour is, and then asks it for 8: here
	# for less, to wait less.
	if [ -z "${RPCRDMA_ALL:-}" ]; then
		echo 5000 >/proc/sys/net/ipv4/neigh/clients/base_reachable_time_ms
	fi
}
if ! network >"$WORK/network" 2>&1; then
	skip "failover-$kind" "no device: $(tail -n 1 "$WORK/network")"
	finish
fi

mkdir "$WORK/recovery"
NODE=0 # which the host that serves is in RecoveryRoot
serve() { # HOST
	cat >"$WORK/$1.conf" <<-END
	NFS_Core_Param {
		Bind_Addr = 0.0.0.0; NFS_Port = 2049; Protocols = 4; Dbus_Name_Prefix = $1;
		Enable_NLM = false; Enable_RQUOTA = false; $NO_IO_FLUSHER
	}
	NFSv4 {
		RecoveryRoot = $WORK/recovery; Server_Scope = site; Server_Owner = site;
		Grace_Period = 120; Lease_Lifetime = 30;
	}
	NFS_Krb5 { Active_krb5 = false; }
	EXPORT {
		Export_Id = 1; Path = $DATA; Pseudo = /export; Access_Type = RW;
		Squash = none; SecType = sys; FSAL { Name = VFS; }
	}
	RDMA { Bind_Addr = $VIP; Provider = $PROVIDER; Rpcbind = false; Stats_Socket = $WORK/$1.sock; }
	END
	: >"$WORK/$1.log"
	rm -f "$WORK/$1.sock"
	start_bg nsenter --net="/run/netns/$1" "$GANESHA_BIN" -F -I $NODE -L "$WORK/$1.log" \
		-f "$WORK/$1.conf" -p "$WORK/$1.pid" >"$WORK/$1.out" 2>&1
	SERVER[$1]=$BG_PID
}
ready() { grep -q 'NFS SERVER INITIALIZED' "$WORK/$1.log"; }
address() { ip -n "$1" address "$2" $VIP/24 dev eth0; } # HOST add|del
serve_warm() { # HOST
	NODE=$((1 - NODE))
	ip netns exec "$1" bash -c 'echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind'
	serve "$1"
	await 200 ready "$1"
}
take_over() { # HOST: a grace period for the clients of the other node
	dbus-send --system --print-reply "--dest=$1.org.ganesha.nfsd" /org/ganesha/nfsd/admin \
		org.ganesha.nfsd.admin.grace "string:4:$((1 - NODE))" >"$WORK/grace" 2>&1
}
bus() {
	cat >"$WORK/bus.conf" <<-END
	<busconfig>
	<listen>unix:path=/run/dbus/system_bus_socket</listen><auth>EXTERNAL</auth>
	<policy context="default"><allow own="*"/><allow send_destination="*"/><allow eavesdrop="true"/></policy>
	</busconfig>
	END
	mkdir -p /run/dbus
	start_bg dbus-daemon --config-file="$WORK/bus.conf" --nofork --nopidfile --nosyslog
	await 50 test -S /run/dbus/system_bus_socket
}
resident
bus
address a add
serve a
await 200 ready a || fail start "host a does not serve"
start_bg "$RPCRDMA_BUILD/bin/rpcrdma-gateway" --provider $PROVIDER \
	--listen 127.0.0.1:2049 --server $VIP >"$WORK/gateway.log" 2>&1
await 100 listening 2049 || fail gateway "$(tail -n 1 "$WORK/gateway.log")"

# ---- Clients -----------------------------------------------------------------------

within 400 mount -t nfs -o vers=4.1,proto=rdma,port=20049 $VIP:/export "$MNT" ||
	fail linux-mount
# Another host's, by its name.
unshare --uts bash -c "echo second >/proc/sys/kernel/hostname && $(declare -f within)
	within 400 mount -t nfs -o vers=4.1,proto=tcp,port=2049 127.0.0.1:/export '$SECOND'" ||
	fail gateway-mount

# lines FILE NUMBER [PID]: at least so many, or process PID has ended
lines() { [ "$(wc -l 2>/dev/null <"$1")" -ge "$2" ] || { [ $# = 3 ] && ! kill -0 "$3"; }; }
for c in "${CLIENTS[@]}"; do
	in_background hold "${AT[$c]}/$c" "$WORK/$c.blocks" >"$WORK/$c-hold.said" 2>&1
	HOLD[$c]=$BG_PID
done
for c in "${CLIENTS[@]}"; do
	await 300 lines "$WORK/$c.blocks" 3 || fail "$c-writes"
	in_background contend "${AT[${OTHER[$c]}]}/$c" "$WORK/$c.refusals" >"$WORK/$c-contend.said" 2>&1
	CONTEND[$c]=$BG_PID
done
for c in "${CLIENTS[@]}"; do
	await 300 lines "$WORK/$c.refusals" 2 || fail "$c-refuses"
done
ok "$kind-start"

# goes_on CLIENT: blocks are written, its lock is refused to the other, both at the new server
goes_on() {
	local blocks refusals

	blocks=$(wc -l <"$WORK/$1.blocks")
	refusals=$(wc -l <"$WORK/$1.refusals")
	await 300 lines "$WORK/$1.blocks" $((blocks + 4)) "${HOLD[$1]}" &&
		await 300 lines "$WORK/$1.refusals" $((refusals + 2)) "${CONTEND[$1]}" &&
		kill -0 "${HOLD[$1]}" && kill -0 "${CONTEND[$1]}"
}
# first_block CLIENT SECONDS: ms from then to its first block
first_block() {
	awk -v ready="$2" '$2 > ready { printf "%d", ($2 - ready) * 1000; exit }' "$WORK/$1.blocks"
}
end_server() {
	kill -KILL "${SERVER[$1]}"
	wait "${SERVER[$1]}"
} 2>/dev/null # nor "Killed"
# moves FROM TO STANDBY HOW ANNOUNCED
moves() {
	local name=$3-$4-$5 watching at linux gateway

	rm -f "$WORK/here"
	if [ "$3" = warm ]; then
		serve_warm "$2" || fail "$name" "the standby does not start"
	fi
	case $4 in
	killed) end_server "$1" ;;
	stopped) kill -STOP "${SERVER[$1]}" && sleep 4 ;;
	esac
	address "$1" del
	end_server "$1"
	in_background watch "$WORK/$2.log" "$WORK/$2.sock" "$WORK/here" >"$WORK/watch.said" 2>&1
	watching=$BG_PID
	if [ "$3" = warm ]; then
		take_over "$2" || fail "$name" "$(tail -n 1 "$WORK/grace")"
	fi
	address "$2" add
	[ "$3" = warm ] || serve "$2"
	if [ "$5" = no ]; then
		: >"$WORK/here"
	else
		ip netns exec "$2" python3 -S "$HERE/failover_locks.py" announce eth0 $VIP \
			"$WORK/here" || fail "$name" "not announced"
	fi
	wait "$watching" || fail "$name" "$(tail -n 1 "$WORK/watch.said")"
	for c in "${CLIENTS[@]}"; do
		goes_on "$c" || fail "$name" "$c does not go on"
	done
	read -r at linux gateway <"$WORK/watch.said"
	echo "# $kind-$name: after the server was ready the first Call of Linux was answered in $linux s," \
		"of the gateway in $gateway s; first block in $(first_block linux "$at")" \
		"and $(first_block gateway "$at") ms"
	ok "$kind-$name"
}
from=a to=b
for way in "${WAYS[@]}"; do
	IFS=/ read -r standby how announced <<<"$way"
	moves $from $to "$standby" "$how" "$announced"
	at=$from from=$to to=$at
done

# ---- Nothing is lost ----------------------------------------------------------------

# ends PID FILE: well; else FILE says why
ends() { wait "$1" || { cat "$2"; return 1; }; }
for c in "${CLIENTS[@]}"; do
	: >"$WORK/$c.refusals.stop"
	check "$kind-$c-refused" ends "${CONTEND[$c]}" "$WORK/$c-contend.said"
done
for c in "${CLIENTS[@]}"; do
	: >"$WORK/$c.blocks.stop"
	check "$kind-$c-lock" ends "${HOLD[$c]}" "$WORK/$c-hold.said"
done
for c in "${CLIENTS[@]}"; do
	check "$kind-$c-unlocked" locks free "${AT[${OTHER[$c]}]}/$c"
	check "$kind-$c-blocks" locks verify "$DATA/$c" "$WORK/$c.blocks"
	echo "# $kind-$c: $(wc -l <"$WORK/$c.blocks") blocks, its lock was refused $(wc -l <"$WORK/$c.refusals") times"
done
check "$kind-unmount" within 200 umount "$MNT" "$SECOND"
if dmesg | grep -E 'reclaim.*fail|BUG:|Oops|general protection|refcount_t:' >"$WORK/kernel"; then
	not_ok "$kind-kernel" "$(head -n 1 "$WORK/kernel")"
else
	ok "$kind-kernel"
fi
finish
