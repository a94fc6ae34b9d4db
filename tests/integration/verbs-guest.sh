#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# verbs-guest.sh - the part of verbs.test that runs in the guest
#
#	verbs-guest.sh rxe|siw MODULE [PROGRAM [ARGUMENT...]]
#
# With PROGRAM, of the unit tests or a function here, that alone is run, else
# all.
#
# The hosts and their addresses are in verbs-lib.sh.

kind=$1
module=${2:-}
only=("${@:3}")
build=${RPCRDMA_BUILD:?}
unit=$build/tests/unit
# Emulated, a first Call may take long.
ping=("$build/bin/rpcrdma-ping" --provider verbs --timeout 30000)
export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/krb5.sh
. "$(dirname "$0")/krb5.sh"
WORK=$(mktemp -d /tmp/rpcrdma-test.XXXXXX)
out=$WORK
trap cleanup EXIT

# shellcheck source=tests/integration/verbs-lib.sh
. "$(dirname "$0")/verbs-lib.sh"

# Each test of a CUnit program, under the name PREFIX-test.
run() { # PREFIX PROGRAM ARGUMENT...
	local prefix=$1 log=$out/$1 status begun=$SECONDS
	shift
	ASAN_OPTIONS=${ASAN_OPTIONS:-} timeout 1500 "$@" >"$log" 2>&1
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
	echo "# $prefix: $((SECONDS - begun)) s"
}

if ! setup >"$out/setup" 2>&1; then
	echo "skip verbs-$kind no device: $(tail -n 1 "$out/setup")"
	exit 0
fi

export RPCRDMA_VERBS_ADDR=10.9.1.1 RPCRDMA_VERBS_DEVICE=${kind}0
export RPCRDMA_VERBS_OTHER=10.9.2.1
export RPCRDMA_VERBS_DOWN="ip link set o0 down"
export RPCRDMA_VERBS_UP="ip link set o0 up"
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
# What is asked again of the same device: what the other windows, addresses or Receives
# have a part in. With RPCRDMA_ALL all is.
brief="connect reject listen orderly send write read"
windows="connect write read read_depth chain mix expose_close expose_bad post_bad
	bad_write bad_read invalidated other_connection flush"
shared="connect many_sends busy mix flush cycles many_pairs shared_promised shared_greedy
	shared_too_long shared_few shared_lost shared_worn shared_no_memory
	shared_little_memory"
few="connect send many_sends busy mix flush"
# Which Receive a completion is of, what ends a connection that waits for one, and
# Receives that are refused. Other faults and events are of windows, or of the
# device: once is enough.
faults_shared="immediate forged closed stuck_pair short"
events_alone="qp_fatal cq_error early half_open vanished_idle vanished_sending port"
# To connect takes an emulated processor a hundred times as long.
steps="--pair-steps 200"
[ -z "${RPCRDMA_ALL:-}" ] ||
	brief='' windows='' shared='' few='' steps='' faults_shared='' events_alone=''
all() {
	if [ "$kind" = rxe ]; then servers; fi
	provider
}
# shellcheck disable=SC2086 # words, or none
provider() {
	case $kind in
	rxe)
		run verbs-rxe "$unit/provider_test" $steps --provider verbs --addr 10.9.0.1
		# Windows as devices have them, but for the flaws of rxe's.
		run verbs-rxe-windows "$unit/provider_test" --provider verbs \
			--addr 10.9.0.1 --windows any $windows
		# Receives in common: as many as promised, and far fewer.
		run verbs-rxe-shared "$unit/provider_test" --provider verbs \
			--addr 10.9.0.1 $steps --shared 0 $shared
		run verbs-rxe-few "$unit/provider_test" --provider verbs \
			--addr 10.9.0.1 --shared 24 $few
		run verbs-rxe-ipv6 "$unit/provider_test" --provider verbs \
			--addr fd09::1 $brief
		;;
	siw)
		run verbs-siw "$unit/provider_test" --provider verbs \
			--addr 10.9.0.1 $brief
		# Two implementations of iWARP that know nothing of each other.
		run verbs-siw-to-iwarp "$unit/provider_test" --provider iwarp \
			--client verbs $steps --addr 10.9.0.1
		run verbs-iwarp-to-siw "$unit/provider_test" --provider verbs \
			--client iwarp $steps --addr 10.9.0.1
		run verbs-siw-ipv6 "$unit/provider_test" --provider verbs \
			--addr fd09::1 $brief
		;;
	esac
	reports
	if [ "$kind" = rxe ]; then
		run verbs-rxe-faults "$unit/unit-verbs-faults"
		run verbs-rxe-faults-shared "$unit/unit-verbs-faults" --shared $faults_shared
		sanitized
		hostile
	fi
	# After them a device is of no use any more, and the bond has moved.
	events
}
servers() {
	server
	host_auth
	watched_server
	lossy
	reach
	reloads
}
# What rpcrdma-ping reports of devices, each time the same but for counters.
report() { # FILE
	"$build/bin/rpcrdma-ping" --provider verbs --report >"$1" 2>"$1.err"
}
reports() {
	local file=$WORK/report name
	check "verbs-$kind-report" report "$file"
	check "verbs-$kind-report-silent" test ! -s "$file.err"
	for name in $(devices); do
		check "verbs-$kind-report-$name" grep -qx "device $name" "$file"
	done
	check "verbs-$kind-report-library" \
		grep -q '^rdma-core: libibverbs.so.[0-9.]*, librdmacm.so.[0-9.]*$' "$file"
	check "verbs-$kind-report-address" \
		grep -q '^    address: 10.9.0.1, interface d0 with MTU 9000$' "$file"
	check "verbs-$kind-report-provider" grep -q "^  library: lib$kind-" "$file"
	check "verbs-$kind-report-inline" \
		grep -q '^  inline: [0-9]* of the 220 octets' "$file"
	check "verbs-$kind-report-qps" \
		grep -qE '^    connections, by queue pairs: [1-9][0-9]+$' "$file"
	case $kind in
	rxe)
		check verbs-rxe-report-type grep -q '^  transport: RoCE' "$file"
		check verbs-rxe-report-gid \
			grep -q '^    GID [0-9]*: .*0a09:0001, RoCE v2, interface d0$' "$file"
		check verbs-rxe-report-windows grep -q \
			'^    memory windows: off: the driver has some of type 2, but' "$file"
		check verbs-rxe-report-counters \
			grep -q '^    counters: retransmitted [0-9]' "$file"
		;;
	siw)
		check verbs-siw-report-type grep -q '^  transport: iWARP' "$file"
		check verbs-siw-report-gid \
			grep -q '^    GID [0-9]*: .*, iWARP' "$file"
		check verbs-siw-report-windows \
			grep -q '^    memory windows: off: the device has none$' "$file"
		check verbs-siw-report-rights grep -q \
			'^  warning: its driver does not check the right to remote reading' "$file"
		;;
	esac
	ip link set o0 down
	report "$file.down"
	check "verbs-$kind-report-down" grep -q '^  warning: port 1 is DOWN' "$file.down"
	ip link set o0 up
	await 20 bash -c "rdma link show ${kind}2/1 | grep -q ACTIVE"
	report "$file.again"
	check "verbs-$kind-report-again" \
		cmp <(grep -v counters: "$file") <(grep -v counters: "$file.again")
}

