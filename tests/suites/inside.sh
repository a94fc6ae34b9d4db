#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# inside.sh - the part of tests/suites/run that runs in the guest
#
#	inside.sh MODULE JOBS
#
# Lines of JOBS, a file in /host: "SUITE WAY VERSION SECONDS", to be run one after the
# other. What a suite prints goes to /host/SUITE/WAY-VERSION.part, with "#!" lines of
# our own around it, and has name .log once it has ended. The servers have directories of
# one ext4, which has extended attributes and holes.
#
# Exit status 3: a mount or a server is not fit for use any more; start another guest.

RPCRDMA_ISOLATED=1 # the guest is for this alone
export RPCRDMA_PATIENCE=5
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/integration/lib.sh
. "$here/../integration/lib.sh"
# shellcheck source=tests/integration/oracle-lib.sh
. "$here/../integration/oracle-lib.sh"
isolate
module=$1 jobs=/host/$2
MNT=$WORK/mnt
FILES=$WORK/files
mkdir -p "$MNT" "$FILES"
fail() {
	echo "guest: $*" >&2
	exit 1
}
ways=" $(awk '{ print $2 }' "$jobs" | sort -u | tr '\n' ' ')"
wanted() { [[ $ways = *" $1 "* ]]; }

# ---- Servers ----------------------------------------------------------------

network || fail "no network: $(dmesg | tail -n 2)"
modprobe -q loop
mount -o remount,size=80% /tmp
truncate -s 6G "$WORK/disk" && mkfs.ext4 -q -m 0 -E nodiscard "$WORK/disk" &&
	mount -o loop,user_xattr "$WORK/disk" "$FILES" || fail "no file system"
mkdir -m 777 "$FILES/knfsd" "$FILES/ganesha"
# nfstest_rdma mounts port 2049 by TCP, too. nfstest finds RPC-over-RDMA on port 20049 alone.
if [[ $ways = *" knfsd-"* ]]; then
	knfsd || fail "no knfsd: $(dmesg | tail -n 2)"
else
	NEXT_PORT=2048
fi
GANESHA_BIND=0.0.0.0
ours() { # NAME PROVIDER ADDRESS: without CRC, as siw is with siw
	write_config "$WORK/$1" "$FILES/ganesha" "Provider = $2;" "Bind_Addr = $3;" "CRC = false;"
	if [[ $ways != *" knfsd-"* ]]; then
		sed -i "s/Port = $RDMA_PORT;/Port = 20049;/" "$WORK/$1/ganesha.conf"
		RDMA_PORT=20049
	fi
	run_ganesha "$WORK/$1" ||
		fail "no server: $(tail -n 3 "$GANESHA_LOG" | tr '\n' ' ')"
}
RXE_PID=$$ SIW_PID=$$
if wanted rxe; then
	ours verbs verbs 10.9.1.2
	RXE_PORT=$RDMA_PORT RXE_MOUNT="mountproto=tcp,mountport=$MNT_PORT" RXE_PID=$GANESHA_PID
fi
if wanted siw || wanted tcp || wanted gateway; then
	ours iwarp iwarp 10.9.2.2
	SIW_PORT=$RDMA_PORT TCP_PORT=$NFS_PORT SIW_PID=$GANESHA_PID
	SIW_MOUNT="mountproto=tcp,mountport=$MNT_PORT"
fi
if wanted gateway; then
	start_gateway --server "10.9.2.2:$SIW_PORT" --version-rdma 2 --crc off ||
		fail "no gateway: $(tail -n 3 "$WORK/gateway.out" | tr '\n' ' ')"
fi

# reach WAY VERSION: sets SERVER, EXPORT, PROTO, PORT; MORE, options of mount beside, of
# which THREE are for NFSv3; OPTIONS, all of them; DEVICE and CLIENT, the address there
reach() {
	PROTO=rdma EXPORT=/export MORE=hard
	case $1 in
	tcp) SERVER=10.9.2.2 PROTO=tcp PORT=$TCP_PORT DEVICE=s0 THREE=$SIW_MOUNT ;;
	rxe) SERVER=10.9.1.2 PORT=$RXE_PORT DEVICE=r0 THREE=$RXE_MOUNT ;;
	siw) SERVER=10.9.2.2 PORT=$SIW_PORT DEVICE=s0 THREE=$SIW_MOUNT ;;
	gateway) SERVER=127.0.0.1 PROTO=tcp PORT=$GATEWAY_PORT DEVICE=lo THREE=$SIW_MOUNT ;;
	knfsd-rxe) SERVER=10.9.1.2 PORT=20049 DEVICE=r0 THREE=$KNFSD_MOUNT ;;
	knfsd-siw) SERVER=10.9.2.2 PORT=20049 DEVICE=s0 THREE=$KNFSD_MOUNT ;;
	esac
	CLIENT=${SERVER%?}1
	[[ $1 != knfsd-* ]] || EXPORT=$(knfsd_path "$2")
	# Locks of NFSv3 are another protocol's, which no RDMA transports.
	THREE=nolock,$THREE
	[ "$2" != 3 ] || MORE+=,$THREE
	OPTIONS=vers=$2,proto=$PROTO,port=$PORT,$MORE
}
mounted() { timeout 60 mount -t nfs -o "$OPTIONS" "$SERVER:$EXPORT" "$MNT"; }
unmounted() {
	local n

	for n in 1 2 3; do
		! mountpoint -q "$MNT" && return
		timeout 60 umount "$MNT" && return
		sleep 2
	done
	umount -lf "$MNT"
	return 1
}

