# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of a Call, as a server takes them: 4.4, 4.5, 6.3.5, 6.3.7, 7.2, 7.3."""

import struct

from . import rpc, v1, v2
from .kit import check, expect, good, is_error, same
from .nfs import Reduced, external, read_call, read_results, stored, \
    write_by_chunk, write_results
from .v2 import ReadSegment


def refused(c, x, *error):
    same(is_error(c.take(), *error).xid, x, "xid of the ERROR")


def not_read(c):
    same([e for e in c.iw.events if e[0] == "read"], [], "RDMA Reads")


# Fails with: segments-not-joined
@check("V2-4.4.1-01")
def single_octets(t):
    """Segments may have any length, also one octet."""
    c = t.connect()
    write_by_chunk(t, c, rpc.pattern(5, 3))
    write_by_chunk(t, c, rpc.pattern(23, 4), (1, 2, 5, 22))
    w = c.write_chunk(1, 1, 5, 3)
    a = good(c.call(read_call(t, c.new_xid(), (7, 10)), writes=[w]))
    same(read_results(a.payload, True), [10], "the count of the READ")
    same([s.length for s in a.writes[0]], [1, 1, 5, 3], "lengths")
    same(c.gather(a.writes[0]), t.files.content[7:17], "data")


# Fails with: empty-read
@check("V2-4.4.1-02")
def empty_segments(t):
    """Segments of length 0 cause no RDMA, whatever their handle is."""
    c = t.connect()
    data = rpc.pattern(1000, 5)
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 1000).build()
    real = c.read_chunk(at, data, (300,))
    bogus = ReadSegment(at, 0xdead, 0, 0xbeef)
    a = good(c.call(m, reads=[bogus, real[0], bogus, real[1], bogus]))
    write_results(a.payload, 1000)
    same(stored(t, c, 0, 1000), data, "what has been written")
    w = c.write_chunk(500, 500)
    bogus = v2.Segment(0xdead, 0, 0xbeef)
    w = [bogus, w[0], bogus, w[1], bogus]
    a = good(c.call(read_call(t, c.new_xid(), (0, 900)), writes=[w]))
    same([s.length for s in a.writes[0]], [0, 500, 0, 400, 0], "lengths")
    same(c.gather([s for s in a.writes[0] if s.length]),
         t.files.content[:900], "data")
    write_nothing(t, c)
    same([e for e in c.iw.events if e[0] != "send" and not e[-1]], [],
         "RDMA of no octets")


def write_nothing(t, c):
    """A WRITE of no octets by a chunk of one empty segment, and by none."""
    for segments in 1, 0:
        # An XID of its own: a server may leave one unanswered that it has
        # only just answered.
        m, (at,) = Reduced(c.new_xid()).write(t.files.empty, 0, 0).build()
        reads = [ReadSegment(at, 0xdead, 0, 0)] * segments
        write_results(good(c.call(m, reads=reads)).payload, 0)


# Fails with: segments-not-joined
@check("V2-4.4.1-03", "V2-4.5.1-03")
def any_cut(t):
    """Segments of one Position are joined, wherever they were cut."""
    c = t.connect()
    data = rpc.pattern(4096, 6)
    for cuts in ((), (5, 12), (1, 2, 3), tuple(range(250, 4000, 250))):
        write_by_chunk(t, c, data, cuts)


# Fails with: send-before-writes, never-reduced
@check("V2-4.4.2-01", "V2-3.2.2.4-01")
def reduced_result(t):
    """A READ goes by its Write chunk, whose octets are there before the
    Reply."""
    c = t.connect()
    for i in range(40):
        n = 1 + i * 733
        w = c.write_chunk(n)
        x = c.new_xid()
        a = good(c.call(read_call(t, x, (i, n)), writes=[w]))
        same(read_results(a.payload, True), [n], "the count of the READ")
        same(len(a.headers), 1, "messages")
        # What is in memory now was written before the Reply came.
        same(bytes(c.memory(w[0])), t.files.content[i:i + n], "the chunk")
        kinds = [e[0] for e in c.iw.events]
        same(kinds[-1], "send", "the last event")