# The type of service that a client asks for is that of both directions.
typed() { # DEVICE: has it sent packets of that type?
	tc -s filter show dev "$1" egress | grep -E 'Sent [0-9]+ bytes [1-9][0-9]* pkt'
}
untyped() { ! typed "$1"; }
service_type() {
	local dev
	for dev in d0 d1; do
		tc qdisc add dev "$dev" clsact
		tc filter add dev "$dev" egress protocol ip \
			u32 match ip tos 184 0xff action ok
	done
	check verbs-type-none answers_at 10.9.1.1
	check verbs-type-default untyped d0
	check verbs-type-given answers_at 10.9.1.1 --service-type 184
	for dev in d0 d1; do
		check "verbs-type-$dev" typed "$dev"
		tc qdisc delete dev "$dev" clsact
	done
}

# A network that loses packets: the device's counters climb, and the log has a line.
lossy_clients() { # one after the other, as connections may end
	local one
	trap 'kill "$one"; exit' TERM
	while :; do
		"${ping[@]}" --quiet --server "10.9.1.1:$RDMA_PORT" --count 0 \
			--flood --depth 16 &
		one=$!
		wait "$one"
	done
}
lossy() {
	local clients
	rm -rf "$WORK/server"
	if ! start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 10.9.1.1;'; then
		not_ok verbs-lossy "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
		return
	fi
	check verbs-lossy-first answers_at 10.9.1.1
	service_type
	check verbs-lossy-ports read_stats '[p["device"] for p in ports] == ["rxe0"]' \
		'ports[0]["port"] == 1' 'ports[0]["counters"]["out_of_sequence"] >= 0'
	tc qdisc replace dev d1 root netem loss 5%
	lossy_clients >/dev/null 2>&1 &
	clients=$!
	CLEANUP_PIDS+=("$clients")
	check verbs-lossy-logged await 150 grep -qE \
		'rpcrdma: RDMA device rxe0, port 1: in [0-9]+ s [0-9]+ packets were sent again, .*: the network loses or reorders packets' \
		"$GANESHA_LOG"
	kill "$clients"
	wait "$clients"
	tc qdisc delete dev d1 root
	check verbs-lossy-counted read_stats \
		'ports[0]["counters"]["out_of_sequence"] >= 10'
	check verbs-lossy-shown known '^  rxe0, 1  ' \
		"$build/bin/rpcrdma-stat" --socket "$GANESHA_STATS"
	check verbs-lossy-stop stop_ganesha
}

