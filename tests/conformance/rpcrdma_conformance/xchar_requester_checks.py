# SPDX-License-Identifier: BSD-3-Clause
"""xcharext in a Requester: draft-dnoveck-nfsv4-rpcrdma-xcharext-02."""

from . import ext, kit, rpc, v2
from .ext import INITXCH, REQREMINV, REQXCH, RESPXCH, UPDXCH
from .kit import REQUESTER, expect, same
from .requester import read3, read3_head
from .reverse_checks import reverse
from .rtr_requester_checks import ExtResponder, null_works
from .v2 import BRS, RBSIZ
from .xchar_checks import ALL, number


def check(*ids, **more):
    return kit.check(*ids, role=REQUESTER, **more)


def connect(t, *options, xch=ALL, more=(), advertise=64, wait=True):
    """(TCP client, connection with both FINALs and its INITXCH)"""
    s = t.start("--extensions", "xcharext", *options)
    tcp = s.tcp()
    c = t.accept(s, advertise, kind=ExtResponder)
    c.greet(ext.init_props(xch, 0, None, None, None, more))
    if wait:
        c.initial = c.take_ext(INITXCH)
    return tcp, c


def value(c, which, default=None):
    got = dict(c.initial.start).get(which)
    return default if got is None else number(got)


# Fails with: xchar-reverse
@check("XC-3-03", "XC-3.3-01")
def reverse_levels(t):
    """Backward Request Support is property 5, with the values of version 2:
    general is 3, not 2; and 0 where nothing is said."""
    for level, want in (("none", 0), ("simple", 1), ("continued", 2),
                        ("general", 3)):
        tcp, c = connect(t, "--reverse", level)
        same(value(c, BRS, 0), want, "the level %s in INITXCH" % level)
        same(c.theirs.get(BRS, 0), want, "the level %s" % level)
        null_works(tcp, c)
        t.stop()


# Fails with: xchar-remote-number
@check("XC-4.1-02")
def all_relevant(t):
    """INITXCH has what CONNPROP had, and more; what it marks as not to be
    changed is not changed."""
    tcp, c = connect(t, "--recv-size", "8192")
    final = next(h for h in c.seen if h.htype == v2.PROP_FINAL)
    start = dict(c.initial.start)
    for which, data in final.props:
        if which < v2.HOSTAUTH:
            same(start.get(which), data, "value %#x in INITXCH" % which)
    expect(REQREMINV in start, "no Requester Remote Invalidation")
    n = len(c.initial.start)
    marked = {c.initial.start[i][0] for i in ext.bits(c.initial.nochg, n)}
    same({i for i in range(32 * len(c.initial.nochg)) if i >= n and
          i in ext.bits(c.initial.nochg, 32 * len(c.initial.nochg))}, set(),
         "elements that the set does not have")
    # Whatever is asked for.
    x = c.new_xid()
    c.post(REQXCH, x, want=[(k, v) for k, v in c.initial.start] +
           [(RBSIZ, 16384)])
    h = c.take_ext(RESPXCH)
    for i in ext.bits(h.pend, n) | ext.bits(h.done, n):
        expect(c.initial.start[i][0] not in marked,
               "%#x can be changed" % c.initial.start[i][0])
    for _ in range(300):
        null_works(tcp, c)
    for h in c.have(UPDXCH):
        expect(h.now[0] not in marked, "UPDXCH of %#x" % h.now[0])


# Fails with: xchar-remote-number
@check("XC-3.2-01")
def may_be_invalidated(t):
    """It says whether its memory may be invalidated, and takes Replies that
    do so."""
    tcp, c = connect(t, "--no-invalidate")
    same(value(c, REQREMINV), 0, "REQREMINV with --no-invalidate")
    t.stop()
    tcp, c = connect(t)
    offers = value(c, REQREMINV)
    # Where the device is another's, it may have no handles to offer.
    expect(offers or not t.codes, "REQREMINV is false")
    data = rpc.pattern(20000, 3)
    for i in range(10):
        tcp.send(read3(i, 20000))
        call = c.get_request()
        same(bool(call.inv), bool(offers), "a Call that names a handle")
        c.answer_inline(call, read3_head(20000), [c.fill(call, 0, data)],
                        inv=call.inv if call.inv and i % 2 else None)
        same(tcp.reply().r.data[-20000:], data, "what the client got")


# Fails with: reverse-never-general
@check("XC-3.3-02")
def as_it_is_called(t):
    """A reverse Call without chunks gets a Reply without; one with a Reply
    chunk may use it."""
    tcp, c = connect(t, "--reverse", "general")
    a = reverse(tcp, c, 5)
    same((a.external, a.writes), (False, []), "chunks in the Reply")
    a = reverse(tcp, c, 6, 10, 30000)
    same((a.external, a.writes), (False, []), "chunks in a long Reply")
    w = c.write_chunk(60000)
    a = reverse(tcp, c, 7, 10, 50000, reply=w)
    expect(a.external, "%s instead of REPLY_EXTERNAL" % a.last)