# Fails with: delivered-early
@check("V2-3.2.2.5-01")
def reads_before_reply(t):
    """All RDMA Reads of a Call are done before its Reply."""
    c = t.connect()
    for _ in range(20):
        c.iw.events.clear()
        data = rpc.pattern(20000, 8)
        x = c.new_xid()
        m, (at,) = Reduced(x).write(t.files.scratch, 0, 20000).build()
        chunk = c.read_chunk(at, data, (5000, 9000))
        a = good(c.call(m, reads=chunk))
        write_results(a.payload, 20000)
        for s in chunk:  # like a Requester that frees it now
            c.iw.regions.pop(s.handle)
        kinds = [e[0] for e in c.iw.events if e[0] == "read" or
                 e[1].data[:4] == struct.pack(">I", x)]
        same(kinds, ["read"] * 3 + ["send"], "the order of events")
    # However long one of them takes.
    c.iw.hold_reads = True
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 20000).build()
    c.post(v2.CALL_INLINE, x, payload=m,
           reads=c.read_chunk(at, data, (5000, 9000)))
    for _ in range(3):
        c.iw.pump_until(lambda: c.iw.held)
        expect(c.iw.quiet(0.2), "a Reply before all has been read")
        c.iw.release_reads(1)
    c.iw.hold_reads = False
    write_results(good(c.answer(x)).payload, 20000)
    same(stored(t, c, 0, 20000), data, "what has been written")


# Fails with: other-handles
@check("V2-4-01")
def roles(t):
    """A server's own headers offer no memory: all handles are ours."""
    c = t.connect()
    ours = set()
    w, r = c.write_chunk(3000), c.write_chunk(8000)
    ours.update(s.handle for s in w + r)
    a = good(c.call(read_call(t, c.new_xid(), (0, 3000), (0, 6000)),
                    writes=[w], reply=r))
    expect(a.external, "%s instead of REPLY_EXTERNAL" % a.last)
    write_by_chunk(t, c, bytes(5000))
    for h in c.seen:
        for chunk in list(getattr(h, "writes", ())) + \
                [getattr(h, "reply", None) or []]:
            for s in chunk:
                expect(s.handle in ours, "handle %#x" % s.handle)


# Fails with: ineligible
@check("V2-4.4.2-02", "UB-5.1-01")
def ineligible(t):
    """Results that are not DDP-eligible stay in the stream."""
    c = t.connect()
    f = t.files
    for op in (rpc.readdir(1000), rpc.u32(rpc.GETATTR, 1, 1 << 4),
               rpc.u32(rpc.LOOKUP) + rpc.opaque("data"),
               rpc.u32(rpc.GETFH)):
        m = [rpc.putfh(f.dir), op]
        plain = good(c.call(rpc.compound(c.new_xid(), m)))
        w = c.write_chunk(4000)
        a = good(c.call(rpc.compound(c.new_xid(), m), writes=[w]))
        same(a.payload[4:], plain.payload[4:], "the Reply")
        same([s.length for k in a.writes for s in k], [0], "lengths")
        same(bytes(c.memory(w[0])), bytes([0xaa]) * 4000, "the chunk")


# Fails with: segments-not-joined
@check("V2-4.4.3-01", "V2-4.5.1.2-02")
def both_kinds(t):
    """A Call chunk and a data item chunk in one Call."""
    c = t.connect()
    data = rpc.pattern(7001, 9)
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, len(data)).build()
    external(c, m, (8, 100), reads=c.read_chunk(at, data, (77,)))
    write_results(good(c.answer(x)).payload, len(data))
    same(stored(t, c, 0, len(data)), data, "what has been written")


# Fails with: roundup-not-counted
@check("V2-4.5.1-01", "V2-4.5.3-03")
def two_read_chunks(t):
    """Positions count what was reduced before, with its roundup."""
    c = t.connect()
    for n, k in ((5, 9), (8, 8), (1, 3001), (4095, 2)):
        one, two = rpc.pattern(n, n), rpc.pattern(k, k + 1)
        x = c.new_xid()
        m, (a, b) = Reduced(x).write(t.files.scratch, 0, n).write(
            t.files.scratch, 8000, k).build()
        got = good(c.call(m, reads=c.read_chunk(a, one) +
                          c.read_chunk(b, two)))
        write_results(got.payload, n, k)
        same(stored(t, c, 0, n), one, "the first WRITE")
        same(stored(t, c, 8000, k), two, "the second WRITE")