# What is left over of a device and a connection.
sanitized() {
	local program=${RPCRDMA_ASAN:-}/tests/unit/provider_test
	local -x ASAN_OPTIONS=detect_leaks=1 # else lib.sh has them ignored
	if [ ! -x "$program" ]; then
		skip verbs-rxe-sanitized "no build with the sanitizers"
		return
	fi
	run verbs-rxe-sanitized "$program" --provider verbs --addr 10.9.0.1 \
		connect
}
# Links and devices come and go.
# shellcheck disable=SC2086 # words, or none
events() {
	# What is kept to be given out again would count as in use.
	local -x GLIBC_TUNABLES=glibc.malloc.tcache_count=0
	local abrupt=${RPCRDMA_ABRUPT:-800} only=
	if [ "$kind" = rxe ]; then
		run verbs-rxe-shared-events "$unit/unit-verbs-events" --shared \
			--abrupt "$abrupt"
		abrupt=$((abrupt / 2))
		check verbs-rxe-anew anew
		only=$events_alone
	fi
	run "verbs-$kind-events" "$unit/unit-verbs-events" --abrupt "$abrupt" $only
	devices_go
}

# Devices are removed while a server has them: those that it does not use, and then
# the last one; after clients have gone, with a client that stays, and before any has
# come to a server that has its address. Whoever removes one does not wait for the
# server's end, and clients are served again when it comes back.
devices_go() {
	local name
	go_server 0.0.0.0
	comes_back first
	for name in $(devices); do
		[ "$name" = "${kind}0" ] ||
			check "verbs-$kind-go-$name" device_goes "$name"
	done
	check "verbs-$kind-go-idle" device_goes "${kind}0"
	comes_back idle
	start_bg "${ping[@]}" --quiet --count 0 --interval 100 \
		--server 10.9.0.1:20079 >"$WORK/stays" 2>&1
	sleep 3
	check "verbs-$kind-go-used" device_goes "${kind}0"
	await 60 ended "$BG_PID"
	comes_back used
	go_server_ends
	go_server 10.9.0.1
	check "verbs-$kind-go-unused" device_goes "${kind}0"
	comes_back unused
	go_server_ends
}
go_server() { # ADDRESS
	start_bg "$build/tests/tools/rpcrdma-echo-server" --provider verbs \
		--listen "$1:20079" >"$WORK/echo" 2>&1
	go_pid=$BG_PID
	go_address=$1
	check "verbs-$kind-go-server-$1" await 30 grep -q listening "$WORK/echo"
}
go_server_ends() {
	kill "$go_pid"
	check "verbs-$kind-go-end-$go_address" go_ended
}
go_ended() { wait "$go_pid" || { cat "$WORK/echo"; return 1; }; }
devices() { rdma link | sed -n 's/^link \([a-z0-9]*\)\/.*/\1/p'; }
device_goes() { # NAME; what hangs in the kernel cannot be ended
	rdma link delete "$1" &
	await 60 ended $! || { cat "/proc/$!/stack"; return 1; }
	! devices | grep -x "$1"
}
ended() { ! kill -0 "$1" 2>/dev/null; }
comes_back() { # NAME: of the check
	devices | grep -qx "${kind}0" ||
		rdma link add "${kind}0" type "$kind" netdev d0
	check "verbs-$kind-$1-back" await 60 timeout 60 "${ping[@]}" --quiet \
		--server 10.9.0.1:20079 --count 2 --interval 1
}

# After the events: the device whose port was down is of no use any more, and
# the bond has moved.
anew() {
	ip link set b0 type bond active_slave b1 &&
		rdma link delete "${kind}2" &&
		rdma link add "${kind}2" type "$kind" netdev o0
}

# Which provider does the real server take, left alone?
serves() { # PROVIDER ADDRESS LINE...
	local provider=$1 address=$2
	rm -rf "$WORK/server"
	if start_ganesha "$WORK/server" "$WORK/data" "${@:3}"; then
		check "verbs-auto-$provider-${address%:}" grep -E \
			"serving .* on $address$RDMA_PORT, provider $provider" \
			"$GANESHA_LOG"
	else
		not_ok "verbs-auto-$provider" \
			"$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	fi
}
server() {
	serves verbs 10.9.0.1: 'Bind_Addr = 10.9.0.1;' 'Debug.Huge_Pages = true;'
	check verbs-auto-chosen logs_line \
		'Provider = auto: an RDMA device has 10.9.0.1:[0-9]*: using verbs'
	check verbs-server-ports read_stats '[p["device"] for p in ports] == ["rxe0"]' \
		'[d["device"] for d in devices] == ["rxe0"]'
	check verbs-server-ping timeout 60 "${ping[@]}" --quiet \
		--server "10.9.0.1:$RDMA_PORT" --count 10 --flood
	check verbs-server-ping-1 timeout 60 "${ping[@]}" --quiet \
		--server "10.9.0.1:$RDMA_PORT" --count 10 --flood --version-rdma 1
	check verbs-server-no-huge-pages grep vm.nr_hugepages "$GANESHA_LOG"
	check verbs-server-stop stop_ganesha
	echo 32 >/proc/sys/vm/nr_hugepages
	serves verbs 0.0.0.0: 'Bind_Addr = 0.0.0.0, ::;' 'Device = rxe0, rxe2;' \
		'Debug.Huge_Pages = true;'
	check verbs-auto-chosen-any logs_line \
		'Provider = auto: an RDMA device has an active port: using verbs'
	check verbs-server-ports-any read_stats \
		'sorted(p["device"] for p in ports) == ["rxe0", "rxe2"]'
	check verbs-server-ping-any timeout 60 "${ping[@]}" --quiet \
		--server "10.9.2.1:$RDMA_PORT" --count 10 --flood
	check verbs-server-ping-ipv6 timeout 60 "${ping[@]}" --quiet \
		--server "[fd09::1]:$RDMA_PORT" --count 10 --flood
	check verbs-server-other-device reaches_nobody 10.9.3.1 ''
	check verbs-server-other-device-refused read_stats 'refused["device"] > 0' \
		'connections_refused == refused["device"]' 'failed_starts == 0'
	check verbs-server-other-device-logged logs_line \
		'.*: connection refused: it comes by a device that is not to be used'
	check verbs-server-huge-pages read_stats 'pool["bytes_huge"] > 0'
	stop_ganesha
	echo 0 >/proc/sys/vm/nr_hugepages
	serves verbs 10.9.0.1: 'Bind_Addr = 10.9.0.1;' 'Shared_Receives = 100;'
	check verbs-server-shared shared
	stop_ganesha
	serves verbs 10.9.0.1: 'Bind_Addr = 10.9.0.1;' 'Shared_Receives = false;'
	check verbs-server-not-shared timeout 60 "${ping[@]}" --quiet \
		--server "10.9.0.1:$RDMA_PORT" --count 10 --flood
	check verbs-server-no-queue read_stats 'shared_receives["queues"] == 0' \
		'totals["calls_received"] == 10'
	stop_ganesha
	serves iwarp 10.9.0.1: 'Bind_Addr = 10.9.0.1, 127.0.0.1;'
	check verbs-auto-mixed grep 'iwarp serves both' "$GANESHA_LOG"
	stop_ganesha
	if start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 198.51.100.7;'; then
		check verbs-foreign-address grep \
			'no RDMA device has this address: correct Bind_Addr in .* Provider = iwarp' \
			"$GANESHA_LOG"
		stop_ganesha
	fi
	checks
	little
}

