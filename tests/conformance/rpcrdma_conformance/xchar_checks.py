# SPDX-License-Identifier: BSD-3-Clause
"""xcharext at a server: draft-dnoveck-nfsv4-rpcrdma-xcharext-02.

A server that is "xcharext" has that extension on, and no policy of its own
about sizes; one that is "xcharext-policy" raises and lowers.
"""

import struct

from . import ext, rpc, v2
from .ext import (INIT, INITXCH, REQ, REQREMINV, REQXCH, RESP, RESPXCH, UPD,
                  UPDXCH, XCHSUPP)
from .kit import check, expect, good, is_error, same
from .nfs import read_call, read_inline
from .props_checks import threshold
from .v2 import BRS, HOSTAUTH, RBSIZ, RCSIZ, RSSIZ, SBSIZ

KNOWN = (SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, REQREMINV)
UNKNOWN = 0xfffffff5
ALL = INIT | REQ | RESP | UPD


def connect(t, xch=ALL, props=(), advertise=64, wait=True):
    """Past the properties, and the server's INITXCH if it owes us one."""
    c = ext.Conn(t.iwarp(), advertise)
    c.send_props(ext.init_props(xch, 0, None, None, None, props))
    c.props_of_peer()
    c.null()
    if wait:
        c.initial = c.take_ext(INITXCH)
    return c


def number(value):
    same(len(value), 4, "octets of a uint32")
    return struct.unpack(">I", value)[0]


def init(c, start, nochg=()):
    for which, value in start:
        if which == RBSIZ and isinstance(value, int):
            c.recv_size = max(c.recv_size, value)
    c.post(INITXCH, c.new_xid(), start=start, nochg=nochg)


def update(c, which, value, pendclr=0, xid=None):
    if which == RBSIZ and isinstance(value, int):
        c.recv_size = max(c.recv_size, value)
    c.post(UPDXCH, c.new_xid() if xid is None else xid, now=(which, value),
           pendclr=pendclr)


def request(c, *want, xid=None):
    """REQXCH, and its RESPXCH: it, and what is in its three subsets."""
    x = xid or c.new_xid()
    c.post(REQXCH, x, want=want)
    h = c.take_ext(RESPXCH)
    same(h.xid, x, "xid of RESPXCH")
    n = len(want)
    return (h,) + tuple(ext.bits(s, n) for s in (h.done, h.rej, h.pend))


def our_size(t, c, want, what):
    """The server takes our Receives to have so many octets."""
    threshold(t, c, want, what)
    c.recv_size = want


def uses(t, c, n, inv=True):
    """How many Replies of @n name what they invalidate, and rightly."""
    used = 0
    for _ in range(n):
        w = c.write_chunk(100)
        a = good(c.call(read_call(t, c.new_xid(), (0, 100)), writes=[w],
                        inv=w[0].handle if inv else 0))
        if a.invalidated is not None:
            same(a.invalidated, w[0].handle, "the handle")
            used += 1
    return used


# ---- INITXCH ----


# Fails with: xchar-init-number
@check("XC-2.1-01", "XC-4.1-01", "XC-4.1-03", "XC-6.2-01",
       server_is="xcharext")
def initxch(t):
    """INITXCH, octet by octet: type, set, subset; 4096 octets at most."""
    c = connect(t)
    r = rpc.Reader(c.initial.message.data)
    r.u32()
    same((r.u32(), r.u32() > 0, r.u32()), (2, True, 0xffffff01),
         "version, credit and type")
    ids = []
    for _ in range(r.u32()):
        ids.append(r.u32())
        same(r.u32(), 4, "octets of value %#x" % ids[-1])
        r.u32()
    for _ in range(r.u32()):
        r.u32()
    same(r.left(), 0, "octets behind it")
    expect(c.initial.size <= 4096, "%d octets" % c.initial.size)
    same(len(set(ids)), len(ids), "values that are there once")
    final = next(h for h in c.seen if h.htype == v2.PROP_FINAL)
    for i in ids + [k for k, _ in final.props]:
        expect(i in (SBSIZ, RBSIZ, RSSIZ, RCSIZ, BRS, HOSTAUTH) or
               0xffffff00 <= i, "value %#x" % i)
    # One only, and after both FINALs.
    t.files
    for i in range(5):
        c.null()
    same(len(c.have(INITXCH)), 1, "INITXCHs")
    # Ours is taken as it is, and only once.
    c.recv_size = 8192
    init(c, [(RBSIZ, 8192)])
    our_size(t, c, 8192, "after INITXCH")
    x = c.new_xid()
    c.post(INITXCH, x, start=[(RBSIZ, 4096)])
    same(is_error(c.take(), v2.INVAL_CONT).xid, x, "xid of the ERROR")
    our_size(t, c, 8192, "after INITXCH again")


