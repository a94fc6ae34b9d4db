#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# operator-guest.sh - the part of operator.test that runs in the guest
#
#	operator-guest.sh TREE MODULE
#
# TREE is a Debian with our packages; it runs in here with systemd, as a machine
# of its own by the name of SERVER, 10.9.1.2. The guest is the client, with
# eth0, 10.9.1.1, and MODULE, the kernel's siw.

RPCRDMA_ISOLATED=1 # the guest is for this alone
RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)
tree=$1 module=$2
isolate
# shellcheck source=tests/integration/machine.sh
. "$(dirname "$0")/machine.sh"
trap 'umount -l /mnt 2>/dev/null; machine_halt; cleanup' EXIT
took() {
	echo "# guest, $1: $((SECONDS - LAST)) s"
	LAST=$SECONDS
}
LAST=$SECONDS
within() { timeout --kill-after=10 "$@"; }

# The words of README.md and docs/operations.md. client and server run the line that matches.
readme() { "$HERE/readme.py" "$@"; }
client() {
	local line
	line=$(readme command "$1") || return 1
	within 180 bash -c "$line" || {
		echo "status $? of: $line"
		return 1
	}
}
server() {
	local line
	line=$(readme command "$1") || return 1
	in_machine timeout 180 bash -c "$line" || {
		echo "status $? of: $line"
		return 1
	}
}
# prints WHO COMMAND PATTERN...: what README's command prints has each of these
prints() {
	local who=$1 command=$2 pattern
	shift 2
	"$who" "$command" >"$WORK/printed" 2>&1 || {
		tail -n 3 "$WORK/printed"
		return 1
	}
	for pattern; do
		grep -Eq -- "$pattern" "$WORK/printed" || {
			echo "no '$pattern' in what '$command' prints:"
			cat "$WORK/printed"
			return 1
		}
	done
}

# ---- Two machines and a link ------------------------------------------------

for m in rdma_cm iw_cm ib_uverbs libcrc32c veth ext4 loop; do modprobe -q "$m"; done
mkdir -p /sys/fs/cgroup
grep -q ' /sys/fs/cgroup ' /proc/self/mounts ||
	mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo 10.9.1.2 SERVER >>"$tree/etc/hosts"
cat "$tree/etc/hosts" >"$WORK/hosts"
mount --bind "$WORK/hosts" /etc/hosts
# On a block device Ganesha reads its UUID, of which it makes file handles.
MACHINE_SRV=$WORK/srv
mkdir "$MACHINE_SRV"
truncate -s 64M "$WORK/image" && mkfs.ext4 -q "$WORK/image" && mount -o loop "$WORK/image" "$MACHINE_SRV" &&
	rmdir "$MACHINE_SRV/lost+found" || not_ok operator-srv "no file system on a block device"
MACHINE_SECURITY=1
if ! machine_boot "$tree"; then
	skip operator-mount "systemd does not start in the guest"
	finish
fi
took boot
in_machine mknod /dev/loop0 b 7 0
# The guest starts with a link of its own, if any, by another name.
ip link add eth0 type veth peer name eth0 netns "$MACHINE_PID" || {
	not_ok operator-network "no link"
	finish
}
ip address add 10.9.1.1/24 dev eth0
ip link set eth0 up
beside_machine ip address add 10.9.1.2/24 dev eth0
beside_machine ip link set eth0 up
# What Debian's kernel does not bring, and README's modprobe is to find.
mkdir -p /etc/modprobe.d
echo "install siw insmod $module" >/etc/modprobe.d/siw.conf
export PATH=$PATH:$tree/usr/bin # the client has rpcrdma-tools, too

log=$tree/var/log/ganesha/ganesha.log

# ---- AppArmor ---------------------------------------------------------------------

