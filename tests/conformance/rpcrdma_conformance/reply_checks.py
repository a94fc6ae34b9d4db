# SPDX-License-Identifier: BSD-3-Clause
"""Formats of a Reply and the chunks in it: 4.5.2, 4.5.3, 6.6.3, 7.3.4, 7.3.5."""

from . import rpc, v2
from .kit import check, expect, good, is_error, same
from .nfs import read_call, read_inline, read_results

FILL = 0xaa


def read_reduced(t, c, x, spans, writes, **lists):
    a = good(c.call(read_call(t, x, *spans), writes=writes, **lists))
    return a


def shape(chunk):
    return [(s.handle, s.offset) for s in chunk]


def lengths(chunk):
    return [s.length for s in chunk]


# Fails with: writes-exchanged, empty-too-short
@check("V2-4.5.2-02")
def empty_write_chunk(t):
    """An empty Write chunk: that result stays in the stream."""
    c = t.connect()
    w = c.write_chunk(2000)
    a = read_reduced(t, c, c.new_xid(), [(0, 1000), (500, 2000)], [[], w])
    first, second = read_results(a.payload, False, True)
    same(first, t.files.content[:1000], "the first READ")
    same(second, 2000, "the count of the second")
    same([lengths(k) for k in a.writes], [[], [2000]], "lengths")
    same(c.gather(a.writes[1]), t.files.content[500:2500], "the chunk")


# Fails with: never-reduced
@check("V2-4.5.2.1-01")
def filled_in_order(t):
    """One item a chunk; its segments are filled in order."""
    c = t.connect()
    w = c.write_chunk(1000, 1000, 1000)
    a = read_reduced(t, c, c.new_xid(), [(3, 2500)], [w])
    same(lengths(a.writes[0]), [1000, 1000, 500], "lengths")
    same(c.gather(a.writes[0]), t.files.content[3:2503], "data")
    same(bytes(c.memory(w[2])[500:]), bytes([FILL]) * 500, "behind the end")


# Fails with: writes-left-out
@check("V2-4.5.2.1-02")
def lists_repeated(t):
    """The Reply repeats each chunk and segment of the Write list."""
    c = t.connect()
    for lens in ([(10,)], [(10, 10), ()], [(1, 2, 3), (4,), (5, 6)],
                 [(), (), (8000,)]):
        w = [c.write_chunk(*k) for k in lens]
        for m in rpc.null(c.new_xid()), read_call(t, c.new_xid(), (9, 0)):
            a = good(c.call(m, writes=w))
            same([shape(k) for k in a.writes], [shape(k) for k in w],
                 "the Write list of the Reply")
            same(sum(sum(lengths(k)) for k in a.writes), 0, "octets written")
        w[0] = []
        a = good(c.call(read_call(t, c.new_xid(), (0, 6000)), writes=w))
        same([shape(k) for k in a.writes], [shape(k) for k in w],
             "the Write list of a continued Reply")


# Fails with: lengths-not-written
@check("V2-4.5.2.1-03")
def lengths_written(t):
    """Returned lengths are what was written; 0 where nothing was."""
    c = t.connect()
    end = t.files.LENGTH
    w = c.write_chunk(600, 600, 600)
    a = read_reduced(t, c, c.new_xid(), [(end - 500, 1800)], [w])
    same(lengths(a.writes[0]), [500, 0, 0], "lengths at the end of the file")
    a = read_reduced(t, c, c.new_xid(), [(end, 1800)], [c.write_chunk(9, 9)])
    same(lengths(a.writes[0]), [0, 0], "lengths beyond it")
    same(read_results(a.payload, True), [0], "count")


# Fails with: roundup-written, roundup-stays
@check("V2-4.5.2.4-02", "V2-4.5.3.1-02")
def no_roundup(t):
    """Roundup is written to no Write chunk, nor is it in the stream."""
    c = t.connect()
    for n in 5, 6, 7, 1:
        w = c.write_chunk(8)
        a = read_reduced(t, c, c.new_xid(), [(0, n)], [w])
        same(lengths(a.writes[0]), [n], "the length")
        same(bytes(c.memory(w[0])), t.files.content[:n] +
             bytes([FILL]) * (8 - n), "the memory")
        # read_results() finds nothing behind the count.
        same(read_results(a.payload, True), [n], "the stream")
    w = [c.write_chunk(8), c.write_chunk(8)]
    a = read_reduced(t, c, c.new_xid(), [(0, 5), (1, 7)], w)
    same(read_results(a.payload, True, True), [5, 7], "two of them")


