# SPDX-License-Identifier: BSD-3-Clause
"""Continued messages: 4.1, 6.3.6, 6.3.9, 6.6.2, 7.1.4."""

import struct

from . import rpc, v2
from .kit import check, expect, good, is_error, same
from .nfs import Reduced, external, read_call, read_inline, read_results, \
    stored, write_results

COUNT = 50000


def middle(c, x, payload, remaining):
    c.post(v2.CALL_MIDDLE, x, payload=payload, remaining=remaining)


def errors(c, n):
    """The next @n messages, which are ERRORs: {xid: code}."""
    out = {}
    for _ in range(n):
        h = c.take()
        expect(h.htype == v2.ERROR, "%s instead of an ERROR" % h)
        expect(h.xid not in out, "two ERRORs for %#x" % h.xid)
        out[h.xid] = h.error[0]
    return out


# Fails with: type-14, reply-remaining, reply-fragment-xid, reply-order
@check("V2-4.1-03", "V2-6.1-09", "V2-6.3.9-01", "V2-6.3.9-02",
       "V2-6.3.9-03")
def continued_reply(t):
    """A continued Reply: types, xid, rdma_remaining, order of the stream."""
    c = t.connect()
    a = read_inline(t, c, 0, COUNT)
    expect(len(a.headers) > 5, "%d messages" % len(a.headers))
    left = len(a.payload)
    for i, h in enumerate(a.headers):
        last = i == len(a.headers) - 1
        same(h.htype, 13 if last else 12, "type of message %d" % i)
        same(h.xid, a.xid, "xid of message %d" % i)
        left -= len(h.payload)
        same(h.message.data[20:], h.payload, "what begins at octet 20")
        if not last:
            word, = struct.unpack_from(">I", h.message.data, 16)
            same(word, left, "rdma_remaining of message %d" % i)
            expect(len(h.payload) % 4 == 0, "a fragment of %d octets" %
                   len(h.payload))
    same(left, 0, "what is left at the end")


# Fails with: interleaved
@check("V2-4.1-04")
def not_interleaved(t):
    """Fragments of two Replies never alternate."""
    t.files
    c = t.connect(advertise=200, replenish=False)
    for _ in range(5):
        xids = []
        for at in range(8):
            x = c.new_xid()
            xids.append(x)
            c.post(v2.CALL_INLINE, x, credit=c.received + 2,
                   payload=read_call(t, x, (at * 1000, COUNT)))
        # The first has begun, and the others wait behind it.
        c.backlog += [c.next(), c.next()]
        expect(c.iw.quiet(0.2), "more than two messages")
        c.grant()
        done = {x: b"" for x in xids}
        current = None
        while xids:
            h = c.take()
            if current is not None:
                same(h.xid, current, "the xid inside a continued Reply")
            done[h.xid] += h.payload
            current = h.xid if h.htype == v2.REPLY_MIDDLE else None
            if current is None:
                xids.remove(h.xid)
        for at, p in enumerate(done.values()):
            data, = read_results(p, False)
            same(data, t.files.content[at * 1000:at * 1000 + COUNT], "data")


# Fails with: reply-xid
@check("V2-3.1.3-02")
def one_reply_each(t):
    """Each Call has one Reply, with its own XID in both places."""
    c = t.connect()
    for _ in range(4):
        xids = [c.send_call(rpc.null(c.new_xid())) for _ in range(20)]
        for _ in xids[:]:
            h = c.take()
            expect(h.xid in xids, "%s, which nobody waits for" % h)
            same(rpc.Reply(h.payload).xid, h.xid, "xid of the RPC Reply")
            xids.remove(h.xid)
    x = c.send_call(rpc.null(c.new_xid()))
    same(c.take().xid, x, "the last Reply")
    expect(t.quiet(c, 0.2), "a Reply too many")


# Fails with: middle-unknown
@check("V2-6.1-06", "V2-6.3.6-01")
def continued_call(t):
    """MIDDLE, MIDDLE, INLINE: payload from octet 20; one Reply."""
    c = t.connect()
    x = c.new_xid()
    m = rpc.null(x)
    c.raw(x, 2, None, 9, len(m) - 4, tail=m[:4])
    c.raw(x, 2, None, 9, len(m) - 12, tail=m[4:12])
    c.raw(x, 2, None, 10, 0, 0, 0, 0, tail=m[12:])
    good(c.answer(x))
    c.null()