# Fails with: position-odd
@check("V2-4.5.1-02")
def position_multiple(t):
    """A Position that is not a multiple of four: BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 8).build()
    for off in 1, 2, 3:
        c.post(v2.CALL_INLINE, x, payload=m,
               reads=c.read_chunk(at - off, bytes(8)))
        refused(c, x, v2.BAD_XDR)
    c.post(v2.CALL_INLINE, x, payload=m, reads=c.read_chunk(6, bytes(8)))
    refused(c, x, v2.BAD_XDR)
    not_read(c)
    c.null()


# Fails with: position-decreases
@check("V2-4.5.1.1-01")
def positions_in_order(t):
    """Positions that decrease: BAD_XDR, nothing is read, no RPC Reply."""
    c = t.connect()
    for a, b in ((200, 100), (104, 100), (100, 4)):
        x = c.new_xid()
        m, (at,) = Reduced(x).write(t.files.scratch, 0, 8).build()
        c.post(v2.CALL_INLINE, x, payload=m,
               reads=c.read_chunk(a, bytes(8)) + c.read_chunk(b, bytes(8)))
        refused(c, x, v2.BAD_XDR)
    not_read(c)
    c.null()
    same([h for h in c.seen if h.xid == x and h.htype != v2.ERROR], [],
         "Replies")


# Fails with: external-layout
@check("V2-4.5.1.2-01", "V2-6.1-05", "V2-6.6.3-02")
def any_call_external(t):
    """Any Call may come in Special format, NULL too."""
    c = t.connect()
    for cuts in (), (4,), (1, 2, 3, 39):
        x = c.new_xid()
        external(c, rpc.null(x), cuts)
        good(c.answer(x))
    x = c.new_xid()
    external(c, read_call(t, x, (0, 3000)))
    same(read_results(good(c.answer(x)).payload, False)[0],
         t.files.content[:3000], "a READ")
    x = c.new_xid()
    data = rpc.pattern(100000, 3)
    external(c, rpc.compound(x, [rpc.putfh(t.files.scratch),
                                 rpc.write(0, data)]))
    write_results(good(c.answer(x)).payload, len(data))
    same(stored(t, c, 0, 50000), data[:50000], "what has been written")


# Fails with: external-layout, segment-layout
@check("V2-6.3.5-01", "V2-8.3-01", "V2-8.3-02", "V2-8.3-03")
def call_external_octets(t):
    """CALL_EXTERNAL and Read lists, octet by octet as in section 8."""
    c = t.connect()
    x = c.new_xid()
    m = rpc.null(x)
    one, two = c.iw.expose(m[:8], read=True), c.iw.expose(m[8:], read=True)
    u = rpc.u32
    tail = (u(0) +  # rdma_inv_handle
            u(1, 0, one.stag, 8) + rpc.u64(one.base) +
            u(1, 0, two.stag, len(m) - 8) + rpc.u64(two.base) + u(0) +
            u(0) + u(0) + u(0))  # reads, writes, reply
    same(len(tail), 4 + 2 * 24 + 4 + 12, "octets")
    c.raw(x, 2, None, 8, tail=tail)
    good(c.answer(x))


# Fails with: call-chunk-xid
@check("V2-6.3.5-02")
def call_chunk_xid(t):
    """A Call chunk with another XID than the header: BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    c.post(v2.CALL_EXTERNAL, x, call=c.read_chunk(0, rpc.null(x + 1000)))
    refused(c, x, v2.BAD_XDR)
    c.null()


# Fails with: call-chunk-empty
@check("V2-6.3.5-03")
def empty_call_chunk(t):
    """CALL_EXTERNAL without a Call chunk: BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    c.post(v2.CALL_EXTERNAL, x)
    refused(c, x, v2.BAD_XDR)
    c.post(v2.CALL_EXTERNAL, x, reads=c.read_chunk(4, bytes(8)))
    refused(c, x, v2.BAD_XDR)
    c.null()


# Fails with: call-position
@check("V2-6.6.3-01")
def call_chunk_position(t):
    """Only Position 0 in a Call chunk; else BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    m = rpc.null(x)
    for reads in (c.read_chunk(4, m),
                  c.read_chunk(0, m[:8]) + c.read_chunk(8, m[8:])):
        c.post(v2.CALL_EXTERNAL, x, call=reads)
        refused(c, x, v2.BAD_XDR)
    not_read(c)
    c.null()