# Fails with: xchar-first-value
@check("XC-2.1-02", server_is="xcharext")
def any_order(t):
    """The order of values in a set does not matter."""
    values = [(RBSIZ, 8192), (REQREMINV, 0), (RCSIZ, 8)]
    for order in values, values[::-1]:
        c = connect(t)
        init(c, order)
        our_size(t, c, 8192, "after %r" % (order,))
        same(uses(t, c, 8), 0, "Replies that invalidate")


# Fails with: xchar-order, xchar-beyond-set
@check("XC-2.1-03", server_is="xcharext")
def subsets(t):
    """A subset: element N is bit N mod 32 of word N div 32."""
    c = connect(t)
    init(c, [(UNKNOWN + i % 8, b"") for i in range(40)] + [(RBSIZ, 16384)],
         [0, 0x101, 0, 0])
    our_size(t, c, 16384, "by the 41st value")
    # Unknown ones are rejected; the 33rd, lower than what the server has,
    # is done.
    low = c.room() // 2
    h, done, rej, pend = request(
        c, *[(0xffffff20 + i, 4) for i in range(32)], (RBSIZ, low),
        (0xfffffff0, b""))
    same((done, rej, pend), ({32}, set(range(32)) | {33}, set()), "subsets")
    same(h.rej[:2], [0xffffffff, 2], "words of the rejected")
    same((h.done[:1], h.done[1:2]), ([0], [1]), "words of the done")


# Fails with: xchar-first-value, xchar-unknown
@check("XC-2.1-06", "XC-4.1-04", server_is="xcharext")
def unknown(t):
    """Unknown characteristics are passed over, without any answer."""
    c = connect(t)
    init(c, [(UNKNOWN, bytes(9)), (0x7fffffff, b""), (0, b"abc")], [7])
    c.null()
    expect(t.quiet(c), "an answer")
    same(c.have(v2.ERROR), [], "ERRORs")
    c = connect(t)
    init(c, [(UNKNOWN, bytes(12)), (RBSIZ, 8192), (9, b"x")])
    our_size(t, c, 8192, "behind an unknown one")
    update(c, UNKNOWN, b"abcde")
    c.null()
    same(c.have(v2.ERROR), [], "ERRORs")


# Fails with: props-beyond
@check("XC-2.1-04", server_is="xcharext")
def beyond(t):
    """A length beyond the message: BAD_PROPVAL, and no RESPXCH."""
    for htype in INITXCH, REQXCH, UPDXCH:
        for which in RBSIZ, UNKNOWN:
            c = connect(t)
            x = c.new_xid()
            c.raw(x, 2, None, htype, *([1] if htype != UPDXCH else []),
                  which, 0x1000, 0, 0)
            same(is_error(c.take(), v2.BAD_PROPVAL).xid, x, "xid")
            c.null()
            same(c.have(RESPXCH), [], "RESPXCHs")


# Fails with: xchar-bool
@check("XC-2.1-05", server_is="xcharext")
def invalid(t):
    """A value that is not of its type: BAD_PROPVAL, and nothing applied."""
    for htype in INITXCH, REQXCH, UPDXCH:
        for which, value in ((REQREMINV, rpc.u32(2)), (RBSIZ, bytes(2)),
                             (REQREMINV, bytes(3)), (RCSIZ, bytes(8)),
                             (REQREMINV, rpc.u32(0x01000000))):
            c = connect(t)
            x = c.new_xid()
            if htype == UPDXCH:
                fields = {"now": (which, value)}
            else:
                # Nothing of the whole set takes effect.
                fields = {"start" if htype == INITXCH else "want":
                          [(RBSIZ, 8192), (which, value)]}
            c.post(htype, x, **fields)
            same(is_error(c.take(), v2.BAD_PROPVAL).xid, x, "xid")
            same(c.have(RESPXCH), [], "RESPXCHs")
            our_size(t, c, 4096, "after what is no value")


# ---- The characteristics ----


