# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# machine.sh - a Debian of a test's own, with systemd as its first process
#
#	. "$(dirname "$0")/lib.sh"; . "$(dirname "$0")/machine.sh"
#	machine_tree DIR		a fresh Debian, as small as boots
#	machine_over DIR TREE		or one over another, which stays as it is
#	machine_fetch DIR PACKAGE...	what these need, for apt in there
#	machine_boot DIR || skip ...	sets MACHINE_PID
#	in_machine COMMAND...
#	machine_halt
#	machine_packages deb|rpm DIR [RELEASE]
#				this checkout's packages, and DIR/log; RELEASE: for that
#				Ganesha (tests/release/run), without tests or optimisation
#
# It is no virtual machine: namespaces and a control group of its own, on the
# kernel that is there; its network is a loopback and no more. /run, /tmp, /srv
# and /dev are fresh. It ends with the test, however that ends. Before
# machine_boot may be set:
#
#	MACHINE_NET=shared	the network is this one
#	MACHINE_SRV, MACHINE_TMP	directories that are /srv, /tmp there
#	MACHINE_UNIT		what is booted, if not all that is enabled
#	MACHINE_SECURITY	it may change the kernel's AppArmor policy: in a guest only

MACHINE_PID=
MACHINE_CGROUP=
MACHINE_UNSHARE=
MACHINE_NET=
MACHINE_SRV=
MACHINE_TMP=
MACHINE_UNIT=
MACHINE_SECURITY=

# Where this machine has the packages of its Debian from: "deb" lines.
machine_sources() {
	# shellcheck disable=SC2016 # apt fills these in
	apt-get indextargets --format 'deb $(REPO_URI) $(CODENAME) $(COMPONENT)' \
		'Created-By: Packages' 'Origin: Debian' | sort -u
}

# Packages that were downloaded once are kept.
machine_cache() {
	local cache=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/rpcrdma-packages

	mkdir -p "$cache" && echo "$cache"
}

# A fresh Debian at DIR. What one test has made today serves the next one, too, which
# writes over it.
machine_tree() { # DIR
	local packages=$TOP/build/packages made kept

	mkdir -p "$packages"
	machine_sources >"$WORK/sources.list"
	made=$(date +%F | cat - "$WORK/sources.list" | sha256sum | cut -c1-12)
	kept=$packages/tree-$made
	(
		flock 8
		[ ! -d "$kept" ] || exit 0
		# Those of other days, which nobody has now.
		find "$packages" -mindepth 1 -maxdepth 1 -name 'tree-*' -mtime +1 -exec rm -rf {} +
		rm -rf "$kept.new"
		machine_new_tree "$kept.new" && mv "$kept.new" "$kept" && touch "$kept"
	) 8>"$packages/tree.lock" && machine_over "$1" "$kept"
}

