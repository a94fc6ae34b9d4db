#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# guest-inside.sh - the part of tests/bench/guest that runs in the guest
#
#	guest-inside.sh MODULE VERS ROUNDS SECONDS 'WHO...'
#
# The network is that of tests/integration/oracle-lib.sh. All servers serve directories
# of one tmpfs and run all the time. /host/figures gets a line for each measurement.

RPCRDMA_ISOLATED=1 # the guest is for this alone
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/../integration/lib.sh"
# shellcheck source=tests/integration/oracle-lib.sh
. "$(dirname "$0")/../integration/oracle-lib.sh"
isolate "$@"
module=$1 vers=$2 rounds=$3 seconds=$4 who=$5
MNT=$WORK/mnt
FILES=$WORK/files
mkdir -p "$MNT" "$FILES"
mount -t tmpfs -o size=1g files "$FILES"
mkdir -m 777 "$FILES/knfsd" "$FILES/ganesha"
wanted() { [[ " $who " = *" $1 "* ]]; }
fail() {
	echo "guest: $*" >&2
	exit 1
}

network || fail "no network"

# ---- Servers ----------------------------------------------------------------

knfsd || fail "no knfsd: $(dmesg | tail -n 2)"

# siw sends by the thread of the last processor for the first of two queue pairs,
# or for the only one: that is the client's.
CLIENT=''
if [ -n "$RPCRDMA_APART" ]; then
	CLIENT="taskset 2" GANESHA_WRAP="taskset 1"
	for pid in $(pgrep -x nfsd); do
		taskset -p 1 "$pid" >"$WORK/apart" || fail "nfsd stays where it is"
	done
	[ -s "$WORK/apart" ] || fail "no nfsd to have a processor of its own"
fi

# without WHO REASON...: the others go on
without() {
	echo "guest: $1: ${*:2}" >&2
	who=" $who "
	who=${who/ $1 / }
	FAILED=1
}

# ours NAME PROVIDER ADDRESS [LINE...]: without CRC, as siw is with siw
ours() {
	start_ganesha "$WORK/$1" "$FILES/ganesha" "Provider = $2;" "Bind_Addr = $3;" \
		"CRC = false;" "${@:4}"
}
GANESHA_BIND=0.0.0.0
if wanted or; then
	ours verbs verbs 10.9.1.2 || without or "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	OR_STATS=$GANESHA_STATS OR_PORT=$RDMA_PORT OR_MOUNT="mountproto=tcp,mountport=$MNT_PORT"
fi
if wanted ov; then
	GANESHA_BIN=$(launcher_of "${RPCRDMA_VARIANT_BUILD:-$RPCRDMA_BUILD}") \
		ours variant verbs 10.9.1.2 "${RPCRDMA_VARIANT:-}" ||
		without ov "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	OV_PORT=$RDMA_PORT OV_MOUNT="mountproto=tcp,mountport=$MNT_PORT"
fi
if wanted iv; then
	GANESHA_BIN=$(launcher_of "${RPCRDMA_VARIANT_BUILD:-$RPCRDMA_BUILD}") \
		ours ivariant iwarp 10.9.2.2 "${RPCRDMA_VARIANT:-}" ||
		without iv "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	IV_PORT=$RDMA_PORT IV_MOUNT="mountproto=tcp,mountport=$MNT_PORT"
fi
if wanted os || wanted ot || wanted gw; then
	ours iwarp iwarp 10.9.2.2 || fail "$(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
	OS_STATS=$GANESHA_STATS OS_PORT=$RDMA_PORT OT_PORT=$NFS_PORT
	OS_MOUNT="mountproto=tcp,mountport=$MNT_PORT"
fi
if wanted gw; then
	start_gateway --server "10.9.2.2:$OS_PORT" --version-rdma 2 --crc off ||
		without gw "$(tail -n 3 "$WORK/gateway.out" | tr '\n' ' ')"
	[ -z "$CLIENT" ] || taskset -a -p 2 "$GATEWAY_PID" >"$WORK/apart"
fi

# mounted WHO
mounted() {
	local from options
	case $1 in
	kr) from=10.9.1.2:$(knfsd_path "$vers") options=proto=rdma,port=20049,$KNFSD_MOUNT ;;
	ks) from=10.9.2.2:$(knfsd_path "$vers") options=proto=rdma,port=20049,$KNFSD_MOUNT ;;
	kt) from=10.9.2.2:$(knfsd_path "$vers") options=proto=tcp,port=2049,$KNFSD_MOUNT ;;
	or) from=10.9.1.2:/export options=proto=rdma,port=$OR_PORT,$OR_MOUNT ;;
	ov) from=10.9.1.2:/export options=proto=rdma,port=$OV_PORT,$OV_MOUNT ;;
	iv) from=10.9.2.2:/export options=proto=rdma,port=$IV_PORT,$IV_MOUNT ;;
	os) from=10.9.2.2:/export options=proto=rdma,port=$OS_PORT,$OS_MOUNT ;;
	ot) from=10.9.2.2:/export options=proto=tcp,port=$OT_PORT,$OS_MOUNT ;;
	gw) from=127.0.0.1:/export options=proto=tcp,port=$GATEWAY_PORT,$OS_MOUNT ;;
	esac
	if [ "$vers" = 3 ]; then options+=,nolock; else options=${options%,mountproto*}; fi
	timeout 30 mount -t nfs -o "vers=$vers,$options" "$from" "$MNT"
}

