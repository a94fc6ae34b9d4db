#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# server-lib.sh - what the tests of the packaged server share
#
# Sourced: isolates the test, and makes $EXPORT with a file.

# shellcheck source=tests/integration/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
isolate "$@"

EXPORT=$WORK/data
PING=$RPCRDMA_BUILD/bin/rpcrdma-ping
mkdir -p "$EXPORT"
echo "some octets" >"$EXPORT/file"

# The launcher by itself, in the tree that the server runs in, if it has one.
launcher() {
	local wrap
	eval "wrap=(${GANESHA_WRAP:-})"
	"${wrap[@]}" "$GANESHA_BIN" "$@"
}
# may_start FILE: without a capability that this process may lack
may_start() {
	[ -z "$NO_IO_FLUSHER" ] || [ ! -f "$1" ] || grep -q allow_set_io "$1" ||
		echo "NFS_Core_Param { $NO_IO_FLUSHER }" >>"$1"
}
tcp_null() { rpcinfo -n "$NFS_PORT" -t 127.0.0.1 100003 "$1"; }
logged() { grep -qE -- "$1" "$GANESHA_LOG"; }
not_logged() { ! logged "$1"; }
not_listening() { ! listening "$1"; }
# The log with the reason, for check's diagnosis.
show() { "$@" || { grep -E 'rpcrdma:|Config File' "$GANESHA_LOG"; return 1; }; }
ping_server() { timeout 120 "$PING" --quiet --timeout 60000 --server "127.0.0.1:$RDMA_PORT" "$@"; }