# confine NAME: what the head of that profile tells to do
confine() {
	local samples=/usr/share/doc/nfs-ganesha-rdma/config_samples

	in_machine bash -ec "cd $samples; $(sed -n 's/^#   //p' "$tree$samples/apparmor-$1")"
}
# confined UNIT LABEL: all its processes
confined() {
	local label pid

	for pid in $(in_machine cat "/sys/fs/cgroup/system.slice/$1.service/cgroup.procs"); do
		label=$(in_machine cat "/proc/$pid/attr/current")
		[ "$label" = "$2" ] || { echo "$pid: $label"; return 1; }
	done
	[ -n "$pid" ]
}
# The bus has a policy of its own, and logs elsewhere.
denied() {
	in_machine journalctl --sync
	(dmesg; in_machine journalctl --no-pager) |
		grep -aE 'apparmor="DENIED".*(nfs-ganesha-rdma|rpcrdma-gateway)'
}
none_denied() { ! denied | grep -v '"/root/file"'; }
# No other file is written, and that is seen.
enforced() {
	! in_machine aa-exec -p nfs-ganesha-rdma -- bash -c 'echo x >/root/file' &&
		[ ! -e "$tree/root/file" ] && denied | grep '"/root/file"'
}

# ---- The server -----------------------------------------------------------------

readme block '^A minimal `/etc/ganesha/ganesha.conf`:' \
	>"$tree/etc/ganesha/ganesha.conf" || not_ok operator-conf "README has none"
cp "$tree/etc/ganesha/ganesha.conf" "$WORK/given"
in_machine install -d -m 755 /srv
in_machine bash -c 'echo from the server >/srv/file'
check operator-public server '^mkdir -p /srv/'
check operator-check-config prints server '^ganesha-rdma.nfsd .*check-config' 'Port = 20049' \
	'Provider = iwarp'
# It has been started at boot, as packaged.
starts() { grep -s 'NFS SERVER INITIALIZED' "$log" | wc -l; }
started() { [ "$(starts)" -gt "$1" ]; }
check operator-boots await 120 started 0
check operator-confined-at-first confined nfs-ganesha unconfined
check operator-confine confine nfs-ganesha
before=$(starts)
check operator-enable server '^systemctl enable nfs-ganesha'
check operator-restart server '^systemctl restart nfs-ganesha'
check operator-says-where prints server '^rpcrdma-stat --connections' \
	'provider iwarp, .*:20049'
check operator-serves await 120 started "$before"
begun=$SECONDS
check operator-log prints server '^grep -a -e rpcrdma: ' 'serving RPC-over-RDMA .*20049'
check operator-confined confined nfs-ganesha 'nfs-ganesha-rdma (enforce)'
check operator-enforced enforced
took "service started"
check operator-unit prints server '^systemctl cat nfs-ganesha' ganesha-rdma.nfsd \
	LimitMEMLOCK=infinity
check operator-ping prints client '^rpcrdma-ping --count 5 SERVER' \
	'5 Calls, 5 answered'

# ---- Linux' client, by RDMA ---------------------------------------------------

check operator-device client '^modprobe siw'
check operator-device-shown await 20 prints client '^rdma link$' 'siw0/1.*ACTIVE'
unmount() { within 60 umount /mnt; }
by_rdma() { prints client '^grep -A .*mountstats' '^[[:space:]]*xprt:[[:space:]]*rdma '; }
reads() { [ "$(within 120 cat /mnt/file)" = "from the server" ]; }
# A file of three MB by the mount, and the same on the server's file system.
written() {
	within 200 cp "$WORK/pattern" "/mnt/public/$1" || return 1
	in_machine cat "/srv/public/$1" | cmp - "$WORK/pattern"
}
head -c 3000001 /dev/urandom >"$WORK/pattern"

check operator-mount-v3 client '^mount .*vers=3,proto=rdma'
check operator-by-rdma-v3 by_rdma
# To open is a matter of NFSv4: by NFSv3 what is there is read at once.
check operator-reads-v3 reads
check operator-unmount-v3 unmount
check operator-mount client '^mount .*vers=4.2,proto=rdma'
check operator-by-rdma by_rdma
check operator-lists test "$(ls /mnt)" = "$(printf 'file\npublic')"
check operator-connections prints server '^rpcrdma-stat --connections' '10\.9\.1\.1:'
took "mounted, $((SECONDS - begun)) s after the start"
# In the grace period, which a restart would begin anew.
reload() {
	sed -i 's/^RDMA {/& Idle_Timeout = 86400;/' "$tree/etc/ganesha/ganesha.conf" &&
		server '^systemctl reload nfs-ganesha$' &&
		await 60 grep -q 'reload: applied Idle_Timeout' "$log" || return
	cp "$WORK/given" "$tree/etc/ganesha/ganesha.conf"
}
check operator-reload reload
check operator-dbus in_machine rpcrdma-ctl set Idle_Timeout 0
check operator-drain in_machine rpcrdma-ctl drain --timeout 100
check operator-undrain in_machine rpcrdma-ctl undrain
took "reloaded and drained"
check operator-reads reads
took "grace period over, $((SECONDS - begun)) s after the start"
check operator-writes written one
check operator-statistics prints server '^rpcrdma-stat$' 'Write chunks +[1-9]' \
	'Read and Call chunks +[1-9]' 'ERRORs +0 +0'