# ---- Measurements -------------------------------------------------------------

[ -z "$RPCRDMA_FIO" ] || : "${RPCRDMA_ROWS:=read4k:8 write4k:8 readseq:4 writeseq:4}"
rows=${RPCRDMA_ROWS:-getattr:1 getattr:8 create:4 read4k:1 read4k:8 write4k:1
	write4k:8 readseq:1 readseq:4 writeseq:1 writeseq:4}
# What tells of losses, of both ends together: NAME=COUNT for each.
losses() {
	local name file sum
	for name in completer_retry_err duplicate_request out_of_seq_request send_err \
		rcvd_rnr_err retry_exceeded_err retry_rnr_exceeded_err; do
		sum=0
		for file in /sys/class/infiniband/rxe*/ports/1/hw_counters/$name; do
			sum=$((sum + $(<"$file")))
		done
		echo -n " $name=$sum"
	done
	echo " dropped=$(($(</sys/class/net/r0/statistics/tx_dropped) + $(</sys/class/net/r1/statistics/tx_dropped)))"
}
# Lines of mount-bench, each with what it has added to those. A row begins when
# the one before is told.
noted() { # WHO
	local line before after
	read -ra before < <(losses)
	while IFS= read -r line; do
		read -ra after < <(losses)
		for i in "${!after[@]}"; do
			line+=" ${after[i]%=*}=$((${after[i]#*=} - ${before[i]#*=}))"
		done
		before=("${after[@]}")
		echo "who=$1 $line"
	done
}
# NULL, which no file system has a part in, by a client of our own.
nulls() { # WHO
	local to
	case $1 in
	kr) to="rdma --provider verbs --server 10.9.1.2:20049" ;;
	ks) to="rdma --provider iwarp --server 10.9.2.2:20049" ;;
	kt) to="tcp --server 10.9.2.2:2049" ;;
	or) to="rdma --provider verbs --server 10.9.1.2:$OR_PORT" ;;
	ov) to="rdma --provider verbs --server 10.9.1.2:$OV_PORT" ;;
	iv) to="rdma --provider iwarp --server 10.9.2.2:$IV_PORT" ;;
	os) to="rdma --provider iwarp --server 10.9.2.2:$OS_PORT" ;;
	gw) to="tcp --server 127.0.0.1:$GATEWAY_PORT" ;;
	ot) to="tcp --server 10.9.2.2:$OT_PORT" ;;
	esac
	# shellcheck disable=SC2086 # words
	timeout -k 5 60 $CLIENT "$RPCRDMA_BUILD/tests/bench/rpcrdma-bench" --transport $to \
		--version-rdma 1 --crc off --tests null --depth 1,8 --seconds 1
}
# shellcheck disable=SC2086 # words
bench() { timeout -k 5 90 $CLIENT "$RPCRDMA_BUILD/tests/bench/mount-bench" "$MNT" "$@"; }
by_mount_bench() { # WHO
	# shellcheck disable=SC2086 # words
	bench "$seconds" $rows 2>"$WORK/why" | noted "$1" >>/host/figures
	[ "${PIPESTATUS[0]}" = 0 ] ||
		without "$1" "$(tail -n 1 "$WORK/why") $(dmesg | tail -n 1)"
	nulls "$1" 2>"$WORK/why" | sed -u -n 's/^bench //p' | noted "$1" >>/host/figures
	[ "${PIPESTATUS[0]}" = 0 ] || without "$1" "NULL: $(tail -n 1 "$WORK/why")"
}
# The same load by fio, in mount-bench's file and lines. Rows are jobs of one process,
# one after the other, for to start it takes long here.
by_fio() { # WHO
	local row n job=()
	for row in $rows; do
		n=${row#*:}
		case $row in
		read4k:*) job+=(--name="$row" --rw=randread --bs=4k --size=64m) ;;
		write4k:*) job+=(--name="$row" --rw=randwrite --bs=4k --size=64m) ;;
		readseq:*) job+=(--name="$row" --rw=read --bs=1m) ;;
		writeseq:*) job+=(--name="$row" --rw=write --bs=1m) ;;
		*) continue ;;
		esac
		# In parts of the file, else all would be at the same place.
		[[ $row != *seq:* ]] ||
			job+=(--size=$((64 / n))m --offset_increment=$((64 / n))m)
		job+=(--stonewall --numjobs="$n")
	done
	# shellcheck disable=SC2086 # words
	timeout -k 5 300 $CLIENT fio --output-format=terse --terse-version=3 --name=global \
		--filename="$MNT/bench" --direct=1 --ioengine=psync --thread --invalidate=0 \
		--group_reporting --time_based \
		--runtime="$(awk "BEGIN { printf \"%d\", $seconds * 1000 }")ms" "${job[@]}" |
		awk -F ';' -v who="$1" '
			$1 == 3 && $5 == 0 {
				split($3, row, ":")
				at = row[1] ~ /^read/ ? 7 : 48 # KiB/s, then operations/s
				printf "who=%s test=%s depth=%s ops_per_s=%s mb_per_s=%.2f\n", \
					who, row[1], row[2], $(at + 1), $at * 1024 / 1e6
				n++
			}
			END { exit !n }'
}
: >/host/figures
for ((round = 1; round <= rounds; round++)); do
	echo "round $round of $rounds" >&2
	# In any order: one leaves work behind, which the next would always have.
	for w in $(shuf -e -- $who); do
		mounted "$w" || {
			without "$w" "no mount: $(dmesg | tail -n 1)"
			continue
		}
		[ "$round" != 1 ] || echo "# $w: $(grep " $MNT " /proc/self/mounts)" >&2
		bench 0.1 getattr:1 >"$WORK/why" 2>&1 # makes the file
		if [ -n "$RPCRDMA_FIO" ]; then
			by_fio "$w" 2>"$WORK/why" >>/host/figures ||
				without "$w" "$(tail -n 1 "$WORK/why") $(dmesg | tail -n 1)"
		else
			by_mount_bench "$w"
		fi
		timeout 20 umount "$MNT" || umount -lf "$MNT"
	done
