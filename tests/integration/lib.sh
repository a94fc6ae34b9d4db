# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# lib.sh - a private Ganesha for integration tests
#
#	. "$(dirname "$0")/lib.sh"
#	isolate "$@"			network and /run of the test's own
#	start_ganesha DIR EXPORT ['RDMA block line' ...]	"Debug.ITEM = VALUE;"
#						in a line is of RDMA_Debug
#	...
#	stop_ganesha && finish
#
# start_ganesha serves the directory EXPORT as /export by NFSv3, 4.0, 4.1 and
# 4.2 over TCP and RDMA; everything it writes is in DIR. It sets
#
#	GANESHA_PID GANESHA_LOG GANESHA_STATS NFS_PORT MNT_PORT RDMA_PORT
#
# and fails if the server ends before it serves. The caller's environment:
#
#	RPCRDMA_BUILD	build directory (default: build/release)
#	GANESHA_BIN	launcher (default: of RPCRDMA_BUILD)
#	GANESHA_FSAL	VFS (default) or MEM (then EXPORT is not used)
#	GANESHA_FSAL_LINES	further lines of the export's block FSAL
#	GANESHA_EXPORT	further lines of block EXPORT
#	GANESHA_SECTYPE	how the export may be used (sys, none)
#	GANESHA_KRB5	lines of block NFS_Krb5 (Active_krb5 = false;)
#	GANESHA_NFS4	further lines of block NFSv4
#	GANESHA_PROTOCOLS	versions of NFS (3, 4)
#	GANESHA_CORE	further lines of block NFS_Core_Param
#	GANESHA_RELEASE	a release of tests/release/run: the server runs in its tree,
#			with what build/ganesha-RELEASE has (default: this machine's
#			Ganesha 4.3)
#	GANESHA_BLOCKS	further blocks of ganesha.conf
#	GANESHA_WRAP	command to run the server under, as a shell reads it
#	RPCRDMA_TMP	where the test's directory is made, on that file system;
#			without it, in /tmp, and where that can be in memory
#	GANESHA_BIND	address that it serves TCP on (default: 127.0.0.1)
#
# What is started is ended by process id when the test ends, however it ends.

TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
RPCRDMA_BUILD=${RPCRDMA_BUILD:-$TOP/build/release}
if [ -n "${GANESHA_RELEASE:-}" ]; then
	GANESHA_BIN=${GANESHA_BIN:-$TOP/build/ganesha-$GANESHA_RELEASE/bin/ganesha-rdma.nfsd}
	printf -v GANESHA_TREE '%q ' "$TOP/tests/release/run" "$GANESHA_RELEASE"
	GANESHA_WRAP=${GANESHA_WRAP-$GANESHA_TREE}
fi
GANESHA_BIN=${GANESHA_BIN:-$RPCRDMA_BUILD/bin/ganesha-rdma.nfsd}
FAILED=0
WANTED=("$@")
CLEANUP_PIDS=()
OVERS=()
# Before the command of a client that has megabytes in hand: it keeps them. To get each
# from the kernel anew takes longer than to fill it.
# shellcheck disable=SC2034 # the tests'
HOARDS=(env MALLOC_MMAP_THRESHOLD_=1073741824 MALLOC_TRIM_THRESHOLD_=1073741824)
WORK=

# Ganesha's own library keeps what it has until the exit.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=0}

