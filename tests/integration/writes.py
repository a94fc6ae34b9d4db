#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""WRITEs whose data are in Read chunks, in every way that they can end.

    writes.py PART MOUNT-PORT RDMA-PORT

Ganesha is to take them from where they have come (src/ntirpc/quirks/lend.h), which has to
stay as long as it may look, and no longer. The file system answers later, so that
requests are suspended, and resumed by other threads.

    whole     What is written is what is read, of many lengths and many at a time,
              also in segments; two in a COMPOUND.
    errors    WRITEs that are refused, before and after their data have been
              decoded: a handle that is none, a count that is more than the data,
              data that are not all there, a COMPOUND that fails between two.
    lost      Connections break while WRITEs are read, executed and answered.
    resent    ... and their clients send them again, with the same XIDs.
"""

import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import iwarp, kit, rpc  # noqa: E402
from rpcrdma_conformance.nfs import Reduced  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402
from root import root  # noqa: E402

READ3, WRITE3, CREATE3 = 6, 7, 8
LENGTHS = (1, 2047, 2048, 4096, 4097, 8190, 65536, 100001)


class Test:
    def __init__(self, mount_port, port):
        self.bench = kit.Server("127.0.0.1", port, "/export", 60)
        self.root = root(mount_port)
        self.xid = random.getrandbits(28)
        self.c = self.connect()

    def connect(self):
        # What one sends here is small, and without CRC quicker.
        return self.bench.connect(crc=False)

    def next_xid(self):
        self.xid += 1
        return self.xid

    def create(self, name):
        m = rpc.call(self.next_xid(), vers=3, proc=CREATE3,
                     args=opaque(self.root) + opaque(name) +
                     u32(0, 1, 0o644, 0, 0, 0, 0, 0))
        r = rpc.Reply(self.c.call(m).payload).r
        assert r.u32() == 0, "CREATE"
        assert r.u32() == 1, "no handle"
        return r.opaque()

    def handle4(self, name):
        """The same file's handle for NFSv4."""
        ops = [u32(rpc.PUTROOTFH), u32(rpc.LOOKUP) + opaque("export"),
               u32(rpc.LOOKUP) + opaque(name), u32(rpc.GETFH)]
        a = self.c.call(rpc.compound(self.next_xid(), ops))
        return rpc.Compound(a.payload).good(
            rpc.PUTROOTFH, rpc.LOOKUP, rpc.LOOKUP, rpc.GETFH).opaque()

    def send_write(self, c, fh, offset, data, count=None, xid=None, cuts=()):
        m = rpc.call(xid or self.next_xid(), vers=3, proc=WRITE3,
                     args=opaque(fh) + u64(offset) +
                     u32(len(data) if count is None else count, 0, len(data)))
        return c.send_call(m, reads=c.read_chunk(len(m), data, cuts))

    def status(self, c, xid):
        a = c.answer(xid)
        assert not a.error, a.last
        return a.rpc, a.rpc.ok and rpc.Reply(a.payload).r.u32()

    def read(self, fh, offset, count):
        w = self.c.write_chunk(count)
        m = rpc.call(self.next_xid(), vers=3, proc=READ3,
                     args=opaque(fh) + u64(offset) + u32(count))
        a = self.c.call(m, writes=[w])
        assert rpc.Reply(a.payload).r.u32() == 0, "READ"
        return self.c.gather(a.writes[0])

    def expect(self, fh, wanted):
        for offset, data in wanted:
            got = self.read(fh, offset, len(data))
            assert got == data, "at %d, %d octets: other data" % (offset,
                                                                  len(data))


def batch(seed):
    """(offset, data) side by side."""
    at = 0
    for i, n in enumerate(LENGTHS):
        yield at, rpc.pattern(n, seed * 100 + i)
        at += n