# Fails with: interrupted
@check("V2-6.3.6-04")
def interrupted(t):
    """What does not go on with a continued Call: INVAL_CONT, for both."""
    c = t.connect()
    for kind in (v2.CALL_EXTERNAL, v2.PROP_FINAL, v2.PROP_MIDDLE,
                 v2.CALL_INLINE, v2.CALL_MIDDLE, v2.REPLY_INLINE,
                 v2.REPLY_MIDDLE, v2.REPLY_EXTERNAL):
        x, y = c.new_xid(), c.new_xid()
        m = rpc.null(x)
        middle(c, x, m[:8], len(m) - 8)
        more = {}
        if kind == v2.CALL_EXTERNAL:
            more["call"] = c.read_chunk(0, rpc.null(y))
        elif kind == v2.REPLY_EXTERNAL:
            more["reply"] = []
        elif kind not in (v2.PROP_FINAL, v2.PROP_MIDDLE):
            more["payload"] = rpc.null(y)
        if kind in (v2.CALL_MIDDLE, v2.REPLY_MIDDLE):
            more["remaining"] = 4
        c.post(kind, y, **more)
        same(errors(c, 2), {x: 5, y: 5}, "ERRORs after type %d" % kind)
        if kind in (v2.CALL_MIDDLE, v2.REPLY_MIDDLE):
            # The rest of what was refused goes without a word.
            c.post(kind + 1, y, payload=bytes(4))
        c.null()


def unreadable(c):
    """What would be BAD_XDR in a message by itself [D9]."""
    for what in "empty", "short", "last", "first":
        x = c.new_xid()
        m = rpc.null(x)
        if what != "first":
            middle(c, x, m[:8], len(m) - 8)
        if what == "last":
            c.raw(x, 2, None, v2.CALL_INLINE, 0, 2)
        else:
            c.raw(x, 2, None, v2.CALL_MIDDLE,
                  *() if what == "empty" else (len(m) - 10,), tail=m[8:10])
        same(errors(c, 1), {x: 5}, "ERRORs when: " + what)
        if what != "last":
            c.post(v2.CALL_INLINE, x, payload=m[10:])
        c.null()


# Fails with: error-longer, remaining-ignored, fragments-as-xdr
@check("V2-7.1.4-01", "V2-8.4-05")
def bad_sequence(t):
    """Wrong rdma_remaining, a wrong XID, a fragment that cannot be read:
    INVAL_CONT."""
    c = t.connect()
    unreadable(c)
    for what in "too many", "too few", "zero", "grows", "xid":
        x = c.new_xid()
        m = rpc.null(x)
        if what == "zero":
            middle(c, x, m[:8], 0)
        else:
            middle(c, x, m[:8], len(m) - 8)
        y = c.new_xid() if what == "xid" else x
        if what == "too many":
            c.post(v2.CALL_INLINE, x, payload=m[8:] + bytes(4))
        elif what == "too few":
            c.post(v2.CALL_INLINE, x, payload=m[8:-4])
        elif what == "grows":
            middle(c, x, m[8:16], len(m) - 12)
        elif what == "xid":
            c.post(v2.CALL_INLINE, y, payload=m[8:])
        same(errors(c, len({x, y})), {i: 5 for i in (x, y)},
             "ERRORs when: " + what)
        same(c.seen[-1].size, 20, "octets of the ERROR")
        if what in ("grows", "zero"):
            c.post(v2.CALL_INLINE, x, payload=m[16:])
        c.null()


# Fails with: remaining-with, remaining-either
@check("V2-6.3.6-06")
def remaining_with(t):
    """rdma_remaining of a Call may count the octets of its own message."""
    c = t.connect()
    # Told apart by the second message, the third, and the last.
    for steps in (8, 12, 4), (8, 8, 4), (8, 8, 8):
        x = c.new_xid()
        m, at = rpc.null(x), 0
        for n in steps:
            middle(c, x, m[at:at + n], len(m) - at)
            at += n
        c.post(v2.CALL_INLINE, x, payload=m[at:])
        good(c.answer(x))
    # One series and then the other is neither.
    x = c.new_xid()
    m = rpc.null(x)
    middle(c, x, m[:8], len(m))
    middle(c, x, m[8:20], len(m) - 8)
    middle(c, x, m[20:24], len(m) - 12)
    same(errors(c, 1), {x: 5}, "ERRORs")
    c.post(v2.CALL_INLINE, x, payload=m[24:])
    c.null()


# Fails with: errors-between
@check("V2-6.3.9-05")
def reply_undisturbed(t):
    """Between the fragments of a Reply nothing is sent but GRANTs."""
    t.files
    c = t.connect(replenish=False)
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=read_call(t, x, (0, COUNT)),
           credit=c.received + 1)
    headers = [c.next()]
    same(headers[0].htype, v2.REPLY_MIDDLE, "how the Reply begins")
    for i in range(3):
        c.put(rpc.u32(0x9000 + i, 2, c.received + 1, 99), c.received + 1)
        headers.append(c.take())
    c.grant()
    while headers[-1].htype == v2.REPLY_MIDDLE:
        headers.append(c.take())
    same({h.htype for h in headers}, {v2.REPLY_MIDDLE, v2.REPLY_INLINE},
         "types amid the Reply")
    same(read_results(b"".join(h.payload for h in headers), False)[0],
         t.files.content[:COUNT], "data")
    same([is_error(c.take(), v2.INVAL_HTYPE).xid for i in range(3)],
         [0x9000, 0x9001, 0x9002], "the ERRORs behind it")
    c.null()


