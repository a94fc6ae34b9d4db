# SPDX-License-Identifier: BSD-3-Clause
"""The extensions, to a server that has them off: nothing changes."""

from . import ext, rpc, v2
from .kit import check, expect, is_error, same
from .nfs import read_inline


def one_of_each(t):
    """(type, fields) of each header type of the extensions, well formed."""
    x = rpc.null(0x7000)
    none = dict(dp=[], count=1, pslen=len(x), rest=x)
    return (
        (ext.INITXCH, dict(start=[(v2.RBSIZ, 8192)], nochg=[1])),
        (ext.REQXCH, dict(want=[(v2.RBSIZ, 8192)])),
        (ext.RESPXCH, dict(done=[1], rej=[], pend=[])),
        (ext.UPDXCH, dict(now=(v2.RBSIZ, 8192), pendclr=0)),
        (ext.XMTREQ, dict(none, rsd=[], rsbuf=1)),
        (ext.XMTRESP, none),
        (ext.XMTCONT, dict(xnum=1, itype=ext.XMTREQ, pslen=4, rest=bytes(4))),
        (ext.REPTERR, dict(bad=ext.Id(1, 0, 0), info=(ext.BADCONT,))))


# Fails with: ext-htype
@check("XC-4-01")
def extensions_off(t):
    """With the extensions off each of their types gets INVAL_HTYPE; nothing
    changes, and none of them is sent, whatever the client announces."""
    t.files
    c = t.raw()
    c.send_props(ext.init_props(more=[(v2.RBSIZ, 8192)]))
    h = c.props_of_peer()
    for which, _ in h.props:
        expect(which <= v2.HOSTAUTH, "property %#x" % which)
    before = sorted(c.theirs.items())
    for htype, fields in one_of_each(t):
        x = c.new_xid()
        c.post(htype, x, **fields)
        h = is_error(c.take(), v2.INVAL_HTYPE)
        same((h.xid, h.size), (x, 20), "xid and size of the ERROR about " +
             ext.NAMES[htype])
        # Broken ones, too: nobody looks into them.
        c.raw(x, 2, None, htype, 0xffffffff)
        same(is_error(c.take(), v2.INVAL_HTYPE).xid, x, "xid")
    c.recv_size = 8192
    a = read_inline(t, c, 0, 40000)
    same(max(h.size for h in a.headers) & ~7, 8192 & ~7, "the longest Send")
    same(sorted(c.theirs.items()), before, "what the server has announced")
    c.null()
    # What is in the midst of a continued Call ends that, as any type does.
    for htype, fields in one_of_each(t):
        x, y = c.new_xid(), c.new_xid()
        c.post(v2.CALL_MIDDLE, x, payload=rpc.null(x)[:8], remaining=32)
        c.post(htype, y, **fields)
        got = {}
        while len(got) < 2:
            h = c.take()
            got[h.xid] = h.error
        expect(got[x] == (v2.INVAL_CONT,) and
               got[y][0] in (v2.INVAL_HTYPE, v2.INVAL_CONT), "%r" % got)
    c.null()
    same([h for h in c.seen if h.htype > 13], [], "messages of extensions")
