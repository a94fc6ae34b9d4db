#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Hosts take turns: what one has waiting does not hold up another.

    turns.py MOUNT-PORT RDMA-PORT

One host sends more COMPOUNDs of many READs than the server has workers, and FSAL_MEM
makes a worker wait in each READ. Then another host sends a few NULLs, at once so that
no leader of a poller runs them by itself. They are answered before those that waited
longer.
"""

import fcntl
import os
import struct
import sys
import termios
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, opaque  # noqa: E402
from root import root  # noqa: E402

CREATE3, EXIST = 8, 17
READS, EACH, CONNECTIONS, NULLS = 80, 24, 3, 8


def main(mount_port, port):
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    other = bench.connect(address="127.0.0.2")
    busy = [bench.connect(address="127.0.0.3") for _ in range(CONNECTIONS)]
    made = rpc.call(1, vers=3, proc=CREATE3,
                    args=opaque(root(mount_port)) + opaque("data") +
                    u32(0, 0, 0, 0, 0, 0, 0))
    assert rpc.Reply(other.call(made).payload).r.u32() in (0, EXIST)
    ops = [u32(rpc.PUTROOTFH), u32(rpc.LOOKUP) + opaque("export"),
           u32(rpc.LOOKUP) + opaque("data")] + [rpc.read(0, 1)] * READS

    def come():
        """The octets of Replies that wait here to be read."""
        return sum(struct.unpack("i", fcntl.ioctl(c.iw.s, termios.FIONREAD,
                                                  bytes(4)))[0] for c in busy)

    for i in range(EACH * CONNECTIONS):
        busy[i % CONNECTIONS].send_call(rpc.compound(1000 + i, ops))
    while not come():
        time.sleep(0.001)
    for xid in [other.send_call(rpc.null(5000 + i)) for i in range(NULLS)]:
        other.answer(xid)
    by_then, total = come(), 0
    while total != come():
        total = come()
        time.sleep(2)
    print("# %d %% were answered before" % (100 * by_then // total))
    assert by_then < total / 2, "it waits behind what another host has waiting"
    bench.end()


main(int(sys.argv[1]), int(sys.argv[2]))
