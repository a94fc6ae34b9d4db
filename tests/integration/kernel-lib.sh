# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# kernel-lib.sh - what a mount by the kernel's client has to bear
#
# For the scripts that run in a guest, after lib.sh. The caller mounts the
# export, whose directory is DATA (RPCRDMA_DATA if that is set), at MNT, and makes
# the patterns in LOCAL by make_patterns. Contents are compared on the file
# system itself. Each function here is a test for `check`; all leave the mount as
# it was but for their files, and `emptied` ends a round.

HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
DATA=${RPCRDMA_DATA:-$WORK/data}
LOCAL=$WORK/local
MNT=$WORK/mnt
SECOND=$WORK/second-mnt
mkdir -p "$DATA" "$LOCAL" "$MNT" "$SECOND"

# disk DIR: a file system of its own there. What the guest has is a tmpfs, which
# Ganesha 5.9 and later do not export.
disk() {
	modprobe -q loop
	truncate -s 256M "$WORK/disk.img" && mkfs.ext4 -q -m 0 "$WORK/disk.img" &&
		mount -o loop "$WORK/disk.img" "$1" && rmdir "$1/lost+found"
}
if ganesha_at_least 5.9 && [ -z "${RPCRDMA_DATA:-}" ]; then
	disk "$DATA" >"$WORK/disk" 2>&1 || {
		skip disk "no file system to export: $(tail -n 1 "$WORK/disk")"
		finish
	}
	trap 'umount -l "$DATA"; cleanup' EXIT
fi

# Something is slow here, but nothing takes for ever.
within() { timeout --kill-after=10 "$@"; }
uncached() { sync && echo 3 >/proc/sys/vm/drop_caches; }

# What the tests run need not be read again and again for all that.
resident() {
	python3 "$HERE/resident.py" bash basename cat chmod cmp cp cut dd diff env \
		fallocate find flock grep head ip ln ls mkdir mount mount.nfs mv nsenter \
		readlink rm seq sha256sum sleep sort stat sync tail timeout touch tr \
		truncate umount umount.nfs wc >"$WORK/resident" 2>&1 &
	CLEANUP_PIDS+=("$!")
	await 60 grep -q '^resident' "$WORK/resident" || cat "$WORK/resident"
}

