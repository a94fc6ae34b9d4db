# SPDX-License-Identifier: BSD-3-Clause
"""rtrext in a Requester: what it asks for, and what it makes of answers."""

from . import ext, kit, rpc, v2
from .ext import (EXRW, NOITEM, REPTERR, TBSN, XCONT, XMTCONT, XMTREQ, XMTRESP,
                  XREQ, XRESP, Gathered, Item)
from .kit import REQUESTER, expect, same
from .requester import (Call, Responder, read3, read3_head, write3,
                        write3_results)
from .requester_checks import fails
from .xchar_checks import update

SMALL = ext.plain_and_targets(4096, 1)


def check(*ids, **more):
    return kit.check(*ids, role=REQUESTER, **more)


class ExtResponder(ext.Ext, Responder):
    def get_request(self, patience=None):
        """The next Call: a Call, or a Gathered by XMTREQ."""
        headers = []
        while True:
            h = self.take(patience)
            if h.htype in (v2.PROP_MIDDLE, v2.PROP_FINAL, *ext.XCHAR_TYPES):
                continue
            if h.htype in (v2.ERROR, REPTERR):
                raise kit.Wrong("%s instead of a Call" % h)
            headers.append(h)
            first = headers[0]
            if first.htype == XMTREQ:
                if headers[1:] and (h.htype, h.xid, h.xnum, h.itype) != (
                        XMTCONT, first.xid, len(headers) - 1, XMTREQ):
                    raise kit.Wrong("%s inside of a group" % h)
                if h.pslen > len(h.rest) or h.pslen % 4:
                    raise kit.Wrong("%s: pslen %d" % (h, h.pslen))
                if len(headers) >= first.count:
                    return Gathered(headers, self.own, self.iw)
            elif h.htype != v2.CALL_MIDDLE:
                return Call(self, headers)

    def respond(self, g, results, *items, **how):
        """XMTRESP: an accepted Reply; items: (displacement behind the RPC
        header, octets), or an Item."""
        self.group(XMTRESP, g.xid, rpc.reply(g.xid, results),
                   [i if isinstance(i, Item) else (i[0] + 24, i[1])
                    for i in items], **how)


def connect(t, *options, structure=ext.OURS, advertise=64, **props):
    """(TCP client, connection past the properties)"""
    s = t.start("--extensions", "rtrext", *options)
    tcp = s.tcp()
    c = t.accept(s, advertise, kind=ExtResponder)
    c.greet(ext.init_props(0, structure=structure, **props))
    return tcp, c


def null_works(tcp, c, xid=0x77777):
    tcp.send(rpc.null(xid))
    reply(c, c.get_request())
    same(tcp.reply().stat, 0, "accept_stat of NULL")


def reply(c, call, results=b"", *items):
    """However it was asked."""
    if isinstance(call, Gathered):
        c.respond(call, results, *items)
    else:
        c.answer_inline(call, results)


def written(tcp, c, data, xid=5):
    """A WRITE, taken and answered: what it came as."""
    m = write3(xid, data)
    tcp.send(m)
    call = c.get_request()
    got = call.stream() if isinstance(call, Gathered) else call.fetch()
    same(got, m, "the stream")
    reply(c, call, write3_results(len(data)))
    same(tcp.reply().stat, 0, "accept_stat")
    return call


def asked(tcp, c, n, xid=6):
    """A READ by XMTREQ."""
    tcp.send(read3(xid, n))
    call = c.get_request()
    expect(isinstance(call, Gathered), "a READ of %d octets by %s" % (
        n, getattr(call, "last", "")))
    return call


def direction(g):
    """The one direction in it."""
    one, = g.first.rsd
    d, = one.items
    expect(one.begin < one.end, "range %r" % (one,))
    return d


def is_read(tcp, data):
    same(tcp.recv()[-(len(data) + -len(data) % 4):],
         data + bytes(-len(data) % 4), "what the client got")


