#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a client asks again on another connection has its first answer.

    again.py MOUNT-PORT RDMA-PORT DIR       the server exports DIR as /export

A connection that breaks leaves its client without some Replies; it connects
again, from another port, and sends those Calls with the XIDs that they had. What
may not be done twice must not be: the server knows it by its duplicate request
cache. NFSv3; of what it is asked by NFSv4.0 Ganesha 4.3 remembers nothing.
"""

import os
import random
import socket
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc, v1  # noqa: E402

MOUNT, NFS, REMOVE, NOENT = 100005, 100003, 12, 2


def root(port):
    """The filehandle of /export."""
    with socket.create_connection(("127.0.0.1", port), 60) as s:
        m = rpc.call(1, MOUNT, 3, 1, rpc.opaque("/export"))
        s.sendall(struct.pack(">I", 0x80000000 | len(m)) + m)
        f = s.makefile("rb")
        n, = struct.unpack(">I", f.read(4))
        r = rpc.Reader(f.read(n & 0x7fffffff)[24:])
    assert r.u32() == 0, "no mount"
    return r.opaque()


def main(mount_port, port, folder):
    fh = root(mount_port)
    bench = kit.Server("127.0.0.1", port, "/export", 60)

    def remove2(c, m):
        return rpc.Reader(kit.good(c.call(m)).payload[24:]).u32()

    def remove1(c, m):
        return rpc.Reader(c.call(m)[1][24:]).u32()

    for what, connect, remove in (
            ("version 2", bench.connect, remove2),
            ("version 1", lambda: v1.Conn(bench.iwarp()), remove1)):
        name = "again-%x" % random.getrandbits(40)
        path = os.path.join(folder, name)
        open(path, "w").close()
        xid = random.getrandbits(30)
        args = rpc.opaque(fh) + rpc.opaque(name)
        status = []
        for i in (0, 0, 0, 1):
            status.append(remove(connect(), rpc.call(xid + i, NFS, 3, REMOVE,
                                                     args)))
            assert not os.path.exists(path), "it is still there"
            bench.end()
        assert status == [0, 0, 0, NOENT], "%s: first, again, again, another" \
            ": %s" % (what, status)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