# Fails with: external-type, external-xid, external-lengths
@check("V2-4.5.3-01", "V2-6.3.8-02", "V2-6.3.8-03", "V2-6.1-08",
       "V2-6.3.8-01")
def reply_chunk(t):
    """REPLY_EXTERNAL: one Reply chunk with the whole stream, its roundup,
    and the lengths written; nothing behind the header."""
    c = t.connect()
    w = c.write_chunk(7000, 1, 30000)
    m = [rpc.putfh(t.files.dir), rpc.readdir(20000)]
    x = c.new_xid()
    a = good(c.call(rpc.compound(x, m), reply=w))
    h = a.last
    same((h.htype, h.surplus, h.writes), (11, 0, []), "the header")
    same(h.size, 16 + 4 + 4 + 4 + 3 * 16, "octets of the header")
    same(shape(h.reply), shape(w), "the Reply chunk")
    total = sum(lengths(h.reply))
    same(total % 4, 0, "its length modulo four")
    same(lengths(h.reply), [7000, 1, total - 7001], "lengths")
    same(a.payload[:4], rpc.u32(x), "the first word of the Reply chunk")
    got = rpc.names(rpc.Compound(a.payload).good(rpc.PUTFH, rpc.READDIR))
    expect(set(t.files.long_names) <= set(got), "%d names" % len(got))
    plain = good(c.call(rpc.compound(c.new_xid(), m)))
    same(a.payload[4:], plain.payload[4:], "the same without a Reply chunk")


# Fails with: writes-exchanged
@check("V2-4.5.3-02")
def one_item_each(t):
    """Two READs, two Write chunks: one item each."""
    c = t.connect()
    w = [c.write_chunk(5000), c.write_chunk(5000)]
    a = read_reduced(t, c, c.new_xid(), [(0, 1001), (7, 4999)], w)
    same(read_results(a.payload, True, True), [1001, 4999], "counts")
    same([lengths(k) for k in a.writes], [[1001], [4999]], "lengths")
    same(c.gather(a.writes[0]), t.files.content[:1001], "the first")
    same(c.gather(a.writes[1]), t.files.content[7:5006], "the second")


# Fails with: roundup-written, length-word-reduced
@check("V2-4.5.3.1-01", "V2-4.5.3.1-03")
def length_word(t):
    """The length word stays in the stream and is the chunk's length."""
    c = t.connect()
    for n in 1, 5, 4096, 8191, 60001:
        a = read_reduced(t, c, c.new_xid(), [(0, n)], [c.write_chunk(70000)])
        same(read_results(a.payload, True), [n], "the length word")
        same(sum(lengths(a.writes[0])), n, "octets in the chunk")


# Fails with: link-not-reduced
@check("V2-4.5.3.2-01")
def counted_array(t):
    """Of a counted array (link of READLINK) the count stays in the stream."""
    c = t.connect()
    w = c.write_chunk(2000)
    a = good(c.call(rpc.compound(c.new_xid(), [
        rpc.putfh(t.files.link), rpc.u32(rpc.READLINK)]), writes=[w]))
    r = rpc.Compound(a.payload).good(rpc.PUTFH, rpc.READLINK)
    same((r.u32(), r.left()), (1000, 0), "the stream")
    same(lengths(a.writes[0]), [1000], "lengths")
    same(c.gather(a.writes[0]), b"x" * 1000, "the chunk")


# Fails with: wrong-arm
@check("V2-4.5.3.4-01")
def union_arms(t):
    """An error arm uses no chunk; of the good arm the data only."""
    c = t.connect()
    w = c.write_chunk(100)
    a = good(c.call(rpc.compound(c.new_xid(), [
        rpc.putfh(t.files.dir), rpc.read(0, 100)]), writes=[w]))
    r = rpc.Compound(a.payload)
    r.good(rpc.PUTFH)
    expect(r.take(rpc.READ) != 0, "READ of a directory succeeds")
    same(r.r.left(), 0, "octets behind the error")
    same(lengths(a.writes[0]), [0], "lengths")
    same(bytes(c.memory(w[0])), bytes([FILL]) * 100, "the memory")
    a = read_reduced(t, c, c.new_xid(), [(0, 100)], [w])
    same(read_results(a.payload, True), [100], "the good arm")


