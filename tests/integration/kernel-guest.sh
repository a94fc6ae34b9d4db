#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kernel-guest.sh - the part of kernel.test that runs in the guest
#
# RPCRDMA_VERSIONS: of NFS, if not all of them; of 3 and 4.1 at least one.
# RPCRDMA_KRB5: Kerberos as well, kernel-krb5.sh.

export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
# shellcheck source=tests/integration/kernel-lib.sh
. "$(dirname "$0")/kernel-lib.sh"
GATEWAY=$RPCRDMA_BUILD/bin/rpcrdma-gateway

# ---- A second client: a network of its own, linked to ours -----------------

ip netns add two
ip link add one0 type veth peer name two0 netns two
ip address add 198.18.0.1/24 dev one0
ip link set one0 up
ip -n two address add 198.18.0.2/24 dev two0
ip -n two link set two0 up
ip -n two link set lo up

if ! start_ganesha "$WORK/ganesha" "$DATA"; then
	not_ok kernel-start "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	finish
fi
free_port
GATEWAY_PORT=$PORT
start_bg "$GATEWAY" --listen "127.0.0.1:$GATEWAY_PORT" \
	--listen "198.18.0.1:$GATEWAY_PORT" --server "127.0.0.1:$RDMA_PORT" \
	--stats-socket "$WORK/gateway.sock" 2>"$WORK/gateway.log"
GATEWAY_PID=$BG_PID
await 30 listening "$GATEWAY_PORT"

# ---- Files ---------------------------------------------------------------

make_patterns
resident
SECOND_MOUNT="proto=tcp,port=$GATEWAY_PORT 198.18.0.1:/export"

mounted() { # VERS [ADDRESS [WHERE [OPTIONS]]]
	local options=vers=$1,proto=tcp,port=$GATEWAY_PORT${4:+,$4}

	[ "$1" != 3 ] || options+=,nolock,mountproto=tcp,mountport=$MNT_PORT
	within 200 mount -t nfs -o "$options" "${2:-127.0.0.1}:/export" "${3:-$MNT}"
}

versions=${RPCRDMA_VERSIONS:-3 4.0 4.1 4.2}
for vers in $versions; do
	if ! mounted "$vers" >"$WORK/why" 2>&1; then
		not_ok "kernel-mount-v$vers" "$(tail -n 1 "$WORK/why")"
		continue
	fi
	ok "kernel-mount-v$vers"
	check "kernel-in-v$vers" files_in
	check "kernel-out-v$vers" files_out
	check "kernel-direct-v$vers" direct
	check "kernel-tree-v$vers" tree
	check "kernel-large-directory-v$vers" large_directory
	check "kernel-names-v$vers" names
	if [ "$vers" != 3 ]; then check "kernel-two-clients-v$vers" two_clients "$vers"; fi
	if [ "$vers" = 4.2 ]; then check "kernel-allocate-v4.2" sparse; fi
	# All of it by version 2, and nobody has complained.
	check "kernel-statistics-v$vers" stats "$GANESHA_STATS" \
		'connections_now > 0' 'all(c["version"] == 2 for c in connections)' \
		'totals["read_bytes"] > 3000000' 'totals["write_bytes"] > 3000000' \
		'totals["invalidations_sent"] > 0' 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] == 0'
	check "kernel-remove-v$vers" emptied
	check "kernel-unmount-v$vers" within 200 umount "$MNT"
done
# Several connections of a session: the gateway has one by RDMA for each.
several() {
	files_in && files_out && stats "$GANESHA_STATS" 'sum(
		c["stats"]["calls_received"] > 5 for c in connections) == 4'
}
if [[ " $versions " == *" 4.1 "* ]]; then
	check kernel-nconnect-before await 100 stats "$GANESHA_STATS" 'connections_now == 0'
	check kernel-nconnect-mount mounted 4.1 127.0.0.1 "$MNT" nconnect=4
	check kernel-nconnect several
	check kernel-nconnect-remove emptied
	check kernel-nconnect-unmount within 200 umount "$MNT"
fi
# By NFSv4.1 Linux has a Reply chunk for what is so long.
if [[ " $versions " == *" 3 "* ]]; then
	check kernel-continued stats "$GANESHA_STATS" 'totals["continued_sent"] > 0'
fi

# ---- At random, against a model ----------------------------------------------

# The other mount is of the second client, but is seen here.
second_mounted() { # VERS
	ip netns exec two bash -c 'echo client-two >/sys/fs/nfs/net/nfs_client/identifier'
	nsenter --net=/run/netns/two bash -c "$(declare -f within mounted)
		GATEWAY_PORT=$GATEWAY_PORT MNT_PORT=$MNT_PORT
		mounted $1 198.18.0.1 '$SECOND'"
}
for vers in ${versions/3}; do # NFSv3's MOUNT is served to one network only
	check "kernel-random-mount-v$vers" mounted "$vers"
	check "kernel-random-second-mount-v$vers" second_mounted "$vers"
	check "kernel-random-v$vers" random "$vers"
	check "kernel-random-remove-v$vers" emptied
	check "kernel-random-unmount-v$vers" within 200 umount "$MNT" "$SECOND"
done

# ---- The server goes and comes back ----------------------------------------

restarted() { # VERS
	within 200 cp "$LOCAL/3000001" "$MNT/before" || return 1
	(within 300 dd if=/dev/urandom of="$MNT/load" bs=64k count=100 conv=fsync \
		status=none) &
	local writer=$!
	[ "$1" = 3 ] || wait "$writer" || return 2
	await 200 test -s "$DATA/load"
	kill -KILL "$GANESHA_PID"
	wait "$GANESHA_PID" 2>/dev/null
	run_ganesha "$WORK/ganesha" || return 3
	[ "$1" != 3 ] || wait "$writer" || return 4
	uncached
	[ "$(stat -c %s "$DATA/load")" = $((100 * 65536)) ] &&
		within 400 cmp "$MNT/before" "$LOCAL/3000001" &&
		within 400 cmp "$MNT/load" "$DATA/load" &&
		within 200 cp "$LOCAL/65537" "$MNT/after" &&
		cmp "$LOCAL/65537" "$DATA/after"
}
for vers in 3 4.1; do
	[[ " $versions " == *" $vers "* ]] || continue
	if mounted $vers >"$WORK/why" 2>&1; then
		check "kernel-restart-v$vers" restarted $vers
		check "kernel-restart-remove-v$vers" emptied
		check "kernel-restart-unmount-v$vers" within 200 umount "$MNT"
	else
		not_ok "kernel-restart-v$vers" "$(tail -n 1 "$WORK/why")"
	fi
done
check kernel-gateway stats "$WORK/gateway.sock" 'gateway["reconnects"] > 0' \
	'gateway["errors_answered"] == 0' 'gateway["records_refused"] == 0'
if end_pid "$GATEWAY_PID"; then ok kernel-gateway-end; else not_ok kernel-gateway-end "status $?"; fi
if stop_ganesha; then ok kernel-server-end; else not_ok kernel-server-end "status $?"; fi

if [ -n "${RPCRDMA_KRB5:-}" ]; then
	# shellcheck source=tests/integration/kernel-krb5.sh
	. "$HERE/kernel-krb5.sh"
fi
finish
