# SPDX-License-Identifier: BSD-3-Clause
"""rtrext at a server: draft-dnoveck-nfsv4-rpcrdma-rtrext-03, as Responder.

A server that is "rtrext" has that extension and xcharext on, and Receives with
placement-targetable segments.
"""

import struct

from . import ext, rpc, v2
from .chunk_checks import ineligible
from .ext import (BYSIZE, CHOICE, EXRW, NOITEM, RBSTRUCT, REPTERR, REQRXLIM,
                  RESPSXLIM, RTRSUPP, TBSN, TOOSHORT, XCONT, XMTCONT, XMTREQ,
                  XMTRESP, XREQ, XRESP, Direction, Gathered, Item, Range,
                  Target)
from .kit import check, expect, good, is_error, same
from .nfs import Reduced, read_call, read_inline, read_results, stored, \
    write_results
from .props_checks import threshold
from .v2 import RBSIZ
from .xchar_checks import init, update

SMALL = ext.plain_and_targets(4096, 2)
PLAIN = ext.Structure([ext.Group(1, 8192, 0, 0)])


def connect(t, structure=ext.OURS, advertise=64, **more):
    """Past the properties."""
    c = ext.Conn(t.iwarp(), advertise)
    c.send_props(ext.init_props(0, structure=structure, **more))
    c.props_of_peer()
    c.null()
    return c


def limit(c, which):
    return max(c.number(which, 1), 1)


def group(answer):
    """It is a response in a group."""
    if not isinstance(answer, Gathered):
        expect(False, "%s%s instead of XMTRESP" % (
            answer, " %r" % (answer.info,) if answer.htype == REPTERR else ""))
    return answer


def whole(payload, *items):
    """Directions for all results of the request."""
    return [Range(0, len(payload), list(items))]


def placed(minlen=0):
    return Direction(minlen, TBSN, None)


def by_group(t, c, *spans, rsd=None, rsbuf=4, directions=None, **how):
    """A COMPOUND of READs by XMTREQ; the answer."""
    x = c.new_xid()
    m = read_call(t, x, *spans)
    if rsd is None:
        rsd = whole(m, *(directions if directions is not None
                         else [placed() for _ in spans]))
    return c.call_ext(m, rsd=rsd, rsbuf=rsbuf, **how)


def content(t, g, *spans):
    """All of @spans is in the response, wherever it was placed."""
    got = read_results(g.stream(), *[False] * len(spans)) if spans else []
    for data, (at, n) in zip(got, spans):
        same(data, t.files.content[at:at + n], "what was read")
    return [i.type for i in g.dp]


def read_placed(t, c, *spans, **how):
    g = group(by_group(t, c, *spans, **how))
    return g, content(t, g, *spans)


def write_placed(t, c, *datas, offset=0, at=0, **how):
    """WRITEs by XMTREQ, each one's data in targetable segments: (dp, count)"""
    x = c.new_xid()
    r, place = Reduced(x), at
    for data in datas:
        r.write(t.files.scratch, place, len(data))
        place += len(data)
    payload, positions = r.build()
    sent = c.group(XMTREQ, x, payload, list(zip(positions, datas)),
                   offset=offset, **how)
    g = group(c.answer_ext(x))
    write_results(g.stream(), *[len(d) for d in datas])
    data = b"".join(datas)
    same(stored(t, c, at, len(data)), data, "what has been written")
    return sent


def works(t, c):
    """It still does, the extension too."""
    c.null()
    read_placed(t, c, (5, 5000))


# ---- Properties ----


# Fails with: rtr-bits, rtr-xcont
@check("RT-8.1-01", "RT-8.2-01", server_is="rtrext")
def support(t):
    """RTR Support: 0xFFFFFF13, bits 1, 2 and 4; what a client has not
    announced is not sent to it."""
    c = connect(t)
    supp = c.number(RTRSUPP)
    same(supp & ~7, 0, "other bits")
    expect(supp & XREQ, "XMTREQ is not taken: %d" % supp)
    # A response in several needs XCONT; without XRESP there is none.
    c = connect(t, SMALL, rtr=XREQ | XRESP)
    a = by_group(t, c, (0, 20000))
    expect(not isinstance(a, Gathered), "XMTRESP in %d for a client that has "
           "no XCONT" % getattr(a, "count", 0))
    is_error(a, v2.REPLY_RESOURCE, *a.error[1:])
    read_placed(t, c, (0, 5000))
    for rtr in 0, XCONT:
        c = connect(t, rtr=rtr)
        c.null()
        read_inline(t, c, 0, 20000)
        same([h for h in c.seen if h.htype > 13], [], "with %d" % rtr)


# Fails with: rtr-sum
@check("RT-8.1-02", "RT-7.2-01", "RT-7.2-02", "RT-7.2-03", server_is="rtrext")
def buffer_structure(t):
    """Receive Buffer Structure: 0xFFFFFF14, groups of equal segments, whose
    sum is the Receive Buffer Size; without it nothing is targetable."""
    c = connect(t)
    value = c.announced(RBSTRUCT)
    r = rpc.Reader(value)
    total, n, size, targets = r.u32(), r.u32(), 0, 0
    for _ in range(n):
        count, length, align, flags = r.u32(), r.u32(), r.u32(), r.u32()
        expect(count and length, "%d segments of %d octets" % (count, length))
        same(flags & ~1, 0, "other flags")
        size += count * length
        targets += count if flags & 1 else 0
        if flags & 1 and align > 1:
            same(align & align - 1, 0, "alignment %d" % align)
    same((r.left(), size), (0, total), "octets left, and the sum")
    expect(targets, "no targetable segment")
    if RBSIZ in c.theirs:
        same(c.theirs[RBSIZ], total, "Receive Buffer Size")
    # Each targetable segment takes what is sent to it.
    s = c.structure
    k = len(s.targets)
    for number in range(k):
        write_placed(t, c, rpc.pattern(s.targets[number][1], number),
                     first=number)
    # A client of whom it is not known, or has none: nothing is placed there.
    for structure in None, PLAIN:
        c = connect(t, structure)
        w = c.write_chunk(20000)
        _, types = read_placed(t, c, (0, 5000),
                               directions=[Direction(0, CHOICE, w)])
        same(types, [EXRW], "placement")
    bad_structures(t)
    # What has a structure has one size: xcharext does not change it.
    c = ext.Conn(t.iwarp(), 64)
    c.send_props(ext.init_props())
    c.props_of_peer()
    c.null()
    for size in c.room() // 2, c.room() * 2:
        c.post(ext.REQXCH, c.new_xid(), want=[(RBSIZ, size)])
        h = c.take_ext(ext.RESPXCH)
        same((ext.bits(h.done, 1), ext.bits(h.rej, 1)), (set(), {0}),
             "done and rejected")
    works(t, c)


def bad_structures(t):
    """What cannot be is refused; what does not agree is not used [R10]."""
    for value in (ext.put_structure([ext.Group(1, 4096, 0, 0)], 8192),
                  ext.put_structure([ext.Group(0xffffffff, 0xffffffff, 0, 1)],
                                    1),
                  rpc.u32(4096, 0xffffffff), rpc.u32(4096), bytes(7),
                  rpc.u32(4096, 1, 1, 4096, 0),
                  ext.put_structure([ext.Group(1, 4096, 0, 0)]) + bytes(4)):
        c = v2.Conn(t.iwarp())
        x = c.send_props([(RTRSUPP, 7), (RBSTRUCT, value)])
        same(is_error(c.take(), v2.BAD_PROPVAL).xid, x, "xid")
    c = connect(t, SMALL, more=[(RBSIZ, 8192)])
    c.recv_size = 8192
    w = c.write_chunk(20000)
    _, types = read_placed(t, c, (0, 5000),
                           directions=[Direction(0, CHOICE, w)])
    same(types, [EXRW], "placement with sizes that differ")