# Fails with: read-list-in-replies
@check("V2-6.1-10", "V2-6.3.10-01")
def reply_inline_octets(t):
    """REPLY_INLINE: type 13; with an empty list the payload is at 20."""
    c = t.connect()
    a = c.null()
    d = a.last.message.data
    same((a.last.htype, d[16:20], d[20:24]),
         (13, bytes(4), rpc.u32(a.xid)), "the octets")
    same(len(d), 20 + 24, "octets of the Reply to NULL")


# Fails with: lengths-offered
@check("V2-6.3.10-02")
def unused_chunks(t):
    """Write chunks of results that failed or are missing come back unused."""
    c = t.connect()
    w = [c.write_chunk(50), c.write_chunk(50), c.write_chunk(50)]
    # The second READ fails, the third is never reached.
    a = good(c.call(rpc.compound(c.new_xid(), [
        rpc.putfh(t.files.data), rpc.read(0, 50), rpc.putfh(t.files.dir),
        rpc.read(0, 50), rpc.read(0, 50)]), writes=w))
    same([lengths(k) for k in a.writes], [[50], [0], [0]], "lengths")
    for k in w[1:]:
        same(bytes(c.memory(k[0])), bytes([FILL]) * 50, "unused memory")


# Fails with: continued-first, external-always
@check("V2-6.3.5-04", "V2-5.2.2-03")
def reply_chunk_if_needed(t):
    """A Reply chunk is used for what is above the threshold only."""
    c = t.connect()
    for n, used in ((100, False), (3000, False), (6000, True),
                    (100000, True)):
        w = c.write_chunk(110000)
        a = read_inline(t, c, 0, n, reply=w)
        same(a.external, used, "REPLY_EXTERNAL for %d octets" % n)
        if not used:
            same(bytes(c.memory(w[0])), bytes([FILL]) * 110000, "the memory")


# Fails with: read-list-in-replies
@check("V2-6.6.1.1-02")
def no_read_list(t):
    """Reply headers decode to the last octet without a Read list."""
    c = t.connect()
    read_reduced(t, c, c.new_xid(), [(0, 100)], [c.write_chunk(100)])
    read_inline(t, c, 0, 9000)
    read_inline(t, c, 0, 9000, reply=c.write_chunk(20000))
    same({h.htype for h in c.seen} >= {11, 12, 13}, True, "all Reply types")


# Fails with: never-reduced
@check("V2-6.6.3-03")
def reduced_first(t):
    """The Reply is reduced before its format is chosen."""
    c = t.connect()
    for n in 3000, 60000:
        r = c.write_chunk(80000)
        a = read_reduced(t, c, c.new_xid(), [(0, n)], [c.write_chunk(n)],
                         reply=r)
        same((a.last.htype, len(a.headers)), (13, 1), "the format")
        same(bytes(c.memory(r[0])), bytes([FILL]) * 80000, "the Reply chunk")


# Fails with: continued-first
@check("V2-6.6.3-04", "UB-3.2-03")
def format_of_all(t):
    """Every combination of Write list, Reply chunk, threshold and size."""
    f = t.files
    for size in 1024, 4096, 16384:
        c = t.connect([(v2.RBSIZ, size)], advertise=120)
        c.recv_size = size
        for n in (40, size - 20 - 60 - 4, size - 20 - 60, size - 20 - 56,
                  size, 3 * size):
            for write in None, 0, n:
                for room in None, 0, n, n + 60, 4 * size:
                    lists = {}
                    if write is not None:
                        lists["writes"] = [c.write_chunk(write) if write
                                           else []]
                    if room is not None:
                        lists["reply"] = c.write_chunk(room) if room else []
                    a = good(c.call(read_call(t, c.new_xid(), (0, n)),
                                    **lists))
                    reduced = bool(write)
                    got, = read_results(a.payload, reduced)
                    if reduced:
                        same(got, n, "the count")
                        same(c.gather(a.writes[0]), f.content[:n], "data")
                    else:
                        same(got, f.content[:n], "data")
                    left = 60 + (0 if reduced else n + -n % 4)
                    fields = {"writes": a.last.writes}
                    head = len(v2.encode(v2.REPLY_INLINE, 0, 0, **fields))
                    if head + left <= size & ~3:
                        want = "inline"
                    elif room is not None and room >= left:
                        want = "external"
                    else:
                        want = "continued"
                    is_ = ("external" if a.external else "inline"
                           if len(a.headers) == 1 else "continued")
                    same(is_, want, "threshold %d, READ %d, Write %r, "
                         "Reply %r" % (size, n, write, room))