# Fails with: inline-layout
@check("V2-6.3.7-01", "V2-6.1-07")
def call_inline_octets(t):
    """CALL_INLINE with empty lists: the payload begins at octet 32."""
    c = t.connect()
    x = c.new_xid()
    c.raw(x, 2, None, 10, 0, 0, 0, 0, tail=rpc.null(x))
    good(c.answer(x))


# Fails with: position-zero
@check("V2-6.3.7-02")
def position_zero(t):
    """Position 0 in CALL_INLINE: BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=rpc.null(x),
           reads=c.read_chunk(0, rpc.null(x)))
    refused(c, x, v2.BAD_XDR)
    not_read(c)
    c.null()


# Fails with: error-longer, xid-not-compared
@check("V2-7.2-01", "V2-8.4-02")
def wrong_xid(t):
    """An rdma_xid that is not the RPC message's: BAD_XDR of 20 octets."""
    c = t.connect()
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=rpc.null(x + 1))
    h = is_error(c.take(), v2.BAD_XDR)
    same((h.xid, h.size), (x, 20), "xid and size of the ERROR")
    # In a message that begins a sequence that is 7.1.4's [D9].
    c.post(v2.CALL_MIDDLE, x, payload=rpc.null(x + 1)[:8], remaining=4)
    refused(c, x, v2.INVAL_CONT)
    c.post(v2.CALL_INLINE, x, payload=bytes(4))  # its end, dropped
    c.null()


# Fails with: payload-empty
@check("V2-7.2-02")
def truncated(t):
    """A header that ends early: BAD_XDR, wherever it ends; INVAL_CONT in a
    fragment."""
    c = t.connect()
    seg = ReadSegment(4, 1, 8, 0)
    w = v2.Segment(1, 8, 0)
    full = {
        v2.CALL_EXTERNAL: dict(call=[ReadSegment(0, 1, 40, 0)], reads=[seg],
                               writes=[[w, w]], reply=[w]),
        v2.CALL_INLINE: dict(reads=[seg], writes=[[w]], reply=[w]),
        v2.CALL_MIDDLE: dict(remaining=8),
        v2.REPLY_EXTERNAL: dict(writes=[[w]], reply=[w]),
        v2.REPLY_INLINE: dict(writes=[[w]]),
        v2.REPLY_MIDDLE: dict(remaining=8),
    }
    for htype, fields in full.items():
        end = 0 if htype in (v2.CALL_EXTERNAL, v2.REPLY_EXTERNAL) else 4
        whole = v2.encode(htype, 0, 0, **fields)
        for n in range(16, len(whole) + end):
            # An XID of its own: the rest of a refused one is dropped.
            x = c.new_xid()
            c.raw(x, 2, None, htype, tail=(whole + bytes(4))[16:n])
            refused(c, x, v2.INVAL_CONT if "remaining" in fields else
                    v2.BAD_XDR)
    c.null()
    # 7.2 [E2]: a CONNPROP that ends in its count, number or length.
    for n in 0, 3, 4, 6, 8, 11:
        c = t.raw()
        x = c.new_xid()
        c.raw(x, 2, None, v2.PROP_FINAL, tail=rpc.u32(1, 2, 4)[:n])
        refused(c, x, v2.BAD_XDR)


# Fails with: discriminator
@check("V2-7.2.1-01")
def broken_lists(t):
    """Bad discriminators and counts beyond the message: BAD_XDR."""
    c = t.connect()
    x = c.new_xid()
    m = rpc.null(x)
    for words in ((0, 2, 0, 0), (0, 0, 2, 0), (0, 0, 0, 2),
                  # Well formed, but for the one word that is no bool.
                  (0, 2, 4, 1, 0, 0, 0, 0, 0, 0), (0, 0, 2, 0, 0, 0),
                  (0, 0, 0, 2, 0), (0, 0, 1, 0, 3, 0, 0, 0),
                  (0, 0xffffffff, 0, 0), (0, 1, 0, 0, 0, 0),
                  (0, 0, 1, 0xffffffff, 0), (0, 0, 1, 0x10000000, 0),
                  (0, 0, 0, 1, 0xffffffff), (0, 0, 0, 1, 1000),
                  (0, 0, 1, 3, 1, 1, 1, 1)):
        c.raw(x, 2, None, 10, *words, tail=m)
        refused(c, x, v2.BAD_XDR)
    c.null()
    same([h for h in c.seen if h.xid == x and h.htype != v2.ERROR], [],
         "Replies")


