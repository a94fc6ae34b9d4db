#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The client of failover.test.

    failover.py ADDRESS FILE LIST	write blocks to the export's file of FILE's name, by a
					gateway on this machine, until SIGTERM
    failover.py --verify FILE LIST	are they in FILE?
    failover.py --handles ADDRESS NFS-PORT MOUNT-PORT NAME	of the export and its file NAME

LIST gets the number of each block once its WRITE has been acknowledged as stable.
"""

import os
import signal
import sys

from nfsclient import V3, Rpc

SIZE = 8192


def block(n):
    return (b"%15d\n" % n) * (SIZE // 16)


def verify(path, listed):
    with open(listed) as f:
        numbers = [int(line) for line in f]
    assert numbers, "nothing was acknowledged"
    with open(path, "rb") as f:
        for n in numbers:
            f.seek(n * SIZE)
            assert f.read(SIZE) == block(n), "block %d is lost" % n
    print("%d blocks" % len(numbers))


def write(address, path, listed):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(1))
    c = V3(address, 2049, 20048)
    c.rpc.close()
    c.rpc = Rpc("127.0.0.1", 2049)
    f = c.open(os.path.basename(path), create=True)
    with open(listed, "w") as out:
        n = 0
        while not ended:
            c.write(f, block(n), n * SIZE, SIZE, 2)
            print(n, file=out, flush=True)
            n += 1
    c.end()


def handles(address, port, mount_port, name):
    c = V3(address, int(port), int(mount_port))
    print(c.root.hex(), c.open(name, create=True).hex())
    c.end()


if sys.argv[1] == "--verify":
    verify(*sys.argv[2:])
elif sys.argv[1] == "--handles":
    handles(*sys.argv[2:])
else:
    write(*sys.argv[1:])
