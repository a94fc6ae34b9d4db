#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Clients that do not mean well, one kind a process.

    peers.py PID STATS RDMA-PORT GATEWAYS KIND SEED

until SIGTERM; then they say in one line of JSON how much they did. GATEWAYS are
TCP ports, with commas. The first three arguments are those of tests/tools/attack,
whose Peer these use. Each has many hosts.
"""

import json
import os
import random
import signal
import socket
import struct
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("../tools/attack", "../integration"):
    sys.path.insert(0, os.path.join(HERE, folder))
# pylint: disable=wrong-import-position
import attack  # noqa: E402
from rpcrdma_conformance import ext  # noqa: E402
from attack import (ENDED, MB, REQ_KEY, TERM, Peer, nfs3_write_head,  # noqa
                    nfs4_read, rpc, tcp, v2)
from nfsclient import opaque, u32, u64  # noqa: E402

GATEWAYS = [int(p) for p in sys.argv[4].split(",")]


class Kind:
    """turn() without end; what it holds goes when the next turn begins."""

    hosts = 40

    def __init__(self, rng):
        self.rng, self.count, self.hold = rng, {}, []

    def did(self, what, n=1):
        self.count[what] = self.count.get(what, 0) + n

    def source(self):
        return "127.%d.0.%d" % (20 + KINDS.index(type(self)),
                                1 + self.rng.randrange(self.hosts))

    def connect(self, greet=True, rcvbuf=None):
        """A Peer, or None if it was refused."""
        try:
            p = Peer(tcp(self.source(), rcvbuf), greet)
        except ENDED:
            self.did("refused")
            time.sleep(0.02)
            return None
        self.did("connections")
        self.hold.append(p)
        return p

    def leave(self):
        for p in self.hold:
            try:
                if isinstance(p, Peer):
                    p.close(self.rng.random() < 0.7)
                else:
                    p.close()
            except OSError:
                pass
        self.hold = []

    def many(self, n, act):
        """@act on each of @n connections, as far as they are made."""
        for _ in range(n):
            p = self.connect()
            try:
                if p is not None:
                    act(p)
            except ENDED:
                self.did("ended")

    def turn(self):
        raise NotImplementedError


class Comers(Kind):
    """Connections that begin and end, in all ways."""

    def turn(self):
        how = self.rng.randrange(5)
        p = None
        if how == 0:
            s = tcp(self.source())
            self.hold.append(s)
            s.send(REQ_KEY[:self.rng.randrange(17)])
            self.did("half-open")
            if self.rng.random() < 0.8:
                return
        else:
            p = self.connect(greet=how != 1)
        if p is not None and how == 3:
            p.untagged(TERM, 2, 1, 0, struct.pack(">I", 0x11000000))
        if p is not None and how == 4:
            p.msg(v2.CALL_INLINE, payload=rpc(p.xid + 1, 100003, 3, 0))
            if self.rng.random() < 0.5:
                p.recv()
        self.leave()
        time.sleep(0.01)


class Sessions(Kind):
    """EXCHANGE_ID, CREATE_SESSION with a back channel, RST, and again."""

    hosts = 4

    @staticmethod
    def compound(p, op):
        p.credit += 1
        xid = p.msg(v2.CALL_INLINE, payload=rpc(
            p.xid + 1, 100003, 4, 1, opaque("") + u32(1, 1) + op))
        while True:
            h = v2.Header(p.recv())
            if h.xid == xid and h.htype == v2.REPLY_INLINE:
                return h.payload

    def turn(self):
        p = self.connect()
        if p is not None:
            who = "soak-%x" % self.rng.getrandbits(60)
            data = self.compound(p, u32(42) + bytes(8) + opaque(who) +
                                 u32(0, 0, 0))
            # RPC 24, status, tag, number; operation, status; clientid
            client, seq = struct.unpack_from(">QI", data, 24 + 12 + 8)
            channel = u32(0, MB, MB, 4096, 16, 16, 0)
            self.compound(p, u32(43) + u64(client) + u32(seq, 2) + channel +
                          u32(0, 4096, 4096, 0, 4, 4, 0) +
                          u32(0x40000000, 1, 0))
            self.did("sessions")
        self.leave()
        time.sleep(0.005)


class Fillers(Kind):
    """Messages without an end, until no memory is left."""

    def fill(self, p):
        p.xid += 1
        total = 2000000
        for i in range(self.rng.randrange(20, 400)):
            p.credit += 1
            p.send(v2.encode(v2.CALL_MIDDLE, p.xid, p.credit,
                             remaining=total - (i + 1) * 4000,
                             payload=struct.pack(">I", p.xid) + bytes(3996)))
            while p.limit < p.sent():
                p.limit = v2.Header(p.recv(3)).credit
        self.did("unfinished")

    def turn(self):
        self.many(self.rng.randrange(20, 120), self.fill)
        time.sleep(self.rng.uniform(0, 4))
        self.leave()
        time.sleep(self.rng.uniform(0, 3))


class Hoarders(Kind):
    """Read chunks that are never answered."""

    def ask(self, p):
        for _ in range(self.rng.randrange(1, 40)):
            head = nfs3_write_head(p.xid + 1, MB)
            p.msg(v2.CALL_INLINE, payload=head,
                  reads=[v2.ReadSegment(len(head), 5, MB, 0)])
            self.did("Read chunks")

    def turn(self):
        self.many(self.rng.randrange(5, 40), self.ask)
        time.sleep(self.rng.uniform(0, 4))
        self.leave()
        time.sleep(self.rng.uniform(0, 3))


class SlowReaders(Kind):
    """Replies of 1 MiB that are not taken, or little by little."""

    def ask(self, p):
        p.credit = 2 + self.rng.randrange(64)
        chunks = self.rng.random() < 0.5
        for i in range(self.rng.randrange(1, 24)):
            writes = [[v2.Segment(7, MB, 0)]] if chunks else ()
            p.msg(v2.CALL_INLINE, writes=writes,
                  payload=nfs4_read(p.xid + 1, i * MB, MB))
            self.did("READs")

    def connect(self, greet=True, rcvbuf=None):
        return super().connect(greet, 4096)

    def turn(self):
        self.many(self.rng.randrange(4, 30), self.ask)
        until = time.monotonic() + self.rng.uniform(0, 8)
        while time.monotonic() < until:
            for p in self.hold:
                try:
                    p.s.setblocking(False)
                    p.s.recv(200)
                except OSError:
                    pass
            time.sleep(0.1)
        self.leave()


class Talkers(Kind):
    """Headers that are wrong, of each kind, on one connection after another."""

    def turn(self):
        p = self.connect()
        for _ in range(self.rng.randrange(1, 60) if p is not None else 0):
            p.xid += 1
            words = self.rng.choice(attack.Counts.forms)
            kind = self.rng.choice((
                v2.CALL_INLINE, v2.CALL_EXTERNAL, v2.CALL_MIDDLE, v2.ERROR,
                v2.REPLY_EXTERNAL, v2.REPLY_INLINE, v2.PROP_MIDDLE, v2.GRANT,
                self.rng.getrandbits(32)))
            p.send(struct.pack(">%dI" % (5 + len(words)), p.xid,
                               self.rng.choice((1, 2, 2, 2, 3)), p.credit,
                               kind, 0, *words)[:self.rng.choice((4096, 40))])
            p.credit += 1
            self.did("headers")
            p.quiet(0.002)
            p.inbox.clear()
        self.leave()


class Extenders(Kind):
    """Clients that have both extensions, and use them in any order."""

    def message(self):
        rng = self.rng
        target = ext.Item(0, rng.choice((0, 100, 4096, MB)), ext.TBSN,
                          (rng.choice((0, 4, 4096)),
                           [rng.randrange(4) for _ in range(rng.randrange(3))]))
        direction = ext.Direction(0, ext.BYSIZE, (
            4096, [v2.Segment(rng.getrandbits(32), MB, 0)]))
        size = rng.choice((1024, 4096, 8192, 16384, 65536, rng.getrandbits(32)))
        return rng.choice((
            (ext.UPDXCH, {"now": (v2.RBSIZ, size)}),
            (ext.UPDXCH, {"now": (ext.RBSTRUCT, ext.Structure(
                [(rng.randrange(4), size, 4, ext.PLT)]).value())}),
            (ext.UPDXCH, {"now": (rng.getrandbits(32), size)}),
            (ext.REQXCH, {"want": [(v2.RBSIZ, size)]}),
            (ext.RESPXCH, {"done": [rng.getrandbits(8)]}),
            (ext.XMTREQ, {"dp": [target], "rsd": [ext.Range(0, 1, [direction])],
                          "count": rng.randrange(4), "rsbuf": rng.randrange(4),
                          "pslen": size % 3000, "rest": bytes(size % 3000)}),
            (ext.XMTRESP, {"dp": [target], "count": rng.randrange(4)}),
            (ext.XMTCONT, {"xnum": rng.randrange(4), "itype": rng.randrange(4)}),
            (ext.XMTREQ, {"rsd": [ext.Range(0, 1, [direction])], "pslen": 40,
                          "rest": rpc(1, 100003, 3, 0)})))

    def turn(self):
        p = self.connect(greet=False)
        if p is not None:
            p.msg(v2.PROP_FINAL, props=ext.init_props(
                more=((v2.RBSIZ, ext.OURS.size),)))
            p.recv()
            for _ in range(self.rng.randrange(1, 20)):
                kind, fields = self.message()
                p.credit += 1
                p.msg(kind, **fields)
                self.did("messages")
                p.quiet(0.002)
                p.inbox.clear()
        self.leave()
        time.sleep(0.01)


class GatewayCrawlers(Kind):
    """Of a gateway: large READs taken slowly, records without their end."""

    def turn(self):
        for _ in range(self.rng.randrange(1, 24)):
            s = socket.socket()
            self.hold.append(s)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.settimeout(3)
            s.bind((self.source(), 0))
            s.connect(("127.0.0.1", self.rng.choice(GATEWAYS)))
            self.did("connections")
            if self.rng.random() < 0.5:
                s.send(struct.pack(">I", 1 << 31 | 100000) +
                       bytes(self.rng.randrange(4000)))
                self.did("unfinished")
                continue
            for i in range(self.rng.randrange(1, 12)):
                body = nfs4_read(self.rng.getrandbits(32), i * MB, MB)
                s.send(struct.pack(">I", 1 << 31 | len(body)) + body)
                self.did("READs")
        until = time.monotonic() + self.rng.uniform(0, 8)
        while time.monotonic() < until:
            for s in self.hold:
                try:
                    s.setblocking(False)
                    s.recv(100)
                except OSError:
                    pass
            time.sleep(0.1)
        self.leave()


KINDS = [Comers, Sessions, Fillers, Hoarders, SlowReaders, Talkers,
         Extenders, GatewayCrawlers]


def stop(*_):
    raise SystemExit


def main():
    kind = {k.__name__: k for k in KINDS}[sys.argv[5]]
    k = kind(random.Random("%s %s" % (sys.argv[6], sys.argv[5])))
    signal.signal(signal.SIGTERM, stop)
    os.nice(10)  # it is the server that is looked at
    try:
        while True:
            try:
                k.turn()
            except (ENDED + (struct.error, v2.Short)) as e:
                k.did("ended")
                k.leave()
                if isinstance(e, ConnectionRefusedError):
                    time.sleep(0.1)
            k.did("turns")
    finally:
        print(json.dumps(k.count), flush=True)


if __name__ == "__main__":
    main()
