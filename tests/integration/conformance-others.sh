#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# conformance-others.sh - the part of conformance-others.test in the guest
#
#	conformance-others.sh MODULE [OPTION OF rpcrdma-conformance...]
#
# Linux' server and client are in the guest's own network, on siw, for devices serve
# the first namespace only; the checks are at the other end of a link, in namespace
# "peer". What is found is in /host/knfsd.json, /host/knfsd.second.json and
# /host/linux.json.

RPCRDMA_ISOLATED=1 # the guest is for this alone
export kind=siw module=$1
export RPCRDMA_PATIENCE=5 # emulated, and maybe beside much else
# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
# shellcheck source=tests/integration/verbs-lib.sh
. "$(dirname "$0")/verbs-lib.sh"
isolate
SERVER=10.9.1.1
PEER=10.9.1.2
# Compiled once for all starts of the kit, and not into the tree.
export PYTHONPYCACHEPREFIX=$WORK/pycache
# Not "ip netns exec", which hides the devices.
there=(nsenter --net=/run/netns/peer)
kit=("${there[@]}" "$TOP/tests/conformance/rpcrdma-conformance" --version 1
	--no-raw --no-crc --patience 30 --json "${@:2}")
EXPORT=$WORK/export
MNT=$WORK/mnt
LOCAL=$WORK/local
mkdir -p "$EXPORT" "$MNT" "$LOCAL"

if ! setup >"$WORK/setup" 2>&1; then
	skip conformance-others "no device: $(tail -n 1 "$WORK/setup")"
	finish
fi

uname -r | cut -d. -f1,2 >/host/release

# ---- Its server --------------------------------------------------------------

knfsd() {
	modprobe nfsd && modprobe rpcrdma || return
	mount -t tmpfs nfs /var/lib/nfs && mkdir -p /var/lib/nfs/v4recovery \
		/var/lib/nfs/rpc_pipefs || return
	: >/var/lib/nfs/etab
	: >/var/lib/nfs/rmtab
	mount -t nfsd nfsd /proc/fs/nfsd && mount -t tmpfs export "$EXPORT" || return
	chmod 777 "$EXPORT"
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "*:$EXPORT" || return
	start_bg rpc.mountd -F -p 20048 >"$WORK/mountd" 2>&1
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	rpc.nfsd --no-udp --tcp --port 2049 8 && echo rdma 20049 >/proc/fs/nfsd/portlist &&
		echo Y >/proc/fs/nfsd/v4_end_grace
}
if ! knfsd >"$WORK/knfsd" 2>&1; then
	not_ok knfsd-start "$(tail -n 2 "$WORK/knfsd" | tr '\n' ' ')"
	finish
fi
of_server() { # FILE [OPTION...]
	timeout 2000 "${kit[@]}" --host $SERVER --path / "${@:2}" >"$1" 2>"$WORK/said"
}
of_server /host/knfsd.json
status=$?
# Emulated, it sometimes takes no notice of a message: what was not ok, once more.
again=$(sed -n '/"id"/h; /"not ok"/{x; s/.*: "\(.*\)".*/\1/p}' /host/knfsd.json | paste -sd,)
[ -z "$again" ] || of_server /host/knfsd.second.json --only "$again"
if [ $status -le 1 ]; then ok knfsd; else not_ok knfsd "status $status: $(tail -n 1 "$WORK/said")"; fi

# ---- Its client, which the kit serves through that server's TCP -----------------

mounted() { # VERS
	local options=vers=$1,proto=rdma,port=20051 from=$PEER:/

	if [ "$1" = 3 ]; then
		options+=,nolock,mountproto=tcp,mountaddr=$SERVER,mountport=20048
		from=$PEER:$EXPORT
	fi
	timeout 200 mount -t nfs -o "$options" "$from" "$MNT"
}
load() { # VERS
	local n

	mounted "$1" || return
	for n in 1 1000 4097 65537 1048577; do
		timeout 200 cp "$LOCAL/$n" "$MNT/$n" || return
	done
	(cd "$MNT" && timeout 200 mkdir dir && cd dir && timeout 400 touch name-{1..9}-{a..z}-long) || return
	timeout 200 ln -s "$(head -c 900 /dev/zero | tr '\0' x)" "$MNT/link"
	sync && echo 3 >/proc/sys/vm/drop_caches
	for n in 1 1000 4097 65537 1048577; do
		timeout 200 cmp "$LOCAL/$n" "$MNT/$n" || return
	done
	[ "$(timeout 200 ls "$MNT/dir" | wc -l)" = 234 ] || return
	[ "$(timeout 200 readlink "$MNT/link" | wc -c)" = 901 ] || return
	timeout 400 rm -r "$MNT"/* && timeout 200 umount "$MNT"
}
for n in 1 1000 4097 65537 1048577; do head -c "$n" /dev/urandom >"$LOCAL/$n"; done
"${kit[@]}" --relay $SERVER:2049 --server-address $PEER --port 20051 \
	>/host/linux.json 2>"$WORK/said" &
pid=$!
await 60 grep -q ready "$WORK/said"
for vers in 3 4.1; do
	if load $vers >"$WORK/load" 2>&1; then
		ok "linux-v$vers"
	else
		not_ok "linux-v$vers" "$(tail -n 2 "$WORK/load" | tr '\n' ' ') $(dmesg | tail -n 2 | tr '\n' ' ')"
		umount -lf "$MNT"
	fi
done
kill "$pid"
wait $pid
status=$?
if [ $status -le 1 ]; then ok linux; else not_ok linux "status $status: $(tail -n 1 "$WORK/said")"; fi
rpc.nfsd 0
quiet_kernel() { ! dmesg | grep -E 'BUG:|Oops|general protection|refcount_t:'; }
check kernel quiet_kernel
finish
