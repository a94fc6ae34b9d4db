# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# oracle-lib.sh - a guest with RDMA devices at both ends, and the kernel's own server
#
# For scripts in a guest (tests/vm/run) that compare servers side by side, after lib.sh.
# The caller sets module (of siw) and FILES.
#
#	network		Two links, r with an rxe at each end and s with a siw, both of
#			one network namespace, for RDMA devices serve the first alone;
#			rules of routing keep the ends apart, so that each packet takes
#			the link. Clients are 10.9.1.1 and 10.9.2.1, servers 10.9.1.2
#			and 10.9.2.2. TCP takes link s.
#	knfsd		Linux' server of FILES/knfsd on both links: port 2049 by TCP,
#			20049 by RDMA. Sets KNFSD_MOUNT: options of mount for NFSv3.
#	knfsd_path VERSION	what of it is to be mounted

# A veth pair takes a packet in on the processor that sent it. rxe sends those of
# one queue pair on any, so they would overtake each other; it takes that for a
# loss, and is bad at repeating: one processor for each end.
in_order() { # DEVICE MASK
	[ "$(nproc)" = 1 ] || echo "$2" >"/sys/class/net/$1/queues/rx-0/rps_cpus"
}
# link NAME SUBNET TABLE: NAME0 has SUBNET.1, NAME1 has SUBNET.2
link() {
	local client=${1}0 server=${1}1 net=$2 dev
	ip link add "$client" type veth peer name "$server"
	for dev in "$client" "$server"; do
		echo 1 >/proc/sys/net/ipv4/conf/"$dev"/accept_local
		echo 0 >/proc/sys/net/ipv4/conf/"$dev"/rp_filter
		ip link set "$dev" mtu 9000 up
	done
	ip address add "$net.1/32" dev "$client"
	ip address add "$net.2/32" dev "$server"
	ip route add "$net.2" dev "$client" src "$net.1" table "$3"
	ip route add "$net.1" dev "$server" src "$net.2" table "$3"
	ip neighbour replace "$net.2" dev "$client" nud permanent \
		lladdr "$(cat "/sys/class/net/$server/address")"
	ip neighbour replace "$net.1" dev "$server" nud permanent \
		lladdr "$(cat "/sys/class/net/$client/address")"
	# What comes in at one end is for it; the way to the other is the link.
	ip rule add pref 11 iif "$server" to "$net.2" lookup local
	ip rule add pref 11 iif "$client" to "$net.1" lookup local
	ip rule add pref 20 to "$net.0/24" lookup "$3"
}
network() {
	local m
	for m in rdma_cm iw_cm libcrc32c veth rdma_rxe rdma_ucm ib_uverbs; do
		modprobe "$m" || return
	done
	modprobe -q siw || insmod "$module" || return
	echo 1 >/proc/sys/net/ipv4/conf/all/accept_local
	echo 0 >/proc/sys/net/ipv4/conf/all/rp_filter
	link r 10.9.1 101
	in_order r0 2
	in_order r1 1
	link s 10.9.2 102
	if [ -n "${RPCRDMA_APART:-}" ]; then
		in_order s0 2
		in_order s1 1
	fi
	ip rule add pref 100 lookup local
	ip rule del pref 0
	for m in 0 1; do
		rdma link add "rxe$m" type rxe netdev "r$m" || return
		rdma link add "siw$m" type siw netdev "s$m" || return
	done
	# RDMA wants a link that loses nothing. A veth pair loses what the queue
	# of a processor does not hold: 1000 packets, four WRITEs of 1 MiB by rxe.
	echo 20000 >/proc/sys/net/core/netdev_max_backlog
	for m in rxe0 rxe1 siw0 siw1; do
		await 10 bash -c "rdma link show $m/1 | grep -q ACTIVE" || return
	done
	ulimit -l unlimited
}

knfsd() {
	modprobe nfsd && modprobe rpcrdma || return
	mount -t tmpfs nfs /var/lib/nfs && mkdir -p /var/lib/nfs/v4recovery \
		/var/lib/nfs/rpc_pipefs || return
	: >/var/lib/nfs/etab
	: >/var/lib/nfs/rmtab
	mount -t nfsd nfsd /proc/fs/nfsd || return
	exportfs -o rw,no_root_squash,insecure,no_subtree_check,fsid=0 "*:$FILES/knfsd" || return
	start_bg rpc.mountd -F -p 20048 >"$WORK/mountd" 2>&1
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	# As large as the others'; by itself knfsd takes less in a small machine.
	echo $((1 << 20)) >/proc/fs/nfsd/max_block_size
	rpc.nfsd --no-udp --tcp --port 2049 8 || return
	echo rdma 20049 >/proc/fs/nfsd/portlist || return
	echo Y >/proc/fs/nfsd/v4_end_grace 2>/dev/null
	KNFSD_MOUNT="mountproto=tcp,mountport=20048"
}
# By NFSv4 it is the root, for that of the guest cannot be exported.
knfsd_path() { if [ "$1" = 3 ]; then echo "$FILES/knfsd"; else echo /; fi; }
