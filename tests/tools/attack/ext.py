#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py, with both extensions on: values that are changed
while messages made by them are on their way.

    ext.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]
"""

import random

import attack
from attack import (ENDED, Attack, Peer, check, nfs4_read, stats, tcp, until,
                    v2)
from rpcrdma_conformance import ext

ZEROS = 16384
OTHER_SIZES = (1024, 4096, 8192, 69632, 262144)


def number(n):
    return n.to_bytes(4, "big")


class Client(Peer):
    """It knows both extensions, and has Receives of 4096 octets and of
    @targets target segments."""

    def __init__(self, targets=15, placed=True):
        super().__init__(tcp("127.0.0.2"), greet=False)
        structure = ext.plain_and_targets(4096, targets)
        self.size = structure.size
        self.msg(v2.PROP_FINAL, props=ext.init_props(
            structure=structure if placed else None,
            more=((v2.RBSIZ, self.size),)))
        self.recv()

    def msg(self, htype, **fields):
        """It gives a credit back for each message that came, and one more."""
        self.credit = max(self.credit, self.got() + 48)
        return super().msg(htype, **fields)

    def starve(self):
        """Not a credit from here on."""
        self.msg = super().msg
        self.credit = self.got()

    def read(self, count, rsbuf=4):
        """A READ whose data are to come in target segments."""
        call = nfs4_read(self.xid + 1, 0, count)
        return self.msg(ext.XMTREQ, rsbuf=rsbuf, pslen=len(call), rest=call,
                        rsd=[ext.Range(0, len(call), [
                            ext.Direction(0, ext.TBSN, None)])])

    def resize(self, size, init=False):
        if init:
            return self.msg(ext.INITXCH, start=[(v2.RBSIZ, size)])
        return self.msg(ext.UPDXCH, now=(v2.RBSIZ, number(size)))


class Ext(Attack):
    """Turns that each are a connection."""

    def begin(self):
        self.errors = 0

    def one(self, p):
        raise NotImplementedError

    def turn(self):
        p = None
        try:
            p = Client(random.choice((1, 15)))
            self.one(p)
        except ENDED:
            pass
        finally:
            if p:
                p.close(True)

    def limit(self):
        check(until(lambda: self.turns > 50, 60), "%d turns" % self.turns)
        stats()  # it is there


class ExtResize(Ext):
    """Six messages: a response in target segments waits for a credit, and the
    size of the Receives becomes another."""

    def one(self, p):
        p.msg(v2.GRANT)  # the second message, which opens
        p.starve()
        self.change(p)
        p.credit = p.got() + 48
        p.msg(v2.GRANT)
        p.quiet(0.05)

    def change(self, p):
        p.read(3000)
        p.resize(max(p.size, 65536) + 4096, self.turns % 2)
        p.quiet(0.05)


class ExtResizeAmid(ExtResize):
    """The same while a response of several transmissions is half sent."""

    def change(self, p):
        p.credit = p.got() + 2  # INITXCH and the first transmission
        p.read(p.size * 2)
        p.quiet(0.05)
        p.resize(OTHER_SIZES[self.turns % len(OTHER_SIZES)],
                 self.turns // 8 % 2)


class ExtEverything(Ext):
    """Any characteristic at any time, Calls of both kinds between."""

    def one(self, p):
        p.msg(v2.GRANT)
        rnd = random.Random(self.turns)
        size = rnd.choice(OTHER_SIZES)
        for _ in range(40):
            k = rnd.randrange(9)
            if k == 0:
                p.read(rnd.choice((100, 3000, 9000, 200000)))
            elif k == 1:
                call = nfs4_read(p.xid + 1, 0, rnd.choice((100, 9000, 200000)))
                p.msg(v2.CALL_INLINE, payload=call)
            elif k == 2:
                p.resize(rnd.choice(OTHER_SIZES + (p.size,)),
                         rnd.randrange(2))
            elif k == 3:
                p.msg(ext.UPDXCH, pendclr=rnd.randrange(2), now=(rnd.choice(
                    (1, 3, 4, 5, ext.REQREMINV)), number(rnd.choice(
                        (0, 1, 2, 3, 1024, 4096)))))
            elif k == 4:
                p.msg(ext.REQXCH, want=[(v2.RBSIZ, size)] * rnd.randrange(4))
            elif k == 5:
                p.msg(ext.RESPXCH, done=[1], rej=[rnd.randrange(2)])
            elif k == 6:
                p.msg(ext.REPTERR, bad=ext.Id(p.xid, rnd.randrange(2), 0),
                      info=(ext.BADCONT,))
            elif k == 7:
                p.credit = max(p.credit, p.got() + rnd.randrange(1, 20))
                p.msg(v2.GRANT)
            else:
                p.quiet(0.002)
        p.quiet(0.02)


def given_back():
    """All but the zeros that padding is made of."""
    s = stats()
    return (s["connections_now"] == 0 and
            s["pool"]["bytes_in_use"] <= ZEROS)


ATTACKS = (ExtResize, ExtResizeAmid, ExtEverything)

if __name__ == "__main__":
    attack.given_back = given_back
    attack.main(ATTACKS)