# Fails with: garbage-dropped
@check("V2-7.2-03")
def garbage_args(t):
    """Arguments that the program cannot read: an RPC Reply says so."""
    c = t.connect()
    x = c.new_xid()
    a = c.call(rpc.call(x, rpc.NFS, 4, 1, rpc.u32(64) + bytes(8)))
    expect(a.error is None, "%s instead of a Reply" % a.last)
    same((a.last.htype, a.rpc.stat), (v2.REPLY_INLINE, 4), "accept_stat")
    c.null()


# Fails with: torn-refused, torn-executed
@check("V2-7.2-04")
def beyond_the_stream(t):
    """Positions beyond the stream: an RPC Reply says GARBAGE_ARGS."""
    c = t.connect()
    before = stored(t, c, 0, 8)
    d = rpc.opaque(t.files.dir)
    for off in 4, 1000, 0x7fffff00:
        x = c.new_xid()
        four, (at,) = Reduced(x).write(t.files.scratch, 0, 8).build()
        two, (one, other) = Reduced(x).write(t.files.scratch, 0, 8).write(
            t.files.scratch, 8, 8).build()
        three = rpc.call(x, rpc.NFS, 3, rpc.WRITE3, d + rpc.u64(0) +
                         rpc.u32(8, 2, 8))
        link = rpc.call(x, rpc.NFS, 3, 10, d + rpc.opaque("name") +
                        bytes(24) + rpc.u32(8))
        # It is there already.
        whole = rpc.compound(x, [rpc.putfh(t.files.scratch),
                                 rpc.write(0, b"somedata")])
        rows = [(four, [at + off]), (two, [one, other + off]),
                (whole, [len(whole) + off])]
        if t.mount_port:
            rows += [(three, [len(three) + off]), (link, [len(link) + off])]
        for m, places in rows:
            x = c.new_xid()
            a = c.call(rpc.u32(x) + m[4:],
                       reads=[s for p in places
                              for s in c.read_chunk(p, b"otherone")])
            expect(a.error is None, "%s instead of a Reply" % a.last)
            same((a.last.htype, a.rpc.stat), (v2.REPLY_INLINE, 4),
                 "accept_stat")
    not_read(c)
    same(stored(t, c, 0, 8), before, "what is there")
    # In version 1, too (RFC 8166, 4.5).
    c = v1.Conn(t.iwarp(), threshold=1 << 20)
    x = c.post(rpc.u32(c.new_xid()) + four[4:],
               reads=c.read_chunk(at + 4, bytes(8)))
    h = c.next()
    expect(h.error is None and h.xid == x, "%s" % h)
    same(rpc.Reply(h.payload).stat, 4, "accept_stat in version 1")


def misfits(t, new_xid):
    """(payload without the data, Position, octets of the item, chunk)"""
    d = rpc.opaque(t.files.dir)
    for n, sizes in ((1027, (1100, 1032, 1029, 1026, 1024, 4, 0)),
                     (8, (12, 9, 7, 4, 0))):
        four = Reduced(new_xid()).write(t.files.scratch, 0, n).op(
            rpc.u32(rpc.GETFH))
        three = rpc.call(new_xid(), rpc.NFS, 3, rpc.WRITE3, d + rpc.u64(0) +
                         rpc.u32(n, 2, n))
        link = rpc.call(new_xid(), rpc.NFS, 3, 10, d + rpc.opaque("name") +
                        bytes(24) + rpc.u32(n))
        payload, (at,) = four.build()
        rows = [(payload, at)]
        if t.mount_port:
            rows += [(three, len(three)), (link, len(link))]
        for size in sizes:
            for m, place in rows:
                yield rpc.u32(new_xid()) + m[4:], place, size