# With RPCRDMA_TIMES it has the seconds since the start.
ok() { echo "ok $1${RPCRDMA_TIMES:+ at $SECONDS s}"; }
not_ok() { echo "not ok $1 ${*:2}"; FAILED=1; }
skip() { echo "skip $1 ${*:2}"; }
# check NAME COMMAND...: ok if COMMAND succeeds; its output is the reason if not:
# its last lines, and below all of it
check() {
	local name=$1
	shift
	if "$@" >"$WORK/check.out" 2>&1; then
		ok "$name"
	else
		not_ok "$name" "status $?:" \
			"$(tail -n 3 "$WORK/check.out" | tr '\n' ' ')"
		[ "$(wc -l <"$WORK/check.out")" -le 3 ] ||
			head -n 500 "$WORK/check.out" | sed 's/^/# /'
	fi
}
finish() { exit "$FAILED"; }
# ganesha_at_least RELEASE: is what is tested this release or a later one?
ganesha_at_least() { printf '%s\n' "$1" "${GANESHA_RELEASE:-4.3}" | sort -VC; }
# Since 6.5 Ganesha wants CAP_SYS_RESOURCE, which this process may lack.
no_io_flusher() { ! ganesha_at_least 6.5 || echo 'allow_set_io_flusher_fail = true;'; }
# shellcheck disable=SC2034 # the tests'
NO_IO_FLUSHER=$(no_io_flusher)
# part NAME: is it among those on the test's command line? Without any, all are.
part() { [ ${#WANTED[@]} = 0 ] || [[ " ${WANTED[*]} " = *" $1 "* ]]; }

# Run this script again where nothing else listens: ports are free, rpcbind is
# ours, and nothing of the machine is touched. Without the means, say so.
isolate() {
	if [ -z "${RPCRDMA_ISOLATED:-}" ]; then
		if [ "$(id -u)" != 0 ] || ! unshare -nm true 2>/dev/null; then
			skip "$(basename "$0")" "needs root and namespaces"
			exit 0
		fi
		RPCRDMA_ISOLATED=1 exec unshare -nm "$BASH" "$0" "$@"
	fi
	mount -t tmpfs tmpfs /run && mkdir -p /run/ganesha || exit 1
	ip link set lo up || exit 1
	# Clients take reserved ports at random, which are a server's next time:
	# they must not linger. Where that cannot be had, try again.
	echo 0 2>/dev/null >/proc/sys/net/ipv4/tcp_max_tw_buckets
	# The server wants to see an address that is not loopback's.
	ip address replace 192.0.2.1/32 dev lo || exit 1
	trap cleanup EXIT
	trap 'exit 1' INT TERM HUP
	WORK=$(mktemp -d "${RPCRDMA_TMP:-/tmp}/rpcrdma-test.XXXXXX") || exit 1
	in_memory "$WORK"
	# Where Ganesha looks for mounted file systems. A machine that has never
	# been booted may not have it; the copy is seen by this test alone.
	if [ ! -e /etc/mtab ]; then
		cp -a /etc "$WORK/etc" && rm -f "$WORK/etc/mtab" &&
			ln -s ../proc/self/mounts "$WORK/etc/mtab" &&
			mount --bind "$WORK/etc" /etc || exit 1
	fi
	# NFSv3 is not served unless it can be registered.
	if command -v rpcbind >/dev/null; then
		start_bg rpcbind -f
		await 30 rpcinfo -p 127.0.0.1 || skip rpcbind "does not answer"
	fi
}

# in_memory DIR: what is written there is. In ext4 a file takes a new inode, past all that
# were deleted in the last minutes: while tests delete whole Debians, to make a file
# takes milliseconds. Before a release files are on the disk; so are those that are kept,
# and those for Ganesha 5.9 and later, which export no tmpfs.
in_memory() {
	local free

	[ -z "${RPCRDMA_TMP:-}${RPCRDMA_KEEP:-}${RPCRDMA_ALL:-}${GANESHA_RELEASE:-}" ] || return 0
	free=$(awk '$1 == "MemAvailable:" { print int($2 / 1048576) }' /proc/meminfo)
	[ "$free" -lt 6 ] || mount -t tmpfs -o mode=700 tmpfs "$1" || return 0
}

# over DIR AT: the test sees DIR at AT, but the checkout and the build where they are
over() {
	local from=$1 at=$2 kept i places=("$TOP")

	case $RPCRDMA_BUILD in
	"$TOP"/*) ;;
	*) places+=("$RPCRDMA_BUILD") ;;
	esac
	mkdir -p "$at" || return
	for i in "${!places[@]}"; do
		if [[ ${places[i]} == "$at"/* ]]; then exec {kept[i]}<"${places[i]}"; fi
	done
	mount --bind "$from" "$at" || return
	OVERS+=("$at")
	for i in "${!kept[@]}"; do
		mkdir -p "${places[i]}" &&
			mount -c --bind "/proc/self/fd/${kept[i]}" "${places[i]}" || return
		exec {kept[i]}<&-
	done
}
# not_over AT
not_over() { umount -R "$1"; }

# bare FILE: its name, or another without a blank or a colon, for lists of names
bare() {
	local link

	case $1 in
	*[[:space:]:]*)
		link=$(mktemp -u "$WORK/bare.XXXXXX") &&
			ln -s "$(dirname "$(realpath "$1")")" "$link" &&
			echo "$link/$(basename "$1")"
		;;
	*) echo "$1" ;;
	esac
}

# launcher_of BUILD: also in one of version 0.2.0, to measure against
launcher_of() { if [ -x "$1/bin/ganesha-rdma.nfsd" ]; then echo "$1/bin/ganesha-rdma.nfsd"; else echo "$1/src/ganesha/ganesha-rdma.nfsd"; fi; }
# library_of BUILD: that which its launcher preloads
library_of() { echo "$1"/lib*/rpcrdma/*/librpcrdma-ganesha.so; }

# start_bg COMMAND...: in the background, ended with the test; sets BG_PID
start_bg() {
	"$@" &
	BG_PID=$!
	CLEANUP_PIDS+=("$BG_PID")
}

# end_pid PID: ask, insist after half a minute; the status of the process
end_pid() {
	local end=$((SECONDS + 30 * ${RPCRDMA_PATIENCE:-1}))
	kill -TERM "$1" 2>/dev/null
	while kill -0 "$1" 2>/dev/null && [ "$SECONDS" -lt "$end" ]; do pause; done
	if kill -0 "$1" 2>/dev/null; then where_it_hangs "$1"; fi
	kill -KILL "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

# What its threads wait for, of a process that does not end.
where_it_hangs() { # PID
	local task
	echo "process $1 does not end:"
	for task in "/proc/$1/task"/*; do
		echo "$(cat "$task/comm") waits in $(cat "$task/wchan"), system call" \
			"$(cut -d' ' -f1 "$task/syscall")"
	done
	if command -v gdb >/dev/null; then
		timeout 20 gdb -p "$1" -batch -ex 'thread apply all bt 12' 2>/dev/null |
			grep -E '^(Thread|#)'
	fi
} 2>/dev/null

cleanup() {
	local pid at
	for pid in "${CLEANUP_PIDS[@]}"; do
		if kill -0 "$pid" 2>/dev/null; then end_pid "$pid"; fi
	done
	case $WORK in
	*/rpcrdma-test.*)
		if [ "$FAILED" != 0 ] && [ -n "${RPCRDMA_KEEP:-}" ]; then
			echo "# kept $WORK"
		else
			for at in "${OVERS[@]}"; do umount -Rl "$at" 2>/dev/null; done
			unmount_below "$WORK"
			rm -rf "$WORK"
		fi
		;;
	esac
}
# unmount_below DIR: all that this test sees mounted there
unmount_below() {
	local at

	awk -v dir="$1" '$5 == dir || index($5, dir "/") == 1 { print $5 }' \
		/proc/self/mountinfo | tac | while read -r at; do
		umount -l "$(printf %b "$at")"
	done 2>/dev/null
}

# Between two looks whether something has come. Where all is emulated a look costs
# most of a tenth of a second: so fewer of them.
pause() {
	if [ "${RPCRDMA_PATIENCE:-1}" = 1 ]; then sleep 0.1; else sleep 0.7; fi
}

# await SECONDS COMMAND...: until COMMAND succeeds
await() {
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		pause
	done
}

# three_at_once COMMAND...: what must not meet meets within seconds. All end well, and
# the server goes on.
three_at_once() {
	local pids=() pid failed=0
	for _ in 1 2 3; do
		PYTHONDONTWRITEBYTECODE=1 timeout 200 "$@" &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
	kill -0 "$GANESHA_PID" || { echo "the server has ended"; failed=1; }
	return "$failed"
}

# captured_all FILE: what dumpcap writes there grows no more; what is still in
# the kernel's buffer is not in it otherwise
captured_all() {
	local size=-1 now i same=0
	for ((i = 0; i < 90; i++)); do
		now=$(stat -c %s "$1")
		if [ "$now" != "$size" ]; then same=0; else same=$((same + 1)); fi
		[ "$same" -lt 4 ] || return 0
		size=$now
		sleep 1
	done
}

# start_gateway [OPTION...]: to --server, or the server last started; sets GATEWAY_PID,
# GATEWAY_PORT and NFS3, NFS4: what libnfs wants after the path in a URL
start_gateway() {
	local server=(--server "127.0.0.1:$RDMA_PORT")

	[[ " $* " != *" --server "* ]] || server=()
	free_port; GATEWAY_PORT=$PORT
	start_bg "$RPCRDMA_BUILD/bin/rpcrdma-gateway" \
		--listen "127.0.0.1:$GATEWAY_PORT" "${server[@]}" "$@" >"$WORK/gateway.out" 2>&1
	GATEWAY_PID=$BG_PID
	NFS3="?version=3&nfsport=$GATEWAY_PORT&mountport=$MNT_PORT"
	NFS4="?version=4&nfsport=$GATEWAY_PORT"
	await $((20 * ${RPCRDMA_PATIENCE:-1})) listening "$GATEWAY_PORT"
}

# read_stats EXPRESSION...: each must be true (Python) of the statistics
read_stats() {
	# No library: to start is what takes longest in a guest.
	python3 -IS - "$GANESHA_STATS" "$@" <<-'PY'
	import _socket, sys
	s = _socket.socket(_socket.AF_UNIX)
	s.settimeout(60)
	s.connect(sys.argv[1])
	text = b""
	while True:
	    part = s.recv(65536)
	    if not part:
	        break
	    text += part
	doc = eval(text, {"true": True, "false": False, "null": None})
	for test in sys.argv[2:]:
	    assert eval(test, {}, doc), (test, doc)
	PY
}

# free_port: one that nothing listens on, each time another
NEXT_PORT=22049
free_port() {
	while :; do
		NEXT_PORT=$((NEXT_PORT + 1))
		[ -n "$(ss -Hltn "sport = :$NEXT_PORT")" ] || break
	done
	PORT=$NEXT_PORT
}

listening() { [ -n "$(ss -Hltn "sport = :$1")" ]; }

# write_config DIR EXPORT [RDMA lines]: DIR/ganesha.conf, with no ports reused
write_config() {
	local dir=$1 export=$2 fsal
	shift 2
	mkdir -p "$dir/recovery"
	free_port; NFS_PORT=$PORT
	free_port; MNT_PORT=$PORT
	free_port; RDMA_PORT=$PORT
	GANESHA_LOG=$dir/ganesha.log
	GANESHA_STATS=$dir/stats.sock
	fsal=${GANESHA_FSAL:-VFS}
	[ "$fsal" = MEM ] && export=/export
	cat >"$dir/ganesha.conf" <<-END
	NFS_Core_Param {
		Bind_Addr = ${GANESHA_BIND:-127.0.0.1};
		NFS_Port = $NFS_PORT;
		MNT_Port = $MNT_PORT;
		Enable_NLM = false;
		Enable_RQUOTA = false;
		mount_path_pseudo = true;
		Protocols = ${GANESHA_PROTOCOLS:-3, 4};
		$NO_IO_FLUSHER
		${GANESHA_CORE:-}
	}
	NFSv4 {
		RecoveryRoot = $dir/recovery;
		Graceless = true;
		${GANESHA_NFS4:-}
	}
	NFS_Krb5 { ${GANESHA_KRB5:-Active_krb5 = false;} }
	EXPORT {
		Export_Id = 1;
		Path = $export;
		Pseudo = /export;
		Access_Type = RW;
		Squash = none;
		SecType = ${GANESHA_SECTYPE:-sys, none};
		${GANESHA_EXPORT:-}
		FSAL { Name = $fsal; ${GANESHA_FSAL_LINES:-} }
	}
	${GANESHA_BLOCKS:-}
	RDMA {
		Port = $RDMA_PORT;
		Stats_Socket = $GANESHA_STATS;
	$(printf '\t%s\n' "$@" | sed -E 's/Debug\.[^;]*;//g')
	}
	RDMA_Debug {
	$(printf '\t%s\n' "$@" | grep -oE 'Debug\.[^;]*;' | sed 's/Debug\./\t/')
	}
	END
}

# run_ganesha DIR: with DIR/ganesha.conf
run_ganesha() {
	local dir=$1 end=$((SECONDS + 180)) wrap
	eval "wrap=(${GANESHA_WRAP:-})"
	command -v "$GANESHA_BIN" >/dev/null || { echo "# no $GANESHA_BIN"; return 1; }
	: >"$GANESHA_LOG"
	start_bg "${wrap[@]}" "$GANESHA_BIN" -F -L "$GANESHA_LOG" \
		-f "$dir/ganesha.conf" -p "$dir/ganesha.pid" \
		2>"$dir/stderr" >"$dir/stdout"
	GANESHA_PID=$BG_PID
	while [ "$SECONDS" -lt "$end" ]; do
		grep -q 'NFS SERVER INITIALIZED' "$GANESHA_LOG" && return 0
		kill -0 "$GANESHA_PID" 2>/dev/null || return 1
		pause
	done
	return 1
}

start_ganesha() {
	write_config "$@" && run_ganesha "$1"
}

# notified FILE: a socket there, as systemd's; what it is told is in FILE.said
notified() {
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
while True:
    print(s.recv(4096).decode(), flush=True)' "$1" >"$1.said" &
	CLEANUP_PIDS+=($!)
	await $((20 * ${RPCRDMA_PATIENCE:-1})) test -S "$1"
}

# start_crowd ADDRESS RDMA-PORT NFS-PORT MOUNT-PORT FROM: $CROWD clients from the address FROM
# on, an eighth of which write to the file crowd of the export (tests/tools/crowd.c). Most
# limits are for fewer: 2,000 with RPCRDMA_ALL=1. Sets CROWD_PID
CROWD=${RPCRDMA_ALL:+2000}
CROWD=${CROWD:-200}
start_crowd() {
	local handles

	handles=$(python3 "$TOP/tests/integration/failover.py" --handles "$1" "$3" "$4" crowd) ||
		return 1
	# shellcheck disable=SC2086 # two
	start_bg "$RPCRDMA_BUILD/tests/tools/rpcrdma-crowd" "$1:$2" "$5" "$CROWD" \
		$((CROWD / 8)) 200 $handles "$WORK/crowd.acknowledged" >"$WORK/crowd.out" 2>&1
	CROWD_PID=$BG_PID
	await 60 crowd_served
}
# crowd_served [NUMBER]: are so many of them served now, by default all?
crowd_served() {
	[ "$(awk '$3 == "served," { n = $2 } END { print n }' "$WORK/crowd.out")" = "${1:-$CROWD}" ]
}
# crowd_since TIME WHAT: when none, one, half and all were served since
crowd_since() {
	awk -v since="$1" -v what="$2" '$3 == "served," && $1 >= since {
		text = text sprintf("%s%d after %d ms", text ? ", " : "", $2, ($1 - since) * 1000)
	} END { print "# " what ": of the crowd served " text }' "$WORK/crowd.out"
}
# end_crowd EXPORT: nothing acknowledged is lost
end_crowd() {
	end_pid "$CROWD_PID" && grep "done twice" "$WORK/crowd.out" &&
		python3 "$TOP/tests/integration/failover.py" --verify "$1/crowd" \
			"$WORK/crowd.acknowledged"
}

# stop_ganesha: the server's own exit status
stop_ganesha() {
	end_pid "$GANESHA_PID"
}

# driven DIR COMMAND...: COMMAND, which may end the server of DIR and start it again
# (driver.py). Its status; what it says is on stdout.
driven() {
	local dir=$1 what status said

	shift
	coproc DRIVER { exec "$@"; }
	CLEANUP_PIDS+=("$DRIVER_PID")
	local pid=$DRIVER_PID from=${DRIVER[0]} to=${DRIVER[1]}
	while IFS= read -r what <&"$from"; do
		if [[ $what != 'server '* ]]; then
			echo "$what"
			continue
		fi
		said=done
		case ${what#* } in
		stop) stop_ganesha || said="failed status $?" ;;
		kill) kill -KILL "$GANESHA_PID" && wait "$GANESHA_PID" 2>/dev/null ;;
		died)
			await 60 not_running "$GANESHA_PID"
			wait "$GANESHA_PID" 2>/dev/null
			status=$?
			said="done status $status"
			[ ! -s "$dir/stdout" ] || cp "$dir/stdout" "$dir/stdout.$GANESHA_PID"
			;;
		start) run_ganesha "$dir" || said="failed" ;;
		esac
		echo "$said" >&"$to"
	done
	wait "$pid"
}
not_running() { ! kill -0 "$1"; }
