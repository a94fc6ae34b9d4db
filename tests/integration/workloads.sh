# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# workloads.sh - what users do with files, over TCP and over RDMA
#
# Behind nfsrdma-guest.sh, in its guest, whose network, Ganesha and functions it uses. A
# workload is a function. It has folders of its own on two mounts, $A and $B, with an identity
# and a cache each, and the same on the server's file system, $REAL. What it prints and
# its status are its outcome. It prints nothing that may differ between two runs.
# RPCRDMA_WORKLOADS: some of them, if not all. What one needs is in the table at the end.

VERS=4.2

# attach WAY ADDRESS WHERE [OPTIONS]
attach() {
	local how=proto=rdma,port=$RDMA_PORT

	[ "$1" = rdma ] || how=proto=tcp,port=$NFS_PORT
	within 200 mount -t nfs -o "vers=$VERS,$how${4:+,$4}" "$2:/export" "$3"
}
# attach_second WAY: by a host of another name
attach_second() {
	unshare --uts bash -c "echo second >/proc/sys/kernel/hostname && $(declare -f within attach)
		VERS=$VERS RDMA_PORT=$RDMA_PORT NFS_PORT=$NFS_PORT
		attach $1 10.9.2.1 '$SECOND'"
}
detach() {
	local at status=0

	for at in "$@"; do
		within 200 umount "$at" || {
			umount -lf "$at"
			status=1
		}
	done
	return "$status"
}
python() { within 600 python3 -IS - "$@"; }
# both_at_once COMMAND: with the number 1 in $A and with 2 in $B
both_at_once() {
	local one two

	(cd "$A" && "$@" 1) &
	one=$!
	(cd "$B" && "$@" 2) &
	two=$!
	wait "$one" || { wait "$two"; return 1; }
	wait "$two"
}

# ---- Programs ------------------------------------------------------------------------

git_clone() {
	local from=$WORK/repository

	git config --global user.name test
	git config --global user.email test@localhost
	if [ ! -d "$from" ]; then
		git init -q -b one "$from" && cp -r "$LOCAL/tree" "$LOCAL/65537" "$from" &&
			git -C "$from" add . && git -C "$from" commit -q -m first &&
			git -C "$from" checkout -q -b two && git -C "$from" rm -q 65537 &&
			git -C "$from" mv tree/deep tree/moved && git -C "$from" commit -q -m second ||
			return 1
	fi
	within 600 git clone -q "$from" "$A/clone" 2>/dev/null && cd "$A/clone" &&
		within 600 git checkout -q one &&
		echo 'one more' >added && within 200 git add added &&
		within 200 git commit -q -m third && within 200 git status --short &&
		git rev-parse 'HEAD^{tree}' || return 2
	# The other client, and the server.
	cd "$B/clone" && within 600 git status --short && git rev-parse 'HEAD^{tree}' || return 3
	git -c safe.directory='*' -C "$REAL/clone" fsck --strict
}
tar_tree() {
	cd "$LOCAL" || return
	ln -f tree/deep/small-1 tree/linked && ln -sfn deep tree/link &&
		chmod 640 tree/deep/small-2 && touch -d @1000000000.123456789 tree/deep/small-3
	tar -cf "$WORK/tree.tar" tree
	within 600 tar -xpf "$WORK/tree.tar" -C "$A" --warning=no-timestamp && within 600 tar -df "$WORK/tree.tar" -C "$A" &&
		within 600 tar -df "$WORK/tree.tar" -C "$B" && tar -df "$WORK/tree.tar" -C "$REAL" &&
		within 600 tar -cf "$A/again.tar" -C "$A" tree &&
		tar -df "$REAL/again.tar" -C "$LOCAL"
}
rsync_tree() {
	within 600 rsync -aH "$LOCAL/tree" "$LOCAL/1048577" "$A" || return 1
	rm -rf "$WORK/changed" && cp -a "$LOCAL/tree" "$WORK/changed" &&
		echo changed >"$WORK/changed/deep/small-4" && rm "$WORK/changed/deep/small-5"
	within 600 rsync -aH --delete --inplace "$WORK/changed/" "$B/tree" || return 2
	within 600 rsync -aHnic --delete "$WORK/changed/" "$A/tree"
	diff -r "$WORK/changed" "$REAL/tree" && cmp "$LOCAL/1048577" "$REAL/1048577"
}
sqlite_rows() { # CLIENT
	local i

	for ((i = 0; i < 8; i++)); do
		within 300 sqlite3 -cmd '.timeout 200000' data.db \
			"begin immediate; insert into rows values ($1, $i);
			update total set n = n + 1; commit;" || return
	done
}
sqlite_two() {
	within 300 sqlite3 "$A/data.db" \
		'create table rows (client, i); create table total (n); insert into total values (0);' &&
		both_at_once sqlite_rows || return 1
	for dir in "$A" "$B"; do
		within 300 sqlite3 "$dir/data.db" 'pragma integrity_check; select n from total;
			select client, count(*) from rows group by client order by client;' || return 2
	done
	ls "$REAL"
}

