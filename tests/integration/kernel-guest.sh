#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# kernel-guest.sh - the part of kernel.test that runs in the guest

# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
isolate "$@"
GATEWAY=$RPCRDMA_BUILD/src/tools/rpcrdma-gateway
DATA=$WORK/data
LOCAL=$WORK/local
MNT=$WORK/mnt
mkdir -p "$DATA" "$LOCAL" "$MNT"

# Something is slow here, but nothing takes for ever.
within() { timeout --kill-after=10 "$@"; }

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

for n in 0 1 1000 4095 4097 65537 1048577 3000001; do
	head -c "$n" /dev/urandom >"$LOCAL/$n"
done
mkdir "$LOCAL/tree" "$LOCAL/tree/deep"
cp /usr/share/common-licenses/* "$LOCAL/tree/"
for ((i = 0; i < 40; i++)); do echo "$i" >"$LOCAL/tree/deep/small-$i"; done

mounted() { # VERS [ADDRESS]
	local options=vers=$1,proto=tcp,port=$GATEWAY_PORT

	[ "$1" != 3 ] || options+=,nolock,mountproto=tcp,mountport=$MNT_PORT
	within 60 mount -t nfs -o "$options" "${2:-127.0.0.1}:/export" "$MNT"
}
uncached() { sync && echo 3 >/proc/sys/vm/drop_caches; }

files_in() {
	for file in "$LOCAL"/[0-9]*; do
		within 60 cp "$file" "$MNT/" || return 1
	done
	uncached
	for file in "$LOCAL"/[0-9]*; do
		cmp "$file" "$DATA/${file##*/}" || return 1
	done
}
files_out() {
	for file in "$LOCAL"/[0-9]*; do
		within 60 cmp "$file" "$MNT/${file##*/}" || return 1
	done
}
direct() {
	within 60 dd if="$LOCAL/3000001" of="$MNT/direct" bs=1M oflag=direct \
		status=none conv=fsync iflag=fullblock || return 1
	cmp "$LOCAL/3000001" "$DATA/direct" || return 1
	within 60 dd if="$MNT/direct" bs=1M iflag=direct status=none |
		cmp - "$LOCAL/3000001"
}
tree() {
	within 120 cp -r "$LOCAL/tree" "$MNT/" || return 1
	uncached
	diff -r "$LOCAL/tree" "$DATA/tree" && within 120 diff -r "$LOCAL/tree" "$MNT/tree"
}
large_directory() {
	local names
	mkdir "$DATA/large"
	for ((i = 0; i < 250; i++)); do : >"$DATA/large/a-rather-long-name-so-that-there-is-more-than-one-message-$i"; done
	uncached
	names=$(within 120 ls "$MNT/large" | sort | sha256sum)
	[ "$names" = "$(ls "$DATA/large" | sort | sha256sum)" ]
}
names() {
	local target
	target=$(printf 't%.0s' {1..1500})
	within 60 ln -s "${target//tttttttttt/ttttttttt/}" "$MNT/link" || return 1
	uncached
	[ "$(within 60 readlink "$MNT/link")" = "$(readlink "$DATA/link")" ] || return 1
	within 60 mv "$MNT/1000" "$MNT/moved" && within 60 ln "$MNT/moved" "$MNT/linked" &&
		cmp "$LOCAL/1000" "$DATA/linked" && within 60 rm "$MNT/moved" &&
		[ ! -e "$DATA/moved" ] && within 60 chmod 600 "$MNT/linked" &&
		[ "$(stat -c %a "$DATA/linked")" = 600 ] &&
		within 60 truncate -s 77 "$MNT/linked" &&
		[ "$(stat -c %s "$DATA/linked")" = 77 ]
}
# Both clients: what one has written and closed the other reads; a lock of one
# keeps the other out; then not any more.
two_clients() { # VERS
	cat >"$WORK/second" <<-END
	set -e
	echo client-two >/sys/fs/nfs/net/nfs_client/identifier
	mount -t nfs -o vers=$1,proto=tcp,port=$GATEWAY_PORT 198.18.0.1:/export $MNT
	cmp $LOCAL/65537 $MNT/65537
	echo second >$MNT/from-two
	: >$WORK/two-ready
	while [ ! -e $WORK/locked ]; do sleep 0.1; done
	! flock -n $MNT/lock true
	: >$WORK/two-refused
	flock $MNT/lock cat $MNT/lock >$WORK/two-got
	umount $MNT
	END
	rm -f "$WORK/two-"* "$WORK/locked"
	: >"$DATA/lock"
	ip netns exec two bash "$WORK/second" >"$WORK/second.out" 2>&1 &
	local pid=$! status=0
	CLEANUP_PIDS+=("$pid")
	await 60 test -e "$WORK/two-ready" || status=1
	[ "$(within 60 cat "$MNT/from-two")" = second ] || status=2
	# Not before the lock is this client's does the other try.
	within 120 flock "$MNT/lock" bash -c ": >'$WORK/locked'
		for ((i = 0; i < 600; i++)); do
			[ ! -e '$WORK/two-refused' ] || break
			sleep 0.1
		done
		[ -e '$WORK/two-refused' ] && echo written under the lock >'$MNT/lock'" ||
		status=3
	wait "$pid" || status=4
	[ "$(cat "$WORK/two-got")" = "written under the lock" ] || status=5
	[ "$status" = 0 ] || { cat "$WORK/second.out"; return "$status"; }
}
# By the client: the server keeps names in mind that are removed behind it.
emptied() {
	within 120 rm -rf "${MNT:?}"/* && [ -z "$(ls "$DATA")" ]
}
sparse() {
	within 60 fallocate -l 300000 "$MNT/sparse" &&
		[ "$(stat -c %s "$DATA/sparse")" = 300000 ] &&
		within 60 fallocate -p -o 4096 -l 200000 "$MNT/sparse"
}

stats() { # SOCKET EXPRESSION...
	python3 - "$@" <<-'END'
	import json, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(60)
	s.connect(sys.argv[1])
	with s.makefile() as f:
	    doc = json.load(f)
	for test in sys.argv[2:]:
	    assert eval(test, {"all": all}, doc), (test, doc)
	END
}

for vers in 3 4.0 4.1 4.2; do
	if ! mounted $vers >"$WORK/why" 2>&1; then
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
	if [ $vers != 3 ]; then check "kernel-two-clients-v$vers" two_clients $vers; fi
	if [ $vers = 4.2 ]; then check "kernel-allocate-v4.2" sparse; fi
	# All of it by version 2, and nobody has complained.
	check "kernel-statistics-v$vers" stats "$GANESHA_STATS" \
		'connections_now > 0' 'all(c["version"] == 2 for c in connections)' \
		'totals["read_bytes"] > 3000000' 'totals["write_bytes"] > 3000000' \
		'totals["invalidations_sent"] > 0' 'totals["errors_sent"] == 0' \
		'totals["errors_received"] == 0' 'totals["dropped"] == 0'
	check "kernel-remove-v$vers" emptied
	check "kernel-unmount-v$vers" within 60 umount "$MNT"
done
check kernel-continued stats "$GANESHA_STATS" 'totals["continued_sent"] > 0'

# ---- The server goes and comes back ----------------------------------------

restarted() { # VERS
	within 60 cp "$LOCAL/3000001" "$MNT/before" || return 1
	(within 300 dd if=/dev/urandom of="$MNT/load" bs=64k count=100 conv=fsync \
		status=none) &
	local writer=$!
	[ "$1" = 3 ] || wait "$writer" || return 2
	await 60 test -s "$DATA/load"
	kill -KILL "$GANESHA_PID"
	wait "$GANESHA_PID" 2>/dev/null
	run_ganesha "$WORK/ganesha" || return 3
	[ "$1" != 3 ] || wait "$writer" || return 4
	uncached
	[ "$(stat -c %s "$DATA/load")" = $((100 * 65536)) ] &&
		within 120 cmp "$MNT/before" "$LOCAL/3000001" &&
		within 120 cmp "$MNT/load" "$DATA/load" &&
		within 60 cp "$LOCAL/65537" "$MNT/after" &&
		cmp "$LOCAL/65537" "$DATA/after"
}
for vers in 3 4.1; do
	if mounted $vers >"$WORK/why" 2>&1; then
		check "kernel-restart-v$vers" restarted $vers
		check "kernel-restart-remove-v$vers" emptied
		check "kernel-restart-unmount-v$vers" within 60 umount "$MNT"
	else
		not_ok "kernel-restart-v$vers" "$(tail -n 1 "$WORK/why")"
	fi
done
check kernel-gateway stats "$WORK/gateway.sock" 'gateway["reconnects"] > 0' \
	'gateway["errors_answered"] == 0' 'gateway["records_refused"] == 0'
if end_pid "$GATEWAY_PID"; then ok kernel-gateway-end; else not_ok kernel-gateway-end "status $?"; fi
if stop_ganesha; then ok kernel-server-end; else not_ok kernel-server-end "status $?"; fi
finish