# ---- Suites -----------------------------------------------------------------

# one NAME COMMAND...: a suite of one program; "= NAME ok", "= NAME not STATUS" or
# "= NAME skip"
one() {
	local status=0

	"${@:2}" || status=$?
	case $status in
	0) echo "= $1 ok" ;;
	77) echo "= $1 skip" ;;
	*) echo "= $1 not $status" ;;
	esac
}

suite_cthon04-basic() { cd "$SUITES/cthon04" && ./runtests -b -f "$MNT/cthon"; }
suite_cthon04-general() { cd "$SUITES/cthon04" && ./runtests -g -f "$MNT/cthon"; }
suite_cthon04-special() { cd "$SUITES/cthon04" && ./runtests -s -f "$MNT/cthon"; }
suite_cthon04-lock() { cd "$SUITES/cthon04" && ./runtests -l -f "$MNT/cthon"; }

fsx() { "$SUITES/xfstests/ltp/fsx" -q -S 7 -N 2000 "$@" 2>&1 | tail -n 40; return "${PIPESTATUS[0]}"; }
suite_fsx() {
	one buffered fsx -P "$WORK" "$MNT/buffered"
	one direct fsx -P "$WORK" -N 500 -Z -r 4096 -t 4096 -w 4096 "$MNT/direct"
	one unmapped fsx -P "$WORK" -R -W "$MNT/unmapped"
}

contents() { # DIRECTORY
	(cd "$1" && find . -printf '%p %y %m %l\n' | sort && find . -type f -size -4M -print0 |
		sort -z | xargs -0r sha256sum)
}
same_contents() {
	sync && echo 3 >/proc/sys/vm/drop_caches
	contents "$MNT/fsstress" >"$WORK/client" && contents "$EXPORTED/fsstress" >"$WORK/server" &&
		diff "$WORK/client" "$WORK/server"
}
suite_fsstress() {
	mkdir "$MNT/fsstress"
	one run "$SUITES/xfstests/ltp/fsstress" -d "$MNT/fsstress" -n 200 -p 3 -s 7
	one contents same_contents
	one remove rm -r "$MNT/fsstress"
}

suite_dbench() {
	local said
	mkdir "$MNT/dbench"
	said=$(dbench -D "$MNT/dbench" -t 20 -c /usr/share/dbench/client.txt 2 2>&1)
	one run test "$?" = 0
	tail -n 20 <<<"$said"
	grep -iE "fail|error|invalid" <<<"$said"
	one remove rm -r "$MNT/dbench"
}

# stressor NAME OPERATIONS: 0 good, 77 not here
stressor() {
	local status=0

	mkdir -p "$MNT/stress"
	timeout -k 10 150 stress-ng --temp-path "$MNT/stress" --verify --seed 7 \
		"--$1" 1 "--$1-ops" "$2" --timeout 20 2>&1 | tail -n 12
	status=${PIPESTATUS[0]}
	rm -rf "$MNT/stress"
	case $status in
	3 | 4) return 77 ;; # no resources, not implemented
	esac
	return "$status"
}
suite_stress-ng() {
	local name operations

	while read -r name operations; do
		one "$name" stressor "$name" "$operations" </dev/null
	done < <(grep -v '^#' "$here/stress-ng.list")
}

suite_fio() {
	local pattern

	for pattern in write randwrite rw randrw; do
		one "$pattern" fio --name="$pattern" --filename="$MNT/fio" --rw="$pattern" --bs=16k \
			--size=4m --verify=crc32c --verify_fatal=1 --do_verify=1 --end_fsync=1 \
			--output-format=terse
	done
	one direct fio --name=direct --filename="$MNT/fio" --rw=randwrite --bs=16k --size=4m \
		--direct=1 --verify=crc32c --verify_fatal=1 --numjobs=1 --output-format=terse
}

