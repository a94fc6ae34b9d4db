# SPDX-License-Identifier: BSD-3-Clause
"""The fabric below: iWARP's own errors, each with its Terminate."""

import struct

from . import iwarp, rpc, v2
from .kit import check, same


def after(t, act, want, what, hello=True):
    """@act does something wrong; the Terminate must say @want."""
    c = t.raw(crc=True)
    if hello:
        c.hello()
    act(c)
    got = c.iw.wait_end()
    same(got, want, "Terminate (layer, type, code) after " + what)


def grant(c):
    c.sent += 1
    return rpc.u32(0, 2, c.credit(), v2.GRANT)


# Fails with: crc-ignored
@check("V2-4.2-01", "UB-5.4.1-01", raw=True)
def reliable(t):
    """What a reliable stream excludes ends the connection, with its code."""
    for what, want, act in (
            ("a wrong CRC", (2, 0, 2), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 2, 0, grant(c), bad_crc=True)),
            ("a message left out", (1, 2, 3), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 3, 0, grant(c))),
            ("a message again", (1, 2, 3), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 1, 0, grant(c))),
            ("a wrong offset", (1, 2, 4), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 2, 4, grant(c))),
            ("a wrong queue", (1, 2, 1), lambda c: c.iw.untagged(
                iwarp.SEND, 3, 2, 0, grant(c))),
            ("version 0 of DDP", (1, 2, 6), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 2, 0, grant(c), ddp=0)),
            ("version 2 of tagged DDP", (1, 1, 4), lambda c: c.iw.tagged(
                iwarp.WRITE, 1, 0, bytes(4), ddp=2)),
            ("version 2 of RDMAP", (0, 2, 5), lambda c: c.iw.untagged(
                iwarp.SEND, 0, 2, 0, grant(c), rdmap=2)),
            ("opcode 9", (0, 2, 6), lambda c: c.iw.untagged(
                9, 0, 2, 0, grant(c))),
            ("a tagged Send", (0, 2, 6), lambda c: c.iw.tagged(
                iwarp.SEND, 1, 0, grant(c))),
            ("an untagged Write", (0, 2, 6), lambda c: c.iw.untagged(
                iwarp.WRITE, 0, 2, 0, grant(c)))):
        after(t, act, want, what)
    t.connect().null()


def too_long(c):
    c.put(bytes(c.room() + 4))


def too_many(c):
    """All that the credits allow and as much again, in one write: so nothing
    can be posted in between, however fast or slow the peer is."""
    n = 2 * v2.ahead(c.limit, c.sent) + 8
    c.iw.in_one_write(lambda: [c.put(rpc.u32(1, 2, c.credit(), v2.ERROR, 99))
                               for _ in range(n)])


# Fails with: no-buffer
@check("V2-11.1-02", raw=True)
def protection(t):
    """Handles, bounds and buffers are checked, and the cause is told."""
    for what, want, act in (
            ("a Write to no handle", (1, 1, 0),
             lambda c: c.iw.write(0xabcdef, 0, bytes(8))),
            ("a Read of no handle", (0, 1, 0),
             lambda c: c.iw.start_read(0xabcdef, 0, 8)),
            ("a Read Response for nothing", (1, 1, 0),
             lambda c: c.iw.tagged(iwarp.READ_RESP, 0xabcdef, 0, bytes(8))),
            ("invalidation of no handle", (0, 1, 9),
             lambda c: c.iw.send(grant(c), inv=0xabcdef)),
            ("a Send that is too long", (1, 2, 5), too_long),
            ("a Read Request of 0 in the wrong order", (1, 2, 3),
             lambda c: c.iw.untagged(iwarp.READ_REQ, 1, 7, 0, struct.pack(
                 ">IQIIQ", 1, 0, 0, 1, 0)))):
        after(t, act, want, what)
    after(t, too_many, (1, 2, 2), "Sends too many")
    t.connect().null()