# Fails with: rtr-size-for-good
@check("RT-8.3-02", server_is="rtrext")
def size_and_back(t):
    """A structure belongs to the size that came with it: while our Receives
    have another nothing is placed there, and then it is again [R15]."""
    c = ext.Conn(t.iwarp(), 64)
    c.send_props(ext.init_props())
    c.props_of_peer()
    c.null()
    w = c.write_chunk(20000)

    def kind():
        return read_placed(t, c, (0, 5000),
                           directions=[Direction(0, CHOICE, w)])[1]

    size = c.own.size
    same(kind(), [TBSN], "placement")
    for other in size + 4096, 2 * size:
        update(c, RBSIZ, other)
        same(kind(), [EXRW], "placement with another size")
        update(c, RBSIZ, size)
        same(kind(), [TBSN], "placement with the size that it was")


def both(t, structure=ext.OURS, advertise=64, **more):
    """Past the properties, with both extensions, and its INITXCH."""
    c = ext.Conn(t.iwarp(), advertise)
    c.send_props(ext.init_props(structure=structure, **more))
    c.props_of_peer()
    c.null()
    c.initial = c.take_ext(ext.INITXCH)
    return c


# Fails with: xchar-rtr-kept
@check("RT-8.3-03", server_is="rtrext")
def another_structure(t):
    """Another structure of the same size, in INITXCH or UPDXCH: things are
    placed where that one says [R15]."""
    other = ext.plain_and_targets(8192, 14)
    for how in "init", "update":
        c = both(t)
        same(read_placed(t, c, (0, 20000))[1], [TBSN], "placement")
        if how == "init":
            init(c, [(RBSTRUCT, other.value())])
        else:
            update(c, RBSTRUCT, other.value())
        c.own = other
        same(read_placed(t, c, (0, 20000))[1], [TBSN],
             "placement by another structure")
        # None any more.
        update(c, RBSTRUCT, b"")
        w = c.write_chunk(20000)
        same(read_placed(t, c, (0, 5000),
                         directions=[Direction(0, CHOICE, w)])[1], [EXRW],
             "placement without a structure")


# Fails with: rtr-size-left
@check("RT-8.3-04", server_is="rtrext")
def taken_back(t):
    """A structure that a later message takes back leaves no size behind."""
    c = ext.Conn(t.iwarp(), 64)
    c.send_props([(RTRSUPP, 7), (RBSTRUCT, ext.OURS.value())], v2.PROP_MIDDLE)
    c.send_props([(RBSTRUCT, b"")])
    c.props_of_peer()
    c.null()
    threshold(t, c, 4096, "without a structure")


def not_known(answer):
    expect(not isinstance(answer, Gathered), "an XMTRESP")
    is_error(answer, v2.INVAL_HTYPE)


# Fails with: xchar-rtr-kept
@check("RT-8.2-02", server_is="rtrext")
def support_changes(t):
    """What UPDXCH says of RTR Support holds from then on."""
    c = both(t, SMALL)
    same(group(by_group(t, c, (0, 20000))).count, 3, "transmissions")
    update(c, RTRSUPP, XREQ | XRESP)
    a = by_group(t, c, (0, 20000))
    expect(not isinstance(a, Gathered), "XMTRESP in %d for a client that has "
           "XCONT no more" % getattr(a, "count", 0))
    is_error(a, v2.REPLY_RESOURCE, *a.error[1:])
    read_placed(t, c, (0, 5000))
    update(c, RTRSUPP, XREQ)
    not_known(by_group(t, c, (0, 5000)))
    update(c, RTRSUPP, 7)
    same(group(by_group(t, c, (0, 20000))).count, 3, "transmissions")


# Fails with: xchar-rtr-any
@check("XC-2.1-07", server_is="rtrext")
def bad_values(t):
    """Values of rtrext that are not of their type, in each message of
    xcharext: BAD_PROPVAL, and nothing changes."""
    c = both(t)
    for which in RTRSUPP, REQRXLIM, RESPSXLIM, RBSTRUCT:
        for value in bytes(3), bytes(8), ext.put_structure(
                [ext.Group(1, 4096, 0, 0)], 999):
            for htype, fields in ((ext.INITXCH, {"start": [(which, value)]}),
                                  (ext.REQXCH, {"want": [(which, value)]}),
                                  (ext.UPDXCH, {"now": (which, value)})):
                x = c.new_xid()
                c.post(htype, x, **fields)
                same(is_error(c.take(), v2.BAD_PROPVAL).xid, x, "xid")
    same(c.have(ext.RESPXCH), [], "RESPXCHs")
    same(read_placed(t, c, (0, 20000))[1], [TBSN], "placement")


# Fails with: xchar-init-short
@check("XC-4.1-06", server_is="rtrext")
def in_initxch(t):
    """INITXCH has what CONNPROP had of rtrext, and says that it stays so."""
    c = both(t)
    final = next(h for h in c.seen if h.htype == v2.PROP_FINAL)
    start = dict(c.initial.start)
    fixed = {c.initial.start[i][0] for i in
             ext.bits(c.initial.nochg, len(c.initial.start))}
    for which in RTRSUPP, REQRXLIM, RESPSXLIM, RBSTRUCT:
        same(start.get(which), dict(final.props).get(which),
             "value %#x in INITXCH" % which)
        expect(which in fixed, "%#x may change" % which)


def refuses(c, xid):
    """Nothing of rtrext comes any more, after our INVAL_HTYPE."""
    c.post(v2.ERROR, xid, error=(v2.INVAL_HTYPE,))
    n = len([h for h in c.seen if h.htype in ext.RTR_TYPES])
    x = c.new_xid()
    c.group(XMTREQ, x, rpc.null(x))
    not_known(c.answer_ext(x))
    c.post(XMTCONT, x, xnum=1, itype=XMTREQ)
    not_known(c.answer_ext(x))
    c.null()
    same(len([h for h in c.seen if h.htype in ext.RTR_TYPES]) - n, 0,
         "messages of rtrext since")


# Fails with: rtr-sent-again
@check("RT-5.1-04", server_is="rtrext")
def refused_types(t):
    """Who gets INVAL_HTYPE for an XMTRESP or a REPTERR, be it not the last
    one, sends nothing of the extension again [M2]."""
    for what in XMTRESP, REPTERR:
        c = connect(t)
        x = c.new_xid()
        if what == REPTERR:
            c.post(XMTCONT, x, xnum=1, itype=XMTREQ)
        else:
            c.group(XMTREQ, x, rpc.null(x))
        h = c.take_ext(what)
        for i in range(5):
            read_placed(t, c, (i, 5000))
        refuses(c, h.xid)


# Fails with: rtr-to-anyone
@check("RT-5.4-03", server_is="rtrext")
def not_announced(t):
    """REPTERR goes to nobody who has not announced rtrext [M2]."""
    c = connect(t, None, rtr=0, reqrx=None, respsx=None)
    for htype, fields in ((XMTCONT, dict(xnum=1, itype=XMTREQ)),
                          (XMTRESP, dict(pslen=4, rest=rpc.u32(7))),
                          (REPTERR, {})):
        x = c.new_xid()
        c.post(htype, x, **fields)
        same(is_error(c.take(), v2.INVAL_HTYPE).xid, x, "xid")
    c.null()
    same(c.have(REPTERR), [], "REPTERRs")


# Fails with: rtr-size-not-derived
@check("RT-8.3-01", server_is="rtrext")
def size_of_structure(t):
    """Without Receive Buffer Size the structure's sum is the size."""
    for groups in ([(2, 4096, 0, 0)], [(1, 4096, 0, 0), (3, 4096, 4096, 1)]):
        s = ext.Structure(groups)
        threshold(t, connect(t, s), s.size, "by the structure")


# Fails with: rtr-request-any
@check("RT-8.1-03", "RT-8.4-01", server_is="rtrext")
def request_limit(t):
    """0xFFFFFF15: requests of so many transmissions are taken, no longer."""
    c = connect(t)
    value = c.announced(REQRXLIM)
    expect(value is None or len(value) == 4, "%r" % value)
    most = limit(c, REQRXLIM)
    data = rpc.pattern(3000, 6)
    for n in range(1, most + 1):
        _, count = write_placed(t, c, data, least=n)
        same(count, n, "transmissions")
    x = c.new_xid()
    payload, (at,) = Reduced(x).write(t.files.scratch, 0, 4000).build()
    c.group(XMTREQ, x, payload, [(at, bytes(4000))], least=most + 1)
    h = c.answer_ext(x)
    expect(not isinstance(h, Gathered) and h.htype in (v2.ERROR, REPTERR),
           "%s for a group of %d" % (h, most + 1))
    c.null()
    same(stored(t, c, 0, 3000), data, "what has been written")