# nfstest mounts by itself. It looks for the way to a public address to find its own.
# What tcpdump has buffered is lost when nfstest stops it: -U. Its buffer would be 192 MiB in a
# guest with 3 GB: --tbsize. Of some a part is run: what needs no second host and no hours. Of
# two groups in one list nfstest runs the first alone.
declare -A NFSTEST_TESTS=(
	[posix]=^open,chmod [lock]=btest01,nptest01,optest01 [alloc]=^perf01
	[dio]=eof,correctness,fstat,basic [rdma]=basic
	[interop]=test02,test03,test06,test08,test11,test21,test33,test45
)
suite_nfstest() { # NAME
	local name=$1

	# Interop mounts by NFSv3, too; by 4.1 the kernel refuses its options.
	[ "$name" != interop ] || printf '[ MountPoint "%s_v30" ]\nLock=False\n%s\n' "$MNT" \
		"$(tr , '\n' <<<"${THREE#nolock,}")" >/etc/nfsmount.conf
	ip route replace default dev "$DEVICE" src "$CLIENT"
	export PYTHONPATH=$NFSTEST/usr/lib/python3/dist-packages PYTHONDONTWRITEBYTECODE=1
	unmounted
	mkdir -p "$WORK/nfstest"
	cd "$WORK/nfstest" && "$NFSTEST/usr/bin/nfstest_$name" --server "$SERVER" --export "$EXPORT" \
		--nfsversion "$VERS" --proto "$PROTO" --port "$PORT" --mtpoint "$MNT" \
		--mtopts "$MORE" --interface "$DEVICE" --tmpdir "$WORK/nfstest" --nfsdebug '' \
		--tcpdump "tcpdump -U" --tbsize 16k --trcdelay 1 \
		--runtest "${NFSTEST_TESTS[$name]:-all}"
}

suite_xfstests() {
	local list

	list=$(grep -v '^#' "$here/xfstests.list" | paste -sd' ')
	unmounted
	mkdir -p "$WORK/results" "$WORK/scratch"
	export FSTYP=nfs TEST_DEV=$SERVER:$EXPORT TEST_DIR=$MNT RESULT_BASE=$WORK/results \
		NFS_MOUNT_OPTIONS="-o $OPTIONS" TEST_FS_MOUNT_OPTS="-o $OPTIONS"
	# shellcheck disable=SC2086 # words
	cd "$SUITES/xfstests" && ./check -nfs $list
}

# ---- Jobs -------------------------------------------------------------------

run_job() { # SUITE
	mounted || { echo "no mount: $(dmesg | tail -n 2)"; return 32; }
	case $1 in
	nfstest-*) suite_nfstest "${1#*-}" ;;
	*) "suite_$1" ;;
	esac
}
set -m # a process group for each job
while read -r suite way VERS seconds; do
	reach "$way" "$VERS"
	EXPORTED=$FILES/ganesha
	[[ $way != knfsd-* ]] || EXPORTED=$FILES/knfsd
	log=/host/$suite/$way-$VERS
	echo "guest: $suite $way $VERS" >&2
	mkdir -p "/host/$suite"
	echo "#! begin" >"$log.part"
	begun=$SECONDS
	run_job "$suite" >>"$log.part" 2>&1 </dev/null &
	pid=$! status=
	(sleep "$seconds"; kill -TERM -- "-$pid"; sleep 10; kill -KILL -- "-$pid") 2>/dev/null &
	watch=$!
	wait "$pid"
	status=$?
	# It ended by itself as long as the one who watches it is there.
	kill -0 "$watch" 2>/dev/null || status=124
	kill -KILL -- "-$watch" "-$pid" 2>/dev/null
	fit=1
	unmounted >/dev/null 2>&1 || fit=
	kill -0 "$RXE_PID" "$SIW_PID" || { fit='' status=died; }
	! dmesg | grep -qE 'BUG:|Oops|general protection|refcount_t:' || { fit='' status=kernel; }
	# By a client, for a server keeps names in mind that are removed behind it.
	[ -z "$fit" ] || { mounted && rm -rf "${MNT:?}"/* && unmounted; } >/dev/null 2>&1 || fit=
	rm -rf "$WORK/nfstest" "$WORK/results"
	[ "$status" = 0 ] || dmesg | tail -n 5 | sed 's/^/#! /' >>"$log.part"
	dmesg -C
	echo "#! status $status after $((SECONDS - begun)) s" >>"$log.part"
	mv "$log.part" "$log.log"
	if [ -z "$fit" ]; then
		FAILED=3
		break
	fi
done <"$jobs"
if [[ $ways = *" knfsd-"* ]]; then
	rpc.nfsd 0
	exportfs -ua
fi
[ "$FAILED" != 0 ] || [ -z "${GANESHA_PID:-}" ] || stop_ganesha || echo "the server did not end well" >&2
umount -l "$FILES"
finish
