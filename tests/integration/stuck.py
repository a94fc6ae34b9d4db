#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A server whose pollers hang.

    stuck.py PID SECONDS [NAME]    stop the threads of PID with that name, or all but its
                                   first and the one that answers the service manager; for
                                   so long, or until the process ends
"""

import ctypes
import os
import sys
import time

ATTACH, DETACH, WALL = 16, 17, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def ptrace(what, tid):
    if LIBC.ptrace(what, tid, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


def main(pid, seconds, name=None):
    stopped = []
    for tid in map(int, os.listdir("/proc/%d/task" % pid)):
        with open("/proc/%d/task/%d/comm" % (pid, tid), encoding="utf-8") as f:
            found = f.read().strip()
        if found != name if name else tid == pid or found == "rdma-alive":
            continue
        ptrace(ATTACH, tid)
        os.waitpid(tid, WALL)
        stopped.append(tid)
    assert len(stopped) > (0 if name else 2), stopped
    end = time.monotonic() + seconds
    while stopped and time.monotonic() < end:
        # Threads that were killed do not go before this one has seen it.
        tid, status = os.waitpid(-1, WALL | os.WNOHANG)
        if tid and not os.WIFSTOPPED(status):
            stopped.remove(tid)
        time.sleep(0 if tid else 0.05)
    for tid in stopped:
        ptrace(DETACH, tid)


main(int(sys.argv[1]), float(sys.argv[2]), *sys.argv[3:])