# Fails with: rest-not-dropped
@check("V2-7.1.4-02")
def sequence_discarded(t):
    """After the ERROR the rest is dropped; the XID can be used again."""
    c = t.connect()
    x = c.new_xid()
    m = rpc.compound(x, [rpc.u32(rpc.PUTROOTFH)], bytes(40))
    middle(c, x, m[:8], len(m))  # does not fit what follows
    middle(c, x, m[8:16], len(m) - 16)
    middle(c, x, m[16:24], len(m) - 24)
    c.post(v2.CALL_INLINE, x, payload=m[24:])
    same(errors(c, 1), {x: 5}, "ERRORs")
    c.null()
    same([h for h in c.seen if h.xid == x and h.htype != v2.ERROR], [],
         "Replies to what was refused")
    good(c.call(m))


# Fails with: rest-not-dropped, external-not-dropped, external-ends
@check("V2-7.1.4-04")
def external_discarded(t):
    """An EXTERNAL with the XID of what was refused is dropped, too, and is
    not the end of it: that is its INLINE, or a message of another XID."""
    c = t.connect()
    for last in True, False:
        x = c.new_xid()
        m = rpc.null(x)
        middle(c, x, m[:8], len(m) - 8)
        external(c, m)
        same(errors(c, 1), {x: 5}, "ERRORs")
        external(c, m)
        external(c, m)
        if last:
            c.post(v2.CALL_INLINE, x, payload=m[8:])
        c.null()
        same([h.htype for h in c.seen if h.xid == x], [v2.ERROR],
             "answers to one XID")
        same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")
        good(c.call(m))


# Fails with: chunks-of-continued
@check("V2-6.6.2.1-01")
def chunks_in_the_last(t):
    """Chunk lists of a continued Call are in its INLINE and count for all."""
    c = t.connect()
    for parts in 2, 5:
        x = c.new_xid()
        data = rpc.pattern(3001, parts)
        m, (at,) = Reduced(x).write(t.files.scratch, 0, len(data)).build()
        step = len(m) // parts & ~3
        sent = 0
        for _ in range(parts - 1):
            middle(c, x, m[sent:sent + step], len(m) - sent - step)
            sent += step
        c.post(v2.CALL_INLINE, x, payload=m[sent:],
               reads=c.read_chunk(at, data))
        write_results(good(c.answer(x)).payload, len(data))
        same(stored(t, c, 0, len(data)), data, "what has been written")
    # And in the Reply: Write chunks are returned with the last only.
    w = c.write_chunk(10)
    x = c.new_xid()
    a = good(c.call(read_call(t, x, (0, 10), (0, COUNT)), writes=[w]))
    expect(len(a.headers) > 3, "%d messages" % len(a.headers))
    same([s.length for s in a.writes[0]], [10], "the Write chunk")
    same(read_results(a.payload, True, False)[1], t.files.content[:COUNT],
         "the second READ")


# Fails with: never-continued
@check("V2-6.6.4-01")
def falls_back(t):
    """With no Reply chunk, or one too short, a Reply is continued."""
    c = t.connect()
    for chunk in None, 4096:
        lists = {} if chunk is None else {"reply": c.write_chunk(chunk)}
        a = read_inline(t, c, 0, 9000, **lists)
        expect(not a.external and len(a.headers) > 2, str(a.last))
        if chunk:
            m = c.memory(lists["reply"][0])
            same(m, bytes([0xaa]) * len(m), "the Reply chunk, not used")


# Fails with: endless
@check("V2-11.1.4-01")
def endless(t):
    """Calls longer than anything that is served end with an ERROR."""
    c = t.connect()
    x = c.new_xid()
    middle(c, x, rpc.null(x)[:8], 0xfffffff0)
    same(errors(c, 1), {x: 5}, "a Call of 4 GiB")
    # 2 GiB by a Read chunk: no Read, no memory, and the connection stays.
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 0x7ffffffc).build()
    c.post(v2.CALL_INLINE, x, payload=m, reads=[
        v2.ReadSegment(at, 0x1234, 0x7ffffffc, 0)])
    h = c.take()
    expect(h.htype == v2.ERROR and h.xid == x, "%s" % h)
    same(c.iw.held, [], "RDMA Reads")
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")
    c.null()


# Fails with: error-longer, system-as-xdr
@check("V2-7.4.1-01", "V2-7.4.1-02", "V2-8.4-12")
def system_error(t):
    """What no other code fits: ERR_SYSTEM of 20 octets, and no Reply."""
    c = t.connect()
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 0x7ffffffc).build()
    c.post(v2.CALL_INLINE, x, payload=m, reads=[
        v2.ReadSegment(at, 0x1234, 0x7ffffffc, 0)])
    h = is_error(c.take(), v2.SYSTEM)
    same((h.xid, h.size), (x, 20), "xid and size of the ERROR")
    for _ in range(3):
        c.null()
    same([h for h in c.seen if h.xid == x and h.htype != v2.ERROR], [],
         "Replies")
