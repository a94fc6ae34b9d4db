#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Calls that Ganesha 4.3 must not execute at the same time.

    gate.py suspended|busy MOUNT-PORT RDMA-PORT

A COMPOUND removes a file, READs, removes another and ends with a CLOSE; as soon as
the first file is gone a TEST_STATEID of the same client's state looks for the second,
over another connection: of the same address, and of another. It must not find it;
and what is no such Call must not wait. Another client has no say.

    suspended   FSAL_MEM answers READs later, from threads of its own, and
                Ganesha suspends the COMPOUND meanwhile.
    busy        It keeps the worker, and more TEST_STATEIDs wait than there are
                workers.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402
from root import root  # noqa: E402

LOOKUP3, CREATE3 = 3, 8
EXCHANGE_ID, CREATE_SESSION, DESTROY_SESSION, SEQUENCE = 42, 43, 44, 53
RECLAIM_COMPLETE, TEST_STATEID, CLOSE, REMOVE, LOOKUP = 58, 55, 4, 28, 15
FREE_STATEID = 45
NOENT, ISDIR, BAD_STATEID, READS, WAITERS = 2, 21, 10025, 60, 40


class Client:
    def __init__(self, bench, fh, address=""):
        self.bench, self.fh = bench, fh
        self.conn = bench.connect(address=address)
        self.other = bench.connect(address=address)
        self.waiters = []
        self.xid, self.seq = random.getrandbits(30), [0, 0]
        r = self.ask(self.conn, u32(EXCHANGE_ID) + random.randbytes(8) +
                     opaque("gate-%x" % random.getrandbits(64)) +
                     u32(0, 0, 0)).good(EXCHANGE_ID)
        client, seq = r.u64(), r.u32()
        channel = u32(0, 65536, 65536, 65536, 100, 4, 0)
        self.sid = self.ask(
            self.conn, u32(CREATE_SESSION) + u64(client) + u32(seq, 0) +
            channel + channel + u32(0x40000000, 1, 0)) \
            .good(CREATE_SESSION).fixed(16)
        # There is none with that number; both begin with the client's.
        self.stateid = u32(0) + self.sid[:8] + u32(77)
        self.ask(self.conn, self.sequence(0), u32(RECLAIM_COMPLETE, 0))

    def compound(self, ops):
        self.xid += 1
        return rpc.compound(self.xid, list(ops), minor=1)

    def ask(self, c, *ops):
        return rpc.Compound(c.call(self.compound(ops)).payload)

    def sequence(self, slot):
        self.seq[slot] += 1
        return u32(SEQUENCE) + self.sid + u32(self.seq[slot], slot, 1, 0)

    def v3(self, proc, args):
        self.xid += 1
        m = rpc.call(self.xid, vers=3, proc=proc, args=args)
        return rpc.Reply(self.other.call(m).payload).r.u32()

    def make(self, name):
        status = self.v3(CREATE3, opaque(self.fh) + opaque(name) +
                         u32(0, 0, 0, 0, 0, 0, 0))
        assert not status, "CREATE: %d" % status

    def there(self, name):
        return self.v3(LOOKUP3, opaque(self.fh) + opaque(name)) == 0


def once(c, conn):
    at = [u32(rpc.PUTROOTFH), u32(LOOKUP) + opaque("export")]
    for name in ("first", "second", "data"):
        c.make(name)
    ops = at + [u32(REMOVE) + opaque("first"), u32(LOOKUP) + opaque("data")]
    ops += [rpc.read(0, 1)] * READS
    ops += at + [u32(REMOVE) + opaque("second"), u32(CLOSE, 0) + c.stateid]
    look = u32(TEST_STATEID, 1) + c.stateid
    sent = c.conn.send_call(c.compound([c.sequence(0)] + ops))
    while c.there("first"):
        pass
    waiting = [(one, one.send_call(c.compound([look])))
               for one in c.waiters]
    # What passes no gate does not wait for it.
    seen = c.there("second")
    got = c.ask(conn, c.sequence(1), look, *at,
                u32(LOOKUP) + opaque("second"))
    assert got.status == NOENT, "TEST_STATEID before the CLOSE: %d" % \
        got.status
    done = rpc.Compound(c.conn.answer(sent).payload)
    assert done.status == ISDIR, done.status  # what it closes is none
    for one, sent in waiting:
        one.answer(sent)
    return seen


def main(what, mount_port, port):
    bench = kit.Server("127.0.0.1", port, "/export", 60)
    c = Client(bench, root(mount_port))
    if what == "busy":
        c.waiters = [bench.connect() for _ in range(WAITERS)]
    for what, conn in (
            ("another connection", c.other),
            ("another address", bench.connect(address="127.0.0.2"))):
        try:
            seen = sum(once(c, conn) for _ in range(8))
            # Or nothing has been shown.
            assert seen, "the COMPOUND was never seen at work"
        except AssertionError as e:
            raise SystemExit("%s: %s" % (what, e))
    stranger = Client(bench, c.fh, "127.0.0.3")
    done = stranger.ask(stranger.conn, stranger.sequence(0),
                        u32(FREE_STATEID) + c.stateid)
    assert done.status == BAD_STATEID, "another client: %d" % done.status
    for one in c, stranger:
        done = one.ask(one.conn, u32(DESTROY_SESSION) + one.sid)
        assert not done.status, done.status
    bench.end()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
