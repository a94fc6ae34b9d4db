# SPDX-License-Identifier: BSD-3-Clause
"""xcharext at a server that raises and lowers by itself.

One that is "xcharext-policy" makes its Receives of 4096 octets larger for a
client that is busy with long messages, and asks it to do so, too; and it asks
one that is idle for two seconds to have less. docs/protocol.md has how.
"""

from . import rpc, v2
from .ext import INIT, REQXCH, RESP, RESPXCH, UPD, UPDXCH
from .kit import check, expect, good, same
from .nfs import read_call
from .props_checks import threshold
from .v2 import RBSIZ
from .xchar_checks import ALL, connect, init, number, our_size, update

POLICY = "xcharext-policy"


def busy(t, c, until, most=3000):
    """Long Calls and Replies until @until()."""
    data = rpc.pattern(12000, 4)
    for _ in range(most):
        if until():
            return
        good(c.call(rpc.compound(c.new_xid(), [rpc.putfh(t.files.scratch),
                                               rpc.write(0, data)])))
        good(c.call(read_call(t, c.new_xid(), (0, 12000))))
    expect(False, "nothing has changed after %d Calls" % (2 * most))


def of_size(h):
    """What a REQXCH or UPDXCH says of the Receive Buffer Size, or None."""
    values = dict(h.want if h.htype == REQXCH else [h.now])
    return number(values[RBSIZ]) if RBSIZ in values else None


def asked(c):
    """The REQXCHs about our size that have come."""
    return [h for h in c.have(REQXCH) if of_size(h) is not None]


def told(c):
    return [h for h in c.have(UPDXCH) if of_size(h) is not None]


def respond(c, h, what):
    """All of REQXCH @h is @what."""
    n = len(h.want)
    c.post(RESPXCH, h.xid, **{what: [(1 << n) - 1]})


def asked_for_more(t):
    """A busy client and the REQXCH that it got."""
    c = connect(t)
    t.files
    busy(t, c, lambda: asked(c))
    h = c.take_ext(REQXCH)
    expect(of_size(h) > 4096, "asked for %d octets" % of_size(h))
    return c, h


# Fails with: xchar-pendclr-always
@check("XC-4.4-03", server_is=POLICY)
def unsolicited(t):
    """An update that nobody asked for has no pendclr; what it says holds."""
    c = connect(t)
    t.files
    before = c.room()
    busy(t, c, lambda: told(c))
    h = told(c)[0]
    same(h.pendclr, 0, "pendclr")
    size = of_size(h)
    expect(size > before, "%d octets after %d" % (size, before))
    ops = [rpc.putfh(t.files.scratch)]
    for _ in range(40):
        x = c.new_xid()
        n = size - 32 - len(rpc.compound(x, ops + [rpc.write(0, b"")]))
        c.post(v2.CALL_INLINE, x, payload=rpc.compound(
            x, ops + [rpc.write(0, bytes(n & ~3))]))
        good(c.answer(x))
    same({h.pendclr for h in c.have(UPDXCH)}, {0}, "pendclr")


# Fails with: xchar-asks-anyone
@check("XC-3-05", server_is=POLICY)
def none_asked(t):
    """One that has not announced REQXCH is asked for nothing."""
    for xch, want in ((ALL, True), (INIT | RESP | UPD, False)):
        c = connect(t, xch)
        t.files
        busy(t, c, lambda: asked(c) if want else told(c))
        if not want:
            for _ in range(100):
                c.null()
            expect(c.iw.quiet(7), "something while it is idle")
            same(c.have(REQXCH), [], "REQXCHs")
            our_size(t, c, 4096, "unasked")


# Fails with: xchar-asks-fixed
@check("XC-4.1-05", server_is=POLICY)
def not_the_fixed(t):
    """What a peer has said would not change it is not asked to change."""
    c = connect(t)
    init(c, [(RBSIZ, 8192)], nochg=[1])
    busy(t, c, lambda: told(c))
    for _ in range(100):
        c.null()
    expect(c.iw.quiet(7), "something while it is idle")
    same(c.have(REQXCH), [], "REQXCHs")


# Fails with: xchar-pendclr-void
@check("XC-4.4-04", server_is=POLICY)
def pending_ends(t):
    """UPDXCH with pendclr ends what is pending, whatever its value is."""
    for value in "asked", "old", "between":
        c, h = asked_for_more(t)
        size = {"asked": of_size(h), "old": 4096, "between": 6144}[value]
        respond(c, h, "pend")
        threshold(t, c, 4096, "while it is pending")
        update(c, RBSIZ, size, 1)
        our_size(t, c, size, "after the update with the %s value" % value)
        # And an unsolicited one.
        update(c, RBSIZ, size + 4096)
        our_size(t, c, size + 4096, "after another update")


# Fails with: xchar-pendclr-void
@check("XC-4.4-05", server_is=POLICY)
def pending_goes_on(t):
    """UPDXCH without pendclr has a value to rely on; it stays pending."""
    c, h = asked_for_more(t)
    respond(c, h, "pend")
    update(c, RBSIZ, 5120, 0)
    our_size(t, c, 5120, "after the first update")
    n = len(asked(c))
    busy(t, c, lambda: c.sent > 700)
    same(len(asked(c)), n, "REQXCHs while one is pending")
    update(c, RBSIZ, 6144, 1)
    our_size(t, c, 6144, "after the last update")


# Fails with: xchar-not-kept
@check("XC-3.1-04", server_is=POLICY)
def asks_for_less(t):
    """Who asks for a smaller size keeps to it from then on, until it is
    rejected."""
    t.files
    for answer in "rej", "done":
        c = connect(t)
        init(c, [(RBSIZ, 32768)])
        c.null()
        h = c.take_ext(REQXCH, 20)
        low = of_size(h)
        expect(low < 32768, "asked for %d octets" % low)
        threshold(t, c, low, "from the time of asking")
        respond(c, h, answer)
        if answer == "done":
            our_size(t, c, low, "when it is done")
        else:
            threshold(t, c, 32768, "when it is rejected")