# Fails with: rtr-never
@check("RT-3.3-01")
def eligible_only(t):
    """What is placed is what is DDP-eligible: the data of READ and WRITE."""
    tcp, c = connect(t)
    for proc, args in ((0, b""), (1, rpc.opaque(b"fh")),
                       (3, rpc.opaque(b"fh") + rpc.opaque("n" * 5000)),
                       (16, rpc.opaque(b"fh") + bytes(16) + rpc.u32(8192))):
        m = rpc.call(proc, rpc.NFS, 3, proc, args)
        tcp.send(m)
        call = c.get_request()
        if isinstance(call, Gathered):
            same((call.dp, call.first.rsd, call.stream()), ([], [], m),
                 "items, directions, stream of procedure %d" % proc)
        reply(c, call, rpc.u32(20, 0) if proc else b"")
        tcp.reply()
    data = rpc.pattern(8192, 1)
    call = written(tcp, c, data)
    expect(isinstance(call, Gathered), "WRITE by %s" % getattr(
        call, "last", ""))
    same([(i.type, i.length) for i in call.dp], [(TBSN, 8192)], "items")
    same(call.dp[0].disp, len(write3(5, b"")), "displacement")
    call = asked(tcp, c, 8192)
    same(direction(call).type, TBSN, "direction")
    c.respond(call, read3_head(8192), (20, data))
    is_read(tcp, data)


# Fails with: rtr-bits, rtr-asks-anyone
@check("RT-5.1-01")
def not_announced(t):
    """A peer that has not announced the operation does not get it."""
    for how in (dict(rtr=0, structure=None, reqrx=None, respsx=None),
                dict(rtr=0), dict(rtr=XRESP | XCONT), dict(rtr=8)):
        tcp, c = connect(t, **how)
        for n in 100, 8192, 50000:
            expect(not isinstance(written(tcp, c, bytes(n)), Gathered),
                   "XMTREQ with %r" % how)
            tcp.send(read3(7, n))
            call = c.get_call()
            c.error(call.xid, v2.SYSTEM)
            tcp.recv()
        same([h for h in c.seen if h.htype > 13], [], "with %r" % how)
        t.stop()


# Fails with: rtr-credits
@check("RT-4.3-01")
def too_few_credits(t):
    """Without the credits for a group: explicit RDMA."""
    for advertise, want in ((1, False), (2, False), (20, True)):
        tcp, c = connect(t, structure=SMALL, advertise=advertise)
        null_works(tcp, c)
        call = written(tcp, c, rpc.pattern(3 * 4096, 2))
        same(isinstance(call, Gathered), want,
             "a group with %d credits" % advertise)
        if not want:
            expect(call.reads or call.external, "%s" % call.last)
        t.stop()


# Fails with: rtr-limits, rtr-limit-ignored
@check("RT-5.2-01")
def request_limit(t):
    """A request that needs more transmissions than the peer takes is made
    with chunks."""
    data = rpc.pattern(3 * 4096, 3)
    for most in None, 0, 1, 2, 3, 4:
        tcp, c = connect(t, structure=SMALL, reqrx=most)
        call = written(tcp, c, data)
        if most and most >= 3:
            expect(isinstance(call, Gathered), "with %d: %s" % (
                most, getattr(call, "last", "")))
            same(call.count, 3, "transmissions")
        else:
            expect(not isinstance(call, Gathered) or
                   call.count <= max(most or 1, 1), "a longer group")
            if not isinstance(call, Gathered):
                expect(call.reads or call.external, "%s" % call.last)
        t.stop()
    # In several only for those that take XMTCONT.
    tcp, c = connect(t, structure=SMALL, rtr=XREQ | XRESP)
    written(tcp, c, data)
    same(c.have(XMTCONT), [], "XMTCONTs")


# Fails with: xchar-rtr-kept
@check("RT-8.4-02")
def limit_changes(t):
    """A limit that UPDXCH lowers holds from then on, as does the support."""
    data = rpc.pattern(3 * 4096, 3)
    s = t.start("--extensions", "rtrext,xcharext")
    tcp = s.tcp()
    c = t.accept(s, 64, kind=ExtResponder)
    c.greet(ext.init_props(structure=SMALL))
    call = written(tcp, c, data)
    expect(isinstance(call, Gathered), "%s" % getattr(call, "last", ""))
    same(call.count, 3, "transmissions")
    for which, value, want in ((ext.REQRXLIM, 2, False),
                               (ext.REQRXLIM, 3, True),
                               (ext.RTRSUPP, XREQ | XRESP, False),
                               (ext.RTRSUPP, 7, True),
                               (ext.RTRSUPP, 0, False)):
        update(c, which, value)
        # It has been taken when what comes behind it is answered.
        c.post(ext.REQXCH, c.new_xid())
        c.take_ext(ext.RESPXCH)
        call = written(tcp, c, data)
        same(isinstance(call, Gathered), want, "a group with %d for %#x" % (
            value, which))