as_postgres() {
	within 900 setpriv --reuid=postgres --regid=postgres --clear-groups \
		env -C / TZ=UTC PGHOST="$WORK/socket" PGCONNECT_TIMEOUT=200 "$@"
}
postgres_start() { # DIR
	# By another name: the server looks whether it is the same folder.
	as_postgres "$PG/pg_ctl" -s -w -t 600 -D "$1/cluster" -l "$WORK/socket/log" -o \
		"-k $WORK/socket -c listen_addresses= -c shared_buffers=16MB" start ||
		{ tail -n 3 "$WORK/socket/log" | sed 's/^.*UTC //'; return 1; }
}
postgres_count() {
	local i

	for ((i = 0; i < 6; i++)); do
		as_postgres "$PG/psql" -qXd postgres -c 'begin; select n from total for update;
			update total set n = n + 1;
			insert into rows select generate_series(1, 300); commit' >/dev/null || return
	done
}
postgres_read() {
	as_postgres "$PG/psql" -qXAtd postgres -c 'select n from total' \
		-c 'select count(*), sum(i) from rows'
}
postgres_crash() {
	local pids=()

	chmod 755 "$WORK"
	install -d -o postgres "$WORK/socket"
	within 600 cp -a /host/cluster "$A/" || return 1
	postgres_start "$A" && as_postgres "$PG/psql" -qXd postgres -c 'create table total (n int);
		create table rows (i int); insert into total values (0)' || return 2
	postgres_count & pids+=($!)
	postgres_count & pids+=($!)
	wait "${pids[0]}" && wait "${pids[1]}" && postgres_read || return 3
	# It is stopped without a checkpoint; the other client recovers it.
	as_postgres "$PG/pg_ctl" -s -w -t 600 -D "$A/cluster" -m immediate stop || return 4
	postgres_start "$B" && postgres_read &&
		as_postgres "$PG/psql" -qXAtd postgres -c 'vacuum full rows' &&
		postgres_read && as_postgres "$PG/pg_ctl" -s -w -t 600 -D "$B/cluster" -m fast stop || return 5
	"$PG/pg_controldata" "$REAL/cluster" | grep 'cluster state'
}

# ---- Calls ---------------------------------------------------------------------------

