# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# kernel-krb5.sh - Kerberos through the gateway, as docs/operations.md says
#
# Behind kernel-guest.sh, in its guest: a server, a gateway as it is packaged
# (--reserved-ports) and rpc.gssd, which asks for tickets by the name in the mount,
# and for a user's from a port that is not below 1024.

# shellcheck source=tests/integration/krb5.sh
. "$HERE/krb5.sh"

krb5_begin() {
	local keytab=$WORK/krb5/server.keytab

	printf '%s\n' "127.0.0.1 localhost" "127.0.0.2 second.rpcrdma.test" \
		"192.0.2.1 server.rpcrdma.test" "192.0.2.1 guest.rpcrdma.test guest" \
		>"$WORK/hosts"
	mount --bind "$WORK/hosts" /etc/hosts
	hostname guest
	chmod 777 "$DATA" && chmod 755 "$WORK"
	start_kdc && add_principal nfs/server.rpcrdma.test "$keytab" &&
		add_principal nfs/second.rpcrdma.test "$keytab" &&
		add_principal host/guest.rpcrdma.test "$WORK/krb5/client.keytab" &&
		add_principal tester || return 1
	get_ticket "$WORK/krb5/tmp/krb5cc_1234" tester &&
		chown 1234 "$WORK/krb5/tmp/krb5cc_1234" || return 2
	# Where a machine's krb5.conf has neither.
	sed -i '/rdns\|canonicalize/d' "$KRB5_CONFIG"

	GANESHA_SECTYPE="sys, krb5, krb5i, krb5p"
	GANESHA_KRB5="Active_krb5 = true; KeytabPath = $keytab;
		CCacheDir = $WORK/krb5/tmp;"
	start_ganesha "$WORK/krb5-ganesha" "$DATA" || return 3
	start_bg "$GATEWAY" --listen "127.0.0.1:$GATEWAY_PORT" \
		--listen "127.0.0.2:$GATEWAY_PORT" --server "127.0.0.1:$RDMA_PORT" \
		--reserved-ports --stats-socket "$WORK/gateway.sock" \
		2>"$WORK/krb5-gateway.log"
	GATEWAY_PID=$BG_PID
	await 30 listening "$GATEWAY_PORT" || return 4

	modprobe -a auth_rpcgss rpcsec_gss_krb5 nfsv4
	mkdir "$WORK/pipefs" && mount -t rpc_pipefs rpc_pipefs "$WORK/pipefs" || return 5
	# It gives a server 5 s, which are too few beside much else.
	start_bg rpc.gssd -f -T 100 -k "$WORK/krb5/client.keytab" -p "$WORK/pipefs" \
		-d "$WORK/krb5/tmp" >"$WORK/gssd.log" 2>&1
	GSSD_PID=$BG_PID
	await 60 gssd_ready
}
# It has opened the pipe by which the kernel knows that it runs, without which each mount
# fails at once; and it watches for clients of NFS.
gssd_ready() {
	ls -l "/proc/$GSSD_PID/fd" | grep -q /pipefs/gssd/ &&
		grep -qs "ino:$(printf %x "$(stat -c %i "$WORK/pipefs/nfs")") " \
			"/proc/$GSSD_PID"/fdinfo/*
}

krb5_mount() { # ARGUMENT...
	within 200 mount -t nfs "$@" "$MNT" ||
		{ tail -n 5 "$WORK/gssd.log" "$WORK/krb5-gateway.log"; return 1; }
}
krb5_files() {
	cp "$LOCAL/3000001" "$MNT/" || return 1
	uncached
	cmp "$LOCAL/3000001" "$DATA/3000001" && cmp "$LOCAL/3000001" "$MNT/3000001"
}
krb5_user() {
	within 100 setpriv --reuid=1234 --regid=1234 --clear-groups \
		bash -c "echo mine >'$MNT/users'" && [ "$(cat "$DATA/users")" = mine ]
}
# AUTH_SYS from a port that anybody may have.
krb5_denied() {
	! krb5_mount -o "vers=4.1,port=$GATEWAY_PORT,noresvport,sec=sys" \
		127.0.0.1:/export &&
		grep -q 'only Kerberos is accepted' "$WORK/krb5-gateway.log"
}

if tool=$(krb5_missing) || ! tool=rpc.gssd || ! command -v rpc.gssd >/dev/null; then
	skip kernel-krb5 "needs $tool"
elif ! krb5_begin >"$WORK/krb5-begin" 2>&1; then
	not_ok kernel-krb5 "$? $(tail -n 2 "$WORK/krb5-begin" | tr '\n' ' ')"
else
	check kernel-krb5-mount krb5_mount -o "vers=4.1,port=$GATEWAY_PORT,sec=krb5p" \
		second.rpcrdma.test:/export
	check kernel-krb5-files krb5_files
	check kernel-krb5-user krb5_user
	check kernel-krb5-unmount within 200 umount "$MNT"
	check kernel-krb5-by-hand krb5_mount -i \
		-o "vers=4.2,sec=krb5i,addr=127.0.0.1,port=$GATEWAY_PORT" \
		server.rpcrdma.test:/export
	check kernel-krb5-by-hand-files krb5_files
	check kernel-krb5-by-hand-unmount within 200 umount "$MNT"
	check kernel-krb5-denied krb5_denied
	end_pid "$GSSD_PID"
	umount "$WORK/pipefs"
	if end_pid "$GATEWAY_PID"; then ok kernel-krb5-gateway-end; else not_ok kernel-krb5-gateway-end "status $?"; fi
	if stop_ganesha; then ok kernel-krb5-server-end; else not_ok kernel-krb5-server-end "status $?"; fi
fi
