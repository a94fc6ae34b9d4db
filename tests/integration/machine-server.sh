#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# machine-server.sh - a booted machine's nfs-ganesha.service as a program
#
#	machine-server.sh -F -L LOG -f CONFIG -p FILE
#
# For GANESHA_BIN of lib.sh: it (re)starts the service with these files, stays as
# long as that runs, stops it when it is asked to end, and ends with its status.
# RPCRDMA_MACHINE is the process id of the machine's first process.

# shellcheck source=tests/integration/machine.sh
. "$(dirname "$0")/machine.sh"
MACHINE_PID=$RPCRDMA_MACHINE
while getopts FL:f:p: option; do
	case $option in
	L) log=$OPTARG ;;
	f) config=$OPTARG ;;
	*) ;;
	esac
done
state() { in_machine systemctl show --property "$1" --value nfs-ganesha; }

asked=
trap 'asked=1' TERM INT
in_machine bash -c 'echo "OPTIONS=\"-L $1 -f $2\"" >/etc/default/nfs-ganesha' \
	options "$log" "$config"
if ! in_machine systemctl restart nfs-ganesha; then
	in_machine systemctl --no-pager --full status nfs-ganesha >&2
	exit 1
fi
while [ -z "$asked" ] && [ "$(state ActiveState)" = active ]; do
	sleep 1 &
	wait $!
done
in_machine systemctl stop nfs-ganesha
exit "$(state ExecMainStatus)"
