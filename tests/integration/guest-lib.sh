# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
#
# guest-lib.sh - a test that runs in guests (tests/vm/run), one or more at once
#
#	. "$(dirname "$0")/guest-lib.sh"
#	trap guests_end EXIT			or among what is done there
#	trap 'exit 1' INT TERM HUP
#	siw_module || echo "skip NAME $(siw_why)"	sets module
#	guest NAME ARGUMENT...			of tests/vm/run
#	guest_begin NAME ARGUMENT...; ...; guests_wait
#
# What a guest prints comes out of here. Where there is none, "skip NAME" says
# so; if it ends otherwise than its tests do, "not ok NAME". guest and guests_wait
# fail if anything did. No two at once have one name.
#
# A guest has one processor unless it asks for --cpus, or RPCRDMA_CPUS says how
# many: in emulation, one that wakes another takes milliseconds, which was more
# than half of what nfsrdma.test took.

GUEST_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
GUEST_BUILD=$(realpath "${RPCRDMA_BUILD:-$GUEST_TOP/build/release}")
GUEST_DIR=$(mktemp -d)
GUEST_LIMIT=${RPCRDMA_ALL:+2400} # seconds
GUEST_LIMIT=${GUEST_LIMIT:-1200} # few take a third of it
GUESTS=()
module=

guest_main() { # NAME ARGUMENT...
	local said=$GUEST_DIR/$1.said status=0 qemu=

	trap '[ -z "$qemu" ] || kill -TERM "$qemu"; exit 1' INT TERM HUP
	"$GUEST_TOP/tests/vm/run" --cpus "${RPCRDMA_CPUS:-1}" \
		--timeout "$GUEST_LIMIT" \
		--env "RPCRDMA_BUILD=$GUEST_BUILD" \
		--env "RPCRDMA_TIMES=${RPCRDMA_TIMES:-}" "${@:2}" 2>"$said" &
	qemu=$!
	wait "$qemu" || status=$?
	case $status in
	0 | 1) cat "$said" >&2 ;;
	125)
		echo "skip $1 no guest: $(tail -n 1 "$said")"
		status=0
		;;
	*)
		cat "$said" >&2
		echo "not ok $1 status $status: $(tail -n 1 "$said")"
		;;
	esac
	return "$status"
}

guest_begin() {
	guest_main "$@" &
	GUESTS+=($!)
}

guests_wait() {
	local pid status=0

	for pid in "${GUESTS[@]}"; do wait "$pid" || status=1; done
	GUESTS=()
	return "$status"
}

guest() {
	guest_begin "$@"
	guests_wait
}

guests_kill() {
	local pid

	for pid in "${GUESTS[@]}"; do kill -TERM "$pid" 2>/dev/null; done
	for pid in "${GUESTS[@]}"; do wait "$pid"; done
	GUESTS=()
}

guests_end() {
	guests_kill
	rm -rf "$GUEST_DIR"
}

siw_module() {
	# shellcheck disable=SC2034 # the test's
	module=$("$GUEST_TOP/tests/vm/siw-module" 2>"$GUEST_DIR/module")
}
siw_why() { tail -n 1 "$GUEST_DIR/module"; }