# Fails with: xchar-default
@check("XC-3-01", server_is="xcharext")
def receive_buffer_size(t):
    """Receive Buffer Size is 2, a uint32, and 4096 where nothing is said."""
    c = connect(t)
    size = dict(c.initial.start).get(RBSIZ)
    expect(size is None or number(size) >= 1024, "%r" % size)
    if size is not None:
        # What is stated is there.
        room = number(size)
        x = c.new_xid()
        ops = [rpc.putfh(t.files.scratch)]
        n = room - 32 - len(rpc.compound(x, ops + [rpc.write(0, b"")]))
        m = rpc.compound(x, ops + [rpc.write(0, bytes(n & ~3))])
        c.post(v2.CALL_INLINE, x, payload=m)
        good(c.answer(x))
    our_size(t, c, 4096, "where nothing was said")
    init(c, [(RBSIZ, 12288)])
    our_size(t, c, 12288, "after INITXCH")
    update(c, RBSIZ, 20000)
    our_size(t, c, 20000, "after UPDXCH")
    update(c, RBSIZ, b"")
    our_size(t, c, 4096, "after UPDXCH of no octets")


# Fails with: xchar-remote-number, xchar-invalidates
@check("XC-3-02", server_is="xcharext")
def remote_invalidation(t):
    """Requester Remote Invalidation is 0xFFFFFF02, a bool."""
    c = connect(t)
    value = dict(c.initial.start).get(REQREMINV)
    expect(value in (rpc.u32(0), rpc.u32(1)), "%r" % value)
    init(c, [(REQREMINV, rpc.u32(1))])
    expect(uses(t, c, 8), "with true nothing is invalidated")
    update(c, REQREMINV, rpc.u32(0))
    same(uses(t, c, 8), 0, "with false, Replies that invalidate")


# Fails with: xchar-remote-number, xchar-invalidates
@check("XC-3.2-02", server_is="xcharext")
def not_invalidated(t):
    """False: Replies go by plain Send, whatever rdma_inv_handle says."""
    for how in "init", "update", "props":
        c = connect(t, props=[(REQREMINV, 0)] if how == "props" else [])
        if how == "init":
            init(c, [(REQREMINV, 0)])
        elif how == "update":
            expect(uses(t, c, 8), "nothing is invalidated before")
            update(c, REQREMINV, 0)
        same(uses(t, c, 10), 0, "Replies that invalidate (%s)" % how)


# Fails with: xchar-never-invalidates
@check("XC-3.2-03", server_is="xcharext")
def invalidated(t):
    """True: a Reply may invalidate the handle that its Call names."""
    c = connect(t)
    init(c, [(REQREMINV, 1)])
    expect(uses(t, c, 10), "nothing is invalidated")
    same(uses(t, c, 10, inv=False), 0, "with 0, Replies that invalidate")
    # Nor ever is it by what is no Reply.
    same([h for h in c.seen if h.htype > 13 and h.invalidated is not None],
         [], "messages of the extension that invalidate")
    # Not said at all: version 2 alone decides.
    expect(uses(t, connect(t), 10), "nothing is invalidated unsaid")


# Fails with: xchar-order, xchar-unknown
@check("XC-3-04", "XC-4.3-04", server_is="xcharext")
def rejected(t):
    """What cannot be changed is rejected, and nothing changes."""
    c = connect(t)
    before = sorted(c.theirs.items())
    for want in ([(HOSTAUTH, rpc.opaque(b""))], [(UNKNOWN, 7)],
                 [(XCHSUPP, 0)], [(0, b"")], [(BRS, 3)]):
        _, done, rej, pend = request(c, *want)
        same((done, rej, pend), (set(), {0}, set()),
             "subsets for %r" % (want,))
    c.null()
    same(c.have(UPDXCH), [], "UPDXCHs")
    same(sorted(c.theirs.items()), before, "what the server has announced")
    same(c.have(v2.ERROR), [], "ERRORs")


# Fails with: xchar-without-init
@check("XC-4-02", "XC-4-03", server_is="xcharext")
def support(t):
    """XCHSUPP: RESP and UPD come with INIT, and REQXCH with both."""
    c = connect(t)
    supp = c.number(XCHSUPP)
    expect(supp & INIT and not supp & ~ALL, "XCHSUPP %d" % supp)
    if supp & REQ:
        expect(supp & RESP and supp & UPD, "XCHSUPP %d" % supp)
    # RESP or UPD without INIT is nothing; so is no bit at all.
    for xch in 0, REQ, RESP, UPD, RESP | UPD, REQ | RESP | UPD:
        c = connect(t, xch, wait=False)
        for _ in range(4):
            c.null()
        expect(t.quiet(c, 0.2), "something with XCHSUPP %d" % xch)
        same([h for h in c.seen if h.htype > 13], [],
             "messages of extensions with XCHSUPP %d" % xch)


# ---- REQXCH and RESPXCH ----