# Fails with: torn-executed, lengths-not-compared
@check("V2-7.2-06")
def chunk_misfits(t):
    """A Read chunk longer or shorter than its item: GARBAGE_ARGS."""
    c = t.connect()
    before = stored(t, c, 0, 2000)
    for m, at, size in misfits(t, c.new_xid):
        a = c.call(m, reads=c.read_chunk(at, rpc.pattern(size, 1)))
        expect(a.error is None, "%s instead of a Reply" % a.last)
        same((a.last.htype, a.rpc.stat), (v2.REPLY_INLINE, 4), "accept_stat")
    # Behind one that fits; and in Special format.
    m, (one, other) = Reduced(c.new_xid()).write(t.files.scratch, 0, 8).write(
        t.files.scratch, 8, 8).build()
    a = c.call(m, reads=c.read_chunk(one, bytes(8)) +
               c.read_chunk(other, bytes(12)))
    same(a.rpc.stat, 4, "accept_stat with the second of two")
    not_read(c)
    m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0, 8).build()
    x = external(c, m, reads=c.read_chunk(at, bytes(12)))
    same(c.answer(x).rpc.stat, 4, "accept_stat in Special format")
    same(stored(t, c, 0, 2000), before, "what is there")
    # Its roundup may be in the chunk [C9], in a segment of its own, too.
    for data, cuts in (5 * b"a" + bytes(3), ()), (
            5 * b"b" + bytes(3), (5,)):
        m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0, 5).build()
        write_results(good(c.call(m, reads=c.read_chunk(at, data, cuts)))
                      .payload, 5)
        same(stored(t, c, 0, 5), data[:5], "what has been written")
    # In version 1, too (RFC 8166, 4.5).
    c = v1.Conn(t.iwarp(), threshold=1 << 20)
    for m, at, size in misfits(t, c.new_xid):
        x = c.post(m, reads=c.read_chunk(at, bytes(size)))
        h = c.next()
        expect(h.error is None and h.xid == x, "%s" % h)
        same(rpc.Reply(h.payload).stat, 4, "accept_stat in version 1")
    not_read(c)
    for data, cuts in (b"ccccc", ()), (b"ddddd", (2,)), (
            b"eeeee" + bytes(3), ()), (b"fffff" + bytes(3), (5,)):
        m, (at,) = Reduced(c.new_xid()).write(t.files.scratch, 0, 5).build()
        x = c.post(m, reads=c.read_chunk(at, data, cuts))
        h = c.next()
        expect(h.error is None and h.xid == x, "%s" % h)
        write_results(h.payload, 5)


# Fails with: error-chunks, read-chunks
@check("V2-7.3.1-01", "V2-8.4-06")
def many_read_chunks(t):
    """Too many Read chunks: READ_CHUNKS with the most, and nothing read."""
    c = t.connect()
    most = None
    for n in range(1, 17):
        x = c.new_xid()
        d = Reduced(x)
        for i in range(n):
            d.write(t.files.scratch, 16 * i, 4)
        m, at = d.build()
        c.iw.events.clear()
        reads = [s for i, p in enumerate(at)
                 for s in c.read_chunk(p, bytes([i]) * 4)]
        a = c.call(m, reads=reads)
        if a.error:
            h = is_error(a, v2.READ_CHUNKS, n - 1)
            same(h.size, 24, "octets of the ERROR")
            not_read(c)
            most = n - 1
            break
        write_results(good(a).payload, *[4] * n)
    expect(most, "16 Read chunks are no error")
    c.null()


# Fails with: read-chunks-anywhere, read-chunks-most
@check("V2-7.3.1-02")
def no_read_chunk(t):
    """A Read chunk where no argument is eligible: READ_CHUNKS with 0."""
    c = t.connect()
    for proc, args in ((1, rpc.opaque(bytes(32))), (0, b""),
                       (3, rpc.opaque(bytes(32)) + rpc.opaque("name"))):
        # More than there may be of any procedure, too.
        for n in 1, 2, 9, 12:
            x = c.new_xid()
            m = rpc.call(x, rpc.NFS, 3, proc, args)
            c.post(v2.CALL_INLINE, x, payload=m,
                   reads=[s for i in range(n) for s in c.read_chunk(
                       len(m) + 8 * i, bytes(8))])
            refused(c, x, v2.READ_CHUNKS, 0)
    not_read(c)
    c.null()