# A server that may lock less than one connection needs.
little() {
	local GANESHA_WRAP='prlimit --memlock=65536:65536 setpriv --bounding-set -ipc_lock --inh-caps -ipc_lock'
	local fault='provider verbs cannot serve anybody: the limit of locked memory, 64 KiB, is less than the [0-9]* KiB'
	local at='Bind_Addr = 10.9.0.1;' status=0
	if start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' "$at"; then
		check verbs-little grep "rpcrdma: $fault" "$GANESHA_LOG"
		check verbs-little-tcp rpcinfo -n "$NFS_PORT" -t 127.0.0.1 100003 4
		stop_ganesha
	else
		not_ok verbs-little "does not start"
	fi
	if start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' "$at" 'Required = true;'; then
		not_ok verbs-little-required "the server goes on"
		stop_ganesha
	else
		check verbs-little-required grep "rpcrdma: $fault" "$WORK/server/stderr"
	fi
	serves iwarp 10.9.0.1: "$at"
	check verbs-little-auto grep "$fault.*, using iwarp" "$GANESHA_LOG"
	stop_ganesha
	printf '%s\n' 'RDMA {' 'Provider = verbs;' "$at" '}' >"$WORK/check.conf"
	# shellcheck disable=SC2086 # words
	$GANESHA_WRAP "$GANESHA_BIN" --check-config "$WORK/check.conf" >/dev/null \
		2>"$WORK/checked" || status=$?
	check verbs-little-check grep "^rpcrdma: $fault" "$WORK/checked"
	check verbs-little-check-status test "$status" = 1
	# Enough for the Receives, and not for what there is besides.
	GANESHA_WRAP=${GANESHA_WRAP//65536/700000}
	if start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' "$at"; then
		timeout 20 "${ping[@]}" --quiet --server "10.9.0.1:$RDMA_PORT" \
			--count 10 || true
		check verbs-little-registers grep \
			'registering .* (limit of locked memory: 683 KiB; LimitMEMLOCK=infinity or ulimit -l unlimited)' "$GANESHA_LOG"
		stop_ganesha
	else
		not_ok verbs-little-registers "does not start"
	fi
}

# What --check-config says beforehand.
says() { # STATUS TEXT LINE...: status, and the line, or no line for ""
	local status=0
	printf '%s\n' 'RDMA {' "${@:3}" '}' >"$WORK/check.conf"
	"$GANESHA_BIN" --check-config "$WORK/check.conf" >/dev/null \
		2>"$WORK/checked" || status=$?
	cat "$WORK/checked"
	[ "$status" = "$1" ] &&
		if [ -n "$2" ]; then grep -q "$2" "$WORK/checked"; else ! grep -q 'rpcrdma: [^v]' "$WORK/checked"; fi
}
shows() { # TEXT LINE...: on standard output
	printf '%s\n' 'RDMA {' "${@:2}" '}' >"$WORK/check.conf"
	"$GANESHA_BIN" --check-config "$WORK/check.conf" >"$WORK/shown" 2>&1
	cat "$WORK/shown"
	grep -q "$1" "$WORK/shown"
}
checks() {
	check verbs-check says 0 '' 'Provider = verbs;' 'Bind_Addr = 10.9.0.1;'
	check verbs-check-any says 0 '' 'Provider = verbs;'
	check verbs-check-auto says 0 '' 'Bind_Addr = 10.9.0.1;'
	check verbs-check-mixed says 0 'iwarp serves both' \
		'Bind_Addr = 10.9.0.1, 127.0.0.1;'
	check verbs-check-device shows '^# Device rxe0: RoCE, .*; port 1 ACTIVE, MTU 4096' \
		'Provider = verbs;' 'Bind_Addr = 10.9.0.1;'
	check verbs-check-device-alone test "$(grep -c '^# Device' "$WORK/shown")" = 1
	check verbs-check-device-all shows '^# Device rxe2: ' 'Bind_Addr = 0.0.0.0;'
	check verbs-check-device-iwarp shows '^RDMA {' 'Provider = iwarp;'
	check verbs-check-device-none test "$(grep -c '^# Device' "$WORK/shown")" = 0
	check verbs-check-foreign says 1 \
		'^rpcrdma: cannot listen on 198.51.100.7:20049: no RDMA device has this address' \
		'Provider = verbs;' 'Bind_Addr = 198.51.100.7, 10.9.0.1;'
	# Beside a server that has the port of the device.
	if start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 10.9.0.1;'; then
		check verbs-check-beside says 0 '' 'Provider = verbs;' \
			'Bind_Addr = 10.9.0.1;' "Port = $RDMA_PORT;" \
			"Stats_Socket = $GANESHA_STATS;"
		check verbs-check-port says 1 'the port is in use' 'Provider = verbs;' \
			'Bind_Addr = 10.9.0.1;' "Port = $RDMA_PORT;"
		check verbs-check-beside-ping timeout 60 "${ping[@]}" --quiet \
			--server "10.9.0.1:$RDMA_PORT" --count 10 --flood
		stop_ganesha
	fi
}

# Six clients, each with all of its credits, and Receives for little more than
# one: every Call is answered, nobody is cut off.
shared() {
	local i pids=() status=0
	for ((i = 0; i < 6; i++)); do
		"${ping[@]}" --quiet \
			--server "10.9.0.1:$RDMA_PORT" --count 0 --flood --depth 64 \
			--version-rdma $((1 + i % 2)) &
		pids+=($!)
	done
	CLEANUP_PIDS+=("${pids[@]}")
	await 300 read_stats 'shared_receives["connections"] == 6' \
		'shared_receives["promised"] > 300' 'shared_receives["posted"] <= 100' \
		'totals["calls_received"] > 3000' || status=1
	kill -INT "${pids[@]}"
	for i in "${pids[@]}"; do wait "$i" || status=2; done
	read_stats 'totals["calls_received"] == totals["replies_sent"]' \
		'totals["dropped"] == 0' || status=3
	await 60 read_stats 'shared_receives["queues"] == 0' \
		'pool["bytes_in_use"] == 0' || status=4
	return $status
}

# Initiators, and a server that completes their Receives by what is no message.
hostile_server() { # the process id in hostile
	"$unit/unit-verbs-faults" --server 10.9.0.1 20077 >"$WORK/hostile" 2>&1 &
	hostile=$!
	CLEANUP_PIDS+=("$hostile")
	await 30 grep -q listening "$WORK/hostile"
}
hostile_end() {
	kill "$hostile"
	wait "$hostile" 2>/dev/null
	grep -q 'with Immediate' "$WORK/hostile"
}
hostile_ping() { # VERSION TEXT
	local status=0
	hostile_server || return 1
	timeout 60 "${ping[@]}" --server 10.9.0.1:20077 --count 1 \
		--version-rdma "$1" >"$WORK/hostile-ping" 2>&1 && status=2
	cat "$WORK/hostile-ping"
	grep -q "$2" "$WORK/hostile-ping" || status=3
	hostile_end && return $status
}
hostile_gateway() {
	local gateway
	hostile_server || return 1
	"$build/bin/rpcrdma-gateway" --provider verbs --version-rdma 1 \
		--server 10.9.0.1:20077 --listen 127.0.0.1:20078 \
		>"$WORK/hostile-gateway" 2>&1 &
	gateway=$!
	CLEANUP_PIDS+=("$gateway")
	await 30 python3 "$(dirname "$0")/verbs_read.py" 20078 || return 2
	await 30 grep -q 'RDMA Write with Immediate' "$WORK/hostile-gateway" ||
		{ cat "$WORK/hostile-gateway"; return 3; }
	grep -q 'wrote 65536 octets' "$WORK/hostile" || return 4
	kill "$gateway" && wait "$gateway"
	hostile_end
}
hostile() {
	check verbs-hostile-ping hostile_ping 2 'RDMA Write with Immediate'
	# Its Call fails with the connection.
	check verbs-hostile-ping-1 hostile_ping 1 '0 answered, 1 failed'
	check verbs-hostile-gateway hostile_gateway
}

# Hosts that know each other, with a KDC of the guest's own.
host_auth() {
	local tool keys=$WORK/krb5 name=nfs/server.rpcrdma.test
	if tool=$(krb5_missing); then
		skip verbs-host-auth "needs $tool"
		return
	fi
	if ! { start_kdc && add_principal "$name" "$keys/server.keytab" &&
		add_principal host/client.rpcrdma.test "$keys/client.keytab" &&
		add_principal tester "$keys/user.keytab"; }; then
		not_ok verbs-host-auth-kdc "$(tail -n 2 "$keys"/*.out | tr '\n' ' ')"
		return
	fi
	rm -rf "$WORK/server"
	if ! start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 10.9.0.1;' 'Host_Authentication = required;' \
		"Host_Authentication_Keytab = \"$keys/server.keytab\";"; then
		not_ok verbs-host-auth "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
		return
	fi
	check verbs-host-auth known "the server is $name@$KRB5_REALM" client
	check verbs-host-auth-none refused timeout 60 \
		"${ping[@]}" \
		--server "10.9.0.1:$RDMA_PORT" --count 1
	check verbs-host-auth-user refused user
	check verbs-host-auth-stats read_stats 'totals["auth_passed"] == 1' \
		'totals["auth_failed"] == 2' 'totals["calls_received"] == 10'
	check verbs-host-auth-stop stop_ganesha
}
known() { # TEXT COMMAND...: it succeeds, and says so
	local text=$1
	shift
	"$@" >"$WORK/known" 2>&1 && grep -q "$text" "$WORK/known"
}
refused() { # COMMAND...: by the server
	"$@" >"$WORK/known" 2>&1
	[ $? = 5 ] || { cat "$WORK/known"; return 1; }
}
client() { ping_as client; }
user() { ping_as user; }
ping_as() { # KEYTAB
	KRB5CCNAME=FILE:$WORK/krb5/none timeout 60 \
		"${ping[@]}" --flood \
		--server "10.9.0.1:$RDMA_PORT" --count 10 --host-auth required \
		--keytab "$WORK/krb5/$1.keytab" \
		--server-principal nfs@server.rpcrdma.test
}

# Clients that are killed while they connect, in the midst of Calls, or after.
killed_clients() {
	local i n pids
	for ((i = 0; i < 8; i++)); do
		pids=()
		for ((n = 0; n < 4; n++)); do
			"${ping[@]}" --quiet --server "10.9.0.1:$RDMA_PORT" \
				--count 0 --flood --depth 8 &
			pids+=("$!")
		done
		# The first rounds until all are there, the others as it comes.
		if [ $i -lt 2 ]; then
			await 60 read_stats 'connections_now >= 4' || return 1
		else
			sleep "0.$i"
		fi
		kill -KILL "${pids[@]}"
		wait "${pids[@]}"
	done 2>/dev/null
	await 120 read_stats 'connections_now == 0' || return 2
	timeout 60 "${ping[@]}" --quiet --server "10.9.0.1:$RDMA_PORT" \
		--count 10 --flood
}
sound() { ! grep -E 'AddressSanitizer|runtime error' "$WORK/server/stderr"; }
# The server itself, under the sanitizers.
watched_server() {
	local asan=${RPCRDMA_ASAN:-} status
	if [ ! -x "$asan/bin/ganesha-rdma.nfsd" ]; then
		skip verbs-server-killed-clients "no build with the sanitizers"
		return
	fi
	rm -rf "$WORK/server"
	if ! GANESHA_BIN=$asan/bin/ganesha-rdma.nfsd start_ganesha "$WORK/server" \
		"$WORK/data" 'Provider = verbs;' 'Bind_Addr = 10.9.0.1;'; then
		not_ok verbs-server-sanitized "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
		return
	fi
	check verbs-server-killed-clients killed_clients
	check verbs-server-killed-clients-end stop_ganesha
	check verbs-server-sound sound
}

# Devices that go and come back while nobody is connected: what the log, the service
# manager and the statistics say, and that Calls are answered again.
told() { await 60 grep -q "^STATUS=$1" "$WORK/notify.said"; }
logs_line() { await 60 grep -q ":rpcrdma: $1" "$GANESHA_LOG"; }
notifying_server() { # PROVIDER LINE...
	rm -rf "$WORK/server" "$WORK/notify"
	notified "$WORK/notify" || return
	NOTIFY_SOCKET=$WORK/notify start_ganesha "$WORK/server" "$WORK/data" \
		"${@:2}" || return
	told "RDMA is served on .*, provider $1$"
}
reach_server() { notifying_server verbs 'Provider = verbs;' "$@"; } # LINE...
auto_server() { notifying_server "$1" 'Provider = auto;' 'Bind_Addr = 0.0.0.0;'; } # PROVIDER
answers_at() {
	timeout 60 "${ping[@]}" --quiet --server "$1:$RDMA_PORT" --count 3 --flood "${@:2}"
}
reaches_nobody() { # ADDRESS TEXT
	local out status=0
	out=$(timeout 60 "${ping[@]}" --server "$1:$RDMA_PORT" --count 1 2>&1) || status=$?
	echo "$out"
	[ "$status" != 0 ] && [[ $out = *"$2"* ]]
}
# Does the server open what it does not close?
opened() { ls "/proc/$GANESHA_PID/fd" | wc -l; }
looks_again() { # two looks and more
	local before
	before=$(opened)
	sleep 12
	[ "$(opened)" -le "$before" ] || { ls -l "/proc/$GANESHA_PID/fd"; return 1; }
}
# Of the lines "NAME NETDEV" in $there.
all_go() { # CHECK
	while read -r name dev; do
		check "$1-$name" device_goes "$name"
	done <<<"$there"
}
others_back() {
	while read -r name dev; do
		[ "$name" = "${kind}0" ] ||
			rdma link add "$name" type "$kind" netdev "$dev"
	done <<<"$there"
}
reports_none() {
	local status=0
	report "$WORK/none" || status=$?
	grep -q '^devices: 0$' "$WORK/none" && grep -q modprobe "$WORK/none" &&
		[ "$status" = 4 ]
}
reach() {
	local any one two # with the port that each server takes
	local want='no RDMA device has an active port' there name dev
	local here='no RDMA device with an active port has this address'
	there=$(rdma link | sed -n 's/^link \([a-z0-9]*\)\/.* netdev \([a-z0-9]*\) *$/\1 \2/p')
	check verbs-reach reach_server 'Bind_Addr = 0.0.0.0;'
	any=0.0.0.0:$RDMA_PORT
	check verbs-reach-answers answers_at 10.9.0.1
	await 60 read_stats 'connections_now == 0'
	check verbs-reach-nobody reaches_nobody 10.9.0.77 'nobody answers at that address: '
	ip link add d9 type dummy && ip address add 10.9.9.1/24 dev d9 && ip link set d9 up
	check verbs-reach-no-device reaches_nobody 10.9.9.2 'no RDMA device has a route to that address: '
	ip link delete d9
	check verbs-reach-opened looks_again
	all_go verbs-reach-goes
	check verbs-reach-report reports_none
	check verbs-reach-told told \
		"RDMA cannot be reached on $any, provider verbs: $want$"
	check verbs-reach-logged logs_line \
		"RDMA cannot be reached on $any: $want (rdma link shows devices)"
	check verbs-reach-down read_stats "listeners_down == ['$any']"
	check verbs-reach-shown known "^cannot be reached; the server's log says why: $any$" \
		"$build/bin/rpcrdma-stat" --socket "$GANESHA_STATS"
	: >"$WORK/notify.said"
	rdma link add "${kind}0" type "$kind" netdev d0
	check verbs-reach-back told "RDMA is served on $any, provider verbs$"
	check verbs-reach-back-logged logs_line "RDMA can be reached on $any again"
	check verbs-reach-up read_stats 'listeners_down == []'
	check verbs-reach-back-answers answers_at 10.9.0.1
	check verbs-reach-stop stop_ganesha
	others_back

	check verbs-reach-two reach_server 'Bind_Addr = 10.9.0.1, 10.9.2.1;'
	one=10.9.0.1:$RDMA_PORT two=10.9.2.1:$RDMA_PORT
	check verbs-reach-two-goes device_goes "${kind}0"
	check verbs-reach-two-told told \
		"RDMA is served on $two, provider verbs; cannot be reached on $one: $here$"
	check verbs-reach-two-down read_stats "listeners_down == ['$one']"
	check verbs-reach-two-other answers_at 10.9.2.1
	# The link alone: the device and its address stay.
	ip link set o0 down
	check verbs-reach-two-link told \
		"RDMA cannot be reached on $one, $two, provider verbs: no RDMA .* has these addresses$"
	ip link set o0 up
	: >"$WORK/notify.said"
	rdma link add "${kind}0" type "$kind" netdev d0
	check verbs-reach-two-back told "RDMA is served on $one, $two, provider verbs$"
	check verbs-reach-two-answers answers_at 10.9.0.1
	# The address alone.
	ip address del 10.9.0.1/24 dev d0
	check verbs-reach-two-address told \
		"RDMA is served on $two, provider verbs; cannot be reached on $one: $here$"
	: >"$WORK/notify.said"
	ip address add 10.9.0.1/24 dev d0
	check verbs-reach-two-address-back told \
		"RDMA is served on $one, $two, provider verbs$"
	check verbs-reach-two-address-answers answers_at 10.9.0.1
	check verbs-reach-two-stop stop_ganesha
	ip link set o0 down
	check verbs-reach-check says 0 \
		"^rpcrdma: RDMA cannot be reached on 10.9.2.1:20049: $here" \
		'Provider = verbs;' 'Bind_Addr = 10.9.0.1, 10.9.2.1;'
	check verbs-reach-start reach_begins "$here"
	ip link set o0 up
	device_goes "${kind}2" && rdma link add "${kind}2" type "$kind" netdev o0

	# A device that comes after Provider = auto has decided.
	all_go verbs-reach-auto-goes
	check verbs-reach-auto auto_server iwarp
	check verbs-reach-auto-logged logs_line \
		'Provider = auto: no RDMA device has an active port: using iwarp'
	: >"$WORK/notify.said"
	rdma link add "${kind}0" type "$kind" netdev d0
	check verbs-reach-auto-comes told \
		'RDMA is served on .*, provider iwarp; there is an RDMA device now: restart to use it$'
	check verbs-reach-auto-comes-logged logs_line \
		'Provider = auto: there is an RDMA device now, but this server uses iwarp'
	check verbs-reach-auto-opened looks_again
	: >"$WORK/notify.said"
	check verbs-reach-auto-goes device_goes "${kind}0"
	check verbs-reach-auto-gone told 'RDMA is served on .*, provider iwarp$'
	rdma link add "${kind}0" type "$kind" netdev d0
	check verbs-reach-auto-stop stop_ganesha
	check verbs-reach-auto-restart auto_server verbs
	check verbs-reach-auto-end stop_ganesha
	others_back

	# An address that comes after the start, as to a standby.
	check verbs-reach-later later_begins "$here"
	: >"$WORK/notify.said"
	ip address add 10.9.0.9/24 dev d0
	check verbs-reach-later-comes told "RDMA is served on 10.9.0.9:$RDMA_PORT, provider verbs$"
	check verbs-reach-later-answers answers_at 10.9.0.9
	check verbs-reach-later-end stop_ganesha
	ip address del 10.9.0.9/24 dev d0
	echo 0 >/proc/sys/net/ipv4/ip_nonlocal_bind
}
later_begins() { # TEXT
	rm -rf "$WORK/server" "$WORK/notify"
	notified "$WORK/notify" || return
	echo 1 >/proc/sys/net/ipv4/ip_nonlocal_bind
	NOTIFY_SOCKET=$WORK/notify start_ganesha "$WORK/server" "$WORK/data" \
		'Provider = verbs;' 'Bind_Addr = 10.9.0.9;' || return
	told "RDMA cannot be reached on 10.9.0.9:$RDMA_PORT, provider verbs: $1$"
}
reach_begins() {
	rm -rf "$WORK/server"
	start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 10.9.2.1;' || return
	logs_line "RDMA cannot be reached on 10.9.2.1:$RDMA_PORT: $1" && stop_ganesha
}

# Addresses and ports that come and go, while a client at another address is answered,
# and one at an address that goes.
listens() { # LISTENERS [DOWN]: as Python has them
	await 60 read_stats "listeners == $1" "listeners_down == ${2:-[]}"
}
reads_again() { # SED
	sed -e "$1" "$WORK/before.conf" >"$WORK/server/ganesha.conf" && kill -HUP "$GANESHA_PID"
}
reloads() {
	local at host kept=()
	rm -rf "$WORK/server"
	if ! start_ganesha "$WORK/server" "$WORK/data" 'Provider = verbs;' \
		'Bind_Addr = 10.9.0.1, 10.9.1.1;'; then
		not_ok "verbs-$kind-reload" "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
		return
	fi
	cp "$WORK/server/ganesha.conf" "$WORK/before.conf"
	for host in 10.9.0.1 10.9.1.1; do
		start_bg timeout 300 "${ping[@]}" --json --server "$host:$RDMA_PORT" --count 0 \
			--interval 10 >"$WORK/kept-$host"
		kept+=("$BG_PID")
	done
	check "verbs-$kind-reload-kept" await 60 read_stats \
		'len([c for c in connections if c["state"] == "open"]) == 2'
	at=":$RDMA_PORT'"
	reads_again 's/Bind_Addr = 10.*/Bind_Addr = 10.9.1.1, 10.9.2.1, 10.9.2.7;/'
	check "verbs-$kind-reload-listens" listens "['10.9.1.1$at, '10.9.2.1$at, '10.9.2.7$at]" \
		"['10.9.2.7$at]"
	check "verbs-$kind-reload-new" answers_at 10.9.2.1
	check "verbs-$kind-reload-gone" reaches_nobody 10.9.0.1 ''
	check "verbs-$kind-reload-missing" logs_line \
		"cannot listen on 10.9.2.7:$RDMA_PORT: no RDMA device has this address"
	ip address add 10.9.2.7/24 dev o0
	check "verbs-$kind-reload-comes" listens "['10.9.1.1$at, '10.9.2.1$at, '10.9.2.7$at]"
	check "verbs-$kind-reload-came" answers_at 10.9.2.7
	reads_again "s/Port = $RDMA_PORT;/Port = $((RDMA_PORT + 1));/"
	at=":$((RDMA_PORT + 1))'"
	check "verbs-$kind-reload-port" listens "['10.9.0.1$at, '10.9.1.1$at]"
	RDMA_PORT=$((RDMA_PORT + 1)) check "verbs-$kind-reload-moved" answers_at 10.9.0.1
	for host in "${kept[@]}"; do
		kill -TERM "$host"
		wait "$host"
	done
	for host in 10.9.0.1 10.9.1.1; do
		check "verbs-$kind-reload-$host" python3 -c 'import json, sys
doc = json.load(open(sys.argv[1]))
print(doc)
assert doc["answered"] > 100 and doc["connected"] and not doc["failed"]' "$WORK/kept-$host"
	done
	ip address delete 10.9.2.7/24 dev o0
	check "verbs-$kind-reload-stop" stop_ganesha
}

mkdir -p "$WORK/data" /run/ganesha
start_bg rpcbind -f
if [ ${#only[@]} -gt 0 ]; then
	if [ "$(type -t "${only[0]}")" = function ]; then
		"${only[@]}"
	else
		"$unit/${only[0]}" "${only[@]:1}" || FAILED=1
	fi
else
	all
fi
if dmesg | grep -E 'changed security contexts|BUG:|Oops|general protection|refcount_t:' >"$out/kernel"; then
	not_ok "verbs-$kind-kernel" "$(head -n 1 "$out/kernel")"
fi
finish