# Fails with: xchar-last-only
@check("XC-4-04", server_is="xcharext")
def refused(t):
    """Who gets INVAL_HTYPE for a RESPXCH, be it not the last one, sends
    nothing of the extension again [M2]."""
    c = connect(t)
    first = request(c, (UNKNOWN, 1))[0]
    for _ in range(3):
        request(c, (UNKNOWN, 1))
    c.post(v2.ERROR, first.xid, error=(v2.INVAL_HTYPE,))
    x = c.new_xid()
    c.post(REQXCH, x, want=[(UNKNOWN, 1)])
    same(is_error(c.take(), v2.INVAL_HTYPE).xid, x, "xid")
    c.null()
    same(len(c.have(RESPXCH)), 4, "RESPXCHs")


# Fails with: xchar-empty
@check("XC-4.2-01", "XC-4.2-02", "XC-4.3-01", server_is="xcharext")
def respxch(t):
    """Each REQXCH is answered by one RESPXCH: three subsets, no more."""
    c = connect(t)
    for want in [], [(UNKNOWN, 1)], [(RBSIZ, c.room())], [(RCSIZ, b"")]:
        x = c.new_xid()
        before = len(c.have(RESPXCH))
        c.raw(x, 2, None, 0xffffff02,
              tail=v2.put_props(want))
        h = c.take_ext(RESPXCH)
        r = rpc.Reader(h.message.data)
        same((r.u32(), r.u32(), r.u32() > 0, r.u32()),
             (x, 2, True, 0xffffff03), "the prefix")
        for _ in range(3):
            for _ in range(r.u32()):
                r.u32()
        same(r.left(), 0, "octets behind it")
        c.null()
        same(len(c.have(RESPXCH)) - before, 1, "RESPXCHs")


# Fails with: xchar-other-xid, xchar-beyond-set
@check("XC-4.3-02", "XC-4.3-03", server_is="xcharext")
def covered(t):
    """RESPXCH has the xid of its REQXCH; each element is in one subset."""
    c = connect(t)
    sets = ([(RBSIZ, 8192), (UNKNOWN, 1), (BRS, 1)],
            [(k, b"") for k in KNOWN + (HOSTAUTH,)],
            [(RBSIZ, 1024 * i) for i in range(1, 40)],
            [(RSSIZ, 4096), (SBSIZ, 2048)])
    xids = [c.new_xid() for _ in sets]
    for x, want in zip(xids, sets):
        c.post(REQXCH, x, want=want)
    for x, want in zip(xids, sets):
        h = c.take_ext(RESPXCH)
        same(h.xid, x, "xid of RESPXCH")
        n = len(want)
        got = [ext.bits(s, n) for s in (h.done, h.rej, h.pend)]
        same(sorted(i for s in got for i in s), list(range(n)),
             "elements in one subset each")
        for s in h.done, h.rej, h.pend:
            same(ext.bits(s, 32 * len(s)) - set(range(n)), set(),
                 "bits beyond the set")


