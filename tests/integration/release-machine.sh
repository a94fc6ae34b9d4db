#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# release-machine.sh - the packages in a Debian with another release of Ganesha
#
#	release-machine.sh RELEASE TREE DEBS		here, over iwarp
#	release-machine.sh RELEASE TREE DEBS verbs	in a guest (tests/vm/run), over rxe
#
# The Debian in TREE is booted, with systemd as its first process, and gets the
# packages in DEBS, which releases.test has built. Here README.md's minimal configuration is served, through
# the gateway's service. In a guest, where there is a device, the service with
# its hardening has it, and Linux' client mounts what is served.

HERE=$(cd "$(dirname "$0")" && pwd)
export GANESHA_RELEASE=$1 GANESHA_WRAP=
lower=$2
debs=$3
where=${4:-here}
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/machine.sh
. "$(dirname "$0")/machine.sh"
# shellcheck source=tests/integration/service-lib.sh
. "$(dirname "$0")/service-lib.sh"
if [ -z "${RPCRDMA_ISOLATED:-}" ]; then
	RPCRDMA_ISOLATED=1 exec unshare -m "$BASH" "$0" "$@"
fi
WORK=$(mktemp -d "${RPCRDMA_TMP:-/tmp}/rpcrdma-test.XXXXXX") || exit 1
ended() {
	machine_halt
	umount -l "$TREE" "$TREE.ram" 2>/dev/null
	cleanup
}
trap ended EXIT
trap 'exit 1' INT TERM HUP
TREE=$WORK/tree

# ---- The machine -------------------------------------------------------------

# A device is there before the machine, which gets /dev/infiniband as it is.
guest() {
	local m

	export RPCRDMA_PATIENCE=5 RPCRDMA_DATA=/tmp/exported
	mount -t cgroup2 cgroup2 /sys/fs/cgroup || return
	for m in rdma_ucm ib_uverbs rdma_rxe rdma_cm; do
		modprobe "$m" || return
	done
	await 20 test -e /dev/infiniband/rdma_cm || return
	modprobe -q loop
	mkdir -p "$RPCRDMA_DATA"
	truncate -s 256M "$WORK/disk.img" && mkfs.ext4 -q -m 0 "$WORK/disk.img" &&
		mount -o loop "$WORK/disk.img" "$RPCRDMA_DATA" &&
		rmdir "$RPCRDMA_DATA/lost+found" || return
	MACHINE_NET=shared
	MACHINE_TMP=/tmp
	MACHINE_SRV=$RPCRDMA_DATA
	MACHINE_UNIT=basic.target # what is not needed takes long here
}
if [ "$where" = verbs ]; then
	guest >"$WORK/guest" 2>&1 || {
		skip machine "no device or disk: $(tail -n 1 "$WORK/guest")"
		finish
	}
else
	# A directory of this machine's disk: Ganesha 5.9 and later export no tmpfs.
	MACHINE_SRV=$WORK/srv
	mkdir "$MACHINE_SRV"
fi
machine_over "$TREE" "$lower" || exit 1
# Services may start, but Ganesha not by itself; and no index of manual pages.
rm -f "$TREE/usr/sbin/policy-rc.d" "$TREE/var/lib/man-db/auto-update" \
	"$TREE"/etc/systemd/system/*.wants/nfs-ganesha.service
if ! machine_boot "$TREE" 2>"$WORK/boot.err"; then
	skip machine "does not boot: $(tr '\n' ' ' <"$WORK/boot.err")"
	finish
fi

into deb "$debs"/nfs-ganesha-rdma*.deb "$debs"/rpcrdma-tools_*.deb
# configure LINE...: README.md's minimal configuration, with more in the RDMA block
configure() {
	awk '/^A minimal `\/etc\/ganesha\/ganesha.conf`:/ { on = 1; next }
		on && /^[^ ]/ { exit }
		on { print substr($0, 5) }' "$TOP/README.md" |
		sed -e "s/^    Provider = .*/    $*/" \
			-e "/^NFS_Core_Param {/a\    $NO_IO_FLUSHER" \
			>"$TREE/etc/ganesha/ganesha.conf"
}

# ---- Here ------------------------------------------------------------------

if [ "$where" = here ]; then
	check install in_machine bash -c \
		'apt-get -q -y --no-install-recommends install /root/deb/*.deb'
	in_machine bash -c 'echo x >/srv/from-the-start; chmod 777 /srv'
	configure 'Provider = iwarp;'
	check verify verify
	check restart serves rdma restart
	check rdma rdma_is_served
	check memlock memlock nfs-ganesha.service
	check hardened hardened nfs-ganesha.service
	check ping ping_server
	sed -i 's/^#server = .*/server = 127.0.0.1/' "$TREE/etc/rpcrdma/gateway.conf"
	check gateway in_machine systemctl start rpcrdma-gateway
	check gateway-nfs4 lists 20050
	check gateway-nfs3 copies release
	check statistics statistics /run/ganesha/rdma.sock \
		"totals['write_bytes'] > 3000000 and totals['errors_sent'] == 0"
	check install-packages-waits install_waits
	check remove serves plain in_machine apt-get -q -y \
		purge nfs-ganesha-rdma rpcrdma-tools
	check removed-serves lists 2049
	finish
fi

# ---- In the guest, with a device ----------------------------------------------

check install in_machine bash -c 'dpkg -i /root/deb/*.deb'
before=$FAILED
GANESHA_BIN=$HERE/machine-server.sh RPCRDMA_MACHINE=$MACHINE_PID RPCRDMA_VERSIONS=4.2 \
	"$HERE/nfsrdma-guest.sh" rxe '' brief || FAILED=1
if [ "$FAILED" != "$before" ]; then
	in_machine journalctl -u nfs-ganesha --no-pager -n 20 | sed 's/^/# /'
fi

# The process as systemd has made it, and what it says when it may lock less.
in_machine bash -c 'echo "OPTIONS=\"-L /var/log/ganesha/ganesha.log -f /etc/ganesha/ganesha.conf\"" \
	>/etc/default/nfs-ganesha'
rm -f "$TREE/var/log/ganesha/ganesha.log"
configure 'Provider = verbs;'
check restart serves rdma restart
check device grep -E 'serving RPC-over-RDMA .*, provider verbs' \
	"$TREE/var/log/ganesha/ganesha.log"
check memlock memlock nfs-ganesha.service
echo "# the server may lock, in octets: $(cat "$WORK/locks")"
check hardened hardened nfs-ganesha.service
check ping in_machine timeout 100 rpcrdma-ping --quiet --timeout 30000 --provider verbs \
	--server 10.9.1.2 --count 2 --interval 1
mkdir -p "$TREE/etc/systemd/system/nfs-ganesha.service.d"
printf '[Service]\nLimitMEMLOCK=64K\nCapabilityBoundingSet=~CAP_IPC_LOCK\n' \
	>"$TREE/etc/systemd/system/nfs-ganesha.service.d/90-little.conf"
in_machine systemctl daemon-reload
rm -f "$TREE/var/log/ganesha/ganesha.log"
check little-restart serves rdma restart
check little-remedy grep -E 'rpcrdma: .*(64 KiB|locked memory).*LimitMEMLOCK=infinity' \
	"$TREE/var/log/ganesha/ganesha.log"
check little-tcp rpcinfo -n 2049 -t 127.0.0.1 100003 4
finish