append_lines() { # CLIENT
	local i

	for ((i = 0; i < 15; i++)); do
		within 200 flock log bash -c "echo client $1 line $i of fifteen >>log" || return
	done
}
appends() {
	: >"$A/log"
	both_at_once append_lines || return
	sort "$REAL/log" && cmp "$REAL/log" "$A/log" && cmp "$REAL/log" "$B/log"
}
silly_rename() {
	cp "$LOCAL/65537" "$A/file" && exec 7<"$A/file" && rm "$A/file" || return 1
	find "$A" -name '.nfs*' -printf 'kept\n'
	uncached
	cmp "$LOCAL/65537" /dev/fd/7 || return 2
	[ ! -e "$B/file" ] || return 3
	# The other client removes one that this has open.
	cp "$LOCAL/4097" "$A/other" && exec 8<"$A/other" && rm "$B/other" || return 4
	uncached
	cmp "$LOCAL/4097" /dev/fd/8 2>&1 | sed "s|$WORK/||g"
	exec 7<&- 8<&-
	find "$A" "$REAL" -name '.nfs*'
}
sparse_file() {
	python "$A/sparse" "$B/sparse" "$REAL/sparse" <<-'END' || return 1
	import os, sys
	a, b, real = sys.argv[1:]

	def extents(path):
	    """Data, as the file system says; and whatever is there of it."""
	    fd, at, out = os.open(path, os.O_RDONLY), 0, []
	    try:
	        while True:
	            start = os.lseek(fd, at, os.SEEK_DATA)
	            at = os.lseek(fd, start, os.SEEK_HOLE)
	            out.append((start, at))
	    except OSError as e:
	        return out, e.errno, os.fstat(fd).st_size
	    finally:
	        os.close(fd)

	fd = os.open(a, os.O_RDWR | os.O_CREAT)
	for at in (0, 1 << 20, 3 << 20):
	    os.pwrite(fd, b"x" * 65536, at)
	os.ftruncate(fd, 5 << 20)
	os.fsync(fd)
	print("written", extents(a), extents(b) == extents(a), extents(real) == extents(a))
	os.posix_fallocate(fd, 4 << 20, 2 << 20)
	print("allocated", os.fstat(fd).st_size, os.stat(real).st_size)
	os.close(fd)
	END
	within 200 fallocate -p -o $((1 << 20)) -l 32768 "$A/sparse" &&
		within 200 fallocate -p -o $((3 << 20)) -l 65536 "$B/sparse" || return 2
	sha256sum <"$REAL/sparse"
	within 200 sha256sum <"$A/sparse"
	within 200 sha256sum <"$B/sparse"
	stat -c %b "$REAL/sparse"
}
copy_range() {
	cp "$LOCAL/3000001" "$A/from"
	python "$A/from" "$A/to" <<-'END' || return
	import os, sys
	a, b = os.open(sys.argv[1], os.O_RDONLY), os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
	left = 3000001 - 4097
	at = 4097
	while left:
	    n = os.copy_file_range(a, b, left, at, at - 1000)
	    if not n:
	        break
	    at, left = at + n, left - n
	os.close(b)
	print("left", left)
	END
	cmp -i 3097:4097 "$REAL/to" "$LOCAL/3000001" && cmp "$B/to" "$REAL/to" &&
		stat -c %s "$REAL/to"
}
beyond_4g() {
	python "$A/large" "$B/large" "$REAL/large" <<-'END'
	import fcntl, os, struct, sys
	a, b = (os.open(p, os.O_RDWR | os.O_CREAT) for p in sys.argv[1:3])
	places = (1 << 31) - 3000, (1 << 32) - 70001, 5 << 32
	data = {at: bytes((at // 7 + i * 31) % 251 for i in range(140003)) for at in places}
	for at in places:
	    os.pwrite(a, data[at], at)
	os.fsync(a)
	real = os.open(sys.argv[3], os.O_RDONLY)
	for at in places:
	    print(at, os.pread(real, 140003, at) == data[at], os.pread(b, 140003, at) == data[at])
	os.posix_fadvise(a, 0, 0, os.POSIX_FADV_DONTNEED)
	print(all(os.pread(a, 140003, at) == data[at] for at in places), os.fstat(a).st_size)

	def lock(fd, kind, at, n):
	    try:
	        fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, 0, at, n, 0))
	        return "locked"
	    except OSError as e:
	        return e.errno

	print(lock(a, fcntl.F_WRLCK, (1 << 32) - 10, 20), lock(b, fcntl.F_WRLCK, (1 << 32) + 5, 1),
	      lock(b, fcntl.F_WRLCK, 5, 1), lock(b, fcntl.F_RDLCK, (1 << 32) + 10, 1 << 40))
	lock(a, fcntl.F_UNLCK, 0, 0)
	lock(b, fcntl.F_UNLCK, 0, 0)
	os.ftruncate(a, (1 << 32) + 1)
	print(os.fstat(a).st_size, os.stat(sys.argv[3]).st_size)
	END
}

# ---- The server and the clock --------------------------------------------------------

# By NFSv3: a Call of NFSv4 over TCP does not time out while its connection lives.
soft_mount() {
	local at=$WORK/soft status=0 VERS=3

	mkdir -p "$at" && attach "$WAY" 10.9.2.2 "$at" \
		"nolock,mountproto=tcp,mountport=$MNT_PORT,soft,timeo=30,retrans=1" || return 1
	cp "$LOCAL/65537" "$at/soft_mount/file" && sync -f "$at" || status=2
	kill -STOP "$GANESHA_PID"
	python "$at/soft_mount/file" <<-'END' || status=3
	import errno, os, sys
	for what in (lambda: os.stat(sys.argv[1] + "-none"),
	             lambda: os.pread(os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), 4096, 0)):
	    try:
	        what()
	        print("no error")
	    except OSError as e:
	        print(e.errno in (errno.EIO, errno.ETIMEDOUT) or e)
	END
	kill -CONT "$GANESHA_PID"
	await 300 cmp "$LOCAL/65537" "$at/soft_mount/file" || status=4
	echo after >"$at/soft_mount/after" && cat "$REAL/after" || status=5
	detach "$at" || status=6
	return "$status"
}
# The clock of client and server, to and fro. Steps forward are shorter than a lease:
# when one ends, Linux answers EIO, over TCP as over RDMA.
clock_steps() {
	local pid status=0

	python "$A/log" >"$WORK/clock" <<-'END' &
	import os, sys, time
	fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
	for i in range(60):
	    os.pwrite(fd, b"%7d\n" % i, i * 8)
	    os.fsync(fd)
	    assert os.pread(fd, 8, i * 8) == b"%7d\n" % i
	    end = time.monotonic() + 0.2
	    while time.monotonic() < end:
	        time.sleep(0.05)
	print("written")
	END
	pid=$!
	for step in 20 -20 -3600 20; do
		await 60 test -s "$REAL/log"
		sleep 2
		date -s "@$(($(date +%s) + step))" >/dev/null
		within 300 cp "$LOCAL/65537" "$B/after" &&
			cmp "$LOCAL/65537" "$REAL/after" || status=1
	done
	wait "$pid" || status=2
	cat "$WORK/clock"
	seq 0 59 | awk '{ printf "%7d\n", $1 }' | cmp - "$REAL/log" || status=3
	return "$status"
}