make_patterns() {
	local n i
	for n in 0 1 1000 4095 4097 65537 1048577 3000001; do
		head -c "$n" /dev/urandom >"$LOCAL/$n"
	done
	mkdir "$LOCAL/tree" "$LOCAL/tree/deep"
	cp /usr/share/common-licenses/* "$LOCAL/tree/"
	for ((i = 0; i < 16; i++)); do echo "$i" >"$LOCAL/tree/deep/small-$i"; done
}

files_in() {
	for file in "$LOCAL"/[0-9]*; do
		within 200 cp "$file" "$MNT/" || return 1
	done
	uncached
	for file in "$LOCAL"/[0-9]*; do
		cmp "$file" "$DATA/${file##*/}" || return 1
	done
}
files_out() {
	for file in "$LOCAL"/[0-9]*; do
		within 200 cmp "$file" "$MNT/${file##*/}" || return 1
	done
}
direct() {
	within 200 dd if="$LOCAL/3000001" of="$MNT/direct" bs=1M oflag=direct \
		status=none conv=fsync iflag=fullblock || return 1
	cmp "$LOCAL/3000001" "$DATA/direct" || return 1
	within 200 dd if="$MNT/direct" bs=1M iflag=direct status=none |
		cmp - "$LOCAL/3000001"
}
# kernel_io MODE...: of kernel_io.py, whose head says what they do
kernel_io() {
	PYTHONDONTWRITEBYTECODE=1 within 600 python3 "$HERE/kernel_io.py" "$@"
}
odd_direct() { kernel_io direct "$MNT/odd" "$DATA/odd"; }
mapped() { kernel_io mapped "$MNT/mapped" "$DATA/mapped"; }
tree() {
	within 400 cp -r "$LOCAL/tree" "$MNT/" || return 1
	uncached
	diff -r "$LOCAL/tree" "$DATA/tree" && within 400 diff -r "$LOCAL/tree" "$MNT/tree"
}
large_directory() {
	local names i long
	mkdir "$DATA/large"
	# More than one message, by names that are few to remove.
	printf -v long 'a-long-name-%.0s' {1..18}
	for ((i = 0; i < 100; i++)); do : >"$DATA/large/$long$i"; done
	uncached
	names=$(within 400 ls "$MNT/large" | sort | sha256sum)
	[ "$names" = "$(ls "$DATA/large" | sort | sha256sum)" ]
}
names() {
	local target
	target=$(printf 't%.0s' {1..1500})
	within 200 ln -s "${target//tttttttttt/ttttttttt/}" "$MNT/link" || return 1
	uncached
	[ "$(within 200 readlink "$MNT/link")" = "$(readlink "$DATA/link")" ] || return 1
	within 200 mv "$MNT/1000" "$MNT/moved" && within 200 ln "$MNT/moved" "$MNT/linked" &&
		cmp "$LOCAL/1000" "$DATA/linked" && within 200 rm "$MNT/moved" &&
		[ ! -e "$DATA/moved" ] && within 200 chmod 600 "$MNT/linked" &&
		[ "$(stat -c %a "$DATA/linked")" = 600 ] &&
		within 200 truncate -s 77 "$MNT/linked" &&
		[ "$(stat -c %s "$DATA/linked")" = 77 ]
}
# Both clients: what one has written and closed the other reads; a lock of one
# keeps the other out; then not any more. The second is in network namespace
# two, and has SECOND_MOUNT: options beside vers=, and the source.
two_clients() { # VERS [VERS of the second]
	cat >"$WORK/second" <<-END
	set -e
	echo client-two >/sys/fs/nfs/net/nfs_client/identifier
	mount -t nfs -o vers=${2:-$1},$SECOND_MOUNT $MNT
	cmp $LOCAL/65537 $MNT/65537
	echo second >$MNT/from-two
	: >$WORK/two-ready
	while [ ! -e $WORK/locked ]; do sleep 0.1; done
	! flock -n $MNT/lock true
	: >$WORK/two-refused
	# The lock is back before the file is closed: who gives both back at once
	# may end Ganesha 4.3, and only Calls by RDMA are kept apart for it.
	exec 9<>$MNT/lock
	flock 9
	cat $MNT/lock >$WORK/two-got
	flock -u 9
	sleep 1
	exec 9>&-
	umount $MNT
	END
	rm -f "$WORK/two-"* "$WORK/locked"
	: >"$DATA/lock"
	within 900 ip netns exec two bash -x "$WORK/second" >"$WORK/second.out" 2>&1 &
	local pid=$! status=0
	CLEANUP_PIDS+=("$pid")
	await 200 test -e "$WORK/two-ready" || status=1
	[ "$(within 200 cat "$MNT/from-two")" = second ] || status=2
	# Not before the lock is this client's does the other try.
	within 400 flock "$MNT/lock" bash -c ": >'$WORK/locked'
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
# random VERS: random operations by two clients, of which the other has its mount at
# SECOND.
random() {
	local steps=${RPCRDMA_ALL:+500} options=()

	[ "$(stat -c %d "$MNT")" != "$(stat -c %d "$SECOND")" ] || return
	[ "$1" != 3 ] || options+=(--no-locks)
	PYTHONDONTWRITEBYTECODE=1 within 900 python3 "$HERE/random_files.py" \
		--steps="${steps:-150}" "${options[@]}" --real="$DATA" "$MNT" "$SECOND"
}
# By the client: the server keeps names in mind that are removed behind it.
emptied() {
	within 400 rm -rf "${MNT:?}"/* && [ -z "$(ls "$DATA")" ]
}
sparse() {
	within 200 fallocate -l 300000 "$MNT/sparse" &&
		[ "$(stat -c %s "$DATA/sparse")" = 300000 ] &&
		within 200 fallocate -p -o 4096 -l 200000 "$MNT/sparse"
}

stats() { # SOCKET EXPRESSION...
	local GANESHA_STATS=$1

	read_stats "${@:2}"
}