def lower(c):
    """A size that the server's Receives have now, and half of it."""
    return c.room(), max(1024, c.room() // 2) & ~3


# Fails with: xchar-order
@check("XC-4.3-05", server_is="xcharext")
def done(t):
    """What is done holds at once."""
    c = connect(t)
    _, low = lower(c)
    _, got, _, _ = request(c, (RBSIZ, low))
    same(got, {0}, "done")
    # From now on that is the size of what we send; the Receives are larger
    # still, so no less than that comes through.
    x = c.new_xid()
    ops = [rpc.putfh(t.files.scratch)]
    n = low - 32 - len(rpc.compound(x, ops + [rpc.write(0, b"")]))
    m = rpc.compound(x, ops + [rpc.write(0, bytes(n & ~3))])
    c.post(v2.CALL_INLINE, x, payload=m)
    good(c.answer(x))
    c.theirs[RBSIZ] = low
    good(c.call(rpc.compound(c.new_xid(), ops + [
        rpc.write(0, bytes(3 * low))])))
    same(c.have(UPDXCH), [], "UPDXCHs")


def raise_size(c, want):
    """Ask for larger Receives: how many messages went until the server had
    them, and how many at least had to go."""
    c.poll(0.02)
    # What it had posted, when it got our REQXCH.
    posted = v2.ahead(c.limit, c.sent + 1)
    _, ready, rej, pend = request(c, (RBSIZ, want))
    same((ready, rej), (set(), set()), "done and rejected of a raise")
    same(pend, {0}, "pending")
    n, base = 0, c.sent
    while not c.have(UPDXCH):
        c.null()
        n += 1
        expect(n < 4000, "no UPDXCH after %d Calls" % n)
    return c.sent - base, posted


# Fails with: xchar-at-once, xchar-no-pendclr, xchar-not-posted
@check("XC-3.1-02", "XC-4.3-06", "XC-3.1-01", "XC-4.4-01",
       server_is="xcharext")
def raised(t):
    """Larger Receives: pending until the last of the old ones is used up;
    then UPDXCH with pendclr, and what it says is posted."""
    t.files
    c = connect(t)
    want = c.room() * 2
    used, posted = raise_size(c, want)
    expect(used >= posted, "told after %d messages, %d Receives were old" %
           (used, posted))
    h = c.have(UPDXCH)[-1]
    same(h.message.data[12:], rpc.u32(0xffffff04, RBSIZ, 4, number(h.now[1]),
                                      1), "UPDXCH from its type on")
    same((h.now[0], number(h.now[1]), h.pendclr), (RBSIZ, want, 1), "UPDXCH")
    same(c.room(), want, "the size now")
    # All of the Receives have it.
    ops = [rpc.putfh(t.files.scratch)]
    for _ in range(40):
        x = c.new_xid()
        n = want - 32 - len(rpc.compound(x, ops + [rpc.write(0, b"")]))
        m = rpc.compound(x, ops + [rpc.write(0, bytes(n & ~3))])
        c.post(v2.CALL_INLINE, x, payload=m)
        same(len(m) + 32, want & ~3, "octets of the Call")
        good(c.answer(x))
    # Down again, at once; and up.
    _, ready, _, _ = request(c, (RBSIZ, want // 2))
    same(ready, {0}, "done of a lower size")
    same(len(c.have(UPDXCH)), 1, "UPDXCHs")


# Fails with: xchar-lowered
@check("XC-3.1-03", server_is="xcharext")
def not_lowered(t):
    """The server's size is never lowered unasked."""
    c = connect(t)
    size = c.room() * 2
    raise_size(c, size)
    for _ in range(100):
        c.null()
    t.quiet(c, 1)
    sizes = [number(h.now[1]) for h in c.have(UPDXCH) if h.now[0] == RBSIZ]
    same([s for s in sizes if s < size], [], "lower sizes in UPDXCHs")
    same(c.room(), size, "the size")


# Fails with: xchar-xid-matters
@check("XC-4.4-02", server_is="xcharext")
def any_xid(t):
    """UPDXCH is applied whatever its xid is."""
    c = connect(t)
    init(c, [(RBSIZ, 4096)])
    x = c.new_xid()
    for xid, size in ((0, 8192), (x, 12288), (0xffffffff, 16384), (x, 20480)):
        update(c, RBSIZ, size, xid=xid)
        our_size(t, c, size, "after UPDXCH with xid %#x" % xid)


# Fails with: xchar-not-posted
@check("XC-3-06", server_is="xcharext")
def under_load(t):
    """Sizes of both ends change while Calls are under way; none is lost."""
    c = connect(t, advertise=200)
    t.files
    data = rpc.pattern(9000, 5)
    pending, n, asked = [], 0, []
    sizes = [c.room() * i for i in (2, 3, 4)]
    for i in range(250):  # fewer than make a policy look
        x = c.new_xid()
        if i % 3:
            c.send_call(read_call(t, x, (i, 9000)))
        else:
            c.send_call(rpc.compound(x, [rpc.putfh(t.files.scratch),
                                         rpc.write(0, data)]))
        pending.append(x)
        if i % 37 == 5 and sizes and len(asked) == len(c.have(UPDXCH)):
            asked.append(c.new_xid())
            c.post(REQXCH, asked[-1], want=[(RBSIZ, sizes.pop(0))])
        if i % 29 == 3:
            update(c, RBSIZ, 4096 + 1024 * (i // 29))
        while len(pending) > 8:
            good(c.answer(pending.pop(0)))
            n += 1
    for x in pending:
        good(c.answer(x))
        n += 1
    same(n, 250, "Replies")
    for _ in range(1000):
        if len(c.have(UPDXCH)) >= len(asked):
            break
        c.null()
    same([(h.xid, ext.bits(h.rej, 1)) for h in c.have(RESPXCH)],
         [(x, set()) for x in asked], "RESPXCHs")
    same([(h.now[0], h.pendclr) for h in c.have(UPDXCH)],
         [(RBSIZ, 1)] * len(asked), "UPDXCHs")
    expect(len(asked) > 1, "sizes were changed %d times" % len(asked))
    same(c.have(v2.ERROR), [], "ERRORs")
    read_inline(t, c, 0, 40000)