def refused_first(t):
    """One whose CONNPROP was refused before our FINAL."""
    s = t.start("--extensions", "rtrext,xcharext")
    tcp = s.tcp()
    c = t.accept(s, 64, kind=ExtResponder)
    h = c.next()
    same(h.htype, v2.PROP_FINAL, "the first message")
    c.post(v2.ERROR, h.xid, error=(v2.BAD_PROPVAL,))
    c.send_props(ext.init_props())
    data = rpc.pattern(8192, 1)
    for _ in range(5):
        expect(not isinstance(written(tcp, c, data), Gathered), "an XMTREQ")
    return c


# Fails with: rtr-unannounced
@check("RT-5.1-03")
def unannounced(t):
    """A Requester whose CONNPROP was refused does not use rtrext: the peer
    does not know that it can be answered [M2]."""
    c = refused_first(t)
    same([h for h in c.seen if h.htype in ext.RTR_TYPES], [], "of rtrext")


# Fails with: xchar-unannounced
@check("XC-4-05")
def unannounced_xchar(t):
    """Nor does it use xcharext."""
    c = refused_first(t)
    same([h for h in c.seen if h.htype in ext.XCHAR_TYPES], [], "of xcharext")


# Fails with: rtr-any-target
@check("RT-5.3-01")
def nowhere_to_place(t):
    """Nothing is placed at a peer that has no targetable segments."""
    plain = ext.Structure([ext.Group(2, 8192, 4096, 0)])
    for structure in None, plain:
        tcp, c = connect(t, structure=structure)
        for n in 5000, 8192, 40000:
            call = written(tcp, c, rpc.pattern(n, n))
            if isinstance(call, Gathered):
                same([i for i in call.dp if i.type == TBSN], [], "placed")
            tcp.send(read3(7, n))
            call = c.get_request()
            data = rpc.pattern(n, 4)
            if not isinstance(call, Gathered):
                c.answer_inline(call, read3_head(n), [c.fill(call, 0, data)])
            elif direction(call).type == EXRW:
                c.respond(call, read3_head(n), Item(44, n, EXRW, c.place(
                    direction(call).where, data)))
            else:
                # It says how it takes data itself, whatever this end does.
                c.respond(call, read3_head(n), (20, data))
            is_read(tcp, data)
        t.stop()


# ---- Answers ----


def base_again(tcp, c, m, results, data=None):
    """The Call comes again, by base facilities, and is answered."""
    call = c.get_request()
    expect(not isinstance(call, Gathered), "XMTREQ again")
    same(call.fetch(), m, "the stream then")
    if data is None:
        c.answer_inline(call, results)
    else:
        c.answer_inline(call, results, [c.fill(call, 0, data)])
    same(tcp.reply().stat, 0, "accept_stat")


# Fails with: rtr-report-number, rtr-never, rtr-given-up
@check("RT-5.4-02")
def resent(t):
    """After REPTERR the Call comes again, without the extension; so it does
    after INVAL_HTYPE, and then no more of it."""
    data = rpc.pattern(8192, 5)
    for code in 1, 2, 3, 4, 5, 6, 7, 8:
        tcp, c = connect(t)
        for kind in "write", "read":
            m = write3(9, data) if kind == "write" else read3(9, 8192)
            tcp.send(m)
            g = c.get_request()
            expect(isinstance(g, Gathered), "no XMTREQ")
            c.post(REPTERR, g.xid, bad=ext.Id(g.xid, 0, 0),
                   info=(code,) + (7,) * ext.INFO[code])
            if kind == "write":
                base_again(tcp, c, m, write3_results(8192))
            else:
                base_again(tcp, c, m, read3_head(8192), data)
        t.stop()
    tcp, c = connect(t)
    m = write3(9, data)
    tcp.send(m)
    g = c.get_request()
    c.error(g.xid, v2.INVAL_HTYPE)
    base_again(tcp, c, m, write3_results(8192))
    for n in 8192, 5000:
        expect(not isinstance(written(tcp, c, rpc.pattern(n, 1)), Gathered),
               "XMTREQ after INVAL_HTYPE")
    same(len(c.have(XMTREQ)), 1, "XMTREQs")