machine_new_tree() { # DIR
	local tree=$1 cache codename

	cache=$(machine_cache) || return 1
	codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
	[ -s "$WORK/sources.list" ] || {
		echo "apt knows no Debian: apt-get update" >&2
		return 1
	}
	mmdebstrap --variant=minbase --include=systemd-sysv,dbus,procps \
		--skip=check/empty,cleanup/apt,download/empty,essential/unlink \
		--dpkgopt=force-unsafe-io \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--setup-hook='mkdir -p "$1/var/cache/apt/archives"' \
		--setup-hook="cp -l $cache/*.deb \"\$1/var/cache/apt/archives/\" ||
			cp $cache/*.deb \"\$1/var/cache/apt/archives/\" || true" \
		"$codename" "$tree" "$WORK/sources.list"
}

# What is written is in memory, or the tree is copied. In a mount namespace of
# the caller's own.
machine_over() { # DIR TREE
	mkdir -p "$1" "$1.ram" || return 1
	mount -t tmpfs tmpfs "$1.ram" && mkdir "$1.ram/upper" "$1.ram/work" &&
		mount -t overlay -o "lowerdir=$2,upperdir=$1.ram/upper,workdir=$1.ram/work" \
			overlay "$1" && return
	cp -a "$2/." "$1/"
}

machine_fetch() { # DIR PACKAGE...
	local tree=$1 cache

	shift
	cache=$(machine_cache) || return 1
	cp --remove-destination "$(realpath /etc/resolv.conf)" \
		"$tree/etc/resolv.conf" || return 1
	apt-config dump | grep -i '::proxy' >"$tree/etc/apt/apt.conf.d/99proxy"
	chroot "$tree" apt-get -q -y --no-install-recommends --download-only \
		install "$@" || return 1
	find "$tree/var/cache/apt/archives" -name '*.deb' -links 1 \
		-exec cp -n {} "$cache" \;
	# Of what is old, nothing is needed any more.
	find "$cache" -name '*.deb' -mtime +60 -delete
}

# The first process of the namespaces: what the kernel and a boot loader do.
machine_init() { # DIR SRV TMP UNIT SECURITY
	local d srv=$2 tmp=$3 unit=$4

	set -e
	cd "$1"
	mount --bind . .
	cd "$1"
	mount -t proc proc proc
	mount -t sysfs -o ro sysfs sys
	[ -z "$5" ] || mount -t securityfs securityfs sys/kernel/security
	mount -t tmpfs tmpfs sys/fs/cgroup 2>/dev/null || true
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t tmpfs -o mode=755 tmpfs dev
	for d in null zero full random urandom tty; do
		: >"dev/$d"
		mount --bind "/dev/$d" "dev/$d"
	done
	if [ -d /dev/infiniband ]; then
		mkdir dev/infiniband
		mount --bind /dev/infiniband dev/infiniband
	fi
	mkdir dev/pts dev/shm
	mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
	ln -s pts/ptmx dev/ptmx
	ln -s /proc/self/fd dev/fd
	for d in dev/shm tmp srv; do mount -t tmpfs -o mode=1777 tmpfs "$d"; done
	[ -z "$srv" ] || mount --rbind "$srv" srv
	[ -z "$tmp" ] || mount --rbind "$tmp" tmp
	mount -t tmpfs -o mode=755 tmpfs run
	hostname machine
	ip link set lo up
	mkdir -p .old
	pivot_root . .old
	umount -l .old
	exec env -i container=rpcrdma-test LANG=C.UTF-8 \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd \
		${unit:+"--unit=$unit"}
}

machine_boot() { # DIR
	local group net=--net

	[ "$MACHINE_NET" != shared ] || net=

	for group in /sys/fs/cgroup/unified /sys/fs/cgroup; do
		[ -e "$group/cgroup.procs" ] || continue
		mkdir "$group/rpcrdma-test.$$" 2>/dev/null || continue
		MACHINE_CGROUP=$group/rpcrdma-test.$$
		break
	done
	[ -n "$MACHINE_CGROUP" ] || {
		echo "no control group of version 2 can be made" >&2
		return 1
	}
	# Neither asking nor a signal but the last one ends the first process of
	# a namespace; with its parent it goes.
	# shellcheck disable=SC2086 # nothing, or a word
	bash -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' \
		boot "$MACHINE_CGROUP" setpriv --pdeathsig KILL \
		unshare --pid --fork --kill-child --mount --uts --ipc $net \
		--cgroup bash -c "$(declare -f machine_init); machine_init \"\$@\"" \
		boot "$1" "$MACHINE_SRV" "$MACHINE_TMP" "$MACHINE_UNIT" "$MACHINE_SECURITY" \
		>"$WORK/boot.log" 2>&1 </dev/null &
	MACHINE_UNSHARE=$!
	await $((60 * ${RPCRDMA_PATIENCE:-1})) machine_up || {
		tail -n 3 "$WORK/boot.log" >&2
		return 1
	}
}

machine_up() {
	MACHINE_PID=$(pgrep -P "$MACHINE_UNSHARE" -x systemd) || return 1
	case $(in_machine systemctl is-system-running) in
	running | degraded) ;;
	*) return 1 ;;
	esac
}

in_machine() {
	nsenter --target "$MACHINE_PID" --all env -i LANG=C.UTF-8 HOME=/root \
		PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		"$@" </dev/null
}

# A program of this machine in the other's network.
beside_machine() {
	nsenter --target "$MACHINE_PID" --net "$@"
}

machine_ungroup() {
	find "$MACHINE_CGROUP" -depth -type d -exec rmdir {} \; 2>/dev/null
	[ ! -e "$MACHINE_CGROUP" ]
}

machine_halt() {
	local i

	[ -z "$MACHINE_PID" ] || in_machine systemctl poweroff 2>/dev/null
	MACHINE_PID=
	if [ -n "$MACHINE_UNSHARE" ]; then
		for ((i = 0; i < 300; i++)); do
			kill -0 "$MACHINE_UNSHARE" 2>/dev/null || break
			sleep 0.1
		done
		kill -KILL "$MACHINE_UNSHARE" 2>/dev/null
		wait "$MACHINE_UNSHARE" 2>/dev/null
		MACHINE_UNSHARE=
	fi
	if [ -n "$MACHINE_CGROUP" ]; then
		# What was killed takes a moment to be gone.
		await 10 machine_ungroup
		MACHINE_CGROUP=
	fi
	return 0
}

# rpmbuild runs here, and what compiles in the tree of RELEASE.
machine_cmake() { # RELEASE
	mkdir -p "$WORK/bin" && cat >"$WORK/bin/cmake" <<-END && chmod +x "$WORK/bin/cmake"
	#!/bin/bash
	exec "$TOP/tests/release/run" "$1" bash -c 'cd "\$1" && shift && exec /usr/bin/cmake "\$@"' \
		cmake "\$PWD" "\$@"
	END
}

# What one test has built of the same files serves the next one, too.
machine_packages() { # KIND DIR [RELEASE]
	local kind=$1 to=$2 release=${3:-} kept git commit files build

	kept=$TOP/build/packages/$kind${release:+-$release}
	build=(env "TMPDIR=$WORK" NODEPS=1)
	if [ -n "$release" ]; then
		build+=("DEB_BUILD_OPTIONS=nocheck noopt" DEB_BUILD_PROFILES=nocheck)
		if [ "$kind" = rpm ]; then
			machine_cmake "$release"
			build+=("PATH=$WORK/bin:$PATH")
		else
			build+=("BUILD_IN=$(printf '%q ' "$TOP/tests/release/run" "$release")")
		fi
	fi
	git=(git -c "safe.directory=*" -C "$TOP")
	mkdir -p "$kept" "$to"
	"${git[@]}" update-index -q --refresh >/dev/null
	commit=$("${git[@]}" stash create 2>/dev/null)
	files=$("${git[@]}" rev-parse "${commit:-HEAD}^{tree}" 2>/dev/null)
	(
		flock 8
		if [ -z "$files" ] || [ "$files" != "$(cat "$kept/made" 2>/dev/null)" ]; then
			rm -rf "${kept:?}"/*
			"${build[@]}" "$TOP/packaging/build" "$kind" "$kept" \
				>"$kept/log" 2>&1 && echo "$files" >"$kept/made"
		else
			echo "# ${kept##*/}: built before, of the same files"
		fi
		cp "$kept"/* "$to/" && [ -e "$kept/made" ]
	) 8>"$kept.lock"
}