done

# How long Ganesha itself executes the Calls of an operation, as the server has
# it: a round of its own, since to ask takes time. Lines with executed_us.
executed() { # WHO STATS
	local who=$1 row before ops
	total() {
		python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
with s.makefile() as f:
    print(json.load(f)["stages"].get("execute", {}).get("sum_ns", 0))' "$1"
	}
	for row in $rows; do
		before=$(total "$2") && bench "$seconds" "$row" >"$WORK/row" || return
		ops=$(sed -n 's/.* ops=\([0-9]*\) .*/\1/p' "$WORK/row")
		echo "who=$who test=${row%:*} depth=${row#*:} executed_us=$(((\
			$(total "$2") - before) / 1000 / ops))"
	done >>/host/figures
}
for w in or os; do
	stats=${OR_STATS:-}
	[ $w = or ] || stats=${OS_STATS:-}
	if [ -z "$RPCRDMA_FIO" ] && wanted $w && mounted $w; then
		executed $w "$stats" 2>"$WORK/why" || without $w "$(tail -n 1 "$WORK/why")"
		timeout 60 umount "$MNT" || umount -lf "$MNT"
	fi
done

# Where the time goes (there is no counter of cycles in the guest), and what the
# devices count.
counters() { grep -H . /sys/class/infiniband/*/ports/1/hw_counters/* 2>/dev/null; }
if [ -n "${RPCRDMA_PROFILE:-}" ] && command -v perf >/dev/null; then
	for w in $who; do
		mounted "$w" || fail "$w: no mount"
		for row in ${RPCRDMA_PROFILE_ROWS:-getattr:8 create:4 write4k:8 writeseq:4}; do
			counters >"$WORK/before"
			perf record -q -a -e cpu-clock -F 499 -o "$WORK/perf" \
				$CLIENT "$RPCRDMA_BUILD/tests/bench/mount-bench" "$MNT" \
				"$seconds" "$row" >"/host/$w-${row/:/-}.perf" 2>&1
			counters | diff "$WORK/before" - | grep '^>' >>"/host/$w-${row/:/-}.perf"
			for by in cpu,comm,dso cpu,comm,dso,symbol; do
				perf report -i "$WORK/perf" -s "$by" --percent-limit 0.4 \
					2>/dev/null >>"/host/$w-${row/:/-}.perf"
			done
		done
		timeout 60 umount "$MNT" || umount -lf "$MNT"
	done
fi
if wanted or || wanted ov || wanted iv || wanted os || wanted ot || wanted gw; then
	stop_ganesha || echo "the server did not end well" >&2
fi
rpc.nfsd 0
exportfs -ua
umount -l "$FILES"
finish