def ineligible(t, new_xid):
    """(Call, what of it is reduced, where eligible data are reduced too)"""
    fh, d = t.files.scratch, rpc.opaque(t.files.dir)
    head = len(rpc.call(0))
    name, tag = rpc.opaque("data"), b"0123456789abcdef"

    def one(m, item, at=0, data=None):
        at = m.index(item, at)
        return m, at, at + len(item) + -len(item) % 4, data

    def compound(*ops, minor=0):
        return rpc.compound(new_xid(), list(ops), tag, minor)

    lookup = rpc.u32(rpc.PUTFH) + d, rpc.u32(rpc.LOOKUP) + name
    write = rpc.write(0, b"dataDATA")
    for minor in 0, 1, 2:
        m = compound(*lookup, minor=minor)
        yield one(m, tag)
        yield one(m, name[4:])
        yield one(m, name)  # with its length
        yield one(m, t.files.dir)
        # Not the last one either, nor a whole operation.
        m = compound(*lookup, rpc.u32(rpc.GETATTR, 1, 2), minor=minor)
        yield one(m, name[4:])
        yield one(m, rpc.u32(rpc.GETATTR, 1, 2))
        m = compound(*lookup[:1], rpc.read(0, 10), minor=minor)
        yield one(m, rpc.ANONYMOUS, len(m) - 28)
        m = compound(rpc.putfh(fh), write, minor=minor)
        yield one(m, b"DATA")  # half of what is eligible
        yield one(m, rpc.u32(8) + b"dataDATA")
        yield one(m, tag, data=b"dataDATA")
        yield one(m, fh, data=b"dataDATA")
    # Kinds of CREATE that are no symbolic link.
    m = compound(*lookup[:1], rpc.u32(rpc.CREATE, 2) + name +
                 rpc.u32(2, 0, 2) + rpc.opaque(rpc.u32(0o755)))
    yield one(m, name[4:])
    write3 = d + rpc.u64(0) + rpc.u32(8, 2, 8) + b"dataDATA"
    m = rpc.call(new_xid(), rpc.NFS, 3, rpc.WRITE3, write3)
    yield one(m, t.files.dir)
    yield one(m, rpc.u32(8, 2))
    yield one(m, b"DATA")
    yield one(m, rpc.opaque("conformance")[4:])  # of the credential
    m = rpc.call(new_xid(), rpc.NFS, 3, 10, d + name + bytes(24) +
                 rpc.opaque("somewhere"))  # SYMLINK
    yield one(m, name[4:], head)
    # No program but NFS has any.
    for prog, vers in (rpc.NFS, 2), (100005, 3), (100021, 4):
        yield one(rpc.call(new_xid(), prog, vers, 1, d), t.files.dir)


# Fails with: reads-not-compared
@check("V2-A.1-02", "UB-5.1-02")
def ineligible_reduced(t):
    """A reduced argument that is not eligible is reported, not executed."""
    c = t.connect()
    for m, at, end, data in ineligible(t, c.new_xid):
        x = int.from_bytes(m[:4], "big")
        reads, payload = c.read_chunk(at, m[at:end]), m[:at] + m[end:]
        if data:
            reads += c.read_chunk(m.index(data), data)
            payload = payload.replace(data, b"")
        c.post(v2.CALL_INLINE, x, payload=payload, reads=reads)
        h = c.take()
        expect(h.htype == v2.ERROR, "%s for the octets %d to %d of %s" % (
            h, at, end, m.hex()))
        same((h.xid, h.error[0]), (x, v2.READ_CHUNKS), "xid and error")
        expect(h.error[1] < (2 if data else 1), "%d as the most" % h.error[1])
    not_read(c)
    c.null()


# Fails with: error-chunks, write-chunks
@check("V2-7.3.2-01", "V2-8.4-07")
def many_write_chunks(t):
    """Too many Write chunks: WRITE_CHUNKS with the most."""
    c = t.connect()
    for n in range(1, 17):
        x = c.new_xid()
        a = c.call(read_call(t, x, *[(i, 4) for i in range(n)]),
                   writes=[c.write_chunk(4) for _ in range(n)])
        if a.error:
            h = is_error(a, v2.WRITE_CHUNKS, n - 1)
            same(h.size, 24, "octets of the ERROR")
            c.null()
            return
        same(read_results(good(a).payload, *[True] * n), [4] * n, "counts")
    expect(False, "16 Write chunks are no error")


