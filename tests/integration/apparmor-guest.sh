#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# apparmor-guest.sh - a server and a gateway in their AppArmor profiles, enforced
#
# In a guest, whose files are forgotten: they are installed in /usr, because the profiles
# name their places. What the service manager does is done here by aa-exec.

# shellcheck source=tests/integration/lib.sh
. "$(dirname "$0")/lib.sh"
WORK=$(mktemp -d /tmp/rpcrdma-test.XXXXXX) || exit 1
trap cleanup EXIT

securityfs=/sys/kernel/security
mountpoint -q "$securityfs" || mount -t securityfs securityfs "$securityfs"
if [ ! -d "$securityfs/apparmor" ]; then
	skip apparmor-enforced "this kernel has no AppArmor"
	exit 0
fi
denials() { dmesg | grep -c 'apparmor="DENIED"'; }
confined() { grep -qx "$2 (enforce)" "/proc/$1/attr/current"; }
none_denied() {
	! dmesg | grep 'apparmor="DENIED"' | sed 's/.*operation=//'| sort | uniq -c | grep .
}

check apparmor-install cmake --install "$RPCRDMA_BUILD" --prefix /usr
install -d /etc/apparmor.d/local /var/log/ganesha /run/ganesha /run/rpcrdma-gateway /srv \
	/var/lib/nfs/ganesha /other
echo '/srv/{,**} rwkl,' >/etc/apparmor.d/local/nfs-ganesha-rdma
for name in nfs-ganesha-rdma:nfs-ganesha rpcrdma-gateway:rpcrdma-gateway; do
	cp "$TOP/config_samples/apparmor-${name#*:}" "/etc/apparmor.d/${name%:*}"
	check "apparmor-load-${name#*:}" apparmor_parser --replace --skip-cache \
		"/etc/apparmor.d/${name%:*}"
done

cat >/etc/ganesha/ganesha.conf <<'END'
NFS_Core_Param { Protocols = 4; Enable_RQUOTA = false; }
NFSv4 { Graceless = true; }
RDMA { Provider = iwarp; }
EXPORT { Export_Id = 1; Path = /srv; Pseudo = /srv; Access_Type = RW; Squash = none; FSAL { Name = VFS; } }
END
mount -t tmpfs tmpfs /srv
# libnfs writes no long files by NFSv4.
head -c 1001 /dev/urandom >"$WORK/data"
GANESHA_LOG=/var/log/ganesha/ganesha.log
start_bg aa-exec -p nfs-ganesha-rdma -- /bin/bash -c \
	"exec  /usr/bin/ganesha-rdma.nfsd -F -C -L $GANESHA_LOG -f /etc/ganesha/ganesha.conf" \
	>"$WORK/server" 2>&1
SERVER=$BG_PID
served() { grep -q 'NFS SERVER INITIALIZED' "$GANESHA_LOG"; }
if ! await 200 served; then
	not_ok apparmor-start "$(tail -n 3 "$WORK/server" "$GANESHA_LOG" | tr '\n' ' ')"
	dmesg | grep apparmor= | tail -n 20
	exit 1
fi
check apparmor-confined confined "$SERVER" nfs-ganesha-rdma
check apparmor-rdma grep -q 'rpcrdma: serving' "$GANESHA_LOG"
start_bg aa-exec -p rpcrdma-gateway -- /usr/bin/rpcrdma-gateway --server 127.0.0.1 \
	--listen 127.0.0.1:20050 --stats-socket /run/rpcrdma-gateway/stats.sock \
	>"$WORK/gateway" 2>&1
GATEWAY=$BG_PID
check apparmor-gateway await 100 listening 20050
check apparmor-gateway-confined confined "$GATEWAY" rpcrdma-gateway
url='nfs://127.0.0.1/srv/copy?version=4&nfsport=20050'
check apparmor-write nfs-cp "$WORK/data" "$url"
check apparmor-read bash -c 'nfs-cat "$1" | cmp - "$2"' - "$url" "$WORK/data"
check apparmor-there cmp /srv/copy "$WORK/data"
check apparmor-stat rpcrdma-stat --connections
check apparmor-stat-gateway rpcrdma-stat --socket /run/rpcrdma-gateway/stats.sock
kill -HUP "$SERVER"
reloaded() { grep -qi 'reload' "$GANESHA_LOG"; }
check apparmor-reload await 60 reloaded
check apparmor-none-denied none_denied
# It is enforced: no other file of the server is reached.
before=$(denials)
aa-exec -p nfs-ganesha-rdma -- /bin/bash -c 'echo x >/other/file' 2>/dev/null
check apparmor-enforces test "$(denials)" -gt "$before" -a ! -e /other/file
check apparmor-gateway-stop end_pid "$GATEWAY"
check apparmor-stop end_pid "$SERVER"
exit "$FAILED"
