#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A file system that hangs holds up nobody who does not ask it for anything.

    hang.py MOUNT-PORT RDMA-PORT FOLDER

FOLDER is what is exported, on a file system of its own. It is frozen (fsfreeze),
so that each WRITE keeps its worker until it thaws. Until then WRITEs were short, so that
leaders run them. Meanwhile NULLs and READs over other connections, and READs that came
with the WRITEs, are answered. Then all WRITEs are, and their data are there.
"""

import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402
from root import root  # noqa: E402

READ3, WRITE3, CREATE3 = 6, 7, 8
WRITES, OTHERS = 16, 3
FILE_SYNC = 2


def create(conn, parent, name):
    r = rpc.Reply(conn.call(rpc.call(1, vers=3, proc=CREATE3, args=opaque(parent) +
                                     opaque(name) + u32(0, 0, 0, 0, 0, 0, 0))).payload).r
    assert (r.u32(), r.u32()) == (0, 1), "no file is made"
    return r.opaque()


def write(xid, fh, data):
    return rpc.call(xid, vers=3, proc=WRITE3, args=opaque(fh) + u64(0) +
                    u32(len(data), FILE_SYNC) + opaque(data))


def read(xid, fh):
    return rpc.call(xid, vers=3, proc=READ3, args=opaque(fh) + u64(0) + u32(64))


def burst(conn, fh):
    """Several at once, which go into the queue."""
    for xid in [conn.send_call(read(4000 + i, fh)) for i in range(8)]:
        assert rpc.Reply(conn.answer(xid).payload).r.u32() == 0


def learn(conn, fh):
    """The server sees that WRITEs and READs are short."""
    for i in range(0, 160, 16):
        for xid in [conn.send_call(write(7000 + i + n, fh, b"data"))
                    for n in range(16)]:
            assert rpc.Reply(conn.answer(xid).payload).r.u32() == 0
        burst(conn, fh)


def fsfreeze(how, folder):
    subprocess.run(["fsfreeze", how, folder], check=True, timeout=60)


def contents(folder):
    with open(os.path.join(folder, "file"), "rb") as f:
        return f.read()


def text(i):
    return b"%02d of %08d" % (i, os.getpid())


def main(mount_port, port, folder):
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    conns = [bench.connect() for _ in range(OTHERS + 1)]
    fh = create(conns[0], root(mount_port), b"file")
    learn(conns[0], create(conns[0], root(mount_port), b"other"))
    before = contents(folder)
    fsfreeze("-f", folder)
    try:
        sent, among = [], []
        for i in range(WRITES):
            sent.append(conns[0].send_call(write(100 + i, fh, text(i))))
            if i % 4 == 0:
                among.append(conns[0].send_call(read(200 + i, fh)))
        for xid in among:
            assert rpc.Reply(conns[0].answer(xid).payload).r.u32() == 0
        time.sleep(0.3)
        for i in range(20):
            for conn in conns[1:]:
                conn.call(rpc.null(1000 + i))
                assert rpc.Reply(conn.call(read(2000 + i, fh)).payload).r.u32() == 0
            burst(conns[1], fh)
        assert contents(folder) == before, "what is frozen was written"
        # Its own Calls go on, too: the one behind the WRITEs overtakes them.
        conns[0].call(rpc.null(3000))
    finally:
        fsfreeze("-u", folder)
    for xid in sent:
        assert rpc.Reply(conns[0].answer(xid).payload).r.u32() == 0
    got = contents(folder)
    assert got != before and got in map(text, range(WRITES)), (before, got)
    bench.end()


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