# Fails with: error-write, write-passed-over, index-from-0
@check("V2-7.3.4-01", "V2-7.3.4-02", "V2-7.3.4-03", "V2-6.3.1-02",
       "V2-8.4-09")
def write_resource(t):
    """A Write chunk too short: WRITE_RESOURCE, which chunk, how long."""
    c = t.connect()
    for n, room in ((8192, 4096), (8192, 8191), (5, 4), (100, 99)):
        a = c.call(read_call(t, c.new_xid(), (0, n)),
                   writes=[c.write_chunk(room)])
        same(is_error(a, v2.WRITE_RESOURCE, 1, n).size, 28, "octets")
        # Also if it would have gone inline or into a Reply chunk.
        a = c.call(read_call(t, c.new_xid(), (0, n)),
                   writes=[c.write_chunk(room)], reply=c.write_chunk(20000))
        is_error(a, v2.WRITE_RESOURCE, 1, n)
        # With what it says is needed it works.
        a = read_reduced(t, c, c.new_xid(), [(0, n)], [c.write_chunk(n)])
        same(read_results(a.payload, True), [n], "the count")
    a = c.call(read_call(t, c.new_xid(), (0, 10), (0, 3000)),
               writes=[c.write_chunk(10), c.write_chunk(1000, 1999)])
    is_error(a, v2.WRITE_RESOURCE, 2, 3000)
    a = c.call(read_call(t, c.new_xid(), (0, 10), (0, 20), (0, 30)),
               writes=[[], c.write_chunk(20), c.write_chunk(29)])
    is_error(a, v2.WRITE_RESOURCE, 3, 30)
    c.null()


# Fails with: chunk-layout
@check("V2-8.3-04", "V2-8.3-05")
def write_list_octets(t):
    """Write list and Reply chunk, octet by octet as in section 8.3."""
    c = t.connect()
    x = c.new_xid()
    one = c.iw.expose(bytes(8), write=True)
    two = c.iw.expose(bytes(100), write=True)
    out = c.iw.expose(bytes(9000), write=True)
    u, o = rpc.u32, rpc.u64
    seg = [u(m.stag, len(m.data)) + o(m.base) for m in (one, two, out)]
    lists = (u(1, 2) + seg[0] + seg[1] +  # a chunk of two segments
             u(1, 0) +  # an empty one
             u(0) +  # end of the list
             u(1, 1) + seg[2])  # a Reply chunk
    same(len(lists), 4 + 36 + 4 + 4 + 4 + 4 + 20, "octets")
    c.raw(x, 2, None, 10, 0, 0,
          tail=lists + read_call(t, x, (0, 100), (0, 6000)))
    h = c.take()
    same(h.htype, v2.REPLY_EXTERNAL, "the format")
    lens = u(one.stag, 8) + o(one.base) + u(two.stag, 92) + o(two.base)
    want = u(1, 2) + lens + u(1, 0) + u(0) + u(1, 1) + u(out.stag)
    same(h.message.data[16:16 + len(want)], want, "the lists of the Reply")
    same(bytes(one.data + two.data[:92]), t.files.content[:100], "data")


# Fails with: error-reply, reply-resource, reply-needed
@check("V2-6.6.4-02", "V2-7.3.5-01", "V2-7.3.5-02", "V2-8.4-10",
       server_is="no-continuation")
def reply_resource(t):
    """What cannot be continued: REPLY_RESOURCE, and how long it must be."""
    c = t.connect()
    m = [rpc.putfh(t.files.dir), rpc.readdir(20000)]
    for room in None, 1024, 4096:
        lists = {} if room is None else {"reply": c.write_chunk(room)}
        a = c.call(rpc.compound(c.new_xid(), m), **lists)
        expect(a.error and a.error[0] == v2.REPLY_RESOURCE, str(a.last))
        same(a.last.size, 24, "octets of the ERROR")
        need = a.error[1]
        b = c.call(rpc.compound(c.new_xid(), m),
                   reply=c.write_chunk(need - 1))
        is_error(b, v2.REPLY_RESOURCE, need)
        r = c.write_chunk(need)
        b = good(c.call(rpc.compound(c.new_xid(), m), reply=r))
        expect(b.external, "%s" % b.last)
        same(len(b.payload), need, "octets of the Reply")
    # An inadequate Write chunk is still said as that.
    a = c.call(read_call(t, c.new_xid(), (0, 9000)),
               writes=[c.write_chunk(8000)])
    is_error(a, v2.WRITE_RESOURCE, 1, 9000)