# Fails with: rtr-response-any
@check("RT-8.1-04", "RT-8.5-01", server_is="rtrext")
def response_limit(t):
    """0xFFFFFF16: no response has more transmissions."""
    c = connect(t, SMALL, advertise=200)
    most = limit(c, RESPSXLIM)
    longest = 0
    for n in (100, 4000, most * 8192 - 1, most * 8192, most * 8192 + 1,
              most * 16384, 200000):
        w = c.write_chunk(n)
        a = by_group(t, c, (0, n), rsbuf=150)
        if isinstance(a, Gathered):
            content(t, a, (0, n))
            longest = max(longest, a.count)
        else:
            expect(a.error[0] == v2.REPLY_RESOURCE, "%s" % a)
        g = group(by_group(t, c, (0, n), rsbuf=150,
                           directions=[Direction(0, CHOICE, w)]))
        content(t, g, (0, n))
        longest = max(longest, g.count)
    same(longest, most, "transmissions of the longest response")


# Fails with: rtr-not-reserved
@check("RT-5.2-02", server_is="rtrext")
def reserved(t):
    """A response has no more transmissions than optxrq_rsbuf, and several
    only for XMTREQ."""
    c = connect(t, SMALL, advertise=100)
    n = 2 * 8192 + 100
    for rsbuf in 0, 1, 2, 3, 4:
        a = by_group(t, c, (0, n), rsbuf=rsbuf)
        if rsbuf < 2:
            expect(not isinstance(a, Gathered), "XMTRESP")
            same(a.error[0], v2.REPLY_RESOURCE, "error with %d" % rsbuf)
        elif rsbuf < 3:
            # They can hold it if they have nothing but payload.
            if isinstance(a, Gathered):
                expect(a.count <= rsbuf, "%d transmissions" % a.count)
                same(content(t, a, (0, n)), [TOOSHORT], "results")
            else:
                same(a.error[0], v2.REPLY_RESOURCE, "error with 2")
        else:
            same(group(a).count, 3, "transmissions")
            content(t, a, (0, n))
    # With two credits it waits for more, or says that it has no room.
    c.poll(0.02)
    x = c.new_xid()
    m = read_call(t, x, (0, n))
    c.await_credit()
    c.put(v2.encode(XMTREQ, x, c.received + 2, rsd=whole(m, placed()),
                    rsbuf=4, pslen=len(m), rest=m), c.received + 2)
    a = c.answer_ext(x)
    if isinstance(a, Gathered):
        content(t, a, (0, n))
    else:
        same(a.error[0], v2.REPLY_RESOURCE, "error with two credits")
    read_inline(t, c, 0, 40000)
    same([h for h in c.seen if h.htype == XMTRESP and h.count > 3], [],
         "longer ones")


# ---- Octets ----


# Fails with: rtr-number, rtr-response-order
@check("RT-9.1-01", "RT-9.2-01", "RT-6.2-01", "RT-6.2-03", "RT-9.1-02",
       "RT-9.3-01", server_is="rtrext")
