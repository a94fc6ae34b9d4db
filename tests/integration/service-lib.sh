# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# service-lib.sh - what the packaged services in a booted machine have to bear
#
# After lib.sh and machine.sh, whose machine is TREE. The services are those of
# packages that were installed there.

apt_install() {
	in_machine apt-get -q -y --no-install-recommends install "$@"
}
# into NAME FILE...: files for the machine's /root
into() {
	mkdir -p "$TREE/root/$1" && cp "${@:2}" "$TREE/root/$1/"
}
main_pid() { in_machine systemctl show --property MainPID --value "$1"; }
# runs rdma|plain: nfs-ganesha.service, with the library preloaded or without it
runs() {
	local pid exe how=plain
	pid=$(main_pid nfs-ganesha.service)
	exe=$(in_machine readlink "/proc/$pid/exe")
	! in_machine grep -q librpcrdma-ganesha.so "/proc/$pid/maps" || how=rdma
	[ "$exe $how" = "/usr/bin/ganesha.nfsd $1" ] && return
	echo "$exe $how is process $pid"
	in_machine systemctl --no-pager --full status nfs-ganesha.service
	return 1
}
# How often the server's log has this.
logged() {
	grep -s -- "$1" "$TREE/var/log/ganesha/ganesha.log" | wc -l
}
serving() { [ "$(logged 'NFS SERVER INITIALIZED')" -gt "$1" ]; }
# serves rdma|plain COMMAND...: COMMAND makes the server start, which is that then
serves() {
	local starts
	starts=$(logged 'NFS SERVER INITIALIZED')
	"${@:2}" || return 1
	await $((90 * ${RPCRDMA_PATIENCE:-1})) serving "$starts" || {
		tail -n 5 "$TREE/var/log/ganesha/ganesha.log"
		return 1
	}
	runs "$1"
}
restart() { in_machine systemctl restart nfs-ganesha; }
# list PORT: the export by NFSv4, from the machine's network
list() {
	beside_machine timeout 60 nfs-ls "nfs://127.0.0.1/srv?version=4&nfsport=$1"
}
lists() {
	await 40 list "$1"
	list "$1" | tee "$WORK/list" | grep -q from-the-start || {
		cat "$WORK/list"
		return 1
	}
}
copies() {
	local url=nfs://127.0.0.1/srv options='version=3&nfsport=20050'
	local mount

	mount=$(beside_machine rpcinfo -p 127.0.0.1 |
		awk '$1 == 100005 && $3 == "tcp" { print $4; exit }')
	options="$options&mountport=$mount"
	head -c 3000001 /dev/urandom >"$TREE/root/file-$1"
	in_machine cp "/root/file-$1" "/srv/copy-$1"
	rm -f "$WORK/back"
	beside_machine timeout 60 nfs-cp "$url/copy-$1?$options" "$WORK/back" &&
		cmp "$TREE/root/file-$1" "$WORK/back"
}
ping_server() {
	in_machine timeout 120 rpcrdma-ping --timeout 60000 --server 127.0.0.1 --count 2 \
		--interval 1 --quiet
}
# Statistics of a service, as root in the machine, through its socket.
statistics() { # SOCKET EXPRESSION
	in_machine python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
doc = json.loads(s.makefile().read())
assert eval(sys.argv[2], {}, doc), doc' "$@"
}
verify() {
	in_machine systemd-analyze --man=no verify nfs-ganesha.service \
		rpcrdma-gateway.service >"$WORK/verify" 2>&1 || {
		cat "$WORK/verify"
		return 1
	}
	# Of others' units it may complain.
	! grep -E 'rpcrdma' "$WORK/verify"
}
rdma_is_served() {
	# The block leaves the address open: NFS' own.
	grep 'rpcrdma: serving RPC-over-RDMA' \
		"$TREE/var/log/ganesha/ganesha.log" | tail -n 1 | grep 20049
}
# The process number here of one in the machine.
outer_pid() {
	grep -l "^NSpid:.*[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null |
		while read -r file; do
			[ "$(readlink "${file%/status}/ns/pid")" = \
				"$(readlink "/proc/$MACHINE_PID/ns/pid")" ] &&
				sed -n 's/^Pid:[[:space:]]*//p' "$file"
		done
}
# locks PID: its limits of locked memory, soft and hard, as the kernel has them
locks() {
	in_machine awk '/^Max locked memory/ { print $4, $5 }' "/proc/$1/limits"
}
# memlock SERVICE: all that the unit asks for; where root itself may not raise a
# limit, as in some containers, all that the machine has.
memlock() {
	local want

	[ "$(in_machine systemctl show --property LimitMEMLOCK --value "$1")" = \
		infinity ] || return 1
	want="unlimited unlimited"
	in_machine bash -c 'ulimit -l unlimited' 2>/dev/null ||
		want=$(locks 1 | awk '{ print $2, $2 }')
	locks "$(main_pid "$1")" | tee "$WORK/locks"
	[ "$(cat "$WORK/locks")" = "$want" ]
}
# hardened SERVICE: the process cannot get rights back, and has a filter of
# system calls.
hardened() {
	in_machine grep -Ec '^(NoNewPrivs:\s*1|Seccomp:\s*2)$' \
		"/proc/$(main_pid "$1")/status" | grep -qx 2
}
not_root() {
	local pid
	pid=$(outer_pid "$(main_pid "$1")")
	[ "$(stat -c %u "/proc/$pid")" != 0 ] &&
		grep -q '^CapEff:[[:space:]]*0*$' "/proc/$pid/status"
}
only_loopback() {
	beside_machine ss -Hltn 'sport = :20050' >"$WORK/ss"
	grep -q '127.0.0.1:20050' "$WORK/ss" && [ "$(wc -l <"$WORK/ss")" = 1 ]
}
# install_waits: packaging/install-packages while another process has apt's locks, of
# which it lets go one by one. Nothing may keep that other from starting services.
install_waits() {
	local here=$TREE/root/waits deb=$WORK/waits/rpcrdma-waited.deb pid lock status=0

	mkdir -p "$WORK/waits/tree/DEBIAN" "$here"
	printf '%s\n' 'Package: rpcrdma-waited' 'Version: 1' 'Architecture: all' \
		'Maintainer: nobody <nobody@localhost>' 'Description: nothing' \
		>"$WORK/waits/tree/DEBIAN/control"
	# Its own services may not start.
	printf '#!/bin/sh\n! /usr/sbin/policy-rc.d\n' >"$WORK/waits/tree/DEBIAN/postinst"
	chmod 755 "$WORK/waits/tree/DEBIAN/postinst"
	dpkg-deb -b -Znone "$WORK/waits/tree" "$deb" >/dev/null || return
	{
		cat "$WORK/waits/tree/DEBIAN/control"
		printf '%s\n' "Filename: ./${deb##*/}" "Size: $(stat -c %s "$deb")" \
			"SHA256: $(sha256sum "$deb" | cut -d' ' -f1)"
	} >"$here/Packages"
	cp "$deb" "$TOP/packaging/install-packages" "$here"
	printf '[waited]\nrpcrdma-waited\n' >"$here/packages"
	echo 'deb [trusted=yes] file:/root/waits ./' >"$here/sources.list"
	printf '%s "%s";\n' Dir::Etc::sourcelist /root/waits/sources.list \
		Dir::Etc::sourceparts - APT::Get::List-Cleanup false \
		APT::Sandbox::User root >"$here/apt.conf"
	cat >"$here/hold.py" <<'END'
import fcntl, os, sys, time

held = []
for path in sys.argv[1:]:
    f = open(path, "a")
    fcntl.lockf(f, fcntl.LOCK_EX)
    held.append((f, "/root/waits/" + path.replace("/", "-")))
    open(held[-1][1], "w").close()
while held:
    held = [h for h in held if os.path.exists(h[1]) or h[0].close()]
    time.sleep(0.05)
END
	local locks=(/var/lib/apt/lists/lock /var/lib/dpkg/lock-frontend
		/var/cache/apt/archives/lock)
	in_machine python3 /root/waits/hold.py "${locks[@]}" &
	await 20 test -e "$here/-var-cache-apt-archives-lock" || return
	in_machine env APT_CONFIG=/root/waits/apt.conf /root/waits/install-packages waited \
		>"$WORK/waits/said" 2>&1 &
	pid=$!
	waiting() { grep -q "^waiting: .*$lock" "$WORK/waits/said" || ! kill -0 "$pid"; }
	for lock in "${locks[@]}"; do
		await $((60 * ${RPCRDMA_PATIENCE:-1})) waiting
		[ ! -e "$TREE/usr/sbin/policy-rc.d" ] || status=1
		rm "$here/${lock//\//-}"
	done
	wait "$pid" && [ "$status" = 0 ] && [ ! -e "$TREE/usr/sbin/policy-rc.d" ] &&
		[ "$(grep -c '^waiting: ' "$WORK/waits/said")" -ge 3 ] &&
		in_machine dpkg -s rpcrdma-waited | grep '^Status: .* installed' &&
		in_machine dpkg -P rpcrdma-waited && return
	cat "$WORK/waits/said"
	return 1
}
