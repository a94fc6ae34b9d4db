#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# conformance-guest.sh - the part of conformance-verbs.test in the guest
#
#	conformance-guest.sh MODULE [OPTION OF rpcrdma-conformance...]
#
# What is checked has the guest's own network, for devices serve the first
# namespace only; the checks are at the other end of a link, in namespace
# "peer". Servers and Requester are checked at the same time.

export kind=siw module=$1
export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/verbs-lib.sh
. "$(dirname "$0")/verbs-lib.sh"
WORK=$(mktemp -d /tmp/rpcrdma-test.XXXXXX)
DATA=$WORK/data
mkdir -p "$DATA" /run/ganesha
trap cleanup EXIT
# Compiled once for all starts of the kit, and not into the tree.
export PYTHONPYCACHEPREFIX=$WORK/pycache
SERVER=10.9.1.1
GANESHA_BIND=0.0.0.0 # for MOUNT
PEER=10.9.1.2
# Not "ip netns exec", which hides the devices.
there=(nsenter --net=/run/netns/peer)
kit=$TOP/tests/conformance/rpcrdma-conformance
# So long only where there is no answer at all. CRCs are the device's, too.
options=(--no-raw --no-crc --patience 60 "${@:2}")

if ! setup >"$WORK/setup" 2>&1; then
	skip conformance-verbs "no device: $(tail -n 1 "$WORK/setup")"
	exit 0
fi
start_bg rpcbind -f
# A port that is free at one end of the link is taken at the other.
echo 50000 60999 >/proc/sys/net/ipv4/ip_local_port_range
"${there[@]}" sh -c 'echo 40000 49999 >/proc/sys/net/ipv4/ip_local_port_range'
"$kit" --list "${options[@]}" >"$WORK/list" || finish

wanted() { grep -q "^[^ ]* *$1 *$2 " "$WORK/list"; }

# conform NAME OPTION...: its results are in $WORK/results-NAME
conform() {
	local out=$WORK/results-$1 status

	timeout 2000 "${there[@]}" "$kit" "${options[@]}" "${@:2}" 2>&1 |
		tee "$out" | grep -E '^(ok|not ok) '
	status=${PIPESTATUS[0]}
	# 1: said already.
	if [ "$status" -gt 1 ]; then
		echo "not ok kit-$1 status $status: $(tail -n 2 "$out" | tr '\n' ' ')"
	fi
	if grep '^# .* is left over' "$out" >"$out-left"; then
		echo "not ok tidy-$1 $(head -n 1 "$out-left")"
		status=1
	fi
	return "$status"
}

# server WORD ['RDMA line...']: Ganesha set up as the checks for WORD want it
server() {
	local word=$1 failed=0

	shift
	wanted server "$word" || return 0
	write_config "$WORK/$word" "$DATA" 'Provider = verbs;' \
		"Bind_Addr = $SERVER;" "$@"
	if [ "$word" = default-port ]; then
		sed -i "/Port = $RDMA_PORT;/d" "$WORK/$word/ganesha.conf"
		RDMA_PORT=20049
	fi
	if ! run_ganesha "$WORK/$word"; then
		not_ok "start-$word" "$(tail -n 2 "$GANESHA_LOG" | tr '\n' ' ')"
		return 1
	fi
	if ! conform "$word" --host "$SERVER" --port "$RDMA_PORT" \
		--mount-port "$MNT_PORT" --server-is "$word"; then
		# What the server made of it, but for what the checks provoke.
		grep -hE ':(WARN|CRIT|MAJ) :' "$GANESHA_LOG" |
			grep -E 'not accepted|closed: |refused: |verbs: ' |
			tail -n 20 | sed 's/^/# /'
		failed=1
	fi
	if stop_ganesha; then
		ok "end-$word"
	else
		not_ok "end-$word" "status $?"
		failed=1
	fi
	return $failed
}

# One that calls back whenever it is asked to.
callback() {
	local failed=0

	wanted server callback || return 0
	free_port
	start_bg "$RPCRDMA_BUILD/tests/tools/rpcrdma-echo-server" \
		--provider verbs --listen "$SERVER:$PORT" --credits 16 \
		>"$WORK/echo.out" 2>&1
	if ! await 60 listening "$PORT"; then
		not_ok start-callback "$(tail -n 1 "$WORK/echo.out")"
		return 1
	fi
	conform callback --host "$SERVER" --port "$PORT" \
		--server-is callback || failed=1
	if end_pid "$BG_PID"; then
		ok end-callback
	else
		not_ok end-callback "status $?: $(tail -n 1 "$WORK/echo.out")"
		failed=1
	fi
	return $failed
}

servers() {
	local failed=0

	server plain || failed=1
	server no-continuation 'Debug.Continued_Replies = false;' || failed=1
	server no-invalidation 'Debug.Remote_Invalidation = false;' || failed=1
	server version-1 'Versions = 1;' || failed=1
	server xcharext 'Extensions = xcharext;' || failed=1
	server xcharext-policy 'Extensions = xcharext;' 'Debug.Idle_After = 5;' || failed=1
	server rtrext 'Extensions = xcharext, rtrext;' || failed=1
	server default-port || failed=1
	callback || failed=1
	return $failed
}

# The gateway, which the checks start, has to be where the device is.
requester() {
	wanted requester plain || return 0
	cat >"$WORK/gateway" <<-END
	#!/bin/sh
	exec nsenter --net=/proc/$$/ns/net \\
		'$RPCRDMA_BUILD/bin/rpcrdma-gateway' --provider verbs "\$@"
	END
	chmod +x "$WORK/gateway"
	conform requester --requester "$WORK/gateway" \
		--server-address "$PEER" --requester-address "$SERVER"
}

requester &
pid=$!
servers || FAILED=1
wait "$pid" || FAILED=1

left() {
	# A client is served in conformance.test and conformance-others.test.
	awk '$2 != "client" { print $1 }' "$WORK/list" | sort >"$WORK/known"
	sed -n 's/^\(ok\|not ok\) \([^ ]*\).*/\2/p' "$WORK"/results-* | sort -u |
		comm -23 "$WORK/known" - >"$WORK/left"
	tr '\n' ' ' <"$WORK/left"
	[ ! -s "$WORK/left" ]
}
check all-checks-run left
quiet_kernel() { ! dmesg | grep -E 'BUG:|Oops|general protection|refcount_t:'; }
check kernel quiet_kernel
finish
