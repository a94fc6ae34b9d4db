#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that keep a worker for long, one after the other, until it is ended.

    slow.py MOUNT-PORT RDMA-PORT FILE

COMPOUNDs of ninety READs. A line goes into FILE for each.
"""

import os
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "conformance"),
                os.path.join(TESTS, "integration")]

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, opaque  # noqa: E402
from root import root  # noqa: E402

CREATE3 = 8
EXIST = 17
READS = 90  # Ganesha takes a hundred operations


def main(mount_port, port, path):
    c = kit.Server("127.0.0.1", port, "/export", 60).connect()
    made = rpc.call(c.new_xid(), vers=3, proc=CREATE3,
                    args=opaque(root(mount_port)) + opaque("data") +
                    u32(0, 0, 0, 0, 0, 0, 0))
    assert rpc.Reply(c.call(made).payload).r.u32() in (0, EXIST)
    ops = [u32(rpc.PUTROOTFH), u32(rpc.LOOKUP) + opaque("export"),
           u32(rpc.LOOKUP) + opaque("data")] + [rpc.read(0, 1)] * READS
    with open(path, "w", buffering=1) as out:
        while True:
            a = c.call(rpc.compound(c.new_xid(), ops))
            assert rpc.Compound(a.payload).status == 0
            out.write("%d\n" % READS)


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