def octets(t):
    """XMTREQ and XMTRESP with an item by TBSN, word by word."""
    c = connect(t)
    data = rpc.pattern(5000, 3)
    x = c.new_xid()
    payload, (disp,) = Reduced(x).write(t.files.scratch, 0, 5000).build()
    s = c.structure
    (at0, size0), (at1, size1) = s.targets[:2]
    same((size0, size1, at1 - at0), (4096, 4096, 4096), "segments")
    head = rpc.u32(
        x, 2, c.credit(), 0xffffff15,
        1, disp, 5000, 2, 0, 2, 0, 1,  # one item: displacement, length, TBSN
        0,  # no directions
        1, 1, len(payload)) + payload
    c.await_credit()
    c.put(head + bytes(at0 - len(head)) + data, c.credit())
    h = c.take()
    words = list(struct.unpack(">%dI" % (h.size // 4), h.message.data))
    same((words[0], words[1], words[3], words[4], words[5]),
         (x, 2, 0xffffff16, 0, 1), "xid, version, type, items, count")
    same(words[6], h.size - 28, "pslen")
    write_results(h.message.data[28:], 5000)
    same(stored(t, c, 0, 5000), data, "what has been written")
    # A READ, its data placed.
    x = c.new_xid()
    m = read_call(t, x, (7, 5000))
    c.await_credit()
    c.put(rpc.u32(x, 2, c.credit(), 0xffffff15, 0,
                  1, 0, len(m), 1,  # one set: its range, one direction
                  0, 2,  # any length, TBSN
                  1, 1, len(m)) + m, c.credit())
    h = c.take()
    d = h.message.data
    r = rpc.Reader(d, 12)
    same((r.u32(), r.u32()), (0xffffff16, 1), "type and number of items")
    disp, length, kind, offset = r.u32(), r.u32(), r.u32(), r.u32()
    same((length, kind), (5000, 2), "length and type of the item")
    numbers = [r.u32() for _ in range(r.u32())]
    count, pslen = r.u32(), r.u32()
    same(count, 1, "count")
    payload = d[r.at:r.at + pslen]
    where = 4096 * (1 + numbers[0]) + offset
    same(numbers, list(range(numbers[0], numbers[0] + len(numbers))),
         "segments one after the other")
    same(d[where:where + 5000], t.files.content[7:5007], "what was read")
    # The item begins behind its length word, which stays.
    same(struct.unpack_from(">I", payload, disp - 4), (5000,), "length word")
    same(disp, len(payload), "displacement")


# Fails with: rtr-types, rtr-bysize
@check("RT-7.4-01", "RT-6.2-02", "RT-6.2-04", "RT-6.2-05", "RT-7.4-03",
       "RT-7.4-04", server_is="rtrext")
def directions(t):
    """Each arm of a direction, word by word."""
    c = connect(t)

    def chunk(w):
        return rpc.u32(len(w)) + b"".join(
            rpc.u32(s.handle, s.length) + rpc.u64(s.offset) for s in w)

    for arm, want in (
            (lambda w: rpc.u32(1) + chunk(w), EXRW),
            (lambda w: rpc.u32(2), TBSN),
            (lambda w: rpc.u32(3) + chunk(w), (EXRW, TBSN)),
            (lambda w: rpc.u32(4, 6000) + chunk(w), TBSN),
            (lambda w: rpc.u32(4, 5000) + chunk(w), EXRW),
            (lambda w: rpc.u32(4, 5001) + chunk(w), TBSN)):
        w = c.write_chunk(3000, 3000)
        x = c.new_xid()
        m = read_call(t, x, (9, 5000))
        c.await_credit()
        c.put(rpc.u32(x, 2, c.credit(), 0xffffff15, 0, 1, 0, len(m), 1, 0) +
              arm(w) + rpc.u32(1, 4, len(m)) + m, c.credit())
        g = group(c.answer_ext(x))
        kind, = (i.type for i in g.dp)
        expect(kind in (want if isinstance(want, tuple) else (want,)),
               "placement of type %d instead of %r" % (kind, want))
        data = t.files.content[9:5009]
        if kind == EXRW:
            same(g.dp[0].where, [s._replace(length=n) for s, n in
                                 zip(w, (3000, 2000))], "segments returned")
            same(c.gather(g.dp[0].where), data, "what was written there")
            same(read_results(g.payload, True), [5000], "length word")
        else:
            same(g.items, [data], "what was placed")


# Fails with: rtr-results
@check("RT-7.3-01", "RT-6.2-06", "RT-6.2-07", server_is="rtrext")
def locations(t):
    """Each arm of a location: EXRW, TBSN, TOOSHORT and NOITEM."""
    c = connect(t)
    w = c.write_chunk(4000)
    spans = (0, 4000), (50, 20), (100, 4000)
    g, types = read_placed(t, c, (50, 20), (100, 4000), directions=[
        placed(100), placed(100), placed(100)])
    same(types, [5, 2, 6], "types")
    same(g.dp[2].length, 0, "length of what is no item")
    # In words: what is neither has no arm.
    r = rpc.Reader(g.first.message.data, 16)
    same((r.u32(), r.u32() and 0, r.u32() and 0, r.u32()), (3, 0, 0, 5),
         "the first of three items")
    r.u32()
    same((r.u32(), r.u32(), r.u32()), (4000, 2, 0), "the second")
    for _ in range(r.u32()):
        r.u32()
    r.u32()
    same((r.u32(), r.u32()), (0, 6), "the third")
    same((r.u32(), r.u32()), (1, len(g.payload)), "count, pslen")
    x = c.new_xid()
    m = read_call(t, x, *spans)
    g = group(c.call_ext(m, rsd=whole(m, Direction(0, EXRW, w), placed(100),
                                      placed()), rsbuf=4))
    same([i.type for i in g.dp], [EXRW, TOOSHORT, TBSN], "types")
    same(c.gather(g.dp[0].where), t.files.content[:4000], "EXRW")
    got = read_results(g.payload, True, False, True)
    same(got, [4000, t.files.content[50:70], 4000], "results")
    same(g.items[2], t.files.content[100:4100], "TBSN")
    # EXRW in a request: like a Read chunk.
    for cuts in (), (5,), (4, 3000):
        data = rpc.pattern(6001, len(cuts))
        x = c.new_xid()
        payload, (at,) = Reduced(x).write(t.files.scratch, 0, 6001).build()
        segments = [v2.Segment(s.handle, s.length, s.offset)
                    for s in c.read_chunk(0, data, cuts)]
        c.group(XMTREQ, x, payload, [Item(at, 6001, EXRW, segments)])
        write_results(group(c.answer_ext(x)).stream(), 6001)
        same(stored(t, c, 0, 6001), data, "what has been written")


# Fails with: rtr-cont-number
@check("RT-9.1-03", "RT-9.4-01", "RT-6.1-01", server_is="rtrext")
def continued_octets(t):
    """XMTCONT, word by word, both ways."""
    c = connect(t, SMALL)
    x = c.new_xid()
    data = rpc.pattern(400, 8)
    m = rpc.compound(x, [rpc.putfh(t.files.scratch), rpc.write(0, data)])
    half = len(m) // 8 * 4
    c.await_credit()
    c.put(rpc.u32(x, 2, c.credit(), 0xffffff15, 0, 0, 2, 1, half) + m[:half],
          c.credit())
    c.await_credit()
    c.put(rpc.u32(x, 2, c.credit(), 0xffffff17, 1, 0xffffff15,
                  len(m) - half) + m[half:], c.credit())
    write_results(group(c.answer_ext(x)).stream(), 400)
    same(stored(t, c, 0, 400), data, "what has been written")
    g, _ = read_placed(t, c, (0, 8192 + 8192))
    same(g.count, len(g.headers), "count")
    for i, h in enumerate(g.headers[1:], 1):
        same(struct.unpack_from(">3I", h.message.data, 12)[0], 0xffffff17,
             "type")
        same(struct.unpack_from(">2I", h.message.data, 16), (i, 0xffffff16),
             "number and type of the initial transmission")


# ---- Placement in requests ----


# Fails with: rtr-offset
@check("RT-7.3-02", server_is="rtrext")
def target_segments(t):
    """An item begins at the offset in its first segment and goes on through
    the others that are listed."""
    c = connect(t)
    for n, offset, spare in ((5000, 0, ()), (5000, 100, ()), (1, 4095, ()),
                             (8192, 0, (1,)), (9000, 4, (1, 2, 4)),
                             (4096, 1, ()), (20001, 4093, (3,)),
                             (1, 0, ()), (3, 4094, ())):
        dp, _ = write_placed(t, c, rpc.pattern(n, n), offset=offset,
                             spare=spare)
        same(set(dp[0].where.numbers) & set(spare), set(), "segments left out")
    # Segments in any order; one listed that is not reached.
    s = c.structure
    data = rpc.pattern(5000, 4)
    x = c.new_xid()
    payload, (at,) = Reduced(x).write(t.files.scratch, 0, 5000).build()
    item = Item(at, 5000, TBSN, Target(0, [2, 0, 1]))
    head = v2.encode(XMTREQ, x, c.credit(), dp=[item], pslen=len(payload),
                     rest=payload)
    body = bytearray(s.targets[2][0] + 4096)
    body[:len(head)] = head
    body[s.targets[2][0]:] = data[:4096]
    body[s.targets[0][0]:s.targets[0][0] + 904] = data[4096:]
    c.await_credit()
    c.put(bytes(body), c.credit())
    a = c.answer_ext(x)
    if isinstance(a, Gathered):
        same(stored(t, c, 0, 5000), data, "what has been written")
    else:
        # Nobody says that they may go down, or be more than are needed.
        expect(a.htype in (v2.ERROR, REPTERR), "%s" % a)
    works(t, c)


# Fails with: lengths-not-compared, rtr-displacements
@check("RT-7.3-03", server_is="rtrext")
def two_items(t):
    """Displacements are in the stream that has the items."""
    c = connect(t)
    for sizes in (4096, 4096), (5000, 3), (1, 2, 3), (7001, 4097, 1):
        write_placed(t, c, *[rpc.pattern(n, n) for n in sizes])
    # Not in order, one inside the other, beyond the end: refused [R9].
    x = c.new_xid()
    payload, (a, b) = Reduced(x).write(t.files.scratch, 0, 100).write(
        t.files.scratch, 100, 100).build()
    before = stored(t, c, 0, 200)
    for disps in (b, a), (a, a), (a, a + 4), (a, 0x7ffffffc), (a + 2, b):
        x = c.new_xid()
        c.group(XMTREQ, x, rpc.u32(x) + payload[4:],
                [(d, bytes(100)) for d in disps])
        h = c.answer_ext(x)
        expect(not isinstance(h, Gathered), "items at %r are taken" % (disps,))
        is_error(h, v2.BAD_XDR)
    # Nor of a length that is not the argument's.
    payload, (a,) = Reduced(x).write(t.files.scratch, 0, 100).build()
    for n in 96, 104:
        x = c.new_xid()
        c.group(XMTREQ, x, rpc.u32(x) + payload[4:], [(a, bytes(n))])
        h = c.answer_ext(x)
        expect(not isinstance(h, Gathered), "%d octets are taken" % n)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    same(stored(t, c, 0, 200), before, "what is there")
    works(t, c)


# Fails with: rtr-number, rtr-response-order
@check("RT-7.3-04", server_is="rtrext")
def nothing_placed(t):
    """No items: the payload is the whole message."""
    c = connect(t)
    x = c.new_xid()
    g = group(c.call_ext(rpc.null(x)))
    same((g.dp, g.payload), ([], rpc.reply(x)), "items and payload")
    # A base Call is answered by a base Reply.
    same(c.null().last.htype, v2.REPLY_INLINE, "type of a base Reply")


# Fails with: rtr-first-only
@check("RT-4.2-01", "RT-9.4-04", "RT-6.2-10", "RT-9.2-02", server_is="rtrext")
def placed_later(t):
    """An item may be in any transmission of the group, which need not have
    any payload; segments are counted through all of them."""
    c = connect(t)
    k, most = len(c.structure.targets), limit(c, REQRXLIM)
    expect(most > 1, "there are no groups")
    for at in range(most):
        # Those before are short: they have a payload and no more.
        dp, count = write_placed(t, c, rpc.pattern(5000, at), first=at * k)
        same((count, dp[0].where.numbers[0]), (at + 1, at * k),
             "count and number")
    # Two items, in the first and in the last.
    n = k * 4096 - 4096
    write_placed(t, c, rpc.pattern(n, 1), rpc.pattern(9000, 2), at=100)
    # The payload in parts, too; one of them empty.
    x = c.new_xid()
    payload, (at,) = Reduced(x).write(t.files.scratch, 0, 5000).build()
    data = rpc.pattern(5000, 9)
    rest = len(payload) - 40
    for parts in [40, rest], [4, 0, len(payload) - 4]:
        if len(parts) > most:
            continue
        x = c.new_xid()
        c.group(XMTREQ, x, rpc.u32(x) + payload[4:], [(at, data)],
                parts=parts, first=k)
        write_results(group(c.answer_ext(x)).stream(), 5000)
        same(stored(t, c, 0, 5000), data, "what has been written")
    # No count of 0 [R6].
    x = c.new_xid()
    c.group(XMTREQ, x, rpc.null(x), count=0)
    h = c.answer_ext(x)
    report(h, x, ext.BADSEQ, 1, 0)


# Fails with: rtr-plain-only
@check("RT-9.2-03", server_is="rtrext")
def payload_crosses(t):
    """A payload may cross segments of the buffer."""
    c = connect(t)
    data = rpc.pattern(6000, 2)
    x = c.new_xid()
    m = rpc.compound(x, [rpc.putfh(t.files.scratch), rpc.write(0, data)])
    g = group(c.call_ext(m))
    write_results(g.stream(), 6000)
    same(stored(t, c, 0, 6000), data, "what has been written")
    # With an item behind it.
    x = c.new_xid()
    payload, (at,) = Reduced(x).op(rpc.putfh(t.files.scratch)).op(
        rpc.write(6000, data)).write(t.files.scratch, 0, 5000).build()
    dp, _ = c.group(XMTREQ, x, payload, [(at, data[:5000])])
    expect(dp[0].where.numbers[0] > 0, "%r" % dp)
    write_results(group(c.answer_ext(x)).stream(), 6000, 5000)
    same(stored(t, c, 0, 12000), data[:5000] + stored(t, c, 5000, 1000) +
         data, "what has been written")


# ---- Directions ----


# Fails with: rtr-ranges
@check("RT-7.4-02", server_is="rtrext")
def ranges(t):
    """A set of directions is for the operations in its range."""
    c = connect(t)
    x = c.new_xid()
    m = read_call(t, x, (0, 3000), (3000, 3000))
    one = len(m) - 32  # where the second READ is
    zero = one - 32
    for sets, want in (
            ([(zero, one), (one, len(m))], [TBSN, TBSN]),
            ([(one, len(m))], [TBSN]), ([(zero, one)], [TBSN]),
            ([(0, zero), (one, len(m))], [NOITEM, TBSN]),
            ([(0, zero), (zero, one)], [NOITEM, TBSN]),
            ([(len(m), len(m) + 100)], [NOITEM])):
        y = c.new_xid()
        g = group(c.call_ext(rpc.u32(y) + m[4:], rsbuf=4, rsd=[
            Range(b, e, [placed()]) for b, e in sets]))
        same(content(t, g, (0, 3000), (3000, 3000)), want,
             "results for ranges %r" % sets)
        # Which of the two it was.
        inline = len(g.payload) > 3000
        if want == [TBSN] or NOITEM in want:
            expect(inline, "both were placed")
            if TBSN in want:
                got, = (d for d in g.items if d is not None)
                second = sets[-1][0] == one
                same(got, t.files.content[3000:6000] if second else
                     t.files.content[:3000], "which one was placed")


# Fails with: rtr-ranges-anyhow
@check("RT-7.4-05", server_is="rtrext")
def ranges_in_order(t):
    """Ranges that overlap or go down are refused."""
    c = connect(t)
    for sets in ([(0, 100), (50, 200)], [(100, 200), (0, 100)],
                 [(0, 100), (0, 100)], [(100, 50)], [(0, 0xffffffff), (8, 9)]):
        x = c.new_xid()
        m = read_call(t, x, (0, 3000), (3000, 3000))
        h = c.call_ext(m, rsd=[Range(b, e, [placed()]) for b, e in sets],
                       rsbuf=4)
        expect(not isinstance(h, Gathered), "ranges %r are taken" % sets)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    works(t, c)


# Fails with: rtr-results, rtr-minlen
@check("RT-7.4-06", server_is="rtrext")
def too_short(t):
    """An item shorter than the least is inline, and uses its direction up."""
    c = connect(t)
    for spans, want in ((((0, 10), (10, 8192)), [TOOSHORT, TBSN]),
                        (((0, 8192), (8192, 10)), [TBSN, TOOSHORT]),
                        (((0, 512), (512, 511)), [TBSN, TOOSHORT])):
        _, types = read_placed(t, c, *spans,
                               directions=[placed(512), placed(512)])
        same(types, want, "results")
    # By explicit RDMA, too: the memory stays as it was.
    w = c.write_chunk(4096)
    _, types = read_placed(t, c, (0, 10),
                           directions=[Direction(512, EXRW, w)])
    same(types, [TOOSHORT], "results")
    same(c.memory(w[0]), b"\xaa" * 4096, "the chunk")


# Fails with: rtr-targets-only
@check("RT-7.4-11", server_is="rtrext")
def too_long(t):
    """What the target segments cannot hold is inline, if that has room."""
    c = connect(t, SMALL)
    for spans, want in ((((0, 9000),), [TOOSHORT]),
                        (((0, 8192),), [TBSN]),
                        (((0, 100), (100, 8100)), [TOOSHORT] * 2)):
        g, types = read_placed(t, c, *spans, rsbuf=1)
        same((types, g.count), (want, 1), "results and transmissions")
    # By RDMA where that may be.
    w = c.write_chunk(9000)
    g = group(by_group(t, c, (0, 9000), rsbuf=1,
                       directions=[Direction(0, CHOICE, w)]))
    same(content(t, g, (0, 9000)), [EXRW], "results of CHOICE")
    works(t, c)


# Fails with: rtr-length-needed
@check("RT-9.2-04", server_is="rtrext")
def length_needed(t):
    """REPLY_RESOURCE says how long a Reply chunk has to be: of all of it."""
    c = connect(t, SMALL)
    for directions in ([placed(), placed()], [placed(), placed(512)],
                       [Direction(0, EXRW, c.write_chunk(3000)), placed()],
                       [placed()], []):
        spans = (0, 3000), (5000, 30000)
        a = by_group(t, c, *spans, rsbuf=1, directions=directions)
        expect(not isinstance(a, Gathered), "XMTRESP")
        same(a.error[0], v2.REPLY_RESOURCE, "the error")
        need = a.error[1]
        a = good(c.call(read_call(t, c.new_xid(), *spans),
                        reply=c.write_chunk(need)))
        expect(a.external, "%d octets are not enough: %s" % (need, a.last))
        same(len(a.payload), need, "octets of the Reply")
        same(read_results(a.payload, False, False),
             [t.files.content[o:o + n] for o, n in spans], "what was read")


# Fails with: rtr-results, rtr-inline
@check("RT-7.4-07", server_is="rtrext")
def one_each(t):
    """Each direction has its item in the response, in order."""
    c = connect(t)
    for reads in 0, 1, 2, 3:
        for n in 0, 1, 3:
            spans = [(1000 * i, 1000 + i) for i in range(reads)]
            _, types = read_placed(t, c, *spans,
                                   directions=[placed()] * n)
            same(types, [TBSN] * min(n, reads) +
                 [NOITEM] * max(0, n - reads),
                 "%d directions for %d READs" % (n, reads))
    # An operation that fails has no item; one behind it is not done.
    x = c.new_xid()
    m = rpc.compound(x, [rpc.putfh(t.files.dir), rpc.read(0, 100),
                         rpc.read(0, 100)])
    g = group(c.call_ext(m, rsd=whole(m, placed(), placed()), rsbuf=4))
    same([i.type for i in g.dp], [NOITEM, NOITEM], "of READs that fail")
    # No data: it is an item nevertheless, or none.
    g, types = read_placed(t, c, (t.files.LENGTH, 100))
    expect(types[0] in (TBSN, TOOSHORT, NOITEM), "%r" % types)


def kinds_for(t, c, direction, n):
    w = c.write_chunk(9000)
    where = {EXRW: w, CHOICE: w, BYSIZE: (5000, w), TBSN: None}[direction]
    x = c.new_xid()
    m = read_call(t, x, (3, n), (5, 20))
    g = group(c.call_ext(m, rsbuf=4, rsd=whole(
        m, Direction(100, direction, where), Direction(
            100, direction, (5000, c.write_chunk(9000)) if direction == BYSIZE
            else None if direction == TBSN else c.write_chunk(9000)),
        Direction(0, direction, where))))
    same([i.type for i in g.dp[1:]], [TOOSHORT, NOITEM], "the other results")
    kind = g.dp[0].type
    data = t.files.content[3:3 + n]
    if kind == EXRW:
        same(c.gather(g.dp[0].where), data, "by explicit RDMA")
    else:
        same(g.items[0], data, "by TBSN")
        same(c.memory(w[0]), b"\xaa" * 9000, "the memory not used")
    return kind


# Fails with: rtr-explicit
@check("RT-7.4-08", server_is="rtrext")
def explicit(t):
    """EXRW is answered by EXRW, TOOSHORT or NOITEM."""
    c = connect(t)
    same({kinds_for(t, c, EXRW, n) for n in (100, 4096, 9000)}, {EXRW},
         "results")
    # Segments too short for it: as a Write chunk that is too short.
    x = c.new_xid()
    m = read_call(t, x, (0, 3000))
    h = c.call_ext(m, rsd=whole(m, Direction(0, EXRW, c.write_chunk(2999))))
    expect(not isinstance(h, Gathered), "3000 octets in 2999")
    expect(h.htype == v2.ERROR and h.error[0] in (
        v2.WRITE_RESOURCE, v2.REPLY_RESOURCE), "%s" % h)
    works(t, c)


# Fails with: rtr-inline
@check("RT-7.4-09", server_is="rtrext")
def by_sends(t):
    """TBSN is answered by TBSN, TOOSHORT or NOITEM."""
    c = connect(t)
    same({kinds_for(t, c, TBSN, n) for n in (100, 4096, 9000)}, {TBSN},
         "results")
    expect(not [e for e in c.iw.events if e[0] == "write" and e[1]],
           "RDMA Writes")


# Fails with: rtr-types, rtr-bysize
@check("RT-7.4-10", server_is="rtrext")
def by_choice(t):
    """CHOICE and BYSIZE: either, as the size says."""
    c = connect(t)
    expect({kinds_for(t, c, CHOICE, n) for n in (100, 4096, 9000)} <=
           {EXRW, TBSN}, "other results")
    for n, want in ((100, TBSN), (4999, TBSN), (5000, EXRW), (9000, EXRW)):
        same(kinds_for(t, c, BYSIZE, n), want, "BYSIZE with %d octets" % n)
    # What does not fit the segments goes by Sends, or the other way round.
    w = c.write_chunk(100)
    x = c.new_xid()
    m = read_call(t, x, (0, 3000))
    a = c.call_ext(m, rsbuf=4, rsd=whole(m, Direction(0, CHOICE, w)))
    if isinstance(a, Gathered):
        same([i.type for i in a.dp], [TBSN], "results")


# Fails with: rtr-number, rtr-structure-wanted
@check("RT-5.3-02", server_is="rtrext")
def explicit_only(t):
    """XMTREQ helps also where there is neither continuation nor placement."""
    c = connect(t, None, rtr=XREQ | XRESP, reqrx=None, respsx=None)
    w = c.write_chunk(5000)
    g, types = read_placed(t, c, (11, 5000), rsbuf=1,
                           directions=[Direction(0, EXRW, w)])
    same((types, g.count), ([EXRW], 1), "types and count")
    same(bytes(c.memory(w[0])), t.files.content[11:5011], "what was written")


# Fails with: rtr-padding
@check("RT-11-01", server_is="rtrext")
def padding(t):
    """Padding is zero, also after traffic that filled all buffers."""
    c = connect(t, SMALL, advertise=100)
    for i in range(30):
        write_placed(t, c, b"\xcc" * 12000)
        read_inline(t, c, 0, 30000)
        good(c.call(rpc.compound(c.new_xid(), [
            rpc.putfh(t.files.scratch), rpc.write(0, b"\xdd" * 20000)])))
    lengths = 0
    for n in list(range(1, 40)) + [4097, 8191, 9000, 15000]:
        for offset in 0, 1:
            g, _ = read_placed(t, c, (offset, n), (n, 3))
            for pad in g.padding:
                same(pad.strip(b"\0"), b"", "padding")
                lengths += len(pad)
    expect(lengths > 40 * 1000, "only %d octets of padding" % lengths)


# ---- Types out of their place ----


def answer_to(t, c, **fields):
    x = c.new_xid()
    m = rpc.null(x)
    c.post(XMTREQ, x, pslen=len(m), rest=m, **fields)
    return x, c.answer_ext(x)


# Fails with: rtr-table-1
@check("RT-6.2-08", server_is="rtrext")
def invalid_types(t):
    """CHOICE and BYSIZE are no locations, TOOSHORT and NOITEM no directions:
    BAD_XDR."""
    c = connect(t)
    for kind in (CHOICE, BYSIZE, 0, 7, 0xffffffff):
        x, h = answer_to(t, c, dp=[Item(0, 0, kind, [])])
        expect(not isinstance(h, Gathered), "location %d is taken" % kind)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    for kind in (TOOSHORT, NOITEM, 0, 7, 0xffffffff):
        x, h = answer_to(t, c, rsd=[Range(0, 40, [Direction(0, kind, None)])])
        expect(not isinstance(h, Gathered), "direction %d is taken" % kind)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    # Structures that end early, and numbers without bounds.
    for words in ((1,), (0xffffffff,), (1, 0, 0, 2, 0, 0xffffffff),
                  (0, 0xffffffff), (0, 1, 0, 9, 0xffffffff), (0, 0, 1, 1),
                  (0x20000000, 0, 0)):
        x = c.new_xid()
        c.raw(x, 2, None, XMTREQ, *words)
        same(is_error(c.take(), v2.BAD_XDR).xid, x, "xid of the ERROR")
    works(t, c)


# Fails with: rtr-results-asked
@check("RT-6.2-09", server_is="rtrext")
def results_only(t):
    """TOOSHORT and NOITEM say nothing in a request: refused [R9]."""
    c = connect(t)
    for kind in TOOSHORT, NOITEM:
        x, h = answer_to(t, c, dp=[Item(0, 0, kind, None)])
        expect(not isinstance(h, Gathered), "type %d is taken" % kind)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    works(t, c)


# ---- Errors ----


def report(h, xid, code, *info, seq=None, direction=ext.CALL):
    """It is that REPTERR."""
    if isinstance(h, Gathered) or h.htype != REPTERR:
        expect(False, "%s instead of REPTERR" % (
            h if not isinstance(h, Gathered) else h.first))
    same(h.info[:1 + len(info)], (code,) + info, "what REPTERR says")
    same((h.xid, h.bad.xid, h.bad.dir), (xid, xid, direction),
         "what REPTERR is about")
    if seq is not None:
        same(h.bad.seq, seq, "its number in the group")
    return h


def begun(t, c, count=2):
    """The first transmission of a group; its xid."""
    x = c.new_xid()
    m = rpc.null(x)
    c.post(XMTREQ, x, count=count, pslen=len(m), rest=m)
    return x


def reports(c, done):
    """REPTERRs that come until the Reply to @done."""
    out = []
    while True:
        h = c.take()
        if h.xid == done and h.htype == v2.REPLY_INLINE:
            return out
        expect(h.htype == REPTERR, "%s instead of REPTERR" % h)
        out.append(h)


def after_error(t, c):
    """What REPTERRs come; then all goes on."""
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=rpc.null(x))
    out = reports(c, x)
    works(t, c)
    return out


# Fails with: rtr-codes, rtr-details
@check("RT-9.5-03", server_is="rtrext")
def wrong_type(t):
    """A type of the base protocol inside a group: BADHMT."""
    c = connect(t)
    for htype in v2.CALL_INLINE, v2.CALL_MIDDLE, v2.REPLY_INLINE:
        begun(t, c)
        y = c.new_xid()
        c.post(htype, y, payload=rpc.null(y))
        out = after_error(t, c)
        expect(out, "no REPTERR for type %d" % htype)
        report(out[0], y, ext.BADHMT, XMTCONT, htype, direction=ext.REPLY
               if htype == v2.REPLY_INLINE else ext.CALL)


# Fails with: rtr-codes, rtr-details
@check("RT-9.5-04", server_is="rtrext")
def wrong_optional_type(t):
    """Another of the extension's types inside a group: BADOMT."""
    c = connect(t)
    begun(t, c)
    y = c.new_xid()
    m = rpc.null(y)
    c.post(XMTREQ, y, pslen=len(m), rest=m)
    out = after_error(t, c)
    expect(out, "no REPTERR")
    report(out[0], y, ext.BADOMT, XMTCONT, XMTREQ)
    # Also where it says that another type had begun it [R5].
    x = begun(t, c)
    c.post(XMTCONT, x, xnum=1, itype=XMTRESP, pslen=0)
    out = after_error(t, c)
    expect(out, "no REPTERR")
    # It says REPLY of itself, and is part of a request.
    report(out[0], x, ext.BADOMT, XMTREQ, XMTRESP, direction=out[0].bad.dir)


# Fails with: rtr-cont-number, rtr-codes, rtr-badcont
@check("RT-9.5-05", server_is="rtrext")
def no_group(t):
    """A continuation where there is no group: BADCONT."""
    c = connect(t)
    for xnum in 0, 1, 7:
        x = c.new_xid()
        c.post(XMTCONT, x, xnum=xnum, itype=XMTREQ, pslen=4, rest=bytes(4))
        report(c.take(), x, ext.BADCONT)
    # Behind a group that is complete, too.
    x = c.new_xid()
    m = rpc.null(x)
    group(c.call_ext(m, parts=[20, len(m) - 20]))
    c.post(XMTCONT, x, xnum=2, itype=XMTREQ, pslen=0)
    report(c.take(), x, ext.BADCONT)
    works(t, c)


# Fails with: rtr-codes, rtr-details, rtr-number-ignored
@check("RT-9.5-06", "RT-9.4-03", server_is="rtrext")
def wrong_number(t):
    """A transmission out of its order: BADSEQ."""
    for xnum in 0, 2, 3, 0xffffffff:
        c = connect(t)
        x = begun(t, c, 3)
        c.post(XMTCONT, x, xnum=xnum, itype=XMTREQ, pslen=0)
        out = after_error(t, c)
        expect(out, "no REPTERR for number %d" % xnum)
        report(out[0], x, ext.BADSEQ, 1, xnum)


# Fails with: rtr-codes, rtr-details, rtr-xid-ignored
@check("RT-9.5-07", "RT-9.4-02", server_is="rtrext")
def wrong_xid(t):
    """Another XID inside a group: BADXID."""
    c = connect(t)
    x = begun(t, c)
    y = c.new_xid()
    c.post(XMTCONT, y, xnum=1, itype=XMTREQ, pslen=0)
    out = after_error(t, c)
    expect(out, "no REPTERR")
    report(out[0], y, ext.BADXID, x, y)


def misplaced(t, c, where, length=100):
    """A WRITE whose data is said to be at @where; xid, answer"""
    x = c.new_xid()
    payload, (at,) = Reduced(x).write(t.files.scratch, 0, length).build()
    fields = dict(dp=[Item(at, length, TBSN, where)], pslen=len(payload))
    # It ends with the first segment.
    end = sum(c.structure.targets[0])
    n = len(v2.encode(XMTREQ, x, 0, rest=payload, **fields))
    c.post(XMTREQ, x, rest=payload + bytes(end - n), **fields)
    return x, c.answer_ext(x)


# Fails with: rtr-codes, rtr-offset
@check("RT-9.5-08", server_is="rtrext")
def bad_offset(t):
    """An offset that is not in its segment: BADOFF."""
    c = connect(t)
    size = c.structure.targets[0][1]
    for offset in size, size + 1, 0x80000000, 0xffffffff:
        x, h = misplaced(t, c, Target(offset, [0, 1]))
        report(h, x, ext.BADOFF, offset)
        low, high = h.info[2:]
        expect(low <= size - 1 <= high < offset or high == size - 1,
               "range %d to %d" % (low, high))
    works(t, c)


def told_range(h, least=0):
    """A value inside the range that REPTERR tells is a badly aligned one."""
    value, low, high = h.info[1:]
    expect(least <= low <= high, "range %d to %d" % (low, high))
    expect(not low <= value <= high, "%d is in %d to %d" % (value, low, high))


# Fails with: rtr-range, rtr-range-payload
@check("RT-9.5-11", server_is="rtrext")
def ranges(t):
    """The range of a value excludes it; where none would be right, or a list
    is too short, it is BAD_XDR."""
    c = connect(t)
    (first, size), k = c.structure.targets[0], len(c.structure.targets)

    def write(length, numbers, end, offset=0):
        """A WRITE in a message of @end octets."""
        x = c.new_xid()
        m, (at,) = Reduced(x).write(t.files.scratch, 0, length).build()
        fields = dict(dp=[Item(at, length, TBSN, Target(offset, numbers))],
                      pslen=len(m))
        n = len(v2.encode(XMTREQ, x, 0, rest=m, **fields))
        c.post(XMTREQ, x, rest=m + bytes(max(end - n, 0)), **fields)
        return x, c.answer_ext(x)

    # It ends inside a segment, or before it; or there is no such one.
    for numbers, end in (([0, 1], first + size + 1), ([0, 1], first + size),
                         ([0, 2], first + 2 * size + 5), ([0, k], first + size),
                         ([k - 1], first + size), ([1], first + size + 8)):
        x, h = write(size * len(numbers) - 100, numbers, end)
        told_range(report(h, x, ext.BADTBSN, numbers[-1]))
    for length, numbers, end in (
            (100, [0], first + 99), (100, [0], first), (100, [0], 0),
            (100, [0, 1], first + 99),  # as far as none is reached
            (100, [], first + size), (size + 1, [0], first + size)):
        x, h = write(length, numbers, end)
        same(is_error(h, v2.BAD_XDR).xid, x, "xid of the ERROR")
    for offset in size, 0xffffffff:
        x, h = write(100, [0], first + size, offset)
        told_range(report(h, x, ext.BADOFF, offset))
    # Lengths of the payload.
    for pslen, n in (0, 40), (44, 40), (0xfffffffc, 40), (8, 4):
        x = c.new_xid()
        c.post(XMTREQ, x, pslen=pslen, rest=rpc.null(x)[:n])
        told_range(report(c.answer_ext(x), x, ext.BADPL, pslen))
    for pslen, n in (0, 0), (4, 0), (4, 3), (8, 0):
        x = c.new_xid()
        c.post(XMTREQ, x, pslen=pslen, rest=rpc.null(x)[:n])
        same(is_error(c.answer_ext(x), v2.BAD_XDR).xid, x, "xid of the ERROR")
    works(t, c)


# Fails with: rtr-intruder-rest, rtr-misplaced-rest, rtr-rest-ends
@check("RT-9.5-12", server_is="rtrext")
def refused_rest(t):
    """What follows of groups that were refused is dropped in silence: also of
    one that came amid another, or amid a continued message."""
    c = connect(t)

    def rest(x, n=3):
        for i in range(1, n):
            c.post(XMTCONT, x, xnum=i, itype=XMTREQ, pslen=4, rest=bytes(4))

    x, y = begun(t, c, 3), begun(t, c, 3)
    rest(x)
    rest(y)
    out = after_error(t, c)
    same(len(out), 1, "REPTERRs about a group amid another")
    report(out[0], y, ext.BADOMT)
    x, y = begun(t, c, 3), begun(t, c, 3)
    rest(y)
    rest(x)
    same(len(after_error(t, c)), 1, "REPTERRs, the other way round")
    for late in False, True:
        x = c.new_xid()
        m = rpc.null(x)
        c.post(v2.CALL_MIDDLE, x, remaining=20, payload=m[:20])
        y = begun(t, c, 3)
        # Nor does what follows of the continued message end that.
        if late:
            c.post(v2.CALL_MIDDLE, x, remaining=10, payload=m[20:30])
        rest(y)
        got = {is_error(c.take(), v2.INVAL_CONT).xid for _ in range(2)}
        same(got, {x, y}, "what INVAL_CONT is about")
        same(after_error(t, c), [], "REPTERRs about a group amid fragments")


# Fails with: rtr-direction
@check("RT-9.5-13", server_is="rtrext")
def report_direction(t):
    """REPTERR with a direction that is neither CALL nor REPLY: BAD_XDR."""
    c = connect(t)
    for words in ((5, 2, 0, 0, 3), (5, 0xffffffff, 0, 0, 3),
                  (5, 0, 0, 1, 5, 2, 0, 3)):
        x = c.new_xid()
        c.raw(x, 2, None, REPTERR, *words)
        same(is_error(c.take(), v2.BAD_XDR).xid, x, "xid of the ERROR")
    works(t, c)


# Fails with: rtr-early
@check("RT-5.1-02", server_is="rtrext")
def before_properties(t):
    """What comes before both FINALs is answered with INVAL_CONT [M2]."""
    for first in True, False:
        c = ext.Conn(t.iwarp(), 64)
        if not first:
            c.send_props(ext.init_props(0), v2.PROP_MIDDLE)
        for htype, fields in (
                (XMTREQ, dict(pslen=40)),
                (XMTCONT, dict(xnum=1, itype=XMTREQ, pslen=0)),
                (REPTERR, dict(bad=ext.Id(1, 0, 0), info=(ext.BADCONT,)))):
            x = c.new_xid()
            if htype == XMTREQ:
                fields["rest"] = rpc.null(x)
            c.post(htype, x, **fields)
            h = c.take()
            while h.htype in (v2.PROP_MIDDLE, v2.PROP_FINAL):
                h = c.take()
            same(is_error(h, v2.INVAL_CONT).xid, x,
                 "xid of the ERROR to %s" % ext.NAMES[htype])
            if first:
                c = ext.Conn(t.iwarp(), 64)


# Fails with: reads-not-compared
@check("RT-3.3-02", server_is="rtrext")
def eligible_arguments(t):
    """An item of a request that is not DDP-eligible: READ_CHUNKS."""
    c = connect(t)
    for m, at, end, data in ineligible(t, c.new_xid):
        if data or at % 4 or end % 4:
            continue
        x = int.from_bytes(m[:4], "big")
        rest = m[:at] + m[end:]
        for where in (m[at:end], Item(at, end - at, EXRW, [
                v2.Segment(s.handle, s.length, s.offset)
                for s in c.read_chunk(at, m[at:end])])):
            c.group(XMTREQ, x, rest, [where if isinstance(where, Item) else
                                      (at, where)])
            h = c.answer_ext(x)
            expect(not isinstance(h, Gathered) and h.htype == v2.ERROR and
                   h.error[0] == v2.READ_CHUNKS, "%s for %d to %d of %s" % (
                       h, at, end, m.hex()))
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")
    works(t, c)


# Fails with: rtr-codes
@check("RT-9.5-09", server_is="rtrext")
def bad_segment(t):
    """A segment that the group does not have: BADTBSN."""
    c = connect(t)
    k = len(c.structure.targets)
    for numbers in [k], [0xffffffff], [0, k + 5]:
        x, h = misplaced(t, c, Target(4000, numbers), 5000)
        report(h, x, ext.BADTBSN, numbers[-1])
        same(h.info[3], k - 1, "the highest number")
    # Too few for the length, and what the transmission does not reach.
    for where, n in ((Target(0, []), 100), (Target(0, [0]), 4097),
                     (Target(4090, [0]), 100), (Target(0, [0, 1]), 4097),
                     (Target(0, [k - 1]), 100)):
        x, h = misplaced(t, c, where, n)
        expect(not isinstance(h, Gathered), "%r for %d octets is taken" % (
            where, n))
        expect(h.htype in (REPTERR, v2.ERROR), "%s" % h)
    works(t, c)


# Fails with: rtr-codes
@check("RT-9.5-10", server_is="rtrext")
def bad_length(t):
    """A payload length that does not fit the transmission: BADPL."""
    c = connect(t)
    x = c.new_xid()
    m = rpc.null(x)
    for pslen in len(m) + 4, len(m) - 1, 0xffffffff, 0xfffffffc:
        x = c.new_xid()
        c.post(XMTREQ, x, pslen=pslen, rest=rpc.null(x))
        h = c.answer_ext(x)
        report(h, x, ext.BADPL, pslen, seq=0)
        expect(len(h.info) == 4 and h.info[3] <= len(m), "%r" % (h.info,))
    # In a continuation.
    x = begun(t, c)
    c.post(XMTCONT, x, xnum=1, itype=XMTREQ, pslen=8, rest=bytes(4))
    out = after_error(t, c)
    expect(out, "no REPTERR")
    report(out[0], x, ext.BADPL, 8, seq=1)


# Fails with: rtr-report-number
@check("RT-9.1-04", "RT-9.5-01", "RT-9.5-02", "RT-6.1-02", server_is="rtrext")
def report_octets(t):
    """REPTERR, word by word, both ways."""
    c = connect(t)
    x = c.new_xid()
    c.post(XMTCONT, x, xnum=1, itype=XMTREQ, pslen=0)
    d = c.take().message.data
    n = struct.unpack_from(">I", d, 28)[0]
    expect(n in (0, 1), "%d is no bool" % n)
    same(d[:8] + d[12:28], rpc.u32(x, 2, 0xffffff18, x, 0, 1),
         "xid, version, type; xid, direction and number of the bad one")
    same(d[32 + 12 * n:], rpc.u32(3), "the details")
    x = begun(t, c, 3)
    c.post(XMTCONT, x, xnum=2, itype=XMTREQ, pslen=0)
    d = c.take().message.data
    n = struct.unpack_from(">I", d, 28)[0]
    if n:
        same(d[32:44], rpc.u32(x, 0, 0), "the one that led to it")
    same(d[12:28] + d[32 + 12 * n:],
         rpc.u32(0xffffff18, x, 0, 2, 4, 1, 2), "all else")
    # Each code is understood, about a response or about nothing.
    for code, k in ext.INFO.items():
        for lead in (), (x, 1, 0):
            g, _ = read_placed(t, c, (1, 3000))
            c.raw(g.xid, 2, None, 0xffffff18, g.xid, 1, 0, len(lead) // 3,
                  *lead, code, *range(k))
            c.raw(0x999, 2, None, 0xffffff18, 0x999, 0, 0, len(lead) // 3,
                  *lead, code, *range(k))
    works(t, c)
    same([h for h in c.seen if h.htype in (v2.ERROR,)], [], "ERRORs")


# Fails with: rtr-alone
@check("RT-4.2-02", server_is="rtrext")
def in_one_go(t):
    """Nothing comes between the transmissions of a group but GRANTs and
    errors."""
    c = connect(t, SMALL, advertise=100)
    x = c.new_xid()
    m = rpc.compound(x, [rpc.putfh(t.files.scratch), rpc.write(0, bytes(50))])

    def between(_):
        c.grant()
        c.post(v2.ERROR, 0x999, error=(v2.SYSTEM,))
        c.post(REPTERR, 0x999, bad=ext.Id(0x999, 1, 0), info=(ext.BADCONT,))

    write_results(group(c.call_ext(m, parts=[40, len(m) - 40],
                                   between=between)).stream(), 50)
    # Theirs, with others under way: what answer_ext() has joined had
    # nothing between.
    xids = []
    for i in range(6):
        x = c.new_xid()
        m = read_call(t, x, (i, 20000))
        c.group(XMTREQ, x, m, rsd=whole(m, placed()), rsbuf=4)
        xids.append(x)
        y = c.new_xid()
        c.send_call(read_call(t, y, (i, 9000)))
        xids.append(y)
    for i, x in enumerate(xids):
        if i % 2:
            good(c.answer(x))
        else:
            content(t, group(c.answer_ext(x)), (i // 2, 20000))
    inside = 0
    for h in c.seen:
        if inside and h.htype not in (v2.GRANT, v2.ERROR, REPTERR):
            same(h.htype, XMTCONT, "type inside of a group")
        if h.htype == XMTRESP:
            inside = h.count - 1
        elif h.htype == XMTCONT:
            inside -= 1