# Fails with: error-segments, segments
@check("V2-7.3.3-01", "V2-8.4-08")
def many_segments(t):
    """More segments than announced: SEGMENTS with the number."""
    c = t.connect()
    most = c.theirs.get(v2.RCSIZ, 16)
    data = rpc.pattern(most * 2, 2)
    write_by_chunk(t, c, data, tuple(range(2, most * 2, 2)))
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, most + 1).build()
    c.iw.events.clear()
    c.post(v2.CALL_INLINE, x, payload=m, reads=c.read_chunk(
        at, bytes(most + 1), tuple(range(1, most + 1))))
    h = is_error(c.take(), v2.SEGMENTS, most)
    same((h.xid, h.size), (x, 24), "xid and size of the ERROR")
    not_read(c)
    for lists in (dict(writes=[c.write_chunk(*[1] * (most + 1))]),
                  dict(reply=c.write_chunk(*[1] * (most + 1)))):
        x = c.new_xid()
        c.post(v2.CALL_INLINE, x, payload=read_call(t, x, (0, 4)), **lists)
        refused(c, x, v2.SEGMENTS, most)
    c.null()


# Fails with: invalidates-always
@check("V2-6.5-03", "V2-6.5-05")
def plain_send(t):
    """rdma_inv_handle 0, or a handle of no chunk: Replies by plain Send."""
    c = t.connect()
    c.null()
    w = c.write_chunk(1000)
    for inv in 0, 0x12345678:
        a = good(c.call(read_call(t, c.new_xid(), (0, 1000)), writes=[w],
                        inv=inv))
        same(a.invalidated, None, "what was invalidated")
    expect(c.iw.regions[w[0].handle].valid, "the handle is gone")


# Fails with: invalidates-always
@check("V2-6.5-04")
def named_handle(t):
    """What a Reply invalidates is the rdma_inv_handle of its own Call."""
    c = t.connect()
    used = 0
    for _ in range(10):
        calls = {}
        for i in range(4):
            x = c.new_xid()
            w = c.write_chunk(100, 200)
            calls[x] = w[i % 2].handle
            c.send_call(read_call(t, x, (0, 300)), writes=[w],
                        inv=calls[x])
        for x, handle in calls.items():
            a = good(c.answer(x))
            if a.invalidated is not None:
                same(a.invalidated, handle, "the handle")
                used += 1
    # A peer need not do it at all (6.5-03); this one does.
    expect(used, "nothing was invalidated in 40 Replies")
    x = c.new_xid()
    m, (at,) = Reduced(x).write(t.files.scratch, 0, 5000).build()
    reads = c.read_chunk(at, bytes(5000), (2000,))
    a = good(c.call(m, reads=reads, inv=reads[1].handle))
    same(a.invalidated, reads[1].handle, "the handle of a Read chunk")
    a = good(c.call(read_call(t, c.new_xid(), (0, 20000)), inv=0,
                    writes=[c.write_chunk(30000)], reply=c.write_chunk(9)))
    same(a.invalidated, None, "the handle with 0")
    r = c.write_chunk(20000)
    a = good(c.call(read_call(t, c.new_xid(), (0, 9000)), reply=r,
                    inv=r[0].handle))
    expect(a.external, "%s" % a.last)
    same(a.invalidated, r[0].handle, "the handle of a Reply chunk")


# Fails with: errors-invalidate
@check("V2-6.5-06")
def errors_do_not_invalidate(t):
    """ERRORs, GRANTs and CONNPROPs go by plain Send."""
    c = t.connect()
    w = c.write_chunk(10)
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=read_call(t, x, (0, 1000)), writes=[w],
           inv=w[0].handle)
    h = is_error(c.take(), v2.WRITE_RESOURCE, 1, 1000)
    same(h.invalidated, None, "what was invalidated")
    x = c.new_xid()
    c.post(v2.CALL_INLINE, x, payload=rpc.null(x + 1), writes=[w],
           inv=w[0].handle)
    same(is_error(c.take(), v2.BAD_XDR).invalidated, None, "by BAD_XDR")
    expect(c.iw.regions[w[0].handle].valid, "the handle is gone")
    same([h for h in c.seen if h.htype < 8 and h.invalidated is not None],
         [], "control messages that invalidate")