def whole(t):
    fh = t.create("whole")
    for seed in range(3):
        wanted = list(batch(seed))
        sent = [t.send_write(t.c, fh, o, d, cuts=(len(d) // 3,) * (seed == 1))
                for o, d in wanted]
        for x in sent:
            assert t.status(t.c, x)[1] == 0, "WRITE"
        t.expect(fh, wanted)
    # By NFSv4.0, two at once.
    one, two = rpc.pattern(5000, 7), rpc.pattern(70000, 8)
    fh4 = t.handle4("whole")
    m, at = Reduced(t.next_xid()).write(fh4, 0, len(one)).write(
        fh4, 5000, len(two)).build()
    a = t.c.call(m, reads=t.c.read_chunk(at[0], one) +
                 t.c.read_chunk(at[1], two))
    assert rpc.Compound(a.payload).status == 0, "COMPOUND"
    t.expect(fh, [(0, one), (5000, two)])


def errors(t):
    fh = t.create("errors")
    fh4 = t.handle4("errors")
    data = rpc.pattern(50000, 3)
    for _ in range(10):
        x = t.send_write(t.c, bytes(28), 0, data)
        assert t.status(t.c, x)[1] != 0, "no such file"
        # More than there are, and a directory.
        x = t.send_write(t.c, fh, 0, data, count=len(data) + 1)
        assert t.status(t.c, x)[1] != 0, "more than all the data"
        x = t.send_write(t.c, t.root, 0, data)
        assert t.status(t.c, x)[1] != 0, "a directory"
        # The first, not the second.
        x = t.next_xid()
        r = Reduced(x).write(fh4, 0, len(data)).op(rpc.putfh(b"none"))
        m, at = r.write(fh4, 0, len(data)).build()
        a = t.c.call(m, reads=t.c.read_chunk(at[0], data) +
                     t.c.read_chunk(at[1], bytes(len(data))))
        c = rpc.Compound(a.payload)
        c.good(rpc.PUTFH, rpc.WRITE)
        assert c.status != 0, "a handle that is none"
        # The data are there, but what is behind them cannot be read.
        x = t.next_xid()
        r = Reduced(x).write(fh4, 0, len(data)).op(u32(rpc.PUTFH, 1 << 20))
        m, at = r.build()
        a = t.c.call(m, reads=t.c.read_chunk(at[0], data))
        assert a.error or not a.rpc.ok or rpc.Compound(a.payload).status
        x = t.send_write(t.c, fh, 0, data)
        assert t.status(t.c, x)[1] == 0, "WRITE"
    t.expect(fh, [(0, data)])


def break_some(t, fh, rounds):
    """Connections that break with WRITEs on their way: what has been sent over
    each."""
    for i in range(rounds):
        c = t.connect()
        # Now and then the server waits for the data.
        c.iw.hold_reads = i % 4 == 3
        sent = []
        for offset, data in batch(i):
            x = t.next_xid()
            t.send_write(c, fh, offset, data, xid=x)
            sent.append((x, offset, data))
        end = time.monotonic() + random.choice((0.0, 0.001, 0.01, 0.05))
        while time.monotonic() < end and not c.iw.quiet(0.001):
            pass
        c.iw.close(reset=i % 2 == 0)
        yield sent


def lost(t):
    fh = t.create("lost")
    for _ in break_some(t, fh, 24):
        pass
    wanted = list(batch(1000))
    for x in [t.send_write(t.c, fh, o, d) for o, d in wanted]:
        assert t.status(t.c, x)[1] == 0, "WRITE"
    # What was under way may still be written: after that, once more.
    time.sleep(0.5)
    for x in [t.send_write(t.c, fh, o, d) for o, d in wanted]:
        assert t.status(t.c, x)[1] == 0, "WRITE"
    t.expect(fh, wanted)


def resent(t):
    fh = t.create("resent")
    for sent in break_some(t, fh, 12):
        left = {x: (offset, data) for x, offset, data in sent}
        end = time.monotonic() + 30
        c = None
        while left and time.monotonic() < end:
            try:
                if not c:
                    c = t.connect()
                    for x in left:
                        t.send_write(c, fh, *left[x], xid=x)
                left.pop(c.take(10).xid, None)
            except iwarp.Closed:
                # A repetition had waited for the Call: call_drop() in ntirpc/svc_call.c.
                c.iw.close()
                c = None
        assert not left, "%d repetitions are not answered" % len(left)
        t.expect(fh, [(o, d) for _, o, d in sent])
        c.iw.close()


def main():
    t = Test(int(sys.argv[2]), int(sys.argv[3]))
    {"whole": whole, "errors": errors, "lost": lost,
     "resent": resent}[sys.argv[1]](t)
    t.bench.end()


main()