def reported(tcp, c, g, code, *info):
    """REPTERR about the response to @g, which fails."""
    h = c.take_ext(REPTERR)
    same(h.info[:1 + len(info)], (code,) + info, "what REPTERR says")
    same(h.bad.dir, ext.REPLY, "the direction that REPTERR names")
    fails(tcp, g.xid)


# Fails with: rtr-never, rtr-too-long
@check("RT-5.4-01")
def broken_response(t):
    """What is wrong with a response is told by REPTERR, and the Call ends."""
    tcp, c = connect(t)
    size = 4096

    def first(n=1, **more):
        g = asked(tcp, c, 8192 if n == 1 else 100000)
        expect(g.first.rsbuf >= n, "rsbuf %d" % g.first.rsbuf)
        m = rpc.reply(g.xid, read3_head(8192))
        fields = dict(dp=[], count=n, pslen=len(m))
        fields.update(more)
        # It ends with the first two target segments.
        end = sum(c.structure.targets[1])
        size = len(v2.encode(XMTRESP, 0, 0, rest=m, **fields))
        c.post(XMTRESP, g.xid, rest=m + bytes(end - size), **fields)
        return g

    def goes_on():
        null_works(tcp, c)
        data = rpc.pattern(8192, 7)
        g = asked(tcp, c, 8192)
        c.respond(g, read3_head(8192), (20, data))
        is_read(tcp, data)

    g = first(2)
    c.post(XMTCONT, g.xid, xnum=2, itype=XMTRESP, pslen=0)
    reported(tcp, c, g, ext.BADSEQ, 1, 2)
    goes_on()
    t.stop()
    tcp, c = connect(t)
    g = first(dp=[Item(44, 8192, TBSN, ext.Target(0, [0, 999]))])
    reported(tcp, c, g, ext.BADTBSN, 999)
    goes_on()
    t.stop()
    tcp, c = connect(t)
    g = first(dp=[Item(44, 8192, TBSN, ext.Target(size, [0, 1]))])
    reported(tcp, c, g, ext.BADOFF, size)
    goes_on()
    t.stop()
    tcp, c = connect(t)
    g = first(pslen=40000)
    reported(tcp, c, g, ext.BADPL, 40000)
    goes_on()
    t.stop()
    # For nobody; a continuation of nothing.
    tcp, c = connect(t)
    m = rpc.reply(0x4321)
    c.post(XMTRESP, 0x4321, pslen=len(m), rest=m)
    h = c.take_ext(REPTERR)
    same((h.xid, h.info[0]), (0x4321, ext.BADXID), "REPTERR")
    c.post(XMTCONT, 0x4321, xnum=1, itype=XMTRESP, pslen=0)
    h = c.take_ext(REPTERR)
    same((h.xid, h.info[0]), (0x4321, ext.BADCONT), "REPTERR")
    goes_on()
    t.stop()
    # Results that its directions exclude, too many or too few of them [R9].
    for what in "explicit", "none", "two", "long", "elsewhere":
        tcp, c = connect(t)
        g = asked(tcp, c, 8192)
        m = rpc.reply(g.xid, read3_head(8192))
        at = len(m)
        items = {"explicit": [Item(at, 8192, EXRW, [v2.Segment(1, 8192, 0)])],
                 "none": [], "two": [Item(at, 0, NOITEM, None)] * 2,
                 "long": [(at, bytes(8196))],
                 "elsewhere": [(at + 400, bytes(8192))]}[what]
        c.group(XMTRESP, g.xid, m, items)
        # The Call may fail before that is here.
        h = c.take()
        expect(h.htype in (v2.ERROR, REPTERR), "%s for %s" % (h, what))
        fails(tcp, g.xid)
        goes_on()
        t.stop()
