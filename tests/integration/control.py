#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Write through a gateway, and see later that nothing acknowledged is lost.

    control.py write PORT MOUNT-PORT FILE STOP   until there is a file STOP
    control.py check DIR FILE...

`write` writes block after block to FILE of the export, each stable before the
next, and keeps FILE.acknowledged in the current directory. `check` compares the
files of DIR.
"""

import os
import struct
import sys
import time

import nfsclient

BLOCK = 4096


def block(name, n):
    return struct.pack(">Q", n) * (BLOCK // 16) + \
        name.encode().ljust(8, b".")[:8] * (BLOCK // 16)


def write(port, mount_port, name, stop):
    client = nfsclient.V3("127.0.0.1", int(port), int(mount_port))
    f = client.open(name, create=True)
    n = 0
    with open(name + ".acknowledged", "w") as done:
        while not os.path.exists(stop):
            client.write(f, block(name, n), n * BLOCK, BLOCK, stable=2)
            n += 1
            done.seek(0)
            done.write("%d\n" % n)
            done.flush()
            time.sleep(0.005)  # so that the file system lasts
    client.end()


def check(where, *names):
    total = 0
    for name in names:
        with open(name + ".acknowledged") as done:
            count = int(done.readline())
        with open(os.path.join(where, name), "rb") as f:
            for n in range(count):
                assert f.read(BLOCK) == block(name, n), (name, n)
        assert count > 20, (name, count)
        total += count
    print("%d blocks" % total)


{"write": write, "check": check}[sys.argv[1]](*sys.argv[2:])
