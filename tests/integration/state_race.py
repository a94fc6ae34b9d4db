#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What ends Ganesha 4.3 by itself does not end this one.

    state_race.py close|back RDMA-PORT ROUNDS

A client of two addresses opens files, locks them and unlocks them.

    close   Then CLOSEs come from the one, and from the other, in any order, a
            TEST_STATEID and FREE_STATEIDs of the locks that go with these files.
    back    Then it comes back by the one, as if it had been restarted, and by
            the other it asks in its old session for what that ends.
"""

import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "conformance"))

from rpcrdma_conformance import kit, rpc  # noqa: E402
from rpcrdma_conformance.rpc import u32, u64, opaque  # noqa: E402

EXCHANGE_ID, CREATE_SESSION, SEQUENCE, RECLAIM_COMPLETE = 42, 43, 53, 58
EXPIRED, BADSESSION = 10011, 10052
PUTFH, LOOKUP, GETFH, OPEN, CLOSE, LOCK, LOCKU = 22, 15, 10, 18, 4, 12, 14
TEST_STATEID, FREE_STATEID = 55, 45
# Ganesha says that state is stale while it ends.
NO_STATE = {10025, 70}
FILES, FREES = 8, 2
SLOTS = FILES * (2 + FREES)


class Client:
    def __init__(self, port):
        bench = kit.Server("127.0.0.1", port, "/export", 60)
        self.name = "race-%x" % random.getrandbits(64)
        self.one = bench.connect()
        self.other = bench.connect(address="127.0.0.2")
        self.xid = random.getrandbits(30)
        self.begun(self.begin())

    def begin(self):
        """With another verifier each time."""
        r = self.answer(self.send(self.one, u32(EXCHANGE_ID) +
                                  random.randbytes(8) + opaque(self.name) +
                                  u32(0, 0, 0))).good(EXCHANGE_ID)
        client, seq = r.u64(), r.u32()
        channel = u32(0, 65536, 65536, 65536, 100, SLOTS, 0)
        return self.send(self.one, u32(CREATE_SESSION) + u64(client) +
                         u32(seq, 0) + channel + channel +
                         u32(0x40000000, 1, 0))

    def begun(self, sent):
        self.sid = self.answer(sent).good(CREATE_SESSION).fixed(16)
        self.seq = [0] * SLOTS
        self.all([[u32(RECLAIM_COMPLETE, 0)]], RECLAIM_COMPLETE)

    def send(self, conn, *ops):
        self.xid += 1
        return conn, conn.send_call(rpc.compound(self.xid, list(ops), minor=1))

    def slot(self, conn, slot, *ops):
        self.seq[slot] += 1
        return self.send(conn, u32(SEQUENCE) + self.sid +
                         u32(self.seq[slot], slot, SLOTS - 1, 0), *ops)

    @staticmethod
    def answer(sent):
        conn, call = sent
        return rpc.Compound(conn.answer(call).payload)

    def all(self, calls, *ops):
        """At the result of the last of @ops, of each."""
        sent = [self.slot(self.one, i, *c) for i, c in enumerate(calls)]
        at = []
        for s in sent:
            done = self.answer(s)
            done.good(SEQUENCE).fixed(36)
            at.append(done.good(*ops))
        return at

    def open(self):
        """(file handle, stateid) of each."""
        got = []
        for r in self.all(
                [[u32(rpc.PUTROOTFH), u32(LOOKUP) + opaque("export"),
                  u32(OPEN, 0, 3, 0) + u64(0) + opaque("open-%d" % i) +
                  u32(1, 0, 0, 0, 0) + opaque("%s-%d" % (self.name, i)),
                  u32(GETFH)] for i in range(FILES)],
                rpc.PUTROOTFH, LOOKUP, OPEN):
            stateid = r.fixed(16)
            r.fixed(24)
            r.fixed(4 * r.u32())
            assert (r.u32(), r.u32(), r.u32()) == (0, GETFH, 0)
            got.append((r.opaque(), stateid))
        return got

    def lock(self, files):
        """Of each, the stateid of a lock that is there no more."""
        locks = [r.fixed(16) for r in self.all(
            [[u32(PUTFH) + opaque(fh), u32(LOCK, 2, 0) + u64(0) + u64(100) +
              u32(1, 0) + stateid + u32(0) + u64(0) + opaque("lock-%d" % i)]
             for i, (fh, stateid) in enumerate(files)], PUTFH, LOCK)]
        return [r.fixed(16) for r in self.all(
            [[u32(PUTFH) + opaque(fh), u32(LOCKU, 2, 0) + lock + u64(0) +
              u64(100)] for (fh, _), lock in zip(files, locks)], PUTFH, LOCKU)]

    def close(self):
        files = self.open()
        locks = self.lock(files)
        sent, slot = [], 0
        for (fh, stateid), lock in zip(files, locks):
            calls = [(self.one, [u32(PUTFH) + opaque(fh),
                                 u32(CLOSE, 0) + stateid]),
                     (self.other, [u32(TEST_STATEID, 1) + lock])]
            calls += [(self.other, [u32(FREE_STATEID) + lock])] * FREES
            random.shuffle(calls)
            for conn, ops in calls:
                sent.append(self.slot(conn, slot, *ops))
                slot += 1
        for s in sent:
            status = self.answer(s).status
            assert status in {0} | NO_STATE, status

    def back(self):
        locks = b"".join(self.lock(self.open()))
        test = u32(TEST_STATEID, FILES) + locks
        sent = [self.slot(self.other, i, test) for i in range(FILES)]
        begins = self.begin()
        for i in range(FILES, SLOTS):
            lock = i % FILES * 16
            sent.append(self.slot(
                self.other, i, test if i % 2 else
                u32(FREE_STATEID) + locks[lock:lock + 16]))
        self.begun(begins)
        for s in sent:
            status = self.answer(s).status
            assert status in {0, EXPIRED, BADSESSION} | NO_STATE, status


def main(what, port, rounds):
    c = Client(port)
    once = {"close": c.close, "back": c.back}[what]
    for _ in range(rounds):
        once()


main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
