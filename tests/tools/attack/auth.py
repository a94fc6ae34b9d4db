#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The same as attack.py, by host authentication: who never shows who he is.

    auth.py PID STATS RDMA-PORT GOOD-COMMAND [ATTACK...]

ATTACK_TOKENS is a folder with tokens of a host that may be a client. The
server requires host authentication; the good command knows how to.
"""

import os
import struct
import sys

import attack
import good
from attack import (ENDED, HOST_CONNS, STARTUP, Attack, Peer, check, gather,
                    many_hosts, stats, tcp, until, v2)

TOKENS = os.environ["ATTACK_TOKENS"]
CONTEXT = 1
LONGEST = 65536
# A quarter of Max_Connections, which attack.test leaves at its default.
AT_ONCE = 256


def only_good_ones(passed, pauses, cut_short):
    """The good client's connections, itself and by the gateway: once, or for each of
    two rates beside the attack and while it pauses. @cut_short may have passed, too."""
    good_ones = 2 * (2 * good.RUNS * (2 if pauses else 1) if good.RUNS else 1)
    check(good_ones <= passed <= good_ones + cut_short,
          "%d passed, the good client's are %d, and %d that were cut short" % (
              passed, good_ones, cut_short))


def opaque(b):
    return struct.pack(">I", len(b)) + b + bytes(-len(b) % 4)


def framed(token, length=None):
    return struct.pack(">2I", CONTEXT, len(token) if length is None
                       else length) + token + bytes(-len(token) % 4)


def real_token(name):
    with open(os.path.join(TOKENS, name), "rb") as f:
        return framed(f.read())


def total(name):
    return stats()["totals"][name]


class Client(Peer):
    """A client that begins with tokens; source is its address."""

    def __init__(self, source="127.0.0.2"):
        super().__init__(tcp(source), greet=False)
        self.limit = 1

    def drain(self, patience=0.001):
        """What has come; the last credit limit counts."""
        while not self.quiet(patience):
            self.limit = v2.Header(self.recv()).credit

    def part(self, octets=None):
        """A CONNPROP_MIDDLE with a part of a token, or with nothing."""
        props = () if octets is None else ((v2.HOSTAUTH, opaque(octets)),)
        self.credit += 1
        self.msg(v2.PROP_MIDDLE, props=props)

    def parts(self, data, step=900):
        for at in range(0, len(data), step):
            while self.limit < self.sent():
                self.limit = v2.Header(self.recv()).credit
            self.part(data[at:at + step])

    def refusal(self):
        """Until the connection ends."""
        while True:
            self.recv()


def begun(data, step=900):
    """A Client that says something at once, before it is ended for silence."""
    p = Client()
    p.parts(data, step)
    return p


class Again(Attack):
    """Attacks whose turns make new connections all the time."""

    source = "127.0.0.2"

    def begin(self):
        self.failed = total("auth_failed")
        self.passed = total("auth_passed")
        self.cut_short = good.Sample.cut_short
        # One that ends cannot be told from one that is refused.
        self.ended = 0

    def one(self):
        raise NotImplementedError

    def turn(self):
        p = None
        try:
            p = Client(self.source)
            self.one(p)
        except ENDED:
            self.ended += 1
        finally:
            if p:
                p.close(True)

    def limit(self):
        check(until(lambda: self.turns > 50, 60), "%d turns" % self.turns)
        failed = total("auth_failed") - self.failed
        self.note = " %d refused," % failed
        only_good_ones(total("auth_passed") - self.passed, self.pauses,
                       good.Sample.cut_short - self.cut_short)


class AuthEndless(Attack):
    """CONNPROP_MIDDLEs without end, each with an octet of a token, or none."""

    def begin(self):
        self.ended = self.sent = 0
        self.hold, _ = gather(HOST_CONNS, lambda i: Client())
        self.stream = framed(bytes(LONGEST))
        self.at = [0] * len(self.hold)

    def turn(self):
        for i, p in enumerate(self.hold):
            try:
                while p.limit >= p.sent():
                    # Every other one has no part of a token at all.
                    odd = p.sent() % 2
                    p.part(self.stream[self.at[i]:self.at[i] + 1]
                           if odd else None)
                    self.at[i] += odd
                    self.sent += 1
                p.drain()
            except ENDED:
                self.ended += 1
                p.close(True)
                try:
                    self.hold[i], self.at[i] = Client(), 0
                except ENDED:
                    pass

    def limit(self):
        # Though they never stop.
        check(until(lambda: self.ended >= HOST_CONNS, 60),
              "only %d ended" % self.ended)
        self.note = " %d MIDDLEs, %d ended," % (self.sent, self.ended)


class AuthGiant(Attack):
    """Tokens that say they have 4 GB, then some of 64 KiB without their end."""

    def begin(self):
        failed = total("auth_failed")
        giants, _ = gather(
            HOST_CONNS, lambda i: begun(framed(bytes(900), 0xffffffff), 1000))
        self.refused = 0
        for p in giants:
            try:
                p.refusal()
            except ENDED:
                self.refused += 1
            p.close(True)
        check(total("auth_failed") - failed == HOST_CONNS, "not all refused")
        until(lambda: stats()["connections_now"] < 8, 10)
        self.hold, _ = gather(
            HOST_CONNS, lambda i: begun(framed(bytes(LONGEST))[:-4], 4000))

    def limit(self):
        self.note = " %d refused, %d with 64 KiB each," % (
            self.refused, len(self.hold))
        check(len(self.hold) == HOST_CONNS, "%d made" % len(self.hold))


class AuthSlow(Attack):
    """Four octets of a token now and then, on all connections of a host."""

    def begin(self):
        self.hold, _ = gather(HOST_CONNS, lambda i: Client())
        self.stream = framed(bytes(LONGEST))
        self.gone = set()
        self.at = 0

    def turn(self):
        for i, p in enumerate(self.hold):
            if i in self.gone:
                continue
            try:
                p.drain()
                p.part(self.stream[self.at:self.at + 4])
            except ENDED:
                self.gone.add(i)
        self.at += 4
        self.stop.wait(0.1)

    def limit(self):
        check(until(lambda: len(self.gone) == HOST_CONNS, 60),
              "only %d of them ended" % len(self.gone))
        self.note = " all ended,"


class AuthMany(Attack):
    """2000 hosts begin an exchange each, and more and more do."""

    MOST = 600  # of those that select() can wait for

    def begin(self):
        self.begun = framed(bytes(LONGEST))[:900]
        self.hold, self.made = [], 0
        while self.made < 2000:
            self.turn()

    def turn(self):
        for _ in range(20):
            self.made += 1
            try:
                p = Client(many_hosts(self.made))
                p.part(self.begun)
                self.hold.append(p)
            except ENDED:
                pass
        for p in self.hold[:-self.MOST]:
            p.close(True)
        del self.hold[:-self.MOST]

    def limit(self):
        now = stats()["connections_now"]
        self.note = " %d begun, %d at once," % (self.made, now)
        # Some are about to end; the good ones are there, too.
        check(now <= AT_ONCE + 40, "%d at once" % now)
        self.few_descriptors(AT_ONCE + 300)


class AuthContexts(Attack):
    """Good tokens of a host that may be a client, and then nothing."""

    def begin(self):
        self.passed = total("auth_passed")
        self.cut_short = good.Sample.cut_short
        # Each is one that the server has not seen.
        names = sorted(n for n in os.listdir(TOKENS) if n.startswith("new"))
        check(len(names) == HOST_CONNS, "%d tokens" % len(names))
        self.hold, _ = gather(HOST_CONNS, lambda i: begun(real_token(names[i])))
        self.answered = 0
        for p in self.hold:
            while not self.token(v2.Header(p.recv())):
                pass
            self.answered += 1

    @staticmethod
    def token(h):
        return (h.htype == v2.PROP_MIDDLE and
                any(which == v2.HOSTAUTH for which, _ in h.props))

    def limit(self):
        self.note = " %d contexts," % self.answered
        check(self.answered == HOST_CONNS, "%d answered" % self.answered)
        only_good_ones(total("auth_passed") - self.passed, self.pauses,
                       good.Sample.cut_short - self.cut_short)
        check(until(lambda: stats()["connections_now"] < 8, STARTUP * 8),
              "they are still there")


class AuthReplays(Again):
    """The same good token again and again."""

    def begin(self):
        super().begin()
        self.data = real_token("replayed")

    def one(self, p):
        p.parts(self.data)
        p.refusal()


class AuthComeAndGo(Again):
    """A token of 64 KiB that is none, and the end before it is judged."""

    def begin(self):
        super().begin()
        self.data = framed(os.urandom(LONGEST))

    def one(self, p):
        p.parts(self.data, 4000)


ATTACKS = (AuthEndless, AuthGiant, AuthSlow, AuthMany, AuthContexts,
           AuthReplays, AuthComeAndGo)

if __name__ == "__main__":
    attack.main(ATTACKS)
