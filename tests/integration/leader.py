#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A Call that keeps its worker holds up nobody.

    leader.py MOUNT-PORT RDMA-PORT

FSAL_MEM makes the worker wait in each READ. A COMPOUND of many READs goes over
one connection; when the server is at it, a NULL goes over another. They have one
poller, whose leader executes the COMPOUND: so the NULL is answered before it only
if somebody else leads by then. Once the server knows that such Calls take long,
and before.
"""

import os
import select
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402
from root import root  # noqa: E402

CREATE3 = 8
READS, TRIES = 80, 12


def main(mount_port, port):
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    long, short = bench.connect(), bench.connect()
    fh = root(mount_port)
    made = rpc.call(1, vers=3, proc=CREATE3, args=opaque(fh) + opaque("data") +
                    u32(0, 0, 0, 0, 0, 0, 0))
    assert rpc.Reply(short.call(made).payload).r.u32() == 0
    ops = [u32(rpc.PUTROOTFH), u32(rpc.LOOKUP) + opaque("export"),
           u32(rpc.LOOKUP) + opaque("data")] + [rpc.read(0, 1)] * READS
    first = 0
    for i in range(TRIES):
        sent = long.send_call(rpc.compound(1000 + i, ops))
        # Time for the server to find it alone.
        time.sleep(0.005)
        short.call(rpc.null(5000 + i))
        waits = not select.select([long.iw.s], [], [], 0)[0]
        done = rpc.Compound(long.answer(sent).payload)
        assert done.status == 0, done.status
        first += waits
        # The next one alone, too; now and then after what was learnt is old.
        time.sleep(0.02 if i % 4 else 1.2)
    print("# the NULL was answered first %d times of %d" % (first, TRIES))
    # This machine may be slow; but a NULL that waits never is.
    assert first, "a NULL waits for whatever the leader executes"
    bench.end()


main(int(sys.argv[1]), int(sys.argv[2]))