# ---- All of them, over each ----------------------------------------------------------

PG=$(dirname "$(ls /usr/lib/postgresql/*/bin/initdb 2>/dev/null | tail -n 1)")
# Workload, and what it needs beside [vm].
TABLE='git_clone git
tar_tree tar
rsync_tree rsync
sqlite_two sqlite3
postgres_crash psql
appends flock
silly_rename cmp
sparse_file fallocate
copy_range python3
beyond_4g python3
soft_mount python3
clock_steps date'
chosen=()
while read -r name program; do
	[[ -z ${RPCRDMA_WORKLOADS:-} || " $RPCRDMA_WORKLOADS " = *" $name "* ]] || continue
	if ! command -v "$program" >/dev/null ||
		{ [ "$name" = postgres_crash ] && [ ! -d /host/cluster ]; }; then
		skip "$kind-$name" "needs $program: packaging/install-packages workloads"
	else
		chosen+=("$name")
	fi
done <<<"$TABLE"

# outcome NAME: what it prints, and its status. A server that has ended is part of it.
outcome() {
	# One folder for all would be the removed one to the other client for a while.
	A=$MNT/$1 B=$SECOND/$1 REAL=$DATA/$1

	mkdir "$A" || return
	("$1" 2>&1)
	echo "status $?"
	cd / && within 400 rm -rf "$A"
	kill -0 "$GANESHA_PID" 2>/dev/null || {
		echo "the server has ended"
		run_ganesha "$WORK/ganesha"
	}
}
# compared NAME: both are there, the same and good
compared() {
	if ! diff "$WORK/tcp/$1" "$WORK/rdma/$1" >"$WORK/diff"; then
		not_ok "$kind-$1" "over TCP and over RDMA: $(tr '\n' ' ' <"$WORK/diff")"
		sed 's/^/# /' "$WORK/rdma/$1"
	elif ! tail -n 1 "$WORK/tcp/$1" | grep -qx 'status 0'; then
		not_ok "$kind-$1" "over TCP as well: $(tail -n 3 "$WORK/tcp/$1" | tr '\n' ' ')"
	else
		ok "$kind-$1"
	fi
}
mkdir "$WORK/tcp" "$WORK/rdma"
for WAY in tcp rdma; do
	if ! attach $WAY 10.9.1.2 "$MNT" || ! attach_second $WAY; then
		not_ok "$kind-mount" "over $WAY"
		finish
	fi
	for name in "${chosen[@]}"; do
		outcome "$name" >"$WORK/$WAY/$name"
		case $WAY in
		tcp) echo "# $name over TCP: $(tail -n 1 "$WORK/tcp/$name")" ;;
		rdma) compared "$name" ;;
		esac
	done
	detach "$MNT" "$SECOND" || not_ok "$kind-unmount" "over $WAY"
done
moved=0
[ -n "${RPCRDMA_WORKLOADS:-}" ] || moved=3000000
check "$kind-statistics" stats "$GANESHA_STATS" "totals['read_bytes'] > $moved" \
	"totals['write_bytes'] > $moved" 'totals["errors_sent"] == 0' 'totals["errors_received"] == 0'
check "$kind-server-end" stop_ganesha