check operator-unmount unmount
uncached() { sync && echo 3 >/proc/sys/vm/drop_caches; }
fstab() {
	readme command '^SERVER:/srv' >/etc/fstab && within 120 mount /mnt && by_rdma &&
		uncached && within 120 cmp "$WORK/pattern" /mnt/public/one && unmount
}
check operator-fstab fstab
took "written and read"

# ---- The gateway's service ---------------------------------------------------

gateway() {
	sed -i 's/^#server = .*/server = SERVER/' "$tree/etc/rpcrdma/gateway.conf" &&
		server '^systemctl enable --now rpcrdma-gateway' && confine rpcrdma-gateway || return 1
	local line
	line=$(readme command '^mount .*port=20050 127') || return 2
	beside_machine timeout 120 bash -c "$line" || return 3
	within 120 cmp "$WORK/pattern" /mnt/public/one && written two || return 4
	prints server '^rpcrdma-stat --connections' '10\.9\.1\.2:.* 2 ' || return 5
	unmount
}
check operator-gateway gateway
check operator-gateway-confined confined rpcrdma-gateway 'rpcrdma-gateway (enforce)'
check operator-none-denied none_denied
took gateway

# packages.test upgrades and removes them, too, where nothing is emulated.
if [ -z "${RPCRDMA_ALL:-}" ]; then finish; fi

# ---- Upgrade under load ------------------------------------------------------------

# Reinstalling does what an upgrade does. NFSv3 waits for no grace period.
write() { within 200 dd "if=$WORK/pattern" of=/mnt/public/one bs=64k conv=notrunc,fsync; }
load() {
	while [ ! -e "$WORK/loaded" ]; do write && echo >>"$WORK/writes" || return; done
}
writes() { wc -l <"$WORK/writes"; }
more_writes() { [ "$(writes)" -gt "$1" ]; }
upgrade() {
	local before pid status=0

	client '^mount .*vers=3,proto=rdma' || return
	: >"$WORK/writes"
	load &
	pid=$!
	CLEANUP_PIDS+=("$pid")
	await 60 more_writes 1 && before=$(starts) &&
		in_machine bash -c 'dpkg -i /root/packages/*.deb' && await 120 started "$before" &&
		before=$(writes) && await 200 more_writes $((before + 1)) || status=$?
	touch "$WORK/loaded"
	wait "$pid" && [ "$status" = 0 ] && in_machine cat /srv/public/one | cmp - "$WORK/pattern" &&
		unmount
}
check operator-upgrade upgrade
for unit in nfs-ganesha:nfs-ganesha-rdma rpcrdma-gateway:rpcrdma-gateway; do
	check "operator-upgrade-confined-${unit%:*}" confined "${unit%:*}" "${unit#*:} (enforce)"
done
check operator-upgrade-none-denied none_denied
took upgraded

# ---- Without the package ---------------------------------------------------------

plain() {
	! in_machine grep -q librpcrdma "/proc/$(in_machine systemctl show \
		--property MainPID --value nfs-ganesha)/maps"
}
before=$(starts)
check operator-remove server '^apt purge '
check operator-removed-serves await 120 started "$before"
check operator-removed-plain plain
removed() {
	within 120 mount -t nfs -o vers=3,proto=tcp,mountproto=tcp,nolock \
		SERVER:/srv /mnt && reads && unmount
}
check operator-removed-tcp removed
check operator-conf-untouched cmp "$WORK/given" "$tree/etc/ganesha/ganesha.conf"
took "removed"
finish
